"""Zip archives of others, unpacked without letting them choose where, or how much, is
written."""

import shutil
import stat
import zipfile
from pathlib import Path, PurePosixPath

from pretrace.documents.unpacking import BROKEN, not_unpacked, zip_archive
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import atomic_path

# far more than a benchmark has, and less than fills a disk
MOST_FILES = 10_000
MOST_BYTES = 4 << 30
# text shrinks to a fifth; a file that unpacks to 200 times its size is not text
_MOST_RATIO = 200
_SMALL = 1 << 20  # below this size a high ratio does no harm


def unpack(archive: Path, folder: Path, endings: tuple[str, ...]) -> list[str]:
    """Unpack the files with these `endings` into `folder`, under their own names;
    return the sorted names.

    Raises `InputError` before anything is written if a name leads out of the folder, is
    a link, or occurs twice, or if the files are too many or too large. It also raises
    one as soon as a file is larger than the archive announced.
    """
    names = []
    try:
        with zip_archive(archive) as opened:
            members = [member for member in opened.infolist() if not member.is_dir()]
            _check(archive, members)
            for member in members:
                name = member.filename
                parts = _parts(member)
                is_of_macos = any(part.startswith((".", "__MACOSX")) for part in parts)
                if is_of_macos or not name.lower().endswith(endings):
                    continue
                with (
                    opened.open(member) as source,
                    atomic_path(folder / name) as part,
                    part.open("wb") as file,
                ):
                    # zipfile stops at the announced size
                    shutil.copyfileobj(source, file, 1 << 20)
                    if file.tell() != member.file_size:
                        raise InputError(
                            f"{archive}: {name} is not as long as the archive says"
                        )
                names.append(name)
    except (*BROKEN, RuntimeError) as error:
        raise not_unpacked(archive, error) from error
    return sorted(names)


def _parts(member: zipfile.ZipInfo) -> tuple[str, ...]:
    return PurePosixPath(member.filename).parts


def _check(archive: Path, members: list[zipfile.ZipInfo]) -> None:
    total = sum(member.file_size for member in members)
    if len(members) > MOST_FILES:
        raise InputError(
            f"{archive} holds {len(members)} files; more than {MOST_FILES} are not "
            "unpacked."
        )
    if total > MOST_BYTES:
        raise InputError(
            f"{archive} would unpack to {total} bytes; more than {MOST_BYTES} are not "
            "unpacked."
        )
    for member in members:
        name = member.filename
        parts = _parts(member)
        if (
            name.startswith("/")
            or "\\" in name
            or not parts
            or ":" in parts[0]
            or {"..", "~"} & set(parts)
        ):
            raise InputError(
                f"{archive}: the name {name!r} leads out of the folder; it is not "
                "unpacked."
            )
        if stat.S_ISLNK(member.external_attr >> 16):
            raise InputError(f"{archive}: {name} is a link; it is not unpacked.")
        if member.file_size > max(_SMALL, _MOST_RATIO * member.compress_size):
            raise InputError(
                f"{archive}: {name} unpacks to far more than text does; it is not "
                "unpacked."
            )
    if len({member.filename for member in members}) < len(members):
        raise InputError(f"{archive}: it holds a name twice and is not unpacked.")
