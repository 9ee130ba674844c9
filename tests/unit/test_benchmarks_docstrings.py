"""Docstrings split at random: who is a member, what a text is, and that the n-gram
bound holds."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pretrace.benchmarks import build
from pretrace.benchmarks.ngrams import ngrams_of_all, overlap
from pretrace.runtime.errors import InputError

COMMON = " ".join(f"axis{place}" for place in range(8))
MODULES = 12
DOCSTRINGS = 4
WORDS = 37  # two snippets of 16 words, and words that are left
PACKAGES = ["first_made_up", "second_made_up"]
ENTRY: dict[str, Any] = {
    "source": "docstrings_split",
    "lengths": [4, 16],
    "texts": 40,
    "packages": PACKAGES,
}


def docstring(package: str, module: int, number: int) -> str:
    """Words of its own, each with its place; every second one opens with words that
    others open with too."""
    own = [f"{package}{module}.{number}:{place}" for place in range(WORDS)]
    return " ".join([*COMMON.split(), *own[8:]] if number % 2 else own)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in PACKAGES:
        folder = tmp_path / package / "inner"
        folder.mkdir(parents=True)
        for module in range(MODULES):
            texts = [docstring(package, module, number) for number in range(DOCSTRINGS)]
            functions = []
            for number, text in enumerate(texts):
                functions.append(f'def f{number}():\n    """{text}"""')
            (folder / f"m{module}.py").write_text("\n".join(functions))
        (tmp_path / package / "__init__.py").write_text(
            f'"""{docstring("same", 0, 0)}"""'
        )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.fixture
def table(packages: None) -> pd.DataFrame:
    return build("split", ENTRY, [])


def test_a_text_is_consecutive_words_of_one_docstring_of_its_module(table):
    every = {
        f"{package}.inner.m{module}": [
            docstring(package, module, n) for n in range(DOCSTRINGS)
        ]
        for package in PACKAGES
        for module in range(MODULES)
    } | {package: [docstring("same", 0, 0)] for package in PACKAGES}
    longest = table[table["length"] == 16].set_index("text_id")["text"]
    for row in table.itertuples():
        module, _, start = row.text_id.rsplit("-", 2)
        number, place = divmod(int(start), WORDS)
        words = every[module][number].split()
        assert row.document == module
        assert row.text.split() == words[place : place + row.length]
        assert place % 16 == 0
        assert longest[f"{module}-016-{start}"].startswith(row.text)


def test_modules_are_drawn_whole_and_give_half_to_each_class(table):
    longest = table[table["length"] == 16]
    sizes = longest.groupby(["subset", "document"]).size()
    assert (
        sizes.groupby("subset").apply(lambda own: (own < own.max()).sum()) <= 2
    ).all(), "the last may be cut"
    halves = longest.groupby(["document", "label"]).size().unstack(fill_value=0)
    whole = halves[halves.sum(axis=1) == 2 * DOCSTRINGS]
    assert len(whole) > 5
    assert ((whole[0] - whole[1]).abs() <= 1).all()


def test_a_snippet_of_two_docstrings_is_one_text(packages):
    everything = build("all", ENTRY | {"texts": 2 * (MODULES * DOCSTRINGS - 5)}, [])
    assert everything[everything["length"] == 16]["text"].is_unique
    with pytest.raises(
        InputError, match=r"packages: first_made_up holds .* where 500 are asked for"
    ):
        build("split", ENTRY | {"texts": 1000}, [])


def test_a_bound_on_shared_ngrams_keeps_the_members_and_drops_what_exceeds_it(table):
    bound = ENTRY | {"split": "split", "max_overlap": {"ngram": 3, "share": 0.2}}
    bounded = build("split-ngram_3_0.2", bound, [])
    members = table[table["label"] == 1]
    assert set(members["text_id"]) == set(bounded["text_id"][bounded["label"] == 1])
    stream = ngrams_of_all(members["text"][members["length"] == 16], 3)
    near = table[
        (table["label"] == 0)
        & table["text"].map(lambda text: overlap(text, stream, 3) > 0.2)
    ]
    assert len(near) > 5
    snippets = {id.replace("-004-", "-016-") for id in near["text_id"]}
    dropped = set(table["text_id"]) - set(bounded["text_id"])
    assert {id.replace("-004-", "-016-") for id in dropped} == snippets
    assert len(dropped) == 2 * len(snippets), "a snippet leaves with all its lengths"
