"""Draw at random what a book publishes, and write a key for a test that needs no
assumption (docs/canaries.md).

pretrace key canaries --count 20 --twins 19 --words-from my_book.txt --out my_canaries
pretrace key wordings passages.jsonl --out my_wordings
"""

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from pretrace.audit.canary_keys import (
    TEMPLATE,
    Drawn,
    draw_canaries,
    draw_wordings,
    templates_of,
    words_of_list,
    words_of_text,
    write_key,
)
from pretrace.commands.numbers import count
from pretrace.runtime.errors import InputError


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="pretrace key",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    canaries = commands.add_parser(
        "canaries", help="random sentences, each with private twins"
    )
    canaries.add_argument(
        "--count", type=count, required=True, help="canaries to publish"
    )
    canaries.add_argument(
        "--twins", type=count, default=19, help="private twins of each (default, 19)"
    )
    source = canaries.add_mutually_exclusive_group(required=True)
    source.add_argument("--words", type=Path, help="a file with one word a line")
    source.add_argument("--words-from", type=Path, help="a text whose words are drawn")
    canaries.add_argument(
        "--templates",
        type=Path,
        help="a file with one sentence a line, {word} for each random word "
        "(default, twelve random words)",
    )
    wordings = commands.add_parser(
        "wordings", help="one of several wordings of each passage"
    )
    wordings.add_argument(
        "passages",
        type=Path,
        help="JSONL, CSV or Parquet: document, wording_1, wording_2, ...",
    )
    for command in (canaries, wordings):
        command.add_argument(
            "--out",
            type=Path,
            required=True,
            help="a folder for publish.txt and key.jsonl",
        )
    return parser.parse_args(arguments)


def drawn_from(
    options: argparse.Namespace, rng: random.Random
) -> tuple[list[Drawn], list[str]]:
    """Draw the texts; return them, and where each published one goes."""
    if options.command == "wordings":
        passages = draw_wordings(options.passages, rng)
        return passages, [passage.name for passage in passages]
    if options.words:
        words = words_of_list(options.words)
    else:
        words = words_of_text(options.words_from)
    templates = templates_of(options.templates) if options.templates else [TEMPLATE]
    canaries = draw_canaries(words, templates, options.count, options.twins, rng)
    places = []
    for number, canary in enumerate(canaries, 1):
        share = 100 * number / (options.count + 1)
        places.append(f"{canary.name}, after about {share:.0f} % of the book")
    return canaries, places


def main(arguments: Sequence[str]) -> None:
    """Draw, write what is published and the private key, and print where they are."""
    options = options_of(arguments)
    try:
        drawn, places = drawn_from(options, random.SystemRandom())
        digest = write_key(drawn, options.out, places)
    except InputError as error:
        sys.exit(f"error: {error}")
    private = sum(len(document.texts) - 1 for document in drawn)
    public_file = options.out / "publish.txt"
    key_file = options.out / "key.jsonl"
    print(f"{len(drawn)} texts to publish: {public_file}")
    print(f"{private} private texts and the key, which stays private: {key_file}")
    print(f"SHA-256 of the key: {digest}")
