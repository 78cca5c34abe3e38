"""Text to tokens to ids, and back: SentencePiece, trained here or ready-made, kept in the model folder.

What is normalised on the way is a setting, [vocabulary] normalization. "nmt_nfkc", the default, folds
compatible characters (½ becomes 1⁄2, ﬁ becomes fi, U+00A0 a space), takes Devanagari letters like U+0958
apart into letter and nukta, drops control characters and makes U+200B a space; "nfkc" leaves the last two
alone; "identity" leaves all; "_cf" lower-cases too. Spaces are tidied always: none at the ends, no two.
"""

import io
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from pellucid.config import Config, DataConfig, VocabularyConfig
from pellucid.errors import PellucidError, UsageError
from pellucid.preparation import prepare, restore
from pellucid.subwords import sampler

JOINT_FILE, SOURCE_FILE, TARGET_FILE = (f"vocabulary{side}.model" for side in ("", ".source", ".target"))
FILES = {JOINT_FILE, SOURCE_FILE, TARGET_FILE}

# Threads: a fixed number, because the model file records it, and the same text is to give the same file.
_TRAINER: dict[str, Any] = dict(pad_id=0, unk_id=1, bos_id=2, eos_id=3, num_threads=4, minloglevel=2)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Text to ids and back, with one SentencePiece model for both sides or one for each."""

    source: SentencePieceProcessor
    target: SentencePieceProcessor  # the same object when the vocabulary is joint
    languages: tuple[tuple[str, str], ...] = ()  # (source, target) pairs; () where nobody named them
    preparation: str = "none"
    kind: str = "unigram"
    pad_id: int = 0
    unknown_id: int = 1
    start_id: int = 2
    end_id: int = 3

    @property
    def source_size(self) -> int:
        """The number of source tokens."""
        return self.source.get_piece_size()

    @property
    def target_size(self) -> int:
        """The number of target tokens."""
        return self.target.get_piece_size()

    def ids(self) -> dict[str, int]:
        """The special ids, named as ModelConfig has them."""
        return _ids(self.target)

    @property
    def target_languages(self) -> tuple[str, ...]:
        """The languages to choose from, each once, in the order of the corpora."""
        return _targets(self.languages)

    def target_language(self, to: str | None = None) -> str | None:
        """The language to translate to, checked; None where the model has one that nobody named."""
        offered = self.target_languages
        names = ", ".join(offered)
        if to is None and len(offered) > 1:
            raise UsageError(
                f"the model translates to {names}: say which, with to={offered[0]!r} or --to {offered[0]}."
            )
        if to is None:
            return offered[0] if offered else None
        if not offered:
            raise UsageError(f"the model does not name its languages, so it takes no {to!r}. Leave it out.")
        if to not in offered:
            raise UsageError(f"the model translates to {names}, not {to!r}. Ask for one that it knows.")
        return to

    def source_language(self, to: str | None) -> str | None:
        """The language that is translated to `to`, or None where it could be one of several."""
        return _source_language(self.languages, to)

    def direction(self, text: str, to: str | None = None) -> tuple[str, str | None]:
        """The sentence and its target language, which a leading >>xx<< may name where there are several."""
        tag = re.match(r"\s*>>([^<>\s]+)<<\s*", text) if len(self.target_languages) > 1 else None
        if tag and to in (None, tag[1]):
            text, to = text[tag.end() :], tag[1]
        return text, self.target_language(to)

    def encode_source(
        self, text: str, to: str | None = None, sampling: float = 0.0, seed: int | None = None
    ) -> list[int]:
        """The ids of a source sentence with its end token; first `>>xx<<` if there are several languages.

        A `>>xx<<` in the text itself is text like any other: who wants it heeded asks `direction` first.
        """
        to = self.target_language(to)
        prepared = prepare(_valid(text), self.preparation, self.source_language(to))
        return [*self._tag(to), *self._encode(self.source, prepared, sampling, seed), self.end_id]

    def encode_target(
        self, text: str, to: str | None = None, sampling: float = 0.0, seed: int | None = None
    ) -> list[int]:
        """The ids of a target sentence with its end token, without a start token."""
        prepared = prepare(_valid(text), self.preparation, self.target_language(to))
        return [*self._encode(self.target, prepared, sampling, seed), self.end_id]

    def decode_target(self, ids: Sequence[int], to: str | None = None) -> str:
        """The text of target ids; pad, start and end say nothing, what is unknown is ⁇."""
        several = len(self.target_languages) > 1
        language = None if several and to is None else self.target_language(to)
        silent = {self.pad_id, self.start_id, self.end_id} - {self.unknown_id}
        text = self.target.decode([token for token in _known(ids, self.target) if token not in silent])
        return restore(text, self.preparation, language)

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        """A label for each source id."""
        return self._labels(ids, self.source)

    def target_tokens(self, ids: Sequence[int]) -> list[str]:
        """A label for each target id."""
        return self._labels(ids, self.target)

    def save(self, folder: Path) -> None:
        """Writes vocabulary.model, or one such file for each side."""
        joint = self.source is self.target
        files = {JOINT_FILE: self.source} if joint else {SOURCE_FILE: self.source, TARGET_FILE: self.target}
        for name, model in files.items():
            (folder / name).write_bytes(model.serialized_model_proto())

    def _encode(
        self, model: SentencePieceProcessor, text: str, sampling: float, seed: int | None
    ) -> list[int]:
        """With sampling, a random segmentation: by probability ** sampling (unigram), or merges dropped
        (bpe)."""
        if not sampling:
            return model.encode(text)
        return sampler(model, self.kind).encode(text, sampling, random.Random(seed))

    def _tag(self, to: str | None) -> list[int]:
        return [self.source.piece_to_id(f">>{to}<<")] if len(self.target_languages) > 1 else []

    def _labels(self, ids: Sequence[int], model: SentencePieceProcessor) -> list[str]:
        special = {self.pad_id: "<pad>", self.unknown_id: "<unk>", self.start_id: "<s>", self.end_id: "</s>"}
        pieces = [special.get(token) or model.id_to_piece(token) for token in _known(ids, model)]
        return [piece.removeprefix("▁") for piece in pieces] if self.kind == "word" else pieces


def train_vocabulary(
    sources: Iterable[str],
    targets: Iterable[str],
    config: VocabularyConfig,
    data: DataConfig,
    to: Iterable[str | None] | None = None,
) -> Vocabulary:
    """A vocabulary learned from parallel text, or the ready-made one that the configuration names.

    `to`: the target language of each pair, for the preparation; not needed where there is only one.
    With kind = "word", `size` is an upper limit: every word of a smaller text is a token.
    """
    if len(config.model) > 2:
        raise UsageError(
            f"[vocabulary] model names {len(config.model)} files. Give one, or one for each side."
        )
    if config.model:
        return _ready_made({name: _read(Path(name)) for name in config.model}, config.kind, data)
    if config.kind == "word" and config.sampling:
        raise UsageError(
            f'[vocabulary] sampling = {config.sampling}: with kind = "word" there is nothing to sample, '
            "a word is one token. Set sampling = 0, or another kind."
        )
    offered = _targets(data.languages)
    languages = list(to) if to is not None else repeat(offered[0] if len(offered) == 1 else None)
    source_text = [
        prepare(_valid(line), data.preparation, _source_language(data.languages, language))
        for line, language in zip(sources, languages, strict=False)
    ]
    target_text = [
        prepare(_valid(line), data.preparation, language)
        for line, language in zip(targets, languages, strict=False)
    ]
    tags = [f">>{language}<<" for language in offered] if len(offered) > 1 else []
    if config.joint:
        source = target = _train(source_text + target_text, "", config, tags)
    else:
        source = _train(source_text, "the source side of ", config, tags)
        target = _train(target_text, "the target side of ", config, [])
    return Vocabulary(source, target, data.languages, data.preparation, config.kind)


def load_vocabulary(folder: Path, config: Config, files: Mapping[str, bytes]) -> Vocabulary:
    """The vocabulary among the files of a model folder, which must be the one that the model was made for."""
    names = [JOINT_FILE] if JOINT_FILE in files else [SOURCE_FILE, TARGET_FILE]
    for name in names:
        if name not in files:
            raise PellucidError(f"{folder / name}: the vocabulary is missing. Copy the model folder again.")
    protos = {str(folder / name): files[name] for name in names}
    vocabulary = _ready_made(protos, config.vocabulary.kind, config.data)
    sizes = {"source size": vocabulary.source_size, "target size": vocabulary.target_size}
    expected = {"source size": config.model.vocabulary, "target size": config.model.target_size}
    expected |= {name: getattr(config.model, name) for name in vocabulary.ids()}
    for name, value in (sizes | vocabulary.ids()).items():
        if value != expected[name]:
            raise PellucidError(
                f"{folder / names[-1 if name.startswith('target') else 0]}: {name} = {value}, but the model "
                f"was made with {expected[name]}: another model's vocabulary. Copy the model folder again."
            )
    return vocabulary


def _train(text: list[str], side: str, config: VocabularyConfig, tags: list[str]) -> SentencePieceProcessor:
    proto = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(text),
            model_writer=proto,
            model_type=config.kind,
            vocab_size=config.size,
            hard_vocab_limit=config.kind != "word",
            normalization_rule_name=config.normalization,
            character_coverage=config.character_coverage,
            byte_fallback=config.byte_fallback,
            control_symbols=tags,  # no text can spell one, so nobody changes the language inside a sentence
            **_TRAINER,
        )
    except RuntimeError as error:
        raise _explained(str(error), side, config) from None
    return SentencePieceProcessor(model_proto=proto.getvalue())


def _explained(error: str, side: str, config: VocabularyConfig) -> PellucidError:
    start = f"[vocabulary] size = {config.size}: "
    if most := re.search(r"value <= (\d+)", error):
        return UsageError(
            f"{start}the corpus is too small for its vocabulary: {side}the training text yields at most "
            f"{most[1]} tokens. Set size = {most[1]} or less, or give more text."
        )
    if least := re.search(r"required_chars\. \d+ vs (\d+)", error):
        return UsageError(
            f"{start}{side}the training text needs at least {least[1]} tokens, one for each character. "
            f"Set size = {least[1]} or more, or lower character_coverage."
        )
    if "sentences_.empty()" in error or "all_chars_count" in error:
        return PellucidError(f"{start}{side}the training text is empty. Look at the files in [data] train.")
    return PellucidError(f"{start}SentencePiece could not learn it from {side}the training text: {error}")


def _ready_made(protos: Mapping[str, bytes], kind: str, data: DataConfig) -> Vocabulary:
    """A vocabulary of one or two SentencePiece models, by the names of their files."""
    paths, models = list(protos), [_parse(proto, path) for path, proto in protos.items()]
    ids = [_ids(model) for model in models]
    for path, found in zip(paths, ids, strict=True):
        if missing := " and no ".join(name for name, token in found.items() if token < 0):
            raise PellucidError(
                f"{path}: this SentencePiece model has no {missing}, and a translator needs it. "
                "Train it with --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3."
            )
    if ids[0] != ids[-1]:
        raise PellucidError(
            f"{paths[0]} and {paths[-1]}: the special tokens differ, {ids[0]} and {ids[-1]}. "
            "Train both models with the same ids."
        )
    vocabulary = Vocabulary(models[0], models[-1], data.languages, data.preparation, kind, **ids[0])
    for language in vocabulary.target_languages:
        if vocabulary._tag(language) == [vocabulary.unknown_id]:
            raise PellucidError(
                f"{paths[0]}: this SentencePiece model has no token >>{language}<<, which chooses the "
                f"language to translate to. Train it with --control_symbols='>>{language}<<'."
            )
    return vocabulary


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PellucidError(f"{path}: the vocabulary cannot be read: {error.strerror}.") from None


def _parse(proto: bytes, path: str) -> SentencePieceProcessor:
    model = SentencePieceProcessor()
    try:
        model.LoadFromSerializedProto(proto)
    except RuntimeError:
        raise PellucidError(f"{path}: not a SentencePiece model, or a damaged one. Copy it again.") from None
    return model


def _valid(text: str) -> str:
    """Half a surrogate pair is no character, and UTF-8 cannot write it: it becomes a question mark."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _ids(model: SentencePieceProcessor) -> dict[str, int]:
    # SentencePiece makes no pad token unless it is asked to. The unknown one can stand in: padding is masked
    # everywhere, and neither of the two is ever said.
    pad = model.pad_id() if model.pad_id() >= 0 else model.unk_id()
    special = (pad, model.unk_id(), model.bos_id(), model.eos_id())
    return dict(zip(("pad_id", "unknown_id", "start_id", "end_id"), special, strict=True))


def _known(ids: Sequence[int], model: SentencePieceProcessor) -> list[int]:
    size = model.get_piece_size()
    if outside := [token for token in ids if not 0 <= token < size]:
        raise UsageError(f"id {outside[0]} is outside the vocabulary, whose ids are 0 to {size - 1}.")
    return [int(token) for token in ids]


def _targets(languages: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(target for _, target in languages))


def _source_language(languages: Iterable[tuple[str, str]], to: str | None) -> str | None:
    possible = {source for source, target in languages if target == to}
    return possible.pop() if len(possible) == 1 else None
