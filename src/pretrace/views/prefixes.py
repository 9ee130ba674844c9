"""Prefixes: passages of each class drawn from a benchmark, and what stays to be
evaluated without them.

Xie et al., ReCaLL: Membership Inference via Relative Conditional Log-Likelihoods, EMNLP
2024; Wang et al., Con-ReCall: Detecting Pre-training Data in LLMs via Contrastive
Decoding, 2024, appendix B.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.benchmarks.rows import Row
from pretrace.benchmarks.subsets_and_lengths import Slice, of_length, whole_numbers
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet, read_parquet_if_given
from pretrace.runtime.logs import log
from pretrace.seeds import seed_of
from pretrace.views.readings import PREFIX_KINDS, ZERO_ACCESS, PassKey, Shots
from pretrace.views.stored import ViewTexts, view_texts
from pretrace.views.words import is_chinese

if TYPE_CHECKING:
    import pandas as pd

EVALUATED = "evaluated"
"""The kind of the texts that a draw is evaluated on, where the benchmark names how many
or has the authors' draw; else all that are left are evaluated."""

PREFIX_COLUMNS = [
    "draw", "nonmembers", "subset", "length", "kind", "position", "text_id",
]  # fmt: skip
"""`nonmembers`: the document that replaces the non-members in this draw; "" for the
benchmark's own labels."""

TextById = dict[str, str]
"""Text id -> text, of one class, subset and length."""


def draw_prefixes(
    benchmark: "pd.DataFrame",
    *,
    pool: int,
    draws: int,
    seed: int,
    placebos: int = 0,
    texts: int | None = None,
    authors_draw: bool = False,
) -> "pd.DataFrame":
    """Draw shots (columns: PREFIX_COLUMNS): for each draw `pool` texts of each class in
    each subset, in drawn order.

    If every text of the longest length begins with a text of each shorter length, the
    longest texts are drawn and shorter lengths use their beginnings; otherwise each
    length has its own draw. Equal texts are drawn once. The order of a draw depends
    only on the seed, the draw and the text ids. `placebos`: the number of further
    draws; each uses another member document as the non-members. `texts`: the number of
    texts of each class that the draw is evaluated on (default: all that are left).
    `authors_draw`: draw 0 is as in Con-ReCall's released code, and evaluated on what
    its shuffle leaves, in that order. `InputError` if a class has too few texts.
    """
    import pandas as pd

    rows = []
    documents = [""] * draws + _placebo_documents(benchmark, placebos, seed)
    for draw, nonmembers in enumerate(documents):
        labelled = with_nonmembers(benchmark, nonmembers) if nonmembers else benchmark
        subsets = labelled["subset"].astype(str)
        for subset, of_subset in labelled.groupby(subsets, sort=True):
            if authors_draw and draw == 0:
                drawn = [*_authors_draw(of_subset, str(subset), pool)]
            else:
                drawn = [*_shots(of_subset, str(subset), pool, (seed, draw))]
                if texts:
                    drawn += _evaluation_texts(of_subset, drawn, texts, seed)
            keys = {"draw": draw, "nonmembers": nonmembers, "subset": subset}
            for row in drawn:
                rows.append(keys | row)
    frame = pd.DataFrame(rows, columns=PREFIX_COLUMNS).astype({"length": "Int64"})
    return frame.sort_values(PREFIX_COLUMNS[:-1], ignore_index=True)


def with_nonmembers(benchmark: "pd.DataFrame", document: str) -> "pd.DataFrame":
    """Return the members' texts, with one document's labelled as non-members: its label
    is all that tells it apart."""
    members = benchmark[benchmark["label"].eq(1)]
    label = members["document"].ne(document).astype("Int64")
    return members.assign(label=label)


def _placebo_documents(benchmark: "pd.DataFrame", count: int, seed: int) -> list[str]:
    """Return the documents of `count` placebos: by name, or drawn from more."""
    members = benchmark[benchmark["label"].eq(1)]
    documents = sorted(set(members["document"]) - {""})
    if len(documents) < count:
        raise InputError(
            f"{count} placebos are asked for, and the members come from "
            f"{len(documents)} documents; lower `placebos` under the benchmark's key "
            "prefix."
        )
    return sorted(_order(documents, "placebo", seed)[:count])


