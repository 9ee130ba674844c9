"""Record what a study's results were made with: commit, versions, hardware,
configuration, checkpoints."""

from pathlib import Path

from pretrace.runtime.files import read_json, write_json, write_text
from pretrace.runtime.hub import pins_of, read_pins
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import log
from pretrace.runtime.provenance import passes, provenance, repositories

with run_job(snakemake):
    record = provenance(snakemake.params.config, seed=snakemake.params.config["seed"])
    record["passes"] = passes(map(read_json, snakemake.input.manifests))
    record["repositories"] = repositories(map(Path, snakemake.input.read_of_hub))
    pins = read_pins(snakemake.config.get("revisions"))
    revisions, several = pins_of(record["repositories"], pins)
    for hub in several:
        log.warning(
            "%s was read at several commits, so that revisions.yaml has none for it",
            hub,
        )
    write_text(snakemake.output.revisions, revisions)
    write_json(snakemake.output.provenance, record)
