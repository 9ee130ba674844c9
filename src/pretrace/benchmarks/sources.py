"""The texts that loaders return, and the loaders by source."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import get_annotations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.runtime.schema import (
    Count,
    Keys,
    Language,
    Maybe,
    OnHub,
    Some,
    Unique,
    Whole,
    register_source,
)


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a benchmark, before folds are assigned.

    `label` is 1 for a member, 0 for a non-member, None if unknown; `length` counts
    words; `document` is "" if the source names none. `span` is the half-open range of
    words of the document that the text covers, if known; otherwise a document's texts
    are assumed to be in the document's order.
    `repetitions`: how often the text occurs in the training stream of a model trained
    on the members. `matched` names documents whose labels were drawn together, such as
    a pair with one member; "" if a text's label was drawn by itself.
    `title` and `author` are the document's; `passage` (running number within the
    document and length) belongs to a passage that questions are asked about. `where` is
    its place in a user's file, which begins error messages.
    """

    text_id: str
    text: str
    label: int | None
    subset: str = ""
    length: int | None = None
    document: str = ""
    span: tuple[int, int] | None = None
    repetitions: int = 1
    matched: str = ""
    title: str = ""
    author: str = ""
    passage: int | None = None
    where: str = field(default="", compare=False)

    @property
    def slice(self) -> Slice:
        return Slice(self.subset, self.length)


def cut(
    words: Sequence[str], start: int, length: int, text_id: str, **about: Any
) -> Text:
    """Return `length` of a document's words from `start` on; `about` has the text's
    other fields, the label too."""
    text = " ".join(words[start : start + length])
    return Text(text_id, text, length=length, span=(start, start + length), **about)


class PrefixDraws(Keys):
    """Shots for methods with a prefix."""

    pool: Count
    """Shots of each class in a draw; runs can ask for at most this many."""
    draws: Count = 1
    """Number of draws."""
    seed: Whole = 0
    """Seed of the draws."""
    placebos: Whole = 0
    """Number of further draws, numbered after the others; each takes another member
    document as the non-members."""
    authors_draw: bool = False
    """Draw 0 is the one of Con-ReCall's released code: with seed 42 the members of each
    subset and length are shuffled, then the non-members. The first ones are the shots,
    and all others are evaluated; where classes are balanced, the last ones of the
    larger class are left out."""
    texts: Maybe[Count] = None
    """Texts of each class, subset and length that are evaluated in a draw, and read
    after its shots (default, all remaining texts)."""


IMPORTED_VIEW = "^(paraphrase(_by_[A-Za-z0-9._-]+)?|neighbours-[1-9][0-9]*)$"


Lengths = Some[Unique[Count]]
QuestionKind = Literal[
    "book",
    "book_llama",
    "book_authors",
    "book_authors_7b",
    "book_printed",
    "paper",
    "speech",
]


