"""Find out what a model is at this moment: its weights, whether its modules are those of its configuration,
and whether it has hooks."""

import functools
import math
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_modules

from pellucid.cache import Memory
from pellucid.config.schema import ModelConfig
from pellucid.folder.load import without_weights
from pellucid.model import Attention, Decoder, Encoder, FeedForward, Norm, Transformer

# What else decides how a part computes; an engine takes it from the configuration.
SETTINGS = {
    Encoder: ("scale", "positions"),
    Decoder: ("scale", "positions"),
    Attention: ("heads",),
    FeedForward: ("activation",),
    Norm: ("epsilon",),
}


# Of each model, the state of the weights that make scores, and whether they are finite.
CHECKED: "WeakKeyDictionary[Transformer, tuple[list[tuple[int, int]], Tensor]]" = WeakKeyDictionary()


def structure_of(model: nn.Module) -> list[object]:
    """Return the type, the settings, the shapes and the submodules of each module in a model, to compare it
    with another."""
    facts: list[object] = []
    for module in modules_of(model):
        about = vars(module)
        shapes = {name: None if each is None else each.shape for name, each in about["_parameters"].items()}
        facts.append((type(module), settings_of(module), shapes, [*about["_modules"]]))
    return facts


def state_of(model: Transformer) -> list[object]:
    """Return a list that changes if a weight, a module or a setting of the model is changed: the modules,
    their settings, the addresses of the parameters, and how often each was changed in place.

    A change through `.data` is not noticed. Keep references to the storages: PyTorch may use the address of
    freed memory again.
    """
    state = list[object](modules := modules_of(model))
    for module in modules:
        if "forward" in vars(module) or type(module) in SETTINGS:
            state += settings_of(module)
        for each in vars(module)["_parameters"].values():
            if each is not None:
                state += each.data_ptr(), 0 if each.is_inference() else each._version
    return state


def settings_of(module: nn.Module) -> list[object]:
    """Return what decides how a module computes, besides its type and its parameters."""
    return [vars(module).get("forward"), *(getattr(module, name) for name in SETTINGS.get(type(module), ()))]


def is_as_configured(model: Transformer) -> bool:
    """Tell whether a model has exactly the modules and shapes of its configuration, in one data type, and no
    parameter made in inference mode. Only then does an engine compute the same as the model; none knows
    learned positions."""
    if model.config.positions == "learned":
        return False
    if len({each.dtype for each in model.parameters()}) > 1:
        return False
    if any(each.is_inference() for each in model.parameters()):
        return False
    return structure_of(model) == _structure_for(model.config)


@functools.lru_cache(maxsize=8)
def _structure_for(config: ModelConfig) -> list[object]:
    return structure_of(without_weights(config))


def has_hooks(model: Transformer) -> bool:
    """Tell whether any module of the model has PyTorch hooks."""
    everywhere = torch_modules._global_forward_hooks or torch_modules._global_forward_pre_hooks
    everyone = map(vars, modules_of(model))
    return bool(everywhere) or any(each["_forward_hooks"] or each["_forward_pre_hooks"] for each in everyone)


def is_hidden(model: Transformer, memory: Memory) -> Tensor:
    """Return, for each sentence, whether numbers that are not finite would not show in its logits: in the
    memory of the source, or in the weights that make scores. The fused attention of PyTorch replaces a row of
    scores that are NaN by zeros."""
    attentions = [each for each in modules_of(model) if isinstance(each, Attention)]
    weights = [part for each in attentions for half in (each.query, each.key) for part in half.parameters()]
    present = [(each.data_ptr(), 0 if each.is_inference() else each._version) for each in weights]
    if CHECKED.get(model, (None, None))[0] != present:  # to read the weights takes as long as a step
        CHECKED[model] = present, nn.utils.get_total_norm(weights, math.inf).isfinite()
    finite_B = torch.stack([keys.flatten(1).isfinite().all(1) for keys in memory.keys_BHMK]).all(0)
    return ~(finite_B & CHECKED[model][1])


def modules_of(model: nn.Module) -> list[nn.Module]:
    """Return the model and all modules in it, about five times as fast as `modules()`: every call of a
    translator needs this list."""
    modules = [model]
    for module in modules:  # which grows meanwhile
        inside = vars(module)["_modules"]
        if inside:
            modules += [each for each in inside.values() if each is not None]
    return modules
