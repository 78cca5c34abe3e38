"""The state of a model that is served: its weights, its parts as configured or not, and who looks on."""

import torch
from torch import nn
from torch.nn.modules import module as torch_modules

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


def state_of(model: Transformer) -> list[object]:
    """Return what each part is, where its parameters lie, and how often these were changed in place. A change
    by `.data` does not count; keep `storages_of`, because the system gives memory that is free to others."""
    facts: list[object] = []
    for module in modules_of(model):
        kind, about = type(module), vars(module)
        facts.append((kind, about.get("forward")))
        for name in SETTINGS.get(kind, ()):
            facts.append(getattr(module, name))
        for each in about["_parameters"].values():
            if each is not None:
                facts.append((each.data_ptr(), each.shape, 0 if each.is_inference() else each._version))
    return facts


def storages_of(model: Transformer) -> list[torch.UntypedStorage]:
    """Return what holds the memory of the parameters."""
    return [each.untyped_storage() for each in model.parameters()]


def is_as_configured(model: Transformer) -> bool:
    """Tell whether a model has the parts and shapes that its configuration describes, all in one type: then
    an engine computes what it computes."""
    described = without_weights(model.config)
    types = {each.dtype for each in model.parameters()}
    if len(types) > 1 or any(each.is_inference() for each in model.parameters()):
        return False
    return list(map(_structure, modules_of(model))) == list(map(_structure, modules_of(described)))


def _structure(module: nn.Module) -> tuple[object, ...]:
    settings = [getattr(module, name) for name in SETTINGS.get(type(module), ())]
    shapes = {name: None if each is None else each.shape for name, each in module._parameters.items()}
    return type(module), vars(module).get("forward"), settings, shapes, list(module._modules)


def has_hooks(model: Transformer) -> bool:
    """Tell whether anybody asked PyTorch to be called when a part of the model computes."""
    everywhere = torch_modules._global_forward_hooks or torch_modules._global_forward_pre_hooks
    everyone = map(vars, modules_of(model))
    return bool(everywhere) or any(each["_forward_hooks"] or each["_forward_pre_hooks"] for each in everyone)


def modules_of(model: nn.Module) -> list[nn.Module]:
    """Return the model and all modules in it. Every call of a translator asks, and `modules()` takes five
    times the time."""
    modules = [model]
    for module in modules:  # which grows meanwhile
        inside = vars(module)["_modules"]
        if inside:
            modules += [each for each in inside.values() if each is not None]
    return modules
