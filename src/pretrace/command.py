"""The command `pretrace`: Snakemake with the workflow that is installed with the
library, and two tools beside it."""

import os
import sys

from pretrace import workflow_folder


def main() -> None:
    """Run `pretrace cut` or `pretrace key`; with other arguments, become Snakemake on
    the installed workflow."""
    name, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if name == "cut":
        from pretrace.commands import cut

        cut.main(arguments)
    elif name == "key":
        from pretrace.commands import key

        key.main(arguments)
    else:
        snakefile = str(workflow_folder() / "Snakefile")
        os.execv(
            sys.executable,
            [
                sys.executable,
                "-m",
                "snakemake",
                "--snakefile",
                snakefile,
                *sys.argv[1:],
            ],
        )
