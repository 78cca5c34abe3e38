"""causal, padding and both masks in a padded batch, and what goes wrong without each.

"We implement this inside of scaled dot-product attention by masking out (setting to -inf) all values in the
input of the softmax which correspond to illegal connections" (Vaswani et al. 2017, section 3.2.3): words that
come later, and padding, which makes the sentences of a batch equally long and is no word at all.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.data.batch import pad
from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Table
from pellucid.explanation import Explanation, explain
from pellucid.reading.passes import watch
from pellucid.seeing.edits import lift_mask
from pellucid.seeing.trace import Edit, Trace
from pellucid.show.columns import digits

CAUSAL = "decoder.layers.*.self_attention"
ENCODER, DECODER = "encoder.layers.0.self_attention", "decoder.layers.0.self_attention"
CROSS = "decoder.layers.0.cross_attention"


def experiment(explanation: Explanation, *, shorter: str | None = None) -> Result:
    """Put the sentence into a batch with a shorter one, by default the first half of its words."""
    model, text = explanation.translator.model, explanation.translation.source
    second = explain(explanation.translator, _half(text) if shorter is None else shorter, explanation.to)
    if len(second.source_ids) > len(explanation.source_ids):
        raise UsageError(
            f"shorter = {shorter!r:.60} has {len(second.source_ids)} tokens and the sentence "
            f"{len(explanation.source_ids)}. Give one that is not longer, for the shorter one is padded."
        )
    sources, source_mask = _padded([explanation.source_ids, second.source_ids], explanation)
    targets, target_mask = _padded([explanation.read_ids, second.read_ids], explanation)

    def run(
        source_mask: Tensor | None, target_mask: Tensor | None, edits: dict[str, Edit] | None = None
    ) -> Trace:
        masks = {"source_mask": source_mask, "target_mask": target_mask}
        return watch(model, sources, targets, **masks, edits=edits, vocabulary=explanation.vocabulary)

    batch = run(source_mask, target_mask)
    passes = {
        "in the batch, with both masks": batch,
        "without the source's padding mask": run(None, target_mask),
        "without the target's padding mask": run(source_mask, None),
        "without the causal mask": run(source_mask, target_mask, lift_mask(CAUSAL)),
    }
    alone = _log_p(second, second.trace, 0)
    log_p = {name: _log_p(second, seen, 1) for name, seen in passes.items()}
    p = [float(each.sum().exp()) for each in (alone, *log_p.values())]
    off = [float((each - alone).abs().max()) for each in log_p.values()]
    rows = [
        [name, *row] for name, row in zip(("alone", *passes), zip(p, (None, *off), strict=True), strict=True)
    ]
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
        f"{'changes nothing here' if off[2] < 1e-4 else 'matters too'}, for padding comes last and the causal "
        "mask hides it from every word.",
        tables=[*masks, Table("", ["the shorter sentence", "p", "log p differs by"], rows)],
        picture=[each.shades(most=1.0) for each in masks],
    )


def _half(text: str) -> str:
    words = [word for word in text.split() if not (word.startswith(">>") and word.endswith("<<"))]
    return " ".join(words[: max(1, (len(words) + 1) // 2)])


def _padded(rows: Sequence[Sequence[int]], explanation: Explanation) -> tuple[Tensor, Tensor]:
    """Two rows of ids, with padding in the second at least, and which of them are tokens."""
    config, device = (
        explanation.translator.model.config,
        explanation.translator.model.projection_weight.device,
    )
    extra = 2 if len(rows[1]) >= len(rows[0]) else 0
    ids, real = pad([[*row, *[config.pad_id] * extra] for row in rows], config.pad_id, device)
    lengths = torch.tensor([[len(row)] for row in rows], device=device)
    return ids, torch.arange(ids.shape[1], device=device) < lengths


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
