"""Verify: a sound model has no fault, and each of the faults that are planted here is the first one named."""

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import marian_folders
import pytest
import safetensors.torch
import tiny
import torch
import torch.nn.functional as F
from torch import Tensor

from pellucid import model as parts
from pellucid.cache import GrowingPast, NoPast
from pellucid.config.schema import Config, VocabularyConfig
from pellucid.config.toml_file import from_table, to_toml
from pellucid.decoding import native
from pellucid.folder.checkpoint import save_model
from pellucid.folder.manifest import read_sealed, sealing
from pellucid.interop.importing import import_model
from pellucid.mask import Mask
from pellucid.probes import verify
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate import likelihood

Plant = Callable[[pytest.MonkeyPatch, Path], Any]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with two vocabularies of the same size, tied, with every parameter at random."""
    folder = tmp_path_factory.mktemp("verify") / "model"
    lines, words = [source for source, *_ in tiny.PAIRS], [target for _, target, _ in tiny.PAIRS]
    config = Config(vocabulary=VocabularyConfig(size=37, kind="unigram", joint=False))
    ours = tiny.untrained(lines, words, config, encoder_layers=2, width=16, output_bias=True)
    with torch.no_grad():
        for parameter in ours.model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    save_model(folder, ours.model, ours.vocabulary, ours.config, {"licence": "CC0-1.0"})
    return folder


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marian_folders.opus(tmp_path_factory.mktemp("marian"))


def first_fault(folder: Path, original: Path | None = None) -> tuple[str, str, set[str]]:
    """The first fault's check, what it says, and all checks with a fault."""
    faults = verify.verify(folder, original).faults
    assert faults, "nothing was found"
    return faults[0].name, faults[0].said, {each.name for each in faults}


def resealed(folder: Path, changed: Callable[[dict[str, bytes]], None]) -> None:
    """Change files of a folder, and write their new hashes, as a careful forger does."""
    manifest, files = read_sealed(folder, "model", ())
    about = {name: value for name, value in manifest.items() if name not in ("format", "kind", "files")}
    changed(files)
    with sealing(folder, "model", about):
        for name, content in files.items():
            (folder / name).write_bytes(content)


def weights(change: Callable[[dict[str, Tensor]], Any]) -> Plant:
    """Other weights in a folder whose hashes are right."""

    def plant(_: pytest.MonkeyPatch, folder: Path) -> None:
        def changed(files: dict[str, bytes]) -> None:
            state = safetensors.torch.load(files["weights.safetensors"])
            change(state)
            files["weights.safetensors"] = safetensors.torch.save(state)

        resealed(folder, changed)

    return plant


def code(target: Any, name: str, wrong: Callable[[Any], Any]) -> Plant:
    """A function of the package that does something else; `wrong` gets the right one."""
    return lambda monkeypatch, folder: monkeypatch.setattr(target, name, wrong(getattr(target, name)))


def exchange(state: dict[str, Tensor], one: str, other: str) -> None:
    for name in [name for name in state if one in name]:
        twin = name.replace(one, other)
        state[name], state[twin] = state[twin], state[name]


def scale(name: str, factor: float) -> Callable[[dict[str, Tensor]], Any]:
    return lambda state: state[name].mul_(factor)


def untie(_: pytest.MonkeyPatch, folder: Path) -> None:
    def changed(files: dict[str, bytes]) -> None:
        state = safetensors.torch.load(files["weights.safetensors"])
        state["decoder.projection.weight"] = state["decoder.embedding.weight"].roll(1, 0)
        files["weights.safetensors"] = safetensors.torch.save(state)
        table = tomllib.loads(files["config.toml"].decode())
        table["model"]["tied"] = False
        files["config.toml"] = to_toml(from_table(table, "")).encode()

    resealed(folder, changed)


def exchange_vocabularies(_: pytest.MonkeyPatch, folder: Path) -> None:
    def changed(files: dict[str, bytes]) -> None:
        names = "vocabulary.source.model", "vocabulary.target.model"
        files |= dict(zip(names, (files[names[1]], files[names[0]]), strict=True))

    resealed(folder, changed)


def flip_a_bit(_: pytest.MonkeyPatch, folder: Path) -> None:
    content = bytearray((folder / "weights.safetensors").read_bytes())
    content[-9] ^= 1
    (folder / "weights.safetensors").write_bytes(content)


