"""A translation, and then one watched, teacher-forced pass over what was said: every matrix of every step.

Explaining never enters the decoding loop. The pass computes all positions at once, in float32; the decoder
reads the start token and the target shifted right by one, and the end token is only expected, never read.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from pellucid.errors import UsageError
from pellucid.explain import terminal
from pellucid.explain.against import Difference, against
from pellucid.explain.alignment import Alignment, alignment
from pellucid.explain.beam_path import BeamPath, beam_path
from pellucid.explain.files import as_json, as_npz
from pellucid.explain.looking import HeadLook, attentions, looked_at
from pellucid.explain.merging import Merged, merged
from pellucid.explain.notebook import explanation_html
from pellucid.explain.page.document import page
from pellucid.explain.passes import as_read, watch, watched_pass
from pellucid.explain.plot import plot
from pellucid.explain.steps import Step, steps_of
from pellucid.explain.stepwise import Stepwise, stepwise
from pellucid.explain.whole_file import place, write
from pellucid.explain.words import source_of, target_of, visible
from pellucid.see import Edit, Trace
from pellucid.translate.translation import Hypothesis, Translation
from pellucid.vocabulary import Vocabulary
from pellucid.watching import watched

if TYPE_CHECKING:
    from pellucid.translate.translator import Translator


@dataclass(frozen=True)
class Explanation:
    """A translation, its steps, and every matrix of the pass over it."""

    translation: Translation
    to: str | None  # the target language, where the model names it
    forced: bool  # whether the target was given, not found by the model
    steps: list[Step]
    trace: Trace
    largest_difference: float | None  # of the log-probabilities, search and this pass; None: no search
    vocabulary: Vocabulary
    translator: "Translator" = field(repr=False, compare=False)  # who said it, and can say it again
    source_ids: list[int] = field(repr=False)  # with the end token, and with the tag that names the language
    target_ids: list[int] = field(repr=False)  # what is expected: without the start token

    @property
    def source_tokens(self) -> list[str]:
        """What the encoder read."""
        return self.trace["encoder.output"].labels("L")

    @property
    def target_tokens(self) -> list[str]:
        """What the decoder read: the start token and the target, without its end."""
        return self.trace["decoder.output"].labels("L")

    @property
    def watched_layer(self) -> str:
        """The path of the last decoder layer's cross-attention, which summaries show."""
        return attentions(self.trace, "cross")[-1]

    def attention_to_source(self) -> Tensor:
        """Where each target position looked, L M: the mean of the last cross-attention's heads."""
        return self.trace[f"{self.watched_layer}.weights"].tensor[0].mean(0)

    @property
    def read_ids(self) -> list[int]:
        """What the decoder read, as ids: the start token and the target, without its end."""
        return [self.translator.model.config.start_id, *self.target_ids[:-1]]

    @property
    def ids_by_stack(self) -> dict[str, list[int]]:
        """What the "encoder" and the "decoder" read, as ids."""
        return {"encoder": self.source_ids, "decoder": self.read_ids}

    @property
    def title(self) -> str:
        """The sentence and what it became, "How are you → आप कैसे हैं", fit for any terminal, page or file."""
        return f"{visible(self.translation.source)} → {visible(self.translation.text)}"

    @functools.cached_property
    def stepwise(self) -> Stepwise:
        """The target decoded token by token, with a cache and without, each tensor held against this pass."""
        return stepwise(self)

    @functools.cached_property
    def beam_path(self) -> BeamPath:
        """The search once more: the way of the translation, or of a given target, and what it beat."""
        return beam_path(self)

    def again(
        self,
        edits: Mapping[str, Edit] | None = None,
        *,
        only: str | Sequence[str] = "*",
        gradients: bool = False,
    ) -> Trace:
        """The same teacher-forced pass once more, with `edits` in effect: what would have been otherwise.

        With `gradients` its tensors keep their graph, for `pellucid.gradients`.
        """
        model, vocabulary = self.translator.model, self.vocabulary
        ids = as_read(model, self.source_ids, self.target_ids)
        return watch(model, *ids, only=only, edits=edits, gradients=gradients, vocabulary=vocabulary)

    def looked_at(self, part: str | None = None) -> list[HeadLook]:
        """Which words each head of an attention looked at; without a name, of every cross-attention."""
        return looked_at(self, part)

    def merged(self) -> Merged:
        """The attention weights between words instead of pieces, by their names in the trace."""
        return merged(self)

    def alignment(self, layer: int = -1, heads: int | Sequence[int] | None = None) -> Alignment:
        """The source word of each target word; str(alignment) is a line of Pharaoh pairs, "0-0 1-2"."""
        return alignment(self, layer, heads)

    def against(self, other: "Explanation") -> Difference:
        """This target beside another one of the same source: where they part, and what differs most."""
        return against(self, other)

    @property
    def difference(self) -> str:
        """How far the pass is from what was served, as a sentence."""
        if self.largest_difference is None:
            return "The target was given, so there is no search to compare this pass with."
        return (
            "Largest difference between the log-probabilities of the search, step by step, "
            f"and of this pass, all positions at once: {self.largest_difference:.1e}."
        )

    def to_html(
        self,
        path: str | Path,
        beside: "Explanation | None" = None,
        names: tuple[str, str] = ("this one", "the other"),
    ) -> None:
        """Writes a page, one file that needs no network, with every matrix; `beside`, another explanation
        (say, of a checkpoint), puts both into it, side by side, under these names."""
        chosen = place(path)
        _check_beside(beside, names)
        write(chosen, page(self, beside, names).encode())

    def to_json(self, path: str | Path) -> None:
        """Writes the translation, the steps and every tensor; the schema is in pellucid/explain/files.py."""
        write(place(path), as_json(self))

    def to_npz(self, path: str | Path) -> None:
        """Writes every tensor by its name, and the tokens, for numpy.load."""
        write(place(path), as_npz(self))

    def plot(self, name: str, path: str | Path) -> None:
        """Draws a tensor or a part (all its heads), or "looked", "words", "heads", "entropy", "mask" or
        "positions", to a .png, .svg or .pdf; needs pip install "pellucid[plot]"."""
        plot(self, name, place(path))

    def _repr_html_(self) -> str:
        return explanation_html(self)

    def show(self, more: bool = False, tensor: str | None = None, head: int | None = None) -> None:
        """Prints the steps and the cross-attention as tables; with `more` the search, the heads and the steps
        with a cache and without. With `tensor`, a name or a glob, prints these matrices instead, of all heads
        or of one."""
        if tensor is None and head is None:
            terminal.show(self, more)
        else:
            terminal.show_tensors(self, tensor, head)


