"""Learn a vocabulary from parallel text, or load the ready-made one that the configuration names."""

import io
import re
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from pellucid.config.schema import DataConfig, VocabularyConfig
from pellucid.errors import PellucidError, UsageError
from pellucid.text.preparation import prepare, valid
from pellucid.text.vocabulary import Vocabulary, make_vocabulary, source_language, targets_of

# Threads: a fixed number, because the model file records it, and the same text must give the same file.
# Length, in bytes: by default SentencePiece silently leaves out lines of more than 4,192 bytes.
_TRAINER: dict[str, Any] = dict(
    pad_id=0, unk_id=1, bos_id=2, eos_id=3, num_threads=4, minloglevel=2, max_sentence_length=2**30
)


def train_vocabulary(
    sources: Iterable[str],
    targets: Iterable[str],
    config: VocabularyConfig,
    data: DataConfig,
    to: Iterable[str | None] | None = None,
) -> Vocabulary:
    """Learn a vocabulary from parallel text, or load the ready-made one that the configuration names.

    to: the target language of each pair, for the text preparation; not needed with a single language.
    With kind = "word", `size` is an upper limit: if the text has fewer words, all of them are tokens.
    """
    if config.model:
        return _load_named(config, data)
    if config.kind != "unigram" and config.sampling:
        only = 'only kind = "unigram" knows how probable a segmentation is'
        raise UsageError(f"[vocabulary] sampling = {config.sampling}: {only}. Set sampling = 0.")
    offered = targets_of(data.languages)
    languages = list(to) if to is not None else repeat(offered[0] if len(offered) == 1 else None)
    recipe, from_to = data.preparation, data.languages
    source_text = [
        prepare(valid(line), recipe, source_language(from_to, language))
        for line, language in zip(sources, languages, strict=False)
    ]
    both = zip(targets, languages, strict=False)
    target_text = [prepare(valid(line), recipe, language) for line, language in both]
    tags = [f">>{language}<<" for language in offered] if len(offered) > 1 else []
    if config.joint:
        source = target = _train(source_text + target_text, "", config, tags)
    else:
        source = _train(source_text, "the source side of ", config, tags)
        target = _train(target_text, "the target side of ", config, [])
    words_of = {}
    if config.joint and config.kind == "word":
        spoken = (source_language(from_to, language) for language in languages)
        sides = zip(spoken, source_text, strict=False), zip(languages, target_text, strict=False)
        words_of = _words_of(source, chain(*sides))
    return Vocabulary(source, target, data.languages, data.preparation, config.kind, words_of)


def _words_of(model: SentencePieceProcessor, lines: Iterable[tuple[str | None, str]]) -> dict[str, list[int]]:
    """Return the ids of the words of each language that has a name, from lines of text after their
    languages."""
    words: dict[str | None, set[str]] = defaultdict(set)
    for language, line in lines:
        words[language].update(line.split())
    ids = {language: {*model.encode(" ".join(each))} for language, each in words.items() if language}
    return {language: sorted(each - {model.unk_id()}) for language, each in ids.items()}


def _load_named(config: VocabularyConfig, data: DataConfig) -> Vocabulary:
    """Load the ready-made vocabulary that the configuration names."""
    if len(config.model) > 2:
        count = f"[vocabulary] model lists {len(config.model)} files"
        raise UsageError(f"{count}. List one file for both sides, or two: source and target.")
    try:
        protos = {name: Path(name).read_bytes() for name in config.model}
    except OSError as error:
        cannot = f"the vocabulary cannot be read: {error.strerror}"
        raise PellucidError(f"{error.filename}: {cannot}.") from None
    return make_vocabulary(protos, config.kind, data)


def _train(text: list[str], side: str, config: VocabularyConfig, tags: list[str]) -> SentencePieceProcessor:
    proto = io.BytesIO()
    settings = _TRAINER | dict(
        sentence_iterator=iter(text),
        model_writer=proto,
        model_type=config.kind,
        vocab_size=config.size,
        hard_vocab_limit=config.kind != "word" and not config.grow,
        normalization_rule_name=config.normalization,
        character_coverage=config.character_coverage,
        byte_fallback=config.byte_fallback,
        control_symbols=tags,  # no text can contain one, so no sentence changes its language
    )
    try:
        # In a second thread: SentencePiece returns only at its end, and the first thread answers signals.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(SentencePieceTrainer.train, **settings).result()
    except RuntimeError as error:
        raise _explain(str(error), side, config) from None
    return SentencePieceProcessor(model_proto=proto.getvalue())


def _explain(error: str, side: str, config: VocabularyConfig) -> PellucidError:
    start, text = f"[vocabulary] size = {config.size}: ", f"{side}the training text"
    if most := re.search(r"value <= (\d+)", error):
        yields = f"the corpus is too small for its vocabulary: {text} yields at most {most[1]} tokens"
        return UsageError(f"{start}{yields}. Set size = {most[1]} or less, or give more text.")
    if least := re.search(r"required_chars\. \d+ vs (\d+)", error):
        needs = f"{text} needs at least {least[1]} tokens, one for each character"
        return UsageError(f"{start}{needs}. Set size = {least[1]} or more, or lower character_coverage.")
    if "sentences_.empty()" in error or "all_chars_count" in error:
        return PellucidError(f"{start}{text} is empty. Look at the files in [data] train.")
    return PellucidError(f"{start}SentencePiece could not learn it from {text}: {error}")
