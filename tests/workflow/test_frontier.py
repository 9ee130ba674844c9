"""The frontier study from download to report: miniature data sets, and tiny random
models under the real ids."""

from zlib import crc32

import pandas as pd
import pytest
import yaml
from projects import Project, copy_project

import hub_datasets as made
from hub_server import Hub
from tiny_models import tiny_model

TEXTS = 12
"""Of each class and dose."""


def fill(project: Project, hub: Hub) -> None:
    """Every data set and model of the study, at the revisions that it names, the models
    in float32."""
    made.frontier_study(hub, TEXTS)
    files = [
        project.path / "config" / name
        for name in ("models.yaml", "studies/frontier.yaml")
    ]
    registry, study = (
        yaml.safe_load(path.read_text(encoding="utf-8")) for path in files
    )
    used = {
        slug
        for run in study["runs"]
        for slug in ([run["model"]] if isinstance(run["model"], str) else run["model"])
        + run.get("references", [])
    }
    for entries in (registry, study["models"]):
        for slug in used & set(entries):
            entry = entries[slug] = entries[slug] | {"dtype": "float32"}
            kind = "gpt_neox" if slug.startswith("pythia") else "llama"
            folder = tiny_model(
                kind,
                project.path / "tiny" / slug,
                seed=crc32(slug.encode()),
                context=512,
            )
            hub.add_folder(
                "models", entry["hub"], folder, revision=entry.get("revision", "main")
            )
    for path, changed in zip(files, (registry, study), strict=True):
        path.write_text(
            yaml.safe_dump(changed, sort_keys=False, allow_unicode=True),
            encoding="utf-8",
        )


@pytest.mark.full
def test_from_download_to_report(tmp_path):
    project = copy_project(tmp_path / "project")
    with Hub() as hub:
        fill(project, hub)
        project.run(
            "--cores",
            "2",
            "--config",
            "study=frontier",
            "resamples=100",
            "threads=1",
            "device=cpu",
            "available=[pythia-1b-step90000]",
            **hub.environment(project.path / "hub"),
        )
    results = project.path / "results/frontier"
    doses = pd.read_csv(results / "figures/dose_response.csv")
    texts = pd.read_csv(results / "tables/dc_pdd_table1.csv")
    study = yaml.safe_load(
        (project.path / "config/studies/frontier.yaml").read_text(encoding="utf-8")
    )
    rendered = {
        path.stem
        for kind in ("tables", "figures")
        for path in (results / kind).glob("*.csv")
    }
    assert rendered == set(study["artifacts"])
    assert {"1", "4", "16", "64", "256", "10", "100", "1000"} <= set(
        doses["subset"].astype(str)
    ), doses
    assert len(texts)
    newer = pd.read_csv(results / "tables/newer_methods.csv")
    newer = newer[newer["selection"].eq("held_out") & newer["value"].notna()]
    readers = newer.groupby("method")[["model", "benchmark"]].apply(
        lambda rows: {*map(tuple, rows.to_numpy())}
    )
    assert readers["pac"] == {
        ("hubble-1b", "hubble_biographies"),
        ("croissant", "copyright_traps"),
    }
    assert readers["ez_mia"] == readers["ref"]
    report = (results / "report.html").read_text(encoding="utf-8")
    assert "Training documents had to be longer" in report
