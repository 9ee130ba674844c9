"""Store a view that was released with a benchmark or is in a file of the user's."""

from pathlib import Path

from pretrace.benchmarks import entry_of
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views import stored

with job_log(snakemake.log[0]):
    view, entry = snakemake.wildcards.view, snakemake.params.entry
    benchmark, source = read_parquet(snakemake.input.benchmark), Path(snakemake.input.source)
    if view in entry_of(entry).views:
        table = stored.imported_view(view, benchmark, source)
    else:
        table = stored.view_of_source(view, benchmark, entry, [source])
    write_parquet(snakemake.output[0], table, stored.schema())
