"""The checks of `verify`.

Each returns what it saw, or raises an error that names a fault and its place. They are in the order of
computation, so the first fault is the nearest to its cause.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from pellucid.decoding.library import has_kernels
from pellucid.decoding.model_state import is_as_configured
from pellucid.errors import PellucidError
from pellucid.folder.fingerprint import changes, fingerprint
from pellucid.folder.load import Loaded
from pellucid.interop.foreign import is_foreign
from pellucid.interop.importing import open_foreign
from pellucid.interop.parity import NEAR, against_transformers, samples
from pellucid.probes.leak import find_leak
from pellucid.reading.passes import in_batch, quietly, watch
from pellucid.reading.tensors import made_of
from pellucid.search.options import TranslationOptions
from pellucid.seeing.trace import Trace
from pellucid.seeing.watching import watching
from pellucid.translate.likelihood import TOGETHER, log_probabilities
from pellucid.translate.text_translator import TextTranslator
from pellucid.translate.translation import Hypothesis

LENGTH, ROWS = 5, 48  # tokens of each side, and sentences of a pass, that try edits
SEEN = 1e-5  # of the largest number: a smaller change is rounding
ROUNDED = 0.1  # the mean change of a log-probability that int8 may cause
USUAL = 10.0  # the largest logit of a model for which these bounds, and NEAR, are meant; they grow with it
SEARCH: TranslationOptions = {
    "beam": 4,
    "max_length": 40,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
}
SURE, WRONG = 1.5, 10.0  # a perplexity below the first and a chrF below the second contradict each other


class NotTried(Exception):
    """Why a check does not apply to a model, or what it needs."""


@dataclass(frozen=True)
class Subject:
    """A loaded model, its folder, and that of the model that it was imported from, if it is at hand."""

    folder: Path
    original: Path | None
    loaded: Loaded

    def said(self, *names: str) -> Any:
        """Return what the manifest says under these names."""
        found: Any = self.loaded.manifest
        for name in names:
            if not (found := found.get(name)):
                raise NotTried(f"MANIFEST.json, if there is one, has no {name} of this model")
        return found

    @cached_property
    def pairs(self) -> tuple[list[list[int]], list[list[int]]]:
        """Return the ids of sample sentences, and of the model's own translations."""
        each = [(source[0].tolist(), target[0].tolist()) for source, _, target in samples(self.loaded)]
        return [source for source, _ in each], [target for _, target in each]

    def scores(self, targets: Sequence[Sequence[int]], together: int = TOGETHER) -> list[list[float]]:
        """Return the log-probability of each token, computed for all positions at once."""
        return log_probabilities([self.loaded.model], self.pairs[0], targets, together)

    def search(self, precision: str = "fp32") -> list[Hypothesis]:
        """Translate the sample sentences."""
        translator = TextTranslator(self.loaded.model, *self.loaded[1:3], precision)
        to = next(iter(self.loaded.vocabulary.target_languages), None)
        return [each.hypotheses[0] for each in translator.translate_ids(self.pairs[0], to, **SEARCH)]

    def batch(self, rows: int) -> dict[str, Tensor]:
        """Return a batch with the same random source and the same random target in each row."""
        config, chance = self.loaded.model.config, torch.Generator().manual_seed(1)
        sizes = config.vocabulary, config.target_size
        source, target = (torch.randint(size, (LENGTH,), generator=chance).tolist() for size in sizes)
        return {**in_batch(self.loaded.model, [(source, target)] * rows)}

    @cached_property
    def plain(self) -> Trace:
        """Return the trace of a pass over one row of `batch`."""
        return watch(self.loaded.model, self.batch(1))

    @property
    def size(self) -> float:
        """Return the largest logit."""
        return float(self.plain["decoder.logits"].tensor.abs().max())

    def compare(
        self,
        ours: Sequence[Sequence[float]],
        theirs: Sequence[Sequence[float]],
        what: str,
        mean: bool = False,
    ) -> str:
        """Raise an error unless log-probabilities agree, all or in the mean. A token that was given has 0."""
        pairs = (zip(*both, strict=True) for both in zip(ours, theirs, strict=True))
        apart = [abs(one - other) for one, other in chain.from_iterable(pairs) if one]
        found, most = (fmean(apart), ROUNDED) if mean else (max(apart), NEAR)
        most *= max(1.0, self.size / USUAL)
        said = f"log-probabilities of {what} differ by {'a mean of ' if mean else ''}{found:.1e}"
        if not found <= most:
            raise PellucidError(f"{said}, and rounding is {most:.1e} at most.")
        return said


