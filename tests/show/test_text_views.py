"""The tables of a terminal and a notebook hold the numbers of the trace, and fit."""

import importlib
import io
import math
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from rich.cells import cell_len
from tiny import HOSTILE, translator

import pellucid as package
from pellucid.errors import UsageError
from pellucid.explanation import Explanation
from pellucid.reading.beam_path import LOST
from pellucid.seeing.records import Record
from pellucid.seeing.viewed import html, lines, page
from pellucid.show import registered
from pellucid.show.columns import digits, paragraph, short_share
from pellucid.show.reading_text import more_parts, tensor_parts
from pellucid.show.tables import Cell, Table, html_text, text_lines

OWN = "decoder.layers.0.self_attention"
WEIGHTS = f"{OWN}.weights"
CROSS = "decoder.layers.1.cross_attention.weights"


def tensor_lines(explanation: Explanation, name: str, width: int, head: int | None = None) -> list[str]:
    return text_lines(tensor_parts(explanation, name, width, head), width)


def numbers(lines: list[str], label: str) -> list[str]:
    """The cells of all rows of this label, without their blocks."""
    split = [line.split() for line in lines]
    rows = [cells for cells in split if cells[:1] == [label] and re.match("[-−0-9]", cells[1])]
    return [re.sub("[░▒▓█╱]", "", cell) for row in rows for cell in row[1:]]


# The steps


def test_the_terminal_shows_steps_and_attention(hindi: Explanation) -> None:
    text = lines(hindi, 80)
    assert text[0] == "How are you ? → आप कैसे हैं ?" and max(map(cell_len, text)) <= 80
    for step in hindi.steps:
        line = next(line for line in text if f"{step.probability:.4f}" in line)
        assert step.expected in line and f"{step.loss:.4f}" in line and step.predicted in line
    shares = hindi.trace[CROSS].tensor[0].mean(0)
    row = [line for line in text if line.startswith("कैसे ")][-1]
    expected = [f"{share:.2f}"[1:] for share in shares[2].tolist()]
    assert [cell.rstrip("░▒▓█") for cell in row.split()[1:]] == expected
    for word in ("The search with beam", "Step by step", "Words aligned"):
        assert word not in "\n".join(text), "it comes with more=True"


def test_a_terminal_gets_colours_and_a_file_none(
    hindi: Explanation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hindi.show()
    output = capsys.readouterr()
    assert "most probable" in output.out and output.err == "" and "\x1b" not in output.out
    for name, value in {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    hindi.show()
    coloured = capsys.readouterr().out
    assert "\x1b[" in coloured and re.sub(r"\x1b\[[0-9;]*m", "", coloured) == output.out
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw := io.BytesIO(), "ascii", write_through=True))
    hindi.show()
    assert b"How are you ? ? ?? ???" in raw.getvalue(), "an output without Unicode"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_table_fits_a_narrow_terminal(pieces: Explanation, width: int) -> None:
    more = more_parts(pieces, lambda: pieces.beam_path, lambda: pieces.stepwise, width)
    other = pieces.against(translator(kind="unigram").explain("I like cats", to="es", target="Me gustan"))
    tensors = tensor_lines(pieces, "*", max(60, width))
    for text in (pieces.lines(width), text_lines(more, width), other.lines(width)):
        assert max(map(cell_len, text)) <= width
    assert max(map(cell_len, tensors)) <= max(60, width)
    assert {line for line in tensors if line in pieces.trace} == {*pieces.trace}


