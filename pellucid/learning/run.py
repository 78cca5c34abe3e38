"""A training run: learn, log, validate, save, step by step; `pellucid train`, `pellucid.train` and
`pellucid.training` are this generator."""

import contextlib
import copy
import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pellucid.config.schema import Config, TrainingConfig
from pellucid.config.toml_file import as_config, to_table, without_folders
from pellucid.data.batch import Batch
from pellucid.errors import UsageError
from pellucid.folder import checkpoint
from pellucid.folder.seal import read_manifest
from pellucid.learning import heap
from pellucid.learning.apart import apart
from pellucid.learning.average import keep_for_average, mean, put_aside
from pellucid.learning.claim import claim
from pellucid.learning.display import validation_progress
from pellucid.learning.hopeless import stop_if_hopeless
from pellucid.learning.learner import Update
from pellucid.learning.log import LOG, Log
from pellucid.learning.memory import needing_memory
from pellucid.learning.metrics import METRICS, open_metrics, write_metrics
from pellucid.learning.provenance import average_of, versions, what_is
from pellucid.learning.recording import Recorder, Recording, recording, start_recording
from pellucid.learning.setting_up import Run, set_up
from pellucid.learning.splitting import DoesNotFit, split_line
from pellucid.learning.step import Step
from pellucid.learning.stop import END, STEP, VALIDATION, Interrupted, StopRequest, stop_on_signal
from pellucid.learning.text import Given, Texts, check_given
from pellucid.learning.validation import Validation, validate
from pellucid.model import Transformer


def training(
    config: Config | Mapping[str, Any] | str | Path,
    out: str | Path,
    resume: bool = False,
    accept: Sequence[str] = (),
    device: str = "auto",
    report: Callable[[str], None] = lambda line: None,
    record: Iterable[int] = (),
    only: str = "*",
    pairs: Texts | None = None,
    validation_pairs: Texts | None = None,
) -> Iterator[Step]:
    """Train, one step an iteration; the folder `out` becomes the model's.

    config: a TOML file, a dictionary like one, or a Config. pairs, validation_pairs: text as
    [("A dog.", "Ein Hund."), …] in place of the files of [data].
    resume: go on from the newest checkpoint, bit for bit. accept: settings ("training.peak_rate") or "data"
    that may differ from the run's. device: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", …
    report: takes a line of what happens beside the steps, such as data read.
    record: the numbers of steps that carry a trace of the pass that they learned from (of its first batch),
    with the tensors whose name matches `only`; the training stays what it is, bit for bit.

    Between two steps Ctrl-C, torch's random numbers and its number of threads are the caller's.
    """
    if not str(out):
        raise UsageError("out is empty: name the folder that becomes the model's.")
    config = as_config(config)
    given = check_given(pairs, validation_pairs, config.data)
    wanted = recording(record, only, config)
    return apart(_training(config, Path(out), resume, accept, device, report, wanted, given))


def _training(
    config: Config,
    out: Path,
    resume: bool,
    accept: Sequence[str],
    device: str,
    report: Callable[[str], None],
    wanted: Recording,
    given: Given,
) -> Generator[Step]:
    log = Log(report)
    with claim(out), log.noting_the_end(), stop_on_signal() as stop:
        stop.run_folder, stop.say = out, log.say
        with log.noting_warnings():
            run = set_up(config, out, resume, accept, device, log.say, stop, given)
            # Before anything is written: where the settings allow no batch, or a recording cannot be, no run
            # is left behind that would be in the way of the next try.
            batches = _batches(run)
            first = next(batches)
            recorder = start_recording(wanted, run, log.say)
        stop.doing = STEP
        with contextlib.closing(run.learner):
            run.learner.start_workers()
            steps = _steps(run, stop, itertools.chain([first], batches), recorder)
            yield from log.follow(steps, config, out / LOG)
        with log.noting_warnings(), stop.during(END):
            _finish(run)
            step, warmup = run.position.step, config.training.warmup_steps
            if 0 < step < warmup:
                log.say(
                    f"the learning rate was still rising at the end: step {step:,} of {warmup:,} warm-up "
                    "steps. Lower [training] warmup_steps, or train longer."
                )


