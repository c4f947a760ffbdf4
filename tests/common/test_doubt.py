"""`doubt_` of the top-level estimators: the reason to doubt a fit, with a warning, or None.

Each class has a table whose answer is sound, and a table, with settings, whose answer is not.
"""

import itertools
import pickle
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, optimize, stats
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skmoderndata as sk
from skmoderndata._estimator.doubt import EVIDENCE, record_doubt
from skmoderndata._solvers.boolean_data.multi_assignment import (
    Statistics,
    table_log_likelihood,
    undecided_bits,
)
from skmoderndata._solvers.kernel.canonical import centre_kernel, gain, penalty
from skmoderndata._solvers.lowrank.residual_shape import residual_shape
from skmoderndata._solvers.margins.splicing import (
    RidgeLogistic,
    log_separating_sets,
    loss_without,
)
from skmoderndata.cross_decomposition._kernel_base import ReducedView, estimated_gains
from skmoderndata.datasets import make_sparse_classes
from skmoderndata.exceptions import DoubtfulResultWarning

RNG = np.random.default_rng(0)


class Case(NamedTuple):
    """A sound and a doubtful fit of a class, and words of its reason and its remedy."""

    sound: Any
    tables: tuple  # arguments of fit
    doubtful: Any
    poor_tables: tuple
    reason: str
    remedy: str


def broken(fraction):
    X = 5 * RNG.normal(size=(100, 2)) @ RNG.normal(size=(2, 25)) + RNG.normal(size=(100, 25))
    wrong = RNG.uniform(size=X.shape) < fraction
    return np.where(wrong, X + RNG.choice([-25.0, 25.0], X.shape), X)


def roles(n, noise, rng=RNG):
    sources = np.array([[1, 1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]], bool)
    clean = (rng.uniform(size=(n, 2)) < 0.5) @ sources
    return clean ^ (rng.uniform(size=clean.shape) < noise)


def rule(n, p):
    X = RNG.normal(size=(n, p))
    return X, X[:, 0] - X[:, 1] > 0


def parts():
    return RNG.gamma(1, size=(60, 3)) @ (
        RNG.gamma(1, size=(3, 12)) * np.kron(np.eye(3), [1] * 4)
    )


def signals(n, s):
    D = RNG.normal(size=(12, 8))
    codes = np.where(
        RNG.uniform(size=(n, 12)).argsort(axis=1) < s, RNG.normal(size=(n, 12)), 0
    )
    return codes @ (D / np.linalg.norm(D, axis=1, keepdims=True))


def views(n):
    X = RNG.normal(size=(n, 1))
    return X, np.sin(X) + 0.1 * RNG.normal(size=(n, 1))


def series(n, p):
    steps = RNG.normal(size=(n, p))
    steps[:, 0] = np.sin(np.arange(n) / 20)
    return steps @ RNG.normal(size=(p, p))


SERIES = series(500, 4)
SIGNALS = signals(500, 1)
CASES = {
    "RobustPCA": Case(
        sk.RobustPCA(),
        (broken(0.05),),
        sk.RobustPCA(),
        (broken(0.45),),
        "long tails",
        "add rows",
    ),
    "MultiAssignmentClustering": Case(
        sk.MultiAssignmentClustering(2, random_state=0),
        (roles(200, 0.05),),
        sk.MultiAssignmentClustering(4, random_state=0),
        (roles(40, 0.3),),
        "two likeliest of 3 starts",
        "increase n_init",
    ),
    "SupportFeatureMachine": Case(
        sk.SupportFeatureMachine(),
        rule(200, 20),
        sk.SupportFeatureMachine(),
        (RNG.normal(size=(30, 300)), np.arange(30) % 2),
        "without any relation",
        "KnockoffSelector",
    ),
    "SparseNMF": Case(
        sk.SparseNMF(3, penalty=None),
        (parts(),),
        sk.SparseNMF(3, alpha=1e3),
        (parts(),),
        "components are zero",
        "penalty=None",
    ),
    "KSVD": Case(
        sk.KSVD(12, n_nonzero_coefs=1, random_state=0),
        (SIGNALS,),
        sk.KSVD(12, n_nonzero_coefs=4, random_state=0),
        (RNG.normal(size=(100, 8)),),
        "more unknowns",
        "Decrease n_nonzero_coefs",
    ),
    "KernelCCA": Case(
        sk.KernelCCA(1),
        views(200),
        sk.KernelCCA(1),
        (RNG.normal(size=(30, 4)), RNG.normal(size=(30, 4))),
        "unrelated views",
        "increase alpha",
    ),
    "SlowFeatureAnalysis": Case(
        sk.SlowFeatureAnalysis(1),
        (SERIES,),
        sk.SlowFeatureAnalysis(1, degree=3),
        (SERIES[:100],),
        "steps for 34 directions",
        "more rows",
    ),
    "CoreVectorMachine": Case(
        sk.CoreVectorMachine(random_state=0),
        rule(200, 3),
        sk.CoreVectorMachine(max_core=3, random_state=0),
        rule(3000, 3),
        "duality gap",
        "max_core",
    ),
}
BLOCKS = [name for name in CASES if getattr(sk, name)._card.fits_blocks]


