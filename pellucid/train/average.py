"""Averaging of checkpoints (Vaswani et al. 2017, section 6.1): the mean of the weights at the last few
validations."""

import os
from pathlib import Path

from safetensors.torch import load_file, save
from torch import Tensor

from pellucid.checkpoint import average
from pellucid.seal import to_disk, writing

FOLDER = "averaging"


def keep_for_average(run: Path, step: int, weights: dict[str, Tensor], most: int) -> None:
    """Put aside the weights of this step, and drop all but the last `most`."""
    folder = run / FOLDER
    temporary = folder / f"step-{step}.tmp"
    with writing(folder):
        folder.mkdir(exist_ok=True)
        temporary.write_bytes(
            save({name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()})
        )
        to_disk(temporary)
        os.replace(temporary, folder / f"step-{step}.safetensors")
    for path in _kept(run, step)[:-most]:
        path.unlink()


def averaged_weights(run: Path, up_to_step: int) -> dict[str, Tensor]:
    """The mean of the weights put aside at steps up to this one; nothing if there are none."""
    paths = _kept(run, up_to_step)
    return average([load_file(path) for path in paths]) if paths else {}


def _kept(run: Path, up_to_step: int) -> list[Path]:
    steps = {int(path.stem.removeprefix("step-")): path for path in (run / FOLDER).glob("step-*.safetensors")}
    return [steps[step] for step in sorted(steps) if step <= up_to_step]
