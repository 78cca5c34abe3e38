"""Prepare a run: data, vocabulary, model and, when resuming, the saved state, all checked against each
other."""

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from pellucid.config.schema import Config, TrainingConfig
from pellucid.config.toml_file import check_accepted, from_table, to_table, without_folders
from pellucid.data.batch import Batch, Order, Place, make_batch, plan_batches
from pellucid.data.corpus import fingerprint
from pellucid.data.examples import Examples, sample_again
from pellucid.data.sifting import Array, ParallelText
from pellucid.data.store import Prepared
from pellucid.errors import PellucidError, Setting, UsageError
from pellucid.folder import checkpoint
from pellucid.folder.load import device_named, load_model, without_weights
from pellucid.interop.importing import load_folder
from pellucid.learning.freezing import freeze
from pellucid.learning.learner import Learner, precision_for
from pellucid.learning.material import examples_of, validation_of
from pellucid.learning.memory import model_memory
from pellucid.learning.ranks import Ranks
from pellucid.learning.starting import fit_sizes, prepare_vocabulary, start_from
from pellucid.learning.step import share_done
from pellucid.learning.stop import StopRequest
from pellucid.learning.text import Request, fingerprints, overlap, read_text
from pellucid.learning.validation import Corpora
from pellucid.model import Transformer, initialise
from pellucid.text.subwords import can_sample
from pellucid.text.vocabulary import Vocabulary

# Settings that decide when a run stops and what it keeps; they may differ in a resumed run.
KEEPING = ("checkpoint_every", "checkpoint_minutes", "keep_checkpoints", "frames")
ENDING = ("steps", "minutes", "patience", *KEEPING)
Hashes = Mapping[str, str]  # the SHA-256 of each file


@dataclass
class Position:
    """How far a run has come. Every checkpoint contains all of this."""

    step: int = 0
    epoch: int = 0
    window: Sequence[int] = (0, 0)  # in this epoch: its first pair, and how many of its batches are done
    seconds: float = 0.0
    skipped: int = 0  # steps in a row without an update
    best: list[float] | None = None  # the best score and minus its loss, which decides between equal scores
    stale: int = 0  # validations since the best one
    validated: float = 0.0  # the share of the training that was done at the last validation
    validations: list[float] = field(default_factory=list)  # the seconds of each


@dataclass
class Run:
    """Everything that a training run uses; only `position` and `split` change."""

    out: Path
    config: Config
    vocabulary: Vocabulary
    learner: Learner
    examples: Examples
    order: Order
    validation: Corpora
    data: dict[str, str]  # the SHA-256 of each file
    report: Callable[[str], None]
    stop: StopRequest
    ranks: Ranks
    position: Position
    split: bool = False  # whether a step did not fit into memory

    @property
    def done(self) -> float:
        """Return the fraction of the run that is done, from 0 to 1."""
        return share_done(self.config.training, self.position.step, self.position.seconds)

    def batches(self, epoch: int, first: Sequence[int] = (0, 0)) -> Iterator[tuple[Place, Batch]]:
        """Yield the batches of an epoch from the place `first` on, each with the place after it. The same
        data and configuration give the same batches."""
        change = self._sample if self.config.vocabulary.sampling else None
        for place, examples, rows in plan_batches(self.examples, self.order, epoch, first, change):
            yield place, make_batch(examples, rows, self.vocabulary.start_id, self.vocabulary.pad_id)

    def _sample(self, examples: Examples, rows: Array, epoch: int) -> Examples:
        training, power = self.config.training, self.config.vocabulary.sampling
        longest = min(self.config.data.max_length, training.batch_tokens)
        return sample_again(examples, rows, self.vocabulary, power, longest, f"{training.seed} {epoch}")


def set_up(asked: Request, report: Callable[[str], None], stop: StopRequest, ranks: Ranks) -> Run:
    """Prepare a new or resumed run for its next step. Raise an error if the request does not fit the saved
    run or the data."""
    config = asked.config
    check_accepted(asked.accept)
    device = device_named(ranks.device(asked.device))
    prepare_torch(config.training)
    torch.manual_seed(config.training.seed)
    saved, data = _read_state(asked, report, ranks)
    position = _position_of(saved, config, data, asked.out) if saved else Position()
    text = read_text(asked)
    model = None
    if saved:
        vocabulary = load_model(asked.out / "last").vocabulary
    elif config.training.start_from:
        vocabulary, model = start_from(load_folder(Path(config.training.start_from)), config, text.train)
    elif isinstance(text.train, Prepared):
        vocabulary = text.train.vocabulary
    else:
        vocabulary = prepare_vocabulary(text.train, config)
    if config.vocabulary.sampling and not all(map(can_sample, (vocabulary.source, vocabulary.target))):
        only = "only a vocabulary of the kind unigram can split words at random"
        raise UsageError(f"[vocabulary] sampling = {config.vocabulary.sampling}: {only}. Set sampling = 0.")
    examples, order = examples_of(config, vocabulary, report, text)
    validation = validation_of(config, vocabulary, report, text)
    if doubt := isinstance(text.train, ParallelText) and overlap(text.train, text.validation):
        report(doubt)
    config = dataclasses.replace(config, model=fit_sizes(config, vocabulary))
    _report_size(config, device, report)  # before memory is taken
    if model is None:
        model = Transformer(config.model)
        if config.training.first_weights == "usual":
            initialise(model, small=False)
    learner = Learner(model.to(device), config.training, ranks)
    if saved:
        learner.restore(saved.tensors)
        report(f"going on from step {position.step}")
    given = config, vocabulary, learner, examples, order, validation, data
    return Run(asked.out, *given, report, stop, ranks, position)


