"""What comes and goes as JSON or a form: classes whose fields pydantic checks, and describes for OpenAPI."""

import builtins
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from pellucid.errors import UsageError, did_you_mean

SHOWN = 60  # characters of a wrong value that an error shows


class Body(BaseModel):
    """The fields of a request. Another interface may allow fields that it does not know."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)

    @classmethod
    def of(cls, fields: Mapping[str, Any], written: bool) -> Self:
        """Check fields; raise an error that names what is wrong. written: they come from a form or a query,
        where all is text."""
        try:
            return cls.model_validate(fields, strict=False if written else None)
        except ValidationError as error:
            raise UsageError(cls._reason(error)) from None

    @classmethod
    def _reason(cls, error: ValidationError) -> str:
        """Return what is wrong: of the forms that a field may have, what the nearest one lacks."""
        errors = error.errors(include_url=False)
        deepest = max(len(each["loc"]) for each in errors)
        first, *_ = near = [each for each in errors if len(each["loc"]) == deepest]
        name = _name(first["loc"])
        if first["type"] == "missing":
            return f"the field {name!r} is missing."
        if first["type"] == "extra_forbidden":
            return f"there is no field {name!r}.{did_you_mean(name, cls.model_fields)}"
        reasons = dict.fromkeys(each["msg"] for each in near if _name(each["loc"]) == name)
        value = f"{first['input']!r}"
        value = value if len(value) <= SHOWN else value[:SHOWN] + "…"
        return f"{name or 'the body'} = {value}: {', or: '.join(reasons)}."


def _name(place: tuple[int | str, ...]) -> str:
    """Return the name of a field, such as text[1]. pydantic also puts in which form of the field it tried."""
    name = ""
    for part in place:
        if isinstance(part, int):
            name += f"[{part}]"
        elif not name or (part.isidentifier() and not hasattr(builtins, part)):
            name += f".{part}" if name else part
    return name
