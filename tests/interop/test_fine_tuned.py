"""Models of transformers' form learn more here, with tokens that they did not have, and leave again."""

from pathlib import Path
from typing import Any

import pytest
import torch
from marian_folders import CODES, known_phrase, many_languages, opus, phrases
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import pellucid
from pellucid.errors import PellucidError
from pellucid.folder.load import load_model
from pellucid.interop.exporting import export
from pellucid.interop.importing import load_folder
from pellucid.text.growing import is_grown

NEW = "ŵŷ"  # letters that no model has


def tune(folder: Path, out: Path, to: tuple[str, str], **settings: Any) -> None:
    """Train three steps on sentences with new letters, with a vocabulary that grows."""
    sides = zip(phrases("en", 60), phrases("fr", 60), strict=True)
    pairs = [(f"{one} {NEW}", f"{NEW} {other}") for one, other in sides]
    table = {
        "data": {"languages": [list(to)]},
        "vocabulary": {"grow": 20},
        "training": {
            "start_from": str(folder),
            "steps": 3,
            "batch_tokens": 400,
            "warmup_steps": 1,
            "threads": 1,
        }
        | settings,
    }
    pellucid.train(table, out, pairs=pairs)


@pytest.mark.parametrize("separate", [False, True])
def test_an_opus_model_learns_more_and_goes_back_to_transformers(separate: bool, tmp_path: Path) -> None:
    first = opus(tmp_path / "first", separate, share_encoder_decoder_embeddings=not separate)
    tune(first, tmp_path / "tuned", ("en", "fr"), frozen=["encoder.layers.*"])
    before, tuned = load_folder(first), load_model(tmp_path / "tuned")
    assert is_grown(before.vocabulary, tuned.vocabulary)
    for side in ("source", "target"):
        more = getattr(tuned.vocabulary, f"{side}_size") - getattr(before.vocabulary, f"{side}_size")
        assert 0 < more <= (20 if separate else 40)
    same = [
        torch.equal(tensor, tuned.model.state_dict()[name])
        for name, tensor in before.model.state_dict().items()
        if name.startswith("encoder.layers.")
    ]
    assert all(same) and same
    report = export("huggingface", tuned, tmp_path / "again")
    assert report.parity is not None and report.parity.difference < 1e-4
    theirs = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "again")
    tokens = AutoTokenizer.from_pretrained(tmp_path / "again")
    text = f"{known_phrase(tuned.vocabulary)} {NEW}"
    ids = tuned.vocabulary.encode_source(text)
    assert tokens(text).input_ids == ids and tuned.vocabulary.unknown_id not in ids
    assert theirs.config.vocab_size == tuned.vocabulary.source_size
    again = load_folder(tmp_path / "again")
    assert is_grown(again.vocabulary, tuned.vocabulary) and is_grown(tuned.vocabulary, again.vocabulary)


def test_nllb_learns_more_and_goes_to_ctranslate2(tmp_path: Path) -> None:
    first = tmp_path / "nllb"
    first.mkdir()
    many_languages(first, "nllb")
    source, target, other = CODES["nllb"]
    tune(first, tmp_path / "tuned", (source, target))
    before, tuned = load_folder(first), load_model(tmp_path / "tuned")
    assert is_grown(before.vocabulary, tuned.vocabulary)
    assert tuned.vocabulary.source_size > before.vocabulary.source_size
    assert {*tuned.vocabulary.target_languages} == {source, target, other}
    assert tuned.vocabulary.encode_source("ŵ", target)[0] == before.vocabulary.encode_source("a", target)[0]
    assert not tuned.vocabulary.unknown_in(NEW, target)
    report = export("ctranslate2", tuned, tmp_path / "ct2")
    assert report.parity is not None and report.parity.difference < 1e-4
    with pytest.raises(PellucidError, match=r'its positions are .* = "fairseq"'):
        export("huggingface", tuned, tmp_path / "back")
