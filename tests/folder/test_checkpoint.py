"""A model is a folder: saved whole, loaded if every byte is right, never at the price of the old one."""

import contextlib
import io
import json
import math
import os
import pickle
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from full_disk import disk_full_after
from safetensors.torch import load_file, save_file
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from torch import Tensor

from pellucid.config.schema import Config, DataConfig, ModelConfig, VocabularyConfig
from pellucid.errors import PellucidError
from pellucid.folder import load
from pellucid.folder import manifest as manifest_module
from pellucid.folder.checkpoint import (
    TrainingState,
    newest_state,
    newest_step,
    recover,
    save_model,
    save_state,
)
from pellucid.folder.load import load_model
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary
from pellucid.text.vocabulary_training import train_vocabulary

WORDS = ["a dog runs", "a cat sleeps", "the cat saw the dog"]
FILES = ["MANIFEST.json", "config.toml", "vocabulary.model", "weights.safetensors", "words.json"]


def make(joint: bool = True, **settings: object) -> tuple[Transformer, Vocabulary, Config]:
    kind, data = VocabularyConfig(kind="word", joint=joint, size=50), DataConfig(languages=(("low", "up"),))
    vocabulary = train_vocabulary(WORDS, [line.upper() for line in WORDS], kind, data)
    sizes = {"vocabulary": vocabulary.source_size, "width": 8, "heads": 2, "hidden": 12}
    if not joint:
        sizes["target_vocabulary"] = vocabulary.target_size
    model = ModelConfig(encoder_layers=1, decoder_layers=2, **sizes, **settings)  # type: ignore[arg-type]
    return Transformer(model), vocabulary, Config(data, vocabulary=kind, model=model)


def save(folder: Path, seed: int = 0, **settings: object) -> tuple[Transformer, Vocabulary, Config]:
    torch.manual_seed(seed)
    model, vocabulary, config = make(**settings)  # type: ignore[arg-type]
    save_model(folder, model, vocabulary, config, {"steps": seed})
    return model, vocabulary, config


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def reseal(folder: Path) -> None:
    """What somebody does who changes a file and knows how the manifest is made."""
    table = json.loads((folder / "MANIFEST.json").read_text())
    (folder / "MANIFEST.json").unlink()
    manifest_module._seal(folder, table["kind"], {"provenance": table["provenance"]})


def error_of(folder: Path) -> str:
    with pytest.raises(PellucidError) as error:
        load_model(folder)
    return str(error.value)


def state_of(run: Path) -> TrainingState:
    state = newest_state(run)
    assert state is not None
    return state


@pytest.mark.parametrize(
    "settings", [{}, {"tied": False}, {"joint": False, "norm": "first", "output_bias": True}]
)
def test_saved_is_loaded(settings: dict[str, object], tmp_path: Path) -> None:
    model, vocabulary, config = save(tmp_path / "run", **settings)
    loaded, its_vocabulary, its_config, manifest = load_model(tmp_path / "run")
    assert same(loaded.state_dict(), model.state_dict())
    assert its_config == config
    assert manifest["provenance"] == {"steps": 0}
    assert its_vocabulary.same_as(vocabulary)
    assert its_vocabulary.words_of == vocabulary.words_of
    assert {name: len(ids) for name, ids in vocabulary.words_of.items()} == (
        {"low": 7, "up": 7} if vocabulary.joint else {}
    )
    assert not loaded.training and all(parameter.requires_grad for parameter in loaded.parameters())
    assert [path.name for path in sorted((tmp_path / "run").iterdir())][:2] == FILES[:2]  # and no .new
    source, mask = torch.tensor([[5, 3]]), torch.ones(1, 2, dtype=torch.bool)
    assert torch.equal(loaded(source, mask, source), model.eval()(source, mask, source))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_are_widened_exactly_and_what_they_cannot_hold_is_not_saved(
    dtype: torch.dtype, tmp_path: Path
) -> None:
    model, vocabulary, config = make()
    save_model(tmp_path, model, vocabulary, config, {}, stored_as=dtype)
    narrow = {name: tensor.to(dtype) for name, tensor in model.state_dict().items()}
    assert same(load_file(tmp_path / "weights.safetensors"), narrow)
    widened = {name: tensor.float() for name, tensor in narrow.items()}
    found = load_model(tmp_path).model.state_dict()
    assert same(found, widened) and {tensor.dtype for tensor in found.values()} == {torch.float32}
    with torch.no_grad():
        model.embedding.weight[0, 0] = 3.4e38
    with pytest.raises(PellucidError, match=r"^embedding\.weight holds numbers that are not finite in"):
        save_model(tmp_path, model, vocabulary, config, {}, stored_as=dtype)
    assert same(load_model(tmp_path).model.state_dict(), widened)


