"""Grow a vocabulary: tokens of new text are added to the old ones, which keep their ids."""

from dataclasses import replace

from sentencepiece import SentencePieceProcessor

from pellucid.text.model_file import NORMALIZER, field, piece_field
from pellucid.text.renumbered import Pieces, Renumbered, kind_of, spoken_ids
from pellucid.text.vocabulary import Vocabulary

# A model with this at its end changes no character, and adds no ▁.
PLAIN = field(NORMALIZER, field(2, b"") + field(3, 0) + field(4, 0) + field(5, 0))


def grow(old: Vocabulary, learned: Vocabulary, most: int) -> Vocabulary:
    """Return the old vocabulary with up to `most` more tokens on each side: characters that it does not have,
    and then the first tokens of a vocabulary that was learned from new text."""
    source = _add(_model(old.source), _model(learned.source), most)
    target = source if old.joint else _add(_model(old.target), _model(learned.target), most)
    if not isinstance(old.source, Renumbered) or not isinstance(old.target, Renumbered):
        return replace(old, source=source, target=target)
    sides = (old.source, source), (old.target, target)
    new = [_pieces(model)[side.model.get_piece_size() :] for side, model in sides]
    first, second = (
        Renumbered(
            model,
            [
                *side.tokens,
                *(each for each in dict.fromkeys(more) if side.piece_to_id(each) == old.unknown_id),
            ],
            side.special,
            side.codes,
        )
        for (side, model), more in zip(sides, [new[0] + new[1]] * 2 if old.same_ids else new, strict=True)
    )
    return replace(old, source=first, target=first if old.joint else second)


def is_grown(old: Vocabulary, new: Vocabulary) -> bool:
    """Return whether `new` has the tokens of `old` with their ids, and perhaps more."""
    sides = (old.source, new.source), (old.target, new.target)
    return all(_pieces(after)[: len(_pieces(before))] == _pieces(before) for before, after in sides)


def parts(old: Vocabulary, new: Vocabulary, side: str) -> list[list[int]]:
    """Return for each token that `new` adds to a side, "source" or "target", the old ids of its text."""
    before, after = getattr(old, side), getattr(new, side)
    models = [  # sides may share their ids; then the one that has a token splits it
        (_model(getattr(new, name)), _with(_model(getattr(old, name)), PLAIN))
        for name in (side, "source", "target")
    ]
    found = []
    for token in range(before.get_piece_size(), after.get_piece_size()):
        piece = after.id_to_piece(token)
        splits = next(splits for model, splits in models if model.piece_to_id(piece) != model.unk_id())
        found.append([before.piece_to_id(part) for part in splits.encode(piece, out_type=str)])
    return found


def _add(old: SentencePieceProcessor, learned: SentencePieceProcessor, most: int) -> SentencePieceProcessor:
    """Return the old model with more pieces, those that a text with only them is made of."""
    scores = {learned.id_to_piece(place): learned.get_score(place) for place in spoken_ids(learned)}
    fresh = sorted(scores.keys() - {*_pieces(old)}, key=lambda piece: (len(piece) > 1, -scores[piece], piece))
    fresh = fresh[: 2 * most]
    if kind_of(old) == "bpe":  # scores are ranks of merges: the new ones come last
        last = min(map(old.get_score, range(old.get_piece_size())))
        scores = {piece: last - place for place, piece in enumerate(fresh, start=1)}
    fields = {piece: piece_field(piece, scores[piece]) for piece in fresh}
    whole = _with(old, *fields.values(), PLAIN)
    return _with(old, *[fields[piece] for piece in fresh if len(whole.encode(piece)) == 1][:most])


def _with(model: SentencePieceProcessor, *fields: bytes) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=b"".join([model.serialized_model_proto(), *fields]))


def _model(side: Pieces) -> SentencePieceProcessor:
    return side.model if isinstance(side, Renumbered) else side


def _pieces(model: Pieces) -> list[str]:
    return [model.id_to_piece(place) for place in range(model.get_piece_size())]
