"""The study `audit`: files and a model of the command line become runs, and a sealed
plan that is told before any score.

Read `study.fill_audit` first. `works` plans how works are cut, `announcement` says what
is compared and sent where, `checks_before_scores` makes the checks that need no score,
and `seal` hashes the plan, so that a later change shows.
"""
