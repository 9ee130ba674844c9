"""Render one table or figure in every format, and with it a few that wait."""

from pathlib import Path

from pretrace.runtime.ahead import Ahead
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import log

with run_job(snakemake) as identity:
    output = snakemake.output
    folder = Path(output.record).parents[1]
    ahead = Ahead(folder)
    if not ahead.take(identity, output):
        # here, so that a job whose artifact another one drew imports no pandas
        from pretrace.render.job import draw, draw_ahead

        ahead.claim(output.record)
        draw(snakemake.params, folder)
        draw_ahead(ahead, output.record)
    shown = output.get("md") or output.svg
    log.info("%s: %s", snakemake.params.artifact["title"], shown)
