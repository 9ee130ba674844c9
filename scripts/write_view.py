"""Have a model, a checkpoint or one behind an API, write a view of a benchmark: three paraphrases of each passage, or
samples of how each text goes on after its first half.
"""

from pathlib import Path

from pretrace.questions.answerers import answerer_of
from pretrace.questions.continuing import continue_texts
from pretrace.questions.paraphrasing import paraphrase, read_prompts
from pretrace.questions.prompts import read_wording
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views import stored

benchmark, writer = snakemake.wildcards.benchmark, snakemake.wildcards.writer
samples = snakemake.wildcards.get("samples")  # of continuations alone
name = f"paraphrases of {benchmark} by {writer}" if samples is None else f"{benchmark} continued by {writer}"
prompts = Path(snakemake.input.prompts)

with (
    job_log(snakemake.log[0]),
    answerer_of(
        snakemake.params.entry,
        name,
        model=writer,
        checkpoint_json=snakemake.input.checkpoint,
        store=Path(snakemake.params.answers),
        budget_usd=snakemake.config["budget_usd"],  # no parameter: a higher one starts no job again
        batch_tokens=snakemake.params.batch_tokens,
        threads=snakemake.params.threads,
        device=snakemake.params.device,
        gpus=snakemake.resources.gpu,
    ) as answerer,
):
    texts = read_parquet(snakemake.input.benchmark)
    if samples is None:
        table = paraphrase(texts, answerer, read_prompts(prompts), name)
    else:
        table = continue_texts(texts, answerer, int(samples), read_wording(prompts), name)
    write_parquet(snakemake.output[0], table, stored.schema())
