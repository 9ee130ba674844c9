"""Score every text, and of questions every document, by every method and setting of a
model's runs."""

from itertools import chain
from pathlib import Path

from pretrace import methods
from pretrace.passes.index import PassIndex
from pretrace.questions.collected import released_scores
from pretrace.questions.documents import document_units
from pretrace.questions.scoring import titled_scores, with_documents
from pretrace.runtime.files import (
    read_json,
    read_parquet,
    read_parquet_if_given,
    write_parquet_parts,
)
from pretrace.runtime.jobs import run_job
from pretrace.views.stored import read_views

with run_job(snakemake):
    manifest = (
        read_json(snakemake.input.manifest)
        if snakemake.input.manifest
        else {"views": []}
    )
    benchmark = read_parquet(snakemake.input.benchmark)
    inputs = methods.Inputs(
        PassIndex(manifest, Path(snakemake.params.store)),
        benchmark,
        files={
            need: {name: Path(path) for name, path in files.items()}
            for need, files in snakemake.params.inputs.items()
        },
        prefixes=read_parquet_if_given(snakemake.input.prefixes),
        views=read_views(snakemake.input.views),
        language=snakemake.params.language,
    )
    scores = with_documents(
        methods.score(snakemake.params.runs, inputs),
        benchmark,
        snakemake.params.runs,
        answers=read_parquet_if_given(snakemake.input.answers),
        calibrations=read_parquet_if_given(snakemake.input.calibration),
        where=f"answers of {snakemake.wildcards.model} to "
        f"{snakemake.wildcards.benchmark}",
    )
    if snakemake.input.released_scores:
        released = released_scores(
            Path(snakemake.input.released_scores), snakemake.params.column
        )
        scores = chain(
            scores, [titled_scores(released, document_units(benchmark)["id"])]
        )
    write_parquet_parts(snakemake.output[0], scores)
