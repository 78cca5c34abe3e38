"""What a run saves: the state to resume from, the last model in last/, the best model in the run's folder,
and the average of the last validated models in averaged/."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pellucid.config.toml_file import to_table, without_folders
from pellucid.folder import checkpoint
from pellucid.folder.checkpoint import AVERAGING
from pellucid.folder.manifest import read_manifest
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import writing
from pellucid.learning.setting_up import Run
from pellucid.learning.step import Validation
from pellucid.learning.validation import validate
from pellucid.model import Transformer


def save(run: Run) -> None:
    """Save the state to resume from, and the current model in last/."""
    save_model(run, run.out / "last", run.learner.model, None, f"step {run.position.step}")
    settings = to_table(without_folders(run.config))
    state = {"position": asdict(run.position), "config": settings, "data": run.data}
    keep = run.config.training.keep_checkpoints
    checkpoint.save_state(run.out, run.position.step, run.learner.tensors(), state, keep)


def save_model(run: Run, folder: Path, model: Transformer, validation: Validation | None, what: str) -> None:
    """Save `model` in a folder, with a manifest: what the model is (`what`), its training data, and its
    scores if it was validated."""
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


def validate_and_keep(run: Run) -> tuple[Validation, bool]:
    """Validate the current model. Save its weights for the average and, if it is the best so far, save it in
    the run's folder. Return the validation, and whether it is the best."""
    model, average = run.learner.model, run.config.training.average
    if average:
        with writing(run.out):
            (run.out / AVERAGING).mkdir(exist_ok=True)
        checkpoint.save_state(run.out / AVERAGING, run.position.step, model.state_dict(), {}, average)
    validation, best = _validate(run, model, f"step {run.position.step}")
    run.position.stale = 0 if best else run.position.stale + 1
    return validation, best


def validate_start(run: Run) -> Validation:
    """Validate the model that the training starts from, and save it in the run's folder as the best so
    far."""
    name = Path(str(run.config.training.start_from)).name  # without its folders: the log lies in the model's
    validation, _ = _validate(run, run.learner.model, f"step 0, the model of {name}")
    run.report(f"validation at step 0, of {name}: {validation}")
    return validation


def finish(run: Run) -> dict[str, Any] | None:
    """End a run: make the averaged model, keep it if it is the best, and save the last state.

    Report which model was kept. Return the metrics of the average, or None if there is no average.
    """
    if checkpoint.newest_step(run.out) != run.position.step:
        save(run)  # a second signal from here on must not cost the last steps
    aside = checkpoint.whole_states(run.out / AVERAGING) if run.config.training.average else ()
    states = [state for state in aside if state.step <= run.position.step][::-1]
    steps, model, validation = [state.step for state in states], run.learner.model, None
    what = f"average of step{'s' * (len(steps) > 1)} {', '.join(map(str, steps))}"
    if states:
        model = copy.deepcopy(model)
        model.load_state_dict(mean([state.tensors for state in states]))
        validation, _ = _validate(run, model, what)
        save_model(run, run.out / "averaged", model, validation, what)
    elif run.position.best is None and run.validation:
        _validate(run, model, f"step {run.position.step}")
    elif run.position.best is None:
        save_model(run, run.out, model, None, f"step {run.position.step}")
    save(run)
    kept = what_is(read_manifest(run.out, "model"))
    run.report(
        f"{what}: {validation}; kept as the model: {kept}" if validation else f"kept as the model: {kept}"
    )
    if validation is None:
        return None
    return {"step": run.position.step, "average": steps, "validation": validation.figures(), "kept": kept}


def mean(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of each parameter over several models of the same shape, computed in float64."""
    return {
        name: torch.stack([state[name].double() for state in states]).mean(0).to(first.dtype)
        for name, first in states[0].items()
    }


def what_is(manifest: Mapping[str, Any]) -> str:
    """Describe a model by its manifest: "step 1747", "average of steps 1500, 1747", "imported opus-mt"."""
    if "step" in manifest:  # a checkpoint
        return f"step {manifest['step']}"
    provenance = manifest["provenance"]
    if "imported from" in provenance:
        return f"imported {provenance['folder']}"
    return str(provenance.get("what") or f"step {provenance['steps']}")


def versions() -> dict[str, str]:
    """Return the versions of Pellucid and of the packages that its results depend on, such as torch."""
    others = {name: version(name) for name in ("torch", "sentencepiece", "sacrebleu")}
    return {"pellucid": __version__} | others


def _validate(run: Run, model: Transformer, what: str) -> tuple[Validation, bool]:
    """Validate a model; if it is the best so far, save it in the run's folder. Return the validation, and
    whether it is the best."""
    validation = validate(model, run.vocabulary, run.config, run.validation, run.position.step)
    best = [validation.score(run.config.training.validation_metric), validation.score("loss")]
    if run.position.best and best <= run.position.best:
        return validation, False
    save_model(run, run.out, model, validation, what)
    run.position.best = best
    return validation, True
