"""Compute the calibration of the letters' probabilities, and each document's mean
probabilities before it."""

from pretrace.questions.calibration import calibrate
from pretrace.runtime.files import (
    read_parquet,
    read_parquet_if_given,
    write_parquet,
)
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    table = calibrate(
        read_parquet(snakemake.input.answers),
        read_parquet(snakemake.input.benchmark),
        snakemake.params.runs,
        given=snakemake.params.given,
        held=read_parquet_if_given(snakemake.input.held_answers),
        held_benchmark=read_parquet_if_given(snakemake.input.held_benchmark),
        where=f"answers of {snakemake.wildcards.model} to "
        f"{snakemake.wildcards.benchmark}",
    )
    write_parquet(snakemake.output[0], table)
