"""Views that are stored tables, made once by a model or released with a benchmark; and
the texts that a pass reads."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from pretrace.benchmarks.columns import (
    Columns,
    Named,
    WholeNumber,
    Words,
    checked_row,
    only_of,
)
from pretrace.benchmarks.rows import rows
from pretrace.benchmarks.sources import ReleasedVariant
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, open_parquet, read_parquet, write_parquet
from pretrace.runtime.logs import log
from pretrace.seeds import seed_of
from pretrace.views.names import PARAPHRASES, VIEWS, View

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ViewTexts = Mapping[str, Sequence[str]]
"""Text id -> its variants, in order; a text may be missing."""


def schema() -> "pa.Schema":
    """Return the schema of results/views/{benchmark}/{view}.parquet."""
    import pyarrow as pa

    columns = {"text_id": pa.string(), "variant": pa.int32(), "text": pa.string()}
    return pa.schema(columns)


_UNMADE = b"unmade"
"""The key of a table's metadata that says why a view could not be made."""


_DRAWS = 12
"""Texts drawn with substituted words; the first three that differ are kept."""


def make_view(
    name: str, benchmark: "pd.DataFrame", checkpoint_json: Path, *, device: str = "auto"
) -> "pd.DataFrame":
    """Make the table of a model's view; columns as `schema()`, sorted.

    `neighbours_by_{model}-{count}`: by masking, where the checkpoint is a masked
    language model, else by its embedding table. `synonym_by_{model}-{percent}`: by its
    embedding table, one of each text. `substitution_by_{model}-{percent}`: three such
    texts that differ from each other and from the text, or as many as there are.
    """
    view = VIEWS[name]
    if view.source != "model":
        raise InputError(
            f"view '{name}' is not made by a model, so there is no table of it to make."
        )
    ids, texts = benchmark["text_id"].tolist(), benchmark["text"].tolist()
    seeds = [seed_of(name, id) for id in ids]
    made = _made(view, texts, seeds, Path(checkpoint_json), device)
    return _logged(name, dict(zip(ids, made, strict=True)), total=len(ids))


def _made(
    view: View, texts: list[str], seeds: list[int], checkpoint_json: Path, device: str
) -> list[list[str]]:
    from pretrace.models.checkpoint import read_checkpoint
    from pretrace.models.target import load_checkpoint
    from pretrace.models.tokens import load_tokenizer
    from pretrace.views.embeddings import (
        neighbours_by_embeddings,
        synonyms_by_embeddings,
    )
    from pretrace.views.masked import (
        is_masked,
        load_masked_model,
        neighbours_by_masked_model,
    )

    assert view.number is not None
    checkpoint = read_checkpoint(checkpoint_json)
    if is_masked(checkpoint):
        if view.family != "neighbours":
            raise InputError(
                f"view '{view.name}': {view.model} is a masked language model; it "
                "makes neighbours."
            )
        model = load_masked_model(checkpoint, device)
        tokenizer = load_tokenizer(checkpoint)
        return neighbours_by_masked_model(texts, model, tokenizer, view.number, seeds)
    target = load_checkpoint(checkpoint_json, dtype="float32", device="cpu")
    tokenizer = target.tokenizer
    embeddings = target.embeddings()
    if view.family == "neighbours":
        return neighbours_by_embeddings(
            texts, embeddings, tokenizer, view.number, seeds
        )
    drawn = _DRAWS if view.family == "substitution" else 1
    made = synonyms_by_embeddings(
        texts, embeddings, tokenizer, view.number, seeds, drawn
    )
    if view.family == "synonym":
        return made
    views = []
    for text, variants in zip(texts, made, strict=True):
        others = [variant for variant in dict.fromkeys(variants) if variant != text]
        views.append(others[:PARAPHRASES])
    return views


def computed_view(name: str, benchmark: "pd.DataFrame") -> "pd.DataFrame":
    """Make the table of a view that is a function of the text and of data of this
    machine, as WordNet's synonyms.

    Raises `InputError` if no text changes, as texts of another language do not.
    """
    view = VIEWS[name]
    variants = {}
    is_changed = False
    for text_id, text in zip(benchmark["text_id"], benchmark["text"], strict=True):
        variants[text_id] = view.variants(text, seed_of(name, text_id))
        is_changed |= variants[text_id] != [text]
    if not is_changed:
        raise InputError(
            f"view {name} changes none of {len(benchmark)} texts: they have no word "
            "with a synonym in WordNet, which is English, or are so short that the "
            "share is less than a word; leave the view out."
        )
    return _logged(name, variants, total=len(benchmark))


