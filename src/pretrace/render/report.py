"""A study on one page that opens from disk: what was found, then every artifact, the
configuration, versions."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from pretrace.render.artifact import Artifact, Panel, outputs, rendering_of
from pretrace.render.figures.dots import MEANING, headline_answers
from pretrace.render.figures.extraction import ITEM, Excerpt, excerpts_of
from pretrace.render.frames import csv_text, in_print, read_csv
from pretrace.render.inline import PageFigures
from pretrace.render.names import PAPERS, method_label
from pretrace.render.tables.table import BOXED, Cell, Table, rows_of
from pretrace.render.tables.table import page as table_page
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, write_text

MEASURED = frozenset({"metrics", "tests", "tokens"})
"""The inputs of renderers of AUCs and the like, which a page explains at its top."""
OPENING = ("word_for_word", "headline")
"""The artifacts or renderers of the figures that the page opens with, in this order."""
MATERIAL = ("benchmark_statistics", "loss_curves", "document_times")
"""Renderers of the last section: texts, training and times."""

COUNTED = ("texts", "skipped", "truncated", "tokens")
"""What the page counts of each forward pass."""


class Sentence(NamedTuple):
    """A line of a reading, and the items of a list that it introduces."""

    text: str
    items: list[str]


@dataclass(frozen=True)
class Section:
    """An artifact on the page: a table or a figure as HTML, or neither.

    `data`: an address that holds its CSV, so that a page on its own has the numbers.
    `files`: where others lie, beside the page.
    """

    artifact: Artifact
    data: str = ""
    files: str = ""
    table: str = ""
    figure: str = ""
    reading: str = ""
    excerpts: tuple[Excerpt, ...] = ()

    @property
    def sentences(self) -> list[Sentence]:
        """The lines of the reading; those that begin with `ITEM` are items of the
        sentence before them."""
        sentences: list[Sentence] = []
        for line in self.reading.splitlines():
            if line.startswith(ITEM) and sentences:
                sentences[-1].items.append(line.removeprefix(ITEM))
            else:
                sentences.append(Sentence(line, []))
        return sentences


def render_report(
    *,
    study: str,
    title: str,
    artifacts: Sequence[Artifact],
    folder: Path,
    configuration: str,
    provenance: JsonObject,
    warnings: Sequence[str] = (),
    left_out: Sequence[JsonObject] = (),
    shots: Mapping[str, Sequence[str]] | None = None,
    sealed: Sequence[tuple[str, str]] = (),
    cautions: Sequence[str] = (),
    cover: Sequence[tuple[str, str]] = (),
    texts: Table | None = None,
) -> str:
    """Write `folder`/report.html from the artifacts' files in `folder`
    (results/{study}); return the page.

    `configuration` is YAML text, shown as it is. `left_out`: model, benchmark, methods
    and reason of what was not computed. `shots`: as `shots_of`. `sealed`: what the page
    says of the sealed plan. `cover`: headings and texts of a first page, which then has
    `cautions` and the boxes of tables above them. Equal arguments and files give equal
    bytes.
    Raises `InputError` where a file of an artifact is missing.
    """
    figures = PageFigures()
    shown = [_section(artifact, folder, figures) for artifact in artifacts]
    boxes = ""
    if cover:
        shown, boxes = _without_boxes(shown)
        # a box says what is given back where the answer waits for it
        cover = [line for line in cover if not _is_in(boxes, *line)]
    on_sheet = [*cautions]
    on_sheet += [text for _, text in cover]
    shots_address = ""
    if shots:
        shots_address = _address("application/json", json.dumps(shots, indent=1))
    listed = None
    if texts:
        artifact = Artifact(slug=texts.slug, title=texts.title, renderer="method_table")
        listed = Section(
            artifact, _data(csv_text(texts.frame)), table=table_page(texts)
        )
    opening = []
    for name in OPENING:
        opening += [section for section in shown if name in named(section.artifact)]
    page = _template().render(
        study=study,
        title=title,
        answers=_answers(artifacts, folder),
        headlines=opening,
        parts=_parts(shown),
        texts=listed,
        definitions=figures.definitions,
        papers=PAPERS,
        measures=any(artifact.needs & MEASURED for artifact in artifacts),
        left_out=left_out,
        shots=shots_address,
        sealed=sealed,
        boxes=boxes,
        cautions=cautions,
        cover=cover,
        sheet=_sheet(boxes, on_sheet),
        configuration=configuration.strip(),
        facts=_facts(provenance),
        packages=sorted((provenance.get("packages") or {}).items()),
        passes=_passes_table(provenance.get("passes") or []),
        warnings=warnings,
    )
    write_text(folder / "report.html", page)
    return page


def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"sha256": _sha256, "method_label": method_label}
    return environment.get_template("report.html.jinja")


def _without_boxes(shown: Sequence[Section]) -> tuple[list[Section], str]:
    """Return the sections without the boxes above their tables, and all boxes."""
    sections, boxes = [], ""
    for section in shown:
        boxed, _, rest = section.table.rpartition(BOXED)
        sections.append(replace(section, table=rest))
        boxes += boxed
    return sections, boxes


def _is_in(boxes: str, heading: str, text: str) -> bool:
    line = f"<dt>{html.escape(heading)}</dt><dd>{html.escape(text)}</dd>"
    return line in boxes


LONG_SHEET, LONGEST_SHEET = 2_300, 2_900
"""Characters of a first page from which on its letters are smaller, so that it stays
one sheet of paper."""


def _sheet(boxes: str, lines: Sequence[str]) -> str:
    """Return how long a first page is, as a class of its style."""
    characters = len(re.sub(r"<[^<>]*>", "", boxes)) + sum(map(len, lines))
    if characters < LONG_SHEET:
        return "short"
    return "long" if characters < LONGEST_SHEET else "longest"


def named(artifact: Artifact) -> set[str]:
    """Return an artifact's slug and its renderer's name."""
    return {artifact.slug, artifact.renderer}


def _answers(artifacts: Sequence[Artifact], folder: Path) -> str:
    """Return the terminal's table of the study's headlines as HTML, with what each row
    means; "" if there is none."""
    answers = []
    for artifact in artifacts:
        if artifact.renderer == "headline" and rendering_of(artifact, folder)["shown"]:
            data = read_csv(outputs(artifact, folder)["csv"])
            answers += headline_answers(in_print(data, artifact.names))
    if not answers:
        return ""
    heads = []
    for _, cells in answers:
        heads += [head for head in cells if head not in heads]
    heads.sort(key=lambda head: head == MEANING)

    def without_break(interval: re.Match[str]) -> str:
        return interval[0].replace(" ", "\N{NO-BREAK SPACE}")

    rows = []
    for name, cells in answers:
        row = []
        for head in heads:
            words = _INTERVAL.sub(without_break, cells.get(head, ""))
            row.append((head, Cell(words=words)))
        rows.append((name, row, False))
    blocks = tuple(rows_of("", rows, "texts and model"))
    return table_page(Table("What was found", "found", blocks, (), pd.DataFrame()))


_INTERVAL = re.compile(r"\[[^]]*\]")


def _parts(shown: Sequence[Section]) -> list[dict[str, Any]]:
    """Return the sections that do not open the page under headings that fold: a paper's
    each, then others, then texts, training and times."""
    below = [section for section in shown if not named(section.artifact) & {*OPENING}]
    has_papers = any(section.artifact.paper for section in below)
    beside = "Controls and audits" if has_papers else "Results"
    titles = PAPERS | {"beside": beside, "material": "Texts, training and times"}
    parts: dict[str, list[Section]] = {slug: [] for slug in titles}
    for section in below:
        artifact = section.artifact
        is_material = artifact.renderer in MATERIAL
        parts["material" if is_material else artifact.paper or "beside"].append(section)
    found = []
    for slug, sections in parts.items():
        if sections:
            part = {"slug": slug, "title": titles[slug], "sections": sections}
            found.append(part)
    return found


def shots_of(benchmark: str, prefixes: pd.DataFrame) -> dict[str, list[str]]:
    """Return the shots' ids in reading order by the prefix's name: benchmark, draw,
    subset, length and class."""
    shots = {}
    keys = ["draw", "subset", "length", "kind"]
    for _, prefix in prefixes.groupby(keys, dropna=False, sort=True):
        draw, subset, length, kind = prefix[keys].iloc[0]
        words = [benchmark, f"draw {draw}"]
        if subset:
            words.append(str(subset))
        if pd.notna(length):
            words.append(f"{length} words")
        words.append(f"{kind}s")
        ids = prefix.sort_values("position")["text_id"]
        shots[", ".join(words)] = ids.tolist()
    return shots


def incomplete_passes(provenance: JsonObject, names: Mapping[str, str]) -> list[str]:
    """Return warnings of each model and benchmark (called as in `names`): truncated and
    skipped texts, and remarks of the passes on how the tokenizer reads the texts.
    """
    words = {
        "truncated": "were longer than the context and truncated",
        "skipped": "had nothing to score and were skipped",
    }
    warnings = []
    for row in provenance.get("passes", ()):
        model, benchmark = _own_name(row["model"]), _own_name(row["benchmark"])
        panel = Panel(model=model, benchmark=benchmark, names={**names}).name
        told = [f"{row[key]} {what}" for key, what in words.items() if row[key]]
        if told:
            of_texts = f"of {row['texts']} texts in all views"
            warnings.append(f"{panel}: {of_texts}, {', '.join(told)}.")
        for remark in row.get("remarks", ()):
            warnings.append(f"{panel}: {remark}.")
    return warnings


def _section(artifact: Artifact, folder: Path, figures: PageFigures) -> Section:
    if artifact.unavailable:
        return Section(artifact)
    files = outputs(artifact, folder)
    data = _data(_text(files["csv"]))
    beside = []
    for suffix, path in files.items():
        if suffix not in ("csv", "html", "txt", "record"):
            beside.append(path.relative_to(folder).as_posix())
    if "html" in files:
        return Section(artifact, data, ", ".join(beside), _text(files["html"]))
    svg, reading = _text(files["svg"]), _text(files["txt"]).strip()
    figure = figures.inline(svg, artifact.title)
    excerpts: tuple[Excerpt, ...] = ()
    is_map = artifact.renderer == "extraction_map"
    if is_map and rendering_of(artifact, folder)["shown"]:
        excerpts = tuple(excerpts_of(files["csv"]))
    return Section(artifact, data, ", ".join(beside), "", figure, reading, excerpts)


_LONG = re.compile(r"-?\d+\.\d{7,}")


def _data(csv: str) -> str:
    """Return the address of a CSV whose numbers have seven digits, half as long."""
    short = _LONG.sub(lambda number: f"{float(number[0]):.7g}", csv)
    return _address("text/csv", short)


def _address(kind: str, text: str) -> str:
    """Return a data URI of a text; letters and digits stay as they are, which is
    shorter than base64."""
    return f"data:{kind};charset=utf-8,{quote(text, safe=',:;')}"


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _text(path: Path) -> str:
    if not path.exists():
        raise InputError(
            f"{path} does not exist; render its artifact before the report"
        )
    return path.read_text(encoding="utf-8")


def _own_name(slug: str) -> str:
    """Return the slug by which a study calls its own entry, which is `study~slug` in
    the shared stages."""
    return slug.rpartition("~")[2]


class PassesTable(NamedTuple):
    """Forward passes: names and values that all of them have in common, then the
    columns in which they differ and a row for each pass."""

    alike: list[tuple[str, str]]
    columns: list[str]
    rows: list[list[str]]


def _passes_table(passes: Sequence[JsonObject]) -> PassesTable:
    """Return the table of `provenance["passes"]`; what is counted is a column even if
    the passes have it in common."""
    table = PassesTable([], [], [[] for _ in passes])
    if not passes:
        return table
    names = passes[0].keys() - {*COUNTED, "remarks"}
    for name in [*sorted(names), *COUNTED]:
        values = [str(row[name]) for row in passes]
        if name in ("model", "benchmark"):
            values = list(map(_own_name, values))
        heading = name.replace("_", " ")
        if name in COUNTED or len(set(values)) > 1:
            table.columns.append(heading)
            for row, value in zip(table.rows, values, strict=True):
                row.append(value)
        elif values[0]:
            table.alike.append((heading, values[0]))
    return table


def _facts(provenance: JsonObject) -> list[tuple[str, str]]:
    """Return provenance as lines, except packages, passes and the configuration, which
    the page shows apart."""
    lines = []
    for key, value in provenance.items():
        if key in ("packages", "passes", "config", "identity"):
            continue
        if value in (None, [], {}):
            continue
        if key == "repositories":
            value = [f"{known['hub']} {known['commit'][:12]}" for known in value]
        if isinstance(value, Mapping):
            value = [f"{name} {inner}" for name, inner in sorted(value.items())]
        if isinstance(value, list):
            value = ", ".join(str(item) for item in value)
        lines.append((key.replace("_", " "), str(value)))
    return lines
