"""How far the letters of a model behind a server lie from those of the same model in a
local job.

python tests/bench/compare_server.py results/models/smollm2-135m/checkpoint.json
... --url http://node7:8000/v1 --model NAME --endpoint chat

Asks 36 small questions with four options both ways, in float32 here. Prints the mean
and the largest distance of a letter's probability, and how often the likeliest letter
is the same. Without `--url`, llama.cpp's server answers from the 4-bit file of smollm2,
where the workflow has downloaded it.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import permutations
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # for the servers of the tests
from llama_server import llama_server
from loopback import client_at
from pretrace.models.api.store import AnswerStore
from pretrace.models.target import load_checkpoint
from pretrace.questions.answering import Letters, Prompt, Question
from pretrace.questions.local import LocalAnswerer, answered_how
from pretrace.questions.over_api import ApiAnswerer
from pretrace.questions.stored import StoredAnswers

QUESTIONS = {
    "Which of the following is a colour?": ("Stone", "Blue", "Run", "Seven"),
    "Which one is a number?": ("Nine", "Grass", "Door", "Slowly"),
    "Which of these is an animal?": ("Green", "Table", "Dog", "Twelve"),
    "What do you drink?": ("Sand", "Stairs", "Iron", "Water"),
    "Which one is a city?": ("Paris", "Yellow", "Walk", "Spoon"),
    "Which is a month?": ("Chair", "May", "Cold", "Fish"),
}


def prompts() -> list[Prompt]:
    """Every fourth order of each question's options."""
    return [
        Prompt(
            question
            + "\nOptions:\n"
            + "\n".join(
                f"{letter}. {option}"
                for letter, option in zip("ABCD", order, strict=True)
            )
            + "\n\nAnswer:",
            "Output only the letter of the correct answer.",
        )
        for question, options in QUESTIONS.items()
        for order in list(permutations(options))[::4]
    ]


def table(answers: Sequence[Sequence[Letters]]) -> np.ndarray:
    """[questions, 4]; a row of NaN where no letter was among the probabilities."""
    rows = [letters.probabilities or [np.nan] * 4 for [letters] in answers]
    return np.array(rows, dtype=float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("checkpoint", type=Path, help="checkpoint.json")
    parser.add_argument("--url")
    parser.add_argument(
        "--model", default="smollm2", help="the model's name on the server"
    )
    parser.add_argument("--endpoint", default="chat", choices=["chat", "completions"])
    options = parser.parse_args()

    questions = [Question([prompt]) for prompt in prompts()]
    target = load_checkpoint(options.checkpoint, dtype="float32")
    with tempfile.TemporaryDirectory() as folder:
        stored = StoredAnswers(
            Path(folder), answered_how(target, 2048, threads=1), "local"
        )
        answerer = LocalAnswerer(target, "local", 2048, stored)
        local = table(answerer.letters(questions, lambda answered: None))
    about = {"model": options.model, "endpoint": options.endpoint, "top_logprobs": 20}
    with (
        tempfile.TemporaryDirectory() as folder,
        llama_server(Path(folder))
        if options.url is None
        else nullcontext(options.url) as url,
        AnswerStore(Path(folder) / "answers.sqlite") as store,
    ):
        served = table(
            ApiAnswerer(client_at(url, store, **about), None).letters(
                questions, lambda answered: None
            )
        )
    apart = np.abs(local - served)
    same = (local.argmax(axis=1) == served.argmax(axis=1))[
        ~np.isnan(served).any(axis=1)
    ]
    print(
        f"{len(questions)} questions, {np.isnan(served).any(axis=1).sum()} without a "
        "letter"
    )
    print(
        f"distance of a probability: mean {np.nanmean(apart):.3f}, largest "
        f"{np.nanmax(apart):.3f}"
    )
    print(f"the same likeliest letter: {same.sum()} of {len(same)}")


if __name__ == "__main__":
    main()