class ViewRow(Columns):
    """A row of a file with a view."""

    id: Named
    """the id of a text in the benchmark's table"""
    text: Words
    """a text with at least one word and without NUL characters"""
    variant: Annotated[int, WholeNumber, Field(ge=0)] | None = None
    """a whole number from 0; or leave the column out"""


def imported_view(name: str, benchmark: "pd.DataFrame", path: Path) -> "pd.DataFrame":
    """Read the table of a view in a file with the columns `id`, `text` and, optionally,
    `variant`.

    Without `variant`, a text's variants have the file's order. `InputError` names the
    line of a row that belongs to no text of the benchmark, has no text, or repeats a
    variant.
    """
    known = set(benchmark["text_id"])
    texts: dict[str, dict[int, str]] = {}
    for where, row in rows(path, only_of(ViewRow)):
        given = checked_row(where, row, ViewRow)
        if given["id"] not in known:
            raise InputError(
                f"{where}: id '{given['id']}' is not a text of the benchmark; give the "
                "ids of its table."
            )
        variants = texts.setdefault(given["id"], {})
        number = given.get("variant")
        number = len(variants) if number is None else number
        if number in variants:
            raise InputError(
                f"{where}: variant {number} of '{given['id']}' was given before; "
                "number them 0, 1, ..."
            )
        variants[number] = given["text"]
    ordered = {}
    for id, variants in texts.items():
        ordered[id] = [variants[number] for number in sorted(variants)]
    return _logged(name, ordered, total=len(known))


def view_of_source(
    name: str, benchmark: "pd.DataFrame", entry: JsonObject, sources: list[Path]
) -> "pd.DataFrame":
    """Read the table of a view that the benchmark's own source holds beside its texts,
    as arXivTection's paraphrases.

    Raises `InputError` if the source has no such view, or if its rows are not those of
    the benchmark's texts: a text is not the benchmark's, has another label, or has no
    row although others of its subset and length have.
    """
    from pretrace.benchmarks import released_view

    rows = released_view(name, entry, sources)
    _check_joined(name, rows, benchmark)
    variants: dict[str, list[str]] = {}
    for row in rows:
        if row.text.strip():
            variants.setdefault(row.text_id, []).append(row.text)
    return _logged(name, variants, total=len(benchmark))


def _check_joined(
    name: str, rows: Iterable[ReleasedVariant], benchmark: "pd.DataFrame"
) -> None:
    """Check that the rows of a released view belong to the benchmark's texts.

    Most releases name no text, so rows are joined to texts by their number. In another
    order, members would get the paraphrases of non-members, without an error.
    """
    remedy = (
        "Rows are joined to texts by their number, so the texts were built from "
        "another file, or one of both has another order. Fetch both again, or name a "
        "file of the view with the ids of the texts in the benchmark's entry, as "
        f"views: {{{name}: FILE}}."
    )
    known = benchmark[benchmark["label"].notna()]
    labels = dict(zip(known["text_id"], known["label"].astype(int), strict=True))
    text_ids = set(benchmark["text_id"])
    joined = set()
    for row in rows:
        joined.add(row.text_id)
        if row.text.strip() and row.text_id not in text_ids:
            raise InputError(
                f"{row.where}: view '{name}' has this row for '{row.text_id}', which "
                f"is not a text of the benchmark. {remedy}"
            )
        label = labels.get(row.text_id)
        if None not in (label, row.label) and label != row.label:
            raise InputError(
                f"{row.where}: view '{name}' has this row for '{row.text_id}' with "
                f"label {row.label}, and that text's label is {label}. {remedy}"
            )
    # a whole length or subset may have no view
    for _, part in benchmark.groupby(["subset", "length"], dropna=False)["text_id"]:
        without = sorted(set(part) - joined)
        if without and len(without) < len(part):
            raise InputError(
                f"view '{name}' has no row for '{without[0]}' ({len(without)} of "
                f"{len(part)} texts of its subset and length). {remedy}"
            )


def _logged(name: str, variants: ViewTexts, *, total: int) -> "pd.DataFrame":
    table = view_table(variants)
    without = total - table["text_id"].nunique()
    log.info(
        "view %s: %d texts in %d variants, %d texts without one",
        name,
        total,
        len(table),
        without,
    )
    return table


