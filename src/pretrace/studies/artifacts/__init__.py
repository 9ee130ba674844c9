"""The tables and figures of a study: those that are shown, each with its panels.

Comes in: the artifacts as artifacts.yaml and the study file write them, the resolved
runs, and what the configuration selects. Goes out: `Selected`, an `Artifact` for each
table or figure, the runs that they need, and what is left out with the reason.

Read `selection.py` first: its `resolve_artifacts` calls the others in their order.
`written.py` merges registry and study, fills panels in from the runs and adds titles
and cautions; `checks.py` refuses what no run has.
"""
