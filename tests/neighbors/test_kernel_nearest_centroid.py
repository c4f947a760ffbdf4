"""Evidence that KernelNearestCentroid solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KernelDensity, NearestCentroid

from skmoderndata.kernels import Intersection
from skmoderndata.neighbors import KernelNearestCentroid


def classes(seed, n=90):
    X, y = make_blobs(n, 3, centers=3, cluster_std=3, random_state=seed)
    return X, np.array(["a", "b", "c"])[y]


@pytest.mark.oracle
def test_linear_kernel_is_nearest_centroid(seed):
    X, y = classes(seed)
    new = classes(seed + 1)[0]
    model = KernelNearestCentroid("linear").fit(X, y)
    primal = NearestCentroid().fit(X, y)
    assert_array_equal(model.predict(new), primal.predict(new))
    assert_allclose(model.dual_coef_.T @ X, primal.centroids_, atol=1e-10)
    distance = ((new[:, None] - primal.centroids_) ** 2).sum(axis=2)
    between = ((primal.centroids_[:, None] - primal.centroids_) ** 2).sum(axis=2)
    k = len(between)
    assert_allclose(model.margin_, between.sum() / 2 / (k * (k - 1)), rtol=1e-10)
    want = (distance.mean(axis=1, keepdims=True) - distance) / 2 / model.margin_
    assert_allclose(model.decision_function(new), want, atol=1e-8)


@pytest.mark.oracle
def test_scores_pair_by_pair(seed):
    X, y = classes(seed, n=30)
    w = np.random.default_rng(seed).uniform(0.1, 2, size=30)
    model = KernelNearestCentroid(gamma=0.1).fit(X, y, sample_weight=w)
    k = lambda a, b: np.exp(-0.1 * ((a - b) ** 2).sum())  # noqa: E731
    new = classes(seed + 1, n=5)[0]
    for x, scores in zip(new, model.decision_function(new), strict=True):
        wanted = []
        for label in "abc":
            i = np.flatnonzero(y == label)
            a = w[i] / w[i].sum()
            mean = sum(a[s] * k(X[i[s]], x) for s in range(len(i)))
            norm = sum(
                a[s] * a[t] * k(X[i[s]], X[i[t]]) for s in range(len(i)) for t in range(len(i))
            )
            wanted.append(mean - norm / 2)
        assert_allclose(
            scores * model.margin_, wanted - np.mean(wanted), rtol=1e-10, atol=1e-15
        )


@pytest.mark.oracle
def test_density_is_the_parzen_classifier(seed):
    X, y = classes(seed)
    new = classes(seed + 1)[0]
    model = KernelNearestCentroid(gamma=0.5, offset="density", priors="empirical").fit(X, y)
    log = [
        KernelDensity(bandwidth=1.0).fit(X[y == c]).score_samples(new)
        + np.log((y == c).mean())
        for c in "abc"
    ]
    # the reference is the normal density in three dimensions
    constant = 1.5 * np.log(2 * np.pi)
    want = np.exp(np.array(log).T + constant)
    scores = model.margin_ * model.decision_function(new)
    assert_allclose(scores, want - want.mean(axis=1, keepdims=True), rtol=1e-8, atol=1e-15)


@pytest.mark.invariance
@pytest.mark.parametrize("offset", ["distance", "density"])
def test_scores_are_about_one_at_the_means_whatever_the_kernel(offset, seed):
    for n in (600, 900):  # the unit comes from all samples, or from some of them
        X, y = classes(seed, n=n)
        X = X[y != "c"]
        y = y[y != "c"]
        for factor in (1e-6, 1.0, 1e6):
            K = factor * rbf_kernel(X, gamma=0.1)
            model = KernelNearestCentroid("precomputed", offset=offset).fit(K, y)
            scores = model.decision_function(K)
            between = scores[y == "b"].mean() - scores[y == "a"].mean()
            if n == 600:
                assert_allclose(between, 2, rtol=1e-9)
            assert 1.5 < between < 2.5

            again = np.random.default_rng(seed).permutation(len(y))
            other = KernelNearestCentroid("precomputed", offset=offset)
            other.fit(K[np.ix_(again, again)], y[again])
            assert_allclose(other.margin_, model.margin_, rtol=1e-9)


@pytest.mark.edge
def test_equal_means_have_scores_of_zero():
    model = KernelNearestCentroid("linear").fit([[1.0], [-1.0], [1.0], [-1.0]], [0, 0, 1, 1])
    assert model.margin_ == 1.0
    assert_array_equal(model.decision_function([[3.0]]), [0.0])


@pytest.mark.recovery
def test_core_inside_a_ring(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 150)
    angle = rng.uniform(0, 2 * np.pi, size=300)
    radius = np.where(y, 3.0, 1.0) + 0.2 * rng.normal(size=300)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    assert KernelNearestCentroid(gamma=1.0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.98
    assert NearestCentroid().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) < 0.75


@pytest.mark.invariance
def test_kernel_in_five_forms_and_blocks(seed):
    X, y = classes(seed)
    new = classes(seed + 1)[0]
    want = KernelNearestCentroid(gamma=0.125).fit(X, y).decision_function(new)
    K = rbf_kernel(X, gamma=0.125)
    K_new = rbf_kernel(new, X, gamma=0.125)
    named = KernelNearestCentroid(gamma=0.125)
    found = [
        KernelNearestCentroid(RBF(2.0)).fit(X, y).decision_function(new),
        KernelNearestCentroid(rbf_kernel, kernel_params={"gamma": 0.125})
        .fit(X, y)
        .decision_function(new),
        named.fit(sparse.csr_array(X), y).decision_function(sparse.csr_array(new)),
        KernelNearestCentroid("precomputed").fit(K, y).decision_function(K_new),
    ]
    with config_context(working_memory=0.005):
        found.append(named.fit(X, y).decision_function(new))
    for values in found:
        assert_allclose(values, want, rtol=1e-9, atol=1e-12)


@pytest.mark.invariance
def test_weights_are_copies(seed):
    X, y = classes(seed)
    w = np.random.default_rng(seed).integers(0, 3, size=90)
    copies = np.repeat(np.arange(90), w)
    for kernel, A, B in (("poly", X, X[copies]), ("precomputed", X @ X.T, None)):
        model = KernelNearestCentroid(kernel)
        weighted = model.fit(A, y, sample_weight=w).decision_function(A)
        if B is None:
            B = A[np.ix_(copies, copies)]
            A = A[:, copies]
        repeated = model.fit(B, y[copies]).decision_function(A)
        assert_allclose(weighted, repeated, rtol=1e-9)


@pytest.mark.edge
def test_sets_ties_and_messages():
    X = [{1, 2}, {1, 2, 3}, {7, 8}, {7, 8, 9}]
    model = KernelNearestCentroid(Intersection()).fit(X, ["b", "b", "a", "a"])
    assert_array_equal(model.predict([{1, 3}, {7, 9}]), ["b", "a"])
    X = np.array([[-1.0], [1.0]])
    # both classes are equally near
    assert KernelNearestCentroid().fit(X, [1, 0]).predict([[0.0]]) == [0]
    with pytest.raises(ValueError, match="at least two classes"):
        KernelNearestCentroid().fit(X, [1, 1])
    with pytest.raises(ValueError, match='priors="empirical" needs offset="density"'):
        KernelNearestCentroid(priors="empirical").fit(X, [0, 1])
    with pytest.raises(ValueError, match='need offset="density"'):
        KernelNearestCentroid(priors=[0.5, 0.5]).fit(X, [0, 1])
    with pytest.raises(ValueError, match="one positive probability for each of the 2"):
        KernelNearestCentroid(offset="density", priors=[1.0]).fit(X, [0, 1])
