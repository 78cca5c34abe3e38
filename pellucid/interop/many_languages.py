"""The tokens of M2M100 and NLLB: one SentencePiece model with shifted ids, and a token for each language."""

from collections.abc import Mapping
from typing import Any

from pellucid.config.nearest import list_known
from pellucid.errors import UsageError
from pellucid.interop.foreign import TOKENIZER, Foreign
from pellucid.interop.pieces import by_id, check_table, read_pieces, special_ids, tokens_of
from pellucid.interop.tokenizer_json import FILE as ADDED
from pellucid.interop.tokenizer_json import read_tokenizer_json
from pellucid.text.renumbered import Renumbered, kind_of
from pellucid.text.vocabulary import Vocabulary

PIECES, TABLE, SPECIAL = "sentencepiece.bpe.model", "vocab.json", "special_tokens_map.json"
FIRST = ("<s>", "<pad>", "</s>", "<unk>")  # NLLB's ids 0 to 3; SentencePiece's other pieces follow
# M2M100's languages in the order of their ids, which its folder does not say.
M2M100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr "
    "ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or "
    "pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)


def read_languages(foreign: Foreign, settings: Mapping[str, Any]) -> Vocabulary | None:
    """Return the vocabulary of a folder. Its language pairs lead from one source language, the chosen one or
    else the tokenizer's, to all languages. If something is wrong, note the problems and return None."""
    faults = len(foreign.faults)
    if foreign.tokenizer.get("legacy_behaviour"):
        foreign.faults.append(
            f"{TOKENIZER}: legacy_behaviour = true puts the source's language behind it, where NLLB did not "
            "learn it. Set it to false, unless the model was fine-tuned so."
        )
    m2m100 = (foreign.folder / TABLE).exists()
    table: dict[str, int] = {}
    if not (foreign.folder / PIECES).exists() and (foreign.folder / ADDED).exists():
        model, table = read_tokenizer_json(foreign)
    else:
        model = read_pieces(foreign, PIECES)
        if m2m100:
            table = dict(foreign.json(TABLE))
        elif model is not None:
            table = {token: place for place, token in enumerate((*FIRST, *tokens_of(model)[3:]))}
    codes = _m2m100(foreign, table) if m2m100 else _nllb(foreign, len(table))
    chosen = foreign.source_language
    source = chosen or foreign.tokenizer.get("src_lang") or ("en" if m2m100 else "eng_Latn")
    if chosen and codes and chosen not in codes:
        names = list_known([*codes], chosen)
        raise UsageError(f"{foreign.folder}: it has no language {chosen!r}. Choose one of {names}.")
    if codes and source not in codes:
        foreign.faults.append(f"{TOKENIZER}: src_lang = {source!r} is none of its {len(codes)} languages.")
    special = special_ids(foreign, settings, table.get("<unk>", 3))
    table |= {f"__{name}__" if m2m100 else name: id_ for name, id_ in codes.items()}
    check_table(foreign, table, settings["vocab_size"], TABLE if m2m100 else PIECES)
    if len(foreign.faults) > faults or model is None:
        return None
    pieces = Renumbered(model, by_id(table, settings["vocab_size"]), special, codes)
    languages = tuple((source, code) for code in codes)
    return Vocabulary(pieces, pieces, languages, "none", kind_of(model), **special)


def _m2m100(foreign: Foreign, table: Mapping[str, int]) -> dict[str, int]:
    if foreign.tokenizer.get("language_codes", "m2m100") != "m2m100":
        foreign.faults.append(f"{TOKENIZER}: the languages of M2M100 itself are known, and no others.")
    return {code: len(table) + place for place, code in enumerate(M2M100.split())}


def _nllb(foreign: Foreign, first: int) -> dict[str, int]:
    """Return the ids of the languages: those of tokenizer.json, or consecutive ids after the pieces."""
    content = foreign.json(ADDED, optional=True).get("added_tokens") or []
    try:
        added = {str(each["content"]): int(each["id"]) for each in content}
    except (KeyError, TypeError, ValueError):
        foreign.faults.append(f"{ADDED}: its added_tokens are not tokens with their ids.")
        return {}
    if not added:
        special = foreign.json(SPECIAL, optional=True) or foreign.tokenizer
        names = special.get("additional_special_tokens") or []
        added = {str(name): first + place for place, name in enumerate(names)}
    codes = {name: id_ for name, id_ in added.items() if name[3:4] == "_" and name[:3].isalpha()}
    if not codes:
        foreign.faults.append(f"neither {ADDED} nor {SPECIAL} names languages such as eng_Latn.")
    return codes
