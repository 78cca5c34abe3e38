"""causal, padding and both masks in a padded batch, and what goes wrong without each.

"We implement this inside of scaled dot-product attention by masking out (setting to -inf) all values in the
input of the softmax which correspond to illegal connections" (Vaswani et al. 2017, section 3.2.3): words that
come later, and padding, which fills up the shorter sentences of a batch and is not a word.
"""

import functools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.data.batch import pad
from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Row, Table
from pellucid.explanation import Explanation, explain
from pellucid.reading.passes import watch
from pellucid.seeing.edits import lift_mask
from pellucid.seeing.trace import Trace
from pellucid.show.columns import digits

ENCODER, DECODER, CROSS = (
    "encoder.layers.0.self_attention",
    "decoder.layers.0.self_attention",
    "decoder.layers.0.cross_attention",
)


def experiment(explanation: Explanation, *, shorter: str | None = None) -> Result:
    """Put the sentence into a batch with a shorter one, by default the first half of its words."""
    translator = explanation.translator
    second = _second(explanation, shorter)
    sources, source = _padded(explanation, explanation.source_ids, second.source_ids)
    targets, target = _padded(explanation, explanation.read_ids, second.read_ids)
    passes = {}
    for name, real, read, edits in (
        ("in the batch, with both masks", source, target, None),
        ("without the source's padding mask", None, target, None),
        ("without the target's padding mask", source, None, None),
        ("without the causal mask", source, target, lift_mask("decoder.layers.*.self_attention")),
    ):
        run = functools.partial(watch, vocabulary=explanation.vocabulary, edits=edits)
        passes[name] = run(translator.model, sources, targets, source_mask=real, target_mask=read)
    batch, *_ = passes.values()
    alone = _log_p(second, second.trace, 0)
    log_p = [_log_p(second, seen, 1) for seen in passes.values()]
    p = [float(each.sum().exp()) for each in (alone, *log_p)]
    off = [float((each - alone).abs().max()) for each in log_p]
    rows: list[Row] = [list(row) for row in zip(("alone", *passes), p, (None, *off), strict=True)]
    masks = [
        _mask("causal: sentence 1 alone", DECODER, explanation.trace, 0),
        _mask("padding: sentence 2 in the batch", ENCODER, batch, 1),
        _mask("both together: sentence 2", DECODER, batch, 1),
        _mask("padding, asked by the target: sentence 2", CROSS, batch, 1),
    ]
    return Result(
        title=f"1: {explanation.title}; 2: {second.title}",
        conclusion="With both masks the padded batch leaves the shorter translation as it is alone (log p "
        f"within {off[0]:.0e}, p = {digits(p[1])}); without the source's padding mask p is {digits(p[2])}, "
        f"without the causal mask {digits(p[4])}; the target's padding mask "
        f"{'changes nothing here' if off[2] < 1e-4 else 'matters too'}, for padding comes last and the "
        "causal mask hides it from every word.",
        tables=[*masks, Table("", ["the shorter sentence", "p", "log p differs by"], rows)],
        picture=[each.shades(most=1.0) for each in masks],
    )


def _second(explanation: Explanation, shorter: str | None) -> Explanation:
    words = [word for word in explanation.translation.source.split() if not word.startswith(">>")]
    half = " ".join(words[: max(1, (len(words) + 1) // 2)])
    second = explain(explanation.translator, half if shorter is None else shorter, explanation.to)
    longest = len(explanation.source_ids)
    if len(second.source_ids) > longest:
        raise UsageError(
            f"shorter = {shorter!r:.60} has {len(second.source_ids)} tokens and the sentence {longest}. Give "
            "one that is not longer, for the shorter one is padded."
        )
    return second


def _padded(explanation: Explanation, *rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Two rows of ids, with padding in the second at least, and which of them are tokens."""
    model = explanation.translator.model
    width = max(len(rows[0]), len(rows[1]) + (2 if len(rows[1]) >= len(rows[0]) else 0))
    ids, _ = pad([*rows, [model.config.pad_id] * width], model.config.pad_id, model.projection_weight.device)
    lengths = torch.tensor([[len(row)] for row in rows], device=ids.device)
    return ids[:2], torch.arange(width, device=ids.device) < lengths


def _log_p(pair: Explanation, seen: Trace, sentence: int) -> Tensor:
    """The log-probability of each expected word of a sentence of the batch."""
    expected = torch.tensor(pair.target_ids)
    logits = seen["decoder.logits"].tensor[sentence, : len(expected)].double()
    return logits.log_softmax(-1).gather(1, expected[:, None])[:, 0]


def _mask(name: str, part: str, seen: Trace, sentence: int) -> Table:
    record = seen[f"{part}.mask"]
    values = record.tensor[sentence, 0]
    title = f"{name} ({part}): {int((values == -math.inf).sum())} of {values.numel()} cells are −∞"
    rows = [[asks, *row] for asks, row in zip(record.labels("L", sentence), values.tolist(), strict=True)]
    return Table(title, ["", *record.labels("M", sentence)], rows, form=".0f")
