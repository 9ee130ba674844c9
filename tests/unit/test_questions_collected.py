"""Answers collected elsewhere are checked row by row, and become the answers table
whatever their format."""

import csv
from pathlib import Path

import made_up_answers as made_up
import pandas as pd
import pytest

import hub_datasets as made
from pretrace.questions.collected import check_answers, read_answers, released_scores
from pretrace.questions.table import ANSWER_SCHEMA
from pretrace.runtime.errors import InputError


def written(path: Path, rows: list[dict]) -> Path:
    if path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
        return path
    if path.suffix == ".jsonl":
        path.write_bytes(made.jsonl(rows))
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_csv_and_parquet_give_the_same_table(tmp_path):
    rows = made_up.rows(documents=1, passages=1)
    first = read_answers(written(tmp_path / "a.csv", rows))
    second = read_answers(written(tmp_path / "a.parquet", rows))
    assert first.schema == ANSWER_SCHEMA
    assert first.equals(second)
    assert first.num_rows == 48


def test_rows_are_sorted_whatever_their_order(tmp_path):
    rows = made_up.rows(documents=2, passages=2) + made_up.other_tasks(documents=2)
    forwards = read_answers(written(tmp_path / "a.parquet", rows))
    backwards = read_answers(written(tmp_path / "b.parquet", rows[::-1]))
    assert forwards.equals(backwards)


def test_the_most_probable_letter_is_the_answer_where_none_is_given(tmp_path):
    rows = made_up.rows(documents=1, passages=1)
    frame = read_answers(written(tmp_path / "a.parquet", rows)).to_pandas()
    for row in frame.itertuples():
        p_of_letter = {"A": row.p_a, "B": row.p_b, "C": row.p_c, "D": row.p_d}
        assert row.answer == max(p_of_letter, key=p_of_letter.get)
        assert row.correct == (row.answer == row.true_answer)


@pytest.mark.parametrize(
    ("given", "letter", "reason"),
    [("C", "C", ""), (" b.", "B", ""), ("The answer is D", "D", ""),
     ("I cannot say", None, "no letter"),
     (None, None, "no answer")],
)  # fmt: skip
def test_answers_in_text_are_read_and_unusable_ones_are_wrong(
    tmp_path, given, letter, reason
):
    base = {"document": "d", "label": 1, "passage": 0, "true_answer": "C"}
    rows = [
        base | {"permutation": 0, "answer": given},
        base | {"permutation": 1, "answer": "C"},
    ]
    first = read_answers(written(tmp_path / "a.parquet", rows)).to_pylist()[0]
    assert first["answer"] == letter
    assert first["correct"] == (letter == "C")
    assert (first["reason"] or "").startswith(reason)
    assert bool(first["reason"]) == bool(reason)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("value", [0, 0.0, "0"])
def test_zero_is_a_name(tmp_path, ending, value):
    names = dict.fromkeys(("document", "subset", "paraphraser", "setting"), value)
    row = ONE | names | {"answer": "A"}
    answers = read_answers(written(tmp_path / f"a.{ending}", [row])).to_pylist()
    assert {answers[0][name] for name in names} == {"0"}
    with pytest.raises(InputError, match="unknown task '0"):
        read_answers(written(tmp_path / f"b.{ending}", [row | {"task": value}]))


ONE = {"document": "d", "label": 1, "passage": 0, "permutation": 0, "true_answer": "A"}


