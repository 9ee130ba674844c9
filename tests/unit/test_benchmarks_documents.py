"""Books are read as people have them, without what print adds to a text; what cannot be
read is named."""

import gzip
import hashlib
import random
import sys
import textwrap
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from made_up_books import (
    docx,
    encrypted_pdf,
    epub,
    packed_pdf,
    pages_of,
    pdf,
    prose,
    wrapped,
)
from pretrace.documents import works
from pretrace.documents.formats import read_document
from pretrace.documents.layout import (
    LaidOutText,
    joined_hyphens,
    unwrap_lines,
    without_front_matter,
)
from pretrace.documents.readers import limits
from pretrace.documents.works import report_of, stored_work, works_in
from pretrace.runtime.errors import InputError

TEXT = prose(900, "book")
UMLAUTS = TEXT.replace("e", "é").replace("o", "ö")


def html(text: str, head: str = "") -> str:
    blocks = "".join(f"<p>{paragraph}</p>\n" for paragraph in text.split("\n\n"))
    return (
        f"<html><head>{head}<title>No</title></head><body><nav>Home "
        f"Books</nav><div>{blocks}</div></body></html>"
    )


def written(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(content.encode(encoding))
    return path


ODD_WORDS = ", ".join(
    [*dict.fromkeys(word for word in UMLAUTS.split() if not word.isascii())][:3]
)
GUESSED = f"Windows-1252 (guessed; read as: {ODD_WORDS})"
MADE = {
    "book.epub": (lambda path: epub(path, [TEXT]), "EPUB"),
    "book.docx": (lambda path: docx(path, TEXT), "DOCX"),
    "book.pdf": (lambda path: pdf(path, pages_of(TEXT, "A BOOK")), "PDF"),
    "book.html": (lambda path: written(path, html(TEXT)), "UTF-8"),
    "latin.htm": (
        lambda path: written(
            path, html(UMLAUTS, '<meta charset="iso-8859-1">'), "cp1252"
        ),
        "Windows-1252",
    ),
    "book.md": (lambda path: written(path, f"---\ntitle: x\n---\n{TEXT}"), "UTF-8"),
    "wrapped.txt": (
        lambda path: written(path, wrapped(TEXT).replace("\n", "\r\n")),
        "UTF-8",
    ),
    "latin.txt": (lambda path: written(path, UMLAUTS, "cp1252"), GUESSED),
    "marked.txt": (lambda path: written(path, UMLAUTS, "utf-16"), "UTF-16"),
    "unmarked.txt": (lambda path: written(path, UMLAUTS, "utf-16-be"), "UTF-16-BE"),
}


@pytest.mark.parametrize("name", MADE)
def test_each_format_gives_the_same_paragraphs(tmp_path, name):
    make, encoding = MADE[name]
    reading = read_document(make(tmp_path / name))
    text = unwrap_lines(reading.text).removeprefix("Chapter 1\n\n")
    expected = (
        UMLAUTS if name.partition(".")[0] in ("latin", "marked", "unmarked") else TEXT
    )
    # where the last line of a paragraph is full, nothing shows that it ends
    if name == "book.pdf":
        assert text.split() == expected.split()
        assert len(
            set(text.split("\n\n")) & set(expected.split("\n\n"))
        ) >= 0.6 * expected.count("\n\n")
    else:
        assert text == expected
    assert reading.encoding == encoding


def test_what_print_adds_is_removed_and_counted(tmp_path):
    pages = pages_of(TEXT, "A BOOK")
    divided = sum(
        line.endswith("-") and line[0] != "-" for page in pages for line in page
    )
    reading = read_document(pdf(tmp_path / "book.pdf", pages))
    assert divided > 5
    assert reading.removed == {
        "page headers": len(pages),
        "page numbers": len(pages),
        "hyphens at line ends": divided,
        "pages without text": 0,
    }
    printed = "\f".join("\n".join(page) for page in pages)
    text = read_document(written(tmp_path / "book.txt", printed))
    assert text.text.split() == TEXT.split()
    assert (
        read_document(written(tmp_path / "one.txt", "12\nA text.\n12")).text
        == "12\nA text.\n12"
    ), "no pages"


def test_an_epub_has_its_chapters_in_order_without_its_front_matter(tmp_path):
    path = epub(
        tmp_path / "b.epub",
        ["One <em>&amp;</em> two".join(["<p>", "</p>"]), "End."],
        front="My title",
    )
    reading = read_document(path)
    assert reading.text == "Chapter 1\n\nOne & two\n\nChapter 2\n\nEnd."
    assert reading.left_out == {"front matter": 2, "contents": 2}


def test_title_and_author_are_those_of_the_file(tmp_path, monkeypatch):
    import docx as library

    monkeypatch.chdir(tmp_path)
    Path("books").mkdir()
    document = library.Document()
    document.core_properties.title, document.core_properties.author = (
        "A\nNovel",
        "A. Writer",
    )
    document.add_paragraph("Text.")
    document.save("books/one.docx")
    epub(
        Path("books/two.epub"),
        ["<p>Text.</p>"],
        about="<dc:title>B &amp; C</dc:title><dc:creator>D</dc:creator>",
    )
    info = "<< /Title (E) /Author (F) >>"
    pdf(Path("books/three.pdf"), pages_of(TEXT, "A BOOK"), info=info)
    about = {work.name: report_of(work) for work in works_in(Path("books"))[0]}
    assert {name: (own.title, own.author) for name, own in about.items()} == {
        "one": ("A Novel", "A. Writer"), "two": ("B & C", "D"), "three": ("E", "F")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("info", "title", "author"),
    [
        ("<< /Title null /Author (F) >>", "", "F"),
        ("<< /Title 1984 /Author 3.5 >>", "", ""),
        ("<< /Title [(E) (F)] /Author [] >>", "", ""),
        ("<< /Title << /A (E) >> /Author true >>", "", ""),
        ("<< /Title /E /Author 99 0 R >>", "E", ""),
        ("<< /Title (E) /Author <FEFF0046> >>", "E", "F"),
        ("null", "", ""),
        ("1984", "", ""),
        ("[(E)]", "", ""),
        ("99 0 R", "", ""),
    ],
)
def test_a_pdf_whose_title_is_no_text_has_none(tmp_path, info, title, author):
    reading = read_document(
        pdf(tmp_path / "b.pdf", pages_of(TEXT, "A BOOK"), info=info)
    )
    assert reading.title == title
    assert reading.author == author
    assert reading.text


def test_html_keeps_lines_that_are_meant_and_leaves_out_what_is_no_text(tmp_path):
    page = (
        "<!DOCTYPE html><!-- no --><body><p>One\n "
        "line,<br>two</p><script>no</script><pre>a\n  b</pre>"
        "<p><![CDATA[3 > 2]]> \0&amp; true<p>"
        '<ul><li>x</li><li>y <a class="pagenum">12</a>z</li></ul><div '
        'class="page-break-before"><p>Yes</p></div>'
        "<footer>© me</footer></body>"
    )
    reading = read_document(written(tmp_path / "page.html", page))
    assert reading.text == "One line,\ntwo\n\na\nb\n\n3 > 2 & true\n\nx\n\ny z\n\nYes"
    assert reading.removed["page numbers"] == 1
    assert reading.left_out["navigation"] == 2


def test_a_docx_has_tracked_insertions_and_tables_and_no_contents(tmp_path):
    import docx as library
    from docx.oxml import OxmlElement

    path = docx(tmp_path / "a.docx", "First.\n\nLast.", ["One\t1", "Two\t9"])
    document = library.Document(str(path))
    run = document.paragraphs[2].runs[0]._r
    insertion = OxmlElement("w:ins")
    run.addprevious(insertion)
    insertion.append(run)
    document.add_table(1, 1).cell(0, 0).text = "A cell."
    document.save(str(path))
    reading = read_document(path)
    assert reading.text == "First.\n\nLast.\n\nA cell."
    assert reading.left_out == {"contents": 4}


@pytest.mark.parametrize(
    ("printed", "joined"),
    [
        ("an exam-\nple of it", "an example\nof it"),
        (
            "self-\nrespect, and respect for the self",
            "self-respect,\nand respect for the self",
        ),
        ("a well-\nknown man, a well-known one", "a well-known\nman, a well-known one"),
        ("horse-and-\nbuggy", "horse-and-buggy\n"),
        ("an African-\nAmerican", "an African-American\n"),
        (
            "the exam-\nple; no exam and no ple but an example",
            "the example;\nno exam and no ple but an example",
        ),
        ("soft\xad\nware", "software"),
        ("- a\n- b", "- a\n- b"),
    ],
)
def test_words_that_are_divided_are_joined_and_compounds_are_not(printed, joined):
    assert joined_hyphens(printed)[0] == joined


def test_a_text_that_divides_no_words_keeps_its_hyphens():
    text = "\n".join(["a line of it"] * 100 + ["far-", "reaching"])
    assert joined_hyphens(text)[0].endswith("far-reaching\n")


VERSE = "\n".join(
    " ".join(random.Random(n).choices(["sea", "and", "wandering", "o"], k=5))
    for n in range(40)
)


@pytest.mark.parametrize(
    "text", [TEXT, VERSE, VERSE.title(), "def f():\n    return 1\n" * 20], ids=repr
)
def test_texts_with_lines_of_their_own_are_not_unwrapped(text):
    assert unwrap_lines(text) == text


@pytest.mark.parametrize("width", [50, 72, 100])
def test_wrapped_prose_is_unwrapped(width):
    assert unwrap_lines(wrapped(TEXT, width)) == TEXT
    indented = "\n".join(
        textwrap.fill(own, width, initial_indent="  ") for own in TEXT.split("\n\n")
    )
    assert unwrap_lines(indented).split() == TEXT.split()


BODY = prose(6000, "body")


@pytest.mark.parametrize(
    ("before", "after", "left_out"),
    [
        (
            "The Title\n\nCopyright 2001 by A. Writer. All rights reserved.\n\n",
            "",
            {"front matter": 10},
        ),
        (
            "Contents\n\nOne ..... 3\nTwo ..... 9\nThree ..... 12\n\n",
            "",
            {"contents": 10},
        ),
        (
            "Contents\n\n"
            + "\n".join(f"A title {'. ' * 20}{n}" for n in (3, 9, 12))
            + "\n\n",
            "",
            {"contents": 70},
        ),
        (
            "CONTENTS\n\nChapter I\nChapter II\nChapter III\n\nChapter I\n\n",
            "",
            {"contents": 7},
        ),
        ("Contents of this letter are secret.\n\n", "", {}),
        (
            "A licence\n\n*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\n",
            "\n\n*** END OF THE PROJECT GUTENBERG EBOOK X ***\nMore licence",
            {"front matter": 11, "back matter": 11},
        ),
    ],
)
def test_front_matter_and_contents_are_left_out_and_counted(before, after, left_out):
    reading = without_front_matter(LaidOutText(before + BODY + after, "UTF-8"))
    kept = (
        before.rpartition("Chapter I\n\n")[1]
        if "II" in before
        else ""
        if left_out
        else before
    )
    assert reading.text == kept + BODY
    assert reading.left_out == left_out


def test_a_short_text_about_copyright_keeps_it():
    licence = "MIT License\n\nCopyright (c) 2020\n\n" + prose(200, "licence")
    assert without_front_matter(LaidOutText(licence, "UTF-8")).text == licence


DRM = (
    "<encryption><CipherData><CipherReference "
    'URI="OEBPS/ch%201.xhtml"/></CipherData></encryption>'
)
OUTSIDE = {"OEBPS/book.opf": '<package><manifest><item id="a" href="../../../../etc/passwd"/></manifest><spine>'
           '<itemref idref="a"/></spine></package>'}  # fmt: skip
REFUSED = {
    "locked.pdf": (lambda path: encrypted_pdf(path, [["a secret"]], "password"),
                   "the PDF is encrypted; save a copy without a password"),
    "scan.pdf": (lambda path: pdf(path, [["7"], []]),
                 "1 of 2 pages of the PDF have no text; it is probably scanned"),
    "drm.epub": (lambda path: epub(path, ["Text."],
                                   further={"META-INF/encryption.xml": DRM}),
                                   r"encrypted \(DRM\)"),
    "outside.epub": (lambda path: epub(path, ["Text."], further=OUTSIDE),
                     "1 of 1 chapters that the EPUB names are not in it: .*etc/passwd"),
    "bomb.epub": (lambda path: epub(path, ["Text."], further={"big": "0" * 60_000}),
                  "larger than 0 MB, unpacked"),
    "bomb.txt.gz": (lambda path: path.write_bytes(gzip.compress(b"0" * 60_000)),
                    "larger than 0 MB, unpacked"),
    "old.docx": (lambda path: written(path, "\xd0\xcf\x11\xe0 old", "latin-1"),
                 "encrypted or of an older Word"),
    "half.epub": (lambda path: path.write_bytes(epub(path,
                                                     ["Text."]).read_bytes()[:500]),
                                                     "cannot be read as EPUB"),
    "half.pdf": (lambda path: path.write_bytes(pdf(path,
                                                   [["Text."]]).read_bytes()[:60]),
                                                   "cannot be read as PDF"),
    "deep.html": (lambda path: written(path, "<div>" * 1001),
                  "more than 1,000 tags are open at once; close them"),
    "tags.html": (lambda path: written(path, "<p>a</p>" * 1001),
                  "more than 2,000 tags; divide it"),
    "tags.epub": (lambda path: epub(path, ["<p>a</p>" * 600] * 2),
                  "more than 2,000 tags; divide it"),
    "lines.md": (lambda path: written(path, "a\n" + "\n" * 2000),
                 "more than 2,000 lines; divide it"),
    "glued.pdf": (lambda path: pdf(path, [["ontheseconddayofthesurvey"] * 20]),
                  "has no spaces between words, 25 letters a word"),
    "strings.pdf": (lambda path: packed_pdf(path, ["BT /F 9 Tf " + "(a) Tj " * 2_000_000]),
                    "takes more than 512 MB of memory or 9 seconds"),
    "long.pdf": (lambda path: pdf(path, [["a text" * 10] * 100] * 9),
                 "larger than 0 MB, unpacked; divide it"),
    "watermark.pdf": (lambda path: pdf(path,
                                       [["copy " * 20,
                                         str(page)] for page in range(3)]),
                                         "all 3 pages .* same"),
    "words.rtf": (lambda path: written(path, "{\\rtf1" + "\\b" * 2001),
                  "more than 2,000 words of RTF; divide it"),
    "image.txt": (lambda path: path.write_bytes(bytes(range(128, 256)) * 9),
                  "not text in an encoding"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_cannot_be_read_is_named_with_a_remedy(tmp_path, monkeypatch, name):
    monkeypatch.setattr(limits, "LARGEST_DOCUMENT", 50_000)
    monkeypatch.setattr(limits, "MOST_OPEN", 1000)
    monkeypatch.setattr(limits, "MOST_PIECES", 2000)
    monkeypatch.setattr(limits, "MEMORY_OF_A_PDF", 512 << 20)
    monkeypatch.setattr(limits, "SECONDS_OF_A_PDF", 9)
    make, message = REFUSED[name]
    path = tmp_path / name
    make(path)
    with pytest.raises(InputError, match=message) as raised:
        read_document(path)
    assert str(path) in str(raised.value)


def test_the_tags_of_a_docx_are_counted_before_its_tree_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_PIECES", 30_000)
    assert read_document(docx(tmp_path / "a.docx", "Text.")).text == "Text."
    with pytest.raises(
        InputError, match=r"b\.docx: the document has more than 30,000 tags; divide it"
    ):
        read_document(docx(tmp_path / "b.docx", "a\n\n" * 4000))


HALVES = {
    "comments.html": "<!--", "declarations.html": "<!", "instructions.html": "<?",
    "data.html": "<![CDATA[",
    "tags.html": "<a ", "ends.html": "</a ", "angles.html": "<",
    "quotes.html": "<a b='", "equals.html": "<a b=",
    "words.rtf": "{\\b a", "notes.rtf": "{\\footnote ", "titles.rtf": "{\\title a",
    "cells.rtf": "\\cell\n",
    "entities.html": "<!DOCTYPE a [ ", "comments.md": "<!-- ",
    "rules.html": "<style>@", "remarks.html": "<style>/* ",
    "code.html": "<script>", "open.html": "<p>", "numbers.html": "&#x",
    "feeds.txt": "\f", "lines.txt": "\n",
    "blank.md": " \n", "rules.md": "---\n", "hyphens.txt": "a-\n",
    "contents.txt": "contents\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HALVES)
def test_a_long_damaged_file_takes_a_time_that_grows_with_its_length(tmp_path, name):
    """A time that grows with the square of the length would be minutes."""
    unit = HALVES[name]
    head = "{\\rtf1 " if name.endswith(".rtf") else ""
    path = written(tmp_path / name, f"{head}A text.\f{unit * (300_000 // len(unit))}")
    start = time.process_time()
    reading = read_document(path)
    assert time.process_time() - start < 5
    assert reading.text.startswith("A text.")


def test_many_tags_take_no_more_memory_than_text(tmp_path, monkeypatch):
    # a buffer of this size is read into
    monkeypatch.setattr(limits, "LARGEST_DOCUMENT", 400_000)
    path = written(tmp_path / "tags.html", "<p>a b</p>" * 20_000)
    tracemalloc.start()
    reading = read_document(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(reading.text) == 5 * 20_000 - 2
    assert peak < 15e6, "a tree of these tags has 29 MB"


def test_a_file_that_a_spine_names_often_is_read_once(tmp_path):
    path = epub(tmp_path / "b.epub", ["One.", "Two."])
    with zipfile.ZipFile(path) as book:
        members = {name: book.read(name).decode() for name in book.namelist()}
    package = members["OEBPS/book.opf"]
    members["OEBPS/book.opf"] = package.replace(
        "</spine>", '<itemref idref="i1"/>' * 250 + "</spine>"
    )
    with zipfile.ZipFile(path, "w") as book:
        for name, text in members.items():
            book.writestr(name, text)
    reading = read_document(path)
    assert reading.text == "Chapter 1\n\nOne.\n\nChapter 2\n\nTwo."
    assert reading.removed["chapters named twice"] == 250


def test_entities_of_a_file_are_not_read(tmp_path):
    secret = written(tmp_path / "secret.txt", "SECRET")
    declared = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    page = written(tmp_path / "page.html", f"{declared}<body><p>Text &e;</p></body>")
    assert "SECRET" not in read_document(page).text
    path = docx(tmp_path / "a.docx", "Text &e;")
    with zipfile.ZipFile(path) as parts:
        members = {name: parts.read(name) for name in parts.namelist()}
    body = members["word/document.xml"].decode().replace("&amp;e;", "&e;")
    head, _, rest = body.partition("?>")
    members["word/document.xml"] = f"{head}?>{declared}{rest}".encode()
    with zipfile.ZipFile(path, "w") as parts:
        for name, data in members.items():
            parts.writestr(name, data)
    assert "SECRET" not in read_document(path).text


def test_a_work_is_read_once_until_its_files_change(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("books/part").mkdir(parents=True)
    for name in ("part/2.txt", "part/10.txt"):
        written(Path("books", name), f"Part {name}")
    [work] = works_in(Path("books"))[0]
    assert stored_work(work).text == "Part part/2.txt\n\nPart part/10.txt"
    report_of.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(works, "read_document", None)
        assert stored_work(work).text.startswith("Part"), "kept"
    works.content_of.cache_clear()
    report_of.cache_clear()
    written(Path("books/part/2.txt"), "Changed")
    assert stored_work(work).text == "Changed\n\nPart part/10.txt"


DAMAGE = {
    "a word is replaced": lambda text, record: text.write_text(
        text.read_text().replace("Part", "FORGED", 1)
    ),
    "the text is cut": lambda text, record: text.write_bytes(text.read_bytes()[:3]),
    "the text is not UTF-8": lambda text, record: text.write_bytes(b"Part \xff"),
    "the text is gone": lambda text, record: text.unlink(),
    "the record is a list": lambda text, record: record.write_text("[]"),
    "the record is another one": lambda text, record: record.write_text('{"words": 3}'),
    "the record is no JSON": lambda text, record: record.write_text("{"),
    "the record is empty": lambda text, record: record.write_bytes(b""),
    "a number of the record is changed": lambda text, record: record.write_text(
        record.read_text().replace('"words": 2', '"words": 9')
    ),
    "a field of the record is gone": lambda text, record: record.write_text(
        '{"report": {}, "sha256": ""}'
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_kept_work_that_was_changed_is_read_from_its_files_again(
    tmp_path, monkeypatch, damage
):
    monkeypatch.chdir(tmp_path)
    Path("books").mkdir()
    written(Path("books/one.txt"), "Part one")
    [work] = works_in(Path("books"))[0]
    read = stored_work(work)
    assert read.report.sha256 == hashlib.sha256(b"Part one").hexdigest()
    [record] = Path("results/works").glob("*.json")
    DAMAGE[damage](record.with_suffix(".txt"), record)
    assert stored_work(work) == read
    with monkeypatch.context() as patch:
        patch.setattr(works, "read_document", None)
        assert stored_work(work) == read, "mended"


def test_what_a_folder_links_to_is_read_and_what_leads_nowhere_is_named(tmp_path):
    mine = tmp_path / "mine"
    elsewhere = tmp_path / "elsewhere"
    for folder in (mine, elsewhere):
        folder.mkdir()
    written(mine / "own.txt", "Own text")
    written(elsewhere / "b1.txt", "One")
    written(elsewhere / "b2.txt", "Two")
    for name, target in {
        "series": elsewhere, "alone.txt": elsewhere / "b1.txt",
        "broken.txt": tmp_path / "nowhere.txt",
        "no_folder": tmp_path / "nowhere", "up": tmp_path, "again": elsewhere,
    }.items():  # fmt: skip
        (mine / name).symlink_to(target)
    found, left_out = works_in(mine)
    assert {work.name: len(work.files) for work in found} == {
        "own": 1,
        "alone": 1,
        "again": 2,
    }
    named = {path.relative_to(mine).as_posix() for path in left_out}
    assert named == {"broken.txt", "no_folder", "series", "up/elsewhere", "up/mine"}
    before = works.content_of(str(mine))
    written(elsewhere / "b2.txt", "Changed")
    works.content_of.cache_clear()
    assert works.content_of(str(mine)) != before, "a file behind a link counts"


def test_two_works_of_one_name_are_refused(tmp_path):
    for name in ("a.txt", "a.md"):
        written(tmp_path / name, "Text.")
    with pytest.raises(
        InputError, match=r"a\.txt: a work 'a' was given before, at .*a\.md; remove one"
    ):
        works_in(tmp_path)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("a.pdf", "pypdfium2"),
        ("a.html", "charset_normalizer"),
        ("a.txt", "charset_normalizer"),
    ],
)
def test_without_the_extra_the_module_is_named(tmp_path, monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / name
    path.write_bytes(b"caf\xe9")
    with pytest.raises(
        InputError, match=rf"needs the module {module}; install the extra 'documents'"
    ):
        read_document(path)
