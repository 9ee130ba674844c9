"""Good input, spoiled: seeded by hypothesis, and what reading it may raise."""

import copy
import random
import re
import signal
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrace.runtime.errors import InputError

JUNK = (None, "", " ", "\0", -1, 0, 1.5, float("nan"), float("inf"), 10**30, True, [],
        {}, [None], [[]], {"": ""},
        {"a": {"b": []}}, "none", "../../etc/passwd", "/", "é\u202e", "x" * 10_000,
        "${HOME}")  # fmt: skip


def seeds(count: int) -> Callable[[Any], Any]:
    """Run a test with so many values of `seed`, the same ones every time."""
    how = settings(max_examples=count, derandomize=True, deadline=None, database=None)
    return lambda test: how(given(seed=st.integers(0, 2**32))(test))


SECONDS = 20
"""What takes longer than this for a small file hangs."""


def tiers(few: int, many: int) -> pytest.MarkDecorator:
    """Run a test with a list of `few` seeds, and with --full with the rest of
    `many`."""
    rest = pytest.param(range(few, many), marks=pytest.mark.full)
    return pytest.mark.parametrize("seeds", [range(few), rest], ids=["few", "many"])


@contextmanager
def limited(seed: int) -> Iterator[random.Random]:
    """Give draws of the seed; fail after SECONDS; every error names the seed."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"longer than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield random.Random(seed)
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def refuses(read: Callable[[], Any]) -> str:
    """What an `InputError` said, or "" where the input was read after all. Any other
    exception fails the test."""
    try:
        read()
    except InputError as error:
        said = str(error)
    else:
        return ""
    assert said.strip()
    assert "Traceback" not in said
    return said


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a value."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    inner_paths = []
    for key, inner in items:
        inner_paths += [(*path, key), *places(inner, (*path, key))]
    return inner_paths


def at(value: Any, path: Sequence[Any]) -> Any:
    for key in path:
        value = value[key]
    return value


def spoiled(value: Any, draw: random.Random, junk: Sequence[Any] = JUNK) -> Any:
    """A copy in which one value is junk, lacks a letter, comes from elsewhere, is gone,
    or is under another key."""
    value = copy.deepcopy(value)
    *path, last = draw.choice(places(value))
    holder = at(value, path)
    how = draw.choice(
        (
            "junk",
            "junk",
            "junk",
            "drop",
            "rename",
            "wrap",
            "misspell",
            "misspell",
            "copy",
        )
    )
    if how == "junk":
        holder[last] = draw.choice(junk)
    elif how == "copy":
        holder[last] = copy.deepcopy(at(value, draw.choice(places(value))))
    elif how == "misspell":
        if isinstance(holder[last], str) and holder[last]:
            gone = draw.randrange(len(holder[last]))
            holder[last] = holder[last][:gone] + holder[last][gone + 1 :]
    elif how == "wrap":
        holder[last] = [holder[last]]
    else:
        moved = holder.pop(last)
        if how == "rename" and isinstance(holder, dict):
            holder[draw.choice(("x", "", "source", "path", 1, None))] = moved
    return value


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Cut short, with flipped bytes, with foreign bytes in it, or doubled."""
    place = draw.randrange(len(content))
    how = draw.randrange(4)
    if how == 0:
        return content[:place]
    if how == 1:
        return (
            content[:place]
            + bytes([content[place] ^ (1 << draw.randrange(8))])
            + content[place + 1 :]
        )
    if how == 2:
        return (
            content[:place]
            + draw.choice((b"\0", b"\xff\xfe", b'"', b"\n", b"{", b","))
            + content[place:]
        )
    return content[:place] + content


_TOKEN = re.compile(
    rb"<[^<>]{0,200}>|\"[^\"]{0,200}\"|[/\\]\w+|\d+ \d+ R|-?\d+(?:\.\d+)?|\w+|\S"
)
"""A tag, a value of an attribute, a word of PDF or RTF, a number, a word, a sign."""

_FOREIGN = (
    b"", b"0", b"-1", b"99999999999", b"1e999", b"NaN", b"\0", b"'", b'"', b"<", b">",
    b"&", b"&#xD800;", b"(", b")",
    b"[", b"]", b"<<", b">>", b"null", b"/F", b"1 0 R", b"99 0 R", b"\xff",
    b"x" * 10_000, b"{", b"}", b"%", b"stream",
    b"endstream", b"endobj", b"../../etc/passwd", b"#", b"<!--", b"]]>",
    b"<?xml version='1.0' encoding='utf-16'?>",
    b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"<<>>", b"/FlateDecode", b"\\bin99",
    b"\\u-70000",
)  # fmt: skip


def respelled(content: bytes, draw: random.Random) -> bytes:
    """Some tokens gone, repeated, or with others in their place."""
    tokens = [*_TOKEN.finditer(content)]
    for _ in range(draw.choice((1, 1, 1, 3, 10)) if tokens else 0):
        token = draw.choice(tokens)
        other = draw.choice(tokens)
        own = token[0]
        spelling = draw.choice(
            (
                b"",
                draw.choice(_FOREIGN),
                own * draw.choice((2, 5, 300)),
                other[0],
                own + other[0],
            )
        )
        content = content[: token.start()] + spelling + content[token.end() :]
    return content


def repacked(content: bytes, draw: random.Random) -> bytes:
    """A zip archive in which a member is gone, another's, under another name, or
    spoiled."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(sorted(members))
    other = draw.choice(sorted(members))
    how = draw.choice(
        ("drop", "swap", "rename", "damage", "respell", "respell", "respell")
    )
    if how == "drop":
        del members[name]
    elif how == "swap":
        members[name] = members[other]
    elif how == "rename":
        members[draw.choice(("x", name.upper(), f"{name}/a"))] = members.pop(name)
    else:
        members[name] = (damaged if how == "damage" and members[name] else respelled)(
            members[name], draw
        )
    packed = BytesIO()
    with zipfile.ZipFile(
        packed, "w", draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as archive:
        for member, own in members.items():
            archive.writestr(member, own)
    return packed.getvalue()
