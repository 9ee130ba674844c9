"""The image has a Python that the package allows."""

import re
import tomllib
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]


def test_the_image_has_a_python_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"FROM python:([\d.]+)-", dockerfile)[1] in SpecifierSet(project["requires-python"])
