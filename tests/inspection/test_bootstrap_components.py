"""Evidence that bootstrap_components matches refits and reports their spread."""

import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import CCA
from sklearn.datasets import load_linnerud
from sklearn.decomposition import NMF, PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata._estimator.refits import (
    bootstrap,
    draw_rows,
    match,
    matched,
    quantiles,
    subspace_cosines,
)
from skmoderndata._solvers.common.linalg import unit_rows
from skmoderndata._solvers.factors.support_refit import refit_on_support
from skmoderndata.cluster import MultiAssignmentClustering
from skmoderndata.cross_decomposition import (
    CanonicalLoadingsDisplay,
    KernelCCA,
    RegularizedCCA,
    SparseCCA,
)
from skmoderndata.decomposition import (
    KSVD,
    FeatureSignDictionaryLearning,
    RobustPCA,
    SemiNMF,
    SlowFeatureAnalysis,
    SparseNMF,
)
from skmoderndata.exceptions import DoubtfulResultWarning
from skmoderndata.inspection import ComponentsDisplay, bootstrap_components


def factors(seed, n=80, p=6, noise=0.1):
    """Two clear components with standard deviations 3 and 1.5."""
    rng = np.random.default_rng(seed)
    components = np.linalg.qr(rng.normal(size=(p, 2)))[0].T
    return rng.normal(size=(n, 2)) * (3, 1.5) @ components + noise * rng.normal(size=(n, p))


def parts(seed, n=80):
    """Non-negative table of two overlapping parts."""
    rng = np.random.default_rng(seed)
    components = np.array([[1.0, 2, 1, 0, 0, 0], [0, 0, 1, 1, 2, 1]])
    codes = rng.gamma(2, size=(n, 2)) * (rng.uniform(size=(n, 2)) < 0.7)
    return codes @ components + 0.05 * rng.uniform(size=(n, 6))


def slow_series(seed, n=400):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n, 3))
    for t in range(1, n):
        noise[t] += (0.95, 0.6, 0.0) * noise[t - 1]
    return noise @ rng.normal(size=(3, 3))


def bits(seed, n=60):
    rng = np.random.default_rng(seed)
    roles = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], dtype=bool)
    X = (rng.uniform(size=(n, 2)) < 0.5) @ roles
    return X ^ (rng.uniform(size=X.shape) < 0.05)


# ---- matching ---------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("free_sign", [True, False])
def test_match_equals_the_best_of_all_permutations(seed, free_sign):
    similarity = np.random.default_rng(seed).normal(size=(4, 5))
    index, signs = match(similarity, free_sign=free_sign)
    strength = np.abs(similarity) if free_sign else similarity
    best = max(
        permutations(range(5), 4), key=lambda order: sum(strength[range(4), list(order)])
    )
    assert_array_equal(index, best)
    expected = np.sign(similarity[range(4), index]) if free_sign else np.ones(4)
    assert_array_equal(signs, expected)


@pytest.mark.invariance
def test_order_signs_and_norms_of_a_refit_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    reference = unit_rows(rng.normal(size=(3, 7)))
    refit = matched(reference, -reference[[2, 0, 1]])
    assert_allclose(refit.values, reference)
    assert_allclose(refit.cosines, 1.0)
    scaled = matched(reference, 5 * reference[::-1], free_sign=False)
    assert_allclose(scaled.cosines, 1.0)


@pytest.mark.edge
def test_a_lost_component_has_the_cosine_zero():
    reference = np.eye(3, 5)
    refit = matched(reference, reference[[2, 0]])
    assert_array_equal(refit.cosines, [1, 0, 1])
    assert np.isnan(refit.values[1]).all()
    assert_array_equal(refit.subspace, [1, 0, 1])
    empty = matched(reference, np.vstack([reference[:2], np.zeros(5)]))
    assert_array_equal(empty.cosines, [1, 1, 0])

    # if there are more components than in the reference, the best ones are used
    more = matched(reference[:1], np.eye(5)[::-1])
    assert_array_equal(more.cosines, [1])


