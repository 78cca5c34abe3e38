"""An explanation: what was served, seen again in one pass; its numbers, its files and its errors."""

import functools
import io
import json
import math
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from test_see import contract
from tiny import translator

from pellucid import explanation as explanation_module
from pellucid.errors import PellucidError, UsageError
from pellucid.explanation import Explanation
from pellucid.folder.whole_file import write
from pellucid.show.terminal import Printed


@pytest.fixture(scope="module")
def hindi() -> Explanation:
    return translator().explain("How are you ?", to="hi", target="आप कैसे हैं ?")


def shown(explanation: Explanation, width: int = 80, **console: Any) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, **console).print(Printed(explanation))
    return stream.getvalue()


def test_six_tokens_of_a_given_target_make_six_by_six_matrices() -> None:
    explanation = translator().explain("le chat est sur le tapis", to="en", target="The cat sat on mat")
    assert explanation.target_tokens == ["<s>", "The", "cat", "sat", "on", "mat"]
    assert [step.input for step in explanation.steps] == explanation.target_tokens
    assert [step.expected for step in explanation.steps] == ["The", "cat", "sat", "on", "mat", "</s>"]
    assert " ".join(explanation.source_tokens) == ">>en<< le chat est sur le tapis </s>"
    mask = explanation.trace["decoder.layers.0.self_attention.mask"]
    assert mask.tensor.shape == (1, 2, 6, 6) and mask.labels("M") == explanation.target_tokens
    assert (mask.tensor == -math.inf).sum() == 2 * 15
    cross = explanation.trace["decoder.layers.1.cross_attention.weights"]
    assert cross.labels("L") == explanation.target_tokens and cross.labels("M") == explanation.source_tokens
    assert explanation.forced and explanation.largest_difference is None
    assert "no search to compare" in explanation.difference


@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize("joint", [True, False])
def test_every_tensor_of_the_contract_is_in_the_trace(norm: str, joint: bool) -> None:
    explanation = translator(norm=norm, joint=joint).explain("I like cats", to="es")
    assert {name: record.axes for name, record in explanation.trace.items()} == contract(norm, 1, 2)


def test_the_steps_are_the_softmax_of_the_unwatched_model(hindi: Explanation) -> None:
    tiny = translator()
    source = torch.tensor([tiny.vocabulary.encode_source("How are you ?", "hi")])
    target = tiny.vocabulary.encode_target("आप कैसे हैं ?", "hi")
    with torch.no_grad():
        logits = tiny.model(source, source > 0, torch.tensor([[2, *target[:-1]]]))[0].double()
    for step, row, wanted in zip(hindi.steps, logits, target, strict=True):
        probabilities = (row.exp() / row.exp().sum()).tolist()
        best = sorted(range(len(probabilities)), key=lambda token: -probabilities[token])[:5]
        assert step.probability == pytest.approx(probabilities[wanted], rel=1e-4)
        assert step.loss == pytest.approx(-math.log(probabilities[wanted]), abs=1e-5)
        assert [token for token, _ in step.alternatives] == tiny.vocabulary.target_tokens(best)
        assert [p for _, p in step.alternatives] == pytest.approx([probabilities[n] for n in best], rel=1e-4)
        assert step.predicted == step.alternatives[0][0]
    score = tiny.score(["How are you ?"], ["आप कैसे हैं ?"], to="hi")[0]
    assert -sum(step.loss for step in hindi.steps) == pytest.approx(score.total, abs=1e-4)
    assert hindi.translation.score == pytest.approx(score.total / len(target), abs=1e-5)
    assert hindi.translation.text == "आप कैसे हैं ?" and hindi.to == "hi"


def test_what_is_explained_is_what_is_served_and_the_difference_is_stated() -> None:
    tiny = translator()
    explanation = tiny.explain("I like cats", to="es")
    assert explanation.translation == tiny.translate("I like cats", to="es")
    served = explanation.translation.hypotheses[0].log_probabilities
    differences = [abs(step.loss + log_p) for step, log_p in zip(explanation.steps, served, strict=True)]
    assert explanation.largest_difference == pytest.approx(max(differences))
    assert explanation.largest_difference < 1e-5
    assert f"{explanation.largest_difference:.1e}" in explanation.difference
    served_in_bf16 = translator(precision="bf16").explain("I like cats", to="es").largest_difference
    assert served_in_bf16 is not None and served_in_bf16 > 1e-4


def test_the_language_may_be_named_in_the_sentence() -> None:
    tiny = translator()
    tagged, named = tiny.explain(">>hi<< How are you ?"), tiny.explain("How are you ?", to="hi")
    assert tagged.to == "hi" and tagged.steps == named.steps


def test_a_translation_that_was_cut_off_has_no_end_to_expect() -> None:
    explanation = translator(max_length=3).explain("I like cats", to="es")
    hypothesis = explanation.translation.hypotheses[0]
    assert not hypothesis.finished and len(explanation.steps) == 3
    assert [step.expected for step in explanation.steps] == hypothesis.tokens


