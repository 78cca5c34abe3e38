"""Words and characters that a vocabulary does not have: each verb says so; of words, which it knows near
them. And the other doubts that a line may raise."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Command
from random_translator import translator

from pellucid.folder.checkpoint import save_model
from pellucid.translate.sentences import read_source, read_target
from pellucid.translate.translation import LOST, Hypothesis, Translation

KNOWN, UNKNOWN = "the dog", "the 🙂🙂 dög"


def test_translate_goes_on_and_says_which_word_was_unknown(pellucid: Command) -> None:
    stdin = b"I like cats\n\nI like catts\n>>fr<< I like dogss\n"
    outcome = pellucid("translate", "demo", "--to", "es", stdin=stdin)
    assert outcome.code == 0 and outcome.out.startswith("Me gustan los gatos\n\n")
    assert outcome.err.splitlines()[-1].startswith(
        "pellucid: warning: standard input:3, 4: the model has no word 'catts'. Near it: cats, coats, cat."
    )
    assert "chats" not in outcome.err, "the sentence is English"
    for count, numbers in ((10, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10: "), (11, "7, 8, 9, 10 and 1 more: ")):
        told = pellucid("translate", "demo", "--to", "es", "--beam", "1", stdin=b"catts\n" * count).err
        assert f"{numbers}the model has no word 'catts'." in told
    assert pellucid("explain", "demo", "Berlin", "--to", "es").code == 0, "a word of both languages"


@pytest.mark.parametrize(
    "verb",
    [
        ("explain", "demo", "I like catts", "--to", "es"),
        ("explain", "demo", "I like cats", "--to", "es", "--target", "gattos"),
        ("explain", "demo", "I like cats", "--to", "es", "--against", "gattos"),
        ("compare", "demo", "cats", "I like cats", "I catts cats", "--to", "es"),
    ],
)
def test_what_explains_refuses_it(pellucid: Command, verb: tuple[str, ...]) -> None:
    outcome = pellucid(*verb)
    assert (outcome.code, outcome.out) == (2, "")
    near = ("'gattos'. Near it: gatos", "'catts'. Near it: cats, ")["catts" in " ".join(verb)]
    assert f"the model has no word {near}" in outcome.err


@pytest.fixture(scope="session")
def unigram(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose tokens are pieces of words, with random weights."""
    folder, ours = tmp_path_factory.mktemp("unigram"), translator("unigram", end=3.0)
    save_model(folder, ours.model, ours.vocabulary, ours.config, {})
    return folder


def test_characters_that_no_token_has_are_said(
    pellucid: Command, unigram: Path, files: Callable[..., Path]
) -> None:
    lines = [KNOWN, UNKNOWN, *[KNOWN] * 3, *["ж ж"] * 12]
    said = "the model does not know '🙂🙂', 'ö', 'ж': to it they are all the same unknown token.\n"
    numbers = "2, 6, 7, 8, 9, 10, 11, 12, 13, 14 and 3 more"
    stdin = "".join(f"{line}\n" for line in lines).encode()
    assert f"warning: standard input:{numbers}: {said}" in pellucid("translate", unigram, stdin=stdin).err
    source, known = files("source", *lines), files("known", *[KNOWN] * len(lines))
    for verb, option in (("evaluate", "--reference"), ("score", "--target")):
        assert f"{source}:{numbers}: {said}" in pellucid(verb, unigram, "--source", source, option, known).err
    assert (
        f"{known}:{numbers}: {said}" in pellucid("score", unigram, "--source", known, "--target", source).err
    )
    one = "{}: the model does not know '🙂🙂', 'ö': to it they are all the same unknown token.\n"
    outcome = pellucid("explain", unigram, UNKNOWN, "--target", "ж")
    assert outcome.code == 0 and outcome.err == (
        f"pellucid: warning: {one.format('sentence')}"
        "pellucid: warning: target: the model does not know 'ж': to it it is an unknown token.\n"
    )
    assert pellucid("explain", unigram, KNOWN).err == ""


@pytest.mark.parametrize("kind", ["word", "unigram", "bytes"])
def test_what_is_unknown_is_known_in_python_too(kind: str) -> None:
    ours = translator(kind, end=3.0)
    unknown = {"word": ["🙂🙂", "dög"], "unigram": ["🙂🙂", "ö"], "bytes": []}[kind]
    known, some = ours.translate([KNOWN, UNKNOWN])
    assert (known.unknown, list(some.unknown)) == ((), unknown)
    assert list(ours.score([KNOWN], [UNKNOWN])[0].unknown) == unknown
    assert list(ours.score([UNKNOWN], [UNKNOWN])[0].unknown) == 2 * unknown


def test_each_unknown_token_is_named_whatever_the_text() -> None:
    """Of random text: where the vocabulary gives the unknown token, something is named, and only there."""
    numbers, ours = random.Random(5), translator("unigram").vocabulary
    for _ in range(300):
        text = "".join(numbers.choices("thedog🙂ж ½.", k=numbers.randint(1, 12)))
        for read in (read_source, read_target):
            sentence = read(text, None, ours, 8)
            assert (ours.unknown_id in sentence.ids) <= bool(sentence.unknown), text
            assert not set("".join(sentence.unknown)) & set("thedog."), text


def test_a_tag_that_does_not_count_is_said(pellucid: Command) -> None:
    stdin = b">>hi<< I like cats\n>>es<< I like cats\n>>xx<< I like cats\n"
    outcome = pellucid("translate", "demo", "--to", "es", stdin=stdin)
    first, second = outcome.err.splitlines()
    assert first == (
        "pellucid: warning: standard input:1: >>hi<< was read as text, because --to es counts. Leave one out."
    )
    assert second.startswith("pellucid: warning: standard input:3: the model has no word '>>xx<<'.")


def test_sentences_that_vanish_are_said(pellucid: Command) -> None:
    stdin = b"I like cats. I like dogs. How are you?\nI like cats.\nHow are you? I like cats."
    outcome = pellucid("translate", "demo", "--to", "es", stdin=stdin)
    assert outcome.err.splitlines()[0] == (
        "pellucid: warning: standard input:1, 3: fewer sentences out than in. "
        "Give the model one sentence a line."
    )


def test_a_long_run_of_dots_is_counted_in_linear_time() -> None:
    said = Translation("." * 200_000 + "x", [Hypothesis("a" + "!" * 200_000 + "b", [], [], 0.0, [], True)])
    assert said.doubts == []


@pytest.mark.parametrize(
    ("source", "said", "lost"),
    [
        ("One. Two.", "Eins.", (2, 1)),
        ("One. Two.", "Eins und zwei", (2, 1)),
        ("One! “Two?” Three…", "Eins! Zwei.", (3, 2)),
        ("我喜欢猫。我喜欢狗。", "I like cats.", (2, 1)),
        ("मैं घर गया। वह आया।", "I went home.", (2, 1)),
        ("One. Two.", "一。二。", None),
        ("One.", "", None),
        ("no end", "kein Ende", None),
        ("Das ist z. B. gut.", "That is good.", None),
        ("Am 3. Mai. Er kam um 3.15 Uhr.", "On May 3. He came.", None),
        ("It cost 5 ... or more.", "Es kostete mehr.", None),
        ("see www.a.org for more.", "mehr", None),
    ],
)
def test_how_sentences_are_counted(source: str, said: str, lost: tuple[int, int] | None) -> None:
    translation = Translation(source, [Hypothesis(said, [], [], 0.0, [], finished=True)])
    assert translation.doubts == ([LOST.format(*lost)] if lost else [])
