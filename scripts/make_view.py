"""Store a view of a benchmark: from a file, of words that a model puts in place of
others, or as a model writes it."""

from pathlib import Path

from pretrace.benchmarks import benchmark_entry
from pretrace.questions.answerers import answerer_of
from pretrace.questions.written_views import ParaphrasePrompts, paraphrase
from pretrace.runtime.files import read_parquet
from pretrace.runtime.jobs import run_job
from pretrace.runtime.schema import read_keys
from pretrace.views import stored

view, benchmark, prompts = (
    snakemake.params.view,
    snakemake.params.benchmark,
    snakemake.input.prompts,
)
checkpoint, entry = snakemake.input.checkpoint, snakemake.params.entry


def imported():
    """Read the view in a file of the user's, or released with the benchmark."""
    source = Path(snakemake.input.source)
    if view in benchmark_entry(entry).views:
        return stored.imported_view(view, texts, source)
    return stored.view_of_source(view, texts, entry, [source])


def written():
    """Have a model write three paraphrases of each passage."""
    writer = view.removeprefix("paraphrase_by_")
    name = f"paraphrases of {benchmark} by {writer}"
    with answerer_of(
        entry,
        name,
        model=writer,
        checkpoint_json=checkpoint,
        api_answers=Path(snakemake.params.answers),
        local_answers=Path(snakemake.params.store),
        # no parameter: a higher one starts no job again
        budget_usd=snakemake.config["budget_usd"],
        batch_tokens=snakemake.params.batch_tokens,
        threads=snakemake.params.threads,
        device=snakemake.params.device,
        gpus=snakemake.resources.gpu,
    ) as answerer:
        return paraphrase(
            texts, answerer, read_keys(Path(prompts), ParaphrasePrompts), name
        )


def replaced():
    """Replace words of the texts by those that a model puts in their place."""
    from pretrace.models.devices import torch_settings

    with torch_settings(snakemake.params.threads):
        return stored.make_view(
            view, texts, Path(checkpoint), device=snakemake.params.device
        )


def computed():
    """Make the view as a function of each text."""
    return stored.computed_view(view, texts)


with run_job(snakemake):
    texts = read_parquet(snakemake.input.benchmark)
    makers = {"file": imported, "prompts": written, "model": replaced, "data": computed}
    stored.write_view(Path(snakemake.output[0]), makers[snakemake.params.way])