@pytest.mark.edge
def test_a_component_and_its_negative_differ_if_the_sign_is_not_free():
    refit = matched(np.eye(2, 4), -np.eye(2, 4), free_sign=False)
    assert_array_equal(refit.cosines, [0, 0])
    assert_array_equal(refit.subspace, [1, 1])


@pytest.mark.oracle
def test_subspace_cosines_are_cosines_of_projections(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 3, 8))
    projected = [B.T @ np.linalg.lstsq(B.T, a, rcond=None)[0] for a in A]
    expected = np.linalg.norm(projected, axis=1) / np.linalg.norm(A, axis=1)
    assert_allclose(subspace_cosines(A, B), expected)
    # a repeated vector does not change the span
    assert_allclose(subspace_cosines(A, np.vstack([B, B[:1]])), expected)


# ---- rows -------------------------------------------------------------------------------------


@pytest.mark.invariance
@pytest.mark.parametrize("block_length", [1, 4, 7])
def test_blocks_are_consecutive_rows(seed, block_length):
    rows, blocks = draw_rows(30, block_length, np.random.RandomState(seed))
    assert len(rows) == len(blocks) == 30
    assert rows.min() >= 0
    assert rows.max() < 30
    inside = np.diff(blocks) == 0
    assert (np.diff(rows)[inside] == 1).all()
    assert np.bincount(blocks)[:-1].tolist() == [block_length] * (len(set(blocks)) - 1)


@pytest.mark.oracle
def test_single_rows_are_drawn_as_by_randint():
    rows, _ = draw_rows(20, 1, np.random.RandomState(3))
    assert_array_equal(rows, np.random.RandomState(3).randint(20, size=20))


@pytest.mark.recovery
def test_every_row_of_a_series_is_drawn():
    rng = np.random.RandomState(0)
    count = sum(np.bincount(draw_rows(12, 4, rng)[0], minlength=12) for _ in range(200))
    assert (count > 0).all()


class Recorder(BaseEstimator):
    """Estimator that records the rows and sequences of each fit."""

    calls = []

    def fit(self, X, y=None, *, sequence_ids=None):
        self.calls.append((X[:, 0], sequence_ids))
        self.components_ = np.ones((1, 1))
        return self


@pytest.mark.invariance
def test_each_block_is_a_sequence_of_its_own():
    Recorder.calls.clear()
    X = np.arange(20.0).reshape(-1, 1)
    result = bootstrap_components(Recorder(), X, n_bootstraps=3, block_length=5)
    assert result.block_length == 5
    (_, none), *samples = Recorder.calls
    assert none is None
    for rows, ids in samples:
        inside = np.diff(ids) == 0
        assert inside.sum() == 16
        assert (np.diff(rows)[inside] == 1).all()


@pytest.mark.oracle
def test_default_length_of_blocks_follows_the_autocorrelation():
    X = slow_series(0, n=2000)
    result = bootstrap_components(SlowFeatureAnalysis(1), X, n_bootstraps=2, random_state=0)
    y = SlowFeatureAnalysis(1).fit_transform(X)[:, 0]
    rho = np.sum(y[1:] * y[:-1]) / np.sum(y**2)
    assert result.block_length == np.ceil(
        (6**0.5 * rho / (1 - rho**2)) ** (2 / 3) * 2000 ** (1 / 3)
    )
    # blocks contain at most a fifth of the rows
    slow = np.sin(np.linspace(0, 6, 200))[:, None] * [1.0, 2.0]
    slow += 1e-3 * np.random.default_rng(0).normal(size=slow.shape)
    short = bootstrap_components(SlowFeatureAnalysis(1), slow, n_bootstraps=2)
    assert short.block_length == 40
    assert bootstrap_components(PCA(1), X, n_bootstraps=2).block_length == 1


# ---- results ----------------------------------------------------------------------------------


