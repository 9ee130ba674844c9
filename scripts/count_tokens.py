"""Count the tokens of one shard of a reference corpus under one tokenizer."""

from pathlib import Path

from pretrace.corpora.counts import count_tokens
from pretrace.models.tokens import load_encoder
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    count_tokens(
        Path(snakemake.input.documents),
        load_encoder(Path(snakemake.input.checkpoint), **snakemake.params.encoding),
        Path(snakemake.output[0]),
        max_tokens=snakemake.params.max_tokens,
    )
