"""Gather a study's tables and figures on one page that opens from disk, and what was
found for a terminal."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from pretrace import workflow_folder
from pretrace.render.artifact import Artifact, outputs, rendering_of
from pretrace.render.figures import dots
from pretrace.render.report import (
    incomplete_passes,
    named,
    render_report,
    shots_of,
)
from pretrace.render.results import in_print
from pretrace.render.tables import audit, extraction, given_back, questions
from pretrace.runtime.files import read_json, read_parquet, write_text
from pretrace.runtime.jobs import run_job
from pretrace.runtime.provenance import citation, whole_code_digest
from pretrace.studies.sealing import (
    edited,
    read_seals,
    repeats,
    resealed,
    told,
    told_on_cover,
)

CONCLUDING = {
    "audit": audit.audit_lines,
    "extraction": extraction.extraction_lines,
    "given_back_by_chat": given_back.given_back_lines,
    "headline": dots.headline_lines,
    "de_cop_table1": questions.de_cop_lines,
}
"""Artifacts or renderers whose data end a run on the terminal, in this order."""

with run_job(snakemake):
    provenance = read_json(snakemake.input.provenance)
    folder = Path(snakemake.output.report).parent
    artifacts = [
        Artifact.model_validate(written) for written in snakemake.params.artifacts
    ]
    called = {
        slug: name for artifact in artifacts for slug, name in artifact.names.items()
    }
    rendered = {artifact.slug: rendering_of(artifact, folder) for artifact in artifacts}
    seals = read_seals(Path(snakemake.input.seals)) if snakemake.input.seals else []
    others = {
        path.parent.name: read_seals(path)
        for path in folder.parent.glob("*/seals.json")
        if path.parent != folder
    }
    doubts = (
        [*resealed(seals), *edited(seals, whole_code_digest()), *repeats(seals, others)]
        if seals
        else []
    )
    failed = [sentence for record in rendered.values() for sentence in record["failed"]]
    empty = [sentence for record in rendered.values() for sentence in record["empty"]]

    def lines_of(name: str) -> list[str]:
        """Return the lines that artifacts of this name or renderer end a run with."""
        lines = []
        for artifact in artifacts:
            if name in named(artifact) and rendered[artifact.slug]["shown"]:
                frame = in_print(
                    pd.read_csv(outputs(artifact, folder)["csv"]), artifact.names
                )
                lines += CONCLUDING[name](frame)
        return lines

    drawn = zip(snakemake.params.shots, snakemake.input.prefixes, strict=True)
    cover = []
    if seals:
        today = datetime.now(UTC).strftime("%Y-%m-%d")
        cover = told_on_cover(
            seals, citation(workflow_folder() / "CITATION.cff"), today
        )
        # the answer of an audit of works does not wait for whole works
        cover = [("Given back", line) for line in lines_of("extraction")] + cover
    render_report(
        study=snakemake.params.study,
        title=snakemake.params.title,
        artifacts=artifacts,
        folder=folder,
        configuration=snakemake.params.configuration,
        provenance=provenance,
        warnings=[*failed, *empty, *incomplete_passes(provenance, called)],
        left_out=snakemake.params.left_out,
        sealed=told(seals) if seals else (),
        cautions=doubts,
        cover=cover,
        shots={
            name: ids
            for benchmark, path in drawn
            for name, ids in shots_of(benchmark, read_parquet(path)).items()
        },
    )
    # a headline says what DE-COP found beside all else
    has_headline = any("headline" in named(artifact) for artifact in artifacts)
    concluding = []
    for name in CONCLUDING:
        if not (has_headline and name == "de_cop_table1"):
            concluding += lines_of(name)
    write_text(
        snakemake.output.headline,
        "".join(f"{line}\n" for line in [*concluding, *doubts, *failed, *empty]),
    )
