"""Store a view that a benchmark brings: in a file of its own, or beside its texts."""

from pathlib import Path

from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views import stored

with job_log(snakemake.log[0]):
    view, entry = snakemake.wildcards.view, snakemake.params.entry
    benchmark, source = read_parquet(snakemake.input.benchmark), Path(snakemake.input.source)
    if view in entry.get("views", {}):
        table = stored.imported_view(view, benchmark, source)
    else:
        table = stored.view_of_source(view, benchmark, entry, [source])
    write_parquet(snakemake.output[0], table, stored.schema())
