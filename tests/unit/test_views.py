"""Views are found by name and depend on nothing but the text and the seed."""

import subprocess
import sys
from pathlib import Path

import pytest

from pretrace.runtime.errors import InputError
from pretrace.views import VIEWS, view


def test_original_is_the_text_itself_and_lowercase_its_lower_case() -> None:
    text = "The STATE of the Union — ÄÖ 国情"
    assert VIEWS["original"].variants(text, 1) == [text]
    assert VIEWS["lowercase"].variants(text, 1) == ["the state of the union — äö 国情"]


def test_an_unknown_view_names_the_nearest_one() -> None:
    with pytest.raises(InputError, match="no view 'lower-case': did you mean 'lowercase'"):
        VIEWS["lower-case"]
    assert "lower-case" not in VIEWS


def test_a_view_registers_by_its_decorator_and_only_once() -> None:
    try:
        view("shout")(lambda text, seed: [text.upper()] * seed)
        assert VIEWS["shout"].variants("no", 2) == ["NO", "NO"]
        with pytest.raises(ValueError, match="shout"):
            view("shout")(lambda text, seed: [text])
    finally:
        VIEWS.pop("shout")


@pytest.mark.parametrize("module", ["pretrace.views", "pretrace.benchmarks", "pretrace.benchmarks.local"])
def test_what_the_snakefile_imports_loads_no_heavy_library(module: str) -> None:
    code = f"""
import sys, {module}
heavy = {{"torch", "pandas", "numpy", "scipy", "sklearn", "matplotlib", "pyarrow", "transformers"}}
sys.exit(", ".join(heavy & set(sys.modules)) or 0)
"""
    scripts = Path(__file__).parents[2] / "scripts"
    run = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(scripts)}, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
