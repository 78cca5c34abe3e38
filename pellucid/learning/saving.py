"""What a run saves: the state to resume from, the last model in last/, the best model in the run's folder,
and the average of the last validated models in averaged/. And changes of saved models: the average of
several, and other translation settings."""

import copy
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pellucid.config.schema import Config, TranslationConfig
from pellucid.config.settings import differences
from pellucid.config.toml_file import from_table, to_table, without_folders
from pellucid.data.corpus import target_language
from pellucid.errors import UsageError
from pellucid.folder import checkpoint
from pellucid.folder.checkpoint import AVERAGING, CONFIG
from pellucid.folder.load import Loaded, device_of, load_config, load_model
from pellucid.folder.manifest import read_manifest
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import making, writing
from pellucid.interop.card import CARD, write_card
from pellucid.learning.claim import LOCK, alone_in
from pellucid.learning.setting_up import Run
from pellucid.learning.step import Validation, average_name
from pellucid.learning.validation import validate
from pellucid.model import Transformer
from pellucid.translate.source_share import usual_share
from pellucid.translate.text_translator import TextTranslator

MEASURED = 500  # sentences of each validation corpus whose source shares are measured, at most


def save(run: Run) -> None:
    """Save the state to resume from, and the current model in last/: the first process does, and the others
    wait, because what started them would end them all if one ended before."""
    model, tensors = run.learner.whole_model(), run.learner.tensors()
    if run.ranks.is_first:
        save_model(run, run.out / "last", model, None, f"step {run.position.step}")
        settings = to_table(without_folders(run.config))
        state = {"position": asdict(run.position), "config": settings, "data": run.data}
        keep = run.config.training.keep_checkpoints
        checkpoint.save_state(run.out, run.position.step, tensors, state, keep)
    run.ranks.add_up(0)


def save_model(run: Run, folder: Path, model: Transformer, validation: Validation | None, what: str) -> None:
    """Save `model` in a folder, with a manifest: what the model is (`what`), its training data, and its
    scores if it was validated."""
    trained = {"steps": run.position.step, "seconds": round(run.position.seconds, 1), "data": run.data}
    scores = {} if validation is None else {"validation": validation.figures()}
    provenance = _provenance(what, run.config, scores, **trained)
    checkpoint.save_model(folder, model, run.vocabulary, run.config, provenance)


def validate_and_keep(run: Run, model: Transformer) -> tuple[Validation, bool]:
    """Validate the current model, given with all its weights. Save them for the average and, if it is the
    best so far, save it in the run's folder. Return the validation, and whether it is the best."""
    average = run.config.training.average
    if average:
        with writing(run.out):
            (run.out / AVERAGING).mkdir(exist_ok=True)
        checkpoint.save_state(run.out / AVERAGING, run.position.step, model.state_dict(), {}, average)
    validation, best = _validate(run, model, f"step {run.position.step}")
    run.position.stale = 0 if best else run.position.stale + 1
    return validation, best


def validate_start(run: Run, model: Transformer) -> Validation:
    """Validate the model that the training starts from, and save it in the run's folder as the best so
    far."""
    name = Path(str(run.config.training.start_from)).name  # without its folders: the log lies in the model's
    validation, _ = _validate(run, model, f"step 0, the model of {name}")
    run.report(f"validation at step 0, of {name}: {validation}")
    return validation


def finish(run: Run) -> dict[str, Any]:
    """End a run: make the averaged model, keep it if it is the best, and save the last state.

    Report which model was kept. Return the last line of the metrics: that, and the average if there is
    one; {} if nothing was validated.
    """
    if run.ranks.from_first(checkpoint.newest_step(run.out) != run.position.step):
        save(run)  # a second signal from here on must not cost the last steps
    model = run.learner.whole_model()
    # Fewer steps were asked for than were done, or another measure than the validations before had.
    is_unknown = run.position.validated < run.done == 1.0 or run.position.best is None
    if run.ranks.is_first and run.validation and is_unknown:
        validation, _ = validate_and_keep(run, model)
        run.report(f"validation at step {run.position.step}: {validation}")
    kept = _keep_average(run, model) if run.ranks.is_first else {}
    if run.ranks.is_first and run.validation:
        _measure_source_share(run)
    save(run)
    if run.ranks.is_first:
        manifest, name = read_manifest(run.out, "model"), run.out.absolute().name
        with writing(run.out / CARD):
            write_card(run.config, manifest, run.out, "pellucid", name)
    return kept


