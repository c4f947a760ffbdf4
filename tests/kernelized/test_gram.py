"""Evidence that the `kernel` parameter means the same for every estimator."""

import tracemalloc
from inspect import signature

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from skmoderndata import all_estimators
from skmoderndata._kernelized.expansion import KernelRows
from skmoderndata._kernelized.gram import KERNEL_NAMES, resolve_kernel, variance_of_entries
from skmoderndata._samples.containers import row_blocks

NAMES = sorted(KERNEL_NAMES - {"precomputed"})


def samples(seed, n=7, p=3):
    # chi2 requires non-negative numbers
    return np.random.default_rng(seed).uniform(0.1, 1, size=(n, p))


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_named_kernels_match_scikit_learn(name, seed):
    X = samples(seed)
    Y = samples(seed + 1, n=4)
    gram = resolve_kernel(name, X)
    assert_allclose(gram(X, Y), pairwise_kernels(X, Y, metric=name), rtol=1e-14)
    assert_allclose(gram.diag(X), np.diag(PAIRWISE_KERNEL_FUNCTIONS[name](X)), atol=1e-14)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "cosine"])
def test_sparse_samples_give_the_same_matrix(name, seed):
    X = samples(seed) * (samples(seed + 1) > 0.5)
    dense = resolve_kernel(name, X, gamma="scale")
    rows = sparse.csr_array(X)
    thin = resolve_kernel(name, rows, gamma="scale")
    assert thin.params == pytest.approx(dense.params)
    assert_allclose(thin(rows), dense(X), rtol=1e-12)
    assert_allclose(thin.diag(rows), dense.diag(X), rtol=1e-12)


@pytest.mark.oracle
def test_variance_of_all_entries(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 7)) * (rng.random((300, 7)) < 0.3)
    times = rng.integers(0, 4, size=300)
    for shift in (0.0, 1e7):  # the digits of a large mean are not lost by cancellation
        assert variance_of_entries(X + shift) == pytest.approx(X.var(), rel=1e-7)
    rows = sparse.csr_array(X)
    assert variance_of_entries(rows) == pytest.approx(X.var(), rel=1e-12)
    assert variance_of_entries(rows.tocsc()) == pytest.approx(X.var(), rel=1e-12)
    twice = sparse.csr_array((np.ones(2), np.zeros(2, dtype=int), [0, 2, 2]), shape=(2, 2))
    assert variance_of_entries(twice) == pytest.approx(twice.toarray().var())
    repeated = np.repeat(X, times, axis=0).var()
    assert variance_of_entries(X, times) == pytest.approx(repeated, rel=1e-12)
    assert variance_of_entries(rows, times) == pytest.approx(repeated, rel=1e-12)
    assert variance_of_entries(np.full((50, 3), 0.1)) == 0


@pytest.mark.edge
def test_variance_takes_no_memory_of_the_size_of_the_table():
    X = np.ones((40_000, 50), dtype=np.float32)
    tracemalloc.start()
    resolve_kernel("rbf", X, gamma="scale")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.size * 8
    with pytest.raises(ValueError, match="rescale X"), np.errstate(over="ignore"):
        resolve_kernel("rbf", np.array([[1e200], [-1e200]]), gamma="scale")


@pytest.mark.oracle
@pytest.mark.parametrize(
    "kernel", [RBF(0.5), ConstantKernel(2.0) * RBF(0.3) + WhiteKernel(0.1), DotProduct(0.2)]
)
def test_objects_and_functions(kernel, seed):
    X = samples(seed)
    Y = samples(seed + 1, n=4)
    gram = resolve_kernel(kernel, X)
    assert gram.kernel is not kernel
    assert_array_equal(gram(X, Y), kernel(X, Y))
    assert_array_equal(gram(X), kernel(X))
    assert_array_equal(gram.diag(X), kernel.diag(X))
    function = resolve_kernel(
        lambda A, B, power: (A @ B.T) ** power, X, kernel_params={"power": 2}
    )
    assert_allclose(function(X, Y), (X @ Y.T) ** 2)
    assert_allclose(function.diag(X), (X**2).sum(axis=1) ** 2)


@pytest.mark.invariance
def test_a_precomputed_matrix_takes_the_place_of_its_samples(seed):
    X = samples(seed)
    K = X @ X.T
    kept = [4, 1]
    gram = resolve_kernel("precomputed", K)
    direct = resolve_kernel("linear", X)
    assert_allclose(gram(K, gram.subset(K, kept)), direct(X, direct.subset(X, kept)))
    assert_allclose(gram(K[2:4], gram.subset(K, kept)), X[2:4] @ X[kept].T)
    assert_allclose(gram.diag(K), direct.diag(X))


