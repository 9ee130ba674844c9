"""Seal an audit's plan before any score: files, models, methods, settings and versions,
with their SHA-256."""

from datetime import UTC, datetime
from pathlib import Path

from pretrace.models.bases import check_base
from pretrace.runtime.files import read_json, sha256_file, write_json
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import log
from pretrace.runtime.provenance import provenance, whole_code_digest
from pretrace.studies.sealing import (
    marks_of,
    read_seals,
    sealed,
    short_names,
    texts_in_question,
)

with run_job(snakemake):
    file = Path(snakemake.output[0])
    texts = short_names(Path(path) for path in snakemake.input.texts)
    checkpoints = {
        Path(path).parent.name: read_json(path) for path in snakemake.input.checkpoints
    }
    if snakemake.params.base:
        records = {
            Path(path).parent.name: Path(path) for path in snakemake.input.checkpoints
        }
        asked = texts_in_question(snakemake.params.plan["benchmarks"])
        model, base = snakemake.params.base
        check_base(
            records[model],
            records[base],
            [name.rpartition("~")[2] for name in (model, base)],
            (text for _, text in asked),
        )
    versions = provenance({})
    plan = snakemake.params.plan | {
        "files": {name: sha256_file(path) for name, path in texts.items()},
        "marks": marks_of(texts_in_question(snakemake.params.plan["benchmarks"])),
        "checkpoints": {
            name: {
                key: record[key] for key in ("hub", "commit", "digest") if key in record
            }
            for name, record in checkpoints.items()
        },
        "versions": {
            name: versions["packages"][name]
            for name in ("torch", "transformers", "tokenizers", "numpy")
        }
        | {"pretrace": versions["commit"], "code": whole_code_digest()},
    }
    seals = sealed(
        read_seals(file),
        plan,
        time=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
        scores_existed=any(
            next(file.parent.glob(f"{kind}/*/*.parquet"), None)
            for kind in ("scores", "given_back")
        ),
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
