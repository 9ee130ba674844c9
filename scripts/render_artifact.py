"""Render one table or figure in every format."""

from collections import defaultdict
from pathlib import Path

from pretrace.audit.tables.audit import audit_lines
from pretrace.render.artifact import Artifact, rendering_of
from pretrace.render.rendering import render
from pretrace.render.results import Results, UnmadeView, in_print, read_csv
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import log, print_answer
from pretrace.views.stored import unmade_reason

with run_job(snakemake):
    paths: dict[str, dict] = defaultdict(dict)
    for kind, model, benchmark, path in snakemake.params.reads:
        key = (model, benchmark) if model and benchmark else model or benchmark
        paths[kind][key] = Path(path)
    unmade = []
    for benchmark, view, path in snakemake.params.views:
        reason = unmade_reason(Path(path))
        if reason:
            unmade.append(UnmadeView(benchmark, view, path, reason))
    results = Results(paths, snakemake.params.entries, unmade)
    artifact = Artifact.model_validate(snakemake.params.artifact)
    folder = Path(snakemake.output.csv).parents[1]
    files = render(artifact, results, folder)
    log.info("%s: %s", artifact.title, files.get("md") or files["svg"])
    if snakemake.params.tells_answer and rendering_of(artifact, folder)["shown"]:
        # whole works are read after it, which takes most of the time
        table = in_print(read_csv(files["csv"]), artifact.names)
        print_answer(audit_lines(table))
