"""What a user may set: frozen dataclasses, read from strict TOML, checked once, handed down in sections."""

import dataclasses
import difflib
import math
import os
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import tomli_w

from pellucid.errors import UsageError


def number(default: Any, low: float, high: float) -> Any:
    """A numeric setting that must lie within [low, high]."""
    return field(default=default, metadata={"low": low, "high": high})


def choice(default: str, *others: str) -> Any:
    """A setting that must be one of a few words; the first is the default."""
    return field(default=default, metadata={"choices": (default, *others)})


PARAMETERS_AT_MOST = 20_000_000_000  # a slip of the keyboard should be told before memory runs out


@dataclass(frozen=True)
class DataConfig:
    """Which parallel text, and what is left out of it."""

    # each a (source, target) pair of files, or one .tsv; .gz as they are
    train: tuple[tuple[str, ...], ...] = ()
    validation: tuple[tuple[str, ...], ...] = ()
    # (source, target) of each corpus in train and in validation
    languages: tuple[tuple[str, str], ...] = ()
    preparation: str = choice("none", "moses", "moses-lowercase", "words")
    bad_utf8: str = choice("error", "replace", "skip")
    # tokens, the end token included
    max_length: int = number(256, 1, 100_000)
    # of the longer side to the shorter, in tokens
    max_ratio: float = number(9.0, 1, 1e6)
    remove_duplicates: bool = False
    # of the text; kept in the model's manifest
    licence: str = ""

    def __post_init__(self) -> None:
        _check(self)
        _check_corpora("train", self.train)
        _check_corpora("validation", self.validation)


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
        _check(self)


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
    output_bias: bool = False
    attention_dropout: float = number(0.0, 0.0, 0.999)
    activation_dropout: float = number(0.0, 0.0, 0.999)
    pad_id: int = number(0, 0, 10_000_000)
    unknown_id: int = number(1, 0, 10_000_000)
    start_id: int = number(2, 0, 10_000_000)
    end_id: int = number(3, 0, 10_000_000)

    def __post_init__(self) -> None:
        _check(self)
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
                "cosine. "
                f"Use {self.width - 1} or {self.width + 1}."
            )
        specials = {
            "pad_id": self.pad_id,
            "unknown_id": self.unknown_id,
            "start_id": self.start_id,
            "end_id": self.end_id,
        }
        smallest = min(self.vocabulary, self.target_size)
        for name, value in specials.items():
            if value >= smallest:
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
        """The number of trained values, to within the small change of biases and norms."""
        matrix = self.width * self.width
        feed_forward = 2 * self.width * self.hidden
        layers = self.encoder_layers * (4 * matrix + feed_forward)
        layers += self.decoder_layers * (8 * matrix + feed_forward)
        return layers + self.width * (self.vocabulary + (self.target_vocabulary or 0))

    @property
    def target_size(self) -> int:
        """The number of tokens on the target side."""
        return self.vocabulary if self.target_vocabulary is None else self.target_vocabulary


@dataclass(frozen=True)
class TrainingConfig:
    """How the model is trained."""

    steps: int = number(100_000, 0, 1_000_000_000)
    # stop after so much training time, whatever `steps` says
    minutes: float | None = number(None, 0.0, 1e7)
    # the longer side's tokens in a batch, padding included
    batch_tokens: int = number(4096, 1, 100_000_000)
    # batches a step
    accumulate: int = number(1, 1, 100_000)
    seed: int = number(1, 0, 2**32 - 1)
    schedule: str = choice("inverse_sqrt", "paper")
    # "paper" has its own: width^-0.5 * min(step^-0.5, step * warmup^-1.5)
    peak_rate: float = number(0.0007, 0.0, 10.0)
    warmup_steps: int = number(4000, 1, 100_000_000)
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
    validation_metric: str = choice("bleu", "chrf", "loss")
    # steps
    checkpoint_every: int = number(1000, 1, 100_000_000)
    keep_checkpoints: int = number(2, 2, 10_000)
    # the last so many validated models make averaged/; 0 is off
    average: int = number(5, 0, 1000)
    # validations without a better one before stopping; 0 is off
    patience: int = number(0, 0, 1_000_000)
    # steps in a row that may be skipped for a loss or gradient that is not finite
    max_skipped: int = number(10, 0, 1_000_000)
    # a model folder to continue from (fine-tuning)
    start_from: str | None = None

    def __post_init__(self) -> None:
        _check(self)
        for beta in self.betas:
            _check_value("[training] betas", beta, {"low": 0.0, "high": 0.999999})


