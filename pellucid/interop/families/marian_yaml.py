"""What Marian says in YAML: settings, how a model translates, and the ids of tokens."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pellucid.interop.families.marian import number_pieces
from pellucid.interop.foreign import Foreign, import_extra
from pellucid.interop.pieces import SIDES, read_apart, read_pieces, tokens_of
from pellucid.text.vocabulary import Vocabulary

SEARCH = "decoder.yml"
START = "<zeros>"  # the token that a target begins with; Marian has none


def read_vocabulary(foreign: Foreign, settings: Mapping[str, Any]) -> Vocabulary:
    """Return the vocabulary of a folder: SentencePiece models whose ids are Marian's, or a table of ids and,
    if they are there, the models source.spm and target.spm that split text."""
    said = read_search(foreign).get("vocabs")
    found = said if isinstance(said, list) and len(said) == 2 else [foreign.find("*vocab*.yml", "*.spm")] * 2
    table: Mapping[str, Any]
    sides, names = [], [Path(str(name)).name for name in found]
    for name, side in zip(names, SIDES, strict=True):
        if name.endswith(".spm"):
            model = read_pieces(foreign, name)
            table = {piece: place for place, piece in enumerate(tokens_of(model))}
        else:
            content = read_yaml(foreign, name, foreign.bytes(name))
            try:
                table = {piece: int(place) for piece, place in content.items()}
            except (TypeError, ValueError):
                raise foreign.fault(f"{name}: some ids are not whole numbers.") from None
            model, table = read_apart(foreign, side, table)
        sides.append((model, {**table, START: settings["pad_token_id"]}))
    (source, table), (target, other) = sides
    settings = {**settings, "eos_token_id": table.get("</s>")}
    return number_pieces(foreign, settings, (source, target), (table, other), names)


def read_search(foreign: Foreign) -> Mapping[str, Any]:
    """Return how a model translates by default, and the files of its vocabularies; {} if it is not said."""
    there = (foreign.folder / SEARCH).exists()
    return read_yaml(foreign, SEARCH, foreign.bytes(SEARCH)) if there else {}


def read_yaml(foreign: Foreign, name: str, content: bytes) -> dict[str, Any]:
    """Return a table in YAML, whose values are texts and lists of texts."""
    yaml = import_extra("yaml")
    try:
        table = yaml.load(content, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise foreign.fault(f"{name}: this is not a table in YAML.")
    return table
