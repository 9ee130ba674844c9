"""Write one shard of a reference corpus as documents."""

from pathlib import Path

from pretrace import corpora
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    source = snakemake.input.get("source")
    corpora.write_documents(
        snakemake.params.entry,
        [Path(source)] if source else [],
        int(snakemake.wildcards.shard),
        snakemake.params.shards,
        Path(snakemake.output[0]),
    )
