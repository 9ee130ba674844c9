"""Configuration: registries and study files, checked and resolved into plain plans for
the rules.

Light to import (no torch, no pandas): the Snakefile is parsed again in every job.
"""

from pretrace.studies.plan import Plan
from pretrace.studies.study import Study, load_study

__all__ = ["Plan", "Study", "load_study"]
