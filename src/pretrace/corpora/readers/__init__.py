"""The sources of corpora: one file a reader, registered by its decorator.

To add a source, add one file here. Importing this package imports every file beside it.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
