import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import Floats, TokenStatistics


@method("rmia", needs=("logprobs", "shadows"))
def rmia(text: TokenStatistics) -> float:
    """ln p(x | theta) - ln p(x), nats a token; p(x) is the mean likelihood under models trained on x and models not.

    A likelihood is that of a mean token, exp LL(x); both kinds of shadow models count alike. RMIA itself is the share
    of population texts z with ratio(x) / ratio(z) >= 1. It rises with this ratio, so that the ROC curve is the same.

    Zarifzadeh, Liu and Shokri, Low-Cost High-Power Membership Inference Attacks, ICML 2024.
    """
    trained_on_it, not_trained = map(_log_mean, text.shadows)
    return text.log_likelihood - float(np.logaddexp(trained_on_it, not_trained) - np.log(2))


def _log_mean(log_likelihoods: Floats) -> float:
    return float(np.logaddexp.reduce(log_likelihoods) - np.log(len(log_likelihoods)))
