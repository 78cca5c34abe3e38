"""One matrix of the model in a terminal, held against the numbers of the trace."""

import dataclasses
import math
import re
from fnmatch import fnmatch

import pytest
import torch
from command import Command
from rich.cells import cell_len
from tiny import translator

import pellucid
from pellucid.errors import UsageError
from pellucid.explanation import Explanation
from pellucid.seeing.records import Record, UnknownTensor
from pellucid.show.record_text import record_lines, show_record
from pellucid.show.terminal import tensor_lines

WEIGHTS = "decoder.layers.0.self_attention.weights"
CROSS = "decoder.layers.1.cross_attention.weights"
NOTE = ["explain", "demo", "le chat était assis sur le tapis", "--to", "en", "--target", "The cat sat on mat"]


@pytest.fixture(scope="module")
def spanish() -> Explanation:
    return translator().explain("I like cats", to="es", target="Me gustan los gatos")


def numbers(lines: list[str], label: str) -> list[str]:
    """The cells of all rows of this label, without their blocks."""
    rows = [
        cells for cells in map(str.split, lines) if cells[:1] == [label] and re.match("[-−0-9]", cells[1])
    ]
    return [re.sub("[░▒▓█╱]", "", cell) for row in rows for cell in row[1:]]


def test_every_number_of_each_head_stands_in_its_row(spanish: Explanation) -> None:
    for name in (WEIGHTS, CROSS):
        weights = spanish.trace[name].tensor[0]
        for head in range(2):
            lines = tensor_lines(spanish, name, 120, head)
            for row, label in enumerate(spanish.target_tokens):
                cells = numbers(lines, label)
                shares = weights[head, row].tolist()
                assert [float(cell) for cell in cells[:-1]] == pytest.approx(shares, abs=5e-5)
                assert cells[-1] == "1.0000" and len(cells) == len(shares) + 1
        assert numbers(tensor_lines(spanish, name, 120), "Me") == [
            cell for head in range(2) for cell in numbers(tensor_lines(spanish, name, 120, head), "Me")
        ]


def test_tokens_stand_on_both_axes_and_the_shape_is_in_words(spanish: Explanation) -> None:
    lines = tensor_lines(spanish, CROSS, 120, 1)
    assert lines[0] == CROSS and "head 1 of 2: 5 × 5 = target × source" in lines
    assert "rows: target, which asks (L) · columns: source, which is attended to (M)" in lines
    assert lines[1].startswith("A · Attention weights: ") and "in the notes: Attention Weights, A" in lines
    header = next(line.split() for line in lines if line.split()[:1] == [">>es<<"])
    assert header == [*spanish.source_tokens, "sum"]
    assert any("softmax_over_keys" in line for line in lines)
    text = " ".join(tensor_lines(spanish, "encoder.layers.0.self_attention.queries", 200, 0))
    assert "5 × 4 = source × dimension of a head's queries and keys" in text and "W^Q" in text
    assert "<sup>" not in text


def test_what_is_masked_is_hatched_and_what_is_nought_is_bare(spanish: Explanation) -> None:
    masked = tensor_lines(spanish, WEIGHTS.replace("weights", "masked_scores"), 120, 0)
    mask = tensor_lines(spanish, WEIGHTS.replace("weights", "mask"), 120, 0)
    for row, label in enumerate(spanish.target_tokens):
        for lines in (masked, mask):
            cells = numbers(lines, label)
            assert [cell == "−∞" for cell in cells] == [column > row for column in range(5)]
            assert sum(line.count("−∞╱") for line in lines) == 10
        assert numbers(mask, label)[: row + 1] == ["0"] * (row + 1)
        assert numbers(tensor_lines(spanish, WEIGHTS, 120, 0), label)[row + 1 : 5] == ["0"] * (4 - row)


def test_a_fuller_block_is_a_larger_share() -> None:
    record = Record("x.weights", "LM", torch.tensor([[0.0, 0.1, 0.25, 0.5, 0.75, 1.0]]))
    assert record_lines(record, 100)[-1].split() == [
        "0", "0", "0.1000", "0.2500░", "0.5000▒", "0.7500▓", "1.0000█", "2.6000",
    ]  # fmt: skip
    signed = Record("x.scores", "LM", torch.tensor([[-4.0, 2.0, math.nan, -math.inf, 1e-6]]))
    assert record_lines(signed, 100)[-1].split() == ["0", "-4.0000█", "2.0000▒", "?", "−∞╱", "1.0e-06"]


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("name", ["*.weights", "*.masked_scores", "decoder.logits", "*.norm.*", "encoder.*"])
def test_every_matrix_fits_a_narrow_terminal(spanish: Explanation, width: int, name: str) -> None:
    lines = tensor_lines(spanish, name, width)
    assert max(map(cell_len, lines)) <= width
    named = [line for line in lines if line in spanish.trace]
    assert set(named) == {full for full in spanish.trace if fnmatch(full, name)}


def test_a_wide_matrix_shows_its_ends_and_says_so() -> None:
    tensor = torch.arange(512.0).reshape(1, 2, 256)
    record = Record("decoder.output", "BLD", tensor, {"L": [["the", "cat"]]})
    lines = record_lines(record, 80)
    assert lines[-1] == "Shown: the first 4 and the last 2 of 256 columns."
    assert "2 × 256 = target × model width" in lines
    assert numbers(lines, "cat") == [
        "256.0000",
        "257.0000",
        "258.0000",
        "259.0000",
        "…",
        "510.0000",
        "511.0000",
    ]
    assert record_lines(record, 60)[-1] == "Shown: the first 2 and the last 2 of 256 columns."


