"""Before the first step: data, vocabulary, model and, on a resume, the state of the run, each checked against
the others."""

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pellucid.config.device import device_named
from pellucid.config.schema import LEARNED_BY, Config, ModelConfig
from pellucid.config.settings import differences
from pellucid.config.toml_file import from_table, without_folders
from pellucid.data.batch import Batch, batches
from pellucid.data.corpus import Pair, target_language
from pellucid.data.examples import Example, encode_pairs, sample_examples, unknown_shares
from pellucid.errors import UsageError
from pellucid.folder import checkpoint
from pellucid.learning.doubts import doubt_pairs, doubt_settings, overlap
from pellucid.learning.learner import Learner, smaller_model
from pellucid.learning.memory import needing_memory
from pellucid.learning.metrics import METRICS, steps_in
from pellucid.learning.resume import check_accepted, refuse_changes
from pellucid.learning.stop import VOCABULARY, StopRequest
from pellucid.learning.text import Given, Text, fingerprints, read_text
from pellucid.learning.validation import references_of, tokenizer_for
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary
from pellucid.text.vocabulary_training import train_vocabulary
from pellucid.translate.evaluate import note_on_short
from pellucid.translate.training_step import load_model_or_step

UNKNOWN = 0.01  # of a side's tokens: a larger share of unknown ones is worth a warning


@dataclass(frozen=True)
class Position:
    """How far a run has come; all of it is in each checkpoint."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # the next one of this epoch
    seconds: float = 0.0
    skipped: int = 0  # steps in a row without an update
    best_score: float | None = None
    best_loss: float | None = None  # of the same validation: among equal scores the lower loss is better
    stale: int = 0  # validations since the best one


@dataclass
class Run:
    """What a training run works with; `position` is the only thing about it that changes."""

    out: Path
    config: Config
    vocabulary: Vocabulary
    learner: Learner
    examples: list[Example]
    validation_pairs: list[Pair]
    validation_batches: list[Batch]
    data: dict[str, str]
    report: Callable[[str], None]
    stop: StopRequest
    position: Position = Position()

    def batches(self, epoch: int, start: int) -> Iterator[Batch]:
        """An epoch's batches from number `start` on: the same for the same configuration, whenever they are
        made."""
        training, sampling = self.config.training, self.config.vocabulary.sampling
        examples = self.examples
        if sampling:
            longest = min(self.config.data.max_length, training.batch_tokens)
            examples = sample_examples(examples, self.vocabulary, sampling, longest, training.seed, epoch)
        special = self.vocabulary.start_id, self.vocabulary.pad_id
        yield from batches(examples, training.seed, epoch, training.batch_tokens, *special, first=start)


def set_up(
    config: Config,
    out: Path,
    resume: bool,
    accept: Sequence[str],
    device: str,
    report: Callable[[str], None],
    stop: StopRequest,
    given: Given,
) -> Run:
    """Everything ready for the next step; nothing of an earlier run is touched before all checks have
    passed."""
    check_accepted(accept)
    where = device_named(device)
    doubt_settings(config.training)
    _set_up_torch(config)
    saved, data = _saved(config, out, resume, accept, report, given)
    text = read_text(config.data, given)
    with stop.during(VOCABULARY):
        vocabulary, start = _vocabulary(config, out if saved else None, text.train)
    examples, counts = encode_pairs(text.train, vocabulary, config.data, text.train_report)
    report(f"training data: {counts}; {_unknown(examples, vocabulary, config)}")
    doubt_pairs("train", counts)
    validation = _validation(config, vocabulary, report, text)
    if found := overlap(text.train, validation[0]):
        report(found)
    config = dataclasses.replace(config, model=fitted(config, vocabulary))
    with needing_memory("as the model was made", smaller_model(config.model)):
        learner = Learner((start or Transformer(config.model)).to(where), config.training)
    report(
        f"{parameters(learner.model):,} parameters, a vocabulary of {config.model.vocabulary:,}, "
        f"{learner.precision} on {learner.device}"
    )
    run = Run(out, config, vocabulary, learner, examples, *validation, data, report, stop)
    if saved:
        learner.restore(saved.tensors)
        run.position = Position(**saved.state["position"])
        report(f"going on from step {run.position.step}")
    return run


def _set_up_torch(config: Config) -> None:
    if config.training.threads:
        torch.set_num_threads(config.training.threads)
    # oneDNN keeps what it compiles for a shape, about 2 MB each, for up to 1,024 shapes. In bf16 few batches
    # share a shape, but the layers of one batch do. oneDNN reads this before its first product.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
    torch.manual_seed(config.training.seed)


def _saved(
    config: Config,
    out: Path,
    resume: bool,
    accept: Sequence[str],
    report: Callable[[str], None],
    given: Given,
) -> tuple[checkpoint.TrainingState | None, dict[str, str]]:
    """The state to go on from, which fits what is asked for, and the data's fingerprint."""
    checkpoint.recover(out)
    saved = checkpoint.newest_state(out)
    if saved and not resume and saved.step == 0 and not steps_in(out / METRICS):
        saved = None  # nothing was learned there, so nothing is lost
    if saved and not resume:
        raise UsageError(
            f"{out} holds a training run that stopped at step {saved.step}. Go on with --resume, or choose "
            "another --out."
        )
    ready_made = [name for name in config.vocabulary.model if Path(name).exists()]
    data = fingerprints(config.data, given, ready_made)
    if saved:
        refuse_changes(config, from_table(saved.state["config"]), data, saved.state["data"], accept)
    elif resume:
        report(f"{out} holds no checkpoint: starting from the beginning.")
    return saved, data


