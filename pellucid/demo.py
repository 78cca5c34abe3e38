"""The demo: train the demo model on the phrasebook, translate sentences of the course notes, and write an
HTML page that explains one of them."""

import itertools
import shlex
import unicodedata
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from pellucid.config.schema import Config
from pellucid.config.toml_file import read
from pellucid.data import phrasebook
from pellucid.folder.checkpoint import newest_step
from pellucid.folder.manifest import is_sealed
from pellucid.folder.whole_file import refuse_foreign
from pellucid.learning.claim import refuse_taken
from pellucid.learning.run import train
from pellucid.translate.evaluate import exactly_right
from pellucid.translator import Translator, load, movie

EXPLAINED = ("How are you", "hi")
# What the demo writes into its folder.
DATA, MODEL, PAGE, MOVIE = "data", "model", "how-are-you.html", "how-it-learned.html"
Sentences = dict[tuple[str, str], list[tuple[str, str]]]  # (source, its one right translation) by direction

WHAT_NEXT = """\
Open it in a browser. Then try:
   pellucid explain {model} "I like cats" --to es
   echo 'The boat is near the bank' | pellucid translate {model} --to hi
   The notes draw the mask over "The cat sat on mat". It is no translation here, but --target
   takes any text: the page shows how probable each of its words is, and where each looks.
   pellucid explain demo "je suis étudiant" --to en --target "The cat sat on mat" --html cat.html"""


def configuration(out: Path) -> Config:
    """Return the demo's configuration for a training run in the folder `out`, which reads the phrasebook's
    files in `out`/data."""
    names = [f"{source}-{target}" for source, target in phrasebook.DIRECTIONS]
    overrides = {
        f"data.{part}": [[str((out / DATA / f"{part}.{name}.tsv").resolve())] for name in names]
        for part in ("train", "validation")
    }
    languages = {"data.languages": [list(direction) for direction in phrasebook.DIRECTIONS]}
    return read(Path(str(files("pellucid"))) / "demo.toml", overrides | languages)


def held_out(out: Path) -> Sentences:
    """Return the held-out sentences, which are never used for training, with their translations."""
    pairs: Sentences = {}
    for source, target in phrasebook.DIRECTIONS:
        lines = (out / DATA / f"held-out.{source}-{target}.tsv").read_text("utf-8").split("\n")
        pairs[source, target] = [(row[0], row[1]) for row in (line.split("\t") for line in lines if line)]
    return pairs


def plain(text: str) -> str:
    """Normalise a text for a comparison that ignores Unicode form, case and final punctuation."""
    return unicodedata.normalize("NFC", text).casefold().strip(" .?¿।")


def run(out: Path, train: bool, say: Callable[[str], None]) -> None:
    """Run the demo in the folder `out`: train (unless `train` is False), translate, and write an HTML page.
    say: a function that prints a line."""
    config, page, number = configuration(out), out / PAGE, itertools.count(1)
    # Before anything is written: no file of anyone else is in the way.
    refuse_foreign([page, out / MOVIE])
    if train:
        refuse_taken(out / MODEL)
    say(f"{next(number)}. The phrasebook: sentences a grammar makes in English, French, Spanish and Hindi.")
    phrasebook.write(out / DATA)
    sentences = held_out(out)
    total = sum(map(len, sentences.values()))
    say(f"   {total:,} sentences are held out: no training sees them. They are in {out / DATA}.")
    translators = {"packaged model": load("demo")}
    if train:
        say(f"{next(number)}. {training_line(newest_step(out / MODEL), config, out)}")
        translators = {"newly trained model": load(train_model(config, out)), **translators}
    say(f"{next(number)}. Held-out sentences, exactly right (case and final punctuation apart):")
    for name, translator in translators.items():
        say(f"   {name}: {score_line(translator, sentences)}")
    translator = next(iter(translators.values()))
    say(f"{next(number)}. The notes' sentences:")
    for phrase in phrasebook.NOTES:
        text = translator.translate(phrase.source, to=phrase.target_language).text
        right = plain(text) == plain(phrase.target)
        verdict = "" if right else f"   (should be: {phrase.target})"
        say(f"   {phrase.source_language} {phrase.source}  →  {phrase.target_language} {text}{verdict}")
    text, to = EXPLAINED
    translator.explain(text, to=to).to_html(page)
    say(f'{next(number)}. The page that shows every matrix of "{text}": {page.resolve()}')
    if train:
        movie(out / MODEL, text, to).to_html(out / MOVIE)
        say(f"{next(number)}. How the training learned it, with a slider: {(out / MOVIE).resolve()}")
    for line in WHAT_NEXT.format(model=shlex.quote(str(out / MODEL) if train else "demo")).split("\n"):
        say(line)


def training_line(step: int | None, config: Config, out: Path) -> str:
    """Return a line that says whether the training starts, continues, or has already finished."""
    if step is None:
        return "Training a Transformer on the rest, from random numbers."
    if step < config.training.steps:
        return f"Going on with the training in {out / MODEL}, from step {step:,}."
    return (
        f"The model was trained before: {out / MODEL} is used as it is. To train anew, choose another --out."
    )


def score_line(translator: Translator, sentences: Sentences) -> str:
    """Return a line that counts exactly right translations in each direction: "en→hi 249/250 (99.6%), …"."""
    counts = []
    for (source, target), pairs in sentences.items():
        translations = translator.translate([text for text, _ in pairs], to=target)
        texts = [plain(translation.text) for translation in translations]
        share = exactly_right(texts, [[plain(right) for _, right in pairs]]) / 100
        counts.append(f"{source}→{target} {round(share * len(pairs))}/{len(pairs)} ({share:.1%})")
    return ", ".join(counts)


def train_model(config: Config, out: Path) -> Path:
    """Train the demo model in `out`, or continue its training; return the model's folder."""
    model, training = out / MODEL, config.training
    at_the_end = (newest_step(model) or 0) >= training.steps and read(
        model / "config.toml"
    ).training == training
    if not at_the_end or not is_sealed(model / "averaged" if training.average else model):
        train(config, model, resume=True)
    return model
