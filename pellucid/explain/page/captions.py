"""What each traced tensor is, in a reader's words: its symbol, its name, its equation, its role."""

from dataclasses import dataclass

from pellucid.see import AXES


@dataclass(frozen=True)
class Caption:
    """Words under a tensor. Its role: q queries, k keys, v values, w scores and weights, x the stream."""

    symbol: str
    title: str
    equation: str  # HTML
    role: str


ATTENTION = {
    "queries": Caption("Q", "Queries", "Q = X · W<sup>Q</sup> + b<sup>Q</sup>", "q"),
    "keys": Caption("K", "Keys", "K = Y · W<sup>K</sup> + b<sup>K</sup>", "k"),
    "values": Caption("V", "Values", "V = Y · W<sup>V</sup> + b<sup>V</sup>", "v"),
    "scores": Caption("S", "Scores", "Q · K<sup>T</sup>: every query with every key", "w"),
    "scaled_scores": Caption("S", "Scaled scores", "Q · K<sup>T</sup> ÷ √d<sub>k</sub>", "w"),
    "mask": Caption("M", "Mask", "0 where a query may look, −∞ where not", "w"),
    "masked_scores": Caption("S", "Masked scores", "scaled scores + mask", "w"),
    "weights": Caption("A", "Attention weights", "softmax of each row: a row sums to 1", "w"),
    "context": Caption("C", "Context", "weights · V: the weighted sum of the values", "v"),
    "concatenated": Caption("C", "Concatenated heads", "the heads’ contexts side by side", "v"),
    "output": Caption("Z", "Output of the attention", "concatenated · W<sup>O</sup> + b<sup>O</sup>", "x"),
}
FEED_FORWARD = {
    "hidden": Caption("H", "Hidden", "X · W<sub>1</sub> + b<sub>1</sub>", "x"),
    "activated": Caption("H", "Activated", "activation(hidden)", "x"),
    "output": Caption("Z", "Output of the feed-forward", "activated · W<sub>2</sub> + b<sub>2</sub>", "x"),
}
RESIDUAL = {
    "sum": Caption("+", "Sum", "X + sublayer: the residual connection", "x"),
    "output": Caption("Z", "What goes on", "the input of the next part", "x"),
}
NORM = {
    "mean": Caption("μ", "Mean", "of each position’s vector", "x"),
    "variance": Caption("σ²", "Variance", "of each position’s vector", "x"),
    "standardized": Caption("N", "Standardized", "(X − μ) ÷ √(σ² + 0.00001)", "x"),
    "output": Caption("N", "Normalized", "standardized · weight + bias, number by number", "x"),
}
STACK = {
    "token_embeddings": Caption("E", "Token embeddings", "each token’s row of the embedding, scaled", "x"),
    "positions": Caption("P", "Positions", "sine and cosine of the place: PE", "x"),
    "embedded": Caption("X", "Embedded", "token embeddings + positions", "x"),
    "output": Caption("Z", "Output of the decoder", "a vector for each position", "x"),
    "logits": Caption("L", "Logits", "output · W: a number for each word", "w"),
    "probabilities": Caption(
        "P", "Probabilities", "softmax of the logits: how probable each next word is", "w"
    ),
}
MEMORY = Caption("Z", "Output of the encoder: the memory", "what every cross-attention looks at", "x")


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
