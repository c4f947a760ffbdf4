"""Dask arrays and tables on a disk: every class answers block by block, or says what to do."""

import copy
import inspect
import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata._estimator import blocks_input
from skmoderndata._solvers.common import blocks as solver_blocks
from skmoderndata.cross_decomposition import KernelCCA
from skmoderndata.decomposition import RobustPCA, SlowFeatureAnalysis, SparseNMF
from skmoderndata.gaussian_process import SparseGaussianProcessRegressor
from skmoderndata.image import DictionaryDenoiser
from skmoderndata.linear_model import KernelPerceptron
from skmoderndata.neural_network import ELMClassifier
from skmoderndata.preprocessing import SeriesFormatter, TimeDelayEmbedding
from tests.common import rules
from tests.common.instances import (
    CLASSES,
    INSTANCES,
    fitted,
    fitted_to_the_sample,
    form,
    instances_with,
    sample,
    target,
)
from tests.common.test_batch import in_order
from tests.solvers.test_blocks import LikeHDF5, on_disk

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

LENGTHS = (17, 1, 0, 22)

# Names of all methods that return a result for each row.
ROW_METHODS = sorted(
    {
        name
        for cls in CLASSES
        for name in dir(cls)
        if getattr(getattr(cls, name, None), "_table", None) == "by rows"
    }
)


def refuse_to_run(*args, **kwargs):
    raise AssertionError("a task ran before compute()")


@pytest.fixture
def lazy_only(monkeypatch):
    """Dask runs nothing, and turns no array into one of NumPy, until the test asks for it."""
    monkeypatch.setattr(da.Array, "__array__", refuse_to_run)
    with dask.config.set(scheduler=refuse_to_run):
        yield


def in_dask(X):
    lengths = LENGTHS if len(X) == sum(LENGTHS) else (len(X),)
    return da.from_array(X, chunks=(lengths, X.shape[1]))


def independent(estimator):
    return estimator._card.rows == "independent"


# The first instance of each class.
FIRST_OF_ALL = list({type(one): one for one in reversed(INSTANCES)}.values())
FIRST = [one for one in FIRST_OF_ALL if independent(one)]


def table(value):
    return value.toarray() if sparse.issparse(value) else np.asarray(value)


def row_methods(model):
    """Names of the methods with an output for each row, and their argument."""
    for name in ROW_METHODS:
        if hasattr(model, name):
            yield name


def asked(model, name, X):
    """Rows for a method: codes for `inverse_transform`."""
    return model.transform(X) if name == "inverse_transform" else X


def assert_same_rows(one, other, name):
    one, other = table(one), table(other)
    assert one.shape == other.shape, name
    if other.dtype.kind not in "fc":
        assert_array_equal(one, other, err_msg=name)
    else:  # products of different numbers of rows are rounded differently
        single = other.dtype == np.float32
        atol = (1e-4 if single else 1e-8) * np.abs(other).max(initial=0.0)
        assert_allclose(one, other, rtol=0, atol=atol, err_msg=name)


@instances_with(independent)
def test_rows_of_a_dask_array_are_predicted_lazily(estimator, lazy_only):
    X = form(estimator, sample())
    model = fitted_to_the_sample(estimator)
    for name in row_methods(model):
        rows = asked(model, name, X)
        if sparse.issparse(rows):
            continue
        expected = getattr(model, name)(rows)
        answer = getattr(model, name)(in_dask(rows))

        # if the method returns several results, compare each of them
        pairs = [(answer, expected)]
        if isinstance(expected, tuple):
            pairs = list(zip(answer, expected, strict=True))
        for lazy, array in pairs:
            assert isinstance(lazy, da.Array), name
            assert lazy.shape == array.shape, name
            assert lazy.dtype == array.dtype, name
            assert lazy.chunks[0] == LENGTHS
            with dask.config.set(scheduler="synchronous"):
                assert_same_rows(lazy.compute(), array, name)


@pytest.mark.parametrize("estimator", FIRST, ids=repr)
def test_blocks_on_disk_are_read_one_by_one(estimator, tmp_path, monkeypatch):
    X = form(estimator, sample())
    model = fitted_to_the_sample(estimator)
    expected = {
        name: getattr(model, name)(X) for name in row_methods(model) if name[:3] != "inv"
    }
    limit = 11 * X[0].nbytes
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    for rows in (on_disk(tmp_path, X, limit), LikeHDF5(X)):
        for name, value in expected.items():
            answer = getattr(model, name)(rows)
            pairs = (
                zip(answer, value, strict=True)
                if isinstance(value, tuple)
                else [(answer, value)]
            )
            for one, other in pairs:
                assert_same_rows(one, other, name)
                assert one.dtype == other.dtype


def test_rows_are_independent_unless_the_card_says_why_not():
    said = {type(one).__name__: independent(one) for one in INSTANCES}
    assert {name for name, free in said.items() if not free} == {
        type(one).__name__ for one in INSTANCES if in_order(one)
    }


