"""causal, padding and both masks in a padded batch, and what goes wrong without each.

"Masking out (setting to -inf) all values in the input of the softmax which correspond to illegal connections"
(Vaswani et al. 2017, section 3.2.3): later words, and padding, which fills up the shorter sentences.
"""

import math

from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Row, Table, matrix, shades
from pellucid.explanation import Explanation
from pellucid.reading.passes import in_batch, watch
from pellucid.reading.reading import log_probabilities, read
from pellucid.seeing.edits import lift_mask
from pellucid.seeing.trace import Trace
from pellucid.show.columns import digits


def experiment(explanation: Explanation) -> Result:
    """Put the sentence into one batch with its own first half, which needs padding; show all masks and what
    each prevents."""
    model, source = explanation.translator.model, explanation.translation.source
    words = [word for word in source.split() if not word.startswith(">>")]
    second = read(explanation.translator, " ".join(words[: max(1, (len(words) + 1) // 2)]), explanation.to)
    if len(second.source_ids) >= len(explanation.source_ids):
        raise UsageError("there is nothing to pad: the sentence has one word. Give a longer one.")
    batch = in_batch(model, [(each.source_ids, each.target_ids) for each in (explanation, second)])
    ways = {
        "in the batch, with both masks": (batch, None),
        "without the source's padding mask": (batch | {"source_mask": None}, None),
        "without the target's padding mask": (batch | {"target_mask": None}, None),
        "without the causal mask": (batch, lift_mask("decoder.layers.*.self_attention")),
    }
    alone, passes = log_probabilities(second.trace, second.target_ids), []
    rows: list[Row] = [["alone", math.exp(sum(alone)), None]]
    for name, (read_batch, edits) in ways.items():
        passes.append(watch(model, read_batch, edits=edits, vocabulary=second.vocabulary))
        log_p = log_probabilities(passes[-1], second.target_ids, sentence=1)
        rows.append([name, math.exp(sum(log_p)), max(abs(a - b) for a, b in zip(log_p, alone, strict=True))])
    tables = [
        mask("causal: sentence 1 alone", explanation.trace, "decoder.layers.0.self_attention", 0),
        mask("padding: sentence 2 in the batch", passes[0], "encoder.layers.0.self_attention", 1),
        mask("both together: sentence 2", passes[0], "decoder.layers.0.self_attention", 1),
        mask("padding, asked by the target: sentence 2", passes[0], "decoder.layers.0.cross_attention", 1),
    ]
    _, kept, no_source, no_target, no_causal = rows
    return Result(
        title=f"1: {explanation.title}; 2: {second.title}",
        conclusion="With both masks the padded batch leaves the shorter translation as it is alone (log p "
        f"within {kept[2]:.0e}, p = {digits(kept[1])}); without the source's padding mask p is "
        f"{digits(no_source[1])}, without the causal mask {digits(no_causal[1])}; the target's padding mask "
        f"{'changes nothing here' if no_target[2] < 1e-4 else 'matters too'}, for padding comes last and the "
        "causal mask hides it from every word.",
        tables=[*tables, Table(["the shorter sentence", "p", "log p differs by"], rows)],
        picture=[shades(each, most=1.0) for each in tables],
    )


def mask(name: str, seen: Trace, part: str, sentence: int) -> Table:
    """Return a table of one attention's mask for one sentence; its title says how many cells are hidden."""
    record, values = seen[f"{part}.mask"], seen[f"{part}.mask"].tensor[sentence, 0]
    title = f"{name} ({part}): {int((values == -math.inf).sum())} of {values.numel()} cells are −∞"
    return matrix(title, record.labels("L", sentence), record.labels("M", sentence), values, ".0f")
