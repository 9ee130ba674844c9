"""What cannot be shown leaves the rest: the other panels, the files, and a record of
why."""

import errno
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import made_up_results as made_up
import pytest

from pretrace.render import catalogue
from pretrace.render.artifact import Artifact
from pretrace.render.catalogue import Renderer
from pretrace.render.results import UnmadeView
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json

TOO_LONG = made_up.PANEL | {"length": 999}
ABSENT = made_up.PANEL | {"benchmark": "absent"}
HEATMAP = {"options": {"method": "surp", "x": "eps", "y": "percentile"}}
OVER_GAMMA = {"options": {"x": "gamma"}, "selection": ["default"]}
RENDERERS = {
    "method_table": ("md", {}),
    "heatmap": ("txt", HEATMAP),
    "method_lines": ("txt", OVER_GAMMA),
}


def rendered(
    renderer: str, results, folder: Path, *panels, **own
) -> tuple[str, str, dict]:
    """The data of an artifact, the words under it, and its record."""
    suffix, keys = RENDERERS[renderer]
    files = made_up.render(
        made_up.artifact(renderer, panels=[*panels], **keys, **own), results, folder
    )
    for path in files.values():
        assert path.stat().st_size
    words = files[suffix].read_text(encoding="utf-8").replace("\\", "")
    return files["csv"].read_text(encoding="utf-8"), words, read_json(files["record"])


@pytest.mark.parametrize("renderer", ["method_table", "heatmap"])
def test_a_panel_that_fails_or_is_empty_leaves_the_others_as_they_are_and_says_why(
    renderer, results, tmp_path
):
    data, words, record = rendered(
        renderer, results, tmp_path, TOO_LONG, made_up.PANEL, ABSENT
    )
    alone, _, clean = rendered(renderer, results, tmp_path, made_up.PANEL)
    assert data == alone
    assert clean == {"shown": True, "failed": [], "empty": [], "unmade": []}
    (empty,), (failed,) = record["empty"], record["failed"]
    assert record["shown"]
    assert empty.startswith(
        f"a_{renderer}: tiny-135m on speeches, 999 words is not shown: no row with "
        "metric auc"
    )
    assert failed.startswith(
        f"a_{renderer}: tiny-135m on absent, 64 words could not be shown: no "
    )
    for sentence in (empty, failed):
        assert sentence.partition(": ")[2] in words


def test_a_view_that_could_not_be_made_leaves_the_others_and_is_told(results, tmp_path):
    unmade = UnmadeView(
        "speeches",
        "synonym-10",
        "results/views/speeches/synonym-10.parquet",
        "no data is here.",
    )
    lacking = replace(results, unmade=[unmade])
    both = {"across": {"view": ["original", "synonym-10"]}}
    one = {"across": {"view": ["original"]}}
    data, words, record = rendered(
        "method_table", lacking, tmp_path, made_up.PANEL, options=both
    )
    alone, _, clean = rendered(
        "method_table", results, tmp_path, made_up.PANEL, options=one
    )
    assert data == alone
    [sentence] = record["failed"]
    assert sentence.endswith(
        "synonyms 10 % of speeches could not be made, so nothing of it is shown: no "
        "data is here."
    )
    assert sentence.partition(": ")[2] in words
    assert record["unmade"] == [unmade.path]
    assert clean["unmade"] == []


@pytest.mark.parametrize(
    ("renderer", "panel", "why"),
    [
        ("method_table", TOO_LONG, "no row with metric auc"),
        ("heatmap", TOO_LONG, "no row with metric auc"),
        (
            "method_lines",
            made_up.PANEL,
            "no method that was scored here has a parameter 'gamma'",
        ),
    ],
)
def test_an_artifact_without_a_panel_says_why(renderer, panel, why, results, tmp_path):
    data, words, record = rendered(renderer, results, tmp_path, panel)
    assert not record["shown"]
    assert not record["failed"], "nobody's fault"
    assert record["empty"][0].partition(": ")[2] in words
    assert why in data


def raising(error: Exception):
    def draw(*_):
        raise error

    return lambda _: draw


def test_a_defect_is_told_with_its_traceback_in_the_log_and_a_full_disk_ends_the_job(
    results, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(Renderer, "function", raising(KeyError("boom")))
    _, words, record = rendered("heatmap", results, tmp_path, made_up.PANEL)
    said = "This figure could not be shown: KeyError: 'boom' (a defect of pretrace"
    assert said in words
    assert said in record["failed"][0]
    assert "Traceback" in caplog.text
    monkeypatch.setattr(
        Renderer, "function", raising(OSError(errno.ENOSPC, "No space left"))
    )
    with pytest.raises(OSError, match="No space"):
        rendered("heatmap", results, tmp_path / "full", made_up.PANEL)


def test_an_error_in_a_users_own_renderer_is_called_theirs_with_its_line(
    results, tmp_path, monkeypatch
):
    """Also where the library raises it, because it is called with something wrong."""
    path = tmp_path / "mine.py"
    path.write_text(
        "def mine(artifact, results):\n    return results.read('metrics')\n"
    )
    spec = spec_from_file_location("pretrace.render.figures.mine", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, spec.name, module)
    own = Renderer(
        "figures.mine.mine", frozenset(), frozenset(), frozenset({"unit", "across"})
    )
    monkeypatch.setitem(catalogue.RENDERERS, "mine", own)
    files = made_up.render(made_up.artifact("mine"), results, tmp_path)
    words = files["txt"].read_text(encoding="utf-8")
    assert (
        f"(an error in your file {path}, line 2; its job's log has the traceback)"
        in words
    )
    assert "defect" not in words


def test_panels_that_stand_for_every_length_are_not_read(results, monkeypatch):
    artifact = Artifact.model_validate(made_up.artifact("roc"))
    panel = artifact.panels[0].replaced(length=None)
    with pytest.raises(
        InputError,
        match=r"a renderer takes its panels from results\.panels\(artifact\)",
    ):
        results.rows(artifact, panel)
