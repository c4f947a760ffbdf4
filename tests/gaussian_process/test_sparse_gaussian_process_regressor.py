"""Evidence that SparseGaussianProcessRegressor solves the problem it states."""

import tracemalloc
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.gaussian_process import (
    BayesianCommitteeMachine,
    SparseGaussianProcessRegressor,
)
from skmoderndata.gaussian_process._base import Covariance
from skmoderndata.kernels import PSpectrum
from tests.oracles.gaussian_process import exact_log_likelihood, fitc_or_vfe

SCALES = [1.0, 2.0, 1.0, 0.5, 1.0]
KERNELS = {
    "rbf": ConstantKernel(1.3) * RBF(SCALES),
    "fixed": ConstantKernel(1.3, "fixed") * RBF(SCALES),
    "matern12": Matern(SCALES, nu=0.5) * ConstantKernel(0.7),
    "matern32": Matern(1.0, nu=1.5),
    "matern52": ConstantKernel(0.7) * Matern(1.2, nu=2.5),
    "rational": RationalQuadratic(0.8, 1.3),
    "sum": RBF(1.0) + DotProduct(0.5),  # this kernel uses the gradient of scikit-learn
    "product": RBF(1.0) * RBF(2.0),
}
METHODS = ("vfe", "fitc", "dtc", "sor", "nystroem")


def data(seed, n=120):
    X, y = make_friedman1(n, n_features=5, noise=1.0, random_state=seed)
    return X, y


def fixed(kernel="rbf", n_inducing=15, **parameters):
    """Regressor that does not optimise, with samples of its own as inducing inputs."""
    Z = np.random.default_rng(5).uniform(size=(n_inducing, 5))
    return SparseGaussianProcessRegressor(
        KERNELS[kernel], inducing=Z, optimizer=None, **parameters
    )


