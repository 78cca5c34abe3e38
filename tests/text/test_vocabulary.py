"""Text to ids and back, in every kind of vocabulary; and text that means harm."""

import re
import string
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import SentencePieceNormalizer, SentencePieceTrainer

from pellucid.config.schema import Config, DataConfig, ModelConfig, VocabularyConfig
from pellucid.errors import PellucidError, UsageError
from pellucid.text.renumbered import Renumbered, kind_of
from pellucid.text.vocabulary import Vocabulary, load_vocabulary, source_language
from pellucid.text.vocabulary_training import train_vocabulary

SOURCES = [
    f"the {animal} saw the {person} and {count} bigger houses"
    for animal in ("dog", "cat", "cow", "horse")
    for person in ("man", "woman", "child")
    for count in ("two", "three", "four")
]
TARGETS = [line.upper() for line in SOURCES]
THREE = (("en", "hi"), ("fr", "en"), ("en", "es"))


def learn(data: DataConfig | None = None, **settings: object) -> Vocabulary:
    config = VocabularyConfig(**({"size": 50} | settings))  # type: ignore[arg-type]
    return train_vocabulary(SOURCES, TARGETS, config, data or DataConfig())


def loaded(folder: Path, config: Config) -> Vocabulary:
    return load_vocabulary(folder, config, {path.name: path.read_bytes() for path in folder.iterdir()})


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word"])
@pytest.mark.parametrize("joint", [True, False])
def test_what_is_encoded_is_decoded(kind: str, joint: bool) -> None:
    vocabulary = learn(kind=kind, joint=joint, size=45 if joint else 30)
    for target in TARGETS[:5] if kind != "word" else ():
        assert vocabulary.decode_target(vocabulary.encode_target(target)) == target
    source = vocabulary.encode_source(SOURCES[0])
    assert source[-1] == vocabulary.end_id == 3
    assert vocabulary.start_id not in source
    assert (vocabulary.source is vocabulary.target) == joint
    assert kind_of(vocabulary.source) == kind  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc", "identity", "nmt_nfkc_cf", "nfkc_cf"])
def test_characters_are_normalised_and_covered_as_the_configuration_says(rule: str) -> None:
    text, data = "½ Ａ ﬁ Straße ～ a\u200bb", DataConfig()
    words = VocabularyConfig(size=100, kind="word", normalization=rule)
    vocabulary = train_vocabulary([text], [text], words, data)
    normalised = SentencePieceNormalizer(rule_name=rule).normalize(text).replace("▁", " ").strip()
    assert vocabulary.decode_target(vocabulary.encode_target(text)) == normalised
    lines = [*SOURCES * 10, "ж"]  # one character of 16,000
    for coverage, known in ((1.0, True), (0.999, False)):
        config = VocabularyConfig(size=30, normalization=rule, character_coverage=coverage)
        vocabulary = train_vocabulary(lines, lines, config, data)
        assert (vocabulary.unknown_id not in vocabulary.encode_source("ж")) == known


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram"])
def test_a_long_line_is_learned_from_too(kind: str) -> None:
    """SentencePiece by itself leaves out lines of more than 4,192 bytes."""
    lines = ["a b", "b a", "a b " * 1500 + "xylophone", "a b " * 3000 + "fjord"]
    vocabulary = train_vocabulary(lines, lines, VocabularyConfig(kind=kind, size=22), DataConfig())
    for word in ("xylophone", "fjord"):
        assert vocabulary.unknown_id not in vocabulary.encode_source(word)


def test_labels_keep_the_word_boundary_of_subwords() -> None:
    vocabulary = learn()
    labels = vocabulary.source_tokens([0, 1, 2, *vocabulary.encode_source("dog")])
    assert labels[:3] == ["<pad>", "<unk>", "<s>"]
    assert "".join(labels[3:]) == "▁dog</s>"
    assert vocabulary.decode_target([2, *vocabulary.encode_target("DOG"), 0, 0]) == "DOG"
    for outside in (-1, 50):
        with pytest.raises(UsageError, match=rf"^id {outside} is outside the .* whose ids are 0 to 49"):
            vocabulary.target_tokens([3, outside])


