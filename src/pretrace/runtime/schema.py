"""Read YAML and check its keys; every complaint names the file, the key and what would
be right."""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, reduce
from itertools import pairwise
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pretrace.runtime.errors import InputError, nearest, remedy, shorten

T = TypeVar("T")

# libyaml, which all wheels of PyYAML have, is seven times as fast: a study of thousands
# of runs is read by every job
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeyLoader(_Loader):
    """YAML in which a key given twice is an error: plain YAML keeps the last one and
    says nothing."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            problem = ""
            if not isinstance(key, str | int | float | bool | None):
                problem = "a key must be a plain value"
            elif key in seen:
                problem = f"the key '{key}' is given twice"
            if problem:
                raise yaml.constructor.ConstructorError(
                    None, None, problem, key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


DEEPEST, MOST_VALUES, LONGEST_TEXT = 30, 1_000_000, 10_000
"""Levels of nesting, values with all aliases written out, and characters of a text that
a file may have."""


def _check_shape(text: str) -> None:
    """Refuse what would exhaust memory or the stack once it is built; events come one
    by one."""
    sizes: dict[str | None, int] = {}
    above: list[tuple[str | None, int]] = []
    anchor = None
    size = 0
    for event in yaml.parse(text, Loader=_Loader):
        problem = ""
        if isinstance(event, yaml.CollectionStartEvent):
            above.append((anchor, size))
            anchor = event.anchor
            size = 1
            if len(above) > DEEPEST:
                problem = f"nested more than {DEEPEST} levels deep"
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                problem = (
                    f"the alias *{event.anchor} comes before the end of its anchor"
                )
            size += sizes.get(event.anchor, 0)
        elif isinstance(event, yaml.ScalarEvent):
            if event.anchor:
                sizes[event.anchor] = 1
            size += 1
            if len(event.value) > LONGEST_TEXT:
                problem = f"a text of {len(event.value):,} characters"
        elif isinstance(event, yaml.CollectionEndEvent):
            if anchor:
                sizes[anchor] = size
            anchor, before = above.pop()
            size += before
        if size > MOST_VALUES:
            problem = f"its aliases stand for more than {MOST_VALUES:,} values"
        if problem:
            raise yaml.MarkedYAMLError(
                problem=problem, problem_mark=cast(Any, event.start_mark)
            )


_YAML_HINTS = {
    "mapping values are not allowed": "Put a text with a colon in quotes; keys of "
    "one mapping begin in one column.",
    "cannot start any token": "Indent by blanks, not tabs; put a text that begins "
    "with %, @ or ` in quotes.",
    "found undefined alias": "Put a text that begins with * in quotes.",
    "did not find expected key": "Keys of one mapping begin in one column; close "
    "every quote and bracket.",
    "could not find expected ':'": "Write a key as `key: value`, with a blank after "
    "the colon.",
}
"""What libyaml finds: what to do."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping.

    Raises:
        InputError: the file is missing, cannot be read, is not UTF-8, is not YAML,
            repeats a key, is nested too deep or is not a mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
        _check_shape(text)
        value = yaml.load(text, Loader=_UniqueKeyLoader)
    except OSError as error:
        problems = {
            FileNotFoundError: "does not exist. Check the path; it is relative to "
            "the working "
            "directory.",
            IsADirectoryError: "is a folder; a YAML file is needed.",
        }
        other = f"cannot be read ({error.strerror}). {remedy(error)}".rstrip()
        raise InputError(f"{path} {problems.get(type(error), other)}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 (byte {error.start}). Save it as UTF-8."
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        reason = getattr(error, "reason", None)
        problem = getattr(error, "problem", None) or reason or error
        hint = ""
        for words, advice in _YAML_HINTS.items():
            if words in str(problem):
                hint = f" {advice}"
                break
        raise InputError(
            f"{where}: not valid YAML ({shorten(problem)}).{hint}"
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"{path} holds {_kind(value)}; a mapping of keys is needed.")
    return value


class Keys(BaseModel):
    """A mapping of a YAML file: its keys are a subclass's fields, and what each sets is
    the text under it."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        regex_engine="python-re",
        defer_build=True,
        validate_by_alias=True,
        validate_by_name=False,
    )

    def replaced(self, **keys: Any) -> Self:
        """Return a copy with other values of these keys."""
        return self.model_copy(update=keys)

    def set_fields(self) -> dict[str, Any]:
        """Return the fields that the file sets, without those that have their
        defaults."""
        fields = {}
        for name in type(self).model_fields:
            if name in self.model_fields_set:
                fields[name] = getattr(self, name)
        return fields

    def to_json(self, *without: str, defaults: bool = True) -> dict[str, Any]:
        """Return the keys with a value as JSON values, in the order of the class,
        except `without`.

        Without `defaults`, the keys that the file sets: a job gets them and validates
        them again.
        """
        return self.model_dump(
            mode="json",
            by_alias=True,
            exclude_unset=not defaults,
            exclude_none=True,
            exclude={*without},
        )


def _one_line(text: str) -> str:
    # `$` of a pattern matches before the end of a line too
    if text.endswith("\n"):
        raise ValueError(f"{text!r} ends with a line break; take it away")
    return text


class _Unwritten:
    """A field that is None if its key is not written; None itself cannot be written."""

    def __get_pydantic_core_schema__(
        self, kind: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        members = [member for member in get_args(kind) if member is not NoneType]
        return handler(reduce(or_, members))


Maybe = Annotated[T | None, _Unwritten()]
Some = Annotated[T, Field(min_length=1)]
"""A text or list that is not empty."""
Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]
"""A whole number, 0 or more."""

NotNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Slug = Annotated[
    str,
    Field(pattern="^[A-Za-z0-9_-][A-Za-z0-9._-]*$", max_length=100),
    AfterValidator(_one_line),
]
Titled = Annotated[
    str, Field(pattern=r"^[\w-][\w.-]*$", max_length=100), AfterValidator(_one_line)
]
"""A name of letters of any script, digits, `.`, `_` and `-`, that a folder can have."""
Hub = Annotated[
    str, Field(pattern=r"^[^/\s]+/[^/\s]+$", max_length=200), AfterValidator(_one_line)
]
"""An id on the Hugging Face hub, as EleutherAI/pythia-70m."""
Url = Annotated[str, Field(pattern="^https?://")]
Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
_LANGUAGES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de
dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id
ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu
lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu
rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr
ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""  # ISO 639-1


def _language(code: str) -> str:
    if len(code) == 2 and code not in _LANGUAGES.split():
        raise ValueError(
            f"{code!r} is not a language of ISO 639-1; write en for English, zh for "
            "Chinese"
        )
    return code


Language = Annotated[str, Field(pattern="^[a-z]{2,3}$"), AfterValidator(_language)]
Years = Annotated[list[int], Field(min_length=2, max_length=2)]


def _once(values: list[T]) -> list[T]:
    for number, value in enumerate(values):
        if value in values[:number]:
            raise ValueError(f"{value!r} is given twice; once is enough")
    return values


Unique = Annotated[list[T], AfterValidator(_once)]


class Downloaded(Keys):
    """Keys of an entry that is read from a file of the Python package index."""

    download: str
    """A slug of `downloads.yaml`."""


class OnHub(Keys):
    """Keys of an entry that is read from a repository of the Hugging Face hub."""

    hub: Maybe[Hub] = None
    """The id on the Hugging Face hub, as EleutherAI/pythia-70m or swj0419/WikiMIA."""
    revision: Some[str] = "main"
    """A branch, tag, commit or refs/pr/N of `hub`. The commit is recorded."""

    def repositories(self) -> dict[str, str]:
        """Return the id of each repository that is read, by the key that has its
        revision."""
        return {} if self.hub is None else {"revision": self.hub}


class Unrepeated(NamedTuple):
    """The form of a text that may hold a secret by mistake: no complaint repeats the
    text."""

    pattern: str

    def __get_pydantic_core_schema__(
        self, kind: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        schema = handler(Annotated[str, Field(pattern=self.pattern)])
        return core_schema.no_info_before_validator_function(self._check, schema)

    def _check(self, value: Any) -> Any:
        if not isinstance(value, str) or not re.search(self.pattern, value):
            message = "what is given does not have the right form ({pattern})"
            raise PydanticCustomError("unrepeated", message, {"pattern": self.pattern})
        return value


MOST_MISTAKES, MOST_CHARACTERS = 20, 4_000
"""Mistakes that are told at once, and their characters: one screen."""


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def parse(value: Any, kind: type[T], where: str, *path: str) -> T:
    """Return `value`, found under the keys `path` of the file `where`, as `kind`, which
    is made of `Keys`.

    Raises InputError with one line for each mistake: file, key, what is wrong, what
    would be right.
    """
    try:
        return adapter(cast(Any, kind)).validate_python(value)
    except ValidationError as error:
        lines = [f"{where}: {line}" for line in _explain(error, value, kind, path)]
        shown = lines[:MOST_MISTAKES]
        while len(shown) > 1 and sum(map(len, shown)) > MOST_CHARACTERS:
            shown.pop()
        if len(lines) > len(shown):
            shown.append(f"{where}: and {len(lines) - len(shown)} more")
        raise InputError("\n".join(shown)) from None


def read_keys(path: Path, kind: type[T]) -> T:
    """Read a YAML file as `kind`; raises as `read_yaml` and `parse`."""
    return parse(read_yaml(path), kind, str(path))


Sources = Mapping[str, type[Keys]]
"""The class of an entry of a registry, by its key `source`."""


def fields_of(kind: type[Keys]) -> dict[str, FieldInfo]:
    """Return the fields of a model by the keys that a file has for them."""
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def parse_entry(slug: str, entry: Any, sources: Sources, where: str) -> Any:
    """Return an entry of a registry as the class of its `source`; raises as `parse`."""
    if "source" not in entry:
        raise InputError(f"{where}: {slug}: missing key 'source'")
    if str(entry["source"]) not in sources:
        hint = nearest(entry["source"], sources)
        raise InputError(
            f"{where}: {slug}.source: {entry['source']!r} is not valid: {hint}"
        )
    kind = sources[entry["source"]]
    for key in sorted(map(str, entry.keys() - fields_of(kind).keys())):
        others = []
        for source, other in sources.items():
            if key in fields_of(other):
                others.append(repr(source))
        if others:
            raise InputError(
                f"{where}: unknown key '{slug}.{key}': it is a key of source "
                f"{' or '.join(others)}, and this source is '{entry['source']}'"
            )
    for key, field in fields_of(kind).items():
        if field.is_required() and key not in entry:
            raise InputError(
                f"{where}: {slug}: missing key '{key}', which source {entry['source']} "
                "needs"
            )
    return parse(entry, kind, where, slug)


def parse_entries(entries: Any, sources: Sources, where: str) -> dict[str, Any]:
    """Return the entries of a registry, by slug, each as the class of its key `source`;
    raises as `parse`."""
    parse(entries, dict[Slug, dict[Any, Any]], where)
    parsed = {}
    for slug, entry in entries.items():
        parsed[slug] = parse_entry(slug, entry, sources, where)
    return parsed


F = TypeVar("F")


def register_source(functions: dict[str, F], source: str) -> Callable[[F], F]:
    """Return a decorator that puts what reads `source` into `functions`, each source
    once."""

    def register(function: F) -> F:
        if source in functions:
            raise ValueError(f"two functions read '{source}'")
        functions[source] = function
        return function

    return register


@cache
def key_texts(kind: type[BaseModel]) -> dict[str, str]:
    """Return the keys of a model, as a file has them, with the text under each; a
    base's where a subclass has none.

    The texts are read here and not by pydantic's `use_attribute_docstrings`, which
    doubles the time of an import.
    """
    texts: dict[str, str] = {}
    for base in kind.__mro__:
        if base is not BaseModel and issubclass(base, BaseModel):
            texts = _texts_in(base.__module__)[base.__name__] | texts
    return {
        field.alias or name: texts.get(name, "")
        for name, field in kind.model_fields.items()
    }


@cache
def _texts_in(module: str) -> dict[str, dict[str, str]]:
    """Return the texts under the fields of each class of a module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    texts: dict[str, dict[str, str]] = {}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        texts[node.name] = {}
        for field, below in pairwise(node.body):
            text = _text_of(below)
            target = field.target if isinstance(field, ast.AnnAssign) else None
            if isinstance(target, ast.Name) and text is not None:
                texts[node.name][target.id] = " ".join(text.split())
    return texts


def _text_of(statement: ast.stmt) -> str | None:
    """Return the text of a statement that is a text alone."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else None
    return None


class _Mistake(NamedTuple):
    """A complaint of pydantic: its type and place in the file, what is there, and the
    types that may be there."""

    type: str
    path: tuple[Any, ...]
    value: Any
    about: str
    """The key that is missing, unknown or no text, else what is wrong in plain
    words."""
    members: list[Any]
    text: str
    """The text under the key, which says what would be right."""

    @property
    def key(self) -> str:
        return ".".join(shorten(key) for key in self.path) or "top level"

    @property
    def line(self) -> str:
        match self.type:
            case "extra_forbidden":
                valid: set[str] = set()
                for member in self.members:
                    valid.update(_keys_of(member))
                folder = f"{self.key}." if self.path else ""
                return (
                    f"unknown key '{folder}{shorten(self.about)}': "
                    f"{nearest(self.about, valid)}"
                )
            case "invalid_key":
                about = (
                    "is not text; write a name, in quotes if it looks like something "
                    "else."
                )
                return f"{self.key}: the key {shorten(self.about)} {about}"
            case "literal_error":
                words: list[str] = []
                for member in self.members:
                    if get_origin(member) is Literal:
                        words += map(str, get_args(member))
                hint = nearest(self.value, words)
                return f"{self.key}: {self.shown} is not valid: {hint}"
            case "string_pattern_mismatch":
                return (
                    f"{self.key}: {self.shown} does not have the right form "
                    f"({self.about}). {self.text}".strip()
                )
            case "unrepeated":
                return f"{self.key}: {self.about}. {self.text}"
            case "value_error":
                end = "" if self.about.endswith("?") else "."
                return f"{self.key}: {self.about}{end}"
        return (
            f"{self.key}: {self.shown} is not valid: {self.about}. {self.text}".strip()
        )

    @property
    def shown(self) -> str:
        return shorten(repr(self.value))


def _explain(
    error: ValidationError, value: Any, kind: Any, path: tuple[str, ...]
) -> list[str]:
    """Return a line for each mistake; missing keys of one place share one, and so do
    the types that a value may have.

    Where a value may be of several types, what is wrong inside of it says more than
    that it is not of the others.
    """
    places: dict[tuple[Any, ...], list[_Mistake]] = {}
    for complaint in error.errors(include_url=False):
        mistake = _mistake(complaint, value, kind, path)
        places.setdefault(mistake.path, []).append(mistake)
    around = set()
    for place in places:
        around |= {place[:length] for length in range(len(place))}
    lines: set[str] = set()
    for place, mistakes in places.items():
        lines.update(_lines_of(mistakes, place in around))
    return sorted(lines)


def _lines_of(mistakes: list[_Mistake], is_around: bool) -> Iterator[str]:
    """Yield the lines of the mistakes of one place; `is_around`: something inside of
    the value is wrong, too."""
    missing = []
    of_type = []
    of_words = []
    others = []
    for mistake in mistakes:
        if mistake.type == "missing":
            missing.append(repr(mistake.about))
        elif mistake.type in _TYPES:
            of_type.append(mistake)
        elif mistake.type == "literal_error":
            of_words.append(mistake)
        else:
            others.append(mistake)
    if missing:
        yield f"{mistakes[0].key}: missing key {', '.join(missing)}"
    for mistake in others:
        yield mistake.line
    if missing or others:
        return
    if of_type:
        if not is_around:
            yield _of_types(of_type + of_words)
        return
    # a value of one of the types, as a number that is too small, need not be told the
    # words besides
    for mistake in of_words:
        yield mistake.line


def _mistake(complaint: Any, value: Any, kind: Any, path: tuple[Any, ...]) -> _Mistake:
    """Return a complaint with its place: parts of `loc` that are not keys name the
    member of a union."""
    loc = complaint["loc"]
    type = complaint["type"]
    context = complaint.get("ctx", {})
    plain = _PLAIN[type].format(**context) if type in _PLAIN else complaint["msg"]
    about = str(context.get("error", plain))
    if loc[-1:] == ("[key]",):  # a key itself is wrong
        loc = loc[:-2]
        kinds = {"string_type": "invalid_key", "literal_error": "extra_forbidden"}
        if type in kinds:
            type = kinds[type]
            about = str(complaint["input"])
    elif type in _OF_KEYS:
        *loc, key = loc
        about = str(key)
    members = _members(kind)
    text = ""
    for part in loc:
        is_key = isinstance(value, dict) and part in value
        is_number = isinstance(value, list) and isinstance(part, int)
        if not (is_key or is_number):
            continue
        inside = []
        text_inside = ""
        for member in members:
            for kind_inside, described in _inside(member, part):
                inside += _members(kind_inside)
                text_inside = text_inside or described
        members = inside
        text = text_inside or text
        value = value[part]
        path = (*path, part)
    return _Mistake(type, path, complaint["input"], about, members, text)


_OF_KEYS = ("missing", "extra_forbidden", "invalid_key")
_PLAIN = {
    "too_short": "it has {actual_length} entries and needs at least {min_length}",
    "too_long": "it has more than {max_length}",
    "string_too_short": "it is empty",
    "string_unicode": "it is not UTF-8; if it names a file, rename the file",
    "string_too_long": "it has more than {max_length} characters",
    "greater_than": "it must be above {gt:g}",
    "greater_than_equal": "it must be at least {ge:g}",
    "less_than": "it must be below {lt:g}",
    "less_than_equal": "it must be at most {le:g}",
    "multiple_of": "it must be a multiple of {multiple_of:g}",
    "finite_number": "it must be a finite number",
    "string_pattern_mismatch": "{pattern}",
    "literal_error": "{expected}",
}
"""Complaints of pydantic in plain words, by type."""
_TYPES = {
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "none_required": "nothing",
}
"""What a complaint of pydantic about a type needs."""


def _has_keys(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Keys)


def _keys_of(kind: Any) -> Collection[str]:
    """Return the keys that a mapping of this type may have; none where it may have
    any."""
    if get_origin(kind) is dict:
        keys: list[str] = []
        for member in _members(get_args(kind)[0]):
            keys += get_args(member)
        return keys
    return fields_of(kind) if _has_keys(kind) else ()


def _members(kind: Any) -> list[Any]:
    """Return the types of a union, each without the checks of `Annotated`."""
    origin = get_origin(kind)
    args = get_args(kind)
    if origin not in (Annotated, Union, UnionType):
        return [kind]
    members = []
    for arg in args[:1] if origin is Annotated else args:
        members += _members(arg)
    return members


def _inside(kind: Any, part: Any) -> list[tuple[Any, str]]:
    """Return what a key or number of a value leads to: its type, and the text under the
    key."""
    if get_origin(kind) in (list, dict):
        return [(get_args(kind)[-1], "")]
    field = fields_of(kind).get(part) if _has_keys(kind) else None
    return [] if field is None else [(field.annotation, key_texts(kind)[part])]


def _of_types(mistakes: list[_Mistake]) -> str:
    """Say which types a value may have, and how to write it where its type is easily
    mistaken."""
    value = mistakes[0].value
    types = [_TYPES.get(mistake.type, mistake.about) for mistake in mistakes]
    needed = list(dict.fromkeys(types))
    hint = ""
    if "true or false" in needed and value in ("true", "false"):
        # Snakemake reads these as text on the command line; there, switches have a
        # capital
        hint = f"On the command line, write {value.title()}. "
    if "text" in needed and isinstance(value, bool | int | float):
        hint = "Put it in quotes. "
    first = mistakes[0]
    shown = f"{_kind(value)} {first.shown}".removesuffix(" None")
    return (
        f"{first.key}: {shown} where {' or '.join(needed)} is needed. "
        f"{hint}{first.text}".strip()
    )


def _kind(value: Any) -> str:
    kinds = {
        dict: "a mapping",
        list: "a list",
        str: "the text",
        bool: "the switch",
        int: "the number",
        float: "the number",
        NoneType: "nothing",
    }
    return kinds.get(type(value), type(value).__name__)
