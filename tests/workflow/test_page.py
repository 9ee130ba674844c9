"""The page of the embedded study, mailed to somebody and opened in a browser.

.ci/run installs Chromium and envs/browser.txt and runs the study before. Every check is
a function that returns what it finds; of each it is tested that it finds a fault.
"""

import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pypdfium2
import pytest
from made_up_studies import ROOT

REPORT = ROOT / "results/embedded/report.html"
CHROMIUM = shutil.which("chromium")
AXE = "axe-core@4.14.1"
WIDTHS = [390, 768, 1280]
MOST_BYTES = 6_000_000
MOST_PAGES = 20
PAPER = {"width": 703, "height": 1032}
"""What margins leave of A4, in pixels of CSS."""

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium here"),
    pytest.mark.skipif(not REPORT.is_file(), reason="the embedded study has not run"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator:
    driver = pytest.importorskip(
        "playwright.sync_api", reason="pip install -r envs/browser.txt"
    )
    with driver.sync_playwright() as started:
        opened = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """The source of axe-core, which finds what keeps people out."""
    folder = tmp_path_factory.mktemp("axe")
    if not shutil.which("npm"):
        pytest.skip("there is no npm to fetch axe-core")
    packed = subprocess.run(["npm", "pack", AXE], cwd=folder, capture_output=True)
    if packed.returncode:
        pytest.skip(f"npm does not reach {AXE}")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as files:
        return files.extractfile("package/axe.min.js").read().decode()


class Opened:
    """A copy of the page that is alone in its folder, in a window of some width."""

    def __init__(self, browser, folder: Path, width: int, change=str, **seen) -> None:
        path = folder / "mailed.html"
        path.write_text(change(REPORT.read_text(encoding="utf-8")), encoding="utf-8")
        size = {"width": width, "height": 900}
        self.page = browser.new_page(viewport=size, **seen)
        self.faults: list[str] = []
        self.page.on("console", lambda said: self.faults.append(said.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self._requested)
        self.address = path.as_uri()
        self.page.goto(self.address)

    def _requested(self, request) -> None:
        if not request.url.startswith(("data:", self.address)):
            self.faults.append(request.url)

    def unfold(self) -> None:
        self.page.get_by_role("button", name="Unfold all").click()

    def as_printed(self) -> None:
        self.page.set_viewport_size(PAPER)
        self.page.emulate_media(media="print")


@pytest.fixture
def window(browser, tmp_path) -> Iterator[Callable[..., Opened]]:
    windows = []

    def opened(width: int = 1280, change=str, **seen) -> Opened:
        windows.append(Opened(browser, tmp_path, width, change, **seen))
        return windows[-1]

    yield opened
    for each in windows:
        each.page.close()


def faults(opened: Opened) -> list[str]:
    return opened.faults


def overflow(opened: Opened) -> list[str]:
    """Return what reaches beyond the window at the right."""
    return opened.page.evaluate("""() => {
        const root = document.scrollingElement;
        return root.scrollWidth > root.clientWidth ? [root.scrollWidth] : [];
    }""")


def dead_links(opened: Opened) -> list[str]:
    """Return addresses that lead neither into the page nor to what it holds."""
    return opened.page.evaluate("""() => [...document.querySelectorAll("[href]")]
        .map(link => link.getAttribute("href"))
        .filter(to => to.startsWith("#") ? !document.getElementById(to.slice(1)) : !to.startsWith("data:"))""")


def shared_ids(opened: Opened) -> list[str]:
    return opened.page.evaluate("""() => {
        const ids = [...document.querySelectorAll("[id]")].map(part => part.id);
        return ids.filter((id, place) => ids.indexOf(id) !== place);
    }""")


def broken_numbers(opened: Opened) -> list[str]:
    """Return numbers of tables that are on two lines."""
    return opened.page.evaluate(r"""() => {
        const broken = [], range = document.createRange();
        for (const cell of document.querySelectorAll("td, th, dd, li, p")) {
            if (!cell.checkVisibility({contentVisibilityAuto: true})) continue;
            const words = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
            for (let node; (node = words.nextNode());)
                for (const {index, 0: number} of node.data.matchAll(/((?<![\w-])[+\u2212-])?\d*[.,]?\d+/g)) {
                    range.setStart(node, index); range.setEnd(node, index + number.length);
                    const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
                    if (lines.size > 1) broken.push(cell.textContent.trim().slice(0, 60));
                }
        }
        return broken;
    }""")


def beyond_paper(opened: Opened) -> list[str]:
    """Return tables that are wider than the paper."""
    return opened.page.evaluate("""() => [...document.querySelectorAll("table")]
        .filter(table => table.getBoundingClientRect().right > innerWidth + 1)
        .map(table => table.textContent.trim().slice(0, 60))""")


def bright(opened: Opened) -> list[str]:
    """Return the grounds of the page that are bright in a dark window."""
    return opened.page.evaluate("""() => {
        const grounds = [];
        for (const part of document.querySelectorAll("body, nav, main, section, th, td, pre, div, button, input, p")) {
            const [red, green, blue, alpha = 1] = getComputedStyle(part).backgroundColor.match(/[\\d.]+/g).map(Number);
            const isBright = alpha && red + green + blue > 384;
            if (isBright && !part.matches(".told")) grounds.push(part.tagName + part.className);
        }
        return grounds;
    }""")


def found_by(axe: str, opened: Opened, where: str = "html") -> list[str]:
    """Return the rules of axe-core that are broken seriously, each with a place."""
    opened.page.evaluate(axe)
    results = opened.page.evaluate(
        """where => {
            for (const row of document.querySelectorAll("tr:nth-child(n + 10)")) row.remove();
            return axe.run(where, {resultTypes: ["violations"]});
        }""",
        where,
    )
    told = []
    for broken in results["violations"]:
        if broken["impact"] in ("serious", "critical"):
            nodes = broken["nodes"]
            told.append(f"{broken['id']}: {len(nodes)}, {nodes[0]['html'][:200]}")
    return told


STOPS = """() => {
    const all = document.querySelectorAll("a[href], button, input, summary, [tabindex='0']");
    return [...all].filter(part => part.checkVisibility() && part.tabIndex >= 0);
}"""


def not_reached(opened: Opened, most: int = 10_000) -> list[str]:
    """Return controls that the Tab key passes over, or whose focus is not seen."""
    page = opened.page
    page.evaluate(f"() => {{ window.stops = ({STOPS})().slice(0, {most}); }}")
    for _ in range(page.evaluate("() => stops.length + 1")):
        # the first stop may have the focus already
        page.evaluate("""() => {
            const part = document.activeElement, {outlineStyle, outlineWidth} = getComputedStyle(part);
            if (outlineStyle !== "none" && outlineWidth !== "0px" || part.matches(".skip")) part.dataset.reached = "";
        }""")
        page.keyboard.press("Tab")
    return page.evaluate(
        """() => stops.filter(part => !("reached" in part.dataset)).map(part => part.outerHTML.slice(0, 120))"""
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_asks_for_nothing_and_complains_of_nothing(window, width):
    opened = window(width)
    assert overflow(opened) == []
    opened.unfold()
    assert overflow(opened) == []
    assert faults(opened) == []


def test_a_mailed_page_is_small_and_has_no_dead_link(window):
    assert REPORT.stat().st_size <= MOST_BYTES
    opened = window()
    assert dead_links(opened) == []
    assert shared_ids(opened) == []


def test_the_printed_page_has_its_answer_on_one_sheet_and_no_broken_number(
    window, tmp_path
):
    opened = window()
    pages = {}
    for folded in (True, False):
        if not folded:
            opened.unfold()
        opened.page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
        sheets = pypdfium2.PdfDocument(tmp_path / "page.pdf")
        pages[folded] = len(sheets)
        first = sheets[0].get_textpage().get_text_bounded()
        sheets.close()
        last = opened.page.locator("#found tbody tr").last.locator("td").last
        for word in last.inner_text().split():
            assert word in first
    assert pages[True] <= MOST_PAGES < pages[False]
    opened.as_printed()
    assert broken_numbers(opened) == []
    assert beyond_paper(opened) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_page(window, axe, scheme):
    opened = window(390 if scheme == "light" else 1280, color_scheme=scheme)
    opened.unfold()
    if scheme == "dark":
        assert bright(opened) == []
    assert found_by(axe, opened) == []


def test_the_keyboard_reaches_every_control_and_works_it(window):
    opened = window()
    assert not_reached(opened) == []
    part = opened.page.locator("details.part > summary").first
    part.press("Enter")
    assert opened.page.locator("details.part[open]").count() == 1
    button = opened.page.locator("details.part[open] thead button").first
    button.press("Enter")
    assert opened.page.locator("th[aria-sort=ascending]").count() == 1
    assert not_reached(opened, 200) == []


def test_a_reader_finds_the_highest_scored_member_and_the_value_of_a_part(window):
    """In three clicks each: contents, unfold, sort; contents, unfold, point."""
    page = window().page
    texts = page.locator("#single_texts")
    page.locator("nav a[href='#single_texts']").click()
    texts.locator(".fold > summary").click()
    texts.get_by_role("button", name="class", exact=True).click()
    members = [row for row in cells(texts) if row[1] == "member"]
    assert cells(texts)[0] == members[0]
    assert float(members[0][2].split()[0]) == max(
        float(row[2].split()[0]) for row in members
    )
    texts.get_by_label("Filter rows").fill("member")
    shown = texts.locator("tbody tr:not([hidden])")
    # a text may have the word, too
    assert len(members) <= shown.count() < len(cells(texts))
    texts.locator("summary bdi").first.click()
    assert texts.locator(".passage[open] p").inner_text().endswith("...")
    page.locator("[data-told]").first.hover(force=True)
    assert re.search(r"\d", page.locator(".told").inner_text())


def cells(texts) -> list[list[str]]:
    return texts.evaluate("""section => [...section.querySelectorAll("tbody tr")]
        .map(row => [...row.cells].map(cell => cell.textContent.trim()))""")


def put(markup: str) -> Callable[[str], str]:
    """Return a change that puts markup where the page's own content begins."""
    return lambda page: page.replace('<main id="top">', f'<main id="top">{markup}', 1)


NARROW = "<style>td { word-break: break-all; max-width: 2em !important }</style>"
FAULTS = {
    "an error": (faults, put("<script>x</script>")),
    "a request": (faults, put("<img src='other.png' alt=''>")),
    "a wide part": (overflow, put("<p style='width: 4000px'>wide</p>")),
    "a link to a file": (dead_links, put("<a href='tables/a.tex'>TEX</a>")),
    "a link to nothing": (dead_links, put("<a href='#nowhere'>there</a>")),
    "an id twice": (shared_ids, put("<p id='top'>twice</p>")),
    "a narrow number": (broken_numbers, put(NARROW)),
    "a wide table": (
        beyond_paper,
        put("<table><td style='min-width: 900px'>1</table>"),
    ),
    "a bright ground": (bright, put("<p style='background: white'>white</p>")),
    "a control without a focus": (
        not_reached,
        put("<a href='#top' style='outline: 0'>to</a>"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_check_finds_a_fault(window, name):
    check, change = FAULTS[name]
    opened = window(change=change, color_scheme="dark")
    if check in (broken_numbers, beyond_paper):
        opened.as_printed()
    assert check(opened)


def test_axe_finds_a_fault(window, axe):
    faulty = "<div id='faulty'><input><p style='color: #eee'>pale</p></div>"
    told = " ".join(found_by(axe, window(change=put(faulty)), "#faulty"))
    assert "label: " in told
    assert "color-contrast: " in told
