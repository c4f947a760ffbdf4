"""Attempts to separate two classes of many rows."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC


def boosted(inputs):
    """gradient boosting."""
    model = HistGradientBoostingClassifier(max_iter=300, max_leaf_nodes=63, random_state=0)
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new)


def approximated(inputs):
    """Nystroem with LinearSVC."""
    features = Nystroem(gamma=inputs.gamma, n_components=500, random_state=0)
    model = make_pipeline(features, LinearSVC(C=50.0, dual=False))
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new)


def neighbours(inputs):
    """five nearest neighbours."""
    return KNeighborsClassifier().fit(inputs.X, inputs.y).predict(inputs.X_new)


def svc(inputs):
    """SVC."""
    machine = SVC(C=inputs.C, gamma=inputs.gamma, cache_size=1000)
    return machine.fit(inputs.X, inputs.y).predict(inputs.X_new)


def part(inputs):
    """SVC on 30,000 rows."""
    machine = SVC(C=inputs.C, gamma=inputs.gamma, cache_size=1000)
    return machine.fit(inputs.X[:30_000], inputs.y[:30_000]).predict(inputs.X_new)


def near_the_boundary(inputs):
    """SVC on the rows near its boundary, in three rounds."""
    machine = SVC(C=inputs.C, gamma=inputs.gamma, cache_size=1000)
    machine.fit(inputs.X[:5000], inputs.y[:5000])
    for _ in range(2):
        near = np.abs(machine.decision_function(inputs.X)) < 1.2
        machine.fit(inputs.X[near], inputs.y[near])
    return machine.predict(inputs.X_new)
