"""Wherever a model runs, torch computes with the threads that are configured and repeats itself."""

import re
from pathlib import Path

import pytest
import torch

from pretrace.models.devices import torch_settings

SCRIPTS = sorted((Path(__file__).parents[2] / "scripts").glob("*.py"))


def now() -> tuple[int, bool]:
    return torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()


def test_threads_and_kernels_are_set_within_and_put_back_however_it_ends():
    before = now()
    with torch_settings(before[0] + 1):
        assert now() == (before[0] + 1, True)
    assert now() == before
    with pytest.raises(KeyError), torch_settings(before[0] + 1):
        raise KeyError
    assert now() == before


def test_a_job_reads_nothing_of_the_configuration_that_would_not_start_it_again():
    """Snakemake compares a job's parameters, not the configuration; a higher budget alone changes no answer, and a
    revision that was read stays.

    Estimates and the check of the hub have no output, and so always run.
    """
    making = [path.read_text() for path in SCRIPTS if path.stem not in ("estimate", "check_hub")]
    read = {
        key
        for text in making
        for key in re.findall(r"snakemake\.config\b(?!\[\"budget_usd\"\]|\.get\(\"revisions\"\)).*", text)
    }
    assert not read