@pytest.mark.oracle
def test_quantiles_and_stability_equal_refits_by_hand(seed):
    X = factors(seed)
    result = bootstrap_components(PCA(2), X, n_bootstraps=5, random_state=seed)
    reference = PCA(2).fit(X).components_
    values = []
    for one in np.random.RandomState(seed).randint(2**31 - 1, size=5):
        rows = np.random.RandomState(one).randint(80, size=80)
        refit = PCA(2).fit(X[rows]).components_
        # the two components are clearly separated, so their order does not change
        values.append(refit * np.sign((refit * reference).sum(axis=1))[:, None])
    ends = np.quantile(values, [0.025, 0.975], axis=0, method="weibull")
    assert_allclose([result.low, result.high], ends)
    assert_allclose(result.components, reference)
    cosines = (np.array(values) * reference).sum(axis=2)
    assert_allclose(result.stability, cosines.mean(axis=0))


@pytest.mark.oracle
def test_another_refit_lies_between_the_quantiles_at_the_level():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(60, 20_000))
    for method, expected in (("weibull", 0.95), ("linear", 0.919)):
        low, high = quantiles(draws, 0.95, method=method)
        other = rng.normal(size=20_000)
        # the standard error is .002
        assert np.mean((low <= other) & (other <= high)) == pytest.approx(expected, abs=0.01)


# Ends of the intervals from five refits by CanonicalLoadingsDisplay, computed before it shared the
# bootstrap.
LOWER = [0.7627728647, 0.7505949697, 0.3608351004, -0.9074164439, -0.9958717623, -0.5887886056]
UPPER = [0.965426581, 0.9789433778, 0.7218625611, -0.3253335525, -0.6570673906, 0.4818568838]


