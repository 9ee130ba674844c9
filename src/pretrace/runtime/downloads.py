"""One file of a Python package, fetched by pip from the index that it is configured
for, and checked by its SHA-256.

pip refuses any other file than the one of the given hash. Its index, extra indexes,
folders of files, proxy, certificate and credentials hold here too. Of a source archive
it reads the metadata, for which it builds that archive in an environment of its own,
after its hash was found right.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from pretrace.runtime.errors import InputError, without_credentials
from pretrace.runtime.files import move_finished
from pretrace.runtime.logs import log


def fetch_package(
    name: str, version: str, filename: str, sha256: str, out: Path, attempts: int = 3
) -> None:
    """Fetch `filename` of the package `name` to `out`, which appears whole and right or
    not at all.

    pip tries a server that does not answer up to `attempts` times. Raises `InputError`
    with the file's name and what pip says.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        pinned = Path(folder) / "pinned.txt"
        pinned.write_text(
            f"{name}=={version} --hash=sha256:{sha256}\n", encoding="utf-8"
        )
        kind = "--only-binary" if filename.endswith(".whl") else "--no-binary"
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--no-input",
            "--progress-bar=off",
            f"--retries={attempts - 1}",
            kind,
            name,
            "--dest",
            folder,
            "-r",
            str(pinned),
        ]
        pip = subprocess.run(command, capture_output=True, text=True, check=False)
        output = without_credentials(pip.stdout + pip.stderr).strip()
        if not (Path(folder) / filename).is_file():
            raise InputError(
                f"{filename} (sha256 {sha256}) of {name} {version} could not be "
                f"fetched in {attempts} attempts; pip says:\n{output}\nRun again when "
                "the network is back, give pip an index with the file (PIP_INDEX_URL), "
                "or name a folder that holds it in PIP_FIND_LINKS."
            )
        log.info("%s", output)
        move_finished(Path(folder) / filename, out)
        log.info("fetched %s", filename)
