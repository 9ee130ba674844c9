"""The report: it opens from disk, shows every artifact, and no text of the user's
becomes markup.

After an intended change, write the golden page again: `PYTHONPATH=src:tests:tests/unit
python tests/unit/test_render_report.py`.
"""

import base64
import hashlib
import io
import json
import re
import tempfile
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import made_up_results as made_up
import pandas as pd
import pytest
import test_render_golden as golden
from docutils.core import publish_string
from jinja2 import Template
from made_up_studies import ROOT
from test_render_extraction import every_token

from pretrace.render.artifact import Artifact
from pretrace.render.inline import PageFigures
from pretrace.render.report import incomplete_passes, render_report, shots_of
from pretrace.runtime.errors import InputError
from pretrace.runtime.provenance import provenance
from pretrace.runtime.schema import read_yaml

GOLDEN = Path(__file__).parent / "golden" / "report.html"
HOSTILE = "<script>alert('%')</script> & a_b"
TABLE = made_up.artifact(
    "method_table",
    title=HOSTILE,
    caption=HOSTILE,
    panels=[made_up.PANEL | {"label": HOSTILE}],
)
FIGURE = made_up.artifact(
    "heatmap",
    paper="surp",
    options={"method": "surp", "x": "eps", "y": "percentile"},
    caption="a caption",
)
ABSENT = made_up.artifact("roc", slug="de_cop_figure7", unavailable="it needs <people>")


