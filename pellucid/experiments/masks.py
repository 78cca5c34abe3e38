"""causal, padding and both masks in a padded batch, and what goes wrong without each.

"We implement this inside of scaled dot-product attention by masking out (setting to -inf) all values in the
input of the softmax which correspond to illegal connections" (Vaswani et al. 2017, section 3.2.3): words that
come later, and padding, which fills up the shorter sentences of a batch and is not a word.
"""

import math
from typing import Any

from pellucid.config.device import device_of
from pellucid.data.batch import pad
from pellucid.experiments.result import Result, Row, Table, matrix
from pellucid.explanation import Explanation
from pellucid.reading.passes import watch
from pellucid.reading.reading import read
from pellucid.reading.steps import log_probabilities
from pellucid.seeing.edits import lift_mask
from pellucid.seeing.records import Record
from pellucid.show.columns import digits


def experiment(explanation: Explanation) -> Result:
    """Put the sentence into a batch with a shorter one, the first half of its words."""
    model = explanation.translator.model
    words = [word for word in explanation.translation.source.split() if not word.startswith(">>")]
    second = read(explanation.translator, " ".join(words[: max(1, (len(words) + 1) // 2)]), explanation.to)
    padding = model.config.pad_id, device_of(model)
    sources, source = pad([explanation.source_ids, second.source_ids], *padding)
    targets, target = pad([explanation.read_ids, second.read_ids], *padding)
    lifted = lift_mask("decoder.layers.*.self_attention")
    ways: dict[str, dict[str, Any]] = {
        "in the batch, with both masks": {"source_mask": source, "target_mask": target},
        "without the source's padding mask": {"target_mask": target},
        "without the target's padding mask": {"source_mask": source},
        "without the causal mask": {"source_mask": source, "target_mask": target, "edits": lifted},
    }
    alone, passes = log_probabilities(second.trace, second.target_ids), []
    rows: list[Row] = [["alone", math.exp(sum(alone)), None]]
    for name, way in ways.items():
        passes.append(watch(model, sources, targets, **way, vocabulary=second.vocabulary))
        log_p = log_probabilities(passes[-1], second.target_ids, sentence=1)
        rows.append([name, math.exp(sum(log_p)), max(abs(a - b) for a, b in zip(log_p, alone, strict=True))])
    one, both = explanation.trace, passes[0]
    tables = [
        mask("causal: sentence 1 alone", one["decoder.layers.0.self_attention.mask"], 0),
        mask("padding: sentence 2 in the batch", both["encoder.layers.0.self_attention.mask"], 1),
        mask("both together: sentence 2", both["decoder.layers.0.self_attention.mask"], 1),
        mask("padding, asked by the target: sentence 2", both["decoder.layers.0.cross_attention.mask"], 1),
    ]
    _, kept, no_source, no_target, no_causal = rows
    return Result(
        title=f"1: {explanation.title}; 2: {second.title}",
        conclusion="With both masks the padded batch leaves the shorter translation as it is alone (log p "
        f"within {kept[2]:.0e}, p = {digits(kept[1])}); without the source's padding mask p is "
        f"{digits(no_source[1])}, without the causal mask {digits(no_causal[1])}; the target's padding mask "
        f"{'changes nothing here' if no_target[2] < 1e-4 else 'matters too'}, for padding comes last and the "
        "causal mask hides it from every word.",
        tables=[*tables, Table("", ["the shorter sentence", "p", "log p differs by"], rows)],
        picture=[each.shades(most=1.0) for each in tables],
    )


def mask(name: str, record: Record, sentence: int) -> Table:
    """Return the table of a mask, and count in its title what it hides."""
    values, part = record.tensor[sentence, 0], record.name.removesuffix(".mask")
    title = f"{name} ({part}): {int((values == -math.inf).sum())} of {values.numel()} cells are −∞"
    return matrix(title, record.labels("L", sentence), record.labels("M", sentence), values, ".0f")
