"""Requests and benchmarks of jobs of passes, for the tests of the passes room."""

import pandas as pd

import tiny_models
from pretrace import models, passes

TEXTS = [
    "The state of the union is strong.",
    "In 1934 the Congress received this message; 120 members were there.",
    "def mean(values):\n    return sum(values) / len(values)\n",
    "多语言 and 🙂 emoji",
    "A",
    "the people of the United States",
]

NAMES = {"study": "study", "model": "tiny", "benchmark": "texts"}


def request(**changes):
    """A pass over the texts as they are, log-probabilities alone, but for the changes."""
    plain = {
        "view": "original",
        "companion": "",
        "prefix": "",
        "draw": None,
        "shots": None,
        "start_token": "tokenizer",
        "inner_start": False,
        "statistics": "logprobs",
        "subsets": None,
        "lengths": None,
    }
    return plain | changes


def full_request(**changes):
    """The same with all statistics."""
    return request(**{"statistics": "full"} | changes)


def benchmark_of(texts, length=None, subset=""):
    """Texts of alternating labels, in the columns of a benchmark's table."""
    return pd.DataFrame(
        {
            "text_id": [f"t{number:03d}" for number in range(len(texts))],
            "text": texts,
            "label": pd.array([number % 2 for number in range(len(texts))], dtype="Int64"),
            "subset": subset,
            "length": pd.array([length] * len(texts), dtype="Int64"),
            "document": "",
            "fold": 0,
        }
    )


def tiny_checkpoints(folder):
    """The record of a tiny checkpoint of each kind."""
    for kind in tiny_models.KINDS:
        models.register_local(tiny_models.tiny_model(kind, folder / kind), folder / f"{kind}.json")
    return {kind: folder / f"{kind}.json" for kind in tiny_models.KINDS}


def runner(checkpoints, folder):
    """Runs a job in a store of its own; returns the manifest. Keywords replace the job's usual arguments."""

    def run(requests=None, *, kind="llama", texts=TEXTS, dtype="float32", target=None, **changes):
        arguments = {
            "benchmark": benchmark_of(texts),
            "names": NAMES,
            "target": target or models.load_checkpoint(checkpoints[kind], dtype=dtype, device="cpu"),
            "store": run.store,
            "manifest": run.manifest,
            "batch_tokens": 64,
            "threads": 1,
        }
        return passes.run(requests or [full_request()], **(arguments | changes))

    run.store = folder / "passes" / "store"
    run.manifest = folder / "passes" / "tiny" / "texts" / "study.json"
    return run


def rows(job, manifest, start_token="tokenizer", **at):
    """The rows that a job stored of a pass, as dictionaries."""
    table = passes.read(
        manifest,
        job.store,
        start_token=start_token,
        **({"view": "original", "subset": "", "length": None} | at),
    )
    return table.to_pylist()
