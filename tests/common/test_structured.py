"""Contract of estimators for samples other than rows of numbers."""

import copy
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from skmoderndata._estimator.registry import all_estimators
from skmoderndata._kernelized.mixins import KernelSamples
from skmoderndata.kernels import (
    AllSubtree,
    DerivedSubsets,
    DTWKernel,
    GlobalAlignment,
    Intersection,
    Normalized,
    PSpectrum,
    TfIdf,
    WeisfeilerLehman,
)
from tests.common.instances import OUTPUTS

N = 14


def letters(seed, n=N):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), size=k)) for k in rng.integers(4, 8, n)]


def series(seed, n=N):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(k, 2)).cumsum(axis=0) for k in rng.integers(5, 9, n)]


def graph(word):
    return (list(word), [[i, i + 1] for i in range(len(word) - 1)])


def spoil_list(x):
    x[:] = ["z", "z", "y"]


def spoil_nested(x):
    x[1][:] = ["z", "z"]
    del x[2:]


def spoil_array(x):
    x[:] = 3.0


def spoil_graph(x):
    x[0][:] = ["z"] * len(x[0])
    x[1][0][:] = [0, 0]


def spoil_set(x):
    x.clear()
    x.add("z")


# Samples of each kind, a kernel that accepts them, and a function with which a caller might
# overwrite a sample.
KINDS = {
    "strings": (letters, Normalized(PSpectrum(2)), None),
    "tokens": (
        lambda seed: [list(w) for w in letters(seed)],
        Normalized(PSpectrum(2)),
        spoil_list,
    ),
    "series": (series, Normalized(GlobalAlignment(sigma=3.0)), spoil_array),
    "trees": (
        lambda seed: [["a", ["b", *w[:2]], ["c", w[2]]] for w in letters(seed)],
        Normalized(AllSubtree(decay=0.5, include_leaves=True)),
        spoil_nested,
    ),
    "graphs": (
        lambda seed: [graph(w) for w in letters(seed)],
        Normalized(WeisfeilerLehman(1)),
        spoil_graph,
    ),
    "sets": (
        lambda seed: [set(w) for w in letters(seed)],
        Normalized(Intersection()),
        spoil_set,
    ),
    "bags": (series, Normalized(DerivedSubsets(RBF(3.0))), spoil_array),
}


def taking(kind):
    """Instances of all estimators that take samples of a kind."""
    kernel = KINDS[kind][1]
    found = []
    for cls in all_estimators():
        names = cls().get_params()
        if "kernels" in names:
            found.append(cls(kernels=[kernel]))
        elif "kernel" in names and cls.__name__ != "SequenceFeatures":
            found.append(cls(kernel=kernel))
    for one in found:
        if "random_state" in one.get_params():
            one.set_params(random_state=0)
    found = [one for one in found if not one.__sklearn_tags__().input_tags.two_d_array]
    if kind in ("strings", "tokens"):
        found += [by_name["DistanceTransformer"](), by_name["SequenceFeatures"](n_features=64)]
    if kind == "series":
        found += [by_name[name]() for name in ON_SERIES if name != "TimeSeriesKMeans"]
        found.append(by_name["TimeSeriesKMeans"](4, random_state=0))
    return found


by_name = {cls.__name__: cls for cls in all_estimators()}
ON_SERIES = sorted(name for name, cls in by_name.items() if cls._card.samples == "series")
TAKING_KERNELS = [type(one) for one in taking("sets")]
CASES = [
    pytest.param(kind, one, id=f"{type(one).__name__}-{kind}")
    for kind in KINDS
    for one in taking(kind)
]


FEW = [case for case in CASES if case.values[0] in ("strings", "series")]


def targets(X):
    return np.arange(len(X)) % 2


