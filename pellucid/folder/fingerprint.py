"""The fingerprint of a model: what it computes for fixed ids and how it cuts fixed texts, written into its
manifest when it is saved. `pellucid verify` compares it with what the model computes now."""

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import torch

from pellucid.model import Transformer
from pellucid.seeing.trace import Trace, trace
from pellucid.text.vocabulary import Vocabulary

SENTENCES, PIECES = 8, (3, 12)  # how many sample texts, and of how many random pieces
PASSES, LENGTH = 2, 8  # the fixed ids: sentences, and tokens on each side
LANGUAGES = 4  # whose texts are cut, at most
NEAR, TINY = 1e-3, 1e-9  # of a tensor's size, and at all: smaller changes are rounding


def fingerprint(model: Transformer, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return one number for each tensor of a pass over fixed ids, in a line for each module, and the ids of
    a sample text by target language."""
    lines, text = defaultdict[str, list[str]](list), sample_texts(vocabulary)[0]
    for name, number in _numbers(model).items():
        path, _, last = name.rpartition(".")
        lines[path] += [last, f"{number:.5e}"]
    return {"tensors": {path: " ".join(words) for path, words in lines.items()}} | {
        "texts": {
            to: " | ".join([text, *(" ".join(map(str, ids)) for ids in _cut(text, to or None, vocabulary))])
            for to in islice(vocabulary.target_languages or ("",), LANGUAGES)
        }
    }


def changes(then: Mapping[str, Any], model: Transformer) -> Iterator[str]:
    """Yield the names of the tensors that the model computes otherwise than then, in the order of
    computation."""
    before = dict[str, float]()
    for path, line in then["tensors"].items():
        words = iter(line.split())
        before |= {f"{path}.{last}": float(number) for last, number in zip(words, words, strict=True)}
    for name, number in _numbers(model).items():
        was = before.get(name, math.nan)
        if not abs(number - was) <= NEAR * abs(was) + TINY:
            yield name


def _cut(text: str, to: str | None, vocabulary: Vocabulary) -> tuple[list[int], list[int]]:
    return vocabulary.encode_source(text, to), vocabulary.encode_target(text, to)


def _numbers(model: Transformer) -> dict[str, float]:
    """Return a number for each tensor of a pass over fixed ids, in the order of computation: the root of the
    mean square of its cells, each of which has another weight, so that their order counts."""
    numbers, device = random.Random(1), next(model.parameters()).device
    sizes = model.config.vocabulary, model.config.target_size
    rows = [[[numbers.randrange(size) for _ in range(LENGTH)] for _ in range(PASSES)] for size in sizes]
    source, target = (torch.tensor(each, device=device) for each in rows)
    training = [part for part in model.modules() if part.training]

    def see() -> Trace:
        with torch.no_grad(), torch.autocast(device.type, enabled=False), trace(model) as seen:
            model(source, None, target)
        return seen

    model.eval()
    try:
        with ThreadPoolExecutor(1) as apart:  # where no trace of the caller is open
            seen = apart.submit(see).result()
    finally:
        for part in training:
            part.training = True
    found = {}
    for name, record in seen.items():
        cells = record.tensor.double().flatten().nan_to_num(neginf=-1.0)
        cells += cells.square().mean().sqrt()  # so that signs count
        weights = 1 + torch.arange(len(cells), dtype=torch.float64).sin()
        found[name] = float((cells.square() * weights).mean().sqrt())
    return found


def sample_texts(vocabulary: Vocabulary) -> list[str]:
    """Return sample texts for a vocabulary of any language: random pieces of its source side, the same in
    every call."""
    numbers, model = random.Random(1), vocabulary.source
    silent = (model.is_control, model.is_unknown, model.is_byte, model.is_unused)
    spoken = [
        token
        for token in range(model.get_piece_size())
        if not any(test(token) for test in silent) and not model.id_to_piece(token).startswith(("<", ">>"))
    ]
    drawn = [numbers.choices(spoken, k=numbers.randint(*PIECES)) for _ in range(SENTENCES)]
    return [model.decode(ids) for ids in drawn]
