"""Train the tokenizer of the controlled models on a corpus of neither class."""

import os
from pathlib import Path

from pretrace.models.training.tokenizer import train_tokenizer
from pretrace.runtime.files import read_parquet, write_json
from pretrace.runtime.jobs import run_job

# one thread, as the rule asks for: others mostly wait, busily
os.environ["TOKENIZERS_PARALLELISM"] = "false"

with run_job(snakemake):
    train_tokenizer(
        (
            text
            for path in snakemake.input.documents
            for text in read_parquet(path)["text"]
        ),
        int(snakemake.wildcards.vocabulary),
        Path(snakemake.output.tokenizer),
    )
    write_json(
        snakemake.output.record, {"vocabulary": int(snakemake.wildcards.vocabulary)}
    )
