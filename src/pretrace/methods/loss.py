import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import Form, TokenStatistics


@method("loss", needs=("logprobs",))
def loss(
    text: TokenStatistics,
    *,
    form: Form = "log_perplexity",
) -> float:
    """LL(x), mean log-probability of a token (nats); `form=perplexity`: -PPL(x), which
    orders texts alike.

    Yeom et al., Privacy Risk in Machine Learning: Analyzing the Connection to
    Overfitting, CSF 2018.
    """
    if form == "perplexity":
        return -float(np.exp(-text.log_likelihood))
    return text.log_likelihood
