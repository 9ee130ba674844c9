"""Extraction: windows of passes against brute force, and what of them counts as
extractable."""

import math
import re

import numpy as np
import pandas as pd
import pytest
import torch
from made_up_jobs import benchmark_of, request

import tiny_models
from pretrace.evaluation.extraction import (
    SUMMARY,
    WINDOWS,
    has_repeats,
    longest_run,
    pieces,
    summarise,
    windows_of,
)
from pretrace.models.tokens import (
    decoder_of,
    load_encoder,
    load_tokenizer,
    start_token_ids,
)
from pretrace.passes.index import PassIndex
from pretrace.runtime.errors import InputError

ALL_TEXTS = [{"subsets": None, "lengths": None}]
EXTRACTION = {
    "suffix": 50, "context": 20, "threshold": 0.001, "tries": 100, "parts": ALL_TEXTS,
}  # fmt: skip


def whole_requests(start_token="none"):
    """The passes behind windows that have the whole text before them as context."""
    keys = {"statistics": "top40", "start_token": start_token}
    return [request(**keys), request(**keys, past_context=True)]


def extraction(start_token="none", *, parts=ALL_TEXTS, stride=1, **keys):
    """What a job is told of a run's extraction."""
    return {"start_token": start_token, "parts": parts, "stride": stride, **keys}


@pytest.fixture
def windows(job, tiny_checkpoint):
    """Runs a job and gives the windows of its passes that an extraction measures."""

    def of(requests, benchmark, measured, *, kind="llama", max_length=None):
        manifest = job(requests, kind=kind, benchmark=benchmark, max_length=max_length)
        decode = decoder_of(load_encoder(tiny_checkpoint(kind)))
        passes = PassIndex(manifest, job.store)
        return manifest, windows_of(passes, benchmark, measured, decode)

    return of


def by_brute_force(model, read, suffix, most):
    """ln of the probability of a suffix after what is read, drawn token by token from
    the `most` likeliest tokens."""
    total = 0.0
    for token in suffix:
        with torch.no_grad():
            p = model(torch.tensor([read])).logits[0, -1].double().softmax(-1)
        lowest = p.topk(most).values[-1]
        if p[token] < lowest:
            return -math.inf
        total += math.log(p[token] / p[p >= lowest].sum())
        read = [*read, token]
    return total


WORDS = "union state people strong know the of and it is " * 4
NEW = " ".join(f"{word}{number}" for number, word in enumerate(WORDS.split()))


@pytest.mark.parametrize(("max_length", "size"), [(None, 2), (48, 1), (31, 2)])
@pytest.mark.parametrize(
    ("kind", "start_token"), [("llama", "<s>"), ("gpt_neox", "none")]
)
def test_a_window_in_context_has_the_probabilities_of_its_tokens_after_all_tokens_before_them(
    windows, tiny_checkpoint, tiny_model, kind, start_token, max_length, size
):
    """Past the model's context a token has at least half of the context before it."""
    model = tiny_model(kind)
    tokenizer = load_tokenizer(tiny_checkpoint(kind))
    context = 5
    stride = 3
    measured = extraction(start_token, suffix=size, context=context, stride=stride)
    texts = benchmark_of([NEW, "A", "The state of the union"])
    requests = whole_requests(start_token)
    manifest, windows = windows(
        requests, texts, measured, kind=kind, max_length=max_length
    )
    ids = tokenizer(NEW, add_special_tokens=False)["input_ids"]
    start = list(start_token_ids(tokenizer, start_token))
    room = (max_length or tiny_models.CONTEXT) - len(start)
    given = room // 2
    long = windows[windows["text_id"] == "t000"]
    assert list(windows) == WINDOWS
    expected = list(range(context - len(start), len(ids) - size + 1, stride))
    assert long["at"].tolist() == expected
    assert set(long["tokens"]) == {len(ids)}
    is_read_on = any(entry["past_context"] for entry in manifest["views"])
    assert is_read_on == (len(ids) > room)
    for row in long.iloc[::4].itertuples():
        whole = top = 0.0
        for place in range(row.at, row.at + size):
            before = place if place < room else given + (place - room) % (room - given)
            read = [*start, *ids[place - before : place]]
            whole += by_brute_force(model, read, [ids[place]], model.config.vocab_size)
            top += by_brute_force(model, read, [ids[place]], 40)
        if math.isinf(top):
            top = math.nan
        assert row.log_p == pytest.approx(whole, abs=1e-3)
        assert row.log_p_top == pytest.approx(top, abs=1e-3, nan_ok=True)
    assert windows["log_p_top"].notna().any() or size > 1
    told = windows[windows["passage"] != ""]
    for row in told.itertuples():
        assert row.passage == tokenizer.decode(ids[row.at : row.at + size])
    assert told["log_p_top"].notna().all()
    assert told["at"].diff().dropna().abs().ge(size).all(), "passages do not overlap"


