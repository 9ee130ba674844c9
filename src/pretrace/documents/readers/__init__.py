"""Readers of documents, one a format. Each takes bytes and a path, and returns what was
read, laid out."""
