"""Shadow models: the halves that they are trained on, and what they say of each
text."""

import numpy as np
import pytest
from made_up_jobs import expected_statistics, target_of
from made_up_speeches import numbered, split_benchmark

from pretrace.models.entries import Training
from pretrace.models.training.build import train_model
from pretrace.models.training.shadows import halves, train_shadows
from pretrace.models.training.tokenizer import train_tokenizer
from pretrace.runtime.errors import InputError
from pretrace.seeds import seed_of

TRAINING = Training(
    benchmark="sotu_split", tokenizer_corpus="old", vocabulary=300, width=32, layers=1,
    learning_rate=0.01, epochs=1,
    window=128, seed=0,
)  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Addresses with texts of both classes."""
    years = [1951, 1955, 1957, 1958, 1959]
    return split_benchmark(
        tmp_path_factory.mktemp("sotu"), years, lengths=[4, 8], texts=24
    )


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    out = tmp_path_factory.mktemp("tokenizer") / "old-300.json"
    train_tokenizer(
        [numbered(f"{year}-Old-1", 400) for year in range(1800, 1806)], 300, out
    )
    return out


def test_each_text_is_in_half_of_the_shadows_and_halves_are_drawn_as_the_split_draws_members(
    table,
):
    drawn = halves(table, 8, seed=3)
    assert (np.sum(drawn, axis=0) == 4).all()
    longest = table["length"] == 8
    documents = dict(list(table[longest].groupby("document")))
    for half in drawn:
        for texts in documents.values():
            assert abs(half[texts.index].sum() - len(texts) / 2) <= 0.5
    assert len({half.tobytes() for half in drawn}) == 8
    np.testing.assert_array_equal(drawn, halves(table, 8, seed=3))
    assert (np.array(drawn) != np.array(halves(table, 8, seed=4))).any()


def test_a_shorter_text_goes_with_the_longest_one_that_holds_it(table):
    longest = table[table["length"] == 8]
    for half in halves(table, 4, seed=0):
        within = set(longest["text"][half[longest.index]])
        for place, text in table.loc[table["length"] == 4, "text"].items():
            assert half[place] == any(text in other for other in within)


def test_a_shadow_says_what_a_model_says_that_is_trained_on_its_half(
    table, tokenizer, tmp_path
):
    scores = train_shadows(
        "tiny",
        TRAINING,
        benchmark=table,
        lengths=[8],
        shadows=2,
        tokenizer_json=tokenizer,
        threads=1,
    )
    assert list(scores.columns) == ["text_id", "shadow", "in", "log_likelihood"]
    assert len(scores) == 2 * (table["length"] == 8).sum()
    second = scores[scores["shadow"] == 1].set_index("text_id")
    label = table["text_id"].map(second["in"].astype(int)).astype("Int64")
    relabelled = table.assign(label=label)
    own = TRAINING.model_copy(update={"seed": seed_of("shadow", 0, 1)})
    train_model(
        "alone", own, benchmark=relabelled, other=[], tokenizer_json=tokenizer,
        out_dir=tmp_path / "alone", threads=1,
    )  # fmt: skip
    target = target_of(tmp_path / "alone" / "checkpoint.json")
    model = target.load()
    longest = table[table["length"] == 8].set_index("text_id")["text"]
    for id, text in longest.head(5).items():
        ids = target.tokenizer(text)["input_ids"]
        logprobs, *_ = expected_statistics(model, [0], ids)
        assert second["log_likelihood"][id] == pytest.approx(logprobs.mean(), abs=1e-5)


def test_a_text_that_nobody_can_say_was_learned_is_an_error(table):
    strange = table.assign(
        text=table["text"].where(table["length"] == 8, "in no longer text")
    )
    with pytest.raises(InputError, match="is not part of a text of the longest length"):
        halves(strange, 2, seed=0)