class Killed(BaseException):
    pass


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, call: int) -> Iterator[list[str]]:
    """Ends the block before that call of those that change the disk; the list holds the calls until then."""
    calls: list[str] = []

    def guard(name: str, function):  # type: ignore[no-untyped-def]
        def guarded(*args, **kwargs):  # type: ignore[no-untyped-def]
            if len(calls) == call:
                raise Killed
            calls.append(name)
            return function(*args, **kwargs)

        return guarded

    with monkeypatch.context() as patch:
        for module, name in (
            (os, "replace"), (os, "fsync"), (os, "unlink"), (os, "mkdir"), (os, "rmdir"),
            (shutil, "copyfile"), (shutil, "rmtree"), (Path, "write_bytes"), (Path, "unlink"),
        ):  # fmt: skip
            patch.setattr(module, name, guard(name, getattr(module, name)))
        try:
            yield calls
        except Killed:
            calls.append("killed")


@pytest.mark.parametrize("damage", ["shortened", "missing"])
def test_a_damaged_replacement_never_takes_the_place_of_a_good_model(tmp_path: Path, damage: str) -> None:
    run, (new_model, vocabulary, config) = tmp_path / "run", make(joint=False)
    first, _, _ = save(run, joint=True)
    shutil.copytree(run, run / ".new")  # a copy that did not end
    weights = run / ".new" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:100]) if damage == "shortened" else weights.unlink()
    shutil.copytree(run, tmp_path / "again")
    with pytest.warns(UserWarning, match="the model in .* stays"):
        recover(run)
    assert same(load_model(run).model.state_dict(), first.state_dict()) and not (run / ".new").exists()
    with pytest.warns(UserWarning, match="the model in .* stays"):
        save_model(tmp_path / "again", new_model, vocabulary, config, {})
    assert same(load_model(tmp_path / "again").model.state_dict(), new_model.state_dict())
    shutil.copytree(run, run / ".new")
    (run / ".new" / "mine.txt").write_text("mine")
    (run / ".new" / "weights.safetensors").write_bytes(b"")
    with pytest.raises(PellucidError, match="changed or damaged"):
        recover(run)
    assert (run / ".new" / "mine.txt").exists()


def test_a_replacement_cut_off_anywhere_leaves_the_old_model_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    first, _, _ = save(run, joint=True)
    new_model, vocabulary, config = make(joint=False)
    shutil.copytree(run, tmp_path / "before")
    outcomes = []
    for call in range(1000):
        shutil.rmtree(run)
        shutil.copytree(tmp_path / "before", run)
        with killed_at(monkeypatch, call) as calls:
            save_model(run, new_model, vocabulary, config, {})
        read = load_model(run).model.state_dict()  # as a reader finds it
        outcomes.append(same(read, new_model.state_dict()))
        assert outcomes[-1] or same(read, first.state_dict())
        recover(run)  # as the next start leaves it
        assert same(load_model(run).model.state_dict(), read)
        assert not (run / ".new").exists()
        if outcomes[-1]:  # all of the old model is replaced
            assert not (run / "vocabulary.model").exists() and not (run / "words.json").exists()
        if calls[-1] != "killed":
            break
    assert outcomes == sorted(outcomes) and outcomes.count(False) > 10 and outcomes.count(True) > 10


