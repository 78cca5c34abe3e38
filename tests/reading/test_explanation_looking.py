"""Where each head looked, and how spread its attention is, by loops; what differs between two targets."""

import io
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.cells import cell_len
from rich.console import Console
from tiny import translator

from pellucid.errors import UsageError
from pellucid.explanation import Explanation
from pellucid.reading.looking import entropies, heads_entropies
from pellucid.reading.merging import merged_lines
from pellucid.seeing.records import UnknownTensor
from pellucid.seeing.trace import trace
from pellucid.show import terminal
from pellucid.show.columns import paragraph
from pellucid.show.terminal import Printed


@pytest.fixture(scope="module")
def spanish() -> Explanation:
    return translator().explain("I like cats", to="es", target="Me gustan los gatos")


def test_each_head_names_the_words_it_looked_at(spanish: Explanation) -> None:
    looks = spanish.looked_at()
    assert [(look.part, look.head) for look in looks] == [
        (f"decoder.layers.{layer}.cross_attention", head) for layer in range(2) for head in range(2)
    ]
    for look in looks:
        weights = spanish.trace[f"{look.part}.weights"].tensor[0, look.head].double().numpy()
        assert [each.asks for each in look.looks] == ["<s>", "Me", "gustan", "los", "gatos"]
        assert [each.expected for each in look.looks] == ["Me", "gustan", "los", "gatos", "</s>"]
        for each, row in zip(look.looks, weights, strict=True):
            order = sorted(range(len(row)), key=lambda word: -row[word])[:3]
            assert [word for word, _ in each.words] == [spanish.source_tokens[place] for place in order]
            assert [share for _, share in each.words] == pytest.approx([row[place] for place in order])
            bits = -sum(share * math.log2(share) for share in row)
            assert each.entropy == pytest.approx(bits, abs=1e-5)
        assert f"head {look.head} ({look.entropy:.2f} bits): Me → {look.looks[0].words[0][0]} " in str(look)


def test_any_attention_can_be_asked(spanish: Explanation) -> None:
    looks = spanish.looked_at("decoder.layers.0.self_attention")
    assert looks[0].looks[0].words == [("<s>", 1.0)] and looks[0].looks[0].entropy == 0
    encoder = spanish.looked_at("encoder.layers.0.self_attention")
    assert encoder[0].looks[1].asks == "I" and encoder[0].looks[1].expected is None
    with pytest.raises(UnknownTensor) as error:
        spanish.looked_at("decoder.layers.0.cros_attention")
    start = (
        'no attention is called "decoder.layers.0.cros_attention". Nearest: decoder.layers.0.cross_attention'
    )
    assert str(error.value).startswith(start)


def test_entropy_of_what_is_known() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.25] * 4, [0.5, 0.5, 0.0, 0.0]])
    assert entropies(weights).tolist() == pytest.approx([0.0, 2.0, 1.0], abs=1e-6)


def test_a_heads_entropy_as_a_share_of_the_most_it_can_be(spanish: Explanation) -> None:
    parts, shares = heads_entropies(spanish)
    assert parts[0] == "encoder.layers.0.self_attention" and shares.shape == (5, 2)
    for part, row in zip(parts, shares.tolist(), strict=True):
        for head, share in enumerate(row):
            found = []
            for place, weights in enumerate(
                spanish.trace[f"{part}.weights"].tensor[0, head].double().tolist()
            ):
                may_look = place + 1 if part.startswith("decoder") and "self" in part else len(weights)
                if may_look > 1:
                    bits = -sum(weight * math.log2(weight) for weight in weights if weight)
                    found.append(bits / math.log2(may_look))
            assert share == pytest.approx(sum(found) / len(found), abs=1e-6)


def test_two_targets_part_where_they_differ(spanish: Explanation) -> None:
    other = translator().explain("I like cats", to="es", target="Me gustan I")
    difference = spanish.against(other)
    assert difference.parts_at == 2
    assert [step is None for pair in difference.steps for step in pair] == [False] * 8 + [False, True]
    ours, theirs = translator().score(["I like cats"] * 2, ["Me gustan los gatos", "Me gustan I"], to="es")
    assert difference.log_ratio == pytest.approx(ours.total - theirs.total, abs=1e-4)
    assert difference.ratio == pytest.approx(math.exp(ours.total - theirs.total), rel=1e-3)
    assert "They part at step 3, after 'gustan': 'los' has probability " in difference.parting
    assert difference.unlike == []
    assert other.against(spanish).log_ratio == -difference.log_ratio