def test_a_context_that_no_token_past_the_models_context_has_is_refused(windows):
    measured = extraction(suffix=2, context=25)
    says = r"exceed the model's context of 48 tokens.* Give context: 24 at most"
    with pytest.raises(InputError, match=says):
        windows(whole_requests(), benchmark_of([NEW]), measured, max_length=48)


def test_only_the_texts_that_the_run_reads_have_windows(windows):
    first = benchmark_of([NEW], subset="a")
    other = benchmark_of([NEW], subset="b").assign(text_id="other")
    benchmark = pd.concat([first, other], ignore_index=True)
    subset_b = [{"subsets": ["b"], "lengths": None}]
    measured = extraction(suffix=2, context=5, parts=subset_b)
    _, found = windows(whole_requests(), benchmark, measured)
    assert set(found["text_id"]) == {"other"}


@pytest.mark.parametrize("size", [1, 4, 5])
def test_windows_that_repeat_their_own_text_are_found(size):
    """By comparing each token's runs of three with the thousand before them, and those
    of five with all before."""
    ids = np.random.default_rng(0).integers(0, 9, size=1_500).tolist()
    copied = set()
    for run, within in ((3, 1_000), (5, 1_500)):
        for place in range(len(ids) - run + 1):
            own = ids[place : place + run]
            for before in range(max(place - within, 0), place):
                if ids[before : before + run] == own:
                    copied.update(range(place, place + run))
                    break
    expected = []
    for place in range(len(ids) - size + 1):
        repeated = copied.intersection(range(place, place + size))
        expected.append(len(repeated) >= size / 2)
    assert has_repeats(np.array(ids), size).tolist() == expected
    assert len(set(expected)) == 2


