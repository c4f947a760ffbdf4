"""Two classes in the shape of bananas by a variational Gaussian process, as in GPflow."""

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.away.task import Task
from benchmarks.away.tasks.gpy_sparse_classification import predicted


def load():
    """Return three draws of training and test samples: arcs with Gaussian noise."""
    draws = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.integers(2, size=1400)
        angle = np.pi * (rng.random(1400) + y)
        X = np.c_[np.cos(angle) + 0.8 * y, np.sin(angle) + 0.3 * y]
        X += 0.35 * rng.normal(size=X.shape)
        draws.append((X[:400], y[:400], X[400:], y[400:]))
    return draws


def theirs(draws):
    import gpflow

    found = []
    for X, y, new, truth in draws:
        model = gpflow.models.SVGP(
            kernel=gpflow.kernels.SquaredExponential(),
            likelihood=gpflow.likelihoods.Bernoulli(),
            inducing_variable=X[:20].copy(),
        )
        loss = model.training_loss_closure((X, y[:, None].astype(float)))
        gpflow.optimizers.Scipy().minimize(
            loss, model.trainable_variables, options={"maxiter": 200}
        )
        found.append(log_loss(truth, np.asarray(model.predict_y(new)[0])[:, 0]))
    return found


def ours(draws):
    return predicted(draws)


def documented(draws):
    return predicted(draws, n_inducing=20)


TASK = Task(
    name="gpflow_svgp_banana",
    origin="GPflow, tutorial",
    link="https://gpflow.github.io/GPflow/develop/notebooks/basics/classification.html",
    program="GPflow SVGP with 20 inducing inputs and a Bernoulli likelihood, L-BFGS",
    data="400 samples of two generated bananas in place of the set that GPflow downloads",
    licence="Apache-2.0",
    measure="log loss on test samples",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
)