def test_the_tensors_that_differ_are_measured(spanish: Explanation) -> None:
    other = translator().explain("I like cats", to="es", target="Me gustan I")
    difference = spanish.against(other)
    assert {change.name for change in difference.changes} == set(spanish.trace)
    relative = [change.relative for change in difference.changes]
    assert relative == sorted(relative, reverse=True)
    for change in difference.changes:
        one, two = spanish.trace[change.name].tensor.numpy(), other.trace[change.name].tensor.numpy()
        for axis, letter in enumerate(spanish.trace[change.name].axes):
            if letter in "LM":
                both = range(min(one.shape[axis], two.shape[axis]))
                one, two = one.take(both, axis), two.take(both, axis)
        finite = np.isfinite(one)
        gap = np.linalg.norm(one[finite] - two[finite])
        mean = (np.linalg.norm(one[finite]) + np.linalg.norm(two[finite])) / 2
        assert change.relative == pytest.approx(gap / mean if gap else 0.0, rel=1e-4), change.name
    same = {change.name for change in difference.changes if change.relative == 0}
    assert {name for name in spanish.trace if name.startswith("encoder")} <= same
    assert "decoder.token_embeddings" not in same


def test_the_same_target_by_another_model(spanish: Explanation) -> None:
    one_layer = translator(decoder_layers=1).explain("I like cats", to="es", target="Me gustan los gatos")
    difference = spanish.against(one_layer)
    assert difference.parts_at is None and difference.parting == "The two targets are the same."
    assert "decoder.layers.1.cross_attention.weights" in difference.unlike
    assert "model holds it" in difference.verdict
    itself = spanish.against(spanish)
    assert itself.verdict == "As a whole they are equally probable."
    assert {change.relative for change in itself.changes} == {0.0}
    assert " ".join(itself.lines(80)).endswith("are the same to the bit. No tensor differs by more.")


def test_two_sources_cannot_be_held_against_each_other(spanish: Explanation) -> None:
    other = translator().explain("How are you ?", to="es", target="Me gustan los gatos")
    with pytest.raises(UsageError) as error:
        spanish.against(other)
    assert str(error.value) == (
        "'I like cats' and 'How are you ?' are two sources. Explain two targets of one source; "
        "translator.compare shows one word in two sentences."
    )
    with pytest.raises(UsageError) as error:
        spanish.against(translator().explain("I like cats", to="hi", target=""))
    assert str(error.value) == (
        "one goes to es, the other to hi: the tag makes them two sources. "
        "Explain two targets in one language."
    )


def test_the_difference_is_shown(spanish: Explanation, capsys: pytest.CaptureFixture[str]) -> None:
    spanish.against(translator().explain("I like cats", to="es", target="Me gustan I")).show()
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert next(line for line in lines if "← they part" in line).split()[:3] == ["3", "los", "I"]
    assert any("The search left it at step" in line for line in lines)


def test_show_sums_up_and_more_shows_all(spanish: Explanation, capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    Console(file=stream, width=80).print(Printed(spanish))
    brief = stream.getvalue()
    for word in ("words ", "heads ", "search ", "steps ", "served ", "more "):
        assert f"\n{word}" in brief
    assert max(map(len, brief.splitlines())) <= 80
    assert "I–" in brief or "like–" in brief
    spanish.show(more=True)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("decoder.layers.0.cross_attention") for line in lines)
    assert any(line.startswith("The search with beam") for line in lines)
    assert any(line.startswith("Step by step with a cache") for line in lines)


def test_the_table_of_heads_names_the_word_each_position_looked_at_most(spanish: Explanation) -> None:
    part = "decoder.layers.1.cross_attention"
    weights = spanish.trace[f"{part}.weights"].tensor[0].double()
    lines = heads_lines(spanish.looked_at(part), 200)
    assert lines[0] == part
    for place, step in enumerate(spanish.steps):
        cells = next(line.split() for line in lines if line.split()[:2] == [step.input, step.expected])
        best = weights[:, place].argmax(-1).tolist()
        assert cells[2::2] == [spanish.source_tokens[word] for word in best]
        shares = [float(weights[head, place, word]) for head, word in enumerate(best)]
        assert [float(cell) for cell in cells[3::2]] == pytest.approx(shares, abs=5.1e-3)
    bits = (-weights * weights.log2()).sum(-1).mean(-1).tolist()
    assert [float(cell) for cell in lines[-1].split()[1:]] == pytest.approx(bits, abs=5.1e-3)


def test_the_table_between_words_is_the_mean_of_all_heads() -> None:
    explanation = translator(kind="unigram").explain("I like cats", to="es", target="Me gustan los gatos")
    name, merged = "decoder.layers.0.cross_attention.weights", explanation.merged()
    weights = explanation.trace[name].tensor[0].tolist()
    lines = merged_lines(merged, name, 200)
    assert len(merged.source) < len(explanation.source_tokens) and "the mean of 2 heads" in lines[0]
    header, rows = lines[1].split(), [line.split() for line in lines[2:]]
    assert header == [word.text for word in merged.source]
    for asks, cells in zip(merged.target, rows, strict=True):
        shares: list[list[float]] = [[], [], []]  # of head 0, of head 1, of both
        for asked in merged.source:
            each = [
                sum(head[row][column] for row in asks.places for column in asked.places) / len(asks.places)
                for head in weights
            ]
            for kept, share in zip(shares, (*each, sum(each) / 2), strict=True):
                kept.append(share)
        assert cells[0] == asks.text
        assert [float(cell) for cell in cells[1:]] == pytest.approx(shares[2], abs=5.1e-3)
        assert shares[0] != pytest.approx(shares[2], abs=5.1e-3)


