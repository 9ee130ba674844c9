"""The keys of config/published/names.yaml: how the papers' numbers are matched with ours."""

from typing import Annotated, Literal, Required

from pydantic import Field

from pretrace.runtime.schema import Keys, Some


class Use(Keys, total=False):
    """Our number that matches a published one."""

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
    """Our matching number."""


class Parameter(Keys, total=False):
    """Our name of a published setting, and the factor for its value."""

    ours: Required[Annotated[str, Field(alias="is")]]
    times: float


class Protocol(Keys, total=False):
    """A protocol of a paper or of its code: a sentence that is printed under the table, and its rules."""

    says: Required[str]
    rules: Required[list[Rule]]


class PaperNames(Keys, total=False):
    """A paper's name in print, and its protocols."""

    title: Required[str]
    protocols: Required[Some[dict[str, Protocol]]]


class NamesFile(Keys, total=False):
    """How the papers' numbers are looked up among ours."""

    rules: Required[list[Rule]]
    """Rules for every paper and protocol."""
    parameters: Required[dict[str, dict[str, Parameter]]]
    """By our method: a published setting -> our parameter (`is`) and what its value is multiplied by
    (`times`)."""
    papers: Required[dict[str, PaperNames]]
    """Papers by id."""
