"""Texts continued by a model: the first half as it is, seeded samples, one answer each over an API."""

from pathlib import Path

import pandas as pd
import pytest

from loopback import Loopback, completion, message
from pretrace.models.target import load_checkpoint
from pretrace.questions.answerers import answerer_of
from pretrace.questions.continuing import continue_texts
from pretrace.questions.local import LocalAnswerer
from pretrace.questions.prompts import read_wording
from pretrace.runtime.errors import InputError

WORDING = read_wording(Path(__file__).parents[2] / "config" / "prompts" / "de_cop.yaml")
TEXTS = ["The state of the union is strong", "the people of the United States", "Alone"]


def benchmark_of(texts):
    return pd.DataFrame({"text_id": [f"t{number}" for number in range(len(texts))], "text": texts})


@pytest.fixture
def writer(tiny_checkpoint):
    return LocalAnswerer(load_checkpoint(tiny_checkpoint("llama"), dtype="float32", device="cpu"), "tiny", 64)


def test_a_checkpoint_samples_each_text_by_its_own_seed(writer):
    view = continue_texts(benchmark_of(TEXTS), writer, 3, WORDING, "tiny")
    assert view["text_id"].tolist() == ["t0"] * 3 + ["t1"] * 3, "a text of one word has no halves"
    assert view["variant"].tolist() == [0, 1, 2] * 2
    for id, text in zip(("t0", "t1"), TEXTS, strict=False):
        samples = view.loc[view["text_id"] == id, "text"]
        half = " ".join(text.split()[: len(text.split()) // 2])
        assert all(sample.startswith(half) for sample in samples)
        assert samples.nunique() > 1
        assert all(len(sample.split()) <= len(text.split()) for sample in samples)
    alone = continue_texts(benchmark_of(TEXTS[1:2]), writer, 3, WORDING, "tiny")
    assert alone["text"].tolist() == view.loc[view["text_id"] == "t1", "text"].tolist()


def test_nothing_to_continue_is_an_error(writer):
    with pytest.raises(InputError, match="no text has two words or more"):
        continue_texts(benchmark_of(["Alone"]), writer, 3, WORDING, "tiny")


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_over_an_api_each_sample_is_asked_for_and_stored_once(tmp_path, endpoint):
    bodies = []

    def answer(path, body):
        bodies.append(body)
        return (message if endpoint == "chat" else completion)(
            " union is strong and more words than the text has"
        )

    with Loopback(answer) as server:
        free = {"input": 0, "output": 0}
        api = {"base_url": server.url, "model": "m", "endpoint": endpoint, "price": free}
        for _ in range(2):
            with answerer_of(
                {"api": api}, "far", model="far", checkpoint_json="", store=tmp_path / "answers.sqlite",
                budget_usd=0, batch_tokens=64, threads=1,
            ) as far:  # fmt: skip
                view = continue_texts(benchmark_of(TEXTS[:1]), far, 4, WORDING, "far")
    assert len(bodies) == 4
    assert {body["temperature"] for body in bodies} == {1.0}
    prompt = bodies[0]["messages"][-1]["content"] if endpoint == "chat" else bodies[0]["prompt"]
    assert prompt.endswith("The state of")
    assert view["text"].tolist() == ["The state of union is strong and"] * 4
