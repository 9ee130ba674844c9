"""One file a kind of figure; `catalogue` lists the functions."""

import os

# what Jupyter and Colab set for `!snakemake` in a cell ends the import of matplotlib,
# because that backend is not installed here; figures need none
_backend = os.environ.pop("MPLBACKEND", None)
import matplotlib  # noqa: E402, F401

if _backend is not None:  # a notebook may draw figures of its own
    os.environ["MPLBACKEND"] = _backend