def _steps(
    run: Run, stop: StopRequest, batches: Iterator[tuple[int, int, Batch]], recorder: Recorder
) -> Generator[Step]:
    settings, before, learn = run.config.training, run.position.seconds, _learning(run)
    started = saved = time.perf_counter()
    with open_metrics(run.out / METRICS, run.position.step or -1) as metrics:
        if run.position.step == 0:
            if settings.start_from and run.validation_pairs:
                write_metrics(metrics, _start(run))
            save(run)  # for a resume needs the vocabulary, and a full disk is known before the first step
        while not _is_done(run):
            taken = itertools.islice(batches, settings.accumulate)
            epochs, places, of_step = zip(*taken, strict=True)
            number = run.position.step + 1
            trace = recorder.record(number, of_step[0])
            update = learn(of_step, number)
            run.position = dataclasses.replace(
                run.position,
                step=number,
                epoch=epochs[-1],
                batch=places[-1],
                seconds=before + time.perf_counter() - started,
                skipped=run.position.skipped + 1 if update.skipped else 0,
            )
            stop_if_hopeless(run, of_step)
            step = dataclasses.replace(_validated(run, update), trace=trace)
            run.position = dataclasses.replace(run.position, seconds=before + time.perf_counter() - started)
            write_metrics(metrics, _metrics(step))
            if number % heap.EVERY == 0 or step.validation:
                heap.trim()
            stopping = stop.requested  # a signal from here on is for the next step: this one may not be saved
            minutes = (time.perf_counter() - saved) / 60
            if stopping or _is_due(number, minutes, settings):
                save(run)
                saved = time.perf_counter()
            yield step
            if stopping:
                raise Interrupted(f"stopped at step {number}; everything is saved in {run.out}.")


def _learning(run: Run) -> Callable[[Sequence[Batch], int], Update]:
    """Return what learns from batches: it tells of the first split step, and saves before it gives up."""
    told = False

    def learn(batches: Sequence[Batch], step: int) -> Update:
        nonlocal told
        try:
            update = run.learner.learn(batches, step)
        except DoesNotFit:
            save(run)
            raise
        if update.split and not told:
            run.report(split_line(step, batches, update.split, run.config.training.batch_tokens))
            told = True
        return update

    return learn


def _batches(run: Run) -> Iterator[tuple[int, int, Batch]]:
    """Endlessly, from where the run stands: (epoch, number of the next batch, batch)."""
    start = run.position.batch
    for epoch in itertools.count(run.position.epoch):
        for index, batch in enumerate(run.batches(epoch, start), start + 1):
            yield epoch, index, batch
        start = 0


def _is_done(run: Run) -> bool:
    """By steps, by time, or because validations are no longer better."""
    settings, position = run.config.training, run.position
    out_of_time = settings.minutes is not None and position.seconds >= 60 * settings.minutes
    return position.step >= settings.steps or out_of_time or 0 < settings.patience <= position.stale


def _is_due(step: int, minutes: float, settings: TrainingConfig) -> bool:
    """Whether to save at this step, so many minutes after the last save."""
    return step % settings.checkpoint_every == 0 or 0 < settings.checkpoint_minutes <= minutes


def _validated(run: Run, update: Update) -> Step:
    """The step, validated if it is its turn or the last; the best model so far becomes the folder itself."""
    position, settings = run.position, run.config.training
    step = Step(position.step, position.epoch, update, position.seconds)
    its_turn = position.step % settings.validate_every == 0 or _is_done(run)
    if not its_turn or not run.validation_pairs:
        return step
    if settings.average:
        keep_for_average(run.out, position.step, run.learner.model.state_dict(), settings.average)
    with run.stop.during(VALIDATION):
        validation = _validate(run, run.learner.model)
    best = _keep_if_best(run, run.learner.model, validation, f"step {position.step}")
    run.position = dataclasses.replace(run.position, stale=0 if best else position.stale + 1)
    return dataclasses.replace(step, validation=validation, best=best)


