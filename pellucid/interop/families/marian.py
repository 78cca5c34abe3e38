"""MarianMT, the class of the OPUS-MT translators. Its tokens: a SentencePiece model for each side, and
vocab.json, whose ids differ from SentencePiece's."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sentencepiece import SentencePieceProcessor

from pellucid.config.schema import DataConfig
from pellucid.errors import PellucidError, UsageError
from pellucid.interop.families.bart import DEFAULTS, Family
from pellucid.interop.foreign import TOKENIZER, Foreign
from pellucid.interop.pieces import SIDES, by_id, check_table, read_pieces, special_ids, tokens_of
from pellucid.text.renumbered import Renumbered, kind_of
from pellucid.text.vocabulary import SOURCE_FILE, TARGET_FILE, Vocabulary, make_vocabulary

TABLE, TARGET_TABLE = "vocab.json", "target_vocab.json"
SAID = {"separate_vocabs": bool, "source_lang": str, "target_lang": str}
NAMES = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}


def read_vocabulary(foreign: Foreign, settings: Mapping[str, Any]) -> Vocabulary:
    """Return the vocabulary of a MarianMT folder, with its tokenizer's ids."""
    foreign.check(TOKENIZER, foreign.tokenizer, SAID)
    names = (TABLE, TARGET_TABLE if foreign.tokenizer.get("separate_vocabs") else TABLE)
    models = [read_pieces(foreign, name) for name in SIDES]
    return number_pieces(foreign, settings, models, [foreign.json(name) for name in names], names)


def number_pieces(
    foreign: Foreign,
    settings: Mapping[str, Any],
    models: Sequence[SentencePieceProcessor],
    tables: Sequence[Mapping[str, Any]],
    names: Sequence[str],
) -> Vocabulary:
    """Return the vocabulary of a SentencePiece model for each side, with the ids of a table for each. names:
    of the files with the tables."""
    if foreign.source_language is not None:
        raise UsageError(
            f"{foreign.folder}: this model has one source language, so {foreign.source_language!r} cannot be "
            "chosen. Leave it out: only M2M100 and NLLB have several."
        )
    sizes = (settings["vocab_size"], settings["decoder_vocab_size"] or settings["vocab_size"])
    for table, size, name in zip(tables, sizes, names, strict=True):
        check_table(foreign, table, size, name)
    special, other = (_special(foreign, *each, settings) for each in zip(tables, names, strict=True))
    if special != other:
        raise foreign.fault(f"{names[1]}: its special tokens have other ids than those of {names[0]}.")
    for model, table, name in zip(models, tables, SIDES, strict=True):
        _check_pieces(foreign, tokens_of(model), table, name)
    (source, target), languages, kind = models, _languages(foreign, tables[0]), kind_of(models[0])
    tokens = [by_id(table, size) for table, size in zip(tables, sizes, strict=True)]
    protos = {SOURCE_FILE: source.serialized_model_proto(), TARGET_FILE: target.serialized_model_proto()}
    same = protos[SOURCE_FILE] == protos[TARGET_FILE]
    if same:
        del protos[TARGET_FILE]
    with suppress(PellucidError):  # ids that are SentencePiece's own, as in a folder that we exported
        plain = make_vocabulary(protos, kind, DataConfig(languages=languages))
        if [tokens_of(plain.source), tokens_of(plain.target)] == tokens and plain.ids() == special:
            return plain
    sides = [Renumbered(*each, special) for each in zip(models, tokens, strict=True)]
    joint = same and tokens[0] == tokens[1]
    return Vocabulary(sides[0], sides[0 if joint else 1], languages, "none", kind, {}, **special)


def _special(
    foreign: Foreign, table: Mapping[str, Any], name: str, settings: Mapping[str, Any]
) -> dict[str, int]:
    """Return the ids of the special tokens. Raise an error if the table and the configuration disagree."""
    tokens: dict[str, Any] = {}
    for each, usual in NAMES.items():
        said = foreign.tokenizer.get(each) or usual
        tokens[each] = said.get("content") if isinstance(said, dict) else said
        if not isinstance(tokens[each], str):
            raise foreign.fault(f"{TOKENIZER}: {each} = {said!r:.60} is not a token.")
        if tokens[each] not in table:
            raise foreign.fault(f"{name}: there is no {tokens[each]}.")
    for each, setting in {"eos_token": "eos_token_id", "pad_token": "pad_token_id"}.items():
        found = table[tokens[each]]
        if found != settings[setting]:
            raise foreign.fault(
                f"{name}: {tokens[each]} has id {found}, but {foreign.settings_in} says "
                f"{setting} = {settings[setting]}."
            )
    return special_ids(foreign, settings, table[tokens["unk_token"]])


def _check_pieces(foreign: Foreign, tokens: Sequence[str], table: Mapping[str, int], name: str) -> None:
    """Raise an error if the table has fewer than half of a SentencePiece model's pieces, because it then
    belongs to another model."""
    known = sum(token in table for token in tokens)
    if known * 2 < len(tokens):
        raise foreign.fault(
            f"{name}: only {known} of its {len(tokens)} pieces have an id: another vocabulary."
        )


def _languages(foreign: Foreign, table: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """Return the language pairs: from tokens such as >>de<< in the table, or else as the tokenizer names
    them."""
    source, target = (foreign.tokenizer.get(f"{side}_lang") for side in ("source", "target"))
    codes = [token[2:-2] for token in table if token.startswith(">>") and token.endswith("<<")]
    if codes:
        return tuple((str(source or "?"), code) for code in codes)
    return ((str(source), str(target)),) if source and target else ()


FAMILY = Family(
    model_type="marian",
    name="MarianMT (OPUS-MT)",
    defaults=DEFAULTS,
    tokenizer="MarianTokenizer",
    tokenizers={"MarianTokenizer": read_vocabulary},
)
