"""Seal an audit's plan before any score: files, models, methods, settings and versions,
with their SHA-256."""

from datetime import UTC, datetime
from pathlib import Path

from pretrace.models.bases import check_base
from pretrace.runtime.files import read_json, write_json
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import log
from pretrace.studies.audit.seal import completed, read_seals, sealed, texts_in_question

with run_job(snakemake):
    params = snakemake.params
    file = Path(snakemake.output[0])
    records = {Path(path).parent.name: path for path in snakemake.input.checkpoints}
    if params.base:
        model, base = params.base
        in_question = texts_in_question(params.plan["benchmarks"])
        check_base(
            Path(records[model]),
            Path(records[base]),
            [name.rpartition("~")[2] for name in (model, base)],
            (text for _, text in in_question),
        )
    checkpoints = {name: read_json(path) for name, path in records.items()}
    plan = completed(params.plan, map(Path, snakemake.input.texts), checkpoints)
    scores = []
    for kind in ("scores", "given_back"):
        scores += file.parent.glob(f"{kind}/*/*.parquet")
    seals = sealed(
        read_seals(file),
        plan,
        time=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
        scores_existed=bool(scores),
    )
    write_json(file, seals)
    when = "after scores existed" if seals[-1]["scores_existed"] else "before any score"
    log.info(
        "sealed %s: the plan's SHA-256 is %s (%s). To convince others, deposit it and "
        "the texts before the result is known (docs/audit.md, The seal)",
        when,
        seals[-1]["sha256"],
        file,
    )
