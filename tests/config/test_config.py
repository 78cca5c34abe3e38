"""The configuration: what is read, what is written back, and every error word for word."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch

from pellucid.config.schema import DataConfig, ModelConfig
from pellucid.config.settings import convert
from pellucid.config.toml_file import from_table, read, to_toml
from pellucid.errors import UsageError, did_you_mean, list_known
from pellucid.folder.load import without_weights

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


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["", "byte order mark"])
def test_the_example_works(tmp_path: Path, mark: str) -> None:
    config = read(config_file(tmp_path, mark + EXAMPLE))
    vocabulary, model, training = config.vocabulary, config.model, config.training
    assert config.data.train == ((str(tmp_path / "train.en"), str(tmp_path / "train.de")),)
    assert (vocabulary.size, vocabulary.kind, vocabulary.joint) == (8000, "unigram", True)
    assert (model.width, model.heads, model.hidden, model.vocabulary) == (128, 4, 256, 8000)
    assert (training.steps, training.batch_tokens, training.seed) == (2000, 4096, 1)


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLE,
        '[model]\npreset = "base"\nnorm = "first"\ntarget_vocabulary = 700\n',
        '[data]\ntrain = [["a.en", "a.fr"], ["b.tsv.gz"]]\nlanguages = [["en", "fr"], ["en", "es"]]\n',
        '[vocabulary]\nmodel = "ready.model"\n[training]\nminutes = 90\nbetas = [0.9, 0.997]\n',
        '[vocabulary]\nmodel = ["s.model", "t.model"]\n[training]\nstart_from = "other"\n',
    ],
)
def test_what_is_written_is_read_back_unchanged(tmp_path: Path, text: str) -> None:
    config = read(config_file(tmp_path, text))
    assert read(config_file(tmp_path, to_toml(config), "again.toml")) == config


def test_overrides(tmp_path: Path) -> None:
    path = config_file(tmp_path, EXAMPLE)
    config = read(path, {"training.steps": 7, "model.preset": "small", "model.heads": 8})
    assert (config.training.steps, config.model.width, config.model.heads) == (7, 256, 8)
    with pytest.raises(UsageError, match=r"steps=7: write section\.key=value, as in"):
        read(path, {"steps": 7})
    with pytest.raises(UsageError, match='has no setting "step"'):
        read(path, {"training.step": 7})


@pytest.mark.parametrize("given", [False, True])
def test_the_home_folder_and_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    files = {"data.train": ["~/a.tsv"], "data.validation": ["https://a.org/b.tsv"]}
    table = {"data": {name.partition(".")[2]: value for name, value in files.items()}}
    path = config_file(tmp_path, "" if given else tomli_w.dumps(table))
    data = read(path, files if given else None).data
    assert (data.train, data.validation) == ((("/home/somebody/a.tsv",),), (("https://a.org/b.tsv",),))


@pytest.mark.parametrize("given", [False, True], ids=["in the file", "on the command line"])
def test_relative_paths_are_the_files_folders_or_the_working_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    start = tmp_path if given else tmp_path / "a"
    table = {
        "data": {"train": "x.tsv", "validation": [["v.en", "v.de"], ["/w.tsv"], ["../u.tsv"]]},
        "vocabulary": {"model": "m.model"},
        "training": {"start_from": "runs/fr"},
    }
    (tmp_path / "a").mkdir(exist_ok=True)
    path = config_file(tmp_path / "a", "" if given else tomli_w.dumps(table))
    overrides = {f"{section}.{key}": each for section in table for key, each in table[section].items()}
    config = read(path, overrides if given else None)
    validation = ((f"{start}/v.en", f"{start}/v.de"), ("/w.tsv",), (str(start.parent / "u.tsv"),))
    assert (config.data.train, config.data.validation) == (((f"{start}/x.tsv",),), validation)
    assert config.vocabulary.model == (f"{start}/m.model",)
    assert config.training.start_from == f"{start}/runs/fr"


def test_the_models_vocabulary_is_the_vocabularys_size() -> None:
    assert from_table({"vocabulary": {"size": 500}}).model.vocabulary == 500
    assert from_table({"vocabulary": {"size": 500}, "model": {"vocabulary": 450}}).model.vocabulary == 450


ERRORS = {  # what is wrong, and what is said of it
    "[model]\nwidht = 3": '[model] has no setting "widht". Did you mean "width"?',
    "[trainning]\nsteps = 3": 'there is no section [trainning]. Did you mean "training"?',
    "[Training]": 'there is no section [Training]. Did you mean "training"?',
    "steps = 3": "there is no section [steps].",
    "model = 3": "model must be a section, [model], not a single value.",
    "[model]\nwidth = 256\nheads = 6": "heads = 6: each head takes an equal share",
    '[model]\npositions = "fairseq"\nwidth = 2\nheads = 1': "needs a width of 4 or more, not 2. Use",
    "[model]\nwidth = 9\nheads = 3": "width = 9 is odd: sinusoidal positions come in pairs",
    "[model]\nvocabulary = 9\nend_id = 9": "end_id = 9 lies outside the vocabulary of 9 tokens.",
    '[model]\npreset = "tinny"': "'tinny' is not one of tiny, small, base, big. Did you mean \"tiny\"?",
    '[model]\nnorm = "frist"': "'frist' is not one of last, first. Did you mean \"first\"?",
    '[model]\nwidth = "256"': "width = '256' must be a whole number from 2 to 65536.",
    "[training]\nsteps = 1.5": "steps = 1.5 must be a whole number from 0 to 1000000000.",
    "[model]\ndropout = true": "dropout = True must be a number from 0 to 0.999.",
    "[model]\ntied = 1": "tied = 1 must be true or false.",
    "[training]\nbetas = 0.9": "betas = 0.9 must be a list.",
    '[data]\nlanguages = "en"': "languages = ['en'] must have 2 entries.",
    '[data]\ntrain = [["a", "b", "c"]]': 'one .tsv: train = ["train.en", "train.de"].',
    '[data]\ntrain = ["a.tsv", "b.tsv.gz"]': "Several tables are several corpora: [[FILE], [OTHER]].",
    '[data]\nvalidation = ["a", 3]': "[data] validation holds 'a'. A corpus is a [source, target]",
    "[model]\nencoder_layers = 1000000000": "1000000000 must be a whole number from 1 to 256.",
    "[model]\ndropout = 1.0": "dropout = 1.0 must be a number from 0 to 0.999.",
    "[training]\nbetas = [0.9, 1.0]": "betas = 1.0 must be a number from 0 to 0.999999.",
    "[model]\ndropout = nan": "dropout = nan must be a number from 0 to 0.999.",
    f"[model]\ndropout = 1{'0' * 400}": " must be a number from 0 to 0.999.",
    "[training]\nminutes = 0": "[training] minutes = 0 must be a number above 0 and at most 10000000.",
    "[model]\ndropout = 0.0\n[training]\nconsistency = 5": "consistency = 5 compares two passes with",
    "[vocabulary]\ngrow = 5": "grow = 5 adds tokens to the vocabulary of a model to start from, and none is",
    "[training]\nseed = -1": "seed = -1 must be a whole number from 0 to 4294967295.",
}


@pytest.mark.parametrize("text", ERRORS)
def test_what_is_wrong_is_said(tmp_path: Path, text: str) -> None:
    path = config_file(tmp_path, text)
    with pytest.raises(UsageError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ") and ERRORS[text] in str(error.value)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, " cannot be read: No such file or directory. Give the path of a TOML configuration"),
        (b"[model]\nwidth = 4\nwidth = 6", ": this is not TOML: "),
        (b"# caf\xe9\n", ": this is not TOML: 'utf-8' codec can't decode byte 0xe9"),
        (b"[data]\ntrain = " + b"[" * 100_000, ": this is not TOML: "),
    ],
)
def test_unreadable_files(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "c.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=re.escape(f"{path}{message}")):
        read(path)


def test_a_shape_of_too_many_parameters_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="this shape has 83,563,407,998,976 parameters, more than 20,000,"):
        ModelConfig(width=65_536, heads=64, hidden=1_048_576, encoder_layers=256, decoder_layers=256)


@pytest.mark.parametrize(
    "settings", [{}, {"target_vocabulary": 70}, {"tied": False}, {"tied": False, "target_vocabulary": 70}]
)
def test_the_parameters_are_the_numbers_in_a_models_matrices(settings: dict[str, Any]) -> None:
    config = ModelConfig(50, width=12, heads=2, hidden=20, encoder_layers=1, decoder_layers=3, **settings)
    parameters = without_weights(config).parameters()
    assert config.parameters == sum(each.numel() for each in parameters if each.dim() > 1)


# A configuration in Python


def test_python_writes_corpora_and_paths_as_toml_does() -> None:
    wanted = DataConfig(train=(("a.en", "a.de"),), validation=(("b.tsv",),), languages=(("en", "de"),))
    train: Any = (Path("a.en"), "a.de")
    validation: Any = Path("b.tsv")
    languages: Any = ["en", "de"]
    assert DataConfig(train, validation, languages=languages) == wanted
    table = {"data": {"train": train, "validation": validation, "languages": tuple(languages)}}
    assert from_table(table | {"vocabulary": {"model": Path("m")}}).vocabulary.model == ("m",)
    assert from_table(table).data == wanted
    with pytest.raises(UsageError, match=r"\[model\] heads = 0 must be a whole number from 1 to 1024\."):
        ModelConfig(heads=0)


def test_did_you_mean_offers_one_name_or_nothing() -> None:
    assert did_you_mean("biem", {"beam": 1, "width": 2}) == ' Did you mean "beam"?'
    assert did_you_mean("zzz", ("beam", "width")) == ""


def test_a_message_lists_twenty_names() -> None:
    names = [f"n{number}" for number in range(21)]
    assert list_known(names[:20]) == ", ".join(names[:20])
    assert list_known(names) == f"{', '.join(names[:20])} and 1 more"


def test_whole_numbers_and_their_limits() -> None:
    wrong: list[Any] = [True, np.True_, 3.0, "3", None, math.nan, [3], np.array([3]), torch.tensor(3), 0, 4]
    for value in wrong:
        with pytest.raises(UsageError, match="must be a whole number from 1 to 3"):
            convert("n", value, int, {"low": 1, "high": 3})
    assert all(convert("n", value, int, {}) == value for value in (0, -2, 10**400, np.int64(3), np.uint8(3)))
    with pytest.raises(UsageError, match=r"^n = 0 must be a whole number, 1 or more\.$"):
        convert("n", 0, int | None, {"low": 1})
