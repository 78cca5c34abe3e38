"""Compare two models on sample sentences: do they compute the same function and, if not, which tensor differs
first?"""

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pellucid.config.settings import differences
from pellucid.errors import PellucidError
from pellucid.folder.fingerprint import SENTENCES, sample_texts
from pellucid.folder.load import Loaded
from pellucid.interop.foreign import CONFIG
from pellucid.interop.pieces import tokens_of
from pellucid.seeing.trace import Trace, trace
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.text_translator import TextTranslator

LONGEST = 40  # tokens of a sample's translation
NEAR = 1e-4  # of log-probabilities in float32
SHAPE = ("vocabulary", "target_size", "width", "heads", "hidden", "encoder_layers", "decoder_layers", "norm")
NAMED = ("activation", "scale_embeddings", "pad_id", "start_id", "end_id")
# Source ids and target ids from the start token on -> all logits, or log-probabilities of the next tokens.
Theirs = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Parity:
    """The result of comparing a model with another program's version of it."""

    with_what: str
    sentences: int
    tokens: int
    difference: float  # the largest of two log-probabilities
    near: float = NEAR
    same_ids: int | None = None  # sentences that both tokenizers cut alike; None: there is one tokenizer
    same_first: int | None = None  # tokens that both models hold most likely

    @property
    def same(self) -> bool:
        """Return whether the two models compute the same function on the sample sentences, up to rounding."""
        return self.same_ids in (None, self.sentences) and self.difference <= self.near

    def __str__(self) -> str:
        rounded = " but for the rounding" if self.near > NEAR else ""
        verdict = f"the same function{rounded}" if self.same else "NOT the same function"
        best = f" The most likely token is the same {self.same_first} times." if self.same_first else ""
        cut = "" if self.same_ids is None else f" {self.same_ids} of the sentences get the same ids."
        return (
            f"Compared with {self.with_what}: {verdict}. On {self.sentences} sentences of random pieces and "
            f"their translations, {self.tokens} tokens, log-probabilities differ by at most "
            f"{self.difference:.1e}.{best}{cut}"
        )

    def verdict(self, names: tuple[str, str]) -> str:
        """Say whether two models of these names compute the same function."""
        verdict = "the same function" if self.same else "different functions"
        return (
            f"{names[0]} and {names[1]} are {verdict}: log-probabilities of {self.sentences} sentences "
            f"differ by at most {self.difference:.1e}."
        )

    def check(self, folder: Path) -> None:
        """Raise an error unless the two models compute the same function."""
        if not self.same:
            raise PellucidError(
                f"{folder}: the two models do not compute the same. {self} Please report this."
            )


def against_transformers(
    folder: Path, loaded: Loaded, corrected: Mapping[str, Any] | None = None
) -> Parity | None:
    """Compare a model with what transformers computes from `folder`. If transformers is not installed, or
    does not read such a folder, warn and return None.

    corrected: settings that count in place of those in config.json.
    """
    if not (folder / CONFIG).exists():
        warnings.warn("transformers reads no such model, so it was not compared.", stacklevel=3)
        return None
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        import transformers
        from transformers.utils.logging import disable_progress_bar
    except ImportError:
        warnings.warn(
            "transformers is not installed, so the model was not compared with the original. "
            'Install it with pip install "pellucid[interop]", or choose --no-check.',
            stacklevel=3,
        )
        return None
    disable_progress_bar()
    auto: Any = transformers.AutoModelForSeq2SeqLM
    model = auto.from_pretrained(folder, dtype=torch.float32, **(corrected or {})).eval()
    _make_positions_exact(model)
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    vocabulary, to = loaded.vocabulary, _language(loaded.vocabulary)
    tag = f">>{to}<< " if len(vocabulary.target_languages) > 1 else ""
    if hasattr(tokenizer, "src_lang"):  # which says the languages in its own way
        tokenizer.src_lang, tag = vocabulary.source_language(to), ""
    texts = sample_texts(vocabulary)
    cut = sum(tokenizer(tag + text).input_ids == vocabulary.encode_source(text, to) for text in texts)

    def logits(source: Tensor, target: Tensor) -> Tensor:
        said: Tensor = model(input_ids=source, decoder_input_ids=target).logits
        return said

    return replace(compare(logits, loaded, f"transformers {transformers.__version__}"), same_ids=cut)


