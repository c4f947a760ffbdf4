"""Evidence that both Gaussian processes take every kernel on rows of numbers."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from skmoderndata._estimator.registry import all_kernels
from skmoderndata.gaussian_process import (
    BayesianCommitteeMachine,
    SparseGaussianProcessRegressor,
)
from skmoderndata.kernels import GammaExponential
from tests.oracles.kernel_twins import all_twins

TWINS = all_twins()
N = 24


def samples(twin, seed=0, n=N):
    """Rows of numbers for a kernel; None where its samples are something else."""
    X = twin.samples(np.random.default_rng(seed), n)
    return np.asarray(X, dtype=float) if isinstance(X, np.ndarray) and X.ndim == 2 else None


def on_rows():
    """All kernels of the package on rows, fixed and tuned, and all of scikit-learn."""
    for cls in all_kernels():
        twin = TWINS[cls.__name__]
        X = samples(twin)
        for kernel in [*twin.make(), *(twin.tuned() if twin.tuned else [])]:
            if kernel.requires_vector_input and X is not None:
                yield pytest.param(kernel, X, id=repr(kernel)[:70])
    X = np.random.default_rng(0).normal(size=(N, 3))
    for kernel in (
        RBF(1.0, "fixed"),
        Matern([1.0, 2.0, 1.0], nu=1.5) * RBF(3.0),
        RBF() + ConstantKernel() * DotProduct(),
        RationalQuadratic() ** 2,
        PairwiseKernel(metric="laplacian"),
        ConstantKernel(2.0, "fixed") * RBF(1.0, "fixed") + WhiteKernel(0.5),
    ):
        yield pytest.param(kernel, X, id=repr(kernel)[:70])
    yield pytest.param(ExpSineSquared() * RBF(), X[:, :1], id="periodic, of one column")


CASES = list(on_rows())


def target(X):
    return np.sin(np.arange(len(X))) + X[:, 0]


def quick(kernel, cls):
    size = (
        {"n_inducing": 6} if cls is SparseGaussianProcessRegressor else {"max_expert_size": 12}
    )
    return cls(kernel, max_iter=15, random_state=0, **size)


def test_every_kernel_on_rows_is_among_the_cases():
    ours = {type(case.values[0]) for case in CASES} & set(all_kernels())
    assert len(ours) > 25


@pytest.mark.few(40)
@pytest.mark.oracle
@pytest.mark.parametrize("cls", [SparseGaussianProcessRegressor, BayesianCommitteeMachine])
@pytest.mark.parametrize(("kernel", "X"), CASES)
def test_every_kernel_is_optimised(cls, kernel, X):
    """The likelihood never falls from the start, and predictions are finite."""
    y = target(X)
    start = quick(kernel, cls).set_params(optimizer=None).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = quick(kernel, cls).fit(X, y)

    value = start.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood_value_ >= value - 1e-6 * abs(value)
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std >= 0).all()


@pytest.mark.oracle
@pytest.mark.parametrize(("kernel", "X"), CASES)
def test_one_expert_is_the_exact_process(kernel, X):
    if "WhiteKernel" in repr(kernel):
        return  # this term is the noise
    y = target(X)
    new = X[:5]
    exact = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None, normalize_y=True).fit(
        X, y
    )
    one = BayesianCommitteeMachine(kernel, combine="bcm", n_experts=1, optimizer=None).fit(
        X, y
    )
    all_samples = SparseGaussianProcessRegressor(kernel, inducing=X, optimizer=None).fit(X, y)
    scale = np.abs(y).max()
    assert_allclose(one.predict(new), exact.predict(new), rtol=0, atol=1e-9 * scale)
    # the jitter of 1e-8 is not negligible compared with a noise of 0.1, in particular for large
    # kernel values
    assert_allclose(all_samples.predict(new), exact.predict(new), rtol=0, atol=1e-3 * scale)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("kernel", "X"), [case for case in CASES if case.values[0].n_dims > 0], ids=str
)
@pytest.mark.parametrize("algorithm", ["vfe", "fitc"])
def test_gradients_by_differences(algorithm, kernel, X):
    y = target(X)
    model = SparseGaussianProcessRegressor(
        kernel, algorithm=algorithm, inducing=X[:5], optimizer=None, batch_size=9, jitter=1e-6
    ).fit(X, y)
    theta = np.append(model.kernel_.theta, np.log(model.noise_level_))
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True, X=X, y=y)
    for j in range(len(theta)):
        step = 1e-5 * (np.arange(len(theta)) == j)
        up, down = (model.log_marginal_likelihood(theta + e, X=X, y=y) for e in (step, -step))
        # differences of likelihoods of several hundred have errors of 1e-8
        assert_allclose(
            gradient[j], (up - down) / 2e-5, atol=1e-5 * (1 + np.abs(gradient).max())
        )


@pytest.mark.edge
@pytest.mark.parametrize("cls", [SparseGaussianProcessRegressor, BayesianCommitteeMachine])
def test_a_parameter_at_the_end_of_its_domain(cls):
    """No difference quotient leaves the domain: gamma is at most 2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    # the target is smooth, like the Gaussian kernel
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=60)
    kernel = GammaExponential(1.0, 1.9, length_scale_bounds=(0.1, 10), gamma_bounds=(0.5, 2))
    with pytest.warns(ConvergenceWarning, match="the upper bound 2 of gamma"):
        model = quick(kernel, cls).fit(X, y)
    assert_allclose(model.kernel_.gamma, 2.0)


@pytest.mark.edge
def test_optimiser_steps_back_after_overflow():
    X = np.random.default_rng(0).normal(size=(40, 2))
    kernel = ConstantKernel(1.0, (1e-300, 1e300)) * DotProduct(1.0, (1e-150, 1e150))
    for cls in (SparseGaussianProcessRegressor, BayesianCommitteeMachine):
        model = quick(kernel, cls).set_params(noise_level_bounds=(1e-300, 1e300))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, X[:, 0])
        assert model.score(X, X[:, 0]) > 0.99
