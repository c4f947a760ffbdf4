"""Regression after imputation."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

from benchmarks.away.task import Task
from skmoderndata.impute import NuclearNormImputer


def load():
    """Return 300 patients; one cell of three in four rows is missing, as in the gallery."""
    rng = np.random.RandomState(42)
    X, y = load_diabetes(return_X_y=True)
    rows = np.zeros(len(X), bool)
    rows[: int(0.75 * len(X))] = True
    rng.shuffle(rows)
    columns = rng.randint(0, X.shape[1], rows.sum())
    X[rows, columns] = np.nan
    return X[:300], y[:300]


def error(problem, *imputer):
    """Return the cross-validated squared errors, with the regressor of the gallery."""
    model = make_pipeline(*imputer, RandomForestRegressor(random_state=0))
    return -cross_val_score(model, *problem, cv=5, scoring="neg_mean_squared_error")


def theirs(problem):
    imputer = IterativeImputer(
        random_state=0, n_nearest_features=3, max_iter=1, sample_posterior=True
    )
    return error(problem, RobustScaler(), imputer)


TASK = Task(
    name="sklearn_missing_values",
    origin="scikit-learn gallery",
    link="https://scikit-learn.org/stable/auto_examples/impute/plot_missing_values.html",
    program="IterativeImputer of scikit-learn",
    data="shipped by scikit-learn",
    licence="BSD-3-Clause",
    measure="mean squared error of a random forest after imputation of diabetes",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=lambda problem: error(problem, NuclearNormImputer()),
)
