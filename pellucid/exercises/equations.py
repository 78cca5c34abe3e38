"""Chapter 4: the equations."""

from importlib import resources

import torch
from torch import Tensor

from pellucid.exercises.judging import Exercise
from pellucid.model import Norm, sinusoids
from pellucid.worked.attention import attention
from pellucid.worked.examples import example, read_example

CHAPTER = "04-equations"
FOLLOWS = "That follows from the line before, which is wrong already: look one stage up."
AS_PRINTED = "Yes: write the name as it is printed, scaled_scores."


def one_score() -> Exercise:
    """A dot product by hand."""
    worked = example("004-cross-4").worked()
    score, scaled = (float(worked[name].tensor[0, 0, 0, 2]) for name in ("scores", "scaled_scores"))
    query, key = worked["queries"].tensor[0, 0, 0].tolist(), worked["keys"].tensor[0, 0, 2].tolist()
    return Exercise(
        question=(
            f"Note 004, d_model = 4: the query of Me is {_row(query)}, the key of cats {_row(key)}. What is "
            "the score of Me with cats, before scaling? One decimal."
        ),
        hint="Four products, added up: 0.2·0.9 + 0.4·1.0 + …",
        answers=(score,),
        digits=1,
        why="0.18 + 0.40 + 0.66 + 0.96. The note prints 1.1, which is this divided by √4: its scores are "
        "scaled already, and then it scales them again.",
        remarks=[((scaled,), "So says the note, and it is half of the dot product: it is scaled already.")],
    )


def three_weights() -> Exercise:
    """Scale and softmax by hand."""
    worked = example("004-cross-4").worked()
    plain = attention(**{**dict(example("004-cross-4").arguments), "scale": None})
    twice = example("004-cross-4").report().steps["weights"]
    return Exercise(
        question=(
            "The scores of Me with I, like and cats are 0.6, 1.4 and 2.2, and d_k = 4. What are the three "
            "attention weights, to 2 decimals?"
        ),
        hint="Divide by √4, take exp of each, divide by their sum.",
        answers=tuple(worked["weights"].tensor[0, 0, 0].tolist()),
        digits=2,
        why="exp(0.3), exp(0.7) and exp(1.1), each over their sum. They add up to 1, and the order is that "
        "of the scores.",
        remarks=[
            (tuple(plain["weights"].tensor[0, 0, 0].tolist()), "That is the softmax without the scaling."),
            (tuple(twice[0, 0].tolist()), "The scores are divided by √4 once, not twice."),
            (
                (0.6 / 4.2, 1.4 / 4.2, 2.2 / 4.2),
                "These are shares of the scores; the softmax takes exp first.",
            ),
        ],
    )


def the_second_position() -> Exercise:
    """Sinusoids by hand."""
    row = sinusoids(2, 4, torch.float64, torch.device("cpu"))[1].tolist()
    degrees = torch.tensor([1.0, 0.01], dtype=torch.float64).deg2rad()
    in_degrees = torch.stack((degrees.sin(), degrees.cos()), -1).flatten().tolist()
    return Exercise(
        question="Width d = 4: what are the four numbers of the positional encoding of position 1 (the "
        "second token)? Four decimals.",
        hint="sin and cos of 1 / 10000^(0/4), then sin and cos of 1 / 10000^(2/4), in radians.",
        answers=tuple(row),
        digits=4,
        why="The first pair turns by one radian a token, the second by a hundredth of it: together they tell "
        "positions apart both near and far.",
        remarks=[
            (tuple(in_degrees), "The angles are radians."),
            ((0.0, 1.0, 0.0, 1.0), "That is position 0, the first token."),
            ((row[0], row[2], row[1], row[3]), "Sine and cosine take turns: sin, cos, sin, cos."),
        ],
    )


def add_and_norm() -> Exercise:
    """A residual and a norm by hand."""
    x, added = torch.tensor([1.0, 0.0, 2.0, 4.0]), torch.tensor([0.0, 2.0, 1.0, 2.0])
    total = x + added
    with torch.no_grad():
        right, alone = Norm(4)(total), Norm(4)(added)
    sample = (total - total.mean()) / total.std(correction=1)
    return Exercise(
        question=(
            f"A position's vector is {_row(x.tolist())}, the sublayer's output {_row(added.tolist())}. What "
            "does Add & Norm make of them (weight 1, bias 0)? Two decimals."
        ),
        hint="Add them; take away the mean; divide by the root of the mean of the squares of what is left.",
        answers=tuple(right.tolist()),
        digits=2,
        why="The sum is 1 2 3 6, its mean 3, its variance (4 + 1 + 0 + 9) / 4 = 3.5.",
        remarks=[
            (tuple(sample.tolist()), "The variance is divided by n = 4, not by n − 1."),
            (tuple(total.tolist()), "That is the sum. Now its norm."),
            (tuple(alone.tolist()), "The sublayer's output alone: the residual is missing."),
            (tuple(_over_variance(total)), "Divide by the root of the variance, not by the variance."),
        ],
    )


def first_mistake() -> Exercise:
    """Somebody's homework."""
    file = str(resources.files(__package__) / "homework.toml")
    wrong = [cell.name for cell in read_example(file).report().cells if cell.verdict == "wrong"]
    return Exercise(
        question=(
            f"In {file} somebody has worked out an attention from its queries, keys and values. Which stage "
            "holds the first mistake? One name, as the software prints it."
        ),
        hint=f"pellucid example --file {file} --claims. What follows from a mistake is none of its own.",
        answers=(wrong[0],),
        why="They divided by d_k = 4 instead of √d_k = 2. Everything after it follows from that, and is "
        "worked out well: one mistake, not seven.",
        remarks=[
            *(((name,), FOLLOWS) for name in ("masked_scores", "weights", "context", "concatenated")),
            (("scores",), "The dot products are right."),
            (("scaled",), AS_PRINTED),
            (("scaled", "scores"), AS_PRINTED),
        ],
        any_case=True,
    )


def _over_variance(total: Tensor) -> list[float]:
    return list(((total - total.mean()) / total.var(correction=0)).tolist())


def _row(numbers: list[float]) -> str:
    return "(" + ", ".join(f"{number:.1f}" for number in numbers) + ")"


EXERCISES = (one_score, three_weights, the_second_position, add_and_norm, first_mistake)