def quiet_fit(model, tables):
    """Fit without warnings of any doubt."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulResultWarning)
        return model.fit(*tables)


def doubtful_fit(model, tables):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*tables)


@pytest.mark.edge
@pytest.mark.parametrize("name", CASES)
def test_a_sound_fit_has_no_doubt(name):
    case = CASES[name]
    assert quiet_fit(clone(case.sound), case.tables).doubt_ is None


@pytest.mark.edge
@pytest.mark.parametrize("name", CASES)
def test_a_doubtful_fit_warns_once_with_reason_and_remedy(name):
    case = CASES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(case.doubtful).fit(*case.poor_tables)
    (warning,) = [w for w in caught if w.category is DoubtfulResultWarning]
    assert warning.filename == __file__
    assert str(warning.message) == f"The result of {name} is doubtful: {model.doubt_}"
    assert case.reason in model.doubt_
    assert case.remedy in model.doubt_


@pytest.mark.edge
@pytest.mark.parametrize("name", CASES)
def test_a_sound_refit_removes_the_doubt(name):
    case = CASES[name]
    model = doubtful_fit(clone(case.doubtful), case.poor_tables)
    assert model.doubt_ is not None
    model.set_params(**case.sound.get_params())
    assert quiet_fit(model, case.tables).doubt_ is None


@pytest.mark.edge
@pytest.mark.parametrize("name", CASES)
def test_pickles_keep_the_doubt_and_clones_do_not(name):
    case = CASES[name]
    model = doubtful_fit(clone(case.doubtful), case.poor_tables)
    assert pickle.loads(pickle.dumps(model)).doubt_ == model.doubt_
    assert not hasattr(clone(model), "doubt_")


@pytest.mark.edge
@pytest.mark.parametrize("name", BLOCKS)
def test_a_fit_of_blocks_has_the_attribute(name):
    da = pytest.importorskip("dask.array")
    case = CASES[name]
    blocks = [da.from_array(np.asarray(t), chunks=(50, *np.shape(t)[1:])) for t in case.tables]
    model = clone(case.sound)
    if name == "RobustPCA":
        blocks = [da.from_array(np.tile(case.tables[0], (3, 1)), chunks=(100, 25))]
    assert quiet_fit(model, blocks).doubt_ is None


@pytest.mark.edge
def test_the_warning_names_the_caller_of_a_pipeline():
    case = CASES["KSVD"]
    model = make_pipeline(FunctionTransformer(), clone(case.doubtful))
    with pytest.warns(DoubtfulResultWarning) as caught:
        model.fit(*case.poor_tables)
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.edge
def test_several_reasons_give_one_warning():
    class Model:
        doubt_ = ""

    model = Model()
    with pytest.warns(
        DoubtfulResultWarning, match=r"Model is doubtful: One\. Two\.$"
    ) as caught:
        record_doubt(model, "One.", None, "Two.")
    assert len(caught) == 1
    assert model.doubt_ == "One. Two."


@pytest.mark.edge
def test_starts_with_equal_objectives_and_different_components_are_a_doubt():
    model = sk.SparseNMF(2, penalty=None, n_init=3, random_state=0)
    model.fit(RNG.uniform(0.5, 1, size=(30, 2)) @ RNG.uniform(0.5, 1, size=(2, 8)))
    V = model.components_.T
    turned = V @ [[0.2, 1.0], [1.0, 0.1]]
    same = 1 + EVIDENCE.same_objective / 2
    assert "different components" in model._doubt_of_starts(
        [(1.0, np.eye(8, 2)), (same, turned)]
    )
    assert model._doubt_of_starts([(1.0, V), (same, V)]) is None
    assert model._doubt_of_starts([(1.0, V), (2.0, turned)]) is None


# ---- the figures behind the reasons ------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("noise", ["mixture", "flip"])
def test_undecided_bits_match_the_likelihoods_with_each_bit_changed(noise):
    X = roles(30, 0.2)
    model = sk.MultiAssignmentClustering(2, noise=noise, n_init=1, random_state=0).fit(X)
    fitted = model._model()
    statistics = Statistics(model._ones, model._zeros, 0.0)
    probability = undecided_bits(fitted, statistics)
    assert probability.sum() > 0.01  # the table has bits that are not determined

    at_fit = table_log_likelihood(fitted, statistics)
    for bit in np.ndindex(*probability.shape):
        beta = fitted.beta.copy()
        beta[bit] = 1 - beta[bit]
        changed = table_log_likelihood(fitted._replace(beta=beta), statistics)
        assert_allclose(probability[bit], expit(changed - at_fit), atol=1e-9)


@pytest.mark.edge
def test_undecided_bits_are_a_doubt_of_a_single_start():
    X = roles(24, 0.25, np.random.default_rng(5))
    model = sk.MultiAssignmentClustering(3, n_init=1, random_state=0)
    with pytest.warns(DoubtfulResultWarning, match=r"Of the 30 bits of the sources, about 2"):
        model.fit(X)


@pytest.mark.oracle
def test_residual_shape_ignores_missing_cells():
    X = RNG.normal(size=(400, 30))
    shape = residual_shape(X, 2 * X)
    assert_allclose(shape.unexplained, 0.5, atol=0.01)
    assert_allclose(shape.tail, stats.norm.isf(0.05) / stats.norm.isf(0.25), rtol=0.02)

    gaps = np.where(RNG.uniform(size=X.shape) < 0.3, np.nan, X)
    assert_allclose(residual_shape(gaps, 2 * gaps), shape, rtol=0.05)
    assert residual_shape(0 * X, X) == (0, 0)


@pytest.mark.oracle
def test_estimated_losses_without_a_feature_are_near_the_losses_of_refits():
    X, y = rule(200, 4)
    side = np.where(y ^ (RNG.uniform(size=200) < 0.1), 1.0, -1.0)
    cost = np.ones(200)
    problem = RidgeLogistic(side[:, None] * X, side, cost, np.ones(4, bool), intercept=True)
    subset = problem.fit(range(4))
    drops = loss_without(problem, subset)
    others = [[k for k in range(4) if k != j] for j in range(4)]
    exact = [problem.fit(features).loss - subset.loss for features in others]
    assert_allclose(drops[2:], exact[2:], rtol=0.1, atol=0.05)
    assert min(drops[:2]) > 5 > max(drops[2:])


@pytest.mark.oracle
def test_number_of_separating_sets_matches_random_labels():
    """Two columns and an intercept, six points, and 21 pairs of seven columns."""
    n = 6
    labels = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    X = np.column_stack([RNG.normal(size=(n, 2)), np.ones(n)])
    separable = 0
    for side in labels:
        rows = -side[:, None] * X
        found = optimize.linprog(np.zeros(3), rows, -np.ones(n), bounds=(None, None))
        separable += found.status == 0
    expected = np.exp(log_separating_sets(n, 7, 2, intercept=True))
    assert_allclose(expected, 21 * separable / 2**n, rtol=1e-10)


@pytest.mark.recovery
def test_features_that_separate_the_classes_raise_no_doubt(seed):
    """Few sets of five random columns separate a hundred samples."""
    X, y, coef = make_sparse_classes(100, 1000, n_informative=5, random_state=seed)
    machine = sk.SupportFeatureMachine().fit(X, y)
    assert_array_equal(machine.get_support(), coef != 0)
    assert machine.doubt_ is None


@pytest.mark.oracle
def test_estimated_gains_match_the_eigenvalues():
    X = RNG.normal(size=(1200, 2))
    K = rbf_kernel(X)
    means = centre_kernel(K, None)
    pen = penalty(0.1, "shrinkage")
    view = ReducedView(K, means, 1.0, pen, X, 0.0, None, None)
    exact = gain(np.maximum(linalg.eigvalsh(K), 0), 1200.0, pen)
    estimate = estimated_gains(view)
    assert_allclose((estimate**2).sum(), (exact**2).sum(), rtol=0.1)
    assert_allclose(estimate.max(), exact.max(), rtol=0.02)


@pytest.mark.oracle
@pytest.mark.parametrize("n_directions", [10, 40])
def test_white_noise_is_never_slower_than_its_edge_by_much(n_directions):
    sfa = sk.SlowFeatureAnalysis(1).fit(RNG.normal(size=(800, n_directions)))
    ratio = n_directions / 799
    edge = 2 - 2 * np.sqrt(ratio * (2 - ratio))
    assert_allclose(sfa.delta_values_[0], edge, rtol=0.15)
