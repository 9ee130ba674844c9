"""Malformed files of prompts: an error that names the file, never a traceback, and never nonsense that is read."""

import random
from pathlib import Path

import pytest
import yaml
from spoiling import damaged, refuses, seeds, spoiled

from pretrace.questions.prompts import read_wording
from pretrace.questions.written_views import read_prompts as read_paraphrase
from pretrace.views.zero_access import read_openings

PROMPTS = Path(__file__).parents[2] / "config" / "prompts"
READERS = {
    "con_recall_zero_access": read_openings,
    "de_cop": read_wording,
    "paraphrase": read_paraphrase,
}


@pytest.fixture(params=READERS)
def kind(request) -> str:
    return request.param


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "holds nothing; a mapping of keys is needed"),
        (b"- a\n- b\n", "holds a list; a mapping of keys is needed"),
        (b"prompts: [a\n", "line 2: not valid YAML"),
        (b"prompts: {\xff}\n", "is not UTF-8 (byte 10)"),
        (b"prompts: [a]\nprompts: [b]\n", "the key 'prompts' is given twice"),
        (None, "does not exist"),
    ],
)
def test_what_is_no_mapping_is_named(tmp_path, kind, data, says):
    path = tmp_path / "given.yaml"
    if data is not None:
        path.write_bytes(data)
    said = refuses(lambda: READERS[kind](path))
    assert "given.yaml" in said
    assert says in said


@pytest.mark.parametrize(
    "text",
    ["prompts: In 1969\n", "prompts: 5\n", "prompts: {a: b}\n", "prompts: []\n", "prompts: [a, 5]\n", "prompts: ['']\n",
     "openings: [a]\n", "prompts: [a]\nprompt: [b]\n"],
)  # fmt: skip
def test_openings_are_a_list_of_texts_and_nothing_else(tmp_path, text):
    (tmp_path / "given.yaml").write_text(text)
    assert "given.yaml: " in (said := refuses(lambda: read_openings(tmp_path / "given.yaml")))
    assert "a list of texts" in said or "'prompts'" in said


@seeds(60)
def test_a_spoiled_or_damaged_file_is_refused_or_read(tmp_path_factory, seed):
    draw = random.Random(seed)
    path = tmp_path_factory.mktemp("prompts") / "given.yaml"
    for kind, read in READERS.items():
        good = (PROMPTS / f"{kind}.yaml").read_bytes()
        path.write_text(yaml.safe_dump(spoiled(yaml.safe_load(good), draw)), encoding="utf-8")
        refuses(lambda read=read: read(path))
        path.write_bytes(damaged(good, draw))
        refuses(lambda read=read: read(path))
