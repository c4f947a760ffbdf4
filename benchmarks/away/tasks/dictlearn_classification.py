"""Digits by dictionaries of classes."""

from sklearn.datasets import load_digits

from benchmarks.away.task import Task
from skmoderndata.sparse_coding import DictionaryClassifier


def load():
    """Return scaled digits, the first 1000 for training."""
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def theirs(problem):
    """Return the accuracy of label-consistent K-SVD with 20 atoms per class."""
    from dictlearn.classification import LCDLClassifier

    X, y = problem
    model = LCDLClassifier(200, n_nonzero_coefs=5, random_state=0).fit(X[:1000], y[:1000])
    return model.score(X[1000:], y[1000:])


def ours(problem, **settings):
    X, y = problem
    model = DictionaryClassifier(random_state=0, **settings).fit(X[:1000], y[:1000])
    return model.score(X[1000:], y[1000:])


TASK = Task(
    name="dictlearn_classification",
    origin="dictlearn",
    link="https://pypi.org/project/dictlearn/",
    program="LCDLClassifier of dictlearn",
    data="shipped by scikit-learn",
    licence="BSD-3-Clause",
    measure="accuracy on digits",
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=lambda problem: ours(problem, n_components=20, n_nonzero_coefs=5),
)
