"""What is done to a text before a model sees it: views by name. No model library is imported here.

A view is a function of the text (`delete-10`), or a stored table that a model made (`synonym_by_{model}-10`,
`neighbours_by_{model}-25`) or that the benchmark brings (`paraphrase`, `neighbours-25`): `View.source`.
"""

from pretrace.views import texts
from pretrace.views.prefixes import Prefix
from pretrace.views.registry import VIEWS, View, family, view

__all__ = ["VIEWS", "Prefix", "View", "family", "texts", "view"]
