"""Questions about passages, their answers, and the accuracy of documents. Light to import."""

from pretrace.questions.registry import QUESTION_METHODS

__all__ = ["QUESTION_METHODS"]
