"""Attempts to find the smallest ball around many points."""

from functools import partial

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import OneClassSVM


def mean(given):
    """the mean as the centre."""
    return given.X.mean(axis=0)


def steps(given):
    """2000 steps towards the furthest point."""
    center = given.X.mean(axis=0)
    norms = (given.X**2).sum(axis=1)
    for step in range(1, 2001):
        furthest = given.X[np.argmax(norms - 2 * given.X @ center)]
        center = center + (furthest - center) / (step + 1)
    return center


def growing(given):
    """SLSQP on a growing set of furthest points."""
    start = np.r_[given.X.mean(axis=0), 4 * (given.X**2).sum(axis=1).max()]
    norms = (given.X**2).sum(axis=1)
    chosen = np.array([], int)
    for _ in range(30):
        furthest = np.argsort(2 * given.X @ start[:-1] - norms)[:20]
        if np.isin(furthest[0], chosen):
            break
        chosen = np.union1d(chosen, furthest)
        gaps = partial(lambda P, z: z[-1] - ((P - z[:-1]) ** 2).sum(axis=1), given.X[chosen])
        bound = {"type": "ineq", "fun": gaps}
        start = minimize(lambda z: z[-1], start, constraints=bound, method="SLSQP").x
    return start[:-1]


def weights(given):
    """SLSQP on the weights of a growing set of furthest points."""
    center = given.X.mean(axis=0)
    norms = (given.X**2).sum(axis=1)
    chosen = np.array([], int)
    for _ in range(50):
        furthest = np.argsort(2 * given.X @ center - norms)[:10]
        if np.isin(furthest[0], chosen):
            break
        chosen = np.union1d(chosen, furthest)
        K = given.X[chosen] @ given.X[chosen].T
        bound = {"type": "eq", "fun": lambda a: a.sum() - 1, "jac": np.ones_like}
        loss = partial(
            lambda K, a: (a @ K @ a - a @ K.diagonal(), 2 * K @ a - K.diagonal()), K
        )
        settings = {"method": "SLSQP", "jac": True, "tol": 1e-12, "bounds": [(0, 1)] * len(K)}
        start = np.full(len(K), 1 / len(K))
        center = minimize(loss, start, constraints=bound, **settings).x @ given.X[chosen]
    return center


def one_class(given):
    """OneClassSVM with a wide Gaussian kernel."""
    width = 1e-6 / given.X.var(axis=0).sum()
    machine = OneClassSVM(gamma=width, nu=1 / len(given.X), tol=1e-12).fit(given.X)
    return machine.dual_coef_[0] @ machine.support_vectors_ / machine.dual_coef_.sum()


def hull(given):
    """SLSQP on the furthest hundred points."""
    center = given.X.mean(axis=0)
    P = given.X[np.argsort(-((given.X - center) ** 2).sum(axis=1))[:100]]
    bound = {"type": "ineq", "fun": lambda z: z[-1] - ((P - z[:-1]) ** 2).sum(axis=1)}
    start = np.r_[center, ((P - center) ** 2).sum(axis=1).max()]
    return minimize(lambda z: z[-1], start, constraints=bound, method="SLSQP").x[:-1]
