"""A training run as a generator: learn, log, validate and save, step by step. `pellucid train`,
`pellucid.train` and `pellucid.training` use it."""

import dataclasses
import itertools
import math
import signal
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn

import torch

from pellucid.config.schema import Config
from pellucid.config.toml_file import as_config
from pellucid.data.batch import Batch, Place, ahead
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.checkpoint import AVERAGING, FRAMES, forget_later
from pellucid.interop.importing import config_of
from pellucid.learning.claim import claim
from pellucid.learning.cost import cost_of, peak
from pellucid.learning.frames import keep_frame
from pellucid.learning.log import Log, figures_of, plain_lines, say, showing
from pellucid.learning.memory import TRIM_EVERY, DoesNotFit, split_message, trim_heap
from pellucid.learning.ranks import joined, rank_here, was_restarted
from pellucid.learning.saving import finish, save, validate_and_keep, validate_start
from pellucid.learning.setting_up import Run, set_up
from pellucid.learning.step import Step, Update
from pellucid.learning.stop import END, STEP, Interrupted, handle_ctrl_c, stop_on_signal
from pellucid.learning.text import Request, Texts, check_text

VALIDATING = 0.1  # the largest share of the minutes that `validations` may take
SHORTEST = 1e-9  # seconds of a step, where a clock does not tell so short a time


def train(
    config: Config | Mapping[str, Any] | str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    accept: Sequence[str] = (),
    device: str = "auto",
    show: bool = True,
    report: Callable[[str], None] | None = None,
    pairs: Texts | None = None,
    validation_pairs: Texts | None = None,
) -> Path:
    """Train to the end and return the model folder.

    show: print the progress on standard error, as a bar on a terminal and as plain lines elsewhere, for
    example in a notebook. report: a function that receives each line about other events, such as the reading
    of data; without it, these lines are printed with the progress. The other options are those of `training`.

    Ctrl-C finishes the step, saves, and raises a PellucidError that says how far the training got.
    """
    config = as_config(config, config_of)
    show = show and rank_here().is_first
    report = report or (say if show else lambda line: None)
    with stop_on_signal(), showing(config) if show else nullcontext(lambda step: None) as show_step:
        for step in training(
            config, out, resume, accept, device, report, pairs=pairs, validation_pairs=validation_pairs
        ):
            show_step(step)
    return Path(out)


def training(
    config: Config | Mapping[str, Any] | str | Path,
    out: str | Path,
    resume: bool = False,
    accept: Sequence[str] = (),
    device: str = "auto",
    report: Callable[[str], None] = lambda line: None,
    pairs: Texts | None = None,
    validation_pairs: Texts | None = None,
) -> Iterator[Step]:
    """Train, one step per iteration; the model is written to the folder `out`.

    config: a TOML file, a dictionary with the same content, or a Config. pairs, validation_pairs: text such
    as [("A dog.", "Ein Hund."), …] instead of the files of [data].
    resume: continue from the newest checkpoint, bit for bit. accept: names of settings ("training.peak_rate")
    or "data" that may differ from the saved run. device: "auto" (a GPU if there is one), "cpu", "cuda",
    "cuda:1", …
    report: a function that receives messages about events other than steps, such as the reading of data.

    Between two steps Ctrl-C is the caller's. The training draws from torch's random numbers, and sets its
    own seed; what the caller draws between two steps changes nothing in it.
    """
    if out is None or not str(out):
        raise UsageError("out is empty: name the folder to write the model into.")
    config = as_config(config, config_of)
    texts = [() if each is None else tuple(each) for each in (pairs, validation_pairs)]
    asked = Request(config, Path(out), resume, accept, device, report, *texts)
    check_text(asked)
    return _steps(asked)


