"""What the commands' options take as numbers."""

import argparse


def count(written: str) -> int:
    """Return an option's whole number. Raises `ArgumentTypeError` below 1, which
    argparse tells with the option."""
    number = int(written)
    if number < 1:
        raise argparse.ArgumentTypeError("give a whole number from 1")
    return number
