"""Feedback: the right words fed in, beside the model's own words fed back.

With teacher forcing an error stays where it is: the next input is right again. When the model reads its own
words, as it must when it translates, an error goes into everything after it, and what becomes of that is
measured here: a good model may recover, for the source still says what is meant.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from pellucid.cache import GrowingPast
from pellucid.config.device import device_of
from pellucid.config.whole import is_whole, whole_setting
from pellucid.errors import UsageError
from pellucid.experiments.said import said
from pellucid.experiments.short_training import learning, phrasebook_material
from pellucid.learning.learner import Learner
from pellucid.model import Transformer
from pellucid.reading.passes import as_read, quietly
from pellucid.reading.words import visible
from pellucid.show.columns import columns, stacked
from pellucid.show.drawing import ORANGE, PURPLE, drawing
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.request import forbidden_ids
from pellucid.translate.sentences import TOKENS, read_source
from pellucid.translator import Translator

ABOUT = "the right words fed in (teacher forcing) beside one's own words fed back: where an error goes"
NEEDS = "sentence"
MOST = 10_000  # steps of training
BEYOND = 20  # words that a model may say after the right end


@dataclass(frozen=True)
class Fed:
    """A position of the target: what the decoder read there, and what it made of it."""

    input: str
    predicted: str
    probability: float  # of the expected word
    loss: float  # its negative logarithm


@dataclass(frozen=True)
class FedPosition:
    """The same position with the right words read before it, and with the model's own."""

    expected: str
    forced: Fed
    own: Fed | None  # None where the model had ended its sentence before


@dataclass(frozen=True)
class BothWays:
    """One model over one sentence, both ways."""

    title: str
    positions: list[FedPosition]
    said: str  # its own words

    @property
    def losses(self) -> tuple[float, float]:
        """Of the positions that both ways have: with the right words, and with its own."""
        both = [(each.forced.loss, each.own.loss) for each in self.positions if each.own is not None]
        return sum(forced for forced, _ in both), sum(own for _, own in both)

    @property
    def wrong(self) -> tuple[int, int]:
        """How many predictions are wrong both ways; a position never reached is."""
        forced = sum(each.forced.predicted != each.expected for each in self.positions)
        own = sum(each.own is None or each.own.predicted != each.expected for each in self.positions)
        return forced, own


@dataclass(frozen=True)
class Feedback:
    """A sentence, its right translation, and the models that were made to say it."""

    source: str
    target: str
    comparisons: list[BothWays]
    slip: tuple[int, str, str]  # at this position, counted from 1, this word was fed back in place of that

    @property
    def conclusion(self) -> str:
        """What the wrong word did to those after it."""
        place, wrong, right = self.slip
        slipped = self.comparisons[1]
        later = slipped.positions[place:]
        lost = sum(each.own is None or each.own.predicted != each.expected for each in later)
        forced, own = slipped.losses
        reached = sum(each.own is not None for each in slipped.positions)
        made = f"makes {lost} of the {len(later)} later words wrong"
        if not later:
            made = "changes nothing, for there is no later word"
        return (
            f"One wrong word fed back ({wrong} for {right}) {made}; "
            f"the loss of the {reached} position{'s' if reached != 1 else ''} reached is {own:.4f}, and "
            f"{forced:.4f} where the right words are read."
        )

    def lines(self, width: int) -> list[str]:
        """What the error did, and a table for each model."""
        parts: list[str | list[str]] = [self.conclusion, f"{self.source}  →  {self.target}"]
        for each in self.comparisons:
            parts += [f"{each.title}. Its own words: {each.said}", _table(each, width)]
        return stacked(width, *parts)

    def plot(self, path: str | Path) -> None:
        """The loss at each position, both ways, a panel for each model."""
        letters = "".join(each.expected for comparison in self.comparisons for each in comparison.positions)
        with drawing(path, "feedback", letters) as figure:
            figure.set_size_inches(7, 2.2 * len(self.comparisons) + 0.6)
            panels = figure.subplots(len(self.comparisons), 1, sharey=True, squeeze=False)[:, 0]
            for axes, comparison in zip(panels, self.comparisons, strict=True):
                places = range(len(comparison.positions))
                forced = [each.forced.loss for each in comparison.positions]
                own = [each.own.loss if each.own else 0.0 for each in comparison.positions]
                axes.bar(
                    [place - 0.2 for place in places], forced, 0.38, color=PURPLE, label="right words read"
                )
                axes.bar(
                    [place + 0.2 for place in places],
                    own,
                    0.38,
                    color=ORANGE,
                    hatch="///",
                    edgecolor="white",
                    label="own words read",
                )
                axes.set_xticks(places, [visible(each.expected) for each in comparison.positions])
                axes.set_title(comparison.title, fontsize=9)
                axes.set_ylabel("loss", fontsize=8)
            panels[0].legend(fontsize=8)


