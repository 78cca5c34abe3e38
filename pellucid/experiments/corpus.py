"""The demo's corpus, a short training on it in memory, and measures of the trained model."""

import dataclasses
import itertools
import statistics
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

from pellucid.config.schema import Config
from pellucid.config.toml_file import read
from pellucid.data import phrasebook
from pellucid.data.batch import Batch, batches
from pellucid.data.corpus import Pair
from pellucid.data.examples import Examples, encode_pairs
from pellucid.learning.learner import Learner
from pellucid.learning.starting import fit_sizes, prepare_vocabulary
from pellucid.learning.validation import corpora_of, validate
from pellucid.model import Transformer
from pellucid.probes.leak import find_leak
from pellucid.text.vocabulary import Vocabulary

SHORT = {
    "training.batch_tokens": 2048,
    "training.warmup_steps": 200,
    "training.label_smoothing": 0.0,
    "translation.beam": 1,
    "translation.max_length": 30,  # twice the longest right translation
}
LAST, GROUP = 50, 15  # steps whose mean is the loss at the end, and a point of a picture
MEASURED = (
    f"training: last {LAST} steps",
    "validation, teacher forcing",
    "validation, teacher forcing: words right",
    "decoded: exactly right",
    "decoded: BLEU",
    "decoded: chrF",
    "positions that see later words",
)


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Training examples and validation batches as token ids, and held-out pairs as text. `config.model` fits
    the vocabulary."""

    config: Config
    vocabulary: Vocabulary
    examples: Examples
    validation: list[Batch]
    held_out: Sequence[Pair]


def demo_corpus(settings: dict[str, Any]) -> Corpus:
    """Return the demo's corpus with its configuration for a short training, changed by `settings` such as
    {"training.steps": 900}."""
    languages = {"data.languages": [list(direction) for direction in phrasebook.DIRECTIONS]}
    config = read(Path(str(files("pellucid"))) / "demo.toml", languages | SHORT | settings)
    found = []
    for part in phrasebook.PARTS[:3]:
        pairs: list[Pair] = []
        for each in phrasebook.split()[part]:
            language = phrasebook.DIRECTIONS.index((each.source_language, each.target_language))
            texts = phrasebook.variants(each) if part == "train" else [(each.source, each.target)]
            pairs += [Pair(*text, language, 1, each.direction) for text in texts]
        found.append(pairs)
    return corpus_of(config, *found)


def corpus_of(
    config: Config, train: Sequence[Pair], validation: Sequence[Pair], held_out: Sequence[Pair]
) -> Corpus:
    """Make a corpus: learn a vocabulary from the training pairs, encode training and validation pairs."""
    vocabulary = prepare_vocabulary(train, config)
    config = dataclasses.replace(config, model=fit_sizes(config, vocabulary))
    examples, judged = (encode_pairs(part, vocabulary, config.data)[0] for part in (train, validation))
    together = list(batches(judged, vocabulary, config.training.batch_tokens, 0, 0))
    return Corpus(config, vocabulary, examples, together, held_out)


def train(kind: type[Transformer], corpus: Corpus, steps: int) -> tuple[Transformer, list[float]]:
    """Train a model of this class; every class sees the same batches. Return the model, and the loss of each
    step."""
    training, given = corpus.config.training, (corpus.examples, corpus.vocabulary)
    epochs = (batches(*given, training.batch_tokens, training.seed, epoch) for epoch in itertools.count())
    found = itertools.islice(itertools.chain.from_iterable(epochs), steps)
    with torch.random.fork_rng([]):  # the caller's random numbers stay as they are
        torch.manual_seed(training.seed)
        learner = Learner(kind(corpus.config.model), training)
        losses = [learner.learn([batch], step).plain_loss for step, batch in enumerate(found, start=1)]
    return learner.model.eval(), losses


def measure(model: Transformer, losses: Sequence[float], corpus: Corpus) -> tuple[list[float], str]:
    """Return a number for each name in MEASURED, and the translation of the first held-out sentence."""
    held_out = corpora_of(corpus.held_out, corpus.config.data.languages)
    # Only the whole is of interest, and so any of them may have any of the batches.
    shares = (corpus.validation[place :: len(held_out)] for place in range(len(held_out)))
    corpora = dict(zip(held_out, zip(shares, held_out.values(), strict=True), strict=True))
    found = validate(model, corpus.vocabulary, corpus.config, corpora)
    scores, leaks = found.scores, {leak.position for leak in find_leak(model).leaks}
    losses_and_words = statistics.fmean(losses[-LAST:]), found.loss, words_right(model, corpus.validation)
    return [*losses_and_words, scores.exact, scores.bleu, scores.chrf, len(leaks)], found.samples[
        0
    ].translation


@torch.no_grad()
def words_right(model: Transformer, batches: Sequence[Batch]) -> float:
    """Return the percentage of target tokens that get the highest probability, with teacher forcing."""
    right = 0
    for batch in batches:
        likeliest = model(batch.source, batch.source_mask, batch.target_in).argmax(-1)
        right += int((likeliest == batch.target_out)[batch.target_mask].sum())
    return 100 * right / sum(batch.tokens for batch in batches)


def curve(losses: Sequence[float]) -> tuple[list[float], list[float], str]:
    """Return a loss curve for a picture: steps, the mean loss around each of them, and the line style."""
    starts = range(0, len(losses), GROUP)
    means = [statistics.fmean(losses[start : start + GROUP]) for start in starts]
    return [start + GROUP / 2 for start in starts], means, "-"
