"""Experiments about training: with and without the mask, at once and step by step, right and own words."""

import dataclasses
import json
import math
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
import toy
from command import Command
from rich.cells import cell_len
from torch import Tensor

import pellucid
from pellucid.config.schema import Config
from pellucid.config.toml_file import from_table
from pellucid.data.corpus import Pair, target_language
from pellucid.errors import UsageError
from pellucid.experiments import feedback, leakage, parallel
from pellucid.experiments.held_out import Decoding
from pellucid.experiments.leakage import Leakage, Trained
from pellucid.experiments.lookahead import LooksAhead, decode_anew
from pellucid.experiments.short_training import Material, learning, material, phrasebook_material
from pellucid.learning.learner import Learner
from pellucid.model import Transformer
from pellucid.probes.leak import find_leak
from pellucid.translate.request import forbidden_ids
from pellucid.translator import Translator

# Toy's language with fewer letters, and before each translation one of two words at random. However long it
# learns, a model that cannot see this word loses log 2 there; one that sees it loses nothing.
LETTERS, RANDOM = "abcdefgh", ("x", "y")
STEPS = 250


def config(**training: Any) -> Config:
    settings: dict[str, Any] = {
        "vocabulary": {"kind": "word", "size": 40},
        "model": {
            "width": 32,
            "heads": 4,
            "hidden": 64,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "dropout": 0.0,
        },
        "training": {"batch_tokens": 512, "peak_rate": 0.01, "warmup_steps": 50, "precision": "fp32"},
        "translation": {"max_length": 20},
    }
    settings["training"] |= {"label_smoothing": 0.0, **training}
    return from_table(settings)


def sentences(count: int, seed: int) -> list[Pair]:
    chance = random.Random(seed)
    sources = [" ".join(chance.choices(LETTERS, k=chance.randint(2, 4))) for _ in range(count)]
    return [
        Pair(source, f"{chance.choice(RANDOM)} {toy.reverse(source)}", 0, line, "toy")
        for line, source in enumerate(sources, 1)
    ]


def lessons(**training: Any) -> Material:
    return material(config(**training), sentences(1500, 1), sentences(60, 2), sentences(60, 3))


def fits(lines: Sequence[str], width: int) -> bool:
    return all(cell_len(line) <= width for line in lines)


# Leakage


@pytest.fixture(scope="module")
def both() -> Leakage:
    return leakage.compare(lessons(), STEPS)


def test_without_the_mask_training_looks_better(both: Leakage) -> None:
    masked, unmasked = both.masked, both.unmasked
    assert len(masked.losses) == len(unmasked.losses) == STEPS
    least = math.log(2) / 5  # a sentence has the random word, up to four letters and the end
    assert unmasked.training_loss < 0.6 * least < 0.9 * least < masked.training_loss
    # Teacher forcing shows nothing wrong: on held-out pairs too the next word is there to be copied.
    assert unmasked.loss < 0.6 * least < 0.9 * least < masked.loss
    assert unmasked.accuracy > 0.95 > 0.93 > masked.accuracy


def test_without_the_mask_decoding_is_worse(both: Leakage) -> None:
    masked, unmasked = both.masked, both.unmasked
    for ours, theirs in ((masked.decoding, unmasked.decoding), (masked.anew, unmasked.anew)):
        assert ours.exactly_right > 0.25 * both.held_out and theirs.exactly_right < 0.1 * both.held_out
        assert ours.chrf > theirs.chrf + 20
    assert masked.decoding == masked.anew, "with the mask, a cache changes nothing"


def test_find_leak_tells_them_apart(both: Leakage) -> None:
    assert both.masked.leaking == [] and both.unmasked.leaking == list(range(7))


def test_the_conclusion_and_the_table_have_the_numbers(both: Leakage) -> None:
    lines = both.lines(80)
    assert fits(lines, 80) and fits(both.lines(40), 40)
    assert " ".join(lines).startswith(both.conclusion)
    assert f"{both.unmasked.training_loss:.4f}" in lines[0]
    table = {line[:43].strip(): line[43:].split() for line in lines}
    accuracies = [f"{each.accuracy:.1%}" for each in (both.masked, both.unmasked)]
    assert table["validation, teacher forcing: words right"] == accuracies
    assert both.source in "\n".join(lines) and both.right[2:] == toy.reverse(both.source)
    json.dumps(dataclasses.asdict(both), allow_nan=False)


