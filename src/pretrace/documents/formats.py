"""Read the text of a document as people have it: EPUB, DOCX, ODT, RTF, PDF, HTML,
Markdown, or text in any encoding.

Files are untrusted: nothing is unpacked to the disk, what is unpacked in memory is
bounded by `LARGEST_DOCUMENT`, XML is read without entities, and what cannot be read is
an `InputError` that names the file.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pretrace.documents.layout import LaidOutText, joined_hyphens, unwrap_print
from pretrace.documents.readers import limits
from pretrace.documents.readers.epub import read_epub
from pretrace.documents.readers.html import read_html
from pretrace.documents.readers.notes import GAP, close_gaps
from pretrace.documents.readers.office import read_docx, read_odt, read_rtf
from pretrace.documents.readers.pdf import read_pdf
from pretrace.documents.readers.plain import read_markdown, read_plain
from pretrace.documents.unpacking import not_unpacked, open_bytes, unpacked_name
from pretrace.runtime.errors import InputError, first_names

PACKAGES = (
    "charset-normalizer",
    "lxml",
    "pypdfium2",
    "python-docx",
    "striprtf",
)
"""What the readers need, the extra 'documents'."""

_READERS: dict[str, Callable[[bytes, Path], LaidOutText]] = {
    ".epub": read_epub, ".docx": read_docx, ".odt": read_odt, ".rtf": read_rtf,
    ".pdf": read_pdf, ".html": read_html,
    ".htm": read_html, ".xhtml": read_html, ".md": read_markdown,
    ".markdown": read_markdown, ".txt": read_plain,
}  # fmt: skip
DOCUMENT_FORMATS = ", ".join(_READERS)

_CONVERSIONS = {
    "soffice --headless --convert-to docx FILE (LibreOffice)": (
        ".doc .docm .dot .dotx .wpd .wps .wri .abw .sdw .sxw .fodt .ott"
    ),
    "ebook-convert FILE book.epub (Calibre)": (
        ".mobi .azw .azw3 .azw4 .kfx .htmlz .txtz .fb2 .lit .pdb .prc .lrf .chm"
    ),
    "export it as EPUB or DOCX in the program that wrote it": ".pages .gdoc",
    "djvutxt FILE book.txt": ".djvu .djv",
    "ps2pdf FILE": ".ps .eps",
    "mutool convert -o book.pdf FILE": ".xps .oxps",
    "it has pictures; recognise their text first, as by ocrmypdf": ".cbz .cbr",
    "it is a licence or protected (DRM); take a copy without protection": (
        ".acsm .lcpl .lcpdf .ibooks"
    ),
    "pandoc FILE -o book.md": ".tex .rst .org .adoc .mht .mhtml",
}
"""How to make a document that is read -> the formats that are not."""

CONVERTED: dict[str, str] = {}
"""The same by format."""

for _way, _formats in _CONVERSIONS.items():
    CONVERTED |= dict.fromkeys(_formats.split(), _way)

_TITLES_OF_PROGRAMS = re.compile(
    r"(?:new )?(?:microsoft )?(?:word )?document\d*|microsoft word\b.*|untitled\d*|no title|title"
    r"|.*\.(?:docx?|odt|rtf|indd|qxd|tex|pdf|dvi)",
    re.IGNORECASE,
)
_AUTHORS_OF_PROGRAMS = re.compile(
    r"(?:system )?administrator|admin|user|owner|author|unknown(?: author)?|home|pc|root"
    r"|(?:windows|microsoft office|hp) user|microsoft|python-docx|calibre.*",
    re.IGNORECASE,
)
"""What programs write as title and as author where nobody gave one."""


def is_document(name: str) -> bool:
    """Tell whether a file of this name is read here."""
    return Path(unpacked_name(name)).suffix in _READERS


def conversion_of(name: str) -> str:
    """Return how to convert a document of a format that is not read; "" of any other
    file."""
    return CONVERTED.get(Path(unpacked_name(name)).suffix, "")


def read_document(path: Path) -> LaidOutText:
    """Read a file. Raises `InputError` if it is damaged, encrypted, too large, or
    without text."""
    kind = Path(unpacked_name(path.name)).suffix
    try:
        with open_bytes(path) as file:
            data = file.read(limits.LARGEST_DOCUMENT + 1)
        if len(data) > limits.LARGEST_DOCUMENT:
            raise limits.document_too_large(path)
        reading = _READERS[kind](data, path)
    except (InputError, MemoryError):
        raise
    except EOFError as error:
        raise not_unpacked(path, error) from error
    except ModuleNotFoundError as error:
        raise InputError(
            f"{path}: to read {kind[1:].upper()} needs the module {error.name}; "
            f"install the extra 'documents': pip install {' '.join(PACKAGES)}"
        ) from error
    # what a damaged file makes of a reader is not known before
    except Exception as error:
        said = " ".join(str(error).split())[:100]
        raise InputError(
            f"{path} cannot be read as {kind[1:].upper()} ({type(error).__name__}: "
            f"{said}). Is it whole? Open it, and save it again or as text (.txt)."
        ) from error
    whole = reading.text.replace("\0", "").encode(errors="ignore").decode()
    # only the font knows what these characters are, such as the ticks of Wingdings
    whole, signs = re.subn("[\uf000-\uf0ff]", GAP, whole)
    if signs:
        reading.left_out["signs of other fonts"] = signs
    text, hyphens = joined_hyphens(close_gaps(whole))
    if kind == ".pdf":
        text = unwrap_print(text)
    reading.text = text.strip("\n")
    reading.removed["hyphens at line ends"] = hyphens
    reading.title = _given_name(reading.title, _TITLES_OF_PROGRAMS)
    reading.author = _given_name(reading.author, _AUTHORS_OF_PROGRAMS)
    return reading


def _given_name(text: str, of_programs: re.Pattern[str]) -> str:
    """Return metadata as it can be printed, at most 200 characters; "" if a program
    wrote it."""
    printable = re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", " ", text)
    line = " ".join(printable.split())[:200]
    return "" if of_programs.fullmatch(line) else line


def not_read(names: Iterable[str]) -> Iterator[str]:
    """Yield lines that name the files that are not read: how each of another format is
    converted, then the others."""
    others = []
    for name in names:
        if conversion := conversion_of(name):
            yield f"{name}. Convert it: {conversion}"
        else:
            others.append(name)
    if others:
        yield f"{len(others)} file{'s' * (len(others) != 1)}: {first_names(others)}"
