"""Attempts to find the smallest ball around many points."""

from functools import partial

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import OneClassSVM


def mean(inputs):
    """the mean as the centre."""
    return inputs.X.mean(axis=0)


def steps(inputs):
    """2000 steps towards the furthest point."""
    center = inputs.X.mean(axis=0)
    norms = (inputs.X**2).sum(axis=1)
    for step in range(1, 2001):
        furthest = inputs.X[np.argmax(norms - 2 * inputs.X @ center)]
        center = center + (furthest - center) / (step + 1)
    return center


def growing(inputs):
    """SLSQP on a growing set of furthest points."""
    start = np.r_[inputs.X.mean(axis=0), 4 * (inputs.X**2).sum(axis=1).max()]
    norms = (inputs.X**2).sum(axis=1)
    active = np.array([], int)
    for _ in range(30):
        furthest = np.argsort(2 * inputs.X @ start[:-1] - norms)[:20]
        if np.isin(furthest[0], active):
            break
        active = np.union1d(active, furthest)
        gaps = partial(lambda P, z: z[-1] - ((P - z[:-1]) ** 2).sum(axis=1), inputs.X[active])
        bound = {"type": "ineq", "fun": gaps}
        start = minimize(lambda z: z[-1], start, constraints=bound, method="SLSQP").x
    return start[:-1]


def weights(inputs):
    """SLSQP on the weights of a growing set of furthest points."""
    center = inputs.X.mean(axis=0)
    norms = (inputs.X**2).sum(axis=1)
    active = np.array([], int)
    for _ in range(50):
        furthest = np.argsort(2 * inputs.X @ center - norms)[:10]
        if np.isin(furthest[0], active):
            break
        active = np.union1d(active, furthest)
        K = inputs.X[active] @ inputs.X[active].T
        bound = {"type": "eq", "fun": lambda a: a.sum() - 1, "jac": np.ones_like}
        loss = partial(
            lambda K, a: (a @ K @ a - a @ K.diagonal(), 2 * K @ a - K.diagonal()), K
        )
        settings = {"method": "SLSQP", "jac": True, "tol": 1e-12, "bounds": [(0, 1)] * len(K)}
        start = np.full(len(K), 1 / len(K))
        center = minimize(loss, start, constraints=bound, **settings).x @ inputs.X[active]
    return center


def one_class(inputs):
    """OneClassSVM with a wide Gaussian kernel."""
    width = 1e-6 / inputs.X.var(axis=0).sum()
    machine = OneClassSVM(gamma=width, nu=1 / len(inputs.X), tol=1e-12).fit(inputs.X)
    return machine.dual_coef_[0] @ machine.support_vectors_ / machine.dual_coef_.sum()


def hull(inputs):
    """SLSQP on the furthest hundred points."""
    center = inputs.X.mean(axis=0)
    P = inputs.X[np.argsort(-((inputs.X - center) ** 2).sum(axis=1))[:100]]
    bound = {"type": "ineq", "fun": lambda z: z[-1] - ((P - z[:-1]) ** 2).sum(axis=1)}
    start = np.r_[center, ((P - center) ** 2).sum(axis=1).max()]
    return minimize(lambda z: z[-1], start, constraints=bound, method="SLSQP").x[:-1]
