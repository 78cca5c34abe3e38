"""Where the words of a translation came from, as places of characters in both texts."""

import unicodedata
from collections.abc import Collection, Sequence

from pellucid.reading.looking import TOGETHER, merge_pieces
from pellucid.reading.passes import in_batch, quietly
from pellucid.reading.words import SPACE, Word, special_ids
from pellucid.seeing.trace import trace
from pellucid.serve.placing import Link
from pellucid.serve.sentences import as_read, inside_word
from pellucid.translate.likelihood import batches
from pellucid.translate.sentences import read_source
from pellucid.translate.text_translator import TextTranslator
from pellucid.translate.translation import Hypothesis

AHEAD = 40  # characters in which a token is looked for


def align_texts(
    translator: TextTranslator, to: str | None, asked: Sequence[tuple[str, Hypothesis, str]]
) -> list[list[Link]]:
    """Return the links of each (source, hypothesis, its text as it is used): for each word, the source word
    with its largest weight in the last decoder layer's cross-attention, as `align` finds it."""
    model, vocabulary, longest = translator.model, translator.vocabulary, translator.longest
    special, target_special = special_ids(vocabulary), special_ids(vocabulary, target=True)
    weights = f"decoder.layers.{model.config.decoder_layers - 1}.cross_attention.weights"
    pairs = [
        (
            read_source(as_read(source), to, vocabulary, longest).ids,
            said.token_ids or [vocabulary.end_id],
        )
        for source, said, _ in asked
    ]
    links = [list[Link]() for _ in asked]
    for group in batches([max(map(len, pair)) for pair in pairs], TOGETHER):
        with quietly(model), trace(model, weights) as seen:
            model.read(**in_batch(model, [pairs[place] for place in group]))
        for place, weights_HLM in zip(group, seen[weights].tensor, strict=True):
            (source_ids, target_ids), (source, _, text) = pairs[place], asked[place]
            asks = words_in(text, target_ids, vocabulary.target_tokens(target_ids), target_special)
            seen_there = words_in(source, source_ids, vocabulary.source_tokens(source_ids), special)
            if asks and seen_there:
                merged_LM = merge_pieces(weights_HLM.mean(0), list(asks.values()), list(seen_there.values()))
                spans = list(seen_there)
                links[place] = [
                    Link(*span, *spans[best])
                    for span, best in zip(asks, merged_LM.argmax(-1).tolist(), strict=True)
                ]
    return links


def words_in(
    text: str, ids: Sequence[int], tokens: Sequence[str], special: Collection[int]
) -> dict[tuple[int, int], Word]:
    """Return the words of a text by the places of their characters. Unlike `words_of`, it sets apart
    punctuation, and the tokens of scripts without spaces."""
    letters, origins = fold(text)
    words, lost, cursor = dict[tuple[int, int], Word](), list[int](), 0

    def add(first: int, last: int, places: Sequence[int]) -> None:
        start, end = origins[first], origins[last - 1] + 1
        if words and (start < next(reversed(words))[1] or inside_word(text, start)):
            (start, _), word = words.popitem()
            places = [*word.places, *places]
        words[start, end] = Word(text[start:end], tuple(places))

    for place, token in enumerate(tokens):
        piece = "" if ids[place] in special else fold(token.replace(SPACE, ""))[0]
        start = letters.find(piece, cursor, cursor + len(piece) + AHEAD)
        if not piece or start < 0:
            lost += [place] if piece else []
            continue
        if lost and start > cursor:  # an unknown token, or bytes of a character, stand for what is between
            add(cursor, start, lost)
        cursor, lost = start + len(piece), []
        add(start, cursor, [place])
    if lost and cursor < len(letters):
        add(cursor, len(letters), lost)
    return words


def fold(text: str) -> tuple[str, list[int]]:
    """Return the characters of a text in their plainest form, without spaces, and where each stood."""
    each = [
        (letter, place)
        for place, character in enumerate(text)
        for letter in unicodedata.normalize("NFKC", character).casefold()
        if not letter.isspace()
    ]
    return "".join(letter for letter, _ in each), [place for _, place in each]
