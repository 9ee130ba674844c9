"""A checkpoint that writes paraphrases, by sampling."""

from collections.abc import Callable, Sequence

import torch

from pretrace.passes.lead import Ids
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
        import transformers

        model = self._model
        context = self._target.context
        room = most if context is None else min(most, context - len(ids))
        ends = model.generation_config.eos_token_id
        padding = self._tokenizer.pad_token_id
        config = transformers.GenerationConfig(
            max_new_tokens=room, do_sample=True, temperature=TEMPERATURE, top_k=0, top_p=1.0,
            repetition_penalty=1.0, eos_token_id=ends,
            pad_token_id=padding if padding is not None else (ends[0] if isinstance(ends, list) else ends),
        )  # fmt: skip
        inputs = torch.tensor([ids], device=model.device)
        with torch.inference_mode():
            written = model.generate(inputs, attention_mask=torch.ones_like(inputs), generation_config=config)
        return self._text(written[0, inputs.shape[1] :].tolist())
