"""Text to tokens to ids and back, with the SentencePiece models of the model folder.

[vocabulary] normalization chooses how text is normalised. "nmt_nfkc", the default, folds compatible
characters (½ becomes 1⁄2, ﬁ becomes fi, U+00A0 a space), splits Devanagari letters like U+0958 into letter
and nukta, drops control characters and makes U+200B a space; "nfkc" does not do the last two; "identity"
changes no character; "_cf" also lower-cases. Spaces at the ends and repeated spaces are always removed.
"""

import json
import operator
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from pellucid.config.schema import Config, DataConfig
from pellucid.errors import PellucidError, Setting, UsageError, list_known
from pellucid.text.preparation import prepare, restore, valid
from pellucid.text.renumbered import IDS_FILE, Pieces, Renumbered, ids_file, renumber, table_of
from pellucid.text.subwords import sample

JOINT_FILE, SOURCE_FILE, TARGET_FILE = (f"vocabulary{side}.model" for side in ("", ".source", ".target"))
WORDS_FILE = "words.json"
FILES = {JOINT_FILE, SOURCE_FILE, TARGET_FILE, IDS_FILE, WORDS_FILE}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A converter from text to ids and back, with one SentencePiece model for both sides or for each side."""

    source: Pieces
    target: Pieces  # the same object when the vocabulary is joint
    languages: tuple[tuple[str, str], ...] = ()  # (source, target) pairs; () if the data name none
    preparation: str = "none"
    kind: str = "unigram"
    words_of: Mapping[str, list[int]] = field(default_factory=dict, repr=False)  # each language's, if known
    pad_id: int = 0
    unknown_id: int = 1
    start_id: int = 2
    end_id: int = 3

    @property
    def source_size(self) -> int:
        """Return the number of tokens on the source side."""
        return self.source.get_piece_size()

    @property
    def target_size(self) -> int:
        """Return the number of tokens on the target side."""
        return self.target.get_piece_size()

    @property
    def joint(self) -> bool:
        """Return whether both sides use the same SentencePiece model."""
        return self.source is self.target

    @property
    def same_ids(self) -> bool:
        """Return whether an id means the same token on both sides, even if the sides split text
        differently."""
        tables = table_of(self.source), table_of(self.target)
        return self.joint or (tables[0] is not None and tables[0] == tables[1])

    def same_as(self, other: "Vocabulary") -> bool:
        """Return whether every text has the same ids in both vocabularies."""
        mine, theirs = (
            [(side.serialized_model_proto(), table_of(side)) for side in (each.source, each.target)]
            for each in (self, other)
        )
        return (mine, self.languages, self.preparation) == (theirs, other.languages, other.preparation)

    def ids(self) -> dict[str, int]:
        """Return the ids of the special tokens, by their names in ModelConfig, such as "pad_id"."""
        return _ids(self.target)

    @cached_property  # asked for every line of a corpus
    def target_languages(self) -> tuple[str, ...]:
        """Return the languages that `to` can be, in the order of the corpora; () if they have no names."""
        return targets_of(self.languages)

    def target_language(self, to: str | None = None) -> str | None:
        """Return the target language: `to`, or the only one if `to` is None. Return None if the languages
        have no names. Raise an error if `to` is unknown, or is missing where there are several languages."""
        offered = self.target_languages
        if to is None:
            if len(offered) > 1:
                choice = Setting("to", offered[0])
                names = list_known(offered)
                raise UsageError("the model translates to {}: say which, with {}.", names, choice)
            return offered[0] if offered else None
        if not offered:
            raise UsageError(
                f"the model does not name its languages, so {to!r} cannot be chosen. Leave it out."
            )
        if to not in offered:
            names = list_known(offered, to)
            raise UsageError(f"the model translates to {names}, not to {to!r}. Choose one of these.")
        return to

    def source_language(self, to: str | None) -> str | None:
        """Return the source language of translations to `to`, or None if there are several."""
        return source_language(self.languages, to)

    def direction(self, text: str, to: str | None = None) -> tuple[str, str | None]:
        """Return the sentence without a leading >>xx<<, and its target language, which >>xx<< may choose if
        the model has several."""
        tag = re.match(r"\s*>>([^<>\s]+)<<\s*", text) if len(self.target_languages) > 1 else None
        if tag and to in (None, tag[1]):
            text, to = text[tag.end() :], tag[1]
        return text, self.target_language(to)

    def encode_source(self, text: str, to: str | None = None) -> list[int]:
        """Return the ids of a source with its end token. If there are several languages, the tag `>>xx<<`
        comes first.

        A `>>xx<<` in the text itself is ordinary text here; `direction` reads it.
        """
        to = self.target_language(to)
        prepared = prepare(valid(text), self.preparation, self.source_language(to))
        return [*self._tag(to), *self.source.encode(prepared), self.end_id]

    def encode_target(self, text: str, to: str | None = None) -> list[int]:
        """Return the ids of a target with its end token, without a start token."""
        prepared = prepare(valid(text), self.preparation, self.target_language(to))
        return [*self.target_tag(to), *self.target.encode(prepared), self.end_id]

    def sample(
        self, source: Sequence[int], target: Sequence[int], power: float, chance: random.Random
    ) -> tuple[list[int], list[int]]:
        """Return the ids of the same source and target, their words split at random."""
        sides = (self.source, source), (self.target, target)  # no imported ones
        first, second = (sample(model, ids, power, chance) for model, ids in sides)  # type: ignore[arg-type]
        return first, second

    def unknown_in(self, text: str, to: str | None = None, target: bool = False) -> list[str]:
        """Return the words or characters of a source (or of a target) that the vocabulary does not have."""
        language = self.target_language(to) if target else self.source_language(to)
        model = self.target if target else self.source
        splits = model.model if isinstance(model, Renumbered) else model
        pieces = splits.encode(prepare(valid(text), self.preparation, language), out_type=str)
        unknown = (piece for piece in pieces if model.piece_to_id(piece) == self.unknown_id)
        # SentencePiece joins unknown words that follow each other to one token.
        return [word for piece in unknown for word in piece.split("▁") if word]

    def decode_target(self, ids: Sequence[int], to: str | None = None) -> str:
        """Return the text of target ids, without pad, start and end tokens; an unknown token becomes ⁇."""
        several = len(self.target_languages) > 1
        language = None if several and to is None else self.target_language(to)
        silent = {self.pad_id, self.start_id, self.end_id, *self._codes().values()} - {self.unknown_id}
        text = self.target.decode([token for token in check_ids(ids, self.target) if token not in silent])
        return restore(text, self.preparation, language)

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the tokens of source ids as readable text, such as "▁cats"."""
        return self._labels(ids, self.source)

    def target_tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the tokens of target ids as readable text, such as "▁gatos"."""
        return self._labels(ids, self.target)

    def save(self, folder: Path) -> None:
        """Write vocabulary.model, or vocabulary.source.model and vocabulary.target.model, and the tables."""
        sides = {SOURCE_FILE: self.source, TARGET_FILE: self.target}
        for name, model in ({JOINT_FILE: self.source} if self.joint else sides).items():
            (folder / name).write_bytes(model.serialized_model_proto())
        if (ids := ids_file(self.source, self.target)) is not None:
            (folder / IDS_FILE).write_bytes(ids)
        if self.words_of:
            (folder / WORDS_FILE).write_bytes(json.dumps(self.words_of).encode())

    def target_tag(self, to: str | None) -> list[int]:
        """Return the id of the target language with which M2M100 and NLLB begin a target; else []."""
        code = self._codes().get(self.target_language(to) or "")
        return [] if code is None else [code]

    def count_tags(self, target: Sequence[int]) -> int:
        """Return how many tokens at the beginning of a target name a language: 1 in M2M100 and NLLB."""
        return sum(token in self._codes().values() for token in target[:1])

    def _codes(self) -> Mapping[str, int]:
        """Return {language: id} in models whose texts begin with their language; {} in others."""
        return self.source.codes if isinstance(self.source, Renumbered) else {}

    def _tag(self, to: str | None) -> list[int]:
        if codes := self._codes():
            return [codes[self.source_language(to) or ""]]
        return [self.source.piece_to_id(f">>{to}<<")] if len(self.target_languages) > 1 else []

    def _labels(self, ids: Sequence[int], model: Pieces) -> list[str]:
        special = {self.start_id: "<s>", self.pad_id: "<pad>", self.unknown_id: "<unk>", self.end_id: "</s>"}
        pieces = [special.get(token) or model.id_to_piece(token) for token in check_ids(ids, model)]
        return [piece.removeprefix("▁") for piece in pieces] if self.kind == "word" else pieces


def load_vocabulary(folder: Path, config: Config, files: Mapping[str, bytes]) -> Vocabulary:
    """Load the vocabulary of a model folder; raise an error if it is missing, or does not fit the model."""
    names = [JOINT_FILE] if JOINT_FILE in files else [SOURCE_FILE, TARGET_FILE]
    for name in names:
        if name not in files:
            raise PellucidError(f"{folder / name}: the vocabulary is missing. Copy the model folder again.")
    protos = {str(folder / name): files[name] for name in names}
    vocabulary = make_vocabulary(protos, config.vocabulary.kind, config.data, files.get(IDS_FILE))
    sizes = {"source size": config.model.vocabulary, "target size": config.model.target_size}
    found = {"source size": vocabulary.source_size, "target size": vocabulary.target_size} | vocabulary.ids()
    for name, value in found.items():
        expected = sizes[name] if name in sizes else getattr(config.model, name)
        if value != expected:
            raise PellucidError(
                f"{folder / names[-1 if name.startswith('target') else 0]}: {name} = {value}, but the model "
                f"was made with {expected}: another model's vocabulary. Copy the model folder again."
            )
    return replace(vocabulary, words_of=json.loads(files.get(WORDS_FILE, b"{}")))


def make_vocabulary(
    protos: Mapping[str, bytes], kind: str, data: DataConfig, table: bytes | None = None
) -> Vocabulary:
    """Make a vocabulary of one or two existing SentencePiece models, whose bytes are given by file name.

    table: the content of a vocabulary.json, which gives other ids to the pieces.
    """
    paths = list(protos)
    models: list[Pieces] = [parse(proto, path) for path, proto in protos.items()]
    if table is not None:
        models = [*renumber(models, table, str(Path(paths[0]).parent / IDS_FILE))]
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
    vocabulary = Vocabulary(models[0], models[-1], data.languages, data.preparation, kind, {}, **ids[0])
    for language in vocabulary.target_languages:
        if vocabulary._tag(language) == [vocabulary.unknown_id]:
            raise PellucidError(
                f"{paths[0]}: this SentencePiece model has no token >>{language}<<, which chooses the "
                f"language to translate to. Train it with --control_symbols='>>{language}<<'."
            )
    return vocabulary


def parse(proto: bytes, path: str) -> SentencePieceProcessor:
    """Read a SentencePiece model from the bytes of its file; raise an error if it is damaged."""
    model = SentencePieceProcessor()
    try:
        model.LoadFromSerializedProto(proto)
    except RuntimeError:
        raise PellucidError(f"{path}: not a SentencePiece model, or a damaged one. Copy it again.") from None
    return model


def _ids(model: Pieces) -> dict[str, int]:
    if isinstance(model, Renumbered):
        return model.special
    # SentencePiece makes a pad token only if asked to. The unknown token can replace it: padding is masked
    # everywhere, and the model writes neither of the two.
    pad = model.pad_id() if model.pad_id() >= 0 else model.unk_id()
    special = (pad, model.unk_id(), model.bos_id(), model.eos_id())
    return dict(zip(("pad_id", "unknown_id", "start_id", "end_id"), special, strict=True))


def check_ids(ids: Sequence[int], model: Pieces) -> list[int]:
    """Return ids as a list of int; raise an error for one that is no whole number, or that no token has."""
    tokens = list[int]()
    try:
        tokens.extend(map(operator.index, ids))
    except TypeError:  # the tokens before the wrong one are in the list
        wrong = ids[len(tokens)]
        kind = type(wrong).__name__
        raise UsageError(f"{wrong!r} is no id but a {kind}. Give whole numbers, as int.") from None
    size = model.get_piece_size()
    if tokens and not 0 <= min(tokens) <= max(tokens) < size:
        outside = next(token for token in tokens if not 0 <= token < size)
        raise UsageError(f"id {outside} is outside the vocabulary, whose ids are 0 to {size - 1}.")
    return tokens


def targets_of(languages: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the target languages of (source, target) pairs, each once."""
    return tuple(dict.fromkeys(target for _, target in languages))


def source_language(languages: Iterable[tuple[str, str]], to: str | None) -> str | None:
    """Return the source language of translations to `to`, or None if there are several."""
    possible = {source for source, target in languages if target == to}
    return possible.pop() if len(possible) == 1 else None
