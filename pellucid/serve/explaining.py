"""/v1/explain: a translation and the numbers of the pass that explains it, for programs and for the page."""

import asyncio
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from pydantic import Field, create_model
from starlette.responses import Response

from pellucid.decoding.decoder import open_session
from pellucid.errors import PellucidError, UsageError
from pellucid.page.payload import answer
from pellucid.reading.passes import in_float32
from pellucid.reading.reading import read
from pellucid.search.hypotheses import Found
from pellucid.search.lane import raise_if_failed
from pellucid.seeing.edits import Edits, of_switches
from pellucid.seeing.records import find_names
from pellucid.seeing.trace import editing
from pellucid.serve.body import Body
from pellucid.serve.ours import SETTINGS, model_of, read_job
from pellucid.serve.routes import JSON, Asked, Json, Route
from pellucid.serve.service import Job, Model, Service
from pellucid.show.files import as_json
from pellucid.translate.text_translator import TextTranslator
from pellucid.translate.translation import Translation, translations_of

MOST = 1 << 22  # numbers in an answer
ONE = ThreadPoolExecutor(1, "pellucid explaining")  # one at a time: each takes memory, and all cores
TOKENS = 512  # of a translation that is explained: matrices grow with the square of its length
Ids = Annotated[list[int], Field(min_length=1, max_length=TOKENS, fail_fast=True)]
Heads = list[Annotated[int, Field(ge=0)]]


class Edited(Body):
    """Changes of the pass, as pellucid.edits.of_switches takes them: parts, some with their heads."""

    silence: dict[str, Heads] = Field({})
    lift_mask: dict[str, Heads] = Field({})
    without_scale: list[str] = Field([])
    without_residual: list[str] = Field([])


class Sentence(Body):
    """What to explain, and which numbers to return."""

    text: str
    source: str | None = None
    target: str | None = None
    prefix: str | list[int] | None = Field(None, description="text or ids with which the translation begins")
    seconds: float = Field(math.inf, gt=0, description="a deadline, if that of the server is too late")
    translation: str | Ids | None = Field(None, description="explain it in place of the model's own")
    edits: Edited | None = Field(None, description="changes of the pass, and of the search if there is one")
    tensors: list[str] = Field([], description="names or globs of the tensors to return")
    page: bool = Field(False, description="return what the server's own page needs")


Explain = create_model("Explain", __base__=Sentence, **SETTINGS)


async def explain(service: Service, asked: Asked) -> Response:
    """Translate a sentence as it is served, or with edits in float32, and explain it by a pass in float32:
    its steps, its alignment, and tensors of the pass."""
    job, body, found = await read_job(service, asked), asked.body, None
    edits = of_switches(body.edits.model_dump()) if body.edits else {}
    model = model_of(service, job)
    async with service.entered(job):
        if body.translation is None and not edits:
            (found,) = await service.decode(job)
        run, is_over = asyncio.get_running_loop().run_in_executor, threading.Event()
        try:
            return await run(ONE, _explain, model, job, body, edits, found, is_over)
        finally:
            is_over.set()


def _explain(
    model: Model, job: Job, body: Any, edits: Edits, found: Translation | None, is_over: threading.Event
) -> Response:
    served, text, to = model.translator, job.texts[0], model.to(job.target)
    exact = TextTranslator(in_float32(served.model), served.vocabulary, served.config, "fp32")
    if found is None and body.translation is None:
        with editing(exact.model, edits):
            found = _search(exact, text, to, {**job.options, "memory": model.memory}, is_over)
    if found and len(found.hypotheses[0].token_ids) > TOKENS:
        length = f"the translation has {len(found.hypotheses[0].token_ids):,} tokens"
        raise UsageError(f"{length}, and at most {TOKENS} are explained. Set max_length = {TOKENS}.")
    reading = read(exact, text, to, body.translation, found, edits)
    names = [name for glob in body.tensors for name in find_names(glob, list(reading.trace))]
    if (count := sum(reading.trace[name].tensor.numel() for name in names)) > MOST:
        raise UsageError(f"tensors: these have {count:,} numbers, and {MOST:,} are allowed. Name fewer.")
    if body.page:
        return Json(answer(reading, exact, names))
    return Response(as_json(reading, names), media_type=JSON)


def _search(
    translator: TextTranslator, text: str, to: str | None, options: Any, is_over: threading.Event
) -> Translation:
    """Translate a text. Stop within a step if nobody waits any more, so that the next can begin."""
    call, results = translator.prepare([text], to, options), list[list[Found]]()
    if call.requests:
        with open_session(translator.decoder(call), call.requests, call.special) as session:
            while not session.is_idle:
                if is_over.is_set():
                    raise PellucidError("nobody waits for this translation any more.")
                results += map(raise_if_failed, session.step().ended.values())
    (found,) = translations_of(call, results, translator.vocabulary)
    return found


ROUTES = [Route("POST", "/v1/explain", explain, Explain, dict[str, Any])]
