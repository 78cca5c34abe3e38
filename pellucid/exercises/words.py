"""Chapter 8: from scores to words."""

import torch

from pellucid.exercises.judging import Exercise
from pellucid.exercises.sentences import demo, how_are_you

CHAPTER = "08-words"


def probability_of_a_logit() -> Exercise:
    """Softmax over a vocabulary of three."""
    logits = torch.tensor([2.0, 1.0, 0.0], dtype=torch.float64)
    return Exercise(
        question="A vocabulary of three words has the logits 2, 1 and 0. What is the probability of the "
        "first? Three decimals.",
        hint="exp(2) over exp(2) + exp(1) + exp(0).",
        answers=(float(logits.softmax(0)[0]),),
        digits=3,
        why="Only differences count: 12, 11 and 10 would give the same.",
        remarks=[
            ((2 / 3,), "These are shares of the logits; the softmax takes exp first."),
            ((float(logits.softmax(0)[1]),), "That is the second."),
        ],
    )


def score_of_a_translation() -> Exercise:
    """What a beam compares."""
    explanation = how_are_you()
    losses = [round(step.loss, 4) for step in explanation.steps]
    total = sum(losses)
    return Exercise(
        question=(
            f"Of आप कैसे हैं </s> the losses are {', '.join(f'{loss:.4f}' for loss in losses)}, and the "
            "length penalty of the demo model is 1. What score has the translation? Three decimals."
        ),
        hint="The sum of the log-probabilities, divided by the number of tokens.",
        answers=(-total / len(losses),),
        digits=3,
        why="Divided by the length, or a short translation would always win: each further word costs.",
        remarks=[
            ((-total,), "That is the sum. It is divided by the length."),
            ((-total / (len(losses) - 1),), "The end token counts as a token."),
            (
                (total / len(losses),),
                "The sign: log-probabilities are not positive, losses are their negatives.",
            ),
        ],
    )


def shape_of_the_projection() -> Exercise:
    """The last matrix."""
    vocabulary, width = demo().model.projection_weight.shape
    return Exercise(
        question=(
            "The last matrix of the demo model turns a position's vector into a logit for each word, logits "
            "= x · W. What shape has this W? Rows and columns."
        ),
        hint="pellucid inspect demo says how wide the model is and how many tokens its vocabulary has.",
        answers=(width, vocabulary),
        why=f"d × V. It is the embedding matrix again, transposed (V × d, {vocabulary} × {width}, is how "
        "that is stored): the model is tied, and learns one matrix for both.",
        remarks=[((vocabulary, width), "So it is stored, as W_E. What must it be for x · W to multiply?")],
    )


EXERCISES = (probability_of_a_logit, score_of_a_translation, shape_of_the_projection)
