"""Compare one word in two sentences: how much its vectors differ after each layer, and what made them differ.

**Position and context.** v(S, p) is the word's vector (the mean, if the word has several tokens) when the
encoder reads sentence S and this word alone gets the positional encodings of positions p. The word is at
position p in the first sentence A and at q in the second sentence B:

    position effect = ½ [v(A, q) − v(A, p) + v(B, q) − v(B, p)]
    context effect  = ½ [v(B, p) − v(A, p) + v(B, q) − v(A, q)]

Their sum is exactly the change v(B, q) − v(A, p). A share of the change is a projection on it: the two shares
sum to 1, and one may be negative.

**The words that changed it.** For given weights, attention is linear in the values: its output at the word is
the sum over heads h and words m of weights(h, m) · values(h, m) · W_O(h), plus a bias. So its change is
exactly the sum of what each word contributes in B minus what it contributes in A.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, cosine_similarity

from pellucid.folder.load import device_of
from pellucid.model import Transformer, position_table
from pellucid.probes.occurrence import Occurrence, find
from pellucid.reading.looking import align
from pellucid.reading.passes import in_float32, quietly
from pellucid.reading.reading import Reading, read
from pellucid.seeing.edits import rewrite
from pellucid.seeing.records import attentions
from pellucid.seeing.trace import Trace, trace
from pellucid.seeing.viewed import Viewed
from pellucid.translate.text_translator import TextTranslator


@dataclass(frozen=True)
class Stage:
    """The word's vectors in both sentences, compared at one point of the encoder."""

    name: str  # of the tensor
    title: str  # the step that the tensor comes after
    cosine: float  # between the word in the first sentence and in the second
    position: float  # the same sentence, both places: mean of both sentences
    context: float  # both sentences, the same place: mean of both places
    distance: float  # the length of the change
    position_share: float  # of the change; the two shares sum to 1, and are 0 where nothing changes
    context_share: float


@dataclass(frozen=True)
class Mover:
    """A word, and what it contributed to the change of an attention's output at the compared word."""

    word: str
    sentences: str  # which of them contain it: "both", "first" or "second"
    itself: bool  # it is the compared word
    shares: list[float]  # of the change, through each head; those of all movers and heads sum to 1

    @property
    def share(self) -> float:
        """Return the word's share of the change, summed over the heads."""
        return sum(self.shares)


@dataclass(frozen=True)
class LayerChange:
    """How the output of one layer's self-attention at the compared word differs between the two sentences,
    and because of which words."""

    attention: str  # its path
    distance: float  # the length of the change
    movers: list[Mover]  # the largest share first, whatever its sign


@dataclass(frozen=True)
class Rendering:
    """The translation of a sentence, and which of its words translate the compared word."""

    text: str
    words: list[str]  # the target words that are aligned with the word


@dataclass(frozen=True)
class Comparison(Viewed):
    """A word in two sentences: its vectors at each point of the encoder, the words that made them differ, and
    both translations."""

    first: Occurrence
    second: Occurrence
    stages: list[Stage]
    layers: list[LayerChange]  # one for each encoder layer
    renderings: list[Rendering]  # of the first and the second

    @property
    def word(self) -> str:
        """Return the compared word, as it is written in the first of the two sentences."""
        return self.first.word


@dataclass(frozen=True)
class Pass:
    """One recorded pass of the encoder over a sentence, and the positions of the compared word in it."""

    seen: Trace
    occurrence: Occurrence

    def vector(self, name: str) -> Tensor:
        """Return the compared word's vector D in this tensor; if it has several tokens, their mean."""
        return self.seen[name].tensor[0, list(self.occurrence.places)].double().mean(0)


def compare(translator: TextTranslator, word: str, a: str, b: str, to: str | None = None) -> Comparison:
    """Compare a word in two sentences. Each must contain it once, otherwise raise an error."""
    first = find(word, a, to, translator.vocabulary, "first")
    second = find(word, b, to, translator.vocabulary, "second")
    model = in_float32(translator.model)
    here, there = first.places[0], second.places[0]
    each_way = ((first, here), (first, there), (second, there), (second, here))
    passes = [_encode(model, *way) for way in each_way]  # of each sentence as it is, and moved
    stages = [_stage(name, title, passes) for name, title in stages_of(model)]
    layers = [layer_change(path, model, passes[0], passes[2]) for path in attentions(passes[0].seen)]
    renderings = [_rendering(read(translator, each.text, to=to), each) for each in (first, second)]
    return Comparison(first, second, stages, layers, renderings)


