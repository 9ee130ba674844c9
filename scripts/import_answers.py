"""Check answers that were collected elsewhere and write them as the answers table."""

from pathlib import Path

from pretrace.questions.collected import table_of
from pretrace.questions.released import released_answers
from pretrace.runtime.files import write_parquet
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    path, column = Path(snakemake.input[0]), snakemake.params.column
    write_parquet(snakemake.output[0], released_answers(path, column) if column else table_of(path))
