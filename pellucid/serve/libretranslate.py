"""LibreTranslate's interface, version 1.9: its routes, fields and errors, for the clients that speak it."""

import secrets
import time
from collections.abc import Sequence
from functools import partial
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, WithJsonSchema
from starlette.datastructures import UploadFile
from starlette.responses import Response

from pellucid.errors import UsageError
from pellucid.serve.admission import Refusal
from pellucid.serve.body import Body
from pellucid.serve.codes import name_of, short
from pellucid.serve.documents import translate_ways
from pellucid.serve.files import READERS, read_file
from pellucid.serve.languages import detect
from pellucid.serve.routes import FILES, FORM, JSON, Asked, Route
from pellucid.serve.service import AUTO, Job, Service

OTHER_NAMES = {"pb": "pt-BR", "zt": "zh-Hant"}  # codes of older versions
MOST = 10  # alternatives
SHOWN = 3  # languages that /detect names
SURE = 0.9  # how probable a language must be, for which there is no model, so that a text is refused
KEPT, ROOM = 1800, 1 << 26  # seconds for which a file is kept, and bytes of all that are


class Fields(Body):
    """What /detect takes. Other fields are allowed. If one is missing, the error is LibreTranslate's."""

    model_config = ConfigDict(extra="ignore")
    q: str | list[str] | None = None
    api_key: str | None = None


class Translate(Fields):
    """What /translate takes. source may be auto; format is text or html."""

    source: str | None = None
    target: str | None = None
    format: str | None = "text"
    alternatives: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "maximum": MOST})] = 0


class TranslateFile(Translate):
    """What /translate_file takes."""

    file: Annotated[UploadFile | None, WithJsonSchema({"type": "string", "format": "binary"})] = None


class Detected(BaseModel):
    """A language in an answer, and how sure it is, in percent."""

    confidence: int
    language: str


class Translated(BaseModel):
    """What /translate returns: lists for a list of texts."""

    translatedText: str | list[str]
    detectedLanguage: Detected | list[Detected] | None = None
    alternatives: list[str] | list[list[str]] | None = None


def as_error(status: int, message: str) -> dict[str, str]:
    """Return the body of an error."""
    return {"error": f"Slowdown: {message}" if status == 429 else message}


class Shelf:
    """Translated files, in memory until they are too old or there is no room for them."""

    def __init__(self) -> None:
        self._files = dict[str, tuple[float, str, bytes]]()

    def put(self, name: str, data: bytes) -> str:
        """Keep a file. Return the name under which it can be found, which nobody can guess."""
        found = secrets.token_urlsafe(16) + PurePath(name).suffix
        self._files[found] = (time.monotonic() + KEPT, name, data)
        while sum(len(each) for *_, each in self._files.values()) > ROOM:
            del self._files[next(iter(self._files))]
        return found

    def get(self, found: str) -> tuple[str, bytes]:
        """Return a file's own name and its content. Raise an error if it is not here any more."""
        for each, (end, *_) in [*self._files.items()]:
            if end < time.monotonic():
                del self._files[each]
        if found not in self._files:
            raise Refusal(404, f"there is no such file. A file is kept for {KEPT // 60} minutes.")
        return self._files[found][1:]


def _served(service: Service) -> list[str]:
    return [*dict.fromkeys([*service.languages.sources(), *service.languages.targets()])]


def _require(body: Body, *names: str) -> None:
    for name in names:
        if not getattr(body, name):
            raise UsageError(f"Invalid request: missing {name} parameter")


def _texts(service: Service, q: str | list[str]) -> list[str]:
    """Return the texts of a request. Raise an error if they are too many, or too long."""
    texts = [q] if isinstance(q, str) else q
    for size, name in ((len(texts), "texts"), (sum(map(len, texts)), "characters")):
        if size > (most := getattr(service.limits, name)):
            raise UsageError(f"Invalid request: request ({size}) exceeds text limit ({most})")
    return texts


def _language(service: Service, code: str) -> str:
    """Return the language that a code means. Raise an error if it is not served."""
    if (found := service.languages.find(OTHER_NAMES.get(code.lower(), code))) is None:
        raise UsageError(f"{code} is not supported")
    return found


async def _rank(service: Service, texts: Sequence[str]) -> list[dict[str, float]]:
    among = _served(service)
    ranked: list[dict[str, float]] = await service.aside(lambda: [detect(text, among) for text in texts])
    return ranked


async def _job(service: Service, asked: Asked, texts: Sequence[str]) -> tuple[Job, list[Any]]:
    """Return what to translate, and the languages that were detected. Raise an error if no model does it.

    If there is no model for the likeliest language of a text, which is not sure, it is the next one."""
    body, target, detected = asked.body, _language(service, asked.body.target), list[Any]()
    if body.source == AUTO:
        able = {target, *service.languages.sources(target)}
        for each in await _rank(service, texts):
            detected.append(next(pair for pair in each.items() if pair[0] in able or pair[1] > SURE))
        sources = [code for code, _ in detected]
    else:
        sources = [_language(service, body.source)] * len(texts)
    for source in dict.fromkeys(sources):
        if source != target and (source, target) not in service.languages.pairs:
            there, here = (f"{name_of(code)} ({short(code)})" for code in (target, source))
            raise UsageError(f"{there} is not available as a target language from {here}")
    return Job(asked.client, texts, sources, target), [*map(_say, detected)]


def _say(detected: tuple[str, float]) -> dict[str, Any]:
    return {"confidence": round(100 * detected[1]), "language": short(detected[0])}


