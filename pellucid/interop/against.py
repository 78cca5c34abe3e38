"""Compare two models: do they compute the same function and, if not, which tensor differs first?"""

from dataclasses import dataclass
from pathlib import Path

import torch

from pellucid.config.settings import differences
from pellucid.errors import PellucidError
from pellucid.folder.load import Loaded
from pellucid.interop.ctranslate2_export import against_ctranslate2
from pellucid.interop.parity import NEAR, samples
from pellucid.interop.pieces import tokens_of
from pellucid.seeing.trace import trace

SHAPE = ("vocabulary", "target_size", "width", "heads", "hidden", "encoder_layers", "decoder_layers", "norm")
NAMED = ("activation", "scale_embeddings", "pad_id", "start_id", "end_id")


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison; `first` is the first traced tensor that differs."""

    names: tuple[str, str]
    obstacle: str = ""  # why the two cannot be compared number by number
    sentences: int = 0
    difference: float = 0.0  # the largest of two log-probabilities
    first: str = ""
    first_difference: float = 0.0
    settings: str = ""  # that differ

    @property
    def same(self) -> bool:
        """Return whether the two models compute the same function on the sample sentences, up to rounding."""
        return not self.obstacle and self.difference <= NEAR

    def __str__(self) -> str:
        one, other = self.names
        if self.obstacle:
            return f"{one} and {other} are different functions: {self.obstacle}."
        measured = f"log-probabilities of {self.sentences} sentences differ by at most {self.difference:.1e}"
        if self.same:
            return f"{one} and {other} are the same function: {measured}."
        lines = [f"{one} and {other} are different functions: {measured}."]
        lines += [f"Settings that differ: {self.settings}."] if self.settings else []
        lines += [f"They first differ in {self.first}, by {self.first_difference:.1e}."] if self.first else []
        return "\n".join(lines)


def compare_models(one: Loaded, other: Loaded, names: tuple[str, str]) -> Comparison:
    """Compare all traced tensors of two models, on sample sentences and the first model's translations of
    them."""
    sides = [(each.vocabulary.source, each.vocabulary.target) for each in (one, other)]
    if unequal := differences(one.config.model, other.config.model, SHAPE):
        return Comparison(names, f"their shapes differ, {unequal}")
    if [*map(tokens_of, sides[0])] != [*map(tokens_of, sides[1])]:
        return Comparison(names, "they have other tokens")
    settings = differences(one.config.model, other.config.model, NAMED)
    sources, targets = samples(one)
    largest, first, first_difference = 0.0, "", 0.0
    for source_ids, target_ids in zip(sources, targets, strict=True):
        runs = [_watch(each, source_ids, target_ids) for each in (one, other)]
        for name, tensor in runs[0].items():
            difference = _difference(tensor, runs[1].get(name, tensor))
            if difference > NEAR and not first:
                first, first_difference = name, difference
        largest = max(largest, _difference(runs[0]["log_probabilities"], runs[1]["log_probabilities"]))
    return Comparison(names, "", len(sources), largest, first, first_difference, settings)


def compare_with_ctranslate2(one: Loaded, folder: Path, names: tuple[str, str]) -> Comparison:
    """Compare a model with a CTranslate2 model by token log-probabilities, because CTranslate2 gives no
    access to its tensors."""
    try:
        parity = against_ctranslate2(folder, one)
    except (RuntimeError, ValueError) as error:
        raise PellucidError(f"{folder}: CTranslate2 cannot score our tokens with it: {error}.") from None
    return Comparison(names, "", parity.sentences, parity.difference)


@torch.no_grad()
def _watch(loaded: Loaded, source_ids: list[int], target_ids: list[int]) -> dict[str, torch.Tensor]:
    shifted = torch.tensor([[loaded.model.config.start_id, *target_ids[:-1]]])
    with trace(loaded.model) as seen:
        logits = loaded.model(torch.tensor([source_ids]), None, shifted)
    tensors = {name: record.tensor for name, record in seen.items()}
    return tensors | {"log_probabilities": logits.log_softmax(-1)}


def _difference(one: torch.Tensor, other: torch.Tensor) -> float:
    """Return the largest difference; two infinities at the same place (a mask) count as equal."""
    return float((one - other).nan_to_num(0.0).abs().max())
