"""Slow feature analysis by plain loops, by another factorisation, and by bare BLAS calls."""

import time
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsyrk
from sklearn.preprocessing import PolynomialFeatures


def moments(F, *, lag=1, ids=None, valid=None, times=None):
    """Mean, covariance, step moment and number of steps, one row after the other."""
    n, D = F.shape
    ids = np.zeros(n) if ids is None else np.asarray(ids)
    valid = np.ones(n, dtype=bool) if valid is None else valid
    used = F[valid]

    mean = used.mean(axis=0)
    C = np.zeros((D, D))
    for row in used:
        C += np.outer(row - mean, row - mean)
    A = np.zeros((D, D))
    weight = 0.0
    n_steps = 0
    for t in range(n - lag):
        # use steps within a sequence, weighted by their duration
        one_sequence = all(ids[t] == ids[s] for s in range(t, t + lag + 1))
        if one_sequence and valid[t] and valid[t + lag]:
            duration = 1.0 if times is None else times[t + lag] - times[t]
            rate = (F[t + lag] - F[t]) / duration
            A += duration * np.outer(rate, rate)
            weight += duration
            n_steps += 1

    return mean, C / len(used), A / weight, n_steps


def slow_outputs(X, *, degree=1, ids=None, tol=2e-7):
    """Slow outputs and their delta values [Wiskott and Sejnowski 2002, the algorithm].

    Expand, normalise, sphere, and take the smallest principal components of the steps. Singular
    value decompositions serve both times: no product matrix is formed.
    """
    F = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
    F = F - F.mean(axis=0)
    spread = F.std(axis=0)
    F = F[:, spread > 1e-12] / spread[spread > 1e-12]
    U, s, _ = np.linalg.svd(F, full_matrices=False)
    white = U[:, s > tol * s[0]] * np.sqrt(len(X))
    ids = np.zeros(len(X)) if ids is None else np.asarray(ids)
    steps = np.diff(white, axis=0)[ids[1:] == ids[:-1]]
    _, s, Vt = np.linalg.svd(
        steps / np.sqrt(len(steps)), full_matrices=len(steps) < len(white.T)
    )
    delta = np.zeros(len(Vt))
    delta[: len(s)] = s**2
    return white @ Vt[::-1].T, delta[::-1]


def bare_bones(X):
    """Delta values of quadratic slow features, and the seconds that theory cannot avoid.

    The clock runs for two symmetric rank-k updates and two eigendecompositions only, not for
    expanding, centring and differencing, which are done here with the whole matrix in memory.
    """
    p = X.shape[1]
    # compute the quadratic expansion
    F = np.empty((len(X), p + p * (p + 1) // 2), order="F")
    F[:, :p] = X
    column = p
    for i in range(p):
        F[:, column : column + p - i] = X[:, i : i + 1] * X[:, i:]
        column += p - i
    F -= F.mean(axis=0)

    # 1. compute the covariance and its spectrum
    start = time.perf_counter()
    C = dsyrk(1.0 / len(F), F, trans=1, lower=1)
    variance, V = linalg.eigh(C, check_finite=False)
    seconds = time.perf_counter() - start

    steps = np.diff(F, axis=0)
    del F

    # 2. compute the second moment of the steps
    start = time.perf_counter()
    A = dsyrk(1.0 / len(steps), steps, trans=1, lower=1)
    seconds += time.perf_counter() - start
    A += np.tril(A, -1).T

    W = V / np.sqrt(variance)
    M = W.T @ A @ W

    # 3. compute their spectrum in whitened coordinates
    start = time.perf_counter()
    delta, _ = linalg.eigh(M, check_finite=False)
    return delta, seconds + time.perf_counter() - start


class SlowCertificate(NamedTuple):
    """How far directions are from solving the generalised eigenproblem; zero is perfect."""

    stationarity: float  # max_j |A w_j - delta_j C w_j| in units of the features
    orthonormality: float  # largest entry of W C W' - I


def slow_certificate(C, A, components, delta):
    """Residuals of ``A w = delta C w`` and ``W C W' = I``, independent of the features' units.

    The first is measured after the features are scaled to unit variance and relative to the
    norm of `w`.
    """
    if len(components) == 0:
        return SlowCertificate(0.0, 0.0)
    scale = np.sqrt(np.diag(C))
    scale = np.where(scale > 0, scale, 1.0)
    residual = (components @ A - delta[:, None] * (components @ C)) / scale
    length = np.linalg.norm(components * scale, axis=1)
    gram = components @ C @ components.T
    return SlowCertificate(
        float((np.linalg.norm(residual, axis=1) / length).max()),
        float(np.abs(gram - np.eye(len(gram))).max()),
    )
