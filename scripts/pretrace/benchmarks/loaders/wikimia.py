"""WikiMIA and WikiMIA-24 as they are on the hub: a split for each length, columns `input` and `label`.

Shi et al., Detecting Pretraining Data from Large Language Models, ICLR 2024; the paraphrased and perturbed texts:
Zhang et al., Min-K%++, ICLR 2025 (`WikiMIA_length{n}_paraphrased`: one a text, `_perturbed`: several, in order).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pretrace.benchmarks.loaders.local import texts
from pretrace.benchmarks.rows import files_of_split
from pretrace.benchmarks.sources import Lengths, Text, WithNeighbours, loader, view_loader
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Hub, Maybe, Some


class WikiMia(WithNeighbours):
    """WikiMIA or WikiMIA-24, as its authors released it."""

    lengths: Lengths
    views_hub: Maybe[Hub] = None
    """The data set with its paraphrased and perturbed texts: the views `paraphrase` and `neighbours-COUNT`."""
    views_revision: Some[str] = "main"
    """A branch, tag or commit of `views_hub`."""

    def repositories(self) -> dict[str, str]:
        views = {} if self.views_hub is None else {"views_revision": self.views_hub}
        return super().repositories() | views


@loader("wikimia", entry=WikiMia)
def load(entry: WikiMia, sources: list[Path], seed: int) -> list[Text]:
    """The texts of every length of the entry, numbered within it; a length that is not there is an error."""
    found = []
    for length in entry.lengths:
        rows = list(_rows(sources[0], f"WikiMIA_length{length}"))
        if not rows:
            raise InputError(
                f"{sources[0]} has no split WikiMIA_length{length}, which lengths of the benchmark names."
            )
        found += [
            replace(row, text_id=_id(length, number), length=length, subset="", document="")
            for number, row in enumerate(rows)
        ]
    return found


@view_loader("wikimia")
def views(entry: WikiMia, sources: list[Path]) -> Mapping[str, Mapping[str, list[str]]]:
    """`paraphrase`, and `neighbours-{count}` where the entry says how many there are; of the lengths that have them."""
    paraphrases: dict[str, list[str]] = {}
    neighbours: dict[str, list[str]] = {}
    for length in entry.lengths:
        rewritten = list(_rows(sources[0], f"WikiMIA_length{length}_paraphrased"))
        changed = list(_rows(sources[0], f"WikiMIA_length{length}_perturbed"))
        if not rewritten:
            log.info("%s: no paraphrased texts of length %d", sources[0], length)
            continue
        if len(changed) % len(rewritten):
            raise InputError(
                f"{sources[0]}: {len(changed)} perturbed texts of length {length} are not as many for each of "
                f"{len(rewritten)}; fetch them again."
            )
        count = len(changed) // len(rewritten)
        if count != entry.neighbours:
            log.warning(
                "%d neighbours of each text of length %d, but the entry's neighbours is %s",
                count, length, entry.neighbours,
            )  # fmt: skip
        for number, row in enumerate(rewritten):
            paraphrases[_id(length, number)] = [row.text]
            neighbours[_id(length, number)] = [
                one.text for one in changed[number * count : (number + 1) * count]
            ]
    return {"paraphrase": paraphrases, f"neighbours-{entry.neighbours}": neighbours}


def _rows(source: Path, split: str) -> Iterator[Text]:
    for path in files_of_split(source, split):
        yield from texts(path)


def _id(length: int, number: int) -> str:
    return f"{length:03d}-{number:05d}"
