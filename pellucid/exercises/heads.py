"""Chapter 7: heads and dimensions."""

from pellucid.exercises.judging import Exercise
from pellucid.exercises.sentences import demo

CHAPTER = "07-heads"


def width_of_a_head() -> Exercise:
    """How the width is divided."""
    config = demo().model.config
    note = (512, 8)
    return Exercise(
        question=(
            f"d_model = {note[0]} with {note[1]} heads, and the demo model with d_model = {config.width} and "
            f"{config.heads} heads. What is d_k, first there, then here?"
        ),
        hint="The heads share the width.",
        answers=(note[0] // note[1], config.width // config.heads),
        why="Heads are slices: more of them cost no more multiplications, but each looks with fewer numbers.",
        remarks=[(note, "These are d_model and H. Divide."), ((512, 64), "These are the widths. Divide.")],
    )


def parameters_of_an_attention() -> Exercise:
    """How many numbers are learned."""
    attention = demo().model.get_submodule("decoder.layers.0.cross_attention")
    learned = sum(each.numel() for each in attention.parameters())
    width = demo().model.config.width
    return Exercise(
        question=(
            f"The demo model's cross-attention has W_Q, W_K, W_V and W_O, each {width} × {width} and each "
            "with a bias. How many numbers does it learn?"
        ),
        hint="Four matrices and four vectors. pellucid inspect demo prints it.",
        answers=(learned,),
        why="The number of heads is not in it: they are slices of the same matrices.",
        remarks=[
            ((4 * width * width,), "The biases are missing."),
            ((3 * (width * width + width),), "W_O learns too."),
            ((width * width + width,), "That is one of four."),
        ],
    )


def the_right_side() -> Exercise:
    """On which side a matrix stands."""
    return Exercise(
        question="Two tokens, d_model = 8, two heads of 4. Concat is 2 × 8 and W_O is 8 × 8. Write the "
        "product that multiplies, its two factors in order, in quotes.",
        hint="The columns of the left factor must be as many as the rows of the right one.",
        answers=("Concat", "W_O"),
        why="(2×8)·(8×8) = (2×8): tokens stay rows. W_O · Concat is (8×8)·(2×8) and does not multiply.",
        remarks=[
            (("W_O", "Concat"), "(8×8)·(2×8): 8 columns meet 2 rows. So one of the notes has it too."),
            (("Concat", "·", "W_O"), 'Right, and without the dot: "Concat W_O".'),
        ],
    )


EXERCISES = (width_of_a_head, parameters_of_an_attention, the_right_side)
