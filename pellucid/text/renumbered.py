"""A SentencePiece model whose pieces have other ids: MarianMT, M2M100 and NLLB number their tokens by a
table."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sentencepiece import SentencePieceProcessor

from pellucid.errors import PellucidError

IDS_FILE = "vocabulary.json"
SPECIAL = ("pad_id", "unknown_id", "start_id", "end_id")
SOURCE, TARGET = "source", "target"
Pieces: TypeAlias = "SentencePieceProcessor | Renumbered"


class Renumbered:
    """A SentencePiece model whose pieces have the ids of a table. Its methods are named as in SentencePiece.

    tokens: the token of each id, or None.
    special: the ids of pad, unknown, start and end, by their names in ModelConfig.
    codes: the ids of the languages that a source and a target begin with (M2M100, NLLB).
    """

    def __init__(
        self,
        model: SentencePieceProcessor,
        tokens: Sequence[str | None],
        special: Mapping[str, int],
        codes: Mapping[str, int] | None = None,
    ) -> None:
        self.codes = dict(codes or {})
        self.model, self.tokens, self.special = model, tuple(tokens), dict(special)
        self._ids = {token: place for place, token in enumerate(self.tokens) if token is not None}
        # With several such tokens, Vocabulary chooses one of them, and here >>xx<< is text.
        self._has_tag = sum(token.startswith(">>") and token.endswith("<<") for token in self._ids) == 1

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text. If the model has one language with a name, its leading >>xx<< is one
        token."""
        code, end, rest = text.partition("<<")
        tag = self._has_tag and text.startswith(">>") and end and f"{code}<<" in self._ids
        pieces = self.model.encode(rest if tag else text, out_type=str)
        return [self.piece_to_id(piece) for piece in ([f"{code}<<", *pieces] if tag else pieces)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of these ids; an unknown token becomes ⁇."""
        return self.model.decode_pieces([self.id_to_piece(token) for token in ids]).replace("▁", " ").strip()

    def get_piece_size(self) -> int:
        return len(self.tokens)

    def piece_to_id(self, piece: str) -> int:
        """Return the id of a piece; the id of the unknown token if the table does not have the piece."""
        return self._ids.get(piece, self.special["unknown_id"])

    def id_to_piece(self, token: int) -> str:
        piece = self.tokens[token]
        return f"<id {token}>" if piece is None else piece

    def get_score(self, token: int) -> float:
        return self.model.get_score(self._place(token))

    def is_unused(self, token: int) -> bool:
        """Return whether this token occurs in no text of this side."""
        return self._place(token) == self.model.unk_id() != token and not self.is_unknown(token)

    def is_control(self, token: int) -> bool:
        """Return whether this token stands for no text, like the end token."""
        return token in (*self.special.values(), *self.codes.values()) and not self.is_unknown(token)

    def is_unknown(self, token: int) -> bool:
        return token == self.special["unknown_id"]

    def is_byte(self, token: int) -> bool:
        """Return whether this token stands for one byte of a character that has no piece."""
        return self.model.is_byte(self._place(token))

    def serialized_model_proto(self) -> bytes:
        """Return the SentencePiece model as the bytes of its file, without the table."""
        return self.model.serialized_model_proto()

    def _place(self, token: int) -> int:
        return self.model.piece_to_id(self.id_to_piece(token))


def ids_file(source: Pieces, target: Pieces) -> bytes | None:
    """Return the content of vocabulary.json, the tables of both sides; None if SentencePiece's ids are
    used."""
    if not isinstance(source, Renumbered) or not isinstance(target, Renumbered):
        return None
    table: dict[str, Any] = {"special": source.special, "codes": source.codes, SOURCE: source.tokens}
    if source.tokens != target.tokens:
        table[TARGET] = target.tokens
    return json.dumps(table, ensure_ascii=False, indent=0).encode()


def renumber(models: Sequence[Any], content: bytes, path: str) -> list[Renumbered]:
    """Give the ids in a vocabulary.json to SentencePiece models: one for both sides, or one for each."""
    try:
        table = json.loads(content)
        special = {name: int(table["special"][name]) for name in SPECIAL}
        codes = {str(name): int(token) for name, token in table.get("codes", {}).items()}
        sides = table[SOURCE], table.get(TARGET) or table[SOURCE]
        tokens = [[None if each is None else str(each) for each in side] for side in sides]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PellucidError(f"{path}: this is not a table of tokens. Copy the model folder again.") from None
    return [Renumbered(model, each, special, codes) for model, each in zip(models, tokens, strict=False)]


def table_of(model: Any) -> Any:
    """Return the table of ids, to compare two vocabularies; None for a plain SentencePiece model."""
    return (model.tokens, model.special, model.codes) if isinstance(model, Renumbered) else None


def kind_of(model: SentencePieceProcessor) -> str:
    """Return how a SentencePiece model splits text: "word", "bpe" or "unigram", as in [vocabulary] kind.

    In a "word" model each piece begins a word. In a "bpe" model the score of a piece is the rank of its
    merge, a whole number. In a "unigram" model it is a log-probability.
    """
    spoken = spoken_ids(model)
    if all(model.id_to_piece(token).startswith("▁") for token in spoken):
        return "word"
    return "bpe" if all(model.get_score(token).is_integer() for token in spoken) else "unigram"


def spoken_ids(model: SentencePieceProcessor) -> list[int]:
    """Return the ids of the pieces that stand for text."""
    silent = (model.is_control, model.is_unknown, model.is_byte, model.is_unused)
    return [token for token in range(model.get_piece_size()) if not any(test(token) for test in silent)]
