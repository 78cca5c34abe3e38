"""Schemas of what comes and goes, as in OpenAPI; the same schema describes a field and checks it."""

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import Field
from typing import Any

from pellucid.errors import Setting, UsageError, did_you_mean

Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
SWITCH: Schema = {"type": "boolean"}
NOTHING: Schema = {"type": "null"}
NAMES: dict[Any, str] = {int: "integer", float: "number", bool: "boolean", str: "string"}
KINDS: dict[str, tuple[Any, str]] = {
    "string": (str, "text"),
    "number": (int | float, "a number"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (dict, "an object"),
    "null": (type(None), "null"),
}
WORDS = {"true": True, "1": True, "false": False, "0": False}  # in a form


def a_list_of(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def one_of(*schemas: Schema) -> Schema:
    """Return the schema of a value that has one of several forms."""
    return {"anyOf": [*schemas]}


def an_object(fields: Mapping[str, Schema], *required: str, others: bool = False) -> Schema:
    """Return the schema of an object with these fields. others: whether it may have more."""
    more = {"required": [*required]} if required else {}
    return {"type": "object", "properties": fields, "additionalProperties": others, **more}


def of_setting(setting: "Field[Any]") -> Schema:
    """Return the schema of a setting, with its limits."""
    optional = isinstance(setting.type, types.UnionType)
    kind: Any = typing.get_args(setting.type)[0] if optional else setting.type
    schema: dict[str, Any] = {"type": NAMES[kind]}
    for name, key in (("low", "minimum"), ("high", "maximum")):
        if math.isfinite(limit := setting.metadata.get(name, math.inf)):
            schema[key] = limit
    return schema


def check(name: str, value: Any, schema: Schema, written: bool = False) -> Any:
    """Return a value that its schema allows; raise an error for another. written: the value comes from a
    form, where all is text."""
    if forms := schema.get("anyOf"):
        for form in forms:
            if _is(value, form) or (written and form["type"] == "string"):
                return check(name, value, form, written)
        raise _wrong(name, value, " or ".join(KINDS[form["type"]][1] for form in forms))
    value = _read(value, schema["type"]) if written else value
    if not _is(value, schema):
        raise _wrong(name, value, KINDS[schema["type"]][1])
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if _is(value, NUMBER) and not low <= value <= high:
        raise _wrong(name, value, f"{KINDS[schema['type']][1]} from {low:g} to {high:g}")
    if value not in schema.get("enum", [value]):
        raise _wrong(name, value, f"one of {', '.join(schema['enum'])}")
    if isinstance(value, list):
        return [
            check(f"{name}[{number}]", each, schema["items"], written) for number, each in enumerate(value)
        ]
    return _check_fields(value, schema, written) if isinstance(value, dict) else value


def _check_fields(value: dict[str, Any], schema: Schema, written: bool) -> dict[str, Any]:
    fields = schema.get("properties", {})
    for name in value:
        if name not in fields and not schema.get("additionalProperties", True):
            raise UsageError(f"there is no field {name!r}.{did_you_mean(name, fields)}")
    return {
        name: check(name, each, fields[name], written) if name in fields else each
        for name, each in value.items()
    }


def _is(value: Any, schema: Schema) -> bool:
    kind = KINDS[schema["type"]][0]
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _read(value: Any, kind: str) -> Any:
    """Return text of a form as what it stands for, or as it is if that is not clear."""
    if kind == "array":
        return value if isinstance(value, list) else [value]
    try:
        read: dict[str, Any] = {"integer": int, "number": float, "boolean": lambda text: WORDS[text.lower()]}
        return read[kind](value) if isinstance(value, str) and kind in read else value
    except (KeyError, ValueError):
        return value


def _wrong(name: str, value: Any, wanted: str) -> UsageError:
    return UsageError(f"{{}} must be {wanted}.", Setting(name, value))
