"""Read YAML and check it against a schema; every complaint names the file, the key and what would be right."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from pretrace.runtime.errors import InputError, nearest, remedy

SCHEMAS = Path(__file__).parents[3] / "workflow" / "schemas"


# libyaml, which all wheels of PyYAML have, is seven times as fast: a study of thousands of runs is read by every job
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeyLoader(_Loader):
    """YAML in which a key given twice is an error: plain YAML keeps the last one and says nothing."""


def _unique_mapping(loader: _UniqueKeyLoader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool | None):
            raise yaml.constructor.ConstructorError(
                None, None, "a key must be a plain value", key_node.start_mark
            )
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key '{key}' stands twice", key_node.start_mark
            )
        seen.add(key)
    return yaml.constructor.SafeConstructor.construct_mapping(loader, node, deep=deep)


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping.

    Raises:
        InputError: the file is missing, cannot be read, is not UTF-8, is not YAML, repeats a key or is not a mapping.
    """
    try:
        value = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except FileNotFoundError as error:
        raise InputError(
            f"{path} does not exist. Check the path; it is relative to the working directory."
        ) from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; a YAML file is needed.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). {remedy(error)}".rstrip()) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise InputError(f"{where}: not valid YAML ({problem}).") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} holds {_kind(value)}; a mapping of keys is needed.")
    return value


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(yaml.safe_load((SCHEMAS / f"{name}.schema.yaml").read_text(encoding="utf-8")))


def check(value: Any, schema: str, where: str) -> None:
    """Check `value` against workflow/schemas/{schema}.schema.yaml.

    A value that its schema calls `writeOnly` may hold a secret by mistake: no complaint repeats it.

    Raises:
        InputError: with one line for each mistake: file, key, what is wrong, what would be right.
    """
    errors = sorted(
        _validator(schema).iter_errors(value), key=lambda error: [str(part) for part in error.path]
    )
    if errors:
        raise InputError("\n".join(f"{where}: {_explain(error)}" for error in errors))


_SWITCHES = ("true", "false")
"""What Snakemake takes for text on the command line: there, switches have a capital."""


def _explain(error: ValidationError) -> str:
    key = ".".join(str(part) for part in error.absolute_path) or "top level"
    schema: dict[str, Any] = error.schema if isinstance(error.schema, dict) else {}
    value: Any = error.instance
    wanted: Any = error.validator_value
    described = schema.get("description", "")
    match error.validator:
        case "additionalProperties":
            valid = schema.get("properties", {})
            unknown = [name for name in value if name not in valid]
            return "; ".join(
                f"unknown key '{_join(key, name)}': {nearest(str(name), valid)}" for name in unknown
            )
        case "required":
            missing = [name for name in wanted if name not in value]
            return f"{key}: missing key {', '.join(repr(name) for name in missing)}"
        case "enum":
            return f"{key}: {value!r} is not valid: {nearest(str(value), [str(v) for v in wanted])}"
        case "type":
            found = f"{_kind(value)} {value!r}"
            hint = (
                f"On the command line, write {value.title()}. "
                if wanted == "boolean" and value in _SWITCHES
                else ""
            )
            return f"{key}: {found} where {_types(wanted)} is needed. {hint}{described}".strip()
        case "pattern":
            shown = "what is given" if schema.get("writeOnly") else repr(value)
            return f"{key}: {shown} does not have the right form ({wanted}). {described}".strip()
        case "not":
            return f"{key}: {value!r} is reserved; choose another."
        case "anyOf" if all("required" in one for one in wanted):
            choices = " or ".join(" and ".join(map(repr, one["required"])) for one in wanted)
            return f"{key}: missing key {choices}"
        case _:
            return f"{key}: {error.message}. {described}".strip()


def _join(key: str, name: Any) -> str:
    return str(name) if key == "top level" else f"{key}.{name}"


def _types(names: str | list[str]) -> str:
    words = {"object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number",
             "number": "a number", "boolean": "true or false", "null": "nothing"}  # fmt: skip
    return " or ".join(words[name] for name in ([names] if isinstance(names, str) else names))


def _kind(value: Any) -> str:
    kinds = {dict: "a mapping", list: "a list", str: "the text", bool: "the switch", int: "the number",
             float: "the number", type(None): "nothing"}  # fmt: skip
    return kinds.get(type(value), type(value).__name__)
