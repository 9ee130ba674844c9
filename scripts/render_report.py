"""Gather a study's tables and figures on one page that opens from disk, and what was
found for a terminal."""

from datetime import UTC, datetime
from pathlib import Path

from pretrace import workflow_folder
from pretrace.render.artifact import Artifact
from pretrace.render.tables.texts import single_texts
from pretrace.runtime.files import (
    read_json,
    read_parquet,
    read_parquet_parts,
    write_text,
)
from pretrace.runtime.jobs import run_job
from pretrace.studies.audit.seal import read_seals
from pretrace.studies.conclusion import FinishedStudy

with run_job(snakemake):
    params, files = snakemake.params, snakemake.input
    study = FinishedStudy(
        [Artifact.model_validate(written) for written in params.artifacts],
        Path(snakemake.output.report).parent,
        read_seals(Path(files.seals)) if files.seals else [],
    )
    texts = None
    if params.listing:
        parts = read_parquet_parts(files.scores)
        texts = single_texts(parts, read_parquet(files.texts), **params.listing)
    study.write_page(
        study=params.study,
        title=params.title,
        configuration=params.configuration,
        provenance=read_json(files.provenance),
        left_out=params.left_out,
        texts=texts,
        prefixes=dict(zip(params.shots, files.prefixes, strict=True)),
        citation_file=workflow_folder() / "CITATION.cff",
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
    )
    headline = "".join(f"{line}\n" for line in study.conclusion)
    write_text(snakemake.output.headline, headline)
