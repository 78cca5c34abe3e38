"""The tour: trains the demo model on the phrasebook, translates the notes' sentences, writes the page that
explains one."""

import dataclasses
import shutil
import unicodedata
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

from pellucid.checkpoint import load_model, save_model
from pellucid.config import Config
from pellucid.config_file import read
from pellucid.data import phrasebook
from pellucid.learning.display import show
from pellucid.learning.run import training
from pellucid.translate.translator import Translator, load

SEED = 1  # of the split into what is learnt and what is held out
EXPLAINED = ("How are you", "hi")
HELD_OUT_FOLDER = "data"


def configuration(out: Path, seed: int = SEED) -> Config:
    """The demo's configuration; the phrasebook's files are written to `out`/data first."""
    folder = out / HELD_OUT_FOLDER
    phrasebook.write(folder, seed)
    names = [f"{source}-{target}" for source, target in phrasebook.DIRECTIONS]
    overrides = {
        part: [[str((folder / f"{part.removeprefix('data.')}.{name}.tsv").resolve())] for name in names]
        for part in ("data.train", "data.validation")
    }
    languages = {"data.languages": [list(direction) for direction in phrasebook.DIRECTIONS]}
    return read(Path(str(files("pellucid"))) / "demo.toml", overrides | languages)


def held_out(out: Path) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """The sentences that no training saw, by direction: (source, the one right translation)."""
    pairs = {}
    for source, target in phrasebook.DIRECTIONS:
        lines = (out / HELD_OUT_FOLDER / f"held-out.{source}-{target}.tsv").read_text("utf-8").split("\n")
        pairs[source, target] = [(row[0], row[1]) for row in (line.split("\t") for line in lines if line)]
    return pairs


def same(one: str, other: str) -> bool:
    """Whether two translations are equal: Unicode form, case and final punctuation apart."""
    plain = (unicodedata.normalize("NFC", text).casefold().strip(" .?¿।") for text in (one, other))
    return next(plain) == next(plain)


def exactly_right(translator: Translator, pairs: list[tuple[str, str]], to: str) -> list[bool]:
    """For each (source, right translation), whether that is what the translator says."""
    translations = translator.translate([source for source, _ in pairs], to=to)
    return [
        same(translation.text, right) for translation, (_, right) in zip(translations, pairs, strict=True)
    ]


def run(out: Path, train: bool, say: Callable[[str], None]) -> None:
    """The whole tour. say: prints a line."""
    out.mkdir(parents=True, exist_ok=True)
    say("1. The phrasebook: sentences that a grammar makes in English, French, Spanish and Hindi.")
    config = configuration(out)
    sentences = held_out(out)
    total = sum(map(len, sentences.values()))
    say(f"   {total:,} sentences are held out: no training sees them. They are in {out / HELD_OUT_FOLDER}.")
    translators = {"packaged model": load("demo")}
    if train:
        say("2. Training a Transformer on the rest, from random numbers.")
        translators = {"newly trained model": load(train_model(config, out)), **translators}
    say("3. Held-out sentences, exactly right (case and final punctuation apart):")
    for name, translator in translators.items():
        say(f"   {name}: {score_line(translator, sentences)}")
    translator = next(iter(translators.values()))
    say("4. The notes' sentences:")
    for phrase in phrasebook.NOTES:
        said = translator.translate(phrase.source, to=phrase.target_language).text
        verdict = "" if same(said, phrase.target) else f"   (should be: {phrase.target})"
        say(f"   {phrase.source_language} {phrase.source}  →  {phrase.target_language} {said}{verdict}")
    text, to = EXPLAINED
    page = out / "how-are-you.html"
    translator.explain(text, to=to).to_html(page)
    model_name = str(out / "model") if train else "demo"
    say(f'5. The page that shows every matrix of "{text}": {page.resolve()}')
    say("Open it in a browser. Then try:")
    say(f'   pellucid explain {model_name} "I like cats" --to es')
    say(f"   echo 'The boat is near the bank' | pellucid translate {model_name} --to hi")
    say('   pellucid explain demo "je suis étudiant" --to en --target "The cat sat on mat" --html cat.html')


def score_line(translator: Translator, sentences: dict[tuple[str, str], list[tuple[str, str]]]) -> str:
    """How many of each direction's sentences are exactly right, in one line."""
    counts = []
    for (source, target), pairs in sentences.items():
        right = exactly_right(translator, pairs, target)
        counts.append(f"{source}→{target} {sum(right)}/{len(right)} ({sum(right) / len(right):.1%})")
    return ", ".join(counts)


def rebuild(out: Path) -> None:
    """Train the demo model anew and put it into the package, its weights in 16 bits: `make demo-model` calls
    this."""
    config = configuration(out)
    loaded = load_model(train_model(config, out))
    named: dict[str, Any] = {
        part: tuple((Path(file).name,) for (file,) in getattr(loaded.config.data, part))
        for part in ("train", "validation")
    }
    config = dataclasses.replace(loaded.config, data=dataclasses.replace(loaded.config.data, **named))
    package = Path(str(files("pellucid"))) / "demo_model"
    package.mkdir(exist_ok=True)
    provenance = loaded.manifest["provenance"]
    save_model(package, loaded.model, loaded.vocabulary, config, provenance, stored_as=torch.float16)


def train_model(config: Config, out: Path) -> Path:
    """The folder of a model trained from the beginning; how it goes is shown on standard error."""
    model = out / "model"
    shutil.rmtree(model, ignore_errors=True)
    show(training(config, model), config)
    return model