PROVENANCE = {
    "python": "3.11",
    "gpu": [],
    "packages": {"numpy": "2.0", "gguf": None},
    "seeds": {"run": 0},
}
COUNTS = {"texts": 9, "skipped": 0, "truncated": 0, "tokens": 81}
PROVENANCE["passes"] = [
    {"model": "study~tiny", "benchmark": "a", "dtype": "bfloat16"} | COUNTS,
    {"model": "study~tiny", "benchmark": "b", "dtype": "bfloat16"} | COUNTS,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rendered(tmp_path_factory.mktemp("study"))


def rendered(root: Path) -> Path:
    results = made_up.make_study(root / "in")
    for artifact in (TABLE, FIGURE):
        made_up.render(artifact, results, root / "out")
    return root / "out"


def page_of(folder: Path, **other) -> str:
    given = {
        "study": "made_up",
        "title": "A made-up study",
        "artifacts": [TABLE, FIGURE, ABSENT],
        "folder": folder,
        "configuration": f"study: made_up # {HOSTILE}\n",
        "provenance": PROVENANCE,
        "warnings": [HOSTILE],
    }
    given |= other
    given["artifacts"] = [Artifact(**artifact) for artifact in given["artifacts"]]
    return render_report(**given)


class Page(HTMLParser):
    """Tags that are opened and closed, and every address that the page names."""

    VOID = frozenset({"meta", "img", "br", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_whole_and_its_links_lead_into_itself(folder):
    text = page_of(folder)
    page = Page(text)
    assert page.open == []
    own = re.sub(r"base64,[A-Za-z0-9+/=]+", "", text)
    assert not re.search(r"url\([^#]|@import|//[a-z]", own)
    places = [to for to in page.addresses if not to.startswith("data:")]
    for place in {*places, *re.findall(r"url\((.*?)\)", own)}:
        assert text.count(f'id="{place.removeprefix("#")}"') == 1
    beside = re.search(r"Beside this page: (.*?)</p>", text).group(1)
    for name in beside.split(", "):
        assert (folder / name).is_file()


SVG = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 width="72pt" height="36pt" viewBox="0 0 72 36"><metadata><a/></metadata>
 <defs><style>*{{}}</style><path id="A-1" d="M 0 1.23456 \nL 2 -0.0001 "/></defs>
 <defs><clipPath id="p1"><rect width="{width}"/></clipPath></defs>
 <g id="axes_1" clip-path="url(#p1)"><title>0.61 &lt; 1</title><use xlink:href="#A-1"/></g></svg>"""


def test_figures_of_a_page_share_what_is_equal_and_keep_their_titles():
    figures = PageFigures()
    first, same, other = (
        figures.inline(SVG.format(width=width), "a & b") for width in (7, 7, 8)
    )
    assert first == same
    assert first == (
        '<svg viewBox="0 0 72 36" width="120" style="--least: 83px" role="img" aria-label="a &amp; b">'
        '<g clip-path="url(#f.1)"><title>0.61 &lt; 1</title><use href="#f.0" /></g></svg>'
    )
    assert other == first.replace("#f.1", "#f.2")
    assert '<path id="f.0" d="M0 1.235L2 -0.0001" />' in figures.definitions
    assert figures.definitions.count("<path") == 1


def test_a_page_on_its_own_has_its_data(folder):
    page = Page(page_of(folder, shots=SHOTS))
    _, csv, shots = (
        unquote(address.partition(",")[2])
        for address in page.addresses
        if re.match("data:(text|app)", address)
    )
    file = pd.read_csv(folder / "tables" / "a_method_table.csv")
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(csv)), file, rtol=1e-6)
    assert not re.search(r"\.\d{8}", csv)
    assert json.loads(shots) == SHOTS


def test_the_policy_allows_the_one_script_of_the_page_by_its_hash(folder):
    text = page_of(folder)
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'\"" in text
    assert "innerHTML" not in script


def test_no_text_becomes_markup(folder):
    text = page_of(folder, title=HOSTILE, study=HOSTILE)
    assert text.count("<script") == 1
    assert (
        text.count("&lt;script&gt;alert(") >= 7
    )  # page title and heading, study, warning, artifact, panel, YAML


LEFT_OUT = [
    {
        "panel": "Tiny on Texts",
        "methods": ["ref", "dc_pdd"],
        "reason": "the run names no corpus",
    }
]
SHOTS = {"b, draw 0, 64 words, members": ["t2", "t3"]}
SEALED = [("SHA-256", "0123")]


def full_page(folder: Path) -> str:
    """Return a page with everything that there can be, without its style, its script
    and the bytes of its data.

    It opens with what was found. The rest is folded: papers, what belongs to none,
    texts and times.
    """
    headline = made_up.artifact("headline")
    cost = made_up.artifact("benchmark_statistics", paper="surp")
    for artifact in (headline, cost):
        made_up.render(artifact, made_up.make_study(folder.parent / "in"), folder)
    shown = [cost, TABLE, FIGURE, ABSENT, headline]
    text = page_of(
        folder, artifacts=shown, left_out=LEFT_OUT, shots=SHOTS, sealed=SEALED
    )
    assert Page(text).open == []
    text = re.sub(r"<(style|script)>.*?</\1>|sha256-[^']*", "", text, flags=re.DOTALL)
    text = re.sub(r"(<svg[^>]*>).*?</svg>", r"\1</svg>", text)
    return re.sub(r'(data:[^,"]*,)[^"]+', r"\1", text)


@pytest.fixture(scope="module")
def full(folder: Path) -> str:
    return full_page(folder)


def test_the_page_is_as_it_was(folder, full):
    assert full == GOLDEN.read_text(encoding="utf-8")
    assert (folder / "tables" / "a_method_table.html").read_text() in full
    assert "left-out" not in page_of(folder)
    assert '<details class="part" id="part-beside" open>' in page_of(
        folder, artifacts=[TABLE]
    )


@pytest.mark.usefixtures("full")
def test_a_demonstration_comes_before_the_headline_and_its_passages_are_text_in_any_script(
    folder,
):
    headline = made_up.artifact("headline")
    demonstration = made_up.artifact(
        "extraction_map", slug="word_for_word", panels=[golden.OWN]
    )
    words = [
        "one",
        "two",
        "<script>alert(1)</script>\n",
        "مرحبا",
        "가나다",
        "🙂",
        "end",
        "end",
    ]
    windows = every_token(words, likeliest=2, size=4)
    results = golden.mapped(folder.parent / "map", windows)
    made_up.render(demonstration, results, folder)
    opened = page_of(folder, artifacts=[headline, TABLE, demonstration])
    assert opened.index('id="word_for_word"') < opened.index('id="a_headline"')
    assert opened.count("<script") == 1
    (passage,) = re.findall(
        r'<p class="excerpt" dir="auto">(.*?)</p>', opened, flags=re.DOTALL
    )
    likeliest = " &lt;script&gt;alert(1)&lt;/script&gt;\n مرحبا 가나다 🙂"
    assert re.match(
        rf'<span title="probability 0.5" style="background: #[0-9a-f]{{6}}">{re.escape(likeliest)}',
        passage,
    )


def test_an_audit_opens_with_its_boxes_cautions_and_seal(tmp_path):
    artifact = made_up.artifact("audit", panels=[golden.OWN])
    made_up.render(
        artifact, golden.STUDIES["audit_evidence"](tmp_path / "in"), tmp_path / "out"
    )
    cover = {"cautions": [HOSTILE], "cover": [("Sealed plan", f"SHA-256 ab {HOSTILE}")]}
    text = page_of(tmp_path / "out", artifacts=[artifact], **cover)
    assert Page(text).open == []
    first, rest = text.split('<div class="cover short">')[1].split("<details", 1)
    assert (
        first.index("&lt;script&gt;")
        < first.index('class="verdict"')
        < first.index("SHA-256 ab &lt;script&gt;")
    )
    assert 'class="box' not in rest
    assert rest.index("<table") > 0
    said = re.search(r"<dt>What follows</dt><dd>(.*?)</dd>", first).group(1)
    twice = {"cover": [("What follows", unescape(said)), ("Cite as", "pretrace")]}
    text = page_of(tmp_path / "out", artifacts=[artifact], **twice)
    assert text.count(said) == 1
    assert "<dt>Cite as</dt>" in text
    without = page_of(tmp_path / "out", artifacts=[artifact])
    assert 'class="cover' not in without
    assert without.index("<details") < without.index('class="verdict"')


def test_shots_are_listed_in_the_order_in_which_they_are_read():
    drawn = pd.DataFrame(
        {
            "draw": 0,
            "subset": "",
            "length": pd.array([64] * 4, "Int64"),
            "kind": ["member", "nonmember"] * 2,
            "position": [1, 0, 0, 1],
            "text_id": ["t3", "t1", "t2", "t4"],
        }
    )
    pooled = drawn.assign(length=pd.array([None] * 4, "Int64"))
    for prefixes, place in ((drawn, "b, draw 0, 64 words"), (pooled, "b, draw 0")):
        members = f"{place}, members"
        nonmembers = f"{place}, nonmembers"
        assert shots_of("b", prefixes) == {
            members: ["t2", "t3"],
            nonmembers: ["t1", "t4"],
        }


def test_equal_arguments_give_equal_bytes(folder):
    assert page_of(folder) == page_of(folder) == (folder / "report.html").read_text()


def test_a_missing_file_is_an_error_that_names_it(folder):
    missing = made_up.artifact("roc", slug="not_drawn")
    with pytest.raises(InputError, match="not_drawn"):
        page_of(folder, artifacts=[missing])


def test_provenance_names_versions_the_configuration_and_seeds():
    first = provenance({"study": "made_up", "resamples": 10}, run=7)
    second = provenance({"study": "made_up", "resamples": 20}, run=7)
    assert first["packages"]["numpy"]
    assert first["python"]
    assert first["seeds"] == {"run": 7}
    assert first["config_digest"] != second["config_digest"]
    assert first["config"] == {"study": "made_up", "resamples": 10}


def test_truncated_and_skipped_texts_become_warnings():
    whole = {"model": "m", "benchmark": "b", "texts": 9, "truncated": 0, "skipped": 0}
    passes = [whole, whole | {"truncated": 2, "skipped": 1}]
    (warning,) = incomplete_passes({"passes": passes}, {"m": "Model", "b": "Texts"})
    assert warning.startswith("Model on Texts")
    assert "of 9 texts" in warning
    assert "2 were longer" in warning
    assert "1 had nothing" in warning


@pytest.mark.parametrize("kind", ["table", "figure"])
def test_captions_of_snakemakes_report_name_the_artifact_and_are_plain_whatever_is_in_them(
    kind,
):
    """Docutils must not complain about a title or a caption, of the registry or with
    its signs of markup."""
    registered = read_yaml(ROOT / "config" / "artifacts.yaml")
    shown = {}
    for slug, given in registered.items():
        shown[slug] = {
            "slug": slug,
            "title": given["title"],
            "caption": given.get("caption", ""),
        }
    shown["hostile"] = {
        "slug": "hostile",
        "title": "*a* `b` |c| d_ \\",
        "caption": "**x `y _z",
    }
    template = Template(
        (ROOT / "workflow" / "report" / f"{kind}.rst").read_text(encoding="utf-8")
    )
    for slug, artifact in shown.items():
        text = template.render(
            snakemake=SimpleNamespace(params=SimpleNamespace(artifact=artifact))
        )
        complaints = io.StringIO()
        page = publish_string(
            text, writer_name="html", settings_overrides={"warning_stream": complaints}
        )
        assert complaints.getvalue() == "", slug
        assert f">{slug}<" in page.decode() or slug in page.decode()
    assert "*a* `b` |c| d_ \\" in page.decode()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        GOLDEN.write_text(full_page(rendered(Path(made))), encoding="utf-8")
