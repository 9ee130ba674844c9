"""Ask a model behind an API to go on from places in works, and say how much of them it
gives back."""

from pathlib import Path

from pretrace.audit.continuations import GoingOn, GoingOnWording, works_of
from pretrace.audit.given_back import summarise
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.jobs import run_job
from pretrace.runtime.schema import read_keys

name = f"{snakemake.wildcards.model}/{snakemake.wildcards.benchmark}"
api = snakemake.params.entry["api"]

with run_job(snakemake):
    # imports are here, so that others need no client
    from pretrace.models.api.client import connect
    from pretrace.questions.over_api import ApiAnswerer

    store = Path(snakemake.params.answers)
    budget = snakemake.params.budget
    works = works_of(read_parquet(snakemake.input.benchmark))
    wording = read_keys(Path(snakemake.input.prompts), GoingOnWording)
    with connect(
        snakemake.wildcards.model, api, store=store, budget_usd=budget
    ) as client:
        going_on = GoingOn(
            works,
            ApiAnswerer(client),
            wording,
            language=snakemake.params.language,
            name=name,
            **snakemake.params.given_back,
        )
        going_on.ask()
    continuations = going_on.continuations()
    write_parquet(snakemake.output.continuations, continuations)
    summary = summarise(
        going_on.given_back(),
        continuations,
        server=api["base_url"],
        cut_short=going_on.is_cut_short,
        seed=snakemake.params.seed,
    )
    write_parquet(snakemake.output.summary, summary)
