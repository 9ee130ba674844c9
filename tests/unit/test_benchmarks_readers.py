"""Readers leave nothing of their own in a text: what is no text of the author goes in
every format, and only that."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from made_up_books import docx, encrypted_pdf, epub, pdf, prose, wrapped
from pretrace.benchmarks.user_rows import rows_of_works
from pretrace.documents.formats import conversion_of, read_document
from pretrace.documents.readers.pdf import _check_has_words, _Line, _Piece
from pretrace.documents.works import read_work, report_of, works_in
from pretrace.runtime.errors import InputError
from pretrace.studies.audit.works import cut_of_sides, side_of

BOOK = "\n\n".join(
    paragraph.replace(". ", ".” He said—though not he alone—“", 1) + "”"
    for paragraph in prose(1600, "book").split("\n\n")
)
KNOWN = prose(1600, "known")


def odt(path: Path, paragraphs: str, manifest: str = "<manifest/>") -> Path:
    """An OpenDocument text whose body is this XML."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text")
    )
    body = f"<office:body><office:text>{paragraphs}</office:text></office:body>"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("META-INF/manifest.xml", manifest)
        book.writestr(
            "content.xml",
            f"<office:document-content {spaces}>{body}</office:document-content>",
        )
    return path


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


SVG = "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
STYLE = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"


def rtf(path: Path, text: str) -> Path:
    paragraphs = (
        text.replace("\n\n", "\\par\n").encode("ascii", "xmlcharrefreplace").decode()
    )
    for sign in "“”—":
        paragraphs = paragraphs.replace(f"&#{ord(sign)};", f"\\u{ord(sign)}?")
    path.write_text(r"{\rtf1\ansi\uc1 " + paragraphs + r"\par}")
    return path


def kept_blanks(text: str, width: int = 64) -> list[list[str]]:
    """Pages whose lines end in the blank at which they were broken, as word processors
    write PDFs."""
    lines = []
    for paragraph in wrapped(text, width).split("\n\n"):
        own = paragraph.split("\n")
        lines += [f"{line} " for line in own[:-1]] + own[-1:]
    return [lines[begin : begin + 40] for begin in range(0, len(lines), 40)]


