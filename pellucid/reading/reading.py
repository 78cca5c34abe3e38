"""A translation and the record of one teacher-forced pass over it: every matrix of every step, as data.

The pass computes all positions at once, in float32. The decoder reads the start token and the target shifted
right by one, so it never reads the end token, but must predict it. The search that found the translation is
not recorded.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.reading.passes import in_batch, watch
from pellucid.reading.words import source_of, target_of, visible
from pellucid.search.hypotheses import penalise
from pellucid.seeing.records import attentions
from pellucid.seeing.trace import Edit, Trace, editing
from pellucid.seeing.viewed import Viewed
from pellucid.seeing.watching import is_watched
from pellucid.text.vocabulary import Vocabulary, check_ids
from pellucid.translate.text_translator import TextTranslator
from pellucid.translate.translation import Hypothesis, Translation

ALTERNATIVES = 5  # tokens that a step lists


@dataclass(frozen=True)
class Step:
    """One position of the target."""

    input: str  # the token that the decoder reads: the target shifted right
    expected: str
    predicted: str  # the most probable token
    probability: float  # of the expected token
    loss: float  # its negative logarithm
    alternatives: list[tuple[str, float]]  # the most probable tokens with their probabilities, best first


@dataclass(frozen=True)
class Reading(Viewed):
    """A translation, its steps, and every matrix of the pass over it."""

    translation: Translation
    to: str | None  # the target language, where the model names it
    forced: bool  # whether the user chose the target: the search did not find it
    steps: list[Step]
    trace: Trace
    vocabulary: Vocabulary
    source_ids: list[int] = field(repr=False)  # with the end token, and with the tag that names the language

    @property
    def target_ids(self) -> list[int]:
        """Return the ids of the expected tokens: the target without the start token."""
        return self.translation.hypotheses[0].token_ids

    @property
    def source_tokens(self) -> list[str]:
        """Return the tokens that the encoder read."""
        return self.trace["encoder.output"].labels("L")

    @property
    def target_tokens(self) -> list[str]:
        """Return the tokens that the decoder read: the start token, and the target without its end token."""
        return self.trace["decoder.output"].labels("L")

    @property
    def watched_layer(self) -> str:
        """Return the path of the last decoder layer's cross-attention, which summaries show."""
        return attentions(self.trace, "cross")[-1]

    def attention_to_source(self) -> Tensor:
        """Return the weights of each target position over the source, L M: the mean of the heads of the last
        cross-attention."""
        return self.trace[f"{self.watched_layer}.weights"].tensor[0].mean(0)

    @property
    def title(self) -> str:
        """Return the sentence and its translation, "How are you → आप कैसे हैं", safe to show anywhere."""
        return f"{visible(self.translation.source)} → {visible(self.translation.text)}"

    @property
    def largest_difference(self) -> float | None:
        """Return the largest difference of a log-probability between the search and this pass; None if there
        was no search. Tokens that the search was given, whose log-probability is 0, are left out."""
        if self.forced:
            return None
        both = zip(self.steps, self.translation.hypotheses[0].log_probabilities, strict=True)
        return max((abs(step.loss + log_p) for step, log_p in both if log_p), default=0.0)

    @property
    def difference(self) -> str:
        """Return a sentence on how far the log-probabilities of this pass are from those of the search."""
        if self.largest_difference is None:
            return "The target was given, so there is no search to compare this pass with."
        return (
            "Largest difference between the log-probabilities of the search, step by step, "
            f"and of this pass, all positions at once: {self.largest_difference:.1e}."
        )


def read(
    translator: TextTranslator,
    text: str,
    to: str | None = None,
    target: str | Sequence[int] | None = None,
    found: Translation | None = None,
    edits: Mapping[str, Edit] | None = None,
) -> Reading:
    """Translate `text`, or take `target` (text or ids) as its translation; record one pass over both.

    found: a translation that was found before, if no target is given; then there is no search. edits: of the
    search and of the pass.
    """
    if is_watched():
        raise UsageError(
            "explain runs its own passes, but an open trace (or another watch) in this thread records only "
            "one pass. Call explain after the `with` block of the trace has ended."
        )
    model, vocabulary = translator.model, translator.vocabulary
    source = source_of(text, to, vocabulary)
    if target is None:
        if found is None:
            with editing(translator.serving, edits) if edits else nullcontext():
                found = translator.translate(text, to=to)
        target_ids = found.hypotheses[0].token_ids
    elif isinstance(target, Sequence) and not isinstance(target, str):
        target_ids = check_ids(target, vocabulary.target)
    else:
        target_ids = list(target_of(target, source.to, vocabulary).ids)
    seen = watch(model, in_batch(model, [(source.ids, target_ids)]), edits=edits, vocabulary=vocabulary)
    steps = steps_of(seen, vocabulary, target_ids)
    if found is None:
        tags = vocabulary.count_tags(target_ids)
        log_p = [*[0.0] * tags, *(-step.loss for step in steps[tags:])]
        score = penalise(sum(log_p), len(log_p), translator.config.translation.length_penalty)
        tokens, said = vocabulary.target_tokens(target_ids), vocabulary.decode_target(target_ids, source.to)
        found = Translation(text, [Hypothesis(said, tokens, target_ids, score, log_p, finished=True)])
    return Reading(found, source.to, target is not None, steps, seen, vocabulary, list(source.ids))


def steps_of(seen: Trace, vocabulary: Vocabulary, target_ids: Sequence[int]) -> list[Step]:
    """Return the steps of a target, from a watched pass over it."""
    log_p, record = log_probabilities(seen, target_ids), seen["decoder.probabilities"]
    inputs, expected = record.labels("L"), vocabulary.target_tokens(target_ids)
    steps = []
    for place, probabilities in enumerate(record.tensor[0]):
        shares, ids = probabilities.sort(descending=True, stable=True)  # of equal ones, the lower id first
        tokens = vocabulary.target_tokens(ids[:ALTERNATIVES].tolist())
        best = list(zip(tokens, shares[:ALTERNATIVES].tolist(), strict=True))
        probability = probabilities[target_ids[place]].item()
        steps.append(Step(inputs[place], expected[place], tokens[0], probability, -log_p[place], best))
    return steps


def log_probabilities(seen: Trace, target_ids: Sequence[int], sentence: int = 0) -> list[float]:
    """Return the log-probability of each expected token of one sentence, given the trace of a pass."""
    log_p_LV = seen["decoder.logits"].tensor[sentence, : len(target_ids)].log_softmax(-1)
    return log_p_LV.gather(1, torch.tensor(target_ids)[:, None])[:, 0].tolist()
