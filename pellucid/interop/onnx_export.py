"""Export a model as two ONNX graphs: the encoder, and one step of the decoder with its cache.

The graphs are traced from the model's own modules. The encoder returns the source's keys and values for each
decoder layer, such as `memory.0.keys`. A decoder step takes these and the target's so far, such as
`past.0.keys`, and returns `next_past.0.keys`.
"""

import fnmatch
import json
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pellucid.cache import GrowingPast, Memory
from pellucid.folder.load import Loaded
from pellucid.interop.foreign import import_extra
from pellucid.interop.parity import Parity, compare
from pellucid.interop.pieces import tokens_of, write_sides
from pellucid.mask import Mask
from pellucid.model import EXPORTED_POSITIONS, Transformer, sinusoids
from pellucid.seeing.records import check_found
from pellucid.seeing.trace import trace
from pellucid.seeing.watching import watching
from pellucid.translate.call import forbidden_ids

ENCODER, DECODER, TOKENS = "encoder.onnx", "decoder.onnx", "tokens.json"
IN_ONE_FILE = 2**30  # bytes of weights: a graph file holds 2 GB, so those of a larger model lie beside it
# Sizes to trace with: no two alike, and none that PyTorch would take for a constant (0 and 1).
SENTENCES, SOURCE, PAST, NEW = 2, 7, 5, 3
Axes = Mapping[int, str]  # the names of those that vary


