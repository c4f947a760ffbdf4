"""Does the variational bound stay below the exact likelihood, and meet it with more inputs?"""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from benchmarks.papers import OWN_TARGET, Entry, value

NUMBERS = (5, 10, 20, 40)
NOISE = 0.04


def values(quick):
    found = []
    for seed in range(1 if quick else 3):
        exact, bounds = likelihoods(seed)
        shown = ", ".join(f"{m}: {b:.3f}" for m, b in zip(NUMBERS, bounds, strict=True))
        setting = f"draw {seed}, 200 samples in one dimension"
        below = all(b <= exact + 1e-6 for b in bounds)
        rises = bool((np.diff(bounds) >= -1e-6).all())
        found += [
            value(setting, "bound for each number of inducing inputs",
                  f"rises, and is at most {exact:.3f}", OWN_TARGET, shown, holds=below and rises),
            value(setting,
                  f"distance from the exact likelihood with {NUMBERS[-1]} inducing inputs",
                  "below 0.1", OWN_TARGET, f"{exact - bounds[-1]:.1e}",
                  holds=exact - bounds[-1] < 0.1),
        ]  # fmt: skip
    return found


def likelihoods(seed):
    """Exact log likelihood, and bounds with nested inducing inputs, at equal parameters."""
    from skmoderndata.gaussian_process import SparseGaussianProcessRegressor

    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0, 6, size=(200, 1)), axis=0)
    y = np.sin(3 * X[:, 0]) + np.sqrt(NOISE) * rng.normal(size=200)
    kernel = ConstantKernel(1.0) * RBF(0.6)
    exact = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None).fit(X, y)
    order = rng.permutation(200)
    bounds = [
        SparseGaussianProcessRegressor(
            kernel, inducing=X[order[:m]], noise_level=NOISE, optimizer=None, normalize_y=False
        )
        .fit(X, y)
        .log_marginal_likelihood_value_
        for m in NUMBERS
    ]
    return exact.log_marginal_likelihood_value_, np.array(bounds)


ENTRY = Entry(
    title="Variational learning of inducing variables",
    cites="Titsias: Variational learning of inducing variables in sparse Gaussian processes. "
    "Artificial Intelligence and Statistics, 2009.",
    source=(
        "section 3 of the paper states the bound, and its figures show how the bound "
        "approaches the exact likelihood."
    ),
    values=values,
    remarks="The data are a noisy sine, and the hyperparameters are given. The inducing "
    "inputs are samples, and each set of inducing inputs contains the previous set.",
)
