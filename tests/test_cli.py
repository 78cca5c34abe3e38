"""The command line in this process: what each verb prints, and what it says when called wrongly."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import toy

from pellucid.cli import main
from pellucid.cli.arguments import setting

VERBS = ["data", "demo", "evaluate", "explain", "inspect", "score", "train", "translate"]


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def pellucid(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Runs a command line: pellucid("translate", "demo", stdin=b"…")."""

    def run(*argv: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "ascii"))
        try:
            code = main([str(argument) for argument in argv])
        except SystemExit as stop:  # argparse's own
            code = int(stop.code or 0)
        captured = capsysbinary.readouterr()
        return Outcome(code, captured.out.decode(), captured.err.decode())

    return run


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file of lines and returns its path."""

    def write(name: str, *lines: str) -> Path:
        path = tmp_path / name
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
        return path

    return write


# Help and errors


def test_without_a_verb_the_help(pellucid: Command) -> None:
    outcome = pellucid()
    assert outcome.code == 2 and outcome.out == ""
    assert all(f"    {verb} " in outcome.err for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_each_help_shows_an_example(pellucid: Command, verb: str) -> None:
    outcome = pellucid(verb, "--help")
    assert outcome.code == 0 and outcome.err == ""
    assert f"\n  pellucid {verb} " in outcome.out.partition("\nexample")[2]


def test_an_unknown_verb_or_argument_is_code_2(pellucid: Command) -> None:
    assert pellucid("transalte", "demo").code == 2
    assert pellucid("translate", "demo", "--bean", "3").code == 2
    assert pellucid("translate", "demo", "--beam", "three").code == 2
    assert pellucid("translate", "demo", "--bea", "3").code == 2, "abbreviations would bind us for ever"


def test_what_failed_is_one_line_and_code_1(pellucid: Command, tmp_path: Path) -> None:
    outcome = pellucid("translate", tmp_path, stdin=b"a b\n")
    assert outcome == (1, "", outcome.err)
    manifest = tmp_path / "MANIFEST.json"
    assert (
        outcome.err
        == f"pellucid: {manifest}: No such file or directory. This is not the folder of a model.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--beam", "0"], "beam = 0 must be a whole number, 1 or more."),
        (["--n-best", "3"], "n_best = 3 is more than beam = 2, the hypotheses that are kept."),
        (["--min-length", "9", "--max-length", "5"], "min_length = 9 is more than max_length = 5."),
        (["--sample", "--temperature", "0"], "temperature = 0.0 must be a number above 0."),
        (["--top-k", "3"], "top_k = 3 needs sample=True."),
        (["--to", "de"], "the model does not name its languages, so it takes no 'de'. Leave it out."),
        (["--precision", "int8"], "precision = 'int8' is not one of auto, fp32, bf16."),
        (["--device", "abacus"], 'device = "abacus": '),
    ],
)
def test_wrong_options_are_code_2_before_any_line_is_read(
    pellucid: Command, toy_model: Path, arguments: list[str], message: str
) -> None:
    outcome = pellucid("translate", toy_model, *arguments)
    assert outcome.code == 2 and outcome.out == ""
    assert outcome.err.startswith(f"pellucid: {message}"), outcome.err


def test_an_interruption_is_code_130(pellucid: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pellucid.data.catalog.fetch", interrupted)
    assert pellucid("data", "multi30k-en-de") == (130, "", "pellucid: interrupted.\n")


# translate


def test_one_line_out_for_every_line_in(pellucid: Command, toy_model: Path) -> None:
    lines = ["a b c", "", "   ", "d\u2028e f", "g\u0085h i", "j\rk", "l m\r", "n o"]
    outcome = pellucid("translate", toy_model, stdin="\n".join(lines).encode())
    assert outcome.code == 0 and outcome.err == ""
    translations = outcome.out.split("\n")
    assert len(translations) == len(lines) + 1 and translations[-1] == ""
    assert [not line.strip() for line in lines] == [line == "" for line in translations[:-1]]


def test_nothing_in_is_nothing_out(pellucid: Command, toy_model: Path) -> None:
    assert pellucid("translate", toy_model) == (0, "", "")
    assert pellucid("translate", toy_model, stdin=b"\n") == (0, "\n", "")


def test_a_byte_order_mark_and_crlf_change_nothing(pellucid: Command, toy_model: Path) -> None:
    plain = pellucid("translate", toy_model, stdin=b"a b c\nd e f\n")
    assert pellucid("translate", toy_model, stdin=b"\xef\xbb\xbfa b c\r\nd e f\r\n") == plain


def test_n_best_lines_count_from_zero(pellucid: Command, toy_model: Path) -> None:
    outcome = pellucid("translate", toy_model, "--beam", 3, "--n-best", 2, stdin=b"a b c\n\nd e f\n")
    rows = [line.split(" ||| ") for line in outcome.out.splitlines()]
    assert [row[0] for row in rows] == ["0", "0", "1", "2", "2"]
    assert rows[2] == ["1", "", "0.000000"]
    assert float(rows[0][2]) >= float(rows[1][2])


def test_options_reach_the_search(pellucid: Command, toy_model: Path) -> None:
    prefixed = pellucid("translate", toy_model, "--prefix", "p p", stdin=b"a b c\n").out
    assert prefixed.startswith("p p")
    short = pellucid("translate", toy_model, "--max-length", 2, stdin=b"a b c d e\n").out
    assert len(short.split()) <= 2
    drawn = [
        pellucid("translate", toy_model, "--sample", "--temperature", 3.0, "--seed", seed, stdin=b"a b c\n")
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_line_that_is_not_utf8_stops_with_its_number(pellucid: Command, toy_model: Path) -> None:
    stdin = b"a\n" * 6 + b"b \xff c\n" + b"d\n"
    outcome = pellucid("translate", toy_model, stdin=stdin)
    assert outcome.code == 1
    assert outcome.out.count("\n") == 6, "the lines before it are translated"
    assert outcome.err == (
        "pellucid: standard input:7: not UTF-8: byte 0xff at position 3 of the line. Mend the line, or give "
        "--bad-utf8 replace (U+FFFD for it) or skip (an empty line).\n"
    )


def test_a_line_that_is_not_utf8_may_be_skipped_or_mended(pellucid: Command, toy_model: Path) -> None:
    stdin = b"a b\nb \xff c\nd e\n"
    skipped = pellucid("translate", toy_model, "--bad-utf8", "skip", stdin=stdin)
    assert skipped.code == 0 and skipped.out.split("\n")[1] == "" and skipped.out.count("\n") == 3
    mended = pellucid("translate", toy_model, "--bad-utf8", "replace", stdin=stdin)
    assert mended == pellucid("translate", toy_model, stdin="a b\nb \ufffd c\nd e\n".encode())


def test_a_million_characters_are_cut_and_it_says_so(pellucid: Command, toy_model: Path) -> None:
    stdin = b"\n" * 70_000 + b"c " * 500_000 + b"\na b\n"
    outcome = pellucid("translate", toy_model, "--beam", 1, "--max-length", 2, stdin=stdin)
    assert outcome.code == 0 and outcome.out.count("\n") == 70_002
    assert outcome.err == (
        "pellucid: warning: standard input:70001: too long, only its beginning was translated. "
        "Split it into sentences.\n"
    )


# evaluate and score


def test_evaluate_prints_both_scores_with_signatures(
    pellucid: Command, toy_model: Path, files: Callable[..., Path]
) -> None:
    sources = ["a b c", "d e f g", "h i j k l"]
    said = pellucid("translate", toy_model, stdin="\n".join(sources).encode()).out.splitlines()
    source, reference = files("source", *sources), files("reference", *said)
    outcome = pellucid("evaluate", toy_model, "--source", source, "--reference", reference, "--json")
    bleu, chrf, figures = outcome.out.splitlines()
    assert outcome.code == 0 and outcome.err == ""
    assert bleu.startswith("BLEU 100.00 (nrefs:1|case:mixed|") and "|tok:13a|" in bleu
    assert chrf.startswith("chrF 100.00 (nrefs:1|case:mixed|")
    assert json.loads(figures)["bleu"] == pytest.approx(100) and json.loads(figures)["sentences"] == 3
    how = "--lowercase", "--tokenize", "none"
    upper = files("upper", *(line.upper() for line in said))
    outcome = pellucid("evaluate", toy_model, "--source", source, "--reference", upper, *how)
    assert outcome.out.startswith("BLEU 100.00 (nrefs:1|case:lc|") and "|tok:none|" in outcome.out


def test_evaluate_says_which_file_is_wrong(
    pellucid: Command, toy_model: Path, files: Callable[..., Path]
) -> None:
    two, three = files("two", "a", "b"), files("three", "a", "b", "c")
    outcome = pellucid("evaluate", toy_model, "--source", two, "--reference", three)
    assert outcome == (
        1,
        "",
        f"pellucid: {two} has 2 lines and {three} has 3: line by line they must belong together. "
        "Look for a lost or an added line feed.\n",
    )
    outcome = pellucid("evaluate", toy_model, "--source", two, "--reference", "nowhere")
    assert outcome.code == 1 and outcome.err.startswith("pellucid: nowhere: no such file.")
    outcome = pellucid("evaluate", toy_model, "--source", two, "--reference", two, "--tokenize", "fast")
    assert outcome.code == 2 and "'fast' is not one of 13a, none" in outcome.err


def test_score_gives_a_total_a_line(pellucid: Command, toy_model: Path, files: Callable[..., Path]) -> None:
    source, target = files("source", "a b c", "d e", ""), files("target", "c b a", "p p p p", "")
    totals = pellucid("score", toy_model, "--source", source, "--target", target)
    assert totals.code == 0 and totals.err == ""
    first, second, empty = map(float, totals.out.splitlines())
    assert second < first < 0.0 == empty
    details = pellucid("score", toy_model, "--source", source, "--target", target, "--per-token").out
    table = json.loads(details.splitlines()[0])
    assert table["tokens"] == ["c", "b", "a", "</s>"]
    assert sum(table["per_token"]) == pytest.approx(first, abs=1e-5)


def test_score_reads_gzip(pellucid: Command, toy_model: Path, files: Callable[..., Path]) -> None:
    source, target = files("source", "a b c"), files("target", "c b a")
    packed = source.with_name("source.gz")
    packed.write_bytes(gzip.compress(source.read_bytes()))
    whole = pellucid("score", toy_model, "--source", packed, "--target", target)
    assert whole == pellucid("score", toy_model, "--source", source, "--target", target)
    packed.write_bytes(packed.read_bytes()[:-9])
    outcome = pellucid("score", toy_model, "--source", packed, "--target", target)
    assert outcome.code == 1 and f"{packed}: damaged or cut short" in outcome.err


# explain and inspect


def test_explain_prints_the_steps_and_writes_what_is_asked(
    pellucid: Command, toy_model: Path, tmp_path: Path
) -> None:
    numbers, steps = tmp_path / "all.npz", tmp_path / "steps.json"
    arguments = ["a b c", "--target", "c b a", "--npz", numbers, "--json", steps]
    outcome = pellucid("explain", toy_model, *arguments)
    assert outcome.code == 0 and "cross_attention" in outcome.out
    assert outcome.err == f"written: {steps}\nwritten: {numbers}\n"
    assert [step["expected"] for step in json.loads(steps.read_text("utf-8"))["steps"]] == [
        "c",
        "b",
        "a",
        "</s>",
    ]


def test_a_missing_extra_is_one_line(
    pellucid: Command, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = pellucid("explain", toy_model, "a b c", "--png", tmp_path / "pictures")
    assert outcome.code == 1
    assert outcome.err == 'pellucid: a plot needs matplotlib. Run: pip install "pellucid[plot]"\n'


def test_inspect_says_what_a_folder_is(pellucid: Command, toy_model: Path) -> None:
    outcome = pellucid("inspect", toy_model)
    assert outcome.code == 0 and outcome.err == ""
    assert f"{toy_model}: a model; the hashes of its 3 files are right\n" in outcome.out
    assert "  20 tokens (word), one for both sides\n" in outcome.out
    assert "  decoder.layers.{l}.cross_attention  8,448\n" in outcome.out
    assert "  decoder.layers.{l}.cross_attention.weights        BHLM\n" in outcome.out
    assert "  steps: 120\n" in outcome.out and "  width = 32\n" in outcome.out


def test_inspect_names_every_traced_tensor(pellucid: Command, toy_model: Path) -> None:
    lines = pellucid("inspect", toy_model, "--tensors").out.splitlines()
    assert "encoder.layers.1.self_attention.weights\tBHLM" in lines
    assert lines[-1] == "decoder.probabilities\tBLV"


# data and train


def test_data_lists_what_there_is(pellucid: Command, tmp_path: Path) -> None:
    outcome = pellucid("data", "--list")
    assert outcome.code == 0 and "multi30k-en-de\n" in outcome.out and "licence: " in outcome.out
    assert pellucid("data").code == 2
    outcome = pellucid("data", "multi30k-en-xx")
    assert outcome.code == 2 and "there is no corpus 'multi30k-en-xx'" in outcome.err
    outcome = pellucid("data", "multi30k-en-de", "--out", tmp_path / "out", "--mirror", tmp_path)
    assert outcome.code == 1 and "the mirror does not have this file" in outcome.err


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("training.steps=500", ("training.steps", 500)),
        ("training.minutes = 1.5", ("training.minutes", 1.5)),
        ("model.tied=false", ("model.tied", False)),
        ("model.preset=small", ("model.preset", "small")),
        ('model.preset="small"', ("model.preset", "small")),
        ('data.languages=["en", "de"]', ("data.languages", ["en", "de"])),
        ("training.start_from=runs/my model", ("training.start_from", "runs/my model")),
        ("data.licence=1\nx = 2", ("data.licence", "1\nx = 2")),
        ("data.licence=a=b", ("data.licence", "a=b")),
    ],
)
def test_settings(argument: str, expected: object) -> None:
    assert setting(argument) == expected


def test_train_makes_a_model_and_says_what_to_try(
    pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = toy.write(tmp_path / "données हिन्दी")
    monkeypatch.chdir(tmp_path)
    outcome = pellucid("train", config, "--set", "training.steps=4", "--set", "training.validate_every=2")
    assert outcome.code == 0 and outcome.out == ""
    assert "step 1/4  loss " in outcome.err and "validation at step 4: loss " in outcome.err
    out = Path("runs/toy")
    assert f"The model is in {out}. To try it:\n" in outcome.err
    first = (config.parent / "validation.source").read_text().split("\n")[0]
    assert f"  echo '{first}' | pellucid translate {out}\n" in outcome.err
    assert pellucid("translate", out, stdin=b"a b\n").code == 0
    again = pellucid("train", config, "--set", "training.steps=4")
    assert again.code == 2 and "Go on with --resume, or choose another --out." in again.err


def test_train_refuses_what_it_does_not_know(pellucid: Command, tmp_path: Path) -> None:
    config = toy.write(tmp_path)
    outcome = pellucid("train", config, "--set", "training.stepps=4")
    assert outcome == (
        2,
        "",
        f'pellucid: {config}: [training] has no setting "stepps". Did you mean "steps"?\n',
    )
    assert pellucid("train", config, "--set", "steps").code == 2
    outcome = pellucid("train", tmp_path / "nothing.toml")
    assert outcome.code == 2 and "no such file" in outcome.err
