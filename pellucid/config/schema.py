"""All settings, in sections: frozen dataclasses that are checked once and handed down."""

import os
from dataclasses import dataclass, field
from typing import Any

from pellucid.config.settings import check, check_value, choice, number, plain
from pellucid.errors import UsageError

# Settings that a vocabulary is learned by; the others of [vocabulary] say how it is used, or replace it.
LEARNED_BY = ("size", "kind", "joint", "normalization", "byte_fallback", "character_coverage")
PARAMETERS_AT_MOST = 20_000_000_000  # a typing error should be reported before memory runs out


PREPARATIONS = ("none", "moses", "moses-lowercase", "words")  # recipes of pellucid/text/preparation.py


@dataclass(frozen=True)
class DataConfig:
    """The parallel text, and what is left out of it."""

    # each a (source, target) pair of files, or one .tsv; also .gz
    train: tuple[tuple[str, ...], ...] = ()
    validation: tuple[tuple[str, ...], ...] = ()
    # pairs of train to validate on, in place of `validation`; 0 is off
    held_out: int = number(0, 0, 10_000_000)
    # (source, target) of each corpus in train and in validation
    languages: tuple[tuple[str, str], ...] = ()
    preparation: str = choice(*PREPARATIONS)
    bad_utf8: str = choice("error", "replace", "skip")
    # tokens, the end token included
    max_length: int = number(256, 1, 100_000)
    # of the longer side to the shorter, in tokens
    max_ratio: float = number(9.0, 1, 1e6)
    remove_duplicates: bool = False
    # of the text; kept in the model's manifest
    licence: str = ""

    def __post_init__(self) -> None:
        for name in ("train", "validation", "languages"):
            object.__setattr__(self, name, several(getattr(self, name)))
        for name in ("train", "validation"):
            check_corpora(name, getattr(self, name))
        check(self)


@dataclass(frozen=True)
class VocabularyConfig:
    """How text becomes tokens (SentencePiece)."""

    size: int = number(8000, 5, 10_000_000)
    kind: str = choice("unigram", "bpe", "word")
    joint: bool = True
    normalization: str = choice("nmt_nfkc", "nfkc", "identity", "nmt_nfkc_cf", "nfkc_cf")
    byte_fallback: bool = False
    character_coverage: float = number(1.0, 0.9, 1.0)
    # subword sampling in training; 0 is off
    sampling: float = number(0.0, 0.0, 1.0)
    # a ready-made SentencePiece model, or (source, target)
    model: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.model, str | os.PathLike):
            object.__setattr__(self, "model", (self.model,))
        check(self)


@dataclass(frozen=True)
class ModelConfig:
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
    # "fairseq": from position 2, frequencies over width/2 - 1, as in M2M100 and NLLB
    positions: str = choice("paper", "fairseq")
    output_bias: bool = False
    attention_dropout: float = number(0.0, 0.0, 0.999)
    activation_dropout: float = number(0.0, 0.0, 0.999)
    pad_id: int = number(0, 0, 10_000_000)
    unknown_id: int = number(1, 0, 10_000_000)
    start_id: int = number(2, 0, 10_000_000)
    end_id: int = number(3, 0, 10_000_000)

    def __post_init__(self) -> None:
        check(self)
        if self.width % self.heads:
            nearest = [heads for heads in range(1, self.width + 1) if self.width % heads == 0]
            nearest = sorted(sorted(nearest, key=lambda heads: abs(heads - self.heads))[:3])
            raise UsageError(
                f"[model] width = {self.width} is not divisible by heads = {self.heads}: "
                "each head takes an equal share of the width. "
                f"Heads that divide {self.width}: {', '.join(map(str, nearest))}."
            )
        if self.width % 2:
            raise UsageError(
                f"[model] width = {self.width} is odd: sinusoidal positions come in pairs of sine and "
                f"cosine. Use {self.width - 1} or {self.width + 1}."
            )
        if self.positions == "fairseq" and self.width < 4:
            raise UsageError(
                f'[model] positions = "fairseq" needs a width of 4 or more, not {self.width}. Use "paper".'
            )
        smallest = min(self.vocabulary, self.target_size)
        for name in ("pad_id", "unknown_id", "start_id", "end_id"):
            if (value := getattr(self, name)) >= smallest:
                raise UsageError(
                    f"[model] {name} = {value} lies outside the vocabulary of {smallest} tokens. Use an id "
                    "below it."
                )
        if self.parameters > PARAMETERS_AT_MOST:
            raise UsageError(
                f"[model] this shape has {self.parameters:,} parameters, more than {PARAMETERS_AT_MOST:,}. "
                "Lower width, hidden, vocabulary or the numbers of layers."
            )

    @property
    def parameters(self) -> int:
        """Return the number of trained values, without the few of biases and norms."""
        matrix = self.width * self.width
        feed_forward = 2 * self.width * self.hidden
        layers = self.encoder_layers * (4 * matrix + feed_forward)
        layers += self.decoder_layers * (8 * matrix + feed_forward)
        return layers + self.width * (self.vocabulary + (self.target_vocabulary or 0))

    @property
    def target_size(self) -> int:
        """Return the number of tokens on the target side."""
        return self.vocabulary if self.target_vocabulary is None else self.target_vocabulary


