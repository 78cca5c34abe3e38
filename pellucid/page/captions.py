"""What each traced tensor is, in a reader's words: its symbol, its name, its equation, its role."""

from dataclasses import dataclass

from pellucid.seeing.records import AXES


@dataclass(frozen=True)
class Caption:
    """Words under a tensor. Its role: q queries, k keys, v values, w scores and weights, x the stream."""

    symbol: str
    title: str
    equation: str  # HTML
    role: str
    notes: str  # what the notes call it, HTML; "" where none of them has it
    reading: str  # how to look at it, in a sentence or two


ATTENTION = {
    "queries": Caption(
        "Q",
        "Queries",
        "Q = X · W<sup>Q</sup> + b<sup>Q</sup>",
        "q",
        "Query, Q",
        "A row for each position: what it asks the others for.",
    ),
    "keys": Caption(
        "K",
        "Keys",
        "K = Y · W<sup>K</sup> + b<sup>K</sup>",
        "k",
        "Key, K",
        "A row for each position: what it is found by. A query that points the same way gets a high score.",
    ),
    "values": Caption(
        "V",
        "Values",
        "V = Y · W<sup>V</sup> + b<sup>V</sup>",
        "v",
        "Value, V",
        "A row for each position: what it gives to those who look at it.",
    ),
    "scores": Caption(
        "S",
        "Scores",
        "Q · K<sup>T</sup>: every query with every key",
        "w",
        "Attention Scores, QK<sup>T</sup>",
        "A cell is one query times one key. Purple is above zero, ochre with a dash below it.",
    ),
    "scaled_scores": Caption(
        "S",
        "Scaled scores",
        "Q · K<sup>T</sup> ÷ √d<sub>k</sub>",
        "w",
        "Scaled Scores, QK<sup>T</sup> / √d<sub>k</sub>",
        "The same pattern as the scores, smaller: every cell divided by the same number.",
    ),
    "mask": Caption(
        "M",
        "Mask",
        "0 where a query may look, −∞ where not",
        "w",
        "Mask, M",
        "Hatched is −∞: this row may not look at that column. The causal mask is a triangle.",
    ),
    "masked_scores": Caption(
        "S",
        "Masked scores",
        "scaled scores + mask",
        "w",
        "Masked Scores",
        "What is hatched has lost its score; everything else is as it was.",
    ),
    "weights": Caption(
        "A",
        "Attention weights",
        "softmax of each row: a row sums to 1",
        "w",
        "Attention Weights, A",
        "Read along a row: how one position shares a whole 1 among those it looks at.",
    ),
    "context": Caption(
        "C",
        "Context",
        "weights · V: the weighted sum of the values",
        "v",
        "Context, Attention<sub>h</sub>, A · V",
        "A row for each position: the values of all it looked at, each times its weight, added up.",
    ),
    "concatenated": Caption(
        "C",
        "Concatenated heads",
        "the heads’ contexts side by side",
        "v",
        "Concat",
        "The heads’ contexts beside each other: the first columns are head 0’s.",
    ),
    "output": Caption(
        "Z",
        "Output of the attention",
        "concatenated · W<sup>O</sup> + b<sup>O</sup>",
        "x",
        "MultiHead(Q, K, V), Output",
        "What this attention adds to the stream: all heads mixed by one matrix.",
    ),
}
FEED_FORWARD = {
    "hidden": Caption(
        "H",
        "Hidden",
        "X · W<sub>1</sub> + b<sub>1</sub>",
        "x",
        "Z W<sub>1</sub> + b<sub>1</sub>",
        "Each position by itself, in more dimensions than the stream has.",
    ),
    "activated": Caption(
        "H",
        "Activated",
        "activation(hidden)",
        "x",
        "ReLU(Z W<sub>1</sub> + b<sub>1</sub>)",
        "With ReLU what was below zero is now exactly 0: most dimensions are silent for a word.",
    ),
    "output": Caption(
        "Z",
        "Output of the feed-forward",
        "activated · W<sub>2</sub> + b<sub>2</sub>",
        "x",
        "FFN(Z)",
        "What the feed-forward adds to the stream.",
    ),
}
RESIDUAL = {
    "sum": Caption(
        "+",
        "Sum",
        "X + sublayer: the residual connection",
        "x",
        "what LayerNorm(…) takes",
        "The stream as it came, plus what the sublayer found.",
    ),
    "output": Caption(
        "Z",
        "What goes on",
        "the input of the next part",
        "x",
        "Z<sub>masked</sub>, Z<sub>cross</sub> or Z<sub>decoder</sub>",
        "The stream after this part: what the next one reads.",
    ),
}
NORM = {
    "mean": Caption(
        "μ", "Mean", "of each position’s vector", "x", "LayerNorm", "One number for each position."
    ),
    "variance": Caption(
        "σ²",
        "Variance",
        "of each position’s vector",
        "x",
        "LayerNorm",
        "How far a position’s numbers lie from their mean, squared, on average.",
    ),
    "standardized": Caption(
        "N",
        "Standardized",
        "(X − μ) ÷ √(σ² + 0.00001)",
        "x",
        "LayerNorm",
        "Every row now has mean 0 and variance 1.",
    ),
    "output": Caption(
        "N",
        "Normalized",
        "standardized · weight + bias, number by number",
        "x",
        "LayerNorm(…)",
        "Each dimension stretched and shifted by two numbers that training found.",
    ),
}
STACK = {
    "token_embeddings": Caption(
        "E",
        "Token embeddings",
        "each token’s row of the embedding, scaled",
        "x",
        "Token Embedding, Y",
        "The same word has the same row, wherever it stands.",
    ),
    "positions": Caption(
        "P",
        "Positions",
        "sine and cosine of the place: PE",
        "x",
        "Positional Encoding, PE",
        "The same for every sentence: the left columns turn fast from row to row, the right ones slowly.",
    ),
    "embedded": Caption(
        "X",
        "Embedded",
        "token embeddings + positions",
        "x",
        "Y<sub>input</sub>, X",
        "What the word is and where it stands, added.",
    ),
    "output": Caption(
        "Z",
        "Output of the decoder",
        "a vector for each position",
        "x",
        "Z<sub>decoder</sub>",
        "A row for each position; from it alone the next word is chosen.",
    ),
    "logits": Caption(
        "L",
        "Logits",
        "output · W: a number for each word",
        "w",
        "",
        "Each row against every word of the vocabulary; the 20 best are shown.",
    ),
    "probabilities": Caption(
        "P",
        "Probabilities",
        "softmax of the logits: how probable each next word is",
        "w",
        "",
        "What the model holds probable after each row; all words of the vocabulary share a whole 1.",
    ),
}
MEMORY = Caption(
    "Z",
    "Output of the encoder: the memory",
    "what every cross-attention looks at",
    "x",
    "Encoder Output, E, Z<sub>encoder</sub>",
    "A row for each source token, in its context. Every decoder layer makes its keys and values from it.",
)


def caption(name: str) -> Caption:
    """The caption of the tensor of this name."""
    path, _, last = name.rpartition(".")
    part = path.rpartition(".")[2]
    if name == "encoder.output":
        return MEMORY
    if part.endswith("attention"):
        return ATTENTION[last]
    if part.startswith("residual"):
        return RESIDUAL[last]
    return {"feed_forward": FEED_FORWARD, "norm": NORM}.get(part, STACK)[last]


def axis(letter: str, name: str) -> str:
    """What an axis of the tensor of this name counts: "target, asks (L)"."""
    stack = "source" if name.startswith("encoder") else "target"
    if letter == "M":
        return f"{'source' if '.cross_attention.' in name else stack}, attended to (M)"
    if letter == "L":
        return f"{stack}, asks (L)" if "_attention." in name else f"{stack}, position (L)"
    return f"{AXES[letter]} ({letter})"
