"""Fetch one file of a corpus of the hub, write its documents, and delete it."""

from pathlib import Path

from pretrace.corpora.readers.shards import stream_shard
from pretrace.runtime.files import write_json
from pretrace.runtime.hub import use_pins
from pretrace.runtime.jobs import run_job

with run_job(snakemake), use_pins(snakemake.config.get("revisions")):
    fetched = stream_shard(
        snakemake.params.entry,
        int(snakemake.wildcards.shard),
        snakemake.params.shards,
        Path(snakemake.output.documents),
        attempts=snakemake.params.attempts,
    )
    write_json(snakemake.output.commit, fetched)
