"""Counts of given substrings, one at a time."""

import numpy as np


def count_table(X, words):
    """Count each word in each string by looking at all positions."""
    return np.array(
        [[sum(x[i:].startswith(word) for i in range(len(x))) for word in words] for x in X],
        dtype=float,
    ).reshape(len(X), len(words))
