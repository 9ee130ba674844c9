"""Have a model read texts of one or several benchmarks into the store; each pair's own
job then finds them there."""

from pathlib import Path

from pretrace.passes.filling import fill_pairs
from pretrace.passes.shares import JobShare
from pretrace.runtime.files import write_json
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    params = snakemake.params
    names = {"study": params.study, "model": snakemake.wildcards.model}
    placement = {"device": params.device, "gpus": snakemake.resources.gpu}
    outcomes = fill_pairs(
        params.pairs,
        checkpoint=Path(snakemake.input.checkpoint),
        loading=dict(params.entry) | placement,
        names=names,
        store=Path(params.store),
        batch_tokens=params.batch_tokens,
        threads=params.threads,
        share=JobShare.from_name(snakemake.wildcards.get("share", "")),
    )
    write_json(snakemake.output[0], names | {"benchmarks": outcomes})
