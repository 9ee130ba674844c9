from collections import Counter

import numpy as np

from pretrace.methods.bag_of_words import words_of
from pretrace.methods.registry import method
from pretrace.methods.statistics import LabelledTexts


@method("word_frequency", needs=("texts",), on_request=True)
def word_frequency(texts: LabelledTexts) -> dict[str, float]:
    """Mean ln q(w) (nats) over a text's words: q(w) is the word's share of all words of the benchmark's texts.

    This control sees neither a model nor labels. It is high for texts of common words, which any language model finds
    likely; a method that shows more than this must reach more. Words are lower-cased.
    """
    words = [words_of(text.lower(), texts.language) for text in texts.texts]
    counts = Counter(word for of_text in words for word in of_text)
    return {
        id: float(np.mean([np.log(counts[word] / counts.total()) for word in of_text]))
        for id, of_text in zip(texts.ids, words, strict=True)
    }