def _vocabulary(subject: Subject) -> str:
    model, vocabulary = subject.loaded[:2]
    if any(source[-1] != model.config.end_id for source in subject.pairs[0]):
        raise PellucidError(f"a source does not end with the end token, id {model.config.end_id}.")
    if fingerprint(model, vocabulary)["texts"] != subject.said("fingerprint")["texts"]:
        raise PellucidError(
            "a sample text has other ids than when the model was saved: it is the vocabulary of another "
            "model, or source and target are exchanged."
        )
    return "sample texts have the ids that they had when the model was saved"


def _tensors(subject: Subject) -> str:
    model = subject.loaded.model
    if different := list(changes(subject.said("fingerprint"), model)):
        made = ", ".join(chain.from_iterable(made_of(different[0], model.config))) or "ids"
        raise PellucidError(
            f"{different[0]} is not what it was when the model was saved, nor are {len(different) - 1} "
            f"tensors after it. It is made of {made}."
        )
    return "each tensor of a pass over fixed ids is what it was when the model was saved"


def _watching(subject: Subject) -> str:
    with watching(lambda name, axes, tensor: tensor, subject.loaded.model):
        watched = subject.scores(subject.pairs[1])
    plain = subject.scores(subject.pairs[1])
    return subject.compare(watched, plain, "a traced pass, and of one that nobody watches,")


def _edits(subject: Subject) -> str:
    axes = {name: each.axes for name, each in subject.plain.items() if name != "decoder.probabilities"}
    heads = range(subject.loaded.model.config.heads)
    asked = [(name, head) for name in axes for head in (heads if name.endswith(".weights") else [None])]
    of_all = [[each] for each in asked if "B" not in axes[each[0]]]  # tensors that all sentences share
    others = [each for each in asked if "B" in axes[each[0]]]
    for group in of_all + [others[first : first + ROWS] for first in range(0, len(others), ROWS)]:
        _try_edits(subject, group)
    return f"an edit of each of {len(axes)} tensors, and of each head's weights, changes what the model says"


def _try_edits(subject: Subject, asked: Sequence[tuple[str, int | None]]) -> None:
    """Change one tensor, or one head of it, in each row of a batch."""

    def edit(tensor: Tensor, name: str) -> Tensor:
        for row, (each, head) in enumerate(asked):
            if each == name:
                own = tensor[row] if "B" in subject.plain[name].axes else tensor
                own = own if head is None else own[head]
                own += (1 + own[own.isfinite()].std()) * (0.5 + torch.rand_like(own))
        return tensor

    # Of a variance only the norm's output: a next norm may undo a change of size, and rightly.
    ends = {n: n.replace("variance", "output") if "variance" in n else "decoder.logits" for n in dict(asked)}
    seen = watch(
        subject.loaded.model,
        subject.batch(len(asked)),
        only=[*ends.values()],
        edits={name: partial(edit, name=name) for name in ends},
    )
    for row, (name, head) in enumerate(asked):
        plain = subject.plain[ends[name]].tensor[0]
        if float((seen[ends[name]].tensor[row] - plain).abs().max()) <= SEEN * float(plain.abs().max()):
            which = "" if head is None else f", head {head},"
            raise PellucidError(f"an edit of {name}{which} changes nothing: the model does not use it.")


def _later_words(subject: Subject) -> str:
    if leaks := find_leak(subject.loaded.model).leaks:
        raise PellucidError(f"a prediction depends on a later word: {leaks[0]}.")
    return "no prediction changes with a later word, in evaluation mode and in training mode"


