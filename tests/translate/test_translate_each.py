"""Sentences that come one by one: in order, by the same rules as a list, and with nothing left behind."""

import gc
import itertools
import threading
from typing import Any

import pytest
import torch
from random_translator import translator

import pellucid
from pellucid.decoding import threads
from pellucid.errors import PellucidError, UsageError
from pellucid.search.hypotheses import Found
from pellucid.seeing.watching import watching

LINES = ["the cat", "", "two dog", "the man saw the houses"]


def test_an_edit_and_a_watcher_of_the_thread_that_asks_are_obeyed() -> None:
    ours = translator()
    plain, seen = ours.translate(LINES), list[str]()
    with pellucid.editing(ours.serving, {"encoder.output": torch.zeros_like}):
        edited = ours.translate(LINES)
        assert list(ours.translate_each(LINES)) == edited != plain
    with watching(lambda name, axes, tensor: seen.append(name) or tensor):  # type: ignore[func-returns-value]
        assert [each.text for each in ours.translate_each(LINES)] == [each.text for each in plain]
    assert "encoder.output" in seen
    assert list(ours.translate_each(LINES)) == plain


def test_each_source_may_name_its_language() -> None:
    demo = pellucid.load("demo", "cpu")
    translations = demo.translate_each([">>es<< I like cats", ">>fr<< I like cats", "I like cats"])
    assert [next(translations).text for _ in range(2)] == ["Me gustan los gatos", "J'aime les chats"]
    with pytest.raises(UsageError, match="the model translates to hi, en, es, fr: say which"):
        next(translations)


@pytest.mark.parametrize(
    ("sources", "options", "message"),
    [
        ("the cat", {}, "translate_each was given a single text. Put it in a list: [text]."),
        (b"the cat", {}, "translate_each was given a single text. Put it in a list: [text]."),
        (LINES, {"prefix": ["a"]}, "prefix: a list of prefixes. Give translate_each one, or use translate."),
        ([*LINES, 5], {}, "sentence 5 is 5, which is not text. Give a string, or a list of strings."),
    ],
)  # fmt: skip
def test_a_wrong_call_is_told(sources: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        list(translator().translate_each(sources, **options))
    assert str(raised.value) == message


def test_an_error_has_the_number_of_its_sentence() -> None:
    ours = translator()
    (word,) = {*ours.vocabulary.encode_source("cow")} - {*ours.vocabulary.encode_source("cat the")} or [0]
    with torch.no_grad():
        ours.model.encoder.embedding.weight[word] = torch.nan  # type: ignore[union-attr]
    with pytest.raises(PellucidError, match="sentence 6, step 1: "):
        list(ours.translate_each([*["the cat"] * 5, "cow", "the cat"]))


def test_a_source_may_be_as_long_as_those_that_the_model_was_trained_on() -> None:
    ours = translator("word", max_length=1200)
    texts, few = ["the cat " * 550, "the cat"], dict(beam=1, max_length=3)
    assert list(ours.translate_each(texts, **few)) == ours.translate(texts, **few)
    long = dict(beam=1, prefix="the cat " * 50)
    assert list(ours.translate_each(texts[:1], **long)) == ours.translate(texts[:1], **long)


def still_there() -> int:
    return sum(type(each) is Found for each in gc.get_objects())


def test_however_many_there_are_few_are_read_ahead_and_none_is_kept() -> None:
    before, read = still_there(), list[str]()
    lines = (read.append(line) or line for line in ["the cat"] * 99)  # type: ignore[func-returns-value]
    translations = translator().translate_each(lines, beam=1, batch_tokens=1)  # one at a time
    for number in range(60):
        next(translations)
        assert len(read) <= number + threads.AHEAD + 1
    assert still_there() - before <= threads.AHEAD + 1


def failing(*_: object) -> None:
    raise ValueError("no more")


def test_no_thread_is_left_after_an_error_while_the_reader_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {*threading.enumerate()}
    monkeypatch.setattr(threads, "AHEAD", 1)
    monkeypatch.setattr(threads.Workers, "answer", failing)
    with pytest.raises(ValueError, match="no more"):
        list(translator().translate_each(itertools.repeat("the cat"), beam=1))
    for thread in {*threading.enumerate()} - before:
        thread.join(20)
    assert {*threading.enumerate()} <= before


def test_when_it_has_ended_nothing_is_prepared_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread in C++ when Python ends would abort the process."""
    ours, begun, go_on, ended = translator(), threading.Event(), threading.Event(), list[str]()
    prepared = ours._read_sources

    def slow(texts: Any, *more: Any) -> Any:
        if texts == ["two"]:
            begun.set()
            go_on.wait(20)
        result = prepared(texts, *more)
        ended.extend(texts)
        return result

    monkeypatch.setattr(ours, "_read_sources", slow)
    translations = ours.translate_each(["the cat", "two", "dog"], beam=1)
    next(translations)
    begun.wait(20)
    threading.Timer(0.2, go_on.set).start()
    translations.close()  # type: ignore[attr-defined]
    assert ended == ["the cat", "two"]
