"""Fail if a table or figure, or a panel of one, could not be shown; everything else is
there, the report too."""

from pathlib import Path

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json, write_text
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    artifacts = len(snakemake.input.records)
    incomplete = 0
    reasons = []
    for path in snakemake.input.records:
        record = read_json(path)
        if not record["failed"]:
            continue
        incomplete += 1
        reasons += record["failed"]
        Path(path).unlink()  # so that the next run renders it again
        for view in record["unmade"]:
            # and makes the views again that could not be made
            Path(view).unlink(missing_ok=True)
    if incomplete:
        raise InputError(
            f"{incomplete} of {artifacts} tables and figures are not complete; the "
            "next run tries them again:\n" + "\n".join(reasons)
        )
    write_text(snakemake.output[0], f"{artifacts} tables and figures\n")