@pytest.mark.parametrize("estimator", FIRST_OF_ALL, ids=repr)
def test_fit_accepts_a_dask_array_or_names_the_remedy(estimator, lazy_only):
    X = form(estimator, sample())
    if estimator._card.fits_blocks:
        return
    for name in ("fit", "partial_fit", "fit_transform", "fit_predict"):
        if not hasattr(estimator, name):
            continue
        model = clone(estimator)
        before = copy.copy(vars(model))
        y = target(model, X)
        with pytest.raises(TypeError, match=r"Dask array.*compute\(\)") as error:
            getattr(model, name)(in_dask(X), *(() if y is None else (y,)))
        assert type(model).__name__ in str(error.value)
        assert vars(model) == before
        if hasattr(model, "partial_fit"):
            assert "partial_fit" in str(error.value)


# Names of first parameters that are tables.
TABLES = ("X", "Z", "T", "codes")
PASS_ON = {"fit_transform", "fit_predict"}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_each_method_states_what_it_does_with_a_table_in_blocks(cls):
    silent = []
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        function = getattr(method, "fn", method)  # unwrap `available_if`
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        arguments = list(inspect.signature(function).parameters)
        with_table = len(arguments) > 1 and arguments[1] in TABLES
        if with_table and not hasattr(function, "_table") and name not in PASS_ON:
            silent.append(name)
    # scikit-learn's mixins compute scores from the result of `predict`
    own_score = inspect.getattr_static(cls, "score", None)
    if getattr(own_score, "__module__", "") == "sklearn.base":
        silent.remove("score")
    assert silent == []


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_samples_of_other_kinds_are_rejected_too(cls, lazy_only):
    X = in_dask(sample())
    if not cls._card.fits_blocks:
        with pytest.raises((TypeError, ValueError), match="Dask array"):
            cls().fit(X, np.zeros(40))


@pytest.mark.edge
def test_rows_of_an_image_are_not_samples(lazy_only):
    image = np.random.default_rng(0).uniform(size=(24, 24))
    for name in ("fit", "transform"):
        with pytest.raises(TypeError, match=r"Dask array|image, not on the rows"):
            getattr(DictionaryDenoiser(), name)(in_dask(image))
    with pytest.raises(TypeError, match="series, not on the rows of a table"):
        SeriesFormatter().transform(in_dask(image))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_methods_keep_their_signatures_and_docstrings(cls):
    for name in (*ROW_METHODS, "fit"):
        if hasattr(cls, name):
            method = getattr(cls, name)
            assert inspect.signature(method) == inspect.signature(inspect.unwrap(method))
            assert method.__doc__


def test_targets_in_dask_are_named():
    X = sample()
    with pytest.raises(TypeError, match="got X in memory, and with it a Dask array"):
        KernelPerceptron().fit(X, da.from_array((X[:, 0] > 3).astype(int)))


@pytest.mark.edge
def test_tables_on_disk_are_read_at_once_if_necessary(monkeypatch, tmp_path):
    X = sample()
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", 100)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", 100)
    np.save(tmp_path / "X.npy", X)
    rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = RobustPCA(n_components=2).fit(rows)
    assert model.score(rows) == model.score(X)
    embedding = TimeDelayEmbedding().fit(rows)
    assert_array_equal(embedding.transform(rows), embedding.transform(X))
    process = fitted(SparseGaussianProcessRegressor(random_state=0), X)
    assert process.score(rows, X[:, 0]) == pytest.approx(process.score(X, X[:, 0]))


@pytest.mark.edge
def test_rejects_results_that_couple_rows():
    X = sample()
    model = fitted(SparseGaussianProcessRegressor(random_state=0), X)
    embedding = TimeDelayEmbedding().fit(X)
    with pytest.raises(TypeError, match=r"rows are time.*compute\(\)"):
        embedding.transform(in_dask(X))
    with pytest.raises(TypeError, match="does not answer for each row"):
        model.sample_y(in_dask(X))
    with pytest.raises(TypeError, match="does not answer for each row"):
        fitted(RobustPCA(), X).score(in_dask(X))


def test_several_results_are_several_arrays():
    X = sample()
    model = fitted(SparseGaussianProcessRegressor(random_state=0), X)
    mean, std = model.predict(in_dask(X), return_std=True)
    assert mean.shape == std.shape == (40,)
    for lazy, array in zip((mean, std), model.predict(X, return_std=True), strict=True):
        assert_allclose(lazy.compute(), array, rtol=1e-8)


def test_whole_covariance_is_rejected():
    X = sample()
    model = fitted(SparseGaussianProcessRegressor(random_state=0), X)
    with pytest.raises(TypeError, match="return_cov"):
        model.predict(in_dask(X), return_cov=True)


def test_columns_are_checked_before_anything_runs(lazy_only):
    model = fitted(KernelPerceptron(), sample())
    with pytest.raises(
        ValueError, match="X has 5 features, but KernelPerceptron is expecting 6"
    ):
        model.predict(in_dask(sample(p=5)))
    with pytest.raises(ValueError, match="Complex data"):
        model.predict(in_dask(sample() * 1j))


def test_error_names_bad_row():
    X = sample()
    X[21, 2] = np.nan
    model = fitted(KernelPerceptron(), sample())
    with pytest.raises(ValueError, match="row 21: Input X contains NaN"):
        model.predict(in_dask(X)).compute()


