"""Zip archives of others, unpacked without letting them choose where, or how much, is written."""

import shutil
import stat
import zipfile
from pathlib import Path, PurePosixPath

from pretrace.runtime.errors import InputError, remedy
from pretrace.runtime.files import atomic_path

MOST_FILES = 10_000
MOST_BYTES = 4 << 30
_MOST_RATIO = 200  # text shrinks to a fifth; a file that unpacks to 200 times its size is not text
_REMEDY = "Delete it and run again."
_SMALL = 1 << 20  # below this size a high ratio does no harm


def unpack(
    archive: Path, folder: Path, endings: tuple[str, ...], *, most_bytes: int = MOST_BYTES
) -> list[str]:
    """Unpack the files whose names end so into `folder`, under their own names; returns the sorted names.

    Raises `InputError` before anything is written if a name leads out of the folder, is a link, or occurs twice, or if
    there are too many or too large files. It also raises one as soon as a file is larger than the archive announced.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [one for one in opened.infolist() if not one.is_dir()]
            _check(archive, members, most_bytes)
            chosen = [
                one for one in members if one.filename.lower().endswith(endings) and not _hidden(one.filename)
            ]
            for one in chosen:
                with (
                    opened.open(one) as source,
                    atomic_path(folder / one.filename) as part,
                    part.open("wb") as file,
                ):
                    shutil.copyfileobj(source, file, 1 << 20)  # zipfile stops at the announced size
                    if file.tell() != one.file_size:
                        raise InputError(f"{archive}: {one.filename} is not as long as the archive says")
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise InputError(f"{archive} cannot be unpacked ({error}). {remedy(error, _REMEDY)}") from error
    return sorted(one.filename for one in chosen)


def _check(archive: Path, members: list[zipfile.ZipInfo], most_bytes: int) -> None:
    names = [one.filename for one in members]
    total = sum(one.file_size for one in members)
    if len(members) > MOST_FILES:
        raise InputError(f"{archive} holds {len(members)} files; more than {MOST_FILES} are not unpacked.")
    if total > most_bytes:
        raise InputError(f"{archive} would unpack to {total} bytes; more than {most_bytes} are not unpacked.")
    for one in members:
        if not _is_inside(one.filename):
            raise InputError(
                f"{archive}: the name {one.filename!r} leads out of the folder; it is not unpacked."
            )
        if stat.S_ISLNK(one.external_attr >> 16):
            raise InputError(f"{archive}: {one.filename} is a link; it is not unpacked.")
        if one.file_size > max(_SMALL, _MOST_RATIO * one.compress_size):
            raise InputError(
                f"{archive}: {one.filename} unpacks to far more than text does; it is not unpacked."
            )
    if len(set(names)) < len(names):
        raise InputError(f"{archive}: it holds a name twice and is not unpacked.")


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not (path.is_absolute() or "\\" in name or ":" in path.parts[0] or {"..", "~"} & set(path.parts))


def _hidden(name: str) -> bool:
    """Whether a name is one that macOS adds to archives."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