def _validation(
    config: Config, vocabulary: Vocabulary, report: Callable[[str], None], text: Text
) -> tuple[list[Pair], list[Batch]]:
    """The validation pairs, and the batches of their ids."""
    if not text.validation:
        return [], []
    pairs = text.validation
    examples, counts = encode_pairs(pairs, vocabulary, config.data, text.validation_report)
    report(f"validation data: {counts}")
    if note := note_on_short(references_of(pairs, config), tokenizer_for(config)):
        decides = config.training.validation_metric == "bleu"
        report(f'{note} With [training] validation_metric = "exact" it decides.' if decides else note)
    doubt_pairs("validation", counts)
    special = vocabulary.start_id, vocabulary.pad_id
    return pairs, list(batches(examples, 0, 0, config.training.batch_tokens, *special))


def _unknown(examples: Sequence[Example], vocabulary: Vocabulary, config: Config) -> str:
    """How much of the text the vocabulary does not know; a warning where it is much."""
    words = vocabulary.kind == "word"
    what = "words" if words else "characters"
    remedy = 'kind = "unigram"' if words else "byte_fallback = true, or a higher character_coverage"
    shares = dict(zip(("source", "target"), unknown_shares(examples, vocabulary), strict=True))
    much = [f"{share:.1%} of the {side} tokens" for side, share in shares.items() if share > UNKNOWN]
    if much:
        warnings.warn(
            f"[vocabulary] size = {config.vocabulary.size}: {' and '.join(much)} of the training data are "
            f"unknown, and the model cannot tell these {what} apart. Set a larger size, or {remedy}.",
            stacklevel=2,
        )
    told = [f"{share:.2%} of the {side}" for side, share in shares.items() if share]
    return f"unknown tokens: {', '.join(told) or 'none'}"


def parameters(model: torch.nn.Module) -> int:
    """The number of trained values."""
    return sum(parameter.numel() for parameter in model.parameters())


def _vocabulary(
    config: Config, resumed: Path | None, pairs: Sequence[Pair]
) -> tuple[Vocabulary, Transformer | None]:
    """The run's own vocabulary on a resume; that of the model to start from, and the model; or one learned
    from the pairs."""
    if resumed:
        return checkpoint.load_model(resumed / "last").vocabulary, None
    if config.training.start_from:
        return _started_from(config.training.start_from, config)
    return learned_vocabulary(pairs, config), None


def learned_vocabulary(pairs: Sequence[Pair], config: Config) -> Vocabulary:
    """The vocabulary of the pairs' text, as the configuration says."""
    languages = config.data.languages
    to = [target_language(pair, languages) for pair in pairs] if languages else None
    sources, targets = (pair.source for pair in pairs), (pair.target for pair in pairs)
    return train_vocabulary(sources, targets, config.vocabulary, config.data, to)


def _started_from(folder: str, config: Config) -> tuple[Vocabulary, Transformer]:
    """The vocabulary and the model in a folder, where the configuration fits them; dropout may differ."""
    loaded = load_model_or_step(Path(folder), "cpu")
    started = loaded.config
    shape = [name for name in vars(config.model) if not name.endswith(("dropout", "_id", "vocabulary"))]
    if different := differences(config.model, started.model, shape):
        raise UsageError(
            f"[training] start_from = {folder}: its model is of another shape: {different}. "
            "Leave these out of [model], which is then taken from there."
        )
    vocabulary = [*LEARNED_BY, *(["model"] if config.vocabulary.model else [])]
    different = differences(config.data, started.data, ["languages", "preparation"])
    different = different or differences(
        without_folders(config).vocabulary, without_folders(started).vocabulary, vocabulary
    )
    if different:
        raise UsageError(
            f"[training] start_from = {folder}: its model was made for other text: {different}. "
            "Give [data] and [vocabulary] the same values; what [vocabulary] leaves out is taken from there."
        )
    model = Transformer(fitted(config, loaded.vocabulary))
    model.load_state_dict(loaded.model.state_dict())
    return loaded.vocabulary, model


def fitted(config: Config, vocabulary: Vocabulary) -> ModelConfig:
    """The model's settings with the vocabulary's true sizes and ids."""
    sizes = {
        "vocabulary": vocabulary.source_size,
        "target_vocabulary": None if vocabulary.same_ids else vocabulary.target_size,
    }
    changes: dict[str, Any] = sizes | vocabulary.ids()
    return dataclasses.replace(config.model, **changes)