def test_the_target_language_goes_first_where_there_are_several() -> None:
    vocabulary = learn(DataConfig(languages=THREE))
    hindi, spanish = (vocabulary.encode_source("the dog", to=to) for to in ("hi", "es"))
    assert vocabulary.source_tokens(hindi)[0] == ">>hi<<"
    assert vocabulary.source_tokens(spanish)[0] == ">>es<<"
    assert hindi[1:] == spanish[1:]
    assert vocabulary.decode_target(hindi, to="hi") == "the dog"
    target = learn(DataConfig(languages=THREE), joint=False, size=30).target
    assert target.piece_to_id(">>hi<<") == target.piece_to_id("no piece"), "only a source has a tag"
    assert [source_language((*THREE, ("fr", "es")), to) for to in ("hi", "en", "es")] == ["en", "fr", None]


def test_a_tag_in_the_text_chooses_the_language_once() -> None:
    vocabulary = learn(DataConfig(languages=THREE))
    assert vocabulary.direction(" >>es<<the dog") == ("the dog", "es")
    assert vocabulary.direction(">>es<< the dog", to="es") == ("the dog", "es")
    assert vocabulary.direction(">>es<< >>es<< the dog") == (">>es<< the dog", "es")
    assert vocabulary.direction(">>es<< the dog", to="hi") == (">>es<< the dog", "hi")
    plain, tagged = (vocabulary.encode_source(text, to="es") for text in ("the dog", ">>es<< the dog"))
    assert plain[0] == tagged[0] and len(tagged) > len(plain)  # what is encoded is text, a tag too


def test_an_unknown_language_is_an_error_that_says_what_there_is() -> None:
    several, one = learn(DataConfig(languages=THREE)), learn()
    for vocabulary, to, message in (
        (several, "de", "the model translates to hi, en, es, not to 'de'. Choose one of these."),
        (several, None, "the model translates to hi, en, es: say which, with to = 'hi'."),
        (one, "de", "the model does not name its languages, so 'de' cannot be chosen. Leave it out."),
    ):
        with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
            vocabulary.encode_source("the dog", to=to)
    with pytest.raises(UsageError, match="not to 'de'"):
        several.direction(">>de<< the")
    many = replace(several, languages=tuple(("en", f"{letter}_Latn") for letter in string.ascii_lowercase))
    with pytest.raises(UsageError, match=r"^the model translates to z_Latn, .* and 6 more, not to 'z'\."):
        many.target_language("z")
    with pytest.raises(UsageError, match=r"^the model translates to a_Latn, .* and 6 more: say which, with"):
        many.target_language()


def test_vocabularies_are_the_same_if_every_text_has_the_same_ids() -> None:
    one, other = learn(DataConfig(languages=THREE)), learn(DataConfig(languages=THREE))
    assert one.same_as(other)
    different: list[dict[str, Any]] = [{"languages": THREE[:2]}, {"preparation": "words"}]
    different += [{side: learn(size=48).source} for side in ("source", "target")]
    different += [{"target": Renumbered(one.source, ["▁the"], {"unknown_id": 0})}]  # type: ignore[arg-type]
    for each in different:
        assert not one.same_as(replace(other, **each)), each


def test_a_piece_of_the_table_alone_is_decoded_too() -> None:
    ids = dict.fromkeys(("pad_id", "unknown_id", "start_id", "end_id"), 0)
    imported = Renumbered(learn().source, ["<unk>", "▁quite▁new", "▁the"], ids)  # type: ignore[arg-type]
    assert imported.decode([2, 1, 2]) == "the quite new the"