@pytest.mark.oracle
@pytest.mark.parametrize("method", METHODS)
def test_dense_formulas(method, seed):
    X, y = data(seed)
    new = data(seed + 1)[0][:30]
    model = fixed(algorithm=method).fit(X, y)
    u = (y - y.mean()) / y.std()
    value, mean, variance = fitc_or_vfe(
        model.kernel_, 0.1, model.inducing_points_, X, u, new, method
    )
    assert_allclose(model.log_marginal_likelihood_value_, value, rtol=1e-7)
    assert_allclose(model.predict(new), mean * y.std() + y.mean(), rtol=1e-6)
    _, cov = model.predict(new, return_cov=True, include_noise=False)
    # variances are computed as differences
    assert_allclose(np.diag(cov), variance * y.var(), rtol=1e-5)
    if method == "nystroem":  # variances may be below zero, see below
        return
    std = model.predict(new, return_std=True, include_noise=False)[1]
    assert_allclose(std**2, np.diag(cov), rtol=1e-6)
    noisy = model.predict(new, return_std=True)[1]
    assert_allclose(noisy**2 - std**2, 0.1 * y.var(), rtol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("method", [*METHODS, "subset"])
def test_all_samples_as_inducing_inputs_are_the_exact_process(method, seed):
    X, y = data(seed)
    new = data(seed + 1)[0][:30]
    model = SparseGaussianProcessRegressor(
        KERNELS["rbf"], algorithm=method, inducing=X, optimizer=None, jitter=1e-12
    ).fit(X, y)
    exact = GaussianProcessRegressor(
        KERNELS["rbf"], alpha=0.1, optimizer=None, normalize_y=True
    ).fit(X, y)
    mean, std = exact.predict(new, return_std=True)
    assert_allclose(model.predict(new), mean, rtol=1e-6)
    if method != "sor":
        found = model.predict(new, return_std=True, include_noise=False)[1]
        assert_allclose(found, std, rtol=1e-5)
    value = exact.log_marginal_likelihood_value_
    assert_allclose(model.log_marginal_likelihood_value_, value, rtol=1e-6)
    assert_allclose([model.lower_bound_, model.upper_bound_], value, rtol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", ["vfe", "fitc", "dtc"])
@pytest.mark.parametrize("batch_size", [None, 50])
def test_gradient_by_differences(kernel, method, batch_size, seed):
    X, y = data(seed)
    model = fixed(kernel, algorithm=method, batch_size=batch_size).fit(X, y)
    theta = np.append(model.kernel_.theta, np.log(model.noise_level_))
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True, X=X, y=y)
    assert_allclose(value, model.log_marginal_likelihood_value_, rtol=1e-8)
    for j in range(len(theta)):
        step = 1e-5 * (np.arange(len(theta)) == j)
        up, down = (model.log_marginal_likelihood(theta + e, X=X, y=y) for e in (step, -step))
        assert_allclose(gradient[j], (up - down) / 2e-5, atol=2e-6 * np.abs(gradient).max())


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", ["rbf", "matern32", "rational"])
@pytest.mark.parametrize("method", ["vfe", "fitc"])
def test_gradient_by_the_inducing_inputs(kernel, method, seed):
    """At a maximum of the bound no displacement of an inducing input raises it."""
    X, y = data(seed)
    model = SparseGaussianProcessRegressor(
        KERNELS[kernel],
        algorithm=method,
        n_inducing=4,
        max_iter=1000,
        tol=0,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)

    rng = np.random.default_rng(seed)
    for _ in range(5):
        Z = model.inducing_points_ + 0.03 * rng.normal(size=model.inducing_points_.shape)
        other = SparseGaussianProcessRegressor(
            model.kernel_, algorithm=method, inducing=Z, noise_level=model.noise_level_,
            optimizer=None,
        ).fit(X, y)  # fmt: skip
        assert other.log_marginal_likelihood_value_ < model.log_marginal_likelihood_value_


@pytest.mark.certificate
@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_bounds_enclose_the_exact_likelihood(kernel, seed):
    X, y = data(seed)
    u = (y - y.mean()) / y.std()
    exact = exact_log_likelihood(KERNELS[kernel], 0.1, X, u)
    lower = -np.inf
    for m in (5, 20, 60, 120):  # each set of inducing inputs contains the previous one
        model = SparseGaussianProcessRegressor(
            KERNELS[kernel], inducing=X[:m], optimizer=None, jitter=1e-10
        ).fit(X, y)
        assert lower <= model.lower_bound_ <= exact + 1e-5 <= model.upper_bound_ + 2e-5
        assert_allclose(model.bound_gap_, (model.upper_bound_ - model.lower_bound_) / 120)
        lower = model.lower_bound_


@pytest.mark.paper
def test_fitc_underestimates_the_noise_and_the_bound_overestimates_it():
    """Bauer, van der Wilk and Rasmussen (2016), section 3.1, on data of the same kind."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(100, 1))
    y = np.sin(2 * X[:, 0]) + np.cos(5 * X[:, 0]) + 0.3 * rng.normal(size=100)
    truth = GaussianProcessRegressor(
        ConstantKernel() * RBF() + WhiteKernel(0.1), normalize_y=True
    ).fit(X, y)
    noise = truth.kernel_.k2.noise_level
    found = {}
    for method in ("vfe", "fitc"):
        model = SparseGaussianProcessRegressor(
            ConstantKernel() * RBF(), algorithm=method, n_inducing=8, tol=1e-6, max_iter=1000,
            # restarts avoid local optima
            noise_level_bounds=(1e-8, 10), random_state=0, n_restarts_optimizer=3,
        ).fit(X, y)  # fmt: skip
        found[method] = model.noise_level_, model.log_marginal_likelihood_value_
    assert found["fitc"][0] < noise <= found["vfe"][0]
    assert found["fitc"][1] > found["vfe"][1]
    assert found["vfe"][1] <= truth.log_marginal_likelihood_value_


@pytest.mark.recovery
def test_hyper_parameters_and_noise_from_a_subset(seed):
    X, y = make_friedman1(12_000, n_features=7, noise=1.0, random_state=seed)
    new, truth = make_friedman1(2000, n_features=7, noise=0.0, random_state=seed + 1)
    model = SparseGaussianProcessRegressor(
        n_inducing=60, subset_size=2000, random_state=seed
    ).fit(X, y)
    assert_allclose(np.sqrt(model.noise_level_) * y.std(), 1.0, rtol=0.05)
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.2
    scales = model.kernel_.k2.length_scale
    assert scales[5:].min() > 5 * scales[:5].max()  # two of the inputs have no influence
    polished = SparseGaussianProcessRegressor(
        n_inducing=60, subset_size=2000, polish_iter=5, random_state=seed
    )
    with pytest.warns(ConvergenceWarning, match="5 iterations"):
        polished.fit(X, y)
    assert polished.lower_bound_ > model.lower_bound_


@pytest.mark.invariance
@pytest.mark.parametrize("method", ["vfe", "fitc"])
def test_batches_permutations_and_threads_change_nothing(method, seed):
    X, y = data(seed)
    new = data(seed + 1)[0]
    whole = fixed(algorithm=method).fit(X, y)
    rows = np.random.default_rng(seed).permutation(len(y))
    parts = fixed(algorithm=method, batch_size=7).fit(X[rows], y[rows])
    assert_allclose(parts.predict(new), whole.predict(new), rtol=1e-8)
    assert_allclose(parts.lower_bound_, whole.lower_bound_, rtol=1e-9)
    one = fixed(algorithm=method, batch_size=7).fit(X, y)
    two = fixed(algorithm=method, batch_size=7, n_jobs=2).fit(X, y)
    assert_array_equal(one.predict(new), two.predict(new))


@pytest.mark.invariance
@pytest.mark.parametrize("method", ["vfe", "fitc", "dtc", "sor"])
def test_partial_fit_and_merge_are_fit(method, seed):
    X, y = data(seed)
    y = y + 1e4  # the means differ from batch to batch
    new = data(seed + 1)[0]
    whole = fixed(algorithm=method).fit(X, y)
    stream = fixed(algorithm=method)
    for a in (0, 1, 50):
        stream.partial_fit(X[a : {0: 1, 1: 50, 50: 120}[a]], y[a : {0: 1, 1: 50, 50: 120}[a]])
    halves = [fixed(algorithm=method).fit(X[a : a + 60], y[a : a + 60]) for a in (0, 60)]
    merged = halves[1].merge(halves[0])
    for other in (stream, merged):
        mean, std = other.predict(new, return_std=True)
        wanted, wanted_std = whole.predict(new, return_std=True)
        assert_allclose(mean, wanted, rtol=1e-9)
        assert_allclose(std, wanted_std, rtol=1e-7)
        assert_allclose(other.upper_bound_, whole.upper_bound_, rtol=1e-7)
        assert other.n_samples_seen_ == 120


@pytest.mark.invariance
@pytest.mark.parametrize("method", [*METHODS, "subset"])
def test_a_weight_counts_samples(method, seed):
    X, y = data(seed, n=60)
    w = np.random.default_rng(seed).integers(0, 3, size=60)
    new = data(seed + 1)[0]
    weighted = fixed(algorithm=method).fit(X, y, sample_weight=w)
    repeated = fixed(algorithm=method).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    if method != "subset":  # "subset" uses each sample once
        assert_allclose(weighted.predict(new), repeated.predict(new), rtol=1e-7)
        assert_allclose(
            weighted.log_marginal_likelihood_value_, repeated.log_marginal_likelihood_value_,
            rtol=1e-8,
        )  # fmt: skip
    assert np.isfinite(weighted.predict(new)).all()


@pytest.mark.invariance
def test_units_of_the_target_and_several_targets(seed):
    X, y = data(seed)
    Y = np.column_stack([y, np.cos(y)])
    both = fixed().fit(X, Y)
    for j in range(2):
        alone = fixed().fit(X, Y[:, j])
        assert_allclose(both.predict(X)[:, j], alone.predict(X), rtol=1e-7)
        std = both.predict(X, return_std=True)[1][:, j]
        assert_allclose(std, alone.predict(X, return_std=True)[1], rtol=1e-7)
    scaled = fixed().fit(X, 1e6 * y - 3)
    assert_allclose(scaled.predict(X), 1e6 * fixed().fit(X, y).predict(X) - 3, rtol=1e-8)
    model = fixed().fit(X, y)
    for noise in (True, False):
        draws = model.sample_y(X[:4], n_samples=4000, random_state=seed, include_noise=noise)
        mean, cov = model.predict(X[:4], return_cov=True, include_noise=noise)
        assert_allclose(draws.mean(axis=1), mean, atol=5 * np.sqrt(cov.max() / 4000))
        # the covariance is estimated from 4,000 draws
        assert_allclose(np.cov(draws), cov, atol=0.15 * cov.max())


@pytest.mark.oracle
@pytest.mark.parametrize("method", METHODS)
def test_targets_have_the_noise_by_default_as_with_a_white_kernel(method, seed):
    X, y = data(seed)
    new = data(seed + 1)[0][:20]
    model = fixed(algorithm=method, noise_level=0.3).fit(X, y)
    latent = model.predict(new, return_cov=True, include_noise=False)[1]
    assert_allclose(
        model.predict(new, return_cov=True)[1], latent + 0.3 * y.var() * np.eye(20), rtol=1e-12
    )
    if method != "nystroem":  # variances may be below zero, see below
        std = model.predict(new, return_std=True)[1]
        assert_allclose(std, np.sqrt(np.diag(latent) + 0.3 * y.var()), rtol=1e-6)
    if method == "vfe":
        all_samples = SparseGaussianProcessRegressor(
            KERNELS["rbf"] + WhiteKernel(0.3), inducing=X, optimizer=None, jitter=1e-12
        ).fit(X, y)
        exact = GaussianProcessRegressor(
            KERNELS["rbf"] + WhiteKernel(0.3), optimizer=None, normalize_y=True
        ).fit(X, y)
        std = exact.predict(new, return_std=True)[1]
        assert_allclose(all_samples.predict(new, return_std=True)[1], std, rtol=1e-6)


@pytest.mark.invariance
def test_white_noise_of_the_kernel_is_the_noise(seed):
    X, y = data(seed)
    model = SparseGaussianProcessRegressor(
        RBF(SCALES) + WhiteKernel(0.3), inducing=X[:10], optimizer=None
    ).fit(X, y)
    same = SparseGaussianProcessRegressor(
        RBF(SCALES), noise_level=0.3, inducing=X[:10], optimizer=None
    ).fit(X, y)
    assert model.kernel_ == same.kernel_
    assert_array_equal(model.predict(X), same.predict(X))


@pytest.mark.invariance
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_arrays_of_the_standard(library, seed):
    xp = pytest.importorskip(library)
    X, y = data(seed)
    with sklearn.config_context(array_api_dispatch=True):
        for method in ("vfe", "fitc"):
            model = fixed(algorithm=method).fit(xp.asarray(X), xp.asarray(y))
            mean, std = model.predict(xp.asarray(X), return_std=True)
            wanted = fixed(algorithm=method).fit(X, y).predict(X, return_std=True)
            assert_allclose(np.asarray(mean), wanted[0], rtol=1e-7)
            assert_allclose(np.asarray(std), wanted[1], rtol=1e-5)
        tuned = SparseGaussianProcessRegressor(n_inducing=5, random_state=0, tol=0.1)
        plain = sklearn.clone(tuned).fit(X, y).predict(X)
        assert_allclose(
            np.asarray(tuned.fit(xp.asarray(X), xp.asarray(y)).predict(xp.asarray(X))),
            plain, rtol=1e-3,  # the optimiser amplifies rounding errors
        )  # fmt: skip
        with pytest.raises(ValueError, match="accepts only NumPy arrays"):
            fixed("sum").fit(xp.asarray(X), xp.asarray(y))


@pytest.mark.invariance
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
def test_threads_over_arrays_of_the_standard(optimizer, library, seed):
    xp = pytest.importorskip(library)
    X, y = data(seed)
    model = fixed(batch_size=40, n_jobs=2).set_params(optimizer=optimizer, tol=0.1)
    wanted = sklearn.clone(model).fit(X, y).predict(X)
    # new threads do not see the configuration of the thread that started them
    with sklearn.config_context(array_api_dispatch=True):
        found = model.fit(xp.asarray(X), xp.asarray(y)).predict(xp.asarray(X))
    rtol = 1e-7 if optimizer is None else 1e-3  # the optimiser amplifies rounding errors
    assert_allclose(np.asarray(found), wanted, rtol=rtol)


@pytest.mark.edge
def test_inducing_inputs(seed):
    X, y = data(seed)
    for inducing in ("k-means", "random", "greedy"):
        model = SparseGaussianProcessRegressor(
            n_inducing=10, inducing=inducing, optimizer=None, random_state=seed
        ).fit(X, y)
        assert model.inducing_points_.shape == (10, 5)
    assert {tuple(z) for z in model.inducing_points_} <= {tuple(x) for x in X}
    twice = SparseGaussianProcessRegressor(optimizer=None).fit(
        np.tile(X, (2, 1)), np.tile(y, 2)
    )
    # there are as many inducing inputs as distinct samples
    assert len(twice.inducing_points_) == 120
    kept = SparseGaussianProcessRegressor(
        inducing=X[:5], optimize_inducing=False, random_state=0
    ).fit(X, y)
    assert_array_equal(kept.inducing_points_, X[:5])
    same = np.zeros((3, 5))  # three equal inducing inputs need jitter
    model = SparseGaussianProcessRegressor(inducing=same, optimizer=None, jitter=0).fit(X, y)
    assert model.jitter_ > 0
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.edge
def test_degenerate_data_have_finite_results(seed):
    X, y = data(seed)
    constant = SparseGaussianProcessRegressor(n_inducing=5, random_state=0)
    assert_allclose(constant.fit(X, np.full(120, 3.0)).predict(X), 3.0, rtol=1e-6)
    one = SparseGaussianProcessRegressor(random_state=0).fit(X[:1], y[:1])
    assert_allclose(one.predict(X[:1]), y[:1])
    flat = np.column_stack([X, np.ones(120)])  # one input is constant
    for Z in (flat, 1e8 * flat + 1e8):
        model = SparseGaussianProcessRegressor(n_inducing=10, random_state=0).fit(Z, y)
        mean, std = model.predict(Z, return_std=True)
        assert np.isfinite(mean).all()
        assert (std >= 0).all()
        assert model.score(Z, y) > 0.5
    alike = SparseGaussianProcessRegressor(ConstantKernel(1.0), n_inducing=20, random_state=0)
    # nothing but the mean is known
    assert_allclose(alike.fit(X, y).predict(X), y.mean(), rtol=0.01)
    far, std = fixed().fit(X, y).predict(X + 1e6, return_std=True, include_noise=False)
    assert_allclose(far, y.mean(), rtol=1e-9)
    assert_allclose(std, np.sqrt(1.3) * y.std(), rtol=1e-6)


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", ["vfe", "nystroem"])
@pytest.mark.filterwarnings("ignore:Some variances of algorithm")
def test_far_sample_leaves_other_means_and_variances_unchanged(kernel, method, seed):
    X, y = data(seed)
    new = data(seed + 1)[0][:6]
    model = fixed(kernel, algorithm=method).fit(X, y)
    mean, std = model.predict(new, return_std=True, include_noise=False)
    cov = model.predict(new, return_cov=True, include_noise=False)[1]

    for far in (1e5, 1e8, 1e12):
        batch = np.vstack([new, np.full((1, 5), far), np.full((1, 5), far)])
        with_far, std_with_far = model.predict(batch, return_std=True, include_noise=False)
        assert_allclose(with_far[:6], mean, rtol=1e-9)
        assert_allclose(std_with_far[:6], std, rtol=1e-7)
        if kernel != "sum":  # at the far samples, the variance of this kernel is 1e24
            both = model.predict(batch, return_cov=True, include_noise=False)[1]
            assert_allclose(both[:6, :6], cov, rtol=1e-7, atol=1e-9 * cov.max())
            assert_allclose(both[6, 7], both[6, 6], rtol=1e-9)


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", ["rbf", "matern12", "rational"])
def test_values_of_near_samples_that_are_far_out(kernel, seed):
    """Two groups, a million length scales apart, in one matrix."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 10, 5))
    A[5:] = A[5:] + 1e6
    B[5:] = B[5:] + 1e6
    found = Covariance(KERNELS[kernel])(A, B)
    # the values are computed as differences
    assert_allclose(found, KERNELS[kernel](A, B), rtol=1e-7, atol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize(
    "estimator", [SparseGaussianProcessRegressor, BayesianCommitteeMachine]
)
@pytest.mark.parametrize("value", [0.1, -1 / 3, 1234.1])
def test_a_column_of_equal_floats_is_constant(estimator, value, seed):
    """Its standard deviation is rounding: 1e-17, not 0."""
    X, y = data(seed, n=300)
    flat = np.column_stack([X, np.full(300, value)])
    assert 0 < flat[:100, 5].std() < 1e-10
    model = estimator(random_state=0).fit(flat[:100], y[:100])
    assert model.kernel_.k2.length_scale[5] > 1
    moved = flat[100:] + np.append(np.zeros(5), value * 1e-12)
    assert model.score(moved, y[100:]) > 0.8


@pytest.mark.edge
def test_variances_of_the_nystroem_method_are_clipped_with_a_warning():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(60, 1))
    model = SparseGaussianProcessRegressor(
        RBF(0.3), algorithm="nystroem", inducing=X[:3], optimizer=None, noise_level=1e-3
    ).fit(X, np.sin(X[:, 0]))
    with pytest.warns(UserWarning, match="negative and set to 0"):
        std = model.predict(X, return_std=True, include_noise=False)[1]
    assert (std >= 0).all()


@pytest.mark.edge
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": PSpectrum(2)}, "accepts rows of numbers"),
        ({"kernel": WhiteKernel()}, "only of noise"),
        ({"kernel": WhiteKernel() + WhiteKernel()}, "only of noise"),
        ({"inducing": np.zeros((3, 2))}, "has 2 columns but X has 5"),
        ({"noise_level_bounds": (1.0, 0.1)}, "two positive numbers in order"),
        (
            {"kernel": RBF(1.0, (1e-3, np.inf)), "n_restarts_optimizer": 1},
            "some bounds of the kernel are infinite",
        ),
    ],
)
def test_errors_name_the_remedy(parameters, message):
    X, y = data(0)
    model = SparseGaussianProcessRegressor(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@pytest.mark.edge
def test_errors_after_fit():
    X, y = data(0)
    model = fixed().fit(X, y)
    with pytest.raises(ValueError, match="stores no samples"):
        model.log_marginal_likelihood(np.zeros(7))
    with pytest.raises(ValueError, match="only one of return_std"):
        model.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="noise_level_"):
        model.merge(fixed(noise_level=0.2).fit(X, y))
    with pytest.raises(ValueError, match="whose posterior is not a sum"):
        fixed(algorithm="nystroem").fit(X, y).partial_fit(X, y)


