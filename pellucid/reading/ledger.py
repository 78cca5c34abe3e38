"""The ledger of one word: its logit as a sum, read in three ways, and what happens when a term is taken out.

With attention weights, norms and gates held at their values (`pellucid.edits.hold`) a Transformer is linear,
so a tensor times its gradient is its share of a logit, and the shares of all that leads to it add up to it:

* by part: each head and feed-forward of the decoder, the word read, its position, biases: what each adds to
  the decoder's stream at this step, through the norms that follow;
* by position: the same, with each head's share split over the positions that it looked at;
* by input: every word that either side read, positions and biases, over all paths through both stacks.

A share is no cause: it says what a term adds while everything else stays as it is. So each part and each word
is also taken out, and the pass computed again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.reading.passes import in_batch, in_float32, try_each, watch
from pellucid.reading.reading import Reading
from pellucid.reading.tensors import made_of
from pellucid.reading.words import advice
from pellucid.seeing.edits import Edits, Place, hold, rewrite, together
from pellucid.seeing.trace import Trace
from pellucid.seeing.viewed import Viewed

INPUTS = [f"{stack}.{name}" for name in ("token_embeddings", "positions") for stack in ("encoder", "decoder")]
LOGITS = "decoder.logits"
EMBEDDED = ("decoder.token_embeddings", "decoder.positions")
Term = tuple[str, float]  # a label, and its share of the logit


@dataclass(frozen=True)
class Ledger(Viewed):
    """The logit of a word at one step, or of one word minus another, as three sums, and by how much it falls
    when a term is taken out (None: it cannot be)."""

    step: int  # from 0
    word: str
    against: str | None
    logit: float
    by_part: list[Term] = field(repr=False)
    by_position: list[Term] = field(repr=False)
    by_input: list[Term] = field(repr=False)
    # Of each term of by_part, when its vector at this step becomes 0, or its mean over the positions:
    zero: list[float | None] = field(repr=False)
    mean: list[float | None] = field(repr=False)
    absent: list[float | None] = field(repr=False)  # of by_input: no other position can look at the word

    @property
    def gap(self) -> float:
        """Return the largest difference between the logit and the sum of a reading."""
        sums = (math.fsum(share for _, share in terms) for terms in self.readings.values())
        return max(abs(each - self.logit) for each in sums)

    @property
    def readings(self) -> dict[str, list[Term]]:
        """Return the three readings by their names."""
        return {name: getattr(self, name) for name in ("by_part", "by_position", "by_input")}

    @property
    def agreement(self) -> dict[str, float]:
        """Return Spearman's rank correlation of the shares and of the falls, for each way to take a term
        out."""
        ways = {"zero": self.by_part, "mean": self.by_part, "absent": self.by_input}
        return {way: rank_correlation(terms, getattr(self, way)) for way, terms in ways.items()}


@dataclass(frozen=True)
class Question:
    """The step and the ids of the word, and of the word to subtract if there is one, of a ledger."""

    reading: Reading
    step: int
    ids: list[int]

    @property
    def pair(self) -> tuple[list[int], list[int]]:
        """Return the ids that both sides read."""
        return self.reading.source_ids, self.reading.target_ids

    def of(self, logits_BLV: Tensor) -> Tensor:
        """Return the logit that the ledger is of, for each row: B."""
        logits = logits_BLV[:, self.step, self.ids]
        return logits[:, 0] - logits[:, 1:].sum(-1)


def take_ledger(
    reading: Reading, model: Transformer, step: int, word: str | None = None, against: str | None = None
) -> Ledger:
    """Return the ledger of a word at a step, from 0; by default of the expected word. against: a word whose
    logit is subtracted."""
    if not -len(reading.steps) <= step < len(reading.steps):
        raise UsageError(f"step = {step}: there are {len(reading.steps)} steps, counted from 0.")
    step %= len(reading.steps)
    ids = [reading.target_ids[step] if word is None else _id_of(word, reading)]
    ids += [] if against is None else [_id_of(against, reading)]
    if len(set(ids)) < len(ids):
        raise UsageError(f"{against!r} less itself is 0. Name another word to subtract, or none.")
    model, asked = in_float32(model), Question(reading, step, ids)
    labels, pieces = _pieces(reading.trace, reading.target_tokens[step])
    by_part, by_position = _direct(asked, model, labels, pieces)
    tokens = [*reading.source_tokens, *reading.target_tokens[: step + 1]]
    zero, mean = (_falls(asked, model, _cuts(asked, pieces, mean)) for mean in (False, True))
    said = reading.vocabulary.target_tokens(ids)
    return Ledger(
        step,
        said[0],
        said[1] if against is not None else None,
        asked.of(reading.trace[LOGITS].tensor).item(),
        by_part,
        by_position,
        _over_all_paths(asked, model, tokens),
        [*zero, None],
        [*mean, None],
        [*_falls(asked, model, _absences(asked)), None, None, None],
    )


def _id_of(word: str, reading: Reading) -> int:
    """Return the id of a token that the user named as it is shown; a word may be named without its ▁."""
    vocabulary = reading.vocabulary
    for piece in (word, f"▁{word}"):
        if (token := vocabulary.target.piece_to_id(piece)) != vocabulary.unknown_id:
            return int(token)
    hint = advice(word, reading.to, "target", vocabulary)
    raise UsageError(f"{word!r} is no token of the target's vocabulary. {hint}")


Piece = tuple[str, int | None]  # a tensor, and a head of it


def _pieces(trace: Trace, read: str) -> tuple[list[str], list[Piece]]:
    """Return the labels and the tensors of what the decoder's stream is made of."""
    labels = [f"the word read, {read}", "its position"]
    pieces: list[Piece] = [(name, None) for name in EMBEDDED]
    for name in trace.matching("decoder.layers.*"):
        part, _, last = name.rpartition(".")
        if last == "context":
            heads = range(trace[name].tensor.shape[1])
            labels += [f"{part} head {head}" for head in heads]
            pieces += [(name, head) for head in heads]
        elif last == "activated":
            labels.append(part)
            pieces.append((name, None))
    return labels, pieces


