"""The Transformer in the paper's order, with its symbols (Vaswani et al. 2017, Attention Is All You Need)."""

import functools
import math
from collections.abc import Callable
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pellucid.cache import Memory, NoPast, Past
from pellucid.config.schema import ModelConfig
from pellucid.errors import UsageError
from pellucid.mask import Mask
from pellucid.seeing.watching import Part, is_watched, name_parts

See = Callable[[str, Tensor], Tensor]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
EXPORTED_POSITIONS = 2048  # the most tokens that an exported graph can read or write


class Transformer(Part):
    """An encoder-decoder Transformer: source ids and target ids in, the logits of each next token out
    (section 3, figure 1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        shared = config.tied and config.target_vocabulary is None
        self.embedding = nn.Embedding(config.vocabulary, config.width) if shared else None
        self.encoder = Encoder(config, own_embedding=not shared)
        self.decoder = Decoder(config, own_embedding=not shared)
        name_parts(self)
        initialise(self)

    def forward(
        self, source: Tensor, source_mask: Tensor | None, target: Tensor, target_mask: Tensor | None = None
    ) -> Tensor:
        """Return the logits B L V of all positions at once (teacher forcing), for source ids B M, target ids
        B L, and bool masks B M and B L (True = real token; None: all are)."""
        return self.logits(self.read(source, source_mask, target, target_mask))

    def read(
        self, source: Tensor, source_mask: Tensor | None, target: Tensor, target_mask: Tensor | None = None
    ) -> Tensor:
        """Return what `forward` computes before the projection: the output of the decoder's stack, B L D."""
        check_shapes(source, source_mask, target, target_mask)
        memory = self.remember(self.encode(source, source_mask), source_mask)
        return self.decoder(target, memory, NoPast(target_mask), self.embedding)

    def encode(self, source: Tensor, source_mask: Tensor | None) -> Tensor:
        """Return the output of the encoder's stack, B M D, for ids B M."""
        return self.encoder(source, Mask(source_mask), self.embedding)

    def remember(self, encoded_BMD: Tensor, source_mask: Tensor | None) -> Memory:
        """Return each decoder layer's keys and values of the source: computed once, used at every step."""
        layers = cast("list[DecoderLayer]", self.decoder.layers)
        pairs = [layer.cross_attention.remember(encoded_BMD) for layer in layers]
        return Memory([keys for keys, _ in pairs], [values for _, values in pairs], Mask(source_mask))

    def decode(self, target: Tensor, memory: Memory, past: Past) -> Tensor:
        """Return the logits B L V that follow the next target ids B L, and extend `past` with their keys and
        values. Each of the B rows is a hypothesis; the rows of one sentence are neighbours."""
        return self.logits(self.decoder(target, memory, past, self.embedding))

    def logits(self, output_BLD: Tensor) -> Tensor:
        """Return the logits B L V: apply the linear layer before the softmax. If tied, its matrix is the
        embedding's (section 3.4)."""
        return self.decoder.project(output_BLD, self.projection_weight)

    @property
    def projection_weight(self) -> Tensor:
        """Return the matrix V D that turns the decoder's output into logits; if tied, the embedding's."""
        if self.decoder.projection.weight is not None:
            return self.decoder.projection.weight
        embedding = self.embedding or self.decoder.embedding
        assert embedding is not None
        return embedding.weight


class Encoder(Part):
    """A stack of identical layers (section 3.1)."""

    def __init__(self, config: ModelConfig, own_embedding: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.width) if own_embedding else None
        self.scale = math.sqrt(config.width) if config.scale_embeddings else 1.0
        self.positions = config.positions
        learned = config.positions == "learned"
        self.position_embedding = nn.Embedding(config.longest, config.width) if learned else None
        self.input_norm = Norm(config.width) if learned else None
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.norm = Norm(config.width) if config.norm == "first" else None

    def forward(self, ids: Tensor, mask: Mask, shared_embedding: nn.Embedding | None) -> Tensor:
        """Map ids B M to vectors B M D. Inside, M is called L, because every position is also a query."""
        length = ids.shape[1]
        x = self.dropout(embed(self, ids, shared_embedding, slice(0, length), length))
        for layer in self.layers:
            x = layer(x, mask)
        return self.see("output_BLD", self.norm(x) if self.norm else x)


