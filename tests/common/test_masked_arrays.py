"""Masked arrays of NumPy: a mask is NaN where the estimator accepts NaN, else an error."""

import inspect
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_regressor

from skmoderndata.decomposition import KSVD, FeatureSignDictionaryLearning, RobustPCA
from skmoderndata.impute import NuclearNormImputer
from skmoderndata.model_selection import EntrySearchCV
from tests.common.instances import CLASSES, OUTPUTS, form, sample, target

# Methods that accept a table, other than fits.
ROW_METHODS = (
    *OUTPUTS,
    "score",
    "decompose",
    "find_outliers",
    "outlier_scores",
    "kneighbors",
    "impute",
)
FITS = ("fit", "partial_fit", "fit_transform", "fit_predict", "fit_decompose")
SAMPLES_IN_LISTS = [cls for cls in CLASSES if cls._card.samples == "series"]
REFUSES = "does not accept masked arrays"


def of_tables(cls):
    """Whether the estimator works on tables, of rows or of pixels."""
    return cls._card.samples == "image" or cls().__sklearn_tags__().input_tags.two_d_array


TABLES = [cls for cls in CLASSES if of_tables(cls)]
ACCEPTS_NAN = [cls for cls in TABLES if cls().__sklearn_tags__().input_tags.allow_nan]
OTHERS = [cls for cls in TABLES if cls not in ACCEPTS_NAN]
TWO_VIEWS = [
    cls
    for cls in OTHERS
    if cls.__module__.startswith("skmoderndata.cross_decomposition")
    and hasattr(cls, "transform")
    and not is_regressor(cls())
]
WEIGHTED = [cls for cls in TABLES if "sample_weight" in inspect.signature(cls.fit).parameters]
each_class = pytest.mark.parametrize("cls", TABLES, ids=lambda cls: cls.__name__)
each_that_accepts_nan = pytest.mark.parametrize(
    "cls", ACCEPTS_NAN, ids=lambda cls: cls.__name__
)
each_other = pytest.mark.parametrize("cls", OTHERS, ids=lambda cls: cls.__name__)


def table(cls):
    """Return a table as the class takes it: rows, a Gram matrix, or 0 and 1."""
    estimator = cls()
    X = form(estimator, sample(20))
    if cls._card.samples == "image":
        return np.tile(X, (1, 3)) / X.max()
    return (X > np.median(X)).astype(float) if "Boolean" in _family(cls) else X


def _family(cls):
    return "Boolean" if cls._card.family.lower().startswith("boolean") else ""


def hidden(X):
    """Return which entries are hidden: few, and none of them in the first row."""
    mask = np.zeros(X.shape, dtype=bool)
    mask[3, 1] = mask[7, 4] = True
    return mask


def masked(X, mask, wrong=1e6):
    """Return a masked array with a wrong number below the mask."""
    return np.ma.MaskedArray(np.where(mask, wrong, X), mask)


def small(cls):
    estimator = cls()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator


def fit(estimator, X, y=None, method="fit", **others):
    y = target(estimator, np.asarray(table(type(estimator)))) if y is None else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(clone(estimator), method)(X, y, **others)


def state(model):
    """Return the fitted arrays and numbers."""
    fitted = {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, np.ndarray | float | int)
    }
    assert fitted
    return fitted


def assert_same_tables(one, other):
    """Compare arrays, tuples of arrays, data frames and numbers."""
    if isinstance(one, tuple):
        for part, expected in zip(one, other, strict=True):
            assert_same_tables(part, expected)
        return
    assert not isinstance(one, np.ma.MaskedArray)
    assert_array_equal(np.asarray(one), np.asarray(other))


def second_view(cls, X):
    return X[:, ::-1].copy() if cls in TWO_VIEWS else None


@pytest.mark.filterwarnings("ignore")  # small tables cause warnings
@each_that_accepts_nan
def test_mask_equals_nan(cls):
    X = table(cls)
    mask = hidden(X)
    N = np.where(mask, np.nan, X)
    M = masked(X, mask)
    expected = fit(small(cls), N)
    model = fit(small(cls), M)
    for name, value in state(expected).items():
        assert_array_equal(getattr(model, name), value, err_msg=name)
    for name in ROW_METHODS:
        if not hasattr(expected, name) or (cls._card.samples == "image" and name == "score"):
            continue
        assert_same_tables(getattr(model, name)(M), getattr(expected, name)(N))
    assert (M.data[mask] == 1e6).all()  # the caller's array is unchanged


@pytest.mark.parametrize(
    "cls",
    [cls for cls in ACCEPTS_NAN if hasattr(cls, "partial_fit")],
    ids=lambda cls: cls.__name__,
)
def test_partial_fit_treats_a_mask_as_nan(cls):
    X = table(cls)
    mask = hidden(X)
    if cls in (KSVD, FeatureSignDictionaryLearning):  # only fit accepts missing entries
        with pytest.raises(ValueError, match="accepts no missing entries; use fit"):
            fit(small(cls), masked(X, mask), method="partial_fit")
        return
    expected = fit(small(cls), np.where(mask, np.nan, X), method="partial_fit")
    model = fit(small(cls), masked(X, mask), method="partial_fit")
    for name, value in state(expected).items():
        assert_array_equal(getattr(model, name), value, err_msg=name)


