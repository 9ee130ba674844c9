"""The image of the rules is that of the released version, with a Python that the package allows."""

import re
import tomllib
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]


def test_the_image_has_the_version_and_a_python_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    snakefile, dockerfile = (
        (ROOT / path).read_text(encoding="utf-8") for path in ("workflow/Snakefile", "Dockerfile")
    )
    assert re.search(r'container: ".*:(.*)"', snakefile)[1] == project["version"]
    assert re.search(r"FROM python:([\d.]+)-", dockerfile)[1] in SpecifierSet(project["requires-python"])