def write_onnx(loaded: Loaded, folder: Path, see: Sequence[str] = ()) -> None:
    """Write encoder.onnx, decoder.onnx, tokens.json and the SentencePiece models; the onnx package checks the
    graphs.

    see: patterns of tensor names, as in a trace; the graphs return these tensors too.
    """
    shape, end = loaded.model.config, torch.tensor([[loaded.model.config.end_id]])
    with torch.no_grad(), trace(loaded.model) as shown:
        loaded.model(end, None, end)
    check_found("see", see, shown)
    mask = torch.ones(SENTENCES, SOURCE, dtype=torch.bool), {0: "sentences", 1: "source"}
    read = {"source": (mask[0].long(), mask[1]), "source_mask": mask}
    new = torch.ones(SENTENCES, NEW, dtype=torch.long), {0: "sentences", 1: "new"}
    write = {"target": new, "source_mask": mask}
    for what, axis, length in (("memory", "source", SOURCE), ("past", "past", PAST)):
        keys = torch.zeros(SENTENCES, shape.heads, length, shape.width // shape.heads)
        write |= {
            name: (keys.clone(), {0: "sentences", 2: axis}) for name in _names(what, shape.decoder_layers)
        }
    # The trace of a graph meets this table as a constant.
    sinusoids(EXPORTED_POSITIONS, shape.width, torch.float32, mask[0].device, shape.positions)
    _write_graph(Graph(loaded.model, encode, see), read, folder / ENCODER)
    _write_graph(Graph(loaded.model, step, see), write, folder / DECODER)
    (folder / TOKENS).write_text(json.dumps(_tokens(loaded), ensure_ascii=False, indent=0), "utf-8")
    write_sides(loaded.vocabulary, folder)


def against_onnx(folder: Path, loaded: Loaded) -> Parity:
    """Compare a model with its ONNX graphs, which onnxruntime runs. The target is split, so that later parts
    use the cache of earlier ones."""
    runtime = import_extra("onnxruntime")
    encoder, decoder = (runtime.InferenceSession(str(folder / name)) for name in (ENCODER, DECODER))
    shape = loaded.model.config
    nothing = torch.zeros(1, shape.heads, 0, shape.width // shape.heads)

    def logits(source: Tensor, target: Tensor) -> Tensor:
        given = {"source": source, "source_mask": torch.ones_like(source, dtype=torch.bool)}
        given |= run(encoder, given) | dict.fromkeys(_names("past", shape.decoder_layers), nothing)
        rows = []
        for ids in target.split(max(1, target.shape[1] // 2), dim=1):
            said = run(decoder, given | {"target": ids})
            given |= {name.removeprefix("next_"): each for name, each in said.items()}
            rows.append(said["logits"])
        return torch.cat(rows, dim=1)

    return compare(logits, loaded, f"onnxruntime {runtime.__version__}")


def run(session: Any, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Run an ONNX graph with those tensors of `given` that are its inputs; return its outputs by name."""
    taken = {each.name: given[each.name].numpy() for each in session.get_inputs()}
    results = zip(session.get_outputs(), session.run(None, taken), strict=True)
    return {each.name: torch.from_numpy(array) for each, array in results}


class Graph(nn.Module):
    """A part of the model as a function of plain tensors. The tensors that `see` names are outputs too."""

    def __init__(
        self, model: Transformer, compute: Callable[..., dict[str, Tensor]], see: Sequence[str]
    ) -> None:
        super().__init__()
        self.model, self.compute, self.see = model, compute, see

    def forward(self, *given: Tensor) -> dict[str, Tensor]:
        """Return all outputs by name, in order."""
        seen: dict[str, Tensor] = {}

        def watch(name: str, axes: str, tensor: Tensor) -> Tensor:
            if any(fnmatch.fnmatchcase(name, glob) for glob in self.see):
                seen[name] = tensor
            return tensor

        # Watched, the norm and the attention compute their equations openly: so do all our graphs.
        with watching(watch, self.model):
            computed = self.compute(self.model, *given)
        return computed | seen


def encode(model: Transformer, source: Tensor, source_mask: Tensor) -> dict[str, Tensor]:
    """Encode sources: ids B M and mask B M -> the source's keys B H M K and values B H M U for each decoder
    layer."""
    memory = model.remember(model.encoder(source, mask_of(source_mask), model.embedding), None)
    return _by_name("memory", memory.keys_BHMK, memory.values_BHMU)


def step(model: Transformer, target: Tensor, source_mask: Tensor, *given: Tensor) -> dict[str, Tensor]:
    """Compute one decoder step: target ids B L, source mask B M, then keys and values of the source and of
    the past -> logits B L V, and the past for the next step."""
    half = len(given) // 2
    memory = Memory([*given[:half:2]], [*given[1:half:2]], mask_of(source_mask))
    past = GivenPast(given[half::2], given[half + 1 :: 2])
    return {"logits": model.decode(target, memory, past)} | past.by_name()


def mask_of(source_mask: Tensor) -> Mask:
    """Return a mask that also works for a sentence of padding only, because tracing cannot depend on the
    mask's values."""
    return Mask(source_mask, some_row_is_empty=True)


class GivenPast(GrowingPast):
    """A past that begins with given keys and values of each layer."""

    def __init__(self, keys_BHMK: Iterable[Tensor], values_BHMU: Iterable[Tensor]) -> None:
        super().__init__()
        self._keys, self._values = [*keys_BHMK], [*values_BHMU]

    def by_name(self) -> dict[str, Tensor]:
        """Return the keys and values of each layer by name, the new ones included."""
        return _by_name("next_past", self._keys, self._values)


def _names(what: str, layers: int) -> list[str]:
    return [f"{what}.{layer}.{name}" for layer in range(layers) for name in ("keys", "values")]


def _by_name(what: str, keys: Sequence[Tensor], values: Sequence[Tensor]) -> dict[str, Tensor]:
    turns = [tensor for pair in zip(keys, values, strict=True) for tensor in pair]
    return dict(zip(_names(what, len(keys)), turns, strict=True))


@torch.no_grad()
def _write_graph(graph: Graph, given: Mapping[str, tuple[Tensor, Axes]], path: Path) -> None:
    checker = import_extra("onnx").checker
    import_extra("onnxscript")
    tensors, axes = zip(*given.values(), strict=True)
    weights = sum(each.numel() * each.element_size() for each in graph.parameters())
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision, which we do not need
    with warnings.catch_warnings(action="ignore"):  # of PyTorch about its own exporter
        program = torch.onnx.export(
            graph,
            tensors,
            dynamo=True,
            dynamic_shapes={"given": axes},
            input_names=[*given],
            output_names=[*graph(*tensors)],
            verbose=False,
        )
    assert program is not None
    program.save(str(path), external_data=weights > IN_ONE_FILE)
    checker.check_model(str(path), full_check=True)


def _tokens(loaded: Loaded) -> dict[str, Any]:
    """Return the special ids, the ids that are never produced, and the token of each id on both sides."""
    vocabulary = loaded.vocabulary
    never = {*forbidden_ids(loaded.model, vocabulary), *loaded.config.translation.suppressed}
    sides = {"source": tokens_of(vocabulary.source), "target": tokens_of(vocabulary.target)}
    return vocabulary.ids() | {"never": sorted(never)} | sides
