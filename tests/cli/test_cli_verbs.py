"""The command line in this process: what each verb but `translate` prints and refuses."""

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import toy
from command import Command

from pellucid.cli.arguments import setting
from pellucid.cli.train import _next
from pellucid.config.schema import Config, DataConfig

# evaluate and score


def test_evaluate_prints_its_scores_with_signatures(
    pellucid: Command, toy_model: Path, files: Callable[..., Path]
) -> None:
    sources = ["a b c", "d e f g", "h i j k l"]
    said = pellucid("translate", toy_model, stdin="\n".join(sources).encode()).out.splitlines()
    source, reference = files("source", *sources), files("reference", *said)
    outcome = pellucid("evaluate", toy_model, "--source", source, "--reference", reference, "--json")
    bleu, chrf, exact, figures = outcome.out.splitlines()
    assert outcome.code == 0 and outcome.err == ""
    assert bleu.startswith("BLEU 100.00 (nrefs:1|case:mixed|") and "|tok:13a|" in bleu
    assert chrf.startswith("chrF 100.00 (nrefs:1|case:mixed|")
    assert exact == "exact 100.00 (3 of 3)"
    assert json.loads(figures)["bleu"] == pytest.approx(100) and json.loads(figures)["sentences"] == 3
    assert json.loads(figures)["exact"] == 100.0
    how = "--lowercase", "--tokenize", "none"
    upper = files("upper", *(line.upper() for line in said))
    outcome = pellucid("evaluate", toy_model, "--source", source, "--reference", upper, *how)
    assert outcome.out.startswith("BLEU 100.00 (nrefs:1|case:lc|") and "|tok:none|" in outcome.out


def test_evaluate_says_what_bleu_is_worth_for_short_references(
    pellucid: Command, toy_model: Path, files: Callable[..., Path]
) -> None:
    source, reference = files("source", "a b", "c d"), files("reference", "b a", "d c")
    outcome = pellucid("evaluate", toy_model, "--source", source, "--reference", reference)
    assert outcome.code == 0 and outcome.out.splitlines()[2].startswith("exact ")
    assert outcome.err == (
        "note: BLEU compares runs of four tokens, and 2 of 2 references have fewer than four: "
        "look at exact.\n"
    )


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
    outcome = pellucid("evaluate", toy_model, "--source", two, "--reference", two.parent)
    assert outcome.code == 1 and outcome.err.startswith(f"pellucid: {two.parent}: a folder. Give the path of")
    outcome = pellucid("evaluate", toy_model, "--source", two, "--reference", two, "--tokenize", "fast")
    assert outcome.code == 2 and "--tokenize fast is not one of 13a, none" in outcome.err


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


def test_an_empty_name_of_a_model_is_none(pellucid: Command) -> None:
    outcome = pellucid("explain", "", "a b c")
    assert outcome.code == 2
    assert outcome.err.endswith("error: argument MODEL: it is empty: name a model folder, or write demo\n")


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


# demo, data and train


def test_demo_takes_the_tour(pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tour(out: Path, train: bool, say: Callable[[str], None]) -> None:
        say(f"{out} {train}")

    monkeypatch.setattr("pellucid.demo.run", tour)
    assert pellucid("demo").out == f"{Path('runs/demo')} True\n"
    assert pellucid("demo", "--no-train", "--out", tmp_path).out == f"{tmp_path} False\n"


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


def test_the_sentence_to_try_is_short_and_plain(tmp_path: Path) -> None:
    def example(line: bytes) -> str:
        (tmp_path / "source").write_bytes(line + b"\nb\n")
        data = DataConfig(train=((str(tmp_path / "source"), "target"),), languages=(("a", "x y"), ("a", "b")))
        return _next(Config(data=data), "model")[0]

    command = " | pellucid translate model --to 'x y'"
    assert example(b"-n the \x00\x1bdog's\ttarget") == "echo 'n the dog'\"'\"'s'" + command
    assert example("नमस्ते ".encode() * 100_000) == f"echo '{'नमस्ते ' * 6}".rstrip() + "'" + command
    assert example(b"\xff") == "echo '…'" + command


def test_a_file_where_a_folder_should_be(
    pellucid: Command, toy_model: Path, files: Callable[..., Path]
) -> None:
    file = files("file", "a")
    for verb in (["demo", "--out"], ["data", "--out"], ["explain", toy_model, "a", "--png"]):
        for path in (file, file / "below"):
            outcome = pellucid(*verb, path)
            assert outcome.code == 2 and outcome.err.endswith(
                f"{verb[-1]}: {file} is a file, and no folder can be there: name another\n"
            )


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
