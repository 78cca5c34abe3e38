"""Exercises: each answer worked out again, what the judge says to right and wrong ones, and the command."""

import functools
import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from command import Command
from documents import LEARN

import pellucid
from pellucid import exercises
from pellucid.errors import UsageError
from pellucid.exercises import HOMEWORK, Exercise, Verdict, judge
from pellucid.mask import Mask
from pellucid.model import sinusoids
from pellucid.worked.examples import example, read_example

NAMES = list(exercises.exercises())


@functools.cache
def names() -> dict[str, Any]:
    """What the expressions of exercises.toml are about."""
    demo = pellucid.load("demo", "cpu")

    def may_look(lengths: tuple[int, int], queries: int, first_query: int | None = None) -> Any:
        real = torch.arange(lengths[1]) < torch.tensor([[lengths[0]], [lengths[1]]])
        allowed = Mask(real, first_query).may_look(queries, lengths[1], torch.device("cpu"))
        assert allowed is not None
        return allowed.expand(2, 1, queries, lengths[1])

    def softmax(numbers: list[float]) -> Any:
        return np.exp(numbers) / np.exp(numbers).sum()

    def norm(numbers: list[float]) -> Any:
        return (np.array(numbers) - np.mean(numbers)) / np.sqrt(np.var(numbers) + 1e-5)

    how, cats = demo.explain("How are you", to="hi"), demo.explain("I like cats", to="es")

    def with_edits(explanation: Any, edits: Any) -> Any:
        source = torch.tensor([explanation.source_ids])
        target = torch.tensor([[demo.vocabulary.start_id, *explanation.target_ids[:-1]]])
        with torch.no_grad(), pellucid.trace(demo.model, edits=edits) as seen:
            demo.model(source, torch.ones_like(source, dtype=torch.bool), target)
        return seen

    def without_head(head: int) -> float:
        edits = pellucid.edits.silence("decoder.layers.1.cross_attention", head)
        rows = with_edits(cats, edits)["decoder.probabilities"].tensor[0]
        return float(rows.gather(1, torch.tensor(cats.target_ids)[:, None]).log().sum())

    lifted = with_edits(how, pellucid.edits.lift_mask("decoder.layers.0.self_attention"))
    moved = (lifted["decoder.output"].tensor - how.trace["decoder.output"].tensor).abs()[0].amax(-1)
    one, other = (
        demo.explain(text, to="en", target="I am a student").trace
        for text in ("je suis étudiant", "elle est médecin")
    )
    outputs = [
        f"decoder.layers.{layer}.{part}.output"
        for layer in range(2)
        for part in ("self_attention", "cross_attention", "feed_forward")
    ]
    attention = demo.model.get_submodule("decoder.layers.0.cross_attention")
    bank = demo.explain("The boat is near the bank.", to="es")
    return {
        "how": how,
        "cats": cats,
        "without_head": without_head,
        "changed_rows": [row + 1 for row in range(4) if moved[row] > 1e-3],
        "same_outputs": sum(torch.allclose(one[name].tensor, other[name].tensor) for name in outputs),
        "taught": demo.explain("I like cats", to="es", target="Me gusta los gatos"),
        "mat": demo.explain("The cat sat on the mat", to="fr"),
        "bank": bank,
        "bank_weights": bank.trace["encoder.layers.1.self_attention.weights"].tensor[0, 3],
        "masked": example("000-masked").worked(),
        "cross": example("004-cross-4").worked(),
        "homework": read_example(str(HOMEWORK)).report(),
        "embedding": demo.model.projection_weight,
        "sinusoids": sinusoids(2, 4, torch.float64, torch.device("cpu")),
        "parameters": sum(each.numel() for each in attention.parameters()),
        "config": demo.model.config,
        "log": math.log,
        "may_look": may_look,
        "softmax": softmax,
        "norm": norm,
    }


@pytest.mark.parametrize("name", [name for name in NAMES if name != "the-right-side"])
def test_an_answer_is_what_the_real_thing_computes(name: str) -> None:
    asked = exercises.exercise(name)
    found = eval(asked.computed, dict(names()))
    found = [found] if isinstance(found, str) or not np.ndim(found) else list(found)
    found = [each if isinstance(each, str) else float(each) for each in found]
    expected = list(asked.answer) if asked.is_words else pytest.approx(list(asked.answer), abs=2e-5)
    assert found == expected