def test_near_copies_repeat_a_text_and_common_words_of_a_long_one_do_not():
    """A list with another number in each line, and random words of which each run of
    three comes again by chance."""
    line = [7, 8, 9, 0, 10, 11, 12, 0, 13, 14]
    tokens = []
    for row in range(40):
        for place, token in enumerate(line):
            tokens.append(token or 100 + 2 * row + place // 7)
    numbered = np.array(tokens)
    assert has_repeats(numbered, 20)[10:].all()
    random = np.random.default_rng(0).integers(0, 40, size=60_000)
    assert has_repeats(random, 20)[-1_000:].mean() < 0.02


def test_the_tokens_in_words_make_up_the_text(tiny_checkpoint):
    """Whatever the tokenizer: characters of several tokens and spaces before words are
    neither lost nor doubled."""
    text = "The état of the 🙂🙂 union — 多语言"
    record = tiny_checkpoint("llama")
    tokenizer = load_tokenizer(record)
    decode = decoder_of(load_encoder(record))
    ids = np.array(tokenizer(text, add_special_tokens=False)["input_ids"])
    assert "".join(pieces(ids, decode)) == text
    first = ids[:1]
    assert "".join(pieces(first, decode)) == decode([first.tolist()])[0]

    def without_first_space(several):
        return [decode([ids])[0].removeprefix(" ") for ids in several]

    assert "".join(pieces(ids, without_first_space)) == text


def test_texts_without_a_window_are_not_measurable_and_a_warning_says_what_would_be(
    windows, caplog
):
    benchmark = benchmark_of(["A"])
    measured = extraction(threshold=0.001, tries=100, context=5, suffix=4)
    _, found = windows(whole_requests(), benchmark, measured)
    assert list(found) == WINDOWS
    assert len(found) == 0
    assert re.search("has the 9 tokens .* longer texts", caplog.text)
    whole, document = summarise(found, benchmark, measured).to_dict("records")
    for row in (whole, document):
        assert row["texts"] == row["short"] == 1
        assert row["tokens"] == 0
        assert row["least"] == 9


def windows_table(*documents):
    """(document, label, its windows' probabilities with top-40 sampling), a window
    every 50 tokens."""
    rows = []
    for document, label, shares in documents:
        for place, p in enumerate(shares):
            log_p = math.log(p) if p else math.nan
            rows.append(
                {
                    "subset": "",
                    "length": None,
                    "document": document,
                    "label": label,
                    "text_id": document,
                    "tokens": 500,
                    "at": 50 + 50 * place,
                    "suffix": 50,
                    "log_p": log_p - 1 if p else -500.0,
                    "log_p_top": log_p,
                    "greedy": p > 0.5,
                    "log_p_fifty": log_p - math.log(3),
                    "repeats": False,
                    "token": "",
                    "passage": "words",
                }
            )
    return pd.DataFrame(rows).astype({"label": "Int64", "length": "Int64"})


def texts_of(windows, *short):
    """The benchmark of these windows: a text each document, and further texts
    (document, label) without a window."""
    columns = ["subset", "length", "document", "label", "text_id"]
    texts = windows[columns].drop_duplicates()
    for number, (document, label) in enumerate(short):
        texts.loc[f"short {number}"] = ["", pd.NA, document, label, f"short {number}"]
    return texts.reset_index(drop=True)


KNOWN = [
    ("n1", 0, [0, 0, 0.002, 0]),
    ("n2", 0, [0, 0, 0, 0]),
    ("n3", 0, [1e-9, 1e-4, 0, 0]),
]


def test_shares_are_of_a_works_tokens():
    """Each window has 50 of a text's 500 tokens."""
    windows = windows_table(("m", 1, [0.9, 0.01, 0.0021, 0]), *KNOWN)
    frame = summarise(windows, texts_of(windows), EXTRACTION)
    assert list(frame) == SUMMARY
    members, nonmembers = frame[frame["unit"] == "class"].to_dict("records")
    assert members["label"] == 1
    assert members["tokens"] == 500
    assert members["measured"] == 0.4
    assert members["extractable"] == 0.3
    assert members["windows"] == 4
    assert members["extractable_windows"] == 3
    assert members["least"] == 70
    assert members["sampled"] == 0.2, "0.0021 / e is below the threshold"
    assert members["fifty"] == 0.2, "0.0021 / 3 too"
    assert members["greedy"] == 0.1
    # 0.9, and 0.01: at least once in 100 samples with 1 - 0.99^100 = 0.63
    assert members["in_tries"] == 0.2
    assert members["longest_run"] == 150
    assert nonmembers["extractable"] == members["nonmembers"]
    assert members["nonmembers"] == pytest.approx(50 / 1500)
    p = frame[frame["unit"] == "document"].set_index("document")["p"]
    assert p["m"] == 1 / 4
    assert p["n1"] == 1 / 3, "not compared with itself"
    assert p["n2"] == 1
    assert frame["known"].tolist()[2:] == [3, 2, 2, 2]


def test_a_token_in_several_windows_is_one_token():
    at = [50, 60, 200, 300]
    windows = windows_table(("m", 1, [0.9, 0.9, 0, 0.9])).assign(at=at)
    frame = summarise(windows, texts_of(windows), EXTRACTION)
    assert frame["extractable"].tolist() == [(60 + 50) / 500] * 2
    assert frame["measured"].tolist() == [(60 + 50 + 50) / 500] * 2


def test_windows_that_repeat_their_text_count_nowhere_and_are_counted_apart():
    windows = windows_table(
        ("m", 1, [0.9, 0.9, 0, 0]), ("n1", 0, [0.9, 0]), ("n2", 0, [0.9])
    )
    windows["repeats"] = windows["at"] == 50  # the first of each
    frame = summarise(windows, texts_of(windows), EXTRACTION)
    documents = frame[frame["unit"] == "document"].set_index("document")
    member = documents.loc["m"]
    assert member["windows"] == 3
    assert member["repeats"] == 1
    assert member["longest_run"] == 50
    assert member["measured"] == 0.3
    assert member["extractable"] == 0.1
    assert member["nonmembers"] == 0
    assert member["p"] == 1 / 2
    assert member["known"] == 1, "n2 has no window that counts"
    repeating = documents.loc["n2"]
    assert repeating["windows"] == 0
    assert repeating["repeats"] == 1
    assert pd.isna(repeating["extractable"])
    assert pd.isna(repeating["p"])


def test_texts_that_are_too_short_for_a_window_have_no_share():
    windows = windows_table(("m", 1, [0.9]), ("n1", 0, [0]))
    frame = summarise(windows, texts_of(windows, ("m", 1), ("another", 1)), EXTRACTION)
    columns = ["texts", "short", "tokens", "extractable"]
    counts = frame.set_index(["unit", "document"])[columns]
    expected = [[3, 2, 500, 0.1], [1, 0, 500, 0]]
    assert counts.loc["class"].to_numpy().tolist() == expected
    documents = counts.loc["document"]
    assert documents.loc["m"].tolist() == [2, 1, 500, 0.1]
    *of_another, extractable = documents.loc["another"]
    assert of_another == [1, 1, 0]
    assert pd.isna(extractable), "nothing is not 0"
    short = windows.assign(tokens=99)
    fifty = summarise(short, texts_of(short), EXTRACTION)["fifty"]
    assert fifty.isna().all(), "50 after 50 take 100 tokens"


def test_known_non_members_of_another_benchmark():
    windows = windows_table(("book", None, [0.9, 0, 0.9, 0]))
    frame = summarise(windows, texts_of(windows), EXTRACTION, windows_table(*KNOWN))
    whole, book = frame.to_dict("records")
    assert whole["nonmembers"] == pytest.approx(50 / 1500)
    assert book["nonmembers"] == pytest.approx(50 / 1500)
    assert pd.isna(book["label"])
    assert book["longest_run"] == 50
    assert book["p"] == 1 / 4


def test_without_known_non_members_nothing_is_compared():
    windows = windows_table(("book", None, [0.9, 0]))
    frame = summarise(windows, texts_of(windows), EXTRACTION)
    assert frame[["nonmembers", "p"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("places", "expected"),
    [([], 0), ([50], 50), ([50, 100], 100), ([50, 75, 100, 200], 100), ([50, 101], 50)],
)
def test_a_stretch_is_covered_by_windows_without_a_gap(places, expected):
    assert longest_run(pd.Series(places), 50) == expected


def test_tries_of_a_tiny_probability_lose_no_digits():
    """1 - (1 - 1e-17)^n is 0 as written; ln(1/2) / ln(1 - 1e-17) is about 6.9e16
    tries."""
    tiny = windows_table(("m", 1, [1e-17]))
    for tries, expected in ((10**16, 0.0), (10**17, 1.0)):
        frame = summarise(tiny, texts_of(tiny), EXTRACTION | {"tries": tries})
        assert frame["in_tries"].tolist() == [expected / 10] * 2
