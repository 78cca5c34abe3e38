"""A rehearsal of a training: all that it would do before its first step, and a few steps that are thrown
away."""

import itertools
import math
import shutil
import time
from contextlib import closing, nullcontext
from statistics import fmean

from pellucid.config.schema import NO_LIMIT
from pellucid.data.batch import window_size
from pellucid.learning.claim import LOCK, alone_in, refuse_taken
from pellucid.learning.cost import cost_of, plan
from pellucid.learning.ranks import Ranks, rank_here
from pellucid.learning.setting_up import Run, set_up
from pellucid.learning.step import Cost
from pellucid.learning.stop import StopRequest
from pellucid.learning.text import Request, check_text

STEPS, SECONDS = 6, 20.0  # at most; the first step is not counted


def rehearse(asked: Request) -> None:
    """Report what a training would do: its text, its size, its memory, steps and hours. Write nothing."""
    check_text(asked)
    refuse_taken(asked.out)
    here = rank_here()
    if not here.is_first:  # one process speaks for all
        return
    # Setting up repairs the folder of a run that was killed, which must not be one that is at work.
    with alone_in(asked.out) if (asked.out / LOCK).exists() else nullcontext():
        run = set_up(asked, asked.report, StopRequest(), Ranks())
    settings, learner, count = run.config.training, run.learner, here.count
    windows = max(1.0, sum(run.order.quotas) / window_size(run.examples, settings.batch_tokens))
    batches = sum(1 for _ in itertools.takewhile(lambda each: each[0][0] == 0, run.batches(0)))
    steps, about = math.ceil(windows * batches / settings.accumulate), "about " * (windows > 1)
    longest = min(run.examples.figures.longest, settings.batch_tokens)
    tokens, shares = max(longest, settings.batch_tokens // count), count if settings.sharded else 1
    tokens *= 2 if settings.consistency else 1  # each batch is computed twice
    memory = plan(learner.model.config, tokens, longest, learner.precision, shares)
    asked.report(f"memory{' of each process' * (count > 1)}, beside the text: {memory}")
    _report_disk(run)
    _report_pace(run, count)
    ends = [f"{settings.steps:,} steps"] if settings.steps < NO_LIMIT or not settings.minutes else []
    ends += [f"{settings.minutes:g} minutes"] if settings.minutes else []
    about_epoch = f"an epoch has {about}{steps:,} steps"
    asked.report(f"{about_epoch}; the training ends after {' or '.join(ends)}. Nothing was written.")


def _report_disk(run: Run) -> None:
    """Say how much the models and checkpoints take on the disk, and how much is free there."""
    settings, size = run.config.training, 4 * sum(each.numel() for each in run.learner.model.parameters())
    # Checkpoints have AdamW's moments too, and one is written before another is removed.
    needed = size * (3 * (settings.keep_checkpoints + 1) + settings.average + settings.frames // 2 + 4)
    there = next(path for path in (run.out.absolute(), *run.out.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    few = " FREE MORE, or keep fewer: [training] keep_checkpoints, average." if free < needed else ""
    run.report(f"on the disk: up to {needed / 1e6:,.0f} MB, of {free / 1e6:,.0f} MB that are free.{few}")


def _report_pace(run: Run, count: int) -> None:
    """Learn a few steps in vain, and say how long all would take."""
    settings, began, batches = run.config.training, time.perf_counter(), run.batches(0)
    costs, seconds = list[Cost](), list[float]()
    with closing(run.learner):
        run.learner.start_workers()
        while len(costs) < STEPS and (not costs or time.perf_counter() - began < SECONDS):
            now, taken = time.perf_counter(), [*itertools.islice(batches, settings.accumulate)]
            if not taken:
                break
            run.learner.learn([batch for _, batch in taken], 1)
            seconds.append(time.perf_counter() - now)
            costs.append(cost_of([batch for _, batch in taken], seconds[-1], run.learner, run.ranks))
    step, counted = fmean(seconds[1:] or seconds), costs[1:] or costs
    position = run.position  # of a run that goes on
    left = (settings.steps - position.step) * step, 60 * (settings.minutes or math.inf) - position.seconds
    hours = max(0.0, min(left)) / 3600
    time_needed = f"{hours:,.1f} hours" if hours >= 1 else f"{60 * hours:,.0f} minutes"
    names = ("tokens_a_second", "used", "padding")
    tokens, used, padding = (fmean(getattr(each, name) for each in counted) for name in names)
    alone = f" in one process of {count}" * (count > 1)
    run.report(
        f"{len(costs)} steps were tried{alone}: {step:,.2f} seconds a step, {tokens:,.0f} tokens a second, "
        f"{used:.0%} of what the device does in products, {padding:.0%} padding, "
        f"{costs[-1].memory:,} MB used; {'the rest' if position.step else 'all'} takes up to {time_needed}, "
        "without validations"
    )
