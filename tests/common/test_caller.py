"""What an estimator owes its caller: arrays left alone, any storage, any joblib back end."""

import inspect
import re
import warnings

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor

from tests.common.instances import (
    INSTANCES,
    each_instance,
    fitted_to_the_sample,
    form,
    instances_with,
    outputs,
    sample,
    target,
)

PARALLEL = [one for one in INSTANCES if "n_jobs" in one.get_params()]
SPARSE = [one for one in INSTANCES if one.__sklearn_tags__().input_tags.sparse]
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def fitted(estimator, X, n_jobs=None, y="of X"):
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if n_jobs is not None:
        model.set_params(n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, target(model, form(model, sample())) if isinstance(y, str) else y)


def dense(value):
    return np.asarray(value.todense() if sparse.issparse(value) else value, dtype=float)


def assert_same(model, other, X, Z, rtol=1e-10, atol=1e-12):
    assert_close(outputs(other, Z), outputs(model, X), rtol, atol)


def assert_close(found, expected, rtol, atol=1e-12):
    """Whether all that `outputs` names agrees."""
    for name, value in expected.items():
        assert_allclose(dense(found[name]), dense(value), rtol=rtol, atol=atol, err_msg=name)


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("estimator", PARALLEL, ids=repr)
def test_any_backend_matches_the_serial_result(estimator, backend):
    X = form(estimator, sample())
    serial = fitted(estimator, X, n_jobs=1)
    with joblib.parallel_config(backend):
        model = fitted(estimator, X, n_jobs=2)
        assert_same(serial, model, X, X, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask leaves sockets and temporary folders behind
def test_dask_matches_the_serial_result():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster):
        for estimator in PARALLEL:
            X = form(estimator, sample())
            serial = fitted(estimator, X, n_jobs=1)
            with joblib.parallel_config("dask"):
                model = fitted(estimator, X, n_jobs=2)
                assert_same(serial, model, X, X, rtol=1e-12)


# Classes whose number of components may exceed the numbers of samples and features, because
# components are atoms, or because it is the largest rank that the method may choose.
NO_LIMIT = {
    *("ConvexNMF", "DictionaryClassifier", "DictionaryDenoiser", "DictionaryInpainter"),
    *("FeatureSignDictionaryLearning", "KSVD", "ProbabilisticLSA", "SemiNMF", "Sparsenet"),
    *("SparseNMF", "IncompleteCholesky", "NuclearNormImputer", "RobustPCA", "SammonMapping"),
}
LIMITED = [
    one
    for one in INSTANCES
    if "n_components" in one.get_params() and type(one).__name__ not in NO_LIMIT
]


@pytest.mark.parametrize("estimator", LIMITED, ids=repr)
def test_too_many_components_always_warn_or_raise(estimator):
    """A warning with the number that is returned, or an error: nowhere silence."""
    model = clone(estimator).set_params(n_components=500)
    X = form(model, sample())
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, target(model, X))
        except ValueError as error:
            said.append(str(error))
    said += [str(one.message) for one in caught]
    assert any(
        re.search(r"n_components=500 (exceeds|is above|explains)", text) for text in said
    )


def holed():
    """A table with zeros."""
    X = sample()
    return np.where(np.random.default_rng(1).random(X.shape) < 0.4, 0.0, X)


def untidy(X, n_zeros):
    """The table in CSR with zeros stored, entries given in two parts, and columns out of order."""
    rows, columns = np.nonzero(X)
    order = np.random.default_rng(0).permutation(len(rows))
    rows = rows[order]
    columns = columns[order]
    half = X[rows, columns] / 2
    zeros = np.argwhere(X == 0)[:n_zeros].T
    data = np.concatenate([half, half, np.zeros(zeros.shape[1])])
    at = np.concatenate([rows, rows, zeros[0]])
    j = np.concatenate([columns, columns, zeros[1]])
    by_row = np.argsort(at, kind="stable")
    indptr = np.r_[0, np.cumsum(np.bincount(at, minlength=len(X)))]
    return sparse.csr_array((data[by_row], j[by_row], indptr), shape=X.shape)


def arrays_of(X):
    names = ("data", "indices", "indptr", "row", "col", "offsets")
    found = {name: getattr(X, name) for name in names if hasattr(X, name)}
    return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("estimator", SPARSE, ids=repr)