def view_table(variants: ViewTexts) -> "pd.DataFrame":
    """Make the table of a view: `text_id`, `variant` (from 0), `text`, sorted."""
    import pandas as pd

    rows = []
    for id, texts in variants.items():
        for number, text in enumerate(texts):
            rows.append((id, number, text))
    table = pd.DataFrame(rows, columns=["text_id", "variant", "text"])
    table = table.astype({"variant": "int32"})
    return table.sort_values(["text_id", "variant"], ignore_index=True)


def write_view(path: Path, make: Callable[[], "pd.DataFrame"]) -> None:
    """Write the table of a view that `make` returns, or an empty one that says why it
    could not be made.

    So a view that cannot be made takes along only what reads it: other passes and
    scores of its benchmark go on, and the tables and figures that show it are told to
    be incomplete.
    """
    try:
        table, reason = make(), None
    except InputError as error:
        log.error("%s could not be made: %s", path, error)
        table, reason = view_table({}), str(error)
    metadata = {_UNMADE: reason.encode()} if reason else None
    write_parquet(path, table, schema().with_metadata(metadata))


def unmade_reason(path: Path) -> str | None:
    """Return why a view could not be made, None if it was."""
    with open_parquet(path) as file:
        reason = (file.schema_arrow.metadata or {}).get(_UNMADE)
    return None if reason is None else reason.decode()


def read_views(paths: Sequence[str | Path]) -> dict[str, ViewTexts]:
    """Read stored views by name, and log which of them could not be made: they have no
    texts."""
    views: dict[str, ViewTexts] = {}
    for path in map(Path, paths):
        name = _name_of(path)
        variants = {}
        table = read_parquet(path).sort_values(["text_id", "variant"])
        for id, texts in table.groupby("text_id", sort=False)["text"]:
            variants[str(id)] = texts.tolist()
        views[name] = variants
        if reason := unmade_reason(path):
            log.warning(
                "view '%s' could not be made, so no text of it is read: %s",
                name,
                reason,
            )
    return views


def _name_of(path: Path) -> str:
    """Return a stored view's name: the file's, without the study's name before a model
    that a study defines."""
    return re.sub("(?<=_by_)[^~]+~", "", path.stem)


def view_texts(
    name: str,
    text_ids: Sequence[str],
    texts: Sequence[str],
    stored: Mapping[str, ViewTexts],
) -> Iterator[tuple[str, str]]:
    """Yield (text id, text) of the target texts in the view, its variant 0; texts
    without one are left out."""
    rendered = rendered_texts(text_ids, texts, view=name, altered="", stored=stored)
    for text_id, _, text in rendered:
        yield text_id, text


def rendered_texts(
    text_ids: Sequence[str],
    texts: Sequence[str],
    *,
    view: str,
    altered: str,
    stored: Mapping[str, ViewTexts],
) -> Iterator[tuple[str, int, str]]:
    """Yield (text id, variant, text) as a model reads it: each variant of the altered
    text of the target's view.

    The target's view is its variant 0. `stored` holds the stored views by name; a text
    that they lack is left out. A stored altered text was made of the unchanged texts:
    with another view of the target it raises `InputError`.
    """
    of_target, alteration = VIEWS[view], VIEWS[altered or "original"]
    if alteration.materialised and view != "original":
        raise InputError(
            f"view '{altered}' is made of the benchmark's own texts; it cannot be "
            f"combined with view '{view}'."
        )
    for text_id, text in zip(text_ids, texts, strict=True):
        seen = _variants(of_target, text, text_id, (view, text_id), stored)
        if not seen:
            continue
        seed = (alteration.name, view, text_id)
        variants = _variants(alteration, seen[0], text_id, seed, stored)
        for number, variant in enumerate(variants):
            yield text_id, number, variant


def _variants(
    view: View,
    text: str,
    text_id: str,
    seed: tuple[str, ...],
    stored: Mapping[str, ViewTexts],
) -> Sequence[str]:
    if not view.materialised:
        return view.variants(text, seed_of(*seed))
    if view.name not in stored:
        raise InputError(
            f"view '{view.name}' is a stored table, and it is not among this job's "
            "inputs."
        )
    return stored[view.name].get(text_id, ())