def not_through_weights(attend: Any) -> Any:
    """The numbers are right, but head 1 takes no notice of the weights that are shown."""

    def wrong(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, see: Any, *more: Any) -> Tensor:
        context = attend(queries, keys, values, mask, see, *more)
        if see.__self__.path == "decoder.layers.1.cross_attention":
            plain = F.scaled_dot_product_attention(
                queries, keys, values, mask.may_look(queries.shape[2], keys.shape[2], queries.device)
            )
            return torch.cat((context[:, :1], plain[:, 1:]), 1)
        return context

    return wrong


def own_memory(forward: Any) -> Any:
    """Cross-attention whose keys and values are those of its own layer's input."""

    def wrong(self: Any, x: Tensor, mask: Mask, memory: Any, past: Any) -> Tensor:
        x = self.residual_1(
            x,
            lambda y: self.self_attention(
                y, *past.extend(self.index, *self.self_attention.remember(y)), mask
            ),
        )
        x = self.residual_2(x, lambda y: self.cross_attention(y, *self.cross_attention.remember(y), Mask()))
        return self.residual_3(x, self.feed_forward)

    return wrong


def without_gain(forward: Any) -> Any:
    def wrong(self: Any, x: Tensor) -> Tensor:
        if self.path != "decoder.layers.1.residual_2.norm":
            return forward(self, x)
        return self.see("output_BLD", F.layer_norm(x, x.shape[-1:]) + self.bias)

    return wrong


def stale(extend: Any) -> Any:
    """The first layer remembers the keys of the token before, again and again."""

    def wrong(self: Any, layer: int, keys: Tensor, values: Tensor) -> Any:
        if layer == 0 and self._keys and self._keys[0].shape[2] > 1:
            keys = self._keys[0][:, :, -1:]
        return extend(self, layer, keys, values)

    return wrong


def other_weights(parts_of: Any) -> Any:
    def wrong(*given: Any) -> Iterator[Any]:
        for stack, number, found in parts_of(*given):
            if (stack, number) == ("decoder", 1) and "inner" in found:
                found["inner"] = found["inner"]._replace(weight=found["inner"].weight * 1.1)
            yield stack, number, found

    return wrong


def badly_rounded(affine: Any) -> Any:
    def wrong(self: Any, part: Any) -> Any:
        return affine(self, part._replace(weight=part.weight * 1.5) if self.kind == 0 else part)

    return wrong


def unshifted(of_batch: Any) -> Any:
    def wrong(model: Any, sources: Any, targets: Any) -> Tensor:
        return of_batch(model, sources, [[*target[1:], target[0]] for target in targets])

    return wrong


def with_another_end(encode: Any) -> Any:
    return lambda self, text, to=None: [*encode(self, text, to)[:-1], self.start_id]


def scaled(forward: Any) -> Any:
    return lambda self, x: forward(self, x) * (1 + 0.01 * (torch.get_num_threads() - 1))


