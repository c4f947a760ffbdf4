"""Boolean factorisations by their definitions: loops over rows, sets and bits."""

from itertools import combinations, product

import numpy as np


def union(components, members, n_features):
    row = [False] * n_features
    for k in members:
        row = [a or bool(b) for a, b in zip(row, components[k], strict=True)]
    return row


def cost(row, explained, bonus=1.0, penalty=1.0):
    """Price of the bits that differ: `bonus` for a missed one, `penalty` for a covered zero."""
    return sum(
        bonus if bit else penalty for bit, e in zip(row, explained, strict=True) if bit != e
    )


def subsets(k):
    return [chosen for size in range(k + 1) for chosen in combinations(range(k), size)]


def best_set(row, components, bonus=1.0, penalty=1.0):
    """First set of components of least cost, smallest sets first, and the cost."""
    best = min(
        subsets(len(components)),
        key=lambda chosen: cost(row, union(components, chosen, len(row)), bonus, penalty),
    )
    return set(best), cost(row, union(components, best, len(row)), bonus, penalty)


def all_rows(n_features):
    return [np.array(bits, dtype=bool) for bits in product((0, 1), repeat=n_features)]


def least_cost(X, k, bonus=1.0, penalty=1.0):
    """Least cost of any Boolean factorisation with at most k components."""
    return min(
        sum(best_set(row, components, bonus, penalty)[1] for row in X)
        for components in combinations(all_rows(X.shape[1]), k)
    )


def least_cost_one_per_row(X, k):
    """Least inertia of any k Boolean centres."""
    return min(
        sum(min(cost(row, c) for c in centers) for row in X)
        for centers in combinations(all_rows(X.shape[1]), k)
    )


def most_ones_from_below(X, k):
    """Most ones that k components cover in the rows that contain them."""
    components = [c for c in all_rows(X.shape[1]) if c.any()]
    best = 0
    for chosen in combinations(components, k):
        covered = np.zeros_like(X)
        for c in chosen:
            covered[(X | ~c).all(axis=1)] |= c
        best = max(best, int(covered.sum()))
    return best


def lloyd(X, centers, max_iter=100):
    """Lloyd's algorithm [1982] with Hamming distances and majorities.

    Ties go to the first centre and to 0. Returns the centres and the sum of the distances.
    """
    centers = [list(c) for c in centers]
    labels = None
    for _ in range(max_iter):
        before = labels
        labels = [min(range(len(centers)), key=lambda k: cost(row, centers[k])) for row in X]
        if labels == before:
            break
        for k in range(len(centers)):
            mine = [row for row, label in zip(X, labels, strict=True) if label == k]
            assert mine, "the reference does not know empty clusters"
            centers[k] = [
                2 * sum(int(row[d]) for row in mine) > len(mine) for d in range(len(X[0]))
            ]
    return centers, sum(cost(row, centers[k]) for row, k in zip(X, labels, strict=True))


def asso(X, k, tau, bonus=1.0, penalty=1.0):
    """Asso [Miettinen et al. 2008]: candidates from associations, chosen greedily.

    Candidate j holds the features d of confidence ``|x_j and x_d| / |x_j| >= tau``; k times the
    candidate is taken that lowers the cost most.
    """
    n, p = X.shape
    # 1. build the candidates: for each feature, the features that it implies with confidence tau
    candidates = []
    for j in range(p):
        having = [i for i in range(n) if X[i, j]]
        if having:
            row = [sum(X[i, d] for i in having) >= tau * len(having) - 1e-9 for d in range(p)]
            if row not in candidates:
                candidates.append(row)

    # 2. choose basis vectors one at a time, by the largest gain over all rows
    covered = np.zeros_like(X)
    chosen = []
    for _ in range(k):
        best = None
        best_gain = 0.0
        for candidate in candidates:
            total = sum(
                max(_gain(X[i], covered[i], candidate, bonus, penalty), 0) for i in range(n)
            )
            if total > best_gain:
                best = candidate
                best_gain = total
        if best is None:
            break

        # 3. assign it to the rows that gain from it
        for i in range(n):
            if _gain(X[i], covered[i], best, bonus, penalty) > 0:
                covered[i] |= np.array(best)
        chosen.append(best)

    chosen += [[False] * p] * (k - len(chosen))
    return np.array(chosen, dtype=bool), covered


def _gain(row, covered, candidate, bonus, penalty):
    """What a row gains when it uses the candidate, apart from the bits covered already."""
    new = [d for d in range(len(row)) if candidate[d] and not covered[d]]
    return sum(bonus if row[d] else -penalty for d in new)


def intersections(X, complete):
    """Candidate roles [Vaidya, Atluri and Warner 2006]: CompleteMiner or FastMiner.

    All nonempty intersections of any number of rows, or of pairs; the rows are among them.
    """
    rows = {frozenset(np.flatnonzero(row).tolist()) for row in X}
    if complete:
        roles = {
            frozenset.intersection(*chosen)
            for size in range(1, len(rows) + 1)
            for chosen in combinations(rows, size)
        }
    else:
        roles = rows | {a & b for a, b in combinations(rows, 2)}
    return {role for role in roles if role}


def newly_covered(X, candidate, covered):
    """Cover the rows that contain the candidate, a set of features: number of ones gained."""
    gain = 0
    for row, done in zip(X, covered, strict=True):
        if candidate <= set(np.flatnonzero(row).tolist()):
            gain += len(candidate - done)
            done |= candidate
    return gain


def grecon(X, k):
    """GreConD [Belohlavek and Vychodil 2010, algorithm 2]: intents, and ones newly covered.

    The concept of the largest gain is sought by adding one feature after the other to its intent;
    `extent` are the rows that contain the intent, `closed` the features common to those rows.
    """
    n, p = X.shape
    uncovered = {(i, d) for i in range(n) for d in range(p) if X[i, d]}

    concepts = []
    while uncovered and len(concepts) < k:
        intent = set()
        best = 0
        # 1. add the feature whose closed set covers most uncovered ones
        while True:
            trials = []
            for j in range(p):
                if j in intent:
                    continue
                extent = [i for i in range(n) if all(X[i, d] for d in intent | {j})]
                closed = (
                    {d for d in range(p) if all(X[i, d] for i in extent)} if extent else set()
                )
                trials.append(
                    (sum((i, d) in uncovered for i in extent for d in closed), closed)
                )
            gain = max((trial[0] for trial in trials), default=0)
            if gain <= best:
                break
            best = gain
            intent = next(closed for g, closed in trials if g == gain)

        # 2. the concept covers its rectangle
        extent = [i for i in range(n) if all(X[i, d] for d in intent)]
        uncovered -= {(i, d) for i in extent for d in intent}
        concepts.append((intent, best))

    return concepts