def prepare_torch(training: TrainingConfig) -> None:
    """Set the number of threads, and how much compiled code is kept. Raise an error if torch is set so that
    nothing can be learned."""
    if (kind := torch.get_default_dtype()) != torch.float32:
        only = f"torch's default type is {kind}, and a training's is float32"
        raise UsageError(f"{only}. Call torch.set_default_dtype(torch.float32) before it.")
    if not torch.is_grad_enabled():
        remedy = "Train outside of no_grad and inference_mode, after torch.set_grad_enabled(True)."
        raise UsageError(f"gradients are switched off in torch, and a training needs them. {remedy}")
    if training.threads:
        torch.set_num_threads(training.threads)
    # oneDNN caches what it compiles for a shape, in bf16 up to 2 MB each, for up to 1,024 shapes. The batches
    # of a training have some 300 (Rows.of). oneDNN reads this before its first product.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256")


def _position_of(saved: checkpoint.TrainingState, config: Config, data: Hashes, out: Path) -> Position:
    try:
        position = Position(**saved.state["position"])
    except TypeError:  # fields have other names
        raise PellucidError(
            f"{out}/checkpoints/step-{saved.step}: another version of Pellucid wrote this checkpoint. Resume "
            f"with that version, or begin a new run from the model: [training] start_from = {str(out)!r}"
        ) from None
    done = share_done(config.training, position.step, position.seconds)  # of what may now be longer
    position.validated = min(position.validated, done)
    if not _judges_alike(from_table(saved.state["config"]), config, saved.state["data"], data):
        position.best, position.stale = None, 0  # scores on other text, or of another measure
    return position


def _read_state(
    asked: Request, report: Callable[[str], None], ranks: Ranks
) -> tuple[checkpoint.TrainingState | None, dict[str, str]]:
    """Return the saved state (None if there is none), and the SHA-256 of the data. Raise an error if the
    saved state does not match the request."""
    config, out = asked.config, asked.out
    if ranks.is_first:
        checkpoint.recover(out)
    ranks.add_up(0)  # the others wait for that
    saved = checkpoint.newest_state(out)
    if saved and not asked.resume:
        raise UsageError(
            "{} holds a training run that stopped at step {}. Go on with {}, or choose another {}.",
            out,
            saved.step,
            Setting("resume", True),
            Setting("out"),
        )
    data = fingerprints(asked)
    if saved:
        _refuse_changes(config, from_table(saved.state["config"]), data, saved.state["data"], asked.accept)
    elif asked.resume:
        report(f"{out} holds no checkpoint: starting from the beginning.")
    return saved, data


def _judges_alike(then: Config, now: Config, old: Hashes, new: Hashes) -> bool:
    """Return whether validations then and now score the same text by the same measure. old, new: the SHA-256
    of the data."""
    if then.training.validation_metric != now.training.validation_metric:
        return False
    if then.data.held_out or now.data.held_out:  # from the text to learn from
        return then.data.held_out == now.data.held_out and old == new
    if ("validation_pairs" in old) != ("validation_pairs" in new):
        return False
    texts = {*fingerprint(now.data.validation).values(), new.get("validation_pairs", "")}
    return len(then.data.validation) == len(now.data.validation) and texts <= {*old.values(), ""}


def _refuse_changes(
    config: Config, saved: Config, data: Hashes, saved_data: Hashes, accept: Sequence[str]
) -> None:
    """Raise an error that lists all settings and data that differ from the saved run and are not in `accept`.
    Settings that only decide when a run stops and what it keeps may always differ.

    The order and the content of the files count; their folders do not.
    """
    free = {*accept, *(f"training.{name}" for name in ENDING)}
    free |= {"data.train", "data.validation"} if "data" in accept else set()
    before, now = _comparable(saved), _comparable(config)
    lines = [
        f"  {name}: {before.get(name)!r} -> {now.get(name)!r}"
        for name in sorted({*before, *now} - free)
        if before.get(name) != now.get(name)
    ]
    for name in sorted({*saved_data, *data}) if "data" not in accept else ():
        if saved_data.get(name) != data.get(name):
            old, new = (hashes.get(name, "absent")[:12] for hashes in (saved_data, data))
            lines.append(f"  data {name}: SHA-256 {old} -> {new}")
    if lines:
        start = config.training.start_from
        if start is not None and not Path(start).exists():
            lines.append(f"  training.start_from: {start} is gone, and with it the settings taken from there")
        raise UsageError(
            "this run was started with other settings or data, so it cannot continue bit for bit:\n{}\n"
            "Restore them, start a new run with another {}, or accept them: {} (or {}).",
            "\n".join(lines),
            Setting("out"),
            *(Setting("accept", (name,)) for name in ("section.key", "data")),
        )


def _comparable(config: Config) -> dict[str, Any]:
    """Return the settings by name, such as "training.seed". Leave out settings of the model that follow from
    the vocabulary, such as its size."""
    return {
        f"{section}.{key}": value
        for section, values in to_table(without_folders(config)).items()
        for key, value in values.items()
        if section != "model" or not key.endswith(("_id", "vocabulary"))
    }


def _report_size(config: Config, device: torch.device, report: Callable[[str], None]) -> None:
    model, precision = without_weights(config.model), precision_for(config.training, device)
    freeze(model, config.training.frozen)
    size = f"{sum(each.numel() for each in model.parameters()):,} parameters"
    if frozen := sum(each.numel() for each in model.parameters() if not each.requires_grad):
        size += f" ({frozen:,} of them frozen)"
    words = f"a vocabulary of {config.model.vocabulary:,}"
    report(f"{size}, {words}, {precision} on {device}: {model_memory(model, precision)}")