class EncoderLayer(Part):
    """Self-attention and feed-forward, each with Add & Norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = Attention(config)
        self.residual_1 = Residual(config)
        self.feed_forward = FeedForward(config)
        self.residual_2 = Residual(config)

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """Return the output of the layer for its input x, both B L D. The mask hides padding."""
        x = self.residual_1(x, lambda y: self.self_attention(y, *self.self_attention.remember(y), mask))
        return self.residual_2(x, self.feed_forward)


class Decoder(Part):
    """A stack of identical layers that also look at the source, and the projection to the vocabulary."""

    def __init__(self, config: ModelConfig, own_embedding: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.target_size, config.width) if own_embedding else None
        self.scale = math.sqrt(config.width) if config.scale_embeddings else 1.0
        self.positions = config.positions
        learned = config.positions == "learned"
        self.position_embedding = nn.Embedding(config.longest, config.width) if learned else None
        self.input_norm = Norm(config.width) if learned else None
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(config, index) for index in range(config.decoder_layers))
        self.norm = Norm(config.width) if config.norm == "first" else None
        self.projection = Projection(config)

    def forward(
        self, ids: Tensor, memory: Memory, past: Past, shared_embedding: nn.Embedding | None
    ) -> Tensor:
        """Map ids B L to vectors B L D. `past` gives their positions, and the earlier keys and values."""
        x = self.dropout(embed(self, ids, shared_embedding, *past.positions(ids.shape[1])))
        mask = past.mask()
        for layer in self.layers:
            x = layer(x, mask, memory, past)
        return self.see("output_BLD", self.norm(x) if self.norm else x)

    def project(self, output_BLD: Tensor, weight_VD: Tensor) -> Tensor:
        """Return the logits B L V. If a watcher is active in this thread, also show it their softmax."""
        logits = self.see("logits_BLV", F.linear(output_BLD, weight_VD, self.projection.bias))
        if is_watched():
            self.see("probabilities_BLV", logits.softmax(-1))
        return logits


class DecoderLayer(Part):
    """Masked self-attention, cross-attention and feed-forward, each with Add & Norm."""

    def __init__(self, config: ModelConfig, index: int) -> None:
        super().__init__()
        self.index = index
        self.self_attention = Attention(config)
        self.residual_1 = Residual(config)
        self.cross_attention = Attention(config)
        self.residual_2 = Residual(config)
        self.feed_forward = FeedForward(config)
        self.residual_3 = Residual(config)

    def forward(self, x: Tensor, mask: Mask, memory: Memory, past: Past) -> Tensor:
        """Return the output of the layer for its input x, both B L D. `memory` has the keys and values of the
        source, `past` those of the target."""

        def look_back(y: Tensor) -> Tensor:
            return self.self_attention(y, *past.extend(self.index, *self.self_attention.remember(y)), mask)

        def look_at_source(y: Tensor) -> Tensor:
            # The hypotheses of a sentence are just more queries to its keys: the memory is never copied.
            together = y.reshape(memory.sentences, -1, y.shape[-1])
            keys, values = memory.keys_BHMK[self.index], memory.values_BHMU[self.index]
            return self.cross_attention(together, keys, values, memory.mask).view_as(y)

        x = self.residual_1(x, look_back)
        x = self.residual_2(x, look_at_source)
        return self.residual_3(x, self.feed_forward)


class Attention(Part):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O (section 3.2.2)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
        self.value = nn.Linear(config.width, config.width)
        self.output = nn.Linear(config.width, config.width)
        self.dropout = Dropout(config.attention_dropout)

    def remember(self, y_BMD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys B H M K and values B H M U of the positions to attend to."""
        return self.split(self.key(y_BMD)), self.split(self.value(y_BMD))

    def forward(self, x_BLD: Tensor, keys_BHMK: Tensor, values_BHMU: Tensor, mask: Mask) -> Tensor:
        """Return the heads' weighted sums of the values, concatenated and projected by W^O: B L D."""
        queries = self.see("queries_BHLK", self.split(self.query(x_BLD)))
        keys, values = self.see("keys_BHMK", keys_BHMK), self.see("values_BHMU", values_BHMU)
        context = attend(queries, keys, values, mask, self.see, self.dropout)
        concatenated = self.see("concatenated_BLD", context.transpose(1, 2).flatten(2))
        return self.see("output_BLD", self.output(concatenated))

    def split(self, x: Tensor) -> Tensor:
        """Split the last axis into heads: B L D -> B H L D/H."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Mask,
    see: See,
    dropout: "Dropout",
    scale: float | None = None,
) -> Tensor:
    """Compute Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V (equation 1): BHLK, BHMK, BHMU -> BHLU. If
    `scale` is given, it replaces 1 / sqrt(d_k)."""
    scale = 1 / math.sqrt(queries.shape[-1]) if scale is None else scale
    may_look = mask.may_look(queries.shape[2], keys.shape[2], queries.device)
    # In bf16 on a CPU the backward pass of the fused kernel takes up to 10 times as long as these lines on
    # short rows: benchmarks/attention.py. And it draws its dropout in another way.
    slow = queries.dtype == torch.bfloat16 and torch.is_grad_enabled() and queries.device.type == "cpu"
    dropping = dropout.training and dropout.rate > 0
    if not (slow or dropping or is_watched() or mask.some_row_is_empty):
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=may_look, scale=scale)

    scores = see("scores_BHLM", queries @ keys.mT)
    scaled_scores = see("scaled_scores_BHLM", scores * scale)
    mask_BHLM = see("mask_BHLM", additive(may_look, scores))
    masked_scores = see("masked_scores_BHLM", scaled_scores + mask_BHLM)
    weights = see("weights_BHLM", softmax_over_keys(masked_scores, mask.some_row_is_empty or is_watched()))
    return see("context_BHLU", dropout(weights) @ values)


def additive(may_look: Tensor | None, scores_BHLM: Tensor) -> Tensor:
    """Return the matrix to add to the scores, B H L M: 0 where a query may look at a key, otherwise -inf. It
    is an expanded view, so do not change it in place."""
    matrix = scores_BHLM.new_zeros(() if may_look is None else may_look.shape)
    return (matrix if may_look is None else matrix.masked_fill(~may_look, -math.inf)).expand_as(scores_BHLM)


def softmax_over_keys(masked_scores: Tensor, rows_may_be_empty: bool | None) -> Tensor:
    """Apply softmax along M. With rows_may_be_empty, a row without an allowed key gets weights 0, not NaN."""
    if not rows_may_be_empty:
        return masked_scores.softmax(-1)
    empty = (masked_scores == -math.inf).all(-1, keepdim=True)
    return masked_scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)


class FeedForward(Part):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (equation 2); GELU or SiLU can replace max(0, .)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, config.hidden)
        self.outer = nn.Linear(config.hidden, config.width)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return FFN(x), B L D; each position is computed separately."""
        hidden = self.see("hidden_BLF", self.inner(x))
        activated = self.see("activated_BLF", self.activation(hidden))
        return self.see("output_BLD", self.outer(self.dropout(activated)))


