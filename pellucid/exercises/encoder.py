"""Chapter 5: encoder self-attention."""

from pellucid.exercises.judging import Exercise
from pellucid.exercises.sentences import demo, explained, how_are_you

CHAPTER = "05-encoder"


def one_hot() -> Exercise:
    """The shapes of a lookup."""
    explanation = how_are_you()
    tokens, vocabulary = len(explanation.source_tokens), demo().vocabulary.source_size
    return Exercise(
        question=(
            f"The source of How are you is {' '.join(explanation.source_tokens)}. Looking up its vectors is "
            "the product of a one-hot matrix with W_E, which has a row for each of the demo's "
            f"{vocabulary} words. What shape has the one-hot matrix? Rows and columns."
        ),
        hint="A row for each token of the sentence; a column for each row of W_E.",
        answers=(tokens, vocabulary),
        why="Each row has a single 1, in the column of its token, and so picks one row of W_E. Note 002 "
        "multiplies the ids themselves, a vector, with W_E: those shapes do not multiply.",
        remarks=[
            ((vocabulary, tokens), "Rows ask first: a row for each token of the sentence."),
            ((tokens - 2, vocabulary), "The tag of the language and the end token are tokens too."),
            ((1, tokens), "These are the ids. One-hot, each id becomes a row of its own."),
        ],
    )


def nothing_is_causal() -> Exercise:
    """What an encoder's mask hides."""
    explanation = how_are_you()
    mask = explanation.trace["encoder.layers.0.self_attention.mask"].tensor[0, 0]
    size = len(mask)
    return Exercise(
        question=(
            f"The encoder reads {size} tokens and no padding. How many of the {size} × {size} scores of its "
            "self-attention are masked?"
        ),
        hint='Look: pellucid explain demo "How are you" --to hi --html page.html, then '
        "encoder.layers.0.self_attention.mask.",
        answers=(int((mask != 0).sum()),),
        why="None: the source is there as a whole, so every word may look at every other, to the left and to "
        "the right. Only the decoder must not look ahead.",
        remarks=[
            ((size * (size - 1) // 2,), "That is the causal mask, and the decoder's."),
            ((size,), "A token may look at itself."),
        ],
    )


def who_is_asked() -> Exercise:
    """Reading a row of weights."""
    explanation = explained("The boat is near the bank.", "es")
    record = explanation.trace["encoder.layers.1.self_attention.weights"]
    words = record.labels("L")
    weights = record.tensor[0, 0]
    asking = words.index("bank")
    return Exercise(
        question=(
            'The demo model reads "The boat is near the bank." (to Spanish). In encoder.layers.1, head 0, '
            "which token does bank give the largest weight? One token."
        ),
        hint='In Python: e = pellucid.load("demo").explain("The boat is near the bank.", to="es"); then '
        'e.trace["encoder.layers.1.self_attention.weights"], row bank (L), head 0.',
        answers=(words[int(weights[asking].argmax())],),
        why="The row of the word that asks, the largest number in it, the word above that column.",
        remarks=[
            *_unless_right(
                words[int(weights[:, asking].argmax())],
                words[int(weights[asking].argmax())],
                "That is the word that looks most at bank: a column. Take the row.",
            ),
        ],
    )


def _unless_right(word: str, right: str, remark: str) -> list[tuple[tuple[str, ...], str]]:
    """A remark on a wrong answer, unless it happens to be right."""
    return [] if word == right else [((word,), remark)]


EXERCISES = (one_hot, nothing_is_causal, who_is_asked)
