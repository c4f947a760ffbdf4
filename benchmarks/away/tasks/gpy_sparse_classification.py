"""Two classes by a sparse Gaussian process with ten inducing inputs, as in GPy's examples."""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

from benchmarks.away.task import Task
from skmoderndata.gaussian_process import SparseGaussianProcessClassifier


def load():
    """Return three draws of training and test samples."""
    draws = []
    for seed in range(3):
        X, y = make_moons(1200, noise=0.3, random_state=seed)
        draws.append((X[:200], y[:200], X[200:], y[200:]))
    return draws


def theirs(draws):
    import GPy

    found = []
    for X, y, new, truth in draws:
        np.random.seed(0)  # noqa: NPY002 (GPy draws inducing inputs from the global generator)
        model = GPy.models.SparseGPClassification(X, y[:, None], num_inducing=10)
        model[".*len"] = 4.0
        model.optimize()
        found.append(log_loss(truth, model.predict(new)[0][:, 0]))
    return found


def predicted(draws, **params):
    found = []
    for X, y, new, truth in draws:
        model = SparseGaussianProcessClassifier(random_state=0, **params).fit(X, y)
        found.append(log_loss(truth, model.predict_proba(new)))
    return found


def ours(draws):
    return predicted(draws)


def documented(draws):
    return predicted(draws, n_inducing=10)


TASK = Task(
    name="gpy_sparse_classification",
    origin="GPy, tutorial",
    link="https://nbviewer.org/github/SheffieldML/notebook/blob/master/GPy/index.ipynb",
    program="GPy SparseGPClassification, 10 inducing inputs, length scale started at 4",
    data="moons of scikit-learn with noise .3 in place of the toy sets that GPy downloads",
    licence="BSD-3-Clause",
    measure="log loss on test samples",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
)
