"""The texts that loaders return, and the loaders by source."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from pretrace.benchmarks.slices import Slice
from pretrace.runtime.schema import (
    Count,
    Hub,
    Keys,
    Language,
    Maybe,
    Some,
    Sources,
    Span,
    Unique,
    registering,
)


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a benchmark, before folds are assigned.

    `label` is 1 for a member, 0 for a non-member, None if unknown; `length` counts words; `document` is "" if the
    source names none. `span` is the half-open range of words of the document that the text covers, if known;
    otherwise a document's texts are assumed to be in the document's order.
    `repetitions`: how often the text occurs in the training stream of a model trained on the members.
    `matched` names documents whose labels were drawn together, such as a pair with one member; "" if a text's label
    was drawn by itself.
    `title`, `author` and `passage` (running number within the document and length) belong to a passage that
    questions are asked about.
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

    @property
    def slice(self) -> Slice:
        return Slice(self.subset, self.length)


def cut(words: Sequence[str], start: int, length: int, **about: Any) -> Text:
    """`length` of a document's words from `start` on; `about` has the text's other fields, its id and label."""
    text = " ".join(words[start : start + length])
    return Text(text=text, length=length, span=(start, start + length), **about)


class Prefix(Keys):
    """Shots for methods with a prefix."""

    pool: Count
    """Shots of each class in a draw; runs can ask for at most this many."""
    draws: Count = 1
    """Number of draws."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the draws."""
    placebos: Annotated[int, Field(ge=0)] = 0
    """Number of further draws, numbered after the others; each takes another member document as the non-members."""
    texts: Maybe[Count] = None
    """Texts of each class, subset and length that are evaluated in a draw, and read after its shots (default, all
    remaining texts)."""


IMPORTED_VIEW = "^(paraphrase(_by_[A-Za-z0-9._-]+)?|neighbours-[1-9][0-9]*)$"


class YearsOf(Keys):
    """The addresses of one class."""

    years: Span
    """First and last year, both included."""


class BenchmarkEntry(Keys):
    """Keys of a benchmark. A loader may have a class of its own with further keys."""

    source: str
    """The loader in `scripts/pretrace/benchmarks/loaders/`; `answers`: no texts, the models' answers give documents
    and labels."""
    title: Maybe[str] = None
    """The name in tables and figures (default, the slug)."""
    access: Maybe[str] = None
    """Licence, and how to get access."""
    language: Language = "en"
    """ISO 639-1 code. The method `lowercase` needs a script with case."""
    hub: Maybe[Hub] = None
    """The data set's id on the Hugging Face hub, as swj0419/WikiMIA."""
    revision: Some[str] = "main"
    """A branch, tag or commit of `hub`. The commit is recorded."""
    hub_config: Maybe[str] = None
    """`mimir`: the one set whose splits are the subsets, as `temporal_arxiv` (default, the subsets are the sets);
    `dataset`: the configuration (default, the only one, or the one named `default`)."""
    neighbours: Maybe[Count] = None
    """`wikimia`, `mimir`: the number of neighbours of each text in the source. They are the view
    `neighbours-COUNT`."""
    download: Maybe[str] = None
    """Benchmarks of State of the Union addresses, `peoples_daily`, `verses`, `chapters`: a slug of `downloads.yaml`."""
    members: Maybe[YearsOf] = None
    """`sotu`, `sotu_temporal`, `sotu_questions`: the addresses of the members, as `years: [first, last]`."""
    nonmembers: Maybe[YearsOf] = None
    """`sotu`, `sotu_temporal`, `sotu_questions`: the addresses of the non-members."""
    years: Maybe[Span] = None
    """`sotu_segments`: first and last year of the addresses."""
    texts: Maybe[Count] = None
    """`sotu`: snippets of each address; other sources: texts of each class and length."""
    documents: Maybe[Count] = None
    """`sotu_questions`: sections of each class; `dolma_book`: books of each class."""
    passages: Maybe[Count] = None
    """`sotu_questions`: passages of each section and length."""
    lengths: Some[Unique[Count]] = []
    """Lengths in words. A run can choose some of them."""
    subsets: Some[Unique[str]] = []
    """Names of the subsets. A run can choose some of them."""
    path: Maybe[str] = None
    """Your own file or folder, relative to this file."""
    question: Maybe[Literal["book", "book_llama", "book_authors", "paper", "speech"]] = None
    """Makes the texts passages of documents that questions are asked about, with this wording in
    `prompts/de_cop.yaml`. `book_authors` uses the format sentence of the authors' code and reads the letter at the
    second token."""
    views: Some[dict[Annotated[str, Field(pattern=IMPORTED_VIEW)], str]] = {}
    """Views in files of your own, as `{paraphrase: paraphrases.jsonl}`. The columns are `id` (of the text), `text`
    and optionally `variant` (0, 1, ...). Relative to this file."""
    split: Maybe[str] = None
    """Draw the same members and non-members as this other benchmark, so that models trained on that one can read
    this one (default, its own draw)."""
    prefix: Maybe[Prefix] = None
    """Shots of each class for methods with a prefix: `pool`, `draws`, `seed`, `placebos`, `texts`. The sets
    `without_prefixes` and `balanced` leave out the shots and all texts that overlap them (default, the number of
    shots that runs ask for)."""
    pooled: bool = False
    """Evaluate all subsets together too. A panel shows this with `subset: ""`."""
    classes: Maybe[Annotated[list[Some[str]], Field(min_length=2, max_length=2)]] = None
    """Names of the texts with label 1 and label 0, where these are not members and non-members."""
    caution: Maybe[str] = None
    """A caution that is printed under every table and figure of its documents."""
    randomised: bool = False
    """Members were drawn at random within each document (and among texts without a document). AUCs then also get an
    exact permutation test."""
    rebuilt: bool = False
    """Its texts differ from those of the paper, so published numbers are compared by intervals. The numbers of a
    released benchmark must be equal, within the tolerances of artifact `reproduction`."""
    placebos: bool = False
    """All non-members come from one document. Every member document is then evaluated in its place, and
    `blind_audit` and `placebos` rank the benchmark's own value among these."""
    expected: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Expected number of rows, by length, subset, `subset/length` or `all`. A different number gives a warning.
    `compute_estimate` uses these numbers; without them it assumes 2,000 texts of each subset and length."""


Loader = Callable[[Any, list[Path], int], list[Text]]
"""(the benchmark's entry, the files it reads, a seed) -> its texts, in the source's order."""


ViewLoader = Callable[[Any, list[Path]], Mapping[str, Mapping[str, list[str]]]]
"""(the benchmark's entry, the files it reads) -> view -> text id -> its variants, in order."""


LOADERS: dict[str, Loader] = {}
BENCHMARKS: Sources = {"answers": (BenchmarkEntry, ())}


def loader(
    source: str, *, needs: Sequence[str] = (), entry: type[BenchmarkEntry] = BenchmarkEntry
) -> Callable[[Loader], Loader]:
    """Register a loader for the benchmarks whose entry says `source: <source>`.

    `entry` is the class of such an entry. `needs` are keys that it cannot do without beside those that the class
    requires, as `lengths` or `hub or path`.
    """

    BENCHMARKS[source] = entry, needs
    return registering(LOADERS, source)


VIEW_LOADERS: dict[str, ViewLoader] = {}


def view_loader(source: str) -> Callable[[ViewLoader], ViewLoader]:
    """Register what gives the views that a source holds beside its texts, as paraphrases."""

    return registering(VIEW_LOADERS, source)
