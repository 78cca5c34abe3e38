"""pellucid leak: does a model look at words that come later?"""

import argparse

import torch

from pellucid.cli.lines import put
from pellucid.errors import PellucidError
from pellucid.probes.leak import find_leak
from pellucid.reading.passes import in_batch
from pellucid.reading.words import source_of
from pellucid.seeing.viewed import columns_of_terminal
from pellucid.translator import Translator, load

TOKENS = 32  # at most, of a translation: each needs some ten passes


def run(arguments: argparse.Namespace) -> None:
    """Print which predictions depend on later words. Raise an error if any does. Without a sentence, use
    random ids."""
    translator = load(arguments.model, arguments.device, precision="fp32")
    vocabulary, to = translator.vocabulary, arguments.to
    if to is not None:
        vocabulary.target_language(to)  # raises unless the model has it
    pairs = [_ids(translator, sentence, to) for sentence in arguments.sentence]
    width, reports = max(60, min(100, columns_of_terminal())), []
    if not pairs:
        reports.append(find_leak(translator.model))
        put(["random ids", *reports[0].lines(width)])
    for sentence, (source, target) in zip(arguments.sentence, pairs, strict=True):
        reports.append(find_leak(translator.model, source=source, target=target))
        tokens = vocabulary.target_tokens(target[0].tolist())
        numbered = "  ".join(f"{place}:{token}" for place, token in enumerate(tokens))
        put([sentence, numbered, *reports[-1].lines(width), ""])
    if any(report.leaks for report in reports):
        raise PellucidError(
            f"{arguments.model} leaks: its predictions depend on later words, which do not exist yet when it "
            "translates. Its loss and its accuracy are too good to be true. Correct its mask (the positions "
            "are above) and train it again."
        )


def _ids(translator: Translator, sentence: str, to: str | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Translate a sentence. Return the ids of the source, and the ids that the decoder reads for the
    translation (at most 32)."""
    source = source_of(sentence, to, translator.vocabulary)
    target = translator.translate(sentence, to=to).hypotheses[0].token_ids
    batch = in_batch(translator.model, [(source.ids, target[:TOKENS])])
    return batch["source"], batch["target"]
