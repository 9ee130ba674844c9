"""pretrace: was this text in that model's pretraining data?"""

import atexit
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pretrace.notebook import load, score

__all__ = ["config_folder", "load", "score", "workflow_folder"]


def __getattr__(name: str) -> Any:
    """Import `score` and `load` when they are asked for, so that `import pretrace`
    stays cheap."""
    if name not in ("load", "score"):
        raise AttributeError(f"module 'pretrace' has no attribute '{name}'")
    from pretrace import notebook

    return getattr(notebook, name)


if os.environ.get("PRETRACE_JOB"):
    # a job imports libraries that make a million objects that stay: to search them for
    # garbage at Python's own rate, every 700 new objects, takes a tenth of the time of
    # the imports
    gc.set_threshold(100_000, 10, 10)
    # nor are they searched at the end, which takes a job with torch a second
    atexit.register(gc.freeze)


def config_folder() -> Path:
    """Return the folder of the registries: `config` of the working directory, else the
    one of the workflow.

    A workflow that uses this one as a module, or `--directory elsewhere`, may have a
    `config` of its own or none.
    """
    own = Path("config")
    return own if (own / "models.yaml").is_file() else workflow_folder() / "config"


def workflow_folder() -> Path:
    """Return the folder with the Snakefile: the library's own if it is installed from a
    wheel, else the project's."""
    library = Path(__file__).parent
    return library if (library / "Snakefile").is_file() else library.parents[1]
