"""Letters in text, controls without a model, cloze passages, continuations and the file
of prompts."""

from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
import yaml

from pretrace.questions.answering import letter_in, split_units
from pretrace.questions.cloze import mask, matches, name_given
from pretrace.questions.controls import longest_option, odd_one_out
from pretrace.questions.job import similar
from pretrace.questions.prompts import Wording
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import read_keys, read_yaml

PROMPTS = Path(__file__).parents[2] / "config" / "prompts" / "de_cop.yaml"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"), ("B. It was", "B"), ("'b'", "B"), (" <C>", "C"), ("Answer: C", "C"),
        ("(d)", "D"),
        ("The correct answer is D.", "D"), ("A. Foo", "A"), ("**A**", "A"),
        ("", None), ("a passage", None), ("A passage like this", None),
        ("I think B", None), ("Because", None),
        ("None of them", None), ("D\u2019accord", None),
    ],
)  # fmt: skip
def test_a_letter_is_read_from_an_answer_in_words(text, letter):
    assert letter_in(text) == letter


def test_words_are_split_where_a_model_has_no_tokenizer_here():
    assert split_units("a b  c d e", 2) == ("a b", "c d")
    assert split_units("a b c", 2) is None


OPTIONS = ["one two three four", "two three, four FIVE", "six seven", "two three four"]


def overlap(words, other):
    """2 |A and B| / (|A| + |B|) of words that stand once each."""
    words = set(words.lower().replace(",", "").split())
    other = set(other.lower().replace(",", "").split())
    return Fraction(2 * len(words & other), len(words) + len(other))


def test_the_odd_one_out_is_least_like_the_others_wherever_it_stands():
    means = []
    for option in OPTIONS:
        means.append(
            sum(overlap(option, other) for other in OPTIONS if other is not option) / 3
        )
    assert min(means) == means[2] == 0
    for order in permutations(range(4)):
        assert order[odd_one_out([OPTIONS[place] for place in order])] == 2
    close = ["a b c", "a b d", "a b e", "a c d"]
    means = []
    for option in close:
        means.append(
            sum(overlap(option, other) for other in close if other is not option)
        )
    assert odd_one_out(close) == means.index(min(means)) == 2


def test_the_longest_option_has_the_most_words_and_ties_go_to_the_first():
    assert (
        longest_option(["one two", "a b c - - -", "extraordinarily lengthy", "x y z"])
        == 1
    )
    assert longest_option(["x y z", "one", "a b c", ""]) == 0


@pytest.mark.parametrize(
    ("text", "word", "masked", "kind"),
    [
        ("So Alice ran. Alice's cat saw Alice and Bob.", "Alice",
         "So [MASK] ran. [MASK]'s cat saw [MASK] and Bob.",
         "name"),
        # of equals the first
        ("He met Bob, then Ann.", "Bob", "He met [MASK], then Ann.", "name"),
        ("Turning, he saw the house of turning.", "house",
         "Turning, he saw the [MASK] of turning.", "noun"),
        ("They met Mr. Smith and Mr. Jones.", "Smith",
         "They met Mr. [MASK] and Mr. Jones.", "name"),
        ('He said, "Nobody knows." And then I went to the river.', "river",
         'He said, "Nobody knows." And then I went to the [MASK].', "noun"),
        ("In May we may go to Mayfield.", "Mayfield", "In May we may go to [MASK].",
         "name"),
    ],
)  # fmt: skip
def test_a_repeated_name_is_masked_wherever_it_stands_else_a_noun(
    text, word, masked, kind
):
    cloze = mask(text)
    assert cloze.word == word
    assert cloze.masked == masked
    assert cloze.kind == kind
    assert cloze.word not in cloze.masked.replace("[MASK]", "").split()


@pytest.mark.parametrize(
    "text", ["", "it was so", "Once, twice.", "12 + 3", "AND I THE"]
)
def test_a_passage_without_name_or_noun_is_skipped(text):
    assert mask(text) is None


def test_an_answer_names_the_word_but_for_case_and_punctuation():
    assert matches("<name>Alice</name> is it", "Alice")
    assert matches(" alice's.\nInput:", "Alice")
    assert matches("<name>ALICE", "Alice")
    assert not matches("<name>Alice Smith</name>", "Alice")
    assert not matches("", "Alice")
    assert matches("E\u0301mile", "\u00c9mile")
    assert name_given("  \n") == ""


def test_a_continuation_matches_above_80_of_100():
    true = "the quick brown fox jumps over the lazy dog"
    assert similar("The quick, brown fox jumps over the lazy dog!", true)
    assert similar("lazy dog the jumps over the quick brown fox", true)
    assert not similar("a slow red hen walks under the eager cat", true)
    # 8 of 10 letters in place: 80 exactly is not above 80
    assert not similar("abcdefghxy", "abcdefghij")
    assert similar("abcdefghix", "abcdefghij")