async def _translate(service: Service, job: Job, count: int, form: str, **cut: Any) -> list[list[str]]:
    """Return translations of each text, the best first. A text in the target language is its own."""
    foreign = [index for index, source in enumerate(job.sources) if source != job.target]
    ways, size = [[text] for text in job.texts], service.limits.texts
    for some in (foreign[start : start + size] for start in range(0, len(foreign), size)):
        found = await translate_ways(service, job.part(some), count, form, **cut)
        for index, each in zip(some, found, strict=True):
            ways[index] = each
    return ways


async def translate(service: Service, asked: Asked) -> dict[str, Any]:
    """Translate one text or several."""
    body = asked.body
    _require(body, "q", "source", "target")
    texts, count = _texts(service, body.q), _count(body.alternatives)
    if (form := body.format or "text") not in ("text", "html"):
        raise UsageError(f"{form} format is not supported")
    job, detected = await _job(service, asked, texts)
    ways = await _translate(service, job, 1 + count, form)
    said: dict[str, list[Any]] = {"translatedText": [best for best, *_ in ways]}
    if detected:
        said["detectedLanguage"] = detected
    if count:
        said["alternatives"] = [[text for text in dict.fromkeys(each) if text != each[0]] for each in ways]
    return {name: each if isinstance(body.q, list) else each[0] for name, each in said.items()}


def _count(alternatives: Any) -> int:
    try:
        count = max(0, int(alternatives))
    except (TypeError, ValueError, OverflowError):
        raise UsageError("Invalid request: alternatives parameter is not a number") from None
    if count > MOST:
        raise UsageError(f"Invalid request: alternatives parameter must be <= {MOST}")
    return count


async def detect_language(service: Service, asked: Asked) -> list[dict[str, Any]]:
    """Return the likeliest languages of a text, or of several together."""
    _require(asked.body, "q")
    texts = _texts(service, asked.body.q)
    with service.entered(Job(asked.client, texts, [], "")):
        (ranked,) = await _rank(service, ["\n".join(texts)])
    best, *others = [*map(_say, ranked.items())][:SHOWN]
    return [best, *(each for each in others if each["confidence"])]


async def languages(service: Service, asked: Asked) -> list[dict[str, Any]]:
    """Return all languages, each with those that it is translated to, and itself."""
    said = list[dict[str, Any]]()
    for code in _served(service):
        targets = sorted(short(each) for each in {code, *service.languages.targets(code)})
        said.append({"code": short(code), "name": name_of(code), "targets": targets})
    return said


async def settings(needs_key: bool, service: Service, asked: Asked) -> dict[str, Any]:
    """Return what a page for people needs to know, and the limits."""
    target = service.languages.targets()[0]
    source = {"code": AUTO, "name": "Auto Detect"}
    return {
        "charLimit": service.limits.characters,
        "frontendTimeout": 500,  # milliseconds until what is typed is translated
        "apiKeys": needs_key,
        "keyRequired": needs_key,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": [*READERS],
        "language": {"source": source, "target": {"code": short(target), "name": name_of(target)}},
        "limits": vars(service.limits),
    }


async def suggest(service: Service, asked: Asked) -> None:
    """Refuse a suggestion."""
    raise Refusal(403, "Suggestions are disabled on this server.")


async def translate_file(shelf: Shelf, service: Service, asked: Asked) -> dict[str, str]:
    """Translate the texts of a file, and return where the translated file is."""
    body = asked.body
    _require(body, "file", "source", "target")
    target, source = (
        _language(service, code) if code != AUTO else None for code in (body.target, body.source)
    )
    name, data = PurePath(body.file.filename or ""), await body.file.read()
    file = await service.aside(read_file, name.name, data, source, target)
    texts = [slot.text for slot in file.slots]
    whole = _texts(service, "\n".join(texts))
    job, _ = await _job(service, asked, whole)
    job = job._replace(texts=texts, sources=[*job.sources] * len(texts))
    ways = await _translate(service, job, 1, file.form, **file.cut)
    found = shelf.put(
        f"{name.stem}_{short(job.target)}{name.suffix}",
        await service.aside(file.fill, [best for best, *_ in ways]),
    )
    return {"translatedFileUrl": f"{asked.request.base_url}download_file/{found}"}


async def download_file(shelf: Shelf, service: Service, asked: Asked) -> Response:
    """Return a translated file."""
    name, data = shelf.get(asked.request.path_params["name"])
    headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(name, errors='replace')}"}
    return Response(data, headers=headers, media_type="application/octet-stream")


def make_routes(needs_key: bool) -> list[Route]:
    """Return the rows of the table. needs_key: whether clients need a key."""
    shelf, forms = Shelf(), (JSON, FORM, FILES)
    keyed, free = partial(Route, error=as_error), partial(Route, error=as_error, is_open=True)
    to_file, of_file, shown = (
        partial(translate_file, shelf),
        partial(download_file, shelf),
        partial(settings, needs_key),
    )
    return [
        keyed(
            "POST", "/translate", translate, "Translate one text or several.", Translate, Translated, forms
        ),
        keyed("POST", "/detect", detect_language, "Detect a language.", Fields, list[Detected], forms),
        keyed("POST", "/translate_file", to_file, "Translate a file.", TranslateFile, accepts=(FILES,)),
        free(
            "GET",
            "/download_file/{name}",
            of_file,
            "Return a translated file.",
            gives="application/octet-stream",
        ),
        free("GET", "/languages", languages, "Name the languages, and to which each is translated."),
        free("GET", "/frontend/settings", shown, "Name the limits, and what a page for people needs."),
        free("POST", "/suggest", suggest, "Refuse a suggestion.", accepts=forms),
    ]