def explain(
    translator: "Translator", text: str, to: str | None = None, target: str | None = None
) -> Explanation:
    """Translate `text`, unless `target` says what it is to become, and see every matrix of one pass."""
    if watched():
        raise UsageError(
            "explain runs passes of its own, and the trace (or other watch) that is open in this thread "
            "holds one pass. Leave its `with` first, and explain after it."
        )
    vocabulary = translator.vocabulary
    source = source_of(text, to, vocabulary)
    if target is None:
        translation = translator.translate(text, to=to)
        target_ids = translation.hypotheses[0].token_ids
    else:
        target_ids = list(target_of(target, source.to, vocabulary).ids)
    seen = watched_pass(translator.model, vocabulary, source.ids, target_ids)
    steps = steps_of(seen, vocabulary, target_ids)
    log_p = [-step.loss for step in steps]
    difference = None
    if target is None:
        served = translation.hypotheses[0].log_probabilities
        difference = max(abs(ours - theirs) for ours, theirs in zip(log_p, served, strict=True))
    else:
        length_penalty = translator.config.translation.length_penalty
        translation = _given(text, target_ids, log_p, length_penalty, source.to, vocabulary)
    forced = target is not None
    ids = [list(source.ids), target_ids]
    return Explanation(translation, source.to, forced, steps, seen, difference, vocabulary, translator, *ids)


def _check_beside(beside: Any, names: Any) -> None:
    """Raises unless these can be put into a page."""
    if beside is not None and not isinstance(beside, Explanation):
        raise UsageError(
            f"beside = {beside!r:.60} is no explanation. Give what translator.explain returns, of another "
            "model or of another target."
        )
    good = isinstance(names, Sequence) and not isinstance(names, str) and len(names) == 2
    if not good or not all(isinstance(name, str) and name.strip() for name in names):
        raise UsageError(
            f"names = {names!r:.60} are not two names. Give what the two are called in the page, such as "
            '("step 1000", "step 3000").'
        )


def _given(
    text: str,
    ids: list[int],
    log_p: list[float],
    length_penalty: float,
    to: str | None,
    vocabulary: Vocabulary,
) -> Translation:
    """A given target in the form of a translation."""
    tokens, said = vocabulary.target_tokens(ids), vocabulary.decode_target(ids, to)
    score = sum(log_p) / len(ids) ** length_penalty
    hypothesis = Hypothesis(said, tokens, ids, score, log_p, finished=True)
    return Translation(text, [hypothesis])