def experiment(
    translator: Translator,
    text: str,
    to: str | None = None,
    *,
    target: str | None = None,
    slip_at: int = 1,
    slip: str | None = None,
    early_steps: int = 0,
) -> Feedback:
    """Both ways for the model as it is, and for the model with one wrong word fed back.

    target: the right translation; by default the model's own. slip_at: the position, counted from 1, where a
    wrong word goes in: `slip`, or the word that the model holds the most probable of the wrong ones.
    early_steps: also for a model that has learned the demo's corpus for so many steps only (100: ten
    seconds).
    """
    pair = said(translator, text, to, target)
    explanation, model = pair.explanation, pair.model
    gold, language = explanation.target_ids, explanation.to
    if not is_whole(slip_at, 1, len(gold)):
        raise UsageError(f"slip_at = {slip_at!r}: the target has the positions 1 to {len(gold)}.")
    slip_at, early_steps = int(slip_at), whole_setting("early_steps", early_steps, 0, MOST)
    task = _Task(model, translator.vocabulary, explanation.source_ids, gold, language)
    wrong = _slip(task, slip_at, slip)
    name, right = task.token(wrong), task.token(gold[slip_at - 1])
    comparisons = [
        _compared("The model as it is", task),
        _compared(f"The same model, {name} fed back for {right}", task, {slip_at - 1: wrong}),
    ]
    if early_steps:
        comparisons.append(_early(text, language, explanation.translation.text, early_steps))
    return Feedback(text, explanation.translation.text, comparisons, (slip_at, name, right))


@dataclass(frozen=True)
class _Task:
    """A model, a source that it reads, and what it ought to say; ids with the end token."""

    model: Transformer
    vocabulary: Vocabulary
    source: Sequence[int]
    gold: Sequence[int]
    to: str | None

    def token(self, word: int) -> str:
        """A target id as people read it."""
        return self.vocabulary.target_tokens([word])[0]


def _compared(title: str, task: _Task, slips: Mapping[int, int] | None = None) -> BothWays:
    """Both ways; `slips` are words that go in at some places whatever the model says."""
    forced, _ = _read(task, dict(enumerate(task.gold)))
    own, words = _read(task, slips or {})
    expected = task.vocabulary.target_tokens(list(task.gold))
    positions = [
        FedPosition(*each) for each in zip(expected, forced, [*own, *[None] * len(expected)], strict=False)
    ]
    return BothWays(title, positions, task.vocabulary.decode_target(words, task.to))


def _read(task: _Task, given: Mapping[int, int]) -> tuple[list[Fed], list[int]]:
    """Step by step: what goes in next is what is given at this place, or else what the model finds most
    probable. The positions up to the end of the right target, and all the words."""
    model = task.model
    source = torch.tensor([list(task.source)], device=device_of(model))
    past, words, rows = GrowingPast(), [model.config.start_id], []
    never = forbidden_ids(model, task.vocabulary)
    with quietly(model):
        memory = model.remember(model.encode(source, None), None)
        while len(words) <= len(task.gold) + BEYOND and (words[-1] != model.config.end_id):
            place = len(words) - 1
            log_p = model.decode(source.new_tensor([words[-1:]]), memory, past)[0, -1].log_softmax(-1)
            allowed = log_p.clone()
            allowed[never] = -torch.inf
            predicted = int(allowed.argmax())
            if place < len(task.gold):
                expected = float(log_p[task.gold[place]])
                read, says = task.vocabulary.target_tokens([words[-1], predicted])
                rows.append(Fed(read, says, math.exp(expected), -expected))
            words.append(given.get(place, predicted))
    return rows, words[1:]


def _slip(task: _Task, place: int, word: str | None) -> int:
    """The id of the wrong word: the one given, or the most probable one that is not right."""
    right = task.gold[place - 1]
    if word is not None:
        ids = task.vocabulary.encode_target(word, task.to)[:-1]
        if len(ids) != 1 or ids[0] in (right, task.vocabulary.unknown_id):
            raise UsageError(
                f"slip = {word!r} must be one token that the vocabulary knows, and not the right one, "
                f"{task.token(right)!r}."
            )
        return ids[0]
    model = task.model
    source, before = as_read(model, task.source, task.gold[:place])
    with quietly(model):
        logits = model(source, None, before)[0, -1]
    logits[[*forbidden_ids(model, task.vocabulary), model.config.end_id, right]] = -torch.inf
    return int(logits.argmax())


def _early(text: str, to: str | None, target: str, steps: int) -> BothWays:
    """A model that has begun to learn the demo's corpus, over the same sentence."""
    short = {"training.batch_tokens": 2048, "training.warmup_steps": 200}
    lessons = phrasebook_material(short)
    with torch.random.fork_rng([]):
        torch.manual_seed(lessons.config.training.seed)
        learner = Learner(Transformer(lessons.config.model), lessons.config.training)
        for _ in learning(learner, lessons, steps):
            pass
    vocabulary = lessons.vocabulary
    source = read_source(text, to, vocabulary, TOKENS)
    gold = vocabulary.encode_target(target, source.to)
    task = _Task(learner.model.eval(), vocabulary, source.ids, gold, source.to)
    return _compared(f"A model after {steps:,} steps of training", task)


def _table(comparison: BothWays, width: int) -> list[str]:
    """Right words read on the left, own words read on the right."""
    rows = []
    for number, each in enumerate(comparison.positions, start=1):
        own = _cells(each.own, each.expected) if each.own else ["–"] * 4
        rows.append([str(number), each.expected, *_cells(each.forced, each.expected), *own])
    header = ["", "expected", *["reads", "says", "p", "loss"], *["own", "says", "p", "loss"]]
    return columns(header, rows, width, left=2, longest=max(6, (width - 48) // 4))


def _cells(fed: Fed, expected: str) -> list[str]:
    wrong = "" if fed.predicted == expected else " ✗"
    return [fed.input, f"{fed.predicted}{wrong}", f"{fed.probability:.4f}", f"{fed.loss:.4f}"]
