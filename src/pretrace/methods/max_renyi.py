from typing import Literal

import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import Share, TokenStatistics, mean_of_lowest


@method(
    "max_renyi",
    needs=("entropies", "highest"),
    only_for={"entropies": {"entropy": "shannon"}, "highest": {"entropy": "min"}},
    control="no true token",
    grid={"k": (0.05, 0.1, 0.2, 0.5, 1.0)},
    convention=("k",),
)
def max_renyi(
    text: TokenStatistics,
    *,
    k: Share = 0.1,
    entropy: Literal["shannon", "min"] = "shannon",
) -> float:
    """Minus the mean of the k share of highest Renyi entropies of the predictions
    (nats).

    `entropy`: shannon (alpha 1), or min (alpha infinity), which is -max_v ln p(v). This
    control never reads the true tokens: what it finds shows how sure the model is, not
    that it knows the text. Li et al., Membership Inference Attacks against Large
    Vision-Language Models, NeurIPS 2024.
    """
    certainties = -text.entropies if entropy == "shannon" else text.highest
    return mean_of_lowest(np.sort(certainties), share=k)
