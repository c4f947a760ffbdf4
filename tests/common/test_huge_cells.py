"""Huge cells and sentinels in every class that promises to bear gross errors."""

import functools
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning

from skmoderndata.decomposition import OnlineRobustPCA, RobustPCA
from skmoderndata.neighbors import DTWNeighborsClassifier
from skmoderndata.sparse_coding import SparseRepresentationClassifier
from skmoderndata.svm import SVDD, CoreVectorOutlierDetector, KernelAdatronRegressor

VALUES = (1e4, 1e6, -999999.0, 1e8, 1e12)
COUNTS = (1, 5, "one per cent")
RANK = 3


def n_cells(count, size):
    return max(1, size // 100) if count == "one per cent" else count


def with_huge_cells(X, count, value):
    """Return a copy of X with `count` huge cells, and the mask of these cells."""
    huge = np.zeros(X.shape, dtype=bool)
    cells = np.random.default_rng(1).choice(X.size, n_cells(count, X.size), replace=False)
    huge.flat[cells] = True
    return np.where(huge, value, X), huge


# components: compare the subspace and the wrong cells


@functools.cache
def low_rank_table():
    """Return a table of rank 3 with noise .1, and its rows without noise."""
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(400, RANK)) @ rng.normal(size=(RANK, 20))
    return low_rank + 0.1 * rng.normal(size=low_rank.shape), low_rank


def angle(model):
    truth = np.linalg.svd(low_rank_table()[1], full_matrices=False)[2][:RANK]
    return np.degrees(subspace_angles(model.components_.T, truth.T).max())


@functools.cache
def angle_without_huge_cells():
    return angle(RobustPCA().fit(low_rank_table()[0]))


def streamed(model, X, size):
    for first in range(0, len(X), size):
        model = model.partial_fit(X[first : first + size])
    return model


def finds_the_subspace_and_the_cells(fit, count, value):
    X, low_rank = low_rank_table()
    Z, huge = with_huge_cells(X, count, value)
    model = fit(Z)
    assert model.n_components_ == RANK
    assert angle(model) < 2 * angle_without_huge_cells()
    assert 0.05 < model.noise_std_ < 0.2

    expected, errors = model.decompose(Z)
    assert (errors[huge] != 0).all()
    assert np.mean(errors != 0) < np.mean(huge) + 0.001
    assert np.abs(expected - low_rank).max() < 1


# detectors: rows with huge cells are outliers and hardly affect the results for other rows


def rejects_the_rows(fit, count, value):
    X = np.random.default_rng(0).normal(size=(300, 2))
    Z, huge = with_huge_cells(X, count, value)
    rows = huge.any(axis=1)
    clean = fit(X)
    model = fit(Z)
    assert (model.predict(Z[rows]) == -1).all()
    agree = model.predict(X[~rows]) == clean.predict(X[~rows])
    assert agree.mean() > 0.9


# regression: targets are huge


def predicts_the_other_targets(fit, count, value):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(200, 1))
    y = np.sin(X[:, 0])
    noisy = y + 0.1 * rng.normal(size=200)
    targets, _ = with_huge_cells(noisy, count, value)
    error = np.sqrt(np.mean((fit(X, targets).predict(X) - y) ** 2))
    assert error < 0.3  # the standard deviation of y is .77


# classifiers: the samples to classify have huge cells


def labels_rows_with_wrong_cells(fit, count, value):
    rng = np.random.default_rng(0)
    means = rng.normal(size=(3, 40))
    y = np.repeat([0, 1, 2], 10)
    X = means[y] + 0.1 * rng.normal(size=(30, 40))
    queries = means[y] + 0.1 * rng.normal(size=(30, 40))
    queries, _ = with_huge_cells(queries, count, value)
    assert (fit(X, y).predict(queries) == y).all()


class Promise(NamedTuple):
    """What a class promises about gross errors, the fit that is to keep it, and its check."""

    text: str
    fit: object
    check: object


def batches(size):
    return lambda Z: streamed(OnlineRobustPCA(), Z, size)


def detector(cls, **parameters):
    """Fit with a fixed width: `gamma="scale"` comes from the variance of all cells."""
    return lambda Z: cls(gamma=0.5, **parameters).fit(Z)


PROMISES = {
    "RobustPCA": Promise(
        "cells: subspace, noise and wrong cells",
        lambda Z: RobustPCA().fit(Z),
        finds_the_subspace_and_the_cells,
    ),
    "OnlineRobustPCA": Promise(
        "cells: subspace, noise and wrong cells",
        lambda Z: OnlineRobustPCA().fit(Z),
        finds_the_subspace_and_the_cells,
    ),
    "OnlineRobustPCA, batches of 50": Promise(
        "the same in a stream", batches(50), finds_the_subspace_and_the_cells
    ),
    "OnlineRobustPCA, batches of 400": Promise(
        "the same in a stream", batches(400), finds_the_subspace_and_the_cells
    ),
    "CoreVectorOutlierDetector": Promise(
        "rows: outliers among the training samples are rejected",
        detector(CoreVectorOutlierDetector, random_state=0),
        rejects_the_rows,
    ),
    "SVDD": Promise(
        "rows: outliers among the training samples are rejected",
        detector(SVDD, nu=0.1),
        rejects_the_rows,
    ),
    "KernelAdatronRegressor": Promise(
        "targets: C bounds the influence of each, and the offset is their median",
        lambda X, y: KernelAdatronRegressor(gamma=1.0).fit(X, y),
        predicts_the_other_targets,
    ),
    "SparseRepresentationClassifier": Promise(
        "cells of the rows to be classified, with occlusion=True",
        lambda X, y: SparseRepresentationClassifier(occlusion=True).fit(X, y),
        labels_rows_with_wrong_cells,
    ),
    "DTWNeighborsClassifier": Promise(
        'points of a series, with metric="lcss"',
        lambda X, y: DTWNeighborsClassifier(metric="lcss", metric_params={"epsilon": 0.3}).fit(
            X, y
        ),
        labels_rows_with_wrong_cells,
    ),
}


@pytest.mark.recovery
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", PROMISES)
def test_guarantee_holds_with_huge_cells(name, value, count):
    promise = PROMISES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        promise.check(promise.fit, count, value)
