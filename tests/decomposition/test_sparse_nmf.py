"""Evidence that SparseNMF solves the problem it states."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata._solvers.factors.factor_updates import Data, squared_error
from skmoderndata.decomposition import SparseNMF
from tests.oracles import sparse_nmf as oracle
from tests.oracles.sparse_nmf import sparseness


def planted(n=60, p=30, k=4, seed=0, noise=0.0, density=0.4):
    """Rows that are sums of few parts; every part is seen alone in some row."""
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.5, 2, size=(n, k)) * (rng.uniform(size=(n, k)) < density)
    W[:k] = np.eye(k)
    H = np.kron(np.eye(k), np.ones(p // k)) if p % k == 0 else rng.uniform(size=(k, p))
    H = H * rng.uniform(0.5, 1.5, size=H.shape)
    return np.maximum(W @ H + noise * rng.normal(size=(n, p)), 0), W, H


def mixed(n=50, p=24, k=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.4, size=(n, k)) @ rng.gamma(0.4, size=(k, p)) + 0.1 * rng.uniform(
        size=(n, p)
    )


def projected_gradient_ratio(X, W, H, beta, eta, weights=1.0):
    """KKT residual of SNMF/R, written out."""
    known = ~np.isnan(X)
    R = weights * np.where(known, W @ H - np.nan_to_num(X), 0)
    grad_W = R @ H.T + beta * W.sum(axis=1, keepdims=True)
    grad_H = W.T @ R + eta * H
    Z = weights * np.nan_to_num(X)
    ratios = []
    for factor, grad, linear in ((W, grad_W, Z @ H.T), (H, grad_H, W.T @ Z)):
        projected = np.where(factor > 0, grad, np.minimum(grad, 0))
        ratios.append(np.linalg.norm(projected) / np.linalg.norm(linear))
    return max(ratios)


# oracle: a different computation gives the same result


@pytest.mark.oracle
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_objective_matches_its_definition(missing, seed):
    X = mixed(seed=seed)
    X[np.random.default_rng(seed).uniform(size=X.shape) < missing] = np.nan
    model = SparseNMF(3, alpha=0.3, ridge=0.5, tol=1e-9, max_iter=20_000).fit(X)
    value = oracle.kim_park_objective(X, model.transform(X), model.components_, 0.3, 0.5)
    assert_allclose(model.objective_, value, rtol=1e-10)
    known = ~np.isnan(X)
    error = np.linalg.norm((X - model.inverse_transform(model.transform(X)))[known])
    assert_allclose(model.reconstruction_err_, error, rtol=1e-7)


@pytest.mark.oracle
def test_codes_with_weights_of_entries_match_scaled_rows(seed):
    X = mixed(seed=seed)
    weights = np.random.default_rng(seed).uniform(0, 4, size=X.shape)
    weights[weights < 0.5] = 0
    model = SparseNMF(4, penalty=None, ridge=0).fit(X, entry_weight=weights)
    expected = [
        nnls((model.components_ * root).T, x * root)[0]
        for x, root in zip(X, np.sqrt(weights), strict=True)
    ]
    assert_allclose(model.transform(X, entry_weight=weights), expected, atol=1e-9)


@pytest.mark.oracle
def test_weights_of_entries_alike_in_rows_are_weights_of_rows(seed):
    X = mixed(seed=seed)
    rows = np.random.default_rng(seed).uniform(0.5, 2, size=len(X))
    start = np.random.default_rng(seed + 1).uniform(size=(3, X.shape[1]))
    same = SparseNMF(3, penalty=None, ridge=0, init=start, solver="bpp")
    entries = clone(same).fit(X, entry_weight=np.tile(rows[:, None], X.shape[1]))
    weighted = clone(same).fit(X, sample_weight=rows)
    both = clone(same).fit(
        X, sample_weight=rows**0.5, entry_weight=np.tile(rows[:, None] ** 0.5, X.shape[1])
    )
    # the passes stop at the same residual, so only the rounding of two forms of the sums differs
    for model in (entries, both):
        assert_allclose(model.components_, weighted.components_, atol=1e-6)
        assert_allclose(model.objective_, weighted.objective_, rtol=1e-9)
        assert_allclose(
            model.score(X, entry_weight=np.tile(rows[:, None], X.shape[1])),
            weighted.score(X, sample_weight=rows),
            rtol=1e-7,
        )


@pytest.mark.oracle
def test_exact_alternation_column_by_column(seed):
    X = mixed(seed=seed)
    H = np.random.default_rng(seed).uniform(size=(4, X.shape[1]))
    W, H_end = oracle.alternate_exactly(X, H, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SparseNMF(4, penalty=None, solver="bpp", init=H, max_iter=7).fit(X)
    length = np.linalg.norm(H_end, axis=1, keepdims=True)
    length[length == 0] = 1  # the solver may set a component to zero
    assert_allclose(model.components_, H_end / length, atol=1e-9)
    assert_allclose(model.objective_, ((X - W @ H_end) ** 2).sum() / 2, rtol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_not_above_scikit_learn(alpha, seed):
    """Plain l1 penalties on both factors, and none, are problems of scikit-learn's NMF too."""
    X = mixed(100, 40, 6, seed)
    n, p = X.shape
    theirs = NMF(
        5,
        alpha_W=alpha / p,
        alpha_H=alpha / n,
        l1_ratio=1,
        init="nndsvd",
        tol=1e-6,
        max_iter=5000,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        W = theirs.fit_transform(X)
    H = theirs.components_
    value = ((X - W @ H) ** 2).sum() / 2 + alpha * (W.sum() + H.sum())
    penalty = {"side": "both", "form": "plain", "alpha": alpha} if alpha else {"penalty": None}
    ours = SparseNMF(5, n_init=5, random_state=seed, tol=1e-5, max_iter=5000, **penalty).fit(X)
    # local optima differ by more than this tolerance
    assert ours.objective_ <= value * (1 + 1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("settings", "penalty"),
    [
        ({"penalty": None}, {}),
        ({"alpha": 0.5, "ridge": 1.0}, {"l1_sq": 0.5}),
        ({"alpha": 0.5, "ridge": 1.0, "form": "plain"}, {"l1": 0.5}),
        ({"alpha": 0.5, "ridge": 2.0, "side": "components"}, {"l2": 2.0}),
        ({"alpha": 0.5, "side": "both"}, {"l1_sq": 0.5}),
    ],
)
def test_codes_of_new_rows_are_minimisers(settings, penalty, seed):
    X = mixed(seed=seed)
    model = SparseNMF(4, **settings).fit(X[:40])
    for row, code in zip(X[40:44], model.transform(X[40:44]), strict=True):
        value, _ = oracle.nnls_by_cvxpy(model.components_, row, **penalty)
        ours = ((row - code @ model.components_) ** 2).sum() / 2
        ours += (
            penalty.get("l1", 0) * code.sum() + penalty.get("l1_sq", 0) / 2 * code.sum() ** 2
        )
        ours += penalty.get("l2", 0) / 2 * (code**2).sum()
        assert_allclose(ours, value, rtol=1e-7, atol=1e-9)


# certificate: the result is stationary and feasible


@pytest.mark.certificate
@pytest.mark.parametrize("solver", ["hals", "bpp"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_kkt_residual_matches_the_gradients(solver, missing, seed):
    X = mixed(seed=seed)
    X[np.random.default_rng(seed).uniform(size=X.shape) < missing] = np.nan
    model = SparseNMF(3, alpha=0.3, ridge=0.5, tol=1e-7, max_iter=20_000, solver=solver).fit(X)
    assert model.kkt_residual_ <= 1e-7
    # the codes are computed once more, exactly, so only the components may be inexact
    assert projected_gradient_ratio(X, model.transform(X), model.components_, 0.3, 0.5) < 1e-6


@pytest.mark.certificate
def test_kkt_residual_with_weights_matches_the_gradients(seed):
    X = mixed(seed=seed)
    weights = np.random.default_rng(seed).gamma(1.0, size=X.shape)
    model = SparseNMF(3, alpha=0.3, ridge=0.5, tol=1e-7, max_iter=20_000)
    codes = model.fit_transform(X, entry_weight=weights)
    assert model.kkt_residual_ <= 1e-7
    assert projected_gradient_ratio(X, codes, model.components_, 0.3, 0.5, weights) < 1e-6
    # this is not the stationary point of another loss
    assert projected_gradient_ratio(X, codes, model.components_, 0.3, 0.5) > 1e-3


@pytest.mark.certificate
@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": None},
        {"penalty": None, "solver": "bpp"},
        {"side": "components", "alpha": 0.5},
        {"penalty": "hoyer", "sparseness_components": 0.5},
        {"penalty": "hoyer", "sparseness_codes": 0.5},
        {"penalty": "hoyer", "sparseness_codes": 0.5, "codes_axis": "sample", "tol": 1e-3},
    ],
    ids=str,
)
def test_objective_with_weights_never_rises(settings, seed):
    X = mixed(seed=seed)
    weights = np.random.default_rng(seed).gamma(1.0, size=X.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SparseNMF(3, max_iter=300, **settings).fit(X, entry_weight=weights)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    assert history[-1] < history[0]


@pytest.mark.certificate
@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": None},
        {"penalty": None, "solver": "bpp"},
        {"alpha": 0.5},
        {"side": "components", "alpha": 0.5},
        {"side": "both", "form": "plain"},
        {"penalty": "hoyer", "sparseness_components": 0.5},
        {"penalty": "hoyer", "sparseness_codes": 0.5},
        # rows at the border of the cone converge slowly
        {"penalty": "hoyer", "sparseness_codes": 0.5, "codes_axis": "sample", "tol": 1e-3},
        {"penalty": "hoyer", "sparseness_codes": 0.4, "sparseness_components": 0.4},
    ],
    ids=str,
)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_objective_never_rises(settings, missing, seed):
    X = mixed(seed=seed)
    X[np.random.default_rng(seed).uniform(size=X.shape) < missing] = np.nan
    model = SparseNMF(4, max_iter=3000, **settings).fit(X)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    assert history[-1] == model.objective_ < history[0]
    assert model.kkt_residual_ <= model.tol
    assert 0 <= model.n_iter_ - len(history) <= 20  # passes without the penalty come first
    assert (model.components_ >= 0).all()


