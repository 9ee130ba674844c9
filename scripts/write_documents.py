"""Write one shard of a reference corpus as documents."""

from pathlib import Path

from pretrace.corpora import readers  # noqa: F401  (each registers itself)
from pretrace.corpora.sources import write_documents
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    source = snakemake.input.get("source")
    write_documents(
        snakemake.params.entry,
        [Path(source)] if source else [],
        int(snakemake.wildcards.shard),
        snakemake.params.shards,
        Path(snakemake.output[0]),
    )
