"""Draw the shots of a benchmark's prefixes."""

from pretrace.benchmarks.sources import PrefixDraws
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.jobs import run_job
from pretrace.seeds import seed_of
from pretrace.views.prefixes import draw_prefixes

with run_job(snakemake):
    prefix = PrefixDraws.model_validate(snakemake.params.prefix)
    drawn = draw_prefixes(
        read_parquet(snakemake.input.benchmark),
        pool=prefix.pool,
        draws=prefix.draws,
        placebos=prefix.placebos,
        texts=prefix.texts,
        authors_draw=prefix.authors_draw,
        seed=seed_of("prefixes", snakemake.params.split, prefix.seed),
    )
    write_parquet(snakemake.output[0], drawn)
