"""What config/published/names.yaml may say: how the papers' numbers are looked up among ours."""

from typing import Annotated, Literal, Required

from pydantic import Field

from pretrace.runtime.schema import Keys, Some


class Use(Keys, total=False):
    """What is looked up for a published number."""

    model: str
    benchmark: Some[list[str]]
    subset: str
    length: int | None
    method: str
    variant: str
    view: str
    start_token: str
    reference: str
    evaluation_set: Literal["all", "without_prefixes", "balanced"]
    unit: Literal["text", "document"]
    metric: str
    tuned: bool
    strict: bool
    fixed: dict[str, float]
    without: dict[str, list[float]]
    tolerance: Annotated[float, Field(ge=0)]
    unjudged: str
    skip: str


class Rule(Keys, total=False):
    """Which published rows a lookup is for."""

    where: Required[dict[str, str | list[str]]]
    """Columns and settings of a published row, each with the value or values that it must have."""
    use: Required[Use]
    """What is looked up for it."""


class Parameter(Keys, total=False):
    """What a published setting is called here, and what its value is multiplied by."""

    ours: Required[Annotated[str, Field(alias="is")]]
    times: float


class Protocol(Keys, total=False):
    """What a paper says, or what its code does: a sentence that is printed under the table, and its rules."""

    says: Required[str]
    rules: Required[list[Rule]]


class PaperNames(Keys, total=False):
    """A paper's name in print, and its protocols."""

    title: Required[str]
    protocols: Required[Some[dict[str, Protocol]]]


class NamesFile(Keys, total=False):
    """How the papers' numbers are looked up among ours."""

    rules: Required[list[Rule]]
    """Of every paper and protocol."""
    parameters: Required[dict[str, dict[str, Parameter]]]
    """By our method: a published setting -> our parameter (`is`) and what its value is multiplied by
    (`times`)."""
    papers: Required[dict[str, PaperNames]]
    """Papers by id."""
