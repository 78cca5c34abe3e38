"""Folders that are damaged, hostile, or of another program: one clear message, and little memory."""

import json
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from command import Command
from marian_folders import change, many_languages, opus, state_of

from pellucid.errors import PellucidError
from pellucid.interop.exporting import PROGRAMS, export
from pellucid.interop.families import FAMILIES, TOKENIZERS
from pellucid.interop.foreign import AT_MOST
from pellucid.interop.generation import left_out
from pellucid.interop.importing import describe, import_model, load_folder, open_foreign


def refused(folder: Path) -> str:
    """What is wrong with a folder."""
    with pytest.raises(PellucidError) as caught:
        load_folder(folder)
    said = str(caught.value).removeprefix(f"{folder}: ")
    return said.removeprefix("this model cannot be imported. ").removesuffix(
        " Nothing in it was executed. Download the folder again, or ask whoever made it."
    )


def compressed(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, file.open("archive/data.pkl", "w") as bomb:
        for _ in range(100):
            bomb.write(bytes(2**20))


def stored(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file, file.open("archive/data.pkl", "w") as bomb:
        for _ in range(65):
            bomb.write(bytes(2**20))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(AT_MOST + 1)


def repeated(path: Path) -> None:
    torch.save({"model.shared.weight": torch.zeros(1).expand(10**12)}, path)


def spoiled(old: bytes, new: bytes) -> Callable[[Path], Any]:
    """A function that writes a pickle of a tensor in which these bytes are others."""

    def write(path: Path) -> None:
        torch.save({name: torch.zeros(2) for name in "ab"}, path)
        assert old in path.read_bytes()
        path.write_bytes(path.read_bytes().replace(old, new))

    return write


DAMAGED = "it was not loaded: it contains more than tensors or is damaged."
TOO_LARGE = (
    "it was not loaded: its record archive/data.pkl is compressed, or larger than 67,108,864 bytes, unlike "
    "those of PyTorch. Save it again with torch.save."
)
NO_FILE = "this is not a regular file. Put the file itself there."
HOSTILE: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "a link to a device": ("vocab.json", lambda path: path.symlink_to("/dev/zero"), NO_FILE),
    "the configuration is one": ("config.json", lambda path: path.symlink_to("/dev/zero"), NO_FILE),
    "a pipe": ("source.spm", os.mkfifo, NO_FILE),
    "weights in a pipe": ("model.safetensors", os.mkfifo, NO_FILE),
    "a large file": ("vocab.json", sparse, "it has more than 268,435,456 bytes."),
    "a compressed pickle": ("pytorch_model.bin", compressed, TOO_LARGE),
    "a large pickle": ("pytorch_model.bin", stored, TOO_LARGE),
    "one number, a trillion times": ("pytorch_model.bin", repeated, DAMAGED),
    "a name that is no text": ("pytorch_model.bin", spoiled(b"/byteorder", b"/\xffyteorder"), DAMAGED),
    "a reference to nothing": ("pytorch_model.bin", spoiled(b"h\x03", b"h\xfe"), DAMAGED),
    "a pointer of Git LFS": (
        "source.spm",
        lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
        "only a pointer of Git LFS is there. Run git lfs pull in its folder.",
    ),
    "a model of a trillion tokens": (
        "config.json",
        lambda path: path.write_text('{"model_type": "marian", "vocab_size": 1000000000000}'),
        "vocab_size = 1000000000000 is more than 10,000,000.",
    ),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return opus(tmp_path_factory.mktemp("good") / "opus")


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    """A copy of a good folder."""
    copy = tmp_path / "opus"
    copy.mkdir()
    for path in good.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_file_or_too_large_is_refused_unread(name: str, folder: Path) -> None:
    file, make, message = HOSTILE[name]
    (folder / ("model.safetensors" if file == "pytorch_model.bin" else file)).unlink()
    make(folder / file)
    tracemalloc.start()
    try:
        assert refused(folder) == f"{file}: {message}"
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("file", ["pytorch_model.bin", "model.safetensors"])
@pytest.mark.parametrize("dtype", [torch.int8, torch.complex64])
def test_tensors_that_are_no_weights_are_refused(dtype: torch.dtype, file: str, folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    save = torch.save if file == "pytorch_model.bin" else safetensors.torch.save_file
    save({"model.shared.weight": torch.zeros(3, dtype=dtype)}, folder / file)
    assert refused(folder) == f"{file}: its tensors have the type {dtype}, not F32, F16, BF16, F64."


def test_a_new_family_is_an_entry_of_the_register(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = FAMILIES["marian"]._replace(name="A new one", model_type="new", tokenizer="NewTokenizer")
    monkeypatch.setitem(FAMILIES, "new", new)
    monkeypatch.setitem(TOKENIZERS, "NewTokenizer", TOKENIZERS["MarianTokenizer"])
    change(folder / "config.json", model_type="new")
    change(folder / "tokenizer_config.json", tokenizer_class=None)
    assert load_folder(folder).manifest["provenance"]["imported from"] == "new"
    assert describe(open_foreign(folder), load_folder(folder)).startswith(f"{folder}: A new one, 2+2 layers")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            ["snapshots/abc/config.json"],
            "snapshots/abc/config.json: this is in a folder of the Hugging Face cache. Name the folder that "
            "holds it.",
        ),
        (
            ["adapter_config.json", "adapter_model.safetensors"],
            "adapter_config.json: this is a PEFT adapter, which holds changes to a model and not the model. "
            "Merge the two with merge_and_unload(), and save that with save_pretrained().",
        ),
        (
            ["encoder_model.onnx", "decoder_model_merged.onnx"],
            "decoder_model_merged.onnx: this is an ONNX graph, which has no layers by name. Name the folder "
            "that it was exported from.",
        ),
        (
            ["model.enfr.intgemm.alphas.bin", "vocab.enfr.spm"],
            "model.enfr.intgemm.alphas.bin: this is a Bergamot model, as in Firefox; its decoder has no "
            "self-attention. Choose another model of these languages, such as an OPUS-MT.",
        ),
    ],
)
def test_models_of_other_programs_are_called_by_their_names(
    files: list[str], message: str, tmp_path: Path, pellucid: Command
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    for argv in (["translate", tmp_path], ["inspect", tmp_path], ["import", tmp_path, tmp_path / "out"]):
        said = pellucid(*argv)
        assert said.code == 1
        assert said.err == f"pellucid: {tmp_path}: this is no model that Pellucid reads. {message}\n"


def test_weights_for_another_program_alone_are_named(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "tf_model.h5")
    assert refused(folder) == (
        "there are no weights, neither model.safetensors nor pytorch_model.bin. "
        "tf_model.h5: these are weights for TensorFlow. Download model.safetensors or pytorch_model.bin too."
    )


MISTAKES: dict[str, tuple[str, dict[str, Any], str]] = {
    "a token of another kind": (
        "tokenizer_config.json",
        {"unk_token": {"foo": 1}},
        "tokenizer_config.json: unk_token = {'foo': 1} is not a token.",
    ),
    "another tokenizer": (
        "tokenizer_config.json",
        {"tokenizer_class": "SMALL100Tokenizer"},
        "tokenizer_config.json: tokenizer_class = 'SMALL100Tokenizer' is not one of MarianTokenizer, "
        "M2M100Tokenizer, NllbTokenizer, NllbTokenizerFast, MBart50Tokenizer, MBart50TokenizerFast.",
    ),
    "a long name": (
        "config.json",
        {"model_type": "t5" * 500_000},
        "config.json says model_type = '" + "t5" * 29 + "t, which is another architecture. Pellucid takes in "
        "MarianMT (OPUS-MT), M2M100 and NLLB, MarianMT with the norm first (Pegasus), mBART-50. Choose such "
        "a folder.",
    ),
    "a length": (
        "config.json",
        {"max_position_embeddings": 0},
        "config.json: max_position_embeddings = 0: [data] max_length = 0 must be a whole number from 1 to "
        "100000.",
    ),
    "a beam": (
        "generation_config.json",
        {"num_beams": 5000},
        "generation_config.json: [translation] beam = 5000 must be a whole number from 1 to 1000.",
    ),
    "a penalty": (
        "generation_config.json",
        {"length_penalty": -1.5},
        "generation_config.json: [translation] length_penalty = -1.5 must be a number from 0 to 10.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_setting_that_cannot_be_is_named_with_its_file(name: str, folder: Path) -> None:
    file, settings, message = MISTAKES[name]
    change(folder / file, **settings)
    assert refused(folder) == message


def test_of_nllb_the_old_place_of_the_source_language_is_refused(tmp_path: Path) -> None:
    many_languages(tmp_path, "nllb")
    change(tmp_path / "tokenizer_config.json", legacy_behaviour=True)
    assert refused(tmp_path) == (
        "tokenizer_config.json: legacy_behaviour = true puts the source's language behind it, where NLLB did "
        "not learn it. Set it to false, unless the model was fine-tuned so."
    )


def test_the_output_matrix_alone_is_the_embedding_too(folder: Path) -> None:
    before, state = load_folder(folder), state_of(folder)
    head = {name: each for name, each in state.items() if "embed" not in name and "shared" not in name}
    torch.save(head, folder / "pytorch_model.bin")
    again = load_folder(folder).model.state_dict()
    assert all(torch.equal(each, again[name]) for name, each in before.model.state_dict().items())
    torch.save({**head, "lm_head.weight": head["lm_head.weight"][:3]}, folder / "pytorch_model.bin")
    assert refused(folder).startswith("lm_head.weight is [3, 16] where config.json needs [")
    del head["lm_head.weight"]
    torch.save(head, folder / "pytorch_model.bin")
    assert refused(folder) == (
        "the weights have no model.shared.weight or model.encoder.embed_tokens.weight or "
        "model.decoder.embed_tokens.weight or lm_head.weight."
    )


def test_half_precision_with_stored_positions_passes_the_comparison(folder: Path, tmp_path: Path) -> None:
    half = {name: each.half() for name, each in state_of(folder).items()}
    assert "model.encoder.embed_positions.weight" in half
    torch.save(half, folder / "pytorch_model.bin")
    parity = import_model(folder, tmp_path / "ours").parity
    assert parity is not None and parity.difference < 1e-5


def test_two_embeddings_that_config_calls_one_are_both_read(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Many opus-mt-tc-big folders are so."""
    state = {name: each.clone() for name, each in state_of(folder).items()}
    torch.save(state, folder / "pytorch_model.bin")
    assert load_folder(folder).model.embedding is not None  # two equal ones are one
    state["model.encoder.embed_tokens.weight"] += 1
    torch.save(state, folder / "pytorch_model.bin")
    report = import_model(folder, tmp_path / "ours")  # compared with transformers
    both = "with both embeddings of its weights, although config.json says that they are one"
    assert both in str(report) and "the same function" in str(report)
    one, other = load_folder(tmp_path / "ours"), load_folder(folder)
    for name, tensor in one.model.state_dict().items():
        assert torch.equal(tensor, other.model.state_dict()[name]), name
    assert not torch.equal(one.model.encoder.embedding.weight, one.model.decoder.embedding.weight)  # type: ignore[union-attr]


@pytest.mark.parametrize("line", ["cc-by-nc-4.0", '"cc-by-nc-4.0"  '])
def test_a_licence_goes_where_the_model_goes(
    line: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pellucid.interop.exporting.write_onnx", lambda *given: None)  # which takes a minute
    (folder / "README.md").write_text(f"---\nlanguage: en\nlicense: {line}\n---\nlicense: mine\n")
    import_model(folder, tmp_path / "ours", check=False)
    manifest = json.loads((tmp_path / "ours" / "MANIFEST.json").read_text())
    assert manifest["provenance"]["licence"] == "cc-by-nc-4.0"
    for program in PROGRAMS:
        export(program, load_folder(tmp_path / "ours"), tmp_path / program, check=False)
        assert '\nlicense: "cc-by-nc-4.0"\n' in (tmp_path / program / "README.md").read_text()
    read = load_folder(tmp_path / "huggingface")
    assert read.manifest["provenance"]["licence"] == "cc-by-nc-4.0"


def test_an_unknown_licence_stays_unknown(folder: Path, tmp_path: Path) -> None:
    (folder / "README.md").write_text("license: mine\n")  # not in a header
    export("huggingface", load_folder(folder), tmp_path / "out", check=False)
    assert "Unknown: " in (tmp_path / "out" / "README.md").read_text()
    assert "licence" not in load_folder(tmp_path / "out").manifest["provenance"]


def test_every_setting_that_may_change_a_translation_is_named(folder: Path) -> None:
    harmless: dict[str, Any] = {
        "temperature": 0.7, "use_cache": False, "early_stopping": False, "min_length": 0, "num_beams": 3,
        "num_beam_groups": 1, "forced_eos_token_id": [0], "transformers_version": "4.22.0",
        "renormalize_logits": True, "length_penalty": 1, "repetition_penalty": 1.5,
    }  # fmt: skip
    named: dict[str, Any] = {
        "forced_bos_token_id": 5, "sequence_bias": [[[3], -1.0]], "min_new_tokens": 4, "do_sample": True,
        "exponential_decay_length_penalty": [5, 1.1], "a_setting_of_2030": "x", "eos_token_id": [0, 7],
        "early_stopping": "never", "begin_suppress_tokens": [3], "encoder_repetition_penalty": 1.2,
    }  # fmt: skip
    (folder / "generation_config.json").write_text(json.dumps(harmless))
    assert [*left_out(open_foreign(folder), 0)] == []
    (folder / "generation_config.json").write_text(json.dumps(harmless | named))
    said = [f"{name} = {value!r}" for name, value in named.items()]
    assert sorted(left_out(open_foreign(folder), 0)) == sorted(said)
    (folder / "generation_config.json").unlink()  # config.json says other things too
    change(folder / "config.json", **named)
    known = [each for each in said if "2030" not in each]
    change(folder / "config.json", eos_token_id=0)
    assert sorted(left_out(open_foreign(folder), 0)) == sorted(
        each for each in known if "eos_token" not in each
    )


def test_how_a_model_searches_is_taken_over(folder: Path) -> None:
    search = {"max_length": 200, "max_new_tokens": 17, "no_repeat_ngram_size": 3, "repetition_penalty": 1.2}
    search |= {"early_stopping": False, "length_penalty": 0.6, "num_beams": 3}
    change(folder / "generation_config.json", **search)
    translation = load_folder(folder).config.translation
    assert (translation.max_length, translation.no_repeat_ngram_size) == (17, 3)
    assert (translation.repetition_penalty, translation.early_stopping) == (1.2, False)
    assert (translation.length_penalty, translation.beam) == (0.6, 3)
    export("huggingface", load_folder(folder), folder.parent / "out", check=False)
    assert load_folder(folder.parent / "out").config.translation == translation
    change(folder / "generation_config.json", max_new_tokens=None, early_stopping=True)
    translation = load_folder(folder).config.translation
    assert (translation.max_length, translation.early_stopping) == (199, True)
    change(folder / "generation_config.json", early_stopping="never")
    assert load_folder(folder).config.translation.early_stopping is False  # which is nearest to it
