"""Extraction: what the pass over windows says against brute force, and what of it counts as extractable."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from made_up_jobs import benchmark_of, request

import tiny_models
from pretrace.evaluation.extraction import SUMMARY, WINDOWS, longest_run, summary, windows_of
from pretrace.models.tokens import load_decoder, load_tokenizer, start_token_ids
from pretrace.runtime.errors import InputError

TEXT = "The state of the union is strong, and the people of the United States know it. " * 3
PREFIX, SUFFIX, STRIDE = 6, 4, 3
EXTRACTION = {"threshold": 0.001, "tries": 100}


def windows_request(start_token="none", prefix=PREFIX, suffix=SUFFIX):
    return request(statistics="top40", windows=[prefix, suffix, STRIDE], start_token=start_token)


def by_brute_force(model, read, suffix, most):
    """ln of the probability of a suffix after what is read, drawn token by token from the `most` likeliest tokens."""
    total = 0.0
    for token in suffix:
        with torch.no_grad():
            p = model(torch.tensor([read])).logits[0, -1].double().softmax(-1)
        kept = torch.where(p >= p.topk(most).values[-1], p, 0.0)
        total += math.log(kept[token] / kept.sum()) if kept[token] > 0 else -math.inf
        read = [*read, token]
    return total


@pytest.mark.parametrize("size", [1, SUFFIX])
@pytest.mark.parametrize(("kind", "start_token"), [("llama", "<s>"), ("gpt_neox", "none")])
def test_a_window_has_the_probabilities_of_its_suffix_after_its_prefix_alone(
    job, tiny_checkpoint, tiny_model, kind, start_token, size
):
    model, tokenizer = tiny_model(kind), load_tokenizer(tiny_checkpoint(kind))
    benchmark = benchmark_of([TEXT, "A"])
    manifest = job([windows_request(start_token, suffix=size)], kind=kind, benchmark=benchmark)
    found = windows_of(manifest, job.store, benchmark, start_token, load_decoder(tiny_checkpoint(kind)))
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    start = start_token_ids(tokenizer, start_token)
    first = PREFIX - len(start)
    assert list(found) == WINDOWS
    assert found["at"].tolist() == list(range(first, len(ids) - size + 1, STRIDE))
    assert set(found["text_id"]) == set(found["document"]) == {"t000"}
    assert set(found["tokens"]) == {len(ids)}
    for row in found.itertuples():
        read, suffix = [*start, *ids[row.at - first : row.at]], ids[row.at : row.at + size]
        whole, top, greedy = (
            by_brute_force(model, read, suffix, most) for most in (model.config.vocab_size, 40, 1)
        )
        assert row.log_p == pytest.approx(whole, abs=1e-3)
        assert math.isnan(row.log_p_top) if math.isinf(top) else row.log_p_top == pytest.approx(top, abs=1e-3)
        assert row.greedy == (greedy == 0)
        assert row.passage == tokenizer.decode(suffix)
    assert found["log_p_top"].notna().any() == (size == 1), (
        "few tokens are among the 40 likeliest of a random model"
    )


def test_windows_and_whole_texts_are_passes_of_their_own(job):
    plain = request(statistics="full", start_token="none")
    manifest = job([plain, windows_request(), windows_request(prefix=8)], texts=[TEXT])
    cut = [entry["windows"] for entry in manifest["views"]]
    assert cut == [None, [PREFIX, SUFFIX, STRIDE], [8, SUFFIX, STRIDE]]
    assert len({entry["file"] for entry in manifest["views"]}) == 3


def test_windows_longer_than_the_context_are_refused(job):
    with pytest.raises(
        InputError, match=r"prefix and suffix are 129 tokens, and the model reads 128 at most"
    ):
        job([windows_request(prefix=tiny_models.CONTEXT - SUFFIX + 1)], texts=[TEXT])


def test_texts_without_a_window_are_an_error_that_says_what_to_do(job):
    benchmark = benchmark_of(["A"])
    manifest = job([windows_request()], benchmark=benchmark)
    with pytest.raises(
        InputError, match=r"texts: no text has a window.* give longer texts, or a smaller prefix"
    ):
        windows_of(manifest, job.store, benchmark, "none", str)


def windows_table(*documents):
    """(document, label, its windows' probabilities with top-40 sampling), a window every 50 tokens."""
    rows = [
        {
            "subset": "", "length": pd.NA, "document": document, "label": label, "text_id": document, "tokens": 500,
            "at": 50 + 50 * place, "suffix": 50, "log_p": math.log(p) - 1 if p else -500.0,
            "log_p_top": math.log(p) if p else np.nan, "greedy": p > 0.5, "passage": "words",
        }
        for document, label, shares in documents for place, p in enumerate(shares)
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"label": "Int64", "length": "Int64"})


KNOWN = [("n1", 0, [0, 0, 0.002, 0]), ("n2", 0, [0, 0, 0, 0]), ("n3", 0, [1e-9, 1e-4, 0, 0])]


def test_shares_runs_and_what_is_common():
    frame = summary(windows_table(("m", 1, [0.9, 0.01, 0.0021, 0]), *KNOWN), EXTRACTION)
    assert list(frame) == SUMMARY
    members, nonmembers = frame[frame["unit"] == "class"].to_dict("records")
    assert (members["label"], members["windows"], members["extractable"]) == (1, 4, 0.75)
    assert members["sampled"] == 0.5, "0.0021 / e is below the threshold"
    assert members["greedy"] == 0.25
    assert members["in_tries"] == 0.5, "0.9, and 0.01: at least once in 100 samples with 1 - 0.99^100 = 0.63"
    assert members["longest_run"] == 150
    assert nonmembers["extractable"] == members["nonmembers"] == pytest.approx(1 / 12)
    p = frame[frame["unit"] == "document"].set_index("document")["p"]
    assert p["m"] == 1 / 4
    assert p["n1"] == 1 / 3, "not compared with itself"
    assert p["n2"] == 1


def test_known_non_members_of_another_benchmark():
    frame = summary(windows_table(("book", None, [0.9, 0, 0.9, 0])), EXTRACTION, windows_table(*KNOWN))
    whole, book = frame.to_dict("records")
    assert whole["nonmembers"] == book["nonmembers"] == pytest.approx(1 / 12)
    assert pd.isna(book["label"])
    assert (book["longest_run"], book["p"]) == (50, 1 / 4)


def test_without_known_non_members_nothing_is_compared():
    frame = summary(windows_table(("book", None, [0.9, 0])), EXTRACTION)
    assert frame[["nonmembers", "p"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("places", "expected"),
    [([], 0), ([50], 50), ([50, 100], 100), ([50, 75, 100, 200], 100), ([50, 101], 50)],
)
def test_a_stretch_is_covered_by_windows_without_a_gap(places, expected):
    frame = pd.DataFrame({"at": [0, *places], "suffix": 50, "extractable": [False] + [True] * len(places)})
    assert longest_run(frame) == expected


def test_tries_of_a_tiny_probability_lose_no_digits():
    """1 - (1 - 1e-17)^n is 0 as written; ln(1/2) / ln(1 - 1e-17) is about 6.9e16 tries."""
    tiny = windows_table(("m", 1, [1e-17]))
    for tries, expected in ((10**16, 0.0), (10**17, 1.0)):
        assert summary(tiny, EXTRACTION | {"tries": tries})["in_tries"].tolist() == [expected] * 2
