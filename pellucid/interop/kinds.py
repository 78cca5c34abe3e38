"""The settings of a transformers model: the type of each, and the default for a missing one."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

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
FAMILIES = {"marian": MARIAN, "m2m_100": M2M100}

MODEL = {name: type(value) for name, value in MARIAN.items()} | {"decoder_vocab_size": int, "model_type": str}
TOKENIZER = {"separate_vocabs": bool, "source_lang": str, "target_lang": str, "src_lang": str}
TOKENIZER |= {"language_codes": str}
SEARCH: dict[str, Any] = {"num_beams": int, "max_length": int, "decoder_start_token_id": int}
SEARCH |= {"length_penalty": float, "suppress_tokens": list[int], "bad_words_ids": list[list[int]]}
WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    list[int]: "a list of whole numbers",
    list[list[int]]: "a list of lists of whole numbers",
}


def faults_of(table: Mapping[str, Any], kinds: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each setting that has a wrong type."""
    for name, kind in kinds.items():
        if name in table and not is_a(table[name], kind):
            yield f"{name} = {table[name]!r:.60} is not {WORDS[kind]}."


def is_a(value: Any, kind: Any) -> bool:
    """Return whether a JSON value has this type; true and false are not numbers."""
    if get_origin(kind) is list:
        return isinstance(value, list) and all(is_a(each, *get_args(kind)) for each in value)
    return type(value) in ((int, float) if kind is float else (kind,))
