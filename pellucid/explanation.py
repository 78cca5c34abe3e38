"""What `translator.explain` returns: a reading, with a method for each view of it."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError, UsageError
from pellucid.folder.whole_file import place, write
from pellucid.page.document import page
from pellucid.reading.against import Difference, against
from pellucid.reading.alignment import Alignment, alignment
from pellucid.reading.beam_path import BeamPath, beam_path
from pellucid.reading.looking import HeadLook, looked_at
from pellucid.reading.merging import Merged, merged
from pellucid.reading.passes import as_read, watch
from pellucid.reading.reading import Reading, read
from pellucid.reading.stepwise import Stepwise, stepwise
from pellucid.reading.words import visible
from pellucid.seeing.trace import Edit, Trace
from pellucid.show import terminal
from pellucid.show.files import as_json, as_npz
from pellucid.show.plot import plot
from pellucid.translate.base import BaseTranslator


@dataclass(frozen=True)
class Explanation(Reading):
    """A translation, its steps, and every matrix of the pass over it."""

    translator: BaseTranslator = field(repr=False, compare=False)  # who said it, and can say it again

    @functools.cached_property
    def stepwise(self) -> Stepwise:
        """The target decoded token by token, with a cache and without, each tensor held against this pass."""
        return stepwise(self.translator.model, self)

    @functools.cached_property
    def beam_path(self) -> BeamPath:
        """The search once more: the way of the translation, or of a given target, and what it beat."""
        return beam_path(self.translator, self)

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
        forced = [each for each in (self, other) if isinstance(each, Explanation) and each.forced]
        return against(self, other, [each._search() for each in forced])

    def _search(self) -> str:
        """What became of this target in the search, as a sentence."""
        try:
            verdict = self.beam_path.verdict
        except PellucidError as error:  # of a model that computes NaN
            verdict = f"No search: {error}"
        return f"{visible(self.translation.text)!r}: {verdict}"

    def to_html(
        self,
        path: str | Path,
        beside: "Explanation | None" = None,
        names: tuple[str, str] = ("this one", "the other"),
    ) -> None:
        """Write a page, one file that needs no network, with every matrix; `beside`, another explanation
        (say, of a checkpoint), puts both into it, side by side, under these names."""
        chosen = place(path)
        _check_beside(beside, names)
        shown = [self] if beside is None else [self, beside]
        write(chosen, page([(each, each.translator) for each in shown], names).encode())

    def to_json(self, path: str | Path) -> None:
        """Write the translation, the steps and every tensor; the schema is in pellucid/show/files.py."""
        write(place(path), as_json(self, self.beam_path))

    def to_npz(self, path: str | Path) -> None:
        """Write every tensor by its name, and the tokens, for numpy.load."""
        write(place(path), as_npz(self))

    def plot(self, name: str, path: str | Path) -> None:
        """Draw a tensor or a part (all its heads), or "looked", "words", "heads", "entropy", "mask" or
        "positions", to a .png, .svg or .pdf; needs pip install "pellucid[plot]"."""
        plot(self, name, place(path))

    def show(self, more: bool = False, tensor: str | None = None, head: int | None = None) -> None:
        """Print the steps and the cross-attention as tables; with `more` the search, the heads and the steps
        with a cache and without. With `tensor`, a name or a glob, print these matrices instead, of all heads
        or of one."""
        if tensor is not None or head is not None:
            terminal.show_tensors(self, tensor, head)
            return
        terminal.show(self)
        if more:
            terminal.show_more(self, lambda: self.beam_path, lambda: self.stepwise)


def explain(
    translator: BaseTranslator, text: str, to: str | None = None, target: str | None = None
) -> Explanation:
    """Translate `text`, unless `target` says what it is to become, and see every matrix of one pass."""
    return Explanation(**vars(read(translator, text, to, target)), translator=translator)


def _check_beside(beside: Any, names: Any) -> None:
    """Raise unless these can be put into a page."""
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
