"""The frame of every script that a rule runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pretrace.runtime.files import remove_unfinished
from pretrace.runtime.identity import Identity, identity_now, mark_outputs
from pretrace.runtime.logs import job_log


@contextmanager
def run_job(snakemake: Any) -> Iterator[Identity | None]:
    """Log a job, and write into its outputs what they were made from: the identity that
    it gives, if the job has one.

    Args:
        snakemake: the object of that name in a script. Its input `identity`, if it has
            one, is the job's identity file.
    """
    with job_log(snakemake.log[0]):
        for output in snakemake.output:
            remove_unfinished(output)
        file = snakemake.input.get("identity")
        # before the job reads them: what is replaced meanwhile must not pass for what
        # was read
        settings = dict(snakemake.params.items())
        identity = identity_now(file, settings) if file else None
        yield identity
        if identity:
            mark_outputs(identity, list(snakemake.output))