def test_a_model_that_is_replaced_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path)
    read_sealed, replaced = load.read_sealed, list[Transformer]()

    def meanwhile(folder: Path, *rest: Any) -> Any:
        if not replaced:
            replaced.append(save(tmp_path, seed=1)[0])
            raise PellucidError("the SHA-256 of a file that was replaced")
        return read_sealed(folder, *rest)

    monkeypatch.setattr(load, "read_sealed", meanwhile)
    assert same(load_model(tmp_path).model.state_dict(), replaced[0].state_dict())


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named_with_its_hash(name: str, tmp_path: Path) -> None:
    model, _, _ = save(tmp_path)
    path, whole = tmp_path / name, (tmp_path / name).read_bytes()
    flips = [(position, 1 << position % 8) for position in range(0, len(whole), max(1, len(whole) // 50))]
    damaged = [whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :] for at, bit in flips]
    other = (tmp_path / FILES[FILES.index(name) - 1]).read_bytes()
    for content in (*damaged, b"", whole[:-1], whole[: len(whole) // 2], whole + b"x", other):
        path.write_bytes(content)
        message = error_of(tmp_path)
        assert message.startswith(f"{path}: ")
        assert name == "MANIFEST.json" or "SHA-256" in message
    path.write_bytes(whole)
    assert same(load_model(tmp_path).model.state_dict(), model.state_dict())
    path.unlink()
    assert error_of(tmp_path).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "junk",
    [b"null", b"[" * 100_000, b"\xff", b"{}", b'{"files": [], "sha256": ""}'],
)
def test_a_manifest_of_junk_is_our_error(junk: bytes, tmp_path: Path) -> None:
    (tmp_path / "MANIFEST.json").write_bytes(junk)
    assert error_of(tmp_path).startswith(f"{tmp_path / 'MANIFEST.json'}: this is not a manifest, or")


def test_a_folder_that_can_be_imported_is_to_be_imported_first(tmp_path: Path) -> None:
    nothing = f"{tmp_path / 'MANIFEST.json'}: No such file or directory. This is not the folder of a model."
    assert error_of(tmp_path) == nothing
    (tmp_path / "config.json").touch()
    assert error_of(tmp_path) == f"{nothing} First: pellucid import {tmp_path} OUT."


def test_a_manifest_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    save(tmp_path)
    table = json.loads((tmp_path / "MANIFEST.json").read_text())
    del table["sha256"]
    table["files"]["../secret"] = "0" * 64
    table["sha256"] = manifest_module._sha256_of(table)
    (tmp_path / "MANIFEST.json").write_text(json.dumps(table))
    assert "../secret" not in error_of(tmp_path)
    save_state(tmp_path, 1, {"x": torch.zeros(1)}, {})
    (tmp_path / "checkpoints" / "step-1" / "state.json").unlink()
    step = error_of(tmp_path / "checkpoints" / "step-1")
    assert ": format 1 of a training state, where format 1 of a model is expected. Give" in step


def test_a_vocabulary_with_other_special_ids_is_refused(tmp_path: Path) -> None:
    """As many tokens, but what ends a sentence here starts one there."""
    _, vocabulary, _ = save(tmp_path)
    other, ids = io.BytesIO(), dict(pad_id=0, unk_id=1, bos_id=3, eos_id=2)
    text = iter(WORDS + [line.upper() for line in WORDS])
    words = dict(model_type="word", vocab_size=50, hard_vocab_limit=False, minloglevel=2)
    SentencePieceTrainer.train(sentence_iterator=text, model_writer=other, **words, **ids)
    assert SentencePieceProcessor(model_proto=other.getvalue()).get_piece_size() == vocabulary.source_size
    (tmp_path / "vocabulary.model").write_bytes(other.getvalue())
    reseal(tmp_path)
    wrong = f"{tmp_path / 'vocabulary.model'}: start_id = 3, but the model was made with 2: another model's"
    assert error_of(tmp_path).startswith(wrong)


class Bomb:
    """Pickled, it makes a file where it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (Path.touch, (self.marker,))


@pytest.mark.parametrize("name", ["weights.safetensors", "vocabulary.model", "config.toml"])
def test_a_pickle_is_never_opened(name: str, tmp_path: Path) -> None:
    marker, folder = tmp_path / "marker", tmp_path / "run"
    saved = io.BytesIO()
    torch.save(Bomb(marker), saved)
    for content in (pickle.dumps(Bomb(marker)), saved.getvalue()):
        save(folder)
        (folder / name).write_bytes(content)
        assert "SHA-256" in error_of(folder)
        reseal(folder)  # and with a manifest that vouches for it
        assert str(folder / name) in error_of(folder)
    assert not marker.exists()


def test_weights_are_compared_with_the_configuration(tmp_path: Path) -> None:
    model, _, _ = save(tmp_path)
    path = tmp_path / "weights.safetensors"
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    weights["decoder.layers.1.feed_forward.outer.bias"] = torch.zeros(9)
    weights["extra"] = weights.pop("embedding.weight")
    save_file(weights, path)
    reseal(tmp_path)
    message = error_of(tmp_path)
    assert message.startswith(f"{path} does not fit config.toml: ")
    for wrong in ('Missing key(s) in state_dict: "embedding.weight"', '"extra"', "outer.bias"):
        assert wrong in message
    for content in (b"", b"\xff" * 100, (2).to_bytes(8, "little") + b"[]"):
        path.write_bytes(content)
        reseal(tmp_path)
        assert error_of(tmp_path).startswith(f"{path}: this is not a safetensors file: ")


def test_a_state_comes_back_bit_for_bit(tmp_path: Path) -> None:
    tensors = {
        "weights": torch.randn(3, 4).mT,
        "generator": torch.get_rng_state(),
        "halves": torch.randn(3).bfloat16(),
        "count": torch.tensor(7),
        "nan": torch.tensor([math.nan, -0.0]),
    }
    state = {"epoch": 3, "best": -math.inf, "loss": 0.1 + 0.2, "names": ["α", "\ud800"], "none": None}
    save_state(tmp_path, 12, tensors, state)
    newest = state_of(tmp_path)
    assert newest.step == 12 and newest.state == state
    assert newest.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        found = newest.tensors[name]
        assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape)
        assert found.reshape(-1).view(torch.uint8).equal(tensor.reshape(-1).view(torch.uint8))
    assert newest_state(tmp_path / "nowhere") is None


def test_a_checkpoint_is_a_model_too_before_the_run_has_chosen_one(tmp_path: Path) -> None:
    weights = {name: tensor + 1 for name, tensor in save(tmp_path / "last")[0].state_dict().items()}
    own = {f"model.{name}": tensor for name, tensor in weights.items()} | {"moments.x": torch.zeros(1)}
    for run, tensors in ((tmp_path, own), (tmp_path / "averaging", weights)):
        run.mkdir(exist_ok=True)
        save_state(run, 5, tensors, {})
        loaded = load_model(run / "checkpoints" / "step-5")
        assert same(loaded.model.state_dict(), weights) and loaded.manifest["step"] == 5


def test_the_last_checkpoints_are_kept(tmp_path: Path) -> None:
    def steps() -> list[str]:
        return sorted(path.name for path in (tmp_path / "checkpoints").iterdir())

    for step in (8, 9, 10, 11):
        save_state(tmp_path, step, {"x": torch.tensor(step)}, {}, keep=3)
    assert steps() == ["step-10", "step-11", "step-9"]
    save_state(tmp_path, 10, {"x": torch.tensor(-10)}, {}, keep=2)  # training went on from step 9 once more
    assert steps() == ["step-10", "step-9"]
    assert state_of(tmp_path).tensors["x"] == -10


def test_a_damaged_or_unfinished_checkpoint_is_passed_over(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save_state(tmp_path, step, {"x": torch.tensor(step)}, {}, keep=3)
    last, middle = (tmp_path / "checkpoints" / name for name in ("step-3", "step-2"))
    (last / "MANIFEST.json").unlink()
    assert newest_step(tmp_path) == 2
    with pytest.warns(UserWarning, match=r"step-3: this checkpoint was never finished; passed over\.$"):
        assert state_of(tmp_path).tensors["x"] == 2
    recover(tmp_path)
    assert not last.exists()
    (middle / "tensors.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match=r"step-2/tensors\.safetensors: its SHA-256 is .* passed over\.$"):
        assert state_of(tmp_path).tensors["x"] == 1
    (tmp_path / "checkpoints" / "step-1" / "state.json").write_text("{ }")
    with pytest.warns(UserWarning), pytest.raises(PellucidError, match="every checkpoint is damaged"):
        newest_state(tmp_path)


@pytest.mark.parametrize("size", [0, 100, 3000])
def test_a_full_disk_leaves_what_was_there(size: int, tmp_path: Path) -> None:
    model, vocabulary, config = save(tmp_path)
    save_state(tmp_path, 1, {"x": torch.ones(5000)}, {})
    with disk_full_after(size), pytest.raises(PellucidError) as error:
        save_model(tmp_path, Transformer(config.model), vocabulary, config, {})
    assert str(error.value).startswith(f"{tmp_path / '.new'}: cannot be written: ")
    assert "What was saved before is intact. Make room, or choose another folder." in str(error.value)
    with disk_full_after(size), pytest.raises(PellucidError) as error:
        save_state(tmp_path, 2, {"x": torch.ones(5000)}, {})
    assert str(error.value).startswith(f"{tmp_path / 'checkpoints' / 'step-2'}: cannot be written: ")
    assert same(load_model(tmp_path).model.state_dict(), model.state_dict())
    assert state_of(tmp_path).step == 1  # without a warning: what was begun is gone


def test_a_step_saved_again_fails_without_harm(tmp_path: Path) -> None:
    for number, full in ((1, False), (2, True), (3, False)):
        with contextlib.suppress(PellucidError), disk_full_after(50) if full else contextlib.nullcontext():
            save_state(tmp_path, 5, {"x": torch.full((3,), number)}, {"round": number}, keep=2)
        kept, expected = state_of(tmp_path), 1 if full else number
        assert kept.state == {"round": expected} and kept.tensors["x"].tolist() == [expected] * 3
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-5"]
