"""The configuration: what is read, what is written back, and every error word for word."""

import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from pellucid.config.schema import Config, DataConfig, ModelConfig, TrainingConfig, VocabularyConfig
from pellucid.config.toml_file import from_table, read, to_toml
from pellucid.errors import UsageError

# The configuration that DESIGN and the README promise.
EXAMPLE = """
[data]
train = ["train.en", "train.de"]    # source, target; lists of lists for several; or one .tsv; .gz as they are
validation = ["val.en", "val.de"]
[vocabulary]
size = 8000                              # kind = "unigram" | "bpe" | "word"; joint = true
[model]
preset = "tiny"                          # any ModelConfig field overrides it
[training]
steps = 2000
batch_tokens = 4096
seed = 1
"""


def config_file(folder: Path, text: str, name: str = "c.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_works(tmp_path: Path) -> None:
    config = read(config_file(tmp_path, EXAMPLE))
    assert config.data.train == ((str(tmp_path / "train.en"), str(tmp_path / "train.de")),)
    assert config.data.validation == ((str(tmp_path / "val.en"), str(tmp_path / "val.de")),)
    assert (config.vocabulary.size, config.vocabulary.kind, config.vocabulary.joint) == (
        8000,
        "unigram",
        True,
    )
    assert (config.model.width, config.model.heads, config.model.hidden, config.model.vocabulary) == (
        128,
        4,
        256,
        8000,
    )
    assert (config.training.steps, config.training.batch_tokens, config.training.seed) == (2000, 4096, 1)


def test_the_defaults_of_the_contract() -> None:
    model = ModelConfig(vocabulary=8000, width=256, heads=4, hidden=1024, encoder_layers=4, decoder_layers=4)
    later = dict(
        dropout=0.1, norm="last", activation="relu", target_vocabulary=None, tied=True, scale_embeddings=True
    )
    later |= dict(
        output_bias=False,
        attention_dropout=0.0,
        activation_dropout=0.0,
        pad_id=0,
        unknown_id=1,
        start_id=2,
        end_id=3,
    )
    assert {name: getattr(model, name) for name in later} == later
    assert Config().translation.max_length == 512


@pytest.mark.parametrize(
    "text",
    [
        "",
        EXAMPLE,
        '[model]\npreset = "base"\nnorm = "first"\ntarget_vocabulary = 700\n',
        '[data]\ntrain = [["a.en", "a.fr"], ["b.tsv.gz"]]\n'
        'languages = [["en", "fr"], ["en", "es"]]\npreparation = "words"\n',
        '[vocabulary]\nmodel = "ready.model"\n'
        '[training]\nminutes = 90\nbetas = [0.9, 0.997]\nstart_from = "other"\n',
        '[vocabulary]\nmodel = ["s.model", "t.model"]\n[translation]\nbeam = 1\n',
    ],
)
def test_what_is_written_is_read_back_unchanged(tmp_path: Path, text: str) -> None:
    config = read(config_file(tmp_path, text))
    assert read(config_file(tmp_path, to_toml(config), "again.toml")) == config


@pytest.mark.parametrize("name,shape", [("base", (512, 8, 2048, 6, 0.1)), ("big", (1024, 16, 4096, 6, 0.3))])
def test_presets_are_table_3_of_the_paper(name: str, shape: tuple[Any, ...]) -> None:
    model = from_table({"model": {"preset": name}}).model
    assert (model.width, model.heads, model.hidden, model.encoder_layers, model.dropout) == shape
    assert model.encoder_layers == model.decoder_layers


def test_overrides(tmp_path: Path) -> None:
    path = config_file(tmp_path, EXAMPLE)
    config = read(
        path, {"training.steps": 7, "model.preset": "small", "model.heads": 8, "translation.beam": 2}
    )
    assert (config.training.steps, config.model.width, config.model.heads, config.translation.beam) == (
        7,
        256,
        8,
        2,
    )
    with pytest.raises(UsageError) as error:
        read(path, {"steps": 7})
    assert str(error.value) == "steps=7: a setting is named section.key, as in training.steps=500."
    with pytest.raises(UsageError) as error:
        read(path, {"training.step": 7})
    assert str(error.value) == f'{path}: [training] has no setting "step". Did you mean "steps"?'


def test_a_model_to_start_from_is_looked_for_from_its_own_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That in the file, not from the working folder; that of --set is, as a shell completes it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "working").mkdir()
    monkeypatch.chdir(tmp_path / "working")
    path = config_file(tmp_path / "a", '[training]\nstart_from = "../runs/first"\n')
    assert read(path).training.start_from == str(tmp_path / "runs" / "first")
    assert read("../a/" + path.name).training.start_from == str(tmp_path / "runs" / "first")
    set_to = read(path, {"training.start_from": "second"})
    assert set_to.training.start_from == str(tmp_path / "working" / "second")


