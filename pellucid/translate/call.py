"""The input of the search: a request for each sentence, with its limit, its prefix and its rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Number
from typing import Any

from pellucid.config.schema import TranslationConfig
from pellucid.errors import Setting, UsageError
from pellucid.model import Transformer
from pellucid.search.options import Prefix, options_of
from pellucid.search.request import Request, SpecialIds
from pellucid.text.vocabulary import Vocabulary, check_ids
from pellucid.translate.sentences import Sentence


@dataclass(frozen=True)
class Call:
    """The sentences of a call, and a request to the search for each sentence that is not empty."""

    sentences: Sequence[Sentence]
    requests: list[Request]
    special: SpecialIds
    n_best: int


def make_call(
    sentences: Sequence[Sentence],
    options: Mapping[str, Any],
    model: Transformer,
    vocabulary: Vocabulary,
    defaults: TranslationConfig,
    first: int = 0,
) -> Call:
    """Make the input of the search from sentences and options; raise an error for a wrong option. first: the
    index of the first sentence."""
    chosen, never = options_of(options, defaults), forbidden_ids(model, vocabulary)
    prefixes = prefixes_of(options.get("prefix"), sentences, vocabulary, never)
    size = model.config.target_size
    if outside := [each for each in defaults.suppressed if not 0 <= each < size]:
        ids = f"but the vocabulary has the ids 0 to {size - 1}"
        raise UsageError(f"[translation] suppressed names the id {outside[0]}, {ids}. Leave it out.")
    special = SpecialIds(model.config.start_id, model.config.end_id, [*never, *defaults.suppressed])
    most = model.config.longest or defaults.max_length  # learned positions
    requests = []
    for number, (sentence, prefix) in enumerate(zip(sentences, prefixes, strict=True), first):
        if sentence.empty:
            continue
        limit = chosen.max_length
        if limit is None:
            limit = max(min(2 * len(sentence.ids) + 20, defaults.max_length, most), chosen.min_length + 1)
        if len(prefix) >= limit:
            raise UsageError(
                f"sentence {number + 1}: a prefix of {len(prefix)} tokens leaves no room within {{}}. "
                "Set {} or more.",
                Setting("max_length", limit),
                Setting("max_length", len(prefix) + 1),
            )
        requests.append(Request(number, limit, prefix, sentence.ids, vocabulary.count_tags(prefix), chosen))
    return Call(sentences, requests, special, chosen.n_best)


def forbidden_ids(model: Transformer, vocabulary: Vocabulary) -> list[int]:
    """Return the ids that a translation never contains: pad, start, unknown, and the language tags >>xx<<."""
    config = model.config
    tags = [vocabulary.target.piece_to_id(f">>{language}<<") for language in vocabulary.target_languages]
    return sorted({config.pad_id, config.start_id, config.unknown_id, *tags} - {config.end_id})


def prefixes_of(
    prefix: Prefix | Sequence[Prefix | None] | None,
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    never: Sequence[int],
) -> list[list[int]]:
    """Return, for each sentence, the ids that its translation must begin with. `prefix` is one text or list
    of ids for all sentences, or a list with one for each."""
    if is_one(prefix):  # read it once for each language: it may be long, and the sentences many
        one = cache(lambda to: read_prefix(prefix, to, vocabulary, never))  # type: ignore[arg-type]
        return [[] if sentence.empty else one(sentence.to) for sentence in sentences]
    each: list[Any] = list(prefix or ())
    if len(each) != len(sentences):
        raise UsageError(
            f"{{}}: {len(each)} prefixes for {len(sentences)} sentences. Give one for all, or one for each.",
            Setting("prefix"),
        )
    return [
        [] if sentence.empty else read_prefix(prefix, sentence.to, vocabulary, never)
        for prefix, sentence in zip(each, sentences, strict=True)
    ]


def is_one(prefix: Prefix | Sequence[Prefix | None] | None) -> bool:
    """Tell whether this is one prefix for all sentences: a text, ids, or none."""
    return prefix is None or isinstance(prefix, str) or all(isinstance(token, Number) for token in prefix)


def read_prefix(
    prefix: Prefix | None, to: str | None, vocabulary: Vocabulary, never: Sequence[int]
) -> list[int]:
    """Return the ids that a translation must begin with: the target language if the model's targets begin
    with one, then the prefix, given as text or as ids, without an end token at its end. Raise an error for a
    prefix that no translation can have."""
    tag, end = vocabulary.target_tag(to), vocabulary.end_id
    if isinstance(prefix, str):
        ids = vocabulary.encode_target(prefix, to) if prefix.strip() else []
        if vocabulary.unknown_id in ids:
            raise UsageError(
                "{} contains words or characters that the vocabulary does not have, so no translation can "
                "begin with it. Choose others.",
                Setting("prefix", prefix),
            )
    else:
        ids = check_ids(() if prefix is None else prefix, vocabulary.target)
    ids = ids[:-1] if ids[-1:] == [end] else ids
    ids = ids if ids[: len(tag)] == tag else [*tag, *ids]
    if wrong := [token for token in ids[len(tag) :] if token in never or token == end]:
        (name,) = vocabulary.target_tokens(wrong[:1])
        message = f"{{}} contains id {wrong[0]}, the token {{}}, which no translation has before its end."
        raise UsageError(f"{message} Leave it out.", Setting("prefix", prefix), name)
    return ids
