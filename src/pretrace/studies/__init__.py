"""A study: from the files of config/ to the inputs and parameters of every job.

Comes in: the configuration of a run, the study file that it names, and the registries.
Goes out: a `Study`, checked and resolved, and its `Plan`, in which rules look up files,
parameters, resources and priorities. A mistake in a file ends here, before any job.

Read `study.py` first: it resolves registries, runs and artifacts in this order
(`registries.py`, `runs.py`, `artifacts/`). Then `plan.py`, with `pairs.py` (a model on
a benchmark) and `stages/` (models, benchmarks, views and corpora that studies share).
`workflow.py` is what the Snakefile calls first and last, `user_files.py` checks the
files of a user, and `audit/` fills in and announces an audit.

Light to import (no torch, no pandas): the Snakefile is parsed again in every job.
"""

from pretrace.studies.plan import Plan
from pretrace.studies.study import Study, load_study

__all__ = ["Plan", "Study", "load_study"]