def test_relative_paths_are_the_files_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    text = '[data]\ntrain = "x.tsv"\nvalidation = [["v.en", "v.de"], ["../w.tsv"]]\n'
    text += '[vocabulary]\nmodel = "m.model"\n[training]\nstart_from = "/models/first"\n'
    config = read(config_file(tmp_path / "a", text))
    assert config.data.train == ((f"{tmp_path}/a/x.tsv",),)
    assert config.data.validation == (
        (f"{tmp_path}/a/v.en", f"{tmp_path}/a/v.de"),
        (f"{tmp_path}/w.tsv",),
    )
    assert config.vocabulary.model == (f"{tmp_path}/a/m.model",)
    assert config.training.start_from == "/models/first"


def test_relative_paths_on_the_command_line_are_the_working_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    path = config_file(tmp_path / "a", EXAMPLE)
    given = {
        "data.train": ["b/x.en", "b/x.de"],
        "data.validation": [["v.tsv"], ["/w.tsv"]],
        "vocabulary.model": "m.model",
        "training.start_from": "runs/fr",
    }
    config = read(path, given)
    assert config.data.train == ((f"{tmp_path}/b/x.en", f"{tmp_path}/b/x.de"),)
    assert config.data.validation == ((f"{tmp_path}/v.tsv",), ("/w.tsv",))
    assert config.vocabulary.model == (f"{tmp_path}/m.model",)
    assert config.training.start_from == f"{tmp_path}/runs/fr"


def test_the_models_vocabulary_is_the_vocabularys_size() -> None:
    assert from_table({"vocabulary": {"size": 500}}).model.vocabulary == 500
    assert from_table({"vocabulary": {"size": 500}, "model": {"vocabulary": 450}}).model.vocabulary == 450


