"""Levenshtein distances of words: all pairs of two collections, and single pairs."""

import numpy as np

from benchmarks.peers import Case, Contender


def work(size, rng):
    """Words of two to four syllables out of sixty; (n, m, whether in pairs), m None for X."""
    n, m, pairs = size
    letters = list("abcdefghijklmnopqrstuvwxyz")
    syllables = ["".join(rng.choice(letters, size=rng.integers(2, 4))) for _ in range(60)]

    def words(count):
        return ["".join(rng.choice(syllables, size=rng.integers(2, 5))) for _ in range(count)]

    X = words(n)
    return X, X if m is None else words(m), pairs


def ours(data):
    from skmoderndata.metrics import edit_distance, pairwise_edit_distance

    X, Z, pairs = data
    if pairs:
        return [edit_distance(x, z) for x, z in zip(X, Z, strict=True)]
    return pairwise_edit_distance(X, Z)


def rapidfuzz(data):
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    X, Z, pairs = data
    if pairs:
        return [Levenshtein.distance(x, z) for x, z in zip(X, Z, strict=True)]
    return cdist(X, Z, scorer=Levenshtein.distance, workers=1)


def quality(data, distances):
    """Sum of the distances: the same for all."""
    return {"sum of distances": float(np.sum(distances, dtype=np.float64))}


CASE = Case(
    title="Edit distances of words",
    question="How long does it take to compute Levenshtein distances between short words?",
    remarks="Both contenders use one thread. The words have nine letters on average.",
    ours="pairwise_edit_distance",
    sizes={
        "300 x 3,000": (300, 3000, False),
        "3,000, all pairs": (3000, None, False),
        "10,000 single pairs": (10_000, 10_000, True),
    },
    quick_sizes={"100 x 300": (100, 300, False)},
    warmup=(20, 30, False),
    repeat=5,
    work=work,
    contenders={
        "pairwise_edit_distance": Contender(
            run=ours, peer=False, note="the default parameters"
        ),
        "rapidfuzz": Contender(
            run=rapidfuzz, requires="rapidfuzz>=3.9", note="`process.cdist` with `workers=1`"
        ),
    },
    quality=quality,
    figures={"sum of distances": "sum over all pairs, which is the same for both contenders"},
)
