"""k-means of series under dynamic time warping."""

import numpy as np

from benchmarks.peers import Case, Contender, Target

N_CLUSTERS = 5


def work(size, rng):
    """Sines of one to five periods, warped and noisy, and series to start from."""
    n, length = size
    t = np.linspace(0, 1, length)
    kinds = rng.integers(N_CLUSTERS, size=n)
    bends = rng.uniform(0.7, 1.4, size=n)
    X = np.sin(2 * np.pi * (kinds[:, None] + 1) * t ** bends[:, None])
    X += 0.3 * rng.normal(size=(n, length))
    return X, X[rng.choice(n, size=N_CLUSTERS, replace=False)]


def quality(data, centers):
    """Sum of squared distances to the nearest prototypes."""
    from skmoderndata.metrics import pairwise_dtw

    costs = pairwise_dtw([np.asarray(c).reshape(-1) for c in centers], data[0], root=False)
    return {"objective": float(costs.min(axis=0).sum())}


def ours(data):
    from skmoderndata.cluster import TimeSeriesKMeans

    X, starts = data
    return TimeSeriesKMeans(N_CLUSTERS, init=starts).fit(X).cluster_centers_


def tslearn(data):
    from tslearn.clustering import TimeSeriesKMeans

    X, starts = data
    model = TimeSeriesKMeans(N_CLUSTERS, metric="dtw", init=starts[:, :, None])
    return model.fit(X[:, :, None]).cluster_centers_


def aeon(data):
    from aeon.clustering import TimeSeriesKMeans

    X, starts = data
    model = TimeSeriesKMeans(
        N_CLUSTERS,
        init=starts[:, None].copy(),
        distance="dtw",
        averaging_method="ba",
        n_init=1,
    )
    return model.fit(X[:, None]).cluster_centers_


def _faster(rows):
    mine = {row.size: row for row in rows if row.contender == CASE.ours}
    found = [
        (
            row.ratio >= 5
            and mine[row.size].value("objective") <= (1 + 1e-9) * row.value("objective"),
            f"{row.contender} {row.ratio:.3g}",
        )
        for row in rows
        if row.peer and row.ratio is not None
    ]
    if not found:
        return None, "no peer measured"
    return all(good for good, _ in found), "; ".join(text for _, text in found)


CASE = Case(
    title="k-means of series",
    question="How long does it take to find clusters of series, and how good are the clusters?",
    remarks=(
        f"All contenders look for {N_CLUSTERS} clusters and start from the same five series; "
        "all other parameters have the defaults of each library."
    ),
    ours="TimeSeriesKMeans",
    sizes={
        "100 x 128": (100, 128),
        "300 x 128": (300, 128),
        "100 x 500": (100, 500),
        "1,000 x 128": (1000, 128),
    },
    quick_sizes={"60 x 40": (60, 40)},
    warmup=(20, 20),
    repeat=3,
    work=work,
    contenders={
        "TimeSeriesKMeans": Contender(run=ours, peer=False, note="the default parameters"),
        "tslearn": Contender(run=tslearn, requires="tslearn>=0.6", note='`metric="dtw"`'),
        "aeon": Contender(
            run=aeon,
            requires="aeon>=1.6",
            note='`averaging_method="ba"` and `n_init=1`',
            sizes=("60 x 40", "100 x 128", "300 x 128", "100 x 500"),
            why_not="did not finish within half an hour",
        ),
    },
    quality=quality,
    figures={"objective": "sum of squared distances to the nearest prototypes"},
    targets=(
        Target(
            text=(
                "objective no higher than the objective of each peer, and at least 5 times "
                "as fast"
            ),
            check=_faster,
        ),
    ),
)