def test_sparse_input_of_any_kind_is_read_only(estimator):
    """Every format, and untidy or read-only arrays: the answer of dense input, input as it was."""
    table = holed()
    n_zeros = 5
    stored = sparse.csr_array(table)
    # for these estimators, entries that are not stored are missing, not zero
    if hasattr(estimator, "missing_values"):
        table = stored
        n_zeros = 0

    expected = outputs(fitted(estimator, table), table)
    matrices = {name: stored.asformat(name, copy=True) for name in FORMATS}
    matrices |= {"untidy": untidy(holed(), n_zeros), "matrix": sparse.csr_matrix(stored)}
    matrices |= {"read-only": stored.copy(), "read-only untidy": untidy(holed(), n_zeros)}

    # each matrix is unchanged and gives the same result as dense input
    for name, X in matrices.items():
        for value in arrays_of(X).values():
            value.flags.writeable = "read-only" not in name
        before = {key: value.copy() for key, value in arrays_of(X).items()}
        model = fitted(estimator, X)
        # sums are computed in different orders
        assert_close(outputs(model, X), expected, rtol=1e-6)
        after = arrays_of(X)
        assert set(after) == set(before), name
        for key, value in before.items():
            assert_array_equal(after[key], value, err_msg=f"{name}: {key}")


@each_instance
def test_models_do_not_change_with_the_array_they_were_fitted_on(estimator):
    X = form(estimator, sample())
    y = target(estimator, X)
    given = X.copy()
    labels = None if y is None else y.copy()
    model = fitted(estimator, given, y=labels)
    assert_array_equal(given, X)
    before = outputs(model, X)
    given[:] = 7.0
    if labels is not None:
        labels[:] = labels[0]
    for name, value in outputs(model, X).items():
        assert_array_equal(dense(value), dense(before[name]), err_msg=name)


@instances_with(lambda estimator: is_regressor(estimator) or is_classifier(estimator))
@pytest.mark.parametrize("missing", [None, np.nan], ids=["None", "NaN"])
def test_missing_targets_are_rejected(estimator, missing):
    X = form(estimator, sample())
    y = np.array(target(estimator, X), dtype=object)
    y[3] = missing
    with pytest.raises(ValueError, match="position 3"):
        fitted(estimator, X, y=y)


@instances_with(
    lambda estimator: (
        is_regressor(estimator) and estimator.__sklearn_tags__().target_tags.multi_output
    )
)
def test_missing_targets_of_several_outputs_are_named_by_row(estimator):
    X = form(estimator, sample())
    y = target(estimator, X)
    Y = np.array(np.column_stack([y, y]), dtype=object)
    Y[3, 1] = None
    with pytest.raises(ValueError, match="row 3"):
        fitted(estimator, X, y=Y)


def at_the_limits():
    X = sample()
    X /= X.max()
    return {
        "1e155": X * 1e155,
        "1e-155": X * 1e-155,
        "one of 1e150": np.where(np.arange(X.size).reshape(X.shape) == 7, 1e150, X),
        "mixed": np.where(np.arange(X.size).reshape(X.shape) % 2, 1e150, 1e-150) * X,
        "subnormal": X * 5e-320,
        "one subnormal": np.where(np.arange(X.size).reshape(X.shape) == 7, 5e-324, X),
    }


def takes_kernel_values(estimator):
    return estimator.__sklearn_tags__().input_tags.pairwise


@instances_with(lambda estimator: not takes_kernel_values(estimator))
@pytest.mark.parametrize("kind", at_the_limits())
def test_magnitudes_beyond_the_limits_are_rejected(estimator, kind):
    """One sentence for all estimators."""
    X = form(estimator, at_the_limits()[kind])
    with pytest.raises(ValueError, match="between 1e-100 and 1e100"):
        fitted(estimator, X)


@instances_with(takes_kernel_values)
@pytest.mark.parametrize("kind", sorted(set(at_the_limits()) - {"1e155", "one subnormal"}))
def test_kernel_values_beyond_the_limits_are_rejected(estimator, kind):
    """Of a kernel matrix only the largest entry counts."""
    X = at_the_limits()[kind][:, 1:2] @ np.ones((1, 40))
    with pytest.raises(ValueError, match="between 1e-100 and 1e100"):
        fitted(estimator, X)