def _shots(
    of_subset: "pd.DataFrame", subset: str, pool: int, seed: tuple[int, int]
) -> Iterator[Row]:
    for kind, label in PREFIX_KINDS.items():
        of_class = of_subset[of_subset["label"].eq(label)]
        by_length = _by_length(of_class)
        where = texts_of_kind(kind, subset)
        if not by_length:
            raise InputError(
                f"there are no {where}; a prefix needs texts of both classes."
            )
        leading = _beginnings(by_length)
        if seed[1] == 0:
            draws = "one draw for all lengths" if leading else "a draw a length"
            log.info("prefixes: %s: %s", where, draws)
        chosen: list[str] = []
        for length, texts in by_length.items():
            if not (chosen and leading):
                check_pool(pool, len(texts), where, length)
                chosen = _order(texts, "prefix", *seed)[:pool]
            ids = [leading[length][id] for id in chosen] if leading else chosen
            yield from _rows(length, kind, ids)


def texts_of_kind(kind: str, subset: str) -> str:
    """Name the texts of a class, `member` or `nonmember`, in messages."""
    return f"{kind} texts of {subset}" if subset else f"{kind} texts"


def check_pool(pool: int, count: int, where: str, length: int | None) -> None:
    """Raise `InputError` if a pool of shots leaves none of `count` texts of a class
    to evaluate; `where` names them."""
    if count <= pool:
        texts = f"{count} of length {length}" if length else f"{count}"
        raise InputError(
            f"a pool of {pool} {where} leaves none of the {texts} to evaluate; lower "
            "`pool` under the benchmark's key prefix, or ask for fewer shots."
        )


def _authors_draw(of_subset: "pd.DataFrame", subset: str, pool: int) -> Iterator[Row]:
    """Draw as Con-ReCall's code: random.seed(42), the members of a length shuffled,
    then its non-members.

    The first texts are the shots, the others are evaluated in the order of the shuffle.
    The code shuffles texts in the order of their source, which ids that are running
    numbers keep; it looks for no text that equals or overlaps a shot.
    """
    for length in dict.fromkeys(whole_numbers(of_subset["length"])):
        # the code seeds anew for each length
        rng = random.Random(42)
        texts = of_subset[of_length(of_subset, length)]
        for kind, label in PREFIX_KINDS.items():
            ids = sorted(texts.loc[texts["label"].eq(label), "text_id"])
            check_pool(pool, len(ids), texts_of_kind(kind, subset), length)
            rng.shuffle(ids)
            yield from _rows(length, kind, ids[:pool])
            yield from _rows(length, EVALUATED, ids[pool:])
        unlabelled = texts.loc[texts["label"].isna(), "text_id"]
        yield from _rows(length, EVALUATED, sorted(unlabelled))


def _evaluation_texts(
    of_subset: "pd.DataFrame", shots: Iterable[Row], texts: int, seed: int
) -> Iterator[Row]:
    """Yield `texts` of each class and length that overlap no shot; the same in all
    draws where possible."""
    overlapping = overlapping_ids(of_subset, [row["text_id"] for row in shots])
    left = of_subset[~of_subset["text_id"].isin(overlapping)]
    for (length, label), cell in left.groupby(["length", "label"], dropna=False):
        if len(cell) < texts:
            raise InputError(
                f"{texts} texts of label {label} and length {length} are to be "
                f"evaluated, and beside the shots there are {len(cell)}; lower `texts` "
                "or `pool` under the benchmark's key prefix."
            )
        ordered = _order(cell["text_id"], EVALUATED, seed)
        yield from _rows(length, EVALUATED, ordered[:texts])


def _rows(length: Any, kind: str, ids: Iterable[str]) -> Iterator[Row]:
    for position, text_id in enumerate(ids):
        yield {"length": length, "kind": kind, "position": position, "text_id": text_id}


def _by_length(texts: "pd.DataFrame") -> dict[int | None, TextById]:
    """Group texts by length, longest first, without repeats."""
    once = texts.sort_values("text_id").drop_duplicates(["length", "text"])
    groups = {}
    for length in sorted(
        set(whole_numbers(once["length"])), key=lambda length: -(length or 0)
    ):
        own = once[of_length(once, length)]
        groups[length] = dict(zip(own["text_id"], own["text"], strict=True))
    return groups


