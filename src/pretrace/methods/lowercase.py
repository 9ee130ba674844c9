import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import Form, TokenStatistics, loss_ratio, mean


@method("lowercase", needs=("logprobs", "lowercase"))
def lowercase(
    text: TokenStatistics,
    *,
    form: Form = "log_perplexity",
) -> float:
    """-L(x) / L(lower(x)); `form=perplexity`: -PPL(x) / PPL(lower(x)).

    Carlini et al., Extracting Training Data from Large Language Models, USENIX Security
    2021.
    """
    lowered = mean(text.lowercase)
    if form == "perplexity":
        return -float(np.exp(lowered - text.log_likelihood))
    return -loss_ratio(text.log_likelihood, lowered)