def _direct(
    asked: Question, model: Transformer, labels: Sequence[str], pieces: Sequence[Piece]
) -> tuple[list[Term], list[Term]]:
    """Return the readings by part and by position. Gradients end at each piece, so that only the stream and
    the norms on it lie between a piece and the logit."""
    names = list(dict.fromkeys(name for name, _ in pieces))
    slopes, biases = _slopes(asked, model, names)
    by_part, by_position, trace = list[Term](), list[Term](), asked.reading.trace
    for label, (name, head) in zip(labels, pieces, strict=True):
        slope, value = (each[..., asked.step, :] for each in (slopes[name], trace[name].tensor.double()))
        slope, value = (each if head is None else each[0, head] for each in (slope, value))
        by_part.append((label, float((slope * value).sum())))
        if head is None:
            by_position.append(by_part[-1])
            continue
        part = name.removesuffix(".context")
        weights, values = trace[f"{part}.weights"], trace[f"{part}.values"].tensor[0, head].double()
        shares = (weights.tensor[0, head, asked.step].double() * (values @ slope)).tolist()
        if ".self_" in part:
            shares = shares[: asked.step + 1]  # later ones are hidden
        by_position += [
            (f"{label} at {word}", share) for word, share in zip(weights.labels("M"), shares, strict=False)
        ]
    return [*by_part, ("biases", biases)], [*by_position, ("biases", biases)]


def _over_all_paths(asked: Question, model: Transformer, tokens: Sequence[str]) -> list[Term]:
    """Return the reading by input, for the tokens of the source, then those of the target up to the step."""
    slopes, biases = _slopes(asked, model, INPUTS)
    trace = asked.reading.trace
    words, both_words, places, both_places = (
        (slopes[name] * trace[name].tensor.double()).sum(-1).flatten() for name in INPUTS
    )
    shares = torch.cat((words, both_words[: asked.step + 1])).tolist()
    sides = ["source"] * len(words) + ["target"] * (asked.step + 1)
    terms = [(f"{side} {word}", share) for side, word, share in zip(sides, tokens, shares, strict=True)]
    positions = [("source positions", float(places.sum())), ("target positions", float(both_places.sum()))]
    return [*terms, *positions, ("biases", biases)]


