"""How a model translates by default: between transformers' generation_config.json and our [translation]."""

from collections.abc import Iterator
from typing import Any

from pellucid.config.schema import ModelConfig, TranslationConfig
from pellucid.folder.load import Loaded
from pellucid.interop.foreign import CONFIG, GENERATION, Foreign
from pellucid.translate.call import forbidden_ids

# Settings of `generate` that are taken over.
SEARCH: dict[str, Any] = {"num_beams": int, "max_length": int, "max_new_tokens": int}
SEARCH |= {"decoder_start_token_id": int, "length_penalty": float, "repetition_penalty": float}
SEARCH |= {"no_repeat_ngram_size": int, "suppress_tokens": list[int], "bad_words_ids": list[list[int]]}
# Others that change which translation comes out, with the values that change nothing.
WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "begin_suppress_tokens": ([],),
    "do_sample": (False,),
    "early_stopping": (True, False),  # and "never", which we do not have
    **dict.fromkeys(("diversity_penalty", "min_length", "min_new_tokens", "penalty_alpha"), (0,)),
    **dict.fromkeys(("num_beam_groups", "num_return_sequences", "encoder_repetition_penalty"), (1,)),
    **dict.fromkeys(("constraints", "forced_bos_token_id", "force_words_ids", "sequence_bias"), ()),
    "encoder_no_repeat_ngram_size": (0,),
    "exponential_decay_length_penalty": (),
}
# The first four have an effect on samples only; renormalisation changes all probabilities of a step alike.
HARMLESS = (
    "temperature", "top_k", "top_p", "typical_p", "renormalize_logits", "remove_invalid_values", "low_memory",
    "pad_token_id", "bos_token_id", "use_cache", "cache_implementation", "output_attentions", "output_scores",
    "output_hidden_states", "return_dict_in_generate", "transformers_version", "_from_model_config",
)  # fmt: skip


def translation_config(foreign: Foreign, model: ModelConfig) -> TranslationConfig:
    """Convert the defaults of transformers' `generate` to Pellucid's settings; `left_out` names those that
    Pellucid does not have."""
    generation = foreign.generation
    words = generation.get("bad_words_ids") or []
    suppressed = {word[0] for word in words if len(word) == 1} | {*(generation.get("suppress_tokens") or [])}
    suppressed -= {model.pad_id, model.unknown_id, model.start_id}  # which we never say anyway
    longest = (generation.get("max_length") or 513) - 1 or 1  # theirs counts the start token
    with foreign.blaming(CONFIG if generation is foreign.config else GENERATION):
        translation = TranslationConfig(
            beam=generation.get("num_beams") or 1,
            length_penalty=float(generation.get("length_penalty", 1.0)),
            max_length=generation.get("max_new_tokens") or longest,
            suppressed=tuple(sorted(token for token in suppressed if 0 <= token < model.target_size)),
            no_repeat_ngram_size=generation.get("no_repeat_ngram_size", 0),
            repetition_penalty=float(generation.get("repetition_penalty", 1.0)),
            early_stopping=generation.get("early_stopping") is True,
            forced_end=generation.get("forced_eos_token_id") in (model.end_id, [model.end_id]),
        )
    return translation


def left_out(foreign: Foreign, end_id: int) -> Iterator[str]:
    """Yield the settings of transformers' `generate` that may change a translation and that Pellucid does not
    have: the known ones and, in generation_config.json, all unknown ones."""
    ends = dict.fromkeys(("eos_token_id", "forced_eos_token_id"), (end_id, [end_id]))
    neutral = WITHOUT_EFFECT | ends
    for name, value in foreign.generation.items():
        if name in neutral:
            changes = value not in neutral[name]
        else:  # config.json says other things too
            changes = foreign.generation is not foreign.config and name not in (*SEARCH, *HARMLESS)
        if changes:
            yield f"{name} = {value!r:.60}"
    if any(len(word) > 1 for word in foreign.generation.get("bad_words_ids") or []):
        yield "bad_words_ids of several tokens"


def generation_of(loaded: Loaded) -> dict[str, Any]:
    """Return the content of a generation_config.json that translates as the model does by default."""
    translation = loaded.config.translation
    unsaid = sorted({*forbidden_ids(loaded.model, loaded.vocabulary), *translation.suppressed})
    early = {"early_stopping": translation.early_stopping} if translation.beam > 1 else {}
    return early | {
        "num_beams": translation.beam,
        "length_penalty": translation.length_penalty,
        "no_repeat_ngram_size": translation.no_repeat_ngram_size,
        "repetition_penalty": translation.repetition_penalty,
        "max_length": translation.max_length + 1,  # theirs counts the start token
        "bad_words_ids": [[token] for token in unsaid],
    }