@pytest.mark.certificate
@pytest.mark.parametrize("level", [0.2, 0.5, 0.8])
def test_sparseness_is_exact(level, seed):
    X = mixed(seed=seed)
    components = SparseNMF(3, penalty="hoyer", sparseness_components=level, max_iter=5000).fit(
        X
    )
    assert_allclose(sparseness(components.components_), level, atol=1e-12)
    assert_allclose(np.linalg.norm(components.components_, axis=1), 1, rtol=1e-12)

    codes = SparseNMF(3, penalty="hoyer", sparseness_codes=level, max_iter=5000).fit(X)
    assert_allclose(sparseness(codes.codes_.T), level, atol=1e-12)
    rows = SparseNMF(
        3, penalty="hoyer", sparseness_codes=level, codes_axis="sample", max_iter=5000
    ).fit(X)
    assert_allclose(sparseness(rows.transform(X)), level, atol=1e-12)
    assert rows.codes_ is components.codes_ is None

    both = SparseNMF(
        3,
        penalty="hoyer",
        sparseness_codes=level,
        sparseness_components=level,
        max_iter=5000,
    ).fit(X)
    assert_allclose(sparseness(both.codes_.T), level, atol=1e-12)

    left = both.components_.any(axis=1)  # a component whose length is free may vanish
    assert left.sum() >= 2
    assert_allclose(sparseness(both.components_[left]), level, atol=1e-12)
    assert_allclose(
        both.reconstruction_err_, np.linalg.norm(X - both.codes_ @ both.components_), rtol=1e-9
    )


