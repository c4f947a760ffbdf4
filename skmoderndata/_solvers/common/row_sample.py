"""A sample of the rows of a table in blocks, from which a start is computed."""

import numpy as np

from skmoderndata._solvers.common.blocks import ArrayBlocks, Block

MOST_ROWS = 10_000
LEAST_ROWS = 1000
ENTRIES = 2**24  # below them the sample may have more rows than the least


def sampled_rows(blocks: ArrayBlocks, rng: np.random.RandomState) -> Block:
    """Return all rows, or random ones where they are many, in their order and in memory."""
    n = blocks.shape[0]
    n_sampled = max(LEAST_ROWS, ENTRIES // blocks.shape[1])
    n_sampled = min(MOST_ROWS, n_sampled)

    # drawn twice is drawn once: a sample needs no permutation of all rows
    rows = np.arange(n)
    if n_sampled < n:
        drawn = rng.randint(n, size=n_sampled, dtype=np.int64)
        rows = np.unique(drawn)
    return Block(0, blocks.sample(rows))
