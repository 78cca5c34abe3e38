"""The kinds of transformers models that Pellucid reads, and their settings: the type of each, and the default
for a missing one."""

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args, get_origin

from pellucid.errors import PellucidError

# What transformers takes for what config.json leaves out.
MARIAN: dict[str, Any] = dict(
    d_model=1024, vocab_size=58101, decoder_vocab_size=None, encoder_layers=12, decoder_layers=12,
    encoder_ffn_dim=4096, decoder_ffn_dim=4096, encoder_attention_heads=16, decoder_attention_heads=16,
    dropout=0.1, attention_dropout=0.0, activation_dropout=0.0, activation_function="gelu",
    scale_embedding=False, share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
    pad_token_id=58100, decoder_start_token_id=58100, eos_token_id=0, max_position_embeddings=1024,
)  # fmt: skip
# M2M100 and NLLB share the class: the norm comes first, and the positions are fairseq's.
M2M100: dict[str, Any] = MARIAN | dict(
    vocab_size=128112, activation_function="relu", attention_dropout=0.1, scale_embedding=True,
    pad_token_id=1, decoder_start_token_id=2, eos_token_id=2, norm="first", positions="fairseq",
)  # fmt: skip
# Pegasus is MarianMT with the norm first. It was made for summaries, but any tokenizer may lie beside it.
PEGASUS: dict[str, Any] = MARIAN | dict(
    vocab_size=50265, pad_token_id=0, decoder_start_token_id=0, eos_token_id=1, norm="first",
)  # fmt: skip
ONE_VOCABULARY = {"share_encoder_decoder_embeddings": True, "decoder_vocab_size": None}  # whatever is said


class Family(NamedTuple):
    """A class of models in transformers."""

    name: str  # as users know it
    defaults: Mapping[str, Any]
    tokenizer: str  # which it has if its folder does not say
    fixed: Mapping[str, Any] = {}  # the class does not read these from config.json


FAMILIES = {
    "marian": Family("MarianMT (OPUS-MT)", MARIAN, "MarianTokenizer"),
    "m2m_100": Family("M2M100 and NLLB", M2M100, "M2M100Tokenizer", ONE_VOCABULARY),
    "pegasus": Family("MarianMT with the norm first (Pegasus)", PEGASUS, "PegasusTokenizer", ONE_VOCABULARY),
}
TOKENIZERS = ("MarianTokenizer", "M2M100Tokenizer", "NllbTokenizer", "NllbTokenizerFast")

MODEL = {name: type(value) for name, value in MARIAN.items()} | {"decoder_vocab_size": int, "model_type": str}
TOKENIZER = {"separate_vocabs": bool, "source_lang": str, "target_lang": str, "src_lang": str}
TOKENIZER |= {"language_codes": str, "tokenizer_class": str, "legacy_behaviour": bool}
# Of `generate`; these are taken over.
SEARCH: dict[str, Any] = {"num_beams": int, "max_length": int, "max_new_tokens": int}
SEARCH |= {"decoder_start_token_id": int, "length_penalty": float, "repetition_penalty": float}
SEARCH |= {"no_repeat_ngram_size": int, "suppress_tokens": list[int], "bad_words_ids": list[list[int]]}
AT_MOST = dict.fromkeys(("vocab_size", "decoder_vocab_size"), 10_000_000)  # lists of this length are made
WORDS: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
WORDS |= {list[int]: "a list of whole numbers", list[list[int]]: "a list of lists of whole numbers"}


def check(table: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Raise an error for a setting that has a wrong type, or is too large."""
    for name, value in table.items():
        kind = kinds.get(name)
        if kind is not None and not is_a(value, kind):
            raise PellucidError(f"{name} = {value!r:.60} is not {WORDS[kind]}.")
        if name in AT_MOST and value > AT_MOST[name]:
            raise PellucidError(f"{name} = {value!r:.60} is more than {AT_MOST[name]:,}.")


def is_a(value: Any, kind: Any) -> bool:
    """Return whether a JSON value has this type; true and false are not numbers."""
    if get_origin(kind) is list:
        return isinstance(value, list) and all(is_a(each, *get_args(kind)) for each in value)
    return type(value) in ((int, float) if kind is float else (kind,))
