"""PatentMIA as its authors released it, and its construction from patents of the user's own.

Zhang et al., Pretraining Data Detection for Large Language Models: A Divergence-based Calibration Method, EMNLP
2024, section 4: Chinese patents published before 2023-01-01 (members) or with a priority after 2024-03-01
(non-members), 5,000 each, of each page one snippet of 512 jieba words; shorter lengths are its first words.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pretrace.benchmarks.hub_files import single_file
from pretrace.benchmarks.loaders.local import texts
from pretrace.benchmarks.loaders.peoples_daily import jieba_words
from pretrace.benchmarks.rows import Row, rows
from pretrace.benchmarks.sources import BenchmarkEntry, Text, loader
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Day, Url

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Patents(BenchmarkEntry, total=False):
    """PatentMIA's archive, or patents of your own file."""

    url: Url
    """The archive of PatentMIA's authors."""
    published_before: Day
    """Patents published before this day (YYYY-MM-DD) are the members."""
    priority_after: Day
    """Patents whose priority is after this day (YYYY-MM-DD) are the non-members."""


@loader("patentmia", needs=["lengths", "url"], entry=Patents)
def load_released(entry: Mapping[str, Any], sources: list[Path], seed: int) -> list[Text]:
    """The released texts (JSONL with `input` and `label`), and their first words for every shorter length."""
    path = single_file(sources[0], (".jsonl",), "patent")
    return [
        cut
        for number, row in enumerate(texts(path))
        for cut in _cuts(f"{number:05d}", jieba_words(row.text), entry["lengths"], row.label)
    ]


@loader("patents", needs=["lengths", "path", "texts", "published_before", "priority_after"], entry=Patents)
def load_own(entry: Mapping[str, Any], sources: list[Path], seed: int) -> list[Text]:
    """`texts` patents of each class, drawn by the seed, and of each a snippet of the longest length from a place
    drawn by the seed and its id.

    The file has `id`, `text`, `published` and `priority` (YYYY-MM-DD; either may be missing). A patent of neither
    class, and one that is too short, is left out; the log counts them.
    """
    longest = max(entry["lengths"])
    drawn = {1: 0, 0: 0}
    left_out: Counter[str] = Counter()
    found: list[Text] = []
    patents = sorted(_patents(sources[0]), key=lambda patent: seed_of("patents", seed, patent[1]["id"]))
    for where, patent in patents:
        label = _label(where, patent, entry)
        if label is None or drawn[label] == entry["texts"]:
            left_out["of neither class" if label is None else "not drawn"] += 1
            continue
        words = jieba_words(patent["text"])
        if len(words) < longest:
            left_out[f"shorter than {longest} words"] += 1
            continue
        start = random.Random(seed_of("snippet", seed, patent["id"])).randrange(len(words) - longest + 1)
        found += _cuts(str(patent["id"]), words[start : start + longest], entry["lengths"], label)
        drawn[label] += 1
    for why, number in sorted(left_out.items()):
        log.info("%s: %d patents left out: %s", sources[0], number, why)
    if lacking := [label for label in drawn if drawn[label] < entry["texts"]]:
        raise InputError(
            f"{sources[0]}: texts: {entry['texts']} of each class are asked for, and there are {drawn[1]} members "
            f"and {drawn[0]} non-members of at least {longest} words; add {'members' if 1 in lacking else 'others'}."
        )
    return found


def _patents(path: Path) -> list[tuple[str, Row]]:
    found = [
        (where, {"id": f"{number:06d}", **row}) for number, (where, row) in enumerate(rows(path), start=1)
    ]
    for where, row in found:
        if not isinstance(row.get("text"), str):
            raise InputError(f"{where}: there is no 'text'; found: {', '.join(map(str, row))}.")
    return found


def _label(where: str, patent: Row, entry: Mapping[str, Any]) -> int | None:
    days = {key: str(patent.get(key) or "") for key in ("published", "priority")}
    for key, day in days.items():
        if day and not _DAY.fullmatch(day):
            raise InputError(f"{where}: {key} is {day!r}; write it as YYYY-MM-DD.")
    if days["published"] and days["published"] < entry["published_before"]:
        return 1
    return 0 if days["priority"] > entry["priority_after"] else None


def _cuts(name: str, words: list[str], lengths: list[int], label: int | None) -> list[Text]:
    """The first words for every length, in the words of jieba."""
    return [Text(f"{name}-{length:03d}", "".join(words[:length]), label, length=length) for length in lengths]
