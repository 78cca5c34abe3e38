"""What decoding remembers: the source's keys and values, and the target's, which grow by one position at each
step."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
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

    A cache belongs to one call, never to a module. Rows that join later have fewer positions: the earlier
    ones are missing, and hidden.
    """

    def __init__(self) -> None:
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._missing_R: Tensor | None = None  # of each row, positions; None: of no row

    @property
    def position(self) -> int:
        """Return the position of the next token in the longest row."""
        return self._keys[0].shape[2] if self._keys else 0

    def positions(self, length: int) -> tuple[slice | Tensor, int]:
        """Return the positions of the next `length` tokens, after those remembered, and a number greater than
        all of them."""
        end = self.position + length
        if self._missing_R is None:
            return slice(self.position, end), end
        span = torch.arange(self.position, end, device=self._missing_R.device)
        return span - self._missing_R[:, None], end

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
        """Return the causal mask for queries from the next position on, which hides missing positions."""
        if self._missing_R is None:
            return Mask(first_query=self.position)
        span = torch.arange(self.position + 1, device=self._missing_R.device)
        return Mask(span >= self._missing_R[:, None], some_row_is_empty=False)

    def join(self, rows: int) -> None:
        """Append rows that have no position yet."""
        if not self._keys:
            return
        keys = self._keys[0]
        present = keys.new_zeros(len(keys), dtype=torch.long)
        self._missing_R = F.pad(
            present if self._missing_R is None else self._missing_R, (0, rows), value=self.position
        )
        more = (0, 0, 0, 0, 0, 0, 0, rows)
        self._keys, self._values = (
            [F.pad(each, more) for each in layers] for layers in (self._keys, self._values)
        )

    def select(self, rows: Tensor) -> None:
        """Keep the rows with these indices (along B), in this order. Beam search does so between steps."""
        first = 0
        if self._missing_R is not None:
            missing = self._missing_R[rows]
            first = int(missing.min())  # positions that no row has any more
            self._missing_R = missing - first if bool((missing > first).any()) else None
        self._keys, self._values = (
            [each[:, :, first:].index_select(0, rows) for each in layers]
            for layers in (self._keys, self._values)
        )


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

    def joined_by(self, others: "Memory") -> "Memory":
        """Return the memory of these sentences, followed by that of others."""
        longest = max(each.keys_BHMK[0].shape[2] for each in (self, others))
        here, there = (each._padded(longest) for each in (self, others))
        keys, values = (
            [torch.cat(both) for both in zip(ours, theirs, strict=True)]
            for ours, theirs in ((here.keys_BHMK, there.keys_BHMK), (here.values_BHMU, there.values_BHMU))
        )
        masks = [each.mask.allowed_BM for each in (here, there)]
        return Memory(keys, values, Mask(torch.cat([each for each in masks if each is not None])))

    def _padded(self, length: int) -> "Memory":
        """Return the same with this number of positions; those that are added are hidden."""
        keys, allowed = self.keys_BHMK[0], self.mask.allowed_BM
        if allowed is None:
            allowed = keys.new_ones((self.sentences, keys.shape[2]), dtype=torch.bool)
        more = length - keys.shape[2]
        keys_BHMK, values_BHMU = (
            [F.pad(each, (0, 0, 0, more)) for each in side] for side in (self.keys_BHMK, self.values_BHMU)
        )
        return Memory(keys_BHMK, values_BHMU, Mask(F.pad(allowed, (0, more))))

    def select(self, sentences: Tensor) -> "Memory":
        """Return the memory of the sentences with these indices."""
        allowed = self.mask.allowed_BM
        return Memory(
            [keys.index_select(0, sentences) for keys in self.keys_BHMK],
            [values.index_select(0, sentences) for values in self.values_BHMU],
            Mask(None if allowed is None else allowed.index_select(0, sentences)),
        )
