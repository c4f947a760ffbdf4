"""Slow, obvious versions: minimum over all permutations, labels shuffled one by one."""

from itertools import permutations

import numpy as np
from scipy.spatial.distance import cdist


def label_distance(a, b):
    """Fraction of objects that differ, for the best of all one-to-one renamings."""
    names_a = list(np.unique(a))
    names_b = list(np.unique(b))
    size = max(len(names_a), len(names_b))
    codes_a = np.array([names_a.index(label) for label in a])
    codes_b = np.array([names_b.index(label) for label in b])
    return min(
        np.mean(np.array(new_name)[codes_a] != codes_b)
        for new_name in permutations(range(size))
    )


def membership_distance(A, B):
    """Fraction of entries that differ, for the best order of the columns."""
    k = max(A.shape[1], B.shape[1])
    A, B = (np.hstack([Z, np.zeros((len(Z), k - Z.shape[1]), bool)]) for Z in (A, B))
    return min(np.mean(A[:, list(order)] != B) for order in permutations(range(k)))


def at_random(distance, a, b, *, n_draws, rng):
    return np.mean([distance(a, rng.permutation(b)) for _ in range(n_draws)])


def halves(n_samples, *, n_splits, random_state):
    """Two halves of shuffled rows for each split."""
    seeds = np.random.RandomState(random_state).randint(2**31 - 1, size=n_splits)
    for seed in seeds:
        order = np.random.RandomState(seed).permutation(n_samples)
        yield order[: n_samples // 2], order[n_samples // 2 :]


def distances(X, cluster, *, n_splits, random_state):
    """Disagreement of two clusterings for each split [Lange et al. 2004].

    A nearest-neighbour classifier carries the labels of the first half over to the second.
    """
    disagreements = []
    for first, second in halves(len(X), n_splits=n_splits, random_state=random_state):
        nearest = cdist(X[second], X[first]).argmin(axis=1)
        disagreements.append(label_distance(cluster(X[first])[nearest], cluster(X[second])))
    return np.array(disagreements)


def jackknife_error_of_ratio(a, b):
    """Standard error of mean(a) / mean(b), leaving out one pair at a time."""
    n = len(a)
    left_out = np.array([np.delete(a, i).mean() / np.delete(b, i).mean() for i in range(n)])
    return np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
