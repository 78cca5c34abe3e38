"""Pieces as words, attention between words, and alignments, on real vocabularies and by hand."""

import dataclasses

import numpy as np
import pytest
import random_translator
import torch
from tiny import translator

from pellucid.errors import UsageError
from pellucid.explanation import Explanation
from pellucid.reading.looking import Alignment
from pellucid.reading.merging import between, spelled, words_of
from pellucid.seeing.records import Record, UnknownTensor


def test_words_of_pieces_begin_at_spaces_and_specials_stand_alone() -> None:
    tiny = translator(kind="unigram")
    ids = tiny.vocabulary.encode_source("le chat est sur le tapis", "en")
    tokens = tiny.vocabulary.source_tokens(ids)
    words = words_of(ids, tokens, tiny.vocabulary)
    assert [word.text for word in words] == [">>en<<", *["le", "chat", "est", "sur", "le", "tapis"], "</s>"]
    assert [word.special for word in words] == [True, *[False] * 6, True]
    assert [place for word in words for place in word.places] == list(range(len(ids)))
    assert any(len(word.places) > 1 for word in words)


def test_words_of_bytes_are_spelled_out() -> None:
    made = random_translator.vocabulary("bytes")
    ids = made.encode_source("the Жук saw ½😀!")
    words = words_of(ids, made.source_tokens(ids), made)
    assert [word.text for word in words if not word.special] == ["the", "Жук", "saw", "1⁄2😀!"]
    assert [place for word in words for place in word.places] == list(range(len(ids)))


@pytest.mark.parametrize(
    "pieces,text",
    [
        (["▁bank"], "bank"),
        (["▁ban", "k", "."], "bank."),
        (["▁", "<0xD0>", "<0x96>", "a"], "Жa"),
        (["▁", "<0xD0>"], "�"),
        (["▁"], "▁"),
        (["▁of▁the"], "of the"),
        (["<unk>"], "<unk>"),
    ],
)
def test_how_pieces_are_spelled(pieces: list[str], text: str) -> None:
    assert spelled(pieces) == text


@pytest.mark.parametrize(
    "pieces,words",
    [
        ("▁ ▁Me ▁gustan", ["Me", "gustan"]),
        ("▁Me ▁ ▁gus tan", ["Me", "gustan"]),
        ("▁Me ▁gustan ▁", ["Me", "gustan"]),
        ("▁ ▁▁ ▁Me ▁ ▁", ["Me"]),
        ("▁ Me ▁ gustan", ["Me", "gustan"]),
        ("▁ ▁", []),
    ],
)
def test_a_space_by_itself_is_no_word(pieces: str, words: list[str]) -> None:
    made = translator(kind="bpe").vocabulary
    tokens = ["<s>", *pieces.split(), "</s>"]
    other = next(token for token in range(made.target_size) if made.target_tokens([token])[0] == "▁")
    ids = [made.start_id, *(other for _ in pieces.split()), made.end_id]
    found = words_of(ids, tokens, made)
    assert [word.text for word in found if not word.special] == words
    assert [place for word in found for place in word.places] == list(range(len(ids)))
    assert (found[0].places, found[-1].places) == ((0,), (len(ids) - 1,))


def test_pharaoh_pairs_count_the_words_of_the_text() -> None:
    explanation = translator(kind="bpe").explain("I  like cats", to="es", target="Me gustan los gatos q")
    assert any(step.expected == "▁" for step in explanation.steps)
    for layer in range(2):
        alignment = explanation.alignment(layer=layer)
        assert alignment.target_words == ["Me", "gustan", "los", "gatos", "<unk>"]
        assert alignment.source_words == explanation.translation.source.split()
        assert [link.target for link in sorted(alignment.links, key=lambda link: link.target)] == list(
            range(5)
        )


def test_in_a_vocabulary_of_words_each_token_is_one() -> None:
    explanation = translator().explain("I like cats", to="es", target="Me gustan los gatos")
    merged = explanation.merged()
    assert [word.text for word in merged.source] == [">>es<<", "I", "like", "cats", "</s>"]
    assert [word.text for word in merged.target] == ["<s>", "Me", "gustan", "los", "gatos"]
    for name, record in merged.items():
        assert torch.equal(record.tensor, explanation.trace[name].tensor)


