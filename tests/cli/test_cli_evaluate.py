"""`pellucid evaluate` and `score`: what they read, and how the model translates for them."""

import gzip
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import sacrebleu
import toy
from command import Command

import pellucid as package

Files = Callable[..., Path]
NUMBERS = random.Random(5)
SOURCES = [" ".join(NUMBERS.choices(toy.LETTERS, k=NUMBERS.randint(8, 14))) for _ in range(30)]
STDIN = "".join(f"{line}\n" for line in SOURCES).encode()


@pytest.mark.parametrize(
    ("option", "values"), [("--beam", (1, 8)), ("--length-penalty", (0, 10)), ("--max-length", (5, 40))]
)
def test_the_model_translates_as_the_options_say(
    pellucid: Command, toy_model: Path, files: Files, option: str, values: tuple[int, int]
) -> None:
    said = {
        value: pellucid("translate", toy_model, option, value, stdin=STDIN).out.splitlines()
        for value in values
    }
    assert said[values[0]] != said[values[1]], "lines that tell the values apart"
    source = files("source", *SOURCES)
    for value, lines in said.items():
        evaluate = "evaluate", toy_model, "--source", source, "--reference", files("said", *lines), option
        right, wrong = (pellucid(*evaluate, each).out.split()[1] for each in (value, sum(values) - value))
        assert right == "100.00" != wrong


@pytest.mark.parametrize("name", ["test.tsv", "test.tsv.gz"])
def test_both_sides_may_be_in_one_file(pellucid: Command, toy_model: Path, files: Files, name: str) -> None:
    targets = [toy.reverse(line) for line in SOURCES]
    source, target = files("source", *SOURCES), files("target", *targets)
    rows = [f"{source}\t{target}" for source, target in zip(SOURCES, targets, strict=True)]
    table = files(name, "\ufeff" + rows[0], *rows[1:])
    if name.endswith("gz"):
        table.write_bytes(gzip.compress(table.read_bytes()))
    apart = pellucid("evaluate", toy_model, "--source", source, "--reference", target)
    together = pellucid("evaluate", toy_model, "--data", table)
    assert together.code == 0 and together.out == apart.out
    apart = pellucid("score", toy_model, "--source", source, "--target", target)
    assert apart.code == 0 and pellucid("score", toy_model, "--data", table) == apart


def test_evaluate_prints_its_scores_with_signatures(pellucid: Command, toy_model: Path, files: Files) -> None:
    sources = ["a b c", "d e f g", "h i j k l"]
    said = pellucid("translate", toy_model, stdin="\n".join(sources).encode()).out.splitlines()
    source, reference = files("source", *sources), files("reference", *said)
    outcome = pellucid("evaluate", toy_model, "--source", source, "--reference", reference, "--json")
    bleu, chrf, exact, figures = outcome.out.splitlines()
    assert outcome.code == 0 and outcome.err == ""
    assert bleu.startswith("BLEU 100.00 (nrefs:1|case:mixed|") and "|tok:13a|" in bleu
    assert chrf.startswith("chrF 100.00 (nrefs:1|case:mixed|")
    assert exact == "exact 100.00 (3 of 3)"
    table = json.loads(figures)
    assert (table["bleu"], table["sentences"], table["exact"]) == (pytest.approx(100), 3, 100.0)
    how = "--lowercase", "--tokenize", "none"
    upper = files("upper", *(line.upper() for line in said))
    outcome = pellucid("evaluate", toy_model, "--source", source, "--reference", upper, *how)
    assert outcome.out.startswith("BLEU 100.00 (nrefs:1|case:lc|") and "|tok:none|" in outcome.out


