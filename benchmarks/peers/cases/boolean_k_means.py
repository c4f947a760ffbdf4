"""Clusters of Boolean rows by Hamming distance."""

import numpy as np

from benchmarks.peers import Case, Contender, Target

N_CLUSTERS = 8


def work(size, rng):
    """Rows near one of eight random patterns; a fraction of the bits is flipped."""
    n_samples, n_features, flipped = size
    centres = rng.random((N_CLUSTERS, n_features)) < 0.3
    X = centres[rng.integers(N_CLUSTERS, size=n_samples)]
    return X ^ (rng.random(X.shape) < flipped)


def quality(X, centres):
    """Fraction of the bits in which rows differ from the nearest centre."""
    centres = np.asarray(centres).astype(np.float32)
    cost = X.sum(axis=1)[:, None] + centres.sum(axis=1) - 2 * X.astype(np.float32) @ centres.T
    return {"error": float(cost.min(axis=1).sum() / X.size)}


def ours(n_init):
    def run(X):
        from skmoderndata.cluster import BooleanKMeans

        model = BooleanKMeans(N_CLUSTERS, n_init=n_init, random_state=0)
        return model.fit(X).components_

    return run


def kmodes(init):
    def run(X):
        from kmodes.kmodes import KModes

        n_init = 1 if init == "Cao" else 2
        model = KModes(N_CLUSTERS, init=init, n_init=n_init, random_state=0)
        return model.fit(X.astype(np.uint8)).cluster_centroids_

    return run


def euclidean(X):
    from sklearn.cluster import KMeans

    model = KMeans(N_CLUSTERS, n_init=10, random_state=0)
    return model.fit(X.astype(np.float32)).cluster_centers_ > 0.5


def _ten_times(rows):
    found = []
    for row in rows:
        if not row.contender.startswith("kmodes") or row.ratio is None:
            continue
        mine = [r for r in rows if r.size == row.size and r.contender == CASE.ours]
        equal = mine[0].value("error") <= row.value("error") + 1e-12
        found.append((equal and row.ratio >= 10, row.ratio))
    if not found:
        return None, "kmodes not measured"
    return all(
        good for good, _ in found
    ), f"kmodes takes {min(r for _, r in found):.3g} times as long"


QUICK = {"500 x 40, 20 % flipped": (500, 40, 0.2)}
LARGE = "40,000 x 60, 20 % flipped"
SIZES = {
    "1,000 x 60, 20 % flipped": (1000, 60, 0.2),
    "4,000 x 60, 20 % flipped": (4000, 60, 0.2),
    "4,000 x 60, 35 % flipped": (4000, 60, 0.35),
    "500 x 1,000, 20 % flipped": (500, 1000, 0.2),
    LARGE: (40_000, 60, 0.2),
}
UP_TO_4000 = tuple(label for label in (*QUICK, *SIZES) if label != LARGE)

CASE = Case(
    title="Boolean k-means",
    question=(
        "How fast does each method cluster Boolean rows by Hamming distance, and how good are "
        "the clusters?"
    ),
    remarks=(
        f"The rows follow {N_CLUSTERS} planted patterns, with a fraction of the bits flipped."
    ),
    ours="BooleanKMeans",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=(100, 20, 0.2),
    repeat=3,
    work=work,
    contenders={
        "BooleanKMeans": Contender(
            run=ours(10), peer=False, note="the default parameters, which include 10 starts"
        ),
        "BooleanKMeans, one start": Contender(run=ours(1), peer=False, note="`n_init=1`"),
        "kmodes, Huang": Contender(
            run=kmodes("Huang"),
            requires="kmodes>=0.12.2",
            note=(
                "2 random starts that follow the frequencies of the values (the default is "
                "10), to limit the time"
            ),
            sizes=UP_TO_4000,
            why_not="takes minutes",
        ),
        "kmodes, Cao": Contender(
            run=kmodes("Cao"),
            requires="kmodes>=0.12.2",
            note=(
                "a single start chosen by density, which is the default of kmodes for this "
                "method"
            ),
            sizes=UP_TO_4000,
            why_not="takes minutes",
        ),
        "rounded KMeans": Contender(
            run=euclidean,
            requires="scikit-learn>=1.9",
            note="`KMeans` with 10 starts; its centres are rounded at one half",
        ),
    },
    quality=quality,
    figures={"error": "fraction of bits in which rows differ from the nearest centre"},
    targets=(
        Target(
            text="at least 10 times as fast as kmodes, with an equal or lower error",
            check=_ten_times,
        ),
    ),
    memory_unit=("multiples of the size of the Boolean input", lambda X: float(X.nbytes)),
)
