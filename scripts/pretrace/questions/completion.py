"""Completion (prefix probing): whether a model goes on as the passage does."""

SIMILAR = 80
"""Similarity, of 100, that a continuation must exceed."""


def similar(written: str, true: str) -> bool:
    """Whether a continuation is the true one, nearly, by the Token Sort algorithm: words in lower case without
    punctuation, sorted, then the share of characters that need no edit.

    Duarte et al., DE-COP, ICML 2024, section 5.1.1, after Liu et al., LLM360, 2023.
    """
    from rapidfuzz import fuzz, utils

    return fuzz.token_sort_ratio(written, true, processor=utils.default_process) > SIMILAR