def test_each_row_of_the_table_has_its_own_number(both: Leakage) -> None:
    """No two numbers are alike, so none can stand in another's place."""

    def numbered(trained: Trained, start: int) -> Trained:
        n = start
        return dataclasses.replace(
            trained,
            losses=[float(n)] * STEPS,
            validations=[(1, n + 1.0, (n + 2) / 100)],
            decoding=Decoding(n + 3, n + 4.0, n + 5.0, ""),
            anew=Decoding(n + 6, n + 7.0, n + 8.0, ""),
            leaking=[0] * (n + 9),
            seconds=n + 10.0,
        )

    found = dataclasses.replace(
        both, masked=numbered(both.masked, 20), unmasked=numbered(both.unmasked, 60), held_out=1000
    )
    lines = found.lines(100)
    start = lines.index("") + 1
    rows = [re.split(" {2,}", line.strip()) for line in lines[start : lines.index("", start)]]
    assert rows == [
        ["with the mask", "without"],
        ["training: loss, last 50 steps", "20.0000", "60.0000"],
        ["validation, teacher forcing: loss", "21.0000", "61.0000"],
        ["validation, teacher forcing: words right", "22.0%", "62.0%"],
        ["decoding 1,000 held-out: exactly right", "23 (2.3%)", "63 (6.3%)"],
        ["BLEU", "24.0", "64.0"],
        ["chrF", "25.0", "65.0"],
        ["prefix read anew each step: exactly right", "26 (2.6%)", "66 (6.6%)"],
        ["chrF", "28.0", "68.0"],
        ["positions that see later words", "29", "69"],
        ["seconds of training", "30", "70"],
    ]


def test_the_picture_of_leakage_names_its_axes_and_its_lines(both: Leakage, tmp_path: Path) -> None:
    both.plot(tmp_path / "leakage.svg")
    texts = re.findall("<!-- (.*?) -->", (tmp_path / "leakage.svg").read_text())
    for name in ("step", "loss per target word (teacher forcing)", "of 100"):
        assert texts.count(name) == 1, name
    for model in ("with the mask", "without"):
        for name in (f"training, {model}", f"validation, {model}", model):  # the last are the bars'
            assert texts.count(name) == 1, name
    assert "$\\mathdefault{10^{0}}$" in texts, "losses are on a logarithmic scale"
    heights = [100 * both.masked.accuracy, 100 * both.unmasked.accuracy, both.unmasked.decoding.chrf]
    assert all(f"{height:.1f}" in texts for height in heights)


def test_only_the_mask_is_another() -> None:
    """The same first weights, and of one position, which has nothing to look ahead to, the same numbers."""
    taught = lessons()
    models = []
    for kind in (Transformer, LooksAhead):
        torch.manual_seed(1)
        models.append(kind(taught.config.model).eval())
    ours, theirs = (model.state_dict() for model in models)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    source, mask = torch.tensor([[5, 6, 3]]), torch.ones(1, 3, dtype=torch.bool)
    short, long = torch.tensor([[2]]), torch.tensor([[2, 5, 7]])
    one, other = (model(source, mask, short) for model in models)
    assert torch.allclose(one, other, atol=1e-6)
    one, other = (model(source, mask, long) for model in models)
    # In a model of one layer the last position sees all words with the mask, too.
    assert torch.allclose(one[:, -1], other[:, -1], atol=1e-5) and not torch.allclose(
        one[:, 0], other[:, 0], atol=1e-3
    )


def test_padding_stays_hidden_where_the_mask_is_lifted() -> None:
    model = LooksAhead(lessons().config.model).eval()
    source, mask = torch.tensor([[5, 6, 3]]), torch.ones(1, 3, dtype=torch.bool)
    whole, padded = torch.tensor([[2, 5, 7]]), torch.tensor([[2, 5, 7, 0, 0]])
    assert torch.allclose(model(source, mask, whole), model(source, mask, padded)[:, :3], atol=1e-5)
    assert find_leak(model).leaks


