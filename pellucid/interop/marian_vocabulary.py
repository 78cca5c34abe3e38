"""MarianMT's tokens: a SentencePiece model for each side, and vocab.json, which has other ids than theirs."""

from collections.abc import Mapping
from typing import Any

from pellucid.config.schema import DataConfig
from pellucid.errors import PellucidError
from pellucid.interop.foreign import Foreign
from pellucid.interop.pieces import SIDES, by_id, check_table
from pellucid.text.renumbered import Renumbered, kind_of
from pellucid.text.vocabulary import SOURCE_FILE, TARGET_FILE, Vocabulary, parse, ready_made

TABLE, TARGET_TABLE = "vocab.json", "target_vocab.json"
NAMES = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}


def read_vocabulary(foreign: Foreign, settings: Mapping[str, Any]) -> Vocabulary | None:
    """Return the vocabulary of a folder, with the ids of its own tokenizer; None where it has faults."""
    faults = len(foreign.faults)
    protos = {name: content for name in SIDES if (content := foreign.bytes(name)) is not None}
    models = []
    for name, content in protos.items():
        try:
            models.append(parse(content, name))
        except PellucidError as error:
            foreign.faults.append(str(error))
    separate = bool(foreign.tokenizer.get("separate_vocabs"))
    sizes = (settings["vocab_size"], settings["decoder_vocab_size"] or settings["vocab_size"])
    tables = [foreign.json(name) for name in ((TABLE, TARGET_TABLE) if separate else (TABLE, TABLE))]
    names = (TABLE, TARGET_TABLE if separate else TABLE)
    special = [_special(foreign, table, settings, name) for table, name in zip(tables, names, strict=True)]
    for table, size, name in zip(tables, sizes, names, strict=True):
        check_table(foreign, table, size, name)
    if len(foreign.faults) > faults or len(models) < 2:
        return None
    for model, table, name in zip(models, tables, SIDES, strict=True):
        _check_pieces(foreign, model, table, name)
    if special[0] != special[1]:
        foreign.faults.append(f"{TARGET_TABLE}: its special tokens have other ids than those of {TABLE}.")
    languages = _languages(foreign, tables[0])
    kind = kind_of(models[0])
    tokens = [by_id(table, size) for table, size in zip(tables, sizes, strict=True)]
    plain = _plain(protos, tokens, special[0], kind, languages)
    if plain is not None:
        return plain
    source, target = (Renumbered(model, each, special[0]) for model, each in zip(models, tokens, strict=True))
    same = protos[SIDES[0]] == protos[SIDES[1]] and tokens[0] == tokens[1]
    return Vocabulary(source, source if same else target, languages, "none", kind, **special[0])


def _special(
    foreign: Foreign, table: Mapping[str, Any], settings: Mapping[str, Any], name: str
) -> dict[str, int]:
    """Return the special ids, once those of the table are those of the configuration."""
    tokens = {each: foreign.tokenizer.get(each) or usual for each, usual in NAMES.items()}
    tokens = {each: token["content"] if isinstance(token, dict) else token for each, token in tokens.items()}
    for each, setting in {"eos_token": "eos_token_id", "pad_token": "pad_token_id"}.items():
        found = table.get(tokens[each])
        if table and found != settings[setting]:
            foreign.faults.append(
                f"{name}: {tokens[each]} has id {found}, but config.json says "
                f"{setting} = {settings[setting]}."
            )
    if table and tokens["unk_token"] not in table:
        foreign.faults.append(f"{name}: there is no {tokens['unk_token']}.")
    start = foreign.generation.get("decoder_start_token_id") or settings["decoder_start_token_id"]
    return {
        "pad_id": settings["pad_token_id"],
        "unknown_id": table.get(tokens["unk_token"], 1),
        "start_id": start,
        "end_id": settings["eos_token_id"],
    }


def _check_pieces(foreign: Foreign, model: Any, table: Mapping[str, int], name: str) -> None:
    """A table that has few of a model's pieces belongs to another model."""
    known = sum(model.id_to_piece(token) in table for token in range(model.get_piece_size()))
    if known * 2 < model.get_piece_size():
        foreign.faults.append(
            f"{name}: only {known} of its {model.get_piece_size()} pieces have an id: another vocabulary."
        )


def _languages(foreign: Foreign, table: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of languages: the codes >>xx<< that the table has, or what the tokenizer says."""
    source, target = (foreign.tokenizer.get(f"{side}_lang") for side in ("source", "target"))
    codes = [token[2:-2] for token in table if token.startswith(">>") and token.endswith("<<")]
    if codes:
        return tuple((str(source or "?"), code) for code in codes)
    return ((str(source), str(target)),) if source and target else ()


def _plain(
    protos: Mapping[str, bytes],
    tokens: list[list[str | None]],
    special: Mapping[str, int],
    kind: str,
    languages: tuple[tuple[str, str], ...],
) -> Vocabulary | None:
    """Return the vocabulary where ids are SentencePiece's own, as in a folder that we exported."""
    source, target = protos.values()
    files = {SOURCE_FILE: source} if source == target else {SOURCE_FILE: source, TARGET_FILE: target}
    try:
        vocabulary = ready_made(files, kind, DataConfig(languages=languages))
    except PellucidError:
        return None
    own = [
        [model.id_to_piece(token) for token in range(model.get_piece_size())]
        for model in (vocabulary.source, vocabulary.target)
    ]
    return vocabulary if own == tokens and vocabulary.ids() == special else None
