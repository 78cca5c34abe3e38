"""What all routes share: translate the texts of a client with the right models, within the limits."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from pellucid.errors import UsageError
from pellucid.search.hypotheses import Found
from pellucid.serve.admission import Door, Limits, Queue, Refusal
from pellucid.serve.batcher import LATE, Batcher, Late
from pellucid.serve.languages import Detector, Languages, Named
from pellucid.translate.call import Call, is_one
from pellucid.translate.translation import Translation, translations_of
from pellucid.translator import load

HANDS = 2  # threads that turn text into ids and back, and detect languages
AUTO = "auto"  # in place of a source language: detect it


class Model:
    """A model that is served: its translator, its batcher and its queue."""

    def __init__(self, named: Named, device: str, precision: str, memory: int) -> None:
        self.name, self.memory = named.path, memory
        self.translator = load(named.path, device, precision)
        self.pairs = named.pairs(self.translator.languages)
        typical = self.translator.typical(self.to(self.pairs[0][1]), {"memory": memory})
        decoder = self.translator.decoder(typical)
        self.batcher = Batcher(decoder, typical.requests, typical.special, memory)
        self.queue = Queue(lambda: self.batcher.speed)
        self._users, self._is_replaced = 0, False

    def to(self, target: str) -> str | None:
        """Return what the translator calls a target language: None if it does not name its languages."""
        return target if self.translator.languages else None

    def prepare(self, texts: Sequence[str], target: str, options: Mapping[str, Any]) -> Call:
        """Return the input of the search for these texts."""
        return self.translator.prepare(texts, self.to(target), {**options, "memory": self.memory})  # type: ignore[typeddict-item]

    def finish(self, call: Call, found: Sequence[Sequence[Found]]) -> list[Translation]:
        """Return the translations, made from what the search found."""
        return translations_of(call, found, self.translator.vocabulary)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Keep the model until the block ends, even if it is replaced meanwhile."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._close_if_unused()

    def replace(self) -> None:
        """Close the model as soon as nobody uses it."""
        self._is_replaced = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._is_replaced and not self._users:
            self.batcher.close()


class Part(NamedTuple):
    """The texts of a request that one model translates, and the futures of what the search finds."""

    model: Model
    indices: list[int]
    call: Call
    futures: list["asyncio.Future[list[Found]]"]


class Service:
    """The models that are served, and the limits of those who ask.

    Its methods run in the thread of an event loop, except `load`.
    """

    def __init__(
        self, named: Sequence[Named], limits: Limits, device: str, precision: str, memory: int
    ) -> None:
        self.limits, self.door, self.detector = limits, Door(limits), Detector()
        self._named, self._make = named, partial(Model, device=device, precision=precision, memory=memory)
        self._hands = ThreadPoolExecutor(HANDS, "pellucid hands")
        self.is_stopping = False
        self.models, self.languages = self.load()
        self._warming = threading.Thread(target=self._warm_up, daemon=True)
        self._warming.start()

    def load(self) -> tuple[list[Model], Languages]:
        """Load all models; raise an error if two serve the same pair of languages."""
        models = [self._make(each) for each in self._named]
        return models, Languages((each.name, each.pairs, each) for each in models)

    async def reload(self) -> None:
        """Load the models again and replace the present ones, which finish what they have accepted."""
        before, (self.models, self.languages) = self.models, await asyncio.to_thread(self.load)
        for model in before:
            model.replace()

    def _warm_up(self) -> None:
        """Measure the speed of each model, and load what detects languages, if several can be."""
        for model in self.models:
            model.batcher.measure()
        if len(self.languages.sources()) > 1:
            self.detector.load()

    def close(self) -> None:
        """Finish what was accepted, and end all threads."""
        for model in self.models:
            model.batcher.close()
        self._warming.join()
        self._hands.shutdown()

    @property
    def is_ready(self) -> bool:
        """Return whether requests are accepted and decoded."""
        return not self.is_stopping and all(model.batcher.is_alive for model in self.models)

    async def aside(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do work that takes a while in another thread, so that the event loop goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._hands, work, *arguments)

    async def detect(self, texts: Sequence[str], target: str | None = None) -> list[dict[str, float]]:
        """Return how probable each source language is, for each text, the likeliest first."""
        among = self.languages.sources(target)
        if target is not None and not among:
            self.languages.model(AUTO, target)  # raises the error that names the targets
        return await self.aside(lambda: [self.detector.detect(text, among) for text in texts])

    async def translate(
        self,
        texts: Sequence[str],
        sources: Sequence[str],
        target: str,
        client: str,
        options: Mapping[str, Any],
        seconds: float | None = None,
        grew: Callable[[list[int]], None] | None = None,
    ) -> list[Translation]:
        """Translate texts, each from its source language. Raise a Refusal if a limit or the time does not
        allow it. If this is cancelled, its sentences leave the batch before the next step."""
        left = self.limits.seconds if seconds is None else min(seconds, self.limits.seconds)
        deadline, results = time.monotonic() + left, dict[int, Translation]()
        indices = dict[Model, list[int]]()
        for index, source in enumerate(sources):
            indices.setdefault(self.languages.model(source, target), []).append(index)
        with ExitStack() as held:
            held.enter_context(self.door.entered(client, len(texts), sum(map(len, texts))))
            for model in indices:
                held.enter_context(model.used())
            try:
                async with asyncio.timeout(left):
                    parts = list[Part]()
                    for model, mine in indices.items():
                        some = _some(texts, options, mine)
                        call = await self.aside(model.prepare, some[0], target, some[1])
                        parts.append(_submit(model, mine, call, client, deadline, grew, held))
                    for part in parts:
                        found = await asyncio.gather(*part.futures)
                        done = await self.aside(part.model.finish, part.call, found)
                        results |= zip(part.indices, done, strict=True)
            except (TimeoutError, Late):
                waits = [model.queue.ahead(client, 0) / model.batcher.speed for model in indices]
                raise Refusal(503, LATE, max(waits, default=0)) from None
        return [results[index] for index in range(len(texts))]


def _some(
    texts: Sequence[str], options: Mapping[str, Any], mine: Sequence[int]
) -> tuple[list[str], Mapping[str, Any]]:
    """Return the texts with these indices, and the options for them: a list of prefixes has one for each."""
    prefix: Any = options.get("prefix")
    if not is_one(prefix):
        if len(prefix) != len(texts):
            raise UsageError(f"prefix: {len(prefix)} prefixes for {len(texts)} texts. Give one for each.")
        options = {**options, "prefix": [prefix[index] for index in mine]}
    return [texts[index] for index in mine], options


def _submit(
    model: Model,
    mine: list[int],
    call: Call,
    client: str,
    deadline: float,
    grew: Callable[[list[int]], None] | None,
    held: ExitStack,
) -> Part:
    """Queue the sentences of a call if there is time for them. When `held` is closed, those that are not
    finished are cancelled."""
    cost = sum(map(model.batcher.cost, call.requests))
    key = hash((client, call.n_best, *(one.text for one in call.sentences)))
    held.enter_context(model.queue.entered(client, cost, deadline - time.monotonic(), key))
    timed = [replace(request, deadline=deadline) for request in call.requests]
    futures = [asyncio.wrap_future(each) for each in model.batcher.submit(timed, client, grew)]
    for each in futures:
        held.callback(each.cancel)
    return Part(model, mine, call, futures)
