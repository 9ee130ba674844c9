"""The smoke study in as little time as can be, and what two runs of a study are
compared by."""

from projects import Project, write_smoke

COMPARED = ("scores", "metrics", "tests", "tables", "figures")


def small(project: Project) -> Project:
    """The smoke study with fewer methods, artifacts and texts: every stage, in as
    little time as can be."""
    study = write_smoke(project).study()
    study["runs"] = study["runs"][:1]
    study["runs"][0] |= {"methods": ["loss", "ref", "min_k", "dc_pdd"], "lengths": [8]}
    panels = [{"model": "target", "benchmark": "texts", "length": 8}]
    study["first"] = ["results_auc"]
    study["artifacts"] = {
        "results_auc": {"panels": panels},
        "selection_gap": {"panels": panels},
    }
    project.write_study(study)
    return project


def results(project: Project, study: str = "smoke") -> dict[str, bytes]:
    folder = project.path / "results" / study
    paths = (path for part in COMPARED for path in sorted((folder / part).rglob("*.*")))
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in paths
        if path.is_file()
    }
