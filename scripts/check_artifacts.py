"""Fail if a table or figure, or a panel of one, could not be shown; everything else is
there, the report too."""

from pathlib import Path

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json, write_text
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    records = {Path(path): read_json(path) for path in snakemake.input.records}
    failed = [path for path, record in records.items() if record["failed"]]
    for path in failed:
        path.unlink()  # so that the next run renders it again
        for view in records[path]["unmade"]:
            # and makes the views again that could not be made
            Path(view).unlink(missing_ok=True)
    if failed:
        reasons = [sentence for path in failed for sentence in records[path]["failed"]]
        raise InputError(
            f"{len(failed)} of {len(records)} tables and figures are not complete; the "
            "next run tries them again:\n" + "\n".join(reasons)
        )
    write_text(snakemake.output[0], f"{len(records)} tables and figures\n")
