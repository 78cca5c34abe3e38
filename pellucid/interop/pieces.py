"""Tokens and their ids: the tables of imported models, and the vocabulary files of an export."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceProcessor

from pellucid.config.schema import Config
from pellucid.interop.foreign import Foreign
from pellucid.text.model_file import TRAINER, field, piece_field
from pellucid.text.renumbered import Pieces
from pellucid.text.vocabulary import Vocabulary, parse
from pellucid.translate.sentences import TOKENS

SIDES = ("source.spm", "target.spm")
CONTROL, WORD = ("<s>", "<pad>", "</s>", "<unk>"), 3  # special tokens; a number in SentencePiece's format


def tokens_of(model: Pieces) -> list[str]:
    """Return the token of each id; ids without a token get names that cannot occur in text."""
    return [model.id_to_piece(token) for token in range(model.get_piece_size())]


def count_positions(config: Config) -> int:
    """Return how many positions a model needs for its longest source and its longest translation."""
    return max(TOKENS, config.data.max_length, config.translation.max_length)


def write_sides(vocabulary: Vocabulary, folder: Path) -> None:
    """Write source.spm and target.spm, which split and join text."""
    for name, side in zip(SIDES, (vocabulary.source, vocabulary.target), strict=True):
        (folder / name).write_bytes(side.serialized_model_proto())


def read_pieces(foreign: Foreign, name: str) -> SentencePieceProcessor:
    """Read a SentencePiece model."""
    return parse(foreign.bytes(name), str(foreign.folder / name))


def read_apart(
    foreign: Foreign, name: str, table: Mapping[str, Any]
) -> tuple[SentencePieceProcessor, Mapping[str, Any]]:
    """Read a SentencePiece model if it is there. If not, make one that takes text for tokens of this table
    with spaces between them, as the program takes them; return the table with its pieces too."""
    if (foreign.folder / name).exists():
        return read_pieces(foreign, name), table
    if any(token.startswith("▁") for token in table):
        raise foreign.fault(f"{name}: it is not there, but the tokens are those of a SentencePiece model.")
    spaced = {token if token in CONTROL else f"▁{token}": place for token, place in table.items()}
    pieces = (piece_field(piece, 0.0) for piece in spaced if piece.startswith("▁"))
    proto = piece_field("<unk>", 0.0, 2) + b"".join(pieces) + field(TRAINER, field(3, WORD))
    return parse(proto, name), spaced


def special_ids(foreign: Foreign, settings: Mapping[str, Any], unknown: int) -> dict[str, int]:
    """Return the ids of the special tokens, by Pellucid's names for them, such as "pad_id"."""
    start = foreign.generation.get("decoder_start_token_id", settings["decoder_start_token_id"])
    return {
        "pad_id": settings["pad_token_id"],
        "unknown_id": unknown,
        "start_id": start,
        "end_id": settings["eos_token_id"],
    }


def check_table(foreign: Foreign, table: Mapping[str, Any], size: int, name: str) -> None:
    """Raise an error unless each token has its own id, and all ids are within the model's vocabulary."""
    ids = [*table.values()]
    if not all(type(value) is int for value in ids):
        raise foreign.fault(f"{name}: some ids are not whole numbers.")
    if len({*ids}) < len(ids):
        raise foreign.fault(f"{name}: several tokens have the same id.")
    if ids and not 0 <= min(ids) <= max(ids) < size:
        raise foreign.fault(
            f"{name}: ids from {min(ids)} to {max(ids)}, but the model has {size} tokens: another vocabulary."
        )


def by_id(table: Mapping[str, int], size: int) -> list[str | None]:
    """Return the token of each id, or None for an id without a token."""
    tokens: list[str | None] = [None] * size
    for token, place in table.items():
        tokens[place] = token
    return tokens
