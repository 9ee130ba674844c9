"""Paraphrases by a model, parsed strictly and asked for again; each answer stored
once."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch

import tiny_models
from loopback import Loopback, api_at, message
from pretrace.models.checkpoint import register_local
from pretrace.questions.answerers import answerer_of
from pretrace.questions.answering import Prompt, Reply
from pretrace.questions.written_views import (
    ROUNDS,
    ParaphrasePrompts,
    paraphrase,
    paraphrases_in,
)
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import read_keys

FOLDER = Path(__file__).parents[2] / "config" / "prompts"
PROMPTS = read_keys(FOLDER / "paraphrase.yaml", ParaphrasePrompts)
TEXT = "The state of the union is strong."
GOOD = (
    "Example B: The union's state is strong.\n\nExample C: Strong is the "
    "union.\n\nExample D: The union does well."
)
THREE = ("The union's state is strong.", "Strong is the union.", "The union does well.")


def benchmark_of(*texts):
    return pd.DataFrame(
        {"text_id": [f"t{number}" for number in range(len(texts))], "text": texts}
    )


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        f"Here are three paraphrases:\n\n{GOOD}\n",
        GOOD.replace("\n\n", "\n"),
        "\n".join(
            f"Example {letter}: <{text}>"
            for letter, text in zip("BCD", THREE, strict=True)
        ),
    ],
)
def test_answers_of_the_form_that_was_asked_for_are_read(answer):
    assert paraphrases_in(answer, TEXT) == THREE


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "The union's state is strong.",
        "Example B: One.\nExample C: Two.",
        "Example C: One.\nExample B: Two.\nExample D: Three.",
        "Example B: One.\nExample C:\nExample D: Three.",
        "Example B: One.\nExample C: Two.\nExample D: two.",
        f"Example B: One.\nExample C: {TEXT.upper()}\nExample D: Three.",
        f"{GOOD}\n\nI hope that these help!",
        f"{GOOD}\nExample E: Four.\nExample B: Five.",
    ],
)
def test_every_other_answer_is_malformed(answer):
    assert paraphrases_in(answer, TEXT) is None


def test_a_text_with_empty_lines_has_paraphrases_with_empty_lines():
    answer = "Example B: One.\n\nOne more.\nExample C: Two.\nExample D: Three."
    assert paraphrases_in(answer, "A line.\n\nAnother.") == (
        "One.\n\nOne more.",
        "Two.",
        "Three.",
    )


def test_the_prompt_is_the_papers_and_depends_on_the_length():
    short = PROMPTS.prompt(TEXT)
    long = PROMPTS.prompt("word " * 144)
    assert short.user.startswith(
        "Generate always 3 possible paraphrases for the following text that is "
        "identified"
    )
    assert short.user.endswith(f"—\nExample A: {TEXT}")
    assert long.user.startswith(
        "Rewrite this entire text (all sentences with no exception)"
    )
    assert PROMPTS.prompt("word " * 143).user.startswith("Generate")
    assert PROMPTS.prompt("{braces} {0}").user.endswith("Example A: {braces} {0}")


class Scripted:
    """Gives the answers of a list for each prompt, one a round."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def write(self, prompts, most, again, progress):
        self.asked.append(len(prompts))
        progress(len(prompts))
        return [Reply(self.answers(prompt, again)) for prompt in prompts]


def test_malformed_answers_are_asked_for_again_and_then_reported(warnings):
    def answers(prompt, again):
        if "never" in prompt.user:
            return "no"
        return GOOD if again >= 2 or "first" in prompt.user else "Example B: only one"

    writer = Scripted(answers)
    table = benchmark_of("first text", "second text", "never", "first text")
    view = paraphrase(table, writer, PROMPTS, "tested")
    assert writer.asked == [3, 2, 2, 1, 1]  # equal texts once
    assert len(writer.asked) == ROUNDS
    assert view["text_id"].tolist() == ["t0"] * 3 + ["t1"] * 3 + ["t3"] * 3
    assert view["variant"].tolist() == [0, 1, 2] * 3
    assert tuple(view["text"][:3]) == THREE
    assert (
        "1 of 4 passages have no three paraphrases after 5 rounds and are skipped: t2"
        in warnings()
    )


def test_a_model_that_never_follows_the_form_is_an_error():
    with pytest.raises(InputError, match="no answer in 5 rounds had the form"):
        paraphrase(
            benchmark_of(TEXT), Scripted(lambda prompt, again: "no"), PROMPTS, "tested"
        )


def writer_by(entry, folder):
    """Who writes, by what an entry says: the API that it names, else the checkpoint of
    the folder."""
    return answerer_of(
        entry,
        "tested",
        model="tested",
        checkpoint_json="" if "api" in entry else folder / "tiny.json",
        api_answers=folder / "a.sqlite",
        local_answers=folder / "answers",
        budget_usd=0,
        batch_tokens=64,
        threads=1,
        device="cpu",
        gpus=0,
    )


@pytest.mark.usefixtures("quick_retries")
def test_an_api_is_asked_at_a_low_temperature_each_round_anew_and_a_second_run_asks_nothing(
    tmp_path,
):
    bodies = []

    def respond(path, body):
        bodies.append(body)
        # looks whole, but its last paraphrase may not be
        reason = "length" if body["max_tokens"] < 200 else "stop"
        return message(GOOD, finish_reason=reason)

    with Loopback(respond) as server:
        for _ in range(2):
            with writer_by(
                {"api": api_at(server.url, endpoint="chat")}, tmp_path
            ) as writer:
                view = paraphrase(benchmark_of(TEXT), writer, PROMPTS, "tested")
            assert tuple(view["text"]) == THREE
            assert len(bodies) == 2
    assert bodies[1] == bodies[0] | {"max_tokens": 2 * bodies[0]["max_tokens"]}
    assert bodies[0]["temperature"] == 0.1
    assert bodies[0]["messages"][0]["content"].endswith(f"Example A: {TEXT}")


def test_a_checkpoint_writes_the_same_in_the_same_round_alone(tmp_path):
    register_local(
        tiny_models.tiny_model("gpt_neox", tmp_path / "tiny"), tmp_path / "tiny.json"
    )
    prompts = [
        Prompt("The state"),
        Prompt("In 1934 the"),
        Prompt("word " * 400),
        Prompt(" the" * 126),
    ]

    def written(which, again):
        with writer_by({"dtype": "float32"}, tmp_path) as writer:
            assert torch.are_deterministic_algorithms_enabled()
            return writer.write(which, [8] * len(which), again, lambda n: None)

    together = written(prompts, 0)
    shutil.move(tmp_path / "answers", tmp_path / "before")
    assert written(prompts[1:2], 0) == together[1:2]
    assert together[3] == Reply(None, "cut at the highest number of tokens")
    assert together[2] == Reply(None, "longer than the model's context", skipped=True)
    for reply in together[:2]:
        assert reply.text
