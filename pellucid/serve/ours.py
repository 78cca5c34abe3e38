"""Our own interface, /v1: every option of `translate`, with scores and alignments, and a stream."""

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model
from starlette.responses import StreamingResponse

from pellucid.config.settings import ABOVE_0
from pellucid.errors import PellucidError, UsageError
from pellucid.reading.looking import align_translation
from pellucid.search.options import OPTIONS, TranslationOptions, check_values
from pellucid.serve.body import Body
from pellucid.serve.documents import translate_documents
from pellucid.serve.routes import Asked, Route
from pellucid.serve.service import AUTO, Job, Model, Service
from pellucid.translate.sentences import TOKENS
from pellucid.translate.text_translator import TextTranslator
from pellucid.translate.translation import Translation, stable_beginning, text_of

OF_SENTENCES = ("prefix", "scores", "alignment")
LINE = re.compile(r"^ +(\w+): (.*?)(?=^ +\w+: |\Z)", re.DOTALL | re.MULTILINE)  # on an option
MEANINGS = dict(LINE.findall(TextTranslator.translate.__doc__ or ""))
THE_SERVERS = {"batch_tokens", "memory"}  # options that do not change a translation


# A wrong list has one error, however long it is.
Several = Annotated[list[str], Field(fail_fast=True)]
Ids = Annotated[list[int], Field(fail_fast=True)]
Prefixes = Annotated[list[str | Ids | None], Field(fail_fast=True)]


class Texts(Body):
    """What to translate, and what to return of it."""

    text: str | Several = Field(description="one text, or several")
    source: str | None = Field(None, description="the language of the texts; auto: detect that of each")
    target: str | None = Field(None, description="the language to translate to; needed if there are several")
    prefix: str | Ids | Prefixes | None = Field(
        None, description="text or ids with which translations begin, or a list with one for each text"
    )
    format: Literal["sentence", "text", "html", "xml"] = Field(
        "sentence", description="sentence: each text is one; others keep lines and tags"
    )
    seconds: float = Field(math.inf, gt=0, description="a deadline, if that of the server is too late")
    scores: bool = Field(False, description="also return the log-probability of each token")
    alignment: bool = Field(False, description="also return which words belong together")


def _field(option: Any) -> Any:
    """Return the type of an option, with its limits, and no default."""
    low, high = (option.metadata.get(name, math.nan) for name in ("low", "high"))
    within = {"gt": 0.0, "le": high} if low == ABOVE_0 else {"ge": low, "le": high}
    within = {name: limit for name, limit in within.items() if math.isfinite(limit)}
    meaning = " ".join(MEANINGS.get(option.name, "").split())
    return Annotated[option.type | None, Field(description=meaning, **within)], None


NAMES = [name for name in TranslationOptions.__annotations__ if name in OPTIONS and name not in THE_SERVERS]
SETTINGS: Any = {name: _field(OPTIONS[name]) for name in NAMES}
Translate = create_model("Translate", __base__=Texts, **SETTINGS)  # with all options of the library


class Hypothesis(BaseModel):
    """A hypothesis in an answer; the last two fields if scores are asked for."""

    text: str
    score: float
    finished: bool
    tokens: list[str] | None = None
    log_probabilities: list[float] | None = None


class Alignment(BaseModel):
    """Which words belong together."""

    links: list[tuple[int, int]]
    source_words: list[str]
    target_words: list[str]


class Translated(BaseModel):
    """A translation in an answer; the last fields if the text is one sentence."""

    text: str
    source: str
    truncated: bool | None = None
    unknown: list[str] | None = None
    hypotheses: list[Hypothesis] | None = None
    alignment: Alignment | None = None


async def read_job(service: Service, asked: Asked) -> Job:
    """Return what the fields ask for; detect languages that are not given."""
    body, languages = asked.body, service.languages
    texts = body.text if isinstance(body.text, list) else [body.text]
    source, target = body.source, body.target
    if target is None:
        (target, *others) = languages.targets()
        if others:
            raise UsageError(f"the field 'target' is missing. Set one of {', '.join([target, *others])}.")
    if not (able := languages.sources(target)):
        languages.model(AUTO, target)  # raises the error that names the targets
    source = source or (able[0] if len(able) == 1 else AUTO)
    form = getattr(body, "format", "sentence").replace("sentence", "text")
    sources = [code for code, _ in await service.sources(texts, source, able, form=form)]
    options = check_values({name: getattr(body, name) for name in ("prefix", *NAMES)})
    # The models may have been loaded again meanwhile, and those of before may be closed.
    return Job(asked.client, texts, sources, target, options, body.seconds, languages=service.languages)