def test_the_search_and_the_steps_are_shown_with_their_numbers() -> None:
    explanation = translator().explain("I like cats", to="es")
    path = explanation.beam_path
    text = path.lines(200)
    for number, step in enumerate(path.steps[: len(path.target)], start=1):
        line = next(line for line in text if line.split()[:1] == [str(number)])
        cells, survivor, place = line.split(), step.survivor, step.place
        assert survivor is not None and place is not None
        numbers = f"{survivor.log_probability:.4f}", f"{survivor.total:.2f}"
        assert cells[1:5] == [survivor.tokens[-1], *numbers, f"{place + 1}/{len(step.candidates)}"]
        rivals = [each for each in step.candidates if each is not survivor][:3]
        assert line.count("✗") == sum(each.fate in LOST for each in rivals)
    steps = explanation.stepwise
    row = next(line for line in steps.lines(80) if line.split()[:1] == ["3"]).split()
    third = steps.steps[2]
    assert row[2:] == ["1", f"{third.cached.difference:.1e}", "3", f"{third.whole.difference:.1e}"]
    assert ["all", "30", "465"] in [line.split() for line in steps.lines(80)]
    first = f"1. {explanation.translation.text} (score {explanation.translation.score:.4f}"
    assert any(line.startswith(first) for line in text)


def test_what_is_not_a_number_is_shown_as_a_question_mark(
    spanish: Explanation, broken: Explanation, capsys: pytest.CaptureFixture[str]
) -> None:
    broken.show(more=True)
    for shown in (" ".join(capsys.readouterr().out.split()), html(broken)):
        assert "pellucid.find_nonfinite(model)" in shown and "?" in shown
        assert "nan" not in shown.replace("find_nonfinite", "").replace("NaN", "")
    told = " ".join(spanish.against(broken).lines(80))
    assert "No search: " in told and "pellucid.find_nonfinite(model)" in told
    assert broken.alignment().links == []
    assert ">?<" in html(broken.trace["encoder.output"])


# A matrix


@pytest.mark.parametrize("name", [WEIGHTS, CROSS, *(f"{OWN}.{last}" for last in ("mask", "masked_scores"))])
def test_every_number_of_each_head_stands_in_its_row(spanish: Explanation, name: str) -> None:
    """What is masked is hatched, and what is nought is bare."""

    def written(value: float) -> str:
        return "−∞" if value == -math.inf else f"{value:.4f}" if value else "0"

    tensor, both = spanish.trace[name].tensor[0], []
    for head, matrix in enumerate(tensor.tolist()):
        text = tensor_lines(spanish, name, 120, head)
        for row, label in zip(matrix, spanish.target_tokens, strict=True):
            total = ["1.0000"] if name.endswith(".weights") else []
            assert numbers(text, label) == [*map(written, row), *total]
        assert sum(line.count("−∞╱") for line in text) == sum(row.count(-math.inf) for row in matrix)
        both += numbers(text, "Me")
    assert numbers(tensor_lines(spanish, name, 120), "Me") == both


def test_tokens_stand_on_both_axes_and_the_shape_is_in_words(spanish: Explanation) -> None:
    text = tensor_lines(spanish, CROSS, 120, 1)
    assert text[0] == CROSS and "head 1 of 2: 5 × 5 = target × source" in text
    assert "rows: target, which asks (L) · columns: source, which is attended to (M)" in text
    assert text[1].startswith("A · Attention weights: ") and "in the notes: Attention Weights, A" in text
    header = next(line.split() for line in text if line.split()[:1] == [">>es<<"])
    assert header == [*spanish.source_tokens, "sum"]
    assert any("softmax_over_keys" in line for line in text)
    queries = " ".join(tensor_lines(spanish, "encoder.layers.0.self_attention.queries", 200, 0))
    assert "5 × 4 = source × dimension of a head's queries and keys" in queries and "W^Q" in queries
    assert "<sup>" not in queries


def test_a_fuller_block_is_a_larger_share_and_a_wide_matrix_shows_its_ends() -> None:
    record = Record("x.weights", "LM", torch.tensor([[0.0, 0.1, 0.25, 0.5, 0.75, 1.0]]))
    shares = "0 0 0.1000 0.2500░ 0.5000▒ 0.7500▓ 1.0000█ 2.6000"
    assert lines(record, 100)[-1].split() == shares.split()
    signed = Record("x.scores", "LM", torch.tensor([[-4.0, 2.0, math.nan, -math.inf, 1e-6]]))
    assert lines(signed, 100)[-1].split() == ["0", "-4.0000█", "2.0000▒", "?", "−∞╱", "1.0e-06"]
    wide = Record("decoder.output", "BLD", torch.arange(512.0).reshape(1, 2, 256), {"L": [["the", "cat"]]})
    text = lines(wide, 80)
    assert text[-1] == "Shown: the first 4 and the last 2 of 256 columns."
    assert "2 × 256 = target × model width" in text
    shown = ["256.0000", "257.0000", "258.0000", "259.0000", "…", "510.0000", "511.0000"]
    assert numbers(text, "cat") == shown


