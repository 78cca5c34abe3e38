"""pellucid inspect: describe a model folder."""

import argparse
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from pellucid.cli.lines import put, put_json
from pellucid.config.toml_file import to_toml
from pellucid.folder.load import Loaded
from pellucid.interop.ctranslate2_export import against_ctranslate2
from pellucid.interop.foreign import is_ctranslate2
from pellucid.interop.importing import load_folder
from pellucid.interop.parity import compare_models
from pellucid.model import Transformer
from pellucid.seeing.trace import trace
from pellucid.text.vocabulary import Vocabulary
from pellucid.translator import folder_of

LAYER = re.compile(r"\.layers\.\d+\.")


def run(arguments: argparse.Namespace) -> None:
    """Check all hashes and describe the model. With --tensors or --against, print only what is asked."""
    folder = folder_of(arguments.model)
    if arguments.against:
        put([_against((arguments.model, arguments.against))])
        return
    loaded = load_folder(folder)
    tensors, manifest = list_tensors(loaded.model), loaded.manifest
    if arguments.tensors:
        put(f"{name}\t{axes}" for name, axes in tensors.items())
        return
    if arguments.json:
        put_json(_described(folder, loaded, tensors))
        return
    what = f"step {manifest['step']} of a training run" if "step" in manifest else "a model"
    hashes = f"; the hashes of its {len(manifest['files'])} files are right" if manifest["files"] else ""
    put([f"{folder}: {what}{hashes}"])
    sections = {
        "provenance": _tree(manifest.get("provenance", {"steps": manifest.get("step")})),
        "vocabulary": _vocabulary(loaded.vocabulary),
        "parameters": _table(
            {part: f"{count:,}" for part, count in parameters_by_part(loaded.model).items()}
        ),
        "tensors that a trace shows, and their axes ({l} is a layer)": _table(
            {LAYER.sub(".layers.{l}.", name): axes for name, axes in tensors.items()}
        ),
        "configuration": _configuration(loaded),
    }
    for title, lines in sections.items():
        put(["", title, *_indent(lines)])


def _described(folder: Path, loaded: Loaded, tensors: Mapping[str, str]) -> dict[str, Any]:
    """Return all that is known of a model, as a program reads it."""
    vocabulary = loaded.vocabulary
    return {
        "folder": str(folder),
        "hashes_right": len(loaded.manifest["files"]),
        "provenance": loaded.manifest.get("provenance", {"steps": loaded.manifest.get("step")}),
        "vocabulary": {
            "kind": vocabulary.kind,
            "source_size": vocabulary.source_size,
            "target_size": vocabulary.target_size,
            "languages": [list(pair) for pair in vocabulary.languages],
        },
        "parameters": parameters_by_part(loaded.model),
        "tensors": dict(tensors),
        "configuration": tomllib.loads("\n".join(_configuration(loaded))),
    }


def _against(names: tuple[str, str]) -> str:
    """Return text that says whether two models compute the same function or where they first differ."""
    one, other = map(folder_of, names)
    if is_ctranslate2(one) and not is_ctranslate2(other):
        one, other, names = other, one, (names[1], names[0])
    if is_ctranslate2(other):
        return against_ctranslate2(other, load_folder(one)).verdict(names)
    return compare_models(load_folder(one), load_folder(other), names)


def list_tensors(model: Transformer) -> dict[str, str]:
    """Return the names and axes of all tensors that a trace records, in the order of computation."""
    ids = torch.tensor([[model.config.end_id]])
    with torch.no_grad(), trace(model) as seen:
        model(ids, torch.ones_like(ids, dtype=torch.bool), ids)
    return {name: record.axes for name, record in seen.items()}


def parameters_by_part(model: Transformer) -> dict[str, int]:
    """Return the number of parameters of each module, such as "encoder.layers.{l}.self_attention" (the sum
    over all layers), and of "all"."""
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        part = ".".join(LAYER.sub(".layers.{l}.", name).split(".")[: 4 if LAYER.search(name) else -1])
        counts[part] += parameter.numel()
    counts["all"] = counts.total()
    return dict(counts)


def _tree(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each entry of a table of the manifest; tables inside it are indented."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield f"{name}:{'' if value else ' none'}"
            yield from _indent(_tree(value))
        else:
            yield f"{name}: {value if value != '' else 'not said'}"


def _configuration(loaded: Loaded) -> list[str]:
    """Return the settings as lines of TOML. An imported model has no [training]: it is unknown."""
    imported = "imported from" in loaded.manifest.get("provenance", {})
    sections = to_toml(loaded.config).strip().split("\n\n")
    known = [each for each in sections if not (imported and each.startswith("[training]"))]
    return "\n\n".join(known).split("\n")


def _vocabulary(vocabulary: Vocabulary) -> Iterator[str]:
    sizes, sides = f"{vocabulary.source_size:,}", "one for both sides"
    if not vocabulary.joint:
        sizes, sides = f"{sizes} and {vocabulary.target_size:,}", "source and target"
    yield f"{sizes} tokens ({vocabulary.kind}), {sides}"
    yield f"preparation: {vocabulary.preparation}"
    directions = ", ".join(f"{source} → {target}" for source, target in vocabulary.languages)
    yield f"languages: {directions or 'not named'}"


def _table(rows: Mapping[str, str]) -> list[str]:
    width = max(map(len, rows))
    return [f"{name:<{width}}  {value}" for name, value in rows.items()]


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)
