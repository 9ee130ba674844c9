from typing import Literal

import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import TokenStatistics, loss_ratio, mean


@method("ref", needs=("logprobs", "reference"))
def ref(
    text: TokenStatistics,
    *,
    form: Literal["difference", "ratio", "con_recall_code"] = "difference",
) -> float:
    """-(L(x) - L_ref(x)), the loss against a reference model's, in nats per token.

    `form=ratio` is -L(x) / L_ref(x), as DC-PDD's code; `form=con_recall_code` is LL(x)
    - exp(LL_ref(x)), LL less the reciprocal of the reference's perplexity, as
    Con-ReCall's.
    Carlini et al., Extracting Training Data from Large Language Models, USENIX Security
    2021.
    """
    reference = mean(text.reference)
    if form == "ratio":
        return -loss_ratio(text.log_likelihood, reference)
    if form == "con_recall_code":
        return text.log_likelihood - float(np.exp(reference))
    return text.log_likelihood - reference