@dataclass(frozen=True)
class TrainingConfig:
    """How the model is trained."""

    steps: int = number(100_000, 0, 1_000_000_000)
    # training time after which to stop, even before `steps`
    minutes: float | None = number(None, 0.0, 1e7)
    # tokens of the longer side of a batch, padding included
    batch_tokens: int = number(4096, 2, 100_000_000)
    # batches a step
    accumulate: int = number(1, 1, 100_000)
    seed: int = number(1, 0, 2**32 - 1)
    schedule: str = choice("inverse_sqrt", "paper")
    # "paper" has its own: width^-0.5 * min(step^-0.5, step * warmup^-1.5)
    peak_rate: float = number(0.0007, 0.0, 10.0)
    warmup_steps: int = number(4000, 1, 100_000_000)
    # share of the training, at its end, in which the rate falls to 0; 0 is off
    cooldown: float = number(0.0, 0.0, 1.0)
    betas: tuple[float, float] = (0.9, 0.98)
    epsilon: float = number(1e-9, 0.0, 1.0)
    weight_decay: float = number(0.0, 0.0, 10.0)
    # 0 is off
    clip_norm: float = number(1.0, 0.0, 1e9)
    label_smoothing: float = number(0.1, 0.0, 0.999)
    precision: str = choice("auto", "fp32", "bf16")
    # 0: what torch chooses
    threads: int = number(0, 0, 1024)
    # steps
    validate_every: int = number(1000, 1, 100_000_000)
    validation_metric: str = choice("bleu", "chrf", "exact", "loss")
    # steps
    checkpoint_every: int = number(1000, 1, 100_000_000)
    # minutes without a checkpoint after which to write one; 0 is off
    checkpoint_minutes: float = number(10.0, 0.0, 1e7)
    keep_checkpoints: int = number(2, 2, 10_000)
    # number of last validated models that make averaged/; 0 is off
    average: int = number(5, 0, 1000)
    # validations without a better one before stopping; 0 is off
    patience: int = number(0, 0, 1_000_000)
    # steps in a row that may be skipped because the loss or the gradient is not finite
    max_skipped: int = number(10, 0, 1_000_000)
    # a model folder to continue from (fine-tuning)
    start_from: str | None = None

    def __post_init__(self) -> None:
        check(self)
        for beta in self.betas:
            check_value("[training] betas", beta, {"low": 0.0, "high": 0.999999})


@dataclass(frozen=True)
class TranslationConfig:
    """How a trained model translates unless a call says otherwise."""

    beam: int = number(5, 1, 1000)
    length_penalty: float = number(1.0, 0.0, 10.0)
    # tokens, the end token included
    max_length: int = number(512, 1, 1_000_000)
    # ids that no translation holds, beside pad, start and unknown
    suppressed: tuple[int, ...] = ()
    # the last token at max_length is the end token
    forced_end: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "suppressed", plain(self.suppressed))
        check(self)


@dataclass(frozen=True)
class Config:
    """Everything that makes a model: data, vocabulary, model, training, translation."""

    data: DataConfig = field(default_factory=DataConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    translation: TranslationConfig = field(default_factory=TranslationConfig)


# base and big: Vaswani et al. 2017, table 3. tiny: Wu et al. 2021, for 29,000 sentences, but for its dropout:
# 0.3 is right for hours, in a first hour 0.2 learns more (docs/decisions/0006). small lies between.
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": dict(width=128, heads=4, hidden=256, encoder_layers=4, decoder_layers=4, dropout=0.2),
    "small": dict(width=256, heads=4, hidden=1024, encoder_layers=4, decoder_layers=4, dropout=0.2),
    "base": dict(width=512, heads=8, hidden=2048, encoder_layers=6, decoder_layers=6, dropout=0.1),
    "big": dict(width=1024, heads=16, hidden=4096, encoder_layers=6, decoder_layers=6, dropout=0.3),
}


def several(value: Any) -> Any:
    """Return one corpus, ("a.en", "a.de") or "pairs.tsv", or one pair of languages, as a list of one."""
    if isinstance(value, str | os.PathLike):
        value = [value]
    one = isinstance(value, list | tuple) and all(isinstance(entry, str | os.PathLike) for entry in value)
    return [value] if one and value else value


def check_corpora(key: str, corpora: Any) -> None:
    """Raise if a corpus is neither a pair of files nor one table."""
    for corpus in corpora if isinstance(corpora, list | tuple) else ():
        files = corpus if isinstance(corpus, list | tuple) else ()
        if not 1 <= len(files) <= 2 or not all(isinstance(name, str | os.PathLike) for name in files):
            raise UsageError(
                f"[data] {key} holds {plain(corpus, list)!r}. A corpus is a [source, target] pair of files "
                f'or one .tsv: {key} = ["{key}.en", "{key}.de"].'
            )
