"""A checkpoint that answers and writes: the letters' probabilities by a tree of
prompts, texts greedily or sampled."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pretrace.models.generation import generate, stated_ends
from pretrace.models.target import Target
from pretrace.models.tokens import start_token_ids
from pretrace.passes.engine import collected_late
from pretrace.passes.features import Features, to_device
from pretrace.passes.memory import attempt
from pretrace.passes.prompt_prefix import Ids
from pretrace.passes.requests import gpu_version_of
from pretrace.questions.answering import (
    CUT,
    OPTION_LETTERS,
    Advance,
    Letters,
    Prompt,
    Question,
    Reply,
)
from pretrace.questions.prompt_tree import Reader
from pretrace.questions.stored import (
    Answered,
    Kind,
    Missing,
    StoredAnswers,
    letters_of_row,
    reply_of_row,
)
from pretrace.questions.written_views import PARAPHRASE_TEMPERATURE
from pretrace.runtime.errors import InputError, explain_failure
from pretrace.runtime.files import JsonObject
from pretrace.runtime.logs import log
from pretrace.seeds import seed_of


class _Reading(NamedTuple):
    """A question that is being read: the places of its `prompts` that a row of
    probabilities, on a device, answers."""

    prompts: int
    places: list[list[int]]
    probabilities: list[Tensor]


TOO_LONG = "longer than the model's context"


LETTERS = Kind("letters", letters_of_row)


def answered_how(target: Target, batch_tokens: int, threads: int) -> JsonObject:
    """Return all that answers depend on beside the questions, as `requests.chunk_key`
    has it for passes.

    The token budget and the threads count below float32 only, where a number depends on
    its batch and on the order of a sum.
    """
    how: dict[str, Any] = {}
    gpu_version = gpu_version_of(target)
    if gpu_version is not None:
        how["gpu"] = gpu_version
    # other numbers than in batches, which earlier versions stored
    if target.reads_alone:
        how["alone"] = True
    is_exact = target.dtype == "float32"
    how["checkpoint"] = target.digest
    how["dtype"] = target.dtype
    how["batches"] = None if is_exact else [batch_tokens, threads]
    how["context"] = target.context
    how["tokenizer_from"] = target.tokenizer_from
    how["spelled"] = target.tokenizer.split_special_tokens
    how["ends"] = stated_ends(target.checkpoint.path)
    return how


@dataclass
class LocalAnswerer:
    """An `answering.Answerer`. Weights load with the first question whose answer is not
    stored."""

    target: Target
    name: str
    batch_tokens: int
    answers: StoredAnswers

    @property
    def tokenizer(self) -> Any:
        return self.target.tokenizer

    @property
    def chat(self) -> bool:
        return bool(self.tokenizer.chat_template)

    @property
    def seconds(self) -> float:
        return self.answers.seconds

    def letters(
        self, questions: Sequence[Question], progress: Advance
    ) -> list[list[Letters]]:
        return self.answers.of(LETTERS, questions, self._ask_letters, progress)

    def finish(self) -> None:
        """Log what the letters took."""
        if "_reader" in vars(self) and self._reader.given:
            log.info(
                "%s: prompts of %d tokens were read as %d tokens",
                self.name,
                self._reader.given,
                self._reader.read,
            )

    def _ask_letters(self, missing: Missing) -> Answered[Letters]:
        started = ((key, self._read(question)) for key, question in missing.items())
        late = collected_late(started, self._reader.features.gpus)
        return ((key, self._letters_of(reading)) for key, reading in late)

    def _read(self, question: Question) -> _Reading:
        """Start to read a question's prompts; a GPU may still be computing when this
        returns."""
        prompts = question.prompts
        ids = [self._ids(prompt) for prompt in prompts]
        written = max(prompt.written for prompt in prompts)
        fitting = self._fitting(ids, more=1 + written)
        reading = _Reading(len(prompts), [], [])
        if not fitting:
            return reading
        # after tokens of its own, each letter as the tokenizer encodes it alone, which
        # is the one DE-COP's code reads
        spellings = self._alone if written else self._spellings
        frame = self._ids(question.frame) if question.frame else ()
        with torch.inference_mode():
            read = [ids[place] for place in fitting]
            tree, past = self._reader.tree(read, written, frame)
            readout = partial(self._probabilities, spellings)
            for places, row in self._reader.answers(tree, readout, past):
                reading.places.append([fitting[place] for place in places])
                reading.probabilities.append(row)
        return reading

    def _letters_of(self, reading: _Reading) -> list[Letters]:
        letters = [Letters(None, None, TOO_LONG, skipped=True)] * reading.prompts
        if reading.places:
            rows = torch.stack(reading.probabilities).tolist()
            for places, row in zip(reading.places, rows, strict=True):
                for place in places:
                    letters[place] = self._letters(tuple(row))
        return letters

    def replies(
        self, questions: Sequence[Question], units: int, progress: Advance
    ) -> list[list[Reply]]:
        kind = Kind("replies", reply_of_row, (units,))
        ask = partial(self._ask_texts, partial(self._replies, units))
        return self.answers.of(kind, questions, ask, progress)

    def _ask_texts(
        self, write: Callable[[Sequence[Prompt]], list[Reply]], missing: Missing
    ) -> Answered[Reply]:
        assert self._model is not None  # weights load before the clock starts
        return ((key, write(question.prompts)) for key, question in missing.items())

    def _replies(self, units: int, prompts: Sequence[Prompt]) -> list[Reply]:
        """Answer prompts; those of equally many tokens go together, so that none is
        padded."""
        ids = [self._ids(prompt) for prompt in prompts]
        by_length: dict[int, list[int]] = {}
        for place in self._fitting(ids, more=units):
            by_length.setdefault(len(ids[place]), []).append(place)
        replies = [Reply(None, TOO_LONG, skipped=True)] * len(prompts)
        for length in sorted(by_length, reverse=True):
            places = by_length[length]
            whole = length + units
            while places:
                batch = places[: max(1, self._reader.batch_tokens // whole)]
                batch = batch[: self._reader.features.alike([length] * len(batch))]
                read = [ids[place] for place in batch]
                added = attempt(generate, self._model, self.tokenizer, read, units)
                if added is None:
                    self._reader.back_off(len(batch), whole)
                    continue
                for place, new in zip(batch, added, strict=True):
                    replies[place] = Reply(self._text(new))
                del places[: len(batch)]
        return replies

    def write(
        self,
        prompts: Sequence[Prompt],
        most: Sequence[int],
        again: int,
        progress: Advance,
    ) -> list[Reply]:
        """Write one prompt's text at a time, seeded by it alone, so that no text
        depends on the others."""
        replies = []
        for prompt, tokens in zip(prompts, most, strict=True):
            options = (PARAPHRASE_TEMPERATURE, tokens, again)
            kind = Kind("written", reply_of_row, options)
            ask = partial(self._ask_texts, partial(self._written, tokens, again))
            [[reply]] = self.answers.of(kind, [Question([prompt])], ask, progress)
            replies.append(reply)
        return replies

    def _written(self, most: int, again: int, prompts: Sequence[Prompt]) -> list[Reply]:
        [prompt] = prompts
        ids = self._ids(prompt)
        if not self._fitting([ids], more=1):
            return [Reply(None, TOO_LONG, skipped=True)]
        room = most
        if self.target.context is not None:
            room = min(most, self.target.context - len(ids))
        torch.manual_seed(seed_of(prompt.plain, again))
        [added] = generate(
            self._model, self.tokenizer, [ids], room, PARAPHRASE_TEMPERATURE
        )
        if len(added) == room < most:
            return [Reply(None, CUT)]
        return [Reply(self._text(added))]

    def _ids(self, prompt: Prompt) -> Ids:
        """Encode what the model reads: the chat template's text, or its tokenizer's
        start token and the prompt."""
        if self.chat and not prompt.templated:
            # the template's own special tokens are control tokens, whatever texts spell
            return self._encoded(self._templated(prompt), split_special_tokens=False)
        start = start_token_ids(self.tokenizer, "tokenizer")
        return start + self._encoded(prompt.plain)

    def _templated(self, prompt: Prompt) -> str:
        """Write the prompt as chat messages; a system text that the template refuses or
        drops precedes the user's."""
        import jinja2

        if prompt.system:
            system = {"role": "system", "content": prompt.system}
            user = {"role": "user", "content": prompt.user}
            try:
                text = self._rendered([system, user])
                if prompt.system in text:
                    return text
            except (jinja2.TemplateError, TypeError):
                pass
        with explain_failure(
            f"{self.name}: the chat template of its tokenizer cannot be written"
        ):
            return self._rendered([{"role": "user", "content": prompt.plain}])

    def _rendered(self, messages: list[dict[str, str]]) -> str:
        return self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )

    def _encoded(self, text: str, **options: bool) -> Ids:
        encoded = self.tokenizer(
            text, add_special_tokens=False, verbose=False, **options
        )
        return tuple(encoded["input_ids"])

    def _text(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )

    def _fitting(self, ids: Sequence[Ids], more: int) -> list[int]:
        """Return the places of the prompts that fit into the context with `more` tokens
        after them."""
        context = self.target.context
        fitting = []
        for place, own in enumerate(ids):
            if context is None or len(own) + more <= context:
                fitting.append(place)
        return fitting

    def _probabilities(self, spellings: list[list[int]], features: Tensor) -> Tensor:
        """Compute the probability of each letter, float32 [4], on the device of the
        features."""
        wanted = to_device(np.concatenate(spellings), features.device)
        logits = self._reader.features.logits(features[None], wanted)[0]
        sizes = [len(ids) for ids in spellings]
        sums = [part.logsumexp(0) for part in logits.split(sizes)]
        return torch.stack(sums).softmax(0)

    def _letters(self, probabilities: tuple[float, float, float, float]) -> Letters:
        if not all(map(math.isfinite, probabilities)):
            raise InputError(
                f"{self.name} gives a probability that is not a number: weights or "
                "activations overflow. Set dtype: float32 for this model; if it is "
                "float32, its weights are damaged."
            )
        likeliest = probabilities.index(max(probabilities))
        return Letters(probabilities, OPTION_LETTERS[likeliest])

    @cached_property
    def _model(self) -> Any:
        return self.target.load()

    @cached_property
    def _reader(self) -> Reader:
        return Reader(Features(self._model), self.name, self.batch_tokens)

    @cached_property
    def _alone(self) -> list[list[int]]:
        """Return the one id of each letter that the tokenizer gives it alone."""
        return [[self._encoded(letter)[-1]] for letter in OPTION_LETTERS]

    @cached_property
    def _spellings(self) -> list[list[int]]:
        """Return the ids of each letter: every token that is the letter, with or
        without white space around it."""
        size = min(len(self.tokenizer), self._reader.features.vocabulary)
        written = self.tokenizer.batch_decode([[id] for id in range(size)])
        ids_of: dict[str, list[int]] = {letter: [] for letter in OPTION_LETTERS}
        for id, text in enumerate(written):
            letter = text.strip()
            if letter in ids_of:
                ids_of[letter].append(id)
        for letter, ids in ids_of.items():
            if not ids:
                raise InputError(
                    f"{self.name}: no token of its vocabulary is the letter {letter}, "
                    "so it can answer no multiple-choice question; leave de_cop out of "
                    "its runs."
                )
        counts = [len(ids) for ids in ids_of.values()]
        log.info("%s: tokens of each letter: %s", self.name, counts)
        return list(ids_of.values())
