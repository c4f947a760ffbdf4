"""Families of classifiers."""

from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC, LinearSVC

from benchmarks.peers.case import Contender
from benchmarks.race.runner import Family, log_uniform

# Number of rows on which errors are measured.
N_TEST = 4000


class Labelled(NamedTuple):
    """Training rows, rows for testing, and the cost."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    C: float


def class_sizes(rng):
    return {
        "n": log_uniform(rng, 100, 6000),
        "p": log_uniform(rng, 5, 200),
        "classes": int(rng.choice([2, 2, 2, 3, 6])),
        "flip": float(rng.uniform(0.0, 0.1)),
        "C": float(np.exp(rng.uniform(np.log(0.5), np.log(30)))),
    }


def classes(sizes, rng):
    """Classes of scikit-learn with wrong labels, with features of unit variance."""
    n = sizes["n"]
    p = sizes["p"]
    X, y = make_classification(
        n + N_TEST,
        p,
        n_informative=min(p, 10),
        n_redundant=0,
        n_classes=sizes["classes"],
        n_clusters_per_class=2,
        flip_y=sizes["flip"],
        random_state=int(rng.integers(2**31)),
    )
    X /= X.std(axis=0)
    return Labelled(X[:n], y[:n], X[n:], y[n:], sizes["C"])


def core_vectors(data):
    from skmoderndata.svm import CoreVectorMachine

    return CoreVectorMachine(data.C, random_state=0).fit(data.X, data.y)


def l2_svc(data):
    from skmoderndata.svm import L2SVC

    return L2SVC(data.C).fit(data.X, data.y)


def svc(factor):
    return lambda data: SVC(C=factor * data.C).fit(data.X, data.y)


def linear(**settings):
    return lambda data: LinearSVC(**settings).fit(data.X, data.y)


def error_rate(data, model):
    return 100 * float(np.mean(model.predict(data.X_test) != data.y_test))


def sparse_sizes(rng):
    return {
        "n": log_uniform(rng, 100, 2000),
        "p": log_uniform(rng, 30, 300),
        "k": log_uniform(rng, 3, 12),
        "flip": float(rng.choice([0.0, 0.02, 0.05])),
    }


def sparse_classes(sizes, rng):
    """Two classes on both sides of a hyperplane with k weights that are not zero."""
    n = sizes["n"]
    p = sizes["p"]
    k = sizes["k"]
    w = np.zeros(p)
    w[rng.choice(p, k, replace=False)] = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k)
    X = rng.normal(size=(n + N_TEST, p))
    y = (X @ w > 0).astype(int)
    wrong = rng.random(n) < sizes["flip"]
    y[:n][wrong] = 1 - y[:n][wrong]
    return Labelled(X[:n], y[:n], X[n:], y[n:], 1.0)


def feature_machine(data):
    from skmoderndata.svm import SupportFeatureMachine

    return SupportFeatureMachine(random_state=0).fit(data.X, data.y)


def best_subset(data):
    from abess import LogisticRegression

    return LogisticRegression(support_size=range(1, 25)).fit(data.X, data.y)


def l1_by_folds(data):
    from sklearn.model_selection import GridSearchCV

    machine = LinearSVC(penalty="l1", dual=False)
    search = GridSearchCV(machine, {"C": np.logspace(-2, 0, 5)}, cv=5)
    return search.fit(data.X, data.y).best_estimator_


FAMILIES = {
    "CoreVectorMachine": Family(
        title="`CoreVectorMachine`",
        sizes=class_sizes,
        work=classes,
        contenders={"CoreVectorMachine": core_vectors, "SVC": svc(1), "SVC 2C": svc(2)},
        value=error_rate,
        slack=0.5,
        relative=False,
        means="test error, within half a point",
        reason=(
            "Below 450 rows, checks and set-up take most of the time. Use `SVC` for such "
            "tables."
        ),
    ),
    "L2SVC": Family(
        title="`L2SVC`",
        sizes=class_sizes,
        work=classes,
        contenders={
            "L2SVC": l2_svc,
            "SVC": svc(1),
            "SVC 2C": svc(2),
            "LinearSVC": linear(),
        },
        value=error_rate,
        slack=0.5,
        relative=False,
        means="test error, within half a point",
        reason=(
            "With several classes and a few hundred rows, each pair of classes has a set-up "
            "of its own and is solved up to rounding errors. Use `SVC` for such tables."
        ),
    ),
    "SupportFeatureMachine": Family(
        title="`SupportFeatureMachine`",
        sizes=sparse_sizes,
        work=sparse_classes,
        contenders={
            "SupportFeatureMachine": feature_machine,
            "abess": Contender(run=best_subset, requires="abess"),
            "LinearSVC l1, five folds": l1_by_folds,
            "LinearSVC l1": linear(penalty="l1", dual=False, C=0.03),
        },
        value=error_rate,
        slack=0.5,
        relative=False,
        means="test error, within half a point; the number of features is free",
        reason=(
            "Each fit solves a few hundred linear programs, while `abess` compares logistic "
            "models, with smaller errors on nine of the ten tables. Use "
            '`abess.LogisticRegression` for speed, or `LinearSVC(penalty="l1")` if a few more '
            "features do no harm."
        ),
    ),
}