def test_of_the_vocabulary_the_best_words_are_shown() -> None:
    explanation = package.load("demo").explain("I like cats", to="es")
    text = tensor_lines(explanation, "decoder.probabilities", 500)
    header = next(line.split() for line in text if line.split()[-1:] == ["sum"])
    rows = explanation.trace["decoder.probabilities"].tensor[0]
    for step, row in zip(explanation.steps, rows, strict=True):
        cells = numbers(text, step.input)
        best = explanation.vocabulary.target_tokens(row.argsort(descending=True)[:3].tolist())
        assert set(best) <= set(header)
        assert float(cells[header.index(step.expected)]) == pytest.approx(step.probability, abs=5e-5)
        assert cells[-1] == "1.0000"
    count = explanation.vocabulary.target_size
    assert text[-1] == f"Shown: the 3 best words of each row, of {count} in the vocabulary."


def test_any_record_can_be_shown() -> None:
    model = translator().model.bfloat16()
    source = torch.tensor([[1, 1, 1], [9, 5, 7]])
    with package.trace(model, gradients=True) as seen:
        model(source, source > 0, source)
    text = "\n".join(lines(seen[WEIGHTS], 80, head=1))
    assert "the first of 2 sentences" in text and "head 1 of 2: 3 × 3 = target × target" in text
    first, second = (f"{each:.4f}" for each in seen[WEIGHTS].tensor[:, 1, 2, 0].tolist())
    assert first in text and second not in text
    assert "the first of 2 sentences" in html(seen[WEIGHTS])
    worked = package.attention(scores=[[1.0, 2.0]], values=[[1.0], [2.0]])
    assert "0.2689░  0.7311▓  1.0000" in "\n".join(lines(worked["weights"], 80))