@dataclass(frozen=True)
class TranslationConfig:
    """How a trained model translates unless a call says otherwise."""

    beam: int = number(5, 1, 1000)
    length_penalty: float = number(1.0, 0.0, 100.0)
    # tokens, the end token included
    max_length: int = number(512, 1, 1_000_000)

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class Config:
    """Everything that makes a model: data, vocabulary, model, training, translation."""

    data: DataConfig = field(default_factory=DataConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    translation: TranslationConfig = field(default_factory=TranslationConfig)


# base and big: Vaswani et al. 2017, table 3. tiny: Wu et al. 2021, for 29,000 sentences. small lies between.
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": dict(width=128, heads=4, hidden=256, encoder_layers=4, decoder_layers=4, dropout=0.3),
    "small": dict(width=256, heads=4, hidden=1024, encoder_layers=4, decoder_layers=4, dropout=0.2),
    "base": dict(width=512, heads=8, hidden=2048, encoder_layers=6, decoder_layers=6, dropout=0.1),
    "big": dict(width=1024, heads=16, hidden=4096, encoder_layers=6, decoder_layers=6, dropout=0.3),
}


def read(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Config:
    """The configuration in a TOML file; `overrides` are {"section.key": value}; relative paths are the file's
    own folder's."""
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise UsageError(
            f"{path}: no such file. Give the path of a TOML configuration (examples/ has some)."
        ) from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a TOML configuration. Give the path of a file.") from None
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}. Give the path of a TOML configuration."
        ) from None
    except ValueError as error:  # syntax, UTF-8, and numbers of thousands of digits
        raise UsageError(f"{path}: this is not TOML: {error}.") from None
    except RecursionError:
        raise UsageError(f"{path}: this is not a configuration: its lists are nested too deeply.") from None
    for dotted, value in (overrides or {}).items():
        section, _, key = dotted.partition(".")
        if not key:
            raise UsageError(f"{dotted}={value}: a setting is named section.key, as in training.steps=500.")
        if not isinstance(table.setdefault(section, {}), dict):
            raise UsageError(f"{path}: [{section}] must be a section.")
        table[section][key] = value
    return from_table(table, where=str(path), folder=path.parent)


def from_table(table: Mapping[str, Any], where: str = "configuration", folder: Path | None = None) -> Config:
    """A Config from nested dictionaries, as TOML gives them; an unknown section or key is an error."""
    sections = {"data": DataConfig, "vocabulary": VocabularyConfig, "model": ModelConfig}
    sections |= {"training": TrainingConfig, "translation": TranslationConfig}
    for name in table:
        if name not in sections:
            raise UsageError(f"{where}: there is no section [{name}].{_nearest(name, sections)}")
        if not isinstance(table[name], Mapping):
            raise UsageError(f"{where}: {name} must be a section, [{name}], not a single value.")
    given = {name: dict(table.get(name, {})) for name in sections}
    _shorthand(given["data"], where, folder)
    if folder and isinstance(given["training"].get("start_from"), str):
        given["training"]["start_from"] = os.path.abspath(folder / given["training"]["start_from"])
    if isinstance(given["vocabulary"].get("model"), str):
        given["vocabulary"]["model"] = [given["vocabulary"]["model"]]
    models = given["vocabulary"].get("model")
    if folder and isinstance(models, list) and all(isinstance(name, str) for name in models):
        given["vocabulary"]["model"] = [os.path.abspath(folder / name) for name in models]
    preset = given["model"].pop("preset", None)
    if preset is not None:
        if not isinstance(preset, str) or preset not in PRESETS:
            nearest = _nearest(str(preset), PRESETS)
            raise UsageError(
                f"{where}: [model] preset = {preset!r} is not one of {', '.join(PRESETS)}.{nearest}"
            )
        given["model"] = PRESETS[preset] | given["model"]
    if "size" in given["vocabulary"] and "vocabulary" not in given["model"]:
        given["model"]["vocabulary"] = given["vocabulary"]["size"]
    return Config(**{name: _section(kind, given[name], where) for name, kind in sections.items()})


def to_table(config: Config) -> dict[str, Any]:
    """The configuration as nested dictionaries for TOML; settings that are None are left out."""
    return {
        section.name: {
            key: value
            for key, value in dataclasses.asdict(getattr(config, section.name)).items()
            if value is not None
        }
        for section in fields(config)
    }