@each_instance
@pytest.mark.parametrize("scale", [1e90, 1e-90, 1e8, 1e-8])
@pytest.mark.filterwarnings("ignore")  # a warning is allowed here
def test_magnitudes_within_the_limits_have_a_result(estimator, scale):
    """A clear ValueError, or finite numbers if the numbers for the unscaled data are finite."""
    X = form(estimator, sample() * scale)
    message = model = None
    try:
        model = fitted(estimator, X, y=target(estimator, X))
    except ValueError as error:
        message = str(error)
    if model is None:
        assert len(message) > 20
        return
    unscaled = vars(fitted_to_the_sample(estimator))
    for name, value in outputs(model, X).items():
        assert np.isfinite(dense(value)).all(), name
    for name, value in vars(model).items():
        if not name.endswith("_") or name not in unscaled:
            continue
        if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
            finite = np.isfinite(np.asarray(unscaled[name], dtype=float)).all()
            assert np.isfinite(value).all() or not finite, name


WEIGHTED = [
    one for one in INSTANCES if "sample_weight" in inspect.signature(one.fit).parameters
]
# Reasons why the scale of the weights matters, for each class.
ABSOLUTE = {
    "CoreVectorMachine": "weights multiply C",
    "CoreVectorRanker": "weights multiply C",
    "CoreVectorRegressor": "weights multiply C",
    "KernelAdatronClassifier": "weights multiply C",
    "KernelAdatronRegressor": "weights multiply C",
    "KernelPerceptron": "weights multiply the steps, and so the values of the function",
    "L2SVC": "weights multiply C",
    "L2SVR": "weights multiply C",
    "SparseNMF": "weights multiply the loss, and not the penalty",
    "ProbabilisticLSA": "weights multiply the counts, and not the smoothing",
    "NeuralGas": "weights are numbers of steps of the online rule",
    "SparseGaussianProcessClassifier": "a sample of weight two is two samples",
    "SparseGaussianProcessRegressor": "a sample of weight two is two samples, each with its noise",
    "LaplacianEmbedding": "a sample of weight two is two samples: columns have unit length",
    "KernelCentroidOutlierDetector": "a sample of weight two is two samples, left out together",
}


def fitted_with_weights(estimator, X, weights):
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, target(model, X), sample_weight=weights)


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e6, 1e30])
@pytest.mark.parametrize("estimator", WEIGHTED, ids=repr)
# if the weights are almost zero, possibly no feature is selected
@pytest.mark.filterwarnings("ignore:No features were selected")
def test_common_scale_of_weights_does_not_change_the_result(estimator, scale):
    """Where weights are relative; else a clear ValueError, or finite numbers."""
    X = form(estimator, sample())
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    expected = fitted_with_weights(estimator, X, weights)
    message = model = None
    try:
        model = fitted_with_weights(estimator, X, scale * weights)
    except ValueError as error:
        message = str(error)
    if type(estimator).__name__ not in ABSOLUTE:
        assert message is None
        # rounding changes where the iterations stop
        assert_same(expected, model, X, X, rtol=1e-6)
    elif model is None:
        assert len(message) > 20
    else:
        for name, value in outputs(model, X).items():
            assert np.isfinite(dense(value)).all(), name


NOT_BY_WEIGHT = {
    "KernelPerceptron": "counts samples, as scikit-learn's Perceptron does",
    "SupportFeatureMachine": "weights of samples scale the columns, too; those of classes do not",
}
BALANCED = [
    one
    for one in {type(one): one for one in reversed(WEIGHTED)}.values()
    if "class_weight" in one.get_params() and type(one).__name__ not in NOT_BY_WEIGHT
]


@pytest.mark.parametrize("estimator", BALANCED, ids=repr)
@pytest.mark.parametrize("n_ignored", [0, 7])
def test_balanced_classes_have_equal_sums_of_weights(estimator, n_ignored):
    """Whatever the samples weigh, the classes weigh the same together."""
    X = form(estimator, sample())
    y = target(estimator, X)
    weights = np.random.default_rng(0).uniform(0.1, 1.0, size=len(y)) * np.where(y, 5.0, 1.0)
    weights[:n_ignored] = 0.0
    share = np.bincount(y, weights) / weights.sum()

    plain = clone(estimator).set_params(class_weight=None)
    balanced = clone(estimator).set_params(class_weight="balanced")
    assert_same(
        plain.fit(X, y, sample_weight=weights * (0.5 / share)[y]),
        balanced.fit(X, y, sample_weight=weights),
        X, X, rtol=1e-6,  # rounding changes where the iterations stop
    )  # fmt: skip
