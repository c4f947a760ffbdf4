"""Greedy pursuit and hard thresholding where columns are known by products with them only.

The readable twins of the compiled coders: the same algorithms, with least squares on a support by
conjugate gradients, or on columns that are formed one by one. `s` is the number of non-zeros, and
each stops where the residual is within `bound`. They return codes for columns of unit norm, the
number of steps, and whether they came to an end.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.recovery.conjugate_gradients import least_squares_steps, on_support
from skmoderndata._solvers.recovery.l1_problem import facts_of
from skmoderndata._solvers.recovery.measurements import Operator, columns_of
from skmoderndata._solvers.recovery.optimality import EPS

Array = np.ndarray[Any, np.dtype[Any]]
Pursued = tuple[Array, int, bool]

MAX_ITER = 300
SETTLED = 10  # gradient steps on one support, after which the limit of such steps is computed
WANDERING = 40  # gradient steps, after which it is computed whatever the support
TINY = 100 * EPS
NORM_COLUMNS = 20_000  # with more, norms of columns are not computed


class Columns(NamedTuple):
    """Columns of an operator times `scale`, one over their norms; y is of norm one."""

    A: Operator
    scale: Array
    positive: bool

    def times(self, a: Array) -> Array:
        return np.asarray(self.A.forward((a * self.scale)[None])[0])

    def cross(self, r: Array) -> Array:
        return np.asarray(self.A.adjoint(r[None])[0] * self.scale)

    def column(self, j: int) -> Array:
        return np.asarray(columns_of(self.A, np.array([j]))[:, 0] * self.scale[j])

    def largest(self, values: Array, s: int) -> Array:
        """Places of the `s` largest values that are not zero, ascending; the first of ties."""
        size = np.maximum(values, 0.0) if self.positive else np.abs(values)
        order = np.argsort(-size, kind="stable")[:s]
        return np.sort(order[size[order] > 0])

    def fit(self, y: Array, support: Array, start: Array) -> Array:
        """Least squares on a support, non-negative if so wanted, from the values of `start`."""
        if self.positive:
            return _nonnegative_least_squares(self, y, support, start)
        return _least_squares(self, y, support, start)


def prepare_columns(A: Operator, positive: bool) -> Columns:
    """Norms of the columns, 0 for columns of zeros; one for all where columns are very many."""
    k = A.shape[1]
    if k > NORM_COLUMNS:
        return Columns(A, np.full(k, 1.0 / np.sqrt(facts_of(A).mean_sq)), positive)
    norms = np.empty(k)
    for first in range(0, k, 256):
        which = np.arange(first, min(first + 256, k))
        norms[which] = np.linalg.norm(columns_of(A, which), axis=0)
    used = norms > 1e-12 * norms.max(initial=0.0)
    return Columns(A, np.divide(1.0, norms, out=np.zeros(k), where=used), positive)


def orthogonal_matching_pursuit(y: Array, D: Columns, s: int, bound: float) -> Pursued:
    """OMP [Pati, Rezaiifar and Krishnaprasad 1993]; chosen columns are made orthonormal.

    Gram-Schmidt, twice.
    """
    m, k = D.A.shape
    Q, R = np.zeros((m, s)), np.zeros((s, s))
    h = np.zeros(s)
    chosen: list[int] = []
    r = y.copy()
    barred = D.scale == 0
    steps = 0
    while len(chosen) < s and float(np.linalg.norm(r)) > bound:
        steps += 1
        c = np.abs(D.cross(r))
        c[barred] = 0.0
        best = int(np.argmax(c))
        if c[best] <= TINY:
            break
        barred[best] = True
        t = len(chosen)
        v = D.column(best)
        for _ in range(2):
            w = Q[:, :t].T @ v
            v = v - Q[:, :t] @ w
            R[:t, t] += w
        R[t, t] = np.linalg.norm(v)
        if R[t, t] <= 1e-5:  # in the span of the others
            R[: t + 1, t] = 0.0
            continue
        Q[:, t] = v / R[t, t]
        h[t] = Q[:, t] @ r
        r = r - h[t] * Q[:, t]
        chosen.append(best)
    t = len(chosen)
    a = np.zeros(k)
    a[chosen] = linalg.solve_triangular(R[:t, :t], h[:t], check_finite=False)
    return a, max(1, steps), True


def nonnegative_matching_pursuit(y: Array, D: Columns, s: int, bound: float) -> Pursued:
    """OMP without signs [Bruckstein, Elad and Zibulevsky 2008]: the most like the residual enters.

    Non-negative least squares on the chosen columns; those that get zero are given up, and may
    come again.
    """
    m, k = D.A.shape
    C, G = np.zeros((m, s)), np.zeros((s, s))
    f, a = np.zeros(s), np.zeros(s)
    chosen = np.zeros(0, np.int64)
    r, best, steps = y, float(np.linalg.norm(y)), 0
    best_chosen, best_a = chosen, a[:0]
    while best > bound and len(chosen) < s and steps < 3 * s:
        steps += 1
        c = D.cross(r)
        c[chosen] = 0.0
        new = int(np.argmax(c))
        if c[new] <= TINY:
            break
        t = len(chosen)
        C[:, t] = D.column(new)
        chosen = np.append(chosen, new)
        G[t, : t + 1] = G[: t + 1, t] = C[:, t] @ C[:, : t + 1]
        f[t] = C[:, t] @ y
        a[t] = 1.0  # in the first support
        t += 1
        values = nnls(G[:t, :t], f[None, :t], start=a[None, :t]).Z[0]
        r = y - C[:, :t] @ values
        size = float(np.linalg.norm(r))
        if size >= best * (1 - 1e-12):
            break
        stays = np.flatnonzero(values > 0)
        u = len(stays)
        chosen, a[:u] = chosen[stays], values[stays]
        if u < t:
            C[:, :u], f[:u], G[:u, :u] = C[:, stays], f[stays], G[np.ix_(stays, stays)]
        best, best_chosen, best_a = size, chosen, a[:u].copy()
    out = np.zeros(k)
    out[best_chosen] = best_a
    return out, max(1, steps), steps < 3 * s or best <= bound


def hard_thresholding_pursuit(y: Array, D: Columns, s: int, bound: float) -> Pursued:
    """HTP [Foucart 2011]: least squares on the support of ``H_s(a + A'(y - A a))``."""

    def step(a: Array, c: Array) -> Array:  # least squares left no gradient on the support
        return D.fit(y, D.largest(a + c, s), a)

    return _repeat(step, y, D, bound, monotone=False)


def cosamp(y: Array, D: Columns, s: int, bound: float) -> Pursued:
    """CoSaMP [Needell and Tropp 2009]: least squares on the support and 2 s columns, s stay."""

    def step(a: Array, c: Array) -> Array:
        fitted = D.fit(y, _wider(a, c, D.largest(c, 2 * s), len(y)), a)
        new, support = np.zeros_like(a), D.largest(fitted, s)
        new[support] = fitted[support]
        return new

    return _repeat(step, y, D, bound, monotone=True)


def subspace_pursuit(y: Array, D: Columns, s: int, bound: float) -> Pursued:
    """Subspace pursuit [Dai and Milenkovic 2009]: like CoSaMP with s columns, and a second fit."""

    def step(a: Array, c: Array) -> Array:
        fitted = D.fit(y, _wider(a, c, D.largest(c, s), len(y)), a)
        return D.fit(y, D.largest(fitted, s), fitted)

    return _repeat(step, y, D, bound, monotone=True)


def _wider(a: Array, c: Array, more: Array, m: int) -> Array:
    """Support of `a` and more columns, fewer than the m measurements."""
    wide = np.union1d(np.flatnonzero(a), more)
    if wide.size < m:
        return wide
    order = np.lexsort((-np.abs(c[wide]), a[wide] == 0))  # the support first, the largest then
    return np.sort(wide[order[: max(1, m - 1)]])


def _repeat(
    step: Callable[[Array, Array], Array], y: Array, D: Columns, bound: float, *, monotone: bool
) -> Pursued:
    """Take steps until the support stays; returns the best code met, with least squares on it.

    With `monotone` also until the residual does not fall.
    """
    a, r = np.zeros(D.A.shape[1]), y
    best_a, best = a, float(np.linalg.norm(y))
    done, steps, idle = best <= bound, 0, 0
    while steps < MAX_ITER and not done:
        steps += 1
        new = step(a, D.cross(r))
        same = np.array_equal(np.flatnonzero(new), np.flatnonzero(a))
        former = float(np.linalg.norm(r))
        a = new
        r = y - D.times(a)
        size = float(np.linalg.norm(r))
        idle += 1
        if size < best * (1 - 1e-10):
            best_a, best, idle = a, size, 0
        done = best <= bound or same or idle >= 30 or (monotone and size >= former)
    return D.fit(y, np.flatnonzero(best_a), best_a), max(1, steps), done


def iterative_hard_thresholding(y: Array, D: Columns, s: int, bound: float) -> Pursued:
    """Normalised IHT [Blumensath and Davies 2010]: ``a <- H_s(a + mu A'(y - A a))``.

    After some steps on one support their limit, least squares on it, is computed at once.
    """
    r, rr, rtol = y, float(y @ y), 1e-8
    a = np.zeros(D.A.shape[1])
    best_a, best, last_fit = a, rr, np.inf
    support = np.zeros(0, np.int64)
    reach, repeated, since, fitted = 0.0, 0, 0, True
    done, steps = best <= max(bound**2, TINY * EPS), 0
    while steps < MAX_ITER and not done:
        steps += 1
        if repeated >= SETTLED or since >= WANDERING:
            a = D.fit(y, support, a)
            support = np.flatnonzero(a)
            fitted, repeated, since = True, 0, 0
        else:
            c = D.cross(r)
            base = D.largest(c, s) if fitted else support
            g = np.zeros_like(c)
            g[base] = c[base]
            above, below = float(g @ g), float(np.square(D.times(g)).sum())
            if above <= TINY * EPS or below <= 0:
                done = True
                break
            mu = above / below
            if fitted and support.size:  # as far as steps on the support reached
                mu = max(mu, reach)
            else:
                reach = max(mu, reach) if repeated else mu
            new, chosen = _gradient_step(D, a, c, mu, s, support, base)
            same = np.array_equal(chosen, support)
            repeated = repeated + 1 if same else 0
            if fitted and same:  # no support within reach is better
                done = True
                break
            a, support, fitted = new, chosen, False
            since += 1
        former = rr
        r = y - D.times(a)
        rr = float(r @ r)
        if rr < best:
            best_a, best = a, rr
        if fitted:
            done = last_fit - rr <= rtol * max(rr, TINY)
            last_fit = rr
        elif former - rr <= rtol * max(rr, TINY):
            repeated = SETTLED  # to the limit at once
        done = done or best <= max(bound**2, TINY * EPS)
    return D.fit(y, np.flatnonzero(best_a), best_a), max(1, steps), done


def _gradient_step(
    D: Columns, a: Array, c: Array, mu: float, s: int, support: Array, base: Array
) -> tuple[Array, Array]:
    """Thresholded gradient step, shortened where the support changes until it is sure to help."""
    for _ in range(60):
        trial = a + mu * c
        chosen = D.largest(trial, s)
        new = np.zeros_like(a)
        new[chosen] = trial[chosen]
        if np.array_equal(chosen, support):
            break
        if support.size == 0 and np.array_equal(chosen, base):
            break
        change = new - a
        curvature = float(np.square(D.times(change)).sum())
        if curvature <= 0 or mu <= 0.99 * float(change @ change) / curvature:
            break
        mu /= 2 * 0.99
    return new, chosen


def _least_squares(D: Columns, y: Array, support: Array, start: Array) -> Array:
    """Least squares on a support, by conjugate gradients from the values of `start` there."""
    times, cross = on_support(D.times, D.cross, support, len(start))
    a = np.zeros_like(start)
    largest = float(np.square(cross(y)).sum())
    steps = least_squares_steps(times, cross, y, start[support])
    for _, (v, _, squared_gradient) in zip(range(2 * len(support) + 11), steps, strict=False):
        a[support] = v
        largest = max(largest, squared_gradient)
        if squared_gradient <= 1e-28 * largest:
            break
    return a


def _nonnegative_least_squares(D: Columns, y: Array, support: Array, start: Array) -> Array:
    """Non-negative least squares on a support: columns change sides until none wants to."""
    passive, a = support, np.maximum(start, 0.0)
    best_a, best = np.zeros_like(a), float(np.linalg.norm(y))
    for _ in range(20):
        while passive.size:
            a = _least_squares(D, y, passive, a)
            wrong = a[passive] < 0
            if not wrong.any():
                break
            passive = passive[~wrong]
        a = a if passive.size else np.zeros_like(a)
        r = y - D.times(a)
        size = float(np.linalg.norm(r))
        if size >= best * (1 - 1e-12):
            break
        best_a, best = a, size
        slopes = D.cross(r)
        outside = np.setdiff1d(support, passive)
        back = outside[slopes[outside] > 1e-10]
        if back.size == 0:
            break
        passive = np.union1d(passive, back)
    return best_a


METHODS: dict[str, Callable[[Array, Columns, int, float], Pursued]] = {
    "omp": orthogonal_matching_pursuit,
    "iht": iterative_hard_thresholding,
    "htp": hard_thresholding_pursuit,
    "cosamp": cosamp,
    "subspace_pursuit": subspace_pursuit,
}


def pursue(method: str, y: Array, D: Columns, s: int, bound: float) -> Pursued:
    """Run a method by name on `y` of norm one."""
    if method == "omp" and D.positive:
        return nonnegative_matching_pursuit(y, D, s, bound)
    return METHODS[method](y, D, s, bound)
