"""Render one table or figure in every format, with the reading of its numbers."""

from pathlib import Path
from typing import TYPE_CHECKING

from pretrace.render.registry import render
from pretrace.render.results import Results
from pretrace.runtime.logs import job_log

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job_log(snakemake.log[0]):
    paths = snakemake.params.paths
    pairs = {kind: {(model, benchmark): Path(path) for model, benchmark, path in paths[kind]}
             for kind in ("metrics", "tests", "scores", "passes")}  # fmt: skip
    results = Results(
        metrics=pairs["metrics"],
        tests=pairs["tests"],
        scores=pairs["scores"],
        manifests=pairs["passes"],
        benchmarks={slug: Path(path) for slug, path in paths["benchmarks"]},
        entries=snakemake.params.entries,
        store=Path(snakemake.params.store),
    )
    render(snakemake.params.artifact, results, Path(snakemake.output.reading).parents[1])
