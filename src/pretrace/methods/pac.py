import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import (
    Floats,
    Natural,
    TokenStatistics,
    mean,
    mean_of_lowest,
)

HIGHEST, LOWEST = 0.05, 0.3  # shares of the tokens


@method("pac", needs=("logprobs", "neighbours"))
def pac(text: TokenStatistics, *, copies: Natural = 5) -> float:
    """Mean polarized distance of copies whose words changed places, minus the text's
    own (nats).

    The distance is the mean of the highest 5 % of the log-probabilities minus the mean
    of the lowest 30 %. The view `transpositions-5` makes the copies as the authors do;
    a text that has fewer uses all of them. Ye et al., Data Contamination Calibration
    for Black-box LLMs, 2024, arXiv 2405.11930.
    """
    distances = [_polarized_distance(copy) for copy in text.neighbours[:copies]]
    return mean(np.array(distances)) - _polarized_distance(text.logprobs)


def _polarized_distance(logprobs: Floats) -> float:
    ascending = np.sort(logprobs)
    highest = -mean_of_lowest(-ascending[::-1], share=HIGHEST)
    lowest = mean_of_lowest(ascending, share=LOWEST)
    return highest - lowest
