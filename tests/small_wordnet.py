"""A few synsets in the format of WordNet's files (wndb(5WN)), as NLTK installs them."""

from collections.abc import Sequence
from pathlib import Path

SYNSETS = {
    "noun": [["citizen", "national", "subject"], ["city", "metropolis", "urban_center"],
             ["man", "adult_male", "chap"],
             ["will", "volition"], ["angstrom", "a"],
             ["glass", "tumbler"], ["glasses", "spectacles"]],
    "verb": [["build", "construct"], ["run", "go"], ["run", "operate"],
             ["hope", "trust"], ["hop", "jump"]],
    "adj": [["large", "big(a)"], ["good", "well(p)"]],
    "adv": [["happily", "merrily"]],
}  # fmt: skip
EXCEPTIONS = {"verb": "ran run\n", "noun": "men man\n"}


def write_wordnet(folder: Path, nouns: Sequence[list[str]] = ()) -> Path:
    """Write the synsets, and those of further `nouns`, into a folder; return it."""
    folder.mkdir(parents=True)
    for pos, synsets in {**SYNSETS, "noun": [*SYNSETS["noun"], *nouns]}.items():
        content, offsets = "  1 a licence in indented lines\n", {}
        for words in synsets:
            offset = len(content.encode())
            fields = " ".join(f"{word} 0" for word in words)
            content += (
                f"{offset:08d} 03 {pos[0]} {len(words):02x} {fields} 000 | a gloss; "
                f'"caf\u00e9"\n'
            )
            for word in words:
                offsets.setdefault(word.partition("(")[0], []).append(offset)
        (folder / f"data.{pos}").write_text(content, encoding="utf-8")
        index = "".join(
            f"{lemma} {pos[0]} {len(places)} 1 @ {len(places)} 0 "
            f"{' '.join(f'{offset:08d}' for offset in places)}  \n"
            for lemma, places in sorted(offsets.items())
        )
        (folder / f"index.{pos}").write_text("  1 a licence\n" + index)
        (folder / f"{pos}.exc").write_text(EXCEPTIONS.get(pos, ""))
    return folder