def fitted(model, X, partial=False):
    """Fit to samples with labels, or to two views of them; `partial` adds samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if partial:
            return model.partial_fit(X, targets(X))
        if hasattr(model, "view_slices"):
            return model.fit(X, copy.deepcopy(X))
        return model.fit(X, targets(X))


def outputs(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: getattr(model, name)(X) for name in OUTPUTS if hasattr(model, name)}
    return {name: dense(value) for name, value in found.items()}


def dense(value):
    if sparse.issparse(value):
        return value.toarray()
    return np.concatenate(value) if isinstance(value, list) else np.asarray(value)


def spoil(X, change):
    """What a caller may do with a list of samples after `fit`."""
    for x in X if change else ():
        change(x)
    X[:] = X[::-1]
    X[0] = X[1]


def test_every_estimator_on_structured_samples_is_here():
    here = {case.values[1].__class__.__name__ for case in CASES}
    structured = {
        name
        for name, cls in by_name.items()
        if not cls().__sklearn_tags__().input_tags.two_d_array and cls._card.samples != "image"
    }
    assert structured - here <= {"SampleColumn"}  # this class stores nothing
    assert len(here) > 30
    taken = {case.values[1].__class__.__name__ for case in CASES if case.values[0] == "sets"}
    assert here - taken <= {*ON_SERIES, "DistanceTransformer", "SequenceFeatures"}


@pytest.mark.parametrize(("kind", "estimator"), CASES)
def test_models_do_not_change_with_the_samples_they_were_fitted_on(kind, estimator):
    make, _, change = KINDS[kind]
    given = make(0)
    new = make(1)
    model = fitted(copy.deepcopy(estimator), given)
    before = outputs(model, new)
    assert before
    spoil(given, change)
    for name, value in outputs(model, new).items():
        assert_array_equal(value, before[name], err_msg=name)
    if not hasattr(model, "partial_fit"):
        return

    given = make(2)
    fitted(model, given, partial=True)
    before = outputs(model, new)
    spoil(given, change)
    for name, value in outputs(model, new).items():
        assert_array_equal(value, before[name], err_msg=name)


@pytest.mark.parametrize(("kind", "estimator"), FEW)
def test_empty_collections_raise_the_same_message(kind, estimator):
    X = KINDS[kind][0](0)
    fresh = copy.deepcopy(estimator)
    model = fitted(copy.deepcopy(estimator), X)
    name = type(model).__name__
    second = (X,) if hasattr(model, "view_slices") else (targets(X),)
    with pytest.raises(ValueError, match=f"{name} received None for X: pass a collection"):
        fresh.fit(None, *second)
    with pytest.raises(ValueError, match=f"{name}.* 0 samples|an empty collection"):
        fresh.fit([], *second)
    if name.startswith("DTWNeighbors"):
        return  # as in scikit-learn, None stands for the training series
    for method in set(OUTPUTS) & set(dir(model)):
        with pytest.raises(ValueError, match="received None for X: pass a collection"):
            getattr(model, method)(None)


@pytest.mark.parametrize("kernel", [TfIdf(), "rbf"], ids=repr)
@pytest.mark.parametrize("cls", TAKING_KERNELS, ids=lambda cls: cls.__name__)
def test_texts_for_a_kernel_of_rows_name_the_remedy(cls, kernel):
    """And not `could not convert string to float`."""
    many = "kernels" in cls().get_params()
    model = cls(kernels=[kernel]) if many else cls(kernel=kernel)
    remedy = "vectorizer=CountVectorizer" if kernel != "rbf" else "use a kernel on strings"
    with pytest.raises(ValueError, match=f"{cls.__name__}: samples are texts, but .*{remedy}"):
        fitted(model, letters(0))


@pytest.mark.parametrize(("kind", "estimator"), FEW)
def test_every_method_raises_if_not_fitted(kind, estimator):
    X = KINDS[kind][0](0)
    model = copy.deepcopy(estimator)
    if not model.__sklearn_tags__().requires_fit or getattr(model, "n_features", None):
        return
    for method in set(OUTPUTS) & set(dir(model)):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)


def on_tables_of_series():
    """Estimators that take equally long series, with the frames that hold them."""
    return [c for c in CASES if c.values[0] == "series"]


@pytest.mark.parametrize(("kind", "estimator"), on_tables_of_series())
def test_frame_of_numbers_equals_its_array(kind, estimator):
    """One series in each row; frames of other forms name the transformer that reads them."""
    X = np.random.default_rng(0).normal(size=(N, 6)).cumsum(axis=1)
    expected = outputs(fitted(copy.deepcopy(estimator), X), X)
    named = pd.DataFrame(X, columns=[f"t{i}" for i in range(6)])
    for frame in (named, named.convert_dtypes(), pl.DataFrame(X)):
        found = outputs(fitted(copy.deepcopy(estimator), frame), frame)
        for name, value in expected.items():
            assert_array_equal(found[name], value, err_msg=name)
    if type(estimator).__name__ == "SeriesFormatter":
        return
    nested = pd.DataFrame({"a": [pd.Series(x) for x in X]})
    long = pd.DataFrame({"a": X.ravel()}, pd.MultiIndex.from_product([range(N), range(6)]))
    for frame in (nested, long, named.assign(z="a")):
        with pytest.raises(
            ValueError, match=r"convert it with preprocessing\.SeriesFormatter"
        ):
            fitted(copy.deepcopy(estimator), frame)


def test_series_after_column_transformers():
    """Columns of pandas output are series for what follows, or for a kernel inside."""
    X = np.random.default_rng(0).normal(size=(N, 6)).cumsum(axis=1)
    frame = pd.DataFrame(X, columns=[f"t{i}" for i in range(6)]).assign(age=1.0)
    columns = [f"t{i}" for i in range(6)]
    select = ColumnTransformer([("series", "passthrough", columns)]).set_output(
        transform="pandas"
    )
    model = make_pipeline(select, by_name["DTWNeighborsClassifier"]()).fit(frame, targets(X))
    alone = by_name["DTWNeighborsClassifier"]().fit(X, targets(X))
    assert_array_equal(model.predict(frame), alone.predict(X))
    inside = by_name["KernelTransformer"](DTWKernel(0.1))
    mixed = ColumnTransformer([("series", inside, columns), ("rest", "passthrough", ["age"])])
    assert_array_equal(mixed.fit_transform(frame), np.c_[DTWKernel(0.1)(X), np.ones(N)])


WITH_KERNEL = [cls for cls in all_estimators() if issubclass(cls, KernelSamples)]


@pytest.mark.parametrize("cls", WITH_KERNEL, ids=lambda cls: cls.__name__)
def test_a_function_as_kernel_gets_the_samples_as_they_are(cls):
    """Strings were converted to numbers: the same function as object and as function."""
    kernel = Normalized(PSpectrum(2))
    X = letters(0)
    new = letters(1)

    def function(A, B):
        assert all(isinstance(x, str) for x in [*A, *B])
        return kernel(list(A), list(B))

    settings = {"random_state": 0} if "random_state" in cls().get_params() else {}
    expected = outputs(fitted(cls(kernel=kernel, **settings), X), new)
    model = fitted(cls(kernel=function, **settings), X)
    for name, value in outputs(model, new).items():
        assert_allclose(value, expected[name], rtol=1e-6, atol=1e-8, err_msg=name)

    # fit the same model to rows, and to strings again
    table = np.random.default_rng(0).normal(size=(N, 3))
    fitted(model.set_params(kernel=rbf_kernel), table)
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="3 features"):
        outputs(model, table[:, :2])
    fitted(model.set_params(kernel=function), np.array(X))
    assert not hasattr(model, "n_features_in_")
    for name, value in outputs(model, np.array(new, dtype=object)).items():
        assert_allclose(value, expected[name], rtol=1e-6, atol=1e-8, err_msg=name)
