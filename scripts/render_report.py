"""Gather a study's tables, figures and readings on one page that opens from disk."""

from pathlib import Path
from typing import TYPE_CHECKING

from pretrace.render.report import incomplete_passes, render_report
from pretrace.runtime.files import read_json
from pretrace.runtime.logs import job_log

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job_log(snakemake.log[0]):
    provenance = read_json(snakemake.input.provenance)
    render_report(
        study=snakemake.wildcards.study,
        title=snakemake.params.title,
        artifacts=snakemake.params.artifacts,
        folder=Path(snakemake.output[0]).parent,
        configuration=Path(snakemake.input.study).read_text(encoding="utf-8"),
        provenance=provenance,
        warnings=incomplete_passes(provenance),
        names=snakemake.params.names,
    )