@pytest.mark.certificate
def test_warning_names_the_residual_reached(seed):
    X = mixed(seed=seed)
    with pytest.warns(
        ConvergenceWarning, match=r"KKT residual is .* increase max_iter or tol"
    ):
        model = SparseNMF(4, max_iter=3, tol=1e-8).fit(X)
    assert model.kkt_residual_ > 1e-8
    assert model.n_iter_ == 3


@pytest.mark.certificate
@pytest.mark.parametrize("level", [0.3, 0.6, 0.9, 1.0])
def test_codes_of_rows_are_as_good_as_many_starts(level, seed):
    X = np.abs(np.random.default_rng(seed).normal(size=(40, 12)))
    model = SparseNMF(
        8, penalty="hoyer", sparseness_codes=level, codes_axis="sample", tol=1e-3, max_iter=300
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        H = model.fit(X).components_
    codes = model.transform(X)
    assert_allclose(sparseness(codes), level, atol=1e-12)
    ours = ((X - codes @ H) ** 2).sum(axis=1)
    best = oracle.codes_of_sparseness_from_many_starts(X, H, level, seed)
    worse = (ours > best * 1.001 + 1e-12).mean()
    assert worse <= (0.1 if level < 1 else 0)  # the problem of a row is not convex
    assert ours.sum() <= best.sum() * (1 + 1e-9)


# recovery: planted parts are found


@pytest.mark.recovery
@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": None},
        {"alpha": 1e-4, "ridge": 1e-3},
        {"side": "components", "alpha": 1e-4, "ridge": 1e-3},
    ],
    ids=str,
)
def test_planted_parts(settings, seed):
    X, _, H = planted(seed=seed, p=32)
    model = SparseNMF(4, n_init=5, random_state=0, tol=1e-6, max_iter=5000, **settings).fit(X)
    found = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
    cosine = found @ (H / np.linalg.norm(H, axis=1, keepdims=True)).T
    assert (cosine.max(axis=0) > 0.999).all()
    assert sorted(cosine.argmax(axis=0)) == [0, 1, 2, 3]


@pytest.mark.recovery
def test_hidden_entries_are_found(seed):
    X, _, _ = planted(80, 32, 3, seed)
    rng = np.random.default_rng(seed)
    hidden = rng.uniform(size=X.shape) < 0.2
    shown = np.where(hidden, np.nan, X)
    model = SparseNMF(
        3, penalty=None, ridge=0, n_init=5, random_state=0, tol=1e-7, max_iter=10_000
    ).fit(shown)
    guess = model.inverse_transform(model.transform(shown))
    error = np.linalg.norm((guess - X)[hidden]) / np.linalg.norm(X[hidden])
    assert error < 0.02
    assert model.reconstruction_err_ < 1e-3 * np.linalg.norm(X)


@pytest.mark.recovery
def test_sparse_codes_find_clusters(seed):
    """Kim & Park 2007: the largest code of a row is its cluster."""
    rng = np.random.default_rng(seed)
    centers = rng.gamma(1.0, size=(3, 100))
    labels = rng.integers(0, 3, size=45)
    X = np.maximum(centers[labels] + 0.3 * rng.normal(size=(45, 100)), 0)
    model = SparseNMF(3, alpha=0.01, n_init=10, random_state=0).fit(X)
    found = model.transform(X).argmax(axis=1)
    table = pd.crosstab(found, labels).to_numpy()
    assert table.max(axis=1).sum() == 45


# paper


