"""Train the tokenizer of the controlled models on a corpus of neither class."""

import os
from pathlib import Path

from pretrace.models.training.tokenizer import train_tokenizer
from pretrace.runtime.files import read_parquet
from pretrace.runtime.logs import job_log

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one thread, as the rule asks for: others mostly wait, busily

with job_log(snakemake.log[0]):
    train_tokenizer(
        (text for path in snakemake.input.documents for text in read_parquet(path)["text"]),
        int(snakemake.wildcards.vocabulary),
        Path(snakemake.output[0]),
    )
