"""Dry runs of Snakemake, each in a fork of one process that has imported it: the import
takes longer than the plan.

As a script, it serves requests: a line of JSON with the command's arguments, folder,
environment and a file for what it prints; the answer is its exit status.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path


def dry_run(
    arguments: tuple[str, ...], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run `snakemake ARGUMENTS`, a dry run, in `folder`."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as printed:
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "environment": environment,
            "printed": printed.name,
        }
        server = _server()
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        return subprocess.CompletedProcess(arguments, status, printed.read())


@cache
def _server() -> subprocess.Popen[str]:
    """Start the process that forks; it ends with this one, which closes its input."""
    return subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def serve() -> None:
    import snakemake.cli

    snakemake.cli.get_argument_parser()  # imports the plugins
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become_snakemake(request)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become_snakemake(request: dict) -> None:
    """Do what `python -m snakemake` does, with the library of the request's
    PYTHONPATH."""
    from snakemake.cli import main

    status = 1
    try:
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.path[:0] = request["environment"]["PYTHONPATH"].split(os.pathsep)
        printed = os.open(request["printed"], os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(printed, stream)
        main(request["arguments"])
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):  # as Python does at the end of a process
            print(end.code, file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
