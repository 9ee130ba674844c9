"""False evidence and power of what a chat model gives back: how often p is at most 5 %.

Works are made-up words. Models that answer as a chat model may are asked to go on in
each, by the library's own code. In rows without an effect no model treats works in
question and known ones differently.

python tests/bench/bench_given_back.py
"""

import argparse
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chat_servers import paraphrasing, reciting, refusing, repeating
from pretrace.audit.continuations import GoingOn, GoingOnWording
from pretrace.audit.design import LEVEL
from pretrace.audit.given_back import summarise
from pretrace.questions.answering import Reply
from pretrace.questions.over_api import Told
from pretrace.runtime.schema import read_keys

SIZES = ((1, 19), (7, 18), (12, 12))  # works in question, and known ones
WORDS, PLACES, COMMON = 640, 3, 120
RELABELLINGS = 499
FORMULA = " ".join(f"formula{number}" for number in range(COMMON))
WORDING = read_keys(
    Path(__file__).parents[2] / "config/prompts/given_back.yaml", GoingOnWording
)

Works = dict[str, str]
Model = Callable[[str], str]


@dataclass(frozen=True)
class Row:
    """A row of the table: the model that reads the works of a deal."""

    label: str
    model: Callable[[random.Random, Works], Model]
    has_common: bool = False


def known_by_heart(share: float, *, asked: bool, known: bool, to: float = 1.0):
    """A model that recites this share of works of the sides, each drawn by itself."""

    def model(rng: random.Random, works: Works) -> Model:
        recited = {}
        for name, text in works.items():
            is_of_side = asked if name.startswith("asked") else known
            if is_of_side and rng.random() < share:
                recited[name] = text
        return reciting(recited, to=to, words=150)

    return model


def half_refused(rng: random.Random, works: Works) -> Model:
    recite = known_by_heart(0.5, asked=True, known=True)(rng, works)
    return lambda prompt: refusing(prompt) if rng.random() < 0.5 else recite(prompt)


NULL = (
    Row("knows none of them", known_by_heart(0, asked=True, known=True)),
    Row("recites one in ten of both sides", known_by_heart(0.1, asked=True, known=True)),
    Row("recites half of both sides", known_by_heart(0.5, asked=True, known=True)),
    Row("recites half of both sides, and refuses half of the requests", half_refused),
    Row(
        "recites a text that half of all works hold",
        lambda rng, works: reciting({"": FORMULA}, words=150),
        has_common=True,
    ),
    Row("answers with the prompt, twice", lambda rng, works: repeating),
    Row("paraphrases: every fourth word is another", lambda rng, works: paraphrasing(works)),
    Row("refuses everything", lambda rng, works: refusing),
)  # fmt: skip
POWER = (
    *(
        Row(f"recites {share:.0%} of those in question",
            known_by_heart(share, asked=True, known=False))
        for share in (0.25, 0.5, 0.75, 1)
    ),
    Row("recites the first half of those in question",
        known_by_heart(1, asked=True, known=False, to=0.5)),
    Row("recites all in question and 10 % of the known ones",
        lambda rng, works: reciting(
            {name: text for name, text in works.items()
             if name.startswith("asked") or rng.random() < 0.1}, words=150)),
)  # fmt: skip


class Asked:
    """An answerer that asks a function."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def go_on(self, prompts, most, again, progress) -> list[Told]:
        return [Told(Reply(self.model(prompt.user)), "", "") for prompt in prompts]


def p_of_deal(row: Row, asked: int, known: int, seed: int) -> float:
    """The p of one deal of works."""
    rng = random.Random(f"{row.label} {asked} {known} {seed}")
    works: Works = {}
    for number in range(asked + known):
        name = f"asked {number}" if number < asked else f"known {number}"
        words = [f"{rng.getrandbits(32):x}" for _ in range(WORDS)]
        if row.has_common and rng.random() < 0.5:
            words[240 : 240 + COMMON] = FORMULA.split()
        works[name] = " ".join(words)
    given = []
    for name, text in works.items():
        label = None if name.startswith("asked") else 0
        given.append(
            {
                "document": name,
                "label": label,
                "title": name,
                "author": "",
                "text": text,
            }
        )
    model = Asked(row.model(rng, works))
    going_on = GoingOn(
        given, model, WORDING, language="en", places=PLACES, tries=1, name="bench"
    )
    going_on.ask()
    summary = summarise(
        going_on.given_back(), going_on.continuations(), server="", cut_short=False, seed=seed, drawn=RELABELLINGS
    )  # fmt: skip
    return float(summary["p"].iloc[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--only", default="", help="rows whose label has these words")
    options = parser.parse_args()
    times = options.times
    heads = " | ".join(f"{asked} + {known}" for asked, known in SIZES)
    for title, rows in (("no effect", NULL), ("power", POWER)):
        print(f"| {title}: the model | {heads} |\n|{'---|' * (1 + len(SIZES))}")
        for row in [row for row in rows if options.only in row.label]:
            shares = []
            for asked, known in SIZES:
                low = sum(
                    p_of_deal(row, asked, known, seed) <= LEVEL for seed in range(times)
                )
                shares.append(f"{low / times:.0%}")
            print(f"| {row.label} | {' | '.join(shares)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
