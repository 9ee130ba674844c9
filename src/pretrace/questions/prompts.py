"""The wording of questions, which is configuration: config/prompts/de_cop.yaml."""

from collections.abc import Sequence
from string import Formatter
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from pretrace.questions.answering import OPTION_LETTERS, Prompt
from pretrace.questions.cloze import Cloze
from pretrace.runtime.errors import nearest, require_name
from pretrace.runtime.schema import Keys, Maybe, Some


def fields(*needed: str, optional: Sequence[str] = ()) -> AfterValidator:
    """Make the check of a text that it has all `needed` placeholders, and no others but
    the `optional` ones."""

    def check(text: str) -> str:
        try:
            used = set()
            for _, name, _, _ in Formatter().parse(text):
                if name is not None:
                    used.add(name)
        except ValueError as error:
            raise ValueError(f"{error}; write a literal brace twice") from error
        takes = sorted([*needed, *optional]) or "nothing"
        for name in sorted(used - {*needed, *optional}):
            problem = "is not a placeholder of this text"
            raise ValueError(f"'{{{name}}}' {problem}; it takes {takes}")
        for name in sorted({*needed} - used):
            raise ValueError(f"'{{{name}}}' is missing; it takes {takes}")
        return text

    return AfterValidator(check)


Plain = Annotated[str, fields()]
"""A text without placeholders."""


class Format(Keys):
    """`sentence` ends the system text, then the model writes a number of tokens before
    its letter.

    `template` joins both texts in place of the model's own chat template.
    """

    sentence: Plain
    tokens: Annotated[int, Field(alias="written", ge=0)]
    """A whole number of tokens."""
    template: Maybe[Annotated[str, fields("system", "user")]] = None
    """A text with both placeholders."""


class ChoiceWording(Keys):
    """The texts of multiple-choice questions."""

    system: Plain
    user: Annotated[str, fields("question", *OPTION_LETTERS)]
    question: Some[dict[str, Annotated[str, fields("title", optional=["author"])]]]
    """A map from kinds of documents to questions."""
    format: dict[str, Format] = {}
    """A map from kinds of documents to the keys sentence and written."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        for kind in self.format.keys() - self.question.keys():
            hint = nearest(kind, self.question)
            raise ValueError(f"format.{kind}: there is no question '{kind}': {hint}")
        return self

    def require(self, kind: str) -> None:
        """Raise `InputError` with the nearest kind of question if this one does not
        exist."""
        require_name(kind, self.question, f"there is no question '{kind}'")

    def prompt(
        self, kind: str, title: str, author: str, options: Sequence[str]
    ) -> Prompt:
        """Word the question about a document, with its options at A to D."""
        question = self.question[kind].format(title=title, author=author)
        by_letter = dict(zip(OPTION_LETTERS, options, strict=True))
        user = self.user.format(question=question, **by_letter)
        if kind not in self.format:
            return Prompt(user, self.system)
        own = self.format[kind]
        system = f"{self.system}\n\n{own.sentence}"
        if own.template is None:
            return Prompt(user, system, own.tokens)
        whole = own.template.format(system=system, user=user)
        return Prompt(whole, "", own.tokens, templated=True)


class CompletionWording(Keys):
    """The texts that ask for a continuation."""

    system: Plain
    chat: Annotated[str, fields("prefix")]
    bare: Annotated[str, Field(alias="plain"), fields("prefix")]

    def prompt(self, prefix: str, *, chat: bool) -> Prompt:
        """Ask a model, a `chat` model or another, to continue `prefix`."""
        text = self.chat if chat else self.bare
        return Prompt(text.format(prefix=prefix), self.system)


class ClozeWording(Keys):
    """The texts that ask for a masked name."""

    system: Plain
    user: Annotated[str, fields("kind", "passage")]
    name: Plain
    noun: Plain

    def prompt(self, cloze: Cloze) -> Prompt:
        """Ask for the word that a passage lacks."""
        kind = self.name if cloze.kind == "name" else self.noun
        return Prompt(self.user.format(kind=kind, passage=cloze.masked), self.system)


class Wording(Keys):
    """The texts of a file of prompts, by the method that asks with them."""

    de_cop: ChoiceWording
    completion: CompletionWording
    name_cloze: ClozeWording
