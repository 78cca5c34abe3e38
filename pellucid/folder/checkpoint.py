"""A model is a folder, saved and loaded here; so is a checkpoint of a training run. See docs/model-folder.md.

A better model is written whole beside the old one, in `.new/`, before it takes its place. Loading checks
every hash before it looks inside a file, and opens nothing but safetensors, TOML, JSON and SentencePiece.
"""

import json
import os
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.overrides import TorchFunctionMode

from pellucid.config.schema import Config, ModelConfig
from pellucid.config.toml_file import from_table, to_toml, without_folders
from pellucid.errors import PellucidError
from pellucid.folder.seal import (
    MANIFEST,
    copy,
    holds_only,
    is_sealed,
    read_manifest,
    remove,
    sealed,
    to_disk,
    verified,
    writing,
)
from pellucid.model import Transformer
from pellucid.text.vocabulary import FILES as VOCABULARY_FILES
from pellucid.text.vocabulary import Vocabulary, load_vocabulary

CONFIG, WEIGHTS = "config.toml", "weights.safetensors"
TENSORS, STATE = "tensors.safetensors", "state.json"
AVERAGING = "averaging"  # in a run's folder: the weights of the last validations
AGAIN = ".again"  # a checkpoint of a step that has one already, until it takes its place


@dataclass(frozen=True)
class TrainingState:
    """What a training run needs to go on as if it had never stopped."""

    step: int
    tensors: dict[str, Tensor]
    state: dict[str, Any]


class Loaded(NamedTuple):
    """What a model folder holds, checked; the manifest says where it comes from."""

    model: Transformer
    vocabulary: Vocabulary
    config: Config
    manifest: dict[str, Any]


def save_model(
    folder: str | Path,
    model: Transformer,
    vocabulary: Vocabulary,
    config: Config,
    provenance: Mapping[str, Any],
    stored_as: torch.dtype = torch.float32,
) -> None:
    """Makes `folder` this model; until all of it is on the disk, it stays the model that it was."""
    folder = Path(folder)
    _replace_model(folder)
    with sealed(folder / ".new", "model", {"provenance": dict(provenance)}) as new:
        (new / CONFIG).write_bytes(to_toml(without_folders(config)).encode())
        vocabulary.save(new)
        weights = model.state_dict().items()
        _write(new / WEIGHTS, {name: _narrowed(name, tensor, stored_as) for name, tensor in weights})
    _replace_model(folder)


def save_config(folder: Path, config: Config) -> None:
    """Gives a model another configuration and seals it again; its other files stay byte for byte."""
    _replace_model(folder)
    manifest, files = verified(folder, "model", (CONFIG, WEIGHTS))
    about = {name: value for name, value in manifest.items() if name not in ("format", "kind", "files")}
    with sealed(folder / ".new", "model", about) as new:
        for name, content in (files | {CONFIG: to_toml(config).encode()}).items():
            (new / name).write_bytes(content)
    _replace_model(folder)


def load_model(folder: str | Path, device: str | torch.device = "cpu") -> Loaded:
    """The model in a folder, ready to translate, with its vocabulary, configuration and manifest."""
    folder = Path(folder)
    manifest, files = _read_model(folder)
    config = _config(folder, files)
    model = without_weights(config.model)
    model.load_state_dict(_weights(files.pop(WEIGHTS), folder / WEIGHTS, model), assign=True)
    return Loaded(model.to(device).eval(), load_vocabulary(folder, config, files), config, manifest)


def without_weights(config: ModelConfig) -> Transformer:
    """A model of this shape on the meta device, whose weights are still to be loaded."""
    with torch.device("meta"), _ShapesOnly():
        return Transformer(config)


def load_config(folder: Path) -> Config:
    """The configuration of the model in a folder, once the hashes of all its files are right."""
    return _config(folder, _read_model(folder)[1])


def save_state(
    run_folder: str | Path, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any], keep: int = 2
) -> None:
    """Writes checkpoints/step-N/, then removes all but the last `keep` (later steps too: another past's)."""
    checkpoints = Path(run_folder) / "checkpoints"
    folder, again = checkpoints / f"step-{step}", checkpoints / AGAIN
    with sealed(again if is_sealed(folder) else folder, "training state", {"step": step}) as new:
        _write(new / TENSORS, {name: _on_cpu(tensor) for name, tensor in tensors.items()})
        (new / STATE).write_bytes(json.dumps(dict(state)).encode())
    _replace_state(checkpoints)
    steps = _steps(checkpoints)
    kept = [number for number in steps if number <= step][-keep:]
    with writing(checkpoints):
        for number in steps.keys() - kept:
            remove(steps[number])


def newest_state(run_folder: str | Path) -> TrainingState | None:
    """The newest checkpoint that is whole, or None; warnings say which were passed over, and why."""
    damage: list[PellucidError] = []
    newest = next(whole_states(run_folder, damage), None)
    if newest is None and damage:
        raise damage[0]
    return newest


def newest_step(run_folder: str | Path) -> int | None:
    """The step of the newest finished checkpoint, which is not opened."""
    steps = _steps(Path(run_folder) / "checkpoints")
    return next((step for step, folder in reversed(steps.items()) if is_sealed(folder)), None)


