"""Requests and benchmarks of jobs of passes, for the tests of the passes room."""

import pandas as pd

NAMES = {"study": "study", "model": "tiny", "benchmark": "texts"}


def request(**changes):
    """A pass over the texts as they are, log-probabilities alone, but for the changes."""
    plain = {
        "view": "original",
        "companion": "",
        "prefix": "",
        "draw": None,
        "shots": None,
        "start_token": "tokenizer",
        "inner_start": False,
        "statistics": "logprobs",
        "subsets": None,
        "lengths": None,
    }
    return plain | changes


def benchmark_of(texts, length=None, subset=""):
    """Texts of alternating labels, in the columns of a benchmark's table."""
    return pd.DataFrame(
        {
            "text_id": [f"t{number:03d}" for number in range(len(texts))],
            "text": texts,
            "label": pd.array([number % 2 for number in range(len(texts))], dtype="Int64"),
            "subset": subset,
            "length": pd.array([length] * len(texts), dtype="Int64"),
            "document": "",
            "fold": 0,
        }
    )
