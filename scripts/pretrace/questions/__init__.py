"""Questions about passages, their answers, and the accuracy of documents. Light to import."""

from pretrace.questions.methods import QUESTION_METHODS

__all__ = ["QUESTION_METHODS"]
