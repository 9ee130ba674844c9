"""A real Slurm of one node with one pretended GPU, on loopback, for tests; needs root,
slurmctld, slurmd and munged.

Debian: apt-get install --no-install-recommends slurm-wlm munge. There is no accounting,
as on many small clusters.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

NO_PLUGIN = "the plugin for Slurm is not installed: pip install -r envs/clusters.txt"
HAS_PLUGIN = find_spec("snakemake_executor_plugin_slurm") is not None
needs_plugin = pytest.mark.skipif(not HAS_PLUGIN, reason=NO_PLUGIN)

SETTINGS = """ClusterName=ci
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket.2
CredType=cred/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort=6817
SlurmdPort=6818
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=5,bf_interval=5,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
GresTypes=gpu
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=2
MinJobAge=3600
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory={memory} Gres=gpu:1 State=UNKNOWN
PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=ALL MaxTime=INFINITE State=UP
"""


class NotStartedError(RuntimeError):
    """The daemons are installed and do not come up here."""


def lacking() -> str:
    """What keeps this machine from running a Slurm of its own; "" where nothing
    does."""
    if not HAS_PLUGIN:
        return NO_PLUGIN
    if os.geteuid() != 0:
        return "it needs root"
    missing = [
        name
        for name in ("munged", "slurmctld", "slurmd", "sinfo")
        if shutil.which(name) is None
    ]
    if missing:
        return (
            f"{', '.join(missing)} not installed (Debian: apt-get install "
            "--no-install-recommends slurm-wlm munge)"
        )
    if any(Path("/etc/slurm", name).exists() for name in ("slurm.conf", "gres.conf")):
        return "/etc/slurm/slurm.conf is there: a Slurm of somebody's"
    return ""


class Cluster:
    """The daemons of a Slurm that runs; `host` is its node."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *arguments: str) -> None:
        self.daemons[name] = subprocess.Popen(
            [name, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def stop(self, name: str, by: signal.Signals) -> None:
        self.daemons[name].send_signal(by)
        self.daemons[name].wait(30)

    def wait_until_idle(self) -> None:
        """Wait until the controller answers and the node takes jobs."""
        states = {"idle", "mixed", "allocated"}
        _wait(
            lambda: {*told("sinfo", "-h", "-o", "%T").split()} & states != set(),
            "slurmctld and slurmd",
        )


@contextmanager
def cluster(folder: Path, memory: int = 16000) -> Iterator[Cluster]:
    """Slurm runs while the block lasts; its files are in `folder`, and /etc/slurm links
    to two of them. The node says that it has this memory (MB)."""
    host = socket.gethostname().partition(".")[0]
    folder.mkdir(mode=0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o600)
    (folder / "slurm.conf").write_text(
        SETTINGS.format(host=host, folder=folder, memory=memory), encoding="utf-8"
    )
    (folder / "gres.conf").write_text(
        f"NodeName={host} Name=gpu File=/dev/null\n", encoding="utf-8"
    )
    links = [Path("/etc/slurm") / name for name in ("slurm.conf", "gres.conf")]
    links[0].parent.mkdir(exist_ok=True)
    running = Cluster(host)
    try:
        for link in links:
            link.symlink_to(folder / link.name)
        files = [
            f"--{name}-file={folder}/munge.{name}" for name in ("pid", "seed", "log")
        ]
        running.start(
            "munged",
            "--foreground",
            "--force",
            f"--socket={folder}/munge.socket.2",
            f"--key-file={folder}/key",
            "--num-threads=2",
            *files,
        )
        _wait(lambda: (folder / "munge.socket.2").exists(), "munged")
        running.start("slurmctld", "-D", "-c")
        running.start("slurmd", "-D", "-c")
        running.wait_until_idle()
        yield running
    finally:
        told("scancel", "--user=root")
        for daemon in reversed(running.daemons.values()):
            daemon.terminate()
            daemon.wait(30)
        for link in links:
            link.unlink(missing_ok=True)


def told(*command: str) -> str:
    try:
        return subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=30,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired:
        return ""


def _wait(ready: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not ready():
        if time.monotonic() > deadline:
            raise NotStartedError(f"{what} did not start in 30 s")
        time.sleep(0.2)
