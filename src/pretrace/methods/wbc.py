from typing import Literal

import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import TokenStatistics, window_means

WIDTHS = {
    "paper": tuple(round(2 * 20 ** (step / 9)) for step in range(10)),
    "code": (2, 3, 4, 6, 9, 13, 18, 25, 32, 40),
    "one": (1,),
}
SMALLEST_DIFFERENCE = 1e-9
"""Of two means of log-probabilities (nats): below it they tie, and differ by rounding
alone."""


@method("wbc", needs=("logprobs", "reference", "aligned_reference"))
def wbc(
    text: TokenStatistics, *, widths: Literal["paper", "code", "one"] = "paper"
) -> float:
    """Share of windows that the model finds likelier than a reference model does, its
    mean over window widths.

    A width above the number of tokens is that number; ties do not count. `widths`: in
    tokens, as the paper's formula gives them (2 to 40), as the code's example
    configuration lists them, or single tokens, the code's default. The reference model
    must have the same tokenizer.
    Window-based comparison (WBC), arXiv 2601.02751, USENIX Security 2026.
    """
    differences = text.logprobs - text.aligned_reference
    shares = []
    for width in WIDTHS[widths]:
        means = window_means(differences, min(width, len(differences)))
        shares.append(np.mean(means > SMALLEST_DIFFERENCE))
    return float(np.mean(shares))