@pytest.mark.oracle
def test_loadings_equal_stored_values():
    X, Y = load_linnerud(return_X_y=True)
    cca = RegularizedCCA(2, alpha=0.1)
    result = bootstrap_components(cca, X, Y, n_bootstraps=6, random_state=0)
    assert result.quantity == "loadings"
    assert_allclose(result.low[0], LOWER, rtol=1e-6)  # versions of LAPACK may differ
    assert_allclose(result.high[0], UPPER, rtol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "estimator",
    [
        RegularizedCCA(2, alpha="auto"),
        SparseCCA(1, l1_bound=0.7, random_state=0),
        KernelCCA(1, alpha=0.5),
        CCA(1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_loadings_equal_the_display(estimator):
    pytest.importorskip("matplotlib.pyplot").close("all")
    X, Y = load_linnerud(return_X_y=True)
    settings = {"n_bootstraps": 4, "random_state": 1}
    result = bootstrap_components(estimator, X, Y, **settings)
    display = CanonicalLoadingsDisplay.from_estimator(estimator, X, Y, **settings)
    for ours, theirs in (
        (result.components, display.loadings),
        (result.low, display.lower),
        (result.high, display.upper),
    ):
        assert_allclose(ours.T, np.vstack(theirs))
    assert (result.stability <= result.subspace_stability + 1e-9).all()


@pytest.mark.oracle
def test_inclusion_is_the_fraction_of_refits_in_which_a_right_belongs_to_a_role(seed):
    X = bits(seed)
    mac = MultiAssignmentClustering(2, random_state=0)
    result = bootstrap_components(mac, X, n_bootstraps=6, keep_draws=True, random_state=seed)
    assert result.quantity == "memberships"
    assert result.low is None
    assert set(np.unique(result.components)) <= {0, 1}
    assert_allclose(result.inclusion, (result.draws == 1).mean(axis=0))
    assert (result.inclusion[result.components == 1] > 0.5).all()
    assert (result.inclusion[result.components == 0] < 0.5).all()


@pytest.mark.recovery
def test_stability_is_1_without_noise_and_low_on_noise():
    rng = np.random.default_rng(0)
    exact = bootstrap_components(
        PCA(2), factors(0, noise=0) * 1.0, n_bootstraps=20, random_state=0
    )
    # the plane is exact, but the axes depend on the sample
    assert_allclose(exact.subspace_stability, 1.0, atol=1e-10)
    line = np.outer(rng.normal(size=50), [1.0, 2.0, -1.0])
    exact = bootstrap_components(PCA(1), line, n_bootstraps=20, random_state=0)
    assert_allclose(exact.stability, 1.0, atol=1e-10)
    noise = bootstrap_components(
        PCA(2), rng.normal(size=(50, 20)), n_bootstraps=20, random_state=0
    )
    assert noise.stability.max() < 0.8


@pytest.mark.recovery
def test_warns_if_components_rotate_within_a_stable_subspace():
    rng = np.random.default_rng(1)
    # the singular values are equal
    scores = np.linalg.qr(rng.normal(size=(200, 3)))[0] * 200**0.5
    X = scores @ np.eye(3, 8) + 0.05 * rng.normal(size=(200, 8))
    with pytest.warns(DoubtfulResultWarning, match="components 0, 1, 2 rotate within the sub"):
        result = bootstrap_components(PCA(3), X, n_bootstraps=30, random_state=0)
    assert result.stability.max() < 0.9
    assert result.subspace_stability.min() > 0.99


@pytest.mark.invariance
@pytest.mark.parametrize(
    "estimator",
    [PCA(2), NMF(2, init="random", max_iter=2000), SparseNMF(2, init="random")],
    ids=lambda estimator: type(estimator).__name__,
)
def test_result_depends_on_the_seed_but_not_on_n_jobs(estimator):
    X = parts(0)
    one, two, same = (
        bootstrap_components(estimator, X, n_bootstraps=5, random_state=2, n_jobs=n_jobs)
        for n_jobs in (None, 2, None)
    )
    other = bootstrap_components(estimator, X, n_bootstraps=5, random_state=3)
    for field in ("components", "low", "high", "stability", "subspace_stability"):
        assert_array_equal(getattr(one, field), getattr(two, field))
        assert_array_equal(getattr(one, field), getattr(same, field))
    assert not np.array_equal(one.low, other.low)


CASES = [
    (PCA(2), parts),
    (NMF(2, max_iter=2000), parts),
    (SparseNMF(2), parts),
    (SparseNMF(2, penalty=None), parts),
    (SemiNMF(2), parts),
    (KSVD(2, n_nonzero_coefs=1, random_state=0), factors),
    (FeatureSignDictionaryLearning(2, random_state=0), factors),
    (SlowFeatureAnalysis(1), slow_series),
    (make_pipeline(StandardScaler(), PCA(2)), parts),
]


@pytest.mark.recovery
@pytest.mark.filterwarnings("ignore:bootstrap_components. components")  # the codes are dense
@pytest.mark.parametrize(
    ("estimator", "sample"), CASES, ids=lambda value: type(value).__name__
)
def test_components_lie_between_their_quantiles(estimator, sample):
    result = bootstrap_components(estimator, sample(0), n_bootstraps=10, random_state=0)
    inside = (result.low <= result.components) & (result.components <= result.high)
    assert inside.mean() > 0.6
    assert (result.stability > 0.85).all()
    assert_allclose(np.linalg.norm(result.components, axis=1), 1.0)


@pytest.mark.recovery
def test_robust_pca_with_broken_cells_and_missing_entries():
    X = factors(0, n=60, noise=0.3)
    rng = np.random.default_rng(0)
    cells = rng.permutation(X.size)
    X.flat[cells[:10]] += 20
    X.flat[cells[10:20]] = np.nan
    result = bootstrap_components(RobustPCA(n_components=2), X, n_bootstraps=3, random_state=0)
    assert (result.stability > 0.95).all()


class Flipping(BaseEstimator):
    """Estimator whose component changes its sign from fit to fit, with equal codes."""

    n_fits = 0

    def __init__(self, code):
        self.code = code

    def fit(self, X, y=None):
        Flipping.n_fits += 1
        self.components_ = np.array([[1.0, -1.0]]) * (-1) ** Flipping.n_fits
        return self

    def transform(self, X):
        return np.full((len(X), 1), self.code)


class Turning(Flipping):
    """The same with codes that change their signs, too, as a product needs."""

    def transform(self, X):
        return X @ self.components_.T


@pytest.mark.edge
@pytest.mark.parametrize(
    ("estimator", "stability"),
    [(Flipping(1.0), 0.5), (Flipping(-1.0), 1.0), (Turning(None), 1.0)],
)
def test_non_negative_codes_determine_the_sign_of_a_component(estimator, stability):
    X = np.ones((5, 2)) * [1, -1]
    Flipping.n_fits = 1  # the first component is [1, -1], and its codes are positive
    result = bootstrap_components(estimator, X, n_bootstraps=4)
    assert_allclose(result.stability, stability)


# ---- refit on the support ---------------------------------------------------------------------


@pytest.mark.certificate
@pytest.mark.parametrize("positive", [True, False])
def test_refit_is_stationary_on_its_support(seed, positive):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 8)) + 0.5 * positive
    W = np.abs(rng.normal(size=(30, 2)))
    H = np.abs(rng.normal(size=(2, 8)))
    W[rng.uniform(size=W.shape) < 0.3] = 0
    H[rng.uniform(size=H.shape) < 0.3] = 0
    start = np.linalg.norm(X - W @ H)
    result = refit_on_support(
        X,
        W,
        H,
        positive_codes=positive,
        positive_components=positive,
        max_iter=5000,
        tol=1e-10,
    )
    assert result.converged
    if positive:
        # the codes reach the bound of zero; otherwise the test would not show anything
        assert result.codes.min() >= 0
        assert (result.codes[W != 0] == 0).any()
    assert not result.codes[W == 0].any()
    assert not result.components[H == 0].any()

    residual = X - result.codes @ result.components
    assert np.linalg.norm(residual) < start
    gradients = (
        (residual @ result.components.T, result.codes),
        (
            result.codes.T @ residual,
            result.components,
        ),
    )
    for gradient, values in gradients:
        assert_allclose(gradient[values != 0], 0, atol=1e-6)  # the entries are of order 10


def errors(estimator, X, truth):
    """Largest error of an entry, without and with a refit on the support."""
    found = [
        bootstrap_components(
            estimator, X, n_bootstraps=2, refit_support=refit_support, random_state=0
        ).components
        for refit_support in (False, True)
    ]
    truth = unit_rows(truth)
    return [np.abs(matched(truth, components).values - truth).max() for components in found]


@pytest.mark.recovery
def test_refit_removes_the_shrinkage_of_sparse_nmf():
    nmf = SparseNMF(2, side="components", alpha=0.1)
    biased, refitted = errors(nmf, parts(0), [[1, 2, 1, 0, 0, 0], [0, 0, 1, 1, 2, 1]])
    assert refitted < 0.2 * biased


@pytest.mark.recovery
def test_refit_removes_the_shrinkage_of_a_dictionary(seed):
    rng = np.random.default_rng(seed)
    atoms = unit_rows(rng.normal(size=(3, 8)) + 0.5)
    codes = rng.normal(size=(150, 3)) * (rng.uniform(size=(150, 3)) < 0.4)
    X = codes @ atoms + 0.002 * rng.normal(size=(150, 8))
    lasso = FeatureSignDictionaryLearning(3, random_state=0)
    biased, refitted = errors(lasso, X, atoms)
    assert refitted < 0.5 * biased


# ---- input ------------------------------------------------------------------------------------


@pytest.mark.invariance
def test_kinds_of_tables(seed):
    X = parts(seed)
    names = list("abcdef")
    nmf = SparseNMF(2)
    settings = {"n_bootstraps": 3, "random_state": 0}
    dense = bootstrap_components(nmf, X, **settings)
    frame = bootstrap_components(nmf, pd.DataFrame(X, columns=names), **settings)
    lists = bootstrap_components(nmf, X.tolist(), **settings)
    rows = bootstrap_components(nmf, sparse.coo_array(X), **settings)
    assert frame.feature_names == names
    assert dense.feature_names is None
    assert_array_equal(frame.low, dense.low)
    assert_array_equal(lists.low, dense.low)
    assert_allclose(rows.low, dense.low, atol=1e-6)  # sums are computed in a different order


@pytest.mark.edge
def test_estimator_and_table_are_not_changed():
    X = parts(0)
    before = X.copy()
    pca = PCA(2)
    with warnings.catch_warnings():
        # two refits are too few for a decision
        warnings.simplefilter("ignore", DoubtfulResultWarning)
        bootstrap_components(pca, X, n_bootstraps=2)
    assert not hasattr(pca, "components_")
    assert_array_equal(X, before)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_bootstraps": 1}, "n_bootstraps=1 should be an integer of at least 2"),
        ({"confidence_level": 95}, "confidence_level=95 should be between 0 and 1"),
        ({"block_length": 41}, "block_length=41 should be an integer between 1 and 40"),
        ({"block_length": 0}, "block_length=0 should be"),
        ({"refit_support": True}, "for SparseNMF and FeatureSign.*not for PCA: set refit"),
    ],
)
def test_raises_on_invalid_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_components(PCA(2), parts(0), **settings)


