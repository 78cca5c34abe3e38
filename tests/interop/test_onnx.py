"""A model of ours as ONNX graphs: onnxruntime computes the same, also the tensors that a trace shows."""

import copy
from pathlib import Path
from typing import Any

import pytest
import random_translator
import tiny
import torch
from command import Command
from documents import ROOT, blocks

from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import save_model
from pellucid.interop.exporting import export
from pellucid.interop.onnx_export import DECODER, ENCODER, against_onnx, run
from pellucid.seeing.trace import trace

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What docs/elsewhere.md, whose model is untied, does not export; with all tensors."""
    shape: dict[str, Any] = dict(norm="first", activation="gelu", scale_embeddings=False, decoder_layers=1)
    made = tiny.translator("bpe", joint=False, **shape)
    out = tmp_path_factory.mktemp("onnx") / "out"
    report = export("onnx", random_translator.loaded(made), out, see=["*"])  # which onnx checks
    assert report.parity is not None and report.parity.difference < 1e-4
    return made, out, [onnxruntime.InferenceSession(str(out / name)) for name in (ENCODER, DECODER)]


@pytest.mark.parametrize(("sentences", "source", "target"), [(1, 1, 1), (3, 9, 4), (5, 2, 7)])
def test_logits_and_seen_tensors_are_ours(exported: Any, sentences: int, source: int, target: int) -> None:
    translator, _, (encoder, decoder) = exported
    model, generator = translator.model, torch.Generator().manual_seed(source)
    given = {
        "source": torch.randint(4, model.config.vocabulary, (sentences, source), generator=generator),
        "target": torch.randint(4, model.config.target_size, (sentences, target), generator=generator),
        "source_mask": torch.rand(sentences, source, generator=generator) < 0.7,
    }
    with torch.no_grad(), trace(model) as seen:
        ours = model(given["source"], given["source_mask"], given["target"])
    read = run(encoder, given)
    past = {name.replace("memory", "past"): each[:, :, :0] for name, each in read.items() if "memory" in name}
    given |= read
    whole = run(decoder, given | past)
    assert (whole["logits"] - ours).abs().max() < 1e-4
    shown = {name: each for name, each in (read | whole).items() if name in seen}
    assert shown.keys() == seen.keys()
    for name, tensor in shown.items():
        assert tensor.shape == seen[name].tensor.shape, name
        assert (tensor - seen[name].tensor).nan_to_num(0, 0, 0).abs().max() < 1e-4, name

    rows = []
    for ids in given["target"].split(1, dim=1):
        stepped = run(decoder, given | past | {"target": ids})
        past = {name.removeprefix("next_"): each for name, each in stepped.items() if "next_" in name}
        rows.append(stepped["logits"])
    assert (torch.cat(rows, dim=1) - ours).abs().max() < 1e-4


def test_the_example_translates_as_we_do_in_thirty_lines(
    exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator, out, _ = exported
    example = next(b for b in blocks(ROOT / "docs" / "elsewhere.md") if "InferenceSession" in b.text)
    assert sum(bool(line.strip()) for line in example.text.splitlines()) <= 30
    (tmp_path / "onnx").symlink_to(out)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(example.text, "elsewhere.md", "exec"), names)
    to = "es" if len(translator.vocabulary.target_languages) > 1 else None
    for text in random_translator.sentences(12):
        ours = translator.translate(text, to=to, beam=1, max_length=20).text
        assert names["translate"](text, *([">>es<<"] if to else []), longest=20) == ours


def test_a_model_whose_weights_are_others_is_not_the_same(exported: Any) -> None:
    translator, out, _ = exported
    changed = copy.deepcopy(translator)
    with torch.no_grad():
        changed.model.decoder.layers[-1].self_attention.key.weight.mul_(1.1)
    with pytest.raises(PellucidError, match="NOT the same function"):
        against_onnx(out, random_translator.loaded(changed)).check(out)


def test_what_no_tensor_is_called_is_an_error(tmp_path: Path, pellucid: Command) -> None:
    made: Any = random_translator.translator(end=1.5, layers=1)
    save_model(tmp_path / "ours", made.model, made.vocabulary, made.config, {})
    said = pellucid("export", "onnx", tmp_path / "ours", tmp_path / "out", "--see", "decoder.*.wieghts")
    assert said.code == 2 and 'see: no tensor is called "decoder.*.wieghts"' in said.err
    said = pellucid("export", "ctranslate2", tmp_path / "ours", tmp_path / "out", "--see", "*")
    assert said.code == 2 and "works with onnx only" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]
