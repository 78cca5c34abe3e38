"""Choose among samples the one that is most like the others: minimum Bayes risk (Kumar and Byrne 2004, Eikema
and Aziz 2020), with chrF as the gain."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pellucid.search.hypotheses import Array
from pellucid.translate.evaluate import metrics_of
from pellucid.translate.translation import Translation


def by_expected_chrf(translation: Translation) -> Translation:
    """Return a translation with its different hypotheses, which must be samples, ordered by expected chrF:
    the mean chrF of each with all samples as references. Scores stay the model's."""
    counts = Counter(each.text for each in translation.hypotheses)
    expected = dict(zip(counts, expected_chrf([*counts], [*counts.values()]), strict=True))
    first = {each.text: each for each in reversed(translation.hypotheses)}
    ordered = sorted(counts, key=lambda text: -expected[text])  # equal ones as they were drawn
    return replace(translation, hypotheses=[first[text] for text in ordered])


def expected_chrf(texts: Sequence[str], counts: Sequence[int]) -> Array:
    """Return the mean chrF (0 to 100) of each text with all of them as references, each of which counts so
    often. It equals sacreBLEU's, whose n-grams it takes, but counts those of a text once for all pairs."""
    from sacrebleu.metrics.helpers import extract_all_char_ngrams

    chrf = metrics_of(False, "none")[1]
    each = (extract_all_char_ngrams(text, chrf.char_order, chrf.whitespace) for text in texts)
    precision = recall = orders = np.zeros((len(texts), len(texts)))  # texts that are judged, references
    for ngrams in zip(*each, strict=True):
        columns = {ngram: column for column, ngram in enumerate(set().union(*ngrams))}
        table = np.zeros((len(texts), len(columns)))
        for row, found in zip(table, ngrams, strict=True):
            row[[columns[ngram] for ngram in found]] = [*found.values()]
        sizes, common = table.sum(1), np.array([np.minimum(row, table).sum(1) for row in table])
        precision = precision + common / np.maximum(sizes, 1)[:, None]
        recall = recall + common / np.maximum(sizes, 1)
        orders = orders + (np.outer(sizes, sizes) > 0)
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    factor = chrf.beta**2
    scores = (1 + factor) * precision * recall / np.maximum(factor * precision + recall, 1e-16)
    return 100 * scores @ np.array(counts) / sum(counts)
