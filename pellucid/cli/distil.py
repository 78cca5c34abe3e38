"""pellucid distil: a small, fast student that learns from what a teacher says (Kim and Rush 2016).

Each stage leaves its result in the student's folder, from which --resume goes on: said.txt, what the teacher
says, with scores; train.tsv and heldout.tsv, what is kept of it; the training's files; distilled.json.
"""

import argparse
import json
import math
import re
import shlex
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from pellucid.cli.arguments import CHOSEN
from pellucid.cli.bulk import check_source, settings_of, translate_file
from pellucid.cli.lines import put, sides, tell
from pellucid.config.toml_file import check_accepted, from_table, override, read
from pellucid.data.corpus import fingerprint, read_lines, read_rows
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.whole_file import write_new, write_whole
from pellucid.search.options import TranslationOptions, check_values

if TYPE_CHECKING:
    from pellucid.translate.translation import Translation
    from pellucid.translator import Translator

BEGUN, SAID, TRAIN, HELD_OUT = "teacher.json", "said.txt", "train.tsv", "heldout.tsv"
RESULT = "distilled.json"
DROPPED = 0.05  # of the translations, those with the lowest scores
COMPARED = 500  # sentences that are held out to compare, at most a twentieth of all
ROUNDS = 3  # in which both translate, in turn, to compare their speed
# The encoder works once for a sentence, the decoder for each word (Kasai et al. 2021). What a teacher says is
# regular, so that the best next word leads to nearly the best sentence, without a beam.
STUDENT = {"model.encoder_layers": 6, "model.decoder_layers": 2, "translation.beam": 1}


def run(arguments: argparse.Namespace) -> None:
    """Let the teacher translate, keep what is good, train the student, and print how the two compare."""
    from pellucid.learning.stop import Interrupted, stop_on_signal

    check_values({"beam": arguments.beam})
    check_accepted(arguments.accept)
    check_source(arguments.source)
    _check_settings(_settings(arguments))
    out, text = arguments.out, list[list[str]]()
    if arguments.test is not None or arguments.reference is not None:
        text = sides(argparse.Namespace(data=None, **vars(arguments)), "test", "reference")
        if not text[0]:
            raise PellucidError(f"{arguments.test} is empty, so there is nothing to compare with.")
    asked = {name: getattr(arguments, name) for name in ("model", "source", "to", "beam", "bad_utf8")}
    asked["device"] = "cpu" if arguments.precision == "int8" else arguments.device
    how = dict(precision=arguments.precision, json=False, n_best=None, mbr=None, out=out / SAID, resume=True)
    inner = argparse.Namespace(**asked, **how)
    learned = _begin(inner, out, arguments.resume)
    if not (out / SAID).exists():
        tell("The teacher translates.")
        options = dict.fromkeys(TranslationOptions.__annotations__) | {"beam": arguments.beam}
        translate_file(inner, options, _rows)
    if not (out / TRAIN).exists():
        _select(out, text[0] if text else [])
    elif text:
        _check_new(text[0], out / TRAIN)
    with stop_on_signal() as stop:
        _train(arguments, out, learned)
    if stop.number is not None:
        raise Interrupted(f"stopped by {stop.name}; the student in {out} is trained.", stop.number)
    _compare(inner, text, out)


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the student that the command names."""
    limit = {} if arguments.minutes is None else {"training.minutes": arguments.minutes}
    return limit | dict(arguments.settings)


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Raise an error if one of them is wrong, before the teacher's work."""
    table: dict[str, Any] = {}
    if "data.train" in settings:
        raise UsageError("distil: a student learns what its teacher says. Leave --set data.train out.")
    override(table, {**STUDENT, **settings}, "distil")
    if from_table(table, where="distil").training.start_from is not None:
        raise UsageError("distil: a student starts from the beginning. Leave training.start_from out.")


