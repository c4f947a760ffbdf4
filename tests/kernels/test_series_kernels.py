"""Evidence that the kernels on series match their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata._samples.series import pack_series
from skmoderndata._solvers.alignment import global_alignment
from skmoderndata._solvers.alignment.global_alignment import (
    LocalKernel,
    log_alignment_sums,
    log_sum,
)
from skmoderndata.kernels import DTWKernel, GlobalAlignment, GramCache, Normalized
from skmoderndata.metrics import multiscale_dtw, pairwise_dtw
from skmoderndata.preprocessing import KernelTransformer, SampleColumn, SpectrumCorrector
from tests.oracles.series_twins import over_alignments


def ragged(seed, n=12, channels=2, longest=30):
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=(rng.integers(1, longest), channels)).cumsum(axis=0) for _ in range(n)
    ]


@pytest.mark.paper
def test_worked_examples():
    X = [[0, 1], [0, 1, 1]]
    expected = {
        None: ([1.4507993471, 1.7270040335, 4.9048074142], 0.6474089461),
        2: (None, 0.2753456710),
        3: (None, 0.3836907992),
    }
    for T, (raw, normalised) in expected.items():
        kernel = GlobalAlignment(np.sqrt(0.5), triangular=T)
        if raw is not None:
            assert_allclose(kernel(X)[np.triu_indices(2)], raw, atol=1e-10)
        assert_allclose(Normalized(kernel)(X)[0, 1], normalised, atol=1e-10)
    assert_allclose(GlobalAlignment(np.sqrt(0.5), 2)(X)[0, 1], 0.4346183637, atol=1e-10)
    assert GlobalAlignment(np.sqrt(0.5), 1)(X)[0, 1] == 0
    four = [[0], [1], [0, 0, 0], [1, 1, 1]]
    K = DTWKernel(1.0, local="euclidean", power=1.0)(four)
    assert_allclose(np.linalg.eigvalsh(K)[0], -0.172265, atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("reach", [0.0, 1.0, 3.0, 25.0])
@pytest.mark.parametrize("rate", [1e-4, 0.3, 20.0, 1e4])
def test_scaled_sums_match_logarithms(reach, rate, seed):
    """Spikes, narrow triangles, tiny widths: if numbers underflow, logarithms replace them."""
    rng = np.random.default_rng(seed)
    X = ragged(seed, n=10, longest=150)
    for x in X[::3]:
        x[rng.integers(len(x))] += 100
    for divisible in (True, False):
        local = LocalKernel(rate, reach, divisible)
        found = log_alignment_sums(pack_series(X).arrays, local=local)
        expected = [[log_sum(x, z, local, np.empty(0)) for z in X] for x in X]
        assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


@pytest.mark.oracle
def test_a_thousand_points(seed):
    X = np.random.default_rng(seed).normal(size=(3, 1000, 1)).cumsum(axis=1)
    X = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    for sigma in (0.3, 30.0):
        local = LocalKernel(1 / (2 * sigma**2), 0.0, True)
        found = log_alignment_sums(pack_series(X).arrays, local=local)
        expected = log_sum(X[0], X[1], local, np.empty(0))
        assert_allclose(found[0, 1], expected, rtol=1e-13, atol=1e-10)
        K = Normalized(GlobalAlignment(sigma))(X)
        assert np.isfinite(K).all()
        assert np.linalg.eigvalsh(K)[0] > -1e-12
    with pytest.raises(ValueError, match="use Normalized"):
        GlobalAlignment(30.0)(X)


@pytest.mark.oracle
@pytest.mark.parametrize("reach", [0.0, 20_000.0])
def test_long_series_of_any_lengths_need_no_logarithms(reach, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X = [
        np.sin(np.linspace(0, 9, n))[:, None] + 0.1 * rng.normal(size=(n, 1))
        for n in (40, 2000)
    ]
    local = LocalKernel(0.5, reach, True)
    expected = log_sum(*X, local, np.empty(0))
    monkeypatch.setattr(global_alignment, "log_sum", None)
    found = log_alignment_sums(pack_series(X).arrays, local=local)
    assert_allclose(found[0, 1], expected, rtol=1e-13, atol=1e-10)
    assert np.isfinite(found).all()


@pytest.mark.oracle
def test_indefinite_form(seed):
    X = [x[:5] for x in ragged(seed, n=5)]
    kernel = GlobalAlignment(1.2, local="gaussian")
    expected = [[over_alignments(kernel, x, z) for z in X] for x in X]
    assert_allclose(kernel(X), expected, rtol=1e-11)


@pytest.mark.certificate
def test_gradient_in_logarithms_of_long_series(seed):
    """The gradient of the normalised kernel does not need values that overflow."""
    X = np.random.default_rng(seed).normal(size=(4, 420))
    kernel = Normalized(GlobalAlignment(20.0, sigma_bounds=(1.0, 100.0)))
    _, gradient = kernel(X, eval_gradient=True)
    up, down = (kernel.clone_with_theta(kernel.theta + s)(X) for s in (1e-5, -1e-5))
    # the error of central differences is the rounding error of logarithms of several hundred,
    # divided by the step
    assert_allclose(gradient[:, :, 0], (up - down) / 2e-5, rtol=1e-5, atol=1e-8)


@pytest.mark.invariance
@pytest.mark.parametrize(
    "kernel",
    [DTWKernel(0.1), GlobalAlignment(5.0), Normalized(GlobalAlignment(5.0, 20))],
    ids=repr,
)
def test_containers_and_batches(kernel, seed):
    X = np.random.default_rng(seed).normal(size=(40, 12, 2))
    K = kernel(X)
    objects = np.empty(40, dtype=object)
    objects[:] = list(X)
    for given in (list(X), tuple(X), objects, [x.tolist() for x in X]):
        assert_array_equal(kernel(given), K)
    assert_array_equal(K, K.T)
    order = np.random.default_rng(seed).permutation(40)
    assert_array_equal(kernel(X[order]), K[np.ix_(order, order)])
    assert_array_equal(kernel(X[:3], X), K[:3])
    if hasattr(kernel, "encode") and kernel.encoding:
        encoded = kernel.encode(list(X))
        assert_array_equal(kernel(encoded), K)
        assert_array_equal(kernel(encoded[[5, 2]], encoded), K[[5, 2]])


@pytest.mark.recovery
def test_speed_of_a_bump_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = []
    y = np.arange(60) % 2
    for label in y:
        bumps = [np.hanning(rng.integers(8, 20)) for _ in range(2)]
        x = np.concatenate([bumps[0], (2 * label - 1) * bumps[1]])
        X.append(x + 0.05 * rng.normal(size=len(x)))
    step = KernelTransformer(Normalized(GlobalAlignment("median")), cache=GramCache())
    model = make_pipeline(step, SVC(kernel="precomputed", C=10))
    grid = {"kerneltransformer__kernel__kernel__triangular": [None, 15]}
    assert GridSearchCV(model, grid, cv=3).fit(X, y).best_score_ > 0.95
    step = KernelTransformer(DTWKernel("median"))
    model = make_pipeline(step, SpectrumCorrector("clip"), SVC(kernel="precomputed", C=10))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.95


@pytest.mark.recovery
def test_marginal_likelihood_tunes_the_width(seed):
    X = ragged(seed, n=14, longest=12)
    y = np.array([x[-1, 0] for x in X])
    kernel = Normalized(GlobalAlignment(1.0, sigma_bounds=(0.1, 100.0))) + WhiteKernel(
        0.1, "fixed"
    )
    model = make_pipeline(SampleColumn(), GaussianProcessRegressor(kernel)).fit(X, y)
    start = make_pipeline(
        SampleColumn(), GaussianProcessRegressor(kernel, optimizer=None)
    ).fit(X, y)
    value = model[-1].log_marginal_likelihood_value_
    assert value > start[-1].log_marginal_likelihood_value_


def test_settled_parameters(seed):
    X = ragged(seed)
    D = pairwise_dtw(X)[np.triu_indices(12, 1)]
    assert_allclose(DTWKernel("median").from_data(X).gamma, 1 / np.median(D**2), rtol=1e-12)
    settled = DTWKernel("median", power=1.0).from_data(X)
    assert_allclose(settled.gamma, 1 / np.median(D), rtol=1e-12)
    assert settled.from_data(X) == settled
    values = np.concatenate(X)
    every = np.linalg.norm(values[:, None] - values[None], axis=2)
    expected = np.median(every) * np.sqrt(np.median([len(x) for x in X]))
    found = GlobalAlignment("median").from_data(X).sigma
    # the median uses 10,000 random pairs
    assert_allclose(found, expected, rtol=0.1)
    assert found == GlobalAlignment("median").from_data(X).sigma


def test_distances_by_scales(seed):
    X = ragged(seed, n=4, longest=60)
    K = DTWKernel(0.01, multiscale_radius=2)(X)
    assert_array_equal(K, K.T)
    both = min(multiscale_dtw(X[0], X[1], 2), multiscale_dtw(X[1], X[0], 2))
    assert_allclose(K[0, 1], np.exp(-0.01 * both**2), rtol=1e-12)
    assert (K <= DTWKernel(0.01)(X)).all()


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (DTWKernel(0.0), "gamma=0.0"),
        (DTWKernel("median"), "needs training samples"),
        (DTWKernel(power=-1), "power=-1"),
        (DTWKernel(band="itakura", max_slope=0.5), "max_slope=0.5"),
        (DTWKernel(band="itakura", radius=1), "has no radius"),
        (DTWKernel(radius=-2), "radius=-2"),
        (DTWKernel(local="manhattan"), "local='manhattan'"),
        (DTWKernel(multiscale_radius=-1), "multiscale_radius=-1"),
        (GlobalAlignment(0.0), "sigma=0.0"),
        (GlobalAlignment(-1.0), "sigma=-1.0"),
        (GlobalAlignment("median"), "needs training samples"),
        (GlobalAlignment(triangular=0), "triangular=0"),
        (GlobalAlignment(triangular=1.5), "triangular=1.5"),
        (GlobalAlignment(local="laplace"), "local='laplace'"),
    ],
    ids=repr,
)
def test_errors_name_bad_parameters(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel([[1.0, 2.0]])


@pytest.mark.edge
@pytest.mark.parametrize("kernel", [DTWKernel(), GlobalAlignment()], ids=repr)
def test_errors_name_bad_samples(kernel):
    with pytest.raises(ValueError, match="series 1 is empty"):
        kernel([[1.0], []])
    with pytest.raises(ValueError, match="same channels"):
        kernel([[1.0]], [np.zeros((2, 3))])


@pytest.mark.edge
@pytest.mark.parametrize("kernel", [DTWKernel("median"), GlobalAlignment("median")], ids=repr)
def test_median_raises_on_constant_series(kernel):
    with pytest.raises(ValueError, match="to a number"):
        kernel.from_data([np.ones(5), np.ones(7)])


@pytest.mark.edge
def test_series_that_cannot_be_aligned_have_similarity_zero():
    X = [np.zeros(3), np.zeros(9)]
    assert_array_equal(DTWKernel(radius=2, slanted=False)(X), np.eye(2))
    assert_array_equal(DTWKernel(radius=2)(X), np.ones((2, 2)))
    assert_array_equal(Normalized(GlobalAlignment(triangular=4))(X), np.eye(2))
    _, gradient = DTWKernel(radius=2, slanted=False, gamma_bounds=(0.1, 10.0))(
        X, eval_gradient=True
    )
    assert np.isfinite(gradient).all()
