"""The training loop: one window a step, AdamW, one learning-rate cycle, all in
float32."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import torch
import transformers

from pretrace.runtime.logs import Progress, log

# how often the held-out loss is taken: each time costs a forward pass over 4,096 tokens
CURVE_POINTS = 6

CONTEXT = 2048
"""Tokens that a model reads at once. Rotary positions have no weights, so it may exceed
the training window."""


def new_model(
    vocabulary: int, width: int, layers: int, seed: int
) -> transformers.GPTNeoXForCausalLM:
    """Make a GPT-NeoX model of random weights with tied embeddings, in float32; heads
    are 32 wide."""
    torch.manual_seed(seed)
    config = transformers.GPTNeoXConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=max(1, width // 32),
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=False,
    )
    return transformers.GPTNeoXForCausalLM(config)


TrainingWindows = Sequence[Sequence[int]]


def train(
    model: Any,
    windows: TrainingWindows,
    held_out: TrainingWindows,
    *,
    learning_rate: float,
    what: str,
) -> pd.DataFrame:
    """Train in place on `windows`, one for each step, on the CPU.

    Returns the curve, one row for each step: `step` (from 1), `tokens` (predicted so
    far), `loss` (nats per token, before the step), `heldout_loss` (after the step;
    missing between the points where it is taken).
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, learning_rate, total_steps=len(windows)
    )
    interval = max(1, len(windows) // CURVE_POINTS)
    rows = []
    tokens = 0
    with Progress(what, total=len(windows), unit="windows") as progress:
        for step, window in enumerate(windows, start=1):
            loss = mean_loss(model, window)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            tokens += len(window) - 1
            of_held_out = None
            if held_out and (step % interval == 0 or step == len(windows)):
                of_held_out = _loss_of(model, held_out)
            rows.append((step, tokens, loss.item(), of_held_out))
            progress.update(note=f"loss {loss.item():.3f}")
    curve = pd.DataFrame(rows, columns=["step", "tokens", "loss", "heldout_loss"])
    curve = curve.astype({"heldout_loss": "Float64"})
    taken_at = curve["heldout_loss"].dropna()
    log.info("%s: held-out loss %s", what, " ".join(f"{loss:.3f}" for loss in taken_at))
    return curve


def mean_loss(model: Any, window: Sequence[int]) -> torch.Tensor:
    """Compute the mean cross-entropy (nats) of a window's tokens but the first."""
    ids = torch.tensor([window])
    logits = model(ids[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits[0], ids[0, 1:])


@torch.no_grad()
def _loss_of(model: Any, windows: TrainingWindows) -> float:
    model.eval()
    sums = [mean_loss(model, window).item() * (len(window) - 1) for window in windows]
    model.train()
    return sum(sums) / sum(len(window) - 1 for window in windows)
