"""What a SentencePiece model does not say of itself, unless with another package, protobuf."""

from sentencepiece import SentencePieceProcessor


def kind_of(model: SentencePieceProcessor) -> str:
    """Return how a model splits text, as [vocabulary] kind names it.

    Each piece of a "word" model begins a word. The score of a "bpe" piece is the rank of its merge, a whole
    number; that of a "unigram" piece is a log-probability.
    """
    silent = (model.is_control, model.is_unknown, model.is_byte, model.is_unused)
    spoken = [token for token in range(model.get_piece_size()) if not any(test(token) for test in silent)]
    if all(model.id_to_piece(token).startswith("▁") for token in spoken):
        return "word"
    return "bpe" if all(model.get_score(token).is_integer() for token in spoken) else "unigram"