@each_that_accepts_nan
def test_masked_integers_become_floats(cls):
    X = np.round(table(cls))
    mask = hidden(X)
    M = np.ma.MaskedArray(X.astype(int), mask)
    assert M.dtype.kind == "i"
    expected = fit(small(cls), np.where(mask, np.nan, X))
    model = fit(small(cls), M)
    for name, value in state(expected).items():
        assert_array_equal(getattr(model, name), value, err_msg=name)


@pytest.mark.parametrize(
    ("cls", "method"),
    [(cls, method) for cls in OTHERS for method in FITS if hasattr(cls, method)],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_fits_raise(cls, method):
    X = table(cls)
    estimator = small(cls)
    if method == "partial_fit" and "centers" in estimator.get_params():
        estimator.set_params(centers=X[:3])
    others = {}
    if method == "partial_fit" and "classes" in inspect.signature(cls.partial_fit).parameters:
        others = {"classes": [0, 1]}
    with pytest.raises(ValueError, match=REFUSES):
        fit(estimator, masked(X, hidden(X)), second_view(cls, X), method=method, **others)


@each_other
def test_methods_for_new_rows_raise(cls):
    X = table(cls)
    Y = second_view(cls, X)
    model = fit(small(cls), X, Y)
    M = masked(X, hidden(X))
    y = target(model, X) if Y is None else Y
    for name in ROW_METHODS:
        if not hasattr(model, name):
            continue
        takes_y = name == "score"
        with pytest.raises(ValueError, match=REFUSES):
            getattr(model, name)(M, y) if takes_y else getattr(model, name)(M)


@each_class
def test_empty_mask_equals_an_ordinary_array(cls):
    X = table(cls)
    Y = second_view(cls, X)
    expected = fit(small(cls), X, Y)
    for mask in (np.ma.nomask, np.zeros(X.shape, dtype=bool)):
        model = fit(small(cls), np.ma.MaskedArray(X.copy(), mask), Y)
        for name, value in state(expected).items():
            assert not isinstance(getattr(model, name), np.ma.MaskedArray)
            assert_array_equal(getattr(model, name), value, err_msg=name)


@pytest.mark.parametrize("cls", TWO_VIEWS, ids=lambda cls: cls.__name__)
def test_second_view_raises(cls):
    X = table(cls)
    Y = masked(second_view(cls, X), hidden(X))
    with pytest.raises(ValueError, match=REFUSES):
        fit(small(cls), X, Y)


@pytest.mark.parametrize(
    "cls",
    [
        cls
        for cls in TABLES
        if cls().__sklearn_tags__().target_tags.required and cls not in TWO_VIEWS
    ],
    ids=lambda cls: cls.__name__,
)
def test_targets_raise(cls):
    X = table(cls)
    y = target(small(cls), X)
    y = np.ma.MaskedArray(y, np.arange(len(y)) == 2)
    with pytest.raises(ValueError, match="y as a masked array"):
        fit(small(cls), X, y)


@pytest.mark.parametrize("cls", WEIGHTED, ids=lambda cls: cls.__name__)
def test_sample_weights_raise(cls):
    X = table(cls)
    weights = np.ma.MaskedArray(np.ones(len(X)), np.arange(len(X)) == 2)
    with pytest.raises(ValueError, match="sample_weight as a masked array"):
        fit(small(cls), X, second_view(cls, X), sample_weight=weights)


@pytest.mark.parametrize("cls", SAMPLES_IN_LISTS, ids=lambda cls: cls.__name__)
def test_masked_series_raise(cls):
    X = sample(20)
    y = np.arange(20) % 2
    for series in (masked(X, hidden(X)), [masked(row, row > 1e9) for row in X]):
        if isinstance(series, list):
            series[2] = np.ma.MaskedArray(X[2], np.arange(6) == 1)
        with pytest.raises(ValueError, match=REFUSES):
            fit(small(cls), series, y)


def test_search_over_entries_treats_a_mask_as_nan():
    X = sample(40)
    mask = hidden(X)
    model = KSVD(2, max_iter=3, random_state=0)
    search = EntrySearchCV(model, {"n_components": [2, 3]}, cv=2, random_state=0)
    expected = fit_search(search, np.where(mask, np.nan, X)).cv_results_
    results = fit_search(search, masked(X, mask)).cv_results_
    assert_array_equal(results["mean_test_score"], expected["mean_test_score"])


def fit_search(search, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(search).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hidden_numbers_are_not_used(dtype):
    """Numbers of 1e6 below the mask of a table of rank 2."""
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 10))
    mask = rng.random(low_rank.shape) < 0.1
    M = masked(low_rank, mask).astype(dtype)
    M.data.flags.writeable = False
    model = RobustPCA(2).fit(M)
    assert model.low_rank_.dtype == dtype
    assert np.abs(model.low_rank_).max() < 3 * np.abs(low_rank).max()
    assert (model.sparse_[mask] == 0).all()

    filled = NuclearNormImputer(tol=1e-3).fit_transform(M)
    assert filled.dtype == dtype
    assert np.abs(filled).max() < 3 * np.abs(low_rank).max()
