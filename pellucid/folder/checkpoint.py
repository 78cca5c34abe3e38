"""Save a model as a folder, and the state of a training run as another folder. See docs/model-folder.md.
manifest.py has the hashes of their files.

A better model is written completely to `.new/`, beside the old model, before it replaces the old one.
"""

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy as copy_of
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from pellucid.config.schema import Config
from pellucid.config.toml_file import to_toml, without_folders
from pellucid.errors import PellucidError
from pellucid.folder.fingerprint import fingerprint
from pellucid.folder.manifest import (
    MANIFEST,
    holds_only,
    is_sealed,
    read_manifest,
    read_sealed,
    remove,
    sealing,
    verify,
)
from pellucid.folder.whole_file import copy, to_disk, writing
from pellucid.model import Transformer
from pellucid.text.vocabulary import FILES as VOCABULARY_FILES
from pellucid.text.vocabulary import Vocabulary

CONFIG, WEIGHTS = "config.toml", "weights.safetensors"
TENSORS, STATE = "tensors.safetensors", "state.json"
AVERAGING = "averaging"  # in the folder of a run: the weights of the last validations
FRAMES = "frames"  # in the folder of a run: models of some steps, in half precision
AGAIN = ".again"  # a new checkpoint of a step that has one, until it replaces that


@dataclass(frozen=True)
class TrainingState:
    """Everything that a training run needs in order to continue as if it had never stopped."""

    step: int
    tensors: dict[str, Tensor]
    state: dict[str, Any]


def save_model(
    folder: str | Path,
    model: Transformer,
    vocabulary: Vocabulary,
    config: Config,
    provenance: Mapping[str, Any],
    stored_as: torch.dtype = torch.float32,
) -> None:
    """Save a model in a folder, which keeps its earlier model until all files of the new one are written."""
    folder, weights = Path(folder), {name: each.to(stored_as) for name, each in model.state_dict().items()}
    for name, tensor in weights.items():
        if not torch.stack(tensor.aminmax()).isfinite().all():  # which needs no second copy of it
            not_finite = f"numbers that are not finite in {stored_as}"
            raise PellucidError(f"{name} holds {not_finite}: the model was not saved.")
    as_stored = model if stored_as == torch.float32 else copy_of(model).to(stored_as).float()
    about = {"provenance": dict(provenance), "fingerprint": fingerprint(as_stored, vocabulary)}
    _finish(folder)
    with sealing(folder / ".new", "model", about) as new:
        (new / CONFIG).write_bytes(to_toml(without_folders(config)).encode())
        vocabulary.save(new)
        _write(new / WEIGHTS, weights)
    _replace_model(folder)


def save_config(folder: Path, config: Config) -> None:
    """Replace the configuration in a model folder and update its manifest; the other files do not change."""
    _reseal(folder, {CONFIG: to_toml(config).encode()}, {})


def save_about(folder: Path, about: Mapping[str, Any]) -> None:
    """Add entries to what a model folder's manifest says about the model; the files do not change."""
    _reseal(folder, {}, about)


def _reseal(folder: Path, changed: Mapping[str, bytes], provenance: Mapping[str, Any]) -> None:
    _finish(folder)
    manifest, files = read_sealed(folder, "model", (CONFIG, WEIGHTS))
    about = {name: value for name, value in manifest.items() if name not in ("format", "kind", "files")}
    about["provenance"] = {**about["provenance"], **provenance}
    with sealing(folder / ".new", "model", about) as new:
        for name, content in (files | dict(changed)).items():
            (new / name).write_bytes(content)
    _replace_model(folder)


def save_state(
    run_folder: str | Path, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any], keep: int = 2
) -> None:
    """Write checkpoints/step-N/. Then delete the checkpoints of later steps, and of the others all but the
    last `keep`."""
    checkpoints = Path(run_folder) / "checkpoints"
    folder, again = checkpoints / f"step-{step}", checkpoints / AGAIN
    with sealing(again if is_sealed(folder) else folder, "training state", {"step": step}) as new:
        _write(new / TENSORS, tensors)
        (new / STATE).write_bytes(json.dumps(dict(state)).encode())
    _replace_state(checkpoints)
    steps = _steps(checkpoints)
    kept = [number for number in steps if number <= step][-keep:]
    with writing(checkpoints):
        for number in steps.keys() - kept:
            remove(steps[number])


def forget_later(run_folder: str | Path, step: int) -> None:
    """Delete the checkpoints of later steps: a run that goes on from this step may not come through them."""
    checkpoints = Path(run_folder) / "checkpoints"
    later = [folder for number, folder in _steps(checkpoints).items() if number > step]
    with writing(checkpoints):
        for folder in later:
            remove(folder)


