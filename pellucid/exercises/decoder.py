"""Chapter 1: why a decoder."""

from pellucid.exercises.judging import Exercise
from pellucid.exercises.sentences import cats, explained, how_are_you

CHAPTER = "01-why-a-decoder"


def first_and_last() -> Exercise:
    """The token a translation begins with, and the one that ends it."""
    steps = how_are_you().steps
    return Exercise(
        question=(
            'The demo model translates "How are you" to Hindi. Which token does the decoder read at its '
            "first step, and which does it say at its last? Two tokens."
        ),
        hint='Read the columns "input" and "expected" of: pellucid explain demo "How are you" --to hi.',
        answers=(steps[0].input, steps[-1].expected),
        why="The start token is only ever read, the end token is only ever said: that is how it may begin "
        "and how it stops.",
        remarks=[
            (
                (steps[0].expected, steps[-1].expected),
                "That is what it says at its first step. What had it read?",
            ),
            ((steps[0].input, steps[-1].input), "The second is what the last step reads. What does it say?"),
        ],
    )


def shifted_right() -> Exercise:
    """What the decoder reads, given what it is to say."""
    explanation = cats()
    said = [step.expected for step in explanation.steps]
    words = tuple(said[:-1])
    return Exercise(
        question=(
            f"In training, the decoder is to say {' '.join(said)}. What does it read at the same "
            f"{len(said)} positions, the first to the last? Write the tokens in quotes."
        ),
        hint="Shift what it is to say to the right by one: something new stands first, the last falls out.",
        answers=tuple(explanation.target_tokens),
        why="Each position reads the word before the one that it is to say: the target shifted right.",
        remarks=[
            (tuple(said), "That is what it is to say. If it read that, it would only have to repeat it."),
            ((*explanation.target_tokens, said[-1]), "The end token is said and never read: one too many."),
            (words, "Almost: what does the very first position read, where no word has been said?"),
        ],
    )


def runs_of_the_decoder() -> Exercise:
    """How often the decoder runs, in inference and in training."""
    explanation = explained("The cat sat on the mat", "fr")
    words = len(explanation.steps) - 1
    steps = explanation.stepwise
    return Exercise(
        question=(
            f'"{explanation.translation.text}" has {words} words. How often does the decoder run to find it '
            "greedily, a token at a time? And how often to compute the loss of the whole sentence?"
        ),
        hint="The end token is a token. In training all words are known from the start.",
        answers=(len(steps.steps), 1),
        why="Inference needs a run a token, the end token's too, for each reads what the one before said. "
        "Training knows all words, so one run has every position.",
        remarks=[
            ((words, 1), "The end token has to be said too, or nobody would know that it has finished."),
            (
                (words + 1, words + 1),
                "In training nothing has to be waited for: every word is known already.",
            ),
            ((words, words), "Count the end token; and in training every word is known already."),
        ],
    )


EXERCISES = (first_and_last, shifted_right, runs_of_the_decoder)