@torch.no_grad()
def _make_positions_exact(model: Any) -> None:
    """Compute MarianMT's positions again: a file of 16 bits stores rounded ones, which ours are not."""
    for stack in (model.model.encoder, model.model.decoder):
        if exact := getattr(stack.embed_positions, "create_weight", None):
            stack.embed_positions.weight.copy_(exact())


@torch.no_grad()
def compare(theirs: Theirs, loaded: Loaded, name: str, near: float = NEAR) -> Parity:
    """Compare a model's log-probabilities for the sample sentences with those of another program."""
    difference, tokens, same_first = 0.0, 0, 0
    for source, shifted, target in samples(loaded):
        ours, said = loaded.model(source, None, shifted).log_softmax(-1), theirs(source, shifted).float()
        if said.dim() == 2:
            ours = ours.gather(-1, target[..., None])[..., 0]
        else:
            said = said.log_softmax(-1)
            same_first += int((ours.argmax(-1) == said.argmax(-1)).sum())
        difference = max(difference, largest_difference(ours, said))
        tokens += shifted.shape[1]
    return Parity(name, SENTENCES, tokens, difference, near, same_first=same_first)


def compare_models(one: Loaded, other: Loaded, names: tuple[str, str]) -> str:
    """Say whether two models compute the same function, up to rounding; if not, which settings and which
    traced tensor differ first."""
    apart = f"{names[0]} and {names[1]} are different functions"
    if unequal := differences(one.config.model, other.config.model, SHAPE):
        return f"{apart}: their shapes differ, {unequal}."
    tokens = [[tokens_of(each.vocabulary.source), tokens_of(each.vocabulary.target)] for each in (one, other)]
    if tokens[0] != tokens[1]:
        return f"{apart}: they have other tokens."
    parity = compare(lambda source, target: other.model(source, None, target), one, names[1])
    lines = [parity.verdict(names)]
    if not parity.same:
        settings = differences(one.config.model, other.config.model, NAMED)
        lines += [settings and f"Settings that differ: {settings}.", _first_difference(one, other)]
    return "\n".join(filter(None, lines))


def _first_difference(one: Loaded, other: Loaded) -> str:
    """Say which traced tensor differs first; "" if none does."""
    for source, shifted, _ in samples(one):
        ours, theirs = (_watch(each, source, shifted) for each in (one, other))
        for name in filter(theirs.__contains__, ours):  # one alone may have a bias
            apart = largest_difference(ours[name].tensor, theirs[name].tensor)
            if apart > NEAR:
                return f"They first differ in {name}, by {apart:.1e}."
    return ""


@torch.no_grad()
def _watch(loaded: Loaded, source: Tensor, target: Tensor) -> Trace:
    with trace(loaded.model) as seen:
        loaded.model(source, None, target)
    return seen


def largest_difference(ours: Tensor, theirs: Tensor) -> float:
    """Return the largest difference of two numbers; a NaN is infinitely far from all others."""
    apart = (ours - theirs).abs().masked_fill(ours == theirs, 0.0)  # infinities (a mask) too
    return float(apart.nan_to_num(nan=math.inf).max())


def samples(loaded: Loaded) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield the ids of each sample sentence, and those of the model's translation: behind the start token,
    and with the end token."""
    to, end = _language(loaded.vocabulary), loaded.vocabulary.end_id
    sources = [loaded.vocabulary.encode_source(text, to) for text in sample_texts(loaded.vocabulary)]
    translator = TextTranslator(loaded.model, loaded.vocabulary, loaded.config)
    said = translator.translate_ids(sources, to, beam=1, max_length=LONGEST)
    for source, translation in zip(sources, said, strict=True):
        ids = translation.hypotheses[0].token_ids
        target = ids if ids[-1:] == [end] else [*ids, end]
        shifted = [loaded.model.config.start_id, *target[:-1]]
        yield torch.tensor([source]), torch.tensor([shifted]), torch.tensor([target])


def _language(vocabulary: Vocabulary) -> str | None:
    return next(iter(vocabulary.target_languages), None)
