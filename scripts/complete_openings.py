"""Let a model complete the openings of known events: the shots of Con-ReCall without
known members."""

from pathlib import Path

from pretrace.models.devices import torch_settings
from pretrace.models.target import load_checkpoint
from pretrace.runtime.files import write_parquet
from pretrace.runtime.jobs import run_job
from pretrace.runtime.schema import read_keys
from pretrace.views.zero_access import Openings, complete

with run_job(snakemake), torch_settings(snakemake.params.threads):
    target = load_checkpoint(
        Path(snakemake.input.checkpoint),
        device=snakemake.params.device,
        gpus=snakemake.resources.gpu,
        **snakemake.params.loading,
    )
    prompts = read_keys(Path(snakemake.input.prompts), Openings).prompts
    completions = complete(target, prompts, snakemake.params.lengths)
    write_parquet(snakemake.output[0], completions)
