"""The answer for a sample is its own: its neighbours in the batch do not change it."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from skmoderndata.cluster import TimeSeriesKMeans
from skmoderndata.neighbors import DTWNeighborsClassifier, DTWNeighborsRegressor
from tests.common.instances import INSTANCES, form, outputs, sample, target
from tests.common.known_failures import known_failures
from tests.common.parameter_sets import parameter_sets

# Value of the far sample, and its position in the batch.
FAR = 1e8
AT = 3


def in_order(estimator):
    """Whether the rows are steps in time, so that an output may depend on several."""
    return "check_methods_subset_invariance" in known_failures(type(estimator))


def with_other_kernels():
    """Every instance, and the first of each class with the kernels that work by distances."""
    for estimator in INSTANCES:
        yield estimator

        given = estimator.get_params().get("kernel")
        if (
            isinstance(given, str)
            and estimator.get_params()
            == type(estimator)(**parameter_sets(type(estimator))[0]).get_params()
        ):
            for kernel in ("rbf", "laplacian"):
                if kernel != given:
                    yield clone(estimator).set_params(kernel=kernel)


CASES = [one for one in with_other_kernels() if not in_order(one)]


def assert_alone_as_together(model, batch, rows):
    """Answers for a batch are those for its samples one by one; `rows(i)` is a batch of one."""
    together = {name: table(value) for name, value in outputs(model, batch).items()}
    alone = [outputs(model, rows(i)) for i in range(len(batch))]

    for name, whole in together.items():
        single = np.concatenate([table(one[name]) for one in alone])
        if whole.dtype.kind not in "fc":
            assert_array_equal(whole, single, err_msg=name)
            continue

        # compare with the largest result for the sample itself or for an ordinary sample
        size = np.abs(single).reshape(len(single), -1).max(axis=1)
        size = np.maximum(size, 1e-3 * np.median(size))
        error = np.abs(whole - single).reshape(len(single), -1).max(axis=1)
        assert np.isfinite(whole).all(), name
        if name == "transform" and getattr(model, "residual_tol", None) is not None:
            # if there are as many atoms as columns, the last atom of a code is arbitrary and
            # rounding chooses it, but the signal is the same
            complete = np.count_nonzero(single, axis=1) == batch.shape[1]
            assert_array_equal(complete, np.count_nonzero(whole, axis=1) == batch.shape[1])
            signals = (model.inverse_transform(codes[complete]) for codes in (whole, single))
            assert_allclose(*signals, rtol=1e-7)
            error[complete] = 0.0
        assert (error <= 1e-7 * size).all(), (name, error / size)


def table(value):
    """Array of an answer, which may be sparse, or a list of arrays of unequal lengths."""
    return value.toarray() if sparse.issparse(value) else np.asarray(value)


@pytest.mark.invariance
@pytest.mark.parametrize("estimator", CASES, ids=repr)
def test_far_row_changes_no_other_result(estimator):
    fit_to = sample()
    batch = sample(8, seed=5)
    batch[AT] = FAR
    # pass the kernel values of the new samples
    if estimator.__sklearn_tags__().input_tags.pairwise:
        fit_to, batch = form(estimator, fit_to), batch @ fit_to.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(fit_to, target(estimator, fit_to))
        assert_alone_as_together(model, batch, lambda i: batch[i : i + 1])


SERIES = [
    TimeSeriesKMeans(3, random_state=0),
    TimeSeriesKMeans(3, metric="euclidean", random_state=0),
    DTWNeighborsClassifier(3, weights="distance"),
    DTWNeighborsRegressor(3, weights="distance"),
]


@pytest.mark.invariance
@pytest.mark.parametrize("estimator", SERIES, ids=repr)
def test_far_series_changes_no_other_result(estimator):
    rng = np.random.default_rng(0)
    series, batch = rng.normal(size=(2, 12, 9, 1)).cumsum(axis=2)
    batch[AT] = FAR
    model = clone(estimator).fit(series, np.arange(12) % 3)
    assert_alone_as_together(model, batch, lambda i: batch[i : i + 1])