def _earlier_words(subject: Subject) -> str:
    model, batch = subject.loaded.model, subject.batch(2 * LENGTH + 1)
    for place in range(LENGTH):  # row i has another source token i, row LENGTH + i another target token i
        batch["source"][place, place] = (batch["source"][place, place] + 1) % model.config.vocabulary
        token = batch["target"][LENGTH + place, place]
        batch["target"][LENGTH + place, place] = (token + 1) % model.config.target_size
    with quietly(model):
        encoded, said = model.encode(batch["source"], batch["source_mask"]).cpu(), model(**batch).cpu()
    every = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    for what, tensor, rows, must in (
        ("the encoder at position {} does not depend on source token {}", encoded, slice(LENGTH), every),
        ("prediction {} does not depend on source token {}", said, slice(LENGTH), every),
        ("prediction {} does not depend on target token {}", said, slice(LENGTH, -1), every.triu()),
    ):
        changed = (tensor[rows] - tensor[-1]).abs().amax(-1) > SEEN * tensor.abs().max()
        if (blind := (must & ~changed).nonzero()).numel():
            raise PellucidError(f"{what.format(*blind[0].tolist()[::-1])}, counted from 0.")
    return "each prediction depends on all source tokens, and on each target token up to its own"


def _neighbours(subject: Subject) -> str:
    together, alone = subject.scores(subject.pairs[1]), subject.scores(subject.pairs[1], together=1)
    return subject.compare(together, alone, "sentences in a batch with padding, and of each alone,")


def _threads(subject: Subject) -> str:
    before, said = torch.get_num_threads(), list[list[list[float]]]()
    try:
        for count in (1, max(2, before)):
            torch.set_num_threads(count)
            found = [[sum(each.log_probabilities)] for each in subject.search()]
            said.append([*subject.scores(subject.pairs[1]), *found])
    finally:
        torch.set_num_threads(before)
    return subject.compare(said[0], said[1], f"one thread and of {max(2, before)}")


def _search(subject: Subject, precision: str = "fp32", watched: bool = False) -> str:
    """Compare a search, which goes on step by step, with one pass over all positions that nobody watches."""
    model = subject.loaded.model
    if not watched and not (has_kernels() and is_as_configured(model)):
        raise NotTried("the engine has no kernels here, or does not take such a model")
    with watching(lambda name, axes, tensor: tensor, model) if watched else nullcontext():
        found = subject.search(precision)  # watched, PyTorch decodes
    theirs = subject.scores([each.token_ids for each in found])
    what = "steps with a cache" if watched else f"the engine in {precision}"
    ours = [each.log_probabilities for each in found]
    return subject.compare(ours, theirs, f"{what} and of one pass", mean=precision == "int8")


def _scores(subject: Subject) -> str:
    scores = subject.said("provenance", "scores", "validation")
    said = f"perplexity {scores['perplexity']:.2f} and chrF {scores['chrf']:.1f} on the validation text"
    if scores["perplexity"] < SURE and scores["chrf"] < WRONG:
        raise PellucidError(
            f"{said} contradict each other: sure of each next word, and wrong when it translates. It has "
            "learned with the words that it had to say: the target was not shifted, or not masked."
        )
    return said


def _original(subject: Subject) -> str:
    original = subject.folder if is_foreign(subject.folder) else subject.original
    if original is None:
        raise NotTried("give the folder that the model was imported from, if it was, with --original")
    parity = against_transformers(original, subject.loaded, open_foreign(original).corrected)
    if parity is None:
        raise NotTried("transformers is not installed, or reads no such model")
    if not parity.same:
        raise PellucidError(str(parity))
    return str(parity)


def _licence(subject: Subject) -> str:
    return str(subject.said("provenance", "licence"))


CHECKS: dict[str, Callable[[Subject], str]] = {
    "vocabulary": _vocabulary,
    "tensors": _tensors,
    "watching": _watching,
    "edits": _edits,
    "later words": _later_words,
    "earlier words": _earlier_words,
    "neighbours": _neighbours,
    "threads": _threads,
    "cache": partial(_search, watched=True),
    "engine": _search,
    "engine in int8": partial(_search, precision="int8"),
    "scores": _scores,
    "original": _original,
    "licence": _licence,
}
