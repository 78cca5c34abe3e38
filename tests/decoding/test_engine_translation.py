"""The engine: results that depend on nothing but the sentence, and the search's rules as in fp32."""

import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from cases import few
from random_translator import OPTIONS, sentences, translator

from pellucid.config.schema import ModelConfig
from pellucid.decoding import decoder, engine, library, team
from pellucid.decoding import threads as working
from pellucid.decoding.decoder import open_session, plan
from pellucid.decoding.engine import Engine, EngineDecoding
from pellucid.decoding.library import CHOICE, has_kernels
from pellucid.decoding.room import Room
from pellucid.decoding.team import Team
from pellucid.decoding.threads import decode
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.checkpoint import save_model
from pellucid.model import Transformer
from pellucid.search.options import Options
from pellucid.search.request import Request, SpecialIds
from pellucid.seeing.trace import trace
from pellucid.translate.translation import Translation
from pellucid.translator import Translator, load

pytestmark = pytest.mark.skipif(not has_kernels(), reason="the kernels are not built here")


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def in_int8(seed: int = 1, end: float = 1.0, kind: str = "unigram", precision: str = "int8") -> Translator:
    model = translator(kind, seed, end)
    return Translator(model.model, model.vocabulary, model.config, precision)


def said(translations: Sequence[Translation]) -> list[Any]:
    """All that must be equal, to the last bit."""
    return [
        [(each.token_ids, each.log_probabilities, each.score, each.finished) for each in one.hypotheses]
        for one in translations
    ]


@pytest.mark.parametrize(
    ("precision", "options", "count"),
    [
        ("fp32", OPTIONS[1], 40),
        *(("int8", each, 40) for each in OPTIONS),
        *few(0, [("int8", OPTIONS[1], 200), ("bf16", OPTIONS[1], 40)]),
        *few(0, (("fp32", each, 40) for each in OPTIONS[4::3])),
    ],
    ids=str,
)
def test_a_result_depends_on_the_sentence_alone(
    precision: str, options: dict[str, Any], count: int, threads: None
) -> None:
    """Sentences of 1 to 80 tokens alone, together, permuted, with other neighbours, in small batches, in
    little memory, on one thread and on two: ==."""
    ours, numbers = in_int8(precision=precision), random.Random(4)
    size = ours.model.config.vocabulary
    sources = [[*numbers.choices(range(4, size), k=7 * n % 80), ours.vocabulary.end_id] for n in range(count)]
    torch.set_num_threads(1)
    together = said(ours.translate_ids(sources, **options))
    assert len({str(each) for each in together}) > 0.75 * count
    permuted = said(ours.translate_ids(sources[::-1], **options))[::-1]
    others = [[*numbers.choices(range(4, size), k=30), ours.vocabulary.end_id] for _ in range(30)]
    neighbours = said(ours.translate_ids(sources[:30] + others, **options))[:30]
    alone = said([ours.translate_ids([each], **options)[0] for each in sources])
    assert together == permuted == alone and together[:30] == neighbours
    for threads_now, some in ((1, dict(batch_tokens=50)), (1, dict(memory=3)), (2, {}), (2, dict(memory=3))):
        torch.set_num_threads(threads_now)
        assert said(ours.translate_ids(sources, **options, **some)) == together