@pytest.mark.invariance
def test_blocks_cover_the_matrix_within_the_memory_limit(seed):
    X = samples(seed, n=50)
    gram = resolve_kernel("rbf", X, gamma="scale")
    with sklearn.config_context(working_memory=1e-3):
        blocks = list(gram.blocks(X, X))
    assert max(K.nbytes for _, K in blocks) <= 1e-3 * 2**20
    assert_allclose(np.vstack([K for _, K in blocks]), gram(X), rtol=1e-14)
    assert [s.start for s, _ in blocks] == list(range(0, 50, blocks[0][0].stop))
    assert list(row_blocks(0, 8)) == []


def test_samples_that_are_not_vectors():
    words = ["cat", "car", "bar"]

    def shared(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A])

    gram = resolve_kernel(shared, words)
    assert_array_equal(gram(words), [[3, 2, 1], [2, 3, 2], [1, 2, 3]])
    assert_array_equal(gram.diag(words), [3, 3, 3])
    assert gram.subset(words, [2, 0]) == ["bar", "cat"]
    assert_array_equal(gram(words, gram.subset(words, [2, 0])), [[1, 3], [2, 2], [3, 1]])


@pytest.mark.edge
def test_scale_of_a_constant_table_is_one():
    assert resolve_kernel("rbf", np.ones((3, 2)), gamma="scale").params["gamma"] == 1.0


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            r"square matrix .* shape \(7, 3\)",
            lambda X, K: resolve_kernel("precomputed", X),
        ),
        (
            r"\['width'\], which are not parameters of kernel='rbf'",
            lambda X, K: resolve_kernel("rbf", X, kernel_params={"width": 1}),
        ),
        (
            "cannot be used with the kernel object",
            lambda X, K: resolve_kernel(RBF(), X, kernel_params={"length_scale": 1}),
        ),
        (
            r"shape \(7,\) for 7 and 7 samples",
            lambda X, K: resolve_kernel(lambda A, B: np.ones(len(A)), X)(X),
        ),
        (
            "values of new samples with themselves",
            lambda X, K: resolve_kernel("precomputed", K).diag(K[:2]),
        ),
    ],
)
def test_errors_name_the_remedy(message, call):
    X = samples(0)
    K = X @ X.T
    with pytest.raises(ValueError, match=message):
        call(X, K)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "params", "shift", "message"),
    [
        ("poly", {"degree": 0.5}, 0, "needs degree >= 1"),
        ("laplacian", {"gamma": 0.0}, 0, "needs gamma > 0"),
        ("chi2", {"gamma": 0.0}, 0, "needs gamma > 0"),
        ("chi2", {}, -1, "negative entries"),
        ("additive_chi2", {}, -1, "negative entries"),
    ],
)
def test_fit_rejects_samples_that_the_kernel_rejects(kernel, params, shift, message):
    with pytest.raises(ValueError, match=message):
        resolve_kernel(kernel, samples(0) + shift, **params)


@pytest.mark.edge
def test_values_out_of_range_name_kernel_and_remedy():
    X = 1e60 * samples(0)
    gram = resolve_kernel("poly", X, gamma=1.0, degree=6)
    for call in (gram, gram.diag):
        with pytest.raises(
            ValueError, match=r"kernel='poly' returned values that are not finite"
        ):
            call(X)
    expansion = KernelRows(gram, X).expansion(np.arange(3), np.ones(3))
    for evaluate in (expansion.values, expansion.kernel):
        with pytest.raises(ValueError, match="rescale the samples or change the parameters"):
            evaluate(X)
    with pytest.raises(ValueError, match="returned complex numbers"):
        resolve_kernel(lambda A, B: A @ B.T * 1j, X)(X)


@pytest.mark.edge
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_useless_bandwidth_is_reported(kernel, make, seed):
    X = make(samples(seed, n=50))
    with pytest.warns(UserWarning, match="makes all samples alike"):
        resolve_kernel(kernel, X, gamma=1e-9)
    with pytest.warns(UserWarning, match="makes all samples dissimilar"):
        resolve_kernel(kernel, X, gamma=1e5)
    resolve_kernel(kernel, X, gamma="scale")
    resolve_kernel(kernel, make(np.ones((50, 3))), gamma=1.0)
    pairs = make(np.repeat(samples(seed, n=25), 2, axis=0))
    resolve_kernel(kernel, pairs, gamma=1e5)  # each sample is similar to one other sample


@pytest.mark.edge
def test_kept_samples_are_copies(seed):
    X = samples(seed)
    gram = resolve_kernel("rbf", X)
    for indices in (slice(None), slice(2, 5), np.arange(7)):
        assert not np.shares_memory(gram.subset(X, indices), X)


@pytest.mark.parametrize(
    "estimator",
    [cls for cls in all_estimators() if {"kernel", "gamma"} <= set(signature(cls).parameters)],
    ids=lambda cls: cls.__name__,
)
def test_the_default_width_follows_the_variance_of_the_data(estimator):
    assert signature(estimator).parameters["gamma"].default == "scale"