def test_the_worst_sentences_are_shown(pellucid: Command, toy_model: Path, files: Files) -> None:
    sources = ["a b c", "d e f", "g h i", "a b"]
    said = pellucid("translate", toy_model, stdin="\n".join(sources).encode()).out.splitlines()
    wrong = [said[0], "o o o o o", f"{said[2]} o", said[3].upper()]
    source, reference = files("source", *sources), files("reference", *wrong)
    evaluate = "evaluate", toy_model, "--source", source, "--reference", reference
    lines = pellucid(*evaluate, "--worst", 3, "--lowercase").out.splitlines()[3:]
    measured = package.load(toy_model, "cpu").translate(sources, source_share=True)
    assert lines[:4] == [
        f"line 2: chrF 0.0, source share {measured[1].source_share:.2f}",
        "  source       d e f",
        f"  translation  {said[1]}",
        "  reference    o o o o o",
    ]
    score = sacrebleu.sentence_chrf(said[2], [wrong[2]]).score
    assert lines[4].startswith(f"line 3: chrF {score:.1f}, source share ") and len(lines) == 12
    assert ": chrF 100.0, source share " in lines[8]
    several = "--reference", files("other", "a", "d", "g", "b")
    worst = pellucid("evaluate", "--hypothesis", reference, *evaluate[4:], *several, "--worst", 1).out
    assert worst.splitlines()[3:] == [
        "line 1: chrF 100.0",
        f"  translation  {wrong[0]}",
        f"  reference 1  {wrong[0]}",
        "  reference 2  a",
    ]


def test_evaluate_says_what_bleu_is_worth_for_short_references(
    pellucid: Command, toy_model: Path, files: Files
) -> None:
    source, reference = files("source", "a b", "c d"), files("reference", "b a", "d c")
    outcome = pellucid("evaluate", toy_model, "--source", source, "--reference", reference)
    assert outcome.code == 0 and outcome.out.splitlines()[2].startswith("exact ")
    assert outcome.err.startswith("note: ") and "2 of 2 references have fewer than four" in outcome.err


def test_score_gives_a_total_a_line(pellucid: Command, toy_model: Path, files: Files) -> None:
    source, target = files("source", "a b c", "d e", ""), files("target", "c b a", "p p p p", "")
    totals = pellucid("score", toy_model, "--source", source, "--target", target)
    assert totals.code == 0 and totals.err == ""
    first, second, empty = map(float, totals.out.splitlines())
    assert second < first < 0.0 == empty
    details = pellucid("score", toy_model, "--source", source, "--target", target, "--per-token").out
    table = json.loads(details.splitlines()[0])
    assert table["tokens"] == ["c", "b", "a", "</s>"]
    assert sum(table["per_token"]) == pytest.approx(first, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("MODEL", "give the text to read: --source and --reference, or --data with both sides in one file."),
        ("MODEL --data a.tsv --source a --reference b", "--data a.tsv holds both sides. Leave --source and "),
        ("--source a --reference b", "error: one of the arguments MODEL --hypothesis is required"),
        ("--hypothesis a", "give the text to read: --hypothesis and --reference."),
        ("MODEL --hypothesis a --reference b", "argument --hypothesis: not allowed with argument MODEL"),
    ],
)
def test_what_does_not_go_together(pellucid: Command, toy_model: Path, arguments: str, message: str) -> None:
    outcome = pellucid("evaluate", *arguments.replace("MODEL", str(toy_model)).split())
    assert outcome.code == 2 and message in outcome.err


def test_translations_that_are_there_already(pellucid: Command, files: Files) -> None:
    said = files("said", "the cat sat on the mat", "two dogs run in the park")
    one = files("one", "the cat sat on a mat", "two dogs are in the park")
    other = files("other", "the cat sat on the mat", "two dogs run in a park")
    outcome = pellucid("evaluate", "--hypothesis", said, "--reference", said)
    assert outcome.code == 0 and outcome.out.startswith("BLEU 100.00 (nrefs:1|") and outcome.err == ""
    single, both = (
        pellucid("evaluate", "--hypothesis", said, "--reference", one, *more).out
        for more in ([], ["--reference", other])
    )
    assert both.startswith("BLEU ") and "(nrefs:2|" in both
    assert float(single.split()[1]) < float(both.split()[1])
    short = files("short", "a")
    outcome = pellucid("evaluate", "--hypothesis", said, "--reference", one, "--reference", short)
    assert outcome.code == 1 and f"said has 2 lines and {short} has 1: line by" in outcome.err