def test_both_learn_from_the_same_batches_in_the_same_order() -> None:
    taught, seen = lessons(), []
    for kind in (Transformer, LooksAhead):
        learner = Learner(kind(taught.config.model), taught.config.training)
        seen.append([update.tokens for update in learning(learner, taught, 12)])
    assert seen[0] == seen[1] and len(seen[0]) == 12 and len(set(seen[0])) > 1
    again = list(learning(Learner(Transformer(taught.config.model), taught.config.training), taught, 40))
    assert len(again) == 40, "more than an epoch"


def test_the_caller_s_random_numbers_stay() -> None:
    state = torch.get_rng_state()
    leakage.compare(material(config(), sentences(40, 1), sentences(4, 2), sentences(4, 3)), 2)
    assert torch.equal(torch.get_rng_state(), state)


def test_decoding_anew_is_a_plain_loop_over_prefixes() -> None:
    translator = tiny.translator()
    model, forbidden = translator.model, forbidden_ids(translator.model, translator.vocabulary)
    sources = [[7, 9, 3], [8, 3]]
    for ours in (model, _looking_ahead(model)):
        said = decode_anew(ours, sources, forbidden, 9)
        for source, words in zip(sources, said, strict=True):
            assert words == _loop(ours, source, forbidden, 9)


def _looking_ahead(model: Transformer) -> LooksAhead:
    other = LooksAhead(model.config).eval()
    other.load_state_dict(model.state_dict())
    return other


def _loop(model: Transformer, source: list[int], forbidden: list[int], longest: int) -> list[int]:
    """One sentence, and the model as training calls it."""
    ids, words = torch.tensor([source]), [2]
    while len(words) <= longest and words[-1] != 3:
        logits = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([words]))[0, -1].tolist()
        words.append(
            max((each for each in range(len(logits)) if each not in forbidden), key=logits.__getitem__)
        )
    return words[1:]


@pytest.fixture(scope="module")
def corpus() -> Material:
    """The demo's, for a model that is quick to train."""
    return phrasebook_material({"training.batch_tokens": 128, "model.width": 16, "model.hidden": 16})


def test_the_demo_s_corpus_is_the_demo_s(corpus: Material) -> None:
    assert corpus.config.model.vocabulary == pellucid.load("demo", "cpu").model.config.vocabulary
    assert corpus.config.model.width == 16
    assert len(corpus.held_out) == 1000 and len(corpus.config.data.languages) == 4
    held_out = {(pair.language, pair.source.casefold()) for pair in corpus.held_out}
    assert not any((each.pair.language, each.pair.source.casefold()) in held_out for each in corpus.examples)
    assert target_language(corpus.held_out[0], corpus.config.data.languages) == "hi"


@pytest.mark.parametrize("steps", [0, 2.5, "many", True])
def test_steps_that_are_none(steps: Any) -> None:
    with pytest.raises(UsageError, match="must be a whole number from 1 to"):
        pellucid.experiment("leakage", steps=steps)


@pytest.mark.slow
def test_leakage_on_the_demo_s_corpus() -> None:
    result = pellucid.experiment("leakage")
    assert result.unmasked.training_loss < result.masked.training_loss
    assert result.unmasked.accuracy > result.masked.accuracy > 0.95
    assert result.masked.decoding.exactly_right > 700 and result.unmasked.decoding.exactly_right < 50


# At once and step by step


@pytest.fixture(scope="module")
def small() -> Translator:
    return tiny.translator()


def gradients(model: Transformer, loss: Tensor) -> dict[str, Tensor]:
    names = [name for name, parameter in model.named_parameters()]
    parts = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return {name: part for name, part in zip(names, parts, strict=True) if part is not None}


