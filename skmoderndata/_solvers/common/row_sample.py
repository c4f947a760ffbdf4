"""A sample of the rows of a table in blocks, from which an initial solution is computed."""

import numpy as np

from skmoderndata._solvers.common.blocks import ArrayBlocks, Block

# Maximum and minimum number of rows in the sample.
MOST_ROWS = 10_000
LEAST_ROWS = 1000
# Maximum number of entries of a sample with more than the minimum number of rows.
ENTRIES = 2**24


def sampled_rows(blocks: ArrayBlocks, rng: np.random.RandomState) -> Block:
    """Return all rows, or random ones in order if there are too many, in memory."""
    n = blocks.shape[0]
    n_sampled = max(LEAST_ROWS, ENTRIES // blocks.shape[1])
    n_sampled = min(MOST_ROWS, n_sampled)

    # count rows that are drawn twice only once, which avoids a permutation of all rows
    rows = np.arange(n)
    if n_sampled < n:
        drawn = rng.randint(n, size=n_sampled, dtype=np.int64)
        rows = np.unique(drawn)
    return Block(0, blocks.sample(rows))
