"""M2M100 and NLLB, which share a class: the norm comes first, and the positions are fairseq's. Their tokens:
one SentencePiece model with shifted ids, and a token for each language."""

from collections.abc import Mapping
from typing import Any

from pellucid.errors import UsageError, list_known
from pellucid.interop.families.bart import DEFAULTS, ONE_VOCABULARY, Family
from pellucid.interop.foreign import TOKENIZER, Foreign
from pellucid.interop.pieces import by_id, check_table, read_pieces, special_ids, tokens_of
from pellucid.interop.tokenizer_json import FILE as ADDED
from pellucid.interop.tokenizer_json import read_tokenizer_json
from pellucid.text.renumbered import Renumbered, kind_of
from pellucid.text.vocabulary import Vocabulary

PIECES, TABLE, SPECIAL = "sentencepiece.bpe.model", "vocab.json", "special_tokens_map.json"
SAID = {"src_lang": str, "language_codes": str, "legacy_behaviour": bool}
FIRST = ("<s>", "<pad>", "</s>", "<unk>")  # NLLB's ids 0 to 3; SentencePiece's other pieces follow
# M2M100's languages in the order of their ids, which its folder does not say.
M2M100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr "
    "ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or "
    "pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)
# mBART-50's, likewise.
MBART50 = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM "
    "ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH "
    "mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES "
    "sl_SI"
)


def read_languages(foreign: Foreign, settings: Mapping[str, Any]) -> Vocabulary:
    """Return the vocabulary of a folder. Its language pairs lead from one source language, the chosen one or
    else the tokenizer's, to all languages."""
    foreign.check(TOKENIZER, foreign.tokenizer, SAID)
    if foreign.tokenizer.get("legacy_behaviour"):
        raise foreign.fault(
            f"{TOKENIZER}: legacy_behaviour = true puts the source's language behind it, where NLLB did not "
            "learn it. Set it to false, unless the model was fine-tuned so."
        )
    m2m100 = (foreign.folder / TABLE).exists()
    if not (foreign.folder / PIECES).exists() and (foreign.folder / ADDED).exists():
        model, table = read_tokenizer_json(foreign)
    else:
        model = read_pieces(foreign, PIECES)
        nllb = (*FIRST, *tokens_of(model)[3:])
        table = dict(foreign.json(TABLE)) if m2m100 else {token: place for place, token in enumerate(nllb)}
    if str(foreign.tokenizer.get("tokenizer_class")).startswith("MBart50"):
        codes, usual = {code: place for place, code in enumerate(MBART50.split(), len(table))}, "en_XX"
    elif m2m100:
        codes, usual = _m2m100(foreign, len(table)), "en"
    else:
        codes, usual = _nllb(foreign, len(table)), "eng_Latn"
    source = _source(foreign, codes, usual)
    special = special_ids(foreign, settings, table.get("<unk>", 3))
    table |= {f"__{name}__" if m2m100 else name: id_ for name, id_ in codes.items()}
    check_table(foreign, table, settings["vocab_size"], TABLE if m2m100 else PIECES)
    pieces = Renumbered(model, by_id(table, settings["vocab_size"]), special, codes)
    languages = tuple((source, code) for code in codes)
    return Vocabulary(pieces, pieces, languages, "none", kind_of(model), {}, **special)


def _source(foreign: Foreign, codes: Mapping[str, int], usual: str) -> str:
    """Return the source language: the chosen one, or the tokenizer's, or the usual one."""
    chosen = foreign.source_language
    if chosen and chosen not in codes:
        names = list_known([*codes], chosen)
        raise UsageError(f"{foreign.folder}: it has no language {chosen!r}. Choose one of {names}.")
    source: str = chosen or foreign.tokenizer.get("src_lang") or usual
    if source not in codes:
        raise foreign.fault(f"{TOKENIZER}: src_lang = {source!r} is none of its {len(codes)} languages.")
    return source


def _m2m100(foreign: Foreign, first: int) -> dict[str, int]:
    if foreign.tokenizer.get("language_codes", "m2m100") != "m2m100":
        raise foreign.fault(f"{TOKENIZER}: the languages of M2M100 itself are known, and no others.")
    return {code: place for place, code in enumerate(M2M100.split(), first)}


def _nllb(foreign: Foreign, first: int) -> dict[str, int]:
    """Return the ids of the languages: those of tokenizer.json, or consecutive ids after the pieces."""
    content = foreign.json(ADDED, optional=True).get("added_tokens") or []
    try:
        added = {str(each["content"]): int(each["id"]) for each in content}
    except (KeyError, TypeError, ValueError):
        raise foreign.fault(f"{ADDED}: its added_tokens are not tokens with their ids.") from None
    if not added:
        special = foreign.json(SPECIAL, optional=True) or foreign.tokenizer
        names = special.get("additional_special_tokens") or []
        added = {str(name): place for place, name in enumerate(names, first)}
    codes = {name: id_ for name, id_ in added.items() if name[3:4] == "_" and name[:3].isalpha()}
    if not codes:
        raise foreign.fault(f"neither {ADDED} nor {SPECIAL} names languages such as eng_Latn.")
    return codes


FAMILY = Family(
    model_type="m2m_100",
    name="M2M100 and NLLB",
    defaults=DEFAULTS
    | dict(vocab_size=128112, pad_token_id=1, decoder_start_token_id=2, eos_token_id=2)
    | dict(activation_function="relu", attention_dropout=0.1, scale_embedding=True),
    tokenizer="M2M100Tokenizer",
    tokenizers=dict.fromkeys(("M2M100Tokenizer", "NllbTokenizer", "NllbTokenizerFast"), read_languages),
    fixed=ONE_VOCABULARY,
    ours={"norm": "first", "positions": "fairseq"},
)
