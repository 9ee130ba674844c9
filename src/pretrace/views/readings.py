"""How a text is read: the one identity that a pass, its request, a method's input and a
score share."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.files import JsonObject

PREFIX_KINDS = {"member": 1, "nonmember": 0}
"""The kinds of shots that are drawn from a benchmark -> the label of their texts."""

ZERO_ACCESS = "zero_access"
"""A further kind: the target's own completions stand for members."""

SEPARATORS = {"none": "", "space": " ", "newline": "\n"}
"""Texts that join the shots of a prefix; the papers use none."""

START_TOKEN = "start_token"
"""A further separator: the run's start token after every shot, also the last, so that
shots and text follow each other like documents in a training stream."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A kind of prefix as passes name it: `nonmember`, or `nonmember;separator=space`.

    kind         a key of PREFIX_KINDS, or ZERO_ACCESS
    separator    a key of SEPARATORS, or START_TOKEN
    manipulated  whether the shots go through the target texts' view as well
    """

    kind: str
    separator: str = "none"
    manipulated: bool = False

    @property
    def name(self) -> str:
        parts = [self.kind]
        if self.separator != "none":
            parts.append(f"separator={self.separator}")
        if self.manipulated:
            parts.append("manipulate_prefix=true")
        return ";".join(parts)

    @staticmethod
    def from_name(name: str) -> "Prefix":
        """Return the prefix of a name; an unknown one raises `InputError`."""
        if name not in _PREFIXES:
            hint = nearest(name, _KINDS)
            raise InputError(f"there is no prefix '{name}': {hint}")
        return _PREFIXES[name]


_KINDS = (*PREFIX_KINDS, ZERO_ACCESS)
_PREFIXES: dict[str, Prefix] = {}
for _kind in _KINDS:
    for _separator in (*SEPARATORS, START_TOKEN):
        for _manipulated in (False, True):
            _prefix = Prefix(_kind, _separator, _manipulated)
            _PREFIXES[_prefix.name] = _prefix


@dataclass(frozen=True, slots=True)
class Shots:
    """The first `count` shots of a draw, before a text; `inner_start`: the start token
    is repeated between them."""

    prefix: Prefix
    draw: int
    count: int
    inner_start: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts are read.

    view         the view of the benchmark's texts
    start_token  as a run names it
    altered      the name of an altered form of the view's texts, or ""
    shots        the shots before each text, or None
    past_context whether what a plain pass cuts off is read: the tokens past the model's
    context, in stretches
    """

    view: str
    start_token: str
    altered: str = ""
    shots: Shots | None = None
    past_context: bool = False

    @property
    def views(self) -> set[str]:
        """Return the views that are read: that of the texts, and their altered form."""
        return {self.view, self.altered} - {""}

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns by which tables of scores and statistics name a reading of
        texts as a view has them."""
        return {"view": self.view, "start_token": self.start_token}

    def to_json(self) -> dict[str, Any]:
        """Return the keys that a reading has in a job's parameters and in the
        manifest."""
        shots = self.shots
        return {
            "view": self.view,
            "altered": self.altered,
            "prefix": shots.prefix.name if shots else "",
            "draw": shots.draw if shots else None,
            "shots": shots.count if shots else None,
            "start_token": self.start_token,
            "inner_start": bool(shots and shots.inner_start),
            "past_context": self.past_context,
        }

    @classmethod
    def from_json(cls, keys: JsonObject) -> "Reading":
        """Return the reading that `to_json` wrote; `InputError` for an unknown
        prefix."""
        shots = None
        if keys["prefix"]:
            prefix = Prefix.from_name(keys["prefix"])
            shots = Shots(prefix, keys["draw"], keys["shots"], keys["inner_start"])
        return cls(
            keys["view"],
            keys["start_token"],
            keys["altered"],
            shots,
            keys["past_context"],
        )


class PassKey(NamedTuple):
    """What identifies a pass of a model over a benchmark: a reading of the texts of a
    slice."""

    reading: Reading
    slice: Slice

    def with_changes(self, **changes: Any) -> "PassKey":
        """Return the pass over the same texts whose reading has these changes."""
        return PassKey(replace(self.reading, **changes), self.slice)

    def to_json(self) -> dict[str, Any]:
        """Return the keys of a pass in the manifest, in the order that sorts passes."""
        place = {"subset": self.slice.subset, "length": self.slice.length}
        return self.reading.to_json() | place

    @classmethod
    def from_json(cls, row: JsonObject) -> "PassKey":
        """Return the key that `to_json` wrote."""
        return cls(Reading.from_json(row), Slice(row["subset"], row["length"]))

    @property
    def name(self) -> str:
        """The pass in a log: `lowercase(original), start token <s>, main, 64 words`."""
        reading, slice = self
        view, shots = reading.view, reading.shots
        parts = [f"{reading.altered}({view})" if reading.altered else view]
        if shots:
            parts.append(f"{shots.count} shots of {shots.prefix.name}")
            parts.append(f"draw {shots.draw}")
        parts.append(f"start token {reading.start_token}")
        if shots and shots.inner_start:
            parts.append("again before the text")
        if reading.past_context:
            parts.append("past the context")
        if slice.subset:
            parts.append(slice.subset)
        if slice.length is not None:
            parts.append(f"{slice.length} words")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class PassRequest:
    """A reading that a study asks for; `subsets` and `lengths` None: of all texts.

    `statistics`: a key of `passes.requests.TOKEN_STATISTICS`, what is stored of each
    token.
    """

    reading: Reading
    statistics: str
    subsets: tuple[str, ...] | None = None
    lengths: tuple[int, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the request as a job's parameter."""
        keys = self.reading.to_json()
        keys["statistics"] = self.statistics
        keys["subsets"] = None if self.subsets is None else list(self.subsets)
        keys["lengths"] = None if self.lengths is None else list(self.lengths)
        return keys

    @classmethod
    def from_json(cls, keys: JsonObject) -> "PassRequest":
        """Return the request that `to_json` wrote."""
        subsets, lengths = keys["subsets"], keys["lengths"]
        return cls(
            Reading.from_json(keys),
            keys["statistics"],
            None if subsets is None else tuple(subsets),
            None if lengths is None else tuple(lengths),
        )