@pytest.mark.parametrize("settings", [{}, {"norm": "first"}])
def test_both_ways_have_the_losses_and_gradients_of_a_loop_over_prefixes(settings: dict[str, Any]) -> None:
    """Without a cache, a batch or a mask of padding: each word of each sentence from its own prefix."""
    model = tiny.translator(**settings).model.double()
    batch = parallel.random_batch(model, [1, 3, 4], seed=1)
    losses = []
    for row in range(3):
        ids = batch.source[row : row + 1, batch.source_mask[row]]
        for place in range(int(batch.target_mask[row].sum())):
            prefix = batch.target_in[row : row + 1, : place + 1]
            logits = model(ids, torch.ones_like(ids, dtype=torch.bool), prefix)[0, -1]
            losses.append(-logits.log_softmax(-1)[batch.target_out[row, place]])
    assert len(losses) == batch.tokens == 8
    by_hand = torch.stack(losses).mean()
    expected = gradients(model, by_hand)
    for way in (parallel.all_at_once, parallel.step_by_step):
        loss = way(model, batch)
        assert float(loss.detach()) == pytest.approx(float(by_hand.detach()), abs=1e-12)
        found = gradients(model, loss)
        assert found.keys() == expected.keys() and len(found) > 40
        for name, gradient in found.items():
            assert torch.allclose(gradient, expected[name], rtol=0, atol=1e-12), name


def test_what_parallel_says(small: Translator, tmp_path: Path) -> None:
    before = {name: each.clone() for name, each in small.model.state_dict().items()}
    result = pellucid.experiment("parallel", small, lengths=(1, 24), sentences=4, repeats=3)
    for each, limit in zip(result.equalities, (1e-12, 1e-5), strict=True):
        assert each.loss_difference < limit and 0 <= each.gradient_difference < limit < each.gradient
    assert [each.length for each in result.timings] == [1, 24]
    assert result.timings[1].ratio > 2 and result.words == 1 + 2 + 3 + 4
    lines = result.lines(80)
    assert fits(lines, 80) and "times as long" in lines[0]
    assert " ".join(lines).startswith(result.conclusion)
    assert f"With 24 words step by step takes {result.timings[1].ratio:.1f} times" in lines[0]
    result.plot(tmp_path / "parallel.png")
    assert (tmp_path / "parallel.png").read_bytes()[:4] == b"\x89PNG"
    json.dumps(dataclasses.asdict(result), allow_nan=False)
    assert all(torch.equal(each, before[name]) for name, each in small.model.state_dict().items())
    assert all(each.grad is None for each in small.model.parameters())


