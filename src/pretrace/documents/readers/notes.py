"""What is left out in every format: notes, by the words and signs that formats call
them by, readings of characters, deleted text."""

import re

NOTE_MARK = re.compile(
    r"[\[(]?(?:\d{1,4}|[*\u2020\u2021\u00a7\u00b6]{1,4}|[a-z]|[ivx]{1,6})[\])]?\.?"
)
"""The number or sign of a note, as it stands in the text and before the note."""

BRACKETED_MARK = re.compile(
    r"[\[(](?:\d{1,4}|[*\u2020\u2021\u00a7\u00b6]{1,4}|[a-z])[\])]"
)
"""A note's number that needs no other sign, such as a smaller letter, to be known
by."""

NOTE_NAME = re.compile(
    r"(?:sd|mso)?(?:foot|end|rear|side)-?notes?(?:text|list|body)?\d*"
    r"|(?:sd|mso)?(?:foot|end)-?note-?\d*(?:ref|anchor|anc|sym|link|call)\w*"
    r"|note-?ref|fn-?(?:anchor|ref)|doc-(?:footnote|endnotes?|noteref)"
)
"""A role, class or name of a tag that holds a note, or its number."""

NOTE_TYPE = re.compile(rf"notes?|{NOTE_NAME.pattern}")
"""The same of a type, which is given for this purpose alone."""

GAP = "\x01"
"""What a reader puts where text within a paragraph is left out; no text has it."""

UNSEEN = ""
"""What is left out and not told, because nobody sees it."""

EQUATIONS = "equations"
"""What is left out, and told, because it is no text."""

NOTES, READINGS, DELETED = "notes", "readings beside characters", "deleted text"
"""What is left out, as it is told: notes with their numbers; furigana and other ruby;
what changes took out."""


def close_gaps(text: str) -> str:
    """Take the gaps out of a text; of the blanks before and after one, one stays."""
    return re.sub(rf"(?<!\S)(?:{GAP}+ )+|{GAP}", "", text)
