"""Attempts on covered digits: kernels, forests, covered copies, robust distances."""

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC


def _copies(given, n_copies):
    rng = np.random.default_rng(0)
    X = np.repeat(given.X, n_copies, axis=0).reshape(-1, 8, 8).copy()
    for image in X:
        side = rng.integers(0, 5)
        top, left = rng.integers(9 - side, size=2)
        image[top : top + side, left : left + side] = rng.uniform(0, 16, (side, side))
    return X.reshape(len(X), -1), np.repeat(given.y, n_copies)


def machine(given):
    """SVC."""
    search = GridSearchCV(SVC(), {"C": [1, 10, 100]}, cv=3)
    return search.fit(given.X, given.y).predict(given.X_new)


def copies(given):
    """SVC on copies that are covered at random."""
    X, y = _copies(given, 5)
    return SVC(C=10).fit(X, y).predict(given.X_new)


def forest(given):
    """ExtraTreesClassifier on covered copies."""
    X, y = _copies(given, 8)
    return ExtraTreesClassifier(200, random_state=0).fit(X, y).predict(given.X_new)


def manhattan(given):
    """KNeighborsClassifier, Manhattan distance."""
    model = KNeighborsClassifier(3, metric="manhattan", weights="distance")
    return model.fit(given.X, given.y).predict(given.X_new)


def trimmed(given):
    """nearest digits without their 16 worst pixels."""
    labels = []
    for x in given.X_new:
        rest = np.sort((given.X - x) ** 2, axis=1)[:, :48].sum(axis=1)
        labels.append(np.bincount(given.y[np.argsort(rest)[:3]]).argmax())
    return np.array(labels)


def capped(given):
    """nearest digits by capped differences."""
    apart = np.abs(given.X_new[:, None] - given.X[None])
    far = np.minimum(apart, 6).sum(axis=2)
    return np.array([np.bincount(given.y[row[:3]]).argmax() for row in far.argsort(axis=1)])
