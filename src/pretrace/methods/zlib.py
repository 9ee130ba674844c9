import zlib as compression

import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import Form, TokenStatistics


@method("zlib", needs=("text", "logprobs"))
def zlib(
    text: TokenStatistics,
    *,
    form: Form = "log_perplexity",
) -> float:
    """LL(x) / len(zlib(x)), in nats a byte of the compressed text; `form=perplexity`:
    -PPL(x) / len(zlib(x)).

    The size is that of this machine's build of zlib, which provenance names: zlib-ng's
    differs by up to 4 %.

    Carlini et al., Extracting Training Data from Large Language Models, USENIX Security
    2021.
    """
    size = len(compression.compress(text.text.encode("utf-8")))
    if form == "perplexity":
        return -float(np.exp(-text.log_likelihood)) / size
    return text.log_likelihood / size
