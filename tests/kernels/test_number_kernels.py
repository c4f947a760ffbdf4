"""Evidence that kernels of real numbers and covariance functions match their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, WhiteKernel

from skmoderndata.kernels import (
    ArcSine,
    ARDLinear,
    CosineSeries,
    GammaExponential,
    Min,
    Spline,
    Triangular,
)


def table(seed, n=9, p=3):
    return np.random.default_rng(seed).normal(size=(n, p))


def one(kernel, x, z):
    return float(kernel([[x]], [[z]])[0, 0])


@pytest.mark.oracle
def test_numbers_worked_out_by_hand():
    assert one(CosineSeries((1, 0.5, 0.25)), 0.3, 1.0) == pytest.approx(1.4249128794, abs=1e-9)
    assert one(Triangular(2.0), 1.0, 2.0) == 1.0
    values = [one(Spline(r), 1.0, 2.0) for r in range(4)]
    assert_allclose(values, [2, 3.8333333333, 8.0333333333, 16.4928571429], atol=1e-9)
    assert one(Spline(3, knots=(0.5, 1.5)), 1.0, 2.0) == 15.421875
    assert one(GammaExponential(gamma=1.5), 0, 2) == pytest.approx(0.0591057466, abs=1e-9)
    assert one(ArcSine(scale=1.0), 1, 2) == pytest.approx(0.9425166558, abs=1e-9)
    assert one(ArcSine(), 1, 2) == pytest.approx(0.6000247389, abs=1e-9)
    assert one(ArcSine(), 1, 1) == pytest.approx(0.5903344706, abs=1e-9)
    assert ARDLinear([1, 2])([[1.0, 2]], [[3.0, 0.5]])[0, 0] == 7


@pytest.mark.oracle
def test_limiting_cases_of_scikit_learn(seed):
    X = table(seed)
    Y = table(seed + 1, 4)
    close = {"rtol": 1e-10, "atol": 1e-12}
    assert_allclose(GammaExponential(1.5)(X, Y), Matern(1.5, nu=0.5)(X, Y), **close)
    scales = np.array([0.5, 1, 2])
    gauss = GammaExponential(scales * np.sqrt(2), gamma=2.0)
    assert_allclose(gauss(X, Y), RBF(scales)(X, Y), **close)
    assert_allclose(ARDLinear()(X), DotProduct(0.0, "fixed")(X), **close)


@pytest.mark.recovery
def test_arcsine_is_the_covariance_of_a_wide_network():
    from scipy.special import erf

    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(200_000, 2))
    x = erf(hidden @ [1, 1])
    z = erf(hidden @ [1, 2])
    # the standard error of the mean is 0.0016
    assert np.mean(x * z) == pytest.approx(one(ArcSine(), 1, 2), abs=0.006)


@pytest.mark.recovery
def test_spline_recovers_a_cubic():
    X = np.linspace(0, 1, 12)[:, None]
    y = np.where(X[:, 0] < 0.5, 1 + X[:, 0], 1 + X[:, 0] + 3 * (X[:, 0] - 0.5) ** 2)
    model = GaussianProcessRegressor(Spline(1) + WhiteKernel(1e-8), optimizer=None).fit(X, y)
    between = np.linspace(0.05, 0.95, 40)[:, None]
    truth = 1 + between[:, 0] + 3 * np.maximum(between[:, 0] - 0.5, 0) ** 2
    assert_allclose(model.predict(between), truth, atol=0.02)


@pytest.mark.invariance
def test_periods_and_shifts(seed):
    X = table(seed)
    Y = table(seed + 1, 4)
    k = CosineSeries((1, 0.5, 0.25), period=1.3)
    assert_allclose(k(X + 2.6, Y), k(X, Y), atol=1e-12)
    for k in (Triangular(2.0), GammaExponential(gamma=1.3)):
        assert_allclose(k(X + 5, Y + 5), k(X, Y), atol=1e-10)
    assert_allclose(Min()(3 * X), 27 * Min()(X), rtol=1e-12)


@pytest.mark.certificate
def test_powers_above_two_are_not_positive():
    X = np.linspace(0, 3, 15)[:, None]
    K = np.exp(-(np.abs(X - X.T) ** 3))
    assert np.linalg.eigvalsh(K)[0] < -0.3
    assert np.linalg.eigvalsh(GammaExponential(gamma=2.0)(X))[0] > -1e-12


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (GammaExponential(gamma=2.5), [[0.0]], "gamma=2.5.*above 0 and at most 2"),
        (GammaExponential(length_scale=[1.0, 2.0]), [[0.0]], "2 entries for samples with 1"),
        (Spline(), [[-0.1]], "MinMaxScaler"),
        (Spline(-1), [[0.1]], "order=-1"),
        (Spline(combine="mean"), [[0.1]], "combine='mean'"),
        (Min(signed=False), [[-1.0]], "signed=True"),
        (Triangular(0.0), [[1.0]], "width=0.0"),
        (CosineSeries((1, -1)), [[1.0]], "coef"),
        (CosineSeries(period=0), [[1.0]], "period=0"),
        (ArcSine(weight_var=-1), [[1.0]], "weight_var=-1"),
        (ARDLinear("a"), [[1.0]], "sigma='a'"),
        (ARDLinear(), [["a"]], "numeric vectors"),
    ],
    ids=lambda v: repr(v)[:40],
)
def test_messages_name_parameter_and_remedy(kernel, X, message):
    with pytest.raises(ValueError, match=message):
        kernel(X)


@pytest.mark.edge
def test_sparse_samples_and_zero():
    from scipy import sparse

    with pytest.raises(TypeError, match="toarray"):
        Min()(sparse.csr_array(np.eye(2)))
    assert_allclose(Min()([[0.0], [1.0]]), [[0, 0], [0, 1]])
    assert_allclose(ArcSine(0.0)([[0.0]]), [[0.0]])
