"""Marian's own folders: the numbers are Marian's, and those of MarianMT with Marian's positions."""

import os
import random
import re
from functools import partial
from pathlib import Path
from typing import Any

import marian_npz
import numpy as np
import pytest
import torch
from marian_folders import phrases, transformers

from pellucid.errors import PellucidError
from pellucid.interop.importing import import_model, load_folder
from pellucid.translator import Translator, load

SHAPES: dict[str, dict[str, Any]] = {
    "as OPUS-MT": {},
    "SentencePiece's ids": dict(how="spm", seed=2, shape=(32, 20, (3, 1)), transformer_ffn_activation="relu"),
    "tokens apart": dict(
        how="apart", seed=3, shape=(24, 40, (1, 2)), tied_embeddings_all="false", tied_embeddings="true"
    ),
    "untied": dict(seed=4, shape=(8, 40, (1, 1)), tied_embeddings_all="false"),
}  # fmt: skip


def as_marian_mt(arrays: marian_npz.Arrays, config: Any) -> Any:
    """MarianMT with these weights and Marian's positions."""
    shared = "Wemb" in arrays
    theirs = transformers.MarianConfig(
        vocab_size=config.vocabulary, d_model=config.width, encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers, encoder_ffn_dim=config.hidden, decoder_ffn_dim=config.hidden,
        encoder_attention_heads=4, decoder_attention_heads=4, pad_token_id=config.pad_id,
        max_position_embeddings=64, activation_function=config.activation, scale_embedding=True,
        share_encoder_decoder_embeddings=shared,
        tie_word_embeddings=config.tied, decoder_vocab_size=config.vocabulary,
    )  # fmt: skip
    model = transformers.MarianMTModel(theirs).eval()
    table = torch.zeros(64, config.width)
    for i in range(config.width // 2):
        angle = torch.arange(64) * float(np.exp(-i * np.log(10000.0) / (config.width // 2 - 1)))
        table[:, i], table[:, config.width // 2 + i] = angle.sin(), angle.cos()
    words = {
        "self": "self_attn",
        "context": "encoder_attn",
        "q": "q_proj",
        "k": "k_proj",
        "v": "v_proj",
        "o": "out_proj",
    }
    state = {}
    for name, array in arrays.items():
        tensor = torch.from_numpy(array)
        if match := re.fullmatch(r"(\w+coder)_l(\d)_(self|context)_([Wb])([qkvo])", name):
            stack, layer, part, kind, letter = match.groups()
            end = f"{words[part]}.{words[letter]}.{'weight' if kind == 'W' else 'bias'}"
            state[f"model.{stack}.layers.{int(layer) - 1}.{end}"] = tensor.T if kind == "W" else tensor[0]
        elif match := re.fullmatch(r"(\w+coder)_l(\d)_ffn_([Wb])(\d)", name):
            stack, layer, kind, number = match.groups()
            end = f"fc{number}.{'weight' if kind == 'W' else 'bias'}"
            state[f"model.{stack}.layers.{int(layer) - 1}.{end}"] = tensor.T if kind == "W" else tensor[0]
        elif match := re.fullmatch(r"(\w+coder)_l(\d)_(self|context|ffn)_(?:Wo|ffn)_ln_(scale|bias)", name):
            stack, layer, part, kind = match.groups()
            end = f"{words.get(part, 'final')}_layer_norm.{'weight' if kind == 'scale' else 'bias'}"
            state[f"model.{stack}.layers.{int(layer) - 1}.{end}"] = tensor[0]
    missing, unknown = model.load_state_dict(state, strict=False)
    assert not unknown and not [name for name in missing if ".layers." in name]
    with torch.no_grad():
        for stack in (model.model.encoder, model.model.decoder):
            stack.embed_positions.weight.copy_(table)
            own = "Wemb" if shared else f"{'en' if stack is model.model.encoder else 'de'}coder_Wemb"
            stack.embed_tokens.weight.zero_()[:-1] = torch.from_numpy(arrays[own])
        if not config.tied:
            model.lm_head.weight.zero_()[:-1] = torch.from_numpy(arrays["decoder_ff_logit_out_Wt"])
        model.final_logits_bias[:, :-1] = torch.from_numpy(arrays["decoder_ff_logit_out_b"])
    return model


def check_logits(folder: Path, arrays: marian_npz.Arrays) -> Translator:
    """The logits are those of MarianMT with Marian's positions, and the added token is never said."""
    translator = load(folder, device="cpu")
    config = translator.model.config
    theirs, chance = as_marian_mt(arrays, config), torch.Generator().manual_seed(1)
    source, target = (torch.randint(config.vocabulary - 1, (4, 9), generator=chance) for _ in range(2))
    target[:, 0] = config.start_id
    with torch.no_grad():
        said = theirs.double()(input_ids=source, decoder_input_ids=target).logits  # or rounding shows
        ours = load(folder, device="cpu").model.double()(source, None, target)
    assert (ours - said)[..., :-1].abs().max() < 1e-4
    assert (ours.softmax(-1)[..., -1] < 1e-12).all()
    return translator


@pytest.mark.parametrize("name", SHAPES)
def test_logits_are_those_of_marian_mt_with_marians_positions(name: str, tmp_path: Path) -> None:
    translator = check_logits(tmp_path / "marian", marian_npz.folder(tmp_path / "marian", **SHAPES[name]))
    with pytest.warns(UserWarning, match="reads no such model"):
        import_model(tmp_path / "marian", tmp_path / "ours")
    kept = load(tmp_path / "ours", device="cpu")
    assert kept.translate("The cat", beam=3) == translator.translate("The cat", beam=3)
    assert kept.config.model.positions == "marian"


def test_random_shapes_too(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed:", seed)
    chance = random.Random(seed)
    for place in range(int(os.environ.get("PELLUCID_ROUNDS", "2"))):
        shared, tied = chance.random() < 0.5, chance.random() < 0.5
        shape = 4 * chance.randint(1, 12), chance.randint(1, 70), chance.choices([1, 2, 3], k=2)
        arrays = marian_npz.folder(
            tmp_path / f"{place}", how=chance.choice(["table", "apart", "spm"]), seed=seed + place,
            shape=shape, transformer_ffn_activation=chance.choice(["swish", "relu"]),
            tied_embeddings=str(tied).lower(), tied_embeddings_all=str(shared).lower(),
        )  # fmt: skip
        check_logits(tmp_path / f"{place}", arrays)


def test_text_is_cut_as_the_vocabulary_says(tmp_path: Path) -> None:
    marian_npz.folder(tmp_path / "a", how="apart")
    words = load(tmp_path / "a").vocabulary
    ids = words.encode_source("the@@ ~ no ' nowhere")
    assert words.source_tokens(ids) == ["the@@", "~", "no", "'", "<unk>", "</s>"]
    assert words.decode_target(ids[:4]) == "the@@ ~ no '"
    marian_npz.folder(tmp_path / "b")
    (tmp_path / "b" / "source.spm").unlink()
    with pytest.raises(PellucidError, match=r"source\.spm: it is not there, but the tokens"):
        load_folder(tmp_path / "b")


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_scores_are_those_of_marian_itself(name: str, tmp_path: Path) -> None:
    pymarian = pytest.importorskip("pymarian", reason="pip install pymarian: Marian, for Python")
    marian_npz.folder(tmp_path, **SHAPES[name])
    loaded, (vocabulary,) = load_folder(tmp_path), [*tmp_path.glob("*vocab*")]
    marian = pymarian.Translator(
        models=str(tmp_path / "model.npz"), vocabs=[str(vocabulary)] * 2, n_best=True, word_scores=True,
        beam_size=4, quiet=True, cpu_threads=1, no_spm_decode=vocabulary.suffix == ".spm",
    )  # fmt: skip
    words, count = loaded.vocabulary, 0
    for text in phrases("en", 15):
        source = words.encode_source(text)
        cut = text if vocabulary.suffix == ".spm" else " ".join(words.source_tokens(source[:-1]))
        for line in marian.translate(cut).splitlines():
            said = [float(each) for each in re.findall(r"WordScores= ([^|]*)", line)[0].split()]
            tokens = line.split(" ||| ")[1].split()
            ids = [words.target.piece_to_id(f"▁{each}" if words.kind == "word" else each) for each in tokens]
            ids = [*ids, words.end_id][: len(said)]
            with torch.no_grad():
                target = torch.tensor([[loaded.model.config.start_id, *ids[:-1]]])
                ours = loaded.model(torch.tensor([source]), None, target).log_softmax(-1)[
                    0, range(len(ids)), ids
                ]
            assert ours.tolist() == pytest.approx(said, abs=1e-4)
            count += len(ids)
    assert count > 500


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3000])


def compressed(path: Path) -> None:
    np.savez_compressed(path, Wemb=np.zeros((1000, 1000), "f4"))


def changed(path: Path, **arrays: Any) -> None:
    with np.load(path) as file:
        kept = {name: array for name, array in (dict(file) | arrays).items() if array is not None}
    np.savez(path, **kept)


SETTINGS, B1 = "special:model.yml", "encoder_l1_ffn_b1"
REPLACED: dict[str, tuple[dict[str, Any], str]] = {
    "objects": ({"Wemb": np.array([{}])}, "model.npz: it was not loaded: it holds more than"),
    "no settings": ({SETTINGS: None}, "there is no special:model.yml"),
    "no table": ({SETTINGS: np.frombuffer(b"- 1", np.int8)}, "this is not a table in YAML"),
    "no matrix": ({"encoder_l1_ffn_W1": None}, "no model.encoder.layers.0.fc1.weight"),
    "another shape": (
        {B1: np.zeros((1, 3), "f4")},
        "fc1.bias is [3] where model.npz: special:model.yml needs",
    ),
    "unknown": ({"encoder_l1_ffn_W3": np.zeros((1, 3), "f4")}, "encoder_l1_ffn_W3 is unknown"),
    "int8": ({B1: np.zeros((1, 24), "i1")}, "have the type torch.int8"),
}
BROKEN: dict[str, tuple[Any, str]] = {
    "cut": (cut, "model.npz: it was not loaded: it holds more than arrays of numbers or is damaged."),
    "compressed": (compressed, "it was not loaded: it is compressed. Save it again with numpy.savez."),
    "two": (lambda path: (path.parent / "b.npz").touch(), "there are b.npz and model.npz: leave only one"),
}
BROKEN |= {name: (partial(changed, **arrays), said) for name, (arrays, said) in REPLACED.items()}
OTHERS = {
    "transformer_decoder_autoreg": "rnn",
    "transformer_preprocess": "n",
    "transformer_ffn_activation": "gelu",
}


@pytest.mark.parametrize("name", BROKEN)
def test_damaged_folders_are_refused(name: str, tmp_path: Path) -> None:
    marian_npz.folder(tmp_path)
    change, message = BROKEN[name]
    change(tmp_path / "model.npz")
    with pytest.raises(PellucidError, match=re.escape(message)):
        load_folder(tmp_path)


@pytest.mark.parametrize("name", OTHERS)
def test_other_architectures_are_refused(name: str, tmp_path: Path) -> None:
    marian_npz.folder(tmp_path, **{name: OTHERS[name]})
    with pytest.raises(PellucidError, match=f"{name.replace('_', '-')} = '{OTHERS[name]}' is another"):
        load_folder(tmp_path)
