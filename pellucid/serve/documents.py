"""Translate the texts of a job as documents: sentence by sentence, with tags and placeholders in place."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from pellucid.serve.aligning import align_texts
from pellucid.serve.placing import Link
from pellucid.serve.service import Job, Model, Service
from pellucid.serve.texts import Plan, make_plan, translate_plans
from pellucid.translate.translation import Hypothesis


async def translate_documents(service: Service, job: Job, form: str = "text", **cut: Any) -> list[str]:
    """Return the translation of each text of a job. form: "text", "html" or "xml". cut: more settings of
    `make_plan`."""
    done = dict[int, str]()
    with service.entered(job):
        for source in dict.fromkeys(job.sources):
            mine = [index for index, each in enumerate(job.sources) if each == source]
            part, model = job.part(mine), service.languages.model(source, job.target)
            plans = await service.aside(_plan, part.texts, form, source, cut)
            translate, align = partial(_translate, service, part), partial(_align, service, model, job.target)
            done |= zip(mine, await translate_plans(plans, translate, align), strict=True)
    return [done[index] for index in range(len(job.texts))]


def _plan(texts: Sequence[str], form: str, language: str, cut: dict[str, Any]) -> list[Plan]:
    return [make_plan(text, form, language, **cut) for text in texts]


async def _translate(service: Service, job: Job, texts: list[str]) -> list[Hypothesis]:
    sentences = job._replace(texts=texts, sources=[job.sources[0]] * len(texts))
    return [each.hypotheses[0] for each in await service.decode(sentences)]


async def _align(
    service: Service, model: Model, target: str, asked: list[tuple[str, Hypothesis, str]]
) -> Sequence[Sequence[Link]]:
    return await service.aside(align_texts, model.translator, asked, model.to(target))
