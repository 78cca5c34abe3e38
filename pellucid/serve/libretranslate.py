"""LibreTranslate's interface, version 1.9: its routes, fields and errors, for the clients that speak it."""

import secrets
import time
from collections.abc import Sequence
from functools import partial
from pathlib import PurePath
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import ConfigDict, Field, StringConstraints, ValidationError, WithJsonSchema
from starlette.datastructures import UploadFile
from starlette.responses import Response

from pellucid.errors import UsageError
from pellucid.serve.admission import Refusal
from pellucid.serve.body import Body
from pellucid.serve.codes import name_of, short
from pellucid.serve.documents import translate_documents, translate_ways
from pellucid.serve.files import READERS, read_file
from pellucid.serve.routes import FILES, FORM, JSON, Asked, Route
from pellucid.serve.service import AUTO, KEPT, Job, Service

SHOWN = 3  # languages that /detect names
SURE = 0.9  # how probable a language without a model must be so that a text is refused
Text = Annotated[str, Field(min_length=1)]
Code = Annotated[str, StringConstraints(min_length=1, to_lower=True)]


class Fields(Body):
    """Fields of a request; others are allowed."""

    model_config = ConfigDict(extra="ignore")
    api_key: str | None = None

    @classmethod
    def _reason(cls, error: ValidationError) -> str:
        """Return what is wrong. If a field is missing or empty, this is what LibreTranslate says."""
        for each in error.errors():
            if each["type"] in ("missing", "string_too_short", "too_short"):
                return f"Invalid request: missing {each['loc'][0]} parameter"
        return super()._reason(error)


class Detect(Fields):
    """What /detect takes: a text, or several."""

    q: Text | Annotated[list[str], Field(min_length=1, fail_fast=True)]


class Translate(Detect):
    """What /translate takes."""

    source: Code = Field(description="the language of the texts; auto: detect that of each")
    target: Code = Field(description="the language to translate to")
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0, le=10, strict=False, description="how many other translations")


class TranslateFile(Fields):
    """What /translate_file takes."""

    file: Annotated[UploadFile, WithJsonSchema({"type": "string", "format": "binary"})]
    source: Code
    target: Code


def _check_size(service: Service, texts: Sequence[str], most: int) -> None:
    """Raise an error if these are more than so many texts, or too long."""
    for size, limit in ((len(texts), most), (sum(map(len, texts)), service.limits.characters)):
        if size > limit:
            raise UsageError(f"Invalid request: request ({size}) exceeds text limit ({limit})")


def _language(service: Service, code: str) -> str:
    return service.languages.find(code, service.languages.known)


async def _sources(service: Service, body: Any, texts: Sequence[str], form: str) -> list[tuple[str, float]]:
    """Return the language of each text, and how probable it is."""
    target = _language(service, body.target)
    source = AUTO if body.source == AUTO else _language(service, body.source)
    able = {target, *service.languages.sources(target)}
    return await service.sources(texts, source, able, SURE, form)


def _told(found: tuple[str, float]) -> dict[str, Any]:
    return {"confidence": round(100 * found[1]), "language": short(found[0])}


async def translate(service: Service, asked: Asked) -> dict[str, Any]:
    """Translate one text or several."""
    body, is_list = asked.body, isinstance(asked.body.q, list)
    texts = body.q if is_list else [body.q]
    _check_size(service, texts, service.limits.texts)
    found = await _sources(service, body, texts, body.format)
    sources, target = [code for code, _ in found], _language(service, body.target)
    job = Job(asked.client, texts, sources, target, form=body.format)
    ways = await translate_ways(service, job, 1 + body.alternatives)
    said: dict[str, list[Any]] = {"translatedText": [best for best, *_ in ways]}
    if body.source == AUTO:
        said["detectedLanguage"] = [*map(_told, found)]
    if body.alternatives:
        said["alternatives"] = [[text for text in dict.fromkeys(each) if text != each[0]] for each in ways]
    return {name: each if is_list else each[0] for name, each in said.items()}


