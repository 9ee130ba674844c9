"""Errors that are shown to users: what is wrong, where, and what would be right."""

import difflib
import errno
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]"
)


_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]+@")


def without_credentials(text: str) -> str:
    """Take user names and passwords out of addresses, as HF_ENDPOINT and a proxy's may
    have them."""
    return _CREDENTIALS.sub("", text)


def printable(text: str) -> str:
    """Escape control characters and marks of direction: names of others could clear a
    terminal or write lines of ours.

    Bytes of a file's name that are not UTF-8 are escaped, too: no terminal could show
    them. Line ends and tabs stay. Addresses lose user names and passwords.
    """
    escaped = _CONTROLS.sub(
        lambda control: control[0].encode("unicode_escape").decode(), text
    )
    return without_credentials(escaped)


class InputError(Exception):
    """An error of the user's input; the message is shown alone, without a traceback,
    control characters and passwords.

    Say what is wrong, where (file, key or line) and what would be right. Only the
    beginning of a word of more than 300 characters is repeated.
    """

    def __init__(self, message: str) -> None:
        # credentials first: a shortened address would end before the mark behind them
        safe = without_credentials(message)
        short = re.sub(r"\S{300,}", lambda word: shorten(word[0]), safe)
        super().__init__(printable(short))


OF_GPU_MEMORY = (
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)
"""What errors say when the memory of a GPU ran out: torch's allocator, the driver, and
the library of products."""

_OF_MEMORY = (
    "can't allocate memory",
    "Cannot allocate memory",
    "can't start new thread",
    "malloc of size",
)
_REMEDIES = {
    errno.ENOSPC: "Make room on that disk and run the same command again.",
    errno.EDQUOT: "Make room in your quota and run the same command again.",
    errno.EROFS: "Make that folder writable and run the same command again.",
    errno.EACCES: "Make that file or folder accessible to you and run the same "
    "command again.",
}


def remedy(error: BaseException, otherwise: str = "") -> str:
    """Advise on an `error` of the machine and not of a file (no space, no memory); else
    return `otherwise`."""
    # torch raises errors of its own
    if any(words in str(error) for words in OF_GPU_MEMORY):
        return (
            "Memory of the GPU ran out: see nvidia-smi for other processes on it, "
            "lower batch_tokens, set a narrower dtype or quantise for this model, or "
            "give it a larger GPU."
        )
    is_of_memory = any(words in str(error) for words in _OF_MEMORY)
    if is_of_memory or isinstance(error, MemoryError):
        return (
            "Memory ran out: give the job more, or lower threads, batch_tokens or the "
            "number of jobs (--cores)."
        )
    if isinstance(error, OSError):
        return _REMEDIES.get(error.errno or 0, otherwise)
    return otherwise


def message_of(error: BaseException) -> str:
    """Return what an error says, on one line; its class if it says nothing.

    Of torch's message about a GPU the sizes stay, and its advice to torch's users goes.
    """
    said = " ".join(str(error).split()) or type(error).__name__
    if any(words in said for words in OF_GPU_MEMORY):
        said = re.split(r" Of the allocated memory| If reserved| Compile with", said)[0]
    return said.removesuffix(".")


_MOST_SAID = 600  # characters of a library's own message


@contextmanager
def explain_failure(what: str) -> Iterator[None]:
    """Turn whatever a library raises while it reads a user's files into an `InputError`
    that begins with `what`.

    Parsers raise TypeError, ZeroDivisionError, a bare Exception of Rust: no list of
    kinds would do.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        cause = error.__cause__ or error
        said = message_of(cause)  # some name every class that they know
        shown = said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}..."
        advice = f". {remedy(cause)}".removesuffix(". ")
        raise InputError(f"{what}: {type(cause).__name__}: {shown}{advice}") from error


@contextmanager
def error_place(where: str) -> Iterator[None]:
    """Put the place before what an `InputError` says, which goes on with a key or is a
    sentence."""
    try:
        yield
    except InputError as error:
        begins_with_key = re.match(r"[a-z_0-9.]+: ", str(error))
        raise InputError(f"{where}{'.' if begins_with_key else ': '}{error}") from error


LONGEST_REPEATED = 80
"""Characters of a user's own words that an error repeats."""


def shorten(value: object) -> str:
    """Return what a user wrote as an error repeats it: whole, or its beginning and its
    length."""
    text = str(value)
    if len(text) <= LONGEST_REPEATED:
        return text
    return f"{text[: LONGEST_REPEATED - 20]}... ({len(text):,} characters)"


def nearest(name: object, valid: Iterable[str]) -> str:
    """Write the hint that ends an error message: the nearest valid name, or all of them
    if none is near.

    `name` need not be a string: a key of YAML may be a number or null. Capitals make no
    difference.
    """
    names = {known.casefold(): known for known in sorted(valid)}
    written = str(name)[:LONGEST_REPEATED].casefold()
    close = difflib.get_close_matches(written, names, n=1, cutoff=0.5)
    if close:
        foreign = "" if str(name).isascii() else " (it has a letter that is not ASCII)"
        return f"did you mean '{names[close[0]]}'?{foreign}"
    if not names:
        return "there is none to choose from"
    return f"valid: {', '.join(names.values())}"


def require_name(name: object, valid: Collection[object], problem: str) -> None:
    """Raise `InputError` with the problem, and the nearest valid name, unless a name is
    valid."""
    if name not in valid:
        raise InputError(f"{problem}: {nearest(name, map(str, valid))}")


def first_names(names: Sequence[str]) -> str:
    """Return the first five names, and the number of the others."""
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more} more" if more > 0 else "")


def count_noun(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
