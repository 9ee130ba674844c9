"""Render one table or figure in every format, and with it a few that wait."""

from pathlib import Path

from pretrace.runtime.ahead import Ahead
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import log, print_answer

with run_job(snakemake) as identity:
    output = snakemake.output
    artifact = snakemake.params.artifact
    folder = Path(output.record).parents[1]
    ahead = Ahead(folder)
    if not ahead.take(identity, output):
        # here, so that a job whose artifact another one drew imports no pandas
        from pretrace.audit.tables.audit import audit_lines
        from pretrace.render.frames import in_print, read_csv
        from pretrace.render.job import draw, draw_ahead

        ahead.claim(output.record)
        record = draw(snakemake.params, folder)
        if snakemake.params.tells_answer and record["shown"]:
            # whole works are read after it, which takes most of the time
            table = in_print(read_csv(output.csv), artifact.get("names", {}))
            print_answer(audit_lines(table))
        draw_ahead(ahead, output.record)
    shown = output.get("md") or output.svg
    log.info("%s: %s", artifact["title"], shown)