@pytest.mark.paper
def test_higher_sparseness_makes_parts_local():
    """Hoyer 2004, figures 3 and 5, on digits: plain parts are global, sparse ones local."""
    X = load_digits().data[:400] / 16
    plain = SparseNMF(9, penalty=None).fit(X)
    natural = sparseness(plain.components_).mean()
    errors = []
    used = []
    for level in (0.6, 0.75, 0.9):
        assert level > natural - 0.1
        model = SparseNMF(9, penalty="hoyer", sparseness_components=level, max_iter=3000).fit(
            X
        )
        errors.append(model.reconstruction_err_)
        used.append((model.components_ > 0).sum(axis=1).mean())
    assert plain.reconstruction_err_ < errors[0] < errors[1] < errors[2]
    assert used[0] > used[1] > used[2]


@pytest.mark.paper
def test_larger_beta_makes_codes_sparser():
    """Kim & Park 2007, section 2.2: the penalty trades sparseness against accuracy."""
    X = load_digits().data[:300] / 16
    zeros = []
    errors = []
    for alpha in (0.01, 0.3, 3.0):
        model = SparseNMF(10, alpha=alpha).fit(X)
        zeros.append((model.transform(X) == 0).mean())
        errors.append(model.reconstruction_err_)
    assert zeros[0] < zeros[1] < zeros[2]
    assert errors[0] < errors[1] < errors[2]


# invariance


@pytest.mark.invariance
@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": None},
        {"alpha": 0.2},
        {"side": "components", "alpha": 0.2},
        {"penalty": "hoyer", "sparseness_components": 0.5},
    ],
    ids=str,
)
def test_sparse_input_masks_weights_order(settings, seed):
    X, _, _ = planted(seed=seed, noise=0.05, p=32)
    model = SparseNMF(3, tol=1e-6, max_iter=5000, **settings)
    H = model.fit(X).components_
    codes = model.transform(X)
    score = model.score(X)
    # all variants reach the same point, up to the tolerance of the fit
    near = {"atol": 1e-3 * H.max()}
    assert_allclose(model.fit(sparse.csr_array(X)).components_, H, **near)
    assert_allclose(model.transform(sparse.csr_matrix(X)), codes, atol=1e-3 * codes.max())
    assert_allclose(model.score(sparse.csc_array(X)), score, atol=1e-6)
    order = np.random.default_rng(seed).permutation(X.shape[1])
    assert_allclose(model.fit(X[:, order]).components_, H[:, order], **near)
    weights = np.random.default_rng(seed).integers(0, 3, size=len(X))
    weighted = model.fit(X, sample_weight=weights).components_
    assert_allclose(model.fit(np.repeat(X, weights, axis=0)).components_, weighted, **near)


@pytest.mark.oracle
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-4, 0.3])
def test_error_of_sparse_rows_without_forming_the_model(noise, seed):
    X, W, H = planted(noise=noise, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=len(X))
    V = H.T * (1 + noise)
    R = X - W @ V.T
    expected = weights @ (R * R).sum(axis=1)
    got = squared_error(Data(sparse.csr_array(X), None, weights), W, V)
    assert_allclose(got, expected, rtol=1e-7, atol=1e-25)


@pytest.mark.invariance
def test_units(seed):
    X = mixed(seed=seed)
    base = SparseNMF(3).fit(X)
    scaled = SparseNMF(3).fit(1000 * X)
    assert_allclose(scaled.components_, base.components_, rtol=1e-6)
    assert_allclose(scaled.transform(1000 * X), 1000 * base.transform(X), rtol=1e-6)
    assert_allclose(scaled.objective_, 1e6 * base.objective_, rtol=1e-9)
    assert_allclose(scaled.kkt_residual_, base.kkt_residual_, rtol=1e-3)


@pytest.mark.invariance
def test_float32_is_nearly_as_good(seed):
    X = mixed(seed=seed)
    double = SparseNMF(3).fit(X)
    single = SparseNMF(3).fit(X.astype(np.float32))
    assert (
        single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    )
    assert_allclose(single.objective_, double.objective_, rtol=1e-3)  # products have 24 bits
    assert single.kkt_residual_ <= 1e-4


@pytest.mark.invariance
def test_full_mask_equals_no_mask(seed):
    from skmoderndata._solvers.factors.coded_rows import CodedRows
    from skmoderndata._solvers.factors.factor_updates import Side
    from skmoderndata._solvers.factors.factorization import factorize

    X = mixed(seed=seed)
    rng = np.random.default_rng(seed)
    W = rng.uniform(size=(50, 3))
    V = rng.uniform(size=(24, 3))
    sides = {"codes_side": Side(), "components_side": Side()}
    plain = factorize(CodedRows.of(Data(X), W), V, **sides)
    full = Data(X, np.ones(X.shape, bool))
    masked = factorize(CodedRows.of(full, W), V, **sides)
    assert_allclose(masked.components, plain.components, rtol=1e-7)


# edges


