"""The machine that a process runs on."""

import platform
import sys
from pathlib import Path


def processor() -> str:
    """The processor's name: Linux says it in /proc/cpuinfo, elsewhere `platform` may know."""
    info = Path("/proc/cpuinfo")
    if sys.platform == "linux" and info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
