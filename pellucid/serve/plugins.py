"""What plug-ins of browsers ask: Immersive Translate (/imme), KISS Translator (/kiss), and those that were
made for DeepLX (/deeplx)."""

from typing import Any, Literal

from pydantic import AliasChoices, ConfigDict, Field

from pellucid.serve.body import Body
from pellucid.serve.codes import short
from pellucid.serve.deepl import translate_texts
from pellucid.serve.routes import Asked, Route
from pellucid.serve.service import AUTO, Job, Service


class Several(Body):
    """A text or several; each plug-in has its own names for these fields, and some more fields."""

    model_config = ConfigDict(extra="ignore")
    text: str | list[str] = Field(validation_alias=AliasChoices("text", "texts", "text_list"))
    source: str = Field(AUTO, validation_alias=AliasChoices("source_lang", "from"))
    target: str = Field(validation_alias=AliasChoices("target_lang", "to"))


class One(Several):
    """A text."""

    text: str
    tag_handling: Literal["", "html", "xml"] = ""


async def _translate(service: Service, asked: Asked, form: str = "text") -> list[tuple[str, str]]:
    texts = [asked.body.text] if isinstance(asked.body.text, str) else asked.body.text
    job = Job(asked.client, texts, (), asked.body.target, form=form)
    said = await translate_texts(service, job, asked.body.source)
    return [(text, short(language)) for text, language in said]


async def immersive(service: Service, asked: Asked) -> dict[str, Any]:
    """Answer Immersive Translate."""
    said = await _translate(service, asked)
    return {"translations": [{"detected_source_lang": code, "text": text} for text, code in said]}


async def kiss(service: Service, asked: Asked) -> Any:
    """Answer KISS Translator, which may send a list."""
    said = [{"text": text, "src": code} for text, code in await _translate(service, asked)]
    return said[0] if isinstance(asked.body.text, str) else said


async def deeplx(service: Service, asked: Asked) -> dict[str, Any]:
    """Answer as DeepLX."""
    ((text, code),) = await _translate(service, asked, asked.body.tag_handling or "text")
    languages = {"source_lang": code.upper(), "target_lang": asked.body.target.upper()}
    return {"code": 200, "data": text, "alternatives": [], **languages}


def as_code(status: int, message: str) -> dict[str, Any]:
    """Return the body of an error, as DeepLX writes it."""
    return {"code": status, "message": message}


ROUTES = [
    Route("POST", "/imme", immersive, Several, dict[str, list[dict[str, str]]]),
    Route("POST", "/kiss", kiss, Several, Any),
    Route("POST", "/deeplx", deeplx, One, dict[str, Any], error=as_code),
]
