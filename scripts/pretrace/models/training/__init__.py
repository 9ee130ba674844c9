"""Train the small controlled models, whose members are known because nothing else was in their stream."""

from pretrace.models.training.build import train_model
from pretrace.models.training.stream import held_out, training_stream
from pretrace.models.training.tokenizer import SEPARATOR, train_tokenizer

__all__ = ["SEPARATOR", "held_out", "train_model", "train_tokenizer", "training_stream"]
