"""A few names that represent many, by edit distance."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import KMedoids
from skmoderndata.datasets import load_language_names
from skmoderndata.metrics import pairwise_edit_distance


def make(seed, n_clusters=50, n=800):
    """Edit distances of names, as fractions of the largest possible one."""
    rng = np.random.default_rng(seed)
    names = load_language_names().data
    names = [names[i] for i in rng.permutation(len(names))[:n]]
    D = pairwise_edit_distance(names, normalize=True)
    about = f"edit distances of {n} names in sixteen languages, {n_clusters} representatives"
    return Case(inputs=SimpleNamespace(D=D, n_clusters=n_clusters), truth=D, about=about)


def ours(inputs):
    model = KMedoids(inputs.n_clusters, metric="precomputed")
    return model.fit(inputs.D).medoid_indices_


def score(case, answer):
    assert len(answer) <= case.inputs.n_clusters
    return 100 * case.truth[:, answer].min(axis=1).mean()


HOME = Home(
    when="a few samples have to represent all of them, and you only have distances",
    title="names that represent many",
    kind="distances and kernels",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="mean distance to the nearest representative, in hundredths",
    smaller=True,
    by_time=True,
    margin=0.05,
    n_rounds=12,
    first_seed=200,
    full_only=True,
    gain="Reaches a mean distance of {ours:.2f} hundredths to the nearest representative in "
    "{our_seconds:.2g} s; {name} takes {times:.1f} times as long and reaches {rival:.2f}.",
    lines='model = KMedoids(50, metric="precomputed").fit(D)\nmodel.medoid_indices_',
    levels={"n_clusters": (5, 20), "n": (200, 1600)},
)