def broken(column: str, value: object, row: int = 3) -> list[dict]:
    rows = made_up.rows(documents=1, passages=1)
    rows[row] = rows[row] | {column: value}
    return rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (broken("label", 2), r"a\.csv:5: label is '2'"),
        (broken("permutation", 24), r"a\.csv:5: permutation is '24'; .*0 to 23"),
        (broken("true_answer", "E"),
         r"a\.csv:5: true_answer is 'E'; it must be A, B, C or D"),
        (broken("p_b", 1.5), r"a\.csv:5: p_b is '1\.5'; it must be a probability"),
        (broken("p_b", -0.1), r"a\.csv:5: p_b is '-0\.1'; it must be a probability"),
        (broken("p_b", 0.99),
         r"a\.csv:5: p_a, p_b, p_c, p_d sum to 1\.[0-9]+; .* sum to at most 1"),
        (broken("passage", 10**25),
         r"a\.csv:5: passage is '1000.*it must be a whole number"),
        (broken("p_c", ""), r"a\.csv:5: p_c is empty; give a probability"),
        (broken("passage", "one"),
         r"a\.csv:5: passage is 'one'; it must be a whole number"),
        (broken("document", ""), r"a\.csv:5: document is empty; it must be the name"),
        (broken("permutation", 0),
         r"a\.csv:5: this question was answered before, at .*a\.csv:2"),
        (broken("label", 0),
         r"a\.csv:5: label of document 'd00' is 0, and was 1 at .*a\.csv:2"),
        ([{"document": "d"}], r"a\.csv:2: there is no column 'label'; found: document"),
        ([row | {"task": "decop"} for row in made_up.rows(1, 1)],
         r"unknown task 'decop': did you mean 'de_cop'"),
        ([ONE], r"neither 'answer' nor 'p_a' to 'p_d'"),
        ([ONE | {"answer": "maybe"}], "no answer is usable"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_with_file_line_and_column(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        check_answers(written(tmp_path / "a.csv", rows), metrics=False)


def test_metrics_need_documents_of_both_labels(tmp_path):
    rows = [row for row in made_up.rows(documents=2, passages=1) if row["label"] == 1]
    path = written(tmp_path / "a.parquet", rows)
    check_answers(path, metrics=False)
    with pytest.raises(InputError, match="2 with label 1 and 0 with label 0"):
        check_answers(path, metrics=True)


def released(**changed) -> pd.DataFrame:
    """Two books in the layout of the released answers: `m` has probabilities, `letters`
    has letters."""
    frame = pd.DataFrame(
        {
            "book": ["One - X"] * 3 + ["Two - Y"] * 3,
            "suspect": [0, 0, 0, 1, 1, 1],
            "passage": 0,
            "order": [0, 1, 2, 0, 1, 2],
            "answer": "A",
            "letters": "B",
            "m:A": 0.4,
            "m:B": 0.3,
            "m:C": 0.2,
            "m:D": 0.1,
        }
    )
    for column, value in changed.items():
        frame[column] = frame[column].astype(object)
        frame.loc[1, column] = value
    return frame


@pytest.mark.parametrize(
    ("frame", "model", "message"),
    [
        (released().drop(columns="book"), "m",
         r"row 1: there is no column 'book'; found: .*Give the name of a book"),
        (released().drop(columns="m:D"), "m",
         r"there is no column 'm:D'; give the probabilities of all four"),
        (released(), "n", r"there are no answers of 'n'"),
        (released().astype({"suspect": str}).replace({"suspect": {"1": "yes"}}), "m",
         r"row 4: suspect is 'yes'; it must be 1 \(suspect\), 0"),
        (released().assign(answer=1), "m",
         r"row 1: answer is 1; it must be A, B, C or D"),
        (released(order=0), "m",
         r"row 2: this question was answered before, at .*row 1"),
        (released(suspect=1), "m",
         r"row 2: label of document 'One - X' is 1, and was 0 at .*row 1"),
        (released().astype({"m:B": str}).replace({"m:B": {"0.3": "often"}}), "m",
         r"row 1: m:B is 'often'; it must be a probability, 0 to 1"),
        (released(**{"m:B": 1.3}).astype({"m:B": float}), "m",
         r"row 2: m:B is 1\.3; it must be a probability"),
        (released(**{"m:B": 0.9}).astype({"m:B": float}), "m",
         r"row 2: m:A, m:B, m:C, m:D sum to 1\.6"),
        (released().assign(**{f"m:{letter}": None for letter in "ABCD"}), "m",
         r"all probabilities of 'm' are empty"),
        (released().assign(letters="E"), "letters", r"no answer is usable"),
        (released().assign(letters=[["A"]] * 6), "letters",
         r"column 'letters' holds lists"),
        (released().iloc[:0], "m", r"holds no rows"),
        (released().iloc[:3], "m", r"metrics need documents of both labels"),
    ],
)  # fmt: skip
def test_a_spoiled_file_of_released_answers_is_named_with_row_and_column(
    tmp_path, frame, model, message
):
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=rf"a\.parquet.*{message}"):
        check_answers(tmp_path / "a.parquet", model, metrics=True)


def test_what_is_no_parquet_is_not_taken_for_released_answers(tmp_path):
    (tmp_path / "a.parquet").write_text("book,suspect\n")
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as Parquet"):
        check_answers(tmp_path / "a.parquet", "m", metrics=True)
    with pytest.raises(InputError, match=r"b\.parquet does not exist"):
        check_answers(tmp_path / "b.parquet", "m", metrics=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"title,m:zlib\nb0,1\n",
         r":2: there is no column 'book'; found: title, m:zlib\. Give the title of a book"),
        (b"book,m:zlib\nb0,1\nb0,2\n", r":3: 'b0' has scores before, at .*a\.csv:2"),
        (b"book,m:zlib\nb0,low\n",
         r":2: m:zlib is 'low'; it must be a number, or empty"),
        (b"book,m:zlib\nb0,inf\n", r":2: m:zlib is 'inf'; it must be a number"),
        (b'book,m:zlib\n"b0,1\n', r": this is not valid CSV"),
        (b"\x89PNG\r\n\x1a\n\xff", r":1: this line is not UTF-8"),
        (b"", r"holds no rows"),
    ],
)  # fmt: skip
def test_a_spoiled_file_of_released_scores_is_named_with_row_and_column(
    tmp_path, content, message
):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.csv.*{message}"):
        released_scores(tmp_path / "a.csv", "m")
