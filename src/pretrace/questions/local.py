"""A checkpoint that answers and writes: the letters' probabilities by a tree of prompts, texts greedily or sampled."""

import math
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import numpy as np
import torch

from pretrace.models.generation import generate
from pretrace.models.target import Target
from pretrace.models.tokens import start_token_ids
from pretrace.passes.features import Features, to_device
from pretrace.passes.memory import attempt
from pretrace.passes.prompt_prefix import Ids
from pretrace.questions.answering import OPTION_LETTERS, Advance, Letters, Prompt, Reply
from pretrace.questions.tree import Reader
from pretrace.questions.written_views import PARAPHRASE_TEMPERATURE
from pretrace.runtime.errors import InputError, explain_failure
from pretrace.runtime.logs import log
from pretrace.seeds import seed_of

TOO_LONG = "longer than the model's context"


class LocalAnswerer:
    """An `answering.Answerer`. Weights load with the first question that a model must answer."""

    def __init__(self, target: Target, name: str, batch_tokens: int) -> None:
        self._target, self._name, self._batch_tokens = target, name, batch_tokens
        self.tokenizer = target.tokenizer

    @property
    def chat(self) -> bool:
        return bool(self.tokenizer.chat_template)

    def letters(self, prompts: Sequence[Prompt], progress: Advance) -> list[Letters]:
        ids = [self._ids(prompt) for prompt in prompts]
        written = max((prompt.written for prompt in prompts), default=0)
        fitting = self._fitting(ids, more=1 + written)
        answers = [Letters(None, None, TOO_LONG, skipped=True)] * len(prompts)
        progress(len(prompts) - len(fitting))
        if not fitting:
            return answers

        # after tokens of its own, each letter as the tokenizer encodes it alone, which is the one DE-COP's code reads
        alone = [[self._encoded(letter)[-1]] for letter in OPTION_LETTERS]
        spellings = alone if written else self._spellings

        tree = self._reader.tree([ids[place] for place in fitting], written)
        read, probabilities = [], []
        with torch.inference_mode():
            for places, row in self._reader.answers(tree, partial(self._probabilities, spellings)):
                read.append(places)
                probabilities.append(row)
                progress(len(places))
            rows = torch.stack(probabilities).tolist()  # all at once: a GPU never waits for this process
        for places, row in zip(read, rows, strict=True):
            letters = self._letters(tuple(row))
            for place in places:
                answers[fitting[place]] = letters
        return answers

    def replies(self, prompts: Sequence[Prompt], units: int, progress: Advance) -> list[Reply]:
        """Answer prompts; prompts of equally many tokens go together, so that none is padded."""
        ids = [self._ids(prompt) for prompt in prompts]
        fitting = sorted(self._fitting(ids, more=units), key=lambda place: (-len(ids[place]), place))
        replies = [Reply(None, TOO_LONG, skipped=True)] * len(prompts)
        progress(len(prompts) - len(fitting))
        for length, group in groupby(fitting, key=lambda place: len(ids[place])):
            places = list(group)
            while places:
                batch = places[: max(1, self._reader.batch_tokens // (length + units))]
                batch = batch[: self._reader.features.alike([length] * len(batch))]
                added = attempt(generate, self._model, self.tokenizer, [ids[place] for place in batch], units)
                if added is None:
                    self._reader.back_off(len(batch), length + units)
                    continue
                for place, new in zip(batch, added, strict=True):
                    replies[place] = Reply(self._text(new))
                progress(len(batch))
                del places[: len(batch)]
        return replies

    def write(
        self, prompts: Sequence[Prompt], most: Sequence[int], again: int, progress: Advance
    ) -> list[Reply]:
        """Write one prompt's text at a time, seeded by it alone, so that no text depends on the others."""
        ids = [self._ids(prompt) for prompt in prompts]
        replies = [Reply(None, TOO_LONG, skipped=True)] * len(prompts)
        for place in self._fitting(ids, more=1):
            room, context = most[place], self._target.context
            if context is not None:
                room = min(room, context - len(ids[place]))
            torch.manual_seed(seed_of(prompts[place].plain, again))
            [added] = generate(self._model, self.tokenizer, [ids[place]], room, PARAPHRASE_TEMPERATURE)
            replies[place] = Reply(self._text(added))
            progress(1)
        progress(sum(reply.skipped for reply in replies))
        return replies

    def _ids(self, prompt: Prompt) -> Ids:
        """Encode what the model reads: the chat template's text, or its tokenizer's start token and the prompt."""
        if self.chat and not prompt.templated:
            # the template's own special tokens are control tokens, whatever texts spell
            return self._encoded(self._templated(prompt), split_special_tokens=False)
        return start_token_ids(self.tokenizer, "tokenizer") + self._encoded(prompt.plain)

    def _templated(self, prompt: Prompt) -> str:
        """Write the prompt as chat messages; a system text that the template refuses or drops precedes the user's."""
        import jinja2

        user = {"role": "user", "content": prompt.user}
        if prompt.system:
            try:
                text = self._rendered([{"role": "system", "content": prompt.system}, user])
                if prompt.system in text:
                    return text
            except (jinja2.TemplateError, TypeError):
                pass
        with explain_failure(f"{self._name}: the chat template of its tokenizer cannot be written"):
            return self._rendered([{"role": "user", "content": prompt.plain}])

    def _rendered(self, messages: list[dict[str, str]]) -> str:
        text: str = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return text

    def _encoded(self, text: str, **options: bool) -> Ids:
        return tuple(self.tokenizer(text, add_special_tokens=False, verbose=False, **options)["input_ids"])

    def _text(self, ids: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def _fitting(self, ids: Sequence[Ids], more: int) -> list[int]:
        """Return the places of the prompts that fit into the context with `more` tokens after them."""
        context = self._target.context
        fitting = [place for place, own in enumerate(ids) if context is None or len(own) + more <= context]
        if len(fitting) < len(ids):
            log.warning(
                "%s: %d of %d prompts do not fit into the context of %d tokens with %d to come",
                self._name, len(ids) - len(fitting), len(ids), context, more,
            )  # fmt: skip
        return fitting

    def _probabilities(self, spellings: list[list[int]], features: torch.Tensor) -> torch.Tensor:
        """Compute the probability of each letter, float32 [4], on the device of the features."""
        wanted = to_device(np.concatenate(spellings), features.device)
        logits = self._reader.features.logits(features[None], wanted)[0]
        sums = [part.logsumexp(0) for part in logits.split([len(ids) for ids in spellings])]
        return torch.stack(sums).softmax(0)

    def _letters(self, probabilities: tuple[float, float, float, float]) -> Letters:
        if not all(map(math.isfinite, probabilities)):
            raise InputError(
                f"{self._name} gives a probability that is not a number: weights or activations overflow. Set "
                "dtype: float32 for this model; if it is float32, its weights are damaged."
            )
        return Letters(probabilities, OPTION_LETTERS[probabilities.index(max(probabilities))])

    @cached_property
    def _model(self) -> Any:
        return self._target.load()

    @cached_property
    def _reader(self) -> Reader:
        return Reader(Features(self._model), self._name, self._batch_tokens)

    @cached_property
    def _spellings(self) -> list[list[int]]:
        """Return the ids of each letter: every token that is the letter, with or without white space around it."""
        size = min(len(self.tokenizer), self._reader.features.vocabulary)
        written = self.tokenizer.batch_decode([[id] for id in range(size)])
        ids_of: dict[str, list[int]] = {letter: [] for letter in OPTION_LETTERS}
        for id, text in enumerate(written):
            if text.strip() in ids_of:
                ids_of[text.strip()].append(id)
        if lacking := [letter for letter in OPTION_LETTERS if not ids_of[letter]]:
            raise InputError(
                f"{self._name}: no token of its vocabulary is the letter {lacking[0]}, so it can answer no "
                "multiple-choice question; leave de_cop out of its runs."
            )
        log.info("%s: tokens of each letter: %s", self._name, [len(ids) for ids in ids_of.values()])
        return list(ids_of.values())
