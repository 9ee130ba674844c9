"""How much a chat model gives back of works: models that recite, refuse, paraphrase or
repeat the prompt."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from chat_servers import (
    chat,
    limited,
    paraphrasing,
    reciting,
    refusing,
    repeating,
    thinking,
    without,
)
from loopback import Loopback, client_at, message
from made_up_books import prose
from pretrace.audit.continuations import (
    CONTINUATIONS,
    GoingOn,
    GoingOnWording,
    is_refusal,
    works_of,
)
from pretrace.audit.given_back import SUMMARY, summarise
from pretrace.audit.tables.given_back import answer
from pretrace.models.api.store import AnswerStore
from pretrace.questions.over_api import ApiAnswerer
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import read_keys

WORDING = read_keys(
    Path(__file__).parents[2] / "config/prompts/given_back.yaml", GoingOnWording
)
PLACES = 6
TRIES = 3
KNOWN = 19
BOOK = prose(3000, "the book")
TITLES = {"book": BOOK} | {
    f"draft {number}": prose(1500, f"draft {number}") for number in range(KNOWN)
}

FEW = {"book": BOOK, "draft": TITLES["draft 1"]}


def benchmark(texts=TITLES, asked=("book",)):
    rows = [
        {"text_id": title, "text": text, "label": None if title in asked else 0,
         "document": title, "title": title.title(), "author": "A. Writer"}
        for title, text in texts.items()
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"label": "Int64"})


def asked_of(responder, path, texts=TITLES, asked=("book",), **keys):
    """What a model gives back: the summary, every request's row, and the server."""
    budget = keys.pop("budget_usd", 0)
    with Loopback(responder) as server, AnswerStore(path / "a.sqlite") as store:
        client = client_at(
            keys.pop("url", server.url),
            store,
            **{"endpoint": "chat", "budget_usd": budget} | keys,
        )
        works = works_of(benchmark(texts, asked))
        going_on = GoingOn(
            works, ApiAnswerer(client), WORDING, language="en", places=PLACES, tries=TRIES, name="m"
        )  # fmt: skip
        going_on.ask()
        rows = going_on.continuations()
        summary = summarise(
            going_on.given_back(), rows, server=server.url, cut_short=going_on.is_cut_short, seed=0
        )  # fmt: skip
        return summary, rows, server


def work(summary, title="book"):
    return summary[summary["document"].eq(title)].iloc[0]


def test_a_book_that_is_recited_to_a_point_is_given_back_to_it_and_no_known_work_is(
    tmp_path,
):
    book = reciting({"book": BOOK}, to=0.5, words=150)
    summary, rows, _ = asked_of(
        without(chat(book), "max_tokens", "temperature"), tmp_path
    )
    assert list(summary) == SUMMARY
    assert list(rows) == CONTINUATIONS
    # from the first place, a tenth of the book and half a part without a passage, to the middle
    start = rows.loc[rows["document"].eq("book"), "place"].min()
    own = work(summary)
    assert own["given_back"] == 1500 - start
    assert own["longest"] > 400  # it went on from its own words
    assert rows["step"].max() > 1
    whole = summary.iloc[0]
    assert whole["p"] == 1 / (1 + KNOWN)
    assert own["p"] == 1 / (1 + KNOWN)
    known = summary[summary["label"].eq(0)]
    assert not known["given_back"].any()
    assert known["requests"].eq(known["places"] * TRIES).all()
    said = answer("M", summary)
    assert said.startswith(
        f"M gives back {own['given_back']:,.0f} of 3,000 words of 'Book' in blocks of 50 words"
    )
    assert (
        f"and of 0 of {KNOWN} known works (p = 0.05); 0 of {own['requests']:.0f} requests were refused."
        in said
    )
    assert whole["models"] == "m-2026-11-01"
    assert whole["first"] == "2026-11-18"


@pytest.mark.parametrize(
    ("model", "requests", "refused"),
    [
        (refusing, PLACES, PLACES),
        (repeating, PLACES * TRIES, 0),
        (paraphrasing({"book": BOOK}), PLACES * TRIES, 0),
        (lambda prompt: BOOK[:200], PLACES * TRIES, 0),
    ],
)
def test_a_model_that_does_not_give_the_text_back_gives_back_nothing(
    tmp_path, model, requests, refused
):
    summary, rows, _ = asked_of(chat(model), tmp_path, FEW)
    own = work(summary)
    assert own["given_back"] == 0
    assert own["requests"] == requests
    assert own["refused"] == refused
    assert not rows["words"].any()
    assert answer("M", summary).startswith(
        "M gives back nothing of 'Book' in blocks of 50 words or more"
    )


