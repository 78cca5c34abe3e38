"""Translate the texts of a job as documents: sentence by sentence, with tags and placeholders in place."""

from functools import partial
from typing import Any

from pellucid.serve.aligning import align_texts
from pellucid.serve.service import Job, Service
from pellucid.serve.texts import make_plan, sentences_in, translate_plans
from pellucid.translate.translation import Hypothesis, Translation


async def translate_documents(service: Service, job: Job, **cut: Any) -> list[str]:
    """Return the translation of each text of a job. cut: settings of `make_plan`."""
    return [best for best, *_ in await translate_ways(service, job, 1, **cut)]


async def translate_ways(service: Service, job: Job, count: int, **cut: Any) -> list[list[str]]:
    """Return several translations of each text of a job, the best first: the first of each sentence, then the
    second of each, and so on. A text in the target language is its own, unless a model translates it."""
    ways, target = [[text] for text in job.texts], job.target
    async with service.entered(job) as job:
        languages, each = job.languages or service.languages, enumerate(job.sources)
        foreign = [index for index, code in each if code != target or (code, target) in languages.pairs]
        for source in dict.fromkeys(job.sources[index] for index in foreign):
            mine = [index for index in foreign if job.sources[index] == source]
            found = await _translate_from(source, service, job.part(mine), count, cut)
            for index, texts in zip(mine, found, strict=True):
                ways[index] = texts
    return ways


async def _translate_from(
    source: str, service: Service, job: Job, count: int, cut: dict[str, Any]
) -> list[list[str]]:
    """Return several translations of each text of a job, all in one language."""
    model = (job.languages or service.languages).model(source, job.target)
    if count > 1:
        beam = job.options.get("beam", model.translator.config.translation.beam)
        job = job._replace(options={**job.options, "n_best": count, "beam": max(count, beam)})
    known, long = dict[str, Translation](), set[str]()
    ask = partial(_translate, service, job, known)
    while True:  # sentences that are not read or said to their end are cut in two
        plan = partial(make_plan, form=job.form, language=source, long=long, **cut)
        plans = await service.aside(list, map(plan, job.texts))
        await ask(0, sentences := sentences_in(plans))
        lost = {each for each in sentences if known[each].truncated or not known[each].is_finished}
        if lost <= long:
            break
        long |= lost
    align = partial(service.aside, partial(align_texts, model.translator, model.to(job.target)))
    said = [await translate_plans(plans, partial(ask, rank), align) for rank in range(count)]
    return [list(texts) for texts in zip(*said, strict=True)]


async def _translate(
    service: Service, job: Job, known: dict[str, Translation], rank: int, texts: list[str]
) -> list[Hypothesis]:
    """Return the hypothesis of this rank for each sentence. known: what was said of sentences so far."""
    if new := [text for text in dict.fromkeys(texts) if text not in known]:
        sentences = job._replace(texts=new, sources=[job.sources[0]] * len(new), form="text")
        known |= zip(new, await service.decode(sentences), strict=True)
    return [known[text].hypotheses[: rank + 1][-1] for text in texts]  # the last one if there are fewer
