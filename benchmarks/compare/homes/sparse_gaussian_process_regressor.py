"""A smooth function of five columns, 100,000 noisy rows."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import make_friedman1

from benchmarks.compare.home import Case, Home
from skmoderndata.gaussian_process import SparseGaussianProcessRegressor


def make(seed, n=100_000, noise=1.0):
    """Friedman's function; new rows have no noise."""
    X, y = make_friedman1(n, 5, noise=noise, random_state=seed)
    X_new, truth = make_friedman1(2000, 5, noise=0.0, random_state=seed + 1000)
    about = f"{n} rows, 5 columns, noise {noise:g}"
    return Case(inputs=SimpleNamespace(X=X, y=y, X_new=X_new), truth=truth, about=about)


def ours(inputs):
    model = SparseGaussianProcessRegressor(n_inducing=100, random_state=0)
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new, return_std=True)[0]


def score(case, mean):
    return np.sqrt(np.mean((mean - case.truth) ** 2))


HOME = Home(
    when="you want to learn a smooth function of a few columns from many rows, with its "
    "uncertainty",
    title="100,000 rows of a smooth function",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="error of the function (the noise is 1)",
    smaller=True,
    by_time=True,
    margin=0.01,
    gain="Learns the function with an error of {ours:.3f} after {our_seconds:.1f} s; {name} "
    "reaches {rival:.3f} after {rival_seconds:.1f} s.",
    lines="model = SparseGaussianProcessRegressor(n_inducing=100, random_state=0).fit(X, y)\n"
    "mean, std = model.predict(X_new, return_std=True)",
    levels={"n": (5000, 20_000), "noise": (3.0,)},
    full_only=True,
)