def test_text_cannot_spell_a_special_token() -> None:
    vocabulary = learn(DataConfig(languages=THREE))
    tags = {vocabulary.source.piece_to_id(f">>{language}<<") for language in ("hi", "en", "es")}
    assert len(tags) == 3 and vocabulary.unknown_id not in tags
    for text in ("<s> the </s> <pad>", "the >>hi<< dog", ">>es<< >>hi<< dog", "<0x00>", "▁</s>▁"):
        ids = vocabulary.encode_source(text, to="es")
        assert ids[0] == vocabulary.source.piece_to_id(">>es<<")
        assert not tags.intersection(ids[1:])
        assert not {vocabulary.pad_id, vocabulary.start_id, vocabulary.end_id}.intersection(ids[:-1])
    assert vocabulary.end_id not in vocabulary.encode_target("</s> the", to="es")[:-1]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word"])
@pytest.mark.parametrize("byte_fallback", [True, False])
def test_hostile_text_gives_ids(kind: str, byte_fallback: bool) -> None:
    vocabulary = learn(kind=kind, byte_fallback=byte_fallback, size=300 if byte_fallback else 50)
    combining, right_to_left = "e" + "\u0301" * 10_000, "\u202e\u200f\u0627"
    simple = ["", " ", "a\0b", "\ud800 dog \udfff", "\u200b", "😀😀", "▁▁", "\n"]
    for text in (*simple, combining, right_to_left):
        ids = vocabulary.encode_source(text)
        assert ids[-1] == vocabulary.end_id
        assert all(0 <= token < vocabulary.source_size for token in ids)
        assert len(ids) <= 4 * len(text) + 10
        assert isinstance(vocabulary.decode_target(vocabulary.encode_target(text)), str)
        assert len(vocabulary.source_tokens(ids)) == len(ids)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 8000}, "the training text yields at most 58 tokens. Set size = 58 or less, or give more"),
        ({"size": 8000, "joint": False}, "its vocabulary: the source side of the training text yields at"),
        ({"size": 20}, "size = 20: the training text needs at least 41 tokens, one for each character. Set"),
        ({"kind": "word", "sampling": 0.1}, 'sampling = 0.1: only kind = "unigram" knows how probable'),
    ],
)
def test_a_vocabulary_that_cannot_be_learned(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        learn(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("lines", [[], ["", "  "], ["\u200b"]])
def test_no_text_is_an_error(lines: list[str]) -> None:
    with pytest.raises(PellucidError, match=r"size = 60: the training text is empty\. Look at the files in"):
        train_vocabulary(lines, lines, VocabularyConfig(size=60), DataConfig())
    with pytest.raises(PellucidError, match=r"size = 30: the target side of the training text is empty\."):
        train_vocabulary(SOURCES, lines, VocabularyConfig(size=30, joint=False), DataConfig())


def model_file(folder: Path, name: str = "ready.model", **options: object) -> Path:
    with (folder / name).open("wb") as file:
        SentencePieceTrainer.train(
            sentence_iterator=iter(SOURCES), model_writer=file, vocab_size=30, minloglevel=2, **options
        )
    return folder / name


def test_a_ready_made_model_keeps_its_own_ids(tmp_path: Path) -> None:
    ids = {"pad_id": 3, "unk_id": 0, "bos_id": 2, "eos_id": 1}
    path = model_file(tmp_path, control_symbols=[">>hi<<", ">>en<<", ">>es<<"], **ids)
    config = VocabularyConfig(model=(str(path),))
    vocabulary = train_vocabulary([], [], config, DataConfig(languages=THREE))
    assert vocabulary.ids() == {"pad_id": 3, "unknown_id": 0, "start_id": 2, "end_id": 1}
    tokens = vocabulary.source_tokens(vocabulary.encode_source("z", to="hi"))
    assert tokens == [">>hi<<", "▁", "<unk>", "</s>"]
    model = ModelConfig(vocabulary=30, **vocabulary.ids())
    vocabulary.save(tmp_path)
    assert loaded(tmp_path, Config(model=model)).end_id == 1
    own = VocabularyConfig(model=(str(model_file(tmp_path)),))  # by default it has no pad token
    vocabulary = train_vocabulary([], [], own, DataConfig())
    assert vocabulary.ids() == {"pad_id": 0, "unknown_id": 0, "start_id": 1, "end_id": 2}
    assert vocabulary.decode_target(vocabulary.encode_target("QQ")).strip() == "⁇"
    assert vocabulary.target_tokens([0, 1, 2]) == ["<unk>", "<s>", "</s>"]


def test_a_ready_made_model_that_lacks_something(tmp_path: Path) -> None:
    def error(*paths: Path, data: DataConfig | None = None) -> str:
        with pytest.raises(PellucidError) as caught:
            train_vocabulary([], [], VocabularyConfig(model=tuple(map(str, paths))), data or DataConfig())
        return str(caught.value)

    bare = model_file(tmp_path, bos_id=-1)
    assert error(bare).startswith(f"{bare}: this SentencePiece model has no start_id, ")
    full = model_file(tmp_path, "full.model", pad_id=0, unk_id=1, bos_id=2, eos_id=3)
    assert "has no token >>hi<<, which chooses" in error(full, data=DataConfig(languages=THREE))
    other = model_file(tmp_path, "other.model", pad_id=1, unk_id=0, bos_id=2, eos_id=3)
    assert error(full, other).startswith(f"{full} and {other}: the special tokens differ, ")
    assert error(full, full, full).startswith("[vocabulary] model lists 3 files. List one file for both")


def test_a_damaged_vocabulary_is_our_error(tmp_path: Path) -> None:
    path, config = tmp_path / "vocabulary.model", Config(model=ModelConfig(vocabulary=50))
    with pytest.raises(PellucidError, match=r"vocabulary\.source\.model: the vocabulary is missing\."):
        loaded(tmp_path, config)
    learn().save(tmp_path)
    whole = path.read_bytes()
    assert loaded(tmp_path, config).source_size == 50
    for junk in (b"", b"junk", b"\0" * 1000, *(whole[:cut] for cut in range(1, 2000, 70)), whole[:-1]):
        path.write_bytes(junk)
        with pytest.raises(PellucidError) as error:
            loaded(tmp_path, config)
        assert str(path) in str(error.value)
    path.write_bytes(whole)
    with pytest.raises(PellucidError, match="source size = 50, but the model was made with 51: another"):
        loaded(tmp_path, Config(model=ModelConfig(vocabulary=51)))
    path.unlink()
    learn(joint=False, size=30).save(tmp_path)
    wrong = f"{tmp_path / 'vocabulary.target.model'}: target size = 30, but the model was made with 31"
    with pytest.raises(PellucidError, match=re.escape(wrong)):
        loaded(tmp_path, Config(model=ModelConfig(vocabulary=30, target_vocabulary=31)))


def test_each_side_is_prepared_by_its_own_language_and_a_word_is_one_token() -> None:
    languages = (("fr", "en"), ("en", "fr"))
    data, words = (
        DataConfig(preparation="words", languages=languages),
        VocabularyConfig(size=100, kind="word"),
    )
    sides = ["l'ami est là .", "the dog's here"], ["the friend, he is there.", "l'ami dort"]
    vocabulary = train_vocabulary(*sides, words, data, to=["en", "fr"])
    tokens = vocabulary.source_tokens(vocabulary.encode_source("l'ami zebra", to="en"))
    assert tokens == [">>en<<", "l'", "ami", "<unk>", "</s>"]
    ids = vocabulary.encode_target("the friend, is there.", to="en")
    assert vocabulary.target_tokens(ids) == ["the", "friend", ",", "is", "there", ".", "</s>"]
    assert vocabulary.decode_target(ids, to="en") == "the friend, is there."
    assert vocabulary.target_tokens(vocabulary.encode_target("l'ami", to="fr")) == ["l'", "ami", "</s>"]
    assert vocabulary.decode_target(vocabulary.encode_target("l'ami", to="fr"), to="fr") == "l'ami"
    assert vocabulary.source_tokens(vocabulary.encode_source("the dog's", to="fr"))[2] == "dog's"
