"""The formal concept that covers most uncovered ones [Belohlavek and Vychodil 2010].

As in the paper (Algorithm 2, GreConD), on packed words.
"""

import numpy as np

from skmoderndata._solvers.boolean_data.boolean import popcount
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.quantities import WORD_BITS


@jit
def next_concept(columns, uncovered, n):
    """Grow a concept by the feature that makes it cover most; clear its ones in `uncovered`.

    The concept of a set of features consists of the objects that have all of them and of the
    features that these objects share. Returns the intent and the number of ones newly covered.
    """
    p, n_words = columns.shape
    extent = np.zeros(n_words, dtype=np.uint64)
    for i in range(n):
        extent[i // WORD_BITS] |= np.uint64(1) << np.uint64(i % WORD_BITS)
    intent = np.zeros(p, dtype=np.bool_)
    trial = np.empty(n_words, dtype=np.uint64)
    best_extent = extent.copy()
    best_gain = np.int64(0)

    # try to add each feature outside the intent
    while True:
        grown = False
        for j in range(p):
            if intent[j]:
                continue

            is_nonempty = False
            for w in range(n_words):
                trial[w] = extent[w] & columns[j, w]
                is_nonempty = is_nonempty or trial[w] != 0
            if not is_nonempty:
                continue

            # count the ones that the concept with this smaller extent would cover
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

        # the intent contains the features that all rows of the extent have
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
def is_subset(words, container):
    """Return whether all bits set in the first words are set in the second words."""
    for w in range(len(words)):
        if words[w] & ~container[w]:
            return False
    return True
