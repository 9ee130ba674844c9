"""Record what a study's results were made with: commit, versions, hardware, configuration, checkpoints."""

from typing import TYPE_CHECKING

from pretrace.render.provenance import provenance, repositories
from pretrace.runtime.files import read_json, write_json
from pretrace.runtime.logs import job_log

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job_log(snakemake.log[0]):
    record = provenance(snakemake.params.config, seed=snakemake.params.config["seed"])
    about = ("model", "benchmark", "checkpoint", "dtype", "device", "engine", "batch_tokens", "threads")
    counts = ("texts", "skipped", "truncated", "tokens")
    passes = [read_json(path) for path in snakemake.input.manifests]
    record["passes"] = [
        {key: manifest[key] for key in about}
        | {count: sum(view[count] for view in manifest["views"]) for count in counts}
        for manifest in passes
    ]
    read = snakemake.input.checkpoints, snakemake.input.fetched, snakemake.input.streamed
    record["repositories"] = repositories(*read)
    write_json(snakemake.output[0], record)
