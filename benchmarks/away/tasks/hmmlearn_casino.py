"""Throws of an honest and of a dishonest casino, after hmmlearn's gallery."""

import numpy as np
from sklearn.svm import SVC

from benchmarks.away.task import Task
from skmoderndata.kernels import BlendedSpectrum, HMMFisher, Normalized

LENGTH = 60


def load():
    """Return three draws of training and test sequences with their classes."""
    draws = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.integers(2, size=400)
        X = [throws(label, rng) for label in y]
        draws.append((X[:200], y[:200], X[200:], y[200:]))
    return draws


def throws(dishonest, rng):
    """Return the throws of a casino that sometimes changes to a loaded die."""
    loaded = np.zeros(LENGTH, bool)
    if dishonest:
        for t in range(1, LENGTH):
            loaded[t] = rng.random() > 0.1 if loaded[t - 1] else rng.random() < 0.05
    sixes = rng.random(LENGTH) < 0.5
    return np.where(loaded & sixes, 5, rng.integers(np.where(loaded, 5, 6))).tolist()


def model_of(sequences, n_states):
    from hmmlearn.hmm import CategoricalHMM

    model = CategoricalHMM(n_states, n_features=6, n_iter=100, random_state=0)
    return model.fit(np.concatenate(sequences)[:, None], [LENGTH] * len(sequences))


def theirs(draws):
    found = []
    for X, y, new, truth in draws:
        models = [
            model_of([s for s, own in zip(X, y, strict=True) if own == label], 2)
            for label in (0, 1)
        ]
        scores = [[model.score(np.array(s)[:, None]) for model in models] for s in new]
        found.append(np.mean(np.argmax(scores, axis=1) == truth))
    return found


def accuracy(draws, kernel_of):
    found = []
    for X, y, new, truth in draws:
        kernel = kernel_of(X)
        model = SVC(kernel="precomputed").fit(kernel(X, X), y)
        found.append(model.score(kernel(new, X), truth))
    return found


def ours(draws):
    return accuracy(draws, lambda X: Normalized(BlendedSpectrum()))


def documented(draws):
    return accuracy(draws, lambda X: Normalized(HMMFisher(model_of(X, 2))))


TASK = Task(
    name="hmmlearn_casino",
    origin="hmmlearn, gallery",
    link="https://hmmlearn.readthedocs.io/en/stable/auto_examples/plot_casino.html",
    program="hmmlearn CategoricalHMM for each class, the larger likelihood decides",
    data="sequences of 60 throws sampled from the model of the gallery and from a fair die",
    licence="BSD-3-Clause",
    measure="accuracy of classes of sequences from models",
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
)
