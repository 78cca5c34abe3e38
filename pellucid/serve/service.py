"""What all routes share: translate the texts of a client with the right models, within the limits."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from cachetools import TTLCache

from pellucid.errors import UsageError
from pellucid.search.hypotheses import Found
from pellucid.serve.admission import Door, Limits, Queue, Refusal
from pellucid.serve.batcher import Batcher
from pellucid.serve.keys import Keys
from pellucid.serve.languages import Languages, Named, detect, identifier
from pellucid.serve.markup import letters_in, words_in
from pellucid.translate.call import Call, is_one
from pellucid.translate.translation import Translation, translations_of
from pellucid.translator import load

HANDS = 2  # threads that turn text into ids and back, and detect languages
KEPT, ROOM = 1800, 64  # seconds for which a translated file is kept, and files of full size that are
AUTO = "auto"  # in place of a source language: detect it
LATE = "it could not be translated before its deadline."


class Model:
    """A model that is served: its translator, its batcher and its queue."""

    def __init__(self, named: Named, device: str, precision: str, memory: int) -> None:
        self.name, self.memory = named.path, memory
        self.translator = load(named.path, device, precision)
        self.pairs = named.pairs(self.translator.languages)
        typical = self.translator.typical(self.to(self.pairs[0][1]), {"memory": memory})
        decoder = self.translator.decoder(typical)
        self.batcher = Batcher(decoder, typical.requests, typical.special, memory)
        self.batcher.measure()
        self.queue = Queue(lambda: self.batcher.speed)
        self._tokens, self._letters = 1000.0, 4000.0  # of what was translated so far

    def to(self, target: str) -> str | None:
        """Return what the translator calls a target language: None if it does not name its languages."""
        return target if self.translator.languages else None

    def cost(self, job: "Job") -> float:
        """Return how many tokens have to be computed for a job, as far as its texts tell before they become
        tokens."""
        options, tokens = job.options, job.letters * self._tokens / self._letters + len(job.texts)
        beam = options.get("beam", self.translator.config.translation.beam)
        width = options.get("n_best", 1) if options.get("sample") else beam
        return self.batcher.cost(tokens, width, len(job.texts) * options.get("min_length", 0))

    def prepare(self, job: "Job") -> Call:
        """Return the input of the search for the texts of a job."""
        options: Any = {**job.options, "memory": self.memory}
        call = self.translator.prepare(job.texts, self.to(job.target), options)
        self._tokens += sum(len(one.source) for one in call.requests)
        self._letters += job.letters
        return call


class Job(NamedTuple):
    """What a client asks: its texts, the language of each, the language to translate to, the options of
    `translate`, in how many seconds at most, whether the texts are "text", "html" or "xml", and the languages
    with their models that were served when it came."""

    client: str
    texts: Sequence[str]
    sources: Sequence[str]
    target: str
    options: Mapping[str, Any] = MappingProxyType({})
    seconds: float = math.inf
    form: str = "text"
    languages: Languages | None = None

    @property
    def characters(self) -> int:
        """Return the length of all texts, and of the prefixes."""
        prefix: Any = self.options.get("prefix") or ()
        each = [prefix] if is_one(prefix) else [one for one in prefix if one]
        return sum(map(len, (*self.texts, *each)))

    @property
    def letters(self) -> int:
        """Return the length of all texts without their tags, which are not translated."""
        return sum(letters_in(text, self.form) for text in self.texts)

    @property
    def key(self) -> int:
        """Return what tells it from others, and is the same when it comes again."""
        return hash((self.client, self.target, *self.texts))

    def part(self, indices: Sequence[int]) -> "Job":
        """Return the part with these texts. Of a list of prefixes, each belongs to a text."""
        texts, sources = ([each[index] for index in indices] for each in (self.texts, self.sources))
        prefix: Any = self.options.get("prefix")
        if is_one(prefix):
            return self._replace(texts=texts, sources=sources)
        if len(prefix) != len(self.texts):
            raise UsageError(
                f"prefix: {len(prefix)} prefixes for {len(self.texts)} texts. Give one for each."
            )
        options = {**self.options, "prefix": [prefix[index] for index in indices]}
        return self._replace(texts=texts, sources=sources, options=options)


class Service:
    """The models that are served, and the limits and keys of those who ask.

    Its methods run in the thread of an event loop, except `load`.
    """

    def __init__(
        self, named: Sequence[Named], limits: Limits, keys: Keys, device: str, precision: str, memory: int
    ) -> None:
        self.limits, self.door, self.keys = limits, Door(limits), keys
        self._named, self._make = named, partial(Model, device=device, precision=precision, memory=memory)
        self._hands = ThreadPoolExecutor(HANDS, "pellucid hands")
        self.files: Any = TTLCache(ROOM * limits.body_bytes, KEPT, getsizeof=lambda file: len(file[1]))
        self.is_stopping, self.letters = False, 0  # letters: that were translated since the start
        self.models, self.languages = self.load()
        if len(self.languages.sources()) > 1:  # so that the first detection does not wait for it
            threading.Thread(target=identifier, daemon=True).start()

    def load(self) -> tuple[list[Model], Languages]:
        """Load all models; raise an error if two serve the same pair of languages."""
        with ExitStack() as undoing:
            models = list[Model]()
            for each in self._named:
                models.append(self._make(each))
                undoing.callback(models[-1].batcher.close)
            languages = Languages((each.name, each.pairs, each) for each in models)
            undoing.pop_all()
        return models, languages

    async def reload(self) -> None:
        """Read the keys and load the models again. The present models finish what they have accepted, and
        are closed."""
        await asyncio.to_thread(self.keys.read)
        before, (self.models, self.languages) = self.models, await asyncio.to_thread(self.load)
        for model in before:
            while model.queue.accepted:
                await asyncio.sleep(0.1)
            model.batcher.close()

    def close(self) -> None:
        """Finish what was accepted, and end all threads."""
        for model in self.models:
            model.batcher.close()
        self._hands.shutdown()

    @property
    def is_ready(self) -> bool:
        """Return whether requests are accepted and decoded."""
        return not self.is_stopping and all(model.batcher.is_alive for model in self.models)

    async def aside(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do work that takes a while in another thread, so that the event loop goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._hands, work, *arguments)

    async def detect(self, texts: Sequence[str], form: str = "text") -> list[dict[str, float]]:
        """Return, for each text, how probable each language is, the likeliest first."""
        among = self.languages.known
        return await self.aside(lambda: [detect(words_in(text, form), among) for text in texts])

    async def sources(
        self,
        texts: Sequence[str],
        source: str,
        able: Collection[str],
        sure: float = 1.0,
        form: str = "text",
    ) -> list[tuple[str, float]]:
        """Return the language of each text, and how probable it is. "auto": it is detected.

        able: the languages from which there is a way to the target; the likeliest of them is chosen, unless
        another is more probable than `sure`.
        """
        if source != AUTO:
            return [(source, 1.0)] * len(texts)
        self.door.check_size(len(texts), sum(map(len, texts)))
        ranked = await self.detect(texts, form)
        return [next(pair for pair in each.items() if pair[0] in able or pair[1] > sure) for each in ranked]

    @asynccontextmanager
    async def entered(self, job: Job) -> AsyncIterator[Job]:
        """Count a job as accepted until the block ends; yield it, with the languages of now if it has none.
        Raise a Refusal if a limit or the time does not allow it, or if its deadline comes before the end.
        Texts that no model translates need no time."""
        job = job._replace(languages=job.languages or self.languages)
        assert job.languages
        served = [n for n, source in enumerate(job.sources) if (source, job.target) in job.languages.pairs]
        asked, seconds = job.part(served), min(job.seconds, self.limits.seconds)
        parts = self._parts(asked)
        with ExitStack() as held:
            held.enter_context(self.door.entered(job.client, len(job.texts), job.characters, job.key))
            for model, indices in parts.items():
                part = asked.part(indices)
                held.enter_context(model.queue.entered(part.client, model.cost(part), seconds, part.key))
            try:
                async with asyncio.timeout(seconds):
                    yield job
                self.letters += job.letters if job.sources else 0  # none: a language is detected
            except TimeoutError:
                raise Refusal(503, LATE, sum(model.queue.seconds for model in parts)) from None

    async def translate(self, job: Job, grew: Callable[[list[int]], None] | None = None) -> list[Translation]:
        """Translate the texts of a job, each as one sentence. Raise a Refusal if a limit or the time does not
        allow it. If this is cancelled, its sentences leave the batch within a step.

        grew: called after each step with the ids of a translation so far, in another thread.
        """
        async with self.entered(job) as entered:
            return await self.decode(entered, grew)

    async def decode(self, job: Job, grew: Callable[[list[int]], None] | None = None) -> list[Translation]:
        """Translate the texts of a job that has entered."""
        results = dict[int, Translation]()
        for model, indices in self._parts(job).items():  # usually one
            call = await self.aside(model.prepare, job.part(indices))
            found = await all_of(model.batcher.submit(call.requests, job.client, grew))
            said = await self.aside(translations_of, call, found, model.translator.vocabulary)
            results |= zip(indices, said, strict=True)
        return [results[index] for index in range(len(job.texts))]

    def _parts(self, job: Job) -> dict[Model, list[int]]:
        """Return the models that translate the texts of a job, each with the indices of its texts."""
        parts, languages = dict[Model, list[int]](), job.languages or self.languages
        for index, source in enumerate(job.sources):
            parts.setdefault(languages.model(source, job.target), []).append(index)
        return parts


async def all_of(futures: "Sequence[Future[list[Found]]]") -> list[list[Found]]:
    """Wait for the results of all. If one fails or this is cancelled, cancel the others."""
    try:
        return await asyncio.gather(*map(asyncio.wrap_future, futures))
    finally:
        for future in futures:
            future.cancel()
