"""Load a model: from its folder, or from a checkpoint of a training run.

The hash of every file is checked before its content is used, and only safetensors, TOML, JSON and
SentencePiece files are read.
"""

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from pellucid.config.schema import Config, ModelConfig
from pellucid.config.toml_file import from_table
from pellucid.errors import PellucidError, Setting, UsageError
from pellucid.folder.checkpoint import AVERAGING, CONFIG, FRAMES, STATE, TENSORS, WEIGHTS, read_tensors
from pellucid.folder.manifest import is_sealed, read_manifest, read_sealed
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary, load_vocabulary


class Loaded(NamedTuple):
    """The content of a model folder, with all hashes checked. The manifest says where the model comes
    from."""

    model: Transformer
    vocabulary: Vocabulary
    config: Config
    manifest: dict[str, Any]


def load_model(folder: str | Path, device: str | torch.device = "cpu") -> Loaded:
    """Load a model to translate with, from a model folder or from a checkpoint of a training run.

    Such a checkpoint is checkpoints/step-N, averaging/checkpoints/step-N or frames/checkpoints/step-N in the
    run's folder; its vocabulary is read from last/.
    """
    folder = Path(folder)
    if (folder / STATE).is_file():
        return _load_step(folder, device)
    _refuse_without_validation(folder)
    manifest, files = _read_model(folder)
    config = _config(folder, files)
    model = without_weights(config.model)
    weights = {
        name: each.float() for name, each in read_tensors(files.pop(WEIGHTS), folder / WEIGHTS).items()
    }
    _put(weights, model, f"{folder / WEIGHTS} does not fit {CONFIG}", assign=True)
    return Loaded(model.to(device).eval(), load_vocabulary(folder, config, files), config, manifest)


def _put(weights: Mapping[str, Tensor], model: Transformer, wrong: str, assign: bool = False) -> None:
    """Put weights into a model; raise an error that begins with `wrong` if they do not fit."""
    try:
        model.load_state_dict(weights, assign=assign)
    except RuntimeError as error:  # which names what is missing, unknown, or of another shape
        raise PellucidError(f"{wrong}: {error}") from None


def without_weights(config: ModelConfig) -> Transformer:
    """Return a model of this configuration on PyTorch's meta device, where it has shapes but no weights; they
    must be loaded afterwards."""
    with torch.device("meta"), _ShapesOnly():
        return Transformer(config)


def _load_step(folder: Path, device: str | torch.device) -> Loaded:
    manifest, files = read_sealed(folder, "training state", (TENSORS, STATE))
    run, weights = folder.resolve().parent.parent, read_tensors(files[TENSORS], folder / TENSORS)
    if run.name in (AVERAGING, FRAMES):  # weights only
        run = run.parent
    else:  # AdamW's moments and random numbers too
        weights = {name[6:]: tensor for name, tensor in weights.items() if name.startswith("model.")}
    last = load_model(run / "last", device)
    _put(weights, last.model, f"{folder / TENSORS} does not fit the model in {run / 'last'}")
    return last._replace(manifest=manifest)


def load_config(folder: Path) -> Config:
    """Return the configuration of a model folder; raise an error if any hash in the folder is wrong."""
    return _config(folder, _read_model(folder)[1])


def _refuse_without_validation(run_folder: Path) -> None:
    """Raise an error that names last/ if this is a training run that has not chosen a best model yet."""
    last = run_folder / "last"
    # In this order, because a trainer may seal its first model and move it into place meanwhile.
    if any(map(is_sealed, (run_folder / ".new", run_folder))) or not is_sealed(last):
        return
    steps = read_manifest(last, "model")["provenance"]["steps"]
    raise PellucidError(
        f"{run_folder}: this training run has not validated yet, so it has not chosen a model. "
        f"Its model as of step {steps:,} is {last}."
    )


def _read_model(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest and the files of a model, even while a training run replaces them: if `.new/` is
    complete, it is the model."""
    for place in (folder / ".new", folder, folder / ".new"):
        if is_sealed(place):
            with suppress(PellucidError):  # it may have been replaced meanwhile
                return read_sealed(place, "model", (CONFIG, WEIGHTS))
    return read_sealed(folder, "model", (CONFIG, WEIGHTS))


def _config(folder: Path, files: Mapping[str, bytes]) -> Config:
    try:
        table = tomllib.loads(files[CONFIG].decode())
    except ValueError as error:
        raise PellucidError(f"{folder / CONFIG}: this is not TOML: {error}. Copy the folder again.") from None
    return from_table(table, where=str(folder / CONFIG))


def device_named(device: str | torch.device) -> torch.device:
    """Return the torch device of this name; raise an error if it cannot be used. "auto" is a GPU if PyTorch
    sees one, otherwise the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    setting = Setting("device", device)
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise UsageError('{} is not the name of a device. Use "auto", "cpu" or "cuda".', setting) from None
    try:
        torch.zeros(1, device=chosen).item()  # some devices have a name and cannot compute
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0].rstrip(".")
        if isinstance(error, NotImplementedError):
            reason = f"this PyTorch was built without {chosen.type}"
        raise UsageError('{} cannot be used: {}. Use "auto" or "cpu".', setting, reason) from None
    return chosen


def device_of(model: nn.Module) -> torch.device:
    """Return the device on which the model's parameters are."""
    return next(model.parameters()).device


class _ShapesOnly(TorchFunctionMode):
    """A mode of torch that skips the random initialisation of a new model, which takes most of a second even
    on the meta device."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in ("normal_", "uniform_", "kaiming_uniform_", "xavier_uniform_"):
            return (*args, *kwargs.values())[0]
        return func(*args, **kwargs)
