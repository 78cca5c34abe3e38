"""What the page knows about a vocabulary: enough to split text as SentencePiece does, or the reason why it
cannot."""

from typing import Any

from pellucid.text.renumbered import Pieces
from pellucid.translate.text_translator import TextTranslator

PREPARATIONS = ("none", "words")
NORMALIZATIONS = ("identity", "nfkc", "nmt_nfkc")
BYTES = 256


def spelling(translator: TextTranslator, carried: bool) -> dict[str, Any]:
    """Return what the page needs to split text: {"kind", "preparation", "normalization", "languages",
    "words_of": the ids of each language's words, or None, "cannot": why the page cannot split text, or
    "", "source": {"pieces", "scores" (None for whole words), "unspoken": ids of control, unknown, byte and
    unused pieces, "bytes": ids of the byte pieces, or None}, "target": the same, or None if shared}. Unless
    `carried`, return only "kind", "languages" and an empty "cannot"."""
    vocabulary, setting = translator.vocabulary, translator.config.vocabulary
    if not carried:
        return {"kind": vocabulary.kind, "languages": vocabulary.languages, "cannot": ""}
    return {
        "kind": vocabulary.kind,
        "preparation": vocabulary.preparation,
        "normalization": setting.normalization,
        "languages": vocabulary.languages,
        "words_of": vocabulary.words_of or None,
        "cannot": _obstacle(translator),
        "source": _side(vocabulary.source, vocabulary.kind),
        "target": None if vocabulary.joint else _side(vocabulary.target, vocabulary.kind),
    }


def _obstacle(translator: TextTranslator) -> str:
    """Return why the page cannot split text into tokens, or "" if it can."""
    setting, preparation = translator.config.vocabulary, translator.vocabulary.preparation
    guess = "the page would only guess the tokens."
    if preparation not in PREPARATIONS:
        return f'This model reads text that was prepared with "{preparation}", which no browser does: {guess}'
    if setting.model:
        return f"This model's vocabulary was made elsewhere, with a normalization that is not known: {guess}"
    if setting.normalization not in NORMALIZATIONS:
        return f'A browser does not have this vocabulary\'s normalization, "{setting.normalization}": {guess}'
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