@pytest.mark.edge
def test_raises_on_invalid_estimators():
    X = parts(0)
    with pytest.raises(TypeError, match="KMeans has none: pass a factorisation"):
        bootstrap_components(KMeans(2, n_init=1), X)
    with pytest.raises(TypeError, match="needs an instance of an estimator"):
        bootstrap_components(PCA, X)
    with pytest.raises(TypeError, match=r"RegularizedCCA.*Analyses of two views need Y"):
        bootstrap_components(RegularizedCCA(1, view_slices=[(0, 3), (3, 6)]), X)
    with pytest.raises(ValueError, match="cannot pass the blocks of rows through a pipeline"):
        bootstrap_components(make_pipeline(StandardScaler(), SlowFeatureAnalysis(1)), X)
    with pytest.raises(ValueError, match="block_length=1 should be an integer between 2"):
        bootstrap_components(SlowFeatureAnalysis(1), X, block_length=1)


@pytest.mark.edge
def test_raises_on_invalid_tables():
    X = parts(0)
    with pytest.raises(
        ValueError, match="X has 2 rows, but bootstrap samples need at least 3"
    ):
        bootstrap_components(PCA(1), X[:2])
    with pytest.raises(ValueError, match="80 and 79 rows; pass the same samples"):
        bootstrap_components(RegularizedCCA(1), X, X[1:])
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        bootstrap_components(PCA(1), X, n_bootstraps=2)
    with pytest.raises(ValueError, match="table without missing entries"):
        bootstrap_components(SparseNMF(2), X, refit_support=True)