def stages_of(model: Transformer) -> list[tuple[str, str]]:
    """Return the name and title of each tensor that holds the compared word's vector, in order."""
    stages = [("encoder.token_embeddings", "embedding"), ("encoder.embedded", "position")]
    for number in range(len(model.encoder.layers)):
        stages.append((f"encoder.layers.{number}.residual_2.output", f"layer {number}"))
    return [*stages, ("encoder.output", "last norm")] if model.encoder.norm else stages


def _encode(model: Transformer, occurrence: Occurrence, first: int) -> Pass:
    """Encode a sentence with its compared word moved: the word's tokens get the positional encodings of
    position `first` and the following ones."""
    source, config = torch.tensor([occurrence.ids], device=device_of(model)), model.config
    places = slice(first, first + len(occurrence.places))
    table = position_table(model.encoder, places.stop, torch.zeros(config.width, dtype=torch.float64))
    edits = rewrite("encoder.positions", table[places], at=(occurrence.places,))
    with quietly(model), trace(model, only="encoder.*", edits=edits) as seen:
        model.encode(source, None)
    return Pass(seen, occurrence)


def _stage(name: str, title: str, passes: Sequence[Pass]) -> Stage:
    a, a_elsewhere, b, b_elsewhere = (each.vector(name) for each in passes)
    position = (a_elsewhere - a + b - b_elsewhere) / 2
    context = (b_elsewhere - a + b - a_elsewhere) / 2
    pairs = (a, b), (a, a_elsewhere), (b, b_elsewhere), (a, b_elsewhere), (a_elsewhere, b)
    cosine, *moved = (float(cosine_similarity(*pair, dim=0)) for pair in pairs)
    cosines = cosine, sum(moved[:2]) / 2, sum(moved[2:]) / 2
    shares = _share(position, b - a), _share(context, b - a)
    return Stage(name, title, *cosines, float((b - a).norm()), *shares)


def _share(part: Tensor, change: Tensor) -> float:
    size = float(change @ change)
    return float(part @ change) / size if size else 0.0


def layer_change(path: str, model: Transformer, first: Pass, second: Pass) -> LayerChange:
    """Measure how an attention's output at the compared word changes from the first sentence to the second,
    and what each word contributes."""
    change = second.vector(f"{path}.output") - first.vector(f"{path}.output")
    before, after = (contributions(path, model, each) for each in (first, second))
    nothing = torch.zeros(model.config.heads, len(change), dtype=torch.float64)
    movers = []
    for key in dict.fromkeys((*before, *after)):
        parts_HD = after.get(key, nothing) - before.get(key, nothing)
        where = "both" if key in before and key in after else "first" if key in before else "second"
        movers.append(Mover(key[0], where, key[1] < 0, [_share(part, change) for part in parts_HD]))
    movers.sort(key=lambda mover: -abs(mover.share))
    return LayerChange(path, float(change.norm()), movers)


def contributions(path: str, model: Transformer, read: Pass) -> dict[tuple[str, int], Tensor]:
    """Return what each word contributes, through each head, to the attention's output at the compared word.

    The keys of the dictionary are (text, n) for the nth occurrence of a word; n = -1 marks the compared word.
    The values are H D, summed over the tokens of a word.
    """
    places = list(read.occurrence.places)
    weights_HM = read.seen[f"{path}.weights"].tensor[0, :, places].double().mean(1)
    values_HMU = read.seen[f"{path}.values"].tensor[0].double()
    weight = model.get_parameter(f"{path}.output.weight").detach().cpu().double()
    output_DHU = weight.unflatten(1, (model.config.heads, -1))
    parts_HMD = torch.einsum("hm,hmu,dhu->hmd", weights_HM, values_HMU, output_DHU)
    counts: Counter[str] = Counter()
    parts = {}
    for word in read.occurrence.words:
        itself = set(places) <= set(word.places)
        text = word.text.casefold()
        parts[text, -1 if itself else counts[text]] = parts_HMD[:, list(word.places)].sum(1)
        counts[text] += not itself
    return parts


def _rendering(reading: Reading, occurrence: Occurrence) -> Rendering:
    """Return the translation of a sentence, and the target words whose largest attention weight is on the
    compared word."""
    aligned = align(reading)
    own = [link.target for link in aligned.links if link.source == occurrence.number]
    return Rendering(reading.translation.text, [aligned.target_words[target] for target in own])
