"""What a training starts from: a vocabulary that it learns, or a model whose vocabulary may grow."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from pellucid.config.schema import LEARNED_BY, Config, ModelConfig
from pellucid.config.settings import differences
from pellucid.config.toml_file import without_folders
from pellucid.data.corpus import Pair, target_language
from pellucid.data.sifting import ParallelText
from pellucid.data.store import Prepared
from pellucid.errors import UsageError
from pellucid.folder.load import Loaded
from pellucid.model import Transformer
from pellucid.text.growing import grow, is_grown, parts
from pellucid.text.vocabulary import Vocabulary
from pellucid.text.vocabulary_training import train_vocabulary

EACH_TOKEN = {f"{stack}embedding.weight" for stack in ("", "encoder.", "decoder.")}  # a row for each
EACH_TOKEN |= {"decoder.projection.weight", "decoder.projection.bias"}
LEARNT_FROM = 500_000  # pairs; a vocabulary needs no more, and SentencePiece holds them all in memory


def start_from(
    loaded: Loaded, config: Config, train: ParallelText | Prepared | None = None
) -> tuple[Vocabulary, Transformer]:
    """Return the vocabulary and a copy of the model to start from. Raise an error if they do not fit the
    configuration; the dropout and the order of the languages may differ.

    train: the text that the vocabulary grows from, if the configuration says so.
    """
    theirs = loaded.config
    shape = [name for name in vars(config.model) if not name.endswith(("dropout", "_id", "vocabulary"))]
    learned_by = [*LEARNED_BY, *(["model"] if config.vocabulary.model else [])]
    ours, other = without_folders(config).vocabulary, without_folders(theirs).vocabulary
    same_languages = {*config.data.languages} == {*theirs.data.languages}
    text = ["preparation"] if same_languages else ["languages", "preparation"]
    another_text = differences(config.data, theirs.data, text) or differences(ours, other, learned_by)
    reasons = {
        "has another shape": differences(config.model, theirs.model, shape),
        "was made with other settings of text": another_text,
    }
    for wrong, different in reasons.items():
        if different:
            remedy = "Leave these out: they are then taken from there; or give them the same values."
            folder = config.training.start_from
            raise UsageError(f"[training] start_from = {folder}: its model {wrong}: {different}. {remedy}")
    vocabulary = dataclasses.replace(loaded.vocabulary, languages=config.data.languages)
    grown = _larger(vocabulary, config, train) if config.vocabulary.grow else vocabulary
    model = Transformer(fit_sizes(config, grown))
    weights = loaded.model.state_dict()
    model.load_state_dict(weights if grown is vocabulary else _with_rows(weights, vocabulary, grown))
    return grown, model


def _larger(old: Vocabulary, config: Config, train: ParallelText | Prepared | None) -> Vocabulary:
    """Return the vocabulary with tokens of the text; as it is if there is no text, or if the text was
    prepared with another one."""
    if isinstance(train, Prepared):
        return train.vocabulary if is_grown(old, train.vocabulary) else old
    if train is None:
        return old
    most = config.vocabulary.grow
    size = max(old.source_size, old.target_size) + most
    words = dataclasses.replace(config.vocabulary, size=size, model=(), sampling=0.0)
    return grow(old, prepare_vocabulary(train, dataclasses.replace(config, vocabulary=words)), most)


def _with_rows(weights: Mapping[str, Tensor], old: Vocabulary, new: Vocabulary) -> dict[str, Tensor]:
    """Return the weights with rows for the tokens that are new. Such a row is the mean of the rows that the
    text of the token had before."""
    grown = dict(weights)
    for name in EACH_TOKEN & weights.keys():
        ids_of = parts(old, new, "source" if name.startswith("encoder.") else "target")
        grown[name] = torch.cat([weights[name], *(weights[name][ids].mean(0)[None] for ids in ids_of)])
    return grown


def prepare_vocabulary(pairs: Sequence[Pair] | ParallelText, config: Config) -> Vocabulary:
    """Learn a vocabulary from the pairs, or from some of very many, as the configuration asks."""
    languages = config.data.languages
    pairs = list(itertools.islice(pairs, 0, None, 1 + len(pairs) // LEARNT_FROM))
    to = [target_language(pair, languages) for pair in pairs] if languages else None
    sources, targets = (pair.source for pair in pairs), (pair.target for pair in pairs)
    return train_vocabulary(sources, targets, config.vocabulary, config.data, to)


def fit_sizes(config: Config, vocabulary: Vocabulary) -> ModelConfig:
    """Return the model's settings, with the sizes and the special ids of this vocabulary filled in."""
    apart = config.model.target_vocabulary is not None or not vocabulary.same_ids
    changes: dict[str, Any] = vocabulary.ids() | {
        "vocabulary": vocabulary.source_size,
        "target_vocabulary": vocabulary.target_size if apart else None,
    }
    return dataclasses.replace(config.model, **changes)
