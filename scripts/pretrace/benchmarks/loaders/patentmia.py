"""PatentMIA as its authors released it.

Zhang et al., Pretraining Data Detection for Large Language Models: A Divergence-based Calibration Method, EMNLP
2024, section 4: Chinese patents published before 2023-01-01 (members) or with a priority after 2024-03-01
(non-members), 5,000 each, of each page one snippet of 512 jieba words; shorter lengths are its first words.
"""

from pathlib import Path

from pretrace.benchmarks.loaders.local import texts
from pretrace.benchmarks.loaders.peoples_daily import jieba_words
from pretrace.benchmarks.rows import single_file
from pretrace.benchmarks.sources import BenchmarkEntry, Lengths, Text, loader
from pretrace.runtime.schema import Url


class PatentMia(BenchmarkEntry):
    """PatentMIA, as its authors released it."""

    lengths: Lengths
    url: Url
    """The archive of PatentMIA's authors."""


@loader("patentmia", entry=PatentMia)
def load(entry: PatentMia, sources: list[Path], seed: int) -> list[Text]:
    """The released texts (JSONL with `input` and `label`), and their first words for every shorter length."""
    path = single_file(sources[0], (".jsonl",), "patent")
    cut = [(number, row.label, jieba_words(row.text)) for number, row in enumerate(texts(path))]
    return [
        Text(f"{number:05d}-{length:03d}", "".join(words[:length]), label, length=length)
        for number, label, words in cut
        for length in entry.lengths
    ]
