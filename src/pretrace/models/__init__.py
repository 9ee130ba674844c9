"""Targets: a checkpoint on disk, its tokenizer and, when asked for, its weights."""
