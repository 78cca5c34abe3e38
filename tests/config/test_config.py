"""The configuration: what is read, what is written back, and every error word for word."""

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
    vocabulary, model, training = config.vocabulary, config.model, config.training
    assert config.data.train == ((str(tmp_path / "train.en"), str(tmp_path / "train.de")),)
    assert config.data.validation == ((str(tmp_path / "val.en"), str(tmp_path / "val.de")),)
    assert (vocabulary.size, vocabulary.kind, vocabulary.joint) == (8000, "unigram", True)
    assert (model.width, model.heads, model.hidden, model.vocabulary) == (128, 4, 256, 8000)
    assert (training.steps, training.batch_tokens, training.seed) == (2000, 4096, 1)


def test_the_defaults_of_the_contract() -> None:
    model = ModelConfig(vocabulary=8000, width=256, heads=4, hidden=1024, encoder_layers=4, decoder_layers=4)
    later = dict(dropout=0.1, norm="last", activation="relu", target_vocabulary=None, tied=True)
    later |= dict(scale_embeddings=True, output_bias=False, attention_dropout=0.0, activation_dropout=0.0)
    later |= dict(pad_id=0, unknown_id=1, start_id=2, end_id=3)
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


def test_relative_paths_are_the_files_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    text = '[data]\ntrain = "x.tsv"\nvalidation = [["v.en", "v.de"], ["../w.tsv"]]\n'
    text += '[vocabulary]\nmodel = "m.model"\n[training]\nstart_from = "/models/first"\n'
    config = read(config_file(tmp_path / "a", text))
    assert config.data.train == ((f"{tmp_path}/a/x.tsv",),)
    assert config.data.validation == ((f"{tmp_path}/a/v.en", f"{tmp_path}/a/v.de"), (f"{tmp_path}/w.tsv",))
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
    "unknown section": (
        "[trainning]\nsteps = 3",
        'there is no section [trainning]. Did you mean "training"?',
    ),
    "capitals in a name": (
        "[Training]",
        'there is no section [Training]. Did you mean "training"?',
    ),
    "setting outside a section": ("steps = 3", "there is no section [steps]."),
    "not a section": ("model = 3", "model must be a section, [model], not a single value."),
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
    "preset": (
        '[model]\npreset = "tinny"',
        "[model] preset = 'tinny' is not one of tiny, small, base, big. Did you mean \"tiny\"?",
    ),
    "choice": (
        '[model]\nnorm = "frist"',
        "[model] norm = 'frist' is not one of last, first. Did you mean \"first\"?",
    ),
    "text for a number": ('[model]\nwidth = "256"', "[model] width = '256' must be a whole number."),
    "fraction for a whole number": (
        "[training]\nsteps = 1.5",
        "[training] steps = 1.5 must be a whole number.",
    ),
    "true for a number": ("[model]\ndropout = true", "[model] dropout = True must be a number."),
    "number for true": ("[model]\ntied = 1", "[model] tied = 1 must be true or false."),
    "number for a list": ("[training]\nbetas = 0.9", "[training] betas = 0.9 must be a list."),
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
    "a billion layers": (
        "[model]\nencoder_layers = 1000000000",
        f"[model] encoder_layers = 1000000000 {BETWEEN} 1 and 256.",
    ),
    "dropout of 1": ("[model]\ndropout = 1.0", f"[model] dropout = 1.0 {BETWEEN} 0.0 and 0.999."),
    "beta of 1": ("[training]\nbetas = [0.9, 1.0]", f"[training] betas = 1.0 {BETWEEN} 0.0 and 0.999999."),
    "NaN": ("[model]\ndropout = nan", "[model] dropout = nan must be a finite number."),
    "more than 64 bits": (
        f"[model]\ndropout = 1{'0' * 400}",
        "[model] dropout is a number of more than 64 bits, which TOML does not have.",
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


def test_unreadable_files(tmp_path: Path) -> None:
    def message(path: Path) -> str:
        with pytest.raises(UsageError) as error:
            read(path)
        return str(error.value).replace(str(tmp_path), "…")

    missing = "…/no.toml: no such file. Give the path of a TOML configuration (examples/ has some)."
    assert message(tmp_path / "no.toml") == missing
    assert message(tmp_path) == "… is a folder, not a TOML configuration. Give the path of a file."
    for text in ("[model\n", "[model]\nwidth = 4\nwidth = 6"):  # the rest of the message is Python's
        assert message(config_file(tmp_path, text)).startswith("…/c.toml: this is not TOML: ")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    assert message(tmp_path / "latin.toml").startswith(
        "…/latin.toml: this is not TOML: 'utf-8' codec can't decode byte 0xe9"
    )


@pytest.mark.parametrize(
    "section,settings,message",
    [
        (ModelConfig, dict(width=256.0), "[model] width = 256.0 must be a whole number."),
        (ModelConfig, dict(dropout=float("nan")), "[model] dropout = nan must be a finite number."),
        (ModelConfig, dict(heads=0), "[model] heads = 0 must lie between 1 and 1024."),
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