def _begin(asked: argparse.Namespace, out: Path, resume: bool) -> dict[str, Any]:
    """Write down what the student is made of, and return settings of the teacher that it takes over. Raise an
    error if the folder has another student, or one to go on with."""
    from pellucid.folder.checkpoint import newest_step
    from pellucid.learning.claim import refuse_taken
    from pellucid.text.preparation import stays_tokenised
    from pellucid.translator import load

    settings = settings_of(asked)
    made_of = {name: settings[name] for name in ("model", "to", "beam", "precision", "bad_utf8")}
    made_of["source"] = [*fingerprint([[asked.source]]).values()]
    begun = json.dumps(made_of, indent=1).encode()
    if (out / BEGUN).exists():
        if not resume:
            raise UsageError(f"{out / BEGUN} already exists. Go on with --resume, or choose another --out.")
        if (out / BEGUN).read_bytes() != begun:
            raise UsageError(
                f"{out} was begun with another teacher, text or option, as {BEGUN} says. Call the "
                "command as then, or choose another --out."
            )
    elif newest_step(out) is not None:
        raise UsageError(f"{out} holds a training that no `distil` began. Choose another --out.")
    else:
        for path in (out / name for name in (SAID, TRAIN, HELD_OUT, CHOSEN, RESULT)):
            if path.exists():
                raise UsageError(f"{path} already exists, and no `distil` wrote it. Choose another --out.")
    refuse_taken(out)
    vocabulary = load(asked.model, asked.device, asked.precision).vocabulary
    to, learned = vocabulary.target_language(asked.to), dict[str, Any]()
    if to is not None:
        learned["data.languages"] = [next([*pair] for pair in vocabulary.languages if pair[1] == to)]
    if not stays_tokenised(vocabulary.preparation):  # else what it says is prepared already
        learned["data.preparation"] = vocabulary.preparation
    write_new(out, {BEGUN: begun})
    return learned


def _rows(translator: "Translator", number: int, translation: "Translation", _: Any) -> Iterable[str]:
    """Return a line of said.txt: score, tab, source, tab, translation. A doubtful one has the score -inf."""
    is_good = translation.text.strip() and not translation.doubts
    both = (re.sub("[\t\n]", " ", text) for text in (translation.source, translation.text))
    return ["\t".join([f"{translation.score if is_good else -math.inf:.4f}", *both])]


