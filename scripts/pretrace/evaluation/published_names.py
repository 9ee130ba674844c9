"""The keys of config/published/names.yaml: how the papers' numbers are matched with ours."""

from typing import Annotated, Literal

from pydantic import Field

from pretrace.runtime.schema import Keys, Maybe, Some


class Use(Keys):
    """Our number that matches a published one."""

    model: str = ""
    benchmark: Maybe[Some[list[str]]] = None
    subset: Maybe[str] = None
    length: int | None = None
    method: Maybe[str] = None
    variant: Maybe[str] = None
    view: Maybe[str] = None
    start_token: Maybe[str] = None
    reference: Maybe[str] = None
    evaluation_set: Maybe[Literal["all", "without_prefixes", "balanced"]] = None
    unit: Maybe[Literal["text", "document"]] = None
    metric: Maybe[str] = None
    tuned: Maybe[bool] = None
    strict: Maybe[bool] = None
    fixed: Maybe[dict[str, float]] = None
    without: Maybe[dict[str, list[float]]] = None
    tolerance: Maybe[Annotated[float, Field(ge=0)]] = None
    unjudged: Maybe[str] = None
    skip: Maybe[str] = None


class Rule(Keys):
    """Which published rows a lookup is for."""

    where: dict[str, str | list[str]]
    """Columns and settings of a published row, each with the value or values that it must have."""
    use: Use
    """Our matching number."""


class Parameter(Keys):
    """Our name of a published setting, and the factor for its value."""

    ours: Annotated[str, Field(alias="is")]
    times: Maybe[float] = None


class Protocol(Keys):
    """A protocol of a paper or of its code: a sentence that is printed under the table, and its rules."""

    says: str
    rules: list[Rule]


class PaperNames(Keys):
    """A paper's name in print, and its protocols."""

    title: str
    protocols: Some[dict[str, Protocol]]


class NamesFile(Keys):
    """Map the papers' numbers to ours."""

    rules: list[Rule]
    """Rules for every paper and protocol."""
    parameters: dict[str, dict[str, Parameter]]
    """By our method: a published setting -> our parameter (`is`) and what its value is multiplied by
    (`times`)."""
    papers: dict[str, PaperNames]
    """Papers by id."""
