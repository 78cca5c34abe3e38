"""Compare two models: do they compute the same function and, if not, which tensor differs first?"""

from pathlib import Path

import torch
from torch import Tensor

from pellucid.config.settings import differences
from pellucid.errors import PellucidError
from pellucid.folder.load import Loaded
from pellucid.interop.ctranslate2_export import against_ctranslate2
from pellucid.interop.parity import NEAR, Parity, compare, largest_difference, samples
from pellucid.interop.pieces import tokens_of
from pellucid.seeing.trace import trace

SHAPE = ("vocabulary", "target_size", "width", "heads", "hidden", "encoder_layers", "decoder_layers", "norm")
NAMED = ("activation", "scale_embeddings", "pad_id", "start_id", "end_id")


def compare_models(one: Loaded, other: Loaded, names: tuple[str, str]) -> str:
    """Say whether two models compute the same function on sample sentences and the first model's translations
    of them, up to rounding; if not, which settings and which traced tensor differ first."""
    apart = f"{names[0]} and {names[1]} are different functions"
    if unequal := differences(one.config.model, other.config.model, SHAPE):
        return f"{apart}: their shapes differ, {unequal}."
    tokens = [[tokens_of(each.vocabulary.source), tokens_of(each.vocabulary.target)] for each in (one, other)]
    if tokens[0] != tokens[1]:
        return f"{apart}: they have other tokens."
    parity = compare(lambda source, target: other.model(source, None, target), one, names[1])
    lines = [_verdict(names, parity)]
    if not parity.same:
        settings = differences(one.config.model, other.config.model, NAMED)
        lines += [settings and f"Settings that differ: {settings}.", _first_difference(one, other)]
    return "\n".join(filter(None, lines))


def compare_with_ctranslate2(one: Loaded, folder: Path, names: tuple[str, str]) -> str:
    """Compare a model with a CTranslate2 model by token log-probabilities, because CTranslate2 gives no
    access to its tensors."""
    try:
        return _verdict(names, against_ctranslate2(folder, one))
    except (RuntimeError, ValueError) as error:
        raise PellucidError(f"{folder}: CTranslate2 cannot score our tokens with it: {error}.") from None


def _verdict(names: tuple[str, str], parity: Parity) -> str:
    verdict = "the same function" if parity.same else "different functions"
    return (
        f"{names[0]} and {names[1]} are {verdict}: log-probabilities of {parity.sentences} sentences differ "
        f"by at most {parity.difference:.1e}."
    )


def _first_difference(one: Loaded, other: Loaded) -> str:
    """Say which traced tensor differs first; "" if none does."""
    for source, shifted, _ in samples(one):
        ours, theirs = (_watch(each, source, shifted) for each in (one, other))
        for name, tensor in ours.items():
            apart = largest_difference(tensor, theirs.get(name, tensor))  # one alone may have a bias
            if apart > NEAR:
                return f"They first differ in {name}, by {apart:.1e}."
    return ""


@torch.no_grad()
def _watch(loaded: Loaded, source: Tensor, target: Tensor) -> dict[str, Tensor]:
    with trace(loaded.model) as seen:
        loaded.model(source, None, target)
    return {name: record.tensor for name, record in seen.items()}
