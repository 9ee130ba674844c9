from collections import Counter

import numpy as np

from pretrace.methods.bag_of_words import words_of
from pretrace.methods.registry import method
from pretrace.methods.statistics import LabelledTexts


@method("unigram", needs=("texts", "stream"), control="no model", on_request=True)
def unigram(texts: LabelledTexts) -> dict[str, float]:
    """Mean ln q(w) (nats) over a text's words: the log-likelihood of a unigram model of
    the training stream.

    q(w) = (c(w) + 1) / (n + v + 1): w occurs c(w) times among the n words of the
    stream, which has v distinct words; one more represents all other words. This
    control sees no model but knows the members: a repeated text raises the counts of
    its own words. That much is found without memory for sequences; only a higher value
    of a method shows such memory.
    """
    counts: Counter[str] = Counter()
    for text in texts.stream:
        counts.update(words_of(text, texts.language))
    # ln (n + v + 1)
    ln_total = np.log(counts.total() + len(counts) + 1)
    scores = {}
    for id, text in zip(texts.ids, texts.texts, strict=True):
        words = words_of(text, texts.language)
        # ln (c(w) + 1)
        ln_counts = [np.log(counts[word] + 1) for word in words]
        scores[id] = float(np.mean(ln_counts) - ln_total)
    return scores
