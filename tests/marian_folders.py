"""MarianMT folders with random weights, made by transformers itself, and their tokenizers."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

from pellucid.data import phrasebook

transformers = pytest.importorskip("transformers")
transformers.utils.logging.disable_progress_bar()
CODES = {"nllb": ("eng_Latn", "fra_Latn", "hin_Deva"), "m2m100": ("en", "fr", "hi")}
CODES["mbart"] = ("en_XX", "fr_XX", "hi_IN")
GERMAN = "die Straße über Mädchen Öl größer nicht weiß „Grüß Gott“ 1.000,50 € U-Bahn daß Füße"
PHRASES = {phrase for part in phrasebook.split().values() for phrase in part} - {phrasebook.JE_SUIS_STUDENT}
SIZE = 120  # pieces of each SentencePiece model


def phrases(language: str, count: int = 350) -> list[str]:
    """Return real sentences from the package's phrasebook, the same ones each time; German from words."""
    if language == "de":
        numbers, words = random.Random(2), GERMAN.split()
        words += [one + other.lower() for one in words for other in words]  # compounds
        return [" ".join(numbers.choices(words, k=numbers.randint(2, 9))) for _ in range(count)]
    texts = {phrase.source for phrase in PHRASES if phrase.source_language == language}
    texts |= {phrase.target for phrase in PHRASES if phrase.target_language == language}
    return random.Random(2).sample(sorted(texts), count)


def known_phrase(vocabulary: Any) -> str:
    """Return an English sentence of which this vocabulary knows every piece."""
    return next(text for text in phrases("en") if not vocabulary.unknown_in(text))


def pieces(folder: Path, name: str, lines: Sequence[str], size: int, **options: Any) -> list[str]:
    """Train a SentencePiece model as OPUS-MT has them, write it, and return its pieces."""
    with (folder / name).open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=file, vocab_size=size, minloglevel=2, **options
        )
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
    return [model.id_to_piece(token) for token in range(model.get_piece_size())]


def tokenizer(
    folder: Path,
    languages: tuple[str, str] = ("en", "fr"),
    separate: bool = False,
    size: int = SIZE,
    codes: Sequence[str] = (),
) -> tuple[int, int]:
    """Write source.spm, target.spm and vocab.json, with ids that are not SentencePiece's; return the sizes.

    Every tenth piece of the source has no id, as in OPUS-MT, whose tables come from other text.
    """
    source, target = map(phrases, languages)
    sides = [pieces(folder, "source.spm", source, size)]
    sides += [pieces(folder, "target.spm", target, size, model_type="bpe")]
    sides[0] = [piece for number, piece in enumerate(sides[0]) if number % 10 or piece.startswith("<")]
    both = sides if separate else [[*sides[0], *sides[1]]]
    tables = []
    for side in both:
        words = [
            piece
            for piece in dict.fromkeys(reversed([*side, *codes]))
            if piece not in ("<s>", "</s>", "<unk>")
        ]
        tables.append({token: number for number, token in enumerate(["</s>", "<unk>", *words, "<pad>"])})
    if separate:  # the ids of padding must agree
        longer = max(map(len, tables))
        for table in tables:
            table["<pad>"] = longer - 1
    for name, table in zip(("vocab.json", "target_vocab.json"), tables, strict=False):
        (folder / name).write_text(json.dumps(table, ensure_ascii=False), "utf-8")
    about = dict(zip(("source_lang", "target_lang"), languages, strict=True))
    about |= {"separate_vocabs": separate, "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    return tables[0]["<pad>"] + 1, tables[-1]["<pad>"] + 1


def model(
    folder: Path,
    sizes: tuple[int, int],
    seed: int = 0,
    steps: int = 0,
    generation: dict[str, Any] | None = None,
    spread: float = 0.25,
    **settings: Any,
) -> Any:
    """Write a random model for these sizes of vocabulary, biases, norms and all; train it for some steps."""
    torch.manual_seed(seed)
    shape: dict[str, Any] = dict(
        vocab_size=sizes[0], decoder_vocab_size=sizes[1], d_model=16, encoder_layers=2, decoder_layers=2,
        encoder_ffn_dim=24, decoder_ffn_dim=24, encoder_attention_heads=4, decoder_attention_heads=4,
        max_position_embeddings=64, pad_token_id=sizes[0] - 1, decoder_start_token_id=sizes[0] - 1,
        eos_token_id=0, forced_eos_token_id=0, scale_embedding=True, activation_function="swish",
    )  # fmt: skip
    config = transformers.MarianConfig(**(shape | settings), attn_implementation="eager")
    transformer = transformers.MarianMTModel(config).eval()
    roughen(transformer, spread)
    unsaid = [[sizes[0] - 1], [1]]
    usual = dict(num_beams=4, max_length=24, bad_words_ids=unsaid, early_stopping=True, length_penalty=1.0)
    if steps:
        train(transformer, folder, steps)
    transformer.generation_config.update(**(usual | (generation or {})))
    transformer.save_pretrained(folder)
    return transformer


def opus(folder: Path, separate: bool = False, **settings: Any) -> Path:
    """Write a folder as OPUS-MT has them, made if need be: pieces, their ids and a random model."""
    folder.mkdir(exist_ok=True)
    model(folder, tokenizer(folder, separate=separate), **settings)
    return folder


def state_of(folder: Path) -> dict[str, torch.Tensor]:
    """Take the weights out of a folder."""
    loaded = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    state = {name: tensor.clone() for name, tensor in loaded.state_dict().items()}
    (folder / "model.safetensors").unlink()
    return state


def change(file: Path, **settings: Any) -> None:
    """Change settings in a file of JSON."""
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | settings), "utf-8")


