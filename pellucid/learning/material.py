"""The encoded text of a run: pairs to learn from, and pairs to validate on."""

from collections.abc import Callable

from pellucid.config.schema import Config
from pellucid.config.toml_file import short_names
from pellucid.data.batch import Batch, Order, batches
from pellucid.data.corpus import Pair
from pellucid.data.examples import Examples, encode_pairs
from pellucid.data.order import quotas_of
from pellucid.data.store import Prepared
from pellucid.errors import UsageError
from pellucid.learning.text import Text, warn_if_identical
from pellucid.learning.validation import Corpora, corpora_of, references_of, tokenizer_for
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.evaluate import note_on_short


def examples_of(
    config: Config, vocabulary: Vocabulary, report: Callable[[str], None], text: Text
) -> tuple[Examples, Order]:
    """Return the encoded pairs to learn from, and the order to learn them in; report what they are."""
    if isinstance(text.train, Prepared):
        examples, found = text.train.examples, text.train_report
        if not vocabulary.same_as(text.train.vocabulary):
            other = f"[data] prepared = {config.data.prepared}: it was prepared with another vocabulary"
            raise UsageError(f"{other}. Prepare the text again, in another folder, with this configuration.")
    else:
        given = text.train, vocabulary, config.data, text.train_report, text.train.names
        examples, found = encode_pairs(*given)
    report(f"training data: {found}; unknown tokens: {examples.figures.unknown or 'none'}")
    warn_if_identical("train", found)
    quotas = quotas_of(examples.sizes, config.data.weights, config.data.temperature)
    if len(quotas) > 1:
        names, shares = short_names(file for file, _ in examples.names), list[str]()
        for (file, _), quota, size in zip(examples.names, quotas, examples.sizes, strict=True):
            shares.append(f"{names[file]} {quota / sum(quotas):.1%} (has {size:,})")
        report(f"an epoch has {sum(quotas):,} pairs: {', '.join(shares)}")
    return examples, Order(config.training.batch_tokens, config.training.seed, quotas)


def validation_of(
    config: Config, vocabulary: Vocabulary, report: Callable[[str], None], text: Text
) -> Corpora:
    """Return the batches and the pairs of each validation corpus; none if there is no validation text."""
    if not text.validation:
        return {}
    _, found = encode_pairs(text.validation, vocabulary, config.data, text.validation_report)
    report(f"validation data: {found}")
    if note := note_on_short(references_of(text.validation, config), tokenizer_for(config)):
        decides = config.training.validation_metric == "bleu"
        report(f'{note} With [training] validation_metric = "exact" it decides.' if decides else note)
    warn_if_identical("validation", found)
    corpora: dict[str, tuple[list[Batch], list[Pair]]] = {}
    for name, pairs in corpora_of(text.validation, config.data.languages).items():
        kept, _ = encode_pairs(pairs, vocabulary, config.data)
        corpora[name] = [*batches(kept, vocabulary, config.training.batch_tokens, 0, 0)], pairs
    return corpora
