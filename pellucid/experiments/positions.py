"""the sinusoids of section 3.5 in numbers, and why embeddings are multiplied by sqrt(d).

"PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d_model))" (Vaswani et al.
2017, section 3.5); "we multiply those weights by sqrt(d_model)" (section 3.4), so that embeddings and
position vectors have similar norms.
"""

import math

import torch

from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Table
from pellucid.model import sinusoids
from pellucid.show.panels import Shades
from pellucid.translator import Translator

SMALL = (4, 8)  # widths whose encodings fit a table
SHOWN, DRAWN = 8, 100  # dimensions of a table, positions of the picture


def experiment(translator: Translator, *, length: int = 6) -> Result:
    """Show the encodings of the first `length` positions, for small widths and for the model's width."""
    model, width, tables = translator.model, translator.model.config.width, []
    if (kind := model.config.positions) == "learned":
        raise UsageError("this shows sinusoids, and the positions of this model are learned.")
    for each in (*(small for small in SMALL if small != width), width):
        shown, more = min(SHOWN, each), f", the first {SHOWN} dimensions" if each > SHOWN else ""
        of = kind if each == width else "paper"
        vectors = sinusoids(length, each, torch.float64, torch.device("cpu"), of)
        header = ["i", *(f"{'cos' if j % 2 else 'sin'} {j}" for j in range(shown))]
        rows = [[str(i), *row[:shown]] for i, row in enumerate(vectors.tolist())]
        tables.append(Table(header, rows, form=".4f", title=f"d = {each}{more}"))
    alike = torch.nn.functional.cosine_similarity(vectors, vectors[:1], dim=-1).tolist()
    title = "cosine of positions i and i + k, the same for every i: a distance, not a place"
    tables.append(Table(["k", *map(str, range(length))], [["", *alike]], form=".4f", title=title))
    words = model.embedding or model.encoder.embedding
    assert words is not None
    word, position = (float(each.detach().double().norm(dim=-1).mean()) for each in (words.weight, vectors))
    scaled = math.sqrt(width) * word
    drawn = sinusoids(DRAWN, width, torch.float64, torch.device("cpu"), kind).tolist()
    return Result(
        conclusion=f"A position's vector has the length √(d/2) = {position:.2f} at every position; a word's "
        f"has {word:.2f} in the matrix, {word / position:.1f} times that, and multiplied by √d = "
        f"{math.sqrt(width):.4g}, which this model "
        f"{'does' if model.encoder.scale != 1 else 'does not'}, {scaled:.2f}, "
        f"{scaled / position:.1f} times.",
        tables=tables,
        picture=[Shades(f"position (down) and dimension of {width}", drawn, most=1.0, signed=True)],
    )