@torch.no_grad()
def roughen(transformer: Any, spread: float) -> None:
    """Make all parameters random, also biases and norms."""
    for name, parameter in transformer.named_parameters():
        if "embed_positions" not in name:
            more = 1.6 if "encoder_attn" in name else 1.0
            parameter.add_(torch.randn_like(parameter) * spread * more)
    transformer.final_logits_bias.normal_()[:, 0] += 2


def train(transformer: Any, folder: Path, steps: int) -> None:
    """Train on the phrasebook, so that it says different things of different sentences."""
    tokens = transformers.MarianTokenizer.from_pretrained(folder)
    there = {(phrase.source, phrase.target) for phrase in PHRASES if phrase.direction == "en-fr"}
    back = {(phrase.target, phrase.source) for phrase in PHRASES if phrase.direction == "fr-en"}
    pairs = sorted(there | back)
    numbers, optimizer = random.Random(5), torch.optim.Adam(transformer.parameters(), lr=0.005)
    for _ in range(steps):
        sources, targets = zip(*numbers.sample(pairs, 32), strict=True)
        batch = tokens(list(sources), text_target=list(targets), return_tensors="pt", padding=True)
        labels = batch["labels"].masked_fill(batch["labels"] == tokens.pad_token_id, -100)
        transformer(batch["input_ids"], batch["attention_mask"], labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def many_languages(folder: Path, kind: str, **others: Any) -> Any:
    """Write a folder of each kind; its tokenizer."""
    lines = [*phrases("en"), *phrases("fr")]
    bpe = {"model_type": "bpe"} if kind == "nllb" else {}
    spoken = pieces(folder, "sentencepiece.bpe.model", lines, 140, **bpe)
    about: dict[str, Any] = {"src_lang": CODES[kind][0]}
    if kind == "nllb":
        pytest.importorskip("google.protobuf", reason="transformers reads NLLB's pieces with protobuf")
        about |= {"tokenizer_class": "NllbTokenizer", "additional_special_tokens": CODES[kind]}
        (folder / "tokenizer_config.json").write_text(json.dumps(about))
        tokens = transformers.NllbTokenizer.from_pretrained(folder)
        tokens.save_pretrained(folder)
    elif kind == "mbart":
        (folder / "tokenizer_config.json").write_text(
            json.dumps(about | {"tokenizer_class": "MBart50Tokenizer"})
        )
        tokens = transformers.MBart50Tokenizer.from_pretrained(folder)
    else:
        table = dict.fromkeys(("<s>", "<pad>", "</s>", "<unk>", *spoken))
        numbers = {token: place for place, token in enumerate(table)}
        (folder / "vocab.json").write_text(json.dumps(numbers, ensure_ascii=False), "utf-8")
        (folder / "tokenizer_config.json").write_text(
            json.dumps(about | {"tokenizer_class": "M2M100Tokenizer"})
        )
        tokens = transformers.M2M100Tokenizer.from_pretrained(folder)
    size = 141 + 140  # more than it has tokens, as NLLB's
    shape: dict[str, Any] = dict(
        vocab_size=size, d_model=16, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=24,
        decoder_ffn_dim=24, encoder_attention_heads=4, decoder_attention_heads=4, max_position_embeddings=64,
    )  # fmt: skip
    shape |= others
    torch.manual_seed(0)
    if kind == "mbart":
        mbart = transformers.MBartConfig(**({"scale_embedding": True, "decoder_start_token_id": 2} | shape))
        model = transformers.MBartForConditionalGeneration(mbart).eval()
    else:
        model = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(**shape)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.25)
    model.generation_config.update(num_beams=4, max_length=24, early_stopping=True)
    model.save_pretrained(folder)
    return tokens


def check_attention(seen: Mapping[str, Any], said: Any, mask: torch.Tensor) -> None:
    """All attention weights that we saw are those that transformers returned, in every layer and head."""
    parts = {
        "encoder.layers.{}.self_attention.weights": said.encoder_attentions,
        "decoder.layers.{}.self_attention.weights": said.decoder_attentions,
        "decoder.layers.{}.cross_attention.weights": said.cross_attentions,
    }
    theirs = {name.format(index): each for name, layers in parts.items() for index, each in enumerate(layers)}
    assert {*theirs} == {*seen}
    for name, weights in theirs.items():
        real = mask[:, None, :, None] if name.startswith("encoder") else torch.tensor(True)
        assert seen[name].tensor.shape == weights.shape
        assert ((seen[name].tensor - weights).abs() * real).max() < 1e-5, name