def test_of_the_vocabulary_the_best_words_are_shown() -> None:
    explanation = pellucid.load("demo").explain("I like cats", to="es")
    lines = tensor_lines(explanation, "decoder.probabilities", 500)
    header = next(line.split() for line in lines if line.split()[-1:] == ["sum"])
    for step, row in zip(
        explanation.steps, explanation.trace["decoder.probabilities"].tensor[0], strict=True
    ):
        cells = numbers(lines, step.input)
        best = explanation.vocabulary.target_tokens(row.argsort(descending=True)[:3].tolist())
        assert {word.replace("▁", "") for word in best} <= {word.replace("▁", "") for word in header}
        assert float(cells[header.index(step.expected)]) == pytest.approx(step.probability, abs=5e-5)
        assert cells[-1] == "1.0000"
    count = explanation.vocabulary.target_size
    assert lines[-1] == f"Shown: the 3 best words of each row, of {count} in the vocabulary."


def test_any_record_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    model = translator().model
    source = torch.ones(2, 3, dtype=torch.long)
    with pellucid.trace(model) as seen:
        model(source, source > 0, source)
    show_record(seen[WEIGHTS], head=1)
    text = capsys.readouterr().out
    assert "the first of 2 sentences" in text and "head 1 of 2: 3 × 3 = target × target" in text
    worked = pellucid.attention(scores=[[1.0, 2.0]], values=[[1.0], [2.0]])
    show_record(worked["weights"])
    assert "0.2689░  0.7311▓  1.0000" in capsys.readouterr().out


def test_the_verb_prints_the_matrices_of_note_000(pellucid: Command) -> None:
    outcome = pellucid(*NOTE, "--tensor", WEIGHTS, "--head", 0)
    lines = outcome.out.splitlines()
    assert outcome.code == 0 and "head 0 of 4: 6 × 6 = target × target" in lines
    assert any(line.split() == ["<s>", "The", "cat", "sat", "on", "mat", "sum"] for line in lines)
    assert numbers(lines, "<s>")[-7:] == ["1.0000", "0", "0", "0", "0", "0", "1.0000"]
    assert len(numbers(lines, "mat")) == 7
    every = pellucid(*NOTE, "--tensor", "decoder.layers.*.weights")
    assert every.out.count("head 3 of 4: ") == 4 and every.out.count("\ndecoder.layers.") == 3


def test_python_shows_the_same(spanish: Explanation, capsys: pytest.CaptureFixture[str]) -> None:
    spanish.show(tensor="decoder.layers.0.self_attention", head=0)
    assert capsys.readouterr().out.splitlines() == tensor_lines(spanish, WEIGHTS, 80, 0)
    spanish.show(tensor="decoder.layers.0.feed_forward")
    assert capsys.readouterr().out.startswith("decoder.layers.0.feed_forward.output\n")
    spanish.show(tensor="decoder.layers.0.self_attention.*", head=0)
    assert "concatenated" not in capsys.readouterr().out.split("\n\ndecoder")[-1]


def test_errors_of_a_matrix(spanish: Explanation, pellucid: Command) -> None:
    with pytest.raises(UnknownTensor) as unknown:
        spanish.show(tensor="decoder.layers.0.self_atention.weights")
    start = f'no tensor is called "decoder.layers.0.self_atention.weights". Nearest: {WEIGHTS}'
    assert str(unknown.value).startswith(start)
    give = f'Give the name of a tensor, or a glob of names, such as "{CROSS}" or "decoder.*.weights".'
    for arguments, message in (
        ({"tensor": WEIGHTS, "head": 2}, f"head = 2: {WEIGHTS} has 2 heads. Give one from 0 to 1."),
        ({"tensor": WEIGHTS, "head": True}, f"head = True: {WEIGHTS} has 2 heads. Give one from 0 to 1."),
        (
            {"tensor": "encoder.output", "head": 0},
            "head = 0: encoder.output has none, its axes are BLD. Leave the head out.",
        ),
        ({"head": 0}, f"head = 0: no tensor is named for it. {give}"),
        ({"tensor": 3}, f"tensor = 3 is no text. {give}"),
    ):
        with pytest.raises(UsageError) as error:
            spanish.show(**arguments)  # type: ignore[arg-type]
        assert str(error.value) == message
    outcome = pellucid(*NOTE, "--head", 0)
    assert outcome.code == 2 and outcome.err == (
        "pellucid: --head 0: it is a head of a matrix. Say with --tensor of which, such as "
        "decoder.layers.0.self_attention.weights.\n"
    )
    assert pellucid(*NOTE, "--tensor", "weigths").code == 2


def test_rows_that_do_not_sum_to_one_show_it(spanish: Explanation) -> None:
    record = spanish.trace[CROSS]
    halved = dataclasses.replace(record, tensor=record.tensor / 2)
    assert {line.split()[-1] for line in record_lines(halved, 120, 0)[-5:]} == {"0.5000"}
    endless = dataclasses.replace(record, tensor=torch.full_like(record.tensor, math.inf).cumsum(-1))
    endless.tensor[..., 0] = -math.inf
    assert {line.split()[-1] for line in record_lines(endless, 120, 0)[-5:]} == {"?"}
