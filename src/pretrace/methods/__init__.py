"""From token statistics to scores: one file a method, each registered by its decorator.

Every score says member by being higher. To add a method, add one file with one
decorated function; importing this package imports every file beside it, and needs
neither torch nor pandas.
"""

import importlib
import pkgutil

from pretrace.methods.inputs import Inputs
from pretrace.methods.registry import INPUTS, METHODS, NEEDS, method
from pretrace.methods.settings import (
    Chosen,
    altered_views,
    cross_fitted,
    empty_score,
    find,
    is_limit,
    obstacle,
    parse_setting,
    setting_name,
    settings,
)
from pretrace.methods.statistics import LabelledTexts, TokenStatistics

importlib.import_module(f"{__name__}.kinds")  # before the methods that need them
for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

from pretrace.methods.scoring import score  # noqa: E402  (after the methods that it looks up)

__all__ = [
    "INPUTS", "METHODS", "NEEDS", "Chosen", "Inputs", "LabelledTexts",
    "TokenStatistics", "altered_views",
    "cross_fitted", "empty_score", "find", "is_limit", "method",
    "obstacle",
    "parse_setting", "score", "setting_name", "settings",
]  # fmt: skip
