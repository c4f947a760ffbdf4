"""Multi-assignment clustering by its definition: loops over sets, sources and bits."""

from itertools import combinations, product

import numpy as np


def probability_of_one(beta, chosen, eps, r, d):
    """The model's definition for one bit."""
    silent = 1.0
    for k in chosen:
        silent *= beta[k][d]
    p = eps * r + (1 - eps) * (1 - silent)
    return min(max(p, 1e-6), 1 - 1e-6)  # keep probabilities within the bounds of the model


def log_likelihood(X, beta, sets, eps, r):
    """`log p(x_i | L)` for every row and set; NaN bits have no say."""
    out = np.zeros((len(X), len(sets)))
    for i, row in enumerate(X):
        for s, chosen in enumerate(sets):
            for d, bit in enumerate(row):
                p = probability_of_one(beta, chosen, eps, r, d)
                if bit == bit:
                    out[i, s] += np.log(p if bit else 1 - p)
    return out


def subsets(k, largest):
    """All subsets of range(k) up to a size, smallest first."""
    return [chosen for size in range(largest + 1) for chosen in combinations(range(k), size)]


def fewest_errors(X, k):
    """Smallest number of wrong bits of any Boolean factorisation with k sources."""
    n_features = X.shape[1]
    rows = [np.array(bits, dtype=bool) for bits in product((0, 1), repeat=n_features)]
    best = X.size
    for sources in combinations(rows, k):
        unions = [
            np.any([sources[j] for j in chosen], axis=0)
            if chosen
            else np.zeros(n_features, bool)
            for chosen in subsets(k, k)
        ]
        errors = sum(min(int((x != u).sum()) for u in unions) for x in X)
        best = min(best, errors)
    return best


def expected_log_likelihood(ones, zeros, beta, sets, eps, r):
    """Weighted log-likelihood of the tables of counts, by loops."""
    total = 0.0
    for d in range(len(ones)):
        for s, chosen in enumerate(sets):
            p = probability_of_one(beta, chosen, eps, r, d)
            total += ones[d][s] * np.log(p) + zeros[d][s] * np.log(1 - p)
    return total


def scores_with_candidates(ones, zeros, unions, base, candidates, bonus, penalty):
    """Sum over rows of the larger of `base` and the best union with each candidate added."""
    totals = []
    for candidate in candidates:
        total = 0.0
        for i in range(len(ones)):
            best = base[i]
            for union in unions:
                both = union | candidate
                gain = bonus * (ones[i] & both).sum() - penalty * (zeros[i] & both).sum()
                best = max(best, gain)
            total += best
        totals.append(total)
    return np.array(totals)
