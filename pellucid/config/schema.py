"""All settings, in sections: frozen dataclasses that check their values when they are made."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pellucid.config.settings import ABOVE_0, Section, choice, number
from pellucid.errors import UsageError

# Settings that a vocabulary is learned by; the others of [vocabulary] say how it is used, or replace it.
LEARNED_BY = ("size", "kind", "joint", "normalization", "byte_fallback", "character_coverage")
NO_LIMIT = 1_000_000_000  # steps: something else ends the training
PARAMETERS_AT_MOST = 20_000_000_000  # a typing error should be reported before memory runs out
TABLES = (".tsv", ".jsonl")  # endings of files that hold both sides; also .gz
PREPARATIONS = ("none", "moses", "moses-lowercase", "words")  # recipes of pellucid/text/preparation.py


def as_list(name: str, value: Any) -> Any:
    """Return a list of corpora or of language pairs; a single one, such as ["a.en", "a.de"], goes into a
    list."""
    value = [value] if isinstance(value, str) else value
    is_one = isinstance(value, list) and value and all(isinstance(entry, str) for entry in value)
    return [value] if is_one else value


def is_table(file: str) -> bool:
    """Return whether a file has sources and translations, by its ending."""
    return file.removesuffix(".gz").endswith(TABLES)


def as_corpora(name: str, value: Any) -> Any:
    """Return a list of corpora; raise an error unless each is a pair of files or one table."""
    corpora = as_list(name, value)
    for corpus in corpora if isinstance(corpora, list) else ():
        files = corpus if isinstance(corpus, list) else ()
        if not 1 <= len(files) <= 2 or not all(isinstance(file, str) for file in files):
            key = name.split()[-1]
            raise UsageError(
                f"{name} holds {corpus!r}. A corpus is a [source, target] pair of files or one .tsv: "
                f'{key} = ["{key}.en", "{key}.de"].'
            )
        if len(files) == 2 and any(is_table(file) for file in files):
            raise UsageError(
                f"{name} holds {corpus!r}, a source and a target file, but a table has both sides in one "
                "file. Several tables are several corpora: [[FILE], [OTHER]]."
            )
    return corpora


@dataclass(frozen=True)
class DataConfig(Section):
    """Settings for the parallel text: its files, and which lines are left out."""

    # each a (source, target) pair of files, or one .tsv; also .gz
    train: tuple[tuple[str, ...], ...] = field(default=(), metadata={"read": as_corpora})
    validation: tuple[tuple[str, ...], ...] = field(default=(), metadata={"read": as_corpora})
    prepared: str | None = None  # the folder that `pellucid prepare` made of train
    weights: tuple[float, ...] = number((), 0.0, 1e9)  # how often the pairs of each corpus in train come
    # above 1, small corpora come more often: each counts as its number of pairs, to the power 1 / temperature
    temperature: float = number(1.0, 1.0, 1e6)
    held_out: int = number(0, 0, 10_000_000)  # pairs of train to validate on instead; 0 is off
    # (source, target) of each corpus in train and in validation
    languages: tuple[tuple[str, str], ...] = field(default=(), metadata={"read": as_list})
    preparation: str = choice(*PREPARATIONS)
    bad_utf8: str = choice("error", "replace", "skip")
    max_length: int = number(256, 1, 100_000)  # tokens, the end token included
    max_ratio: float = number(9.0, 1, 1e6)  # of the longer side to the shorter, in tokens
    remove_duplicates: bool = False
    licence: str = ""  # of the text; kept in the model's manifest


@dataclass(frozen=True)
class VocabularyConfig(Section):
    """Settings for the vocabulary: how text becomes tokens (SentencePiece)."""

    size: int = number(8000, 5, 10_000_000)
    kind: str = choice("unigram", "bpe", "word")
    joint: bool = True
    normalization: str = choice("nmt_nfkc", "nfkc", "identity", "nmt_nfkc_cf", "nfkc_cf")
    byte_fallback: bool = False
    character_coverage: float = number(1.0, 0.9, 1.0)
    sampling: float = number(0.0, 0.0, 1.0)  # subword sampling in training; 0 is off
    model: tuple[str, ...] = ()  # a ready-made SentencePiece model, or (source, target)
    grow: int = number(0, 0, 1_000_000)  # tokens of the new text to add to those of start_from, at most


@dataclass(frozen=True)
class ModelConfig(Section):
    """The shape of a Transformer (Vaswani et al. 2017, table 3)."""

    vocabulary: int = number(8000, 5, 10_000_000)
    width: int = number(256, 2, 65_536)
    heads: int = number(4, 1, 1024)
    hidden: int = number(1024, 1, 1_048_576)
    encoder_layers: int = number(4, 1, 256)
    decoder_layers: int = number(4, 1, 256)
    dropout: float = number(0.1, 0.0, 0.999)
    norm: str = choice("last", "first")
    activation: str = choice("relu", "gelu", "silu")
    target_vocabulary: int | None = number(None, 5, 10_000_000)
    tied: bool = True
    scale_embeddings: bool = True
    # "marian": frequencies over width/2 - 1; "fairseq": also from position 2, as in M2M100 and NLLB
    # "learned": in each stack a table of `longest` rows, and a norm on the sum, as in mBART-50
    positions: str = choice("paper", "fairseq", "marian", "learned")
    longest: int = number(0, 0, 1_000_000)  # tokens of a side, if positions are learned
    output_bias: bool = False
    attention_dropout: float = number(0.0, 0.0, 0.999)
    activation_dropout: float = number(0.0, 0.0, 0.999)
    pad_id: int = number(0, 0, 10_000_000)
    unknown_id: int = number(1, 0, 10_000_000)
    start_id: int = number(2, 0, 10_000_000)
    end_id: int = number(3, 0, 10_000_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        for mistake in self._mistakes():
            raise UsageError(f"[model] {mistake}")

    def _mistakes(self) -> Iterator[str]:
        """Yield a message for each setting that contradicts another one."""
        width, heads, smallest = self.width, self.heads, min(self.vocabulary, self.target_size)
        if width % heads:
            share = "each head takes an equal share of the width"
            yield f"width = {width} is not divisible by heads = {heads}: {share}. Choose another of the two."
        if width % 2:
            pairs = "sinusoidal positions come in pairs of sine and cosine"
            yield f"width = {width} is odd: {pairs}. Use {width - 1} or {width + 1}."
        if self.positions == "learned" and not self.longest:
            yield 'positions = "learned" needs longest, the number of positions. Set it.'
        if self.positions != "paper" and width < 4:
            yield f'positions = "{self.positions}" needs a width of 4 or more, not {width}. Use "paper".'
        for name in ("pad_id", "unknown_id", "start_id", "end_id"):
            if (value := getattr(self, name)) >= smallest:
                outside = f"lies outside the vocabulary of {smallest} tokens"
                yield f"{name} = {value} {outside}. Use an id below it."
        if self.parameters > PARAMETERS_AT_MOST:
            yield (
                f"this shape has {self.parameters:,} parameters, more than {PARAMETERS_AT_MOST:,}. "
                "Lower width, hidden, vocabulary or the numbers of layers."
            )

    @property
    def parameters(self) -> int:
        """Return the number of parameters, without biases and norms."""
        matrix, feed_forward = self.width * self.width, 2 * self.width * self.hidden
        layers = self.encoder_layers * (4 * matrix + feed_forward)
        layers += self.decoder_layers * (8 * matrix + feed_forward)
        others = (self.target_vocabulary is not None) if self.tied else 2  # matrices of the target's own
        tables = self.vocabulary + others * self.target_size + 2 * self.longest
        return layers + self.width * tables

    @property
    def target_size(self) -> int:
        """Return the number of tokens on the target side."""
        return self.vocabulary if self.target_vocabulary is None else self.target_vocabulary


@dataclass(frozen=True)
class TrainingConfig(Section):
    """Settings for training."""

    steps: int = number(100_000, 0, NO_LIMIT)
    minutes: float | None = number(None, ABOVE_0, 1e7)  # after which to stop, even before `steps`
    batch_tokens: int = number(4096, 2, 100_000_000)  # of the longer side of a batch, padding included
    accumulate: int = number(1, 1, 100_000)  # batches a step
    sharded: bool = False  # several processes: each keeps a share of the weights and of AdamW's moments
    seed: int = number(1, 0, 2**32 - 1)
    # "small": embeddings, queries, keys and last matrices of sublayers are smaller than "usual"
    first_weights: str = choice("small", "usual")
    schedule: str = choice("inverse_sqrt", "paper")
    # "paper" has its own: width^-0.5 * min(step^-0.5, step * warmup^-1.5)
    peak_rate: float = number(0.0007, 0.0, 10.0)
    warmup_steps: int = number(4000, 1, 100_000_000)
    # share of the training, at its end, in which the rate falls to 0; 0 is off
    cooldown: float = number(0.0, 0.0, 1.0)
    betas: tuple[float, float] = number((0.9, 0.98), 0.0, 0.999999)
    epsilon: float = number(1e-9, 0.0, 1.0)
    weight_decay: float = number(0.0, 0.0, 10.0)
    clip_norm: float = number(1.0, 0.0, 1e9)  # 0 is off
    label_smoothing: float = number(0.1, 0.0, 0.999)
    # weight of how far two passes with other dropout are apart (R-Drop); 0 is off: one pass
    consistency: float = number(0.0, 0.0, 1000.0)
    precision: str = choice("auto", "fp32", "bf16")
    threads: int = number(0, 0, 1024)  # 0: what torch chooses
    validate_every: int = number(1000, 1, 100_000_000)  # steps
    validations: int = number(0, 0, 1_000_000)  # in even parts of the training; 0: as validate_every says
    validation_metric: str = choice("bleu", "chrf", "exact", "loss")
    checkpoint_every: int = number(1000, 1, 100_000_000)  # steps
    # minutes without a checkpoint after which to write one; 0 is off; None: `minutes` / 10, at most 10
    checkpoint_minutes: float | None = number(None, 0.0, 1e7)
    keep_checkpoints: int = number(2, 2, 10_000)
    frames: int = number(0, 0, 1000)  # models kept in half precision for the movie of learning; 0 is off
    average: int = number(5, 0, 1000)  # number of last validated models that make averaged/; 0 is off
    patience: int = number(0, 0, 1_000_000)  # validations without a better one before stopping; 0 is off
    # steps in a row that may be skipped because the loss or the gradient is not finite
    max_skipped: int = number(10, 0, 1_000_000)
    start_from: str | None = None  # a model folder to continue from (fine-tuning)
    frozen: tuple[str, ...] = ()  # globs of the parameters that stay as they are, such as "encoder.*"


@dataclass(frozen=True)
class TranslationConfig(Section):
    """Settings for translating: the defaults for the options of a call."""

    beam: int = number(5, 1, 1000)
    length_penalty: float = number(1.0, 0.0, 10.0)
    max_length: int = number(512, 1, 1_000_000)  # tokens, the end token included
    suppressed: tuple[int, ...] = ()  # ids that no translation holds, beside pad, start and unknown
    forced_end: bool = False  # the last token at max_length is the end token
    no_repeat_ngram_size: int = number(0, 0, 1000)  # so many tokens in a row never come twice; 0 is off
    # the log-probability of a token that came before is multiplied by this; 1.0 is off
    repetition_penalty: float = number(1.0, 0.01, 100.0)
    # a sentence is done as soon as `beam` hypotheses are finished, even if an open one has a better score
    early_stopping: bool = True


@dataclass(frozen=True)
class Config:
    """All settings of a model, in five sections: data, vocabulary, model, training, translation."""

    data: DataConfig = field(default_factory=DataConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    translation: TranslationConfig = field(default_factory=TranslationConfig)

    def __post_init__(self) -> None:
        if self.vocabulary.grow and self.training.start_from is None:
            what = "adds tokens to the vocabulary of a model to start from, and none is named"
            remedy = "Set [training] start_from, or leave grow out and set size."
            raise UsageError(f"[vocabulary] grow = {self.vocabulary.grow} {what}. {remedy}")
        drops = any(value for name, value in vars(self.model).items() if name.endswith("dropout"))
        if self.training.consistency and not drops:
            what = "compares two passes with other dropout, and [model] has none"
            remedy = "Set [model] dropout, or leave consistency out."
            raise UsageError(f"[training] consistency = {self.training.consistency:g} {what}. {remedy}")


# base and big: Vaswani et al. 2017, table 3. tiny: Wu et al. 2021, for 29,000 sentences, but for its dropout:
# 0.3 is right for hours, in a first hour 0.2 learns more (docs/decisions/0006). small lies between.
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": dict(width=128, heads=4, hidden=256, encoder_layers=4, decoder_layers=4, dropout=0.2),
    "small": dict(width=256, heads=4, hidden=1024, encoder_layers=4, decoder_layers=4, dropout=0.2),
    "base": dict(width=512, heads=8, hidden=2048, encoder_layers=6, decoder_layers=6, dropout=0.1),
    "big": dict(width=1024, heads=16, hidden=4096, encoder_layers=6, decoder_layers=6, dropout=0.3),
}
