"""A run whose loss or gradient is not finite in too many steps in a row: stop it, and say where to look."""

import itertools
from collections.abc import Sequence

import torch

from pellucid.data.batch import Batch
from pellucid.errors import PellucidError
from pellucid.learning.setting_up import Run
from pellucid.seeing.nonfinite import find_nonfinite


def stop_if_hopeless(run: Run, batches: Sequence[Batch]) -> None:
    """Raise when more than max_skipped steps in a row were left out, with the lines of the last one."""
    if run.position.skipped <= run.config.training.max_skipped:
        return
    lines = ", ".join(itertools.chain.from_iterable(batch.origins[:3] for batch in batches))
    raise PellucidError(
        f"[training] max_skipped = {run.config.training.max_skipped}: the loss or the gradient was not "
        f"finite in {run.position.skipped} steps in a row, the last of them step {run.position.step} "
        f"with the lines {lines}, ... {_where_not_finite(run, batches)}"
        "Lower peak_rate, raise warmup_steps, or look at these lines; the checkpoints before it are intact."
    )


def _where_not_finite(run: Run, batches: Sequence[Batch]) -> str:
    """The first of the lines, and the first tensor in its pass, that is not finite; the weights are still
    those of the step, for it was skipped."""
    model = run.learner.working.train()
    for batch in batches:
        origins, batch = batch.origins, batch.to(run.learner.device)
        for row, origin in enumerate(origins):  # one at a time: the logits of all may not fit into memory
            one = slice(row, row + 1)
            with torch.no_grad(), find_nonfinite(model, run.vocabulary) as found:
                model(batch.source[one], batch.source_mask[one], batch.target_in[one])
            if found.first is not None:
                return f"With {origin}, {found} "
    return "Each tensor of their passes forward was finite, so it is a gradient that is not. "
