"""Chapter 6: cross-attention in time."""

from pellucid.exercises.judging import Exercise
from pellucid.exercises.sentences import how_are_you

CHAPTER = "06-cross-attention"


def shape_of_the_scores() -> Exercise:
    """Who asks and who is asked."""
    explanation = how_are_you()
    rows, columns = explanation.trace["decoder.layers.0.cross_attention.scores"].tensor.shape[-2:]
    return Exercise(
        question=(
            f"How are you → {explanation.translation.text}. What shape have the scores of a head of the "
            "cross-attention when the whole translation is computed at once? Rows and columns."
        ),
        hint='Count the tokens: pellucid explain demo "How are you" --to hi. Target positions ask, '
        "source tokens are asked.",
        answers=(rows, columns),
        why=f"m × n in note 002, T_dec × T_enc in 004, L × M here. {rows} tokens are read by the decoder, "
        f"with the start token; {columns} by the encoder, with the language's tag and the end token.",
        remarks=[
            ((columns, columns), "Keys are the source's, but queries are the target's."),
            ((rows - 1, columns), "The start token asks too."),
            ((rows, columns - 2), "The tag of the language and the end token are asked too."),
            ((rows - 1, columns - 2), "Start, tag and end are tokens as well."),
        ],
    )


def rows_with_a_cache() -> Exercise:
    """What a cache saves."""
    steps = how_are_you().stepwise
    last = len(steps.steps)
    return Exercise(
        question=(
            f"How are you → आप कैसे हैं takes {last} steps. How many rows does the decoder compute in all of "
            "them together, first with a cache, then without one?"
        ),
        hint="With a cache each step computes the row of its new token. Without one it computes the whole "
        "prefix again: 1 row, then 2, …",
        answers=(steps.cached_rows, steps.whole_rows),
        why="The sum 1 + 2 + … grows with the square of the length, and gives the same numbers: earlier rows "
        "never change, for they look at nothing that comes later.",
        remarks=[
            (
                (last, last * last),
                "Without a cache step t has the prefix of t tokens, not the whole sentence.",
            ),
            ((steps.whole_rows, steps.cached_rows), "The other way round: the cache saves work."),
        ],
    )


def who_asks_at_step_three() -> Exercise:
    """Which token's row makes the query."""
    step = how_are_you().steps[2]
    return Exercise(
        question="In How are you → आप कैसे हैं the third step finds हैं. Which target token's row makes the "
        "query that looks at the source then?",
        hint="The word that is being looked for cannot ask: nobody knows it yet.",
        answers=(step.input,),
        why="The last token read asks. Its row is not only that word: masked self-attention has mixed in all "
        "before it, from the cache.",
        remarks=[((step.expected,), "That is the answer of this step, so it cannot be what asks.")],
    )


EXERCISES = (shape_of_the_scores, rows_with_a_cache, who_asks_at_step_three)
