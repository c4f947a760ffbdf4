"""Attempts to separate two classes of many rows."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC


def boosted(given):
    """gradient boosting."""
    model = HistGradientBoostingClassifier(max_iter=300, max_leaf_nodes=63, random_state=0)
    return model.fit(given.X, given.y).predict(given.X_new)


def approximated(given):
    """Nystroem with LinearSVC."""
    features = Nystroem(gamma=given.gamma, n_components=500, random_state=0)
    model = make_pipeline(features, LinearSVC(C=50.0, dual=False))
    return model.fit(given.X, given.y).predict(given.X_new)


def neighbours(given):
    """five nearest neighbours."""
    return KNeighborsClassifier().fit(given.X, given.y).predict(given.X_new)


def svc(given):
    """SVC."""
    machine = SVC(C=given.C, gamma=given.gamma, cache_size=1000)
    return machine.fit(given.X, given.y).predict(given.X_new)


def part(given):
    """SVC on 30,000 rows."""
    machine = SVC(C=given.C, gamma=given.gamma, cache_size=1000)
    return machine.fit(given.X[:30_000], given.y[:30_000]).predict(given.X_new)


def near_the_boundary(given):
    """SVC on the rows near its boundary, in three rounds."""
    machine = SVC(C=given.C, gamma=given.gamma, cache_size=1000)
    machine.fit(given.X[:5000], given.y[:5000])
    for _ in range(2):
        near = np.abs(machine.decision_function(given.X)) < 1.2
        machine.fit(given.X[near], given.y[near])
    return machine.predict(given.X_new)
