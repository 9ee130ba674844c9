"""The command `pretrace`, as a user types it, in this process: the import takes longer
than the command."""

import io
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from pretrace.command import main


def run_pretrace(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return what `pretrace ARGUMENTS` wrote, run in `folder`."""
    printed, said = io.StringIO(), io.StringIO()
    status = 0
    with (
        chdir(folder),
        redirect_stdout(printed),
        redirect_stderr(said),
        mock.patch("sys.argv", ["pretrace", *arguments]),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code
            if isinstance(status, str):
                said.write(f"{status}\n")
                status = 1
    return subprocess.CompletedProcess(
        arguments, status or 0, printed.getvalue(), said.getvalue()
    )
