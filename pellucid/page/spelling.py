"""What the page knows of a vocabulary: enough to cut text as SentencePiece does, or why it cannot."""

from typing import Any

from pellucid.text.renumbered import Pieces
from pellucid.translate.base import BaseTranslator

PREPARATIONS = ("none", "words")
NORMALIZATIONS = ("identity", "nfkc", "nmt_nfkc")
BYTES = 256


def spelling(translator: BaseTranslator, carried: bool) -> dict[str, Any]:
    """{"kind", "preparation", "normalization", "languages", "cannot": "" or why the page cannot cut text,
    "source": {"pieces", "scores" (where the kind needs them), "unspoken": ids that no text spells, "bytes":
    the ids of the byte pieces, or None}, "target": the same, or None where it is the source's}; if it is
    not carried, no pieces."""
    vocabulary, setting = translator.vocabulary, translator.config.vocabulary
    if not carried:
        return {"kind": vocabulary.kind, "languages": vocabulary.languages, "cannot": ""}
    return {
        "kind": vocabulary.kind,
        "preparation": vocabulary.preparation,
        "normalization": setting.normalization,
        "languages": vocabulary.languages,
        "cannot": _obstacle(translator),
        "source": _side(vocabulary.source, vocabulary.kind),
        "target": None if vocabulary.joint else _side(vocabulary.target, vocabulary.kind),
    }


def _obstacle(translator: BaseTranslator) -> str:
    """Where the page would have to guess, it says so instead."""
    setting, preparation = translator.config.vocabulary, translator.vocabulary.preparation
    if preparation not in PREPARATIONS:
        return (
            f'This model reads text that was prepared with "{preparation}", which the page does not do: '
            "it would only guess the tokens."
        )
    if setting.model:
        return (
            "This model's vocabulary was made elsewhere, so the page does not know how it normalises text: "
            "it would only guess the tokens."
        )
    if setting.normalization not in NORMALIZATIONS:
        return (
            f'This model\'s vocabulary folds letters with "{setting.normalization}", which a browser does '
            "otherwise: the page would only guess the tokens."
        )
    return ""


def _side(model: Pieces, kind: str) -> dict[str, Any]:
    ids = range(model.get_piece_size())
    unspoken = (model.is_control, model.is_unknown, model.is_byte, model.is_unused)
    found = [model.piece_to_id(f"<0x{byte:02X}>") for byte in range(BYTES)]
    return {
        "pieces": [model.id_to_piece(token) for token in ids],
        "scores": None if kind == "word" else [model.get_score(token) for token in ids],
        "unspoken": [token for token in ids if any(test(token) for test in unspoken)],
        "bytes": found if all(map(model.is_byte, found)) else None,
    }
