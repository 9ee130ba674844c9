"""The engine: texts -> per-token statistics.

In come a benchmark's texts in the views and after the prefixes that runs ask for
(`views.readings.PassRequest`) and a model; out go rows of token statistics in a store,
by the digest of what was read, and a manifest that names them (`index` reads it).

Read `job.run` first: `requests` says which passes, texts and tokens are read, `engine`
reads them by a loaded model and `echo` by a model behind an API. Only this room runs a
model forward; reading needs no torch.
"""