def test_the_papers_prompt_is_sent_as_printed():
    wording = read_keys(PROMPTS, Wording)
    prompt = wording.de_cop.prompt(
        "book", "Dune", "Frank Herbert", ["one", "t{w}o", "three", "four"]
    )
    assert prompt.plain == (
        "You are entering a multiple choice questions exam. You should directly "
        "answer each question by choosing the "
        "correct option. Be concise and straight to the point in your answer. "
        "Output only the letter corresponding to "
        "the correct answer.\n\n"
        'Question: Which of the following passages is verbatim from the "Dune" '
        "book by Frank Herbert?\nOptions:\n"
        "A. one\nB. t{w}o\nC. three\nD. four\n\nAnswer:"
    )
    assert (
        'from the arXiv paper "T"?'
        in wording.de_cop.prompt("paper", "T", "", list("abcd")).user
    )
    authors = wording.de_cop.prompt("book_authors", "T", "A", list("abcd"))
    # B_INST + B_SYS + DEFAULT_SYSTEM_PROMPT + E_SYS + instruction + E_INST of its
    # 2_decop_hf.py
    assert authors.plain == (
        f"[INST]<<SYS>>\n{prompt.system}\n\nFormat your answer as '<correct "
        f"letter>'.\n<</SYS>>\n\n"
        'Question: Which of the following passages is verbatim from the "T" book '
        "by A?\nOptions:\n"
        "A. a\nB. b\nC. c\nD. d\n\nAnswer:[/INST]"
    )
    assert [prompt.templated, authors.templated] == [False, True]
    assert prompt.written == 0
    assert authors.written == 1
    smallest = wording.de_cop.prompt("book_authors_7b", "T", "A", list("abcd"))
    printed = wording.de_cop.prompt("book_printed", "T", "A", list("abcd"))
    assert (
        f"{prompt.system}\n\nFormat your answer as '<put correct answer "
        "here>.'\n<</SYS>>" in smallest.plain
    )
    assert (
        printed.system
        == f"{prompt.system}\n\nFormat your answer as '<put correct answer here>'."
    )
    assert smallest.written == 2
    assert printed.written == 0
    assert 'from the "T" book by A?' in smallest.user
    assert 'from the "T" by A?' in printed.user
    assert (
        'from the "T" by A?'
        in wording.de_cop.prompt("book_llama", "T", "A", list("abcd")).user
    )
    assert (
        wording.completion.prompt("We, the people", chat=False).plain
        == "We, the people"
    )
    assert wording.completion.prompt("We, the people", chat=True).user.endswith(
        "\n\nWe, the people"
    )
    assert '"So [MASK] ran."' in wording.name_cloze.prompt(mask("So Alice ran.")).user


@pytest.mark.parametrize(
    ("section", "key", "text", "words"),
    [
        ("de_cop", "user", "{question} {A} {B} {C}", "'{D}' is missing"),
        (
            "completion",
            "plain",
            "{prefix} {title}",
            "'{title}' is not a placeholder of this text",
        ),
        (
            "completion",
            "chat",
            "{prefix",
            "de_cop.yaml: completion.chat|completion.chat",
        ),
        ("name_cloze", "noun", 3, "name_cloze.noun: the number 3 where text is needed"),
        ("de_cop", "question", {"book": "{author}"}, "'{title}' is missing"),
        ("de_cop", "question", {}, "A map from kinds"),
        (
            "de_cop",
            "format",
            {"boks": {"sentence": "So.", "written": 1}},
            "no question 'boks': did you mean",
        ),
        (
            "de_cop",
            "format",
            {"book": {"sentence": "So."}},
            "format.book: missing key 'written'",
        ),
        (
            "de_cop",
            "format",
            {"book": {"sentence": "{A}", "written": 1}},
            "'{A}' is not a placeholder",
        ),
        ("name_cloze", "user", None, "name_cloze.user: nothing where text is needed"),
    ],
)
def test_a_wrong_file_of_prompts_is_named_by_its_key(
    tmp_path, section, key, text, words
):
    given = read_yaml(PROMPTS)
    given[section][key] = text
    (tmp_path / "de_cop.yaml").write_text(yaml.safe_dump(given))
    with pytest.raises(InputError, match=words):
        read_keys(tmp_path / "de_cop.yaml", Wording)
    del given[section]
    (tmp_path / "de_cop.yaml").write_text(yaml.safe_dump(given))
    with pytest.raises(InputError, match=f"missing key '{section}'"):
        read_keys(tmp_path / "de_cop.yaml", Wording)
