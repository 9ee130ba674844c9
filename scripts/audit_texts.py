"""Audit a benchmark's unlabelled texts against known non-members, of the same benchmark
or of another."""

from pretrace.audit.analysis import ScoredBenchmark, audit
from pretrace.runtime.files import read_parquet, read_parquet_if_given, write_parquet
from pretrace.runtime.jobs import run_job


def scored_benchmark(name, scores, benchmark, prefixes):
    return ScoredBenchmark(
        name,
        read_parquet(scores),
        read_parquet(benchmark),
        read_parquet_if_given(prefixes),
    )


with run_job(snakemake):
    files, params = snakemake.input, snakemake.params
    in_question = scored_benchmark(
        snakemake.wildcards.benchmark, files.scores, files.benchmark, files.prefixes
    )
    known = scored_benchmark(
        params.known, files.known_scores, files.known, files.known_prefixes
    )
    positive = None
    if files.positive:
        positive = scored_benchmark(
            params.positive, files.positive_scores, files.positive, None
        )
    table = audit(
        in_question,
        known,
        params.runs,
        params.language,
        positive,
        randomised=params.randomised,
    )
    write_parquet(snakemake.output[0], table)
