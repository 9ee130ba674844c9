"""A checkpoint that is asked questions, its answers stored in a folder, and the answers
to one question."""

from pretrace.questions.answering import Question
from pretrace.questions.local import LocalAnswerer, answered_how
from pretrace.questions.stored import StoredAnswers


def answerer_on(target, folder, batch_tokens=64):
    """An answerer that finds stored answers in `folder`; it stores its own there when
    `_answers` is left."""
    stored = StoredAnswers(
        folder, answered_how(target, batch_tokens, threads=1), "tiny"
    )
    return LocalAnswerer(target, "tiny", batch_tokens, stored)


def letters_of(answerer, prompts, progress=lambda count: None, frame=None):
    [letters] = answerer.letters([Question(prompts, frame)], progress)
    return letters


def replies_of(answerer, prompts, units, progress=lambda count: None):
    [replies] = answerer.replies([Question(prompts)], units, progress)
    return replies
