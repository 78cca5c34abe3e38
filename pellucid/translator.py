"""The facade: a translator, loaded from a folder or from the package, that also explains and compares; and
the movie of how it learned."""

import importlib.resources
import math
import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import torch

from pellucid.data.corpus import Pair
from pellucid.decoding.ensemble import check_same_vocabulary
from pellucid.errors import UsageError
from pellucid.explanation import Explanation, Frame, Movie
from pellucid.folder.checkpoint import FRAMES, whole_states
from pellucid.folder.load import device_named
from pellucid.interop.hub import PREFIX, folder_on_hub
from pellucid.interop.importing import load_folder
from pellucid.probes.compare import Comparison, compare
from pellucid.probes.pairs import PairsReport, check_pairs
from pellucid.reading.reading import read
from pellucid.show import registered as registered
from pellucid.translate.source_share import UsualShare
from pellucid.translate.text_translator import TextTranslator


class Translator(TextTranslator):
    """A model and its vocabulary: translates, samples, streams, scores, explains and compares.

    Several models form an ensemble: the probability of a token is the mean of the models' probabilities. An
    ensemble cannot explain.
    """

    def explain(
        self, source: str, to: str | None = None, target: str | Sequence[int] | None = None
    ) -> Explanation:
        """Translate a sentence, or take `target` (a text, or its ids) as its translation; record every matrix
        of one pass over both."""
        return Explanation(**vars(read(self, source, to, target)), translator=self)

    def compare(self, word: str, a: str, b: str, to: str | None = None) -> Comparison:
        """Compare a word in two sentences: how much its vectors differ after each layer, and how much each
        word contributed to the difference."""
        return compare(self, word, a, b, to)

    def check(self, pairs: Sequence[tuple[str, str]], to: str | None = None) -> PairsReport:
        """Look for bad pairs in parallel text, (source, target), that the model was trained on: where the
        scores change, copies, other languages, repetitions, and the pairs with the worst scores."""
        return check_pairs(self, (Pair(*pair, 0, line, "") for line, pair in enumerate(pairs, 1)), to)


@torch.inference_mode(False)  # in which an engine could not notice a change of the weights
def load(
    path: str | Path | Sequence[str | Path], device: str | torch.device = "auto", precision: str = "auto"
) -> Translator:
    """Load a translator.

    path: a model folder, a checkpoint of a training run (runs/x/checkpoints/step-500), a folder of
        transformers with a MarianMT (OPUS-MT), M2M100 or NLLB model, one of these on the hub
        ("hf://OWNER/NAME", downloaded once), or "demo" for the model inside the package. A list of paths
        gives an ensemble, with the [translation] settings of its first model.
    device: "auto" (a GPU if PyTorch finds one), "cpu", "cuda", "cuda:1", or a torch.device.
    precision: the number format that `translate` and `stream` compute in: "fp32", "bf16", "fp16" (on a
        GPU), "int8" (on a CPU, the fastest: docs/performance.md), or "auto", which is "fp32". With "bf16",
        the weights of a transformers model are read in bf16, without a copy in fp32.
    """
    paths = [path] if isinstance(path, str | os.PathLike) or not isinstance(path, Sequence) else path
    if not paths or not all(isinstance(each, str | os.PathLike) for each in paths):
        raise UsageError(f'path = {path!r} is not a model folder. Give its path, or "demo".')
    chosen = device_named(device)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    loaded = [load_folder(folder_of(each), chosen, dtype) for each in paths]
    check_same_vocabulary(paths, [each.vocabulary for each in loaded])
    first = loaded[0]
    translator = Translator([each.model for each in loaded], first.vocabulary, first.config, precision)
    if usual := first.manifest.get("provenance", {}).get("source_share"):
        translator.usual_share = UsualShare(**usual)
    return translator


def movie(
    run: str | Path, source: str, to: str | None = None, target: str | None = None, device: str = "auto"
) -> Movie:
    """Explain a sentence with each model that a training kept for this, [training] frames: its own
    translation, or `target`. run: the folder of the training."""
    states = [(state.step, state.state["loss"]) for state in whole_states(Path(run) / FRAMES)]
    if not states:
        raise UsageError(
            f"{run} keeps no models for a movie. Train with [training] frames = 9: it keeps the first one, "
            "the last one and seven between them, most of them early, in half precision."
        )
    made: list[Frame] = []
    for step, loss in states:  # the last one first
        translator = load(Path(run) / FRAMES / "checkpoints" / f"step-{step}", device, precision="fp32")
        explanation = translator.explain(source, to, target)
        last = (made[0].explanation if made else explanation).target_ids
        steps = translator.explain(source, to, last).steps
        made.append(Frame(step, loss, explanation, math.exp(-fmean(each.loss for each in steps))))
    return Movie(made[::-1])


def folder_of(model: str | Path) -> Path:
    """Return the path of a model folder; "demo" stands for the model inside the package, "hf://OWNER/NAME"
    for one on the hub, which is downloaded."""
    if str(model).startswith(PREFIX):
        return folder_on_hub(str(model))
    if model != "demo":
        return Path(model)
    return Path(str(importlib.resources.files("pellucid"))) / "demo_model"