class Residual(Part):
    """Add & Norm: LayerNorm(x + Sublayer(x)), or x + Sublayer(LayerNorm(x)) if the norm comes first. Dropout
    is applied to the sublayer's output (section 5.4)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm_first = config.norm == "first"
        self.norm = Norm(config.width)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a sublayer to x, B L D, with its residual connection and norm."""
        added = self.dropout(sublayer(self.norm(x) if self.norm_first else x))
        total = self.see("sum_BLD", x + added)
        return self.see("output_BLD", total if self.norm_first else self.norm(total))


class Norm(Part):
    """LayerNorm: normalise each position's vector to mean 0 and (biased) variance 1, then multiply by a
    weight and add a bias (Ba et al. 2016)."""

    epsilon = 1e-5

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised x, B L D; each position is computed separately."""
        if not is_watched():
            if x.dtype == torch.bfloat16 and torch.is_grad_enabled():
                # With weight and bias inside, the kernel sums their gradients in bf16 and loses up to half of
                # them.
                standardized = F.layer_norm(x, self.weight.shape, eps=self.epsilon)
                return torch.addcmul(self.bias, standardized, self.weight)
            return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)
        mean = self.see("mean_BL", x.mean(-1))
        variance = self.see("variance_BL", x.var(-1, correction=0))
        standardized = self.see(
            "standardized_BLD", (x - mean[..., None]) / (variance[..., None] + self.epsilon).sqrt()
        )
        return self.see("output_BLD", standardized * self.weight + self.bias)


class Projection(nn.Module):
    """The matrix and bias that produce the logits. If tied, the matrix is None: the embedding's is used."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight = None if config.tied else nn.Parameter(torch.empty(config.target_size, config.width))
        self.bias = nn.Parameter(torch.empty(config.target_size)) if config.output_bias else None


def embed(
    stack: "Encoder | Decoder", ids: Tensor, shared: nn.Embedding | None, where: slice | Tensor, above: int
) -> Tensor:
    """Return token embeddings times sqrt(D) (section 3.4) plus positional encodings (section 3.5): B L -> B L
    D. `where` has the positions of the ids, and `above` is a number greater than all of them."""
    embedding = shared or stack.embedding
    assert embedding is not None
    vectors = stack.see("token_embeddings_BLD", embedding(ids) * stack.scale)
    positions = stack.see("positions_LD", position_table(stack, above, vectors)[where])
    embedded = stack.see("embedded_BLD", vectors + positions)
    return embedded if stack.input_norm is None else stack.input_norm(embedded)


