"""Evidence that kernels built from kernels match their formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from skmoderndata.kernels import (
    AllSubtree,
    Bilinear,
    Conformal,
    Covariance,
    DirectSum,
    DistanceKernel,
    ExponentialOf,
    GapWeighted,
    GaussianOf,
    Intersection,
    MonteCarlo,
    Normalized,
    PolynomialOf,
    PowerSet,
    Pullback,
    TensorProduct,
)
from tests.oracles.closed_form_twins import first, half_space, sign_of_second

LINEAR = DotProduct(0.0, "fixed")


def table(seed, n=6, p=3):
    return np.random.default_rng(seed).normal(size=(n, p))


@pytest.mark.oracle
def test_numbers_worked_out_by_hand():
    assert PolynomialOf(LINEAR, (1, 2, 1))([[1.0, 2, 3]], [[4.0, 5, 6]])[0, 0] == 1089
    k = GaussianOf(DotProduct(1.0) ** 2, 2.0)
    assert k([[1.0, 0]], [[0.0, 1]])[0, 0] == pytest.approx(np.exp(-0.75), rel=1e-12)
    K = Normalized(LINEAR)([[1.0, 0], [2, 1], [3, 1]])
    assert_allclose([K[0, 1], K[0, 2], K[1, 2]], [0.894427, 0.948683, 0.989949], atol=1e-6)


@pytest.mark.oracle
def test_limiting_cases_of_scikit_learn(seed):
    X = table(seed)
    Y = table(seed + 1, 4)
    assert_allclose(GaussianOf(LINEAR, 0.7)(X, Y), RBF(0.7)(X, Y), rtol=1e-12)
    assert_allclose(GaussianOf(LINEAR, 0.7)(X), rbf_kernel(X, gamma=1 / 0.98), rtol=1e-12)
    assert_allclose(Bilinear(np.eye(3))(X, Y), X @ Y.T, rtol=1e-13)
    assert_allclose(PolynomialOf(LINEAR, (0, 0, 1))(X), (LINEAR**2)(X), rtol=1e-13)
    sum_of_two = DirectSum([RBF(), LINEAR], columns=[[0, 1], [2]])
    assert_allclose(sum_of_two(X), RBF()(X[:, :2]) + LINEAR(X[:, 2:]), rtol=1e-13)
    product = TensorProduct([RBF(), LINEAR], columns=[[0, 1], [2]])
    assert_allclose(product(X), RBF()(X[:, :2]) * LINEAR(X[:, 2:]), rtol=1e-13)


@pytest.mark.recovery
def test_random_half_spaces_estimate_the_angle():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.2]])
    angle = np.arccos(np.clip(Normalized(LINEAR)(X), -1, 1))
    kernel = MonteCarlo(half_space, n_components=20_000)
    # Hoeffding: the error is at most 0.025 for six pairs at once, with probability 1 - 0.02
    assert_allclose(kernel(X), 1 - 2 * angle / np.pi, atol=0.04)
    Z = kernel.features(X)
    assert Z.shape == (3, 20_000)
    assert_allclose(Z @ Z.T, kernel(X), rtol=1e-12)


@pytest.mark.invariance
def test_every_kernel_is_the_conformal_transform_of_its_normalised_form(seed):
    X = table(seed)
    inner = DotProduct(1.0) ** 2
    k = Conformal(Normalized(inner), lambda A: np.sqrt(inner.diag(A)))
    assert_allclose(k(X), inner(X), rtol=1e-12)


@pytest.mark.invariance
def test_signs_agree_minus_disagree():
    X = table(0, 8)
    K = Covariance([sign_of_second, lambda A: np.sign(first(A))])(X)
    S = np.sign(X[:, [1, 0]])
    agree = np.array([[np.mean(a == b) for b in S] for a in S])
    assert_allclose(K, agree - (1 - agree))


@pytest.mark.certificate
def test_normalising_in_the_logarithm_does_not_overflow():
    X = np.array([[0.0], [100.0], [100.5]])
    K = Normalized(ExponentialOf(LINEAR))(X)
    assert_allclose(K, RBF(1.0)(X), rtol=1e-10)
    big = [set(range(3000)), set(range(2999)), set()]
    expected = [[1, 0.5**0.5, 0], [0.5**0.5, 1, 0], [0, 0, 1]]
    assert_allclose(Normalized(PowerSet())(big), expected, atol=1e-9)


def bush(last="leaf"):
    """Tree of a hundred branches of twelve twigs with one leaf each, with the given last leaf."""
    branches = [("b", *((f"t{j}", "leaf") for j in range(12))) for _ in range(100)]
    return ("r", *branches[1:], (*branches[0][:-1], ("t11", last)))


TREES = [bush(), bush("fruit"), ("b", ("t0", "leaf")), ("leaf",)]
SMALL_TREES = [("a", ("b", "c")), ("a", ("b", ("c", "d")))]


@pytest.mark.certificate
@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (ExponentialOf(DotProduct(1.0, (0.1, 9)), 1.0, (0.1, 9)), [[0.0], [30.0], [30.5]]),
        (AllSubtree(decay=0.9, decay_bounds=(0.1, 1)), TREES),
        (AllSubtree(decay=0.9, include_leaves=True, decay_bounds=(0.1, 1)), TREES),
        (
            AllSubtree(decay=0.9, labelled=False, decay_bounds=(0.1, 1)),
            [("a", ("b", "c")), ("a", ("b", ("c", "d")))],
        ),
    ],
)
def test_gradients_of_normalised_logarithms(kernel, X):
    """Derivatives are finite if the values overflow, and match finite differences."""
    kernel = Normalized(kernel)
    _, gradient = kernel(X, eval_gradient=True)
    assert np.isfinite(gradient).all()
    for i in range(len(kernel.theta)):
        step = 1e-6 * np.eye(len(kernel.theta))[i]
        up, down = (kernel.clone_with_theta(kernel.theta + s)(X) for s in (step, -step))
        # the error of central differences is the rounding error of logarithms of about a thousand,
        # divided by the step
        assert_allclose(gradient[:, :, i], (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.edge
def test_raises_if_gradients_overflow():
    kernel = Normalized(GapWeighted(p=260, decay=1.0, decay_bounds=(0.1, 1)))
    with pytest.raises(ValueError, match=r"exceeds double precision.*'fixed'"):
        kernel(["a" * 540, "a" * 539], eval_gradient=True)


@pytest.mark.recovery
def test_search_reaches_parameters_of_parts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    kernel = DirectSum([RBF(), LINEAR], columns=[[0], [1]])
    search = GridSearchCV(
        SVC(kernel=kernel), {"kernel__kernels__0__length_scale": [0.5, 50.0]}
    )
    assert search.fit(X, y).best_params_ == {"kernel__kernels__0__length_scale": 0.5}
    assert kernel.kernels[0].length_scale == 1.0
    assert "kernels__0__length_scale" in kernel.get_params()


@pytest.mark.edge
def test_zero_self_similarity_gives_zero_not_nan():
    K = Normalized(LINEAR)([[0.0, 0.0], [1.0, 0.0]])
    assert_allclose(K, [[0, 0], [0, 1]])
    assert_allclose(Normalized(Intersection())([set(), {1}]), [[0, 0], [0, 1]])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (PolynomialOf(RBF(), (1, -1)), [[0.0]], r"PolynomialOf: coef=\(1, -1\).* at least 0"),
        (PolynomialOf(RBF(), ()), [[0.0]], "coef"),
        (ExponentialOf(RBF(), 0.0), [[0.0]], "scale=0.0; it must be above 0"),
        (GaussianOf(RBF(), -1.0), [[0.0]], "length_scale=-1.0"),
        (Bilinear([[1.0, 2], [0, 1]]), [[0.0, 1]], "symmetric"),
        (Bilinear([[1.0, 2], [2, 1]]), [[0.0, 1]], "eigenvalue -1"),
        (Bilinear(np.eye(3)), [[0.0, 1]], r"\(3, 3\).*\(2, 2\)"),
        (Bilinear(np.eye(2)), [[np.nan, 1]], "NaN"),
        (Bilinear(np.eye(2)), [1.0, 2.0], r"shape \(2,\)"),
        (Conformal(RBF(), lambda X: np.ones(3)), [[0.0]], r"shape \(1,\).*\(3,\)"),
        (DirectSum([RBF(), RBF()]), [([0.0], None)], "part 1 of sample 0 is None"),
        (DirectSum([RBF(), RBF()]), [([0.0],)], "sequence of 2 parts"),
        (DirectSum([]), [()], "non-empty"),
        (DirectSum([RBF()], columns=[[0], [1]]), [[0.0, 1.0]], "2 parts"),
        (TensorProduct([RBF()], missing="maybe"), [([0.0],)], "missing='maybe'"),
        (Covariance([first], weights=[-1.0]), [[0.0]], "weights"),
        (MonteCarlo(half_space, 0), [[0.0]], "n_components=0"),
        (MonteCarlo(half_space, random_state=None), [[0.0]], "random_state=None"),
        (DistanceKernel(lambda A, B: -np.ones((1, 1))), [[0.0]], "negative"),
        (Normalized(DirectSum([RBF()], weights=[1])), [1.0], "sequence of 1 parts"),
    ],
    ids=lambda v: repr(v)[:40],
)
def test_messages_name_parameter_and_remedy(kernel, X, message):
    with pytest.raises(ValueError, match=message):
        kernel(X)


@pytest.mark.edge
def test_images_and_originals_may_be_of_different_kinds():
    words = ["cat", "horse", "ox"]
    k = Pullback(RBF(), lambda X: np.array([[len(x)] for x in X], dtype=float))
    assert_allclose(k(words), RBF()([[3.0], [5], [2]]))
    assert not k.requires_vector_input
