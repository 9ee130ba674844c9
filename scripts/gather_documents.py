"""Write the table of a benchmark without texts: the passages that its models' answers
are about."""

from pretrace.questions.documents import benchmark_of_answers
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    columns = ["document", "label", "subset", "length", "passage"]
    answers = zip(snakemake.params.models, snakemake.input.answers, strict=True)
    table = benchmark_of_answers(
        {model: read_parquet(path, columns) for model, path in answers},
        snakemake.wildcards.benchmark,
        seed=snakemake.params.seed,
    )
    write_parquet(snakemake.output[0], table)
