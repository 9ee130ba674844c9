"""Books as people have them, made for tests: EPUB, DOCX and PDF of the same text."""

import hashlib
import random
import re
import textwrap
import zipfile
import zlib
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

ESCAPED, ESCAPE = r"([()\\])", r"\\\1"
CONTAINER = (
    "<container><rootfiles><rootfile "
    'full-path="OEBPS/book.opf"/></rootfiles></container>'
)


def prose(words: int, seed: str, *, letters: int = 5) -> str:
    """Sentences of words that no other seed has, in paragraphs of 60 words."""
    rng = random.Random(seed)
    made = [
        "".join(
            rng.choices(
                "abcdefghijklmnoprstuvw", k=max(2, letters + rng.randrange(-2, 3))
            )
        )
        for _ in range(words)
    ]
    paragraphs = []
    for begin in range(0, words, 60):
        own = made[begin : begin + 60]
        sentences = [
            " ".join(own[n : n + 12]).capitalize() + "." for n in range(0, len(own), 12)
        ]
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs)


def epub(
    path: Path,
    chapters: Sequence[str],
    *,
    front: str = "",
    about: str = "",
    further: dict[str, str] | None = None,
) -> Path:
    """An EPUB with a title page, a navigation, and a file a chapter, each a text or its
    HTML."""
    pages = {"title.xhtml": f"<p>{front}</p>"} if front else {}
    pages["nav.xhtml"] = "<nav><ol><li>One</li><li>Two</li></ol></nav>"
    for number, text in enumerate(chapters, 1):
        blocks = (
            text
            if text.startswith("<")
            else "".join(f"<p>{escape(own)}</p>" for own in text.split("\n\n"))
        )
        pages[f"ch {number}.xhtml"] = f"<h1>Chapter {number}</h1>{blocks}"
    items = "".join(
        f'<item id="i{number}" '
        f'href="{name.replace(" ", "%20")}"{" properties=" * (name[:3] == "nav")}'
        f"{chr(34) + 'nav' + chr(34) if name[:3] == 'nav' else ''}/>"
        for number, name in enumerate(pages)
    )
    spine = "".join(f'<itemref idref="i{number}"/>' for number in range(len(pages)))
    members = {
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": f"<package><metadata>{about}</metadata><manifest>{items}</manifest><spine>{spine}</spine>"
        "</package>",
        **{
            f"OEBPS/{name}": f"<html><head><title>x</title></head><body>{own}</body></html>"
            for name, own in pages.items()
        },
        **(further or {}),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in members.items():
            book.writestr(name, text)
    return path


def docx(path: Path, text: str, contents: Sequence[str] = ()) -> Path:
    import docx
    from docx.enum.style import WD_STYLE_TYPE

    document = docx.Document()
    document.core_properties.author = ""
    style = document.styles.add_style("toc 1", WD_STYLE_TYPE.PARAGRAPH)
    for entry in contents:
        document.add_paragraph(entry, style=style)
    for paragraph in text.split("\n\n"):
        document.add_paragraph(paragraph)
    document.save(str(path))
    return path


def pages_of(
    text: str, header: str, *, width: int = 60, lines: int = 30
) -> list[list[str]]:
    """A text as print has it: lines of a width with words divided at their ends, a
    header, a number under each page."""
    printed: list[str] = []
    for paragraph in text.split("\n\n"):
        line = ""
        for word in paragraph.split():
            if len(line) + len(word) + 1 <= width:
                line = f"{line} {word}".strip()
            elif (
                len(word) > 4
                and len(line) + 4 <= width
                and word.isalpha()
                and len(printed) % 3 == 0
            ):
                printed.append(f"{line} {word[:2]}-")
                line = word[2:]
            else:
                printed.append(line)
                line = word
        printed.append(line)
    cut = [printed[begin : begin + lines] for begin in range(0, len(printed), lines)]
    return [
        [f"{header} {number}", *own, f"- {number} -"]
        for number, own in enumerate(cut, 1)
    ]


def content_of(lines: Sequence[str]) -> str:
    shown = "".join(f"({re.sub(ESCAPED, ESCAPE, line)}) Tj T*\n" for line in lines)
    return f"BT /F 10 Tf 12 TL 50 780 Td\n{shown}ET"


def pdf(
    path: Path,
    pages: Sequence[Sequence[str]],
    *,
    info: str = "null",
    change: Callable[[int, bytes], tuple[str, bytes]] = lambda number, data: ("", data),
    trailer: str = "",
) -> Path:
    """A PDF whose pages have these lines, or a content stream, in Helvetica; its layer L
    is off.

    `info` is what it says of itself, `change` packs or encrypts a stream, by the number
    of its object: it returns what is said of it, and its bytes.
    """
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /OCProperties << /OCGs [4 0 R] "
        b"/D << /OFF [4 0 R] >> >> >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding "
        b"/WinAnsiEncoding >>",
        b"<< /Type /OCG /Name (L) >>",
    ]
    kids = []
    for lines in pages:
        content = lines if isinstance(lines, str) else content_of(lines)
        about, stream = change(len(objects) + 1, content.encode("cp1252"))
        head = f"<< {about} /Length {len(stream)} >>\nstream\n".encode()
        objects.append(head + stream + b"\nendstream")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents "
            b"%d 0 R /Resources << /Font << /F 3 0 R >> /Properties << /L 4 0 R >> "
            b">> >>" % len(objects)
        )
        kids.append(f"{len(objects)} 0 R")
    tree = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects[1] = tree.encode()
    objects.append(info.encode())
    made = b"%PDF-1.4\n"
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    for number, own in enumerate(objects, 1):
        table += f"{len(made):010d} 00000 n \n"
        made += b"%d 0 obj\n%s\nendobj\n" % (number, own)
    table += f"trailer << /Size {len(objects) + 1} /Root 1 0 R {trailer} "
    table += f"/Info {len(objects)} 0 R >>\nstartxref\n{len(made)}\n%%EOF"
    path.write_bytes(made + table.encode())
    return path


