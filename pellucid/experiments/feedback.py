"""the right words fed in (teacher forcing) beside the model's own words fed back: where an error goes.

With teacher forcing an error stays where it is: the next input is right again. When the model reads its own
words, as it must when it translates, an error goes into everything after it, and what becomes of that is
measured here: a good model may recover, for the source still says what is meant.
"""

from itertools import zip_longest

import torch

from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Table
from pellucid.explanation import Explanation
from pellucid.reading.passes import watched_pass
from pellucid.reading.steps import Step, steps_of
from pellucid.show.panels import Bars
from pellucid.translate.request import forbidden_ids

HEADER = ("", "expected", "reads", "says", "p", "loss", "own", "says", "p", "loss")


def experiment(explanation: Explanation, *, slip_at: int = 1, slip: str | None = None) -> Result:
    """Feed the model its own words, and then its own words but for one wrong word.

    slip_at: the position, counted from 1, where a wrong word goes in: `slip`, or the most probable wrong one.
    """
    gold, vocabulary, forced = explanation.target_ids, explanation.vocabulary, explanation.steps
    if slip_at > len(gold):
        raise UsageError(f"slip_at = {slip_at}: the target has the positions 1 to {len(gold)}.")
    translator, tables, panels = explanation.translator, [], []
    wrong, plain, unslipped = _slip(explanation, slip_at, slip), list[int](), list[Step]()
    word, right = vocabulary.target_tokens([wrong, gold[slip_at - 1]])
    for title in ("The model as it is", f"The same model, {word} fed back for {right}"):
        begun = [*plain[: slip_at - 1], wrong] if plain else []
        own = _own_words(explanation, begun)
        seen = watched_pass(translator.model, vocabulary, explanation.source_ids, own[: len(gold)])
        steps = steps_of(seen, vocabulary, gold[: len(own)])
        plain, unslipped = plain or own, unslipped or steps
        rows = [
            [str(number), expected.expected, *_cells(expected), *(_cells(step) if step else "––––")]
            for number, (expected, step) in enumerate(zip_longest(forced, steps), start=1)
        ]
        said = f"{title}. Its own words: {vocabulary.decode_target(own, explanation.to)}"
        tables.append(Table(said, HEADER, rows, form=".4f", left=2))
        read = {"right words read": forced, "own words read": steps}
        losses = {label: [step.loss for step in each] for label, each in read.items()}
        panels.append(Bars(f"{title}: loss", [step.expected for step in forced], losses))
    later = len(gold) - slip_at
    lost = later - sum(step.predicted == step.expected for step in steps[slip_at:])
    already = later - sum(step.predicted == step.expected for step in unslipped[slip_at:])
    made = f"makes {lost} of the {later} later words wrong, and without it {already} are"
    made = made if later else "changes nothing: no word is later"
    return Result(
        conclusion=f"One wrong word fed back ({word} for {right}) {made}; the loss of the {len(steps)} "
        f"position{'s' if len(steps) != 1 else ''} reached is {sum(step.loss for step in steps):.4f}, and "
        f"{sum(step.loss for step in forced[: len(steps)]):.4f} where the right words are read.",
        tables=tables,
        picture=panels,
        note="On the left the right words are read, on the right the model's own; ✗: not the expected word.",
    )


def _own_words(explanation: Explanation, begun: list[int]) -> list[int]:
    """Return the target ids that greedy decoding finds when the target begins with `begun`."""
    longest = len(begun) + len(explanation.target_ids) + 20
    source, to = explanation.translation.source, explanation.to
    found = explanation.translator.translate(source, to, beam=1, prefix=begun, max_length=longest)
    return found.hypotheses[0].token_ids


def _slip(explanation: Explanation, place: int, word: str | None) -> int:
    """Return the id of the wrong word: `word`, or the most probable one that is not right."""
    vocabulary, right = explanation.vocabulary, explanation.target_ids[place - 1]
    if word is None:
        logits = explanation.trace["decoder.logits"].tensor[0, place - 1].clone()
        never = forbidden_ids(explanation.translator.model, vocabulary)
        logits[[*never, vocabulary.end_id, right]] = -torch.inf
        return int(logits.argmax())
    ids = vocabulary.encode_target(word, explanation.to)[:-1]
    if len(ids) != 1 or ids[0] in (right, vocabulary.unknown_id):
        raise UsageError(
            f"slip = {word!r} must be one token that the vocabulary knows, and not the right one."
        )
    return ids[0]


def _cells(step: Step) -> list[str | float]:
    says = step.predicted if step.predicted == step.expected else f"{step.predicted} ✗"
    return [step.input, says, step.probability, step.loss]
