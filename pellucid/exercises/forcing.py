"""Chapter 3: teacher forcing and leakage."""

import math

from pellucid.exercises.judging import Exercise
from pellucid.exercises.sentences import cats, explained, how_are_you

CHAPTER = "03-teacher-forcing"


def loss_of_a_word() -> Exercise:
    """From a probability to a loss."""
    step = how_are_you().steps[1]
    shown = f"{step.probability:.4f}"
    p = float(shown)
    return Exercise(
        question=(
            f"At the second position of How are you → आप कैसे हैं the model gives the expected word "
            f"{step.expected} the probability {shown}. What is the loss there, to 3 decimals?"
        ),
        hint="The loss is −ln p, the natural logarithm.",
        answers=(-math.log(p),),
        digits=3,
        why="−ln p: 0 for certainty, growing without bound as the expected word becomes improbable.",
        remarks=[
            ((-math.log10(p),), "That is the logarithm to base 10; the loss takes the natural one."),
            ((-math.log2(p),), "That is the logarithm to base 2, bits; the loss takes the natural one."),
            ((1 - p,), "1 − p is what is missing to certainty. The loss is −ln p."),
            ((math.log(p),), "The sign: a loss is not negative."),
        ],
    )


def rows_that_leak() -> Exercise:
    """Which positions could cheat without a mask."""
    explanation = how_are_you()
    read = explanation.target_tokens
    cheats = tuple(place for place, step in enumerate(explanation.steps, 1) if step.expected in read[place:])
    rows = len(read)
    return Exercise(
        question=(
            f"The decoder reads {' '.join(read)} and is to say "
            f"{' '.join(step.expected for step in explanation.steps)}. Without a causal mask, which of its "
            f"{rows} positions could find the word that they are to say among those that they look at? Count "
            "from 1."
        ),
        hint="Position i is to say what position i + 1 reads. Is there always such a position?",
        answers=cheats,
        tells_count=False,
        why="All but the last: the end token is never read, so there is nothing to copy it from. "
        "The mask closes exactly these ways.",
        remarks=[
            (tuple(range(1, rows + 1)), "Where would the last position find the end token? Nobody reads it."),
            (tuple(range(2, rows + 1)), "Position 1 too: what it is to say is read by position 2."),
        ],
    )


def what_is_fed() -> Exercise:
    """The teacher's word or the model's own."""
    explanation = explained("I like cats", "es", "Me gusta los gatos")
    predicted = explanation.steps[1].predicted
    return Exercise(
        question=(
            'Under teacher forcing the target of "I like cats" is given as "Me gusta los gatos" (with a '
            "mistake in its second word). Which word does the decoder read at position 3?"
        ),
        hint='Look at the column "input": pellucid explain demo "I like cats" --to es '
        '--target "Me gusta los gatos".',
        answers=(explanation.steps[2].input,),
        why="The teacher's word, right or wrong, and not what the model would have said "
        f"({predicted}). That is why all positions can be computed at once.",
        remarks=[
            ((predicted,), "That is what the model says at position 2. Who decides what is read next?"),
            ((explanation.steps[2].expected,), "That is what position 3 is to say."),
            ((cats().steps[0].expected,), "That is what position 2 reads."),
        ],
    )


EXERCISES = (loss_of_a_word, rows_that_leak, what_is_fed)