def _beginnings(
    by_length: Mapping[int | None, TextById],
) -> dict[int | None, dict[str, str]]:
    """Return length -> id of each longest text -> id of the text that it begins with;
    {} if one has none."""
    longest, *shorter = by_length
    of_itself = {id: id for id in by_length[longest]}
    leading = {longest: of_itself}
    for length in shorter:
        starts = {text: id for id, text in by_length[length].items()}
        sizes = sorted({len(text) for text in starts}, reverse=True)
        beginnings = {}
        for id, text in by_length[longest].items():
            for size in sizes:
                if text[:size] in starts and _ends(text, size):
                    beginnings[id] = starts[text[:size]]
                    break
            else:
                return {}
        leading[length] = beginnings
    return leading


def _ends(text: str, size: int) -> bool:
    """Return whether a word ends at that place of the text."""
    return size >= len(text) or text[size].isspace() or is_chinese(text)


def _order(text_ids: Iterable[str], *seed: Any) -> list[str]:
    """Sort ids by a seed; the order of two texts depends on no third one."""
    return sorted(text_ids, key=lambda id: (seed_of(*seed, id), id))


def _drawn_ids(prefixes: "pd.DataFrame", draw: int, *kinds: str) -> list[str]:
    is_drawn = prefixes["draw"].eq(draw) & prefixes["kind"].isin(kinds)
    return prefixes.loc[is_drawn, "text_id"].tolist()


OVERLAP = 13
"""Words in a row (characters, in Chinese) that two texts of a document share only where
they overlap."""


def overlapping_ids(benchmark: "pd.DataFrame", text_ids: Iterable[str]) -> set[str]:
    """Return the ids of the given texts and of every text that overlaps one of them.

    Texts of one document overlap if they share OVERLAP words in a row, or all words of
    the shorter one. If one of two texts names no document, they overlap if one contains
    the other. Equal texts always overlap.
    """
    given = benchmark[benchmark["text_id"].isin(set(text_ids))]
    runs: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    whole = defaultdict(list)
    for document, text in zip(given["document"], given["text"], strict=True):
        spaced = _space_words(text)
        runs[document].update(_runs(spaced))
        whole[document].append(spaced)
    everything = []
    for texts in whole.values():
        everything += texts
    equal = set(given["text"])

    def overlaps(text: str, document: str) -> bool:
        if text in equal:
            return True
        own = _space_words(text)
        if document and runs[document] and not runs[document].isdisjoint(_runs(own)):
            return True
        others = [*whole[document], *whole[""]] if document else everything
        return any(own in other or other in own for other in others)

    ids = set()
    columns = benchmark[["text_id", "text", "document"]]
    for id, text, document in columns.itertuples(index=False):
        if overlaps(text, document):
            ids.add(id)
    return ids


def _space_words(text: str) -> str:
    """Return the words of a text, or Chinese characters, with a space before and after
    each."""
    words = text.split()
    units = "".join(words) if is_chinese(text) else words
    return f" {' '.join(units)} "


def _runs(spaced: str) -> Iterator[tuple[str, ...]]:
    units = tuple(spaced.split(" ")[1:-1])
    for start in range(len(units) - OVERLAP + 1):
        yield units[start : start + OVERLAP]


def excluded_ids(
    prefixes: "pd.DataFrame", benchmark: "pd.DataFrame", draw: int
) -> set[str]:
    """Return the ids of the draw's whole pool and of every text overlapping it."""
    return overlapping_ids(benchmark, _drawn_ids(prefixes, draw, *PREFIX_KINDS))


def evaluated_ids(
    prefixes: "pd.DataFrame", benchmark: "pd.DataFrame", draw: int
) -> set[str]:
    """Return the ids that a draw is evaluated on, the only ones that are read after its
    prefixes."""
    named = _drawn_ids(prefixes, draw, EVALUATED)
    if named:
        return set(named)
    return set(benchmark["text_id"]) - excluded_ids(prefixes, benchmark, draw)


def balanced_ids(
    prefixes: "pd.DataFrame",
    benchmark: "pd.DataFrame",
    draw: int,
    evaluated: Collection[str],
) -> set[str]:
    """Return of the evaluated ids as many of each class: the larger class is cut, in an
    order of the draw.

    Cut within each subset and length, as Con-ReCall's code pairs a shuffled member with
    each shuffled non-member, in the order of the draw's evaluated texts if it has them.
    """
    left = benchmark[benchmark["text_id"].isin(evaluated)]
    order = _drawn_ids(prefixes, draw, EVALUATED)
    if not order:
        drawn = _drawn_ids(prefixes, draw, *PREFIX_KINDS)
        order = _order(left["text_id"], "balanced", *drawn)
    places = {id: place for place, id in enumerate(order)}
    chosen = set()
    for _, cell in left.groupby(["subset", "length"], dropna=False):
        classes = []
        for label in PREFIX_KINDS.values():
            ids = cell.loc[cell["label"].eq(label), "text_id"]
            classes.append(sorted(ids, key=places.__getitem__))
        smaller = min(map(len, classes))
        for ordered in classes:
            chosen.update(ordered[:smaller])
    return chosen


