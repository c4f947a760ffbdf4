"""Properties that users expect of every kernel in the registry."""

import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.svm import SVC

from skmoderndata._estimator.registry import all_kernels
from skmoderndata._kernelized.gram import resolve_kernel
from skmoderndata._samples.containers import Sample, take
from skmoderndata.kernels import (
    AllSubsets,
    Conformal,
    Convolution,
    DAGPath,
    DerivedSubsets,
    DirectSum,
    DistanceKernel,
    ExponentialOf,
    GaussianOf,
    Normalized,
    PolynomialOf,
    Pullback,
    TensorProduct,
)
from skmoderndata.kernels._base import constant_diagonal
from tests.oracles.kernel_twins import all_twins

TWINS = all_twins()
KERNELS = [
    pytest.param(kernel, TWINS[cls.__name__], id=repr(kernel)[:80])
    for cls in all_kernels()
    if cls.__name__ in TWINS
    for kernel in TWINS[cls.__name__].make()
]
TUNED = [
    pytest.param(kernel, TWINS[cls.__name__], id=repr(kernel)[:80])
    for cls in all_kernels()
    if cls.__name__ in TWINS and TWINS[cls.__name__].tuned
    for kernel in TWINS[cls.__name__].tuned()
]
ON_VECTORS = [case for case in KERNELS if case.values[0].requires_vector_input]
each = pytest.mark.parametrize(("kernel", "twin"), KERNELS)


def draw(twin, seed, n=7):
    return twin.samples(np.random.default_rng(seed), n)


def wrapped(X):
    out = np.empty(len(X), dtype=object)
    for i, x in enumerate(X):
        out[i] = Sample(x)
    return out


def test_every_kernel_has_a_twin():
    assert [cls.__name__ for cls in all_kernels() if cls.__name__ not in TWINS] == []


@pytest.mark.oracle
@each
def test_matches_its_brute_force_twin(kernel, twin, seed):
    X = draw(twin, seed)
    Y = draw(twin, seed + 100, n=5)
    expected = np.array([[twin.pair(kernel, x, y) for y in Y] for x in X])
    K = kernel(X, Y)
    assert K.shape == (7, 5)
    assert K.dtype == np.float64
    scale = max(1.0, float(np.abs(expected).max()))
    assert_allclose(K, expected, rtol=1e-10, atol=1e-10 * scale)
    diagonal = np.array([twin.pair(kernel, x, x) for x in X])
    atol = 1e-10 * max(1, np.abs(diagonal).max())
    assert_allclose(kernel.diag(X), diagonal, rtol=1e-10, atol=atol)


@pytest.mark.edge
@pytest.mark.parametrize(("kernel", "twin"), ON_VECTORS)
def test_raises_on_complex_samples(kernel, twin, seed):
    """A conversion would drop the imaginary part."""
    X = np.asarray(draw(twin, seed), dtype=float) * (1 + 1j)
    with pytest.raises(ValueError, match="real and imaginary parts as separate features"):
        kernel(X)
    with pytest.raises(ValueError, match="real and imaginary parts as separate features"):
        kernel.diag(X)


def of_scikit_learn():
    """Kernels built from scikit-learn's, on rows of numbers or on samples that contain rows."""
    inner = [RBF(), DotProduct(), RBF() + WhiteKernel()]
    rows = [Normalized, GaussianOf, PolynomialOf, ExponentialOf]
    return [
        *((make(k), np.asarray) for k in inner for make in rows),
        *((Conformal(k, lambda X: np.ones(len(X))), np.asarray) for k in inner),
        *((Pullback(k, np.square), np.asarray) for k in inner),
        *((DAGPath([("s", "t", k)], "s", "t"), np.asarray) for k in inner),
        *((AllSubsets(base_kernels=k), np.asarray) for k in inner),
        *((DirectSum([k], columns=[[0, 1, 2]]), np.asarray) for k in inner),
        *((TensorProduct([k]), lambda X: [(x,) for x in X]) for k in inner),
        *((DerivedSubsets(k), lambda X: [x[:, None] for x in X]) for k in inner),
        *((Convolution(lambda x: [("row", (x,))], [k]), list) for k in inner),
    ]


@pytest.mark.edge
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("kernel", "form"), of_scikit_learn(), ids=lambda x: type(x).__name__)
def test_wrappers_of_kernels_raise_on_nan(kernel, form, value):
    """Scikit-learn's kernels return NaN; ours raise, also if they contain scikit-learn's."""
    X = np.random.default_rng(0).normal(size=(4, 3))
    assert np.isfinite(kernel(form(X))).all()
    X[1, 2] = value
    for call in (kernel, kernel.diag, lambda Z: kernel(Z[:1], Z)):
        with pytest.raises(
            ValueError, match="needs finite samples, but received NaN or infinity"
        ):
            call(form(X))