def test_an_empty_target_is_the_end_at_once() -> None:
    explanation = translator().explain("I like cats", to="es", target="")
    assert [(step.input, step.expected) for step in explanation.steps] == [("<s>", "</s>")]
    shown(explanation)


def test_it_computes_in_float32_and_leaves_the_model_as_it_was() -> None:
    tiny = translator()
    expected = tiny.explain("I like cats", to="es", target="Me gustan").steps
    tiny.model.double().train()
    explanation = tiny.explain("I like cats", to="es", target="Me gustan")
    assert {record.tensor.dtype for record in explanation.trace.values()} == {torch.float32}
    assert explanation.steps == expected
    assert tiny.model.training and next(tiny.model.parameters()).dtype == torch.float64


@pytest.mark.parametrize(
    "arguments,message",
    [
        (("",), 'the sentence is empty: nothing to explain. Give one, such as "How are you".'),
        ((" \n",), 'the sentence is empty: nothing to explain. Give one, such as "How are you".'),
        (("I likes cats",), "sentence: the model has no word 'likes'. Near it: like."),
        ((">>es<< I likes cats",), "sentence: the model has no word 'likes'. Near it: like."),
        (
            (">>hi<< I like cats",),
            "sentence: >>hi<< asks for hi, and the translation goes to es. A tag is read only where the "
            "sentence begins and no other language is asked for with to= (--to): leave one of them out.",
        ),
        (("I like cats", "Me gustn"), "target: the model has no word 'gustn'. Near it: gustan."),
        (
            ("I like zebras9",),
            "sentence: the model has no word 'zebras9'. "
            "It knows 31 words, and none is near this one. Say it with others.",
        ),
        (
            ("cats " * 300,),
            "the sentence is longer than the 256 tokens that an explanation shows: "
            "its matrices grow with the square of the length. Give a shorter one.",
        ),
    ],
)
def test_what_cannot_be_explained_says_why(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as error:
        translator().explain(arguments[0], to="es", target=arguments[1] if arguments[1:] else None)
    assert str(error.value) == message


def test_only_a_vocabulary_of_words_refuses_unknown_letters() -> None:
    explanation = translator(kind="unigram").explain("I like Ж", to="es", target="Ж")
    assert "<unk>" in explanation.source_tokens
    assert explanation.steps[-2].expected == "<unk>"


def test_json_holds_every_number_exactly(hindi: Explanation, tmp_path: Path) -> None:
    hindi.to_json(tmp_path / "all.json")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    table = json.loads((tmp_path / "all.json").read_text("utf-8"), parse_constant=refuse)
    assert (table["schema"], table["version"]) == ("pellucid.explanation", 2)
    assert (table["source"], table["target"], table["to"]) == ("How are you ?", "आप कैसे हैं ?", "hi")
    assert table["steps"][0]["expected"] == "आप" and table["steps"][0]["loss"] == hindi.steps[0].loss
    assert table["tensors"]["decoder.layers.0.self_attention.mask"]["values"][0][0][0][1] == "-inf"
    assert table["vocabulary"][:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    for name, record in hindi.trace.items():
        entry = table["tensors"][name]
        values = np.array(entry["values"], dtype=object).astype(str).astype(np.float64).astype(np.float32)
        assert np.array_equal(values, record.tensor.numpy()), name
        assert entry["axes"] == record.axes and entry["shape"] == list(record.tensor.shape)
        assert all(entry["labels"][axis] == record.labels(axis) for axis in record.axes if axis in "LM")


def test_npz_holds_every_tensor_and_the_tokens(hindi: Explanation, tmp_path: Path) -> None:
    path = tmp_path / "arrays"  # NumPy alone would append .npz
    hindi.to_npz(path)
    with np.load(path, allow_pickle=False) as arrays:
        for name, record in hindi.trace.items():
            assert np.array_equal(arrays[name], record.tensor.numpy()), name
        assert arrays["target_tokens"].tolist() == ["<s>", "आप", "कैसे", "हैं", "?"]
        assert arrays["expected_tokens"].tolist() == ["आप", "कैसे", "हैं", "?", "</s>"]
        assert arrays["source_tokens"].tolist() == hindi.source_tokens


def test_a_file_that_cannot_be_written_is_named(hindi: Explanation, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "page.html"
    for to_file in (hindi.to_html, hindi.to_json, hindi.to_npz):
        with pytest.raises(PellucidError) as error:
            to_file(path)
        expected = f"{path}: cannot be written: No such file or directory. Choose another place."
        assert str(error.value) == expected


@pytest.mark.parametrize("path", ["", None, 3, "a\0b.html", b"page.html"])
def test_what_is_no_path_is_refused_before_the_work(
    hindi: Explanation, path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    for work in ("page", "as_json", "as_npz", "plot"):
        monkeypatch.setattr(explanation_module, work, None)  # which nobody may come to
    for to_file in (hindi.to_html, hindi.to_json, hindi.to_npz, functools.partial(hindi.plot, "looked")):
        with pytest.raises(UsageError) as error:
            to_file(path)  # type: ignore[arg-type]
        expected = f'path = {path!r} is not the name of a file. Give one, such as "page.html".'
        assert str(error.value) == expected


def test_a_folder_is_no_file(hindi: Explanation, tmp_path: Path) -> None:
    for folder in (tmp_path, Path("/"), Path(".")):
        with pytest.raises(PellucidError) as error:
            hindi.to_html(folder)
        assert str(error.value) == f"{folder}: cannot be written: it is a folder. Name a file in it."


def test_what_stands_at_the_path_stays_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, link = tmp_path / "there.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write(pipe, b"through")
    reader.join(10)
    assert got == [b"through"] and stat.S_ISFIFO(pipe.stat().st_mode)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(target, b"newer")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "pipe", "there.json"]
    assert target.read_bytes() == b"new"


def test_a_page_beside_what_is_no_explanation(hindi: Explanation, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with pytest.raises(UsageError) as error:
        hindi.to_html(path, beside="x")  # type: ignore[arg-type]
    assert str(error.value) == (
        "beside = 'x' is no explanation. Give what translator.explain returns, of another model or of "
        "another target."
    )
    for names in ((None, None), "ab", ("a",), ("a", " ")):
        with pytest.raises(UsageError) as error:
            hindi.to_html(path, beside=hindi, names=names)  # type: ignore[arg-type]
        assert str(error.value) == (
            f"names = {names!r} are not two names. Give what the two are called in the page, such as "
            '("step 1000", "step 3000").'
        )
    assert not path.exists()


@pytest.mark.parametrize(
    "name",
    [
        "decoder.layers.0.self_attention.masked_scores",
        "decoder.layers.1.cross_attention.weights",
        "decoder.layers.0.feed_forward.hidden",
        "encoder.layers.0.residual_1.norm.mean",
        "encoder.positions",
        "decoder.probabilities",
    ],
)
def test_a_plot_of_any_kind_of_tensor(hindi: Explanation, name: str, tmp_path: Path) -> None:
    hindi.plot(name, tmp_path / "a.PNG")
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")


def test_a_plot_is_the_same_file_every_time(hindi: Explanation, tmp_path: Path) -> None:
    for file in ("a.svg", "b.svg"):
        hindi.plot("decoder.layers.1.cross_attention.weights", tmp_path / file)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()


def test_errors_of_a_plot(hindi: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError) as error:
        hindi.plot("decoder.layers.0.self_attention.wieghts", tmp_path / "a.png")
    start = 'no tensor is called "decoder.layers.0.self_attention.wieghts". Nearest: '
    assert str(error.value).startswith(f"{start}decoder.layers.0.self_attention.weights, ")
    with pytest.raises(UsageError, match=r"^a\.gif: a plot is a \.png, \.svg or \.pdf\. Give the file one"):
        hindi.plot("decoder.logits", "a.gif")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PellucidError) as missing:
        hindi.plot("decoder.logits", tmp_path / "a.png")
    assert str(missing.value) == 'a plot needs matplotlib. Run: pip install "pellucid[plot]"'


def test_the_terminal_shows_steps_and_attention(hindi: Explanation) -> None:
    text = shown(hindi)
    assert "How are you ?  →  आप कैसे हैं ?" in text
    for step in hindi.steps:
        line = next(line for line in text.splitlines() if f"{step.probability:.4f}" in line)
        assert step.expected in line and f"{step.loss:.4f}" in line and step.predicted in line
    shares = hindi.trace["decoder.layers.1.cross_attention.weights"].tensor[0].mean(0)
    rows = [line for line in text.splitlines() if line.startswith("कैसे ")]
    assert [f"{share:.2f}"[1:] for share in shares[2].tolist()] == [
        cell.rstrip("░▒▓█") for cell in rows[-1].split()[1:]
    ]
    assert "\x1b" not in text  # not a terminal
    assert "\x1b[" in shown(hindi, force_terminal=True, color_system="truecolor")


def test_a_long_source_is_shown_in_several_tables_of_80_columns() -> None:
    source = "le chat est sur le tapis " * 6
    text = shown(translator().explain(source, to="en", target="The cat sat on the mat"))
    assert max(map(len, text.splitlines())) <= 80
    tables = text[: text.index("\nwords ")]
    assert tables.count("tapis") == 6 + 6  # the sentence, and a column for each


def test_tokens_are_shown_as_they_are_and_control_nothing() -> None:
    tiny = translator(kind="unigram")
    text = shown(tiny.explain("[bold]cats[/bold] \x1b[31m :smile: \ud800", to="es", target="[red]"))
    assert "[bold]cats[/bold] �[31m :smile: �" in text and "\x1b" not in text


def test_show_survives_an_output_without_unicode(hindi: Explanation, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    hindi.show()
    sys.stdout.flush()
    assert b"How are you" in raw.getvalue() and b"?" in raw.getvalue()


def test_show_writes_to_standard_output(hindi: Explanation, capsys: pytest.CaptureFixture[str]) -> None:
    hindi.show()
    output = capsys.readouterr()
    assert "most probable" in output.out and output.err == ""
