"""Prototypes of one start each: quantisation error and time."""

import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target


class Samples(NamedTuple):
    """Samples, the number of prototypes, and the seed of the start."""

    X: np.ndarray
    k: int
    seed: int


def work(size, rng):
    """Clusters of unequal size and spread, or handwritten digits as pixels."""
    kind, n, k = size
    seed = int(rng.integers(2**31))
    if kind == "digits":
        from sklearn.datasets import load_digits

        return Samples(load_digits().data[:n], k, seed)
    p = 16
    n_clusters = 2 * k // 3
    centers = rng.normal(size=(n_clusters, p)) * 4
    which = rng.choice(n_clusters, size=n, p=rng.dirichlet(np.full(n_clusters, 2.0)))
    spread = rng.uniform(0.3, 1.5, size=n_clusters)
    return Samples(centers[which] + spread[which, None] * rng.normal(size=(n, p)), k, seed)


def quality(samples, centers):
    """Mean squared distance to the nearest prototype, in thousandths of the variance."""
    from scipy.spatial.distance import cdist

    centers = np.asarray(centers, dtype=np.float64).reshape(-1, samples.X.shape[1])
    nearest = np.concatenate(
        [
            cdist(samples.X[first : first + 2000], centers, "sqeuclidean").min(axis=1)
            for first in range(0, len(samples.X), 2000)
        ]
    )
    return {"error": float(1000 * nearest.mean() / samples.X.var(axis=0).sum())}


def ours(**settings):
    def run(samples):
        from skmoderndata.cluster import NeuralGas

        model = NeuralGas(samples.k, random_state=samples.seed % 2**31, **settings)
        return model.fit(samples.X).cluster_centers_

    return run


def sklearn_k_means(**settings):
    def run(samples):
        from sklearn.cluster import KMeans

        model = KMeans(samples.k, random_state=samples.seed, **settings)
        return model.fit(samples.X).cluster_centers_

    return run


def sklearn_mini_batches(samples):
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(samples.k, random_state=samples.seed, n_init=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(samples.X).cluster_centers_


def self_organising_map(samples):
    from minisom import MiniSom

    side = int(np.sqrt(samples.k))
    side = max(d for d in range(1, side + 1) if samples.k % d == 0)
    grid = MiniSom(
        side, samples.k // side, samples.X.shape[1], sigma=side / 2, learning_rate=0.5,
        random_seed=samples.seed % 2**31,
    )  # fmt: skip
    grid.random_weights_init(samples.X)
    grid.train(samples.X, 5 * len(samples.X), random_order=True)
    return grid.get_weights()


def _lower_than_one_start(rows):
    found = {(row.size, row.contender): row for row in rows if row.ratio is not None}
    pairs = [
        (found[size, "NeuralGas"].quality["error"], row.quality["error"])
        for (size, name), row in found.items()
        if name == "KMeans, 1 start" and (size, "NeuralGas") in found
    ]
    if not pairs:
        return None, "not measured"
    shown = "; ".join(f"{a:.1f} (k-means: {b:.1f})" for a, b in pairs)
    return all(a <= b for a, b in pairs), shown


SIZES = {
    "400 digits, 16 prototypes": ("digits", 400, 16),
    "10,000 samples of 60 clusters, 90 prototypes": ("clusters", 10_000, 90),
    "5,000 samples of 24 clusters, 36 prototypes": ("clusters", 5_000, 36),
    "1,797 digits, 64 prototypes": ("digits", 1797, 64),
}
QUICK = {"400 digits, 16 prototypes": ("digits", 400, 16)}

CASE = Case(
    title="Prototypes by neural gas",
    question=(
        "For the same number of prototypes, how low is the quantisation error of neural gas, "
        "k-means and a self-organising map, and how long does each of them take?"
    ),
    remarks=(
        "The error is the mean squared distance to the nearest prototype, computed in the "
        "same way for all contenders, in thousandths of the total variance. Because k-means "
        "is much faster, the question is how many of its starts, each initialised by "
        "k-means++, are as good as one run of neural gas. A self-organising map keeps its "
        "prototypes on a grid, which is its purpose, at the cost of a larger error."
    ),
    ours="NeuralGas",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=("digits", 200, 8),
    work=work,
    contenders={
        "NeuralGas": Contender(
            run=ours(), peer=False, note="one start, 30 passes, then k-means"
        ),
        "as published": Contender(
            run=ours(polish=False),
            peer=False,
            note="`polish=False`, which omits the final k-means",
        ),
        "on-line": Contender(
            run=ours(algorithm="online", max_iter=20),
            peer=False,
            note='`algorithm="online"`, 20 passes, then k-means',
        ),
        "KMeans, 1 start": Contender(
            run=sklearn_k_means(n_init=1), requires="scikit-learn>=1.9", note="`n_init=1`"
        ),
        "KMeans, 10 starts": Contender(
            run=sklearn_k_means(n_init=10), requires="scikit-learn>=1.9", note="`n_init=10`"
        ),
        "KMeans, 100 starts": Contender(
            run=sklearn_k_means(n_init=100), requires="scikit-learn>=1.9", note="`n_init=100`"
        ),
        "MiniBatchKMeans": Contender(
            run=sklearn_mini_batches, requires="scikit-learn>=1.9", note="one start"
        ),
        "minisom": Contender(
            run=self_organising_map,
            requires="minisom>=2.3",
            note="self-organising map, 5 passes of on-line steps",
        ),
    },
    quality=quality,
    figures={"error": "mean squared distance in thousandths of the variance"},
    targets=(
        Target(
            text=("error no larger than after one start of k-means"),
            check=_lower_than_one_start,
        ),
    ),
    repeat=3,
)
