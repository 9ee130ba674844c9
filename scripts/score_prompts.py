"""Have a model behind an API score a benchmark's texts: log-probabilities, in the store of all passes."""

from pathlib import Path

from pretrace.models.api.client import connected
from pretrace.models.target import load_checkpoint
from pretrace.passes.echo import echo_target
from pretrace.passes.job import run
from pretrace.runtime.files import read_parquet
from pretrace.runtime.logs import job_log
from pretrace.views.prefixes import evaluated_reader, shots_reader
from pretrace.views.readings import PassRequest
from pretrace.views.stored import read_views

with (
    job_log(snakemake.log[0]),
    connected(
        snakemake.wildcards.model,
        snakemake.params.api,
        store=Path(snakemake.params.answers),
        budget_usd=snakemake.config["budget_usd"],  # no parameter: a higher one starts no job again
    ) as client,
):
    tokenizer = snakemake.input.tokenizer
    benchmark = read_parquet(snakemake.input.benchmark)
    views = read_views(snakemake.input.views)
    run(
        [PassRequest.from_json(request) for request in snakemake.params.requests],
        benchmark=benchmark,
        names={**snakemake.wildcards, "study": snakemake.params.study},
        target=echo_target(
            client,
            load_checkpoint(Path(tokenizer), dtype="float32", device="cpu") if tokenizer else None,
            snakemake.params.max_length,
        ),
        store=Path(snakemake.params.store),
        manifest=Path(snakemake.output[0]),
        batch_tokens=snakemake.params.batch_tokens,
        threads=1,
        shots=shots_reader(benchmark, snakemake.input.prefixes, [], views),
        evaluated=evaluated_reader(benchmark, snakemake.input.prefixes),
        views=views,
    )
