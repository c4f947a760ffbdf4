"""A uniform sample of the rows of a stream, in packed bits."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.boolean_data.bit_blocks import Data
from skmoderndata._solvers.boolean_data.boolean import pack_bits, pack_rows, unpack_rows
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata._solvers.common.typing import Array

# Maximum number of rows of a stream that are kept.
STREAM_ROWS = 1000


class RowStream(NamedTuple):
    """A sample of the rows seen so far; each row is in it with the same probability."""

    ones: Array  # packed bits
    observed: Array | None  # packed mask of observed bits; None if all are observed
    n_seen: int  # number of rows seen
    n_searched: int  # number of rows seen when sources were last searched for
    seed: int  # seed of the random numbers

    @classmethod
    def of(cls, sample: Data, n_seen: int, rng: np.random.RandomState) -> "RowStream":
        """Begin a stream with a random sample of its first `n_seen` rows."""
        seed = int(rng.randint(MAX_INT32))
        stream = cls(*_packed(sample), n_seen, n_seen, seed)
        return stream.thin(STREAM_ROWS, rng)

    def thin(self, n_rows: int, rng: np.random.RandomState) -> "RowStream":
        """Keep a random selection of the rows, in their order."""
        n = len(self.ones)
        if n <= n_rows:
            return self

        # sort, so that the sample does not depend on the order of the draw
        numbers = rng.choice(n, n_rows, replace=False)
        rows = np.sort(numbers)
        ones = self.ones[rows]
        if self.observed is None:
            return self._replace(ones=ones)
        observed = self.observed[rows]
        return self._replace(ones=ones, observed=observed)

    def rng(self) -> np.random.RandomState:
        """Return a generator that depends on the rows seen, but not on the run."""
        return np.random.RandomState([self.seed, self.n_seen % 2**32])

    def add(self, data: Data) -> "RowStream":
        """Add as many of the new rows as a uniform sample of all rows would contain."""
        # advance the count first, because it seeds the random numbers of this batch
        n_new = data.shape[0]
        n_seen = self.n_seen + n_new
        after = self._replace(n_seen=n_seen)
        rng = after.rng()
        ones, observed = _packed(data)
        new = RowStream(ones, observed, n_new, 0, 0)

        # the number of new rows in a sample drawn without replacement follows the hypergeometric
        # distribution
        n_rows = min(STREAM_ROWS, n_seen)
        n_chosen = rng.hypergeometric(n_new, self.n_seen, n_rows)
        n_chosen = max(n_chosen, n_rows - len(self.ones))
        new = new.thin(n_chosen, rng)
        old = self.thin(n_rows - n_chosen, rng)

        ones = np.vstack([old.ones, new.ones])
        if old.observed is None and new.observed is None:
            return after._replace(ones=ones)

        # if only one of the two parts has unobserved bits, give the other a full mask
        p = data.shape[1]
        old_mask = _mask(old, p)
        new_mask = _mask(new, p)
        observed = np.vstack([old_mask, new_mask])
        return after._replace(ones=ones, observed=observed)

    def rows(self, p: int) -> Data:
        """Return the kept rows of p bits."""
        bits = unpack_rows(self.ones, p)
        if self.observed is None:
            return Data(bits, None)
        observed = unpack_rows(self.observed, p)
        return Data(bits, observed)


def _packed(data: Data) -> tuple[Array, Array | None]:
    ones = pack_bits(data.X)
    if data.observed is None:
        return ones, None
    return ones, pack_rows(data.observed)


def _mask(stream: RowStream, p: int) -> Array:
    if stream.observed is not None:
        return stream.observed
    shape = (len(stream.ones), p)
    return pack_rows(np.ones(shape, dtype=bool))
