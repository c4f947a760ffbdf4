"""Canonical pairs of two simulated views of which few variables matter."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.cross_decomposition import SparseCCA


def load():
    """Return draws of training views and test views, with one common latent variable."""
    draws = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        latent = rng.normal(size=600)
        views = []
        for _ in range(2):
            weights = np.zeros(60)
            weights[rng.choice(60, 6, replace=False)] = rng.choice([-1, 1], 6)
            views.append(np.outer(latent, weights) + 1.5 * rng.normal(size=(600, 60)))
        draws.append(([v[:100] for v in views], [v[100:] for v in views]))
    return draws


def correlation(scores):
    a, b = (np.asarray(score)[:, 0] for score in scores)
    # a component without weights correlates with nothing
    return abs(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 0.0


def theirs(draws):
    from cca_zoo.sparse import PMDCCA

    found = []
    for train, test in draws:
        half = [v[:70] for v in train], [v[70:] for v in train]
        bounds = (0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
        held_out = [
            correlation(PMDCCA(l1_bound=b, random_state=0).fit(half[0]).transform(half[1]))
            for b in bounds
        ]
        best = bounds[int(np.argmax(held_out))]
        found.append(
            correlation(PMDCCA(l1_bound=best, random_state=0).fit(train).transform(test))
        )
    return found


def ours(draws):
    return [
        correlation(SparseCCA(1, random_state=0).fit(*train).transform(*test))
        for train, test in draws
    ]


TASK = Task(
    name="cca_zoo_sparse",
    origin="cca-zoo, gallery",
    link="https://cca-zoo.readthedocs.io/",
    program="cca-zoo PMDCCA, bound on the 1-norm chosen on held-out samples",
    data="ten draws of two views of 60 variables, 6 of them with weight, after the gallery",
    licence="MIT",
    measure="correlation of test scores, sparse weights in simulated views",
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
)
