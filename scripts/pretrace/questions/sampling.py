"""A checkpoint that writes paraphrases, or how texts go on, by sampling."""

from collections.abc import Callable, Sequence

import torch

from pretrace.models.generation import written
from pretrace.models.tokens import start_token_ids
from pretrace.passes.prompt_prefix import Ids
from pretrace.questions import continuing
from pretrace.questions.answering import Prompt, Reply
from pretrace.questions.local import TOO_LONG, LocalAnswerer
from pretrace.questions.paraphrasing import TEMPERATURE
from pretrace.runtime.files import seed_of


class LocalWriter(LocalAnswerer):
    """A `paraphrasing.Writer` and a `continuing.Continuer`: one prompt at a time, seeded by it alone."""

    def write(
        self, prompts: Sequence[Prompt], most: Sequence[int], again: int, progress: Callable[[int], None]
    ) -> list[Reply]:
        ids = [self._ids(prompt) for prompt in prompts]
        fitting = set(self._fitting(ids, more=1))
        replies = []
        for place, (prompt, tokens) in enumerate(zip(prompts, most, strict=True)):
            if place in fitting:
                torch.manual_seed(seed_of(prompt.plain, again))
                replies.append(Reply(self._sampled(ids[place], tokens)))
            else:
                replies.append(Reply(None, TOO_LONG, skipped=True))
            progress(1)
        return replies

    def continuations(
        self, openings: Sequence[str], rests: Sequence[str], samples: int, progress: Callable[[int], None]
    ) -> list[list[str]]:
        """The samples of a text are one batch. It is read without a chat template, as in training."""
        start = start_token_ids(self._tokenizer, "tokenizer")
        found = []
        for opening, rest in zip(openings, rests, strict=True):
            ids, most = start + self._encoded(opening), len(self._encoded(rest))
            added: list[list[int]] = []
            if self._fitting([ids], more=most):
                torch.manual_seed(seed_of("continuations", opening))
                added = written(
                    self._model,
                    self._tokenizer,
                    [ids] * samples,
                    most,
                    temperature=continuing.TEMPERATURE,
                    top_k=continuing.TOP_K,
                )
            before = len(self._text(ids))
            found.append([self._text([*ids, *new])[before:] for new in added])
            progress(1)
        return found

    def _sampled(self, ids: Ids, most: int) -> str:
        context = self._target.context
        room = most if context is None else min(most, context - len(ids))
        [added] = written(self._model, self._tokenizer, [ids], room, temperature=TEMPERATURE)
        return self._text(added)
