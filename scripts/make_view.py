"""Make a stored view of a benchmark: what a model puts in place of its texts' words."""

from pathlib import Path

from pretrace.models.settings import torch_settings
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views import stored

with job_log(snakemake.log[0]), torch_settings(snakemake.params.threads):
    table = stored.make_view(
        snakemake.wildcards.view,
        read_parquet(snakemake.input.benchmark),
        Path(snakemake.input.checkpoint),
        device=snakemake.params.device,
    )
    write_parquet(snakemake.output[0], table, stored.schema())
