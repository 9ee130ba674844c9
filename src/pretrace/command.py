"""The command `pretrace`: Snakemake with the workflow that is installed with the
library, and two tools beside it."""

import os
import sys

from pretrace import workflow_folder


def main() -> None:
    """Run `pretrace cut` or `pretrace key`; with other arguments, become Snakemake on
    the installed workflow."""
    arguments = sys.argv[1:]
    name = arguments[0] if arguments else ""
    if name == "cut":
        from pretrace.commands import cut

        cut.main(arguments[1:])
    elif name == "key":
        from pretrace.commands import key

        key.main(arguments[1:])
    else:
        command = [sys.executable, "-m", "snakemake", "--snakefile"]
        command.append(str(workflow_folder() / "Snakefile"))
        os.execv(sys.executable, command + arguments)
