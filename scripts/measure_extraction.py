"""Say which windows of a benchmark's texts a model gives back, and how much of each
document and class that is."""

from pathlib import Path

from pretrace.evaluation.extraction import summarise, windows_of
from pretrace.models.tokens import decoder_of, load_encoder
from pretrace.passes.index import PassIndex
from pretrace.runtime.files import (
    read_parquet,
    read_parquet_if_given,
    write_parquet,
)
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    extraction = snakemake.params.extraction
    benchmark = read_parquet(snakemake.input.benchmark)
    passes = PassIndex.of_files(snakemake.input.manifest, snakemake.params.store)
    encoder = load_encoder(Path(snakemake.input.tokenizer), **snakemake.params.encoding)
    windows = windows_of(passes, benchmark, extraction, decoder_of(encoder))
    write_parquet(snakemake.output.windows, windows)
    elsewhere = read_parquet_if_given(snakemake.input.known)
    summary = summarise(windows, benchmark, extraction, elsewhere)
    write_parquet(snakemake.output.summary, summary)