def _keep_average(run: Run, model: Transformer) -> dict[str, Any]:
    is_tried = bool(run.config.training.average and run.validation)
    states = [*checkpoint.whole_states(run.out / AVERAGING)][::-1] if is_tried else []
    steps, validation = [state.step for state in states], None
    what = average_name(steps)
    if states:
        model = copy.deepcopy(model)
        model.load_state_dict(mean([state.tensors for state in states]))
        validation, _ = _validate(run, model, what)
        save_model(run, run.out / "averaged", model, validation, what)
    elif run.position.best is None:
        save_model(run, run.out, model, None, f"step {run.position.step}")
    manifest = read_manifest(run.out, "model")
    kept, about = what_is(manifest), manifest["provenance"]
    run.report(
        f"{what}: {validation}; kept as the model: {kept}" if validation else f"kept as the model: {kept}"
    )
    average = {"average": steps, "validation": validation.figures()} if validation else {}
    model_kept = {"step": about["steps"], **about["scores"]}  # its own line may have been taken back
    end = {"step": run.position.step, **average, "kept": kept, "model": model_kept}
    return end if run.validation else {}


def _measure_source_share(run: Run) -> None:
    """Write into the manifest of the model that was kept which share the source usually has in its
    translations: of the validation text, or of some of it if it is long."""
    model, vocabulary, config, _ = load_model(run.out, device_of(run.learner.model))
    translator, shares = TextTranslator(model, vocabulary, config), list[float]()
    for _, pairs in run.validation.values():
        some = pairs[:: len(pairs) // MEASURED + 1]
        to = target_language(some[0], config.data.languages)
        found = translator.translate([pair.source for pair in some], to=to, source_share=True)
        shares += [each.source_share for each in found if each.source_share is not None]
    if shares:
        checkpoint.save_about(run.out, {"source_share": usual_share(shares)._asdict()})


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


def _provenance(what: str, config: Config, scores: Mapping[str, Any], **trained: Any) -> dict[str, Any]:
    """Return what a manifest says about a model: what it is, how it was trained, its licence and scores, and
    the versions of Pellucid and of the packages that its results depend on, such as torch."""
    others = {name: version(name) for name in ("torch", "sentencepiece", "sacrebleu")}
    versions = {"pellucid": __version__} | others
    about = {"licence": config.data.licence, "scores": scores, "versions": versions}
    return {"what": what, **trained, **about}


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


def average(out: str | Path, checkpoints: str | Path | Sequence[str | Path]) -> Path:
    """Average the weights of several models, and write the result to the new folder `out` (Vaswani et al.
    2017, section 6.1); return the folder.

    A checkpoint is RUN/checkpoints/step-N, RUN/averaging/checkpoints/step-N or a model folder. All must have
    the same architecture and the same vocabulary.
    """
    out = Path(out)
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        only = "an average is written to a new folder only"
        raise UsageError(
            f"{out} already exists, and {only}. Name the new folder first, then the checkpoints."
        )
    checkpoints = [checkpoints] if isinstance(checkpoints, str | Path) else checkpoints
    if not checkpoints:
        raise UsageError("there is nothing to average: name two checkpoints or more.")
    loaded = [load_model(Path(folder), "cpu") for folder in checkpoints]
    for folder, each in zip(checkpoints, loaded, strict=True):
        if difference := _difference(each, loaded[0]):
            raise UsageError(
                f"{folder} cannot be averaged with {checkpoints[0]}: {difference}. "
                "Average checkpoints of one run, or of runs that start from one model."
            )
    model, vocabulary, config, _ = loaded[0]
    model.load_state_dict(mean([each.model.state_dict() for each in loaded]))
    names = "; ".join(what_is(each.manifest) for each in loaded)
    provenance = _provenance(f"average of {names}", config, {})
    with making(out):
        checkpoint.save_model(out, model, vocabulary, config, provenance)
    return out


def _difference(one: Loaded, other: Loaded) -> str:
    """Return why two models cannot be averaged, or "" if they can. Their dropout may differ."""
    shape = [name for name in vars(one.config.model) if not name.endswith("dropout")]
    if different := differences(one.config.model, other.config.model, shape):
        return f"its model has another shape: {different}"
    return "" if one.vocabulary.same_as(other.vocabulary) else "its vocabulary is different"


def change_translation(folder: Path, changes: Mapping[str, Any]) -> tuple[Config, Config]:
    """Change settings such as {"translation.beam": 8} in a model folder; return the old and new
    configuration."""
    for name in changes:
        if not name.startswith("translation."):
            known = ", ".join(f"translation.{setting.name}" for setting in fields(TranslationConfig))
            fixed = "cannot be changed, because it says how the model was made"
            raise UsageError(f"{name} {fixed}. Choose one of {known}.")
    with ExitStack() as stack:
        for run in (folder, folder.absolute().parent):  # runs/x/last belongs to the run in runs/x
            if (run / LOCK).exists():
                stack.enter_context(alone_in(run))
        before = load_config(folder)
        table = to_table(before)
        table["translation"] |= {name.partition(".")[2]: value for name, value in changes.items()}
        after = from_table(table, where=str(folder / CONFIG))
        checkpoint.save_config(folder, after)
    return before, after
