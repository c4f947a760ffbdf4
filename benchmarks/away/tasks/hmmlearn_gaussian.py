"""States of a Gaussian hidden Markov model in a ring, as in hmmlearn's gallery."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix

from benchmarks.away.task import Task
from skmoderndata.cluster import KMedoids, NeuralGas

MEANS = np.array([[0.0, 0.0], [0.0, 11.0], [9.0, 10.0], [11.0, -1.0]])
TRANSITIONS = np.array(
    [[0.7, 0.2, 0.0, 0.1], [0.3, 0.5, 0.2, 0.0], [0.0, 0.3, 0.5, 0.2], [0.2, 0.0, 0.2, 0.6]]
)


def load():
    """Return draws of observations with variance .5 around the means, and states."""
    draws = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        states = [0]
        for _ in range(499):
            states.append(rng.choice(4, p=TRANSITIONS[states[-1]]))
        states = np.array(states)
        draws.append((MEANS[states] + np.sqrt(0.5) * rng.normal(size=(500, 2)), states))
    return draws


def accuracy(states, labels):
    """Return the fraction of right states under the best assignment of labels."""
    table = confusion_matrix(states, labels)
    return table[linear_sum_assignment(-table)].sum() / len(states)


def theirs(draws):
    from hmmlearn.hmm import GaussianHMM

    found = []
    for X, states in draws:
        models = [GaussianHMM(4, n_iter=100, random_state=s).fit(X) for s in range(10)]
        best = max(models, key=lambda model: model.score(X))
        found.append(accuracy(states, best.predict(X)))
    return found


def ours(draws):
    return [accuracy(s, KMedoids(4, random_state=0).fit_predict(X)) for X, s in draws]


def documented(draws):
    return [accuracy(s, NeuralGas(4, random_state=0).fit(X).predict(X)) for X, s in draws]


TASK = Task(
    name="hmmlearn_gaussian",
    origin="hmmlearn, gallery",
    link="https://hmmlearn.readthedocs.io/en/stable/auto_examples/plot_hmm_sampling_and_decoding.html",
    program="hmmlearn GaussianHMM(n_components=4), best of ten starts",
    data="500 steps sampled from the model of the gallery, three draws",
    licence="BSD-3-Clause",
    measure="accuracy of recovered states",
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
)
