import zlib as compression
from collections import Counter

from pretrace.methods.registry import method
from pretrace.methods.statistics import TokenStatistics, withheld_words


@method("samia", needs=("text", "continuations"))
def samia(text: TokenStatistics, *, zlib: bool = False) -> float:
    """Mean share of the words of the text's second half that a sample has too; a word counts as often as both have it.

    `zlib`: times the bytes of the sample's second half, compressed. Words are what white space separates; the authors'
    code splits at spaces alone, so that two words with a line break between them are one.
    Kaneko et al., Sampling-based Pseudo-Likelihood for Membership Inference Attacks, 2024 (arXiv 2404.11262).
    """
    expected = withheld_words(text.text)
    shares = []
    for sample in text.continuations:
        words = withheld_words(sample, like=text.text)
        share = (Counter(words) & Counter(expected)).total() / max(len(expected), 1)
        shares.append(share * len(compression.compress(" ".join(words).encode())) if zlib else share)
    return sum(shares) / len(shares)
