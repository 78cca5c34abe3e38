"""Make a SentencePiece model of tokenizer.json, the only file in which transformers 5 saves NLLB's pieces."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from sentencepiece import SentencePieceProcessor

from pellucid.interop.foreign import Foreign
from pellucid.text.model_file import NORMALIZER, TRAINER, field, piece_field
from pellucid.text.vocabulary import parse

FILE = "tokenizer.json"
UNKNOWN, CONTROL = "<unk>", ("<s>", "<pad>", "</s>")
BPE = 2  # its number in SentencePiece's file format
SPACES = {"String": " {2,}"}, {"Regex": " {2,}"}  # SentencePiece itself takes several for one


def read_tokenizer_json(foreign: Foreign) -> tuple[SentencePieceProcessor, dict[str, int]]:
    """Return a SentencePiece model with the pieces of tokenizer.json, and their ids. Raise an error if it did
    not come from one."""
    content = foreign.json(FILE)
    try:
        _check_steps(content["pre_tokenizer"], "pretokenizers", ("Metaspace", "WhitespaceSplit"))
        charsmap = _check_steps(content["normalizer"], "normalizers", ("Precompiled", "Replace", "Strip"))
        pieces = {str(piece): int(number) for piece, number in content["model"]["vocab"].items()}
        scores = _scores(pieces, content["model"]["merges"])
        return parse(_proto(scores, base64.b64decode(charsmap)), FILE), pieces
    except (KeyError, TypeError, ValueError, AttributeError):
        raise foreign.fault(
            f"{FILE}: its model, normalizer or pre_tokenizer does not come from a SentencePiece model. "
            "Add sentencepiece.bpe.model, as the original model has it."
        ) from None


def _check_steps(step: Mapping[str, Any] | None, parts: str, known: tuple[str, ...]) -> str:
    """Return the normaliser's table of characters, in base64. Raise an error for a step that SentencePiece
    does not have."""
    charsmap = ""
    for each in [] if step is None else step.get(parts, [step]):
        if each["type"] not in known or each.get("pattern", SPACES[0]) not in SPACES:
            raise ValueError
        charsmap += each.get("precompiled_charsmap", "")
    return charsmap


def _scores(pieces: Mapping[str, int], pairs: Iterable[Any]) -> dict[str, float]:
    """Return the score of each piece: how early it is merged. Raise an error unless each pair of pieces that
    is a piece together is merged, as SentencePiece does."""
    merges = [tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in pairs]
    ranks: dict[str, int] = {}
    for place, (left, right) in enumerate(merges):
        ranks.setdefault(left + right, place)
    listed = {*merges}
    for piece in pieces.keys() - {UNKNOWN, *CONTROL}:
        halves = ((piece[:end], piece[end:]) for end in range(1, len(piece)))
        if any(a in pieces and b in pieces and (a, b) not in listed for a, b in halves):
            raise ValueError
    return {piece: -float(ranks.get(piece, len(merges))) for piece in sorted(pieces, key=pieces.__getitem__)}


def _proto(scores: Mapping[str, float], charsmap: bytes) -> bytes:
    """Return the bytes of a SentencePiece model, which are a protocol buffer."""
    types = dict.fromkeys(CONTROL, 3) | {UNKNOWN: 2}
    pieces = (piece_field(piece, score, types.get(piece, 1)) for piece, score in scores.items())
    return b"".join(pieces) + field(TRAINER, field(3, BPE)) + field(NORMALIZER, field(2, charsmap))
