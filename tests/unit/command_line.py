"""The command `pretrace`, as a user types it."""

import subprocess
import sys
from pathlib import Path


def run_pretrace(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return what `pretrace ARGUMENTS` wrote, run in `folder`."""
    program = "from pretrace.command import main; main()"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)
