"""causal, padding and both masks in a padded batch, and what goes wrong without each.

"We implement this inside of scaled dot-product attention by masking out (setting to -inf) all values in the
input of the softmax which correspond to illegal connections" (Vaswani et al. 2017, section 3.2.3): words that
come later, and padding, which fills up the shorter sentences of a batch and is not a word.
"""

import functools
import math
from collections.abc import Sequence

from torch import Tensor

from pellucid.config.device import device_of
from pellucid.data.batch import pad
from pellucid.experiments.result import Result, Row, Table, matrix
from pellucid.explanation import Explanation
from pellucid.model import Transformer
from pellucid.reading.passes import watch
from pellucid.reading.reading import read
from pellucid.reading.steps import log_probabilities
from pellucid.seeing.edits import lift_mask
from pellucid.seeing.trace import Trace
from pellucid.show.columns import digits


def experiment(explanation: Explanation) -> Result:
    """Put the sentence into a batch with a shorter one, the first half of its words."""
    model, vocabulary = explanation.translator.model, explanation.vocabulary
    words = [word for word in explanation.translation.source.split() if not word.startswith(">>")]
    half = " ".join(words[: max(1, (len(words) + 1) // 2)])
    second = read(explanation.translator, half, explanation.to)
    sources, source = _padded(model, explanation.source_ids, second.source_ids)
    targets, target = _padded(model, explanation.read_ids, second.read_ids)
    alone = log_probabilities(second.trace, second.target_ids)
    rows: list[Row] = [["alone", math.exp(sum(alone)), None]]
    passes = []
    for name, source_mask, target_mask, edits in (
        ("in the batch, with both masks", source, target, None),
        ("without the source's padding mask", None, target, None),
        ("without the target's padding mask", source, None, None),
        ("without the causal mask", source, target, lift_mask("decoder.layers.*.self_attention")),
    ):
        run = functools.partial(watch, source_mask=source_mask, target_mask=target_mask, edits=edits)
        passes.append(run(model, sources, targets, vocabulary=vocabulary))
        log_p = log_probabilities(passes[-1], second.target_ids, sentence=1)
        apart = max(abs(a - b) for a, b in zip(log_p, alone, strict=True))
        rows.append([name, math.exp(sum(log_p)), apart])
    tables = [
        _mask("causal: sentence 1 alone", "decoder.layers.0.self_attention", explanation.trace, 0),
        _mask("padding: sentence 2 in the batch", "encoder.layers.0.self_attention", passes[0], 1),
        _mask("both together: sentence 2", "decoder.layers.0.self_attention", passes[0], 1),
        _mask("padding, asked by the target: sentence 2", "decoder.layers.0.cross_attention", passes[0], 1),
    ]
    _, both, no_source, no_target, no_causal = rows
    return Result(
        title=f"1: {explanation.title}; 2: {second.title}",
        conclusion="With both masks the padded batch leaves the shorter translation as it is alone (log p "
        f"within {both[2]:.0e}, p = {digits(both[1])}); without the source's padding mask p is "
        f"{digits(no_source[1])}, without the causal mask {digits(no_causal[1])}; the target's padding mask "
        f"{'changes nothing here' if no_target[2] < 1e-4 else 'matters too'}, for padding comes last and the "
        "causal mask hides it from every word.",
        tables=[*tables, Table("", ["the shorter sentence", "p", "log p differs by"], rows)],
        picture=[each.shades(most=1.0) for each in tables],
    )


def _padded(model: Transformer, *rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return two rows of ids, with padding in the second at least, and which of them are tokens."""
    longest = [0] * (len(rows[1]) + 2 if len(rows[1]) >= len(rows[0]) else 0)
    ids, real = pad([*rows, longest], model.config.pad_id, device_of(model))
    return ids[:2], real[:2]


def _mask(name: str, part: str, seen: Trace, sentence: int) -> Table:
    record = seen[f"{part}.mask"]
    values = record.tensor[sentence, 0]
    title = f"{name} ({part}): {int((values == -math.inf).sum())} of {values.numel()} cells are −∞"
    return matrix(title, record.labels("L", sentence), record.labels("M", sentence), values, ".0f")
