"""Have a model read a benchmark: every view that the study asks for, once."""

from contextlib import contextmanager
from pathlib import Path

from pretrace.passes.drafts import finish_filled
from pretrace.runtime.jobs import run_job
from pretrace.runtime.work_left import work_left

entry = dict(snakemake.params.entry)
checkpoint = snakemake.input.checkpoint
threads = 1 if "api" in entry else snakemake.params.threads
names = dict(snakemake.wildcards)


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
manifest = snakemake.output[0]
store = Path(snakemake.params.store)
read = [snakemake.input.benchmark]
if checkpoint:
    read.append(checkpoint)

with run_job(snakemake), work_left(manifest, requests, read) as note_left:
    if not finish_filled(manifest, snakemake.params, store):
        # here, because a job that finds all filled needs neither pandas nor torch
        from pretrace.passes.filling import pass_requests, read_inputs
        from pretrace.passes.job import run

        given = snakemake.input
        with behind_api() if "api" in entry else loaded() as target:
            run(
                pass_requests(requests),
                **read_inputs(
                    given.benchmark, given.prefixes, given.completions, given.views
                ),
                names=names | {"study": snakemake.params.study},
                target=target,
                store=store,
                manifest=Path(manifest),
                batch_tokens=snakemake.params.batch_tokens,
                threads=threads,
                note_left=note_left,
            )
