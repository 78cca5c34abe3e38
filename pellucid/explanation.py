"""The result of `translator.explain`: an explained translation, with a method for each way to show it; and of
`pellucid.movie`: such explanations by the models that a training kept."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from pellucid.errors import PellucidError, Setting, UsageError
from pellucid.folder.whole_file import place, write
from pellucid.page.document import page
from pellucid.reading.against import Difference, compare_targets
from pellucid.reading.beam_path import BeamPath, follow_search, search_verdict
from pellucid.reading.causal_map import CausalMap, make_causal_map
from pellucid.reading.ledger import Ledger, take_ledger
from pellucid.reading.looking import Alignment, HeadLook, align, find_looks, merge_words
from pellucid.reading.passes import in_batch, in_float32, watch
from pellucid.reading.reading import Reading
from pellucid.reading.stepwise import Stepwise, decode_stepwise
from pellucid.seeing.records import Records
from pellucid.seeing.trace import Edit, Trace
from pellucid.show.files import as_json, as_npz
from pellucid.show.ledger_text import share_parts
from pellucid.show.panels import draw_panels
from pellucid.show.pictures import picture
from pellucid.show.reading_text import brief_parts, more_parts, reading_parts, tensor_parts
from pellucid.show.tables import Note, Part, Table, print_parts
from pellucid.translate.source_share import source_shares
from pellucid.translate.text_translator import TextTranslator

if TYPE_CHECKING:
    from pellucid.page.widget import Widget

STAGES = ("a language model of the target", "word by word, in the order of the source", "reordering")
LEGEND = (
    "loss: of the training at this step. probability: of the last line's words, their geometric mean. "
    "source: its share in the translation. order: Kendall's τ, 1 if the words stand as in the source."
)


@dataclass(frozen=True)
class Explanation(Reading):
    """A translation, its steps, and every matrix of the pass that explains it."""

    translator: TextTranslator = field(repr=False, compare=False)

    @functools.cached_property
    def stepwise(self) -> Stepwise:
        """Decode the target token by token, with a cache and without, and compare both with this pass."""
        return decode_stepwise(self.translator.model, self)

    @functools.cached_property
    def beam_path(self) -> BeamPath:
        """Run the search again; return the path of this target in it, and the dropped candidates."""
        return follow_search(self.translator, self)

    @functools.cached_property
    def source_shares(self) -> list[float]:
        """Return how much of each token of the target comes from the source, from 0 to 1."""
        return source_shares(in_float32(self.translator.model), [(self.source_ids, self.target_ids)])[0]

    def again(
        self,
        edits: Mapping[str, Edit] | None = None,
        *,
        only: str | Sequence[str] = "*",
        gradients: bool = False,
    ) -> Trace:
        """Run the same teacher-forced pass again, with `edits`, and return its trace.

        only: the tensors to record, a glob or several. gradients: keep the autograd graph, for
        `pellucid.gradients`.
        """
        model = self.translator.model
        batch = in_batch(model, [(self.source_ids, self.target_ids)])
        return watch(model, batch, only=only, edits=edits, gradients=gradients, vocabulary=self.vocabulary)

    def looked_at(self, part: str | None = None) -> list[HeadLook]:
        """Return the tokens with the largest weights at each position, for each head of the attention `part`;
        by default, of every cross-attention."""
        return find_looks(self, part)

    def merged(self) -> Records:
        """Return the attention weights between words instead of pieces of words, by tensor name."""
        return merge_words(self)

    def alignment(self) -> Alignment:
        """Return the source word with the largest attention weight for each target word. str() of the result
        is a line of Pharaoh pairs, source-target: "0-0 1-2"."""
        return align(self)

    def causal_map(self, step: int | None, source_position: int) -> CausalMap:
        """Corrupt the source token at this position, and return how much of the expected word's probability
        comes back when one vector is restored: each part's output at each position.

        step: from 0; None is the step whose word loses the most.
        """
        return make_causal_map(self, self.translator.model, step, source_position)

    def ledger(self, step: int, word: str | None = None, against: str | None = None) -> Ledger:
        """Return why a word is said: its logit at a step (from 0) as a sum, by part, by position and by
        input, and what happens without each term: docs/why.md.

        word: any token of the target's vocabulary; by default the expected one. against: a word whose logit
        is subtracted, to ask why not that one.
        """
        return take_ledger(self, self.translator.model, step, word, against)

    def against(self, other: "Explanation") -> Difference:
        """Compare two targets of the same source: where they differ first, and which is more probable."""
        chosen = [each for each in (self, other) if each.forced]
        return compare_targets(self, other, [search_verdict(each.translator, each) for each in chosen])

    def to_html(
        self,
        path: str | Path,
        beside: "Explanation | None" = None,
        names: tuple[str, str] = ("this one", "the other"),
    ) -> None:
        """Write a page with every matrix: one file that needs no network.

        beside: another explanation, such as that of a checkpoint, to show side by side.
        names: the names of the two explanations on the page.
        """
        chosen, shown = place(path), [self] if beside is None else [self, beside]
        named = [(each, each.translator, name) for each, name in zip(shown, names, strict=False)]
        write(chosen, page(named).encode())

    def widget(self, address: str = "#", height: int = 900) -> "Widget":
        """Return the page for a notebook; it shares with Python what is selected and switched in it:
        docs/notebooks.md. Needs pip install "pellucid[notebook]".

        address: the view to begin with, as after # in the page's address. height: in pixels.
        """
        try:
            from pellucid.page.widget import Widget
        except ModuleNotFoundError as error:
            message = f'a widget needs {error.name}. Run: pip install "pellucid[notebook]"'
            raise PellucidError(message) from None
        return Widget(self, self.translator, address, height)

    def to_json(
        self, path: str | Path, ledger: Ledger | None = None, causal_map: CausalMap | None = None
    ) -> None:
        """Write the translation, the steps, the source's shares, every tensor and, if they are given, a
        ledger and a causal map; the schema is in pellucid/show/files.py."""
        usual = self.translator.usual_share
        meter = {"per_token": self.source_shares, "usual": usual and usual._asdict()}
        given = {"ledger": ledger, "causal_map": causal_map}
        more = {"source_share": meter} | {name: asdict(each) for name, each in given.items() if each}
        write(place(path), as_json(self, more=more))

    def to_npz(self, path: str | Path) -> None:
        """Write an .npz file for numpy.load: every tensor by its name, the tokens and the alignment."""
        write(place(path), as_npz(self))

    def plot(self, name: str, path: str | Path) -> None:
        """Save a picture as .png, .svg or .pdf. `name` is a tensor; a module, for its weights or its output;
        or "looked" or "words", for where each step looked. Needs pip install "pellucid[plot]"."""
        file, (title, panels) = place(path), picture(self, name)
        draw_panels(file, panels, name, title)

    def show(
        self, more: bool = False, tensor: str | None = None, head: int | None = None, steps: bool = False
    ) -> None:
        """Print the steps and the cross-attention as tables.

        steps: print the steps alone, in a dozen lines.
        more: print also the alignment, the search, and the steps with a cache and without.
        tensor: a name or a glob; print these matrices instead, of all heads or of one `head`.
        """
        if head is not None and tensor is None:
            raise UsageError("{}: name its tensor with {}.", Setting("head", head), Setting("tensor"))

        def parts(width: int) -> list[Part]:
            if tensor is not None:
                return tensor_parts(self, tensor, width, head)
            if steps:
                return brief_parts(self)
            shares = share_parts(self, self.source_shares, self.translator.usual_share)
            beyond = more_parts(self, lambda: self.beam_path, lambda: self.stepwise, width) if more else []
            return reading_parts(self, width) + shares + beyond

        print_parts(parts)


@dataclass(frozen=True)
class Frame:
    """What a model of a training says of one sentence, after so many updates."""

    step: int
    loss: float | None  # of the training at this step; None before the first
    explanation: Explanation
    probability: float  # of the last frame's words, their geometric mean

    @functools.cached_property
    def source(self) -> float:
        """Return the share of the source in what this model says."""
        return fmean(self.explanation.source_shares)

    @functools.cached_property
    def order(self) -> float | None:
        """Return Kendall's τ of the alignment: 1 if the words stand as in the source; None if it has none."""
        return self.explanation.alignment().order


