"""DeepL's interface, version 2: texts, languages and usage. What we do not have, such as glossaries, is
refused as DeepL refuses it to a key that may not use it."""

import re
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from pellucid.errors import UsageError
from pellucid.serve.admission import Refusal
from pellucid.serve.body import Body
from pellucid.serve.codes import name_of, short
from pellucid.serve.documents import translate_documents
from pellucid.serve.markup import letters_in
from pellucid.serve.routes import FILES, FORM, JSON, Asked, Route
from pellucid.serve.service import AUTO, Job, Service

MOST = 50  # texts of a request
NO_LIMIT = 10**12  # characters: what DeepL says if there is no limit
REGIONS = {"EN": ("EN-GB", "EN-US"), "PT": ("PT-BR", "PT-PT")}  # its clients refuse EN and PT as targets
# A model may also translate to "de_formal" or "de_informal"; then formality can be had in German.
REGISTERS = {"more": "_formal", "less": "_informal"}
WITHOUT = ("glossary_id", "glossary_ids", "style_id", "translation_memory_id", "custom_instructions")
MISSING = ("/v2/document", "/v2/glossaries", "/v2/write", "/v3/")
ROWS = list[dict[str, str | int | bool]]
NOT_HERE = "this server does not have it, whatever the key."
Tags = str | list[str]  # with commas between, in one text or in several


class Translate(Body):
    """Texts to translate, and how. Other fields, such as context and preserve_formatting, change nothing."""

    model_config = ConfigDict(extra="allow", strict=False)
    text: str | Annotated[list[str], Field(min_length=1, max_length=MOST, fail_fast=True)]
    target_lang: str
    source_lang: str | None = None
    split_sentences: Literal["0", "1", "nonewlines"] | None = None
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] = "default"
    tag_handling: Literal["html", "xml"] | None = None
    outline_detection: bool = True
    splitting_tags: Tags = ""
    non_splitting_tags: Tags = ""
    ignore_tags: Tags = ""
    show_billed_characters: bool = False
    model_type: Literal["quality_optimized", "prefer_quality_optimized", "latency_optimized"] | None = None


class Kind(Body):
    """Which languages to list."""

    model_config = ConfigDict(extra="ignore")
    type: Literal["source", "target"] = "source"


def as_message(status: int, message: str) -> dict[str, str]:
    """Return the body of an error."""
    return {"message": message}


async def translate_texts(
    service: Service, job: Job, source: str | None, **how: Any
) -> list[tuple[str, str]]:
    """Return the translation of each text of a job as a document, and its language. A text in the target
    language comes back as it is.

    job: without languages of its texts. source: their language; it is detected if this is None or "auto".
    how: settings of `translate_documents`.
    """
    languages = service.languages
    target = languages.find(job.target, languages.targets(), "target_lang")
    known = AUTO
    if source and source.lower() != AUTO:
        known = languages.find(source, languages.sources(), "source_lang")
    able = {target, *languages.sources(target)}
    sources = [code for code, _ in await service.sources(job.texts, known, able, form=job.form)]
    done = await translate_documents(service, job._replace(sources=sources, target=target), **how)
    return [*zip(done, sources, strict=True)]


async def translate(service: Service, asked: Asked) -> dict[str, Any]:
    """Translate texts, each as a document."""
    body = asked.body
    for name in WITHOUT:
        if body.model_extra.get(name):
            raise Refusal(403, f"{name}: {NOT_HERE}")
    texts, form = [body.text] if isinstance(body.text, str) else body.text, body.tag_handling or "text"
    split = body.split_sentences or "1"
    cut = {"lines": split == "1", "sentences": split != "0", "outline": body.outline_detection}
    fields = {"ignored": "ignore_tags", "splitting": "splitting_tags", "inline": "non_splitting_tags"}
    cut |= {name: _names(getattr(body, field)) for name, field in fields.items()}
    job, said = Job(asked.client, texts, (), _target(service, body), form=form), list[dict[str, Any]]()
    done = await translate_texts(service, job, body.source_lang, **cut)
    for before, (after, language) in zip(texts, done, strict=True):
        said.append({"detected_source_language": short(language).upper(), "text": after})
        if body.show_billed_characters:
            said[-1]["billed_characters"] = letters_in(before, form)
        if body.model_type:
            said[-1]["model_type_used"] = body.model_type.removeprefix("prefer_")
    return {"translations": said}


def _names(tags: Tags) -> list[str]:
    return re.findall(r"[^\s,]+", tags if isinstance(tags, str) else ",".join(tags))


def _target(service: Service, body: Translate) -> str:
    """Return the language to translate to, with the formality that is asked for."""
    targets = service.languages.targets()
    target = service.languages.find(body.target_lang, targets, "target_lang")
    register = REGISTERS.get(body.formality.removeprefix("prefer_"), "")
    if target + register in targets:
        return target + register
    if body.formality in REGISTERS:
        message = "has no formality here. Leave formality out, or set it to prefer_more or prefer_less."
        raise UsageError(f"Target language {target!r} {message}")
    return target


async def languages(service: Service, asked: Asked) -> list[dict[str, Any]]:
    """List the languages of texts, or those that can be translated to."""
    listed, targets = list[dict[str, Any]](), service.languages.targets()
    if asked.body.type == "source":
        sources = service.languages.sources()
        return [{"language": short(each).upper(), "name": name_of(each)} for each in sources]
    for target in targets:
        if not target.endswith(tuple(REGISTERS.values())):
            formal = any(target + register in targets for register in REGISTERS.values())
            for code in REGIONS.get(short(target).upper(), [short(target).upper()]):
                listed.append({"language": code, "name": name_of(code), "supports_formality": formal})
    return listed


async def usage(service: Service, asked: Asked) -> dict[str, int]:
    """Return how many characters were translated since the start, and how many may be."""
    return {"character_count": service.letters, "character_limit": NO_LIMIT}


async def glossary_pairs(service: Service, asked: Asked) -> dict[str, list[Any]]:
    """List the pairs of languages for which there can be a glossary: none."""
    return {"supported_languages": []}


async def missing(service: Service, asked: Asked) -> None:
    """Refuse what we do not have."""
    raise Refusal(403, f"{asked.request.url.path}: {NOT_HERE}")


row = partial(Route, accepts=(JSON, FORM, FILES), error=as_message)
ROUTES = [
    row("POST", "/v2/translate", translate, Translate, dict[str, ROWS]),
    row("GET POST", "/v2/languages", languages, Kind, ROWS),
    row("GET POST", "/v2/usage", usage, returns=dict[str, int]),
    row("GET", "/v2/glossary-language-pairs", glossary_pairs),
    *(row("GET POST PUT PATCH DELETE", f"{path}{{rest:path}}", missing) for path in MISSING),
]
