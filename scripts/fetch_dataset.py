"""Fetch a benchmark's texts, or its released views, from the hub or the authors'
archive."""

from pathlib import Path

from pretrace.benchmarks.fetching import fetch_dataset
from pretrace.runtime.hub import use_pins
from pretrace.runtime.jobs import run_job

with run_job(snakemake), use_pins(snakemake.config.get("revisions")):
    fetch_dataset(
        snakemake.params.entry,
        snakemake.wildcards.part,
        Path(snakemake.output[0]).parent,
        seed=snakemake.params.seed,
        attempts=snakemake.params.attempts,
    )
