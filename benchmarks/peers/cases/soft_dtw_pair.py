"""Soft dynamic time warping costs, one pair at a time."""

import numpy as np

from benchmarks.peers import Case, Contender, none_faster


def work(size, rng):
    """Pairs of random walks of unit variance; (n_pairs, length, gamma, noise)."""
    n, length, gamma, noise = size
    X = rng.normal(size=(n, 2, length)).cumsum(axis=2)
    X = (X - X.mean(axis=2, keepdims=True)) / X.std(axis=2, keepdims=True)
    return list(X + noise * rng.normal(size=X.shape)), gamma


def quality(data, costs):
    """Sum of the costs: the same for all."""
    return {"sum of costs": float(np.sum(costs))}


def ours(data):
    from skmoderndata.metrics import soft_dtw

    pairs, gamma = data
    return [soft_dtw(x, z, gamma) for x, z in pairs]


def aeon(data):
    from aeon.distances import soft_dtw_distance

    pairs, gamma = data
    return [soft_dtw_distance(x, z, gamma=gamma) for x, z in pairs]


def tslearn(data):
    from tslearn.metrics import soft_dtw

    pairs, gamma = data
    return [soft_dtw(x, z, gamma=gamma) for x, z in pairs]


LONG = {
    "100 pairs of length 200": (100, 200, 1.0, 0.0),
    "100 pairs of length 200, gamma 0.1, noise 0.3": (100, 200, 0.1, 0.3),
    "5 pairs of length 2,000": (5, 2000, 1.0, 0.0),
}
SHORT = {"1,000 pairs of length 20": (1000, 20, 1.0, 0.0)}

CASE = Case(
    title="Soft dynamic time warping: one pair at a time",
    question="How long does it take to compute the smooth cost between two series?",
    remarks=(
        "All contenders run in one thread. For short series, the time is mostly the overhead of "
        "a call; for long series, it is mostly the dynamic programming."
    ),
    ours="soft_dtw",
    sizes=SHORT | LONG,
    quick_sizes={"20 pairs of length 20": (20, 20, 1.0, 0.0)},
    warmup=(3, 10, 1.0, 0.0),
    repeat=3,
    work=work,
    contenders={
        "soft_dtw": Contender(run=ours, peer=False, note="the default parameters"),
        "aeon": Contender(
            run=aeon,
            requires="aeon>=1.6",
            note="`soft_dtw_distance`, which returns the absolute value of the cost",
        ),
        "tslearn": Contender(run=tslearn, requires="tslearn>=0.6", note="`soft_dtw`"),
    },
    quality=quality,
    figures={
        "sum of costs": (
            "sum over all pairs, which is the same for all contenders except aeon, which adds up "
            "absolute values"
        )
    },
    targets=(
        none_faster("no peer is faster", qualifies=lambda row: "sum of costs" in row.quality),
    ),
)
