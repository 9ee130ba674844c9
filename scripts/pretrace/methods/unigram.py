from collections import Counter

import numpy as np

from pretrace.methods.bag_of_words import words_of
from pretrace.methods.registry import method
from pretrace.methods.statistics import LabelledTexts


@method("unigram", needs=("texts", "stream"))
def unigram(texts: LabelledTexts) -> dict[str, float]:
    """Mean ln q(w) (nats) over a text's words: the log-likelihood of a unigram model of the training stream.

    q(w) = (c(w) + 1) / (n + v + 1): w stands c(w) times among the n words of the stream, which knows v words;
    one more stands for all others. A control that sees no model but is told the members: a text that is repeated
    in the stream raises the counts of its own words. This much is found without a memory for sequences; only what a
    method finds beyond it shows one.
    """
    counts = Counter(word for text in texts.stream for word in words_of(text, texts.language))
    ln_total = np.log(counts.total() + len(counts) + 1)
    return {
        id: float(np.mean([np.log(counts[word] + 1) for word in words_of(text, texts.language)]) - ln_total)
        for id, text in zip(texts.ids, texts.texts, strict=True)
    }