def test_more_merges_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    translator(kind="unigram").explain("I like cats", to="es", target="Me gustan").show(more=True)
    text = capsys.readouterr().out
    assert "between words, the mean of 2 heads" in text


def test_what_would_take_long_is_not_decoded_again_for_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    explanation = translator().explain("I like cats", to="es", target="los gatos")
    parameters = sum(each.numel() for each in translator().model.parameters())
    monkeypatch.setattr(terminal, "STEPWISE", 6 * parameters - 1)  # 1 + 2 + 3 rows
    stream = io.StringIO()
    Console(file=stream, width=80).print(Printed(explanation))
    assert "not decoded again one by one, which would take long." in stream.getvalue()
    assert "stepwise" not in vars(explanation)
    monkeypatch.setattr(terminal, "STEPWISE", 6 * parameters)
    Console(file=stream, width=80).print(Printed(explanation))
    assert "Step by step, with a cache and without" in stream.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_table_fits_a_narrow_terminal(width: int) -> None:
    explanation = translator(kind="unigram").explain("I like cats", to="es", target="Me gustan los gatos")
    assert max(map(cell_len, terminal.more_lines(explanation, width))) <= width
    of_two = translator().compare("cats", "I like cats", "cats like I", to="es")
    assert max(map(cell_len, of_two.lines(width))) <= width


@pytest.fixture(scope="module")
def broken() -> Explanation:
    """Of a model with one weight that is not a number."""
    served = translator()
    with torch.no_grad():
        next(served.model.encoder.layers.parameters())[0, 0] = math.nan
    return served.explain("I like cats", to="es", target="Me gustan los gatos")


def test_what_is_not_a_number_is_shown_as_a_question_mark(
    spanish: Explanation, broken: Explanation, capsys: pytest.CaptureFixture[str]
) -> None:
    broken.show(more=True)
    terminal, notebook = capsys.readouterr().out, broken._repr_html_()
    for shown in (" ".join(terminal.split()), notebook):
        assert "pellucid.find_nonfinite(model)" in shown and "?" in shown
        assert "nan" not in shown.replace("find_nonfinite", "").replace("NaN", "")
    assert math.isnan(broken.looked_at()[0].entropy)
    assert str(broken.looked_at()[0]).startswith(
        "decoder.layers.0.cross_attention head 0 (? bits): Me → ?, gustan → ?"
    )
    assert broken.alignment().links == []
    difference = spanish.against(broken)
    assert math.isnan(difference.ratio) and "a probability is not a number (NaN)" in difference.verdict
    assert "pellucid.find_nonfinite(model)" in difference.verdict
    assert difference.changes[0].relative == math.inf
    assert [change.relative for change in difference.changes][-1] == 0.0
    assert "No search: " in " ".join(spanish.against(broken).lines(80))
    assert "?" in "".join(broken.trace["encoder.output"]._repr_html_())


def test_what_is_no_name_and_no_explanation_is_refused(spanish: Explanation, tmp_path: Path) -> None:
    layer = "decoder.layers.1.cross_attention"
    with pytest.raises(UsageError) as error:
        spanish.looked_at(3)  # type: ignore[arg-type]
    assert str(error.value) == (
        f'part = 3 is not the path of an attention, which is text. Give one such as "{layer}".'
    )
    for name in (3, ["looked"]):
        with pytest.raises(UsageError) as error:
            spanish.plot(name, tmp_path / "a.png")  # type: ignore[arg-type]
        assert str(error.value) == (
            f"name = {name} is not the name of a tensor, a part or a picture, which is text. Give one such "
            f'as "{layer}" or "looked".'
        )
    with pytest.raises(UsageError) as error:
        spanish.against(3)  # type: ignore[arg-type]
    assert str(error.value) == (
        "other = 3 is no explanation. Give what translator.explain returns, of the same source with another "
        "target or by another model."
    )


@pytest.mark.parametrize("target", [None, "Me gustan los gatos"])
def test_explain_in_an_open_trace_says_that_it_runs_passes_of_its_own(target: str | None) -> None:
    served = translator()
    with pytest.raises(UsageError) as error, trace(served.model):
        served.explain("I like cats", to="es", target=target)
    assert str(error.value) == (
        "explain runs passes of its own, and the trace (or other watch) that is open in this thread holds "
        "one pass. Leave its `with` first, and explain after it."
    )


def test_lines_of_text_fit_in_cells() -> None:
    text = "翻訳 " * 10 + "長い" * 20 + " and the rest of it"
    lines = paragraph(text, 21)
    assert all(0 < cell_len(line) <= 21 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert lines[0] == "翻訳 翻訳 翻訳 翻訳" and paragraph("", 21) == paragraph("　", 21) == [""]
