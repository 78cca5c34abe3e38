"""Leaks: does a prediction depend on words that come after it, which a translator cannot know?

Training computes all positions at once, so a mask that is missing, off by one or right only in evaluation
shows nowhere but in results that are too good. Here it shows: change what a prediction must not know, and see
whether it changes. Nothing has to be known of the model's inside.
"""

import itertools

import torch
from torch import Tensor, nn

from pellucid.errors import UsageError
from pellucid.explain.leak.probes import Predict, Probe, Trial, cut, own_labels, replace_tokens
from pellucid.explain.leak.report import LeakReport, merged
from pellucid.explain.leak.steady import repeatable, steady
from pellucid.model import Transformer

SENTENCES, SOURCE, TARGET = 2, 6, 8  # how many, and of how many tokens, where none are given
PADDED = 2  # tokens of the last of these sources are padding


def find_leak(
    model: nn.Module | Predict | None = None,
    *,
    loss: Predict | None = None,
    module: nn.Module | None = None,
    source: Tensor | None = None,
    source_mask: Tensor | None = None,
    target: Tensor | None = None,
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
    call = loss if model is None else model
    if not callable(call) or (model is not None and loss is not None):
        raise UsageError(
            "find_leak takes a model, or any function (source, source_mask, target) -> logits B L V, or with "
            "loss= a function of unshifted labels. Give one of them (of a translator, translator.model)."
        )
    owner = getattr(call, "__self__", None)  # of a method, as in model.forward
    module = next((each for each in (module, call, owner) if isinstance(each, nn.Module)), None)
    if not 0 <= label_smoothing < 1 or replacements < 1:
        raise UsageError(
            f"label_smoothing = {label_smoothing} and replacements = {replacements}: the first must be at "
            "least 0 and below 1, the second at least 1."
        )
    ids = _ids(call, module, (source, source_mask, target), vocabulary, loss is not None, seed)
    probe = Probe(call, module, *ids, loss is not None, label_smoothing, replacements, seed)
    trials = [_try(probe, mode) for mode in (("its own",) if module is None else ("evaluation", "training"))]
    leaks = merged(itertools.chain.from_iterable(trial.leaks for trial in trials))
    return LeakReport(leaks, [trial.words for trial in trials], max(trial.rounding for trial in trials))


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


def _ids(
    call: Predict,
    module: nn.Module | None,
    given: tuple[Tensor | None, Tensor | None, Tensor | None],
    vocabulary: int | None,
    unshifted: bool,
    seed: int,
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Source, source mask and target, filled in where they are not given, and the size of the vocabulary."""
    source, source_mask, target = given
    tensors = [*(each for each in given if each is not None), *(module.parameters() if module else ())]
    device = tensors[0].device if tensors else torch.device("cpu")
    random = torch.Generator().manual_seed(seed)
    rows = next((len(each) for each in given if each is not None), SENTENCES)
    ours = module.config if isinstance(module, Transformer) else None
    if source is None:
        # Every vocabulary has id 1; what the source says hardly matters here.
        lowest, highest = (0, ours.vocabulary) if ours else (1, 2)
        source = torch.randint(lowest, highest, (rows, SOURCE), generator=random).to(device)
        if source_mask is None and rows > 1:
            source_mask = torch.ones_like(source, dtype=torch.bool)
            source_mask[-1, -PADDED:] = False
    if source_mask is None:
        source_mask = torch.ones_like(source, dtype=torch.bool)
    if vocabulary is None:
        example = source.new_ones(rows, TARGET) if target is None else target
        vocabulary = ours.target_size if ours else _size_of_logits(call, module, source, source_mask, example)
    if target is None:
        target = torch.randint(0, vocabulary, (rows, TARGET), generator=random).to(device)
    _check(source, source_mask, target, vocabulary)
    return source, source_mask, target, vocabulary


def _size_of_logits(
    call: Predict, module: nn.Module | None, source: Tensor, source_mask: Tensor, target: Tensor
) -> int:
    """V of what comes out."""
    with steady(module, training=False):
        numbers, _ = repeatable(lambda: call(source, source_mask, target), module, seed=0)
    if numbers.dim() != 3:
        raise UsageError(
            "vocabulary is not given, and no logits come out that would tell it. Set vocabulary= to the "
            "number of ids that a target may hold."
        )
    return numbers.shape[-1]


def _check(source: Tensor, source_mask: Tensor, target: Tensor, vocabulary: int) -> None:
    shapes = [tuple(each.shape) for each in (source, source_mask, target)]
    if shapes[0] != shapes[1] or [len(each) for each in shapes] != [2, 2, 2] or shapes[0][0] != shapes[2][0]:
        raise UsageError(
            f"source, source_mask and target have the shapes {shapes[0]}, {shapes[1]} and {shapes[2]}. They "
            "must be B M, B M and B L: as many rows in all three."
        )
    if target.shape[1] < 2:
        raise UsageError(
            "a target of 1 token has nothing that comes after it. Give one of at least 2 tokens."
        )
    if vocabulary < 2 or not bool(((target >= 0) & (target < vocabulary)).all()):
        raise UsageError(
            f"vocabulary = {vocabulary}, and the target's ids go from {int(target.min())} to "
            f"{int(target.max())}. Ids must lie below vocabulary, and there must be two of them at least."
        )
