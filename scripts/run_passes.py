"""Run a model over a benchmark: every view that the study asks for, once."""

from pathlib import Path

from pretrace.models.settings import torch_settings
from pretrace.models.target import load_checkpoint
from pretrace.passes.job import run
from pretrace.runtime.files import read_parquet
from pretrace.runtime.logs import job_log
from pretrace.views.prefixes import evaluated_reader, shots_reader
from pretrace.views.readings import PassRequest
from pretrace.views.stored import read_views

with job_log(snakemake.log[0]), torch_settings(snakemake.params.threads):
    benchmark = read_parquet(snakemake.input.benchmark)
    views = read_views(snakemake.input.views)
    run(
        [PassRequest.from_json(request) for request in snakemake.params.requests],
        benchmark=benchmark,
        names={**snakemake.wildcards, "study": snakemake.params.study},
        target=load_checkpoint(
            Path(snakemake.input.checkpoint),
            device=snakemake.params.device,
            gpus=snakemake.resources.gpu,
            **snakemake.params.loading,
        ),
        store=Path(snakemake.params.store),
        manifest=Path(snakemake.output[0]),
        batch_tokens=snakemake.params.batch_tokens,
        threads=snakemake.params.threads,
        shots=shots_reader(benchmark, snakemake.input.prefixes, snakemake.input.completions, views),
        evaluated=evaluated_reader(benchmark, snakemake.input.prefixes),
        views=views,
    )
