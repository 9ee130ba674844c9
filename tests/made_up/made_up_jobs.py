"""Requests, benchmarks and jobs of passes, and what they must store, for the tests of
the passes room."""

import numpy as np
import pandas as pd
import torch

from pretrace.models.target import load_checkpoint
from pretrace.passes import job
from pretrace.passes.index import PassIndex
from pretrace.passes.requests import Request
from pretrace.views.readings import PassKey, PassRequest

TEXTS = [
    "The state of the union is strong.",
    "In 1934 the Congress received this message; 120 members were there.",
    "def mean(values):\n    return sum(values) / len(values)\n",
    "多语言 and 🙂 emoji",
    "A",
    "the people of the United States",
]

PLAIN = {
    "altered": "",
    "prefix": "",
    "draw": None,
    "shots": None,
    "inner_start": False,
    "past_context": False,
}

NAMES = {"study": "study", "model": "tiny", "benchmark": "texts"}


def request(**changes):
    """A pass over the texts as they are, log-probabilities alone, but for the
    changes."""
    usual = {
        "view": "original",
        "start_token": "tokenizer",
        "statistics": "logprobs",
        "subsets": None,
        "lengths": None,
    }
    return PassRequest.from_json(PLAIN | usual | changes)


def full_request(*, statistics="full", **changes):
    return request(statistics=statistics, **changes)


def benchmark_of(texts, length=None, subset=""):
    """Texts of alternating labels, in the columns of a benchmark's table."""
    table = pd.DataFrame({"text": texts})
    table.insert(0, "text_id", [f"t{number:03d}" for number in table.index])
    columns = {"label": table.index % 2, "subset": subset, "length": length}
    table = table.assign(**columns, document="", fold=0)
    return table.astype({"label": "Int64", "length": "Int64"})


def target_of(record, *, dtype="float32", device="cpu", **how):
    """The target that a record names, in float32 on the CPU unless it is said how."""
    return load_checkpoint(record, dtype=dtype, device=device, **how)


def runner(tiny_checkpoint, folder):
    """Runs a job in a store of its own; returns the manifest. Keywords replace the
    job's usual arguments. A job with a `share` only fills the store."""

    def run(
        requests=None,
        *,
        kind="llama",
        texts=TEXTS,
        dtype="float32",
        max_length=None,
        **changes,
    ):
        checkpoint = tiny_checkpoint(kind)
        arguments = {
            "benchmark": benchmark_of(texts),
            "names": NAMES,
            "target": target_of(checkpoint, dtype=dtype, max_length=max_length),
            "store": run.store,
            "manifest": run.manifest,
            "batch_tokens": 64,
            "threads": 1,
        }
        arguments |= changes
        if "share" in changes:
            del arguments["manifest"]
            return job.fill(requests or [full_request()], **arguments)
        return job.run(requests or [full_request()], **arguments)

    run.store = folder / "passes" / "store"
    run.manifest = folder / "passes" / "tiny" / "texts" / "study.json"
    return run


def rows(job, manifest, start_token="tokenizer", **keys):
    usual = {
        "view": "original",
        "start_token": start_token,
        "subset": "",
        "length": None,
    }
    key = PassKey.from_json(PLAIN | usual | keys)
    return PassIndex(manifest, job.store).read(key).to_pylist()


def requests_of(texts, inner=()):
    requests = []
    for n, tokens in enumerate(texts):
        ids = np.array([*inner, *tokens], np.int32)
        requests.append(Request(f"t{n}", 0, ids, len(tokens)))
    return requests


def expected_statistics(model, before, tokens):
    """[6, scored] float64 of one text from its whole softmax, in the order of
    `STATISTICS`.

    Scored are all `tokens` after those `before` them; where there are none, all but the
    first.
    """
    ids = torch.tensor([[*before, *tokens]])
    with torch.no_grad():
        logp = model(input_ids=ids, use_cache=False).logits[0].double().log_softmax(-1)
    first = max(len(before), 1)
    return of_predictions(logp[first - 1 : -1], ids[0, first:]).numpy()


def of_predictions(logp, y):
    """[6, n] float64 of the predictions `logp` [n, vocabulary] of the tokens `y`
    [n]."""
    p = logp.exp()
    entropy = -(p * logp).sum(-1)
    variance = (p * (logp + entropy[:, None]) ** 2).sum(-1)
    own = logp.gather(1, y[:, None])
    top = []
    for row in logp:
        fortieth = row.sort(descending=True).values[39]
        top.append(row[row >= fortieth].logsumexp(0))
    ranks = (logp > own).sum(-1).double()
    highest = logp.amax(-1)
    rows = [own[:, 0], entropy, variance, highest, ranks, logp.new_tensor(top)]
    return torch.stack(rows)
