"""Audit a benchmark's unlabelled texts against known non-members, of the same benchmark or of another."""

from pretrace.evaluation.audit import ScoredBenchmark, audit
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.logs import job_log


def scored_benchmark(name, scores, benchmark, prefixes):
    return ScoredBenchmark(
        name, read_parquet(scores), read_parquet(benchmark), read_parquet(prefixes) if prefixes else None
    )


with job_log(snakemake.log[0]):
    given = snakemake.input
    table = audit(
        scored_benchmark(snakemake.wildcards.benchmark, given.scores, given.benchmark, given.prefixes),
        scored_benchmark(snakemake.params.known, given.known_scores, given.known, given.known_prefixes),
        snakemake.params.runs,
        snakemake.params.language,
        scored_benchmark(snakemake.params.positive, given.positive_scores, given.positive, None)
        if given.positive
        else None,
    )
    write_parquet(snakemake.output[0], table)
