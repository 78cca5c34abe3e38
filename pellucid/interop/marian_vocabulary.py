"""MarianMT's tokens: a SentencePiece model for each side, and vocab.json, whose ids differ from
SentencePiece's."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pellucid.config.schema import DataConfig
from pellucid.errors import PellucidError
from pellucid.interop.foreign import TOKENIZER, Foreign
from pellucid.interop.pieces import SIDES, by_id, check_table, read_pieces, special_ids, tokens_of
from pellucid.text.renumbered import Renumbered, kind_of
from pellucid.text.vocabulary import SOURCE_FILE, TARGET_FILE, Vocabulary, make_vocabulary

TABLE, TARGET_TABLE = "vocab.json", "target_vocab.json"
NAMES = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}


def read_vocabulary(foreign: Foreign, settings: Mapping[str, Any]) -> Vocabulary | None:
    """Return the vocabulary of a MarianMT folder, with its tokenizer's ids. If something is wrong, note the
    problems and return None."""
    faults = len(foreign.faults)
    source, target = (read_pieces(foreign, name) for name in SIDES)
    sizes = (settings["vocab_size"], settings["decoder_vocab_size"] or settings["vocab_size"])
    names = (TABLE, TARGET_TABLE if foreign.tokenizer.get("separate_vocabs") else TABLE)
    tables = [foreign.json(name) for name in names]
    special = [_special(foreign, table, settings, name) for table, name in zip(tables, names, strict=True)]
    for table, size, name in zip(tables, sizes, names, strict=True):
        check_table(foreign, table, size, name)
    if len(foreign.faults) > faults or source is None or target is None:
        return None
    for model, table, name in zip((source, target), tables, SIDES, strict=True):
        _check_pieces(foreign, model, table, name)
    if special[0] != special[1]:
        foreign.faults.append(f"{TARGET_TABLE}: its special tokens have other ids than those of {TABLE}.")
    languages, kind = _languages(foreign, tables[0]), kind_of(source)
    tokens = [by_id(table, size) for table, size in zip(tables, sizes, strict=True)]
    protos = {SOURCE_FILE: source.serialized_model_proto(), TARGET_FILE: target.serialized_model_proto()}
    same = protos[SOURCE_FILE] == protos[TARGET_FILE]
    if same:
        del protos[TARGET_FILE]
    with suppress(PellucidError):  # ids that are SentencePiece's own, as in a folder that we exported
        plain = make_vocabulary(protos, kind, DataConfig(languages=languages))
        if [tokens_of(plain.source), tokens_of(plain.target)] == tokens and plain.ids() == special[0]:
            return plain
    sides = [Renumbered(*each, special[0]) for each in zip((source, target), tokens, strict=True)]
    joint = same and tokens[0] == tokens[1]
    return Vocabulary(sides[0], sides[0 if joint else 1], languages, "none", kind, **special[0])


def _special(
    foreign: Foreign, table: Mapping[str, Any], settings: Mapping[str, Any], name: str
) -> dict[str, int]:
    """Return the ids of the special tokens; note a problem if the table and the configuration disagree."""
    tokens = {each: foreign.tokenizer.get(each) or usual for each, usual in NAMES.items()}
    tokens = {
        each: token.get("content") if isinstance(token, dict) else token for each, token in tokens.items()
    }
    for each, token in tokens.items():
        if not isinstance(token, str):
            foreign.faults.append(f"{TOKENIZER}: {each} = {foreign.tokenizer[each]!r:.60} is not a token.")
            return special_ids(foreign, settings, 1)
    for each, setting in {"eos_token": "eos_token_id", "pad_token": "pad_token_id"}.items():
        found = table.get(tokens[each])
        if table and found != settings[setting]:
            foreign.faults.append(
                f"{name}: {tokens[each]} has id {found}, but config.json says "
                f"{setting} = {settings[setting]}."
            )
    if table and tokens["unk_token"] not in table:
        foreign.faults.append(f"{name}: there is no {tokens['unk_token']}.")
    return special_ids(foreign, settings, table.get(tokens["unk_token"], 1))


def _check_pieces(foreign: Foreign, model: Any, table: Mapping[str, int], name: str) -> None:
    """Note a problem if the table has fewer than half of the SentencePiece model's pieces, because it then
    belongs to another model."""
    tokens = tokens_of(model)
    known = sum(token in table for token in tokens)
    if known * 2 < len(tokens):
        foreign.faults.append(
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