@pytest.fixture
def teams(threads: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Threads share the steps of small models too; the number of each session's threads."""
    sizes, gather = list[int](), Team.gather

    def counted(self: Team, places: Sequence[Any], memory: object) -> None:
        gather(self, places, memory)
        sizes.append(self.structure.size)

    monkeypatch.setattr(Team, "gather", counted)
    monkeypatch.setattr(engine, "SHARED_FROM", 0)
    monkeypatch.setattr(team, "PATIENCE", math.inf)  # whatever else the processor does
    monkeypatch.setattr(Team, "_alone_until", 0.0)
    return sizes


@pytest.mark.parametrize(
    ("precision", "options"),
    few(4, [("fp32", OPTIONS[1]), *(("int8", each) for each in OPTIONS), ("bf16", OPTIONS[1])]),
    ids=str,
)
def test_threads_that_share_steps_say_the_same(
    precision: str, options: dict[str, Any], teams: list[int]
) -> None:
    """1, 5 and 31 sentences on one thread, on two and on three; afterwards the helpers are gone."""
    ours, texts, running = in_int8(precision=precision), sentences(31), threading.active_count()
    torch.set_num_threads(1)
    expected = said(ours.translate(texts, **options))
    for count in (2, 3):
        torch.set_num_threads(count)
        for some in (texts[:1], texts[:5], texts):
            assert said(ours.translate(some, **options)) == expected[: len(some)]
    assert set(teams) >= {1, 2, 3} and threading.active_count() == running


def test_calls_share_the_threads(teams: list[int]) -> None:
    """Helpers leave when another call begins, when a stream is closed, or when a call fails."""
    torch.set_num_threads(2)
    ours, running = in_int8(), threading.active_count()
    stream = ours.stream(sentences(1)[0])
    next(stream)
    assert threading.active_count() == running + 1
    ours.translate(sentences(3))
    assert teams == [2, 1]
    other = open_session(ours._serving._ready_engines(), asked([5, 6]), SpecialIds(2, 3))
    next(stream)
    assert threading.active_count() == running
    other.close()
    next(stream)
    assert threading.active_count() == running + 1
    stream.close()
    assert threading.active_count() == running
    session = open_session(ours._serving._ready_engines(), asked([5, 6]), SpecialIds(2, 3))
    session.close()
    ours.translate(sentences(3))
    assert teams == [2, 1, 1, 2, 2]  # a session has none when it is closed, though somebody still holds it
    with torch.no_grad():
        ours.model.decoder.projection.bias[7] = torch.nan  # type: ignore[index]
    with pytest.raises(PellucidError, match="not numbers"):
        ours.translate(sentences(1))
    assert threading.active_count() == running


def test_a_thread_goes_on_alone_if_helpers_are_late(
    teams: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And for a while nobody asks for helpers, because something else uses the processor."""
    torch.set_num_threads(1)
    ours, texts, running = in_int8(), sentences(5), threading.active_count()
    expected, do, seen = said(ours.translate(texts)), Team.do, list[int]()

    def late(self: Team, job: int) -> None:
        self.structure.rests += 400  # 20 ms
        do(self, job)
        seen.append(threading.active_count() - running)

    monkeypatch.setattr(Team, "do", late)
    monkeypatch.setattr(team, "PATIENCE", 1e-9)
    monkeypatch.setattr(team, "ALONE", math.inf)
    torch.set_num_threads(2)
    packed = cast(Engine, ours._serving._decoder)
    assert packed.apart > 1
    assert said(ours.translate(texts)) == expected and set(seen) == {0}
    assert packed.apart == 1
    monkeypatch.undo()
    assert said(ours.translate(texts)) == expected


@pytest.mark.parametrize(
    ("spent", "waited", "is_too_long"),
    [(0, 7e-3, False), (0, 9e-3, True), (1, 0.19, False), (1, 0.205, True)],
)
def test_a_session_may_wait_a_share_of_its_time_and_a_little_at_its_start(
    spent: float, waited: float, is_too_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "time", SimpleNamespace(perf_counter=lambda: 0.0, monotonic=time.monotonic))
    monkeypatch.setattr(Team, "_alone_until", 0.0)
    ours = Team(cast(Any, SimpleNamespace(begin=lambda *_: None)))
    ours.gather([[]], None)
    ours._spent, ours.structure.rests = spent, round(waited / team.REST)
    ours.do(team.STEP)
    assert Team.is_possible() != is_too_long and bool(ours.structure.rests) != is_too_long


def test_threads_share_the_steps_of_large_models_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Team, "_alone_until", 0.0)
    large = ModelConfig(vocabulary=5000, width=512, heads=8, hidden=2048, encoder_layers=1, decoder_layers=1)
    assert Engine(Transformer(large)).apart > 1
    assert Engine(translator().model).apart == 1


def check_as_before(
    ours: Translator, expected: list[Any], running: int, teams: list[int], size: int = 3
) -> None:
    """No thread is left, and the next call has all threads and says the same."""
    deadline = time.monotonic() + 60
    while threading.active_count() > running and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == running and not Team._teams
    assert said(ours.translate(sentences(5))) == expected and teams[-1] == size
    assert threading.active_count() == running


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("has_started", [False, True], ids=["before it starts", "when it has started"])
def test_ctrl_c_while_helpers_start_leaves_nothing_behind(
    has_started: bool, number: int, teams: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(3)
    ours, running, started = in_int8(), threading.active_count(), list[int]()
    expected, start = said(ours.translate(sentences(5))), threading.Thread.start

    def interrupted(self: threading.Thread) -> None:
        started.append(1)
        if len(started) < number or has_started:
            start(self)
        if len(started) == number:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ours.translate(sentences(5))
    check_as_before(ours, expected, running, teams)


def no_more_than(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so many threads start, and no further one."""
    start, started = threading.Thread.start, list[int]()

    def limited(self: threading.Thread) -> None:
        started.append(1)
        if len(started) > count:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", limited)


@pytest.mark.parametrize("count", [0, 1])
def test_a_system_that_allows_no_more_threads(
    count: int, teams: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threads that there are decode: of those that share steps, and of those with sentences of their
    own."""
    torch.set_num_threads(3)
    ours, running = in_int8(), threading.active_count()
    expected = said(ours.translate(sentences(5)))
    with monkeypatch.context() as patch:
        no_more_than(count, patch)
        assert said(ours.translate(sentences(5))) == expected
        with pytest.raises(PellucidError, match="the system allows no further thread, and one is needed"):
            no_more_than(count, patch)
            list(ours.translate_each(sentences(5)))
        patch.setattr(engine, "SHARED_FROM", math.inf)
        no_more_than(count, patch)
        assert said(ours.translate(sentences(5))) == expected
    check_as_before(ours, expected, running, teams)


def test_helpers_that_nobody_sends_home_leave_by_themselves(
    teams: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(3)
    ours, running = in_int8(), threading.active_count()
    with monkeypatch.context() as patch:
        patch.setattr(Team, "part", lambda self: None)
        expected = said(ours.translate(sentences(5)))
    check_as_before(ours, expected, running, teams)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Ctrl-C within __del__
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_signals_at_random_moments_leave_nothing_behind(precision: str, teams: list[int]) -> None:
    torch.set_num_threads(3)
    ours, running, numbers = in_int8(precision=precision), threading.active_count(), random.Random(7)
    expected = said(ours.translate(sentences(5)))
    began = time.process_time()
    ours.translate(sentences(5))
    took, interrupted = time.process_time() - began, 0
    before = signal.signal(signal.SIGPROF, signal.default_int_handler)
    try:
        for _ in range(50):
            try:
                signal.setitimer(signal.ITIMER_PROF, numbers.uniform(1e-4, took))
                ours.translate(sentences(5))
                signal.setitimer(signal.ITIMER_PROF, 0)
            except KeyboardInterrupt:
                interrupted += 1
            check_as_before(ours, expected, running, teams)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert interrupted > 10


DEMO = """
import os, signal, sys
import torch, pellucid
from pellucid.decoding import engine
engine.SHARED_FROM = 0
torch.set_num_threads(2)
stream = pellucid.load("demo", device="cpu", precision="int8").stream("How are you?", to="hi")
print(next(stream))
"""
FORKED = """
sys.stdout.flush()
child = os.fork()
if not child:
    signal.alarm(60)
said = "".join(stream)
if not child:
    os.write(1, said.encode())
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
os.write(1, b"=" + said.encode())
"""


def test_a_process_ends_beside_an_open_stream() -> None:
    ended = subprocess.run([sys.executable, "-c", DEMO], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0 and ended.stdout and not ended.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_stream_goes_on_in_a_forked_process() -> None:
    ended = subprocess.run([sys.executable, "-c", DEMO + FORKED], capture_output=True, text=True, timeout=120)
    begun, said = ended.stdout.split("\n")
    assert ended.returncode == 0 and begun
    assert len(set(said.split("="))) == 1 and said


@pytest.mark.parametrize("kind", library.BITS)
def test_every_kind_of_kernels_translates_alike(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = library._open()
    assert not isinstance(opened, str)
    if not library.runs(opened, kind):
        pytest.skip(f"no {kind} here")
    expected = said(in_int8().translate(sentences(12), beam=4))
    monkeypatch.setenv(CHOICE, kind)
    ours = in_int8()
    assert repr(ours._serving._decoder) == f"<Engine int8, by {kind}>"
    assert said(ours.translate(sentences(12), beam=4)) == expected


def test_wide_beams_choose_from_all_logits_and_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of the likeliest tokens is made by insertion, which takes the square of its length."""
    model = Transformer(replace(translator().model.config, vocabulary=200))
    requests = [Request(0, 9, source=[4], options=Options(beam)) for beam in (63, 64)]
    rooms = [plan(Engine(model), [each], SpecialIds(2, 3))[0] for each in requests]
    assert [room.candidates for room in rooms] == [128, 0]
    ours, options = in_int8(), dict(beam=6, n_best=6)
    expected = said(ours.translate(sentences(12), **options))
    monkeypatch.setattr(decoder, "MOST_CANDIDATES", 0)
    assert said(ours.translate(sentences(12), **options)) == expected


def test_a_sentence_in_int8_is_explained_as_it_was_translated() -> None:
    ours = in_int8(kind="word")
    explanation = ours.explain("the dog saw two cat")
    assert explanation.translation.text == ours.translate("the dog saw two cat").text
    assert 0 < explanation.largest_difference < 1
    assert explanation.beam_path.steps


def test_a_translation_while_another_thread_watches_is_the_same() -> None:
    """The other thread holds a trace, before and after its pass, and edits; nothing of this is seen here."""
    ours, texts = in_int8(kind="word"), sentences(20)
    expected, reached, go_on = said(ours.translate(texts)), threading.Barrier(2), threading.Barrier(2)
    seen: list[int] = []

    def watch() -> None:
        with trace(ours.model, edits={"decoder.output": torch.zeros_like}) as records, torch.no_grad():
            reached.wait(60)
            go_on.wait(60)
            ours.model(torch.tensor([[5, 3]]), torch.ones(1, 2, dtype=torch.bool), torch.tensor([[2]]))
            reached.wait(60)
            go_on.wait(60)
        seen.append(int(records["decoder.output"].tensor.count_nonzero()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(2):
        reached.wait(60)
        assert said(ours.translate(texts)) == expected
        go_on.wait(60)
    watcher.join()
    assert seen == [0]


def test_memory_is_limited_before_it_is_used(monkeypatch: pytest.MonkeyPatch, threads: None) -> None:
    """What a call's threads take together is within the limit."""
    ours, begin, rooms, needed = in_int8(), Engine.open, list[Room](), list[int]()

    def noted(self: Engine, room: Room) -> EngineDecoding:
        rooms.append(room)
        needed.append(self.room_bytes(room))
        return begin(self, room)

    monkeypatch.setattr(Engine, "open", noted)
    torch.set_num_threads(2)
    expected = said(ours.translate(sentences(100), beam=5))
    assert sum(needed) > 3 << 20
    for memory in (3, 2, 1):
        rooms.clear()
        needed.clear()
        assert said(ours.translate(sentences(100), beam=5, memory=memory)) == expected
        assert sum(needed) <= memory << 20 and len(rooms) == 2
    rooms.clear()
    ours.translate(sentences(9), beam=9, memory=1)
    assert [room.places for room in rooms] == [1]  # two sentences are too large


@pytest.mark.skipif(sys.platform == "win32", reason="a signal cannot be sent to one thread there")
@pytest.mark.parametrize("cause", [KeyboardInterrupt, PellucidError])
def test_a_call_that_is_cancelled_stops_within_a_step(
    cause: type[BaseException], monkeypatch: pytest.MonkeyPatch, threads: None
) -> None:
    """Ctrl-C, or an error in one thread: the other one ends its step and begins no further one."""
    torch.set_num_threads(2)
    ours, begun, in_time, step = in_int8(), list[int](), list[bool](), EngineDecoding.step
    stopped, both = threading.Event(), threading.Barrier(2)
    patched = SimpleNamespace(Event=lambda: stopped, Thread=threading.Thread)
    monkeypatch.setattr(working, "threading", patched)

    def interrupted(self: EngineDecoding, *rows: Any) -> Any:
        begun.append(threading.get_ident())
        both.wait(60)
        if threading.current_thread() is not threading.main_thread():
            if cause is PellucidError:
                raise cause("this one")
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        # Shortly, again and again: a signal that comes just before a wait does not end it.
        in_time.append(any(stopped.wait(0.05) for _ in range(400)))
        return step(self, *rows)

    monkeypatch.setattr(EngineDecoding, "step", interrupted)
    with pytest.raises(cause):
        ours.translate(sentences(20))
    assert len(begun) == len(set(begun)) == 2 and in_time == [True]
    assert all(in_time)


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_an_error_names_the_first_sentence_that_fails(precision: str, threads: None) -> None:
    """Though longer sentences begin before shorter ones, and threads may meet any of them first."""
    ours = translator(seed=1, end=1.0)
    sources = [[4 + n % 4, *[5] * n, ours.vocabulary.end_id] for n in range(40)]
    for number in (5, 11, 12, 38):
        sources[number][0] = 20
    with torch.no_grad():
        ours.model.encoder.embedding.weight[20, 0] = torch.nan  # type: ignore[union-attr]
    broken = Translator(ours.model, ours.vocabulary, ours.config, precision)
    for count, options in ((1, {}), (1, dict(batch_tokens=50)), (2, {}), (2, dict(memory=1))):
        torch.set_num_threads(count)
        with pytest.raises(PellucidError) as error:
            broken.translate_ids(sources, **options)
        assert str(error.value) == (
            "sentence 6, step 1: the next token's probabilities are not numbers, because logits are NaN or "
            "infinite. Use weights from an earlier checkpoint or, below fp32, a higher precision."
        )


def test_a_loaded_model_keeps_its_weights_once_it_is_packed(tmp_path: Path) -> None:
    ours = translator(end=1.0)
    save_model(tmp_path / "model", ours.model, ours.vocabulary, ours.config, {})
    loaded = load(tmp_path / "model", "cpu", precision="int8")
    assert repr(loaded._serving._decoder).startswith("<Engine int8")
    assert said(loaded.translate(sentences(5))) == said(in_int8(seed=0).translate(sentences(5)))


def asked(lengths: Sequence[int], **options: Any) -> list[Request]:
    every, rules = enumerate(lengths), Options(4, **options)
    return [Request(n, 2 * length + 20, source=[4] * length, options=rules) for n, length in every]


def test_sentences_are_shared_out_to_threads(threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, special, joined = Engine(translator().model), SpecialIds(2, 3), list[list[int]]()
    join = EngineDecoding.join

    def noted(self: EngineDecoding, requests: Sequence[Request]) -> int:
        count = join(self, requests)
        joined.append([each.number for each in requests[:count]])
        return count

    torch.set_num_threads(2)
    for lengths, options, most in (
        ([5] * 7, {}, 4),
        (range(1, 200), {}, 100),  # two equal groups of at most 128, which have 512 hypotheses
        ([50, 30, 9, 9, 9], dict(batch_tokens=85), 2),  # of the longest, so that any two fit
        ([50, 9, 9, 9, 9], dict(batch_tokens=70), 3),
    ):
        room, workers = plan(ours, asked(lengths, **options), special)
        assert (room.places, workers) == (most, 2)
    assert ours.together == 512
    with monkeypatch.context() as large:
        large.setattr(engine, "SHARED_FROM", 0)
        assert Engine(translator().model).together == 128
    torch.set_num_threads(1)
    monkeypatch.setattr(EngineDecoding, "join", noted)
    decode(ours, asked(range(1, 200)), special)
    assert joined[0] == list(range(198, 98, -1))  # two groups
    assert [number for each in joined for number in each] == list(range(198, -1, -1))
    assert min(map(len, joined[:-1])) >= 4  # rather several at once: they are encoded together


@pytest.mark.parametrize(
    ("bits", "kind"), [(7, "avx512"), (3, "avxvnni"), (1, "avx2"), (8, "neon"), (0, "plain")]
)
def test_the_fastest_kernels_of_a_processor_are_chosen(bits: int, kind: str) -> None:
    every = SimpleNamespace(processor=lambda: bits, **{f"{each}_begin": None for each in library.BITS})
    assert library.chosen_kind(cast(Any, every), None) == kind


def test_kernels_that_do_not_run_here_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "sse9")
    with pytest.raises(UsageError, match=r"PELLUCID_KERNELS = 'sse9' does not run on this CPU\. Set"):
        in_int8()


INSTALL = "Install the package again, from a wheel or where ziglang can be installed"


@pytest.mark.parametrize(
    ("choice", "content", "reason"),
    [
        ("none", None, r"PELLUCID_KERNELS is none\. Leave it out"),
        ("", None, rf"this installation has none\. {INSTALL}"),
        ("", b"not a library", rf"those of this installation do not load \(.+\)\. {INSTALL}"),
    ],
    ids=["refused", "absent", "damaged"],
)
def test_without_kernels_fp32_runs_in_pytorch_and_int8_is_refused(
    choice: str, content: bytes | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHOICE, choice)
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "kernels.bin")
    if content:
        library.LIBRARY.write_bytes(content)
    text = rf"^precision = 'int8' needs compiled kernels: {reason}, or set precision = 'fp32'\.$"
    with pytest.raises(UsageError, match=text):
        in_int8()
    ours = in_int8(precision="fp32")
    assert ours.translate("a cat") and ours._serving._decoder is None


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_kernels_of_another_source_are_not_called(
    precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its structures may be others: a call would read and write anywhere."""
    monkeypatch.setattr(library, "SOURCES", [tmp_path / "kernels.c"])
    library.SOURCES[0].write_bytes(b"/* newer */")
    library._load.cache_clear()
    with pytest.raises(PellucidError) as error:
        in_int8(precision=precision).translate("a cat")
    assert str(error.value) == (
        f"{library.LIBRARY} was not compiled from the present kernels.c, fused.c and vectors.h. "
        "Run python hatch_build.py."
    )
