"""Leaks: does a prediction depend on words that come after it, which a translator cannot know?

Training computes all positions at once, so a mask that is missing, off by one or right only in evaluation
shows nowhere but in results that are too good. Here it shows: change what a prediction must not know, and see
whether it changes. Nothing has to be known of the model's inside.
"""

import itertools
from typing import Any

import torch
from torch import nn

from pellucid.config.whole import seed_setting, whole_setting
from pellucid.errors import UsageError
from pellucid.probes.leak.probes import Predict, Probe, Trial, cut, own_labels, replace_tokens
from pellucid.probes.leak.report import LeakReport, merged
from pellucid.probes.leak.sentences import Ids, sentences
from pellucid.probes.leak.steady import steady


def find_leak(
    model: nn.Module | Predict | None = None,
    *,
    loss: Predict | None = None,
    module: nn.Module | None = None,
    source: Ids | None = None,
    source_mask: Ids | None = None,
    target: Ids | None = None,
    vocabulary: int | None = None,
    label_smoothing: float = 0.0,
    replacements: int = 3,
    seed: int = 0,
) -> LeakReport:
    """Whether predictions depend on tokens that come after them, in evaluation and in training mode.

    model: (source B M, source_mask B M, target B L) -> logits B L V. The target is what the decoder reads:
        row i may depend on target[:, : i + 1] only. Whether it was shifted before, this form cannot see.
    loss: given instead, it takes the same arguments, but the target is labels as the corpus has them, and it
        shifts them as training does. Row i may depend on target[:, :i] only, so a missing shift shows.
        It returns the logits B L V that it compares with the labels (quick), or B L, the loss of each label:
        the cross-entropy, not summed, not divided, no label left out, smoothed by `label_smoothing`. The loss
        of label i does depend on label i; but if the prediction does not, the probabilities that each label
        in turn gets there sum to 1 (which takes as many sentences as there are labels, at each position).
        Rows of the first labels may be missing, where these are given and not predicted.
    module: what is switched between the modes where `model` or `loss` is a function around it; without one,
        a function is tried as it is.
    source, source_mask, target: ids B M, bools B M, ids B L, no padding in the target; random by default.
    vocabulary: the target's ids are below it; need not be given for our models, nor where logits come out.
    replacements: how many random ids each token is replaced by, one after the other.
    """
    call, module = _called(model, loss, module)
    _check_smoothing(label_smoothing)
    replacements = whole_setting("replacements", replacements, 1, 1000, "random ids for each token")
    seed = seed_setting(seed)
    tried = sentences(call, module, (source, source_mask, target), vocabulary, seed)
    probe = Probe(call, module, *tried, loss is not None, label_smoothing, replacements, seed)
    trials = [_try(probe, mode) for mode in (("its own",) if module is None else ("evaluation", "training"))]
    leaks = merged(itertools.chain.from_iterable(trial.leaks for trial in trials))
    return LeakReport(leaks, [trial.words for trial in trials], max(trial.rounding for trial in trials))


def _called(model: Any, loss: Any, module: Any) -> tuple[Predict, nn.Module | None]:
    """What is called, and the module whose mode is switched."""
    call = loss if model is None else model
    if not callable(call) or (model is not None and loss is not None):
        raise UsageError(
            "find_leak takes a model, or any function (source, source_mask, target) -> logits B L V, or with "
            "loss= a function of unshifted labels. Give one of them (of a translator, translator.model)."
        )
    if module is not None and not isinstance(module, nn.Module):
        raise UsageError(
            f"module = {module!r:.60} must be a torch.nn.Module: the one that the function calls, which is "
            "switched between evaluation and training."
        )
    owner = getattr(call, "__self__", None)  # of a method, as in model.forward
    return call, next((each for each in (module, call, owner) if isinstance(each, nn.Module)), None)


def _check_smoothing(label_smoothing: Any) -> None:
    if not isinstance(label_smoothing, int | float) or not 0 <= label_smoothing < 1:
        raise UsageError(
            f"label_smoothing = {label_smoothing!r:.60} must be a number, at least 0 and below 1."
        )


def _try(probe: Probe, mode: str) -> Trial:
    """Everything in one mode."""
    trial = Trial(mode)
    training = torch.is_grad_enabled() if mode == "its own" else mode == "training"
    with steady(probe.module, training):
        replace_tokens(probe, trial)
    with steady(probe.module, training, dropout=False):
        own_labels(probe, trial)
        cut(probe, trial)
    return trial