def to_toml(config: Config) -> str:
    """The whole configuration, resolved, as TOML text that `read` takes back unchanged."""
    return tomli_w.dumps(_lists(to_table(config)))


def _lists(value: Any) -> Any:
    """tomli_w writes lists, not tuples."""
    if isinstance(value, dict):
        return {key: _lists(entry) for key, entry in value.items()}
    return [_lists(entry) for entry in value] if isinstance(value, tuple | list) else value


def _shorthand(data: dict[str, Any], where: str, folder: Path | None) -> None:
    """train = ["a.en", "a.de"] means one corpus; several are lists of lists. Languages likewise."""
    for key in ("train", "validation", "languages"):
        value = data.get(key)
        if isinstance(value, str):
            data[key] = value = [[value]]
        elif isinstance(value, list) and value and all(isinstance(entry, str) for entry in value):
            data[key] = value = [value]
        if key == "languages" or not isinstance(value, list):
            continue
        for corpus in value:
            texts = isinstance(corpus, list) and all(isinstance(name, str) for name in corpus)
            if not texts or not 1 <= len(corpus) <= 2:
                raise _not_a_corpus(f"{where}: [data] {key}", corpus)
        if folder:
            data[key] = [[os.path.abspath(folder / name) for name in corpus] for corpus in value]


def _check_corpora(name: str, corpora: typing.Iterable[typing.Sequence[str]]) -> None:
    for corpus in corpora:
        if not 1 <= len(corpus) <= 2:
            raise _not_a_corpus(f"[data] {name}", corpus)


def _not_a_corpus(name: str, corpus: Any) -> UsageError:
    key = name.rpartition(" ")[2]
    shown = list(corpus) if isinstance(corpus, tuple) else corpus
    return UsageError(
        f"{name} holds {shown!r}. A corpus is a [source, target] pair of files or one .tsv: "
        f'{key} = ["{key}.en", "{key}.de"].'
    )


def _section(kind: type, given: dict[str, Any], where: str) -> Any:
    hints = typing.get_type_hints(kind)
    known = [setting.name for setting in fields(kind)] + (["preset"] if kind is ModelConfig else [])
    for key in given:
        if key not in known:
            raise UsageError(f'{where}: [{_title(kind)}] has no setting "{key}".{_nearest(key, known)}')
    try:
        return kind(
            **{key: _convert(f"[{_title(kind)}] {key}", value, hints[key]) for key, value in given.items()}
        )
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _convert(name: str, value: Any, kind: Any) -> Any:
    """A TOML value as the type that the setting has; anything else is an error that shows the value."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if value is None else _convert(name, value, arguments[0])
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise UsageError(f"{name} = {value!r} must be a list.")
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(value):
            raise UsageError(f"{name} = {value!r} must have {len(kinds)} entries.")
        return tuple(_convert(name, entry, each) for entry, each in zip(value, kinds, strict=True))
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise UsageError(f"{name} is a number of more than 64 bits, which TOML does not have.")
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        words = {int: "a whole number", float: "a number", str: "text in quotes", bool: "true or false"}
        raise UsageError(f"{name} = {value!r} must be {words[kind]}.")
    return value


def _title(kind: type) -> str:
    """The section's name in a TOML file: ModelConfig is [model]."""
    return kind.__name__.removesuffix("Config").lower()


def _check(section: Any) -> None:
    hints = typing.get_type_hints(type(section))
    for setting in fields(section):
        name, value = f"[{_title(type(section))}] {setting.name}", getattr(section, setting.name)
        _convert(name, value, hints[setting.name])  # for its errors: Python may make a section without TOML
        _check_value(name, value, setting.metadata)


def _check_value(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    if "choices" in limits and value not in limits["choices"]:
        nearest = _nearest(value, limits["choices"]) if isinstance(value, str) else ""
        raise UsageError(f"{name} = {value!r} is not one of {', '.join(limits['choices'])}.{nearest}")
    if "low" in limits and value is not None:
        if not math.isfinite(value):
            raise UsageError(f"{name} = {value!r} must be a finite number.")
        if not limits["low"] <= value <= limits["high"]:
            raise UsageError(f"{name} = {value!r} must lie between {limits['low']} and {limits['high']}.")


def _nearest(word: str, known: typing.Iterable[str]) -> str:
    """` Did you mean "x"?`, or nothing when nothing is near."""
    matches = difflib.get_close_matches(word, list(known), n=1)
    return f' Did you mean "{matches[0]}"?' if matches else ""