def position_table(stack: "Encoder | Decoder", above: int, like: Tensor) -> Tensor:
    """Return the vectors of at least the positions below `above`, L D: sinusoids, or learned ones."""
    if stack.position_embedding is None:
        return sinusoids(round_up(above), like.shape[-1], like.dtype, like.device, stack.positions)
    if above > (longest := stack.position_embedding.num_embeddings):
        raise UsageError(f"{above} tokens, and this model has learned {longest} positions. Split the text.")
    return stack.position_embedding.weight


def check_shapes(
    source: Tensor, source_mask: Tensor | None, target: Tensor, target_mask: Tensor | None
) -> None:
    """Raise an error for inputs that broadcasting would accept silently: different numbers of sources and
    targets, or a mask that is not bool or not of the shape of its ids."""
    if len(source) != len(target):
        raise UsageError(f"{len(source)} sources and {len(target)} targets: give a target for each source.")
    for name, mask, ids in (("source_mask", source_mask, source), ("target_mask", target_mask, target)):
        if mask is not None and (mask.dtype != torch.bool or mask.shape != ids.shape):
            raise UsageError(
                f"{name} is {tuple(mask.shape)} of {mask.dtype}: it must be bools, True at real tokens, of "
                f"its ids' shape, {tuple(ids.shape)}."
            )


@functools.lru_cache(maxsize=64)
def sinusoids(
    length: int, width: int, dtype: torch.dtype, device: torch.device, kind: str = "paper"
) -> Tensor:
    """Return the sinusoidal positional encodings PE: L D (section 3.5).

    PE(i, 2j) = sin(i / 10000^(2j/D)), PE(i, 2j+1) = cos(...). With kind = "marian" or "fairseq", D - 2
    replaces D; with "fairseq", i + 2 replaces i too.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None] + (2 if kind == "fairseq" else 0)
    over = width if kind == "paper" else width - 2
    angle = position / 10_000 ** (torch.arange(0, width, 2, dtype=torch.float64) / over)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).to(device, dtype)


def round_up(length: int) -> int:
    """Round up to a power of two, so that few tables of positions are made. During an export, return
    EXPORTED_POSITIONS, so that there is only one table."""
    return EXPORTED_POSITIONS if torch.compiler.is_exporting() else 1 << (length - 1).bit_length()


class Dropout(nn.Module):
    """Dropout: in training, sets each value to 0 with probability `rate` and multiplies the others by 1 / (1
    - rate) (Srivastava et al. 2014; section 5.4)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        return x * keep_or_drop(x, self.rate) if x.device.type == "cpu" else F.dropout(x, self.rate)


def keep_or_drop(x: Tensor, rate: float) -> Tensor:
    """Return a random factor for each value of x: 0 with probability `rate` (rounded to 1/256), otherwise the
    factor above 1 that keeps the mean."""
    # One random byte a value: with more, random numbers took a tenth of a training step on a CPU.
    dropped = max(1, min(255, round(rate * 256)))
    # 64 random bits are the bytes of 8 values; torch fills all 64 only if the range begins at -2^63.
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    kept = (words.view(torch.uint8)[: x.numel()] >= dropped).view(x.shape)
    return kept.to(x.dtype).mul_(256 / (256 - dropped))


# In the first weights, the matrices of these names are so many times as large as usual: decision 0015.
SMALL = {"embedding": 0.5, "projection": 0.5, "query": 0.7, "key": 0.7, "output": 0.125, "outer": 0.125}


@torch.no_grad()
def initialise(model: Transformer, small: bool = True) -> None:
    """Initialise the parameters: Xavier for matrices, N(0, 1/D) for embeddings and the projection, 0 for
    biases, and some of them smaller if `small`.

    The paper does not say how to begin. If what a sublayer adds is small at first, gradients reach all layers
    (Zhang et al. 2019, depth-scaled initialization).
    """
    for name, parameter in model.named_parameters():
        kind = name.split(".")[-2]
        factor = SMALL.get(kind, 1.0) if small else 1.0
        if name.endswith(".bias"):
            parameter.zero_()
        elif kind in ("embedding", "projection"):
            parameter.normal_(0.0, factor * model.config.width**-0.5)
        elif parameter.dim() == 2:
            nn.init.xavier_uniform_(parameter, gain=factor)