@pytest.mark.parametrize(
    "tensor,head,message",
    [
        (WEIGHTS.replace("attention", "atention"), None, f"Nearest: {WEIGHTS}"),
        (WEIGHTS, 2, f"head = 2: {WEIGHTS} has 2 heads. Give one from 0 to 1."),
        ("encoder.output", 0, "head = 0: encoder.output has no heads. Leave the head out."),
        (None, 0, "head = 0: name its tensor with tensor."),
    ],
)
def test_errors_of_a_matrix(spanish: Explanation, tensor: str, head: int, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        spanish.show(tensor=tensor, head=head)


def test_python_shows_the_same(spanish: Explanation, capsys: pytest.CaptureFixture[str]) -> None:
    spanish.show(tensor=OWN, head=0)
    assert capsys.readouterr().out.splitlines() == tensor_lines(spanish, WEIGHTS, 80, 0)
    spanish.show(tensor=f"{OWN}.*", head=0)
    assert "concatenated\n" not in capsys.readouterr().out


def test_every_view_is_registered() -> None:
    modules = Path(registered.__file__).parent.glob("*.py")
    with_views = {path.stem for path in modules if "\n@view(" in path.read_text("utf-8")}
    assert with_views == {name for name in vars(registered) if name.endswith("_text")}


@pytest.mark.parametrize(
    ("show", "kind"),
    [(lines, "view as text"), (html, "view as HTML"), (page, "page")],
    ids=["text", "HTML", "page"],
)
def test_what_cannot_be_shown_yet_says_what_to_import(show: Any, kind: str) -> None:
    """So it is for whoever imports from a room, and nothing from `pellucid` itself."""
    with pytest.raises(TypeError) as error:
        show(object())
    said, _, module = str(error.value).rpartition(" ")
    assert said == f"no {kind} for object: first import"
    with_views = importlib.import_module(module)
    assert with_views is registered or type(package.attention(scores=[[1]])) in show.registry


def test_how_a_number_is_written() -> None:
    assert [digits(number) for number in (7e-5, 5e-5, -4.9e-5)] == ["0.0001", "0.0001", "-4.9e-05"]
    shares = [short_share(share) for share in (0.004, 0.96, 0.9949, 0.995, 1.0, math.nan)]
    assert shares == [".00", ".96", ".99", "1.0", "1.0", "?"]


def test_given_and_found_targets_are_called_so(spanish: Explanation) -> None:
    found = translator().explain("I like cats", to="es")
    ours, theirs = spanish.against(found).lines(200)[:2]
    assert ours.startswith("A: Me gustan los gatos (log-prob") and ours.endswith(", given)")
    assert theirs.endswith(", found by the search)")


# The two writers


def test_lines_of_text_fit_in_cells() -> None:
    text = "翻訳 " * 10 + "長い" * 20 + " and the rest of it"
    wrapped = paragraph(text, 21)
    assert all(0 < cell_len(line) <= 21 for line in wrapped)
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")
    assert wrapped[0] == "翻訳 翻訳 翻訳 翻訳" and paragraph("", 21) == paragraph("　", 21) == [""]


def test_one_table_in_text_and_in_html() -> None:
    table = Table(["", "a", "b"], [["one", Cell(".50", 0.5), "<b>"], ["two", Cell("−∞", 0.0), "x"]])
    for width in (40, 14):
        assert text_lines([table], width) == ["       a     b", "one  .50▒  <b>", "two   −∞╱    x"]
    narrow = "       a|one  .50▒|two   −∞╱||       b|one  <b>|two    x"
    assert text_lines([table], 12) == narrow.split("|")
    seen, text = read_html(html_text([table]))
    assert (seen.count("table"), seen.count("tr")) == (1, 3) and text == "abone.50<b>two−∞x"


def read_html(page: str) -> tuple[list[str], str]:
    """The elements of a piece of HTML, in order, each closed before its parent; and its text."""
    root = ElementTree.fromstring(f"<all>{page}</all>")
    return [each.tag for each in root.iter()], "".join(root.itertext())


def test_notebooks_show_what_is_complete_in_itself(spanish: Explanation) -> None:
    worked = package.attention(scores=[[1.0, 2.0], [3.0, 4.0]], values=[[1.0], [2.0]])
    shown: dict[Any, str] = {
        spanish._repr_html_: "most probable",
        spanish.trace._repr_html_: CROSS,
        spanish.trace[CROSS]._repr_html_: "head 1",
        spanish.trace["encoder.layers.0.residual_1.norm.mean"]._repr_html_: "5 = source",
        spanish.trace[f"{OWN}.mask"]._repr_html_: "−∞",
        spanish.stepwise._repr_html_: "largest difference",
        worked.check({"weights": [["0.2", "0.8"], [0.3, 0.7]]})._repr_html_: "verdict",
        worked._repr_html_: "weights",
    }
    for view, words in shown.items():
        page = view()
        seen, text = read_html(page)
        assert words in text, words
        assert not {"script", "style", "link", "iframe", "img"} & set(seen)
        assert "http" not in page and not re.search(r"\son\w+=", page)


def test_hostile_text_stays_text(capsys: pytest.CaptureFixture[str]) -> None:
    source = f"{HOSTILE} [bold]cats[/bold] \x1b[31m :smile: \ud800"
    with pytest.warns(UserWarning, match=r"does not know '\[', 'd\]', '\[3', ':'"):
        explanation = translator(kind="unigram").explain(source, to="es", target="<b onclick='x'>")
    page = html(explanation)
    assert "<script" not in page and "\x1b" not in page and "<b onclick" not in page
    read_html(page + html(explanation.trace["decoder.logits"]))
    explanation.show()
    text = capsys.readouterr().out
    assert "[bold]cats[/bold] �[31m :smile: �" in text and "\x1b" not in text