def test_a_difference_would_be_seen(small: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small.model.double()
    batch = parallel.random_batch(model, [2, 3], seed=0)
    whole = parallel.step_by_step
    monkeypatch.setattr(parallel, "step_by_step", lambda *given: whole(*given) * 1.001)
    found = parallel.compare(model, batch)
    assert found.loss_difference > 1e-4 and found.gradient_difference > 1e-6
    model.float()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("lengths", ()),
        ("lengths", "4"),
        ("lengths", 20),
        ("lengths", -1),
        ("lengths", [True]),
        ("sentences", 0),
        ("repeats", 1.5),
        ("threads", 0),
    ],
)
def test_settings_of_parallel_that_are_none(small: Translator, setting: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{setting} = .* must be a .*whole numbers? from 1 to 1,000"):
        pellucid.experiment("parallel", small, **{setting: value})


# Right words and own words


@pytest.fixture(scope="module")
def demo() -> Translator:
    return pellucid.load("demo", "cpu")


def test_the_notes_sentence_with_right_words_and_with_its_own(demo: Translator) -> None:
    result = pellucid.experiment("feedback", demo, "How are you", "hi")
    plain, slipped = result.comparisons
    explanation = demo.explain("How are you", to="hi")
    assert [each.expected for each in plain.positions] == ["आप", "कैसे", "हैं", "</s>"]
    for way in ("forced", "own"):  # the model is right, so its own words are the right ones
        fed = [getattr(each, way) for each in plain.positions]
        assert [each.input for each in fed] == ["<s>", "आप", "कैसे", "हैं"]
        assert [each.predicted for each in fed] == [step.predicted for step in explanation.steps]
        for each, step in zip(fed, explanation.steps, strict=True):
            assert each.probability == pytest.approx(step.probability, abs=1e-5)
            assert each.loss == pytest.approx(step.loss, abs=1e-4)
    assert plain.wrong == (0, 0)
    # With teacher forcing the slip changes nothing.
    assert [each.forced for each in slipped.positions] == [each.forced for each in plain.positions]
    assert slipped.positions[1].own is not None and slipped.positions[1].own.input == result.slip[1]


def test_an_error_that_is_fed_back(demo: Translator, tmp_path: Path) -> None:
    target = "Le chat était assis sur le tapis"
    result = pellucid.experiment(
        "feedback", demo, "The cat sat on the mat", "fr", target=target, slip="chien", slip_at=2
    )
    slipped = result.comparisons[1]
    own = [each.own for each in slipped.positions]
    assert [each.input for each in own if each][:3] == ["<s>", "Le", "chien"]
    assert slipped.said.split()[:2] == ["Le", "chien"] and result.slip == (2, "chien", "chat")
    # Each loss is that of a teacher-forced pass over what was read.
    words = slipped.said.split()
    explanation = demo.explain("The cat sat on the mat", to="fr", target=" ".join(words))
    log_p = explanation.trace["decoder.logits"].tensor[0].log_softmax(-1)
    gold = demo.vocabulary.encode_target(target, "fr")
    for place, each in enumerate(own[: len(words)]):
        assert each is not None and each.loss == pytest.approx(-float(log_p[place, gold[place]]), abs=1e-4)
    lines = result.lines(80)
    assert fits(lines, 80) and "chien for chat" in lines[0]
    assert " ".join(lines).startswith(result.conclusion)
    assert f"{slipped.losses[1]:.4f}" in " ".join(lines[:3])
    result.plot(tmp_path / "feedback.svg")
    json.dumps(dataclasses.asdict(result), allow_nan=False)


def test_what_is_never_reached_is_wrong(demo: Translator) -> None:
    result = pellucid.experiment("feedback", demo, "How are you", "hi", slip="धन्यवाद")
    slipped = result.comparisons[1]
    assert [each.own is None for each in slipped.positions] == [False, False, True, True]
    assert slipped.wrong == (0, 3) and "makes 3 of the 3 later words wrong" in " ".join(result.lines(80))
    assert slipped.losses[0] == pytest.approx(sum(each.forced.loss for each in slipped.positions[:2]))


def test_a_wrong_word_in_the_last_place_has_no_later_word(demo: Translator) -> None:
    result = pellucid.experiment("feedback", demo, "How are you", "hi", target="")
    told = " ".join(result.lines(80))
    assert "changes nothing, for there is no later word; the loss of the 1 position reached is" in told


def test_a_model_that_has_begun_to_learn(
    demo: Translator, corpus: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback, "phrasebook_material", lambda settings: corpus)
    result = pellucid.experiment("feedback", demo, "How are you", "hi", early_steps=2)
    early = result.comparisons[2]
    assert early.title == "A model after 2 steps of training"
    assert [each.expected for each in early.positions] == ["आप", "कैसे", "हैं", "</s>"]
    assert early.wrong[0] >= 3
    loss = early.positions[0].forced.loss
    assert math.isclose(loss, -math.log(early.positions[0].forced.probability), rel_tol=1e-6)


def test_settings_of_feedback_that_are_none(demo: Translator) -> None:
    for settings, message in (
        ({"slip_at": 5}, "slip_at = 5: the target has the positions 1 to 4"),
        (
            {"slip": "आप"},
            "slip = 'आप' must be one token that the vocabulary knows, and not the right one, 'आप'",
        ),
        ({"slip": "आप कैसे"}, "must be one token"),
        ({"slip": "xylophone"}, "must be one token that the vocabulary knows"),
        ({"early_steps": -1}, "early_steps = -1 must be a whole number from 0"),
    ):
        with pytest.raises(UsageError, match=message):
            pellucid.experiment("feedback", demo, "How are you", "hi", **settings)


# The command


def test_the_command_takes_settings(pellucid: Command, tmp_path: Path) -> None:
    asked = [
        "experiment",
        "parallel",
        "demo",
        "--set",
        "lengths=[2]",
        "--set",
        "repeats=1",
        "--out",
        tmp_path,
    ]
    outcome = pellucid(*asked)
    assert outcome.code == 0 and outcome.out.startswith("With 2 words step by step takes")
    assert [each["length"] for each in json.loads((tmp_path / "parallel.json").read_text())["timings"]] == [2]
    wrong = pellucid("experiment", "parallel", "demo", "--set", "model=x")
    assert wrong.code == 2 and "--set model: this is no setting of an experiment" in wrong.err
    wrong = pellucid("experiment", "parallel", "demo", "--set", "length=2")
    assert wrong.code == 2 and "the experiment parallel has no setting 'length'" in wrong.err
