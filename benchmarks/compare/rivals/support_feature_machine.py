"""Attempts to choose the columns that make two classes."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFECV, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import LinearSVC


def l1_machine(inputs):
    """LinearSVC with an l1 penalty."""
    search = GridSearchCV(LinearSVC(penalty="l1"), {"C": np.geomspace(0.01, 10, 10)})
    return search.fit(inputs.X, inputs.y).best_estimator_.coef_[0] != 0


def l1_then_eliminated(inputs):
    """LinearSVC with an l1 penalty, then RFECV."""
    search = GridSearchCV(LinearSVC(penalty="l1"), {"C": np.geomspace(0.01, 10, 10)})
    first = np.flatnonzero(search.fit(inputs.X, inputs.y).best_estimator_.coef_[0])
    second = RFECV(LinearSVC(C=0.1), step=0.1).fit(inputs.X[:, first], inputs.y)
    return np.isin(np.arange(inputs.X.shape[1]), first[second.support_])


def reweighted(inputs):
    """l1 penalties, reweighted four times."""
    fits = []
    for C in np.geomspace(0.03, 10, 8):
        scale = np.ones(inputs.X.shape[1])
        for _ in range(5):
            machine = LinearSVC(penalty="l1", C=C).fit(inputs.X * scale, inputs.y)
            scale = np.abs(machine.coef_[0] * scale)
            scale = scale / (scale.max() + 1e-12)
        columns = scale > 1e-3
        fits.append(
            (cross_val_score(LinearSVC(), inputs.X[:, columns], inputs.y).mean(), columns)
        )
    return max(fits, key=lambda fit: (fit[0], -fit[1].sum()))[1]


def stability(inputs):
    """stability selection with LinearSVC."""
    rng = np.random.default_rng(0)
    n, p = inputs.X.shape
    counts = np.zeros(p)
    for _ in range(50):
        half = rng.permutation(n)[: n // 2]
        weights = LinearSVC(penalty="l1", C=0.5).fit(inputs.X[half], inputs.y[half]).coef_[0]
        first = np.argsort(-np.abs(weights))[: int(np.sqrt(p / 2))]
        counts[first] += weights[first] != 0
    return counts >= 25


def eliminated(inputs):
    """RFECV by logistic regression."""
    best = SelectKBest(k=200).fit(inputs.X, inputs.y).get_support(indices=True)
    second = RFECV(LogisticRegression(C=0.1), step=0.1).fit(inputs.X[:, best], inputs.y)
    return np.isin(np.arange(inputs.X.shape[1]), best[second.support_])


def forest(inputs):
    """a random forest, importances above five times the mean."""
    forest = RandomForestClassifier(500, random_state=0).fit(inputs.X, inputs.y)
    return forest.feature_importances_ > 5 / inputs.X.shape[1]
