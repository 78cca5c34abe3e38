"""What each setting in a folder of transformers must be: a whole number, a text, a list, …"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    list[int]: "a list of whole numbers",
    list[list[int]]: "a list of lists of whole numbers",
}
TOKENIZER: dict[str, Any] = {"separate_vocabs": bool}
TOKENIZER |= dict.fromkeys(("source_lang", "target_lang", "src_lang", "language_codes"), str)
SEARCH: dict[str, Any] = dict.fromkeys(("num_beams", "max_length", "decoder_start_token_id"), int)
SEARCH |= {"length_penalty": float, "suppress_tokens": list[int], "bad_words_ids": list[list[int]]}
SIZES = "d_model encoder_layers decoder_layers encoder_ffn_dim decoder_ffn_dim vocab_size decoder_vocab_size"
MODEL: dict[str, Any] = dict.fromkeys(SIZES.split(), int)
MODEL |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads", "max_position_embeddings"), int)
MODEL |= dict.fromkeys(("pad_token_id", "eos_token_id"), int)
MODEL |= dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), float)
MODEL |= dict.fromkeys(("scale_embedding", "share_encoder_decoder_embeddings", "tie_word_embeddings"), bool)
MODEL |= dict.fromkeys(("model_type", "activation_function"), str)


def faults_of(table: Mapping[str, Any], kinds: Mapping[str, Any]) -> Iterator[str]:
    """Name each setting that is of another kind than it must be."""
    for name, kind in kinds.items():
        if name in table and not is_a(table[name], kind):
            yield f"{name} = {table[name]!r:.60} is not {WORDS[kind]}."


def is_a(value: Any, kind: Any) -> bool:
    """Return whether a value of JSON is of this kind; true and false are no numbers."""
    if get_origin(kind) is list:
        return isinstance(value, list) and all(is_a(each, *get_args(kind)) for each in value)
    return type(value) in ((int, float) if kind is float else (kind,))
