"""Compute the calibration of the letters' probabilities, and each document's mean
probabilities before it."""

from pretrace.questions.calibration import calibrate
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    table = calibrate(
        read_parquet(snakemake.input.answers),
        read_parquet(snakemake.input.benchmark),
        snakemake.params.runs,
        given=snakemake.params.given,
        held=read_parquet(snakemake.input.held_answers)
        if snakemake.input.held_answers
        else None,
        held_benchmark=read_parquet(snakemake.input.held_benchmark)
        if snakemake.input.held_benchmark
        else None,
        where=f"answers of {snakemake.wildcards.model} to "
        f"{snakemake.wildcards.benchmark}",
    )
    write_parquet(snakemake.output[0], table)
