"""The tour: trains the demo model on the phrasebook, translates the notes' sentences, writes the page that
explains one."""

import hashlib
import itertools
import shlex
import unicodedata
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import torch

from pellucid.config.schema import Config
from pellucid.config.toml_file import from_table, read
from pellucid.data import phrasebook
from pellucid.errors import UsageError
from pellucid.folder.checkpoint import load_model, newest_state, save_model
from pellucid.folder.seal import is_sealed
from pellucid.folder.whole_file import refuse_foreign
from pellucid.learning.claim import refuse_taken
from pellucid.learning.resume import changes
from pellucid.learning.train import train
from pellucid.translator import Translator, load

EXPLAINED = ("How are you", "hi")
# What the demo writes into its folder.
HELD_OUT_FOLDER, MODEL, PAGE = "data", "model", "how-are-you.html"


def configuration(out: Path) -> Config:
    """The demo's configuration; the phrasebook's files lie in `out`/data."""
    folder = out / HELD_OUT_FOLDER
    names = [f"{source}-{target}" for source, target in phrasebook.DIRECTIONS]
    overrides = {
        part: [[str((folder / f"{part.removeprefix('data.')}.{name}.tsv").resolve())] for name in names]
        for part in ("data.train", "data.validation")
    }
    languages = {"data.languages": [list(direction) for direction in phrasebook.DIRECTIONS]}
    return read(Path(str(files("pellucid"))) / "demo.toml", overrides | languages)


def write_phrasebook(out: Path) -> None:
    """What is learned from, and what is held out, as files."""
    phrasebook.write(out / HELD_OUT_FOLDER)


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
    config, page, number = configuration(out), out / PAGE, itertools.count(1)
    # Before anything is written: nothing of anybody else is in the way.
    refuse_foreign([page])
    step = steps_done(config, out) if train else None
    say(f"{next(number)}. The phrasebook: sentences a grammar makes in English, French, Spanish and Hindi.")
    write_phrasebook(out)
    sentences = held_out(out)
    total = sum(map(len, sentences.values()))
    say(f"   {total:,} sentences are held out: no training sees them. They are in {out / HELD_OUT_FOLDER}.")
    translators = {"packaged model": load("demo")}
    if train:
        say(f"{next(number)}. {training_line(step, config, out)}")
        translators = {"newly trained model": load(train_model(config, out)), **translators}
    say(f"{next(number)}. Held-out sentences, exactly right (case and final punctuation apart):")
    for name, translator in translators.items():
        say(f"   {name}: {score_line(translator, sentences)}")
    translator = next(iter(translators.values()))
    say(f"{next(number)}. The notes' sentences:")
    for phrase in phrasebook.NOTES:
        said = translator.translate(phrase.source, to=phrase.target_language).text
        verdict = "" if same(said, phrase.target) else f"   (should be: {phrase.target})"
        say(f"   {phrase.source_language} {phrase.source}  →  {phrase.target_language} {said}{verdict}")
    text, to = EXPLAINED
    translator.explain(text, to=to).to_html(page)
    say(f'{next(number)}. The page that shows every matrix of "{text}": {page.resolve()}')
    for line in what_next(str(out / MODEL) if train else "demo"):
        say(line)


def what_next(model: str) -> list[str]:
    """Commands to try with this model."""
    name = shlex.quote(model)
    return [
        "Open it in a browser. Then try:",
        f'   pellucid explain {name} "I like cats" --to es',
        f"   echo 'The boat is near the bank' | pellucid translate {name} --to hi",
        '   The notes draw the mask over "The cat sat on mat". It is no translation here, but --target',
        "   takes any text: the page shows how probable each of its words is, and where each looks.",
        '   pellucid explain demo "je suis étudiant" --to en --target "The cat sat on mat" --html cat.html',
    ]


def steps_done(config: Config, out: Path) -> int | None:
    """How far the demo's own training in `out`/model has come, or None before it; another one is an error."""
    model = out / MODEL
    refuse_taken(model)
    saved = newest_state(model)
    if saved is None:
        return None
    texts = phrasebook.texts()
    names = [Path(file).name for (file,) in (*config.data.train, *config.data.validation)]
    data = {name: hashlib.sha256(texts[name]).hexdigest() for name in names}
    if changes(config, from_table(saved.state["config"]), data, saved.state["data"]):
        raise UsageError(
            f"{model} holds a training run that is not the demo's: its settings or its data are others. "
            "It was left alone, and nothing was written. Choose another --out."
        )
    return saved.step


def training_line(step: int | None, config: Config, out: Path) -> str:
    """What becomes of the training: whether it starts, goes on, or was finished before."""
    if step is None:
        return "Training a Transformer on the rest, from random numbers."
    if step < config.training.steps:
        return f"Going on with the training in {out / MODEL}, from step {step:,}."
    return (
        f"The model was trained before: {out / MODEL} is used as it is. To train anew, choose another --out."
    )


def score_line(translator: Translator, sentences: dict[tuple[str, str], list[tuple[str, str]]]) -> str:
    """How many of each direction's sentences are exactly right, in one line."""
    counts = []
    for (source, target), pairs in sentences.items():
        right = exactly_right(translator, pairs, target)
        counts.append(f"{source}→{target} {sum(right)}/{len(right)} ({sum(right) / len(right):.1%})")
    return ", ".join(counts)


def rebuild(out: Path) -> None:
    """Put the model that is trained in `out` into the package, its weights in 16 bits: `make demo-model`
    calls this."""
    write_phrasebook(out)
    loaded = load_model(train_model(configuration(out), out))
    package = Path(str(files("pellucid"))) / "demo_model"
    package.mkdir(exist_ok=True)
    provenance = loaded.manifest["provenance"]
    save_model(package, loaded.model, loaded.vocabulary, loaded.config, provenance, stored_as=torch.float16)


def train_model(config: Config, out: Path) -> Path:
    """The folder of the trained model; the training goes on from where it was, if it was not at its end, and
    is shown on standard error."""
    model, chosen = out / MODEL, config.training
    at_the_end = (steps_done(config, out) or 0) >= chosen.steps
    if not at_the_end or not is_sealed(model / "averaged" if chosen.average else model):
        train(config, model, resume=True)
    return model