def shot_texts(
    shots: Shots,
    texts: Slice,
    benchmark: "pd.DataFrame",
    prefixes: "pd.DataFrame | None",
    *,
    view: str = "original",
    stored: Mapping[str, ViewTexts] | None = None,
    completions: "pd.DataFrame | None" = None,
) -> list[str]:
    """Return the texts of the shots before the texts of a slice, in order; `SEPARATORS`
    has what joins them.

    `prefixes` as `draw_prefixes` gives them. `view` is the target texts': the shots go
    through it where the prefix is manipulated, with `stored` views as for the targets.
    `completions` as `zero_access.complete` gives them. `InputError` where fewer shots
    were drawn.
    """
    prefix = shots.prefix
    if prefix.kind == ZERO_ACCESS:
        if completions is None:
            raise InputError(
                "zero-access shots are asked for, and the target's completions are not "
                "among the inputs."
            )
        rows = completions[of_length(completions, texts.length)].sort_values("position")
        positions = rows["position"].astype(str)
        available = dict(zip(positions, rows["text"], strict=True))
    elif prefixes is None:
        raise InputError(
            f"{prefix.kind} shots are asked for, and no prefixes are among the inputs."
        )
    else:
        available = _passages(prefixes, benchmark, shots, texts)
        if prefix.manipulated:
            originals = list(available.values())
            seen = dict(view_texts(view, list(available), originals, stored or {}))
            if lacking := sorted(available.keys() - seen.keys()):
                raise InputError(
                    f"view '{view}' has no text of '{lacking[0]}', which is a shot of "
                    f"{prefix.name}."
                )
            available = seen
    if len(available) < shots.count:
        raise InputError(
            f"{shots.count} {prefix.kind} shots of length {texts.length} are asked "
            f"for, and draw {shots.draw} has {len(available)}; raise `pool` under the "
            "benchmark's key prefix, or ask for fewer shots."
        )
    return list(available.values())[: shots.count]


def _passages(
    prefixes: "pd.DataFrame", benchmark: "pd.DataFrame", shots: Shots, texts: Slice
) -> TextById:
    of_draw = prefixes["draw"].eq(shots.draw) & prefixes["kind"].eq(shots.prefix.kind)
    drawn = prefixes[of_draw & texts.rows(prefixes)].sort_values("position")
    ids = drawn["text_id"]
    is_drawn = benchmark["text_id"].isin(ids)
    passages = benchmark[is_drawn].set_index("text_id")["text"]
    return {id: passages[id] for id in ids}


ShotTexts = Callable[[PassKey], Sequence[str]]
"""A pass with shots -> the texts of the shots, first to last.

Gives at least `shots.count` texts, and for fewer shots the first of those for more.
"""


def shots_reader(
    benchmark: "pd.DataFrame",
    prefixes: str | Path | None,
    completions: str | Path | None,
    stored: Mapping[str, ViewTexts],
) -> ShotTexts:
    """Return a function that gives the texts of the shots of a reading, from the files
    of a job.

    `prefixes` and `completions` are files, or nothing where no pass asks for such
    shots.
    """
    drawn = read_parquet_if_given(prefixes)
    completed = read_parquet_if_given(completions)

    def read(key: PassKey) -> list[str]:
        shots = key.reading.shots
        assert shots
        return shot_texts(
            shots,
            key.slice,
            benchmark,
            drawn,
            view=key.reading.view,
            stored=stored,
            completions=completed,
        )

    return read


def evaluated_reader(
    benchmark: "pd.DataFrame", prefixes: str | Path | None
) -> Callable[[int], set[str]] | None:
    """Return a function from a draw to the ids of the texts that it is evaluated on;
    None if no file is given."""
    if not prefixes:
        return None
    drawn = read_parquet(prefixes)
    return lambda draw: evaluated_ids(drawn, benchmark, draw)
