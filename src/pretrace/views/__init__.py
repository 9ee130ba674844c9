"""Views by name: changes to a text before a model reads it. No model library is
imported here.

A view is a function of the text (`delete-10`), or a stored table that a model made
(`synonym_by_{model}-10`, one text; `substitution_by_{model}-10`, three such texts, all
different, to stand for paraphrases; `neighbours_by_{model}-25`) or that was released
with the benchmark (`paraphrase`, `neighbours-25`): `View.source`.
"""

from pretrace.views import texts
from pretrace.views.names import PARAPHRASES, PARAPHRASING, VIEWS

__all__ = ["PARAPHRASES", "PARAPHRASING", "VIEWS", "texts"]
