"""Where heads looked, between pieces and between words, and alignments: by loops and by hand."""

import dataclasses
import math

import numpy as np
import pytest
import random_translator
import torch
from readings import replaced
from tiny import translator

from pellucid.explanation import Explanation
from pellucid.reading.words import special_ids, spell, words_of
from pellucid.seeing.records import UnknownTensor


def test_each_head_names_the_words_it_looked_at(spanish: Explanation) -> None:
    looks = spanish.looked_at()
    assert [(look.part, look.head) for look in looks] == [
        (f"decoder.layers.{layer}.cross_attention", head) for layer in range(2) for head in range(2)
    ]
    for look in looks:
        weights = spanish.trace[f"{look.part}.weights"].tensor[0, look.head].double().numpy()
        assert look.entropy == pytest.approx(np.mean([each.entropy for each in look.looks]))
        assert [each.asks for each in look.looks] == ["<s>", "Me", "gustan", "los", "gatos"]
        assert [each.expected for each in look.looks] == ["Me", "gustan", "los", "gatos", "</s>"]
        for each, row in zip(look.looks, weights, strict=True):
            order = sorted(range(len(row)), key=lambda word: -row[word])[:3]
            assert [word for word, _ in each.words] == [spanish.source_tokens[place] for place in order]
            assert [share for _, share in each.words] == pytest.approx([row[place] for place in order])
            bits = -sum(share * math.log2(share) for share in row)
            assert each.entropy == pytest.approx(bits, abs=1e-5)


def test_any_attention_can_be_asked(spanish: Explanation) -> None:
    looks = spanish.looked_at("decoder.layers.0.self_attention")
    assert looks[0].looks[0].words == [("<s>", 1.0)] and looks[0].looks[0].entropy == 0
    encoder = spanish.looked_at("encoder.layers.0.self_attention")
    assert encoder[0].looks[1].asks == "I" and encoder[0].looks[1].expected is None
    with pytest.raises(UnknownTensor, match=r'^no attention is called "decoder\.cros"'):
        spanish.looked_at("decoder.cros")


# Pieces as words


def test_words_of_pieces_begin_at_spaces_and_specials_stand_alone() -> None:
    tiny = translator(kind="unigram")
    ids = tiny.vocabulary.encode_source("le chat est sur le tapis", "en")
    words = words_of(ids, tiny.vocabulary.source_tokens(ids), tiny.vocabulary)
    assert [word.text for word in words] == [">>en<<", *["le", "chat", "est", "sur", "le", "tapis"], "</s>"]
    assert [word.special for word in words] == [True, *[False] * 6, True]
    assert [place for word in words for place in word.places] == list(range(len(ids)))
    assert any(len(word.places) > 1 for word in words)
    pads = dataclasses.replace(tiny.vocabulary, pad_id=tiny.vocabulary.unknown_id)
    assert special_ids(pads) == special_ids(tiny.vocabulary) - {0}, "an unknown word is a word"
    ids = tiny.vocabulary.encode_source("</s> >>es<<", "en")  # text that looks like special tokens
    words = words_of(ids, tiny.vocabulary.source_tokens(ids), tiny.vocabulary)
    assert [word.special for word in words] == [True, False, False, True]


def test_words_with_the_id_of_a_tag_of_the_other_side_are_words() -> None:
    tiny = translator(joint=False)
    source, target = (special_ids(tiny.vocabulary, target) for target in (False, True))
    assert source - target and target == {0, 2, 3}
    said = tiny.vocabulary.target_tokens(sorted(source - target))
    explanation = tiny.explain("How are you ?", to="hi", target=" ".join(said))
    assert explanation.alignment().target_words == said
    merged = explanation.merged()["decoder.layers.0.self_attention.weights"]
    assert merged.labels("L") == ["<s>", *said]


