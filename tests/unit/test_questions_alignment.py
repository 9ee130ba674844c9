"""The words of a work that an answer gives back: against a search that tries every pair
of places."""

import random

import pytest

from made_up_books import prose
from pretrace.questions.alignment import SIZES, IndexedWork, words_of

WORK = prose(1200, "a work")
UNITS = WORK.split()


def between(begin: int, end: int) -> str:
    return " ".join(UNITS[begin:end])


def counts(
    answer: str, prompt: str = "", shown: range = range(0), work: str = WORK
) -> list[int]:
    return [len(block) for block in IndexedWork(work).blocks(answer, prompt, shown)]


def changed(begin: int, end: int, *, every: int, words: int) -> str:
    """Words of the work, of which some are others after every so many."""
    told = UNITS[begin:end]
    for place in range(every, len(told), every + words):
        told[place : place + words] = ["something"] * min(words, len(told) - place)
    return " ".join(told)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (between(200, 260), [60]),
        (between(200, 249), []),
        (between(200, 250), [50]),
        (between(200, 250).upper(), [50]),
        (f"\u201c{between(200, 260)}\u201d", [60]),
        (f"Sure! Here it is: *{between(200, 260)}* And so on.", [60]),
        (between(200, 260) + " and then " + between(700, 800), [60, 100]),
        (changed(200, 300, every=20, words=5), [80]),
        (changed(200, 320, every=60, words=5), [60 + 55]),
        (changed(200, 320, every=60, words=6), [60, 54]),
        (changed(200, 320, every=20, words=6), []),
        (changed(200, 400, every=4, words=1), []),
        (between(200, 260) + " " + between(200, 260), [60, 60]),
        (" ".join(reversed(UNITS[200:300])), []),
        ("", []),
    ],
)  # fmt: skip
def test_blocks_of_fifty_words_count_and_five_other_words_may_lie_between(
    answer, expected
):
    assert counts(answer) == expected


def test_what_the_prompt_has_never_counts():
    """As a copy, as a part of the answer, and where the work's words come again."""
    prompt = f"Go on.\n\n{between(100, 200)}"
    shown = range(100, 200)
    assert counts(prompt, prompt, shown) == []
    assert counts(f"{prompt} {prompt}", prompt, shown) == []
    assert counts(between(150, 260), prompt, shown) == [60]
    assert counts(between(198, 260), prompt, shown) == [60]
    twice = f"{between(0, 400)} {between(100, 200)} {between(400, 800)}"
    assert counts(between(100, 200), prompt, shown, twice) == []


def test_a_phrase_that_the_work_repeats_does_not_count():
    refrain = prose(70, "a refrain")
    song = (
        f"{between(0, 300)} {refrain} {between(300, 600)} {refrain} {between(600, 900)}"
    )
    assert counts(refrain, work=song) == []
    assert counts(" ".join([refrain] * 4), work=song) == []
    assert counts(f"{between(220, 300)} {refrain}", work=song) == [84]  # joined to it


def test_case_quotes_and_dashes_are_folded_and_a_word_is_what_blanks_part():
    assert words_of("\u201cDon\u2019t!\u201d \u2014 She said\u2014\u2018No\u2019.") == [
        "dont!", "she", "said", "no."
    ]  # fmt: skip
    assert words_of("'DON'T!' -- she said--\"no\".") == words_of(
        "\u2018don\u2019t!\u2019 she said no."
    )


def test_texts_without_spaces_are_compared_in_characters_twice_as_many():
    rng = random.Random(0)
    text = "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(900))
    work = IndexedWork(text, "characters")
    assert [len(block) for block in work.blocks(text[300:420], "", range(0))] == [120]
    assert work.blocks(text[300:399], "", range(0)) == []


def searched(
    work: list[str], answer: list[str], prompt: list[str], shown: range
) -> set[int]:
    """The places of the work that count, by the definition: every run of five words is
    compared with every other."""
    block, gap, size = SIZES["words"]

    def runs(words):
        return [words[place : place + size] for place in range(len(words) - size + 1)]

    ours = runs(work)
    told = runs(prompt)
    masked = set()
    for place, run in enumerate(runs(answer)):
        if run in told:
            masked.update(range(place, place + size))
    pairs = set()
    for place, run in enumerate(runs(answer)):
        if not masked & {*range(place, place + size)} and ours.count(run) == 1:
            found = ours.index(run)
            pairs.update((place + step, found + step) for step in range(size))
    # pairs of one diagonal that touch are a stretch; stretches of which one goes on a little further are a block
    stretches = []
    for pair in sorted(pairs, key=lambda pair: (pair[0] - pair[1], pair)):
        last = stretches[-1][-1] if stretches else (-9, -9)
        if (last[0] + 1, last[1] + 1) == pair:
            stretches[-1].append(pair)
        else:
            stretches.append([pair])
    blocks = []
    for stretch in sorted(stretches):
        for own in reversed(blocks):
            ends = own[-1][-1]
            further = (
                stretch[0][0] > own[-1][0][0]
                and stretch[0][1] > own[-1][0][1]
                and stretch[-1][1] > ends[1]
            )
            if (
                further
                and max(stretch[0][0] - ends[0], stretch[0][1] - ends[1]) <= gap + 1
            ):
                own.append(stretch)
                break
        else:
            blocks.append([stretch])
    counted = set()
    for own in blocks:
        words = {place for stretch in own for _, place in stretch} - {*shown}
        counted |= words if len(words) >= block else set()
    return counted


@pytest.mark.parametrize("seed", range(60))
def test_it_counts_what_a_search_of_every_pair_of_places_counts(seed):
    """Of works whose words come again and again, and of answers that skip, repeat,
    leave out and change words."""
    rng = random.Random(seed)
    work = [f"w{rng.randrange(rng.choice((4, 30, 400)))}" for _ in range(500)]
    begin = rng.randrange(100, 200)
    prompt = work[begin - 100 : begin]
    answer = work[begin - rng.randrange(0, 20) : begin + 200]
    for _ in range(rng.randrange(0, 9)):
        place = rng.randrange(len(answer))
        answer[place : place + rng.randrange(0, 9)] = rng.choices(
            work, k=rng.randrange(0, 9)
        )
    if seed % 3 == 0:
        answer += rng.choice((prompt, work[300:420], answer[:80]))
    shown = range(begin - 100, begin)
    indexed = IndexedWork(" ".join(work))
    counted = set()
    for block in indexed.blocks(" ".join(answer), " ".join(prompt), shown):
        counted.update(block)
    assert counted == searched(work, answer, prompt, shown)
