"""The global alignment kernel of all pairs of a collection."""

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_most


def work(size, rng):
    """Random walks of equal lengths, normalised, and the width."""
    n, length, sigma = size
    X = rng.normal(size=(n, length)).cumsum(axis=1)
    X = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    return X, sigma


def quality(data, K):
    """Largest deviation of the logarithm from log-sum-exp in plain loops, for one pair."""
    X, sigma = data
    self_values = [_logarithm(x, x, sigma) for x in X[:2]]
    expected = _logarithm(X[0], X[1], sigma) - sum(self_values) / 2
    value = float(np.asarray(K)[0, 1])
    if value == 0.0:  # a value that underflows is correct if its logarithm is below -700
        return {"error": 0.0 if expected < -700 else np.inf}
    return {"error": float(abs(np.log(value) - expected))}


def _logarithm(x, z, sigma):
    cost = (x[:, None] - z[None]) ** 2 / (2 * sigma**2)
    local = -cost - np.log(2 - np.exp(-cost))
    row = np.full(len(z) + 1, -np.inf)
    row[0] = 0.0
    for i in range(len(x)):
        new = np.full_like(row, -np.inf)
        two = np.logaddexp(row[1:], row[:-1])
        for j in range(len(z)):
            new[j + 1] = local[i, j] + np.logaddexp(two[j], new[j])
        row = new
    return row[-1]


def ours(data):
    from skmoderndata.kernels import GlobalAlignment, Normalized

    return Normalized(GlobalAlignment(data[1]))(data[0])


def tslearn(data):
    from tslearn.metrics import cdist_gak

    return cdist_gak(data[0][:, :, None], sigma=data[1])


def _ratio(rows):
    limits = {"60 x 128": 1.6, "60 x 128, sigma 0.1": 1.0, "16 x 1000": 7.0, "6 x 2,500": 2.5}
    found = [
        (row.ratio >= limits[row.size], f"{row.size}: {row.ratio:.3g}")
        for row in rows
        if row.contender == "tslearn" and row.ratio is not None and row.size in limits
    ]
    if not found:
        return None, "tslearn not measured"
    return all(good for good, _ in found), "; ".join(text for _, text in found)


CASE = Case(
    title="Global alignment kernel",
    question=(
        "How long does it take to compute the normalised kernel matrix over all alignments, "
        "and how accurate is it?"
    ),
    remarks=(
        "All runs use one thread. The kernel widths follow the median rule, except in the "
        "rows that name another width. The error is the difference between the logarithm of a "
        "kernel value and a reference that applies log-sum-exp in plain loops."
    ),
    ours="GlobalAlignment",
    sizes={
        "12 x 128": (12, 128, 11.0),
        "60 x 128": (60, 128, 11.0),
        "60 x 128, sigma 0.28": (60, 128, 0.28),
        "60 x 128, sigma 0.1": (60, 128, 0.1),
        "16 x 1000": (16, 1000, 30.0),
        "6 x 2,500": (6, 2500, 50.0),
        "200 x 128": (200, 128, 11.0),
    },
    quick_sizes={"20 x 64": (20, 64, 8.0)},
    warmup=(4, 32, 5.0),
    repeat=3,
    work=work,
    contenders={
        "GlobalAlignment": Contender(
            run=ours, peer=False, note="`Normalized(GlobalAlignment(sigma))`"
        ),
        "tslearn": Contender(run=tslearn, requires="tslearn>=0.6", note="`cdist_gak`"),
    },
    quality=quality,
    figures={"error": "deviation of the logarithm of a kernel value"},
    targets=(
        Target(
            text=(
                "tslearn takes at least 1.6 times as long for 60 x 128, 1 times as long for "
                "sigma 0.1, 7 times as long for 16 x 1000, and 2.5 times as long for 6 x 2,500"
            ),
            check=_ratio,
        ),
        at_most(
            "logarithms of the values accurate to 1e-10", "GlobalAlignment", "error", 1e-10
        ),
    ),
)