@dataclass(frozen=True)
class Movie:
    """A sentence explained by each model that a training kept: how it learned to translate it."""

    frames: list[Frame]  # the first model first

    @property
    def stages(self) -> list[str | None]:
        """Name the stage of each frame (Voita et al. 2021), or None where its figures show none:
        docs/why.md."""
        names, first, last = list[str | None](), self.frames[0], self.frames[-1]
        for each in self.frames:
            name = None
            if each.source < last.source / 2:
                is_likelier = each.probability > 2 * first.probability
                name = STAGES[0] if is_likelier and each.explanation.translation.text else None
            elif each.order is not None and last.order not in (1, None):
                if each.order == 1 and STAGES[2] not in names:
                    name = STAGES[1]
                elif each.order != 1 and STAGES[1] in names:
                    name = STAGES[2]
            names.append(name)
        return names

    def to_html(self, path: str | Path) -> None:
        """Write a page with a slider over the frames; each has every matrix, as `Explanation.to_html`
        writes."""
        shown = [(each.explanation, each.explanation.translator, f"step {each.step}") for each in self.frames]
        names = ("step", "loss", "probability", "source", "order")
        told = [
            {name: getattr(each, name) for name in names} | {"stage": stage}
            for each, stage in zip(self.frames, self.stages, strict=True)
        ]
        write(place(path), page(shown[::-1], movie=told[::-1]).encode())

    def show(self) -> None:
        """Print a line for each frame: losses, shares, the order of the words and the translation."""
        header = ["step", "loss", "probability", "source", "order", "translation"]
        rows = [
            [
                each.step,
                each.loss,
                each.probability,
                each.source,
                each.order,
                each.explanation.translation.text,
            ]
            for each in self.frames
        ]
        title = Note(f"How a training learned: {self.frames[-1].explanation.title}", "bold")
        print_parts(lambda width: [title, "", Table(header, rows, form=2), "", LEGEND])
