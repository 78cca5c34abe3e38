"""The frames of the movie of learning: the model after some updates, in half precision."""

import math

from pellucid.folder.checkpoint import FRAMES, save_state
from pellucid.folder.whole_file import writing
from pellucid.learning.setting_up import Run


def keep_frame(
    run: Run, before: float | None = None, loss: float | None = None, is_last: bool = False
) -> None:
    """Keep the current model as a frame if it is time: at the first and the last step, and between them at
    even parts of the cube root of the share that is done, so that most frames are early.

    before: the share that was done a step earlier, None at the first. loss: of the step that led here.
    """
    count = run.config.training.frames
    if count == 0 or not (before is None or is_last or _place(count, run.done) > _place(count, before)):
        return
    model = run.learner.whole_model()
    if run.ranks.is_first:
        with writing(run.out):
            (run.out / FRAMES).mkdir(exist_ok=True)
        step, halves = run.position.step, {name: each.half() for name, each in model.state_dict().items()}
        save_state(run.out / FRAMES, step, halves, {"loss": loss}, keep=step + 1)  # all: only later ones go


def _place(count: int, done: float) -> int:
    """Return the number of the frame, of so many, whose time has come last."""
    return math.floor((count - 1) * done ** (1 / 3))