def loaded(change: Callable[[Any], Any]) -> Plant:
    """The model is changed after it was loaded."""

    def plant(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        load = verify.load_folder

        def changed(*given: Any) -> Any:
            found = load(*given)
            change(found.model)
            return found

        monkeypatch.setattr(verify, "load_folder", changed)

    return plant


LATER = "decoder.layers.0.self_attention.mask"
# What is planted, the check that must name it first, and words of what it says.
FAULTS: dict[str, tuple[Plant, str, str]] = {
    "weights file altered": (flip_a_bit, "files", "weights.safetensors: its SHA-256 is"),
    "vocabularies exchanged": (exchange_vocabularies, "vocabulary", "source and target are exchanged"),
    "end token wrong": (code(Vocabulary, "encode_source", with_another_end), "vocabulary", "the end token"),
    "mask missing": (code(NoPast, "mask", lambda _: lambda self: Mask(self._target_mask)), "tensors", LATER),
    "mask off by one": (
        code(NoPast, "mask", lambda _: lambda self: Mask(self._target_mask, first_query=1)),
        "tensors",
        LATER,
    ),
    "embedding scale missing": (
        loaded(lambda model: setattr(model.encoder, "scale", 1.0)),
        "tensors",
        "encoder.token_embeddings is not",
    ),
    "positions off by one": (
        code(parts, "sinusoids", lambda right: lambda length, *more: right(length + 1, *more)[1:]),
        "tensors",
        "encoder.positions is not",
    ),
    "two layers exchanged": (
        weights(lambda state: exchange(state, "encoder.layers.0.", "encoder.layers.1.")),
        "tensors",
        "encoder.layers.0.self_attention.queries is not",
    ),
    "queries and keys exchanged": (
        weights(
            lambda state: exchange(state, "layers.1.cross_attention.query", "layers.1.cross_attention.key")
        ),
        "tensors",
        "decoder.layers.1.cross_attention.queries is not",
    ),
    "one matrix altered": (
        weights(scale("encoder.layers.1.feed_forward.inner.weight", 1.01)),
        "tensors",
        "encoder.layers.1.feed_forward.inner.weight",
    ),
    "a norm's weight ignored": (
        code(parts.Norm, "forward", without_gain),
        "tensors",
        "decoder.layers.1.residual_2.norm.output is not",
    ),
    "cross-attention reads its own layer": (
        code(parts.DecoderLayer, "forward", own_memory),
        "tensors",
        "decoder.layers.0.cross_attention.keys is not",
    ),
    "tied matrix untied wrongly": (untie, "tensors", "decoder.logits is not"),
    "dropout when translating": (
        code(parts.Dropout, "forward", lambda _: lambda self, x: parts.keep_or_drop(x, 0.3)),
        "tensors",
        "encoder.layers.0.self_attention.queries is not",
    ),
    "a fused kernel that scales otherwise": (
        code(
            F,
            "scaled_dot_product_attention",
            lambda right: lambda *a, scale=1, **b: right(*a, scale=scale * 2, **b),
        ),
        "watching",
        "one that nobody watches",
    ),
    "a head's weights not used": (
        code(parts, "attend", not_through_weights),
        "edits",
        "decoder.layers.1.cross_attention.weights, head 1, changes nothing",
    ),
    "padding not masked": (
        code(
            parts.Transformer, "encode", lambda _: lambda self, s, m: self.encoder(s, Mask(), self.embedding)
        ),
        "neighbours",
        "with padding",
    ),
    "a sum that depends on threads": (code(parts.FeedForward, "forward", scaled), "threads", "one thread"),
    "target not shifted in scores": (code(likelihood, "_of_batch", unshifted), "cache", "of one pass"),
    "a stale cache": (code(GrowingPast, "extend", stale), "cache", "steps with a cache"),
    "an engine with other weights": (code(native, "parts_of", other_weights), "engine", "the engine in fp32"),
    "weights rounded badly": (code(native.Weights, "_affine", badly_rounded), "engine in int8", "in int8"),
}


FAST = "weights file altered", "mask missing", "a head's weights not used", "an engine with other weights"
NAMES = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in FAULTS]


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_fault_is_the_first_that_is_named(
    name: str, sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for file in sound.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    plant, check, words = FAULTS[name]
    plant(monkeypatch, folder)
    found, said, _ = first_fault(folder)
    assert (found, words in said) == (check, True), said


def test_a_sound_model_has_no_fault(sound: Path) -> None:
    sheet = verify.verify(sound)
    assert sheet.faults == [], sheet
    not_tried = {check.name for check in sheet.checks if check.found == "not tried"}
    assert not_tried == {"scores", "original"}


@pytest.mark.slow
def test_nor_has_a_model_of_another_program_or_what_was_imported_from_it(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_model(theirs, tmp_path / "imported", check=False)
    for given in ((theirs,), (tmp_path / "imported", theirs)):
        sheet = verify.verify(*given)
        assert sheet.faults == [], sheet
        assert "original" in {check.name for check in sheet.checks if check.found == "holds"}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_base_shaped_folder_of_opus_mt_has_no_fault(tmp_path: Path) -> None:
    marian_folders.tokenizer(tmp_path)
    table = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    table = {token: place for place, token in enumerate([*table][:-1])}
    table |= {f"filler{place}": place for place in range(len(table), 58_100)} | {"<pad>": 58_100}
    (tmp_path / "vocab.json").write_text(json.dumps(table), "utf-8")
    shape = dict(encoder_layers=6, decoder_layers=6, encoder_ffn_dim=2048, decoder_ffn_dim=2048)
    shape |= dict(encoder_attention_heads=8, decoder_attention_heads=8, max_position_embeddings=512)
    marian_folders.model(tmp_path, (58_101, 58_101), d_model=512, spread=0.02, **shape)
    sheet = verify.verify(tmp_path)
    assert sheet.faults == [], sheet
    held = {check.name: check.said for check in sheet.checks if check.found == "holds"}
    assert {"watching", "neighbours", "threads", "cache", "engine", "original"} <= {*held}
    assert held["edits"].startswith("an edit of each of 423 tensors")