@pytest.mark.edge
def test_partial_fit_adds_up(seed):
    X = mixed(120, 24, 4, seed)
    model = SparseNMF(4, penalty=None)
    for first in range(0, 120, 40):
        model.partial_fit(X[first : first + 40])
    whole = SparseNMF(4, penalty=None).fit(X)
    assert -model.score(X) < -1.5 * whole.score(X) + 0.02
    assert model.n_features_in_ == 24
    before = -SparseNMF(4, penalty=None).fit(X[:40]).score(X)
    assert -model.score(X) < before
    # the objective counts all rows, but is estimated from the later ones
    assert_allclose(model.objective_, whole.objective_, rtol=0.1)
    sparse_fit = SparseNMF(4, penalty=None).partial_fit(sparse.csr_array(X[:40]))
    sparse_fit.partial_fit(sparse.csr_array(X[40:]))
    dense_fit = SparseNMF(4, penalty=None).partial_fit(X[:40]).partial_fit(X[40:])
    assert_allclose(sparse_fit.components_, dense_fit.components_, atol=1e-6)


@pytest.mark.invariance
def test_cuts_of_the_first_rows_do_not_matter(seed):
    """Eight rows for each component are fitted together, with their weights."""
    X = mixed(40, 24, 4, seed)
    w = np.arange(1.0, 41)
    at_once = SparseNMF(4).partial_fit(X, sample_weight=w)
    cut = SparseNMF(4)
    batch = X[:1].copy()
    cut.partial_fit(batch, sample_weight=w[:1])
    batch[:] = 0.0
    for first, last in ((1, 3), (3, 20), (20, 40)):
        cut.partial_fit(X[first:last], sample_weight=w[first:last])
    assert_allclose(cut.components_, at_once.components_, atol=1e-10)
    assert_allclose(
        at_once.components_, SparseNMF(4).fit(X, sample_weight=w).components_, atol=1e-10
    )


@pytest.mark.invariance
def test_weights_of_a_stream_repeat_rows(seed):
    X = mixed(120, 24, 4, seed)
    w = np.random.default_rng(seed).integers(0, 3, size=120)
    weighted = SparseNMF(4).partial_fit(X[:60], sample_weight=w[:60])
    weighted.partial_fit(X[60:], sample_weight=w[60:])
    repeated = SparseNMF(4).partial_fit(np.repeat(X[:60], w[:60], axis=0))
    repeated.partial_fit(np.repeat(X[60:], w[60:], axis=0))
    assert_allclose(weighted.components_, repeated.components_, rtol=1e-6, atol=1e-8)


@pytest.mark.recovery
@pytest.mark.parametrize("first", [1, 6, 20])
def test_small_first_batch_does_not_determine_the_result(first, seed):
    """Components that the first rows do not determine used to stay at zero."""
    rng = np.random.default_rng(seed)
    codes = np.abs(rng.normal(size=(1000, 6))) * (rng.uniform(size=(1000, 6)) < 0.4)
    X = codes @ np.abs(rng.normal(size=(6, 20)))
    model = SparseNMF(6, random_state=0).partial_fit(X[:first])
    for start in range(first, 1000, 50):
        model.partial_fit(X[start : start + 50])
    assert -model.score(X) < -2 * SparseNMF(6, random_state=0).fit(X).score(X)
    assert (model.components_.max(axis=1) > 1e-3).all()


@pytest.mark.edge
@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": 0.2},
        {"side": "components"},
        {"penalty": "hoyer", "sparseness_components": 0.5},
    ],
    ids=str,
)
def test_partial_fit_lowers_the_objective_of_the_sums(settings, seed):
    X = mixed(60, 24, 4, seed)
    model = SparseNMF(3, max_iter=3000, **settings).partial_fit(X)
    value = model.objective_
    again = model.partial_fit(X)
    # the rows count twice, the penalty on the components only once
    assert value < again.objective_ <= 2 * value * (1 + 1e-6)


@pytest.mark.edge
def test_partial_fit_rejects_options_that_do_not_add_up():
    X = mixed()
    holes = X.copy()
    holes[0, 0] = np.nan
    with pytest.raises(ValueError, match="accepts no missing entries"):
        SparseNMF(2).fit(X).partial_fit(holes)
    with pytest.raises(ValueError, match="accepts no missing entries"):
        SparseNMF(2).fit(holes).partial_fit(X)
    with pytest.raises(ValueError, match="no weights of entries"):
        SparseNMF(2).fit(X, entry_weight=1 + X).partial_fit(X)
    over_rows = SparseNMF(2, penalty="hoyer", sparseness_codes=0.3).fit(X)
    with pytest.raises(ValueError, match="cannot add rows, because the"):
        over_rows.partial_fit(X)


@pytest.mark.edge
def test_warm_start_and_given_components(seed):
    X = mixed(seed=seed)
    first = SparseNMF(3, penalty=None, tol=1e-6, max_iter=5000).fit(X)
    again = SparseNMF(3, penalty=None, tol=1e-6, init=first.components_).fit(X)
    assert again.n_iter_ <= first.n_iter_ / 2
    assert_allclose(again.components_, first.components_, atol=1e-3)
    first.set_params(warm_start=True).fit(X)
    assert first.n_iter_ == again.n_iter_
    with pytest.raises(ValueError, match=r"init must be .* \(n_components=3, n_features=24\)"):
        SparseNMF(3, init=np.ones((2, 24))).fit(X)
    with pytest.raises(ValueError, match="minimum -1"):
        SparseNMF(3, init=-np.ones((3, 24))).fit(X)