def test_unknown_words_are_said(pellucid: Command, files: Files) -> None:
    source = files("source", "I like cats", "I like catts")
    reference = files("reference", "Me gustan los gatos", "Me gustan los gatos")
    outcome = pellucid("evaluate", "demo", "--to", "es", "--source", source, "--reference", reference)
    assert outcome.err.startswith(f"pellucid: warning: {source}:2: the model has no word 'catts'. Near it: ")


def test_several_models_are_an_ensemble(pellucid: Command, toy_model: Path, files: Files) -> None:
    models, lines = [toy_model, toy_model / "last"], ("--source", files("source", *SOURCES))
    said = pellucid("translate", *models, stdin=STDIN).out.splitlines()
    outcome = pellucid("evaluate", *models, *lines, "--reference", files("said", *said))
    assert outcome.code == 0 and outcome.out.startswith("BLEU 100.00")
    scores = pellucid("score", *models, *lines, "--target", files("said", *said))
    assert scores.code == 0 and scores.out.count("\n") == len(SOURCES)


def test_files_that_are_wrong(pellucid: Command, toy_model: Path, files: Files) -> None:
    two, three = files("two", "a", "b"), files("three", "a", "b", "c")
    table = files("t.tsv", "a b\tb a", "a b")
    as_data = f"{table}: a table of sources and targets. Give it as --data {table}, or"
    for first, second, code, message in (
        (two, three, 1, f"{two} has 2 lines and {three} has 3: line by line they must belong together, and "),
        (two, "nowhere", 1, "nowhere: no such file. Give the path of parallel text, as --source and "),
        (two, two.parent, 1, f"{two.parent}: this is a folder. Name a file."),
        (table, two, 2, as_data),
        ("two.jsonl.gz", two, 2, "two.jsonl.gz: a table of sources and targets."),
        (two, table, 2, as_data),
    ):
        for verb, option in (("evaluate", "--reference"), ("score", "--target")):
            outcome = pellucid(verb, toy_model, "--source", first, option, second)
            assert outcome.code == code and outcome.err.startswith(f"pellucid: {message}")
    outcome = pellucid("evaluate", toy_model, "--data", table)
    assert outcome.code == 1 and f"{table}:2: 1 column, but a line must have 2:" in outcome.err
    outcome = pellucid("evaluate", toy_model, "--source", two, "--reference", two, "--tokenize", "fast")
    assert outcome.code == 2 and "--tokenize fast is not one of 13a, none" in outcome.err
    (bad := files("bad")).write_bytes(b"a\n\xff\n")
    score = "score", toy_model, "--source", two, "--target"
    outcome = pellucid(*score, bad)
    assert outcome.code == 1 and outcome.err.startswith(f"pellucid: {bad}:2: not UTF-8: byte 0xff at ")
    assert pellucid(*score, bad, "--bad-utf8", "skip") == pellucid(*score, files("empty", "a", ""))


def test_the_note_on_short_references_counts_tokens_as_bleu_does(pellucid: Command, files: Files) -> None:
    lines = files("short", "我喜欢小猫")
    for tokenize, is_short in (("13a", True), ("zh", False)):
        compared = pellucid("evaluate", "--hypothesis", lines, "--reference", lines, "--tokenize", tokenize)
        assert compared.code == 0 and ("note: BLEU" in compared.err) == is_short