async def detect(service: Service, asked: Asked) -> list[dict[str, Any]]:
    """Return the likeliest languages of a text, or of several together."""
    text = asked.body.q if isinstance(asked.body.q, str) else "\n".join(asked.body.q)
    async with service.entered(Job(asked.client, [text], [], "")):
        (ranked,) = await service.detect([text])
    best, *others = [*map(_told, ranked.items())][:SHOWN]
    return [best, *(each for each in others if each["confidence"])]


async def languages(service: Service, asked: Asked) -> list[dict[str, Any]]:
    """List all languages, each with those that it is translated to, and itself."""
    said = list[dict[str, Any]]()
    for code in service.languages.known:
        targets = sorted(short(each) for each in {code, *service.languages.targets(code)})
        said.append({"code": short(code), "name": name_of(code), "targets": targets})
    return said


async def settings(service: Service, asked: Asked) -> dict[str, Any]:
    """Return what a page for people needs to know, and all limits."""
    target = service.languages.targets()[0]
    source = {"code": AUTO, "name": "Auto Detect"}
    return {
        "charLimit": service.limits.characters,
        "frontendTimeout": 500,  # milliseconds until what is typed is translated
        "apiKeys": service.keys.are_needed,
        "keyRequired": service.keys.are_needed,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": [*READERS],
        "language": {"source": source, "target": {"code": short(target), "name": name_of(target)}},
        "limits": vars(service.limits),
    }


async def suggest(service: Service, asked: Asked) -> None:
    """Refuse a suggestion."""
    raise Refusal(403, "Suggestions are disabled on this server.")


async def translate_file(service: Service, asked: Asked) -> dict[str, str]:
    """Translate the texts of a file, and return where the translated file is."""
    body, most, end = asked.body, service.limits.texts, time.monotonic() + service.limits.seconds
    target = _language(service, body.target)
    source = None if body.source == AUTO else _language(service, body.source)
    name, data = PurePath(body.file.filename or ""), await body.file.read()
    file = await service.aside(read_file, name.name, data, source, target)
    texts, done = [slot.text for slot in file.slots], list[str]()
    _check_size(service, texts, service.limits.characters)
    ((source, _),) = await _sources(service, body, ["\n".join(texts)], file.form)
    for some in (texts[start : start + most] for start in range(0, len(texts), most)):
        job = Job(asked.client, some, [source] * len(some), target, {}, end - time.monotonic(), file.form)
        done += await translate_documents(service, job, ignored=file.ignored)
    found = secrets.token_urlsafe(16) + name.suffix
    service.files[found] = f"{name.stem}_{short(target)}{name.suffix}", await service.aside(file.fill, done)
    return {"translatedFileUrl": f"{asked.request.base_url}download_file/{found}"}


async def download_file(service: Service, asked: Asked) -> Response:
    """Return a translated file."""
    if (found := service.files.get(asked.request.path_params["name"])) is None:
        raise Refusal(404, f"there is no such file. A file is kept for {KEPT // 60} minutes.")
    name = quote(found[0], errors="replace")
    headers = {"content-disposition": f"attachment; filename=\"{name}\"; filename*=utf-8''{name}"}
    return Response(found[1], headers=headers, media_type="application/octet-stream")


row = partial(Route, accepts=(JSON, FORM, FILES))
ROUTES = [
    row("POST", "/translate", translate, Translate, dict[str, Any]),
    row("POST", "/detect", detect, Detect, list[dict[str, Any]]),
    row("POST", "/translate_file", translate_file, TranslateFile, dict[str, str]),
    Route("GET", "/download_file/{name}", download_file, is_open=True),
    Route("GET", "/languages", languages, returns=list[dict[str, Any]], is_open=True),
    Route("GET", "/frontend/settings", settings, returns=dict[str, Any], is_open=True),
    row("POST", "/suggest", suggest, is_open=True),
]
