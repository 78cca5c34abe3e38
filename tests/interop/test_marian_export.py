"""A model of ours as a MarianMT folder: transformers computes the same, and taken in again it is the same."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import random_translator
import tiny
import torch
from command import Command
from marian_folders import change, model, opus, phrases, tokenizer
from random_translator import loaded
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import pellucid as package
from pellucid.errors import PellucidError, UsageError
from pellucid.interop.exporting import export
from pellucid.interop.importing import open_foreign, read_foreign
from pellucid.translator import Translator

OURS: dict[str, Callable[[], Translator]] = {
    "untied, with a bias": lambda: random_translator.translator(end=1.5),
    "bytes": lambda: random_translator.translator("bytes", end=1.5),
    "tied, three languages, no bias": lambda: tiny.translator("unigram", scale_embeddings=False),
    "two vocabularies, gelu": lambda: tiny.translator("bpe", joint=False, activation="gelu"),
    "norm first": lambda: tiny.translator("bpe", norm="first"),
}


@pytest.mark.parametrize("name", OURS)
def test_transformers_opens_it_and_computes_the_same(name: str, tmp_path: Path) -> None:
    translator, out = OURS[name](), tmp_path / "marian"
    report = export("huggingface", loaded(translator), out)
    assert report.parity is not None and report.parity.difference < 1e-4
    theirs, tokens = AutoModelForSeq2SeqLM.from_pretrained(out).eval(), AutoTokenizer.from_pretrained(out)
    assert type(tokens).__name__ == "MarianTokenizer"
    several = len(translator.vocabulary.target_languages) > 1
    to = "es" if several else None
    for text in random_translator.sentences(12):
        ids = translator.vocabulary.encode_source(text, to)
        assert tokens(f">>es<< {text}" if several else text).input_ids == ids
        for beam in (1, 4):
            ours = translator.translate(text, to=to, beam=beam, max_length=20)
            stop = {"num_beams": beam, "max_length": 21, "early_stopping": beam > 1}
            row = theirs.generate(torch.tensor([ids]), **stop)[0].tolist()[1:]
            if tokens.eos_token_id in row:  # ours prefers one that has ended
                row = row[: row.index(tokens.eos_token_id) + 1]
                random_translator.check_found(translator, [ids], [ours], [row])


@pytest.mark.parametrize("name", OURS)
def test_taken_in_again_it_is_the_same_model(name: str, tmp_path: Path) -> None:
    translator, numbers = OURS[name](), random.Random(1)
    export("huggingface", loaded(translator), tmp_path / "marian", check=False)
    again = read_foreign(open_foreign(tmp_path / "marian"))
    config = translator.model.config
    source = torch.tensor([numbers.choices(range(4, config.vocabulary), k=7) for _ in range(3)])
    target = torch.tensor([numbers.choices(range(4, config.target_size), k=5) for _ in range(3)])
    assert torch.equal(again.model(source, None, target), translator.model(source, None, target))
    assert again.config.model == config
    ours, theirs = (each.vocabulary.source_tokens(source[0].tolist()) for each in (translator, again))
    assert ours == theirs
    assert replace(again.config.translation, suppressed=()) == translator.config.translation
    change(tmp_path / "marian" / "generation_config.json", decoder_start_token_id=config.pad_id)
    assert read_foreign(open_foreign(tmp_path / "marian")).vocabulary.start_id == config.pad_id


def test_an_imported_model_goes_out_as_it_came_in(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    model(first, tokenizer(first, codes=(">>fra<<", ">>deu<<")), scale_embedding=False)
    taken = read_foreign(open_foreign(first))
    export("huggingface", taken, tmp_path / "again")
    again = read_foreign(open_foreign(tmp_path / "again"))
    assert again.vocabulary.same_as(taken.vocabulary) or again.vocabulary.languages[0][0] == "?"
    for name, tensor in taken.model.state_dict().items():
        assert torch.equal(tensor, again.model.state_dict()[name]), name
    tables = [
        json.loads((folder / "vocab.json").read_text("utf-8")) for folder in (first, tmp_path / "again")
    ]
    assert tables[0] == tables[1]
    assert again.config.translation == taken.config.translation or again.config.translation.suppressed


def test_what_transformers_cannot_express_is_refused(tmp_path: Path) -> None:
    translator = tiny.translator("unigram", norm="first", joint=False, positions="fairseq")
    prepared = replace(translator.vocabulary, preparation="moses")
    with pytest.raises(PellucidError) as caught:
        export("huggingface", loaded(translator)._replace(vocabulary=prepared), tmp_path / "out")
    assert str(caught.value) == (
        'no class of transformers can express this model: its norm comes first ([model] norm = "first"), and '
        "Pegasus, which has that too, is tied and has one vocabulary for both sides ([model] tied, "
        '[vocabulary] joint); its positions are [model] positions = "fairseq"; its text is prepared with '
        '"moses" ([data] preparation), which no tokenizer there does. Export it to ctranslate2 or onnx '
        "instead."
    )
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").write_text("mine")
    with pytest.raises(UsageError, match="it already exists"):
        export("huggingface", loaded(translator), tmp_path / "out")


def test_the_verbs_take_a_folder_of_transformers_directly(tmp_path: Path, pellucid: Command) -> None:
    theirs = opus(tmp_path / "opus", generation={"min_length": 3})
    text = phrases("en", 1)[0]
    said = pellucid("translate", theirs, stdin=f"{text}\n".encode())
    assert said.code == 0 and said.out.count("\n") == 1
    assert f"pellucid: {theirs}: MarianMT (OPUS-MT), 2+2 layers, width 16, " in said.err
    assert "without min_length = 3, which Pellucid does not have" in said.err
    assert package.load(theirs, device="cpu").translate(text).text == said.out.rstrip("\n")

    brought = pellucid("import", theirs, tmp_path / "ours")
    assert brought.code == 0 and brought.out == f"{tmp_path / 'ours'}\n"
    assert "Compared with transformers" in brought.err
    assert pellucid("translate", tmp_path / "ours", stdin=f"{text}\n".encode()).out == said.out
    sent = pellucid("export", "huggingface", tmp_path / "ours", tmp_path / "back", "--no-check")
    assert sent.code == 0 and "Compared" not in sent.err
    assert pellucid("translate", tmp_path / "back", stdin=f"{text}\n".encode()).out == said.out
