"""Draw the shots of a benchmark's prefixes."""

from pretrace.runtime.files import read_parquet, seed_of, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views.prefixes import draw_prefixes

with job_log(snakemake.log[0]):
    prefix = snakemake.params.prefix
    drawn = draw_prefixes(
        read_parquet(snakemake.input.benchmark),
        pool=prefix["pool"],
        draws=prefix.get("draws", 1),
        placebos=prefix.get("placebos", 0),
        texts=prefix.get("texts"),
        seed=seed_of("prefixes", snakemake.params.split, prefix.get("seed", 0)),
    )
    write_parquet(snakemake.output[0], drawn)
