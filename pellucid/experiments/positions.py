"""the sinusoids of section 3.5 in numbers, and why embeddings are multiplied by sqrt(d).

"PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d_model))" (Vaswani et al.
2017, section 3.5); "we multiply those weights by sqrt(d_model)" (section 3.4) is what makes the embeddings as
long as the positions.
"""

import functools
import math
from collections.abc import Sequence

import torch

from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Table
from pellucid.model import sinusoids
from pellucid.show.panels import Shades
from pellucid.translator import Translator

SHOWN, DRAWN = 8, 100  # dimensions of a table, positions of the picture
encoding = functools.partial(sinusoids, dtype=torch.float64, device=torch.device("cpu"))


def experiment(translator: Translator, *, length: int = 6, widths: Sequence[int] = (4, 8)) -> Result:
    """Show the encodings of the first `length` positions for these widths and for the model's own."""
    if odd := [width for width in widths if width % 2]:
        raise UsageError(f"widths: {odd[0]} is odd, and sine and cosine come in pairs. Give even numbers.")
    model, width = translator.model, translator.model.config.width
    words = model.embedding or model.encoder.embedding
    assert words is not None
    word = float(words.weight.detach().double().norm(dim=-1).mean())
    vectors = encoding(length, width)
    position, scaled = float(vectors[0].norm()), math.sqrt(width) * word
    alike = torch.nn.functional.cosine_similarity(vectors, vectors[:1], dim=-1).tolist()
    drawn = encoding(DRAWN, width).tolist()
    title = "cosine of positions i and i + k, the same for every i: a distance, not a place"
    return Result(
        conclusion=f"A position's vector has the length √(d/2) = {position:.2f} at every position; a word's "
        f"has {word:.2f} in the matrix, {word / position:.1f} times that, and multiplied by √d = "
        f"{math.sqrt(width):.4g}, which this model "
        f"{'does' if model.encoder.scale != 1 else 'does not'}, {scaled:.2f}, "
        f"{scaled / position:.1f} times.",
        tables=[
            *(_table(length, each) for each in dict.fromkeys((*(w for w in widths if w != width), width))),
            Table(title, ["k", *map(str, range(length))], [["", *alike]], form=".4f"),
        ],
        picture=[Shades(f"position (down) and dimension of {width}", drawn, most=1.0, signed=True)],
    )


def _table(length: int, width: int) -> Table:
    shown = min(SHOWN, width)
    header = ["i", *(f"{'cos' if j % 2 else 'sin'} {j}" for j in range(shown))]
    rows = [[str(i), *row[:shown]] for i, row in enumerate(encoding(length, width).tolist())]
    more = f", the first {shown} dimensions" if shown < width else ""
    return Table(f"d = {width}{more}", header, rows, form=".4f")
