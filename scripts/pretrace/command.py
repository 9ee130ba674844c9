"""The command `pretrace`: Snakemake with the workflow that is installed with the library."""

import os
import sys
from typing import NoReturn

from pretrace import workflow_folder


def main() -> NoReturn:
    """Become Snakemake on the installed workflow, in the working directory, with the command line's arguments."""
    snakefile = str(workflow_folder() / "Snakefile")
    os.execv(sys.executable, [sys.executable, "-m", "snakemake", "--snakefile", snakefile, *sys.argv[1:]])
