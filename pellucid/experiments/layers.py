"""Layers that refine: what the model would say after each decoder layer, if that were the last one.

The paper stacks "N = 6 identical layers" (Vaswani et al. 2017, section 3.1) and does not say what each adds.
To read a middle layer with the final projection is the logit lens (nostalgebraist 2020): the projection was
trained for the last layer alone, so a wrong word early on does not show that nothing is known there.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pellucid.experiments.said import Said, said
from pellucid.reading.passes import quietly
from pellucid.reading.steps import most_probable
from pellucid.reading.words import visible
from pellucid.show.columns import columns, digits, stacked
from pellucid.show.drawing import drawing, shade

if TYPE_CHECKING:
    from pellucid.translator import Translator

ABOUT = "layers refine: the word that the model would say after each decoder layer (logit lens)"
NEEDS = "sentence"


@dataclass(frozen=True)
class Guess:
    """What stands at one position after one layer."""

    word: str  # the most probable
    probability: float  # of that word
    expected: float  # the probability of the expected word
    rank: int  # of the expected word: 1 is the most probable


@dataclass(frozen=True)
class Layer:
    """All positions after one layer, or before the first."""

    name: str  # "embedded", "layer 0", …
    guesses: list[Guess]

    @property
    def right(self) -> int:
        """The positions at which the expected word is the most probable."""
        return sum(guess.rank == 1 for guess in self.guesses)


@dataclass(frozen=True)
class Layers:
    """What the model would say after each decoder layer."""

    title: str
    expected: list[str]
    layers: list[Layer]
    tied: bool  # whether the projection is the embedding matrix

    @property
    def conclusion(self) -> str:
        """At how many positions the expected word comes first, layer by layer."""
        count = len(self.expected)
        right = ", ".join(f"{layer.right} of {count} after {_after(layer.name)}" for layer in self.layers)
        rights = [layer.right for layer in self.layers]
        refines = sorted(rights) == rights and rights[-1] > rights[0]
        verb = "Layers refine here" if refines else "Layers do not simply refine here"
        return f"{verb}: the expected word is the most probable at {right}."

    def lines(self, width: int) -> list[str]:
        """The conclusion; then for each position the word after each layer and the expected one's
        probability."""
        header = ["expected", *(layer.name for layer in self.layers)]
        words, numbers = [], []
        for place, word in enumerate(self.expected):
            guesses = [layer.guesses[place] for layer in self.layers]
            words.append([word, *(f"{visible(guess.word)} {guess.probability:.2f}" for guess in guesses)])
            numbers.append([word, *(f"{digits(guess.expected)} #{guess.rank}" for guess in guesses)])
        lens = (
            "Each layer's output is read by the final projection, which was trained for the last layer "
            "alone (logit lens): what it makes of earlier ones is a hint, not what they are for."
        )
        if self.tied:
            lens += " It is the embedding matrix, so an embedding is read as the very word that it is of."
        most = "the most probable word after each layer, with its probability"
        return stacked(
            width,
            self.conclusion,
            self.title,
            [most, *columns(header, words, width)],
            ["the expected word's probability and rank", *columns(header, numbers, width)],
            lens,
        )

    def plot(self, path: str | Path) -> None:
        """The expected word's probability after each layer, a cell for each position, with the word said."""
        grid = torch.tensor([[guess.expected for guess in layer.guesses] for layer in self.layers]).numpy()
        said_words = [[visible(guess.word) for guess in layer.guesses] for layer in self.layers]
        expected = [visible(word) for word in self.expected]
        letters = "".join([*expected, *(word for row in said_words for word in row)])
        with drawing(path, "layers", letters) as figure:
            figure.set_size_inches(2.5 + 1.1 * len(expected), 1.6 + 0.45 * len(self.layers))
            axes = figure.subplots()
            names = [layer.name for layer in self.layers]
            image = shade(axes, grid, 1.0, rows=names, columns=expected, written=said_words)
            axes.invert_yaxis()  # the first layer at the bottom, as in the paper's figure
            axes.set_xlabel("expected", fontsize=8)
            bar = figure.colorbar(image, ax=axes)
            bar.set_label("probability of the expected word", fontsize=8)


def experiment(
    translator: "Translator", text: str, to: str | None = None, *, target: str | None = None
) -> Layers:
    """Read what leaves each decoder layer, and the embedding, as if it were the last one."""
    pair = said(translator, text, to, target)
    streams = {"embedded": "decoder.embedded"} | {
        f"layer {number}": f"decoder.layers.{number}.residual_3.output"
        for number in range(pair.model.config.decoder_layers)
    }
    layers = [Layer(name, _guesses(pair, pair.trace[tensor].tensor)) for name, tensor in streams.items()]
    return Layers(pair.title, pair.expected_tokens, layers, pair.model.config.tied)


def _guesses(pair: Said, stream_BLD: Tensor) -> list[Guess]:
    decoder = pair.model.decoder
    with quietly(pair.model):
        stream = stream_BLD.to(pair.source.device)
        output = decoder.norm(stream) if decoder.norm else stream  # as at the end
        probabilities = pair.model.logits(output)[0].softmax(-1).cpu()
    vocabulary = pair.explanation.vocabulary
    guesses = []
    for row, expected in zip(probabilities, pair.explanation.target_ids, strict=True):
        ((word, probability),) = most_probable(row, vocabulary, 1)
        rank = 1 + int((row > row[expected]).sum())
        guesses.append(Guess(word, probability, float(row[expected]), rank))
    return guesses


def _after(name: str) -> str:
    return "the embedding" if name == "embedded" else name