def test_results_work_with_unknown_lengths(lazy_only):
    X = sample()
    rows = in_dask(X)
    rows = rows[rows[:, 0] > 3]
    answer = fitted(KernelPerceptron(), X).decision_function(rows)
    assert np.isnan(answer.shape[0])


def test_data_frames_keep_their_names(lazy_only):
    dataframe = pytest.importorskip("dask.dataframe")
    X = pd.DataFrame(sample(), columns=list("abcdef"))
    y = (X["a"] > 3).astype(int)
    with dask.config.set(scheduler="synchronous"):
        rows = dataframe.from_pandas(X, npartitions=3)
        other = dataframe.from_pandas(X[list("bacdef")], npartitions=3)
    with warnings.catch_warnings():
        # the labels are close to the boundary, so rounding decides how many passes are needed to
        # separate them
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelPerceptron().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = model.decision_function(rows)
        with dask.config.set(scheduler="synchronous"):
            assert_allclose(answer.compute(), model.decision_function(X), rtol=1e-8)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(other)


def test_sparse_blocks():
    X = sample()
    model = fitted(KernelPerceptron(), X)
    rows = in_dask(X).map_blocks(sparse.csr_array)
    assert_allclose(model.decision_function(rows).compute(), model.decision_function(X))


def test_rejects_containers_for_lazy_results():
    X = sample()
    model = fitted(RobustPCA(), X).set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"set_output\(transform='default'\)"):
        model.transform(in_dask(X))
    with config_context(transform_output="pandas"), pytest.raises(ValueError, match="default"):
        fitted(RobustPCA(), X).transform(in_dask(X))
    model.set_output(transform="default")
    assert model.transform(in_dask(X)).compute().shape == model.transform(X).shape


def test_lazy_results_can_be_pickled():
    X = sample()
    model = fitted(KernelPerceptron(), X)
    answer = pickle.loads(pickle.dumps(model.decision_function(in_dask(X))))
    assert_allclose(answer.compute(), model.decision_function(X), rtol=1e-8)


def test_later_fits_change_no_result():
    X = sample()
    model = fitted(KernelPerceptron(), X)
    expected = model.decision_function(X)
    answer = model.decision_function(in_dask(X))
    model.fit(X[:, :2], X[:, 1] > 3)
    assert_allclose(answer.compute(), expected, rtol=1e-8)


def test_several_views_in_dask_are_rejected():
    X = in_dask(sample())
    with pytest.raises(TypeError, match="Dask array"):
        SeriesFormatter().fit([X, X])


@pytest.mark.edge
def test_rejects_other_collections_and_names_the_remedy(lazy_only):
    X = sample()
    for rows in (dask.delayed(X), pytest.importorskip("dask.bag").from_sequence([1, 2])):
        with pytest.raises(TypeError, match="give a Dask array or data frame"):
            SparseNMF().fit(rows)
    with pytest.raises(TypeError, match="give a Dask array or data frame"):
        SparseNMF().fit(in_dask(X), sample_weight=dask.delayed(np.ones(40)))
    with pytest.raises(TypeError, match=r"no list of Dask arrays: .* fit\(X, Y\)"):
        KernelCCA().fit([in_dask(X), in_dask(X)])


@pytest.mark.edge
def test_searches_raise_and_recommend_a_sample():
    X = sample()
    with pytest.raises(TypeError, match="a random sample of the rows, to a search too"):
        fitted(SparseNMF(), X).score(in_dask(X))
    labels = da.from_array((X[:, 0] > 3).astype(int), chunks=20)
    grid = {"alpha": [0.1, 10.0]}
    search = GridSearchCV(ELMClassifier(random_state=0), grid, cv=2, error_score="raise")
    search.fit(in_dask(X), labels)
    expected = clone(search).fit(X, labels.compute())
    assert_allclose(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


@pytest.mark.edge
def test_steps_of_a_pipeline_stay_lazy(lazy_only):
    X = sample()
    pipeline = make_pipeline(SlowFeatureAnalysis(n_components=2), ELMClassifier(alpha=0.5))
    pipeline.set_params(elmclassifier__random_state=0)
    y = (X[:, 0] > 3).astype(int)
    with dask.config.set(scheduler="synchronous"):
        lazy = clone(pipeline).fit(in_dask(X), y)
        answer = lazy.predict(in_dask(X))
        assert_array_equal(answer.compute(), pipeline.fit(X, y).predict(X))


def test_nothing_else_knows_dask():
    files = (rules.ROOT / "skmoderndata").rglob("*.py")
    knowing = {
        path.name
        for path in files
        if "import dask" in (text := path.read_text(encoding="utf-8")) or "from dask" in text
    }
    assert knowing == {"blocks.py"}


def test_dask_is_not_imported_here():
    import subprocess

    code = (
        "import sys, numpy as np; from skmoderndata.linear_model import KernelPerceptron; "
        "X = np.eye(4); KernelPerceptron().fit(X, [0, 1, 0, 1]).predict(X); "
        "print('dask' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["False"]
