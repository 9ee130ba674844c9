from typing import Literal

from pretrace.methods.registry import method
from pretrace.methods.statistics import TokenStatistics, mean


@method("option_likelihood", needs=("logprobs", "neighbours"))
def option_likelihood(
    text: TokenStatistics, *, form: Literal["margin", "likeliest"] = "margin"
) -> float:
    """LL(x) - max_j LL(x~_j), nats a token, over the other options x~_j of DE-COP's
    question about the passage x.

    `form=likeliest` is 1 where the passage is the likeliest of its options, else 0:
    over a document's passages its accuracy. What the model tells of the four options
    without being asked; the options are the run's `neighbours`.
    """
    margin = text.log_likelihood - max(map(mean, text.neighbours))
    return margin if form == "margin" else float(margin > 0)
