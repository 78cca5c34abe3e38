"""The tables of a terminal and a notebook hold the numbers of the trace, and fit."""

import io
import math
import re
import sys
from fnmatch import fnmatch
from html.parser import HTMLParser
from typing import Any

import pytest
import torch
from rich.cells import cell_len
from tiny import HOSTILE, translator

import pellucid as package
from pellucid.errors import UsageError
from pellucid.explanation import Explanation
from pellucid.seeing.records import Record
from pellucid.seeing.viewed import html, lines
from pellucid.show.columns import paragraph
from pellucid.show.reading_text import heads_parts, more_parts, tensor_parts
from pellucid.show.tables import Cell, Table, html_text, text_lines

WEIGHTS = "decoder.layers.0.self_attention.weights"
CROSS = "decoder.layers.1.cross_attention.weights"
NOTE = ["explain", "demo", "le chat était assis sur le tapis", "--to", "en", "--target", "The cat sat on mat"]


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


def test_show_survives_an_output_without_unicode(hindi: Explanation, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    hindi.show()
    sys.stdout.flush()
    assert b"How are you ? ? ?? ???" in raw.getvalue()


def test_tokens_are_shown_as_they_are_and_control_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = translator(kind="unigram")
    tiny.explain("[bold]cats[/bold] \x1b[31m :smile: \ud800", to="es", target="[red]").show()
    text = capsys.readouterr().out
    assert "[bold]cats[/bold] �[31m :smile: �" in text and "\x1b" not in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_table_fits_a_narrow_terminal(pieces: Explanation, width: int) -> None:
    more = more_parts(pieces, lambda: pieces.beam_path, lambda: pieces.stepwise, width)
    other = pieces.against(translator(kind="unigram").explain("I like cats", to="es", target="Me gustan"))
    for text in (lines(pieces, width), text_lines(more, width), other.lines(width)):
        assert max(map(cell_len, text)) <= width


def test_the_table_of_heads_names_the_word_each_position_looked_at_most(spanish: Explanation) -> None:
    part = "decoder.layers.1.cross_attention"
    weights = spanish.trace[f"{part}.weights"].tensor[0].double()
    text = text_lines(heads_parts(spanish.looked_at(part)), 200)
    assert text[0] == part
    for place, step in enumerate(spanish.steps):
        cells = next(line.split() for line in text if line.split()[:2] == [step.input, step.expected])
        best = weights[:, place].argmax(-1).tolist()
        assert cells[2::2] == [spanish.source_tokens[word] for word in best]
        shares = [float(weights[head, place, word]) for head, word in enumerate(best)]
        assert [float(cell) for cell in cells[3::2]] == pytest.approx(shares, abs=5.1e-3)
    bits = (-weights * weights.log2()).sum(-1).mean(-1).tolist()
    assert [float(cell) for cell in text[-1].split()[1:]] == pytest.approx(bits, abs=5.1e-3)


def test_the_search_is_shown_with_its_numbers() -> None:
    explanation = translator().explain("I like cats", to="es")
    path = explanation.beam_path
    text = path.lines(200)
    found = explanation.trace["decoder.logits"].tensor[0].double().log_softmax(-1)
    log_p = [float(found[place, token]) for place, token in enumerate(explanation.target_ids)]
    assert len(log_p) > 2 and abs(sum(log_p)) > abs(log_p[-1]) + 0.1
    for number, step in enumerate(path.steps[: len(log_p)], start=1):
        cells = next(line.split() for line in text if line.split()[:1] == [str(number)])
        assert cells[1] == explanation.steps[number - 1].expected
        assert float(cells[2]) == pytest.approx(log_p[number - 1], abs=1e-3)
        assert float(cells[3]) == pytest.approx(sum(log_p[:number]), abs=1e-2)
        assert cells[4] == f"{(step.place or 0) + 1}/{len(step.candidates)}"
    first = f"1. {explanation.translation.text} (score {explanation.translation.score:.4f}"
    assert any(line.startswith(first) for line in text)


def test_both_ways_of_decoding_stand_side_by_side(hindi: Explanation) -> None:
    text = hindi.stepwise.lines(80)
    third = hindi.stepwise.steps[2]
    row = next(line for line in text if line.split()[:2] == ["3", "कैसे"]).split()
    assert row[2:] == ["1", f"{third.cached.difference:.1e}", "3", f"{third.whole.difference:.1e}"]
    assert next(line for line in text if line.startswith("all")).split() == ["all", "5", "15"]


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


@pytest.mark.parametrize("name", [WEIGHTS, CROSS])
def test_every_number_of_each_head_stands_in_its_row(spanish: Explanation, name: str) -> None:
    weights, both = spanish.trace[name].tensor[0], []
    for head in range(2):
        text = tensor_lines(spanish, name, 120, head)
        for row, label in enumerate(spanish.target_tokens):
            cells, shares = numbers(text, label), weights[head, row].tolist()
            assert [float(cell) for cell in cells[:-1]] == pytest.approx(shares, abs=5e-5)
            assert cells[-1] == "1.0000"
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


def test_what_is_masked_is_hatched_and_what_is_nought_is_bare(spanish: Explanation) -> None:
    masked = tensor_lines(spanish, WEIGHTS.replace("weights", "masked_scores"), 120, 0)
    mask = tensor_lines(spanish, WEIGHTS.replace("weights", "mask"), 120, 0)
    for row, label in enumerate(spanish.target_tokens):
        for text in (masked, mask):
            assert [cell == "−∞" for cell in numbers(text, label)] == [column > row for column in range(5)]
            assert sum(line.count("−∞╱") for line in text) == 10
        assert numbers(mask, label)[: row + 1] == ["0"] * (row + 1)
        assert numbers(tensor_lines(spanish, WEIGHTS, 120, 0), label)[row + 1 : 5] == ["0"] * (4 - row)


def test_a_fuller_block_is_a_larger_share() -> None:
    record = Record("x.weights", "LM", torch.tensor([[0.0, 0.1, 0.25, 0.5, 0.75, 1.0]]))
    assert lines(record, 100)[-1].split() == [
        "0", "0", "0.1000", "0.2500░", "0.5000▒", "0.7500▓", "1.0000█", "2.6000",
    ]  # fmt: skip
    signed = Record("x.scores", "LM", torch.tensor([[-4.0, 2.0, math.nan, -math.inf, 1e-6]]))
    assert lines(signed, 100)[-1].split() == ["0", "-4.0000█", "2.0000▒", "?", "−∞╱", "1.0e-06"]


@pytest.mark.parametrize("name", ["*.weights", "decoder.logits", "*.norm.*", "encoder.*"])
def test_every_matrix_fits_a_narrow_terminal(spanish: Explanation, name: str) -> None:
    text = tensor_lines(spanish, name, 60)
    assert max(map(cell_len, text)) <= 60
    named = {line for line in text if line in spanish.trace}
    assert named == {full for full in spanish.trace if fnmatch(full, name)}


def test_a_wide_matrix_shows_its_ends_and_says_so() -> None:
    tensor = torch.arange(512.0).reshape(1, 2, 256)
    record = Record("decoder.output", "BLD", tensor, {"L": [["the", "cat"]]})
    text = lines(record, 80)
    assert text[-1] == "Shown: the first 4 and the last 2 of 256 columns."
    assert "2 × 256 = target × model width" in text
    shown = ["256.0000", "257.0000", "258.0000", "259.0000", "…", "510.0000", "511.0000"]
    assert numbers(text, "cat") == shown
    assert lines(record, 60)[-1] == "Shown: the first 2 and the last 2 of 256 columns."


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


def test_python_shows_the_same(spanish: Explanation, capsys: pytest.CaptureFixture[str]) -> None:
    spanish.show(tensor="decoder.layers.0.self_attention", head=0)
    assert capsys.readouterr().out.splitlines() == tensor_lines(spanish, WEIGHTS, 80, 0)
    spanish.show(tensor="decoder.layers.0.self_attention.*", head=0)
    assert "concatenated\n" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "tensor,head,message",
    [
        (WEIGHTS.replace("attention", "atention"), None, f"Nearest: {WEIGHTS}"),
        (WEIGHTS, 2, f"head = 2: {WEIGHTS} has 2 heads. Give one from 0 to 1."),
        ("encoder.output", 0, "head = 0: encoder.output has no heads. Leave the head out."),
        (None, 0, "head = 0: say with tensor of which tensor."),
    ],
)
def test_errors_of_a_matrix(spanish: Explanation, tensor: str, head: int, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        spanish.show(tensor=tensor, head=head)


# The two writers


def test_lines_of_text_fit_in_cells() -> None:
    text = "翻訳 " * 10 + "長い" * 20 + " and the rest of it"
    wrapped = paragraph(text, 21)
    assert all(0 < cell_len(line) <= 21 for line in wrapped)
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")
    assert wrapped[0] == "翻訳 翻訳 翻訳 翻訳" and paragraph("", 21) == paragraph("　", 21) == [""]


def test_one_table_in_text_and_in_html() -> None:
    table = Table(["", "a", "b"], [["one", Cell(".50", 0.5), "<b>"], ["two", Cell("−∞", 0.0), "x"]])
    assert text_lines([table], 40) == ["       a     b", "one  .50▒  <b>", "two   −∞╱    x"]
    narrow = "       a|one  .50▒|two   −∞╱||       b|one  <b>|two    x"
    assert text_lines([table], 12) == narrow.split("|")
    page = Tags(html_text([table]))
    assert page.seen.count("tr") == 3 and page.text == "abone.50<b>two−∞x"
    many = Table(["", *"abcdefgh"], [[str(row), *"12345678"] for row in range(9)], most=6)
    cut = Tags(html_text([many]))
    assert cut.seen.count("tr") == 6 and cut.text.startswith("a…fgh")


class Tags(HTMLParser):
    """The elements of a piece of HTML, each closed before its parent."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_notebooks_show_what_is_complete_in_itself(spanish: Explanation) -> None:
    worked = package.attention(scores=[[1.0, 2.0], [3.0, 4.0]], values=[[1.0], [2.0]])
    shown: dict[Any, str] = {
        spanish._repr_html_: "most probable",
        spanish.trace._repr_html_: CROSS,
        spanish.trace[CROSS]._repr_html_: "head 1",
        spanish.trace["encoder.layers.0.residual_1.norm.mean"]._repr_html_: "5 = source",
        spanish.trace["decoder.layers.0.self_attention.mask"]._repr_html_: "−∞",
        spanish.stepwise._repr_html_: "largest difference",
        worked.check({"weights": [["0.2", "0.8"], [0.3, 0.7]]})._repr_html_: "verdict",
        worked._repr_html_: "weights",
    }
    for view, words in shown.items():
        page = view()
        tags = Tags(page)
        assert words in tags.text, words
        assert not {"script", "style", "link", "iframe", "img"} & set(tags.seen)
        assert "http" not in page and not re.search(r"\son\w+=", page)


def test_hostile_text_stays_text() -> None:
    explanation = translator(kind="unigram").explain(f"{HOSTILE} \x1b", to="es", target="<b onclick='x'>")
    page = html(explanation)
    assert "<script" not in page and "\x1b" not in page and "<b onclick" not in page
    Tags(page)
    Tags(html(explanation.trace["decoder.logits"]))
