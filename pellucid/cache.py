"""What decoding remembers: the source's keys and values, and the target's, which grow by one position at each
step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.mask import Mask


class NoPast:
    """The cache for training, which remembers nothing: all positions are computed at once."""

    def __init__(self, target_mask: Tensor | None = None) -> None:
        self._target_mask = target_mask

    def extend(self, layer: int, keys_BHMK: Tensor, values_BHMU: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values to attend to: the new ones alone."""
        return keys_BHMK, values_BHMU

    def positions(self, length: int) -> tuple[slice, int]:
        """Return the positions of the next `length` tokens, and a number greater than all of them."""
        return slice(0, length), length

    def mask(self) -> Mask:
        """Return the causal mask from position 0, which also hides the target's padding if there is any."""
        return Mask(self._target_mask, first_query=0)


class GrowingPast:
    """The cache for decoding: each step appends the keys and values of one token. Each row is a hypothesis.

    A cache belongs to one call, never to a module.
    """

    def __init__(self) -> None:
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []

    @property
    def position(self) -> int:
        """Return the position of the next token."""
        return self._keys[0].shape[2] if self._keys else 0

    def positions(self, length: int) -> tuple[slice, int]:
        """Return the positions of the next `length` tokens, after those remembered, and a number greater than
        all of them."""
        return slice(self.position, self.position + length), self.position + length

    def extend(self, layer: int, keys_BHMK: Tensor, values_BHMU: Tensor) -> tuple[Tensor, Tensor]:
        """Append a layer's new keys and values; return all keys and values, the earlier ones first."""
        if layer == len(self._keys):
            self._keys.append(keys_BHMK)
            self._values.append(values_BHMU)
        else:
            self._keys[layer] = torch.cat((self._keys[layer], keys_BHMK), dim=2)
            self._values[layer] = torch.cat((self._values[layer], values_BHMU), dim=2)
        return self._keys[layer], self._values[layer]

    def mask(self) -> Mask:
        """Return the causal mask for queries from the next position on."""
        return Mask(first_query=self.position)

    def select(self, rows: Tensor) -> None:
        """Keep the rows with these indices (along B), in this order. Beam search does so between steps."""
        self._keys = [keys.index_select(0, rows) for keys in self._keys]
        self._values = [values.index_select(0, rows) for values in self._values]


class FixedPast:
    """The cache for decoding on a GPU: its memory has a fixed shape, so that a step can be captured and
    repeated.

    Each row has room for `longest` positions, and has filled some of them.
    """

    def __init__(
        self, layers: int, positions_R: Tensor, heads: int, longest: int, head: int, like: Tensor
    ) -> None:
        self._pairs = like.new_zeros(layers, 2, len(positions_R), heads, longest, head)  # keys and values
        self._span = torch.arange(longest, device=like.device)
        self._positions_R = positions_R  # of each row's next token; they change where they are
        self.reach = longest  # positions that a step looks at: more than any row has filled

    def positions(self, length: int) -> tuple[Tensor, int]:
        """Return the position of each row's next token, R x 1, and a number greater than all of them."""
        return self._positions_R[:, None], len(self._span)

    def extend(self, layer: int, keys_BHMK: Tensor, values_BHMU: Tensor) -> tuple[Tensor, Tensor]:
        """Write a layer's new keys and values at each row's next position; return all keys and values."""
        both = self._pairs[layer, :, :, :, : self.reach]
        new = torch.stack((keys_BHMK, values_BHMU))
        both.scatter_(3, self._positions_R[None, :, None, None, None].expand_as(new), new)
        return both[0], both[1]

    def mask(self) -> Mask:
        """Return a mask that shows each row the positions it has filled, and the one of its next token."""
        return Mask(self._span[: self.reach] <= self._positions_R[:, None], some_row_is_empty=False)

    def select(self, rows: Tensor) -> None:
        """Reorder the rows in place: row i gets the keys and values of row rows[i]."""
        filled = self._pairs[..., : self.reach, :]
        filled.copy_(filled.index_select(2, rows))

    def clear(self) -> None:
        """Set all keys and values to zero, because a NaN of an earlier call would spoil later results."""
        self._pairs.zero_()


Past = NoPast | GrowingPast | FixedPast


@dataclass(frozen=True)
class Memory:
    """The encoded source as the decoder reads it, computed once for each sentence: each layer's keys and
    values for cross-attention, and the padding mask."""

    keys_BHMK: list[Tensor]
    values_BHMU: list[Tensor]
    mask: Mask

    @property
    def sentences(self) -> int:
        """Return the number of sentences, B."""
        return self.keys_BHMK[0].shape[0]

    def select(self, sentences: Tensor) -> "Memory":
        """Return the memory of the sentences with these indices."""
        allowed = self.mask.allowed_BM
        return Memory(
            [keys.index_select(0, sentences) for keys in self.keys_BHMK],
            [values.index_select(0, sentences) for values in self.values_BHMU],
            Mask(None if allowed is None else allowed.index_select(0, sentences)),
        )
