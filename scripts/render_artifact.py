"""Render one table or figure in every format."""

from collections import defaultdict
from pathlib import Path

from pretrace.render.artifact import Artifact
from pretrace.render.rendering import render
from pretrace.render.results import Results
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import log

with run_job(snakemake):
    paths: dict[str, dict] = defaultdict(dict)
    for kind, model, benchmark, path in snakemake.params.reads:
        key = (model, benchmark) if model and benchmark else model or benchmark
        paths[kind][key] = Path(path)
    results = Results(paths, snakemake.params.entries)
    artifact = Artifact.model_validate(snakemake.params.artifact)
    files = render(artifact, results, Path(snakemake.output.csv).parents[1])
    log.info("%s: %s", artifact.title, files.get("md") or files["svg"])