@pytest.mark.edge
def test_warnings_of_refits_are_counted():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bootstrap_components(SparseNMF(2, max_iter=1), parts(0), n_bootstraps=4)
    messages = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    # there is one message for the fit of all rows, and one for the refits
    assert len(messages) == 2
    assert "number of warnings in the refits: 4. The first is: SparseNMF" in messages[1]


@pytest.mark.edge
def test_verbose_reports_the_time_left(capsys):
    bootstrap_components(PCA(1), parts(0), n_bootstraps=3, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("bootstrap_components: 1 of 3 refits in")
    calls = bootstrap(lambda rows, blocks: len(rows), 4, [0, 1, 2], owner="test")
    assert calls == [4, 4, 4]


# ---- display ----------------------------------------------------------------------------------


@pytest.mark.edge
def test_display_draws_one_panel_for_each_component():
    plt = pytest.importorskip("matplotlib.pyplot")
    X = pd.DataFrame(parts(0), columns=list("abcdef"))
    result = bootstrap_components(PCA(3), X, n_bootstraps=5, random_state=0)
    display = ComponentsDisplay.from_result(result, max_panels=2)
    assert len(display.axes_) == 2
    assert display.figure_ is display.axes_[0].figure
    points = display.errorbars_[1].lines[0].get_ydata()
    assert_allclose(points, result.components[1])
    names = [label.get_text() for label in display.axes_[1].get_xticklabels()]
    assert names == list("abcdef")
    assert f"stability {result.stability[0]:.2f}" in display.axes_[0].get_title(loc="left")
    plt.close("all")


@pytest.mark.edge
def test_display_draws_probabilities_of_boolean_components():
    plt = pytest.importorskip("matplotlib.pyplot")
    mac = MultiAssignmentClustering(2, random_state=0)
    result = bootstrap_components(mac, bits(0), n_bootstraps=3, random_state=0)
    display = ComponentsDisplay.from_result(result)
    heights = [bar.get_height() for bar in display.errorbars_[0]]
    assert_allclose(heights, result.inclusion[0])
    with pytest.raises(ValueError, match="max_panels=0"):
        display.plot(max_panels=0)
    plt.close("all")