@pytest.mark.edge
def test_more_starts_are_never_worse(seed):
    X = mixed(seed=seed)
    one = SparseNMF(5, penalty=None, random_state=0).fit(X)
    many = SparseNMF(5, penalty=None, n_init=6, random_state=0).fit(X)
    assert many.objective_ <= one.objective_


@pytest.mark.edge
@pytest.mark.parametrize("solver", ["hals", "bpp"])
def test_components_that_are_lost_come_back(solver, seed):
    X = mixed(seed=seed)
    H = np.zeros((3, X.shape[1]))
    H[0] = 1
    model = SparseNMF(3, penalty=None, init=H, solver=solver).fit(X)
    assert model.components_.any(axis=1).all()
    good = SparseNMF(3, penalty=None).fit(X)
    assert model.objective_ < 1.5 * good.objective_  # local optima differ
    assert (np.diff(model.objective_history_) <= 1e-12 * model.objective_history_[0]).all()


@pytest.mark.edge
def test_zero_rows_columns_and_rows_without_entries(seed):
    X = mixed(seed=seed)
    X[3] = 0
    X[:, 5] = 0
    for settings in ({"penalty": None}, {"alpha": 0.1}):
        model = SparseNMF(3, **settings).fit(X)
        assert_array_equal(model.transform(X)[3], 0)
        assert_allclose(model.components_[:, 5], 0, atol=1e-12)
    X[7] = np.nan
    X[:, 2] = np.nan
    model = SparseNMF(3, penalty=None).fit(X)
    assert_array_equal(model.transform(X)[7], 0)
    assert np.isfinite(model.components_).all()
    everything = SparseNMF(2).fit(np.full((4, 3), np.nan))
    assert np.isfinite(everything.components_).all()
    assert everything.score(np.full((4, 3), np.nan)) == 0


HOYER = {"penalty": "hoyer"}
REFUSALS = {
    "needs sparseness_components, sparseness_codes or both": (HOYER, lambda X: X),
    "sparseness_components": (HOYER | {"sparseness_components": 1.5}, lambda X: X),
    r"at least 2 entries .* n_features=1": (
        HOYER | {"sparseness_components": 0.5},
        lambda X: X[:, :1],
    ),
    r"at least 2 entries .* n_samples=1": (HOYER | {"sparseness_codes": 0.5}, lambda X: X[:1]),
    "Negative values in data passed to SparseNMF": ({}, lambda X: X - 5),
    "does not accept NaN in sparse input": (
        {},
        lambda X: sparse.csr_array(np.where(X > X.mean(), np.nan, 0)),
    ),
    r"sparseness_components=0.9\) needs penalty='hoyer'": (
        {"sparseness_components": 0.9},
        lambda X: X,
    ),
    r"sparseness_codes=0.9\) .* got penalty=None": (
        {"penalty": None, "sparseness_codes": 0.9},
        lambda X: X,
    ),
}


@pytest.mark.edge
@pytest.mark.parametrize("message", REFUSALS)
def test_messages(message):
    settings, change = REFUSALS[message]
    with pytest.raises(ValueError, match=message):
        SparseNMF(**settings).fit(change(mixed()))


@pytest.mark.edge
def test_weights_and_codes_that_do_not_fit_are_rejected():
    X = mixed()
    with pytest.raises(ValueError, match="accepts no sample_weight"):
        SparseNMF(penalty="hoyer", sparseness_codes=0.5).fit(X, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="X has 3 codes a row"):
        SparseNMF().fit(X).inverse_transform(np.ones((2, 3)))


@pytest.mark.edge
def test_more_components_than_rows_or_columns(seed):
    X = mixed(6, 5, 2, seed)
    with pytest.warns(UserWarning, match="more components than n_samples=6 or n_features=5"):
        model = SparseNMF(9, penalty=None, random_state=0).fit(X)
    assert model.reconstruction_err_ < 1e-3 * np.linalg.norm(X)
    assert np.isfinite(model.transform(X)).all()
    SparseNMF(9).fit(X)  # the penalty determines this number of components
    wide = mixed(30, 5, 2, seed)
    SparseNMF(
        9, penalty="hoyer", sparseness_codes=0.5, codes_axis="sample", tol=1e-2, max_iter=3000
    ).fit(wide)


def twice(X):
    """A CSR matrix that stores each entry in two parts, backwards, with indices of 64 bits."""
    n, p = X.shape
    columns = np.tile(np.r_[np.arange(p), np.arange(p)][::-1], n)
    values = np.concatenate([np.r_[0.25 * row, 0.75 * row][::-1] for row in X])
    out = sparse.csr_array((values, columns, np.arange(n + 1) * 2 * p), shape=X.shape)
    out.indices = out.indices.astype(np.int64)
    out.indptr = out.indptr.astype(np.int64)
    return out


