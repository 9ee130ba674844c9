"""The table of answers: which questions are asked, what stands in a row, and what is
skipped."""

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pretrace.questions.answering import (
    FILTERED,
    NO_RESULT,
    NO_TEXT,
    Advance,
    Letters,
    Prompt,
    Question,
    Reply,
    split_units,
)
from pretrace.questions.job import answer_questions
from pretrace.questions.prompts import Wording
from pretrace.questions.table import ANSWER_SCHEMA
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import read_keys

ROOT = Path(__file__).parents[2]
WORDING = read_keys(ROOT / "config" / "prompts" / "de_cop.yaml", Wording)
TRUE = "We saw Alice there, and Alice smiled at the {}"


class Scripted:
    """Answers as a model that knows the true passages: the letter, the continuation or
    the name in the prompt."""

    chat = True
    tokenizer = None
    seconds = 0.0

    def __init__(self, truth: Sequence[str], *, refuse: bool = False) -> None:
        self.truth, self.refuse, self.asked = truth, refuse, []

    def letters(
        self, questions: Sequence[Question], progress: Advance
    ) -> list[list[Letters]]:
        return [self._letters(question.prompts, progress) for question in questions]

    def _letters(self, prompts: Sequence[Prompt], progress: Advance) -> list[Letters]:
        self.asked += prompts
        progress(len(prompts))
        return [self._letter(prompt) for prompt in prompts]

    def _letter(self, prompt: Prompt) -> Letters:
        if self.refuse:
            return Letters(None, None, "no letter")
        lines = {
            line[0]: line[3:] for line in prompt.user.splitlines() if line[1:2] == "."
        }
        right = next(letter for letter, text in lines.items() if text in self.truth)
        return Letters(
            tuple(0.7 if letter == right else 0.1 for letter in "ABCD"), right
        )

    def replies(
        self, questions: Sequence[Question], units: int, progress: Advance
    ) -> list[list[Reply]]:
        return [
            self._replies(question.prompts, units, progress) for question in questions
        ]

    def _replies(
        self, prompts: Sequence[Prompt], units: int, progress: Advance
    ) -> list[Reply]:
        self.asked += prompts
        progress(len(prompts))
        if self.refuse:
            return [Reply(None, "the model refused")] * len(prompts)
        return [
            Reply(self._continued(prompt.user, units) or "<name>alice</name>")
            for prompt in prompts
        ]

    def _continued(self, prompt: str, units: int) -> str:
        for text in self.truth:
            first, second = split_units(text, units) or ("\0", "")
            if prompt.endswith(first):
                return second
        return ""


def table() -> pd.DataFrame:
    rows = [
        ("x-1", TRUE.format("cat and the dog"), 1, "x", 0, 12),
        ("x-2", TRUE.format("dog"), 1, "x", 1, 12),
        ("y-1", "it was no longer so", None, "y", 0, 12),
        ("y-3", TRUE.format("short"), 0, "y", 0, 6),
    ]
    frame = pd.DataFrame(
        rows, columns=["text_id", "text", "label", "document", "passage", "length"]
    )
    frame = frame.assign(subset="", title="The Title", author="An Author", fold=0)
    return frame.astype({"label": "Int64", "length": "Int64", "passage": "Int64"})


VIEW = {
    id: [f"{id} one", f"{id} two words", f"{id} three words now"]
    for id in ("x-1", "y-1", "y-3")
} | {"x-2": ["only", "two"]}


def request(method: str, **changes: Any) -> dict[str, Any]:
    options = method in ("de_cop", "longest_option", "odd_one_out")
    return {
        "method": method,
        "parameters": {},
        "setting": "",
        "paraphraser": "paraphrase" if options else "",
        "subsets": None,
        "lengths": None,
    } | changes


def answers(
    *requests: dict[str, Any], answerer: Scripted | None = None, **given: Any
) -> pd.DataFrame:
    usual = {
        "benchmark": table(),
        "kind": "book",
        "views": {"paraphrase": VIEW},
        "wording": WORDING,
    }
    answerer = answerer or Scripted(table()["text"].tolist())
    table_of_answers, _ = answer_questions(
        requests, answerer=answerer, name="tiny/made_up", **usual | given
    )
    assert table_of_answers.schema == ANSWER_SCHEMA
    return table_of_answers.to_pandas(types_mapper=None)


def test_24_orders_of_a_passage_and_its_paraphrases_are_asked():
    answerer = Scripted(table()["text"].tolist())
    rows = answers(request("de_cop", lengths=[6]), answerer=answerer)
    texts = [table()["text"][3], *VIEW["y-3"]]
    assert rows["permutation"].tolist() == list(range(24))
    for prompt, order, true in zip(
        answerer.asked, permutations(range(4)), rows["true_answer"], strict=True
    ):
        options = "\n".join(
            f"{letter}. {texts[place]}"
            for letter, place in zip("ABCD", order, strict=True)
        )
        assert prompt.user == (
            'Question: Which of the following passages is verbatim from the "The '
            'Title" book by An Author?\n'
            f"Options:\n{options}\n\nAnswer:"
        )
        assert prompt.system.startswith(
            "You are entering a multiple choice questions exam."
        )
        assert true == "ABCD"[order.index(0)]
    assert rows["answer"].tolist() == rows["true_answer"].tolist()
    assert rows["correct"].tolist() == [True] * 24
    assert rows.loc[0, ["p_a", "p_b", "p_c", "p_d"]].tolist() == [0.7, 0.1, 0.1, 0.1]
    row = rows.iloc[0]
    assert row[["task", "document", "label", "length", "passage"]].tolist() == [
        "de_cop",
        "y",
        0,
        6,
        0,
    ]
    assert row["paraphraser"] == "paraphrase"
    assert row["setting"] == ""
    assert row["subset"] == ""