@pytest.mark.edge
@pytest.mark.parametrize(("kernel", "twin"), ON_VECTORS)
def test_samples_without_columns(kernel, twin):
    """All samples are equal then: values and diagonal are constant, or the kernel raises."""
    X = np.zeros((3, 0))
    message = None
    try:
        K = kernel(X)
    except ValueError as error:
        message = str(error)
    if message is not None:
        assert len(message) > 20
        with pytest.raises(ValueError, match=re.escape(message)):
            kernel.diag(X)
        return
    assert_array_equal(K, np.full((3, 3), K[0, 0]))
    assert_array_equal(kernel.diag(X), np.diag(K))
    assert_array_equal(kernel(X, X[:2]), K[:, :2])


@pytest.mark.certificate
@each
def test_matrix_is_symmetric_and_positive(kernel, twin, seed):
    X = draw(twin, seed, n=12)
    K = kernel(X)
    scale = np.abs(K).max()
    assert_allclose(K, K.T, rtol=0, atol=1e-13 * scale)
    assert_allclose(kernel(X, X), K, rtol=0, atol=1e-12 * scale)
    assert_allclose(kernel.diag(X), np.diag(K), rtol=0, atol=1e-12 * scale)
    if kernel._card.psd:
        assert np.linalg.eigvalsh(K)[0] >= -1e-10 * np.trace(K)
    if constant_diagonal(kernel):
        assert np.ptp(np.diag(K)) <= 1e-12 * scale


STATIONARY = [case for case in KERNELS if case.values[0].is_stationary()]


@pytest.mark.certificate
@pytest.mark.parametrize(("kernel", "twin"), STATIONARY)
def test_stationary_kernels_depend_on_differences_only(kernel, twin, seed):
    """Kernels of samples without differences, such as strings, cannot claim it."""
    assert kernel.requires_vector_input
    X, Y = (np.asarray(draw(twin, s), dtype=float) for s in (seed, seed + 100))
    for shift in (
        0.125,
        0.5,
    ):  # the numbers are exact in binary; some kernels accept only non-negative numbers
        K = kernel(X + shift, Y + shift)
        assert_allclose(K, kernel(X, Y), rtol=1e-12, atol=1e-12 * np.abs(K).max())


def test_combined_kernels_inherit_stationarity():
    """Some constructions inherit it; others have only a constant diagonal."""
    inner = RBF(0.5)
    other = DotProduct(1.0) ** 2
    of_kernel = [Normalized, ExponentialOf, PolynomialOf, GaussianOf]

    assert all(make(inner).is_stationary() for make in of_kernel)
    assert not any(make(other).is_stationary() for make in of_kernel)
    assert [constant_diagonal(make(other)) for make in of_kernel] == [
        False,
        False,
        False,
        True,
    ]

    assert {case.values[0].__class__.__name__ for case in STATIONARY} >= {"CosineSeries"}

    for kernel in (Pullback(inner, np.square), DistanceKernel(manhattan_distances)):
        assert not kernel.is_stationary()
        assert constant_diagonal(kernel)
        assert constant_diagonal(kernel * inner + kernel**2)
        assert not constant_diagonal(kernel + other)
    for kernel in (Pullback(other, np.square), Conformal(inner, np.ravel)):
        assert not kernel.is_stationary()
        assert not constant_diagonal(kernel)


@pytest.mark.invariance
@each
def test_subsets_and_order(kernel, twin, seed):
    X = draw(twin, seed)
    Y = draw(twin, seed + 100, n=5)
    K = kernel(X, Y)
    close = {"rtol": 0, "atol": 1e-12 * max(1.0, float(np.abs(K).max()))}
    assert_allclose(kernel(Y, X), K.T, **close)
    order = [5, 0, 3]
    assert_allclose(kernel(take(X, order), Y), K[order], **close)
    assert_allclose(kernel(X, take(Y, [2])), K[:, [2]], **close)
    assert_allclose(kernel(take(X, order)), kernel(X)[np.ix_(order, order)], **close)


@pytest.mark.certificate
@pytest.mark.parametrize(("kernel", "twin"), TUNED)
def test_gradients_match_finite_differences(kernel, twin, seed):
    X = draw(twin, seed)
    K, gradient = kernel(X, eval_gradient=True)
    assert gradient.shape == (7, 7, kernel.n_dims)
    assert kernel.n_dims == len(kernel.bounds) >= 1
    scale = max(1.0, float(np.abs(K).max()))
    for j in range(kernel.n_dims):
        step = np.zeros(kernel.n_dims)
        step[j] = 1e-5
        up, down = (kernel.clone_with_theta(kernel.theta + s * step)(X) for s in (1, -1))
        # central differences have an error of about step^2, plus the rounding error divided by the
        # step
        assert_allclose(gradient[:, :, j], (up - down) / 2e-5, rtol=1e-6, atol=1e-7 * scale)


