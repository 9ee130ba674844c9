"""Train the controlled models, whose members are known: small ones from random weights, or a given model further."""

from pretrace.models.training.build import continue_model, train_model
from pretrace.models.training.shadows import train_shadows
from pretrace.models.training.stream import held_out, training_stream
from pretrace.models.training.tokenizer import SEPARATOR, train_tokenizer

__all__ = [
    "SEPARATOR",
    "continue_model",
    "held_out",
    "train_model",
    "train_shadows",
    "train_tokenizer",
    "training_stream",
]