def test_a_work_that_is_refused_whole_is_not_compared_and_a_refusal_is_final(tmp_path):
    def model(prompt):
        return (
            refusing(prompt) if "Draft" in prompt else reciting({"book": BOOK})(prompt)
        )

    summary, _, _ = asked_of(chat(model), tmp_path)
    known = summary[summary["label"].eq(0)]
    assert known["requests"].eq(known["refused"]).all()
    assert known["requests"].eq(known["places"]).all()
    assert np.isnan(summary.iloc[0]["p"])
    assert "(no p: too few works)" in answer("M", summary)
    assert (
        f"{known['refused'].sum():.0f} of {known['requests'].sum():.0f} about known works"
        in answer("M", summary)
    )


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (lambda *asked: message(" "), "no text in the answer"),
        (
            limited(thinking(chat(lambda prompt: BOOK), 9_000), 2_048),
            "its tokens were used up in thoughts",
        ),
    ],
)
def test_an_answer_without_a_word_is_told_and_its_place_asked_again(
    tmp_path, respond, reason
):
    summary, rows, _ = asked_of(respond, tmp_path, FEW)
    own = work(summary)
    assert own["requests"] == own["unanswered"] == PLACES * TRIES
    assert own["refused"] == 0
    assert rows["reason"].eq(reason).all()
    assert np.isnan(summary.iloc[0]["p"])
    assert "no result: too many requests have no answer" in answer("M", summary)
    assert answer("M", summary).endswith(
        "0 of 18 requests were refused; 18 had no word of an answer, and 18 about "
        "known works."
    )


def test_a_model_that_says_something_before_and_after_a_recital_goes_on_in_it(tmp_path):
    recite = reciting({"book": BOOK}, to=0.5, words=150)

    def polite(prompt):
        return f"Certainly:\n\n{recite(prompt)}\n\n[End of what I may quote here.]"

    plain, _, _ = asked_of(chat(recite), tmp_path / "plain", FEW)
    summary, _, _ = asked_of(chat(polite), tmp_path / "polite", FEW)
    for key in ("given_back", "longest"):
        assert work(summary)[key] == work(plain)[key]


def test_a_second_run_asks_nothing_again_and_says_the_same(tmp_path):
    book = chat(reciting({"book": BOOK}, to=0.3))
    with Loopback(book) as server:
        first, rows, _ = asked_of(book, tmp_path, FEW, url=server.url)
        requests = server.requests
        again, same, _ = asked_of(book, tmp_path, FEW, url=server.url)
        assert server.requests == requests == len(rows)
    pd.testing.assert_frame_equal(rows, same)
    pd.testing.assert_frame_equal(
        first.drop(columns="server"), again.drop(columns="server")
    )


def test_prompts_hold_what_is_before_a_place_and_nothing_that_follows(tmp_path):
    prompts = []

    def model(prompt):
        prompts.append(prompt)
        return "Nothing."

    asked_of(chat(model), tmp_path, FEW)
    words = BOOK.split()
    of_book = {prompt for prompt in prompts if '"Book" by A. Writer' in prompt}
    assert len(of_book) == PLACES
    for prompt in of_book:
        passage = prompt.partition("original text.\n\n")[2]
        assert len(passage.split()) == 100
        assert passage in BOOK
    assert len(words) == 3000


def test_where_the_budget_ends_the_places_it_says_so_and_where_it_ends_the_going_on_it_is_measured(
    tmp_path,
):
    price = {"input": 0.0, "output": 1_000_000.0}  # a dollar a token
    book = chat(reciting({"book": BOOK}, words=80))
    with pytest.raises(InputError, match="raise budget_usd"):
        asked_of(book, tmp_path / "little", FEW, price=price, budget_usd=300)
    # 6 places of 80 words, 18 answers of two; then 800 are put aside for each that goes on
    summary, rows, _ = asked_of(
        book, tmp_path / "more", FEW, price=price, budget_usd=1500
    )
    assert summary.iloc[0]["cut_short"]
    assert work(summary)["given_back"] == PLACES * 80
    assert "The budget was used up before it had left every text." in answer(
        "M", summary
    )
    assert rows["step"].max() == 0


def test_a_reasoning_model_gives_back_as_much(tmp_path):
    book = chat(reciting({"book": BOOK}, to=0.4))
    plain, _, _ = asked_of(book, tmp_path / "plain", FEW)
    thoughtful, _, _ = asked_of(
        without(thinking(book, 2_000), "max_tokens"), tmp_path / "thoughtful", FEW
    )
    assert work(plain)["given_back"] == work(thoughtful)["given_back"] > 500


def test_works_exchange_their_labels_and_many_that_are_given_back_have_a_low_p(
    tmp_path,
):
    books = {f"book {number}": prose(1500, f"book {number}") for number in range(6)}
    texts = books | {
        f"draft {number}": TITLES[f"draft {number}"] for number in range(6)
    }
    summary, _, _ = asked_of(chat(reciting(books, to=0.5)), tmp_path, texts, [*books])
    # the six highest of twelve: one of 924 ways
    assert summary.iloc[0]["p"] == pytest.approx(1 / 924)
    both = chat(reciting(texts, to=0.5))
    summary, _, _ = asked_of(both, tmp_path, texts, [*books])
    assert summary.iloc[0]["p"] > 0.05


@pytest.mark.parametrize(
    ("said", "refuses"),
    [
        ("I'm sorry, but I can't provide that text.", True),
        ("I\u2019m sorry, but I can\u2019t help with that.", True),
        ("I cannot reproduce copyrighted material.", True),
        ("Sorry, I am not able to continue this passage verbatim.", True),
        ("As an AI, I do not have the text of this novel.", True),
        ("I can't go on, he said, and sat down by the road.", False),
        ("Nothing more.", False),
        ("I will continue. The road went on.", False),
        (" ".join(["I cannot continue"] + ["the road went on"] * 30), False),
    ],
)
def test_a_refusal_in_words_is_short_and_says_in_its_first_sentence_that_it_will_not(
    said, refuses
):
    assert is_refusal(said) == refuses
