"""the right words fed in (teacher forcing) beside one's own words fed back: where an error goes.

With teacher forcing an error stays where it is: the next input is right again. When the model reads its own
words, as it must when it translates, an error goes into everything after it, and what becomes of that is
measured here: a good model may recover, for the source still says what is meant.
"""

from itertools import zip_longest

import torch

from pellucid.errors import UsageError
from pellucid.experiments.result import Bars, Cell, Result, Table
from pellucid.experiments.training import demo_corpus, trained
from pellucid.explanation import Explanation, explain
from pellucid.model import Transformer
from pellucid.reading.passes import watched_pass
from pellucid.reading.steps import Step, steps_of
from pellucid.translate.base import never_said
from pellucid.translator import Translator

HEADER = ("", "expected", "reads", "says", "p", "loss", "own", "says", "p", "loss")
BEYOND = 20  # words that a model may say after the right end


def experiment(
    explanation: Explanation, *, slip_at: int = 1, slip: str | None = None, early_steps: int = 0
) -> Result:
    """Feed the model its own words, and then its own words but for one wrong word.

    slip_at: the position, counted from 1, where a wrong word goes in: `slip`, or the wrong word that the model
    holds the most probable. early_steps: also show a model that has learned the demo's corpus for so many
    steps only (100: ten seconds).
    """
    gold = explanation.target_ids
    if slip_at > len(gold):
        raise UsageError(f"slip_at = {slip_at!r}: the target has the positions 1 to {len(gold)}.")
    wrong = _slip(explanation, slip_at, slip)
    word, right = explanation.vocabulary.target_tokens([wrong, gold[slip_at - 1]])
    plain = _own_words(explanation, [])
    slipped = _own_words(explanation, [*plain[: slip_at - 1], wrong])
    compared = {
        "The model as it is": (explanation, plain),
        f"The same model, {word} fed back for {right}": (explanation, slipped),
    }
    if early_steps:
        early = _early(explanation, early_steps)
        compared[f"A model after {early_steps:,} steps of training"] = (early, _own_words(early, []))
    steps = _steps(explanation, slipped)
    later = [step.expected for step in explanation.steps[slip_at:]]
    lost = len(later) - sum(step.predicted == step.expected for step in steps[slip_at:])
    made = f"makes {lost} of the {len(later)} later words wrong"
    if not later:
        made = "changes nothing, for there is no later word"
    own, forced = (sum(step.loss for step in each) for each in (steps, explanation.steps[: len(steps)]))
    return Result(
        title=explanation.title,
        conclusion=f"One wrong word fed back ({word} for {right}) {made}; the loss of the {len(steps)} "
        f"position{'s' if len(steps) != 1 else ''} reached is {own:.4f}, and {forced:.4f} where the right words "
        "are read.",
        tables=[_table(title, *each) for title, each in compared.items()],
        picture=[_bars(title, *each) for title, each in compared.items()],
        note="On the left the right words are read, on the right the model's own; ✗: not the expected word.",
    )


def _slip(explanation: Explanation, place: int, word: str | None) -> int:
    """The id of the wrong word: `word`, or the most probable one that is not right."""
    vocabulary, right = explanation.vocabulary, explanation.target_ids[place - 1]
    if word is None:
        logits = explanation.trace["decoder.logits"].tensor[0, place - 1].clone()
        logits[[*never_said(explanation.translator.model, vocabulary), vocabulary.end_id, right]] = -torch.inf
        return int(logits.argmax())
    ids = vocabulary.encode_target(word, explanation.to)[:-1]
    if len(ids) != 1 or ids[0] in (right, vocabulary.unknown_id):
        raise UsageError(
            f"slip = {word!r} must be one token that the vocabulary knows, and not the right one, "
            f"{vocabulary.target_tokens([right])[0]!r}."
        )
    return ids[0]


def _own_words(explanation: Explanation, begun: list[int]) -> list[int]:
    """The ids that the model says, one after the other, when it has begun so."""
    longest = max(len(explanation.target_ids) + BEYOND, len(begun) + 1)
    found = explanation.translator.translate(
        explanation.translation.source, explanation.to, beam=1, prefix=begun, max_length=longest
    )
    return found.hypotheses[0].token_ids


def _steps(explanation: Explanation, own: list[int]) -> list[Step]:
    """What the model makes of each position of the right target when it reads its own words."""
    count = min(len(own), len(explanation.target_ids))
    translator = explanation.translator
    seen = watched_pass(translator.model, translator.vocabulary, explanation.source_ids, own[:count])
    return steps_of(seen, translator.vocabulary, explanation.target_ids[:count])


def _table(title: str, explanation: Explanation, own: list[int]) -> Table:
    rows: list[list[Cell]] = [
        [str(number), forced.expected, *_cells(forced), *(_cells(step) if step else ["–"] * 4)]
        for number, (forced, step) in enumerate(
            zip_longest(explanation.steps, _steps(explanation, own)), start=1
        )
    ]
    said = explanation.vocabulary.decode_target(own, explanation.to)
    return Table(f"{title}. Its own words: {said}", HEADER, rows, form=".4f", left=2)


def _cells(step: Step) -> list[Cell]:
    wrong = "" if step.predicted == step.expected else " ✗"
    return [step.input, f"{step.predicted}{wrong}", step.probability, step.loss]


def _bars(title: str, explanation: Explanation, own: list[int]) -> Bars:
    losses = {"right words read": explanation.steps, "own words read": _steps(explanation, own)}
    names = [step.expected for step in explanation.steps]
    return Bars(
        f"{title}: loss", names, {label: [step.loss for step in steps] for label, steps in losses.items()}
    )


def _early(explanation: Explanation, steps: int) -> Explanation:
    """The same sentence and target in a model that has begun to learn the demo's corpus."""
    corpus = demo_corpus({"training.batch_tokens": 2048, "training.warmup_steps": 200})
    learner, _ = trained(Transformer, corpus, steps)
    early = Translator(learner.model.eval(), corpus.vocabulary, corpus.config)
    return explain(early, explanation.translation.source, explanation.to, explanation.translation.text)