@pytest.mark.invariance
@pytest.mark.parametrize("settings", [{"penalty": None}, {"alpha": 0.1}], ids=str)
def test_repeated_entries_add_up(settings, seed):
    X = mixed(seed=seed)
    D = twice(X)
    held = [part.copy() for part in (D.data, D.indices, D.indptr)]
    dense = SparseNMF(3, **settings).fit(X)
    thin = SparseNMF(3, **settings).fit(D)
    assert_allclose(thin.objective_, dense.objective_, rtol=1e-9)
    assert_allclose(thin.transform(D), dense.transform(X), atol=1e-6)
    assert_allclose(thin.score(D), dense.score(X), rtol=1e-8)
    for part, before in zip((D.data, D.indices, D.indptr), held, strict=True):
        assert_array_equal(part, before)  # the caller's matrix is unchanged
        assert part.dtype == before.dtype


@pytest.mark.edge
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_many_rows_and_columns_of_zeros(kind):
    X = kind(np.zeros((1100, 1050)))
    for settings in ({"penalty": None}, {}):
        model = SparseNMF(3, random_state=0, **settings).fit(X)
        assert_array_equal(model.transform(X[:5]), 0)
        assert model.objective_ == 0


@pytest.mark.edge
@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": None},
        {},
        {"side": "components"},
        {"side": "both"},
        {"penalty": "hoyer", "sparseness_codes": 0.5, "sparseness_components": 0.3},
    ],
    ids=str,
)
def test_extreme_units(settings, seed):
    X = mixed(20, 8, 3, seed)
    model = SparseNMF(2, tol=1e-3, max_iter=5000, **settings)
    for size, dtype in ((1e48, float), (1e-48, float), (1e13, "f4"), (1e-14, "f4")):
        scaled = (size * X).astype(dtype)
        codes = model.fit(scaled).transform(scaled)
        assert codes.dtype == scaled.dtype
        assert np.isfinite(codes).all()
        assert np.isfinite(model.components_).all()
        assert np.isfinite(model.objective_history_).all()
        assert 0 < model.reconstruction_err_ <= size * np.linalg.norm(X) * (1 + 1e-6)
        assert -1 - 1e-6 <= model.score(scaled) < 0


@pytest.mark.edge
@pytest.mark.parametrize("size", [1e60, 1e-60])
def test_fourth_powers_are_rejected(size):
    with pytest.raises(ValueError, match=r"must be between 1e-50 and 1e\+50 .* rescale it"):
        SparseNMF(2).fit(size * mixed(20, 8, 3))
    with pytest.raises(
        ValueError, match=r"must be between 1e-15 and 1e\+15 in single precision"
    ):
        SparseNMF(2).fit((1e-17 * mixed(20, 8, 3)).astype(np.float32))


@pytest.mark.edge
@pytest.mark.parametrize("penalty", [None, "l1", "hoyer"])
def test_far_too_many_components_are_rejected(penalty):
    given = {"sparseness_codes": 0.5, "codes_axis": "sample"} if penalty == "hoyer" else {}
    with pytest.raises(ValueError, match=r"n_components=5000.*use at most 100"):
        SparseNMF(5000, penalty=penalty, **given).fit(mixed(40, 6, 3))


@pytest.mark.edge
def test_long_codes_of_given_sparseness_are_rejected():
    model = SparseNMF(301, penalty="hoyer", sparseness_codes=0.5, codes_axis="sample")
    with pytest.raises(ValueError, match=r"minutes for each row: use at most 300"):
        model.fit(mixed(400, 6, 3))


@pytest.mark.newest
@pytest.mark.edge
@pytest.mark.parametrize(
    "settings",
    [
        {"sparseness_codes": 0.5, "codes_axis": "sample"},
        {"sparseness_components": 0.5},
        {"sparseness_codes": 0.5, "sparseness_components": 0.5},
    ],
    ids=str,
)
def test_callbacks_are_reached_with_many_components(settings):
    """A hundred components for a table of rank 6: a pass takes seconds, not minutes."""

    class Stop:
        def setup(self, estimator, context):
            self.seen = 0

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.seen += 1
            return True

    stop = Stop()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SparseNMF(100, penalty="hoyer", **settings).set_callbacks(stop).fit(mixed(40, 6, 3))
    assert stop.seen >= 1
    assert time.process_time() - start < 20