def packed_pdf(path: Path, pages: Sequence[Sequence[str]], info: str = "null") -> Path:
    """A PDF whose streams are deflated."""

    def pack(number: int, data: bytes) -> tuple[str, bytes]:
        return "/Filter /FlateDecode", zlib.compress(data)

    return pdf(path, pages, info=info, change=pack)


def encrypted_pdf(
    path: Path, pages: Sequence[Sequence[str]], password: str = ""
) -> Path:
    """A PDF that is encrypted with a password of its reader (RC4 of 40 bits, PDF 1.4)."""
    padding = bytes.fromhex(
        "28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a"
    )
    user = (password.encode() + padding)[:32]
    owner = _rc4(hashlib.md5(b"owner" + padding[:27]).digest()[:5], user)
    key = hashlib.md5(user + owner + b"\xfc\xff\xff\xff" + b"\0" * 16).digest()[:5]

    def encrypt(number: int, data: bytes) -> tuple[str, bytes]:
        own = hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0").digest()[:10]
        return "", _rc4(own, data)

    shown = _rc4(key, padding).hex()
    trailer = f"/ID [<{'00' * 16}> <{'00' * 16}>] /Encrypt << /Filter /Standard /V 1 "
    trailer += f"/R 2 /P -4 /O <{owner.hex()}> /U <{shown}> >>"
    return pdf(path, pages, change=encrypt, trailer=trailer)


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    encrypted = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        encrypted.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(encrypted)


def wrapped(text: str, width: int = 70) -> str:
    return "\n\n".join(
        textwrap.fill(paragraph, width) for paragraph in text.split("\n\n")
    )


def folders_of_books(folder: Path) -> None:
    """Make books/, four works in question of all formats and a picture, and drafts/,
    twelve known ones."""
    (folder / "books" / "parts").mkdir(parents=True)
    (folder / "drafts").mkdir()
    epub(
        folder / "books" / "novel.epub",
        [prose(900, "n1"), prose(900, "n2")],
        front="The novel",
    )
    for part in (1, 2, 10):
        epub(folder / "books" / "parts" / f"{part}.epub", [prose(500, f"part{part}")])
    docx(folder / "books" / "memoir.docx", prose(1500, "memoir"), ["One\t1"])
    pdf(folder / "books" / "essays.pdf", pages_of(prose(2500, "essays"), "ESSAYS"))
    (folder / "books" / "cover.jpg").write_bytes(b"x")
    for number in range(12):
        text = wrapped(prose(1400 + 50 * number, f"d{number}"))
        (folder / "drafts" / f"draft {number:02d}.txt").write_text(
            text, encoding="utf-8"
        )