def test_a_word_of_the_text_that_looks_like_a_tag_is_a_word() -> None:
    tiny = translator(kind="unigram")
    ids = tiny.vocabulary.encode_source("</s> >>es<<", "en")
    words = words_of(ids, tiny.vocabulary.source_tokens(ids), tiny.vocabulary)
    assert [word.special for word in words] == [True, False, False, True]


def test_attention_between_words_sums_columns_and_averages_rows() -> None:
    explanation = translator(kind="unigram").explain("I like cats", to="es", target="Me gustan los gatos")
    merged = explanation.merged()
    names = [name for name in explanation.trace if name.endswith("attention.weights")]
    assert list(merged) == names and len(names) == 5
    for name in names:
        weights = explanation.trace[name].tensor.numpy()
        asks = merged.source if name.startswith("encoder") else merged.target
        asked = merged.target if "decoder" in name and "self" in name else merged.source
        expected = np.zeros((1, 2, len(asks), len(asked)))
        for row, asking in enumerate(asks):
            for column, wanted in enumerate(asked):
                for piece in asking.places:
                    for other in wanted.places:
                        expected[..., row, column] += weights[..., piece, other] / len(asking.places)
        record = merged[name]
        assert np.abs(record.tensor.numpy() - expected).max() < 1e-6
        assert np.abs(record.tensor.numpy().sum(-1) - 1).max() < 1e-5
        assert record.labels("L") == [word.text for word in asks]
        assert record.labels("M") == [word.text for word in asked]
    assert [word.text for word in merged.target] == ["<s>", "Me", "gustan", "los", "gatos"]
    with pytest.raises(UnknownTensor, match="Nearest: decoder"):
        merged["decoder.layers.0.cross_attention.wieghts"]


def by_hand(weights: list[list[list[float]]], kind: str = "word") -> Explanation:
    """An explanation whose last cross-attention is H L M of our own."""
    explanation = translator(kind=kind).explain("I like cats", to="es", target="Me gustan los gatos")
    name = "decoder.layers.1.cross_attention.weights"
    record = explanation.trace[name]
    own = torch.tensor([weights])
    assert own.shape == record.tensor.shape
    trace = {**explanation.trace, name: Record(name, "BHLM", own, record.tokens)}
    return dataclasses.replace(explanation, trace=trace)  # type: ignore[arg-type]


# Rows: the steps that say Me gustan los gatos </s>. Columns: >>es<< I like cats </s>.
HEADS = [
    [
        [0.1, 0.6, 0.1, 0.1, 0.1],
        [0.0, 0.0, 0.9, 0.1, 0.0],
        [0.9, 0.0, 0.0, 0.1, 0.0],
        [0.0, 0.0, 0.4, 0.6, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0],
    ],
    [
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.2, 0.8, 0.0, 0.0],
        [0.9, 0.02, 0.0, 0.08, 0.0],
        [0.0, 0.0, 0.2, 0.1, 0.7],
        [0.2, 0.2, 0.2, 0.2, 0.2],
    ],
]


def test_an_alignment_by_hand() -> None:
    alignment = by_hand(HEADS).alignment()
    # Means: Me I .30 like .55; gustan like .85; los (after its tag) cats .09; gatos like .30 cats .35.
    assert str(alignment) == "1-0 1-1 2-2 2-3"
    assert [link.share for link in alignment.links] == pytest.approx([0.55, 0.85, 0.09, 0.35])
    assert alignment.source_words == ["I", "like", "cats"]
    assert alignment.target_words == ["Me", "gustan", "los", "gatos"]
    assert alignment.layer == "decoder.layers.1.cross_attention" and alignment.heads == [0, 1]
    assert alignment.origin == (
        "decoder.layers.1.cross_attention.weights, the mean of heads 0, 1; the largest of each row that "
        "predicts a word"
    )
    assert str(by_hand(HEADS).alignment(heads=[0])) == "0-0 1-1 2-2 2-3"
    assert str(by_hand(HEADS).alignment(heads=[1])) == "1-0 1-1 1-3 2-2"


