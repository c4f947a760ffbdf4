"""Evidence that AllSubsets and ANOVA sum over subsets of the inputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.preprocessing import PolynomialFeatures

from skmoderndata.kernels import ANOVA, AllSubsets, PowerSet

x = [[1.0, 2.0, 3.0]]
z = [[4.0, 5.0, 6.0]]


@pytest.mark.oracle
def test_numbers_worked_out_by_hand():
    values = [ANOVA(d)(x, z)[0, 0] for d in range(5)]
    assert values == [1, 32, 292, 720, 0]
    assert AllSubsets()(x, z)[0, 0] == sum(values) == 1045
    assert ANOVA(3, cumulative=True)(x, z)[0, 0] == 1045


@pytest.mark.oracle
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_inner_product_of_the_features(degree, seed):
    X = np.random.default_rng(seed).normal(size=(9, 5))
    features = PolynomialFeatures(degree, interaction_only=True).fit_transform(X)
    assert_allclose(ANOVA(degree, cumulative=True)(X), features @ features.T, rtol=1e-10)


@pytest.mark.invariance
def test_methods_agree_and_columns_may_be_swapped(seed):
    X = np.random.default_rng(seed).normal(size=(40, 8))
    for degree in (1, 3, 5):
        K = ANOVA(degree)(X)
        scale = np.abs(K).max()
        assert_allclose(ANOVA(degree, method="newton")(X), K, rtol=0, atol=1e-10 * scale)
        assert_allclose(ANOVA(degree)(X[:, ::-1]), K, rtol=0, atol=1e-12 * scale)


@pytest.mark.invariance
def test_blocks_of_rows_change_nothing(monkeypatch, seed):
    X = np.random.default_rng(seed).normal(size=(50, 4))
    K = ANOVA(3)(X)
    monkeypatch.setattr("skmoderndata.kernels._vectors.anova.TILE", 300)
    assert_allclose(ANOVA(3)(X), K, rtol=1e-13)


@pytest.mark.oracle
def test_on_indicators_it_counts_common_subsets(seed):
    X = (np.random.default_rng(seed).random((8, 7)) < 0.5).astype(float)
    assert_allclose(AllSubsets()(X), PowerSet()(X), rtol=1e-12)


@pytest.mark.recovery
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_marginal_likelihood_finds_the_inputs_that_matter():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.01 * rng.normal(size=60)
    kernel = ANOVA(2, True, weights=np.ones(5), weights_bounds=(1e-6, 1e3)) + WhiteKernel(1e-2)
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)
    weights = model.kernel_.k1.weights
    assert weights[:3].min() > 100 * weights[3:].max()


@pytest.mark.recovery
def test_additive_structure_needs_fewer_samples_than_the_full_product():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(80, 6))
    new = rng.uniform(-2, 2, size=(200, 6))

    def truth(A):
        return np.sin(2 * A).sum(axis=1)

    additive = ConstantKernel(10.0) * ANOVA(1, base_kernels=RBF(0.8)) + WhiteKernel(1e-4)
    full = ConstantKernel(10.0) * RBF(0.8) + WhiteKernel(1e-4)
    errors = [
        np.mean((GaussianProcessRegressor(k, optimizer=None).fit(X, truth(X)).predict(new)
                 - truth(new)) ** 2)
        for k in (additive, full)
    ]  # fmt: skip
    assert errors[0] < 0.05 * errors[1]


@pytest.mark.edge
def test_edge_cases():
    assert_allclose(ANOVA(0)(np.zeros((2, 3))), np.ones((2, 2)))
    assert_allclose(ANOVA(7)(np.ones((2, 3))), np.zeros((2, 2)))
    assert ANOVA(2)(np.zeros((3, 1))).tolist() == np.zeros((3, 3)).tolist()


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("degree=-1", lambda: ANOVA(-1)(x)),
        (r"degree=1\.5", lambda: ANOVA(1.5)(x)),
        (
            "weights has 2 entries for samples with 3 features",
            lambda: ANOVA(weights=[1, 2])(x),
        ),
        ("weights", lambda: AllSubsets(weights=-1)(x)),
        ("base_kernels has 2 entries", lambda: AllSubsets(base_kernels=[RBF(), RBF()])(x)),
        ("method='fast'", lambda: ANOVA(method="fast")(x)),
    ],
)
def test_messages(message, call):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.edge
@pytest.mark.parametrize("base_kernels", [None, DotProduct(0.0)])
def test_newton_is_zero_above_the_number_of_terms(base_kernels, seed):
    """Three inputs have no subset of four, and samples with zeros have even fewer subsets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.5)
    for degree in (2, 3, 4, 7):
        newton = ANOVA(degree, method="newton", base_kernels=base_kernels)
        exact = ANOVA(degree, base_kernels=base_kernels)
        K = newton(X)
        expected = exact(X)
        assert (K[expected == 0] == 0).all()
        assert (newton.diag(X)[exact.diag(X) == 0] == 0).all()
        assert_allclose(K, expected, atol=1e-10 * max(1.0, np.abs(expected).max()))
    assert (newton(X) == 0).all()
