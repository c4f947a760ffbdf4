"""Common embedding of views of handwritten digits, as in mvlearn's tutorial on GCCA."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.cross_decomposition import RegularizedCCA


def load():
    """Return the two views of training samples and of test samples."""
    from mvlearn.datasets import load_UCImultifeature
    from sklearn.preprocessing import scale

    views, _ = load_UCImultifeature(views=[0, 2])
    order = np.random.default_rng(0).permutation(len(views[0]))
    views = [scale(np.asarray(v, float))[order] for v in views]
    return [v[:1000] for v in views], [v[1000:] for v in views]


def distance(scores):
    """Return the mean distance of standardised embeddings of the same sample."""
    a, b = ((s - s.mean(axis=0)) / s.std(axis=0) for s in map(np.asarray, scores))
    # the sign of a component is arbitrary
    b = b * np.sign(np.sum(a * b, axis=0))
    return np.mean(np.linalg.norm(a - b, axis=1))


def theirs(problem):
    from mvlearn.embed import GCCA

    train, test = problem
    scores = GCCA(fraction_var=0.9).fit(train).transform(test)
    return distance([s[:, :2] for s in scores])


def ours(problem):
    train, test = problem
    return distance(RegularizedCCA(2).fit(*train).transform(*test))


TASK = Task(
    name="mvlearn_gcca",
    origin="mvlearn, gallery",
    link="https://mvlearn.github.io/auto_examples/embed/plot_gcca_tutorial.html",
    program="mvlearn GCCA(fraction_var=.9), its first two components",
    data="Fourier and Karhunen-Loeve views of UCI multiple features, shipped with mvlearn",
    licence="MIT",
    measure="distance of the embeddings of two views",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
)
