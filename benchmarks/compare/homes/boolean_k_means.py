"""Many Boolean rows around a few centres."""

from types import SimpleNamespace

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import BooleanKMeans


def make(seed, noise=0.3, n=10000, n_clusters=10):
    """Centres of random bits; so many bits of every row are flipped."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(size=(n_clusters, 100)) < 0.5
    labels = rng.integers(n_clusters, size=n)
    X = centres[labels] ^ (rng.uniform(size=(n, 100)) < noise)
    return Case(
        given=SimpleNamespace(X=X, n_clusters=n_clusters),
        truth=labels,
        about=f"{n} rows of 100 bits around {n_clusters} centres; {noise:.0%} of the bits are "
        "flipped",
    )


def ours(given):
    return BooleanKMeans(given.n_clusters, random_state=0).fit(given.X).labels_


def score(case, labels):
    return adjusted_rand_score(case.truth, labels)


HOME = Home(
    when="many Boolean rows fall into groups",
    title="groups of Boolean rows",
    kind="Boolean tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="agreement with the planted groups (adjusted Rand)",
    by_time=True,
    margin=0.02,
    gain="The groups agree to {ours:.2f} with the planted ones after {our_seconds:.2g} s; {name} "
    "takes {times:.1f} times as long.",
    lines="BooleanKMeans(n_clusters).fit(X).labels_",
    levels={"noise": (0.1, 0.4), "n": (1000, 50000)},
)
