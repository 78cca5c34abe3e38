"""fairseq's checkpoints: the numbers are those of its class, which transformers has as FSMT and M2M100."""

import os
import random
import re
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from marian_folders import phrases, pieces, transformers

from pellucid.errors import PellucidError
from pellucid.interop.importing import load_folder
from pellucid.translator import Translator, load

WORDS = ["the", "cat@@", "s", "sat", *(f"word{number}" for number in range(30))]
LAST: dict[str, Any] = dict(encoder_layers=2, decoder_layers=3, width=16, hidden=24, heads=4)
FIRST: dict[str, Any] = dict(encoder_layers=3, decoder_layers=1, width=24, hidden=40, heads=2)


def genuine(
    first: bool, encoder_layers: int, decoder_layers: int, width: int, hidden: int, heads: int, size: int = 38
) -> Any:
    """A model of transformers whose class came from fairseq, with random weights, biases and norms too."""
    shape = dict(d_model=width, encoder_layers=encoder_layers, decoder_layers=decoder_layers)
    shape |= dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), hidden)
    shape |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), heads)
    torch.manual_seed(1)
    if first:
        config = transformers.M2M100Config(vocab_size=size, **shape)
        model = transformers.M2M100ForConditionalGeneration(config)
    else:
        config = transformers.FSMTConfig(
            langs=["en", "de"], src_vocab_size=38, tgt_vocab_size=40, tie_word_embeddings=False, **shape
        )
        model = transformers.FSMTForConditionalGeneration(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(torch.randn_like(parameter) * 0.25)
    return model.eval()


def write(folder: Path, model: Any, first: bool, shape: dict[str, Any], old: bool = False) -> dict[str, Any]:
    """Write a folder as fairseq would; `old`: as before 2019. Return what the checkpoint holds."""
    state = {
        name.removeprefix("model."): tensor
        for name, tensor in model.state_dict().items()
        if "positions" not in name and "shared" not in name and "bias_logits" not in name
    }
    if first:
        state["decoder.output_projection.weight"] = state.pop("lm_head.weight")
    state["encoder.version"] = torch.tensor([3.0])
    if old:
        for name in [name for name in state if ".self_attn.q_proj." in name]:
            parts = [state.pop(name.replace(".q_", f".{each}_")) for each in "qkv"]
            state[name.replace("q_proj.", "in_proj_")] = torch.cat(parts)
    args: dict[str, Any] = dict(source_lang="en", target_lang="de", dropout=0.3, share_all_embeddings=first)
    args |= {"activation_fn": "relu", "encoder_normalize_before": first, "decoder_normalize_before": first}
    for side in ("encoder", "decoder"):
        args |= {f"{side}_{name}": shape[f"{side}_{name}"] for name in ("layers",)}
        args |= {f"{side}_embed_dim": shape["width"], f"{side}_ffn_embed_dim": shape["hidden"]}
        args |= {f"{side}_attention_heads": shape["heads"]}
    held = {"args": Namespace(**args), "model": state, "optimizer_history": [{"num_updates": 7}]}
    if first:  # as newer versions write it
        held |= {"args": None, "cfg": {"task": {"source_lang": "en"}, "model": Namespace(**args)}}
    torch.save(held, folder / "checkpoint_best.pt")
    for language, more in (("en", []), ("de", [] if first else ["haus", "hund"])):
        lines = [f"{word} {9 - number % 9}\n" for number, word in enumerate([*WORDS, *more])]
        (folder / f"dict.{language}.txt").write_text("".join(lines), "utf-8")
    return held


def check_logits(folder: Path, theirs: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Translator:
    """The folder's logits are theirs."""
    translator, chance = load(folder, device="cpu"), torch.Generator().manual_seed(1)
    source, target = (torch.randint(4, 38, (4, 9), generator=chance) for _ in range(2))
    target[:, 0] = 2
    with torch.no_grad():
        assert (translator.model(source, None, target) - theirs(source, target)).abs().max() < 1e-4
    return translator


def check_written(folder: Path, first: bool, shape: dict[str, Any], old: bool) -> Translator:
    """A folder that is written here, against the class of transformers that came from fairseq."""
    model = genuine(first, **shape)
    write(folder, model, first, shape, old)
    return check_logits(
        folder,
        lambda source, target: model(input_ids=source, decoder_input_ids=target, use_cache=False).logits,
    )


@pytest.mark.parametrize("case", ["last", "last, old", "first"])
def test_logits_are_those_of_the_class_that_came_from_fairseq(case: str, tmp_path: Path) -> None:
    translator = check_written(tmp_path, case == "first", FIRST if case == "first" else LAST, "old" in case)
    config = translator.model.config
    assert (config.norm, config.positions, config.start_id) == (case.partition(",")[0], "fairseq", 2)
    assert translator.languages == (("en", "de"),)
    assert translator.vocabulary.encode_source("the cat@@ s dog") == [4, 5, 6, 3, 2]
    assert translator.vocabulary.decode_target([4, 5, 6, 2]) == "the cat@@ s"


def test_random_shapes_too(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed:", seed)
    chance = random.Random(seed)
    for place in range(int(os.environ.get("PELLUCID_ROUNDS", "2"))):
        layers = dict(encoder_layers=chance.randint(1, 4), decoder_layers=chance.randint(1, 4))
        heads = chance.choice([1, 2, 4])
        shape = layers | dict(
            heads=heads, width=heads * 2 * chance.randint(2, 9), hidden=chance.randint(1, 70)
        )
        (tmp_path / f"{place}").mkdir()
        check_written(tmp_path / f"{place}", chance.random() < 0.5, shape, chance.random() < 0.5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # fairseq's own, of its dependencies
@pytest.mark.parametrize("first", [False, True])
def test_logits_are_those_of_fairseq_itself(first: bool, tmp_path: Path) -> None:
    fairseq = pytest.importorskip("fairseq.models.transformer", reason="pip install fairseq-fixed")
    data = pytest.importorskip("fairseq.data")
    held = write(tmp_path, genuine(False, **LAST), False, LAST)
    args = Namespace(
        **vars(held["args"]) | {"encoder_normalize_before": first, "decoder_normalize_before": first}
    )
    args.activation_fn = "gelu" if first else "relu"
    fairseq.base_architecture(args)
    sides = [data.Dictionary.load(str(tmp_path / f"dict.{language}.txt")) for language in ("en", "de")]
    task = Namespace(source_dictionary=sides[0], target_dictionary=sides[1])
    model = fairseq.TransformerModel.build_model(args, task).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.25)
    torch.save(held | {"args": args, "model": model.state_dict()}, tmp_path / "checkpoint_best.pt")
    check_logits(tmp_path, lambda source, target: model(source, torch.full((4,), 9), target)[0])


def test_a_sentencepiece_model_beside_it_splits_text(tmp_path: Path) -> None:
    write(tmp_path, genuine(True, **FIRST, size=101), True, FIRST)
    spoken = pieces(tmp_path, "spm.model", phrases("en"), 100)[3:]
    (tmp_path / "dict.de.txt").unlink()
    with pytest.raises(
        PellucidError, match=r"dict\.en\.txt: 38 tokens with the special ones, but the model has 101"
    ):
        load(tmp_path, device="cpu")
    (tmp_path / "dict.en.txt").write_text("".join(f"{piece} 1\n" for piece in reversed(spoken)), "utf-8")
    vocabulary = load(tmp_path, device="cpu").vocabulary
    ids = vocabulary.encode_target("The cat sat")
    assert vocabulary.decode_target(ids) == "The cat sat"


def pickled(held: dict[str, Any], path: Path) -> None:
    torch.save(held | {"model": {"a": Exception}}, path)


def setting(held: dict[str, Any], path: Path, **args: Any) -> None:
    torch.save(held | {"args": Namespace(**(vars(held["args"]) | args))}, path)


def tensor(held: dict[str, Any], path: Path, **tensors: Any) -> None:
    torch.save(held | {"model": held["model"] | tensors}, path)


BROKEN: dict[str, tuple[Any, str]] = {
    "a class": (
        pickled,
        "checkpoint_best.pt: it was not loaded: it contains more than tensors or is damaged.",
    ),
    "OpenNMT": (
        lambda held, path: torch.save({"vocab": {}, "model": {}}, path),
        "TransformerModel did not write",
    ),
    "a list": (lambda held, path: torch.save([1], path), "TransformerModel did not write"),
    "a text": (partial(setting, encoder_layers="2"), "encoder_layers = '2' is not a whole number"),
    "other norms": (
        partial(setting, decoder_normalize_before=True),
        "decoder_normalize_before = True is another",
    ),
    "learned": (
        partial(tensor, **{"encoder.embed_positions.weight": torch.ones(9, 16)}),
        "model.encoder.embed_positions.weight does not hold sinusoids: these positions were learned.",
    ),
    "unknown": (
        partial(tensor, **{"encoder.layernorm_embedding.weight": torch.ones(16)}),
        "is unknown to this",
    ),
    "shape": (
        partial(tensor, **{"encoder.layers.0.fc1.bias": torch.ones(3)}),
        "fc1.bias is [3] where checkpoint_",
    ),
    "ids": (
        lambda held, path: (path.parent / "dict.en.txt").write_text("a\n"),
        "dict.en.txt, line 1: 'a' is not",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_damaged_and_other_checkpoints_are_refused(name: str, tmp_path: Path) -> None:
    held = write(tmp_path, genuine(False, **LAST), False, LAST)
    change, message = BROKEN[name]
    change(held, tmp_path / "checkpoint_best.pt")
    with pytest.raises(PellucidError, match=re.escape(message)):
        load_folder(tmp_path)
