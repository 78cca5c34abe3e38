"""The texts of a job as documents: with several translations, accepted once."""

import contextlib
import html
import math
import random
import re
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

from fake_models import finished

from pellucid.serve.aligning import align_texts
from pellucid.serve.documents import translate_ways
from pellucid.serve.languages import Languages
from pellucid.serve.service import Job


class Rules:
    """A service whose model gives a sentence with a number, and loses what is in braces."""

    def __init__(self) -> None:
        config = SimpleNamespace(translation=SimpleNamespace(beam=4))
        model = SimpleNamespace(translator=SimpleNamespace(config=config), to=str)
        self.languages = Languages([("m", [("en", "es")], model)])
        self.jobs, self.entries = list[Job](), list[Job]()

    @contextlib.asynccontextmanager
    async def entered(self, job: Job) -> AsyncIterator[Job]:
        self.entries.append(job)
        yield job
        self.entries.append(job)

    async def aside(self, work: Any, *arguments: Any) -> Any:
        return work(*arguments)

    async def decode(self, job: Job) -> list[Any]:
        assert len(self.entries) == 1
        self.jobs.append(job)
        said = [
            [f"{text.split(' {')[0]} {n}" for n in range(job.options.get("n_best", 1))] for text in job.texts
        ]
        given = dict(truncated=False, is_finished=True)
        hypotheses = [[SimpleNamespace(text=each) for each in ways] for ways in said]
        return [SimpleNamespace(hypotheses=each, **given) for each in hypotheses]


def ways(
    service: Any, texts: Sequence[str], sources: Sequence[str], count: int
) -> tuple[list[list[str]], list[Job]]:
    found = finished(translate_ways(service, Job("me", texts, sources, "es", seconds=math.inf), count))
    return found, service.jobs


def test_several_translations_join_those_of_each_sentence_and_need_one_call() -> None:
    found, (job,) = ways(Rules(), ["A\nB", "A", "C"], ["en", "en", "es"], 3)
    assert found == [["A 0\nB 0", "A 1\nB 1", "A 2\nB 2"], ["A 0", "A 1", "A 2"], ["C"]]
    assert job.texts == ["A", "B"] and job.options == {"n_best": 3, "beam": 4}
    assert ways(Rules(), ["A"], ["en"], 9)[1][0].options["beam"] == 9
    assert ways(Rules(), ["A"], ["en"], 1)[1][0].options == {}


def test_all_calls_for_a_document_have_one_deadline_and_one_place_in_the_queue() -> None:
    service = Rules()
    _, (first, second) = ways(service, ["A {x}", "es"], ["en", "es"], 1)
    assert (first.texts, second.texts) == (["A {x}"], ["A"])
    assert [each.texts for each in service.entries] == [["A {x}", "es"]] * 2


class Short(Rules):
    """A service whose model reads so many letters, and says so many in small ones."""

    read, said = 200, 160

    def __init__(self) -> None:
        super().__init__()
        self.aligned = 0

    async def aside(self, work: Any, *arguments: Any) -> Any:
        if getattr(work, "func", None) is align_texts:
            self.aligned += 1
            return [[] for _ in arguments[0]]
        return work(*arguments)

    async def decode(self, job: Job) -> list[Any]:
        self.jobs.append(job)
        return [
            SimpleNamespace(
                hypotheses=[SimpleNamespace(text=text[: self.said].lower())] * job.options.get("n_best", 1),
                truncated=len(text) > self.read,
                is_finished=len(text) <= self.said,
            )
            for text in job.texts
        ]


def test_a_sentence_that_is_too_long_for_the_model_is_cut_until_all_of_it_is_said() -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    chance = random.Random(seed)
    words = [
        "A" * chance.randint(1, 12) + chance.choice(["", "", ",", ":", "{x}", "<b>B</b>", "&auml;"])
        for _ in range(400)
    ]
    for text, form in (
        (" ".join(words), "html"),
        ("A" * 1000, "text"),
        ("、".join(["あA"] * 300), "text"),
        ("<i>A</i>B" * 300, "html"),
    ):
        service = Short()
        job = Job("me", [text], ["en"], "es", seconds=math.inf, form=form)
        ((said, again),) = finished(translate_ways(service, job, 2))  # type: ignore[arg-type]
        plain, found = (
            re.sub(r"\s|<[^>]*>", "", html.unescape(each)).lower().replace("{x}", "") for each in (text, said)
        )
        assert said == again and found == plain and len(service.jobs) > 2
        assert service.aligned <= 2, "once for each translation, when all is cut"


def test_much_text_without_a_place_to_cut_is_cut_in_linear_time() -> None:
    """In quadratic time it would take longer than a test may."""
    service = Short()
    job = Job("me", ["a1" * 20_000], ["en"], "es", seconds=math.inf)
    ((said,),) = finished(translate_ways(service, job, 1, sentences=False))  # type: ignore[arg-type]
    assert said == "a1" * 20_000
