"""A sum of three sines with noise by 50 inducing inputs, as in GPflow's tutorial on large data."""

import numpy as np

from benchmarks.away.task import Task
from benchmarks.away.tasks.gpy_sparse_regression import density, predicted


def signal(x):
    return np.sin(3 * np.pi * x) + 0.3 * np.cos(9 * np.pi * x) + 0.5 * np.sin(7 * np.pi * x)


def load():
    """Return draws of inputs in [-1, 1], targets, new inputs and their targets."""
    draws = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (2000, 1))
        y = signal(X[:, 0]) + 0.2 * rng.normal(size=2000)
        draws.append((X[:1000], y[:1000], X[1000:], y[1000:]))
    return draws


def theirs(draws):
    import gpflow

    found = []
    for X, y, new, truth in draws:
        model = gpflow.models.SGPR(
            (X, y[:, None]), gpflow.kernels.SquaredExponential(), X[:50].copy()
        )
        gpflow.optimizers.Scipy().minimize(
            model.training_loss, model.trainable_variables, options={"maxiter": 200}
        )
        mean, variance = (np.asarray(part)[:, 0] for part in model.predict_y(new))
        found.append(density(mean, variance, truth))
    return found


def ours(draws):
    return predicted(draws)


def documented(draws):
    return predicted(draws, n_inducing=50)


TASK = Task(
    name="gpflow_sgpr",
    origin="GPflow, tutorial",
    link="https://gpflow.github.io/GPflow/develop/notebooks/getting_started/large_data.html",
    program="GPflow SGPR, 50 inducing inputs, L-BFGS of gpflow.optimizers.Scipy",
    data="1,000 samples by the recipe of the tutorial, three draws",
    licence="Apache-2.0",
    measure="mean log density of test targets",
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
)