class BenchmarkEntry(Keys):
    """Keys of every benchmark. A loader with further keys has a class of its own."""

    path_is: ClassVar[Literal["file", "folder", "either", "works"]] = "either"

    source: str
    """The loader in `src/pretrace/benchmarks/loaders/`; `answers`: no texts, the
    models' answers give documents and labels."""
    title: Maybe[str] = None
    """The name in tables and figures (default, the slug)."""
    access: Maybe[str] = None
    """Licence, and how to get access."""
    unavailable: Maybe[Some[str]] = None
    """Why its data can no longer be fetched. Runs with it are left out and their cells
    are dashes, unless config.yaml lists it under `paths` or `available`."""
    language: Language = "en"
    """ISO 639-1 code. The method `lowercase` needs a script with case."""
    lengths: Lengths = []
    """Lengths in words. A run can choose some of them."""
    length_unit: Literal["words", "tokens"] = "words"
    """What its authors measured the lengths in. Tables and figures name it."""
    subsets: Some[Unique[str]] = []
    """Names of the subsets. A run can choose some of them."""
    path: Maybe[Some[str]] = None
    """Your own file or folder, relative to this file."""
    question: Maybe[QuestionKind] = None
    """Makes the texts passages of documents that questions are asked about, with this
    wording in `prompts/de_cop.yaml`. `book_authors` and `book_authors_7b` use the
    format sentence of the authors' code and read the letter at the second or third
    token; `book_printed` has the sentence that the paper prints."""
    views: Some[dict[Annotated[str, Field(pattern=IMPORTED_VIEW)], Some[str]]] = {}
    """Views in files of your own, as `{paraphrase: paraphrases.jsonl}`. The columns are
    `id` (of the text), `text` and optionally `variant` (0, 1, ...). Relative to this
    file."""
    split: Maybe[str] = None
    """Draw the same members and non-members as this other benchmark, so that models
    trained on that one can read this one (default, its own draw)."""
    prefix: Maybe[PrefixDraws] = None
    """Shots of each class for methods with a prefix: `pool`, `draws`, `seed`,
    `placebos`, `texts`. The sets `without_prefixes` and `balanced` leave out the shots
    and all texts that overlap them (default, the number of shots that runs ask for)."""
    pooled: bool = False
    """Evaluate all subsets together too. A panel shows this with `subset: ""`."""
    caution: Maybe[str] = None
    """A caution that is printed under every table and figure of its documents."""
    randomised: bool = False
    """Members were drawn at random within each document. `audit`, which then exchanges
    labels within documents, takes nothing for granted."""
    rebuilt: bool = False
    """Its texts differ from the paper's, so published numbers are compared by
    intervals. The numbers of a released benchmark must be equal, within the tolerances
    of artifact `reproduction`."""
    placebos: bool = False
    """All non-members come from one document. Every member document is then evaluated
    in its place (every one with shots of its own, if `prefix` draws some), and
    `blind_audit` and `placebos` rank the benchmark's own value among these."""
    expected: dict[str, Whole] = {}
    """Expected number of rows, by length, subset, `subset/length` or `all`. A different
    number gives a warning. `estimate` uses these numbers; without them it assumes 2,000
    texts of each subset and length."""

    @property
    def texts_of_a_length(self) -> int | None:
        """The number of texts of each length, of both classes and all subsets; None if
        the keys do not say it."""
        return None


class FromHub(OnHub, BenchmarkEntry):
    """A data set of the Hugging Face hub, or the user's copy of its files."""

    @model_validator(mode="after")
    def _located(self) -> Self:
        if self.hub is None and self.path is None:
            raise ValueError(
                f"missing key 'hub' or 'path', which source {self.source} needs"
            )
        return self


class WithNeighbours(FromHub):
    """A data set that brings neighbours of its texts."""

    neighbours: Maybe[Count] = None
    """The number of neighbours of each text in the source. They are the view
    `neighbours-COUNT`."""


class TwoDraws(BenchmarkEntry):
    """Texts that are drawn for each class."""

    lengths: Lengths
    texts: Count
    """Texts of each class and length."""

    @property
    def texts_of_a_length(self) -> int | None:
        return 2 * self.texts


Loader = Callable[[Any, list[Path], int], list[Text]]
"""(the benchmark's entry, the files it reads, a seed) -> its texts, in the source's
order."""


class ReleasedVariant(NamedTuple):
    """A row of a released view. A text that has no variant there has one row without
    words.

    `where` is the place of the row. `label` is the label that this row, or its file,
    gives the text; None if neither does.
    """

    where: str
    text_id: str
    text: str
    label: int | None = None


ViewLoader = Callable[[Any, list[Path]], Mapping[str, Sequence[ReleasedVariant]]]
"""(the benchmark's entry, the files it reads) -> view -> a row for each variant of each
text, in order."""


LOADERS: dict[str, Loader] = {}
BENCHMARKS: dict[str, type[BenchmarkEntry]] = {"answers": BenchmarkEntry}


def loader(source: str) -> Callable[[Loader], Loader]:
    """Register a loader for the benchmarks with `source: <source>`; the class of their
    entries is that of its argument `entry`."""

    def register(function: Loader) -> Loader:
        BENCHMARKS[source] = get_annotations(function)["entry"]
        return register_source(LOADERS, source)(function)

    return register


VIEW_LOADERS: dict[str, ViewLoader] = {}


def view_loader(source: str) -> Callable[[ViewLoader], ViewLoader]:
    """Register a reader of the views that a source holds beside its texts, as
    paraphrases."""
    return register_source(VIEW_LOADERS, source)
