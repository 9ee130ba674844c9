"""Targets: a checkpoint on disk, its tokenizer and, when asked for, its weights. Imports no torch."""

from pretrace.models.checkpoint import Checkpoint, read_checkpoint, register_local, write_checkpoint
from pretrace.models.fetching import fetch_model
from pretrace.models.gguf import convert_gguf
from pretrace.models.settings import torch_settings
from pretrace.models.target import Target, load_checkpoint
from pretrace.models.tokens import load_decoder, load_encoder, load_tokenizer, start_token_ids

__all__ = [
    "Checkpoint",
    "Target",
    "convert_gguf",
    "fetch_model",
    "load_checkpoint",
    "load_decoder",
    "load_encoder",
    "load_tokenizer",
    "read_checkpoint",
    "register_local",
    "start_token_ids",
    "torch_settings",
    "write_checkpoint",
]
