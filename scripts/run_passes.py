"""Have a model read a benchmark: every view that the study asks for, once."""

from contextlib import contextmanager
from pathlib import Path

from pretrace.passes.job import run
from pretrace.passes.shares import JobShare
from pretrace.runtime.files import read_parquet
from pretrace.runtime.jobs import run_job
from pretrace.runtime.work_left import work_left
from pretrace.views.prefixes import evaluated_reader, shots_reader
from pretrace.views.readings import PassRequest
from pretrace.views.stored import read_views

entry = dict(snakemake.params.entry)
checkpoint = snakemake.input.checkpoint
threads = 1 if "api" in entry else snakemake.params.threads
names = dict(snakemake.wildcards)
share = JobShare.from_name(names.pop("share", ""))


@contextmanager
def behind_api():
    # here, so that models whose weights are read need no client
    from pretrace.models.api.client import connect
    from pretrace.passes.echo import echo_target

    with connect(
        snakemake.wildcards.model,
        entry["api"],
        store=Path(snakemake.params.answers),
        # no parameter: a higher one starts no job again
        budget_usd=snakemake.config["budget_usd"],
    ) as client:
        options = dict(entry)
        del options["api"]
        options.pop("dtype", None)
        yield echo_target(client, Path(checkpoint) if checkpoint else None, **options)


@contextmanager
def loaded():
    # here, so that models behind APIs need no torch
    from pretrace.models.devices import torch_settings
    from pretrace.models.target import load_checkpoint

    placement = {"device": snakemake.params.device, "gpus": snakemake.resources.gpu}
    with torch_settings(threads):
        yield load_checkpoint(Path(checkpoint), **placement, **entry)


requests = snakemake.params.requests
read = [snakemake.input.benchmark]
if checkpoint:
    read.append(checkpoint)

with (
    run_job(snakemake),
    work_left(snakemake.output[0], requests, read) as note_left,
    behind_api() if "api" in entry else loaded() as target,
):
    benchmark = read_parquet(snakemake.input.benchmark)
    views = read_views(snakemake.input.views)
    prefixes = snakemake.input.prefixes
    run(
        [PassRequest.from_json(request) for request in requests],
        benchmark=benchmark,
        names=names | {"study": snakemake.params.study},
        target=target,
        store=Path(snakemake.params.store),
        manifest=Path(snakemake.output[0]),
        batch_tokens=snakemake.params.batch_tokens,
        threads=threads,
        shots=shots_reader(benchmark, prefixes, snakemake.input.completions, views),
        evaluated=evaluated_reader(benchmark, prefixes),
        views=views,
        share=share,
        note_left=note_left,
    )
