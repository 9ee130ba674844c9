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

TEXT = (
    "The state of the union is strong, and the people of the United States know it. "
    * 3
)
EXTRACTION = {
    "suffix": 50, "context": 20, "threshold": 0.001, "tries": 100,
    "parts": [{"subsets": None, "lengths": None}],
}  # fmt: skip


def whole_requests(start_token="none"):
    """The passes behind windows that have the whole text before them as context."""
    requests = []
    for past_context in (False, True):
        requests.append(
            request(
                statistics="top40", past_context=past_context, start_token=start_token
            )
        )
    return requests


def extraction(start_token="none", **keys):
    """What a job is told of a run's extraction."""
    return {
        "start_token": start_token,
        "parts": [{"subsets": None, "lengths": None}],
        "stride": 1,
        **keys,
    }


@pytest.fixture
def windows(job, tiny_checkpoint):
    """Runs a job and gives the windows of its passes that an extraction measures."""

    def of(requests, benchmark, measured, *, kind="llama", max_length=None):
        manifest = job(requests, kind=kind, benchmark=benchmark, max_length=max_length)
        decode = decoder_of(load_encoder(tiny_checkpoint(kind)))
        return manifest, windows_of(
            PassIndex(manifest, job.store), benchmark, measured, decode
        )

    return of


def by_brute_force(model, read, suffix, most):
    """ln of the probability of a suffix after what is read, drawn token by token from
    the `most` likeliest tokens."""
    total = 0.0
    for token in suffix:
        with torch.no_grad():
            p = model(torch.tensor([read])).logits[0, -1].double().softmax(-1)
        likeliest = torch.where(p >= p.topk(most).values[-1], p, 0.0)
        total += (
            math.log(likeliest[token] / likeliest.sum())
            if likeliest[token] > 0
            else -math.inf
        )
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
    manifest, windows = windows(
        whole_requests(start_token), texts, measured, kind=kind, max_length=max_length
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
    assert (len(ids) > room) == any(
        entry["past_context"] for entry in manifest["views"]
    )
    for row in long.iloc[::4].itertuples():
        whole = top = 0.0
        for place in range(row.at, row.at + size):
            before = place if place < room else given + (place - room) % (room - given)
            read = [*start, *ids[place - before : place]]
            whole += by_brute_force(model, read, [ids[place]], model.config.vocab_size)
            top += by_brute_force(model, read, [ids[place]], 40)
        assert row.log_p == pytest.approx(whole, abs=1e-3)
        assert (
            math.isnan(row.log_p_top)
            if math.isinf(top)
            else row.log_p_top == pytest.approx(top, abs=1e-3)
        )
    assert windows["log_p_top"].notna().any() or size > 1
    told = windows[windows["passage"] != ""]
    assert all(
        row.passage == tokenizer.decode(ids[row.at : row.at + size])
        for row in told.itertuples()
    )
    assert told["log_p_top"].notna().all()
    assert told["at"].diff().dropna().abs().ge(size).all(), "passages do not overlap"


def test_a_context_that_no_token_past_the_models_context_has_is_refused(windows):
    with pytest.raises(
        InputError,
        match=r"exceed the model's context of 48 tokens.* Give context: 24 at most",
    ):
        windows(
            whole_requests(),
            benchmark_of([NEW]),
            extraction(suffix=2, context=25),
            max_length=48,
        )


def test_only_the_texts_that_the_run_reads_have_windows(windows):
    texts = [benchmark_of([NEW], subset=subset) for subset in ("a", "b")]
    benchmark = pd.concat(
        [texts[0], texts[1].assign(text_id="other")], ignore_index=True
    )
    measured = extraction(
        suffix=2, context=5, parts=[{"subsets": ["b"], "lengths": None}]
    )
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
    expected = decode([ids[:1].tolist()])[0]
    assert "".join(pieces(ids[:1], decode)) == expected

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
    numbers = summarise(found, benchmark, measured)[
        ["texts", "short", "tokens", "least"]
    ]
    assert numbers.to_numpy().tolist() == [[1, 1, 0, 9]] * 2


def windows_table(*documents):
    """(document, label, its windows' probabilities with top-40 sampling), a window
    every 50 tokens."""
    rows = []
    for document, label, shares in documents:
        for place, p in enumerate(shares):
            rows.append(
                {
                    "subset": "",
                    "length": pd.NA,
                    "document": document,
                    "label": label,
                    "text_id": document,
                    "tokens": 500,
                    "at": 50 + 50 * place,
                    "suffix": 50,
                    "log_p": math.log(p) - 1 if p else -500.0,
                    "log_p_top": math.log(p) if p else np.nan,
                    "greedy": p > 0.5,
                    "log_p_fifty": math.log(p / 3) if p else np.nan,
                    "repeats": False,
                    "token": "",
                    "passage": "words",
                }
            )
    return pd.DataFrame(rows).astype({"label": "Int64", "length": "Int64"})


def texts_of(windows, *short):
    """The benchmark of these windows: a text each document, and further texts
    (document, label) without a window."""
    texts = windows[
        ["subset", "length", "document", "label", "text_id"]
    ].drop_duplicates()
    more = []
    for number, (document, label) in enumerate(short):
        more.append(
            {
                "text_id": f"short {number}",
                "document": document,
                "label": label,
                "subset": "",
                "length": pd.NA,
            }
        )
    return pd.concat(
        [texts, pd.DataFrame(more, columns=texts.columns).astype(texts.dtypes)],
        ignore_index=True,
    )


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
    assert [members[key] for key in ("label", "tokens", "measured", "extractable")] == [
        1,
        500,
        0.4,
        0.3,
    ]
    assert members["windows"] == 4
    assert members["extractable_windows"] == 3
    assert members["least"] == 70
    assert members["sampled"] == 0.2, "0.0021 / e is below the threshold"
    assert members["fifty"] == 0.2, "0.0021 / 3 too"
    assert members["greedy"] == 0.1
    assert members["in_tries"] == 0.2, (
        "0.9, and 0.01: at least once in 100 samples with 1 - 0.99^100 = 0.63"
    )
    assert members["longest_run"] == 150
    assert (
        nonmembers["extractable"] == members["nonmembers"] == pytest.approx(50 / 1500)
    )
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
    windows["repeats"] = [True, False, False, False, True, False, True]
    frame = summarise(windows, texts_of(windows), EXTRACTION)
    documents = frame.set_index(["unit", "document"]).loc["document"]
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
    assert summarise(short, texts_of(short), EXTRACTION)["fifty"].isna().all(), (
        "50 after 50 take 100 tokens"
    )


def test_known_non_members_of_another_benchmark():
    windows = windows_table(("book", None, [0.9, 0, 0.9, 0]))
    frame = summarise(windows, texts_of(windows), EXTRACTION, windows_table(*KNOWN))
    whole, book = frame.to_dict("records")
    assert whole["nonmembers"] == book["nonmembers"] == pytest.approx(50 / 1500)
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
