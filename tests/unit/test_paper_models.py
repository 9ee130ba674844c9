"""The paper study's models are read as they are released: types, files, old masks, tokenizers; here tiny and random."""

from pathlib import Path

import pytest
import torch
import yaml

from paper_models import SHAPES, STARTS, write_paper_model
from pretrace.models.checkpoint import register_local
from pretrace.models.target import load_checkpoint
from pretrace.models.tokens import bos_contradiction, start_token_ids

REGISTRY = Path(__file__).parents[2] / "config" / "models.yaml"
ENTRIES = {
    slug: entry
    for slug, entry in yaml.safe_load(REGISTRY.read_text(encoding="utf-8")).items()
    if entry["source"] == "hub"
}
TEXT = "Words of 1934, café 汉字 and\n  spaces."


def test_every_model_of_the_registry_has_a_shape():
    assert SHAPES.keys() == ENTRIES.keys()


@pytest.mark.parametrize("slug", SHAPES)
def test_a_released_layout_loads_in_its_type_and_starts_texts_as_released(slug, tmp_path):
    folder = write_paper_model(slug, ENTRIES[slug], tmp_path / slug)
    checkpoint = register_local(folder, tmp_path / "checkpoint.json")
    assert "pytorch_model.bin" not in checkpoint.files
    target = load_checkpoint(tmp_path / "checkpoint.json", device="cpu", dtype=ENTRIES[slug]["dtype"])
    model = target.load()
    assert {weight.dtype for weight in model.parameters()} == {getattr(torch, ENTRIES[slug]["dtype"])}
    tokenizer = target.tokenizer
    start = STARTS.get(SHAPES[slug].tokenizer)
    prepended = tokenizer.convert_ids_to_tokens(list(start_token_ids(tokenizer, "tokenizer")))
    assert prepended == ([] if start is None else [start])
    assert not bos_contradiction(tokenizer)
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids).strip() == TEXT
    with torch.inference_mode():
        assert model(torch.tensor([ids])).logits.isfinite().all()
