"""Fetch a model from the Hugging Face hub and record the commit and the hash of each of
its files."""

from pathlib import Path

from pretrace.models.fetching import fetch_model
from pretrace.runtime.hub import use_pins
from pretrace.runtime.jobs import run_job

with run_job(snakemake), use_pins(snakemake.config.get("revisions")):
    entry = snakemake.params.entry
    fetch_model(
        entry["hub"],
        entry["revision"],
        Path(snakemake.output[0]),
        access=entry["access"],
        remote_code=snakemake.params.remote_code,
    )
