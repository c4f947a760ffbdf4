"""Loops over rows, lags and pairs: what TimeDelayEmbedding does at once."""

import math

import numpy as np


def embed(X, ids, n_lags, lag, *, fill=None):
    """Delay vectors ``[x(t), x(t - lag), ...]`` [Takens 1981], one row of X after the other.

    Where a sequence has not begun, its first row is repeated, or `fill` stands.
    """
    rows = []
    for t in range(len(X)):
        first = t
        while first > 0 and ids[first - 1] == ids[t]:
            first -= 1
        window = []
        for j in range(n_lags):
            if t - j * lag >= first:
                window.extend(X[t - j * lag])
            elif fill is None:
                window.extend(X[first])
            else:
                window.extend([fill] * X.shape[1])
        rows.append(window)
    return np.array(rows)


def same_sequence(ids, a, b):
    return all(ids[i] == ids[a] for i in range(a, b + 1))


def autocorrelation(X, ids, lag):
    values = []
    for x in X.T:
        centred = x - np.nanmean(x)
        if not np.nanmax(np.abs(centred)) > 0:
            continue
        pairs = [
            centred[t] * centred[t - lag]
            for t in range(lag, len(x))
            if same_sequence(ids, t - lag, t)
            and not math.isnan(centred[t])
            and not math.isnan(centred[t - lag])
        ]
        if pairs:
            values.append(np.mean(pairs) / np.nanmean(centred**2))
    return np.mean(values) if values else 1.0


def mutual_information(x, ids, lag, n_bins):
    """One feature; bins of equal frequency, probabilities in dictionaries."""
    edges = np.quantile(x, np.arange(1, n_bins) / n_bins)
    symbols = [sum(v >= e for e in edges) for v in x]
    joint = {}
    left = {}
    right = {}
    ends = [t for t in range(lag, len(x)) if same_sequence(ids, t - lag, t)]
    for t in ends:
        a = symbols[t]
        b = symbols[t - lag]
        joint[a, b] = joint.get((a, b), 0) + 1 / len(ends)
        left[a] = left.get(a, 0) + 1 / len(ends)
        right[b] = right.get(b, 0) + 1 / len(ends)
    return sum(p * math.log(p / (left[a] * right[b])) for (a, b), p in joint.items())