@pytest.mark.edge
@each
def test_fixed_by_default_without_cross_gradients(kernel, twin):
    X = draw(twin, 0)
    own = [h for h in kernel.hyperparameters if "__" not in h.name]
    assert all(h.fixed for h in own)
    if not len(kernel.theta):
        K, gradient = kernel(X, eval_gradient=True)
        assert gradient.shape == (7, 7, 0)
        assert_allclose(K, kernel(X), rtol=1e-14)
    with pytest.raises(ValueError, match="gradient"):
        kernel(X, draw(twin, 1), eval_gradient=True)


@pytest.mark.invariance
@each
def test_clone_pickle_and_parameters(kernel, twin):
    X = draw(twin, 0)
    before = repr(kernel)
    K = kernel(X)
    for again in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert again is not kernel
        assert repr(again) == before
        assert again == kernel
        assert_allclose(again(X), K, rtol=1e-14)
    names = set(kernel.get_params(deep=False))
    assert before == repr(type(kernel)(**kernel.get_params(deep=False)))
    assert all(f"{name}=" in before for name in names)
    again = clone(kernel).set_params(**kernel.get_params())
    assert repr(again) == before
    with pytest.raises(ValueError, match="Invalid parameter 'no_such'"):
        clone(kernel).set_params(no_such=1)


@pytest.mark.parametrize("cls", all_kernels(), ids=lambda cls: cls.__name__)
def test_repr_distinguishes_parameters(cls):
    kernels = TWINS[cls.__name__].make()
    assert len({repr(k) for k in kernels}) == len(kernels)
    assert all(a != b for i, a in enumerate(kernels) for b in kernels[:i])


@pytest.mark.invariance
@each
def test_wrapped_samples_are_unwrapped(kernel, twin):
    if type(kernel).__name__ in ("Conformal", "Pullback", "Covariance"):
        return  # a user's function receives the samples unchanged
    if any(type(k).__module__.startswith("sklearn") for k in kernel.get_params().values()):
        return  # kernels of scikit-learn do not unwrap the samples
    if type(kernel).__name__ == "DistanceKernel" or hasattr(kernel, "edges"):
        return
    X = draw(twin, 0)
    assert_allclose(kernel(wrapped(X)), kernel(X), rtol=1e-13)


@each
def test_works_in_a_support_vector_classifier(kernel, twin):
    X = draw(twin, 3, n=16)
    y = np.arange(16) % 2
    direct = SVC(kernel=kernel, C=0.5).fit(X, y)
    matrix = SVC(kernel="precomputed", C=0.5).fit(kernel(X), y)
    scale = max(1.0, float(np.abs(matrix.decision_function(kernel(X))).max()))
    assert_allclose(
        direct.decision_function(X), matrix.decision_function(kernel(X)), atol=1e-8 * scale
    )


@each
def test_works_in_gaussian_process_regression(kernel, twin):
    if not kernel._card.psd:
        return
    X = draw(twin, 3, n=8)
    if not isinstance(X, np.ndarray) and isinstance(X[0], np.ndarray | tuple):
        # scikit-learn accepts these samples only in a wrapper, which is tested with SampleColumn
        return
    y = np.linspace(-1, 1, 8)
    model = GaussianProcessRegressor(kernel + WhiteKernel(1.0, "fixed"), optimizer=None)
    model.fit(X, y)
    mean, std = model.predict(X, return_std=True)
    K = kernel(X)
    assert_allclose(mean, K @ np.linalg.solve(K + np.eye(8), y), atol=1e-6)
    assert np.isfinite(std).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("kernel", "twin"), TUNED)
def test_marginal_likelihood_can_be_maximised(kernel, twin):
    X = draw(twin, 3, n=8)
    if not kernel._card.psd or not isinstance(X, np.ndarray | list) or isinstance(X[0], tuple):
        return
    if isinstance(X, list) and isinstance(X[0], np.ndarray):
        return
    y = np.linspace(-1, 1, 8)
    noisy = kernel + WhiteKernel(0.1, "fixed")
    start = GaussianProcessRegressor(noisy, optimizer=None).fit(X, y)
    tuned = GaussianProcessRegressor(noisy).fit(X, y)
    assert tuned.log_marginal_likelihood_value_ >= start.log_marginal_likelihood_value_ - 1e-9


@each
def test_works_through_the_resolver(kernel, twin):
    X = draw(twin, 0)
    Y = draw(twin, 1, n=4)
    gram = resolve_kernel(kernel, X)
    assert_allclose(gram(X, Y), kernel(X, Y), rtol=1e-14)
    assert_allclose(gram.diag(X), kernel.diag(X), rtol=1e-14)


@pytest.mark.edge
@each
def test_one_sample(kernel, twin):
    X = draw(twin, 4, n=1)
    assert kernel(X).shape == (1, 1)
    assert_allclose(kernel(X)[0], kernel.diag(X), atol=1e-12 * max(1, abs(kernel.diag(X)[0])))