def _steps(asked: Request) -> Generator[Step]:
    """Learn, log, validate and save until the run ends; yield each step. After a signal, save the state and
    raise Interrupted."""
    settings, callers = asked.config.training, signal.getsignal(signal.SIGINT)
    with _running(asked) as (run, batches, log):
        _forget_lost_steps(run)
        note, ranks, saved = plain_lines(asked.config, log.note), run.ranks, time.perf_counter()
        began, most_unsaved = saved - run.position.seconds, settings.checkpoint_minutes
        if most_unsaved is None:  # a kill costs at most a tenth of the time
            most_unsaved = min(10.0, (settings.minutes or math.inf) / 10)
        while not _is_done(run):
            taken, started = [*itertools.islice(batches, settings.accumulate)], time.perf_counter()
            done = run.done
            try:
                update = run.learner.learn([each[2] for each in taken], run.position.step + 1, run.done)
            except DoesNotFit:
                save(run)
                raise
            step = _validate_if_due(run, _count(run, taken, update, started, began), began)
            keep_frame(run, done, update.plain_loss, _is_done(run))
            position = run.position
            log.measure(figures_of(step))
            note(step)
            if position.step % TRIM_EVERY == 0 or step.validation:
                trim_heap()
            # A later signal is for the next step: this one may not be saved.
            unsaved = (time.perf_counter() - saved) * ranks.is_first
            unsaved, stopping = ranks.largest(unsaved, run.stop.number or 0)
            run.stop.number = int(stopping) or run.stop.number
            is_late = 0 < most_unsaved <= unsaved / 60
            if stopping or is_late or position.step % settings.checkpoint_every == 0:
                save(run)
                saved = time.perf_counter()
            paused, random, ours = time.perf_counter(), run.learner.random(), handle_ctrl_c(callers)
            yield step
            callers = handle_ctrl_c(ours)
            run.learner.set_random(random)
            began += time.perf_counter() - paused  # what the caller does meanwhile is no training
            if stopping:
                _leave(run, int(stopping))


def _leave(run: Run, stopping: int) -> NoReturn:
    """End all processes after a signal; the first one says how far the training got."""
    by = "" if stopping == signal.SIGINT else f" by {run.stop.name}"
    run.ranks.leave()
    if not run.ranks.is_first:
        raise SystemExit(128 + stopping)
    where = f"at step {run.position.step}; everything is saved in {run.out}."
    raise Interrupted(f"stopped{by} {where}", stopping)


def _count(
    run: Run, taken: Sequence[tuple[int, Place, Batch]], update: Update, started: float, began: float
) -> Step:
    """Count a step, and find out what it cost. started, began: when it and the training did."""
    position, ranks, batches = run.position, run.ranks, [each[2] for each in taken]
    cost = cost_of(batches, max(time.perf_counter() - started, SHORTEST), run.learner, ranks)
    position.step, (position.epoch, position.window, _) = position.step + 1, taken[-1]
    position.skipped = position.skipped + 1 if update.skipped else 0
    (position.seconds,) = ranks.largest((time.perf_counter() - began) * ranks.is_first)
    _judge_update(run, batches, update)
    return Step(position.step, position.epoch, update, position.seconds, cost=cost)


@contextmanager
def _running(asked: Request) -> Iterator[tuple[Run, Iterator[tuple[int, Place, Batch]], Log]]:
    """Set up a run, and yield it with its endless batches and its log. Finish the run if the block ends
    without an error."""
    out, settings = asked.out, asked.config.training
    with joined() as ranks, stop_on_signal() as stop, ExitStack() as at_the_end:
        log = Log(asked.report, ranks.is_first)
        if ranks.is_first:
            at_the_end.enter_context(claim(out))
        at_the_end.enter_context(log.following())
        at_the_end.callback(torch.set_num_threads, torch.get_num_threads())
        stop.run_folder = out
        asked = dataclasses.replace(asked, resume=asked.resume or was_restarted())
        run = set_up(asked, log.say, stop, ranks)
        batches = _endless_batches(run)
        if run.learner.device.type == "cuda":  # on a CPU, nothing waits
            batches = ahead(batches)
        # Before anything is written: settings that allow no batch leave no run in the way of the next.
        first = next(batches)
        ranks.begin(text=run.data, model=run.config.model, position=run.position)
        stop.answer = STEP
        log.open(out, run.position.step or -1)
        if run.position.step == 0:
            if settings.start_from and run.validation:
                start = {"step": 0, "epoch": 0, "seconds": 0.0}
                model = run.learner.whole_model()
                if ranks.is_first:
                    log.measure(start | {"validation": validate_start(run, model).figures()})
                run.position = ranks.from_first(run.position)
            save(run)  # a resume needs the vocabulary, and a full disk shows before the first step
            keep_frame(run)
        # Before the workers start, which take the cores for some seconds, and while memory is free.
        peak(run.learner.device, run.learner.precision, torch.get_num_threads())
        with closing(run.learner):
            run.learner.start_workers()
            yield run, itertools.chain([first], batches), log
        stop.answer = END
        if end := finish(run):
            log.measure(end)
        if ranks.is_first:
            _report_early_end(run)


