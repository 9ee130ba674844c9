"""Say which windows of a benchmark's texts a model gives back, and how much of each
document and class that is."""

from pathlib import Path

from pretrace.evaluation.extraction import summarise, windows_of
from pretrace.models.tokens import decoder_of, load_encoder
from pretrace.passes.index import PassIndex
from pretrace.runtime.files import (
    read_json,
    read_parquet,
    read_parquet_if_given,
    write_parquet,
)
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    extraction = snakemake.params.extraction
    benchmark = read_parquet(snakemake.input.benchmark)
    windows = windows_of(
        PassIndex(read_json(snakemake.input.manifest), Path(snakemake.params.store)),
        benchmark,
        extraction,
        decoder_of(
            load_encoder(Path(snakemake.input.tokenizer), **snakemake.params.encoding)
        ),
    )
    write_parquet(snakemake.output.windows, windows)
    elsewhere = read_parquet_if_given(snakemake.input.known)
    write_parquet(
        snakemake.output.summary, summarise(windows, benchmark, extraction, elsewhere)
    )
