"""A MarianMT model that learned for a moment from real text, Multi30k's, is the one of transformers."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from marian_folders import check_attention, model, tokenizer
from transformers import MarianMTModel, MarianTokenizer

from pellucid.data.batch import pad
from pellucid.seeing.trace import trace
from pellucid.translate.likelihood import log_probabilities
from pellucid.translator import Translator, load

needs_mirror = pytest.mark.skipif("PELLUCID_MIRROR" not in os.environ, reason="PELLUCID_MIRROR is not set")
pytestmark = [pytest.mark.mirror, needs_mirror]


def captions(name: str, count: int) -> list[str]:
    folder = Path(os.environ["PELLUCID_MIRROR"]) / "multi30k" / "raw"
    with gzip.open(folder / f"{name}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line, _ in zip(file, range(count), strict=False)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in the shape of OPUS-MT, English to German."""
    path, count = tmp_path_factory.mktemp("opus"), 2000
    texts = captions("train.en", count), captions("train.de", count)
    sizes, pairs = tokenizer(path, ("en", "de"), size=300, texts=texts), [*zip(*texts, strict=True)]
    model(path, sizes, d_model=32, max_position_embeddings=200, steps=200, pairs=pairs)
    return path


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return load(folder, device="cpu")


@pytest.mark.parametrize("name", ["train.en", "train.de", "train.fr"])
def test_ids_are_those_of_their_tokenizer(folder: Path, translator: Translator, name: str) -> None:
    tokens = MarianTokenizer.from_pretrained(folder)
    for text in captions(name, 1000):
        assert translator.vocabulary.encode_source(text) == tokens(text).input_ids
        assert translator.vocabulary.encode_target(text) == tokens(text_target=text).input_ids


def test_logits_attention_and_translations_are_those_of_transformers(
    folder: Path, translator: Translator
) -> None:
    theirs: Any = MarianMTModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokens, config = MarianTokenizer.from_pretrained(folder), translator.model.config
    sources, targets = captions("val.en", 40), captions("val.de", 40)
    batch = tokens(sources, text_target=targets, return_tensors="pt", padding=True)
    source, mask = pad([translator.vocabulary.encode_source(text) for text in sources], config.pad_id)
    assert torch.equal(source, batch["input_ids"]) and torch.equal(mask, batch["attention_mask"].bool())
    target = torch.cat([torch.full((40, 1), config.start_id), batch["labels"][:, :-1]], dim=1)
    with torch.no_grad(), trace(translator.model, only="*.weights") as seen:
        logits = translator.model(source, mask, target)
        said = theirs(source, mask.long(), decoder_input_ids=target, output_attentions=True)
    assert (logits - said.logits).abs().max() < 1e-4
    check_attention(seen, said, mask)
    for beam in (1, 4):
        stop = {"num_beams": beam, "max_length": 61, "early_stopping": beam > 1}
        rows = theirs.generate(source, attention_mask=mask.long(), **stop).tolist()
        ours = translator.translate(sources, beam=beam, max_length=60)
        end = [row.index(config.end_id, 1) + 1 for row in rows]
        theirs_said = [row[1:stop] for row, stop in zip(rows, end, strict=True)]
        ids = [tokens(text).input_ids for text in sources]
        likely = log_probabilities([translator.model], ids, theirs_said, batch_tokens=4096)
        for each, row, score in zip(ours, theirs_said, likely, strict=True):
            best = each.hypotheses[0]
            assert best.token_ids == row or best.score >= sum(score) / len(row) - 1e-4
        pairs = zip(ours, theirs_said, strict=True)
        assert sum(each.hypotheses[0].token_ids == row for each, row in pairs) >= 36
        assert len({each.text for each in ours}) > 20  # it says different things of different captions
