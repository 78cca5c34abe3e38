"""Chapter 2: masks."""

import torch

from pellucid.cache import Mask
from pellucid.exercises.judging import Exercise
from pellucid.worked.examples import example

CHAPTER = "02-masks"


def masked_cells() -> Exercise:
    """How many cells a causal mask hides."""
    mask = example("000-masked").worked()["mask"].tensor[0, 0]
    size, hidden = len(mask), int((mask == -torch.inf).sum())
    return Exercise(
        question=(
            f"START The cat sat on mat: {size} tokens, {size * size} scores. "
            "How many does the causal mask set to −∞?"
        ),
        hint="The first row hides all but itself, the next one less, the last none: add them up.",
        answers=(hidden,),
        why=f"{' + '.join(str(size - 1 - row) for row in range(size))} = {hidden}: half of what is off the "
        "diagonal.",
        remarks=[
            (
                (size * size - hidden,),
                "That is with the diagonal, which stays open: each word may look at itself.",
            ),
            ((size * size // 2,), "Half of all cells would cut the diagonal in two."),
        ],
    )


def padded_source() -> Exercise:
    """What padding hides from a cross-attention."""
    real, size, queries = 3, 5, 4
    allowed = torch.tensor([[True] * real + [False] * (size - real)])
    may_look = Mask(allowed).may_look(queries, size, torch.device("cpu"))
    assert may_look is not None
    hidden = int((~may_look.expand(1, 1, queries, size)).sum())
    return Exercise(
        question=(
            f"A source of {real} tokens stands in a batch beside one of {size}, so {size - real} pad tokens "
            f"are appended. The target has {queries} positions. How many of the {queries} × {size} scores of "
            "the first sentence's cross-attention are masked?"
        ),
        hint="Every target position looks at the whole source, but never at padding.",
        answers=(hidden,),
        why="Whole columns are masked, those of the padding, in every row; nothing is causal, for the source "
        "is known to its end.",
        remarks=[
            ((size - real,), "So many in each row. How many rows ask?"),
            ((queries * real,), "So many may be looked at."),
            ((queries * (queries - 1) // 2,), "Cross-attention has no causal mask: the source lies there."),
        ],
    )


def both_masks() -> Exercise:
    """Causal and padding together."""
    real, size = 3, 5
    allowed = torch.tensor([[True] * real + [False] * (size - real)])
    cpu = torch.device("cpu")
    both, causal = Mask(allowed, 0).may_look(size, size, cpu), Mask(None, 0).may_look(size, size, cpu)
    assert both is not None and causal is not None
    return Exercise(
        question=(
            f"A target of {real} tokens is padded to {size}. In the decoder's self-attention, causal mask "
            f"and padding mask together: how many of the {size} × {size} cells may still be looked at?"
        ),
        hint="A cell is open if it is open in both. Row 3 may look at 3 tokens; what of rows 4 and 5?",
        answers=(int(both.sum()),),
        why="1 + 2 + 3 + 3 + 3: the rows of the padding itself still look at the three real tokens, and what "
        "they compute is thrown away with their loss.",
        remarks=[
            ((int(causal.sum()),), "That is one mask alone, the causal one or the padding's. Take both."),
            ((6,), "The rows of padding are computed too: they look at the real tokens before them."),
            ((size * size - int(both.sum()),), "So many are closed."),
        ],
    )


EXERCISES = (masked_cells, padded_source, both_masks)
