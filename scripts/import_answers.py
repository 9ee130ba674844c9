"""Check answers that were collected elsewhere and write them as the answers table."""

from pathlib import Path

from pretrace.questions.collected import read_answers
from pretrace.runtime.files import write_parquet
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    answers = read_answers(Path(snakemake.input[0]), snakemake.params.column)
    write_parquet(snakemake.output[0], answers)