def model_of(service: Service, job: Job, place: int = 0) -> Model:
    """Return the model that translates a text of a job, also if others are served by now."""
    return (job.languages or service.languages).model(job.sources[place], job.target)


async def translate(service: Service, asked: Asked) -> dict[str, Any]:
    """Translate one text or several, with every option of the library."""
    job, said = await read_job(service, asked), list[dict[str, Any]]()
    if asked.body.format != "sentence":
        for name in OF_SENTENCES:
            if getattr(asked.body, name):
                message = f"{name} belongs to a sentence, and format is {asked.body.format!r}. "
                raise UsageError(f"{message}Leave out one of both.")
        texts = await translate_documents(service, job._replace(form=asked.body.format))
        pairs = zip(texts, job.sources, strict=True)
        return {"translations": [{"text": text, "source": source} for text, source in pairs]}
    async with service.entered(job) as job:
        for place, translation in enumerate(await service.decode(job)):
            said.append(as_table(translation, asked.body.scores) | {"source": job.sources[place]})
            if asked.body.alignment:
                model = model_of(service, job, place)
                said[-1]["alignment"] = await service.aside(_align, model, translation, job.target)
    return {"translations": said}


def as_table(translation: Translation, scores: bool) -> dict[str, Any]:
    """Return a translation as it is written in JSON."""
    names = ("text", "score", "finished") + ("tokens", "log_probabilities") * scores
    hypotheses = [{name: getattr(one, name) for name in names} for one in translation.hypotheses]
    about = {name: getattr(translation, name) for name in ("text", "truncated", "unknown")}
    return about | {"hypotheses": hypotheses}


def _align(model: Model, translation: Translation, target: str) -> dict[str, Any]:
    if len(translation.hypotheses[0].token_ids) > TOKENS:
        raise UsageError(f"alignment: a translation has more than {TOKENS:,} tokens. Leave alignment out.")
    found = align_translation(model.translator, translation, model.to(target))
    links = [[link.source, link.target] for link in found.links]
    return {"links": links, "source_words": found.source_words, "target_words": found.target_words}


async def stream(service: Service, asked: Asked) -> StreamingResponse:
    """Translate a text, and send each piece of its translation as soon as it will not change any more.
    Events: piece (text that follows), then end (the translation) or error."""
    if asked.body.format != "sentence" or asked.body.alignment:
        raise UsageError("a stream is of one sentence, without alignment. Leave out format and alignment.")
    job = await read_job(service, asked)
    if len(job.texts) != 1 or any(job.options.get(name, 1) != 1 for name in ("beam", "n_best")):
        raise UsageError("a stream is of one text, and follows one hypothesis. Leave out beam and n_best.")
    events = _events(service, job._replace(options={**job.options, "beam": 1}), asked.body.scores)
    first = await anext(events)  # what raises an error before it has a status

    async def all_events() -> AsyncIterator[str]:
        try:
            yield first
            async for event in events:
                yield event
        except PellucidError as error:
            yield _event("error", {"error": str(error)})

    return StreamingResponse(all_events(), media_type="text/event-stream")


async def _events(service: Service, job: Job, scores: bool) -> AsyncIterator[str]:
    """Yield an event for each piece of a translation, and a last one with all of it."""
    loop, changed, newest, said = asyncio.get_running_loop(), asyncio.Event(), list[int](), ""
    model = model_of(service, job)
    vocabulary = model.translator.vocabulary

    def grew(ids: list[int]) -> None:
        newest[:] = ids
        loop.call_soon_threadsafe(changed.set)

    translating = asyncio.create_task(service.translate(job, grew))
    translating.add_done_callback(lambda _: changed.set())
    try:
        while not translating.done():
            await changed.wait()
            changed.clear()
            text = stable_beginning(text_of(newest, model.to(job.target), vocabulary), vocabulary.preparation)
            if len(text) > len(said):
                yield _event("piece", {"text": text[len(said) :]})
                said = text
        (translation,) = translating.result()
        if len(translation.text) > len(said):
            yield _event("piece", {"text": translation.text[len(said) :]})
        yield _event("end", as_table(translation, scores))
    finally:
        translating.cancel()


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


ROUTES = [
    Route("POST", "/v1/translate", translate, Translate, dict[str, list[Translated]]),
    Route("POST", "/v1/stream", stream, Translate, str, gives="text/event-stream"),
]