def _start(run: Run) -> dict[str, Any]:
    """The model to start from, validated: what the run must beat."""
    found = _validate(run, run.learner.model)
    name = Path(str(run.config.training.start_from)).name  # not its folders: the log lies in the model's
    _keep_if_best(run, run.learner.model, found, f"step 0, the model of {name}")
    run.report(f"validation at step 0, of {name}: {found}")
    return {"step": 0, "epoch": 0, "seconds": 0.0, "validation": dataclasses.asdict(found)}


def _keep_if_best(run: Run, model: Transformer, validation: Validation, what: str) -> bool:
    """The best model so far becomes the folder itself; of two with the same score, the one with the lower
    loss."""
    metric, position = run.config.training.validation_metric, run.position
    score, minus_loss = validation.score(metric), validation.score("loss")
    if position.best_score is not None:
        # A checkpoint from before the loss was kept has none: its model gives way to a better score only.
        best = position.best_score, math.inf if position.best_loss is None else -position.best_loss
        if (score, minus_loss) <= best:
            return False
    keep_model(run, run.out, model, validation, what)
    run.position = dataclasses.replace(run.position, best_score=score, best_loss=-minus_loss)
    return True


def save(run: Run) -> None:
    """The state, to go on from; and the model as it is now, in last/."""
    keep_model(run, run.out / "last", run.learner.model, None, f"step {run.position.step}")
    settings = to_table(without_folders(run.config))
    state = {"position": dataclasses.asdict(run.position), "config": settings, "data": run.data}
    checkpoint.save_state(
        run.out, run.position.step, run.learner.tensors(), state, keep=run.config.training.keep_checkpoints
    )


def keep_model(run: Run, folder: Path, model: Transformer, validation: Validation | None, what: str) -> None:
    """A model folder with what it is and where it comes from."""
    provenance = {
        "what": what,
        "steps": run.position.step,
        "seconds": round(run.position.seconds, 1),
        "data": run.data,
        "licence": run.config.data.licence,
        "scores": {} if validation is None else {"validation": validation.figures()},
        "versions": versions(),
    }
    checkpoint.save_model(folder, model, run.vocabulary, run.config, provenance)


def _finish(run: Run) -> None:
    """The averaged model, which becomes the folder itself if it is the best; then the last state. What the
    average is worth and which model was kept is reported."""
    if checkpoint.newest_step(run.out) != run.position.step:
        save(run)  # a second signal in what follows must not cost the last steps
    states = put_aside(run.out, run.position.step) if run.config.training.average else []
    validation, what = None, average_of([state.step for state in states])
    if states:
        model = copy.deepcopy(run.learner.model)
        model.load_state_dict(mean([state.tensors for state in states]))
        validation = _validate(run, model)
        keep_model(run, run.out / "averaged", model, validation, what)
        _keep_if_best(run, model, validation, what)
    elif run.position.best_score is None:
        only = _validate(run, run.learner.model) if run.validation_pairs else None
        keep_model(run, run.out, run.learner.model, only, f"step {run.position.step}")
    save(run)
    kept = what_is(read_manifest(run.out, "model"))
    run.report(
        f"{what}: {validation}; kept as the model: {kept}" if validation else f"kept as the model: {kept}"
    )
    if validation:
        values = {"average": [state.step for state in states], "validation": validation.figures()}
        with open_metrics(run.out / METRICS, run.position.step) as metrics:
            write_metrics(metrics, {"step": run.position.step, **values, "kept": kept})


def _validate(run: Run, model: Transformer) -> Validation:
    pairs = run.validation_pairs
    progress = validation_progress(run.position.step, len(pairs), run.report)
    remedy = "Translate with fewer hypotheses: --resume --set translation.beam=1 --accept translation.beam"
    with needing_memory(f"in the validation of step {run.position.step:,}", remedy):
        return validate(model, run.vocabulary, run.config, run.validation_batches, pairs, progress)


def _metrics(step: Step) -> dict[str, Any]:
    values = {"step": step.number, "epoch": step.epoch, "seconds": round(step.seconds, 3)}
    values |= dataclasses.asdict(step.update)
    return values | ({} if step.validation is None else {"validation": step.validation.figures()})
