"""Dynamic time warping distances, one pair at a time."""

import numpy as np

from benchmarks.peers import Case, Contender, at_least


def work(size, rng):
    """Pairs of random walks; (n_pairs, length, radius)."""
    n, length, radius = size
    return list(rng.normal(size=(n, 2, length)).cumsum(axis=2)), radius


def quality(data, distances):
    """Sum of the distances: the same for all."""
    return {"sum of distances": float(np.sum(distances))}


def ours(data):
    from skmoderndata.metrics import dtw

    pairs, radius = data
    return [dtw(x, z, radius=radius) for x, z in pairs]


def aeon(data):
    from aeon.distances import dtw_distance

    pairs, radius = data
    window = None if radius is None else radius / pairs[0].shape[1]
    return [np.sqrt(dtw_distance(x, z, window=window)) for x, z in pairs]


def dtaidistance(data):
    from dtaidistance import dtw

    pairs, radius = data
    window = None if radius is None else radius + 1
    return [dtw.distance_fast(x, z, window=window) for x, z in pairs]


CASE = Case(
    title="Dynamic time warping: one pair at a time",
    question="How long does it take to compute the distance between two series?",
    remarks=(
        "All contenders use one thread. For short series, the time is mostly the overhead of "
        "a call; for long series, it is mostly the dynamic programming."
    ),
    ours="dtw",
    sizes={
        "1,000 pairs of length 20": (1000, 20, None),
        "300 pairs of length 200, radius 20": (300, 200, 20),
        "300 pairs of length 200": (300, 200, None),
        "5 pairs of length 2,000": (5, 2000, None),
        "1 pair of length 8,000, radius 800": (1, 8000, 800),
    },
    quick_sizes={"100 pairs of length 20": (100, 20, None)},
    warmup=(3, 10, 2),
    repeat=5,
    work=work,
    contenders={
        "dtw": Contender(run=ours, peer=False, note="the default parameters"),
        "aeon": Contender(run=aeon, requires="aeon>=1.6", note="`dtw_distance`"),
        "dtaidistance": Contender(
            run=dtaidistance, requires="dtaidistance>=2.5", note="`distance_fast`"
        ),
    },
    quality=quality,
    figures={"sum of distances": "sum over all pairs, which is the same for all contenders"},
    targets=(
        at_least(
            "at least as fast as aeon for lengths of at least 200, without a radius",
            "aeon",
            "ratio",
            1,
            sizes=("300 pairs of length 200", "5 pairs of length 2,000"),
        ),
    ),
)
