"""Remove paths from the file of a SentencePiece model, a protocol buffer (sentencepiece_model.proto).

SentencePiece's own reader of such files needs another package, protobuf.
"""

from collections.abc import Iterator, Mapping

# Fields that hold paths on the disk where the model was trained, by the field that they are in: input,
# model_prefix and seed file of trainer_spec; the file of rules of normalizer_spec and denormalizer_spec.
PATHS: Mapping[int, set[int]] = {2: {1, 2, 54}, 3: {6}, 5: {6}}
TRAINER_SPEC = 2
LENGTH_DELIMITED = 2  # the wire type of texts and messages
FIXED = {1: 8, 5: 4}  # bytes of a value of these wire types


def without_paths(model: bytes) -> bytes:
    """Remove from a model the paths of the files that it was trained from."""
    return b"".join(
        _shorten(number, model[start:end], model[value:end], PATHS[number])
        if number in PATHS
        else model[start:end]
        for number, start, value, end in _fields(model)
    )


def kind_of(model: bytes) -> str:
    """Return how a model splits text, as [vocabulary] kind names it: trainer_spec.model_type."""
    kinds, found = {1: "unigram", 2: "bpe", 3: "word"}, 1
    for number, _, value, end in _fields(model):
        if number == TRAINER_SPEC:
            message = model[value:end]
            found = next((_read_varint(message, at)[0] for n, _, at, _ in _fields(message) if n == 3), found)
    return kinds.get(found, "unigram")


def _shorten(number: int, field: bytes, message: bytes, left_out: set[int]) -> bytes:
    """Return a field whose value is this message, without some fields of the message."""
    kept = b"".join(message[start:end] for inner, start, _, end in _fields(message) if inner not in left_out)
    return field if kept == message else _varint(number << 3 | LENGTH_DELIMITED) + _varint(len(kept)) + kept


def _fields(message: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield each field: its number, its start, the start of its value, its end."""
    place = 0
    while place < len(message):
        start = place
        key, place = _read_varint(message, place)
        number, wire_type = key >> 3, key & 7
        value = place
        if wire_type == LENGTH_DELIMITED:
            length, value = _read_varint(message, place)
            place = value + length
        elif wire_type in FIXED:
            place += FIXED[wire_type]
        else:
            _, place = _read_varint(message, place)
        yield number, start, value, place


def _read_varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes(written + bytes([value]))
