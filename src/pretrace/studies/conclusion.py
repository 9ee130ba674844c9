"""A finished study: what its page says beside tables and figures, and the lines that
its run ends with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pretrace.audit.tables.audit import audit_lines
from pretrace.audit.tables.given_back import given_back_lines
from pretrace.render.artifact import Artifact, outputs, rendering_of
from pretrace.render.figures.dots import headline_lines
from pretrace.render.frames import in_print, read_csv
from pretrace.render.report import (
    incomplete_passes,
    named,
    render_report,
    shots_of,
)
from pretrace.render.tables.extraction import extraction_lines
from pretrace.render.tables.questions import de_cop_lines
from pretrace.render.tables.table import Table
from pretrace.runtime.files import JsonObject, read_parquet
from pretrace.runtime.provenance import citation, whole_code_digest
from pretrace.studies.audit.seal import (
    Seal,
    cover_of_seal,
    edited,
    lines_of_seals,
    read_seals,
    repeats,
    sealed_again,
)

CONCLUDING: Mapping[str, Callable[[pd.DataFrame], list[str]]] = {
    "audit": audit_lines,
    "extraction": extraction_lines,
    "given_back_by_chat": given_back_lines,
    "headline": headline_lines,
    "de_cop_table1": de_cop_lines,
}
"""Artifacts or renderers whose data end a run on the terminal, in this order."""


@dataclass(frozen=True)
class FinishedStudy:
    """A study whose artifacts lie in `folder` (results/{study}); `seals` are those of
    an audit's plan, none of another study."""

    artifacts: Sequence[Artifact]
    folder: Path
    seals: Sequence[Seal] = ()

    def write_page(
        self,
        *,
        study: str,
        title: str,
        configuration: str,
        provenance: JsonObject,
        left_out: Sequence[JsonObject],
        texts: Table | None,
        prefixes: Mapping[str, str],
        citation_file: Path,
        date: str,
    ) -> None:
        """Write the study's page, `folder`/report.html.

        `provenance`: the record of the run. `prefixes`: the file of the drawn shots by
        benchmark. `citation_file` and `date` are for the first page of an audit. Other
        arguments as `render_report` takes them.
        """
        shots: dict[str, Sequence[str]] = {}
        for benchmark, path in prefixes.items():
            shots |= shots_of(benchmark, read_parquet(path))
        render_report(
            study=study,
            title=title,
            artifacts=self.artifacts,
            folder=self.folder,
            configuration=configuration,
            provenance=provenance,
            warnings=[*self.missing, *incomplete_passes(provenance, self.names)],
            left_out=left_out,
            shots=shots,
            sealed=self.sealed,
            cautions=self.doubts,
            cover=self.cover(citation_file, date),
            texts=texts,
        )

    @cached_property
    def _rendered(self) -> dict[str, dict[str, Any]]:
        """The record of each artifact by its slug."""
        records = {}
        for artifact in self.artifacts:
            records[artifact.slug] = dict(rendering_of(artifact, self.folder))
        return records

    @property
    def names(self) -> dict[str, str]:
        """What models, benchmarks and the like are called in print, by slug."""
        names: dict[str, str] = {}
        for artifact in self.artifacts:
            names |= artifact.names
        return names

    @property
    def missing(self) -> list[str]:
        """Sentences on artifacts that could not be rendered, then on empty ones."""
        failed, empty = [], []
        for record in self._rendered.values():
            failed += record["failed"]
            empty += record["empty"]
        return [*failed, *empty]

    @cached_property
    def doubts(self) -> list[str]:
        """What makes the plan of an audit doubtful: it was sealed anew, edited, or
        asked before."""
        if not self.seals:
            return []
        others = {}
        for path in self.folder.parent.glob("*/seals.json"):
            if path.parent != self.folder:
                others[path.parent.name] = read_seals(path)
        return [
            *sealed_again(self.seals),
            *edited(self.seals, whole_code_digest()),
            *repeats(self.seals, others),
        ]

    @property
    def sealed(self) -> list[tuple[str, str]]:
        """What the page says of the sealed plan."""
        return lines_of_seals(self.seals) if self.seals else []

    def cover(self, citation_file: Path, date: str) -> list[tuple[str, str]]:
        """Return the headings and texts of an audit's first page, which cites
        CITATION.cff; none of another study."""
        if not self.seals:
            return []
        # the answer of an audit of works does not wait for whole works
        given_back = [("Given back", line) for line in self._lines_of("extraction")]
        cited = citation(citation_file)
        return [*given_back, *cover_of_seal(self.seals, cited, date)]

    @property
    def conclusion(self) -> list[str]:
        """The lines that a run ends with on the terminal."""
        # a headline says what DE-COP found beside all else
        has_headline = any("headline" in named(artifact) for artifact in self.artifacts)
        lines: list[str] = []
        for name in CONCLUDING:
            if not (has_headline and name == "de_cop_table1"):
                lines += self._lines_of(name)
        return [*lines, *self.doubts, *self.missing]

    def _lines_of(self, name: str) -> Iterator[str]:
        """Yield the lines of artifacts of this name or renderer."""
        for artifact in self.artifacts:
            if name in named(artifact) and self._rendered[artifact.slug]["shown"]:
                data = read_csv(outputs(artifact, self.folder)["csv"])
                yield from CONCLUDING[name](in_print(data, artifact.names))