@pytest.mark.edge
def test_pipeline_and_search():
    X, y = data(0)
    search = GridSearchCV(
        make_pipeline(
            StandardScaler(), SparseGaussianProcessRegressor(tol=0.01, random_state=0)
        ),
        {"sparsegaussianprocessregressor__n_inducing": [5, 30]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.8


@pytest.mark.edge
@pytest.mark.slow
def test_a_million_samples_in_bounded_memory():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1_000_000, 8))
    y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=1_000_000)
    tracemalloc.start()
    model = SparseGaussianProcessRegressor(random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500e6
    assert_allclose(np.sqrt(model.noise_level_) * y.std(), 0.1, rtol=0.05)


BOTH = pytest.mark.parametrize(
    "cls", [SparseGaussianProcessRegressor, BayesianCommitteeMachine]
)


@pytest.mark.edge
@BOTH
def test_warns_about_noise_at_its_bound_and_copies(cls):
    X, y = load_diabetes(return_X_y=True)
    plain = cls(random_state=0).fit(X[:300], y[:300])  # this fit must not warn
    twice = np.repeat(np.arange(300), 2)
    with pytest.warns(UserWarning, match="300 of 600 samples are copies of other") as caught:
        copied = cls(random_state=0).fit(X[twice], y[twice])
    assert copied.score(X[300:], y[300:]) < plain.score(X[300:], y[300:]) - 0.1
    if cls is BayesianCommitteeMachine:
        assert caught[0].category is ConvergenceWarning
        assert "beyond the lower bound 1e-06 of noise_level; 300" in str(caught[0].message)
    # repeated measurements are not copies, and a few copies do no harm
    other = y[twice] + np.random.default_rng(0).normal(size=600)
    cls(random_state=0).fit(X[twice], other)
    few = np.append(np.arange(300), np.arange(20))
    cls(random_state=0).fit(X[few], y[few])


@pytest.mark.edge
@BOTH
@pytest.mark.parametrize(
    ("kernel", "bounds", "message"),
    [
        (
            RBF(SCALES),
            (0.2, 1.0),
            "the lower bound 0.2 of noise_level; use wider noise_level_b",
        ),
        (RBF(SCALES, "fixed"), (1e-6, 1e-3), "the upper bound 0.001 of noise_level"),
        (
            ConstantKernel() * RBF(SCALES, (1e-3, 0.5)),
            (1e-6, 1e3),
            r"upper bound 0.5 of k2__length_scale\[\d\].*; use wider bounds of the kernel",
        ),
        (RBF(5.0, (5.0, 50.0)), (1e-6, 1e3), "the lower bound 5 of length_scale;"),
    ],
)
def test_warns_about_parameters_at_relevant_bounds(cls, kernel, bounds, message):
    X, y = data(0)
    with pytest.warns(ConvergenceWarning, match=message):
        cls(kernel, noise_level_bounds=bounds, max_iter=300, random_state=0).fit(X, y)


@pytest.mark.edge
@BOTH
def test_does_not_warn_about_irrelevant_bounds(cls):
    """A length scale of an input without influence may end anywhere."""
    X, y = make_friedman1(400, n_features=8, noise=1.0, random_state=0)
    model = cls(random_state=0).fit(X, y)
    at_bound = model.kernel_.theta >= model.kernel_.bounds[:, 1] - 1e-8
    assert at_bound.any()
    # two equal bounds fix the value
    cls(RBF(1.0, (1.0, 1.0)), noise_level_bounds=(0.3, 0.3), random_state=0).fit(X, y)
    cls(RBF(), optimizer=lambda f, x, b: (x, f(x)[0]), random_state=0).fit(X, y)


@pytest.mark.recovery
@BOTH
def test_coverage_of_intervals_matches_the_exact_process(cls):
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    kernel = ConstantKernel() * RBF(3.0)
    exact = GaussianProcessRegressor(kernel + WhiteKernel(0.1), normalize_y=True)
    covered = []
    for model in (cls(kernel, random_state=0), exact):
        mean, std = model.fit(X[:300], y[:300]).predict(X[300:], return_std=True)
        covered.append(np.mean(np.abs(mean - y[300:]) < 1.96 * std))
    # allow four exceptions among 142 targets
    assert_allclose(covered[0], covered[1], atol=0.03)
    assert covered[0] > 0.9
