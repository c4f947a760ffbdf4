"""Probabilities of ordered classes from one score: a cumulative link fitted by likelihood."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from skmoderndata._solvers.common.iterate import Iterations
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    BISECTIONS,
    MAX_NEWTON_STEPS,
    ROUNDING,
    SUFFICIENT_DECREASE,
)
from skmoderndata._solvers.common.typing import Array

# Tolerance on the largest derivative of the mean loss, for scores of variance one.
GRADIENT_TOL = 1e-10


class CumulativeLink(NamedTuple):
    """Slope a and thresholds t of `P(y <= k | s) = sigma(t_k - a s)`."""

    slope: float
    thresholds: Array
    loss: float  # mean negative log-likelihood of the smoothed labels
    gradient: float  # largest derivative of the loss, for scores of mean 0 and variance 1
    n_iter: int


def cumulative_link(
    scores: Array, ranks: Array, weights: Array, frequencies: Array, *, smoothing: float
) -> CumulativeLink:
    """Minimise `-sum_i w_i sum_k T_ik log P(y_i = k | s_i)` over `a >= 0` and ascending t.

    The labels are smoothed, `T_ik = (1 - smoothing) [y_i = k] + smoothing frequencies_k`, so that
    the minimum exists even if scores separate the ranks or a rank has no score. With
    `u_ik = t_k - a s_i`,

        log P(y_i = k) = log sigma(u_ik) + log sigma(-u_i(k-1)) + log(1 - exp(t_(k-1) - t_k)).

    Each term is concave in (a, t), so the loss is convex. It is the sum of the losses of one
    logistic regression for each threshold, between the ranks on both sides of it and with a common
    slope, and of a term in the distances of the thresholds. Damped Newton steps from a = 0 stop at
    a gradient of `GRADIENT_TOL`. If the free minimum has a < 0, the minimum under `a >= 0` is the
    start.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Scores of samples that were not used to fit the model of the scores.
    ranks : ndarray of int of shape (n_samples,)
        Ranks from 0.
    weights : ndarray of shape (n_samples,)
        Positive weights; only their proportions matter.
    frequencies : ndarray of shape (n_ranks,)
        Positive frequencies of the ranks, of sum one.
    smoothing : float
        Fraction of a label that is replaced by the frequencies, above 0.
    """
    # without scores, use a single sample whose label has the frequencies of the ranks
    if not len(scores):
        scores = np.zeros(1)
        ranks = np.zeros(1, dtype=int)
        weights = np.ones(1)
        smoothing = 1.0

    # 1. Standardise the scores to mean 0 and variance 1
    w = weights / max(float(weights.sum()), np.finfo(float).tiny)
    mean = float(w @ scores)
    deviation = float(np.sqrt(w @ (scores - mean) ** 2))
    s = scores - mean
    largest = float(np.abs(scores).max(initial=0.0))
    constant = not deviation > ACCUMULATED_ROUNDING * largest
    s = np.zeros(len(s)) if constant else s / deviation

    # 2. Smooth the labels, and start with the thresholds of uninformative scores
    labels = np.zeros((len(s), len(frequencies)))
    labels[np.arange(len(s)), ranks] = 1.0
    labels = w[:, None] * ((1.0 - smoothing) * labels + smoothing * frequencies)
    totals = labels.sum(axis=0)
    below = np.cumsum(totals)[:-1]
    start = np.r_[np.log(below) - np.log(totals.sum() - below), 0.0]

    # 3. Minimise the loss
    link = _newton(start, s, labels, totals) if not constant else None
    if link is None or link.slope < 0:
        loss, slopes, _ = _loss(start, s, labels, totals)
        # a is at its bound 0 and cannot decrease further
        slopes[-1] = min(float(slopes[-1]), 0.0)
        gradient = float(np.abs(slopes).max())
        return CumulativeLink(0.0, start[:-1], loss, gradient, 0)

    slope = link.slope / deviation
    return link._replace(slope=slope, thresholds=link.thresholds + slope * mean)


def _newton(start: Array, s: Array, labels: Array, totals: Array) -> CumulativeLink:
    """Take Newton steps, halved until the loss decreases enough and the thresholds ascend."""
    theta = start
    state = _loss(theta, s, labels, totals)
    it = Iterations(MAX_NEWTON_STEPS, GRADIENT_TOL)

    for _ in it:
        loss, gradient, hessian = state
        direction = -np.linalg.solve(hessian, gradient)
        promised = float(gradient @ direction)

        # halve the step until the thresholds are in ascending order and the loss has decreased
        # enough
        length = 1.0
        for _ in range(BISECTIONS):
            trial = theta + length * direction
            new = _loss(trial, s, labels, totals)
            rounding = ROUNDING / 10 * abs(loss)
            if new[0] <= loss + SUFFICIENT_DECREASE * length * promised + rounding:
                break
            length *= 0.5

        # the last steps still reduce the gradient although they change the loss only by rounding
        # errors
        steepest = float(np.abs(new[1]).max())
        if not new[0] < loss and steepest >= np.abs(gradient).max():
            it.ended = True
            continue

        theta = trial
        state = new
        it.residual = steepest

    loss, gradient, _ = state
    largest = float(np.abs(gradient).max())
    return CumulativeLink(float(theta[-1]), theta[:-1], loss, largest, it.n_iter)


def _loss(theta: Array, s: Array, labels: Array, totals: Array) -> tuple[float, Array, Array]:
    """Return loss, gradient and Hessian at `theta = (t, a)` for weighted labels of sum one."""
    t = theta[:-1]
    m = len(t)
    gaps = np.diff(t)
    gradient = np.zeros(m + 1)
    hessian = np.zeros((m + 1, m + 1))
    if (gaps <= 0).any() or not np.isfinite(theta).all():
        return np.inf, gradient, hessian

    # 1. Add the logistic regressions: rank k is below threshold k, rank k + 1 above it
    lower = labels[:, :-1]
    upper = labels[:, 1:]
    u = t - theta[-1] * s[:, None]  # (n_samples, n_thresholds)
    loss = -float((lower * log_expit(u)).sum() + (upper * log_expit(-u)).sum())

    probability = expit(u)
    slopes = (lower + upper) * probability - lower
    curvatures = (lower + upper) * probability * expit(-u)
    gradient[:-1] = slopes.sum(axis=0)
    gradient[-1] = -s @ slopes.sum(axis=1)

    index = np.arange(m)
    hessian[index, index] = curvatures.sum(axis=0)
    hessian[-1, :-1] = hessian[:-1, -1] = -s @ curvatures
    hessian[-1, -1] = s**2 @ curvatures.sum(axis=1)

    # 2. Add -log(1 - exp(-gap)) for each sample whose rank lies between two thresholds
    inner = totals[1:-1]
    loss -= float(inner @ np.log(-np.expm1(-gaps)))
    pull = inner / np.expm1(gaps)
    gradient[1:-1] -= pull
    gradient[: m - 1] += pull
    bend = pull / -np.expm1(-gaps)
    hessian[index[1:], index[1:]] += bend
    hessian[index[:-1], index[:-1]] += bend
    hessian[index[:-1], index[1:]] -= bend
    hessian[index[1:], index[:-1]] -= bend
    return loss, gradient, hessian


def link_log_probabilities(scores: Array, slope: float, thresholds: Array) -> Array:
    """Return the log-probabilities of the ranks, of shape (n_samples, n_ranks)."""
    u = thresholds - slope * scores[:, None]
    n = len(scores)
    zeros = np.zeros((n, 1))
    below = np.hstack([log_expit(u), zeros])  # log P(y <= k)
    above = np.hstack([zeros, log_expit(-u)])  # log P(y >= k)
    between = np.log(-np.expm1(-np.diff(thresholds)))
    return below + above + np.r_[0.0, between, 0.0]