def test_against_tells_whether_it_is_chance(pellucid: Command, toy_model: Path, files: Files) -> None:
    source, right = files("source", *SOURCES), files("right", *map(toy.reverse, SOURCES))
    said = files("said", *pellucid("translate", toy_model, stdin=STDIN).out.splitlines())
    wrong = files("wrong", *SOURCES)
    evaluate = "evaluate", toy_model, "--source", source, "--reference", right
    outcome = pellucid(*evaluate, "--against", wrong, "--worst", 1, "--json")
    lines = outcome.out.splitlines()
    assert outcome.code == 0 and lines[4].split()[:5] == [
        "this",
        "other",
        "difference",
        "bootstrap",
        "randomisation",
    ]
    assert [line.split()[0] for line in lines[5:8]] == ["BLEU", "chrF2", "TER"]
    assert f"this: {toy_model}; other: {wrong}." in lines[8]
    figures = json.loads(lines[-1])
    bleu = figures["against"][0]
    assert bleu["metric"] == "BLEU" and bleu["score"] == pytest.approx(figures["bleu"])
    assert bleu["difference"] == pytest.approx(bleu["score"] - bleu["other"])
    changed = [line for line in lines if " against other, source share " in line]
    assert len(changed) == 1 and "  other        " in outcome.out and "  source       " in outcome.out
    # A model against its own translations, and those against the model, and the file against itself:
    for how in (
        [*evaluate, "--against", said],
        ["evaluate", "--hypothesis", said, *evaluate[2:], "--against", toy_model],
        ["evaluate", "--hypothesis", said, *evaluate[4:], "--against", said],
    ):
        rows = pellucid(*how).out.splitlines()[5:8]
        assert [row.split()[3:] for row in rows] == [
            ["+0.00", "1.0000", "1.0000", *["may", "be", "chance"]]
        ] * 3


def test_what_against_and_comet_need(pellucid: Command, files: Files) -> None:
    two, three = files("two", "a", "b"), files("three", "a", "b", "c")
    evaluate = "evaluate", "--hypothesis", two, "--reference", two
    for option, code, message in (
        (["--against", "nowhere"], 1, "--against nowhere: there is no such model folder, and no such file."),
        (
            ["--against", "demo"],
            2,
            "--against demo is a model, which needs sources. Give them with --source.",
        ),
        (["--against", three], 1, f"{three} has 3 lines, for 2 references. Give one for each."),
        (["--source", three], 1, f"{three} has 3 lines, for 2 references. Give one for each."),
        (["--comet", two], 2, "--comet looks at the sources too. Give them with --source."),
    ):
        outcome = pellucid(*evaluate, *option)
        assert (outcome.code, outcome.err) == (code, f"pellucid: {message}\n")


def test_comet_scores_where_it_is_installed(
    pellucid: Command, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, source, right = files("said", "a", "b"), files("source", "x", "y"), files("right", "a", "c")
    evaluate = "evaluate", "--hypothesis", said, "--source", source, "--reference", right, "--comet"
    monkeypatch.setitem(sys.modules, "comet", None)
    outcome = pellucid(*evaluate, said)
    assert outcome.code == 1 and outcome.err.endswith("another package: pip install unbabel-comet\n")
    seen: list[dict[str, str]] = []

    def predict(samples: list[dict[str, str]], **how: object) -> SimpleNamespace:
        seen.extend(samples)
        return SimpleNamespace(system_score=0.25)

    def load(path: str, local_files_only: bool) -> SimpleNamespace:
        assert path == str(said) and local_files_only
        return SimpleNamespace(predict=predict)

    monkeypatch.setitem(sys.modules, "comet", SimpleNamespace(load_from_checkpoint=load))
    outcome = pellucid(*evaluate, said, "--json")
    assert outcome.code == 0 and f"\nCOMET 0.2500 ({said}, the first reference)\n" in outcome.out
    assert seen == [{"src": "x", "mt": "a", "ref": "a"}, {"src": "y", "mt": "b", "ref": "c"}]
    assert json.loads(outcome.out.splitlines()[-1])["comet"] == 0.25
    assert "no such file of a COMET model" in pellucid(*evaluate, "nowhere").err
