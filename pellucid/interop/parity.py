"""Whether a model that was converted is still the same function: sentences, log-probabilities, tokens."""

import os
import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import Loaded
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.base import BaseTranslator

SENTENCES, PIECES = 8, (3, 12)  # how many, and of how many random pieces
NEAR = 1e-4  # of log-probabilities in float32


@dataclass(frozen=True)
class Parity:
    """What a comparison measured."""

    with_what: str
    sentences: int
    tokens: int
    same_ids: int  # sentences that both tokenizers cut alike
    difference: float  # the largest of two log-probabilities
    same_first: int  # tokens that both models hold most likely

    @property
    def same(self) -> bool:
        """Whether the two are the same function, as far as these sentences tell."""
        return self.same_ids == self.sentences and self.difference <= NEAR

    def __str__(self) -> str:
        verdict = "the same function" if self.same else "NOT the same function"
        return (
            f"Compared with {self.with_what}: {verdict}. On {self.sentences} sentences of random pieces, "
            f"{self.same_ids} are cut into the same ids; of {self.tokens} target tokens the "
            f"log-probabilities over the whole vocabulary differ by at most {self.difference:.1e}, "
            f"and {self.same_first} times the likeliest token is the same."
        )


def against_transformers(folder: Path, loaded: Loaded) -> Parity | None:
    """Compare with what transformers computes from a folder; warn, and return None, where it is missing."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar
    except ImportError:
        warnings.warn(
            "transformers is not installed, so the model was not compared with the original. "
            'Install it with pip install "pellucid[interop]", or choose --no-check.',
            stacklevel=3,
        )
        return None
    disable_progress_bar()
    their_model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    translator = BaseTranslator(loaded.model, loaded.vocabulary, loaded.config)
    texts = sample_texts(loaded.vocabulary)
    to = next(iter(loaded.vocabulary.target_languages), None)
    sources = [loaded.vocabulary.encode_source(text, to) for text in texts]
    tag = f">>{to}<< " if len(loaded.vocabulary.target_languages) > 1 else ""
    theirs = [tokenizer(tag + text).input_ids for text in texts]
    same_ids = sum(ours == their for ours, their in zip(sources, theirs, strict=True))
    targets = [each.hypotheses[0].token_ids for each in translator.translate_ids(sources, to, beam=1)]
    parity = _compare(their_model, loaded, sources, targets, same_ids)
    if not parity.same:
        raise PellucidError(f"{folder}: the converted model is not the original. {parity} Report it, please.")
    return parity


def sample_texts(vocabulary: Vocabulary) -> list[str]:
    """Return texts that the source side can cut, whatever its language: random pieces, the same each time."""
    numbers, model = random.Random(1), vocabulary.source
    spoken = [
        token
        for token in range(model.get_piece_size())
        if not any(
            test(token) for test in (model.is_control, model.is_unknown, model.is_byte, model.is_unused)
        )
        and not model.id_to_piece(token).startswith(("<", ">>"))
    ]
    drawn = [numbers.choices(spoken, k=numbers.randint(*PIECES)) for _ in range(SENTENCES)]
    return [model.decode(ids) for ids in drawn]


@torch.no_grad()
def _compare(
    theirs: Any,
    loaded: Loaded,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    same_ids: int,
) -> Parity:
    difference, same_first, tokens = 0.0, 0, 0
    for source_ids, target_ids in zip(sources, targets, strict=True):
        source = torch.tensor([source_ids])
        shifted = torch.tensor([[loaded.model.config.start_id, *target_ids[:-1]]])
        ours = loaded.model(source, None, shifted).log_softmax(-1)
        their = theirs(input_ids=source, decoder_input_ids=shifted).logits.float().log_softmax(-1)
        difference = max(difference, float((ours - their).abs().max()))
        same_first += int((ours.argmax(-1) == their.argmax(-1)).sum())
        tokens += len(target_ids)
    import transformers

    version = f"transformers {transformers.__version__}"
    return Parity(version, len(sources), tokens, same_ids, difference, same_first)
