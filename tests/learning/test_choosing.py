"""A configuration chosen for a corpus and a time: what it looks at, what it chooses, and that this works."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import short_runs
from command import Command

from pellucid.config.toml_file import from_table, read
from pellucid.data.corpus import Pair
from pellucid.errors import UsageError
from pellucid.learning import choosing
from pellucid.learning.choosing import Chosen, choose
from pellucid.learning.measuring import Corpus, Pace, kind_of, look_at, tokens_of, vocabulary_size
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
    assert found == Corpus(2, (2.0, 2.0), (3.5, 2.0), 6, 8, 10 / 11, 9)


class Machine:
    """Measures nothing: a step's time is in proportion to the model's size and the batch, times `slow`."""

    def __init__(self, found: Corpus, slow: float = 1.0) -> None:
        self.corpus, self.slow, self.presets = found, slow, list[str]()

    def __call__(self, settings: Sequence[Chosen]) -> Pace:
        """The pace with these settings."""
        said = {each.name: each.value for each in settings}
        self.presets.append(said["model.preset"])
        parameters = {"tiny": 2e6, "small": 1e7, "base": 5e7, "big": 2e8}[said["model.preset"]]
        tokens = said["training.batch_tokens"]
        longer = tokens_of(self.corpus, kind_of(self.corpus))
        return Pace(self.slow * tokens * (2e7 + parameters) / 2e11, tokens / longer, 0.01 * self.slow)


def choices(found: Corpus, minutes: float = 30, slow: float = 1.0) -> dict[str, Any]:
    """The chosen settings by their names."""
    return {each.name: each.value for each in choose(found, minutes, Machine(found, slow))}


def chosen(texts: list[tuple[str, str]]) -> dict[str, Any]:
    """The settings that are chosen for these texts and half an hour."""
    return choices(corpus(texts))


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
    assert settings.get("training.first_weights") == ("usual" if kind == "characters" else None)
    assert settings.get("training.validation_metric") == (None if kind == "subwords" else "exact")
    assert settings.get("translation.beam") == (None if kind == "subwords" else 1)
    rates = {"words": 0.0007, "characters": 0.002, "subwords": 0.004}
    assert settings["training.peak_rate"] == rates[kind]
    large = corpus(texts)._replace(pairs=300_000, subwords=10**6)
    assert kind != "subwords" or vocabulary_size(large, kind) == 10_000


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
    vocabulary = train_vocabulary(*zip(*texts, strict=True), config.vocabulary, config.data)
    assert vocabulary.kind == config.vocabulary.kind and vocabulary.source_size <= config.vocabulary.size
    for source, target in texts[:100]:
        assert vocabulary.unknown_id not in vocabulary.encode_source(source)
        assert vocabulary.decode_target(vocabulary.encode_target(target)) == target


def test_more_pairs_and_more_time_make_a_larger_model_with_more_dropout() -> None:
    few, minutes = corpus(sentences(2000)), (5, 60, 600)

    def settings(pairs: int, name: str) -> list[Any]:
        return [choices(few._replace(pairs=pairs), time)[name] for time in minutes]

    assert settings(150_000, "model.preset") == ["tiny", "small", "small"]
    assert settings(1_000_000, "model.preset")[2] == "base"
    assert settings(29_000, "model.dropout") == [0.1, 0.3, 0.3]
    batches = {pairs: settings(pairs, "training.batch_tokens")[0] for pairs in (2000, 60_000, 150_000)}
    assert batches == {2000: 1024, 60_000: 2048, 150_000: 4096}
    warmups = settings(29_000, "training.warmup_steps")
    assert warmups[0] < warmups[1]


def test_a_slow_machine_has_a_smaller_model_a_shorter_warm_up_and_fewer_sentences_to_validate_on() -> None:
    found = corpus(sentences(2000))._replace(pairs=150_000)
    quick, slow = choices(found, 60), choices(found, 60, slow=10)
    assert (quick["model.preset"], slow["model.preset"]) == ("small", "tiny")
    small, tiny = 2**12 * 3e7 / 2e11, 10 * 2**12 * 2.2e7 / 2e11  # seconds of a step
    for settings, step in ((quick, small), (slow, tiny)):
        assert settings["training.warmup_steps"] == pytest.approx(360 / step, rel=0.1)
    assert (quick["data.held_out"], slow["data.held_out"]) == (1000, 240)  # 360 / 15 seconds: 24
    slowest = choices(found, 1, slow=1000)
    assert (slowest["data.held_out"], slowest["training.validation_metric"]) == (30, "loss")
    assert "training.validation_metric" not in slow
    assert quick["training.validations"] == slow["training.validations"] == 12


def test_a_rule_needs_no_more_dropout_in_a_larger_model() -> None:
    for texts, dropout in ((sums("+"), 0.0), (short_runs.pairs(500), 0.1)):
        many = corpus(texts)._replace(pairs=60_000)
        settings = choices(many, 600)
        assert (settings["model.preset"], settings["model.dropout"]) == ("small", dropout)


@pytest.mark.parametrize(("judged", "metric"), [(0, None), (20, "loss"), (50, None)])
def test_bleu_of_few_sentences_decides_nothing(judged: int, metric: str | None) -> None:
    found = corpus(sentences(3000))
    said = {each.name: each.value for each in choose(found, 30, Machine(found), judged=judged)}
    assert said.get("training.validation_metric") == metric


def test_steps_that_the_user_sets_count_as_the_time_does() -> None:
    found = corpus(sentences(2000))._replace(pairs=29_000)
    few = {each.name: each.value for each in choose(found, 1e4, Machine(found), {"training.steps": 500})}
    assert few["training.warmup_steps"] == 50 and few["model.dropout"] == 0.1
    many = {each.name: each.value for each in choose(found, 30, Machine(found), {"training.steps": 10**9})}
    assert many == choices(found)


def test_the_rate_is_that_of_the_width_that_the_user_sets() -> None:
    found = corpus(sentences(2000))
    for width, rate in ((64, 0.004), (255, 0.004), (256, 0.001), (600, 0.0007)):
        said = {each.name: each for each in choose(found, 30, Machine(found), {"model.width": width})}
        assert said["training.peak_rate"].value == rate
        assert said["model.preset"].reason.startswith(f"width {width}: ")


def test_only_a_preset_that_may_be_fast_enough_is_measured() -> None:
    found = corpus(sentences(2000))
    for pairs, minutes, presets in (
        (29_000, 1e4, ["tiny"]), (150_000, 1, ["tiny"]), (150_000, 60, ["tiny", "small"]),
        (10**7, 500, ["tiny"]), (10**6, 10**4, ["tiny", "small", "base"]),
    ):  # fmt: skip
        machine = Machine(found._replace(pairs=pairs))
        choose(machine.corpus, minutes, machine)
        assert machine.presets == presets
    machine = Machine(found)
    asked = {each.name: each.value for each in choose(found, 30, machine, {"model.preset": "base"})}
    assert machine.presets == ["base"] and asked["training.peak_rate"] == 0.0007


def test_two_files_and_one_command_which_resumes_bit_for_bit(
    pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "measure", lambda *_: Pace(1.0, 30.0, 0.01))
    source, target = short_runs.write(tmp_path, "all", short_runs.pairs(120))
    before = [Path(file).read_bytes() for file in (source, target)]
    settings = "training.threads=1", "training.precision=fp32", "training.validate_every=2"
    quick = [word for setting in settings for word in ("--set", setting)]
    command = ["train", "--source", source, "--target", target, *quick, "--set"]
    minutes = "--minutes", 3
    whole = pellucid(*command, "training.steps=4", *minutes, "--out", tmp_path / "whole")
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
    assert pellucid(*command, "training.steps=2", *minutes, "--out", parts).code == 0
    longer = ["training.steps=4", "--minutes", "60", "--out", parts, "--resume"]
    resumed = pellucid(*command, *longer)
    assert resumed.code == 0 and "going on from step 2" in resumed.err
    assert read(parts / "last" / "config.toml").training.minutes == 60
    assert short_runs.same_weights(tmp_path / "whole" / "last", parts / "last")
    third = pellucid("train", parts / "train.toml", "--out", parts, "--resume", "--set", "training.steps=5")
    assert third.code == 0 and "going on from step 4" in third.err
    Path(source).write_text("another\n" * 120, "utf-8")
    refused = pellucid(*command, *longer)
    assert refused.code == 2 and "data all.source: SHA-256" in refused.err


def test_a_dry_run_says_all_and_writes_nothing(
    pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "measure", lambda *_: Pace(1.0, 30.0, 0.01))
    source, target = short_runs.write(tmp_path, "all", short_runs.pairs(120))
    out, quick = tmp_path / "out", ["--set", "training.threads=1", "--set", "training.batch_tokens=60"]
    command = ["train", "--source", source, "--target", target, "--out", out, "--dry-run", *quick]
    outcome = pellucid(*command, "--minutes", "3")
    assert outcome.code == 0 and not out.exists(), outcome.err
    for said in (
        'kind = "word"  # a word is a token: the text has only 8 of them\n',
        "training data: 120 pairs read, 96 kept; 24 held out; unknown tokens: none\n",
        " MB with gradients and AdamW's moments\n",
        "memory, beside the text: about ",
        "on the disk: up to ",
        "6 steps were tried: ",
        " steps; the training ends after 3 minutes. Nothing was written.\n",
    ):
        assert said in outcome.err
    out.mkdir()
    (out / "log.txt").touch()
    refused = pellucid(*command)
    assert refused.code == 2 and f"{out}/log.txt already exists" in refused.err


def test_what_is_refused_is_refused_before_anything_is_measured(
    pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "measure", lambda *_: pytest.fail("it was measured"))
    files = short_runs.write(tmp_path, "one", short_runs.pairs(1))
    for settings, message in (
        ([], "[data] held_out = 1: the training text has 1 different source, too few to hold out some"),
        (
            [f"data.validation={[files]}", "data.held_out=3"],
            "[data] held_out = 3 and validation text are both given",
        ),
    ):
        more = [word for setting in settings for word in ("--set", setting)]
        refused = pellucid("train", "--source", files[0], "--target", files[1], "--dry-run", *more)
        assert refused.code == 2 and refused.err.startswith(f"pellucid: {message}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--source a --target b --minutes 0",
            "train: [training] minutes = 0.0 must be a number above 0 and at most 10000000.",
        ),
        ("a.toml --minutes 0", "a.toml cannot be read"),
        ("", "one of the arguments CONFIG.toml --source --data is required"),
        ("--source a", "--source and --target belong together: give both, or neither."),
        ("a.toml --target b", "--source and --target belong together: give both, or neither."),
        ("a.toml --data b.tsv", "argument --data: not allowed with argument CONFIG.toml"),
        ("--source a --target b --data c", "argument --data: not allowed with argument --source"),
        ('--source a --target b --set data.train=["c","d"]', "name the text: leave --set data.train out."),
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
