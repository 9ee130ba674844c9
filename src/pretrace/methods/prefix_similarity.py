import numpy as np

from pretrace.methods.bag_of_words import word_counts, word_weights
from pretrace.methods.registry import method
from pretrace.methods.statistics import LabelledTexts, Natural


@method(
    "prefix_similarity",
    needs=("texts", "nonmember_prefix", "member_prefix"),
    control="no model",
)
def prefix_similarity(texts: LabelledTexts, *, shots: Natural = 7) -> dict[str, float]:
    """Cosine of a text with the member prefix minus that with the non-member prefix:
    text id -> score.

    The control beside methods with a prefix: it sees no model, so it says how much of
    their ranking may come from shots that are like the texts of their class. Tf-idf of
    word 1-2-grams as in `blind`, fitted on the texts, without their labels. Texts
    without any word have no score.
    """
    prefixes = ["\n".join(texts.given_member), "\n".join(texts.given_nonmember)]
    counts = word_counts([*texts.texts, *prefixes], texts.language)
    of_texts, of_prefixes = counts[:-2], counts[-2:]
    if not of_texts.nnz:
        return {}
    rows, prefix_rows = word_weights(of_texts, of_prefixes)
    member, nonmember = (rows @ prefix_rows.T).toarray().T
    scores = np.subtract(member, nonmember).tolist()
    return dict(zip(texts.ids, scores, strict=True))
