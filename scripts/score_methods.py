"""Score every text, and of questions every document, by every method and setting of a
model's runs."""

from pathlib import Path

from pretrace.methods import Inputs
from pretrace.passes.index import PassIndex
from pretrace.questions.collected import released_scores
from pretrace.questions.scoring import scores_of_model
from pretrace.runtime.files import (
    read_parquet,
    read_parquet_if_given,
    write_parquet_parts,
)
from pretrace.runtime.jobs import run_job
from pretrace.views.stored import read_views

with run_job(snakemake):
    files, params, names = snakemake.input, snakemake.params, snakemake.wildcards
    needed = {}
    for need, by_name in params.inputs.items():
        needed[need] = {name: Path(path) for name, path in by_name.items()}
    inputs = Inputs(
        PassIndex.of_files(files.manifest, params.store),
        read_parquet(files.benchmark),
        files=needed,
        prefixes=read_parquet_if_given(files.prefixes),
        views=read_views(files.views),
        language=params.language,
    )
    released = None
    if files.released_scores:
        released = released_scores(Path(files.released_scores), params.column)
    scores = scores_of_model(
        params.runs,
        inputs,
        answers=read_parquet_if_given(files.answers),
        calibrations=read_parquet_if_given(files.calibration),
        released=released,
        where=f"answers of {names.model} to {names.benchmark}",
    )
    write_parquet_parts(snakemake.output[0], scores)
