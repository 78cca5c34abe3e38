"""The causal map of a source word: what brings a target word back after the source word was made unreadable.

One source word's embedding becomes the mean of all embeddings. Then one vector at a time, a part's output at
a position, becomes what it was in the true pass, and all that follows is computed again (causal tracing: Meng
et al. 2022, Locating and Editing Factual Associations in GPT).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.reading.passes import in_float32, try_each
from pellucid.reading.reading import Reading
from pellucid.seeing.edits import Edits, rewrite, together
from pellucid.seeing.viewed import Viewed

LITTLE = 0.01  # of the probability: if less is lost, the shares say nothing; the page has the same number
ENDS = (".self_attention.output", ".cross_attention.output", ".feed_forward.output")


@dataclass(frozen=True)
class CausalMap(Viewed):
    """The probability of an expected word at one step: in the true pass, with a source word corrupted, and
    with one vector restored."""

    step: int  # from 0
    word: str
    source_position: int
    corrupted: str  # the source word's token
    clean: float  # its probability in the true pass
    corrupt: float  # its probability with the source word corrupted
    positions: dict[str, list[str]]  # the tokens that the "encoder" and the "decoder" read, up to this step
    restored: dict[str, list[float]]  # by tensor: its probability with the vector at each position restored

    @property
    def says_little(self) -> bool:
        """Tell whether so little is lost, or even gained, that the shares that come back say nothing."""
        return self.clean - self.corrupt < LITTLE

    @property
    def returned(self) -> dict[str, list[float]]:
        """Return the share of the lost probability that comes back, by tensor and position: 1 is all."""
        lost = self.clean - self.corrupt
        return {
            name: [(each - self.corrupt) / lost if lost else 0.0 for each in row]
            for name, row in self.restored.items()
        }


def make_causal_map(
    reading: Reading, model: Transformer, step: int | None, source_position: int
) -> CausalMap:
    """Corrupt the source token at a position, from 0, and restore one vector at a time: the output of each
    attention, feed-forward and layer. step: from 0; None is the one whose word loses the most probability."""
    steps, tokens = len(reading.steps), reading.source_tokens
    if not 0 <= source_position < len(tokens) or (step is not None and not 0 <= step < steps):
        raise UsageError(
            f"step = {step}, source_position = {source_position}: there are {steps} steps and {len(tokens)} "
            "source tokens, counted from 0."
        )
    model = in_float32(model)
    embedding = model.embedding or model.encoder.embedding
    assert embedding is not None
    blank = embedding.weight.detach().mean(0) * model.encoder.scale
    corrupt = rewrite("encoder.token_embeddings", blank, at=(slice(None), source_position))

    def run(each: Sequence[Edits]) -> Tensor:
        said = try_each(model, (reading.source_ids, reading.target_ids), each, "decoder.probabilities")
        return said[:, range(steps), reading.target_ids]

    clean, lost = torch.tensor([each.probability for each in reading.steps]), run([corrupt])[0]
    step = int((clean - lost).argmax()) if step is None else step
    positions = {"encoder": tokens, "decoder": reading.target_tokens[: step + 1]}
    last = {"encoder": ".residual_2.output", "decoder": ".residual_3.output"}  # of a layer
    names = [each for each in reading.trace if each.endswith((*ENDS, last[each.partition(".")[0]]))]
    asked = [(name, place) for name in names for place in range(len(positions[name.partition(".")[0]]))]
    restored = [
        together(corrupt, rewrite(name, reading.trace[name].tensor[:, place], at=(slice(None), place)))
        for name, place in asked
    ]
    found: dict[str, list[float]] = {name: [] for name in names}
    for (name, _), probability in zip(asked, run(restored)[:, step].tolist(), strict=True):
        found[name].append(probability)
    word, corrupted = reading.steps[step].expected, tokens[source_position]
    numbers = float(clean[step]), float(lost[step])
    return CausalMap(step, word, source_position, corrupted, *numbers, positions, found)
