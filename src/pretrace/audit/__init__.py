"""Was a model trained on these texts? Texts in question against known ones.

In come the texts of both sides and the scores of a model; out goes a table with one p
for all texts, one for each document and passage, the checks of both sides, and the
answer.

Read `analysis.audit` first: it takes the scores (`scores`), exchanges the labels of
whole documents (`exchange_test`), checks without any score whether both sides are of
one kind (`controls`, by the features of `documents` and `form_features`), and takes off
the scores what tells the sides apart (`adjusted_scores`). `verdict` gives the answer
that `tables/` print. `design` says what so many documents can show, `file_checks` looks
at the files before any job. `continuations` and `given_back` ask a chat model to go on
from places in works, `canary_keys` draws canaries. `studies/audit/` plans the jobs.
"""
