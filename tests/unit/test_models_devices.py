"""Jobs of one machine share its GPUs out among themselves."""

import subprocess
import sys
from pathlib import Path

from pretrace.models import devices

HOLD = """
import sys
from pathlib import Path

from pretrace.models.devices import lock_first_free

print(lock_first_free(["a", "b"], Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""
SCRIPTS = Path(__file__).parents[2] / "scripts"


def job(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], env={"PYTHONPATH": str(SCRIPTS)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def test_two_jobs_have_two_gpus_and_a_third_waits_for_one_that_ends_however_it_ends(tmp_path):
    jobs = [job(tmp_path), job(tmp_path)]
    try:
        holder = {one.stdout.readline().strip(): one for one in jobs}
        assert sorted(holder) == ["0", "1"]
        jobs.append(job(tmp_path))
        holder["0"].kill()
        assert jobs[-1].stdout.readline().strip() == "0"
    finally:
        for one in jobs:
            one.kill()
            one.wait()
            one.stdin.close()
            one.stdout.close()


def test_the_lock_ends_with_the_process_that_holds_it(tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "_held", [])
    assert devices.lock_first_free(["a", "b"], tmp_path) == 0
    assert devices.lock_first_free(["a", "b"], tmp_path) == 1, "another file handle is refused the first"
    for lock in devices._held:
        lock.close()
    assert devices.lock_first_free(["a", "b"], tmp_path) == 0
    devices._held.pop().close()