FORMATS: dict[str, Callable[[Path], object]] = {
    "book.docx": lambda path: docx(path, BOOK),
    "book.pdf": lambda path: pdf(path, kept_blanks(BOOK)),
    "book.html": lambda path: path.write_text(
        "<body>" + "".join(f"<p>{own}</p>" for own in BOOK.split("\n\n")) + "</body>",
        encoding="utf-8",
    ),
    "book.odt": lambda path: odt(
        path, "".join(f"<text:p>{own}</text:p>" for own in BOOK.split("\n\n"))
    ),
    "book.rtf": lambda path: rtf(path, BOOK),
    "wrapped.txt": lambda path: path.write_text(wrapped(BOOK), encoding="utf-8"),
    "typed.txt": lambda path: path.write_text(
        BOOK.replace("“", '"')
        .replace("”", '"')
        .replace("—", " -- ")
        .replace(". ", ".  "),
        encoding="utf-8",
    ),
    "typeset.txt": lambda path: path.write_text(
        BOOK.replace(" he ", "\u00a0he ").replace("said", "sa\u2060id"),
        encoding="utf-8",
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_book_gives_the_same_passages_in_each_format(tmp_path, monkeypatch, name):
    """The other side has the same book as an EPUB, so that what differs is what the
    formats leave."""
    monkeypatch.chdir(tmp_path)
    report_of.cache_clear()
    for side in ("ours", "theirs"):
        Path(side).mkdir()
    FORMATS[name](Path("ours", name))
    epub(Path("theirs/known.epub"), [BOOK])
    book = Path("theirs/known.epub")
    # without its heading, which the other formats have not
    with zipfile.ZipFile(book) as parts:
        members = {}
        for own in parts.namelist():
            members[own] = parts.read(own).decode().replace("<h1>Chapter 1</h1>", "")
    with zipfile.ZipFile(book, "w") as parts:
        for own, content in members.items():
            parts.writestr(own, content)
    cut = cut_of_sides(side_of(Path("ours")), side_of(Path("theirs")))
    passages = {}
    for side in ("ours", "theirs"):
        passages[side] = [row["text"] for _, row in rows_of_works(Path(side), cut)]
    assert len(passages["ours"]) == cut.each > 15
    assert passages["ours"] == passages["theirs"]


MARKUP = {
    "numbers of notes": (
        '<p>So<a epub:type="noteref" href="#n">12</a> it<sup><a href="#n">3</a></sup> is.</p>',
        "So it is.",
    ),
    "bracketed numbers": ('<p>So<a href="#n">[4]</a> it is, x<sup>2</sup>.</p>',
                          "So it is, x2."),
    "notes": (
        '<p>A text.</p><aside epub:type="footnote"><p>1 A note.</p></aside><div class="footnotes"><p>Two.</p></div>'
        '<div id="sdfootnote1"><p>Three.</p></div><section role="doc-endnotes">Four.</section>',
        "A text.",
    ),
    "notes that only raised numbers lead to": (
        '<p>So<sup><a href="#n1" id="r1">1</a></sup> it<a href="#n2" name="r2"><sup>2</sup></a> is.</p>'
        '<p id="n1"><a href="#r1">1</a> A note.</p><p><a name="n2" href="#r2">[2]</a> Two.</p>'
        '<ol><li id="n3"><p>Kept: nothing leads here.</p></li></ol>',
        "So it is.\n\nKept: nothing leads here.",
    ),
    "paragraphs that numbers in brackets lead to": (
        '<p id="p1">1. So it is.</p><p>2. See <a href="#p1">[1]</a>.</p>',
        "1. So it is.\n\n2. See .",
    ),
    "a text after an anchor": (
        '<div>So<sup><a href="#n1">1</a></sup> it is.<br><a id="n1"></a>1 A line<br>and a line.</div>',
        "So it is.\n1 A line\nand a line.",
    ),
    "numbers of pages": (
        '<p>So <span class="pagenum">[Pg 3]</span>it <a class="page-number">p. 12</a>is.</p>'
        '<p>The <a id="page_14">14</a>year 1914.</p>'
        '<div id="page_16"><p>16</p></div><p><a id="page_17">Not <i>I</i>, 18.</p>',
        "So it is.\n\nThe year 1914.\n\n16\n\nNot I, 18.",
    ),
    "notes that a sign leads to": (
        '<p>So<a epub:type="noteref" href="#n1">*</a> it is.</p><p id="n1">* A note.</p>',
        "So it is.",
    ),
    "hidden by a style": (
        "<style>/* .kept { display: none } */ .gone, p.lost { display:none }"
        " .x .kept { display: none } .late { visibility: hidden } .now .late { visibility: visible }"
        " @media print { .kept { color: red } .kept { display: none } }</style>"
        '<p class="lost">no</p><p>A <b class="Gone">no </b><b class="kept">good</b><i class="late"> text</i>.</p>',
        "A good text.",
    ),
    "seen again in what is hidden": (
        "<style>.blank, #blank { visibility:hidden } .seen { visibility:visible } p.gone { display:none }"
        " .big.gone { display:block } .x { display:none } .x { display:block }</style>"
        '<p class="blank">no <b class="seen">A</b> no <b id="blank">no <i style="visibility: visible"> good</i></b></p>'
        '<div class="gone">text,</div><p class="gone">no <b class="seen" style="display: block">no</b></p>'
        '<p class="gone big">large,</p><p class="gone" style="display: block">and</p><p class="x">shown.</p>'
        '<p id="blank">no<br>no</p>',
        "A good\n\ntext,\n\nlarge,\n\nand\n\nshown.",
    ),
    "signs that are not read aloud": (
        '<p><a aria-hidden="true" href="#x">#</a><span aria-hidden="true">S</span>o it<i aria-hidden="true">go</i>'
        '<span class="sr-only">So</span> is.</p>',
        "So it is.",
    ),
    "one of several ways to show": (
        "<epub:switch><epub:case><p>No.</p></epub:case><epub:default><p>Yes.</p></epub:default></epub:switch>",
        "Yes.",
    ),
    "numbers of lines": (
        '<p>Arms and <span class="linenum">5</span>the <b class="line-no">line</b>.</p>',
        "Arms and the line.",
    ),
    "read aloud alone": (
        '<p>So<span class="sr-only">no</span><i class="x visually-hidden">no</i> it is.</p>',
        "So it is.",
    ),
    "furigana": ("<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>字</p>", "漢字"),
    "deleted and hidden": (
        '<p>A <del>bad </del><ins>good </ins><b hidden>no</b><b style="display: none">no</b>text.</p>',
        "A good text.",
    ),
    "struck through": (
        "<style>p.old b.GONE, .struck { text-decoration: line-through }</style>"
        '<p>A <s>bad </s><strike>worse </strike><span style="Text-Decoration:line-through">no </span>'
        '<b class="x gone">no </b><b class="old">good</b> text.</p>',
        "A good text.",
    ),
    "lists and tables": (
        "<ul><li>One</li><li>Two</li></ul><table><tr><td>a</td><td>b</td></tr></table>",
        "One\n\nTwo\n\na\n\nb",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MARKUP)
@pytest.mark.parametrize("suffix", [".html", ".epub"])
def test_what_is_no_text_of_the_author_goes_in_markup(tmp_path, name, suffix):
    markup, expected = MARKUP[name]
    path = tmp_path / f"a{suffix}"
    # a text that is left in whole: the rest is never most of it
    markup += f"<p>{KNOWN}</p>"
    if suffix == ".epub":
        epub(path, [markup])
    else:
        path.write_text(f"<body>{markup}</body>", encoding="utf-8")
    text = read_document(path).text.removeprefix("Chapter 1\n\n")
    assert text == f"{expected}\n\n{' '.join(KNOWN.split())}"


def test_endnotes_in_a_file_of_their_own_go_whatever_it_is_called(tmp_path):
    text = "<p>So<a href='end.xhtml#n1' id='r1'><sup>1</sup></a> it is.</p>"
    note = "<ol><li id='n1'><p>A note.</p> <a href='ch%201.xhtml#r1'>back</a></li></ol>"
    book = epub(
        tmp_path / "a.epub",
        [text + f"<p>{KNOWN}</p>"],
        further={"OEBPS/end.xhtml": f"<html><body>{note}</body></html>"},
    )
    named = '<item id="end" href="end.xhtml"/></manifest>'
    remade(
        book, a=("</manifest>", named), b=("</spine>", '<itemref idref="end"/></spine>')
    )
    reading = read_document(book)
    assert "So it is." in reading.text
    assert "note" not in reading.text
    assert reading.left_out["notes"] == 4


AROUND = {
    "a program that asks for consent": '<div id="CybotCookiebotDialog">Cookies</div>',
    "a label": '<section aria-label="Cookie notice"><p>Cookies</p></section>',
    "a list of links": '<div><ul><li><a href="/">Home</a></li><li><a href="/a">A</a></li></ul></div>',
    "a frame": "<iframe>Other page</iframe>",
    "comments of readers": '<div id="comments"><p>Well said</p></div>',
    "a box of links": '<div class="navbox">Novels of 1899</div><div id="catlinks">1899 novels</div>',
    "what is not printed": '<p class="noprint">[edit]</p><p class="d-print-none">Print</p>',
    "a word processor's header": '<div title="header"><p>Page 1</p></div>',
    "boxes without names": '<div><div><a href="/">Home</a></div><div>Tel. 123</div></div>',
    "headlines of other pages": '<div><h3><a href="/b">Mills of the north</a></h3></div><div>Read on</div>',
    "the writer of a page": '<div class="byline">By A.</div><div id="author-bio"><p>A. writes.</p></div>',
}  # fmt: skip


@pytest.mark.parametrize("name", AROUND)
def test_what_surrounds_the_text_of_a_page_goes_however_it_is_marked(tmp_path, name):
    path = tmp_path / "page.html"
    text = f'<p>{KNOWN}</p><ul><li>One <a href="/">link</a></li><li>Two</li></ul>'
    path.write_text(f"<body>{AROUND[name]}{text}{AROUND[name]}</body>")
    reading = read_document(path)
    assert reading.text == f"{' '.join(KNOWN.split())}\n\nOne link\n\nTwo"


KEPT_AROUND = {
    "a headline in a box of its own": "<nav>Menu</nav><header><h1>Mills</h1></header>{}",
    "a short paragraph beside the text": "<nav>Menu</nav><p>Mills</p>{}",
    "a box of a page without menus": "<div>Mills</div>{}",
    "most of a page": f"<nav>Menu</nav>{'<div>Mills</div>' * 900}{{}}",
    "links in cells beside cells of text": "<nav>Menu</nav><table><tr><td><a href=#>"
    "Mills</a></td><td>{}</td></tr></table>",
    "a part of a book": f"<nav>Menu</nav><div>Mills</div>{{}}<div><p>{KNOWN * 4}</p></div>",
    "a text without long paragraphs": "<nav>Menu</nav><div>Mills</div><div>They went.</div>",
}


@pytest.mark.parametrize("name", KEPT_AROUND)
def test_what_may_be_text_around_a_page_stays(tmp_path, name):
    page = KEPT_AROUND[name].format(f"<p>{' '.join(KNOWN.split()[:200])}</p>")
    reading = read_document(written(tmp_path / "page.html", f"<body>{page}</body>"))
    assert reading.text.startswith("Mills\n\n")
    assert reading.left_out["navigation"] == page.count("<nav>")


def test_a_text_that_is_a_list_of_links_stays(tmp_path):
    path = tmp_path / "page.html"
    items = KNOWN.split("\n\n")
    listed = "".join(f'<li><a href="/{own[:9]}">{own}</a></li>' for own in items)
    path.write_text(f"<body><ul>{listed}</ul><p>The end.</p></body>")
    assert read_document(path).text == "\n\n".join([*items, "The end."])


def test_menus_and_banners_of_a_saved_page_go_and_its_main_part_stays(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(
        '<body class="single sidebar"><div id="cookie-banner">We use '
        'cookies</div><header><div class="main-menu">Home'
        f"</div>Our site</header><main><h1>Title</h1><p>{KNOWN}</p><aside>Read "
        f"also</aside></main>"
        '<div class="newsletter-form">Subscribe</div><p>All rights reserved</p></body>'
    )
    reading = read_document(path)
    assert reading.text == f"Title\n\n{' '.join(KNOWN.split())}"
    assert reading.left_out["navigation"] == 12
    path.write_text(
        f'<body><form><div class="menu-page"><p>{KNOWN}</p></div></form></body>'
    )
    assert read_document(path).text == " ".join(KNOWN.split()), (
        "never most of the words"
    )


def test_each_part_around_a_page_goes_if_all_together_have_more_words(tmp_path):
    """Only a part that has most of the words itself stays, as a form around a page."""
    links = "<li><a href='/'>A topic of the page</a></li>" * 30
    comments = "<p>Well written, thank you for this.</p>" * 30
    article = f"<div class='post'><p>{KNOWN}</p></div>"
    footer = "<div class='footer'><p>Imprint</p></div>"
    inner = f"<nav><ul>{links}</ul></nav>{article}<div id='comments'>{comments}</div>{footer}"
    path = tmp_path / "page.html"
    for page in (inner, f"<form>{inner}</form>"):
        path.write_text(f"<body>{page}</body>")
        reading = read_document(path)
        assert reading.text == " ".join(KNOWN.split())
        assert reading.left_out["navigation"] == 30 * 5 + 30 * 6 + 1


def remade(path: Path, **changes: str) -> Path:
    """Write an EPUB again with words of its package replaced."""
    with zipfile.ZipFile(path) as book:
        members = {name: book.read(name).decode() for name in book.namelist()}
    for old, new in changes.values():
        members["OEBPS/book.opf"] = members["OEBPS/book.opf"].replace(old, new)
    with zipfile.ZipFile(path, "w") as book:
        for name, content in members.items():
            book.writestr(name, content)
    return path


GUIDE = '</spine><guide><reference type="{}" href="ch%201.xhtml{}"/></guide>'
WHOLE_BOOKS = {
    "a front section": lambda path: epub(
        path,
        [
            f"<section "
            f'epub:type="frontmatter"><h1>Title</h1></section><section><p>{KNOWN}</p></section>'
        ],
    ),
    "a body called front matter": lambda path: epub(
        path, [f'<section epub:type="frontmatter"><p>{KNOWN}</p></section>']
    ),
    "an index that is the book": lambda path: remade(
        epub(path, ["x"], further={"OEBPS/index.xhtml": f"<p>{KNOWN}</p>"}),
        a=("ch%201.xhtml", "index.xhtml"),
    ),
    "a cover in the text": lambda path: remade(
        epub(path, [f"<p>{KNOWN}</p>"]), a=("</spine>", GUIDE.format("cover", ""))
    ),
    "contents in the text": lambda path: remade(
        epub(path, [f"<p>{KNOWN[: len(KNOWN) // 9]}</p>", f"<p>{KNOWN}</p>"]),
        a=("</spine>", GUIDE.format("toc", "#toc")),
    ),
}


@pytest.mark.parametrize("name", WHOLE_BOOKS)
def test_a_section_goes_and_never_a_file_with_most_of_the_words(tmp_path, name):
    path = tmp_path / "a.epub"
    WHOLE_BOOKS[name](path)
    reading = read_document(path)
    assert reading.text.endswith(" ".join(KNOWN.split()))
    if name == "contents in the text":
        assert reading.text.count(KNOWN.split()[0]) == 2
    assert reading.left_out["front matter"] == (name == "a front section")


LOCKED = (
    '<e:encryption xmlns:e="u" xmlns:enc="v"><enc:CipherReference '
    'URI="OEBPS/ch%201.xhtml"/></e:encryption>'
)


def test_a_pdf_that_only_its_owner_may_change_is_read(tmp_path):
    path = encrypted_pdf(tmp_path / "a.pdf", kept_blanks(KNOWN))
    assert read_document(path).text.split() == KNOWN.split()


UNREADABLE = {
    "lcp.epub": (
        lambda path: epub(path, ["Text."], further={"META-INF/encryption.xml": LOCKED}),
        r"the EPUB is encrypted \(DRM\)",
    ),
    "pictures.epub": (
        lambda path: remade(
            epub(path, []),
            a=('href="nav.xhtml"', 'href="1.jpg" media-type="image/jpeg"'),
        ),
        r"the pages of the EPUB are pictures \(OEBPS/1\.jpg",
    ),
    "adept.epub": (
        lambda path: epub(
            path,
            ["Text."],
            further={"META-INF/encryption.xml": LOCKED.replace("OEBPS/", "./OEBPS/")},
        ),
        r"the EPUB is encrypted \(DRM\)",
    ),
    "scanned.epub": (
        lambda path: remade(
            epub(path, [], further={"OEBPS/1.xhtml": "<div><img src='1.jpg'/></div>"}),
            a=("nav.xhtml", "1.xhtml"),
        ),
        r"the pages of the EPUB are pictures \(OEBPS/1\.xhtml",
    ),
    "lent.pdf": (
        lambda path: path.write_bytes(
            encrypted_pdf(path, [["Text."]])
            .read_bytes()
            .replace(b"/Standard", b"/EBX_HAND")
        ),
        r"the PDF is encrypted \(DRM\)",
    ),
    "no_spine.epub": (
        lambda path: remade(
            epub(path, []), a=('idref="i0"', ""), b=("itemref", "item")
        ),
        "the EPUB has no list of its chapters",
    ),
    "cut.pdf": (
        lambda path: path.write_bytes(pdf(path, [["Text."]]).read_bytes()[:-5]),
        "cannot be read as PDF: the file is cut off",
    ),
    "half_changed.pdf": (
        lambda path: path.write_bytes(
            pdf(path, [["Text."]]).read_bytes() + b"\n9 0 obj <<"
        ),
        "cannot be read as PDF: the file is cut off",
    ),
    "chunks.docx": (
        lambda path: edited_docx(path, "A.", document=("<w:p>", "<w:altChunk/>")),
        "the file holds others in formats of their own",
    ),
    "locked.odt": (
        lambda path: odt(path, "", "<m:encryption-data/>"),
        "the document is encrypted",
    ),
    "no.rtf": (lambda path: path.write_text("plain"), "the file is no RTF"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_called_what_it_is(tmp_path, name):
    make, message = UNREADABLE[name]
    make(tmp_path / name)
    with pytest.raises(InputError, match=message):
        read_document(tmp_path / name)


LEFT_OUT = {
    ".docx": ("<w:r><w:rPr><w:strike/></w:rPr><w:t>no</w:t></w:r>",
              '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'),
    ".odt": ("<text:note><text:p>no</text:p></text:note>", "{}"),
    ".rtf": (r"{\strike no}", "{}"),
    ".html": ("<s>no</s>", "{}"),
    ".epub": ("<s>no</s>", "{}"),
    ".md": ("~~no~~", "{}"),
}  # fmt: skip


@pytest.mark.parametrize("suffix", LEFT_OUT)
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("One | two.", "One two."),
        ("One | | two.", "One two."),
        ("One| two.", "One two."),
        ("Un|done.", "Undone."),
        ("One two.|", "One two."),
    ],
)
def test_nothing_stands_where_text_was_left_out(tmp_path, written, read, suffix):
    gone, as_text = LEFT_OUT[suffix]
    markup = gone.join(as_text.format(part) for part in written.split("|"))
    path = tmp_path / f"a{suffix}"
    if suffix == ".docx":
        edited_docx(path, "End", document=("<w:r>", markup))
    elif suffix == ".odt":
        odt(path, f"<text:p>{markup}</text:p>")
    elif suffix == ".epub":
        epub(path, [f"<p>{markup}</p><p>{KNOWN}</p>"])
    elif suffix == ".html":
        path.write_text(f"<p>{markup}</p><p>{KNOWN}</p>")
    else:
        path.write_text(rf"{{\rtf1 {markup}\par}}" if suffix == ".rtf" else markup)
    text = read_document(path).text.removeprefix("Chapter 1\n\n")
    end = "End" if suffix == ".docx" else " ".join(KNOWN.split())
    assert text.removesuffix(end).strip() == read


def edited_docx(path: Path, text: str, **changes) -> Path:
    """Write a DOCX whose document, or styles, have some markup before other."""
    docx(path, text)
    with zipfile.ZipFile(path) as parts:
        members = {
            name: parts.read(name).decode("latin-1") for name in parts.namelist()
        }
    for name, (old, new) in changes.items():
        file = f"word/{name}.xml"
        members[file] = members[file].replace(old, new + old, 1)
    with zipfile.ZipFile(path, "w") as parts:
        for name, content in members.items():
            parts.writestr(name, content.encode("latin-1"))
    return path


def test_a_docx_is_read_as_with_its_changes_accepted_and_without_hidden_text_and_notes(
    tmp_path,
):
    path = tmp_path / "a.docx"
    styles = {"CodeHidden": "<w:vanish/>", "Old": "<w:strike/>"}
    runs = {
        "hidden by its style": '<w:r><w:rPr><w:rStyle w:val="CodeHidden"/></w:rPr><w:t>no</w:t></w:r>',
        "struck by its style": '<w:r><w:rPr><w:rStyle w:val="Old"/></w:rPr><w:t>no</w:t></w:r>',
        "not filled in": "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:r>"
        "<w:t>Click here</w:t></w:r></w:sdtContent></w:sdt>",
        "filled in": "<w:sdt><w:sdtPr/><w:sdtContent><w:r><w:t> filled</w:t></w:r></w:sdtContent></w:sdt>",
        "moveFrom": "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>",
        "moveTo": "<w:moveTo><w:r><w:t> moved</w:t></w:r></w:moveTo>",
        "deleted": "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>",
        "struck": "<w:r><w:rPr><w:dstrike/></w:rPr><w:t>struck</w:t></w:r>",
        "not struck": '<w:r><w:rPr><w:strike w:val="0"/></w:rPr><w:t> whole</w:t></w:r>',
        "hidden": "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>",
        "shown": '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> shown</w:t></w:r>',
        "note": '<w:r><w:footnoteReference w:id="1" '
        'w:customMarkFollows="1"/><w:t>*</w:t></w:r>',
        "ruby": "<w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t> "
        "K</w:t></w:r></w:rubyBase>"
        "</w:ruby></w:r>",
    }
    sheet = ""
    for name, properties in styles.items():
        sheet += (
            f'<w:style w:type="character" w:styleId="{name}"><w:name w:val="{name}"/>'
            f"<w:rPr>{properties}</w:rPr></w:style>"
        )
    edited_docx(
        path,
        "First.\n\nLast.",
        document=("</w:p>", "".join(runs.values())),
        styles=("</w:styles>", sheet),
    )
    reading = read_document(path)
    assert reading.text == "First. filled moved whole shown K\n\nLast."
    assert +reading.left_out == {"deleted text": 4, "readings beside characters": 1}


PARAGRAPHS = {
    "a deleted end": ('<w:rPr><w:del w:id="7"/></w:rPr>', "One goes on.\n\nLast."),
    "a moved end": ('<w:rPr><w:moveFrom w:id="7"/></w:rPr>', "One goes on.\n\nLast."),
    "a large letter": ('<w:framePr w:dropCap="drop"/>', "One goes on.\n\nLast."),
    "a frame": ('<w:framePr w:w="10"/>', "One\n\ngoes on.\n\nLast."),
    "hidden": ('<w:pStyle w:val="Secret"/>', "goes on.\n\nLast."),
}


@pytest.mark.parametrize("name", PARAGRAPHS)
def test_a_paragraph_of_a_docx_that_goes_on_in_the_next_is_one_with_it(tmp_path, name):
    properties, expected = PARAGRAPHS[name]
    first = f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>One </w:t></w:r></w:p>"
    second = "<w:p><w:r><w:t>goes on.</w:t></w:r></w:p>"
    secret = (
        '<w:style w:type="paragraph" w:styleId="Secret"><w:name w:val="Secret"/>'
        "<w:rPr><w:vanish/></w:rPr></w:style>"
    )
    path = edited_docx(
        tmp_path / "a.docx",
        "Last.",
        document=("<w:p>", first + second),
        styles=("</w:styles>", secret),
    )
    assert read_document(path).text == expected


RUN = '<w:r><w:rPr><w:rStyle w:val="B"/>{}</w:rPr><w:t>{}</w:t></w:r>'
SYMBOL = '<w:r><w:sym w:font="{}" w:char="{}"/></w:r>'
SHEETS = {
    "all is hidden": "<w:docDefaults><w:rPrDefault><w:rPr><w:vanish/></w:rPr>"
    "</w:rPrDefault></w:docDefaults>",
    "paragraphs are hidden": '<w:style w:type="paragraph" w:default="1" w:styleId="N">'
    "<w:rPr><w:vanish/></w:rPr></w:style>",
}
STYLED = {
    "a parent hides": ("vanish", RUN.format("", "no"), "End", {}),
    "a run shows again": (
        "vanish", RUN.format('<w:vanish w:val="0"/>', "Shown"), "Shown End", {}
    ),
    **{
        name: ("b", RUN.format('<w:vanish w:val="0"/>', "Shown"), "Shown", {})
        for name in SHEETS
    },
    "a parent strikes": ("strike", RUN.format("", "no"), "End", {"deleted text": 1}),
    "a sign": ("b", SYMBOL.format("Symbol", "F0B3"), "≥ End", {}),
    "a sign of a font": (
        "b", SYMBOL.format("Wingdings", "F0B3"), "End", {"signs of other fonts": 1}
    ),
    "a sign in the font Symbol": (
        "b",
        '<w:r><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>\xef\x82\xb3</w:t></w:r>',
        "≥ End",
        {},
    ),
    "an equation of an older Word": (
        "b",
        '<w:r><w:object><o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office" '
        'ProgID="Equation.3"/></w:object></w:r>',
        "End",
        {"equations": 1},
    ),
    "an equation": (
        "b",
        '<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">'
        "<m:r><m:t>a</m:t></m:r></m:oMath>",
        "End",
        {"equations": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STYLED)
def test_a_docx_is_read_with_styles_by_their_parents_and_signs(tmp_path, name):
    on, run, text, left_out = STYLED[name]
    styles = SHEETS.get(name, "") + (
        f'<w:style w:type="character" w:styleId="A"><w:rPr><w:{on}/></w:rPr></w:style>'
        '<w:style w:type="character" w:styleId="B"><w:basedOn w:val="A"/></w:style>'
    )
    blank = '<w:r><w:t xml:space="preserve"> </w:t></w:r>'
    path = edited_docx(
        tmp_path / "a.docx",
        "End",
        document=("<w:r>", f"{run}{blank}"),
        styles=("</w:styles>", styles),
    )
    reading = read_document(path)
    assert reading.text == text
    assert +reading.left_out == left_out


ODT_STYLES = (
    ("style", 's:family="paragraph" s:name="A"', '"none"'),
    ("style", 's:family="paragraph" s:name="B" s:parent-style-name="A"', ""),
    ("style", 's:family="text" s:name="A"', '"true"'),
    ("style", 's:family="text" s:name="C" s:parent-style-name="A"', ""),
    ("style", 's:family="text" s:name="F"', '"true" s:font-name="Symbol"'),
    ("default-style", 's:family="paragraph"', '"none"'),
)
MATH = (
    '<m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:semantics><m:mi>a</m:mi>'
    "<m:annotation>over</m:annotation></m:semantics></m:math>"
)
OBJECT = (
    '<d:object xmlns:d="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:x="http://www.w3.org/1999/xlink" x:href="./Object 1"/>'
)
ODT_BODIES = {
    "shown in a hidden paragraph": (
        '<text:p text:style-name="B">no <text:span text:style-name="C">Shown'
        "</text:span> no</text:p>",
        "Shown",
        {},
    ),
    "of the same name as a paragraph's": (
        '<text:p text:style-name="P"><text:span text:style-name="A">Shown'
        "</text:span></text:p>",
        "Shown",
        {},
    ),
    "hidden by default": ("<text:p>no</text:p>", "", {}),
    "of the font Symbol": (
        '<text:p text:style-name="P">A <text:span text:style-name="F">\uf0b3</text:span>'
        "5 <text:span>\uf0fc</text:span> b.</text:p>",
        "A \u22655 b.",
        {"signs of other fonts": 1},
    ),
    "hidden by fields": (
        '<text:p text:style-name="P">no<text:hidden-paragraph text:is-hidden="true"/></text:p>'
        '<text:p text:style-name="P">A <text:hidden-text>no</text:hidden-text> '
        '<text:hidden-text text:is-hidden="false">text.</text:hidden-text></text:p>',
        "A text.",
        {},
    ),
    "an equation": (
        f'<text:p text:style-name="P">One {OBJECT} two.</text:p>',
        "One two.",
        {"equations": 1},
    ),
}


@pytest.mark.parametrize("name", ODT_BODIES)
def test_an_odt_is_read_with_styles_by_their_parents(tmp_path, name):
    body, text, left_out = ODT_BODIES[name]
    sheet = "".join(
        f"<s:{tag} {named}><s:text-properties text:display={puts}/></s:{tag}>"
        if puts
        else f"<s:{tag} {named}/>"
        for tag, named, puts in ODT_STYLES
    )
    path = odt(tmp_path / "a.odt", body)
    with zipfile.ZipFile(path) as book:
        content = book.read("content.xml").decode()
    with zipfile.ZipFile(path, "a") as book:
        styles = f'<x xmlns:s="{STYLE}"><office:styles>{sheet}</office:styles></x>'
        head = content.partition("<office:body>")[0]
        book.writestr("styles.xml", f"{head}{styles}</office:document-content>")
        book.writestr("Object 1/content.xml", MATH)
    reading = read_document(path)
    assert reading.text == text
    assert +reading.left_out == left_out


def test_an_odt_is_read_without_notes_comments_and_deleted_text(tmp_path):
    path = odt(
        tmp_path / "a.odt",
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        "<text:table-of-content><text:p>One "
        "1</text:p></text:table-of-content><text:h>Title</text:h>"
        "<text:p>A<text:s "
        "text:c='2'/>text<text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>A note.</text:p></text:note-body></text:note> goes"
        "<office:annotation><text:p>Comment</text:p></office:annotation> "
        f"<p xmlns='{SVG}'><title>picture</title><desc>of a cat</desc></p>"
        f"<s:style xmlns:s='{STYLE}' s:name='T1' s:family='text'><s:text-properties "
        "s:text-line-through-style='solid'/></s:style>"
        "<text:span text:style-name='T1'>struck </text:span>"
        f"<s:style xmlns:s='{STYLE}' s:name='T2' s:family='text'><s:text-properties "
        "text:display='none'/></s:style>"
        "<text:span text:style-name='T2'>hidden </text:span>"
        "on<text:line-break/>here.</text:p>"
        "<text:section text:display='none'><text:p>hidden</text:p></text:section>",
    )
    reading = read_document(path)
    assert reading.text == "Title\n\nA  text goes on\nhere."
    assert +reading.left_out == {"deleted text": 2, "contents": 2, "notes": 3}


def test_an_rtf_is_read_without_notes_deleted_and_hidden_text(tmp_path):
    path = tmp_path / "a.rtf"
    path.write_bytes(
        rb"{\rtf1\ansi{\info{\title A Title}{\author A. Writer}}One{\super\chftn}{\footnote A note.} caf\'e9"
        rb"{\deleted gone}{\v hidden} \u-10179?\u-8704?\par {\strike no {\b n}\'e9}Two\line"
        rb"\striked1 n\u233?\striked0 \v x\plain three\_four.\par}"
    )
    reading = read_document(path)
    assert +reading.left_out == {"deleted text": 4}
    assert reading.text == "One café \U0001f600\n\nTwo\nthree-four."
    assert reading.title == "A Title"
    assert reading.author == "A. Writer"


RTF_STYLES = (
    r"{\rtf1\ansi{\stylesheet{\sql Normal;}{\s1\v Secret;}{\s2\sbasedon1 Kin;}{\s3\sbasedon1\v0 Seen;}"
    r"{\*\cs4\additive\v{\*\keycode \ctrl b}Run;}{\*\cs5\sbasedon4 Kin;}{\*\ts1\v Table;}}"
)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\pard\s1 no\par\pard One.", "One."),
        (r"\pard\s2 no {\v0 One.}\par", "One."),
        (r"\pard\s3 One.\par", "One."),
        (r"One.{\cs4 no}{\cs5 no\v0  Two.}", "One. Two."),
        (
            r'A {\field{\*\fldinst SYMBOL 179 \\f "Symbol"}{\fldrslt\f3}}5.',
            "A \u22655.",
        ),
        (
            r'A {\field{\*\fldinst{SYMBOL 179 \\f "Wingdings"}}{\fldrslt}} b.',
            "A b.",
        ),
        (r"One.{\v\par\pard no} \s1 no\s0 Two.", "One.\n\nTwo."),
    ],
)
def test_an_rtf_is_read_with_styles_by_their_parents(tmp_path, written, read):
    path = tmp_path / "a.rtf"
    path.write_text(f"{RTF_STYLES}{written}}}")
    assert read_document(path).text == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Keep ~~struck~~ this.[^1]\n\n[^1]: A note.", "Keep this."),
        ("So <!-- ~~no~~\nno -->it is.\n<!-- no -->\nYes.", "So it is.\nYes."),
        ("Wor~~s~~d ~~two\nlines~~ next.", "Word next."),
        ("~~~\ncode\n~~~\n\nA ~~ b ~~ c.", "~~~\ncode\n~~~\n\nA ~~ b ~~ c."),
    ],
)
def test_markdown_is_read_without_notes_and_struck_text(tmp_path, written, read):
    path = tmp_path / "a.md"
    path.write_text(f"{written}\n", encoding="utf-8")
    assert read_document(path).text == read


SAID = (
    "“What,” he said, “don\u2019t you see the café—the naïve Zoë?” It\u2019s over.\n"
    * 40
)
RUSSIAN = "Пришла весна, и город ожил.\n" * 40
CZECH = (
    "Když jsem se probudil, štěkal pes. Šel jsem ke žlutým dveřím, ťukal a křičel.\n"
    * 40
)
POLISH = (
    "Kiedy się obudziłem, świeciło słońce. Źle się stało: żółty śnieg, ciężka noc.\n"
    * 40
)
TURKISH = (
    "Sabah uyand\u0131ğ\u0131mda güneş içeri giriyordu. İstanbul'da çok \u0131ş\u0131k var, ağabey.\n"
    * 40
)
FRENCH = (
    "Quand je me réveillai, un chien aboyait déjà. Ça n'a pas plu à mon frère aîné.\n"
    * 40
)
SUMS = "He said 2+2- is 4, and 1+100-50 is 51; C++ is no a+b-c.\n" * 40
CHINESE = "这是一本书。他说天气很好。我们一起去公园散步吧。\n" * 40
DAMAGED = r"UTF-8 \(1 damaged character replaced, the first in '.*end"
MAC = r"Mac Roman \(guessed; read as: “What,”, “don\u2019t, café—the\)"
ENCODINGS = {
    "one damaged byte": (SAID.encode() + b"end\x92s", SAID + "end\ufffds", DAMAGED),
    "UTF-16 with half a sign": (
        SAID.encode("utf-16") + b"x",
        SAID + "\ufffd",
        r"UTF-16 \(1 damaged",
    ),
    "Mac Roman": (SAID.encode("mac_roman"), SAID, MAC),
    "Windows": (
        SAID.encode("cp1252"),
        SAID,
        r"Windows-1252 \(guessed; read as: “What,”",
    ),
    "Russian": (RUSSIAN.encode("cp1251"), RUSSIAN, r"Windows-1251 \(guessed"),
    **{
        f"{name} in {encoding}": (text.encode(encoding), text, told)
        for name, text, encoding, told in (
            ("Czech", CZECH, "iso8859_2", r"ISO 8859-2 \(guessed"),
            ("Czech", CZECH, "cp1250", r"Windows-1250 \(guessed"),
            ("Czech", CZECH, "utf-7", r"UTF-7 \(guessed"),
            ("Polish", POLISH, "iso8859_2", r"ISO 8859-2 \(guessed"),
            ("Turkish", TURKISH, "cp1254", r"Windows-1254 \(guessed"),
            ("French", FRENCH, "cp850", r"cp850 \(guessed"),
            ("Russian", RUSSIAN, "utf-7", r"UTF-7 \(guessed"),
            ("sums", SUMS, "ascii", "UTF-8$"),
        )
    },
    "UTF-16 without a mark": (SAID.encode("utf-16-le"), SAID, "UTF-16-LE"),
    "Chinese in UTF-16 without a mark": (
        CHINESE.encode("utf-16-le"),
        CHINESE,
        "UTF-16-LE",
    ),
    "Chinese in UTF-16, the high byte first": (
        CHINESE.encode("utf-16-be"),
        CHINESE,
        "UTF-16-BE",
    ),
    "a stray zero": (b"A\0B" + SAID.encode(), "AB" + SAID, "UTF-8$"),
    "UTF-32": (SAID.encode("utf-32"), SAID, "UTF-32"),
    "UTF-32 without a mark": (SAID.encode("utf-32-be"), SAID, "UTF-32-BE"),
}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("suffix", [".txt", ".html"])
def test_an_encoding_is_told_with_what_was_guessed_and_what_is_damaged(
    tmp_path, name, suffix
):
    data, text, told = ENCODINGS[name]
    if suffix == ".html" and name == "UTF-16 with half a sign":
        pytest.skip("an odd byte ends the last tag")
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data)
    reading = read_document(path)
    assert reading.text.split() == text.split()
    assert re.match(told, reading.encoding), reading.encoding


OF_2001 = (
    "*This is a Project Gutenberg Etext*\n\n*END*THE SMALL PRINT! FOR PUBLIC DOMAIN "
    "ETEXTS*Ver.04.29.93*END*\n\nE-text prepared by A. Reader\nand others\n\n"
)
OF_2010 = (
    "Words.\n\n*** START OF THIS PROJECT GUTENBERG EBOOK A TITLE ***\n\n\n"
    "Produced by A. Reader\n\n"
)
OF_2020 = "Words.\n\n*** START OF THE PROJECT GUTENBERG EBOOK A TITLE ***\n\n"


@pytest.mark.parametrize("suffix", [".txt", ".md", ".docx", ".epub"])
@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (OF_2001, "End of the Project Gutenberg Etext of A Title\n\nWords."),
        (
            OF_2010,
            "End of Project Gutenberg's A Title, by A. Writer\n\n"
            "*** END OF THIS PROJECT GUTENBERG EBOOK A TITLE ***\n\nWords.",
        ),
        (OF_2020, "*** END OF THE PROJECT GUTENBERG EBOOK A TITLE ***"),
    ],
)
def test_what_project_gutenberg_adds_goes_in_every_format(tmp_path, begin, end, suffix):
    body = [*KNOWN.split("\n\n"), "What they prepared by [Pg 12] hand,", "as said."]
    path = tmp_path / f"a{suffix}"
    written = f"{begin}{chr(10).join(body[:1])}\n\n" + "\n\n".join(body[1:])
    written += f"\n\n{end}"
    if suffix == ".docx":
        docx(path, written)
    elif suffix == ".epub":
        blocks = "".join(f"<p>{block}</p>" for block in written.split("\n\n"))
        epub(path, [blocks])
    else:
        path.write_text(written, encoding="utf-8")
    [work] = works_in(path)[0]
    text = read_work(work).text
    assert text.split() == " ".join(body).replace("[Pg 12] ", "").split()


