"""A vocabulary that grows: the old tokens keep their ids, and the new ones know the old ids of their text."""

import random
import string
from dataclasses import replace

import pytest

from pellucid.config.schema import DataConfig, VocabularyConfig
from pellucid.text.growing import grow, is_grown, parts
from pellucid.text.renumbered import Renumbered
from pellucid.text.vocabulary import Vocabulary
from pellucid.text.vocabulary_training import train_vocabulary


def text(chance: random.Random, letters: str) -> list[str]:
    """Sentences of thirty words, which come again and again."""
    words = ["".join(chance.choices(letters, k=chance.randint(1, 9))) for _ in range(30)]
    return [" ".join(chance.choices(words, k=chance.randint(1, 8))) for _ in range(80)]


def learn(sources: list[str], targets: list[str], size: int, **settings: object) -> Vocabulary:
    config = VocabularyConfig(size=size, grow=1, **settings)  # type: ignore[arg-type]  # grow: size is a limit
    return train_vocabulary(sources, targets, config, DataConfig())


def renumbered(vocabulary: Vocabulary, chance: random.Random) -> Vocabulary:
    """The vocabulary with other ids, of which some have no token, as in MarianMT."""
    sides = []
    for model in (vocabulary.source, vocabulary.target):
        pieces = [model.id_to_piece(place) for place in range(model.get_piece_size())]
        tokens = [*pieces[:4], *chance.sample(pieces[4:], len(pieces) - 4), None, None]
        sides.append(Renumbered(model, tokens, vocabulary.ids()))  # type: ignore[arg-type]
    return replace(vocabulary, source=sides[0], target=sides[0 if vocabulary.joint else 1])


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word"])
def test_at_random_old_ids_stay_and_new_tokens_are_used(kind: str) -> None:
    for seed in random.sample(range(10**6), 6):
        print(f"seed {seed}")
        chance = random.Random(seed)
        joint, most = chance.random() < 0.5, chance.randint(1, 60)
        before, after = [text(chance, "abcdefg") for _ in "st"], [text(chance, "efghijö") for _ in "st"]
        old, learned = (learn(*sides, size=90, kind=kind, joint=joint) for sides in (before, after))
        old = renumbered(old, chance) if chance.random() < 0.5 else old
        new = grow(old, learned, most)
        assert is_grown(old, new) and not is_grown(new, old) and new.joint == joint
        assert is_grown(old, grow(old, learned, 0)) and is_grown(grow(old, learned, 0), old)
        for side, lines in (("source", after[0]), ("target", after[1])):
            was, now = getattr(old, side), getattr(new, side)
            added = range(was.get_piece_size(), now.get_piece_size())
            assert 0 < len(added) <= most
            tokens = [now.id_to_piece(place) for place in added]
            assert {*tokens[:4]} & {*"hijö"} or kind == "word"
            lines = after[0] + after[1] if joint else lines
            used = {token for line in lines for token in now.encode(line)}
            # BPE needs short tokens to build its long ones, and then some of the short ones stand nowhere.
            assert len(used & {*added}) > len(added) / (3 if kind == "bpe" else 2)
            for token, ids in zip(tokens, parts(old, new, side), strict=True):
                if old.unknown_id not in ids:
                    assert "".join(map(was.id_to_piece, ids)) == token
                assert all(place < was.get_piece_size() for place in ids) and ids


def test_characters_come_first_and_old_text_keeps_its_words() -> None:
    chance = random.Random(1)
    before, after = text(chance, string.ascii_lowercase[:8]), text(chance, "stuvw")
    old = learn(before, before, 100)
    new = grow(old, learn(after, after, 100), 5)
    assert {new.source.id_to_piece(old.source_size + place) for place in range(5)} == {*"stuvw"}
    for line in before:
        assert new.encode_source(line) == old.encode_source(line)
    assert not new.unknown_in("stuvw") and old.unknown_in("stuvw")
