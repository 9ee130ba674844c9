"""What a model reads and writes of a benchmark, about: tokens, by request, subset and
length."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.models.entries import Api, ApiModel
from pretrace.questions.answering import ORDERS
from pretrace.questions.method_facts import QUESTION_METHODS
from pretrace.runtime.files import JsonObject
from pretrace.studies.pairs import Pair
from pretrace.views import PARAPHRASES, VIEWS
from pretrace.views.readings import PassRequest, Reading

TOKENS_A_WORD = {"en": 1.35, "zh": 1.4}
"""About; Chinese words are jieba's."""
TOKENS_OF_A_TEXT = 250
"""Of benchmarks without lengths, about: MIMIR's texts have 100 to 200 words, code and
mathematics more tokens."""
ASSUMED_TEXTS = 2000
"""Number of texts assumed for a subset if the registry does not state it."""
ENCODINGS = 64
"""Options that the 24 orders of a DE-COP question encode, those of a common beginning
once."""
PROMPT = 120
"""Tokens of a question's wording."""
WORDING = {
    "de_cop": 120,
    "completion": 50,
    "name_cloze": 190,
    "paraphrase": 90,
    "given_back": 50,
}
"""Tokens of the prompts to APIs without a passage, about."""
STORED = 30
"""Bytes of results for each token that passes read: 141 MB for 4.6 million in the
embedded study."""

WHOLE: JsonObject = {"subsets": None, "lengths": None}
"""The part of a benchmark that a request reads if it names none."""

Sizes = Mapping[tuple[str, int | None], Sequence[float]]
"""The tokens of each text of a benchmark, by subset and length."""


class SizedSlice(NamedTuple):
    """A subset and length of a benchmark. `stated`: its texts, None if not known;
    `tokens` of each, about."""

    subset: str
    length: int | None
    stated: int | None
    tokens: float

    @property
    def texts(self) -> int:
        return ASSUMED_TEXTS if self.stated is None else self.stated


class Amount(NamedTuple):
    """Tokens that a model reads and writes, and bytes stored of its passes."""

    read: float
    written: float = 0
    stored: float = 0


Amounts = dict[Hashable, Amount]
"""By what is asked of one subset and length: the same key for the same texts read, or
questions asked, alike."""


def amounts_of_passes(
    pair: Pair, requests: Iterable[PassRequest], sizes: Sizes | None = None
) -> Amounts:
    """Return what the requests have a pair's model read; equal readings of different
    requests count once."""
    entry = pair.benchmark.entry
    amounts: Amounts = {}
    for request in requests:
        # no entry says how long texts are that exceed the context
        if request.reading.past_context:
            continue
        for place in slices_read(entry, request.to_json(), sizes):
            amounts[place, request.reading] = _amount_of_pass(
                pair, place, request.reading
            )
    return amounts


def _amount_of_pass(pair: Pair, place: SizedSlice, reading: Reading) -> Amount:
    texts: float = place.texts
    shots = 0
    if reading.shots:
        shots = reading.shots.count
        drawn = pair.benchmark.entry.prefix
        if drawn is not None and drawn.texts is not None:
            texts = min(texts, 2 * drawn.texts)
    if reading.altered:
        texts *= VIEWS[reading.altered].number or 1
    stored = texts * place.tokens * STORED
    if pair.model.is_local:  # the shots are read once
        return Amount((texts + shots) * place.tokens, 0, stored)
    return Amount(texts * (1 + shots) * place.tokens, texts, stored)


def amounts_of_answers(
    pair: Pair, requests: Iterable[JsonObject], sizes: Sizes | None = None
) -> Amounts:
    """Return what questions (`Pair.answer_requests`) have a pair's model read and
    write; controls ask no model."""
    entry = pair.model.entry
    api = entry.api if isinstance(entry, ApiModel) else None
    amounts: Amounts = {}
    for request in requests:
        method = request["method"]
        if QUESTION_METHODS[method].control:
            continue
        for place in slices_read(pair.benchmark.entry, request, sizes):
            k = request["parameters"].get("k", place.tokens / 2)
            each = _amount_of_question(method, place.tokens, k, api)
            amount = Amount(place.texts * each.read, place.texts * each.written)
            amounts[place, method, request["setting"], request["paraphraser"]] = amount
    return amounts


def _amount_of_question(
    method: str, tokens: float, k: float, api: Api | None
) -> Amount:
    """Return the tokens that are read and written for the questions about one text."""
    if api is None:
        read = ENCODINGS * tokens if method == "de_cop" else 2 * k
        return Amount(read + PROMPT)
    from pretrace.questions import cloze, over_api

    match method:
        case "de_cop":
            read = len(ORDERS) * (WORDING[method] + (1 + PARAPHRASES) * tokens)
            letter = 1 if api.top_logprobs else over_api.LETTER_TOKENS
            return Amount(read, len(ORDERS) * letter)
        case "completion":
            return Amount(WORDING[method] + k, k * over_api.MOST_TOKENS_A_WORD)
        case _:
            return Amount(WORDING[method] + tokens, cloze.ANSWER_UNITS)


def amounts_of_given_back(pair: Pair, sizes: Sizes | None) -> Amounts:
    """Return what a pair's model reads and writes if every place is asked as often as
    it may be; going on from what is given back comes on top."""
    from pretrace.questions.alignment import CONTEXT, FIRST, PASSAGE

    assert pair.given_back is not None
    words = TOKENS_A_WORD.get(pair.benchmark.entry.language, 1.35)
    amounts: Amounts = {}
    for place in slices_read(pair.benchmark.entry, sizes=sizes):
        places = min(pair.given_back["places"], int(place.tokens / words / PASSAGE) + 1)
        requests = place.texts * places * pair.given_back["tries"]
        read = WORDING["given_back"] + CONTEXT * words
        amounts[place] = Amount(requests * read, requests * FIRST * words)
    return amounts


def slices_read(
    entry: BenchmarkEntry, request: JsonObject = WHOLE, sizes: Sizes | None = None
) -> list[SizedSlice]:
    """Return the places that a request reads of a benchmark, by its texts, or by what
    its entry states."""
    places = []
    if sizes is not None:
        for (subset, length), tokens in sizes.items():
            is_read = request["subsets"] is None or subset in request["subsets"]
            if is_read and (request["lengths"] is None or length in request["lengths"]):
                mean = sum(tokens) / len(tokens)
                places.append(SizedSlice(subset, length, len(tokens), mean))
        return places
    is_in_words = entry.length_unit == "words"
    tokens_a_unit = TOKENS_A_WORD.get(entry.language, 1.35) if is_in_words else 1
    for subset in request["subsets"] or entry.subsets or [""]:
        for length in request["lengths"] or entry.lengths or [None]:
            stated = _stated_texts(entry, subset, length)
            mean = TOKENS_OF_A_TEXT if length is None else length * tokens_a_unit
            places.append(SizedSlice(subset, length, stated, mean))
    return places


def _stated_texts(entry: BenchmarkEntry, subset: str, length: int | None) -> int | None:
    """Return the number of texts of a subset and length, if the entry states it."""
    expected = entry.expected
    if entry.texts_of_a_length:
        texts = entry.texts_of_a_length // len(entry.subsets or [""])
        expected = {str(length): texts} | expected
    for key in (f"{subset}/{length}", str(length), subset, "all"):
        if key in expected:
            return expected[key]
    return None
