"""A checkpoint that writes paraphrases, by sampling."""

from collections.abc import Callable, Sequence

import torch

from pretrace.models.generation import written
from pretrace.passes.prompt_prefix import Ids
from pretrace.questions.answering import Prompt, Reply
from pretrace.questions.local import TOO_LONG, LocalAnswerer
from pretrace.questions.paraphrasing import TEMPERATURE
from pretrace.runtime.files import seed_of


class LocalWriter(LocalAnswerer):
    """A `paraphrasing.Writer`: one prompt at a time, seeded by the prompt and the round alone."""

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

    def _sampled(self, ids: Ids, most: int) -> str:
        context = self._target.context
        room = most if context is None else min(most, context - len(ids))
        [added] = written(self._model, self._tokenizer, [ids], room, temperature=TEMPERATURE)
        return self._text(added)
