"""Evidence that steps on kernel matrices do to new samples what they do to training samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import manhattan_distances, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

from skmoderndata.kernels import Normalized
from skmoderndata.preprocessing import (
    DoubleCenterer,
    KernelNormalizer,
    KernelProjector,
    KernelWhitener,
    SpectrumCorrector,
)

S = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
NEW = np.array([[0.8, 0.5, 0.1]])
K3 = np.array([[1.0, 2, 3], [2, 5, 7], [3, 7, 10]])


def points(seed, n=12, p=4):
    return np.random.default_rng(seed).normal(size=(n, p))


def indefinite(seed, n=15):
    A = points(seed, n, n)
    return A + A.T


@pytest.mark.oracle
def test_corrections_worked_out_by_hand():
    for algorithm, row, new in [
        ("clip", [1.040718, 0.837714, 0.240718], [0.768857, 0.547639, 0.068857]),
        ("flip", [1.081437, 0.775428, 0.281437], [0.737714, 0.595278, 0.037714]),
        ("square", [1.85, 1.98, 1.21], [1.27, 1.31, 0.71]),
        ("shift", [1.176715, 0.9, 0.2], [0.8, 0.5, 0.1]),
    ]:
        corrector = SpectrumCorrector(algorithm)
        assert_allclose(corrector.fit_transform(S)[0], row, atol=1e-6)
        assert_allclose(corrector.transform(NEW)[0], new, atol=1e-6)
        assert_allclose(corrector.eigenvalues_, [2.376715, 0.8, -0.176715], atol=1e-6)
        assert corrector.n_negative_ == 1


@pytest.mark.oracle
@pytest.mark.parametrize(
    "signs", [(3, 5, 92), (92, 5, 3), (0, 0, 100), (40, 20, 40), (1, 90, 9)]
)
@pytest.mark.parametrize("algorithm", ["clip", "flip", "square", "shift"])
def test_all_eigenvectors_give_the_same_map(algorithm, signs, seed):
    negative, zero, positive = signs
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    w = np.r_[-rng.uniform(1, 2, negative), np.zeros(zero), rng.uniform(1, 3, positive)]
    A = (U * w) @ U.T

    gain = {
        "clip": w > 0,
        "flip": np.sign(w),
        "square": w,
        "shift": np.ones(100),
    }[algorithm]

    step = SpectrumCorrector(algorithm).fit(A)
    assert_allclose(step.projection_, (U * gain) @ U.T, atol=1e-11)
    assert_allclose(step.eigenvalues_, np.sort(w)[::-1], atol=1e-11)
    assert step.n_negative_ == negative
    fraction = -w[:negative].sum() / np.abs(w).sum()
    assert step.negative_fraction_ == pytest.approx(fraction, abs=1e-12)

    # between new samples, compare with the features that represent the corrected kernel
    used = w > 0 if algorithm in ("clip", "shift") else w != 0
    inverse = (U[:, used] / np.abs(w[used])) @ U[:, used].T
    new = rng.normal(size=(4, 100))
    wanted = new @ new.T if algorithm == "square" else new @ inverse @ new.T
    assert_allclose(step.between(new), wanted, atol=1e-9)


@pytest.mark.oracle
def test_small_eigenvalues_count_as_zero(seed):
    A = indefinite(seed, 90)
    w, U = np.linalg.eigh(A)
    kept = np.abs(w) > 0.2 * np.abs(w).max()
    for algorithm, gain in (
        ("clip", kept & (w > 0)),
        ("flip", kept * np.sign(w)),
        ("square", kept * w),
    ):
        step = SpectrumCorrector(algorithm, tol=0.2).fit(A)
        assert_allclose(step.projection_, (U * gain) @ U.T, atol=1e-11 * np.abs(gain).max())


@pytest.mark.oracle
def test_projection_worked_out_by_hand():
    step = KernelProjector(1)
    K = step.fit_transform(K3)
    assert_allclose(K[0], [0.884111, 2.088313, 2.972424], atol=1e-6)
    assert_allclose([K[1, 1], K[1, 2], K[2, 2]], [4.932701, 7.021014, 9.993438], atol=1e-6)
    assert step.residual_trace_ == pytest.approx(0.189750, abs=1e-6)
    whitened = KernelWhitener(1, scale="unit_eigenvalue").fit_transform(K3)[:, 0]
    row = whitened[0] * whitened
    assert_allclose(row, [0.564458, -0.074217, -0.490242], atol=1e-6)
    two = KernelWhitener(2, scale="unit_eigenvalue").fit_transform(K3)
    assert_allclose(two @ two.T, np.eye(3) - 1 / 3, atol=1e-10)


@pytest.mark.oracle
def test_double_centring_gives_inner_products(seed):
    X = points(seed)
    Y = points(seed + 1, 5)
    step = DoubleCenterer()
    mean = X.mean(axis=0)
    G = step.fit_transform(pairwise_distances(X))
    assert_allclose(G, (X - mean) @ (X - mean).T, atol=1e-10)
    assert_allclose(
        step.transform(pairwise_distances(Y, X)), (Y - mean) @ (X - mean).T, atol=1e-10
    )
    squares = pairwise_distances(X, metric="sqeuclidean")
    assert_allclose(DoubleCenterer(squared=True).fit_transform(squares), G, atol=1e-10)
    triangle = pairwise_distances([[0.0, 0], [3, 0], [0, 4]])
    step.fit(triangle)
    row = step.transform(pairwise_distances([[1.0, 1]], [[0.0, 0], [3, 0], [0, 4]]))
    assert_allclose(row, [[4 / 9, 4 / 9, -8 / 9]], atol=1e-12)


@pytest.mark.oracle
def test_normaliser_and_normalised_kernel_agree(seed):
    X = points(seed)
    Y = points(seed + 1, 5)
    inner = DotProduct(1.0)
    kernel = Normalized(inner)
    step = KernelNormalizer()
    assert_allclose(step.fit_transform(inner(X)), kernel(X), atol=1e-12)
    assert_allclose(step.transform(inner(Y, X), inner.diag(Y)), kernel(Y, X), atol=1e-12)
    bounded = step.transform(inner(Y, X))
    assert np.abs(bounded).max() <= 1 + 1e-12
    assert (np.abs(bounded) >= np.abs(kernel(Y, X)) - 1e-12).all()


@pytest.mark.certificate
@pytest.mark.parametrize("algorithm", ["clip", "flip", "square", "shift"])
def test_corrected_matrix_is_positive(algorithm, seed):
    A = indefinite(seed)
    step = SpectrumCorrector(algorithm)
    K = step.fit_transform(A)
    assert np.linalg.eigvalsh(A)[0] < -1
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * np.trace(K)
    if algorithm == "clip":  # any other positive matrix is further away
        rng = np.random.default_rng(seed)
        for _ in range(5):
            B = K + 0.1 * (lambda C: C @ C.T)(rng.normal(size=(15, 2)))
            assert np.linalg.norm(A - K) <= np.linalg.norm(A - B)
    if algorithm != "shift":
        assert_allclose(step.transform(A), K, atol=1e-10)


@pytest.mark.certificate
@pytest.mark.parametrize("algorithm", ["clip", "flip", "square"])
def test_similarities_between_new_samples_complete_the_matrix(algorithm, seed):
    full = indefinite(seed, 20)
    train = full[:15, :15]
    rows = full[15:, :15]
    step = SpectrumCorrector(algorithm).fit(train)
    K = np.block(
        [
            [step.transform(train), step.transform(rows).T],
            [step.transform(rows), step.between(rows)],
        ]
    )
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * np.trace(K)
    assert_allclose(step.between(train), step.transform(train), atol=1e-9)
    assert_allclose(step.between(rows, train), step.transform(rows), atol=1e-9)


@pytest.mark.certificate
def test_whitened_features_are_uncorrelated(seed):
    X = points(seed, 30)
    Y = points(seed + 1, 5)
    step = KernelWhitener(5).fit(rbf_kernel(X))
    Z = step.transform(rbf_kernel(X))
    assert_allclose(Z.T @ Z / 30, np.eye(5), atol=1e-9)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-10)
    reference = KernelPCA(5, kernel="rbf", gamma=0.25).fit(X)
    spread = np.sqrt(reference.eigenvalues_ / 30)
    new = step.transform(rbf_kernel(Y, X))
    assert_allclose(np.abs(new), np.abs(reference.transform(Y) / spread), atol=1e-8)


@pytest.mark.certificate
@pytest.mark.parametrize("center", [True, False])
def test_projection_is_idempotent_and_the_best_of_its_rank(center, seed):
    K = rbf_kernel(points(seed, 20))
    target = KernelCenterer().fit_transform(K) if center else K
    for algorithm in ("eigen", "cholesky"):
        step = KernelProjector(6, algorithm=algorithm, center=center).fit(K)
        P = step.projection_
        assert_allclose(P @ P, P, atol=1e-9)
        projected = step.transform(K)
        assert np.linalg.matrix_rank(projected, tol=1e-8) == 6
        assert step.residual_trace_ == pytest.approx(np.trace(target - projected), abs=1e-10)
        assert np.linalg.eigvalsh(target - projected)[0] > -1e-10
    best = np.linalg.eigvalsh(target)[:-6].sum()
    assert KernelProjector(6, center=center).fit(K).residual_trace_ == pytest.approx(best)
    assert step.residual_trace_ >= best - 1e-12
    assert len(step.pivots_) == 6


@pytest.mark.recovery
def test_corrected_similarities_classify_in_a_search():
    X, y = load_iris(return_X_y=True)
    D = manhattan_distances(X[::2]) ** 1.5
    similarity = np.exp(-0.3 * D**2)
    assert np.linalg.eigvalsh(similarity)[0] < -0.1
    pipeline = make_pipeline(SpectrumCorrector(), SVC(kernel="precomputed"))
    grid = {"spectrumcorrector__algorithm": ["clip", "flip", "square", "shift"]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(similarity, y[::2])
    assert search.cv_results_["mean_test_score"].min() > 0.9


@pytest.mark.invariance
@pytest.mark.parametrize(
    "step",
    [
        KernelNormalizer(),
        SpectrumCorrector(),
        DoubleCenterer(),
        KernelProjector(3),
        KernelProjector(3, algorithm="cholesky"),
        KernelWhitener(3),
    ],
    ids=repr,
)
def test_order_of_samples_and_scale(step, seed):
    # this kernel has no ties among the pivots
    K = (1 + points(seed, 20) @ points(seed, 20).T / 10) ** 3
    order = np.random.default_rng(seed).permutation(20)
    plain = step.fit_transform(K)
    mixed = step.fit_transform(K[np.ix_(order, order)])
    if isinstance(step, KernelWhitener):
        plain = plain @ plain.T
        mixed = mixed @ mixed.T
    assert_allclose(mixed, plain[np.ix_(order, order)], atol=1e-9)
    scaled = step.fit_transform(4 * K)
    power = {"KernelNormalizer": 0, "KernelWhitener": 0, "DoubleCenterer": 2}
    if isinstance(step, KernelWhitener):
        scaled = scaled @ scaled.T
    assert_allclose(scaled, 4.0 ** power.get(type(step).__name__, 1) * plain, atol=1e-9)


@pytest.mark.edge
def test_edge_cases():
    zero = np.zeros((4, 4))
    assert_array_equal(KernelNormalizer().fit_transform(zero), zero)
    assert_array_equal(SpectrumCorrector().fit_transform(zero), zero)
    assert SpectrumCorrector().fit(zero).negative_fraction_ == 0
    assert KernelProjector().fit(zero).n_components_ == 0
    assert KernelWhitener().fit_transform(np.ones((4, 4))).shape == (4, 0)
    assert_array_equal(SpectrumCorrector("shift").fit_transform([[-2.0]]), [[0.0]])
    already = K3 / 10
    assert_allclose(SpectrumCorrector().fit_transform(already), already, atol=1e-12)
    assert SpectrumCorrector().fit(already).negative_fraction_ <= 1e-12
    one = KernelNormalizer().fit_transform([[4.0, 0], [0, 0]])
    assert_array_equal(one, [[1, 0], [0, 0]])
    assert SpectrumCorrector("clip").fit(S).score(S) < SpectrumCorrector("clip").fit(K3).score(
        K3
    )


@pytest.mark.edge
@pytest.mark.parametrize(
    "step",
    [
        KernelNormalizer(),
        SpectrumCorrector(),
        DoubleCenterer(),
        KernelProjector(),
        KernelWhitener(),
    ],
    ids=repr,
)
def test_matrices_that_are_not_square_are_rejected(step):
    with pytest.raises(ValueError, match=r"square matrix .* shape \(3, 2\)"):
        step.fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match="NaN"):
        step.fit([[np.nan]])


@pytest.mark.edge
def test_messages_name_the_problem():
    with pytest.raises(ValueError, match=r"differ from their mirror images by up to 1"):
        SpectrumCorrector().fit([[1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match=r"diagonal of at least 0.*SpectrumCorrector first"):
        KernelNormalizer().fit([[-1.0]])
    with pytest.raises(ValueError, match="diag needs 1 values of at least 0"):
        KernelNormalizer().fit(K3).transform(NEW, diag=[1.0, 2.0])


# eigenvalues by alignment ----------------------------------------------------------------------


def aligned_problem(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return rbf_kernel(X), np.sign(X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=n))


@pytest.mark.certificate
@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_no_eigenvalues_are_better_aligned(target, seed):
    K, y = aligned_problem(seed)
    y = y if target == "classes" else y * 1.5 + np.random.default_rng(seed).normal(size=len(y))
    model = KernelWhitener(8, scale="alignment").fit(K, y)
    Z = model.transform(K)
    assert_allclose(Z.T @ Z, np.diag(model.scaled_eigenvalues_), atol=1e-9)
    assert_allclose(np.trace(Z @ Z.T) / len(K), 1)

    # the centred alignment, computed explicitly; other weights of the same directions give less
    centre = np.eye(len(K)) - 1 / len(K)
    same = np.equal.outer(y, y).astype(float) if target == "classes" else np.outer(y, y)
    ideal = centre @ same @ centre

    def alignment_of(M):
        M = centre @ M @ centre
        return (M * ideal).sum() / np.linalg.norm(M) / np.linalg.norm(ideal)

    best = alignment_of(Z @ Z.T)
    rng = np.random.default_rng(seed)
    directions = Z / np.sqrt(model.scaled_eigenvalues_)
    for _ in range(50):
        mu = model.scaled_eigenvalues_ * np.exp(0.3 * rng.normal(size=8))
        assert alignment_of((directions * mu) @ directions.T) < best
    assert alignment_of((directions * model.eigenvalues_) @ directions.T) < best


@pytest.mark.recovery
def test_alignment_helps_a_machine_to_classify():
    """Fewer directions count: nearest means of unseen samples gain."""
    K, y = aligned_problem(1, n=400)
    train = np.arange(200)
    test = np.arange(200, 400)
    scores = {}
    for scale in ("unit_covariance", "alignment"):
        model = KernelWhitener(30, scale=scale).fit(K[np.ix_(train, train)], y[train])
        Z = model.transform(K[np.ix_(train, train)])
        machine = KNeighborsClassifier(5).fit(Z, y[train])
        scores[scale] = machine.score(model.transform(K[np.ix_(test, train)]), y[test])
    assert scores["alignment"] > scores["unit_covariance"] + 0.03


@pytest.mark.edge
def test_alignment_needs_a_target():
    K, y = aligned_problem(0)
    with pytest.raises(ValueError, match="requires y to be passed"):
        KernelWhitener(scale="alignment").fit(K)
    with pytest.raises(ValueError, match="needs a target that varies"):
        KernelWhitener(scale="alignment").fit(K, np.ones(len(y)))
    with pytest.raises(ValueError, match="X has 60 samples but y has 59"):
        KernelWhitener(scale="alignment").fit(K, y[1:])
    K = np.diag([4.0, 4.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="nothing in common with the target"):
        KernelWhitener(1, scale="alignment").fit(K, [0.0, 0.0, 1.0, -1.0])
