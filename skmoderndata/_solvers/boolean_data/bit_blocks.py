"""Boolean rows in memory, or in blocks that are read once and kept as packed bits."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.boolean_data.boolean import pack_bits, pack_rows, unpack_rows
from skmoderndata._solvers.common.blocks import ArrayBlocks, Block
from skmoderndata._solvers.common.typing import Array

# Number of entries that are held as floats at a time (one MiB in single precision).
BLOCK_FLOATS = 2**18


class Data(NamedTuple):
    """Boolean rows, dense or sparse, and the mask of observed bits (None if all are observed)."""

    X: Any
    observed: Array | None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.X.shape

    def sum(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Return ``function(data, *shared)``, because a table in memory is one block."""
        return function(self, *shared)

    def blocks(self, n_sets: int) -> Iterator[tuple[slice, Any, Array | None]]:
        """Yield slices of rows, with their ones and observed bits as float32."""
        n, p = self.X.shape
        size = max(64, BLOCK_FLOATS // (p + 2 * n_sets))
        for first in range(0, n, size):
            rows = slice(first, min(first + size, n))
            seen = None if self.observed is None else self.observed[rows].astype(np.float32)
            yield rows, self.X[rows].astype(np.float32), seen

    def take(self, rows: Array) -> "Data":
        """Return the rows with these numbers."""
        return Data(self.X[rows], None if self.observed is None else self.observed[rows])


class BitBlocks(NamedTuple):
    """Boolean rows in blocks; passes use their packed bits."""

    rows: ArrayBlocks  # original rows
    packed: ArrayBlocks  # blocks whose states are packed bits and masks of observed bits
    read: Callable[[Any], Data]  # function from original rows to bits

    @classmethod
    def of(
        cls, rows: ArrayBlocks, read: Callable[[Any], Data], look: Callable[[Any], Any]
    ) -> "tuple[BitBlocks, Any]":
        """Pack the bits in one pass, and add up the results of `look` over the blocks."""
        packed, (looks,) = rows.step(_pack, read, look)
        return cls(rows, packed.without_arrays(), read), looks

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.rows.shape  # type: ignore[return-value]

    def sum(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Add up the tuples ``function(data, *shared)`` of the blocks."""
        return self.packed.sum(_on_bits, function, self.shape[1], shared)

    def packed_rows(self) -> ArrayBlocks:
        """Return blocks whose states are the packed bits of their rows."""
        return self.packed.step(_words)[0]

    def take(self, rows: Array) -> Data:
        """Return the rows with these numbers, in memory."""
        return self.read(self.rows.sample(rows)[0])


def _pack(block: Block, read: Any, look: Any) -> tuple[Any, tuple[Any]]:
    """Return the bits of a block, packed unless sparse, and the result of `look`."""
    seen = look(block.arrays[0])
    data = read(block.arrays[0])
    if sparse.issparse(data.X):
        return data, (seen,)
    observed = None if data.observed is None else pack_rows(data.observed)
    return Data(pack_rows(data.X), observed), (seen,)


def _on_bits(block: Block, function: Any, p: int, shared: tuple[Any, ...]) -> Any:
    bits, observed = block.state
    if not sparse.issparse(bits):
        bits = unpack_rows(bits, p)
        observed = None if observed is None else unpack_rows(observed, p)
    return function(Data(bits, observed), *shared)


def _words(block: Block) -> tuple[Array, tuple[()]]:
    bits = block.state.X
    return (pack_bits(bits) if sparse.issparse(bits) else bits), ()