@pytest.mark.parametrize("layer", [0, 1])
def test_an_alignment_between_words_of_pieces_by_loops(layer: int) -> None:
    explanation = translator(kind="unigram").explain("I like cats", to="es", target="Me gustan los gatos")
    weights = explanation.trace[f"decoder.layers.{layer}.cross_attention.weights"].tensor[0].mean(0).numpy()
    source: dict[int, list[int]] = {}
    for place, token in enumerate(explanation.source_tokens[1:-1], start=1):
        source.setdefault(len(source) - (0 if token.startswith("▁") else 1), []).append(place)
    target: dict[int, list[int]] = {}
    for place, step in enumerate(explanation.steps[:-1]):
        target.setdefault(len(target) - (0 if step.expected.startswith("▁") else 1), []).append(place)
    assert (len(source), len(target)) == (3, 4) and len(explanation.steps) > 5
    links = {}
    for word, rows in target.items():
        shares = {
            asked: sum(weights[row, column] for row in rows for column in columns) / len(rows)
            for asked, columns in source.items()
        }
        best = max(shares, key=lambda asked: shares[asked])
        links[best, word] = shares[best]
    alignment = explanation.alignment(layer=layer)
    assert [(link.source, link.target) for link in alignment.links] == sorted(links)
    assert [link.share for link in alignment.links] == pytest.approx([links[each] for each in sorted(links)])
    assert str(alignment) == " ".join(f"{one}-{other}" for one, other in sorted(links))


def test_nothing_to_align_is_an_empty_line() -> None:
    alignment = translator().explain("I like cats", to="es", target="").alignment()
    assert isinstance(alignment, Alignment) and str(alignment) == "" and alignment.links == []


@pytest.mark.parametrize(
    "asked,message",
    [
        ({"layer": 2}, "layer = 2: the decoder has 2 layers. Give 0 to 1, or -1 for the last."),
        ({"layer": -3}, "layer = -3: the decoder has 2 layers. Give 0 to 1, or -1 for the last."),
        ({"heads": [2]}, "heads = [2]: the layer has 2. Give numbers from 0 to 1."),
        ({"heads": []}, "heads = []: the layer has 2. Give numbers from 0 to 1."),
        ({"heads": 2}, "heads = [2]: the layer has 2. Give numbers from 0 to 1."),
        ({"heads": [0.5]}, "heads = [0.5]: the layer has 2. Give numbers from 0 to 1."),
        ({"heads": True}, "heads = [True]: the layer has 2. Give numbers from 0 to 1."),
        ({"heads": [-1]}, "heads = [-1]: the layer has 2. Give numbers from 0 to 1."),
        ({"layer": True}, "layer = True: the decoder has 2 layers. Give 0 to 1, or -1 for the last."),
        ({"layer": 0.5}, "layer = 0.5: the decoder has 2 layers. Give 0 to 1, or -1 for the last."),
    ],
)
def test_errors_of_an_alignment(asked: dict[str, object], message: str) -> None:
    explanation = translator().explain("I like cats", to="es", target="Me gustan")
    with pytest.raises(UsageError) as error:
        explanation.alignment(**asked)  # type: ignore[arg-type]
    assert str(error.value) == message


def test_an_alignment_says_which_heads_it_is_of() -> None:
    explanation = translator().explain("I like cats", to="es", target="Me gustan")
    assert ".weights, head 1;" in explanation.alignment(heads=1).origin
    assert explanation.alignment(heads=1) == explanation.alignment(heads=[1])
    assert ".weights, the mean of heads 0, 1;" in explanation.alignment().origin


def test_between_keeps_rows_of_one() -> None:
    explanation = translator(kind="unigram").explain("I like cats", to="es", target="Me gustan los gatos")
    words = explanation.merged().source
    weights = torch.rand(3, len(explanation.source_tokens), len(explanation.source_tokens)).softmax(-1)
    assert torch.allclose(between(weights, words, words).sum(-1), torch.ones(3, len(words)))