BETWEEN = "must lie between"
ERRORS: dict[str, tuple[str, str]] = {
    "unknown setting": ("[model]\nwidht = 3", '[model] has no setting "widht". Did you mean "width"?'),
    "unknown setting, none near": ("[training]\nqqq = 3", '[training] has no setting "qqq".'),
    "misspelt preset key": (
        '[model]\npresets = "tiny"',
        '[model] has no setting "presets". Did you mean "preset"?',
    ),
    "setting of another section": ("[training]\nwidth = 3", '[training] has no setting "width".'),
    "unknown section": (
        "[trainning]\nsteps = 3",
        'there is no section [trainning]. Did you mean "training"?',
    ),
    "section with a capital": (
        "[Training]\nsteps = 3",
        'there is no section [Training]. Did you mean "training"?',
    ),
    "setting with a capital": (
        "[training]\nSteps = 3",
        '[training] has no setting "Steps". Did you mean "steps"?',
    ),
    "setting outside a section": ("steps = 3", "there is no section [steps]."),
    "not a section": ("model = 3", "model must be a section, [model], not a single value."),
    "a list of sections": ("[[model]]\nwidth = 4", "model must be a section, [model], not a single value."),
    "width and heads": (
        "[model]\nwidth = 256\nheads = 6",
        "[model] width = 256 is not divisible by heads = 6: each head takes an equal share of the width. "
        "Heads that divide 256: 2, 4, 8.",
    ),
    "odd width": (
        "[model]\nwidth = 9\nheads = 3",
        "[model] width = 9 is odd: sinusoidal positions come in pairs of sine and cosine. Use 8 or 10.",
    ),
    "special token": (
        "[model]\nvocabulary = 9\nend_id = 9",
        "[model] end_id = 9 lies outside the vocabulary of 9 tokens. Use an id below it.",
    ),
    "special token of the target": (
        "[model]\ntarget_vocabulary = 5\npad_id = 7",
        "[model] pad_id = 7 lies outside the vocabulary of 5 tokens. Use an id below it.",
    ),
    "preset": (
        '[model]\npreset = "tinny"',
        "[model] preset = 'tinny' is not one of tiny, small, base, big. Did you mean \"tiny\"?",
    ),
    "preset that is no word": (
        "[model]\npreset = 3",
        "[model] preset = 3 is not one of tiny, small, base, big.",
    ),
    "preset that is a list": (
        "[model]\npreset = [1]",
        "[model] preset = [1] is not one of tiny, small, base, big.",
    ),
    "choice": (
        '[model]\nnorm = "frist"',
        "[model] norm = 'frist' is not one of last, first. Did you mean \"first\"?",
    ),
    "choice, none near": (
        '[model]\nactivation = "tanh"',
        "[model] activation = 'tanh' is not one of relu, gelu, silu.",
    ),
    "text for a number": ('[model]\nwidth = "256"', "[model] width = '256' must be a whole number."),
    "fraction for a whole number": (
        "[training]\nsteps = 1.5",
        "[training] steps = 1.5 must be a whole number.",
    ),
    "true for a whole number": (
        "[training]\nsteps = true",
        "[training] steps = True must be a whole number.",
    ),
    "true for a number": ("[model]\ndropout = true", "[model] dropout = True must be a number."),
    "number for true": ("[model]\ntied = 1", "[model] tied = 1 must be true or false."),
    "number for text": ("[model]\nnorm = 1", "[model] norm = 1 must be text in quotes."),
    "number for a list": ("[training]\nbetas = 0.9", "[training] betas = 0.9 must be a list."),
    "number of entries": ("[training]\nbetas = [0.9]", "[training] betas = [0.9] must have 2 entries."),
    "number for a model": ("[vocabulary]\nmodel = [3]", "[vocabulary] model = 3 must be text in quotes."),
    "one language": ('[data]\nlanguages = "en"', "[data] languages = ['en'] must have 2 entries."),
    "three files": (
        '[data]\ntrain = [["a", "b", "c"]]',
        "[data] train holds ['a', 'b', 'c']. A corpus is a [source, target] pair of files or one .tsv: "
        'train = ["train.en", "train.de"].',
    ),
    "a number among files": (
        '[data]\nvalidation = ["a", 3]',
        "[data] validation holds 'a'. A corpus is a [source, target] pair of files or one .tsv: "
        'validation = ["validation.en", "validation.de"].',
    ),
    "below": ("[model]\nwidth = -4", f"[model] width = -4 {BETWEEN} 2 and 65536."),
    "a billion layers": (
        "[model]\nencoder_layers = 1000000000",
        f"[model] encoder_layers = 1000000000 {BETWEEN} 1 and 256.",
    ),
    "no layers": ("[model]\ndecoder_layers = 0", f"[model] decoder_layers = 0 {BETWEEN} 1 and 256."),
    "dropout of 1": ("[model]\ndropout = 1.0", f"[model] dropout = 1.0 {BETWEEN} 0.0 and 0.999."),
    "beta of 1": ("[training]\nbetas = [0.9, 1.0]", f"[training] betas = 1.0 {BETWEEN} 0.0 and 0.999999."),
    "NaN": ("[model]\ndropout = nan", "[model] dropout = nan must be a finite number."),
    "infinity": ("[training]\nminutes = inf", "[training] minutes = inf must be a finite number."),
    "NaN in a list": ("[training]\nbetas = [nan, 0.9]", "[training] betas = nan must be a finite number."),
    "more than 64 bits": (
        f"[model]\ndropout = 1{'0' * 400}",
        "[model] dropout is a number of more than 64 bits, which TOML does not have.",
    ),
    "far more than 64 bits": (
        f"[model]\nwidth = 0x{'f' * 9000}",
        "[model] width is a number of more than 64 bits, which TOML does not have.",
    ),
    "nested a hundred thousand deep": (
        f"[data]\ntrain = {'[' * 100_000}",
        "this is not a configuration: its lists are nested too deeply.",
    ),
}


@pytest.mark.parametrize("text,message", ERRORS.values(), ids=ERRORS.keys())
def test_errors_word_for_word(tmp_path: Path, text: str, message: str) -> None:
    path = config_file(tmp_path, text)
    with pytest.raises(UsageError) as error:
        read(path)
    assert str(error.value) == f"{path}: {message}"
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        "[model]\nencoder_layers = 1000000000\ndecoder_layers = 1000000000",
        "[model]\nwidth = 9223372036854775807\nheads = 7",
        "[model]\nvocabulary = 9223372036854775806",
        f"[model]\nwidth = {'9' * 5000}",
        f"[model]\nnorm = '{'x' * 300_000}'",
        f"[model]\n{'y' * 300_000} = 1",
        "\n".join(f"[section_{number}]" for number in range(3000)),
        f"[data]\ntrain = {'[' * 5000}{']' * 5000}",
        "[training]\nbatch_tokens = -1",
    ],
    ids=str.split("layers width vocabulary digits word key sections nesting negative"),
)
def test_a_hostile_configuration_costs_nothing(tmp_path: Path, text: str) -> None:
    path = config_file(tmp_path, text)
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(UsageError):
        read(path)
    seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000, "memory was allocated for it"
    assert seconds < 5  # it takes a few hundredths; the promise is one second


