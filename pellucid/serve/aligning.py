"""Where the words of a translation came from, as places of characters in both texts."""

import unicodedata
from collections.abc import Sequence

from pellucid.reading.looking import TOGETHER, merge_pieces
from pellucid.reading.passes import in_batch, quietly
from pellucid.reading.words import SPACE, Word, special_ids
from pellucid.seeing.trace import trace
from pellucid.serve.placing import Link
from pellucid.serve.sentences import inside_word
from pellucid.translate.likelihood import batches
from pellucid.translate.sentences import TOKENS, read_source
from pellucid.translate.text_translator import TextTranslator
from pellucid.translate.translation import Hypothesis

AHEAD = 40  # characters in which a token is looked for


def align_texts(
    translator: TextTranslator, asked: Sequence[tuple[str, Hypothesis, str]], to: str | None = None
) -> list[list[Link]]:
    """Return the links of each (source, hypothesis, its text as it is used): for each word, the source word
    with its largest weight in the last decoder layer's cross-attention, as `align` finds it."""
    model, vocabulary = translator.model, translator.vocabulary
    special = special_ids(vocabulary)
    weights = f"decoder.layers.{model.config.decoder_layers - 1}.cross_attention.weights"
    pairs = [
        (read_source(source, to, vocabulary, TOKENS).ids, hypothesis.token_ids or [vocabulary.end_id])
        for source, hypothesis, _ in asked
    ]
    links = [list[Link]() for _ in asked]
    for group in batches([max(map(len, pair)) for pair in pairs], TOGETHER):
        with quietly(model), trace(model, weights) as seen:
            model.read(**in_batch(model, [pairs[place] for place in group]))
        for place, weights_HLM in zip(group, seen[weights].tensor, strict=True):
            (source_ids, target_ids), (source, _, text) = pairs[place], asked[place]
            tokens = vocabulary.source_tokens(source_ids), vocabulary.target_tokens(target_ids)
            asked_words = words_in(source, source_ids, tokens[0], special)
            words = words_in(text, target_ids, tokens[1], special)
            if not words or not asked_words:
                continue
            merged_LM = merge_pieces(
                weights_HLM.mean(0), [word for word, _ in words], [word for word, _ in asked_words]
            )
            links[place] = [
                Link(*span, *asked_words[best][1])
                for (_, span), best in zip(words, merged_LM.argmax(-1).tolist(), strict=True)
            ]
    return links


def words_in(
    text: str, ids: Sequence[int], tokens: Sequence[str], special: set[int]
) -> list[tuple[Word, tuple[int, int]]]:
    """Return the words of a text with the places of their characters. Unlike `words_of`, it sets apart
    punctuation, and the tokens of scripts without spaces."""
    letters, origins = fold(text)
    found, lost, cursor = list[tuple[int, int, list[int]]](), list[int](), 0
    for place, token in enumerate(tokens):
        piece = "" if ids[place] in special else fold(token.replace(SPACE, ""))[0]
        start = letters.find(piece, cursor, cursor + len(piece) + AHEAD)
        if not piece or start < 0:
            lost += [place] if piece else []
            continue
        if lost and start > cursor:  # an unknown token, or bytes of a character, stand for what is between
            found.append((cursor, start, lost))
        cursor, lost = start + len(piece), []
        found.append((start, cursor, [place]))
    if lost and cursor < len(letters):
        found.append((cursor, len(letters), lost))
    words = list[tuple[Word, tuple[int, int]]]()
    for first, last, places in found:
        start, end = origins[first], origins[last - 1] + 1
        if words and (start < words[-1][1][1] or inside_word(text, start)):
            word, (start, _) = words.pop()
            places = [*word.places, *places]
        words.append((Word(text[start:end], tuple(places)), (start, end)))
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