def whole_states(
    run_folder: str | Path, damage: list[PellucidError] | None = None
) -> Iterator[TrainingState]:
    """The checkpoints that are whole, the newest first; warnings (and `damage`) say why others are not."""
    for step, folder in reversed(_steps(Path(run_folder) / "checkpoints").items()):
        if not is_sealed(folder):
            warnings.warn(f"{folder}: this checkpoint was never finished; passed over.", stacklevel=2)
            continue
        try:
            _, files = verified(folder, "training state", (TENSORS, STATE))
            yield TrainingState(step, _tensors(files[TENSORS], folder / TENSORS), json.loads(files[STATE]))
        except PellucidError as error:
            warnings.warn(f"{error} This checkpoint is passed over.", stacklevel=2)
            if damage is not None:
                damage.append(error)


def is_run(folder: str | Path) -> bool:
    """Whether a training run has saved a checkpoint here."""
    for step in _steps(Path(folder) / "checkpoints").values():
        with suppress(PellucidError):
            read_manifest(step, "training state")
            return True
    return False


def recover(run_folder: str | Path) -> None:
    """At the start of a run: ends a replacement that was interrupted, and removes what was never finished."""
    run_folder = Path(run_folder)
    for new in (run_folder / model / ".new" for model in ("", "last", "averaged")):
        _replace_model(new.parent)
        if new.exists() and holds_only(new, (CONFIG, WEIGHTS, *VOCABULARY_FILES)):
            remove(new)
    _replace_state(run_folder / "checkpoints")
    for folder in _steps(run_folder / "checkpoints").values():
        if not is_sealed(folder) and holds_only(folder, (TENSORS, STATE)):
            remove(folder)


def _replace_state(checkpoints: Path) -> None:
    """Where a step was saved again and that is sealed, it takes the first one's place."""
    again = checkpoints / AGAIN
    if is_sealed(again):
        folder = checkpoints / f"step-{read_manifest(again, 'training state')['step']}"
        with writing(checkpoints):
            remove(folder)
            os.replace(again, folder)
            to_disk(checkpoints)


def _replace_model(folder: Path) -> None:
    """Where `.new/` is sealed, its files take the old ones' place; cut off anywhere, it can be done again."""
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


def _read_model(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """A model's files, also while a trainer replaces them: as long as `.new/` is sealed, it is the model."""
    while True:
        seals = _seals(folder)
        try:
            return verified(folder / ".new" if seals[0] else folder, "model", (CONFIG, WEIGHTS))
        except PellucidError:
            if _seals(folder) == seals:  # nothing moved while we read, so it is damage
                raise


def _seals(folder: Path) -> list[bytes]:
    seals = [b"", b""]
    for index, path in enumerate((folder / ".new" / MANIFEST, folder / MANIFEST)):
        with suppress(OSError):
            seals[index] = path.read_bytes()
    return seals


def _config(folder: Path, files: Mapping[str, bytes]) -> Config:
    try:
        table = tomllib.loads(files[CONFIG].decode())
    except ValueError as error:
        raise PellucidError(f"{folder / CONFIG}: this is not TOML: {error}. Copy the folder again.") from None
    return from_table(table, where=str(folder / CONFIG))


def _weights(content: bytes, path: Path, model: Transformer) -> dict[str, Tensor]:
    """The parameters in float32, once the file's header has shown that names and shapes are the model's."""
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        found = {name: (entry["dtype"], entry["shape"]) for name, entry in header.items() if name[:2] != "__"}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PellucidError(f"{path}: this is not a safetensors file, and nothing else is opened.") from None
    expected = {name: list(parameter.shape) for name, parameter in model.state_dict().items()}
    wrong = [f"{name} is missing" for name in expected if name not in found]
    wrong += [f"{name} is unknown" for name in found if name not in expected]
    for name in expected.keys() & found.keys():
        kind, shape = found[name]
        if shape != expected[name] or kind not in ("F32", "F16", "BF16"):
            wrong.append(f"{name} is {kind} {shape} where F32, F16 or BF16 {expected[name]} belongs")
    if wrong:
        more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise PellucidError(f"{path} does not fit {CONFIG}: {'; '.join(wrong[:3])}{more}.")
    return {name: tensor.float() for name, tensor in _tensors(content, path).items()}


def _tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(content)
    except SafetensorError as error:
        raise PellucidError(f"{path}: this is not a safetensors file: {error}.") from None


def _write(path: Path, tensors: dict[str, Tensor]) -> None:
    try:
        safetensors.torch.save_file(tensors, path)
    except SafetensorError as error:
        raise OSError(str(error)) from None


class _ShapesOnly(TorchFunctionMode):
    """Leaves out a new model's random numbers, which on the meta device cost most of a second for nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in ("normal_", "uniform_", "kaiming_uniform_", "xavier_uniform_"):
            return (*args, *kwargs.values())[0]
        return func(*args, **kwargs)


def _narrowed(name: str, tensor: Tensor, dtype: torch.dtype) -> Tensor:
    narrowed = _on_cpu(tensor).to(dtype)
    if not narrowed.isfinite().all():
        raise PellucidError(f"{name} holds numbers that are not finite in {dtype}: the model was not saved.")
    return narrowed


def _on_cpu(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().contiguous()


def _steps(checkpoints: Path) -> dict[int, Path]:
    """The folders step-N by N, the smallest first, finished or not."""
    numbers = (path.name[5:] for path in checkpoints.glob("step-*") if path.name[5:].isdecimal())
    return {
        n: checkpoints / f"step-{n}"
        for n in sorted(map(int, numbers))
        if (checkpoints / f"step-{n}").exists()
    }
