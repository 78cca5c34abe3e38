"""A configuration chosen for a corpus and a time: what it looks at, what it chooses, and that this works."""

import random
from pathlib import Path
from typing import Any

import pytest
import short_runs
from command import Command

from pellucid.config.toml_file import from_table, read
from pellucid.data.corpus import Pair
from pellucid.errors import UsageError
from pellucid.learning.choosing import Corpus, choose, kind_of, look_at, vocabulary_size
from pellucid.learning.run import training
from pellucid.text.vocabulary_training import train_vocabulary


def corpus(texts: list[tuple[str, str]]) -> Corpus:
    """The statistics of these texts."""
    return look_at([Pair(source, target, 0, line, "file") for line, (source, target) in enumerate(texts, 1)])


def sums(between: str) -> list[tuple[str, str]]:
    """Three thousand sums."""
    chance = random.Random(1)
    numbers = [(chance.randrange(1000), chance.randrange(1000)) for _ in range(3000)]
    return [(f"{a}{between}{b}", str(a + b)) for a, b in numbers]


def sentences(count: int) -> list[tuple[str, str]]:
    """Sentences of a language with very many words."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrst", k=chance.randint(1, 9))) for _ in range(4000)]
    return [
        (" ".join(chance.choices(words, k=8)), " ".join(chance.choices(words, k=7))) for _ in range(count)
    ]


def test_the_statistics_of_a_corpus() -> None:
    found = corpus([("ab c1", "d"), ("ab  é", "d e f")])
    assert found == Corpus(2, 2.0, 2.0, 3.5, 2.0, 6, 8, 10 / 11, 9)


def chosen(texts: list[tuple[str, str]], minutes: float = 30) -> dict[str, Any]:
    """The chosen settings by their names."""
    return {each.name: each.value for each in choose(corpus(texts), minutes)}


@pytest.mark.parametrize(
    ("texts", "kind", "size"),
    [
        (sums("+"), "characters", 11 + 5),
        (sums(" + "), "characters", 11 + 5),
        ([(source.replace(" ", ""), target) for source, target in short_runs.pairs(500)], "characters", 9),
        (short_runs.pairs(500), "words", 8 + 5),
        (sentences(2000), "subwords", 2000),
    ],
)
def test_the_text_decides_what_a_token_is(texts: list[tuple[str, str]], kind: str, size: int) -> None:
    assert kind_of(corpus(texts)) == kind
    settings = chosen(texts)
    assert settings["vocabulary.size"] == size
    assert settings.get("training.validation_metric") == (None if kind == "subwords" else "exact")
    assert settings.get("translation.beam") == (None if kind == "subwords" else 1)
    large = corpus(texts)._replace(pairs=300_000, subwords=10**6)
    assert kind != "subwords" or vocabulary_size(large, kind) == 8000


@pytest.mark.parametrize(
    "texts", [sums("+"), sums(" + "), sentences(10), sentences(200), short_runs.pairs(60)]
)
def test_the_text_yields_the_vocabulary_that_is_chosen(texts: list[tuple[str, str]]) -> None:
    settings = chosen(texts)
    table: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        section, key = name.split(".")
        table.setdefault(section, {})[key] = value
    config = from_table(table)
    train_vocabulary(*zip(*texts, strict=True), config.vocabulary, config.data)


def test_more_pairs_and_more_time_make_a_larger_model_with_more_dropout() -> None:
    few, minutes = corpus(sentences(2000)), (5, 60, 600)

    def settings(pairs: int, name: str) -> list[Any]:
        tables = [choose(few._replace(pairs=pairs), time) for time in minutes]
        return [next(each.value for each in table if each.name == name) for table in tables]

    assert settings(150_000, "model.preset") == ["tiny", "small", "small"]
    assert settings(1_000_000, "model.preset")[2] == "base"
    assert settings(29_000, "model.dropout") == [0.1, 0.3, 0.3]
    warmups = settings(29_000, "training.warmup_steps")
    assert warmups[0] < warmups[1]


def test_two_files_and_one_command_which_resumes_bit_for_bit(pellucid: Command, tmp_path: Path) -> None:
    source, target = short_runs.write(tmp_path, "all", short_runs.pairs(120))
    before = [Path(file).read_bytes() for file in (source, target)]
    settings = "training.threads=1", "training.precision=fp32", "training.validate_every=2"
    quick = [word for setting in settings for word in ("--set", setting)]
    command = ["train", "--source", source, "--target", target, "--minutes", "3", *quick, "--set"]
    whole = pellucid(*command, "training.steps=4", "--out", tmp_path / "whole")
    assert whole.code == 0, whole.err
    assert "held_out = 24  # of 120 pairs: to validate on" in whole.err
    assert "training data: 120 pairs read, 96 kept" in whole.err and "24 held out" in whole.err
    written = (tmp_path / "whole" / "train.toml").read_text("utf-8")
    assert 'kind = "word"  # a word is a token: the text has only 8 of them' in written
    assert 'train = [["../all.source", "../all.target"]]' in written
    own = read(tmp_path / "whole" / "train.toml")
    assert own.training.minutes == 3 and own.data.train == ((source, target),)
    assert [Path(file).read_bytes() for file in (source, target)] == before
    again = pellucid(*command, "training.steps=4", "--out", tmp_path / "whole")
    assert again.code == 2 and f"{tmp_path}/whole/train.toml already exists, from an earlier" in again.err

    parts = tmp_path / "parts"
    assert pellucid(*command, "training.steps=2", "--out", parts).code == 0
    longer = ["training.steps=4", "--minutes", "60", "--out", parts, "--resume"]
    resumed = pellucid(*command, *longer)
    assert resumed.code == 0 and "going on from step 2" in resumed.err
    assert short_runs.same_weights(tmp_path / "whole" / "last", parts / "last")
    third = pellucid("train", parts / "train.toml", "--out", parts, "--resume", "--set", "training.steps=5")
    assert third.code == 0 and "going on from step 4" in third.err
    Path(source).write_text("another\n" * 120, "utf-8")
    refused = pellucid(*command, *longer)
    assert refused.code == 2 and "data all.source: SHA-256" in refused.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--source a --target b --minutes 0", "train: [training] minutes = 0: this trains nothing. "),
        ("a.toml --minutes 0", "a.toml cannot be read"),
        ("", "one of the arguments CONFIG.toml --source --data is required"),
        ("--source a", "--source and --target belong together: give both, or neither."),
        ("a.toml --target b", "--source and --target belong together: give both, or neither."),
        ("a.toml --data b.tsv", "argument --data: not allowed with argument CONFIG.toml"),
        ("--source a --target b --data c", "argument --data: not allowed with argument --source"),
    ],
)
def test_a_text_is_named_in_one_way(pellucid: Command, words: str, message: str) -> None:
    outcome = pellucid("train", *words.split())
    assert outcome.code == 2 and message in outcome.err


def test_a_wrong_device_is_refused_before_the_text_is_read(tmp_path: Path, pellucid: Command) -> None:
    text = {"data": {"train": ["no.en", "no.de"]}}
    with pytest.raises(UsageError, match=r"^device = 'cuda:99' cannot be used: "):
        next(training(text, tmp_path / "run", device="cuda:99"))
    outcome = pellucid("train", "--source", "no.en", "--target", "no.de", "--device", "cuda:99")
    assert outcome.code == 2 and outcome.err.startswith("pellucid: --device cuda:99 cannot be used: ")
