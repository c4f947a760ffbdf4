"""Evidence that values of kernel expansions match full kernel matrices."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from skmoderndata._kernelized import expansion as _expansion
from skmoderndata._kernelized.expansion import (
    Expansion,
    KernelRows,
    largest_diagonal,
    scale_gamma,
    surely_psd,
)
from skmoderndata._kernelized.gram import resolve_kernel
from skmoderndata.svm import CoreVectorMachine, MinimumEnclosingBall

NAMED = {
    "linear": {},
    "poly": {"gamma": 0.5, "coef0": 1.0, "degree": 2.5},
    "rbf": {"gamma": 0.7},
    "laplacian": {"gamma": 0.7},
    "sigmoid": {"gamma": 0.1, "coef0": 0.2},
    "cosine": {},
}


def data(seed, n=60, p=3):
    return np.random.default_rng(seed).uniform(0.1, 2, size=(n, p))


def small_chunks(monkeypatch):
    """Let threads and chunks take part at a size that a test can have."""
    monkeypatch.setattr(_expansion, "CHUNK_ROWS", 7)
    monkeypatch.setattr(_expansion, "WORTH_THREADS", 0)


@pytest.mark.oracle
@pytest.mark.parametrize("columns", [None, 2])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", NAMED)
def test_values_match_the_kernel_matrix(name, make, columns, seed, monkeypatch):
    small_chunks(monkeypatch)
    X = data(seed)
    rng = np.random.default_rng(seed)
    coef = rng.normal(size=20 if columns is None else (20, columns))
    chosen = rng.permutation(60)[:20]
    expected = pairwise_kernels(X, X[chosen], metric=name, **NAMED[name]) @ coef

    given = make(X)
    expansion = KernelRows(resolve_kernel(name, given, **NAMED[name]), given).expansion(
        chosen, coef
    )
    assert_allclose(expansion.values(given), expected, rtol=1e-11, atol=1e-12)

    # select rows by number and by slice
    rows = rng.permutation(60)[:33]
    assert_allclose(expansion.values(given, rows), expected[rows], rtol=1e-11, atol=1e-12)
    part = slice(3, 48)
    assert_allclose(expansion.values(given, part), expected[part], rtol=1e-11, atol=1e-12)
    assert_allclose(
        expansion.values(given, slice(3, 48, 4)), expected[3:48:4], rtol=1e-11, atol=1e-12
    )

    rough = expansion.values(given, exact=False)
    assert_allclose(rough, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.invariance
def test_threads_do_not_change_a_bit(seed, monkeypatch):
    small_chunks(monkeypatch)
    X = data(seed)
    rows = KernelRows(resolve_kernel("rbf", X, gamma=1.0), X)
    expansion = rows.expansion(np.arange(10), np.ones(10))
    alone = expansion.values(X, exact=False)
    assert_array_equal(expansion.values(X, exact=False, n_jobs=3), alone)


@pytest.mark.invariance
def test_score_is_the_same_under_any_backend(seed, monkeypatch):
    """Threads write into one array, so that processes must not take their place."""
    X = data(seed, n=400)
    y = (X[:, 0] > X[:, 1]).astype(int)
    model = CoreVectorMachine(C=10.0).fit(X, y)
    small_chunks(monkeypatch)
    expected = model.decision_function(X)
    parallel = model.set_params(n_jobs=2)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend):
            assert_array_equal(parallel.decision_function(X), expected)
            assert parallel.score(X, y) > 0.9


@pytest.mark.edge
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("gamma", [1e-16, 1.0, 1e4])
def test_gaussian_values_of_large_numbers_hold_their_digits(make, gamma, seed):
    """Data of size 1e8, some rows a small step apart, against differences row by row."""
    rng = np.random.default_rng(seed)
    few = 1e8 * rng.normal(size=(12, 5))
    X = np.r_[few, few + rng.normal(size=(12, 5)) / np.sqrt(gamma) / 3, 1e-3 * few[:3]]
    expected = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))

    given = make(X)
    gram = resolve_kernel("rbf", given, gamma=gamma)
    assert_array_equal(gram(given).diagonal(), 1.0)

    everything = np.arange(len(X))
    rows = KernelRows(gram, given)
    found = {
        "gram": gram(given),
        "pairs": gram(given, given[everything]),
        "rows": rows.matrix(everything, everything),
        "values": rows.values(rows.expansion(everything, np.eye(len(X))), slice(None)),
        "rough": rows.values(
            rows.expansion(everything, np.eye(len(X))), slice(None), exact=False
        ),
    }

    if make is np.asarray:
        # tables with many features are computed differently
        wide = np.hstack([X, np.zeros((len(X), 70))])
        for name, table in {"writer": X, "wide writer": wide}.items():
            write = resolve_kernel("rbf", table, gamma=gamma).writer(table)
            found[name] = write(everything, slice(None), np.empty((len(X), len(X))))

    for name, K in found.items():
        assert_allclose(K, expected, atol=1e-5 if name == "rough" else 1e-11, err_msg=name)


@pytest.mark.invariance
def test_far_from_the_origin(seed):
    """Squared distances do not cancel: data are centred first."""
    X = data(seed) + 1e6
    rows = KernelRows(resolve_kernel("rbf", X, gamma=0.7), X)
    assert_allclose(
        rows.matrix(np.arange(60), np.arange(60)), rbf_kernel(X - 1e6, gamma=0.7), atol=1e-8
    )


@pytest.mark.certificate
def test_kernel_values_are_counted(seed):
    X = data(seed)
    rows = KernelRows(resolve_kernel("rbf", X, gamma=1.0), X)
    rows.matrix(np.arange(4), np.arange(6))
    rows.values(rows.expansion(np.arange(5), np.ones(5)), slice(0, 7))
    assert rows.n_evaluations == 4 * 6 + 5 * 7


@pytest.mark.edge
def test_empty_sets_have_values(seed):
    X = data(seed)
    rows = KernelRows(resolve_kernel("rbf", X, gamma=1.0), X)
    none = np.zeros(0, int)
    assert rows.matrix(none, np.arange(3)).shape == (0, 3)
    assert_array_equal(
        rows.values(rows.expansion(none, np.zeros(0)), slice(0, 4)), np.zeros(4)
    )


@pytest.mark.oracle
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_gamma_by_variance(make, weighted, seed):
    X = data(seed)
    counts = np.random.default_rng(seed).integers(0, 3, 60) if weighted else np.ones(60, int)
    expected = 1 / (3 * X.repeat(counts, axis=0).var())
    found = scale_gamma("scale", "rbf", make(X), counts if weighted else None)
    assert_allclose(found, expected, rtol=1e-12)
    assert scale_gamma("scale", "rbf", np.ones((5, 2))) == 1.0
    assert scale_gamma(0.3, "rbf", X) == 0.3
    with pytest.raises(ValueError, match="rescale X"):
        scale_gamma("scale", "rbf", np.array([[1e200], [-1e200]]))


@pytest.mark.oracle
def test_largest_diagonal_and_definiteness(seed):
    X = data(seed)
    for name, params in NAMED.items():
        gram = resolve_kernel(name, X, **params)
        diagonal = pairwise_kernels(X, metric=name, **params).diagonal()
        assert_allclose(largest_diagonal(KernelRows(gram, X)), diagonal.max(), rtol=1e-12)
        # the degree is fractional
        assert surely_psd(gram) == (name not in ("sigmoid", "poly"))
    assert surely_psd(resolve_kernel("poly", X, degree=2, coef0=1, gamma=1.0))
    assert not surely_psd(resolve_kernel("poly", X, degree=3, coef0=-1, gamma=1.0))
    assert not surely_psd(resolve_kernel(lambda a, b: a @ b.T, X))
    K = X @ X.T
    assert_allclose(
        largest_diagonal(KernelRows(resolve_kernel("precomputed", K), K)), K.diagonal().max()
    )


# the mixin of estimators with a kernel


@pytest.mark.edge
def test_tags_describe_input_of_kernels():
    def tags(kernel):
        return CoreVectorMachine(kernel=kernel).__sklearn_tags__().input_tags

    assert tags("rbf").sparse
    assert not tags("rbf").pairwise
    assert tags("precomputed").pairwise
    assert not tags("precomputed").sparse
    assert not tags("chi2").sparse
    assert not tags(RBF()).sparse
    assert tags(RBF()).two_d_array


@pytest.mark.edge
def test_samples_are_checked_by_the_kernel(seed):
    X = data(seed)
    y = np.arange(60) % 2
    with pytest.raises(ValueError, match="NaN"):
        CoreVectorMachine().fit(np.where(X > 1.9, np.nan, X), y)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        CoreVectorMachine(kernel="precomputed").fit(sparse.csr_array(X @ X.T), y)
    with pytest.raises(ValueError, match=r"square|60"):
        CoreVectorMachine(kernel="precomputed").fit(X, y)
    single = CoreVectorMachine(gamma=1.0).fit(X.astype(np.float32), y)
    assert single.support_vectors_.dtype == np.float32
    assert isinstance(
        KernelRows(resolve_kernel(RBF(), X), X).expansion(np.arange(3), np.ones(3)), Expansion
    )


@pytest.mark.certificate
@pytest.mark.parametrize("algorithm", ["exact", "sampling"])
def test_ball_of_unit_vectors(algorithm, seed):
    """With rows of size 1e8 the samples are orthogonal unit vectors in feature space."""
    X = 1e8 * data(seed)
    with pytest.warns(UserWarning, match="makes all samples dissimilar"):
        ball = MinimumEnclosingBall(kernel="rbf", gamma=None, algorithm=algorithm).fit(X)
    assert_allclose(ball.radius_, np.sqrt(1 - 1 / 60), rtol=1e-4)