def _leaf(tensor: Tensor) -> Tensor:
    """Return a tensor with the same values at which gradients end."""
    return tensor.detach().requires_grad_()


def _slopes(asked: Question, model: Transformer, leaves: Sequence[str]) -> tuple[dict[str, Tensor], float]:
    """Return the derivative of the logit by each of these tensors, at which gradients end, in a pass that is
    held; and the sum of what the biases after them add."""
    edits, biased = hold() | dict.fromkeys(leaves, _leaf), {}
    seen = watch(model, in_batch(model, [asked.pair]), edits=edits, gradients=True)
    for name, record in seen.items():
        made = [each for each in made_of(name, model.config)[1] if each.endswith(".bias")]
        if made and record.tensor.requires_grad:
            biased[name] = model.get_parameter(made[0]).detach().double().cpu()
    names = [*leaves, *biased]
    tensors = [seen[name].tensor for name in names]
    found = torch.autograd.grad(
        asked.of(seen[LOGITS].tensor).sum(), tensors, allow_unused=True, materialize_grads=True
    )
    slopes = {name: each.double().cpu() for name, each in zip(names, found, strict=True)}
    for name, bias in biased.items():  # the heads of a tensor BHLU lie side by side in its bias
        slope = slopes[name].transpose(1, 2).flatten(2) if slopes[name].dim() == 4 else slopes[name]
        biased[name] = (slope.flatten(0, 1).sum(0) * bias).sum()
    return {name: slopes[name] for name in leaves}, math.fsum(map(float, biased.values()))


def _cuts(asked: Question, pieces: Sequence[Piece], mean: bool) -> list[Edits]:
    """Return for each piece the edits that make its vector at the step 0, or its mean over the positions."""
    trace, step, every, cuts = asked.reading.trace, asked.step, slice(None), list[Edits]()
    for name, head in pieces:
        tensor = trace[name].tensor
        vectors = tensor.flatten(0, -2) if head is None else tensor[0, head]
        left = vectors.mean(0) if mean else torch.zeros_like(vectors[0])
        if name in EMBEDDED:  # positions are of all rows: so the sum is changed, and keeps the other summand
            name, left = "decoder.embedded", left - vectors[step] + trace["decoder.embedded"].tensor[0, step]
        cuts.append(rewrite(name, left, (every, step) if head is None else (every, head, step)))
    return cuts


def _absences(asked: Question) -> list[Edits]:
    """Return for each word read the edits that make its embedding 0 and hide it from all other positions."""
    sources, every, absences = len(asked.reading.source_tokens), slice(None), list[Edits]()
    lengths = {"encoder": (sources, sources), "decoder": (asked.step + 1, len(asked.reading.steps))}
    for stack, (count, length) in lengths.items():
        for place in range(count):
            others = [*range(place), *range(place + 1, length)]
            masks: dict[str, tuple[Place, ...]] = {
                f"{stack}.layers.*.self_attention.mask": (every, every, others, place)
            }
            if stack == "encoder":
                masks["decoder.layers.*.cross_attention.mask"] = (every, every, every, place)
            hidden = [rewrite(name, -math.inf, cells) for name, cells in masks.items()]
            absences.append(together(rewrite(f"{stack}.token_embeddings", 0.0, (every, place)), *hidden))
    return absences


def _falls(asked: Question, model: Transformer, each: Sequence[Edits]) -> list[float]:
    """Return by how much the logit falls with each of these edits."""
    said = try_each(model, asked.pair, each, LOGITS)
    return (asked.of(asked.reading.trace[LOGITS].tensor) - asked.of(said)).tolist()


def rank_correlation(terms: Sequence[Term], falls: Sequence[float | None]) -> float:
    """Return Spearman's rank correlation of terms with the falls that were measured; NaN for fewer than 3."""
    both = [(share, fall) for (_, share), fall in zip(terms, falls, strict=True) if fall is not None]
    if len(both) < 3:
        return math.nan
    ranks = torch.tensor(both, dtype=torch.float64).T.argsort(-1).argsort(-1).double()
    return float(torch.corrcoef(ranks)[0, 1])
