"""Gather a study's tables and figures on one page that opens from disk, and what was
found for a terminal."""

from datetime import UTC, datetime
from pathlib import Path

from pretrace import workflow_folder
from pretrace.render.artifact import Artifact
from pretrace.render.report import incomplete_passes, render_report, shots_of
from pretrace.runtime.files import read_json, read_parquet, write_text
from pretrace.runtime.jobs import run_job
from pretrace.studies.finished import FinishedStudy
from pretrace.studies.sealing import read_seals

params, files = snakemake.params, snakemake.input

with run_job(snakemake):
    provenance = read_json(files.provenance)
    study = FinishedStudy(
        [Artifact.model_validate(written) for written in params.artifacts],
        Path(snakemake.output.report).parent,
        read_seals(Path(files.seals)) if files.seals else [],
    )
    shots = {}
    for benchmark, path in zip(params.shots, files.prefixes, strict=True):
        shots |= shots_of(benchmark, read_parquet(path))
    render_report(
        study=params.study,
        title=params.title,
        artifacts=study.artifacts,
        folder=study.folder,
        configuration=params.configuration,
        provenance=provenance,
        warnings=[*study.missing, *incomplete_passes(provenance, study.names)],
        left_out=params.left_out,
        sealed=study.sealed,
        cautions=study.doubts,
        cover=study.cover(
            workflow_folder() / "CITATION.cff",
            datetime.now(UTC).strftime("%Y-%m-%d"),
        ),
        shots=shots,
    )
    lines = "".join(f"{line}\n" for line in study.conclusion)
    write_text(snakemake.output.headline, lines)
