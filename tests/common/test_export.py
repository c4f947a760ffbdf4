"""Models exported to scikit-learn's own classes give the same values as the models."""

import functools
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.compat import set_support_vectors
from skmoderndata.cross_decomposition import (
    KernelPLSRegression,
    PrincipalComponentsRegression,
    RegularizedCCA,
    SparseCCA,
)
from skmoderndata.decomposition import (
    CCIPCA,
    IncrementalSlowFeatureAnalysis,
    MinorComponentAnalysis,
    SlowFeatureAnalysis,
)
from skmoderndata.linear_model import (
    BasisPursuit,
    BridgeRegression,
    GroupLasso,
    GroupLassoClassifier,
    GroupLassoCV,
)
from skmoderndata.neural_network import (
    ELMClassifier,
    ELMRegressor,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
)
from skmoderndata.sparse_coding import SparseRecovery
from skmoderndata.svm import (
    L2SVC,
    L2SVR,
    SVDD,
    CoreVectorMachine,
    CoreVectorOutlierDetector,
    CoreVectorRanker,
    CoreVectorRegressor,
    KernelAdatronClassifier,
    KernelAdatronRegressor,
    SupportFeatureMachine,
)
from tests.common.instances import CLASSES

pytestmark = [
    pytest.mark.oracle,
    # the tables are too small for some methods, but only the export is tested
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
# Largest difference between the models, in units of the spread of the values.
TOLERANCE = 1e-9

NETWORK = {"n_hidden": 12, "random_state": 0}
CENTRES = {"n_centers": 6, "width": "shared", "random_state": 0}
TRANSFORMERS = [
    SlowFeatureAnalysis(),
    SlowFeatureAnalysis(2, degree=2, include_bias=True),
    SlowFeatureAnalysis(2, degree=3, pre_pca=2),
    SlowFeatureAnalysis(2, expansion=RBFSampler(n_components=7, random_state=0)),
    IncrementalSlowFeatureAnalysis(2, random_state=0),
    IncrementalSlowFeatureAnalysis(1, degree=2, random_state=0),
    CCIPCA(2),
    CCIPCA(2, whiten=True),
    MinorComponentAnalysis(2),
]
REGRESSORS = [
    L2SVR(),
    L2SVR(kernel="linear"),
    L2SVR(kernel="poly", degree=2),
    CoreVectorRegressor(random_state=0),
    CoreVectorRegressor(kernel="linear", random_state=0),
    KernelAdatronRegressor(random_state=0),
    KernelPLSRegression(),
    KernelPLSRegression(kernel="linear"),
    PrincipalComponentsRegression(),
    PrincipalComponentsRegression(2, kernel="rbf"),
    ELMRegressor(**NETWORK),
    ELMRegressor(activation="relu", standardize=False, **NETWORK),
    RBFNetworkRegressor(**CENTRES),
    BasisPursuit(),
    SparseRecovery(n_nonzero_coefs=3),
    GroupLasso(alpha=0.01, groups=2),
    GroupLassoCV(alphas=5, cv=2),
    BridgeRegression(alpha=0.01),
    CoreVectorRanker(random_state=0),
    CoreVectorRanker(kernel="linear", random_state=0),
]
SEVERAL_TARGETS = [
    KernelPLSRegression(),
    PrincipalComponentsRegression(2),
    ELMRegressor(activation="sigmoid", **NETWORK),
    RBFNetworkRegressor(**CENTRES),
    BasisPursuit(),
    SparseRecovery(n_nonzero_coefs=3),
    GroupLasso(alpha=0.01),
]
CLASSIFIERS = [
    L2SVC(),
    L2SVC(kernel="linear"),
    L2SVC(kernel="poly", degree=2, break_ties=True),
    L2SVC(decision_function_shape="ovo"),
    CoreVectorMachine(random_state=0),
    CoreVectorMachine(kernel="linear", random_state=0),
    CoreVectorMachine(kernel="sigmoid", gamma=0.01, coef0=0, C=0.1, random_state=0),
    KernelAdatronClassifier(random_state=0),
    ELMClassifier(**NETWORK),
    RBFNetworkClassifier(**CENTRES),
    SupportFeatureMachine(),
]
TWO_CLASSES = [GroupLassoClassifier(alpha=0.01)]
DETECTORS = [
    SVDD(),
    CoreVectorOutlierDetector(random_state=0),
    CoreVectorOutlierDetector(kernel="poly", degree=2, random_state=0),
]
VIEWS = [
    RegularizedCCA(1),
    RegularizedCCA(2, alpha=0.1, view_slices=[(0, 2), (2, 5)]),
    SparseCCA(1),
]
SINGLE = [*TRANSFORMERS, *REGRESSORS, *CLASSIFIERS, *TWO_CLASSES, *DETECTORS]


def is_blunt(model):
    """Whether rows far from the origin look alike: kernel values grow with the offset."""
    kernel = getattr(model, "kernel", "")
    linear = isinstance(model, KernelPLSRegression) and kernel == "linear"
    return linear or kernel in ("poly", "sigmoid")


# Labels of the rows with the codes 0, 1, 2.
LABELS = {
    "integers": np.array([7, -3]),
    "strings": np.array(["yes", "no"]),
    "objects": np.array(["b", "a"], dtype=object),
    "booleans": np.array([False, True]),
    "three integers": np.array([5, 2, 9]),
    "three objects": np.array(["c", "a", "b"], dtype=object),
    "three strings": np.array(["green", "amber", "red"]),
}


def name(model):
    # remove the addresses of functions, which differ between processes
    return re.sub(r"\s|at 0x[0-9a-f]+", "", repr(model))


def rows(n, seed=0, *, offset=0.0, unit=1.0, p=5):
    """Correlated standardised rows with a slow drift, in other units."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).cumsum(axis=0) @ rng.normal(size=(3, p))
    X = (X - X.mean(axis=0)) / X.std(axis=0) + 0.3 * rng.normal(size=(n, p))
    return unit * (X + offset)


def codes_of(X, n_classes):
    """Classes of equal size along the first two columns."""
    values = X[:, :2].sum(axis=1)
    cuts = np.quantile(values, np.linspace(0, 1, n_classes + 1)[1:-1])
    return np.searchsorted(cuts, values)


def target_of(model, X):
    if is_classifier(model):
        return codes_of(X, 2)
    if isinstance(model, CoreVectorRanker):
        return codes_of(X, 3)
    return X[:, 0] - 0.3 * X[:, -1] if hasattr(model, "predict") else None


def fit(model, X, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, y if y is not None else target_of(model, X))


def assert_close(exported, expected):
    assert exported.shape == expected.shape
    spread = float(np.ptp(expected, axis=0).max()) or 1.0
    assert np.abs(exported - expected).max() <= TOLERANCE * spread


def values_of_perceptron(exported, X):
    """The values of a classifier before the logistic function or the softmax."""
    logs = exported.predict_log_proba(X)
    if logs.shape[1] == 2:
        return logs[:, 1] - logs[:, 0]
    return logs - logs.mean(axis=1, keepdims=True)


def assert_same(model, exported, X):
    """Compare all methods that both have, and those that are exported otherwise."""
    compared = set()
    for method in (
        "predict",
        "decision_function",
        "score_samples",
        "predict_proba",
        "transform",
    ):
        if not (hasattr(model, method) and hasattr(exported, method)):
            continue
        compared.add(method)
        expected = getattr(model, method)(X)
        values = getattr(exported, method)(X)
        if method == "predict" and is_classifier(model):
            assert values.dtype == expected.dtype
            assert np.array_equal(values, expected)
        else:
            assert_close(values, expected)

    if isinstance(model, ELMClassifier):
        expected = model.decision_function(X)
        if expected.ndim == 2:
            expected = expected - expected.mean(axis=1, keepdims=True)
        assert_close(values_of_perceptron(exported, X), expected)
    if isinstance(model, PrincipalComponentsRegression) and hasattr(exported, "steps"):
        if exported.steps[0][0] == "pca":
            assert_close(exported[:-1].transform(X), model.transform(X))
    assert compared


@functools.cache
def exported_pair(number):
    """The model number `number` of `SINGLE`, fitted to plain rows, and its export."""
    model = fit(SINGLE[number], rows(60))
    return model, model.to_sklearn()


each_model = pytest.mark.parametrize(
    "number", range(len(SINGLE)), ids=lambda i: name(SINGLE[i])
)


def test_every_exported_class_is_tested():
    exported = {cls for cls in CLASSES if hasattr(cls, "to_sklearn")}
    assert {type(model) for model in [*SINGLE, *VIEWS]} == exported
    assert len(exported) >= 14


@each_model
def test_values_are_equal_on_new_rows(number):
    model, exported = exported_pair(number)
    assert type(exported).__module__.startswith("sklearn.")
    assert exported.n_features_in_ == model.n_features_in_
    assert_same(model, exported, rows(1000, 1))


@each_model
@pytest.mark.parametrize(("offset", "unit"), [(1e4, 1.0), (0.0, 1e-6)], ids=["offset", "unit"])
def test_values_are_equal_in_other_units(number, offset, unit):
    model = SINGLE[number]
    if offset and is_blunt(model):
        pytest.skip("the kernel values hide the differences of rows far from the origin")
    fitted = fit(model, rows(60, offset=offset, unit=unit))
    assert_same(fitted, fitted.to_sklearn(), rows(1000, 1, offset=offset, unit=unit))


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("model", [*CLASSIFIERS, *TWO_CLASSES], ids=name)
def test_labels_of_any_kind(model, labels):
    if len(labels) > 2 and model in TWO_CLASSES:
        pytest.skip("the class is for two classes")
    X = rows(60)
    fitted = fit(model, X, labels[codes_of(X, len(labels))])
    exported = fitted.to_sklearn()
    assert np.array_equal(exported.classes_, fitted.classes_)
    assert_same(fitted, exported, rows(1000, 1))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_three_classes_far_from_the_origin(model):
    if is_blunt(model):
        pytest.skip("the kernel values hide the differences of rows far from the origin")
    X = rows(60, offset=1e4)
    fitted = fit(model, X, codes_of(X, 3))
    assert_same(fitted, fitted.to_sklearn(), rows(1000, 1, offset=1e4))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("model", SEVERAL_TARGETS, ids=name)
def test_several_targets(model, offset):
    X = rows(60, offset=offset)
    fitted = fit(model, X, np.column_stack([X[:, 0] + 3, X[:, 1] * X[:, 2], -X[:, 1]]))
    assert_same(fitted, fitted.to_sklearn(), rows(1000, 1, offset=offset))


@pytest.mark.edge
@pytest.mark.parametrize(
    "model", [m for m in SEVERAL_TARGETS if not isinstance(m, ELMRegressor)], ids=name
)
def test_table_with_one_target(model):
    X = rows(60)
    fitted = fit(model, X, X[:, :1])
    assert_same(fitted, fitted.to_sklearn(), rows(20, 1))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("model", VIEWS, ids=name)
def test_views(model, offset):
    X = rows(60, offset=offset)
    new = rows(1000, 1, offset=offset)
    if model.view_slices is not None:
        fitted = fit(model, X)
        parts = fitted.to_sklearn()
        scores = np.hstack([parts[f"view{v}"].transform(new) for v in (1, 2)])
        assert_close(scores, fitted.transform(new))
        assert_close(parts["predict"].predict(new), fitted.predict(new))
        return
    fitted = fit(model, X[:, :2], X[:, 2:])
    parts = fitted.to_sklearn()
    assert set(parts) == {"view1", "view2", "predict"}
    first, second = fitted.transform(new[:, :2], new[:, 2:])
    assert_close(parts["view1"].transform(new[:, :2]), first)
    assert_close(parts["view2"].transform(new[:, 2:]), second)
    assert_close(parts["predict"].predict(new[:, :2]), fitted.predict(new[:, :2]))


@pytest.mark.parametrize("offset", [3.0, 1e4])
def test_linear_outlier_detector(offset):
    X = rows(60, offset=offset)
    fitted = fit(CoreVectorOutlierDetector(kernel="linear", random_state=0), X)
    assert_same(fitted, fitted.to_sklearn(), rows(1000, 1, offset=offset))


@pytest.mark.edge
def test_three_views_have_no_prediction():
    X = rows(60, p=6)
    views = [X[:, :2], X[:, 2:4], X[:, 4:]]
    fitted = RegularizedCCA(1, alpha=0.1).fit(views)
    parts = fitted.to_sklearn()
    assert list(parts) == ["view1", "view2", "view3"]
    for part, view, scores in zip(parts.values(), views, fitted.transform(views), strict=True):
        assert_close(part.transform(view), scores)


@pytest.mark.edge
@each_model
def test_one_feature(number):
    model = SINGLE[number]
    if isinstance(model, SlowFeatureAnalysis) and model.pre_pca:
        model = clone(model).set_params(pre_pca=1)
    components = {"n_components": 1} if "n_components" in model.get_params() else {}
    components |= {"n_nonzero_coefs": 1} if "n_nonzero_coefs" in model.get_params() else {}
    fitted = fit(clone(model).set_params(**components), rows(60, p=1))
    assert_same(fitted, fitted.to_sklearn(), rows(1000, 1, p=1))


ACCEPTS_SPARSE = [model for model in SINGLE if model.__sklearn_tags__().input_tags.sparse]


@pytest.mark.edge
@pytest.mark.parametrize("model", ACCEPTS_SPARSE, ids=name)
def test_sparse_rows(model):
    X = rows(60)
    X[np.abs(X) < 0.5] = 0.0
    y = target_of(model, X)
    fitted = fit(model, sparse.csr_array(X), y)
    new = rows(200, 1)
    new[np.abs(new) < 0.5] = 0.0
    assert_same(fitted, fitted.to_sklearn(), sparse.csr_array(new))


@pytest.mark.edge
@pytest.mark.parametrize("model", [L2SVC(), CoreVectorMachine(random_state=0)], ids=name)
def test_sparse_rows_of_three_classes(model):
    X = rows(60)
    X[np.abs(X) < 0.5] = 0.0
    fitted = fit(model, sparse.csr_array(X), codes_of(X, 3))
    assert_same(fitted, fitted.to_sklearn(), sparse.csr_array(rows(200, 1)))


@pytest.mark.edge
@pytest.mark.parametrize("offset", [0.0, 1e4])
@each_model
def test_names_of_features(number, offset):
    model = SINGLE[number]
    if offset and is_blunt(model):
        pytest.skip("the kernel values hide the differences of rows far from the origin")
    names = list("abcde")
    X = pd.DataFrame(rows(40, offset=offset), columns=names)
    y = codes_of(X.to_numpy(), 3 if model in CLASSIFIERS else 2)
    y = y if is_classifier(model) else target_of(model, X.to_numpy())
    fitted = fit(model, X, y)
    exported = fitted.to_sklearn()
    assert exported.feature_names_in_.tolist() == names
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns if a step has no names
        assert_same(fitted, exported, X)
    method = "transform" if hasattr(exported, "transform") else "predict"
    with pytest.raises(ValueError, match="feature names"):
        getattr(exported, method)(X[names[::-1]])


@pytest.mark.edge
@pytest.mark.parametrize("model", TRANSFORMERS, ids=name)
def test_output_in_a_data_frame(model):
    fitted = fit(model, rows(60))
    exported = fitted.to_sklearn()
    new = rows(20, 1)
    expected = fitted.transform(new)
    exported.set_output(transform="pandas")
    table = exported.transform(new)
    assert isinstance(table, pd.DataFrame)
    assert_close(table.to_numpy(), expected)
    # the exported model shares no memory with the estimator
    assert isinstance(fitted.transform(new), np.ndarray)


@each_model
def test_pickle_and_clone(number):
    _, exported = exported_pair(number)
    new = rows(20, 1)
    method = "transform" if hasattr(exported, "transform") else "predict"
    again = pickle.loads(pickle.dumps(exported))
    assert np.array_equal(getattr(again, method)(new), getattr(exported, method)(new))
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(exported))
    repr(exported)


@pytest.mark.parametrize(
    "model", [L2SVR(), L2SVR(kernel="linear"), KernelPLSRegression()], ids=name
)
def test_export_shares_no_memory(model):
    fitted = fit(model, rows(60))
    new = rows(20, 1)
    before = fitted.predict(new)
    exported = fitted.to_sklearn()
    for value in vars(exported).values():
        if isinstance(value, np.ndarray) and value.flags.writeable:
            value[...] = 0
    assert np.array_equal(fitted.predict(new), before)


@pytest.mark.edge
def test_class_without_weight():
    X = rows(60)
    y = codes_of(X, 3)
    weights = (y != 1).astype(float)

    # all pairs of classes keep their machines, including pairs with a class that is never
    # predicted
    fitted = L2SVC().fit(X, y, sample_weight=weights)
    assert_same(fitted, fitted.to_sklearn(), rows(200, 1))

    for model in (
        CoreVectorMachine(random_state=0),
        ELMClassifier(**NETWORK),
        SupportFeatureMachine(),
    ):
        fitted = model.fit(X, y, sample_weight=weights)
        with pytest.raises(ValueError, match="only 2 of 3 classes"):
            fitted.to_sklearn()


@pytest.mark.edge
def test_no_component_and_no_support_vector():
    X = rows(30)
    constant = fit(PrincipalComponentsRegression(kernel="linear"), np.ones((30, 5)), X[:, 0])
    assert_same(constant, constant.to_sklearn(), rows(20, 1))
    inside = fit(L2SVR(epsilon=10.0), X)
    assert len(inside.support_) == 0
    assert_same(inside, inside.to_sklearn(), rows(20, 1))


@pytest.mark.edge
def test_single_precision():
    X = rows(60).astype(np.float32)
    for model in (SlowFeatureAnalysis(2, degree=2), L2SVR(), ELMRegressor(**NETWORK)):
        fitted = fit(model, X)
        new = rows(200, 1)
        method = "transform" if hasattr(model, "transform") else "predict"
        expected = getattr(fitted, method)(new)
        error = np.abs(getattr(fitted.to_sklearn(), method)(new) - expected).max()
        assert error <= 1e-5 * np.ptp(expected)


def laplacian_gram(X, Y):
    return np.exp(-np.abs(X[:, None] - Y[None]).sum(axis=2))


REFUSED = [
    (L2SVC(kernel="laplacian"), "do not have the kernel 'laplacian'"),
    (CoreVectorMachine(kernel="laplacian"), "do not have the kernel 'laplacian'"),
    (L2SVR(kernel=laplacian_gram), "do not have the kernel <function"),
    (L2SVR(kernel="poly", degree=2.5), "integer degree"),
    (SVDD(kernel="poly"), "Use kernel='rbf'"),
    (RBFNetworkRegressor(6, width="nearest", random_state=0), "different widths"),
    (RBFNetworkRegressor(basis="linear", **CENTRES), "basis='linear'"),
    (RBFNetworkRegressor(direct_links=True, **CENTRES), "direct link"),
    (ELMRegressor(activation="sin", **NETWORK), "activation='sin'"),
    (ELMRegressor(activation=np.tanh, **NETWORK), "activation=<ufunc"),
    (ELMRegressor(direct_links=True, **NETWORK), "Use direct_links=False"),
    (SlowFeatureAnalysis(expansion=np.square), "FunctionTransformer"),
]


@pytest.mark.edge
@pytest.mark.parametrize(("model", "message"), REFUSED, ids=[name(m) for m, _ in REFUSED])
def test_refuses_what_scikit_learn_does_not_have(model, message):
    X = np.abs(rows(40))
    with pytest.raises(ValueError, match=message):
        fit(model, X).to_sklearn()


@pytest.mark.edge
def test_refuses_a_precomputed_kernel():
    X = rows(40)
    for model in (L2SVR(kernel="precomputed"), KernelPLSRegression(kernel="precomputed")):
        fitted = fit(model, X @ X.T, X[:, 0])
        with pytest.raises(ValueError, match="precomputed kernel"):
            fitted.to_sklearn()


@pytest.mark.edge
@pytest.mark.parametrize(
    "model", [SINGLE[0], *REGRESSORS[:2], CLASSIFIERS[0], VIEWS[0]], ids=name
)
def test_unfitted_model_raises(model):
    with pytest.raises(NotFittedError):
        clone(model).to_sklearn()


def test_wrapped_function_is_exported():
    fitted = fit(SlowFeatureAnalysis(expansion=FunctionTransformer(np.square)), rows(60))
    assert_same(fitted, fitted.to_sklearn(), rows(200, 1))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_private_attributes_of_machines(form):
    """The attributes set in `compat` are the ones that the installed version reads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    Z = rng.normal(size=(6, 3))
    K = np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))
    coef = np.array([[-1.0, -2.0, -0.5, 0.7, 1.8, 1.0]])
    values = K @ coef[0] + 0.25

    # the machines were fitted to different rows
    start = form(rng.normal(size=(4, 3)))
    classifier = SVC(gamma=0.5).fit(start, [0, 1, 0, 1])
    set_support_vectors(classifier, form(Z), [3, 3], coef, np.array([0.25]))
    assert np.allclose(classifier.decision_function(form(X)), values, rtol=0, atol=1e-12)
    assert np.array_equal(classifier.predict(form(X)), values > 0)

    regressor = SVR(gamma=0.5).fit(start, [0.0, 1.0, 2.0, 3.0])
    set_support_vectors(regressor, form(Z), None, coef, np.array([0.25]))
    assert np.allclose(regressor.predict(form(X)), values, rtol=0, atol=1e-12)


def test_support_vectors_are_sorted_by_class():
    X = rows(60)
    machine = fit(CoreVectorMachine(random_state=0), X).to_sklearn()
    first, second = machine.n_support_
    assert first > 0
    assert second > 0
    assert (machine.dual_coef_[0, :first] < 0).all()
    assert (machine.dual_coef_[0, first:] > 0).all()