def test_a_passage_without_three_paraphrases_is_skipped_and_counted(log_lines):
    rows = answers(request("de_cop"), request("longest_option"))
    skipped = rows[rows["correct"].isna()]
    expected = [
        ["de_cop", "x", 1, "fewer than 3 paraphrases"],
        ["longest_option", "x", 1, "fewer than 3 paraphrases"],
    ]
    assert (
        skipped[["task", "document", "passage", "reason"]].values.tolist() == expected
    )
    assert skipped["permutation"].isna().all()
    assert "de_cop: 1 of 4 passages skipped: fewer than 3 paraphrases" in log_lines.text
    assert len(rows) == 2 * (3 * 24 + 1)
    assert "96 of 96 " in log_lines.text


def test_the_longest_option_stands_at_its_letter_in_every_order():
    rows = answers(request("longest_option", lengths=[6]))
    assert rows["correct"].all()  # the true passage has the most words
    assert rows["p_a"].isna().all()
    assert rows["answer"].value_counts().to_dict() == dict.fromkeys("ABCD", 6)


class Silent(Scripted):
    """Gives no text to the first of its questions, for these reasons."""

    def __init__(self, *reasons: str) -> None:
        super().__init__(table()["text"].tolist())
        self.reasons = [*reasons]

    def _letter(self, prompt: Prompt) -> Letters:
        if self.reasons:
            return Letters(None, None, self.reasons.pop())
        return super()._letter(prompt)


@pytest.mark.parametrize(
    ("reasons", "judged", "verdict"),
    [
        (["no letter"] * 9, 72, ""),
        ([FILTERED, *[NO_TEXT] * 2], 69, "They are not judged."),
        ([FILTERED, *[NO_TEXT] * 3], 0, "That is no result."),
    ],
)
def test_answers_without_a_text_are_counted_and_not_wrong_and_many_are_no_result(
    warnings, reasons, judged, verdict
):
    """A text without a letter is an answer, and wrong."""
    rows = answers(request("de_cop"), answerer=Silent(*reasons))
    asked = rows[rows["permutation"].notna()]
    assert len(asked) == 72
    assert asked["correct"].notna().sum() == judged
    assert ("have no text" in warnings()) == bool(verdict)
    if verdict:
        counts = f"(1 {FILTERED}; {len(reasons) - 1} {NO_TEXT}). {verdict}"
        assert f"{len(reasons)} of 72 answers have no text {counts}" in warnings()
        others = asked["reason"][asked["correct"].isna() & asked["answer"].notna()]
        assert set(others) == ({NO_RESULT} if judged == 0 else set())


def test_completions_are_compared_with_what_follows():
    rows = answers(
        request("completion", parameters={"k": 4}, setting="k=4"),
        request("completion", parameters={"k": 6}, setting="k=6"),
    )
    assert rows["setting"].tolist() == ["k=4"] * 4 + ["k=6"] * 4
    first = rows[rows["setting"].eq("k=4")].set_index(["document", "length", "passage"])
    assert first.loc[("x", 12, 0), "true_answer"] == "and Alice smiled at"
    assert first.loc[("x", 12, 0), "correct"]
    assert first.loc[("y", 12, 0), "reason"] == "fewer than 8 tokens"
    assert first.loc[("y", 12, 0), "correct"] is None
    assert rows["permutation"].isna().all()
    assert set(rows["paraphraser"]) == {""}


def test_a_name_cloze_hides_the_name_and_skips_what_has_none():
    answerer = Scripted([])
    rows = answers(request("name_cloze", lengths=[12]), answerer=answerer)
    assert rows["correct"].tolist() == [True, True, None]
    assert rows["true_answer"].isna().tolist() == [False, False, True]
    assert set(rows["true_answer"].dropna()) == {"Alice"}
    assert rows["reason"].dropna().tolist() == ["no name or noun to mask"]
    for prompt in answerer.asked:
        assert "We saw [MASK] there, and [MASK] smiled" in prompt.user


def test_what_runs_ask_twice_is_asked_once():
    answerer = Scripted(table()["text"].tolist())
    answers(
        request("de_cop", lengths=[6]),
        request("de_cop", lengths=[6, 12]),
        answerer=answerer,
    )
    assert len(answerer.asked) == 3 * 24


def test_what_cannot_be_asked_is_an_error():
    with pytest.raises(
        InputError, match="'paraphrase_by_x' is not among this job's inputs"
    ):
        answers(request("de_cop", paraphraser="paraphrase_by_x"))
    with pytest.raises(InputError, match="has no length '7'"):
        answers(request("de_cop", lengths=[7]))
    with pytest.raises(InputError, match="no question 'boock': did you mean 'book'"):
        answers(kind="boock")
    with pytest.raises(InputError, match="needs the key question"):
        answers(benchmark=table().drop(columns="passage"))