def _forget_lost_steps(run: Run) -> None:
    """Delete the models that were kept after the checkpoint from which the run goes on: it may not come
    through them again."""
    for aside in (AVERAGING, FRAMES) if run.ranks.is_first else ():
        forget_later(run.out / aside, run.position.step)


def _report_early_end(run: Run) -> None:
    step, warmup = run.position.step, run.config.training.warmup_steps
    if step == 0:
        run.report("nothing was learned: the training ended at step 0 with its first weights")
    elif step < warmup:
        run.report(
            f"the learning rate was still rising at the end: step {step:,} of {warmup:,} warm-up steps. "
            "Lower [training] warmup_steps, or train longer."
        )


def _endless_batches(run: Run) -> Iterator[tuple[int, Place, Batch]]:
    """Yield (epoch, place after the batch, batch) without end, from the current position of the run."""
    first = run.position.window
    for epoch in itertools.count(run.position.epoch):
        for place, batch in run.batches(epoch, first):
            yield epoch, place, batch
        first = 0, 0


def _is_done(run: Run) -> bool:
    """Return whether the run is over: the steps or the time are used up, or validations no longer improve."""
    return run.done == 1.0 or 0 < run.config.training.patience <= run.position.stale


def _validate_if_due(run: Run, step: Step, start: float) -> Step:
    """Validate if it is time: the first process does. Return the step, with the validation if there was one.
    start: when the training began."""
    if not run.validation or not _is_due(run):
        return step
    found, position, began = None, run.position, time.perf_counter()
    model = run.learner.whole_model()
    if run.ranks.is_first:
        found = validate_and_keep(run, model)
        position.validations.append(time.perf_counter() - began)
        position.validated, position.seconds = run.done, time.perf_counter() - start
    found, run.position = run.ranks.from_first((found, position))
    validation, best = found or (None, False)
    return dataclasses.replace(step, validation=validation, best=best)


def _is_due(run: Run) -> bool:
    """Return whether to validate: at the last step, and every validate_every steps or, with `validations`, in
    each part of the training, if the time for it is left."""
    training, position = run.config.training, run.position
    if _is_done(run) or not training.validations:
        return _is_done(run) or position.step % training.validate_every == 0
    # 1e-9, because 1 / 49 * 49 is a little less than 1.
    now, before = (int(done * training.validations + 1e-9) for done in (run.done, position.validated))
    if now == before:
        return False
    # Those of the last step and of the average will take their time, too.
    cost = position.validations[-1] if position.validations else 0.0
    left = VALIDATING * 60 * (training.minutes or math.inf) - 2 * cost
    return sum(position.validations) + cost <= run.done * left


def _judge_update(run: Run, batches: Sequence[Batch], update: Update) -> None:
    """Report a split step, but only the first one; raise an error if more than max_skipped steps in a row had
    no update."""
    training, position = run.config.training, run.position
    if update.split and not run.split:
        longest = run.examples.figures.longest
        run.report(split_message(position.step, batches, update.split, training.batch_tokens, longest))
        run.split = True
    if position.skipped > training.max_skipped:
        lines = ", ".join(itertools.chain.from_iterable(batch.origins[:3] for batch in batches))
        raise PellucidError(
            f"[training] max_skipped = {training.max_skipped}: the loss or the gradient was not "
            f"finite in {position.skipped} steps in a row, the last of them step {position.step} "
            f"with the lines {lines}, ... "
            "Lower peak_rate, raise warmup_steps, or look at these lines, with pellucid.find_nonfinite. "
            "The earlier checkpoints are intact."
        )
