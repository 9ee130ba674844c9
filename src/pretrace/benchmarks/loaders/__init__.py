"""The sources of benchmarks: one file a loader, or a few alike, each registered by its
decorator.

To add a source, add one file here. Importing this package imports every file beside it,
and needs neither torch nor pandas.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
