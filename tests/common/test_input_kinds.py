"""Every kind of table and target that a caller may hold: supported pairs, and errors."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor

from skmoderndata.kernels import BlendedSpectrum
from tests.common.instances import CLASSES, INSTANCES, OUTPUTS, form, sample, target
from tests.common.test_caller import (
    SPARSE,
    WEIGHTED,
    assert_same,
    dense,
    fitted,
    fitted_with_weights,
    holed,
)

KERNELS = ("linear", "rbf", "laplacian", "poly")
# Methods whose results change little if rows are rounded differently; regressors predict numbers.
CONTINUOUS = ("transform", "decision_function", "score_samples")


def takes_rows(estimator):
    """Entries that are not stored are zeros, and there are methods for new rows."""
    return not hasattr(estimator, "missing_values") and any(
        hasattr(type(estimator), name) for name in OUTPUTS
    )


def with_every_kernel(estimators):
    """The estimators, and one of each class with each of the named kernels."""
    found = {repr(one): one for one in estimators}
    for one in KERNEL_CLASSES:
        for kernel in KERNELS:
            other = clone(one).set_params(kernel=kernel)
            found.setdefault(repr(other), other)
    return list(found.values())


# One instance of each class with a kernel.
KERNEL_CLASSES = list(
    {
        type(one): one
        for one in reversed(SPARSE)
        if "kernel" in one.get_params() and takes_rows(one)
    }.values()
)
MIXING = with_every_kernel([one for one in SPARSE if takes_rows(one)])


@pytest.mark.parametrize("estimator", MIXING, ids=repr)
def test_dense_and_sparse_rows_mix(estimator):
    """A model of dense rows predicts sparse ones, and the other way round."""
    X = holed()
    S = sparse.csr_array(X)
    for rows, others in [(X, S), (S, X)]:
        model = fitted(estimator, rows)
        # sums are computed in a different order, and a distance of zero is the root of a rounding
        # error
        assert_same(model, model, rows, others, rtol=1e-6, atol=1e-6)


# the online rule of a neural gas processes dense rows, and the documentation says so
IN_PARTS = [
    one for one in MIXING if hasattr(one, "partial_fit") and type(one).__name__ != "NeuralGas"
]


def fitted_in_parts(estimator, tables, y):
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    more = {} if y is None or y.dtype.kind != "i" else {"classes": np.unique(y)}
    first = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table in tables:
            labels = None if y is None else y[first : first + table.shape[0]]
            model.partial_fit(table, labels, **more)
            first = first + table.shape[0]
            more = {}
    return model


@pytest.mark.parametrize("estimator", IN_PARTS, ids=repr)
def test_partial_fit_takes_dense_and_sparse_batches_in_turn(estimator):
    X = holed()
    halves = X[:20], X[20:]
    y = target(estimator, X)
    expected = fitted_in_parts(estimator, halves, y)
    for kinds in [(np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)]:
        tables = [kind(half) for kind, half in zip(kinds, halves, strict=True)]
        model = fitted_in_parts(estimator, tables, y)
        assert_same(expected, model, X, X, rtol=1e-6)  # sums are computed in a different order


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("estimator", KERNEL_CLASSES, ids=lambda one: type(one).__name__)
def test_sparse_rows_are_never_made_dense_all_at_once(estimator, kernel):
    """A model of a few dense rows; the table would take 48 MB as a dense array."""
    rng = np.random.default_rng(0)
    S = sparse.random_array((300, 20_000), density=5e-4, rng=rng, format="csr")
    S.data += 0.1
    X = S[:12].toarray()
    size = X.sum(axis=1)
    labels = (size > np.median(size)).astype(int)
    one = clone(estimator).set_params(kernel=kernel)
    model = fitted(one, X, y=labels if is_classifier(one) else size)
    names = [name for name in CONTINUOUS if hasattr(model, name)] or ["predict"]
    with config_context(working_memory=8), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            tracemalloc.start()
            found = dense(getattr(model, name)(S))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 28e6, name
            # a distance is the root of a difference that is rounded to 1e-14
            expected = dense(getattr(model, name)(X))
            assert_allclose(found[:12], expected, rtol=1e-6, atol=1e-6, err_msg=name)


def is_supervised(estimator):
    return is_classifier(estimator) or is_regressor(estimator)


def samples_of(estimator):
    """Rows, kernel values or series, as the estimator takes them."""
    return list(sample()) if estimator._card.samples == "series" else form(estimator, sample())


# One instance of each class; classes with a kernel also run on strings.
SUPERVISED = list(
    {type(one): one for one in reversed(INSTANCES) if is_supervised(one)}.values()
)
SUPERVISED += [
    cls() for cls in CLASSES if cls._card.samples == "series" and is_supervised(cls())
]
ON_STRINGS = [
    type(one)(kernel=BlendedSpectrum(2))
    for one in SUPERVISED
    if "kernel" in one.get_params()
    and not type(one).__name__.endswith("Regression")
    and "gaussian_process" not in type(one).__module__
]
each_supervised = pytest.mark.parametrize(
    "estimator", SUPERVISED, ids=lambda one: type(one).__name__
)


def columns_of(y):
    """The same target in every form that a data frame of pandas or polars gives it."""
    backwards = np.arange(len(y))[::-1]  # the index must not be used to sort the samples
    columns = {
        "list": y.tolist(),
        "pandas": pd.Series(y, index=backwards),
        "polars": pl.Series("y", y),
    }
    if y.dtype.kind in "if":
        nullable = "Int64" if y.dtype.kind == "i" else "Float64"
        columns["pandas nullable"] = pd.Series(y).astype(nullable)
    else:
        columns["pandas objects"] = pd.Series(y).astype(object)
        columns["pandas strings"] = pd.Series(y).astype("string")
        columns["pandas categories"] = pd.Series(y).astype("category")
        columns["polars categories"] = pl.Series(y).cast(pl.Categorical)
        columns["polars enum"] = pl.Series(y).cast(pl.Enum(sorted(set(y.tolist()))))
    return columns


def targets_for(estimator):
    """Numbers, and for a classifier integers and strings."""
    values = sample()[:, 0].copy()
    if is_regressor(estimator):
        return [values]
    codes = (values > np.median(values)).astype(int)
    return [codes, np.array(["less", "more"])[codes]]  # these labels are in alphabetical order


@each_supervised
def test_columns_of_data_frames_are_targets(estimator):
    X = samples_of(estimator)
    for y in targets_for(estimator):
        expected = fitted(estimator, X, y=y).predict(X)
        for kind, column in columns_of(y).items():
            found = fitted(estimator, X, y=column).predict(X)
            assert_array_equal(np.asarray(found), expected, err_msg=kind)


@pytest.mark.parametrize("estimator", ON_STRINGS, ids=lambda one: type(one).__name__)
def test_columns_of_data_frames_are_targets_of_strings(estimator):
    rng = np.random.default_rng(0)
    texts = ["".join("ab"[i] for i in rng.integers(0, 2, 8)) for _ in range(40)]
    y = targets_for(estimator)[-1]
    expected = fitted(estimator, texts, y=y).predict(texts)
    for kind in ("polars", "pandas"):
        found = fitted(estimator, texts, y=columns_of(y)[kind]).predict(texts)
        assert_array_equal(np.asarray(found), expected, err_msg=kind)


@pytest.mark.parametrize(
    "estimator",
    list({type(one): one for one in reversed(WEIGHTED)}.values()),
    ids=lambda one: type(one).__name__,
)
def test_columns_of_data_frames_are_weights(estimator):
    X = form(estimator, sample())
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    expected = fitted_with_weights(estimator, X, weights)
    backwards = pd.Series(weights, index=np.arange(len(X))[::-1])
    for column in (backwards, backwards.astype("Float64"), pl.Series(weights)):
        assert_same(expected, fitted_with_weights(estimator, X, column), X, X)


# labels as targets have no noise; tests of the warning itself still see the warning
@pytest.mark.filterwarnings(
    "ignore:SparseGaussianProcessRegressor stopped before it converged"
)
@pytest.mark.parametrize(
    "estimator", [one for one in SUPERVISED if hasattr(one, "partial_fit")], ids=repr
)
def test_columns_of_data_frames_are_targets_of_batches(estimator):
    X = form(estimator, sample())
    y = targets_for(estimator)[-1]
    classes = {"classes": np.unique(y)} if is_classifier(estimator) else {}
    models = [
        clone(estimator).partial_fit(X, column, **classes) for column in (y, pl.Series(y))
    ]
    with pytest.raises(ValueError, match=r"\b39\b"):
        models[1].partial_fit(X, pl.Series(y[:-1]))
    for model, column in zip(models, (y, pl.Series(y)), strict=True):
        model.partial_fit(X, column)
    assert_array_equal(models[0].predict(X), models[1].predict(X))


def with_entry(y, value):
    y = np.array(y, dtype=object)
    y[3] = value
    return y


@each_supervised
def test_useless_targets_raise_with_their_name(estimator):
    """A ValueError that names the problem with y, whatever the kind of the estimator."""
    X = samples_of(estimator)
    y = targets_for(estimator)[0]
    words = np.array(["less", "more"])[(y > np.median(y)).astype(int)]

    refused = [
        (sparse.csr_array(y[:, None]), r"y.toarray\(\)"),
        (sparse.coo_matrix(y[:, None]), r"y.toarray\(\)"),
        (with_entry(words, np.inf), "y is infinite at position 3"),
        (with_entry(words, np.inf).tolist(), "y is infinite at position 3"),
        (with_entry(y, -np.inf), "y is infinite at position 3"),
        (with_entry(words, 1), "y mixes strings and other values, such as 1 at position 3"),
        (with_entry(words, None).tolist(), "y is missing .* position 3"),
        (pl.Series(with_entry(words, None).tolist()), "y is missing .* position 3"),
    ]

    if is_regressor(estimator):
        refused += [
            (words, "needs numbers as y, and received 'less'|'more'"),
            (pd.Series(pd.date_range("2020-01-01", periods=len(y))), "needs numbers as y"),
        ]

    for target_of_no_use, message in refused:
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(X, target_of_no_use)


PARALLEL = [cls() for cls in CLASSES if "n_jobs" in cls().get_params()]


@pytest.mark.parametrize("estimator", PARALLEL, ids=lambda one: type(one).__name__)
def test_rejects_zero_jobs(estimator):
    """Whatever X is: parameters are looked at first."""
    with pytest.raises(ValueError, match=r"'n_jobs' parameter of .* Got 0"):
        clone(estimator).set_params(n_jobs=0).fit(sample(), sample()[:, 0])