def test_notices_of_chapters_go_and_the_text_between_them_stays(tmp_path):
    chapters = [prose(3000, f"c{number}") for number in range(4)]
    path = tmp_path / "a.txt"
    notice = "© 2004 by A. Writer"
    parts = ["A Title"]
    for number, chapter in enumerate(chapters):
        # several years, as a collection of articles has
        parts += [chapter, notice.replace("2004", str(2004 + number // 3))]
    path.write_text("\n\n".join(parts), encoding="utf-8")
    [work] = works_in(path)[0]
    read = read_work(work)
    assert read.text == "A Title\n\n" + "\n\n".join(chapters)
    assert read.report.left_out == {"copyright notices": 20}
    path.write_text(f"{chapters[0]}\n\n{notice}\n\n{chapters[1]}", encoding="utf-8")
    assert read_work(work).report.left_out == {}, (
        "a notice far from the beginning is no front matter"
    )


@pytest.mark.parametrize(
    ("title", "author", "read"),
    [
        ("Word Document", "Administrator", ("", "")),
        ("Microsoft Word - novel.doc", "python-docx", ("", "")),
        ("Home", "Anonymous", ("Home", "Anonymous")),
        ("The Document of 1984", "A. Admin", ("The Document of 1984", "A. Admin")),
    ],
)
def test_what_programs_write_as_title_and_author_is_none(tmp_path, title, author, read):
    import docx as library

    document = library.Document()
    document.core_properties.title, document.core_properties.author = title, author
    document.add_paragraph("Text.")
    document.save(str(tmp_path / "a.docx"))
    reading = read_document(tmp_path / "a.docx")
    assert (reading.title, reading.author) == read


def test_notes_of_a_pdf_go_with_their_raised_numbers(tmp_path):
    """The page is as a word processor sets it: smaller, raised numbers, and notes at
    the foot with the same ones."""
    lines = [f"Line {number} of the text goes on. " for number in range(20)]
    shown = "".join(f"({line}) Tj T* " for line in lines[:10])
    shown += "(A word) Tj /F 6 Tf 4 Ts (1) Tj 0 Ts /F 10 Tf ( has a note) Tj "
    shown += "/F 6 Tf 4 Ts (ii) Tj 0 Ts /F 10 Tf (. ) Tj T* "  # an endnote's
    shown += "".join(f"({line}) Tj T* " for line in lines[10:])
    shown += "1 0 0 1 50 400 Tm (And H) Tj 1 0 0 1 70 398 Tm /F 6 Tf (2) Tj "
    shown += "1 0 0 1 74 400 Tm /F 10 Tf (O is wet.) Tj 1 0 0 1 50 380 Tm "
    shown += "/F 10 Tf (1 This is the note.) Tj T*"
    stream = f"BT /F 10 Tf 12 TL 50 780 Td {shown} ET"
    reading = read_document(pdf(tmp_path / "a.pdf", [stream]))
    assert "A word has a note." in reading.text
    assert "And H2O is wet." in reading.text
    assert "This is the note" not in reading.text
    assert reading.text.count("of the text") == 20


NAMED = {
    "latin1": "cp1252", "ISO_8859-1": "cp1252", "iso-8859-9": "cp1254",
    "utf-16": "utf-8", "windows-1251": "utf-8-sig", "hex": "utf-8",
}  # fmt: skip
SIGNS = {"shift_jis": ("cp932", "①髙"), "gb2312": ("gb18030", "镕"),
         "euc-kr": ("cp949", "똠")}  # fmt: skip


TOLD_TWICE = {
    "a.xhtml": (
        '<?xml version="1.0" encoding="cp1251"?><meta charset="utf-8">',
        "cp1251",
    ),
    "b.xhtml": ('<meta charset="latin1">', "utf-8"),
    "c.xhtml": ('<meta charset="windows-1251">', "cp1251"),
    "a.html": (
        '<?xml version="1.0" encoding="cp1251"?><meta charset="utf-8">',
        "utf-8",
    ),
    "b.html": (
        '<script charset="koi8-r"></script><meta charset="windows-1251">',
        "cp1251",
    ),
    "c.html": ('<!-- charset="koi8-r" --><meta charset="windows-1251">', "cp1251"),
}


@pytest.mark.parametrize("name", TOLD_TWICE)
def test_a_page_takes_the_word_for_its_encoding_that_is_for_its_format(tmp_path, name):
    head, encoding = TOLD_TWICE[name]
    path = tmp_path / name
    path.write_bytes(f"{head}<p>{RUSSIAN}</p>".encode(encoding))
    assert read_document(path).text == RUSSIAN.replace("\n", " ").strip()


@pytest.mark.parametrize("suffix", [".html", ".epub"])
@pytest.mark.parametrize("told", [*NAMED, *SIGNS])
def test_what_a_page_says_of_its_encoding_is_taken_as_browsers_take_it(
    tmp_path, told, suffix
):
    encoding, text = SIGNS.get(told, (NAMED.get(told), "“Café” — a bill of 5 €…"))
    data = f"<meta charset={told}><p>{text}</p>".encode(encoding)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data)
    if suffix == ".epub":
        path.unlink()
        remade(epub(path, []), a=("nav.xhtml", "1.xhtml"))
        with zipfile.ZipFile(path, "a") as book:
            book.writestr("OEBPS/1.xhtml", data)
    assert read_document(path).text.partition("\n")[0] == text


ADDRESSES = {
    "chapter": 'href="ch%201.xhtml#s2"', "query": 'href="ch%201.xhtml?v=2"',
    "root": 'href="/OEBPS/ch%201.xhtml"', "backslash": 'href=".\\ch%201.xhtml"',
    "capitals": 'href="Ch 1.xhtml"', "blanks": 'href=" ch%201.xhtml "',
}  # fmt: skip
LACKING = {
    "a file": ('href="ch%202.xhtml"', 'href="gone.xhtml"', "gone.xhtml"),
    "an address": ('href="ch%202.xhtml"', "", "i2"),
    "an item": ('id="i2"', "", "i2"),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_chapter_is_found_however_its_address_is_written(tmp_path, name):
    path = epub(tmp_path / "a.epub", ["One.", "Two."])
    remade(path, a=('href="ch%201.xhtml"', ADDRESSES[name]))
    assert read_document(path).text == "Chapter 1\n\nOne.\n\nChapter 2\n\nTwo."


@pytest.mark.parametrize("name", LACKING)
def test_a_missing_chapter_is_named_and_the_others_are_read(tmp_path, name):
    before, after, named = LACKING[name]
    path = remade(epub(tmp_path / "a.epub", ["One.", "Two."]), a=(before, after))
    reading = read_document(path)
    assert reading.text == "Chapter 1\n\nOne."
    assert reading.removed[f"missing chapters ({named})"] == 1


SENTENCES = {
    "en": "The river went past the mill. ", "zh": "黄河是中国的第二长河。",
    "ja": "漁師は舟を出して岬の先まで行った。", "th": "แม่น้ำไหลผ่านโรงสีเก่า ",
    "ko": "강은 오래된 방앗간을 지나 흘렀다. ",
}  # fmt: skip


@pytest.mark.parametrize("language", SENTENCES)
def test_a_page_and_a_book_lose_the_same_in_every_script(tmp_path, language):
    own = SENTENCES[language]
    text = "".join(f"<p>{own * 4}</p>" for _ in range(9))
    menu = "".join(f"<li><a href='/'>{own[:4]}</a></li>" for _ in range(12))
    ruby = f"<p><ruby>{own[:4]}<rt>{own * 9}</rt></ruby></p>" * 9
    box = f"<div><div>{own[:4]}</div></div>"
    page = written(tmp_path / "a.html", f"<nav>{menu}</nav>{box}{text}{ruby}{box}")
    expected = "\n\n".join([(own * 4).strip()] * 9 + [own[:4].strip()] * 9)
    assert read_document(page).text == expected
    book = written(tmp_path / "b.txt", f"© 2019 P.\n\n{(own * 9 + chr(10)) * 200}")
    [work] = works_in(book)[0]
    assert "2019" not in read_work(work).text


PIECES = {
    "<p>He said <q>go, <q>now</q></q>.</p>": "He said “go, \u2018now\u2019”.",
    "<p><q>Go</q></p>": "“Go”",
    "<p><img alt='T' src='t.png'>he end</p>": "The end",
    "<p><img class='dropcap' alt='“T' src='t.png'>he end</p>": "“The end",
    "<p><img alt='A ship' src='s.png'>End</p>": "End",
    "<p><i>\uf015</i> Home</p>": "Home",
    "<div><template shadowrootmode=open><p>Shown</p></template></div>": "Shown",
    "<p>a <math><mi>x</mi></math> b</p>": "a b",
}


@pytest.mark.parametrize("markup", PIECES)
def test_what_is_shown_of_markup_is_read(tmp_path, markup):
    reading = read_document(written(tmp_path / "a.html", f"<p>One.</p>{markup}"))
    assert reading.text == f"One.\n\n{PIECES[markup]}"
    assert reading.left_out["equations"] == ("math" in markup)


SEEN = "BT /F 10 Tf 1 0 0 1 50 700 Tm (What is seen of a page are these ten words.) Tj"
DRAWN = {
    "in two layers": f"{SEEN} ET /OC /L BDC BT /F 9 Tf 50 600 Td (Draft) Tj ET EMC",
    "twice": f"{SEEN} {SEEN.replace('50', '50.3')} ET",
    "twice, in other pieces": f"{SEEN} 1 0 0 1 50 700 Tm (What) Tj ( is seen) Tj ET",
    "beside invisible text": f"{SEEN} 1 0 0 1 50 600 Tm 3 Tr (Hidden words) Tj ET",
    "over an invisible copy": f"3 Tr {SEEN} 0 Tr {SEEN} ET",
    "beside white text": f"{SEEN} 1 g 1 0 0 1 50 600 Tm (Hidden words) Tj ET",
    "by OCR": f"3 Tr {SEEN} ET",
    "without blanks": SEEN.replace(
        "(What is seen of", "[(What is seen) -300 (of"
    ).replace("Tj", "] TJ ET"),
    "turned": SEEN.replace("1 0 0 1 50 700", "0 1 -1 0 50 300") + " ET",
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_pdf_is_read_as_it_looks(tmp_path, name):
    reading = read_document(pdf(tmp_path / "a.pdf", [DRAWN[name]]))
    assert reading.text == "What is seen of a page are these ten words."


@pytest.mark.parametrize(
    "sentence", [*SENTENCES.values(), "བོད་ཀྱི་སྐད་ཡིག་ནི་གནའ་བོའི་སྐད་ཡིག་ཡིན།"]
)
def test_a_pdf_is_glued_only_if_its_script_has_spaces(tmp_path, sentence):
    page = [_Line([_Piece(sentence, 9, 700)])] * 10
    assert _check_has_words([page], tmp_path)[0] > 9
    glued = [_Line([_Piece("ηχώρατουποταμούκαιτουπαλιούμύλου", 9, 700)])] * 10
    with pytest.raises(InputError, match="no spaces between words, 32 letters a word"):
        _check_has_words([glued], tmp_path)


def test_a_hyphen_before_a_blank_at_the_end_of_a_line_keeps_it(tmp_path):
    lines = [
        "A poem has a pre- ",
        "and a post-war verse. ",
        "It has a di-",
        "vided word.",
    ]
    reading = read_document(pdf(tmp_path / "a.pdf", [lines]))
    assert reading.text.startswith("A poem has a pre- and a post-war verse.")


def test_a_long_line_that_pages_begin_with_is_text(tmp_path):
    page = "On day {} of the survey the boat crossed the bay and"
    pages = [[page.format(n), *KNOWN.split("\n\n")[n].split(". ")] for n in range(4)]
    assert read_document(pdf(tmp_path / "a.pdf", pages)).text.count("On day") == 4


def test_other_formats_are_named_with_how_to_convert_them():
    assert "ebook-convert" in conversion_of("a.mobi")
    assert "soffice" in conversion_of("A.DOC")
    assert "DRM" in conversion_of("a.acsm")
    assert conversion_of("a.jpg") == conversion_of("a.epub") == ""