def test_unreadable_files(tmp_path: Path) -> None:
    def message(path: Path) -> str:
        with pytest.raises(UsageError) as error:
            read(path)
        return str(error.value).replace(str(tmp_path), "…")

    assert (
        message(tmp_path / "no.toml")
        == "…/no.toml: no such file. Give the path of a TOML configuration (examples/ has some)."
    )
    assert message(tmp_path) == "… is a folder, not a TOML configuration. Give the path of a file."
    inside = config_file(tmp_path, "") / "c.toml"
    assert (
        message(inside)
        == "…/c.toml/c.toml cannot be read: Not a directory. Give the path of a TOML configuration."
    )
    assert message(config_file(tmp_path, "[model\n")).startswith(
        "…/c.toml: this is not TOML: "
    )  # the rest is Python's
    assert message(config_file(tmp_path, "[model]\nwidth = 4\nwidth = 6")).startswith(
        "…/c.toml: this is not TOML: "
    )
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    assert message(tmp_path / "latin.toml").startswith(
        "…/latin.toml: this is not TOML: 'utf-8' codec can't decode byte 0xe9"
    )


@pytest.mark.parametrize(
    "section,settings,message",
    [
        (ModelConfig, dict(width=256.0), "[model] width = 256.0 must be a whole number."),
        (ModelConfig, dict(tied="no"), "[model] tied = 'no' must be true or false."),
        (ModelConfig, dict(dropout=float("nan")), "[model] dropout = nan must be a finite number."),
        (ModelConfig, dict(heads=0), "[model] heads = 0 must lie between 1 and 1024."),
        (
            TrainingConfig,
            dict(label_smoothing=1),
            "[training] label_smoothing = 1 must lie between 0.0 and 0.999.",
        ),
        (
            TrainingConfig,
            dict(keep_checkpoints=1),
            "[training] keep_checkpoints = 1 must lie between 2 and 10000.",
        ),
    ],
)
def test_a_section_made_in_python_is_checked_too(
    section: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        section(**settings)
    assert str(error.value) == message


def test_a_shape_of_too_many_parameters_is_refused_at_once() -> None:
    with pytest.raises(UsageError) as error:
        ModelConfig(width=65_536, heads=64, hidden=1_048_576, encoder_layers=256, decoder_layers=256)
    assert str(error.value) == (
        "[model] this shape has 83,563,407,998,976 parameters, more than 20,000,000,000. "
        "Lower width, hidden, vocabulary or the numbers of layers."
    )


def test_a_corpus_of_three_files_is_refused_in_python_too() -> None:
    with pytest.raises(UsageError, match=r"\[data\] train holds \['a.en', 'a.de', 'c'\]"):
        DataConfig(train=(("a.en", "a.de", "c"),))


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "notepad.toml").write_bytes(b"\xef\xbb\xbf[model]\nwidth = 64\n")
    assert read(tmp_path / "notepad.toml").model.width == 64


# A configuration in Python


def test_python_writes_corpora_as_toml_does() -> None:
    wanted = DataConfig(train=(("a.en", "a.de"),), validation=(("b.tsv",),), languages=(("en", "de"),))
    train: Any = (Path("a.en"), "a.de")
    validation: Any = Path("b.tsv")
    languages: Any = ["en", "de"]
    assert DataConfig(train, validation, languages=languages) == wanted
    table = {"data": {"train": train, "validation": validation, "languages": tuple(languages)}}
    assert from_table(table).data == wanted
    several: Any = [[Path("a"), Path("b")], ["c.tsv"]]
    assert DataConfig(several).train == (("a", "b"), ("c.tsv",))


def test_python_gives_paths_where_a_setting_is_a_file() -> None:
    model: Any = Path("my.model")
    folder: Any = Path("runs/m30k")
    assert VocabularyConfig(model=model).model == ("my.model",)
    assert TrainingConfig(start_from=folder).start_from == "runs/m30k"
    assert from_table({"vocabulary": {"model": model}}).vocabulary.model == ("my.model",)
