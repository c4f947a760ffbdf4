"""The formal concept that covers most uncovered ones [Belohlavek and Vychodil 2010]."""

import numpy as np

from skmoderndata._solvers.boolean_data.boolean import popcount
from skmoderndata._solvers.common.jit import jit


@jit
def next_concept(columns, uncovered, n):
    """Grow a concept by the feature that makes it cover most; take its ones off `uncovered`.

    The concept of a set of features has the objects that have them all, and the features that
    these objects share. Returns the intent and the number of ones newly covered.
    """
    p, n_words = columns.shape
    extent = np.zeros(n_words, dtype=np.uint64)
    for i in range(n):
        extent[i // 64] |= np.uint64(1) << np.uint64(i % 64)
    intent = np.zeros(p, dtype=np.bool_)
    trial = np.empty(n_words, dtype=np.uint64)
    best_extent = extent.copy()
    best_gain = np.int64(0)

    # try each feature outside of the intent
    while True:
        grown = False
        for j in range(p):
            if intent[j]:
                continue

            some = False
            for w in range(n_words):
                trial[w] = extent[w] & columns[j, w]
                some = some or trial[w] != 0
            if not some:
                continue

            # ones that the concept of the smaller extent would cover
            gain = np.int64(0)
            for d in range(p):
                if is_subset(trial, columns[d]):
                    for w in range(n_words):
                        gain += popcount(trial[w] & uncovered[d, w])

            if gain > best_gain:
                best_gain = gain
                grown = True
                for w in range(n_words):
                    best_extent[w] = trial[w]
        if not grown:
            break

        # the intent is what all rows of the extent have
        for w in range(n_words):
            extent[w] = best_extent[w]
        for d in range(p):
            intent[d] = is_subset(extent, columns[d])

    for d in range(p):
        if intent[d]:
            for w in range(n_words):
                uncovered[d, w] &= ~extent[w]
    return intent, best_gain


@jit
def is_subset(some, others):
    """Whether all bits of the first words are among those of the second."""
    for w in range(len(some)):
        if some[w] & ~others[w]:
            return False
    return True