def newest_state(run_folder: str | Path) -> TrainingState | None:
    """Return the newest complete checkpoint, or None if the run has none; warn about damaged ones. Raise an
    error if all are damaged."""
    newest = next(whole_states(run_folder), None)
    if newest is None and newest_step(run_folder) is not None:
        raise PellucidError(f"{run_folder}: every checkpoint is damaged. Start a new run with another --out.")
    return newest


def newest_step(run_folder: str | Path) -> int | None:
    """Return the step of the newest complete checkpoint without opening it; None if there is none."""
    steps = _steps(Path(run_folder) / "checkpoints")
    return next((step for step, folder in reversed(steps.items()) if is_sealed(folder)), None)


def whole_states(run: str | Path) -> Iterator[TrainingState]:
    """Yield the complete checkpoints, newest first; warn of damaged ones."""
    for step, folder in reversed(_steps(Path(run) / "checkpoints").items()):
        if not is_sealed(folder):
            warnings.warn(f"{folder}: this checkpoint was never finished; passed over.", stacklevel=2)
            continue
        try:
            _, files = read_sealed(folder, "training state", (TENSORS, STATE))
            tensors = read_tensors(files[TENSORS], folder / TENSORS)
            yield TrainingState(step, tensors, json.loads(files[STATE]))
        except PellucidError as error:
            warnings.warn(f"{error} This checkpoint is passed over.", stacklevel=2)


def is_run(folder: str | Path) -> bool:
    """Return whether this folder contains a checkpoint of a training run."""
    for step in _steps(Path(folder) / "checkpoints").values():
        with suppress(PellucidError):
            read_manifest(step, "training state")
            return True
    return False


def recover(run_folder: str | Path) -> None:
    """Repair the folder of a run: complete an interrupted replacement, and remove unfinished files."""
    run_folder = Path(run_folder)
    for new in (run_folder / model / ".new" for model in ("", "last", "averaged")):
        _finish(new.parent)
        if new.exists() and holds_only(new, (CONFIG, WEIGHTS, *VOCABULARY_FILES)):
            remove(new)
    _replace_state(run_folder / "checkpoints")
    for folder in _steps(run_folder / "checkpoints").values():
        if not is_sealed(folder) and holds_only(folder, (TENSORS, STATE)):
            remove(folder)


def _replace_state(checkpoints: Path) -> None:
    """Replace a checkpoint by a newer one of the same step, if the newer one is complete."""
    again = checkpoints / AGAIN
    if is_sealed(again):
        folder = checkpoints / f"step-{read_manifest(again, 'training state')['step']}"
        with writing(checkpoints):
            remove(folder)
            os.replace(again, folder)
            to_disk(checkpoints)


def _finish(folder: Path) -> None:
    """Complete the replacement of a model that was interrupted, unless what is in `.new/` is damaged."""
    new = folder / ".new"
    try:
        if is_sealed(new):
            verify(new, "model")
    except PellucidError as error:
        if not holds_only(new, (MANIFEST, CONFIG, WEIGHTS, *VOCABULARY_FILES)):
            raise
        warnings.warn(f"{error} So the model in {folder} stays, and {new} is removed.", stacklevel=2)
        remove(new)
    _replace_model(folder)


def _replace_model(folder: Path) -> None:
    """Replace the model with the one in `.new/`, if that is complete."""
    new = folder / ".new"
    if not is_sealed(new):
        return
    names = list(read_manifest(new, "model")["files"])
    with writing(folder):
        for name in names:
            copy(new / name, folder / name)
        for name in VOCABULARY_FILES - {*names}:
            (folder / name).unlink(missing_ok=True)
        to_disk(folder)
        copy(new / MANIFEST, folder / MANIFEST)
        to_disk(folder)
        remove(new)


def read_tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """Read the tensors in the bytes of a safetensors file; raise an error that names `path` if damaged."""
    try:
        return safetensors.torch.load(content)
    except SafetensorError as error:
        raise PellucidError(f"{path}: this is not a safetensors file: {error}.") from None


def _write(path: Path, tensors: Mapping[str, Tensor]) -> None:
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        safetensors.torch.save_file(on_cpu, path)
    except SafetensorError as error:
        raise OSError(str(error)) from None


def _steps(checkpoints: Path) -> dict[int, Path]:
    """Return the folders step-N by their number N, smallest first, whether complete or not."""
    numbers = {path.name[5:]: path for path in checkpoints.glob("step-*") if path.name[5:].isdecimal()}
    return {int(n): numbers[n] for n in sorted(numbers, key=int) if n == str(int(n))}
