"""Gather a study's tables and figures on one page that opens from disk, and what was found for a terminal."""

from pathlib import Path

import pandas as pd

from pretrace.render.figures import familiarity, headline
from pretrace.render.report import OPENING, incomplete_passes, render_report, shots_of
from pretrace.runtime.files import read_json, read_parquet, write_text
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    provenance = read_json(snakemake.input.provenance)
    folder = Path(snakemake.output.report).parent
    artifacts = snakemake.params.artifacts
    drawn = zip(snakemake.params.shots, snakemake.input.prefixes, strict=True)
    render_report(
        study=snakemake.wildcards.study,
        title=snakemake.params.title,
        artifacts=artifacts,
        folder=folder,
        configuration=Path(snakemake.input.study).read_text(encoding="utf-8"),
        provenance=provenance,
        warnings=incomplete_passes(provenance),
        names=snakemake.params.names,
        left_out=snakemake.params.left_out,
        shots=[shot for benchmark, path in drawn for shot in shots_of(benchmark, read_parquet(path))],
    )
    lines_of = {"familiar_texts": familiarity.lines, "headline": headline.lines}
    found = [
        line
        for renderer in OPENING
        for artifact in artifacts
        if artifact["renderer"] == renderer
        for line in lines_of[renderer](pd.read_csv(folder / "figures" / f"{artifact['artifact']}.csv"))
    ]
    write_text(snakemake.output.headline, "".join(f"{line}\n" for line in found))
