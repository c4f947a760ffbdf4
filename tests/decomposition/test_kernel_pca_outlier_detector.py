"""Evidence that KernelPCAOutlierDetector solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA, KernelPCA
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from skmoderndata.decomposition import KernelPCAOutlierDetector
from skmoderndata.kernels import Intersection


def rows(seed, n=60, p=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 2


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_linear_kernel_is_the_error_of_pca(seed, solver):
    X = rows(seed)
    new = rows(seed + 1)
    model = KernelPCAOutlierDetector(2, kernel="linear", solver=solver).fit(X)
    pca = PCA(2).fit(X)
    error = ((new - pca.inverse_transform(pca.transform(new))) ** 2).sum(axis=1)
    assert_allclose(-model.score_samples(new), error, atol=1e-8)
    assert_allclose(model.eigenvalues_, pca.explained_variance_ * 59 / 60, rtol=1e-8)
    assert_allclose(
        model.explained_variance_ratio_, pca.explained_variance_ratio_.sum(), rtol=1e-8
    )


@pytest.mark.oracle
def test_scores_match_kernel_pca(seed):
    X = rows(seed)
    new = rows(seed + 1)
    model = KernelPCAOutlierDetector(4, gamma=0.05).fit(X)
    pca = KernelPCA(4, kernel="rbf", gamma=0.05).fit(X)
    K = rbf_kernel(X, gamma=0.05)
    K_new = rbf_kernel(new, X, gamma=0.05)
    centred = 1 - 2 * K_new.mean(axis=1) + K.mean()
    error = centred - (pca.transform(new) ** 2).sum(axis=1)
    assert_allclose(-model.score_samples(new), error, atol=1e-8)
    assert_allclose(model.eigenvalues_ * 60, pca.eigenvalues_, rtol=1e-8)


@pytest.mark.certificate
def test_no_subspace_has_a_smaller_residual(seed):
    X = rows(seed)
    K = rbf_kernel(X, gamma=0.05)
    model = KernelPCAOutlierDetector(4, gamma=0.05, contamination="auto").fit(X)
    assert_allclose(model.mean_residual_, -model.score_samples(X).mean(), rtol=1e-8)
    centred = K - K.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    assert_allclose(
        model.mean_residual_, np.linalg.eigvalsh(centred)[:-4].sum() / 60, rtol=1e-8
    )
    rng = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(centred)
    Z = vectors * np.sqrt(np.maximum(values, 0))
    for _ in range(20):  # compare other subspaces, near the best one and elsewhere
        near = np.linalg.qr(np.eye(60)[:, -4:] + 0.1 * rng.normal(size=(60, 4)))[0]
        left = ((Z - Z @ near @ near.T) ** 2).sum() / 60
        assert left >= model.mean_residual_


@pytest.mark.certificate
def test_low_rank_residuals_bound_the_exact_ones(seed):
    X = rows(seed)
    exact = KernelPCAOutlierDetector(4, gamma=0.05).fit(X)
    left = [
        KernelPCAOutlierDetector(4, gamma=0.05, solver="low_rank", max_rank=rank)
        .fit(X)
        .mean_residual_
        for rank in (6, 12, 25, 60)
    ]
    assert (np.array(left) >= exact.mean_residual_ - 1e-12).all()
    assert (np.diff(left) <= 1e-10).all()
    assert_allclose(left[-1], exact.mean_residual_, rtol=1e-8)


@pytest.mark.recovery
def test_points_off_a_curve(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=250)
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.03 * rng.normal(size=(250, 2))
    inside = rng.uniform(-0.6, 0.6, size=(60, 2))
    model = KernelPCAOutlierDetector(10, gamma=1.0, contamination="auto").fit(X[:200])
    values = model.decision_function(np.r_[X[200:], inside])
    assert roc_auc_score(np.arange(110) < 50, values) > 0.99
    assert (model.predict(X[:200]) == 1).all()


def sources():
    """Tables with two thirds training samples."""
    cancer, benign = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    return {
        "breast cancer, benign": scale(cancer[benign == 1]),
        "wine": scale(load_wine().data),
        "normal, 5 features": rng.normal(size=(400, 5)),
        "normal, 20 features": rng.normal(size=(300, 20)),
    }


@pytest.mark.recovery
@pytest.mark.parametrize("settings", [{}, {"solver": "low_rank"}, {"n_components": 5}])
@pytest.mark.parametrize("source", sources())
def test_contamination_is_the_rate_among_new_samples(source, settings, seed):
    """Residuals of the training samples would call .2 to all of the new ones novel."""
    X = sources()[source]
    rates = []
    rng = np.random.default_rng(seed)
    for _ in range(8):
        X = rng.permutation(X)
        n = 2 * len(X) // 3
        model = KernelPCAOutlierDetector(**settings).fit(X[:n])
        rates.append(np.mean(model.predict(X[n:]) == -1))
    assert 0.05 <= np.mean(rates) <= 0.17


@pytest.mark.certificate
def test_offset_is_a_quantile_of_held_out_residuals(seed):
    """Fold by fold, with another detector fitted to the others."""
    X = rows(seed, n=50)
    settings = {"n_components": 3, "gamma": 0.05, "contamination": 0.2}
    model = KernelPCAOutlierDetector(**settings).fit(X)
    fold = np.empty(50, dtype=int)
    fold[np.argsort(rbf_kernel(X, gamma=0.05).sum(axis=1))] = np.arange(50) % 5
    scores = np.empty(50)
    for f in range(5):
        others = KernelPCAOutlierDetector(**settings).fit(X[fold != f])
        scores[fold == f] = others.score_samples(X[fold == f])
    assert_allclose(model.offset_, np.sort(scores)[9:11].mean(), rtol=1e-8)


@pytest.mark.invariance
def test_copies_are_held_out_together(seed):
    X = rows(seed)
    model = KernelPCAOutlierDetector(4, gamma=0.05)
    for solver in ("exact", "low_rank"):
        model.set_params(solver=solver)
        once = model.fit(X).offset_
        shuffled = np.random.default_rng(seed).permutation(np.repeat(X, 3, axis=0))
        assert_allclose(model.fit(shuffled).offset_, once, rtol=1e-8)


@pytest.mark.invariance
def test_kernel_in_five_forms(seed):
    X = rows(seed)
    new = rows(seed + 1)
    named = KernelPCAOutlierDetector(3, gamma=0.125).fit(X)
    want = named.decision_function(new)

    found = [
        KernelPCAOutlierDetector(3, kernel=RBF(2.0)).fit(X).decision_function(new),
        KernelPCAOutlierDetector(3, kernel=rbf_kernel, kernel_params={"gamma": 0.125})
        .fit(X)
        .decision_function(new),
        KernelPCAOutlierDetector(3, gamma=0.125)
        .fit(sparse.csr_array(X))
        .decision_function(sparse.csr_array(new)),
        KernelPCAOutlierDetector(3, gamma=0.125, solver="low_rank")
        .fit(X)
        .decision_function(new),
    ]

    for values in found:
        assert_allclose(values, want, atol=1e-8)

    K = rbf_kernel(X, gamma=0.125)
    given = KernelPCAOutlierDetector(3, kernel="precomputed").fit(K)
    assert_allclose(given.decision_function(K), named.decision_function(X), atol=1e-9)


@pytest.mark.invariance
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_weights_and_scale(seed, solver):
    X = rows(seed)
    w = np.random.default_rng(seed).integers(0, 3, size=60)
    model = KernelPCAOutlierDetector(3, gamma=0.05, solver=solver)
    weighted = model.fit(X, sample_weight=w).decision_function(X)
    repeated = model.fit(np.repeat(X, w, axis=0)).decision_function(X)
    assert_allclose(weighted, repeated, atol=1e-9)
    K = rbf_kernel(X, gamma=0.05)
    given = KernelPCAOutlierDetector(3, kernel="precomputed", solver=solver).fit(
        1e5 * K, sample_weight=w
    )
    # the values are of order 1e5
    assert_allclose(given.decision_function(1e5 * K), 1e5 * weighted, atol=1e-4)


@pytest.mark.edge
def test_rejects_the_full_space():
    X = rows(0, p=3)
    with pytest.raises(ValueError, match=r"n_components=3 explains .* span 3 dimensions"):
        KernelPCAOutlierDetector(3, kernel="linear").fit(X)
    assert KernelPCAOutlierDetector(0.9999999, kernel="linear").fit(X).n_components_ == 2
    with pytest.raises(ValueError, match="lie on a line in feature space"):
        KernelPCAOutlierDetector(kernel="linear").fit(X[:, :1])
    with pytest.raises(ValueError, match="all 5 are equal"):
        KernelPCAOutlierDetector().fit(np.ones((5, 2)))


@pytest.mark.edge
def test_share_of_variance(seed):
    X = rows(seed)
    model = KernelPCAOutlierDetector(0.8, gamma=0.05).fit(X)
    fewer = KernelPCAOutlierDetector(model.n_components_ - 1, gamma=0.05).fit(X)
    assert fewer.explained_variance_ratio_ < 0.8 <= model.explained_variance_ratio_


@pytest.mark.edge
def test_many_samples_by_lanczos(seed):
    X = rows(seed, n=500)
    exact = KernelPCAOutlierDetector(3, gamma=0.01).fit(X)
    all_values = KernelPCA(kernel="rbf", gamma=0.01).fit(X).eigenvalues_
    assert_allclose(exact.eigenvalues_ * 500, all_values[:3], rtol=1e-8)


@pytest.mark.edge
def test_lists_and_messages():
    X = [{1, 2}, {1, 2, 3}, {1, 3}, {2, 3}, {2, 3, 4}]
    model = KernelPCAOutlierDetector(1, kernel=Intersection(), contamination="auto").fit(X)
    assert_array_equal(model.predict(X), 1)
    A = rows(0)
    given = KernelPCAOutlierDetector(2, kernel="precomputed").fit(A @ A.T)
    with pytest.raises(ValueError, match="kernel values of new samples with themselves"):
        given.predict((A @ A.T)[:5])
    with pytest.raises(ValueError, match="not symmetric"):
        KernelPCAOutlierDetector(2, kernel="precomputed").fit(np.triu(A @ A.T))


@pytest.mark.oracle
def test_fraction_of_the_variance_refers_to_the_full_spectrum(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(700, 4))
    settings = {"n_components": 0.7, "gamma": 0.1, "solver": "exact"}
    few = KernelPCAOutlierDetector(**settings).fit(X)
    monkeypatch.setattr("skmoderndata._solvers.common.linalg.DENSE_UP_TO", 700)
    whole = KernelPCAOutlierDetector(**settings).fit(X)
    assert few.n_components_ == whole.n_components_
    assert_allclose(
        few.score_samples(X[:50]), whole.score_samples(X[:50]), rtol=1e-6, atol=1e-9
    )
    assert_allclose(few.offset_, whole.offset_, rtol=1e-6)


@pytest.mark.recovery
@pytest.mark.parametrize("solver", ["exact", "low_rank", "nystroem"])
def test_ball_and_slab_exclude_samples_beside_and_beyond(seed, solver):
    rng = np.random.default_rng(seed)
    plate = rng.uniform(-1, 1, size=(1000, 3)) * [1, 1, 0.02]
    beside = [0.0, 0.0, 0.5]
    beyond = [4.0, 0.0, 0.0]
    settings = {"kernel": "linear", "contamination": 0.1, "solver": solver, "random_state": 0}
    slab = KernelPCAOutlierDetector(2, **settings).fit(plate[:500])
    both = KernelPCAOutlierDetector(2, region="ball_and_slab", **settings).fit(plate[:500])
    assert_array_equal(slab.predict([plate[0] / 2, beside, beyond]), [1, -1, 1])
    assert_array_equal(both.predict([plate[0] / 2, beside, beyond]), [1, -1, -1])

    # the rate refers to the combination, not to each detector
    rate = (both.predict(plate[500:]) < 0).mean()
    assert abs(rate - 0.1) < 0.05  # allow three standard errors for 500 and 500 rows


@pytest.mark.oracle
def test_scores_of_ball_and_slab_are_the_larger_ratio(seed):
    X = rows(seed)
    new = rows(seed + 1)
    model = KernelPCAOutlierDetector(2, kernel="linear", region="ball_and_slab").fit(X)
    pca = PCA(2).fit(X)
    error = ((new - pca.inverse_transform(pca.transform(new))) ** 2).sum(axis=1)
    distance = ((new - X.mean(axis=0)) ** 2).sum(axis=1)
    slab, ball = model.region_thresholds_
    assert_allclose(-model.score_samples(new), np.maximum(error / slab, distance / ball))
