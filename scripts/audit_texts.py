"""Audit a benchmark's unlabelled texts against known non-members, of the same benchmark
or of another."""

from pretrace.evaluation.audit import ScoredBenchmark, audit
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
    files = snakemake.input
    table = audit(
        scored_benchmark(
            snakemake.wildcards.benchmark, files.scores, files.benchmark, files.prefixes
        ),
        scored_benchmark(
            snakemake.params.known,
            files.known_scores,
            files.known,
            files.known_prefixes,
        ),
        snakemake.params.runs,
        snakemake.params.language,
        scored_benchmark(
            snakemake.params.positive, files.positive_scores, files.positive, None
        )
        if files.positive
        else None,
        randomised=snakemake.params.randomised,
    )
    write_parquet(snakemake.output[0], table)
