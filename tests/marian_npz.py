"""Folders in Marian's own format, with random weights."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml
from marian_folders import phrases, pieces

Arrays = dict[str, np.ndarray[Any, Any]]
YES, NO = "true", "false"


def vocabularies(folder: Path, how: str) -> list[int]:
    """Write vocabularies: "table" with source.spm and target.spm, "apart" without, or "spm" on its own."""
    if how == "spm":
        options = dict(pad_id=-1, bos_id=-1, eos_id=0, unk_id=1)
        return [len(pieces(folder, "vocab.spm", [*phrases("en"), *phrases("fr")], 150, **options))] * 2
    lines = {"source": phrases("en"), "target": phrases("fr")}
    if how == "apart":
        tokens = [
            f"{word}@@" if number % 3 else word
            for number, word in enumerate(" ".join(lines["source"]).split())
        ]
    else:
        tokens = [piece for side in lines for piece in pieces(folder, f"{side}.spm", lines[side], 120)[3:]]
    tokens = ["</s>", "<unk>", *dict.fromkeys([*tokens, "no", "'", "~", '"'])]
    table = {token: place for place, token in enumerate(tokens)}
    (folder / "opus.vocab.yml").write_text(yaml.safe_dump(table, allow_unicode=True), "utf-8")
    return [len(table)] * 2


def arrays(
    sizes: list[int], seed: int, width: int, hidden: int, layers: tuple[int, int], **said: Any
) -> Arrays:
    """Random arrays under Marian's names, (in, out)."""
    chance = np.random.default_rng(seed)

    def some(*shape: int, around: float = 0.0, spread: float = 0.35) -> Any:
        return (around + spread * chance.standard_normal(shape)).astype(np.float32)

    found: Arrays = {}
    for stack, count in zip(("encoder", "decoder"), layers, strict=True):
        for index in range(1, count + 1):
            parts = ["self", "context"] if stack == "decoder" else ["self"]
            norms = [f"{part}_Wo_ln" for part in parts] + ["ffn_ffn_ln"]
            start = f"{stack}_l{index}_"
            for part in parts:
                for letter in "qkvo":
                    found[f"{start}{part}_W{letter}"] = some(width, width)
                    found[f"{start}{part}_b{letter}"] = some(1, width)
            found[start + "ffn_W1"], found[start + "ffn_b1"] = some(width, hidden), some(1, hidden)
            found[start + "ffn_W2"], found[start + "ffn_b2"] = some(hidden, width), some(1, width)
            for norm in norms:
                found[f"{start}{norm}_scale"] = some(1, width, around=1.0)
                found[f"{start}{norm}_bias"] = some(1, width)
    if said["tied-embeddings-all"] == YES:
        found["Wemb"] = some(sizes[0], width)
    else:
        found |= {"encoder_Wemb": some(sizes[0], width), "decoder_Wemb": some(sizes[1], width)}
        if said["tied-embeddings"] == NO:
            found["decoder_ff_logit_out_Wt"] = some(sizes[1], width)
    return found | {"decoder_ff_logit_out_b": some(1, sizes[1])}


def settings(
    sizes: list[int], width: int, hidden: int, layers: tuple[int, int], **others: Any
) -> dict[str, Any]:
    said = {
        "type": "transformer", "dim-emb": width, "dim-vocabs": sizes, "enc-depth": layers[0],
        "dec-depth": layers[1],
        "transformer-dim-ffn": hidden, "transformer-heads": 4, "transformer-ffn-activation": "swish",
        "transformer-ffn-depth": 2, "transformer-preprocess": "", "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d", "transformer-decoder-autoreg": "self-attention",
        "tied-embeddings-all": YES, "tied-embeddings-src": NO, "tied-embeddings": NO, "version": "v1.9.0",
        "transformer-tied-layers": [], "transformer-dropout": 0.1, "skip": NO, "layer-normalization": NO,
    }  # fmt: skip
    return said | others


def write(folder: Path, arrays: Arrays, said: dict[str, Any]) -> None:
    """Write model.npz, as Marian does: the settings are bytes that end in a 0."""
    text = "\n".join(f"{name}: {value}" for name, value in said.items() if value != "").encode() + b"\n\0"
    np.savez(folder / "model.npz", **arrays, **{"special:model.yml": np.frombuffer(text, np.int8)})


def folder(
    path: Path, how: str = "table", seed: int = 1, shape: Any = (16, 24, (2, 3)), **others: Any
) -> Arrays:
    """Write a folder; return its arrays."""
    path.mkdir(exist_ok=True)
    sizes = vocabularies(path, how)
    width, hidden, layers = shape
    said = settings(
        sizes, width, hidden, layers, **{name.replace("_", "-"): each for name, each in others.items()}
    )
    found = arrays(sizes, seed, width, hidden, layers, **{k: v for k, v in said.items() if "-" in k})
    write(path, found, said)
    return found