@pytest.mark.edge
@pytest.mark.parametrize(
    "settings",
    [{"penalty": None}, {"side": "components"}, {"form": "plain", "alpha": 0.0}],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_partial_fit_in_other_units(settings, dtype, seed):
    X = mixed(80, 12, 3, seed)
    size = 1e40 if dtype == np.float64 else 1e12
    base = SparseNMF(3, tol=1e-3, **settings).fit(X[:40]).partial_fit(X[40:])
    model = SparseNMF(3, tol=1e-3, **settings)
    model.fit((size * X[:40]).astype(dtype)).partial_fit((size * X[40:]).astype(dtype))
    assert np.isfinite(model.components_).all()
    # products have 24 bits, and the objective is flat in some directions
    rtol = 1e-9 if dtype == np.float64 else 1e-2
    assert_allclose(model.objective_ / size**2, base.objective_, rtol=rtol)


@pytest.mark.edge
def test_codes_beyond_single_precision(seed):
    X = (1e13 * mixed(seed=seed)).astype(np.float32)
    model = SparseNMF(2, penalty=None, tol=1e-2).fit(X)
    model.components_ *= np.float32(1e-30)
    with pytest.raises(ValueError, match=r"codes of up to .* exceed the range of float32"):
        model.transform(X)
    assert np.isfinite(model.transform(X.astype(np.float64))).all()


@pytest.mark.certificate
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_objective_of_exact_factors_has_no_rounding_noise(dtype, seed):
    rng = np.random.default_rng(seed)
    X = (rng.gamma(1.0, size=(40, 3)) @ rng.gamma(1.0, size=(3, 10))).astype(dtype)
    model = SparseNMF(3, penalty=None, tol=1e-9, max_iter=3000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    history = model.objective_history_
    assert history.min() >= 0
    assert (np.diff(history) <= 0).all()
    error = model.reconstruction_err_**2 / 2  # components have the data type of X
    assert_allclose(model.objective_, error, rtol=1e-6, atol=1e-24 * (X * X).sum())


@pytest.mark.invariance
def test_row_of_weight_zero_equals_no_row(seed):
    X = mixed(seed=seed)
    odd = np.vstack([X, np.full((1, X.shape[1]), 1e40)])
    weights = np.r_[np.ones(len(X)), 0.0]
    model = SparseNMF(3).fit(odd, sample_weight=weights)
    assert_allclose(model.components_, SparseNMF(3).fit(X).components_, rtol=1e-9)


@pytest.mark.edge
def test_sparse_codes_and_weights_of_scores(seed):
    X = mixed(seed=seed)
    model = SparseNMF(3).fit(X)
    codes = model.transform(X)
    assert_allclose(
        model.inverse_transform(sparse.csr_array(codes)), model.inverse_transform(codes)
    )
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.score(X, sample_weight=-np.ones(len(X)))


@pytest.mark.edge
def test_pipeline_is_tuned(seed):
    X, y = load_digits(return_X_y=True)
    X = X[:200]
    y = y[:200]
    pipeline = make_pipeline(SparseNMF(tol=1e-2), LogisticRegression(max_iter=2000))
    search = GridSearchCV(pipeline, {"sparsenmf__n_components": [2, 10]}, cv=3).fit(X, y)
    assert search.best_params_ == {"sparsenmf__n_components": 10}
    unsupervised = GridSearchCV(SparseNMF(tol=1e-2), {"alpha": [0.01, 100.0]}, cv=3).fit(X)
    assert unsupervised.best_params_ == {"alpha": 0.01}


# the penalty is zero


def counts_of_words(n, p, density, k, seed):
    """Sparse counts of k topics, with about the requested density."""
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.3, size=(n, k)) @ rng.gamma(0.3, size=(k, p))
    return sparse.csr_array(rng.poisson(density * means / means.mean()).astype(float))


@pytest.mark.invariance
@pytest.mark.parametrize("side", ["codes", "components", "both"])
@pytest.mark.parametrize("form", ["squared", "plain"])
@pytest.mark.parametrize("with_gaps", [False, True])
def test_weight_zero_equals_no_penalty(side, form, with_gaps, seed):
    """With a ridge on one factor alone the scale would run away."""
    X = mixed(60, 24, 4, seed)
    if with_gaps:
        X[np.random.default_rng(seed).uniform(size=X.shape) < 0.2] = np.nan
    zero = SparseNMF(4, alpha=0, side=side, form=form).fit(X)
    none = SparseNMF(4, penalty=None).fit(X)
    assert_array_equal(zero.components_, none.components_)
    assert zero.n_iter_ == none.n_iter_
    assert zero.ridge_ == none.ridge_
    assert (zero.ridge_ > 0) == with_gaps
    assert_array_equal(zero.transform(X), none.transform(X))


@pytest.mark.edge
def test_warns_about_a_ridge_with_weight_zero(seed):
    X = mixed(60, 24, 4, seed)
    with pytest.warns(UserWarning, match="has no minimum.*Set penalty=None"):
        SparseNMF(2, alpha=0, ridge=5.0, tol=0.1).fit(X)
    # a minimum exists if both factors have ridges, or if none has
    SparseNMF(2, alpha=0, ridge=0).fit(X)
    SparseNMF(2, alpha=0, ridge=5.0, side="both").fit(X)
    assert SparseNMF(2, penalty=None, ridge=5.0).fit(X).ridge_ == 5.0


@pytest.mark.recovery
def test_few_passes_without_penalty(seed):
    X = counts_of_words(1000, 400, 0.07, 10, seed)
    assert SparseNMF(10, alpha=0, tol=1e-5).fit(X).n_iter_ <= 60


@pytest.mark.edge
def test_passes_before_the_penalty_are_counted(seed):
    X = mixed(60, 24, 4, seed)
    model = SparseNMF(4).fit(X)
    assert len(model.objective_history_) < model.n_iter_ <= len(model.objective_history_) + 20
    none = SparseNMF(4, penalty=None).fit(X)
    assert len(none.objective_history_) == none.n_iter_
