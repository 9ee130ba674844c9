"""Download one file of the Python package index, checked by its SHA-256."""

from pathlib import Path

from pretrace.runtime.downloads import fetch_package
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    download = snakemake.params.download
    fetch_package(
        download["package"],
        download["version"],
        download["file"],
        download["sha256"],
        Path(snakemake.output[0]),
        attempts=snakemake.params.attempts,
    )