def test_words_of_bytes_are_spelled_out() -> None:
    made = random_translator.vocabulary("bytes")
    ids = made.encode_source("the Жук saw ½😀!")
    words = words_of(ids, made.source_tokens(ids), made)
    assert [word.text for word in words if not word.special] == ["the", "Жук", "saw", "1⁄2😀!"]
    assert [place for word in words for place in word.places] == list(range(len(ids)))


@pytest.mark.parametrize(
    "pieces,text",
    [
        ("▁bank", "bank"),
        ("▁ban k .", "bank."),
        ("▁ <0xD0> <0x96> a", "Жa"),
        ("▁ <0xD0>", "�"),
        ("▁", "▁"),
        ("▁of▁the", "of the"),
        ("<unk>", "<unk>"),
    ],
)
def test_how_pieces_are_spelled(pieces: str, text: str) -> None:
    assert spell(pieces.split()) == text


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
    assert len(found) == len(words or ["only spaces"]) + 2
    assert [place for word in found for place in word.places] == list(range(len(ids)))
    assert (found[0].places, found[-1].places) == ((0,), (len(ids) - 1,))


def test_in_a_vocabulary_of_words_each_token_is_one(spanish: Explanation) -> None:
    merged = spanish.merged()
    for name, record in merged.items():
        assert torch.equal(record.tensor, spanish.trace[name].tensor)


def test_attention_between_words_sums_columns_and_averages_rows(pieces: Explanation) -> None:
    merged = pieces.merged()
    source = words_of(pieces.source_ids, pieces.source_tokens, pieces.vocabulary)
    read = [pieces.vocabulary.start_id, *pieces.target_ids[:-1]]
    target = words_of(read, pieces.target_tokens, pieces.vocabulary)
    names = [name for name in pieces.trace if name.endswith("attention.weights")]
    assert list(merged) == names and len(names) == 5
    for name in names:
        weights = pieces.trace[name].tensor.numpy()
        asks = source if name.startswith("encoder") else target
        asked = target if "decoder" in name and "self" in name else source
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
    assert [word.text for word in target] == ["<s>", "Me", "gustan", "los", "gatos"]


# Alignments

# Rows: the steps that say Me gustan los gatos </s>. Columns: >>es<< I like cats </s>.
HEADS = (
    (".1 .6 .1 .1 .1", "0 0 .9 .1 0", ".9 .1 0 0 0", "0 0 .4 .6 0", "0 1 0 0 0"),
    ("0 0 1 0 0", "0 .2 .8 0 0", ".9 .08 0 .02 0", "0 0 .2 .1 .7", ".2 .2 .2 .2 .2"),
)


def test_an_alignment_by_hand(spanish: Explanation) -> None:
    name = "decoder.layers.1.cross_attention.weights"
    heads = [[[float(share) for share in row.split()] for row in head] for head in HEADS]
    own = dataclasses.replace(spanish.trace[name], tensor=torch.tensor([heads]))
    alignment = replaced(spanish, own).alignment()
    # Means: Me I .30 like .55; gustan like .85; los (after its tag) I .09; gatos like .30 cats .35.
    assert str(alignment) == "0-2 1-0 1-1 2-3"
    assert [link.share for link in alignment.links] == pytest.approx([0.09, 0.55, 0.85, 0.35])
    assert alignment.source_words == ["I", "like", "cats"]
    assert alignment.target_words == ["Me", "gustan", "los", "gatos"]
    assert alignment.layer == "decoder.layers.1.cross_attention" and alignment.heads == [0, 1]


def test_pharaoh_pairs_count_the_words_of_the_text() -> None:
    with pytest.warns(UserWarning, match=r"^target: the model does not know 'q'"):
        explanation = translator(kind="bpe").explain("I  like cats", to="es", target="Me gustan los gatos q")
    assert any(step.expected == "▁" for step in explanation.steps)
    alignment = explanation.alignment()
    assert alignment.target_words == ["Me", "gustan", "los", "gatos", "<unk>"]
    assert alignment.source_words == explanation.translation.source.split()
    assert sorted(link.target for link in alignment.links) == list(range(5))
