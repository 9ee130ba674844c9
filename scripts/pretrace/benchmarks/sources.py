"""What a loader gives, and the loaders by the source they read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Required

from pydantic import Field

from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.schema import Count, Hub, Keys, Language, Some, Sources, Span, Unique


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a benchmark, before folds are assigned.

    `label` is 1 for a member, 0 for a non-member, None where unknown; `length` counts words; `document` is ""
    where the source names none. `span` is the half-open range of words of the document that the text covers,
    where the source tells; without it, a document's texts are taken to be in the document's order.
    `repetitions` says how often a text stands in the training stream of a model that is trained on the members.
    `matched` names documents whose labels were drawn together, such as a pair of which one is the member: "" where
    a text's label was drawn by itself.
    `title`, `author` and `passage` (running number within the document and length) are those of a passage that
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


class Prefix(Keys, total=False):
    """Shots for methods with a prefix."""

    pool: Required[Count]
    """Shots of each class in a draw, the most that a run can ask for."""
    draws: Count
    """Draws (default, 1)."""
    seed: Annotated[int, Field(ge=0)]
    """Seed of the draws (default, 0)."""
    placebos: Annotated[int, Field(ge=0)]
    """So many draws more, numbered after the others, each with another member document as the non-members
    (default, 0)."""
    texts: Count
    """Texts of each class, subset and length that a draw is evaluated on, the only ones read after its shots
    (default, all that are left)."""


IMPORTED_VIEW = "^(paraphrase(_by_[A-Za-z0-9._-]+)?|neighbours-[1-9][0-9]*)$"


class YearsOf(Keys, total=False):
    """The addresses that play a class."""

    years: Required[Span]
    """First and last year, both included."""


class BenchmarkEntry(Keys, total=False):
    """What the entry of a benchmark can say. A loader may have a class of its own, with keys that it alone reads."""

    source: Required[str]
    """Which loader of `scripts/pretrace/benchmarks/loaders/` reads it; `answers`: no texts, documents and
    labels come with the answers of its models."""
    title: str
    """The name in tables and figures (default, the slug)."""
    access: str
    """Licence, and what is needed to fetch it."""
    language: Language
    """ISO 639-1 code (default, en); scripts without case have no rows of lowercase."""
    hub: Hub
    """The data set's id on the Hugging Face hub, as swj0419/WikiMIA."""
    revision: Some[str]
    """Of `hub`: a branch, tag or commit (default, main); the commit that it means is recorded."""
    hub_config: str
    """`mimir`: the one set whose splits are the subsets, as `temporal_arxiv` (default, the subsets are the
    sets); `dataset`: the configuration (default, the only one, or the one called `default`)."""
    neighbours: Count
    """`wikimia`, `mimir`: COUNT, how many neighbours of each text the source holds: the view
    `neighbours-COUNT`."""
    download: str
    """State of the Union and `peoples_daily`: a slug of `downloads.yaml`."""
    members: YearsOf
    """`sotu`, `sotu_temporal`, `sotu_questions`: `years: [first, last]` of the addresses that play the
    members."""
    nonmembers: YearsOf
    """The same of the non-members."""
    years: Span
    """`sotu_segments`: first and last year of the addresses."""
    texts: Count
    """`sotu`: snippets of each address; else texts of each class and length."""
    documents: Count
    """`sotu_questions`: sections of each class; `dolma_book`: books of each class."""
    passages: Count
    """`sotu_questions`: passages of each section and length."""
    lengths: Some[Unique[Count]]
    """Lengths in words; runs may choose among them."""
    subsets: Some[Unique[str]]
    """Names of its subsets; runs may choose among them."""
    path: str
    """A file or folder of your own that it is read from, relative to this file."""
    question: Literal["book", "book_llama", "book_authors", "paper", "speech"]
    """How its passages are asked about, by the wordings of `prompts/de_cop.yaml` (`book_authors`: with the
    format sentence of the authors' code, and the letter read at the second token); makes its texts passages
    of documents."""
    views: Some[dict[Annotated[str, Field(pattern=IMPORTED_VIEW)], str]]
    """Views that the benchmark brings, as `{paraphrase: paraphrases.jsonl}`: a file with the columns `id` (of
    the text), `text` and, if wanted, `variant` (0, 1, ...), relative to this file."""
    split: str
    """Draw the members and non-members of this other benchmark, so that a model trained on it fits (default,
    its own)."""
    prefix: Prefix
    """Shots of each class that are drawn for methods with a prefix: `pool`, `draws`, `seed`, `placebos`,
    `texts`; they and what overlaps them leave the sets `without_prefixes` and `balanced` (default, as many as
    runs ask for)."""
    pooled: bool
    """Evaluate the benchmark as a whole too, beside its subsets (a panel names it by `subset: ""`)."""
    caution: str
    """What must stand under every table and figure of its documents."""
    randomised: bool
    """Members were drawn at random within each document (and among texts without one), whatever the texts
    say: AUCs are also tested by relabelling there, a test that is exact."""
    rebuilt: bool
    """Its texts are not those of the paper that it is named after, so that published numbers are compared by
    intervals; on a released benchmark they must coincide, by the tolerances of artifact `reproduction`."""
    placebos: bool
    """All non-members come from one document: each document of the members is then evaluated in its place,
    and `blind_audit` and `placebos` rank the benchmark's own value among these."""
    expected: dict[str, Annotated[int, Field(ge=0)]]
    """Row counts to expect, by length, subset, `subset/length` or `all`; a difference is warned of.
    `compute_estimate` goes by it, and counts 2,000 texts of each subset and length without it."""


Loader = Callable[[Mapping[str, Any], list[Path], int], list[Text]]
"""(the benchmark's entry, the files it reads, a seed) -> its texts, in the source's order."""


ViewLoader = Callable[[Mapping[str, Any], list[Path]], Mapping[str, Mapping[str, list[str]]]]
"""(the benchmark's entry, the files it reads) -> view -> text id -> its variants, in order."""


class _Loaders(dict[str, Loader]):
    def __missing__(self, source: str) -> Loader:
        raise InputError(f"benchmarks have no source '{source}': {nearest(source, self)}")


LOADERS: dict[str, Loader] = _Loaders()
BENCHMARKS: Sources = {"answers": (BenchmarkEntry, ())}


def loader(
    source: str, *, needs: Sequence[str] = (), entry: type = BenchmarkEntry
) -> Callable[[Loader], Loader]:
    """Register a loader for the benchmarks whose entry says `source: <source>`.

    `needs` are the keys that such an entry cannot do without, as `lengths` or `hub or path`; `entry` is its
    class, where the loader reads keys that no other does.
    """

    def register(function: Loader) -> Loader:
        if source in LOADERS:
            raise ValueError(f"two loaders read '{source}'")
        LOADERS[source] = function
        BENCHMARKS[source] = entry, needs
        return function

    return register


VIEW_LOADERS: dict[str, ViewLoader] = {}


def view_loader(source: str) -> Callable[[ViewLoader], ViewLoader]:
    """Register what gives the views that a source holds beside its texts, as paraphrases."""

    def register(function: ViewLoader) -> ViewLoader:
        if source in VIEW_LOADERS:
            raise ValueError(f"two functions give the views of '{source}'")
        VIEW_LOADERS[source] = function
        return function

    return register