def test_every_exercise_stands_in_its_chapter() -> None:
    found = exercises.chapters()
    assert [f"{chapter}.md" for chapter in found] == sorted(path.name for path in LEARN.glob("0*.md"))
    for chapter, asked in found.items():
        part = (LEARN / f"{chapter}.md").read_text(encoding="utf-8").partition("## Exercises")[2]
        assert re.findall(r"^- `([\w-]+)`:", part, re.MULTILINE) == [each.name for each in asked]
        answers = part.partition("<details>")[2]
        for each in asked:
            assert f"pellucid exercise {each.name}\n" in part and f"pellucid exercise {each.name} " in answers


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_takes_its_answer_and_refuses_others(name: str) -> None:
    asked = exercises.exercise(name)
    right = asked.written(asked.answer)
    assert judge(asked, right) == Verdict(True, asked.why)
    for wrong in wrong_answers(asked, right):
        verdict = judge(asked, wrong)
        assert not verdict.is_right and verdict.text, wrong
    for remark in asked.remarks:
        assert judge(asked, asked.written(remark.answer)) == Verdict(False, remark.text)


def wrong_answers(asked: Exercise, right: str) -> list[str]:
    """A number a unit of its last digit off, one too many; words in another order, another word."""
    parts = right.split()
    turned = [" ".join(parts[::-1])] if len(parts) > 1 and not asked.any_order else []
    wrong = [f"{right} 1", *turned]
    for place in range(len(parts)):
        unit = 1.01 * 10**-asked.digits if asked.digits else 1
        others = (
            ["x"]
            if asked.is_words
            else [f"{float(asked.answer[place]) + off:.{asked.digits}f}" for off in (-unit, unit)]
        )
        wrong += [" ".join([*parts[:place], other, *parts[place + 1 :]]) for other in others]
    return wrong


ASKED = Exercise("", "", "", "Two halves?", "Divide.", (0.45, 0.55), "So it is.", digits=2)


@pytest.mark.parametrize(
    "written, is_right, text",
    [
        ("0.45 0.55", True, "So it is."),
        ("0.4502 0.5498", False, "Divide."),
        ("0.450, 0.550", True, "So it is."),
        ("0.45 0.56", False, "Right but for number 2. Divide."),
        ("0.5 0.55", False, "0.5 has too few decimals: write 2 numbers, 2 decimals or more."),
        ("4.5e-1 55e-2", True, "So it is."),
        ("0.45", False, "1 given; wanted: 2 numbers, 2 decimals or more. Divide."),
    ],
)
def test_numbers_are_judged_by_their_digits(written: str, is_right: bool, text: str) -> None:
    assert judge(ASKED, written) == Verdict(is_right, text)


def test_a_name_is_as_good_in_capitals_but_not_in_part() -> None:
    asked = exercises.exercise("first-mistake")
    assert judge(asked, "Scaled_Scores").is_right and not judge(asked, "scaled").is_right
    assert judge(asked, "weights").text.endswith("look one stage up.") and not judge(asked, " ").is_right


@pytest.mark.parametrize("written", ["half", "1e999999", "2,2"])
def test_what_is_no_number_is_an_error(written: str) -> None:
    with pytest.raises(
        UsageError, match=f'"{written}" is not a number. Write one such as 0.25, with a point'
    ):
        judge(ASKED, written)


def test_the_verb(pellucid: Command) -> None:
    listed = pellucid("exercise", "--list").out
    assert all(f"    {name} " in listed for name in NAMES)
    assert pellucid("exercise", "three-weights", "0.21", "0.32", "0.47").out.startswith("Right. exp(0.3)")
    wrong = pellucid("exercise", "the-second-position", "--", "0", "1.0000", "0.0000", "1.0000")
    assert (wrong.code, wrong.out) == (1, "") and "pellucid: not yet. 0 has too few decimals" in wrong.err
    assert pellucid("exercise", "masked-cells", "--solve").out.startswith("15\n5 + 4 + 3 + 2 + 1 + 0 = 15")
    question = pellucid("exercise", "three-weights").out
    assert "Hint: " in question and question.endswith("pellucid exercise three-weights … … …\n")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("maskedcells",), 'no exercise is called "maskedcells". Nearest: masked-cells, '),
        (("masked-cells", "15", "--solve"), "exercise: an answer and --solve are both given."),
    ],
)
def test_the_verb_refuses(pellucid: Command, arguments: tuple[str, ...], message: str) -> None:
    outcome = pellucid("exercise", *arguments)
    assert outcome.code == 2 and outcome.err.startswith(f"pellucid: {message}")
