"""The stages that studies share: fetched and trained models, tables of benchmarks,
stored views, counted corpora.

Comes in: a `Study` and the slug of one of its entries. Goes out: the files of that
entry under `results/`, and the parameters, resources and priority of the jobs that
make them. Two studies with the same entry name the same files.

Read `registered.py` first (an entry and its name), then `models.py`, the largest.
"""
