"""Dynamic time warping distances of all pairs of a collection."""

import numpy as np

from benchmarks.peers import Case, Contender, Target


def work(size, rng):
    """Random walks of equal lengths, normalised; (n, length, channels, radius)."""
    n, length, channels, radius = size
    X = rng.normal(size=(n, length, channels)).cumsum(axis=1)
    X = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    return X, radius


def quality(data, D):
    """Largest deviation from distances computed by the definition, on the first pairs."""
    X, radius = data
    worst = 0.0
    for i, j in ((0, 1), (2, 5), (7, 3)):
        cost = ((X[i][:, None] - X[j][None]) ** 2).sum(axis=2)
        n, m = cost.shape
        table = np.full((n + 1, m + 1), np.inf)
        table[0, 0] = 0.0
        for a in range(n):
            for b in range(m):
                if radius is None or abs(a - b) <= radius:
                    before = min(table[a, b], table[a, b + 1], table[a + 1, b])
                    table[a + 1, b + 1] = cost[a, b] + before
        worst = max(worst, abs(float(D[i, j]) - float(np.sqrt(table[n, m]))))
    return {"error": worst}


def ours(data):
    from skmoderndata.metrics import pairwise_dtw

    return pairwise_dtw(data[0], radius=data[1])


def aeon(data):
    from aeon.distances import dtw_pairwise_distance

    X, radius = data
    window = None if radius is None else radius / X.shape[1]
    return np.sqrt(dtw_pairwise_distance(X.transpose(0, 2, 1), window=window))


def tslearn(data):
    from tslearn.metrics import cdist_dtw

    X, radius = data
    if radius is None:
        return cdist_dtw(X)
    return cdist_dtw(X, global_constraint="sakoe_chiba", sakoe_chiba_radius=radius)


def dtaidistance(data):
    X, radius = data
    window = None if radius is None else radius + 1
    if X.shape[2] > 1:
        from dtaidistance import dtw_ndim

        return dtw_ndim.distance_matrix_fast(X, window=window, parallel=False)
    from dtaidistance import dtw

    return dtw.distance_matrix_fast(X[:, :, 0].copy(), window=window, parallel=False)


def _ratio(limits):
    def check(rows):
        found = []
        for size, limit in limits.items():
            rivals = [
                r.ratio for r in rows if r.size == size and r.peer and r.ratio is not None
            ]
            if rivals:
                found.append((min(rivals) >= limit, f"{size}: {min(rivals):.3g}"))
        if not found:
            return None, "no peer measured"
        return all(good for good, _ in found), "; ".join(text for _, text in found)

    return check


CASE = Case(
    title="Dynamic time warping: all pairs",
    question=(
        "How long does it take to compute the matrix of warping distances between all series of "
        "a collection?"
    ),
    remarks=(
        "All contenders run in one thread. The error is the largest deviation from the "
        "distances that plain loops compute for three pairs."
    ),
    ours="pairwise_dtw",
    sizes={
        "12 x 128": (12, 128, 1, None),
        "120 x 128": (120, 128, 1, None),
        "120 x 128, radius 12": (120, 128, 1, 12),
        "120 x 128, 3 channels": (120, 128, 3, None),
        "16 x 1000": (16, 1000, 1, None),
        "400 x 128": (400, 128, 1, None),
    },
    quick_sizes={"40 x 64": (40, 64, 1, None)},
    warmup=(10, 32, 1, 4),
    repeat=3,
    work=work,
    contenders={
        "pairwise_dtw": Contender(run=ours, peer=False, note="the default parameters"),
        "aeon": Contender(run=aeon, requires="aeon>=1.6", note="`dtw_pairwise_distance`"),
        "tslearn": Contender(run=tslearn, requires="tslearn>=0.6", note="`cdist_dtw`"),
        "dtaidistance": Contender(
            run=dtaidistance,
            requires="dtaidistance>=2.5",
            note="`distance_matrix_fast` with `parallel=False`",
        ),
    },
    quality=quality,
    figures={"error": "largest deviation from the distances that plain loops compute"},
    targets=(
        Target(
            text=(
                "at least 6 times as fast as the best peer (5 times with a radius, 2.5 "
                "times with 3 channels)"
            ),
            check=_ratio(
                {
                    "120 x 128": 6,
                    "120 x 128, radius 12": 5,
                    "120 x 128, 3 channels": 2.5,
                }
            ),
        ),
    ),
)
