"""Weights of entries: 1 is none, 0 is NaN, and w is the term of the loss w times."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skmoderndata._estimator.registry import all_estimators
from skmoderndata.cluster import DiscreteBasis
from skmoderndata.decomposition import ProbabilisticLSA, RobustPCA, SemiNMF, SparseNMF
from skmoderndata.impute import NuclearNormImputer
from tests.oracles import entry_weight as oracle

# small tables with gaps and weights may not converge; the tests of each class cover convergence
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WEIGHTED = [
    cls for cls in all_estimators() if "entry_weight" in inspect.signature(cls.fit).parameters
]


def bits(rng, shape=(24, 9)):
    """Unions of three sets of features, and more than half of the bits drawn anew."""
    Z = rng.uniform(size=(shape[0], 3)) < 0.5
    U = rng.uniform(size=(3, shape[1])) < 0.4
    clean = (Z.astype(int) @ U.astype(int)) > 0
    noisy = rng.uniform(size=shape) < 0.6
    return np.where(noisy, rng.uniform(size=shape) < 0.5, clean).astype(float)


def counts(rng, shape=(24, 9)):
    """Words of mixtures of two topics."""
    mixtures = rng.dirichlet([0.5, 0.5], size=shape[0])
    topics = rng.dirichlet(np.full(shape[1], 0.5), size=2)
    return rng.poisson(30 * mixtures @ topics).astype(float)


def value(model):
    """Objective that a model reports."""
    if isinstance(model, ProbabilisticLSA):
        return -model.log_likelihood_
    if isinstance(model, DiscreteBasis):
        return model.costs_.min()
    return model.objective_


# Classes for which entries that a sparse table does not store are missing anyway.
SPARSE = (NuclearNormImputer,)


def real_table(rng, shape=(24, 9)):
    """Rank two and noise, of any sign."""
    n, p = shape
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, p)) + 0.2 * rng.normal(size=shape)


def mixtures(rng, shape=(24, 9)):
    """Non-negative mixtures of two profiles of any sign, and noise."""
    n, p = shape
    return rng.gamma(0.5, size=(n, 2)) @ rng.normal(size=(2, p)) + 0.2 * rng.normal(size=shape)


def positive_table(rng, shape=(24, 9)):
    """Two parts and noise, all of it positive."""
    n, p = shape
    return rng.gamma(1.0, size=(n, 2)) @ rng.gamma(1.0, size=(2, p)) + rng.uniform(size=shape)


PLAIN = {"alpha_scale": "absolute", "center": False, "scale": False, "debias": False}

# An estimator whose settings determine the result, a function that draws its table, and the
# weighted objective, for each case.
CASES = {
    "SparseNMF": (
        SparseNMF(2, alpha=0.3, ridge=0.5, form="plain", tol=1e-6, max_iter=5000),
        positive_table,
        oracle.sparse_nmf,
    ),
    "SparseNMF bpp": (
        SparseNMF(2, solver="bpp", form="plain", ridge=0.2, tol=1e-6, max_iter=200),
        positive_table,
        oracle.sparse_nmf,
    ),
    "SemiNMF": (SemiNMF(2, ridge=0.2, tol=1e-6, max_iter=1000), mixtures, oracle.semi_nmf),
    "SemiNMF kmeans": (
        SemiNMF(2, ridge=0.2, init="kmeans", random_state=0, tol=1e-6, max_iter=1000),
        mixtures,
        oracle.semi_nmf,
    ),
    "NuclearNormImputer": (
        NuclearNormImputer(alpha=3.0, **PLAIN, tol=1e-9, max_iter=3000),
        real_table,
        oracle.nuclear_norm,
    ),
    "NuclearNormImputer cvxpy": (
        NuclearNormImputer(alpha=5.0, **PLAIN, solver="cvxpy"),
        real_table,
        oracle.nuclear_norm,
    ),
    "RobustPCA pcp": (
        RobustPCA(algorithm="pcp", tol=1e-8, max_iter=20_000),
        real_table,
        oracle.pursuit,
    ),
    "RobustPCA stable": (
        RobustPCA(algorithm="stable", noise_std=0.2, polish=False, tol=1e-8, max_iter=20_000),
        real_table,
        oracle.stable_pursuit,
    ),
    "RobustPCA cvxpy": (
        RobustPCA(algorithm="pcp", solver="cvxpy"),
        real_table,
        oracle.pursuit,
    ),
    "ProbabilisticLSA": (
        ProbabilisticLSA(2, random_state=0, tol=1e-9, max_iter=5000),
        counts,
        oracle.probabilistic_lsa,
    ),
    "DiscreteBasis": (DiscreteBasis(3, penalty=1.5), bits, oracle.discrete_basis),
    # the results of these classes are not minima of the objective
    "RobustPCA": (RobustPCA(tol=1e-4), real_table, None),
    "RobustPCA polished": (RobustPCA(noise_std=0.2, center=True, tol=1e-4), real_table, None),
    "NuclearNormImputer auto": (NuclearNormImputer(max_iter=100, tol=1e-3), real_table, None),
    "NuclearNormImputer rank": (NuclearNormImputer(2, alpha=0.0), real_table, None),
}
each_case = pytest.mark.parametrize("case", CASES)


def drawn(case, seed):
    """Estimator, table and integer weights of a case."""
    estimator, table, _ = CASES[case]
    rng = np.random.default_rng(seed)
    X = table(rng)
    return clone(estimator), X, rng.integers(1, 5, size=X.shape)


def state(model):
    """All fitted attributes, as bytes of arrays and numbers."""
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return {name: pickle.dumps(value) for name, value in sorted(fitted.items())}


def test_every_class_has_a_case():
    assert {type(estimator) for estimator, _, _ in CASES.values()} == set(WEIGHTED)


@pytest.mark.invariance
@each_case
def test_weights_of_one_equal_no_weights(case, seed):
    estimator, X, _ = drawn(case, seed)
    plain = clone(estimator).fit(X)
    weighted = clone(estimator).fit(X, entry_weight=np.ones(X.shape, dtype=int))
    assert state(weighted) == state(plain)


@pytest.mark.invariance
@pytest.mark.parametrize("others", ["one", "integer"])
@each_case
def test_weight_zero_is_nan(case, others, seed):
    estimator, X, weights = drawn(case, seed)
    if others == "one":
        weights[:] = 1
    hidden = np.random.default_rng(seed + 1).uniform(size=X.shape) < 0.2
    gaps = np.where(hidden, np.nan, X)
    with_nan = clone(estimator).fit(gaps, entry_weight=None if others == "one" else weights)
    weights[hidden] = 0

    # values in cells of weight zero are ignored
    X[hidden] = X.max() if X.min() >= 0 else 1e3
    with_zero = clone(estimator).fit(X, entry_weight=weights)
    assert state(with_zero) == state(with_nan)

    both = clone(estimator).fit(gaps, entry_weight=weights)
    assert state(both) == state(with_nan)


@pytest.mark.oracle
@each_case
def test_an_integer_weight_repeats_the_term(case, seed):
    estimator, X, weights = drawn(case, seed)
    if case == "SparseNMF bpp":  # this case needs more passes
        estimator.set_params(max_iter=2000)
    if CASES[case][2] is None:
        pytest.skip("does not minimise its objective")
    weights[1, 2] = 0
    model = estimator.fit(X, entry_weight=weights)
    repeated = CASES[case][2](model, X, weights)
    assert_allclose(value(model), repeated, rtol=1e-6)

    # the result minimises the weighted objective, not the unweighted one
    unweighted = clone(estimator).fit(X)
    assert repeated < CASES[case][2](unweighted, X, weights) * (1 - 1e-4)


@pytest.mark.invariance
@each_case
def test_fit_transform_is_fit_and_transform(case, seed):
    estimator, X, weights = drawn(case, seed)
    if not hasattr(estimator, "transform"):
        pytest.skip("has no transform")
    out = clone(estimator).fit_transform(X, entry_weight=weights)
    model = estimator.fit(X, entry_weight=weights)
    if "entry_weight" in inspect.signature(model.transform).parameters:
        assert_array_equal(out, model.transform(X, entry_weight=weights))
    else:
        assert_array_equal(out, model.transform(X))


@pytest.mark.invariance
@each_case
def test_data_and_weights_of_the_caller_do_not_change(case, seed):
    estimator, X, weights = drawn(case, seed)
    weights = weights.astype(float)
    weights[2, 3] = 0
    before = X.copy(), weights.copy()
    X.flags.writeable = weights.flags.writeable = False
    estimator.fit(X, entry_weight=weights)
    assert_array_equal(X, before[0])
    assert_array_equal(weights, before[1])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights[:-1], r"entry_weight of shape \(\d+, \d+\), and X has shape"),
        (lambda weights: -weights, "entry_weight with a least weight of -4.* at least 0"),
        (lambda weights: weights * np.nan, "NaN or infinity: give weight 0"),
        (lambda weights: weights * np.inf, "NaN or infinity: give weight 0"),
        (lambda weights: 0 * weights, "entry_weight of zeros only"),
        (lambda weights: weights * 1e200, "magnitudes must be between 1e-100 and 1e100"),
        (lambda weights: weights[0], "Expected 2D array"),
    ],
)
@each_case
def test_wrong_weights_are_rejected(case, change, message, seed):
    estimator, X, weights = drawn(case, 0)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, entry_weight=change(weights.astype(float)))
    assert not hasattr(estimator, "components_")


@pytest.mark.edge
@each_case
def test_sparse_tables_are_rejected_with_a_remedy(case, seed):
    estimator, X, weights = drawn(case, seed)
    if not estimator.__sklearn_tags__().input_tags.sparse or isinstance(estimator, SPARSE):
        pytest.skip("takes no sparse table, or its weights, too")
    with pytest.raises(ValueError, match=r"X is sparse: pass X\.toarray\(\)"):
        estimator.fit(sparse.csr_array(X), entry_weight=weights)
    with pytest.raises(ValueError, match=r"pass entry_weight\.toarray\(\)"):
        estimator.fit(X, entry_weight=sparse.csr_array(weights))


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:NuclearNormImputer drops features")
@each_case
def test_rows_and_columns_of_weight_zero_are_empty_ones(case, seed):
    estimator, X, weights = drawn(case, seed)
    weights[3] = 0
    weights[:, 4] = 0
    gaps = X.copy()
    gaps[3] = np.nan
    gaps[:, 4] = np.nan
    weighted = clone(estimator).fit(X, entry_weight=weights)
    assert state(weighted) == state(clone(estimator).fit(gaps, entry_weight=weights))


@pytest.mark.invariance
@each_case
def test_metadata_is_routed_through_a_pipeline(case, seed):
    estimator, X, weights = drawn(case, seed)
    direct = clone(estimator).fit(X, entry_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        step = clone(estimator).set_fit_request(entry_weight=True)
        last = make_pipeline(FunctionTransformer(), step).fit(X, entry_weight=weights)
        assert state(last[-1]) == state(direct)

        if hasattr(estimator, "transform"):
            y = np.arange(len(X)) % 2
            inner = make_pipeline(clone(step), LogisticRegression())
            inner.fit(X, y, entry_weight=weights)
            assert state(inner[0]) == state(direct)
