"""Evidence that SparseRepresentationClassifier solves the problem it states."""

import tracemalloc
import warnings

import cvxpy as cp
import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsClassifier

from skmoderndata.sparse_coding import SparseRepresentationClassifier


def subspaces(seed, n_classes=4, n=60, p=30, dimension=4, noise=0.05):
    """Samples near linear subspaces, one for each class, at lengths of their own."""
    rng = np.random.default_rng(seed)
    bases = rng.normal(size=(n_classes, dimension, p))
    y = np.tile(np.arange(n_classes), -(-2 * n // n_classes))[: 2 * n]
    X = np.stack([rng.normal(size=dimension) @ bases[c] for c in y])
    X += noise * np.sqrt(dimension) * rng.normal(size=X.shape)
    X *= rng.uniform(0.2, 5, size=(2 * n, 1))
    return X[:n], y[:n], X[n:], y[n:]


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", ["lasso", "group_lasso"])
def test_decisions_are_residuals_of_the_stated_problem(algorithm, seed):
    X, y, new, _ = subspaces(seed, n_classes=3, n=18, p=10, dimension=2)
    model = SparseRepresentationClassifier(algorithm, alpha=0.2, tol=1e-10)
    decision = model.fit(X, y).decision_function(new[:4])
    D = unit(X)
    for x, row in zip(unit(new[:4]), decision, strict=True):
        a = cp.Variable(len(D))
        if algorithm == "lasso":
            penalty = cp.norm1(a)
            largest = np.abs(D @ x).max()
        else:
            groups = [np.flatnonzero(y == c) for c in range(3)]
            penalty = sum(np.sqrt(len(g)) * cp.norm2(a[g]) for g in groups)
            largest = max(np.linalg.norm(D[g] @ x) / np.sqrt(len(g)) for g in groups)
        loss = cp.sum_squares(x - a @ D) / 2
        cp.Problem(cp.Minimize(loss + 0.2 * largest * penalty)).solve(solver="CLARABEL")
        wanted = [-np.linalg.norm(x - a.value[y == c] @ D[y == c]) for c in range(3)]
        assert_allclose(
            row, wanted, atol=5e-4
        )  # the tolerance is the square root of the gap of the interior point method


@pytest.mark.oracle
@pytest.mark.parametrize("occlusion", [False, True])
def test_codes_within_a_bound_match_a_conic_solver(occlusion, seed):
    X, y, new, _ = subspaces(seed, n_classes=3, n=18, p=10, dimension=2)
    model = SparseRepresentationClassifier(
        residual_rtol=0.3, occlusion=occlusion, tol=1e-9
    ).fit(X, y)
    codes = model.encode(new[:4]).toarray()
    decision = model.decision_function(new[:4])
    D = np.concatenate([unit(X), np.eye(10)]) if occlusion else unit(X)
    for x, code, row in zip(unit(new[:4]), codes, decision, strict=True):
        a = cp.Variable(len(D))
        within = [cp.norm2(x - a @ D) <= 0.3]
        cp.Problem(cp.Minimize(cp.norm1(a)), within).solve(solver="CLARABEL")
        assert_allclose(np.abs(code).sum(), np.abs(a.value).sum(), rtol=1e-6)
        assert np.linalg.norm(x - code @ D) <= 0.3 * (1 + 1e-12)
        covered = x - code[18:] @ np.eye(10) if occlusion else x
        wanted = [
            -np.linalg.norm(covered - code[:18][y == c] @ D[:18][y == c]) for c in range(3)
        ]
        assert_allclose(row, wanted, atol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize("algorithm", ["lasso", "omp"])
def test_bounds_that_are_met_at_once_or_never(algorithm, seed):
    X, y, new, truth = subspaces(seed, n=24, p=30, noise=0.2)
    given = {"algorithm": algorithm, "n_nonzero_coefs": 24}
    loose = SparseRepresentationClassifier(**given, residual_rtol=0.999).fit(X, y)
    codes = loose.encode(new)
    D = unit(X)
    rest = np.linalg.norm(unit(new) - codes @ D, axis=1)

    if algorithm == "omp":
        assert (np.diff(codes.indptr) <= 1).all()
        assert (rest <= 0.999).all()
    else:
        assert_allclose(rest, 0.999, rtol=1e-9)

    # if the bound is below the distance from the span, the closest point is used
    tight = SparseRepresentationClassifier(**given, residual_rtol=1e-3).fit(X, y)
    codes = tight.encode(new).toarray()
    closest = np.linalg.lstsq(D.T, unit(new).T, rcond=None)[0].T
    rest = np.linalg.norm(unit(new) - codes @ D, axis=1)
    assert_allclose(rest, np.linalg.norm(unit(new) - closest @ D, axis=1), rtol=1e-6)

    right = SparseRepresentationClassifier(**given, residual_rtol=0.3).fit(X, y)
    assert right.score(new, truth) > 0.6
    by_kernel = SparseRepresentationClassifier(
        **given, residual_rtol=0.3, kernel="poly", degree=1, coef0=0, gamma=1.0
    )
    assert by_kernel.fit(X, y).score(new, truth) > 0.6

    with pytest.raises(ValueError, match="'group_lasso' does not accept residual_rtol"):
        SparseRepresentationClassifier("group_lasso", residual_rtol=0.3).fit(X, y)


@pytest.mark.edge
@pytest.mark.parametrize("algorithm", ["lasso", "group_lasso", "omp"])
def test_kernels_without_norms(algorithm):
    y = [0, 1, 0, 1]
    ones = np.ones((2, 4))
    model = SparseRepresentationClassifier(algorithm, kernel="precomputed")
    exchange = np.kron(np.eye(2), [[0.0, 1], [1, 0]])
    for K in (-np.eye(4), exchange):
        with pytest.raises(
            ValueError, match="kernel='precomputed' gives no sample a positive"
        ):
            model.fit(K, y)
    half = model.fit(np.diag([-1.0, -1, 1, 1]), y)  # the first two are treated as zero
    assert_array_equal(half.encode(ones[:1]).toarray()[0, :2], 0)
    assert_array_equal(half.predict([[9, 0, 0, 1], [0, 9, 1, 0]]), [1, 0])
    zero = model.fit(np.zeros((4, 4)), y)  # these samples are treated like zero samples
    assert_array_equal(zero.predict(ones), [0, 0])
    assert_array_equal(zero.concentration(ones), 0)
    assert zero.encode(ones).nnz == 0
    assert np.isfinite(zero.decision_function(ones)).all()
    rounded = np.ones((4, 4)) - np.diag([0, 0, 0, 1 + 1e-13])
    assert_array_equal(model.fit(rounded, y).predict(np.eye(4)[:1]), [0])


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", ["lasso", "omp"])
def test_a_kernel_is_the_product_of_its_features(algorithm, seed):
    """(x z)^2 is the inner product of all products of two features."""
    X, y, new, _ = subspaces(seed, n=40, p=5, dimension=2)

    def features(X):
        return np.einsum("ij,ik->ijk", X, X).reshape(len(X), -1)

    given = {"algorithm": algorithm, "n_nonzero_coefs": 4, "tol": 1e-10}
    direct = SparseRepresentationClassifier(**given).fit(features(X), y)
    by_name = SparseRepresentationClassifier(
        kernel="poly", degree=2, coef0=0, gamma=1.0, **given
    ).fit(X, y)
    K = (X @ X.T) ** 2
    K_new = (new @ X.T) ** 2
    precomputed = SparseRepresentationClassifier(kernel="precomputed", **given).fit(K, y)
    codes = direct.encode(features(new)).toarray()
    # the part outside the span changes the length of a sample, but not the shape of its code
    for found in (by_name.encode(new), precomputed.encode(K_new)):
        assert_allclose(unit(found.toarray()), unit(codes), atol=1e-4)
    assert_array_equal(precomputed.predict(K_new), by_name.predict(new))
    assert_array_equal(direct.predict(features(new)), by_name.predict(new))


@pytest.mark.certificate
@pytest.mark.parametrize("algorithm", ["lasso", "group_lasso"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_codes_meet_the_conditions_of_optimality(kernel, algorithm, seed):
    X, y, new, _ = subspaces(seed)
    model = SparseRepresentationClassifier(
        algorithm, alpha=0.3, kernel=kernel, gamma=0.01, tol=1e-9
    )
    codes = model.fit(X, y).encode(new).toarray()
    D = model.components_
    assert_allclose(np.linalg.norm(D, axis=1), 1, atol=1e-9)

    # compute coordinates of the samples in the span
    if kernel == "linear":
        Z = unit(new)
    else:
        squares = np.sum((new[:, None] - X) ** 2, axis=2)
        Z = unit(np.linalg.lstsq(D, np.exp(-0.01 * squares).T, rcond=None)[0].T)

    correlation = (Z - codes @ D) @ D.T
    # correlations with used atoms or groups equal the level, and all others are below it
    if algorithm == "lasso":
        level = 0.3 * np.abs(Z @ D.T).max(axis=1, keepdims=True)
        excess = np.abs(correlation) - level
        used = codes != 0
    else:
        norms, used = np.zeros((2, len(new), 4))
        for c in range(4):
            norms[:, c] = np.linalg.norm(correlation[:, y == c], axis=1)
            used[:, c] = np.abs(codes[:, y == c]).sum(axis=1) > 0
        sizes = np.sqrt(np.bincount(y))
        first = np.stack(
            [np.linalg.norm((Z @ D.T)[:, y == c], axis=1) for c in range(4)], axis=1
        )
        level = 0.3 * (first / sizes).max(axis=1, keepdims=True)
        excess = norms / sizes - level
        used = used > 0

    assert excess.max() < 1e-3  # the tolerance is the square root of the gap
    assert np.abs(excess[used]).max() < 1e-3


@pytest.mark.recovery
def test_separates_subspaces_if_neighbours_fail(seed):
    X, y, new, truth = subspaces(seed, n_classes=8, n=160, dimension=5)
    neighbours = KNeighborsClassifier(1).fit(X, y).score(new, truth)
    for algorithm in ("lasso", "omp"):
        score = SparseRepresentationClassifier(algorithm).fit(X, y).score(new, truth)
        assert score > 0.95
        assert score > neighbours + 0.1


@pytest.mark.recovery
def test_covered_features_are_excluded(seed):
    rng = np.random.default_rng(seed)
    X, y, new, truth = subspaces(seed, n=80, p=60, noise=0.01)
    new = unit(new)
    covered = new.copy()
    for row in covered:
        row[rng.choice(60, 12, replace=False)] = rng.normal(size=12)
    plain = SparseRepresentationClassifier().fit(X, y)
    aware = SparseRepresentationClassifier(occlusion=True).fit(X, y)
    assert plain.score(new, truth) > 0.98
    assert aware.score(covered, truth) > 0.9
    assert aware.score(covered, truth) > plain.score(covered, truth)
    assert aware.encode(covered).shape == (80, 140)


@pytest.mark.recovery
@pytest.mark.parametrize("algorithm", ["lasso", "omp"])
def test_classes_with_many_huge_features(algorithm, seed):
    X, y, new, truth = subspaces(seed, n=80, p=60)
    rng = np.random.default_rng(seed)
    huge = unit(new) * np.sqrt(60)
    for row in huge:
        row[rng.choice(60, 6, replace=False)] += 1e6 * rng.normal(size=6)
    model = SparseRepresentationClassifier(
        algorithm, occlusion=True, residual_rtol=0.2, n_nonzero_coefs=20
    ).fit(X, y)
    assert model.score(new, truth) == 1
    assert model.score(huge, truth) > 0.85


@pytest.mark.certificate
@pytest.mark.parametrize("given", [{}, {"residual_rtol": 0.1}, {"algorithm": "omp"}])
def test_codes_of_huge_features_change_nothing_else(given, seed):
    """The single feature takes what its cell has more; sample and code still agree."""
    X, y, new, _ = subspaces(seed, n=80, p=60)
    model = SparseRepresentationClassifier(**given, occlusion=True, tol=1e-10).fit(X, y)
    new[:, 3] = 1e3 * np.abs(new).max()
    code = model.encode(new).toarray()
    more = new.copy()
    more[:, 3] *= 1e3
    other = model.encode(more).toarray()

    changed = np.flatnonzero(np.abs(other - code).max(axis=0) > 1e-6)
    assert_array_equal(changed, [80 + 3])
    norms = more[:, 3] / other[:, 83]
    rest = np.linalg.norm(np.delete(more, 3, axis=1), axis=1)
    assert_allclose(norms, rest, rtol=0.05)


@pytest.mark.recovery
def test_concentration_detects_strangers(seed):
    X, y, new, _ = subspaces(seed, n=120, noise=0.01)
    model = SparseRepresentationClassifier().fit(X, y)
    strangers = np.random.default_rng(seed).normal(size=new.shape)
    own = model.concentration(new)
    other = model.concentration(strangers)
    assert np.median(own) > 0.7 > 0.5 > np.median(other)
    assert ((own >= 0) & (own <= 1 + 1e-12)).all()


@pytest.mark.invariance
def test_scale_order_format_threads_memory_and_precision(seed):
    X, y, new, _ = subspaces(seed)
    rng = np.random.default_rng(seed)
    model = SparseRepresentationClassifier(tol=1e-10).fit(X, y)
    decision = model.decision_function(new)

    longer = SparseRepresentationClassifier(tol=1e-10)
    longer.fit(X * rng.uniform(0.1, 10, size=(len(X), 1)), y)
    assert_allclose(longer.decision_function(1e-30 * new), decision, atol=1e-6)

    order = rng.permutation(len(X))
    shuffled = SparseRepresentationClassifier(tol=1e-10).fit(X[order], y[order])
    assert_allclose(shuffled.decision_function(new), decision, atol=1e-6)
    assert_allclose(
        shuffled.encode(new).toarray(), model.encode(new).toarray()[:, order], atol=1e-5
    )

    by_sparse = SparseRepresentationClassifier(tol=1e-10).fit(sparse.csr_array(X), y)
    found = by_sparse.predict(sparse.csr_array(new))
    assert np.mean(found == model.predict(new)) > 0.98  # the span is the whole space
    names = np.array(["d", "c", "b", "a"])[y]
    named = SparseRepresentationClassifier(n_jobs=2).fit(X, names)
    assert_array_equal(named.predict(new), np.array(["d", "c", "b", "a"])[model.predict(new)])

    with sklearn.config_context(working_memory=0.08):
        assert_allclose(model.decision_function(new), decision, atol=1e-12)

    single = SparseRepresentationClassifier(tol=1e-10).fit(X.astype(np.float32), y)
    assert_allclose(single.decision_function(new.astype(np.float32)), decision, atol=1e-5)
    as_object = SparseRepresentationClassifier(kernel=RBF(10.0)).fit(X, y)
    as_name = SparseRepresentationClassifier(kernel="rbf", gamma=0.005).fit(X, y)
    assert_allclose(
        as_object.decision_function(new), as_name.decision_function(new), atol=1e-6
    )


@pytest.mark.edge
def test_edge_cases(seed):
    X, y, new, _ = subspaces(seed, n_classes=2)

    for rule in ("residual", "energy"):
        for kernel in ("linear", "rbf"):
            model = SparseRepresentationClassifier(rule=rule, kernel=kernel).fit(X, y)
            assert model.predict(np.zeros((1, 30)))[0] in (0, 1)
            assert np.isfinite(model.decision_function(np.zeros((1, 30)))).all()
        assert_array_equal(model.decision_function(new) > 0, model.predict(new) == 1)

    # the sample is orthogonal to all training samples
    apart = SparseRepresentationClassifier().fit(np.eye(4)[:3], [0, 1, 1])
    assert_array_equal(apart.predict(np.eye(4)[3:]), [0])
    assert_allclose(apart.concentration(np.eye(4)[3:]), 0)

    zeros = X.copy()
    zeros[:3] = 0
    zeros[4] = zeros[8]  # this sample equals another sample of the same class
    model = SparseRepresentationClassifier().fit(zeros, y)
    codes = model.encode(new).toarray()
    assert_array_equal(codes[:, [0, 1, 2, 8]], 0)
    assert np.isfinite(model.decision_function(new)).all()

    with pytest.raises(ValueError, match="at least two classes, but y has 1 class"):
        model.fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="occlusion=True needs dense samples"):
        SparseRepresentationClassifier(occlusion=True, kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="needs the square matrix"):
        SparseRepresentationClassifier(kernel="precomputed").fit(X, y)

    # there are four classes, all of which take part; one sweep over them is not enough
    X, y, new, _ = subspaces(seed)
    hasty = SparseRepresentationClassifier("group_lasso", alpha=0.01, max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="increase max_iter, tol or alpha"):
        hasty.fit(X, y).predict(new)
    with pytest.raises(ValueError, match="values that are not finite on these samples"):
        SparseRepresentationClassifier(kernel="poly", degree=9, gamma=1.0).fit(1e90 * X, y)


@pytest.mark.edge
@pytest.mark.parametrize("algorithm", ["lasso", "group_lasso"])
def test_codes_of_single_features_alone_go_to_the_nearest_class(algorithm):
    """A sample equal to one feature is represented by it; the best match gives the class."""
    D = np.eye(4)[:3] + 0.3
    model = SparseRepresentationClassifier(algorithm, occlusion=True, alpha=0.9).fit(
        D, [0, 1, 2]
    )
    new = np.eye(4)[[2, 1, 0]]
    assert (model.encode(new)[:, :3].toarray() == 0).all()
    assert_array_equal(model.predict(new), [2, 1, 0])


@pytest.mark.invariance
@pytest.mark.parametrize("algorithm", ["lasso", "group_lasso", "omp"])
def test_lengths_from_tiny_to_huge(algorithm, seed):
    X, y, new, _ = subspaces(seed)
    model = SparseRepresentationClassifier(algorithm).fit(X, y)
    decision = model.decision_function(new)
    for scale in (1e-90, 1e90):
        scaled = SparseRepresentationClassifier(algorithm).fit(scale * X, y)
        assert_allclose(scaled.decision_function(scale * new), decision, atol=1e-9)


@pytest.mark.parametrize("algorithm", ["lasso", "omp"])
def test_no_matrix_of_all_pairs_of_samples(algorithm, seed):
    """At 30,000 rows it would take 7.2 GB; the allocated memory stays below fifty tables."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(3, 12))
    y = rng.integers(3, size=30_000)
    X = centers[y] + 0.2 * rng.normal(size=(len(y), 12))
    model = SparseRepresentationClassifier(algorithm, n_nonzero_coefs=3)
    tracemalloc.start()
    model.fit(X, y)
    labels = model.predict(X[:20])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * X.nbytes
    assert_array_equal(labels, y[:20])


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_full_rank_gives_the_exact_decisions(kernel, seed):
    X, y = load_iris(return_X_y=True)
    exact = SparseRepresentationClassifier(kernel=kernel).fit(X[::2], y[::2])
    factored = SparseRepresentationClassifier(kernel=kernel, max_rank=75).fit(X[::2], y[::2])
    # both omit directions at the level of rounding errors, and codes have a gap of 1e-4
    assert_allclose(
        factored.decision_function(X[1::2]), exact.decision_function(X[1::2]), atol=0.01
    )
    assert factored.components_.shape[1] <= 75


@pytest.mark.edge
def test_low_rank_beyond_the_memory_warns():
    X, y = load_iris(return_X_y=True)
    with config_context(working_memory=0.08):
        with pytest.warns(UserWarning, match="in the span of"):
            model = SparseRepresentationClassifier(kernel="rbf", gamma=10.0).fit(X, y)
        assert model.score(X, y) > 0.8


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "few"),
    [
        ({}, 10),
        ({"algorithm": "omp", "n_nonzero_coefs": 4}, 4),
        ({"algorithm": "group_lasso"}, 10),
    ],
)
def test_few_columns_warn(settings, few):
    X = np.random.default_rng(0).normal(size=(40, few + 1))
    y = (X[:, 0] > 0).astype(int)
    model = SparseRepresentationClassifier(**settings)
    for rows in (X[:, 1:], sparse.csr_array(X[:, 1:])):
        with pytest.warns(UserWarning, match=rf"X has {few} columns.* at least 20 columns"):
            model.fit(rows, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
        model.fit(sparse.csr_array(X)[:6], y[:6])  # fit few rows with many columns
        model.set_params(kernel="rbf").fit(X[:, 1:], y)
