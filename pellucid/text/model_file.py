"""The bytes of a SentencePiece model: a protocol buffer, of which later fields are added to earlier ones."""

import struct

PIECES, TRAINER, NORMALIZER = 1, 2, 3


def field(number: int, value: int | bytes) -> bytes:
    """Return a field of a protocol buffer; numbers are small, and a length always takes five bytes."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    length = (len(value) >> shift & 127 | (128 if shift < 28 else 0) for shift in range(0, 35, 7))
    return bytes([number << 3 | 2, *length]) + value


def piece_field(piece: str, score: float, kind: int = 1) -> bytes:
    """Return a piece of a model. kind: 1 is a piece of text, 2 the unknown token, 3 a control symbol."""
    return field(PIECES, field(1, piece.encode()) + b"\x15" + struct.pack("<f", score) + field(3, kind))
