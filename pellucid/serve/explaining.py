"""/v1/explain: a translation and the numbers of the pass that explains it, for programs and for the page."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from pellucid.errors import UsageError
from pellucid.page.payload import answer
from pellucid.reading.passes import in_float32
from pellucid.reading.reading import read
from pellucid.seeing.edits import Edits, lift_mask, silence, together, without_residual, without_scale
from pellucid.seeing.records import find_names
from pellucid.seeing.trace import editing
from pellucid.serve.body import Body
from pellucid.serve.ours import SETTINGS, Texts, read_job
from pellucid.serve.routes import Asked, Route
from pellucid.serve.service import Job, Model, Service
from pellucid.show.files import as_table
from pellucid.translate.text_translator import TextTranslator
from pellucid.translate.translation import Translation

MOST = 1 << 22  # numbers in an answer
ONE = ThreadPoolExecutor(1, "pellucid explaining")  # one at a time: each takes memory, and all cores
Ids = Annotated[list[int], Field(min_length=1, max_length=512)]  # matrices grow with the square of the length


class Edit(Body):
    """A change of the pass, as in pellucid.edits. heads: of an attention; without them, all."""

    edit: Literal["silence", "lift_mask", "without_scale", "without_residual"]
    part: str
    heads: list[Annotated[int, Field(ge=0)]] | None = None


class Sentence(Texts):
    """What to explain, and which numbers to return."""

    text: str
    translation: str | Ids | None = Field(None, description="explain it in place of the model's own")
    edits: list[Edit] = Field([], description="changes of the pass, and of the search if there is one")
    tensors: list[str] = Field([], description="names or globs of the tensors to return")
    page: bool = Field(False, description="return what the server's own page needs")


Explain = create_model("Explain", __base__=Sentence, **SETTINGS)


async def explain(service: Service, asked: Asked) -> dict[str, Any]:
    """Translate a sentence as it is served, or with edits in float32, and explain it by a pass in float32:
    its steps, its alignment, and tensors of the pass."""
    job, body, found = await read_job(service, asked), asked.body, None
    model = service.languages.model(job.sources[0], job.target)
    async with service.entered(job):
        if body.translation is None and not body.edits:
            (found,) = await service.decode(job)
        run = asyncio.get_running_loop().run_in_executor
        return await run(ONE, _explain, model, job, body, found)


def _explain(model: Model, job: Job, body: Any, found: Translation | None) -> dict[str, Any]:
    served, text, to = model.translator, job.texts[0], model.to(job.target)
    edits = together(*(_edits(each, served.model.config.heads) for each in body.edits))
    exact = TextTranslator(in_float32(served.model), served.vocabulary, served.config, "fp32")
    if found is None and body.translation is None:
        with editing(exact.model, edits):
            found = exact.translate(text, to, **job.options)
    reading = read(exact, text, to, body.translation, found, edits)
    names = [name for glob in body.tensors for name in find_names(glob, list(reading.trace))]
    if (count := sum(reading.trace[name].tensor.numel() for name in names)) > MOST:
        raise UsageError(f"tensors: these have {count:,} numbers, and {MOST:,} are allowed. Name fewer.")
    return answer(reading, exact, names) if body.page else as_table(reading, names)


def _edits(asked: Edit, heads: int) -> Edits:
    """Return the edits that a client asks for."""
    place = slice(None) if asked.heads is None else asked.heads
    if asked.heads and max(asked.heads) >= heads:
        raise UsageError(f"heads: there is no head {max(asked.heads)}: there are {heads}, counted from 0.")
    if asked.edit in ("silence", "lift_mask"):
        return (silence if asked.edit == "silence" else lift_mask)(asked.part, place)
    return (without_scale if asked.edit == "without_scale" else without_residual)(asked.part)


ROUTES = [Route("POST", "/v1/explain", explain, Explain, dict[str, Any])]