def _select(out: Path, new: list[str]) -> None:
    """Write the pairs to learn from, and those to compare with, which the student never sees. Left out are
    doubtful ones, those with the lowest scores, and all but the first of a source. new: sources of a test."""
    import numpy as np

    from pellucid.data.sifting import hold_out, source_hash

    rows = [line.decode().split("\t") for line in read_lines(str(out / SAID))]
    scores = np.array([float(score) for score, _, _ in rows])
    sources = np.array([source_hash(source) for _, source, _ in rows], np.uint64)
    good = np.isfinite(scores)
    if not good.any():
        remedy = "Translate some lines with the teacher, and look whether the language is right (--to)."
        raise PellucidError(f"{out / SAID}: all translations are empty, cut or unfinished. {remedy}")
    good &= scores >= np.quantile(scores[good], DROPPED)
    first = np.zeros(len(rows), np.bool)
    first[np.unique(sources, return_index=True)[1]] = True
    good &= first & ~np.isin(sources, np.array([source_hash(text) for text in new], np.uint64))
    if good.sum() < 2:
        few = f"of {len(rows):,} translations only {good.sum()} can be kept, too few to learn from"
        raise PellucidError(f"{out / SAID}: {few}. Give the teacher more text (--source).")
    held_out = hold_out(sources * good, max(1, min(COMPARED, int(good.sum()) // 20)))
    for name, kept in ((HELD_OUT, held_out), (TRAIN, good & ~held_out)):  # train.tsv says that both are there
        lines = [f"{rows[row][1]}\t{rows[row][2]}\n" for row in np.flatnonzero(kept)]
        write_whole(out / name, "".join(lines).encode())
    tell(f"{len(lines):,} of {len(rows):,} translations are kept to learn from.")


def _check_new(test: list[str], learned: Path) -> None:
    """Raise an error if the student learns from sources of the test, which another call has named."""
    from pellucid.data.sifting import source_hash

    known = {source_hash(source.decode()) for source, _ in read_rows([str(learned)])}
    if count := sum(source_hash(text) in known for text in test):
        raise UsageError(
            f"{count:,} of the {len(test):,} sentences of --test are among those that the student learns "
            f"from ({learned}). Test it with others, or begin anew with another --out."
        )


def _train(arguments: argparse.Namespace, out: Path, learned: Mapping[str, Any]) -> None:
    """Train the student, or go on with it, with settings that are chosen for its text."""
    from pellucid.learning.choosing import choose_settings
    from pellucid.learning.run import train

    settings, path, files = _settings(arguments), out / CHOSEN, [str(out / TRAIN)]
    if path.exists():
        config = read(path, {"data.train": [files]} | settings)
    else:
        wanted = {**STUDENT, **learned, **settings}
        config, chosen = choose_settings(files, wanted, arguments.device, out, tell, None)
        write_new(out, {CHOSEN: chosen.encode()})
    train(config, out, resume=True, accept=arguments.accept, device=arguments.device)


def _compare(asked: argparse.Namespace, text: list[list[str]], out: Path) -> None:
    """Let both translate in turn, and print chrF, speed, size and a verdict. text: sources with translations
    by people; without it, the student is compared with what the teacher says of held-out sources."""
    from pellucid.folder.manifest import jsonable
    from pellucid.translate.evaluate import evaluate
    from pellucid.translator import load

    paths = {"teacher": asked.model, "student": [out]}
    models = {name: load(path, asked.device, asked.precision) for name, path in paths.items()}
    held_out = zip(*read_rows([str(out / HELD_OUT)]), strict=True)
    sources, *references = text or [[line.decode() for line in side] for side in held_out]
    said, seconds = dict[str, list[str]](), {name: list[float]() for name in models}
    for _ in range(ROUNDS):
        for name, model in models.items():
            beam, began = asked.beam if name == "teacher" else None, time.perf_counter()
            said[name] = [each.text for each in model.translate_each(sources, asked.to, beam=beam)]
            seconds[name].append(time.perf_counter() - began)
    found: dict[str, dict[str, float]] = {}
    for name, model in models.items():
        scores, pace = evaluate(said[name], references), len(sources) / median(seconds[name])
        size = model.config.model.parameters * (len(asked.model) if name == "teacher" else 1)
        found[name] = dict(chrf=scores.chrf, bleu=scores.bleu, sentences_a_second=pace, parameters=size)
        shown = f"chrF {scores.chrf:.2f}, BLEU {scores.bleu:.2f}, {pace:,.1f} sentences a second"
        put([f"{name}: {shown}, {size / 1e6:.1f} million parameters"])
    theirs = found["teacher"]["chrf"]
    share = 100 * found["student"]["chrf"] / theirs if theirs else math.nan
    faster = median(slow / fast for slow, fast in zip(*seconds.values(), strict=True))
    result = {"sentences": len(sources), "precision": asked.precision, "chrf_share": share, "faster": faster}
    write_whole(out / RESULT, json.dumps(jsonable(result | found), indent=1).encode())
    by = "their translations by people" if text else "what the teacher said of them before"
    if math.isnan(share):
        tell("The teacher's chrF is 0: are the references in the language that it translates to?")
    put([f"So the student has {share:.1f}% of the teacher's chrF, and is {faster:.1f} times as fast."])
    tell(f"{len(sources):,} new sentences, against {by}; {asked.precision}, {ROUNDS} rounds in turn.")
    words = ["pellucid", "explain", str(out), "YOUR SENTENCE", *(["--to", asked.to] if asked.to else [])]
    words += ["--html", "page.html", "--beside", asked.model[0]]
    tell(f"To look into both: {shlex.join(words)}")
