"""Train the tokenizer of the controlled models on a corpus of neither class."""

import os
from pathlib import Path

from pretrace.models.training.tokenizer import train_tokenizer
from pretrace.runtime.files import read_parquet, write_json
from pretrace.runtime.jobs import run_job

# one thread, as the rule asks for: others mostly wait, busily
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def texts():
    for path in snakemake.input.documents:
        yield from read_parquet(path)["text"]


with run_job(snakemake):
    vocabulary = int(snakemake.wildcards.vocabulary)
    train_tokenizer(texts(), vocabulary, Path(snakemake.output.tokenizer))
    write_json(snakemake.output.record, {"vocabulary": vocabulary})
