"""Views that are tables: made by a model's checkpoint or brought by a benchmark; and
what a pass sends."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made_up_jobs import target_of
from tiny_checkpoints import causal_checkpoint, masked_model

from pretrace.models.checkpoint import register_local
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import read_keys
from pretrace.seeds import seed_of
from pretrace.views import VIEWS
from pretrace.views.stored import (
    computed_view,
    imported_view,
    make_view,
    read_views,
    rendered_texts,
    unmade_reason,
    view_table,
    view_texts,
    write_view,
)
from pretrace.views.zero_access import Openings, complete

WORDS = [
    "king",
    "queen",
    "prince",
    "city",
    "town",
    "village",
    "peace",
    "war",
    "army",
    "navy",
    "law",
    "tax",
]
TEXTS = [" ".join((WORDS * 3)[i : i + 20]) for i in range(6)]


BENCHMARK = pd.DataFrame({"text_id": [f"t{i}" for i in range(6)], "text": TEXTS})


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return causal_checkpoint(tmp_path_factory.mktemp("models") / "llama", ["a", *WORDS])


@pytest.mark.parametrize(
    ("name", "variants", "changed"),
    [
        ("synonym_by_tiny-10", 1, 2),
        ("substitution_by_tiny-10", 3, 2),
        ("neighbours_by_tiny-5", 5, 1),
    ],
)
def test_a_causal_model_makes_synonyms_and_neighbours_from_its_embeddings(
    causal, name, variants, changed
):
    made = make_view(name, BENCHMARK, causal)
    assert len(made) == 6 * variants
    for number, row in enumerate(made.itertuples()):
        text = number // variants
        assert row.text_id == f"t{text}"
        assert row.variant == number % variants
        words = zip(TEXTS[text].split(), row.text.split(), strict=True)
        assert sum(before != after for before, after in words) == changed
    if name.startswith("substitution"):
        assert not made.duplicated(["text_id", "text"]).any()
    alone = make_view(name, BENCHMARK.iloc[[3]], causal)
    beside_others = made[made["text_id"] == "t3"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, beside_others)


def test_a_masked_model_makes_neighbours_by_masking_and_nothing_else(tmp_path):
    masked_model(tmp_path / "bert", WORDS)
    checkpoint = tmp_path / "bert.json"
    register_local(tmp_path / "bert", checkpoint)
    made = make_view("neighbours_by_bert-4", BENCHMARK, checkpoint, device="cpu")
    assert len(made) == 24
    says = "is a masked language model; it makes neighbours"
    with pytest.raises(InputError, match=says):
        make_view("synonym_by_bert-10", BENCHMARK, checkpoint)


def brought(
    tmp_path: Path, table: pd.DataFrame, *rows: dict[str, object]
) -> pd.DataFrame:
    path = tmp_path / "paraphrase.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return imported_view("paraphrase", table, path)


def test_a_benchmark_brings_paraphrases_in_a_file(tmp_path, log_lines):
    made = brought(
        tmp_path,
        BENCHMARK,
        {"id": "t1", "text": "one"},
        {"id": "t0", "text": "two"},
        {"id": "t1", "text": "three"},
        {"id": "t2", "text": "b", "variant": 1},
        {"id": "t2", "text": "a", "variant": 0},
    )
    texts = [
        ("t0", 0, "two"),
        ("t1", 0, "one"),
        ("t1", 1, "three"),
        ("t2", 0, "a"),
        ("t2", 1, "b"),
    ]
    assert list(made.itertuples(index=False, name=None)) == texts
    counted = "view paraphrase: 6 texts in 5 variants, 3 texts without one"
    assert counted in log_lines.text


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": "t9", "text": "x"}, "id 't9' is not a text of the benchmark"),
        ({"text": "x"}, "there is no column 'id'; found: text. Give the id of a text"),
        ({"id": "t1", "text": " "}, "text is empty; fill it, or drop the row"),
        ({"id": "t1", "text": "\u200b"}, "text shows nothing"),
        ({"id": "t1"}, "there is no column 'text'; found: id"),
        (
            {"id": "t1", "text": "x", "variant": "first"},
            "variant is 'first'; it must be a whole number",
        ),
        ({"id": "t0", "text": "x", "variant": 0}, "variant 0 of 't0' was given before"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(tmp_path, row, words):
    with pytest.raises(InputError, match=rf"paraphrase.jsonl:2: .*{words}"):
        brought(tmp_path, BENCHMARK, {"id": "t0", "text": "fine"}, row)


IDS = ["t0", "t1"]
STORED = {
    "paraphrase": {"t0": ["Zero", "Nought"]},
    "neighbours-2": {"t0": ["near", "nearer"], "t1": ["close"]},
}


def read(
    *, view: str, altered: str = "", stored: Any = STORED
) -> list[tuple[str, int, str]]:
    return list(
        rendered_texts(IDS, ["Ah", "Oh"], view=view, altered=altered, stored=stored)
    )


def test_the_target_is_sent_as_variant_0_of_its_view():
    assert read(view="original") == [("t0", 0, "Ah"), ("t1", 0, "Oh")]
    assert read(view="paraphrase") == [("t0", 0, "Zero")]
    assert list(view_texts("paraphrase", IDS, ["Ah", "Oh"], STORED)) == [("t0", "Zero")]


def test_an_altered_text_is_sent_in_all_variants_of_the_targets_view():
    assert read(view="paraphrase", altered="lowercase") == [("t0", 0, "zero")]
    near = [("t0", 0, "near"), ("t0", 1, "nearer"), ("t1", 0, "close")]
    assert read(view="original", altered="neighbours-2") == near
    both = rendered_texts(
        ["t0"], TEXTS[:1], view="delete-20", altered="transpositions-3", stored={}
    )
    [shorter] = VIEWS["delete-20"].variants(TEXTS[0], seed_of("delete-20", "t0"))
    seed = seed_of("transpositions-3", "delete-20", "t0")
    first, second, third = VIEWS["transpositions-3"].variants(shorter, seed)
    assert list(both) == [("t0", 0, first), ("t0", 1, second), ("t0", 2, third)]


def test_a_stored_view_is_needed_and_a_stored_altered_text_stands_beside_the_original_alone():
    says = "'paraphrase' is a stored table, and it is not among"
    with pytest.raises(InputError, match=says):
        read(view="paraphrase", stored={})
    with pytest.raises(InputError, match="cannot be combined with view 'delete-10'"):
        read(view="delete-10", altered="neighbours-2")


@pytest.mark.parametrize(
    "text",
    ["prompts: In 1969\n", "prompts: {a: b}\n", "prompts: []\n", "prompts: [a, 5]\n",
     "prompts: ['']\n",
             "openings: [a]\n", "prompts: [a]\nprompt: [b]\n"],
)  # fmt: skip
def test_openings_are_a_list_of_texts_and_nothing_else(tmp_path, text):
    (tmp_path / "given.yaml").write_text(text)
    with pytest.raises(InputError, match=r"given\.yaml: .*(a list of texts|'prompts')"):
        read_keys(tmp_path / "given.yaml", Openings)


def test_the_target_completes_each_prompt_greedily_to_as_many_tokens_as_the_texts_have_words(
    causal,
):
    import torch

    target = target_of(causal)
    prompts = ["king town war", "peace law"]
    made = complete(target, prompts, [4, 9])
    expected = [[4, 0], [4, 1], [9, 0], [9, 1]]
    assert made[["length", "position"]].values.tolist() == expected
    model = target.load()
    tokenizer = target.tokenizer
    for row in made.itertuples():
        prompt = prompts[row.position]
        ids = tokenizer(prompt)["input_ids"]
        for _ in range(row.length):
            with torch.no_grad():
                logits = model(torch.tensor([ids])).logits[0, -1]
            likeliest = int(logits.argmax())
            if likeliest == tokenizer.eos_token_id:
                break
            ids.append(likeliest)
        assert row.text.startswith(prompt)
        assert tokenizer(row.text)["input_ids"] == ids


def test_a_view_that_is_a_function_of_the_text_has_no_table(causal):
    with pytest.raises(InputError, match="'delete-10' is not made by a model"):
        make_view("delete-10", BENCHMARK, causal)


def test_a_view_that_cannot_be_made_has_no_texts_and_says_why(tmp_path, log_lines):
    def refuse() -> pd.DataFrame:
        raise InputError("there is no data.")

    unmade = tmp_path / "synonym-10.parquet"
    write_view(unmade, refuse)
    assert unmade_reason(unmade) == "there is no data."
    made = tmp_path / "paraphrase.parquet"
    write_view(made, lambda: view_table({"t0": ["Zero"]}))
    assert unmade_reason(made) is None
    views = read_views([unmade, made])
    assert views == {"synonym-10": {}, "paraphrase": {"t0": ["Zero"]}}
    assert read(view="synonym-10", stored=views) == []
    warning = (
        "view 'synonym-10' could not be made, so no text of it is read: there is no "
        "data."
    )
    assert warning in log_lines.text


def test_synonyms_that_change_no_text_are_no_view(monkeypatch, tmp_path):
    made_up = replace(VIEWS["synonym-10"], function=lambda text, seed: [text])
    monkeypatch.setitem(VIEWS, "synonym-10", made_up)
    path = tmp_path / "v.parquet"
    write_view(path, lambda: computed_view("synonym-10", BENCHMARK))
    assert "changes none of" in (unmade_reason(path) or "")


def test_synonyms_are_stored_as_the_function_of_each_text_gives_them(monkeypatch):
    made_up = replace(
        VIEWS["synonym-10"], function=lambda text, seed: [f"{seed} {text}"]
    )
    monkeypatch.setitem(VIEWS, "synonym-10", made_up)
    made = computed_view("synonym-10", BENCHMARK)
    assert len(made) == len(TEXTS)
    for i, text in enumerate(TEXTS):
        seed = seed_of("synonym-10", f"t{i}")
        assert made["text"][i] == f"{seed} {text}"
