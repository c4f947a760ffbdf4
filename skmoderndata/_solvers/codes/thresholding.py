"""Sparse codes by hard thresholding and by pursuit with pruning: IHT, HTP, CoSaMP, SP.

All search for ``min |x - a D|^2`` over codes `a` with at most s atoms (or groups of atoms). Steps
handle many signals at a time, and use atoms only through `supports.Problem` or its twin for
operators.

Differs from the papers: 1. Each method keeps its best code and ends with least squares on its
support. 2. IHT replaces long runs of gradient steps on one support by least squares. 3. CoSaMP
limits the merged support so that the system is not square. 4. Codes may be non-negative.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    STALL,
    TOL,
    Atoms,
    SparseCodes,
    from_group_order,
    in_group_order,
)
from skmoderndata._solvers.codes.supports import (
    Problem,
    Pursued,
    code_by_problems,
    squares,
    without_last_bits,
)
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import BISECTIONS, RESULT_ROUNDING
from skmoderndata._solvers.common.typing import Array

METHODS = ("iht", "htp", "cosamp", "subspace_pursuit")
# Number of steps without a better code after which supports are assumed to cycle.
STEPS_WITHOUT_GAIN = 30
# Number of gradient steps on one support after which their limit is computed by least squares.
SETTLED = 10
# Number of gradient steps after which the limit is computed even if supports change.
WANDERING = 40
# Smallest relative decrease of the squared residual that counts as progress of gradient steps.
RTOL = 1e-8


def hard_thresholding(
    X: Array,
    atoms: Atoms,
    *,
    method: str,
    n_nonzero: int,
    tol_sq: Array,
    groups: Array | None = None,
    positive: bool = False,
    max_iter: int = 100,
    **options: Any,
) -> SparseCodes:
    """Code signals with `n_nonzero` atoms by one of four iterations.

    - "iht": `iterative_hard_thresholding` (Blumensath and Davies 2010).
    - "htp": `hard_thresholding_pursuit` (Foucart 2011).
    - "cosamp": `cosamp` (Needell and Tropp 2009).
    - "subspace_pursuit": `subspace_pursuit` (Dai and Milenkovic 2009).

    `H_s` keeps the s entries of largest magnitude, the first of ties; with `groups` (k,), the
    group of each atom numbered from 0, the s groups of largest norm. With ``positive=True``, only
    positive entries count, and least squares is non-negative. Iterations end when
    ``|r|^2 <= tol_sq``, when the support or the residual stops changing, or after `max_iter`
    steps. A signal with ``|x|^2 <= tol_sq`` has the code zero.

    Other parameters and options as in `code_by_problems`.
    """
    k = len(atoms.rows)
    order = np.arange(k)
    start = np.arange(k + 1)
    if groups is not None:
        atoms, order, start = in_group_order(atoms, groups)
    s = min(n_nonzero, len(start) - 1)
    best = Best(s, None if groups is None else start, positive)
    largest_group = int(np.diff(start).max())
    widest = min(k, 3 * s * largest_group)

    def solve(p: Problem, rows: slice) -> Pursued:
        return pursue(method, p, best, tol_sq[rows], max_iter)

    codes = code_by_problems(X, atoms, solve, widest=widest, positive=positive, **options)
    return codes if groups is None else from_group_order(codes, order)


class Best(NamedTuple):
    """Rule that selects the `s` largest entries of a row, or groups ``start[g]:start[g + 1]``."""

    s: int
    start: Array | None
    positive: bool

    def of(self, Z: Array, times: int = 1) -> Array:
        """Return the support of the ``times * s`` largest, the first of ties, without zeros."""
        size = np.maximum(Z, 0.0) if self.positive else np.abs(Z)
        if self.start is not None:
            size = np.add.reduceat(size * size, self.start[:-1], axis=1)
        # drop the last bits, so that values that differ only by rounding errors are ties
        size = without_last_bits(size).view(np.float64)
        s = min(times * self.s, size.shape[1])
        least = np.partition(size, -s, axis=1)[:, -s][:, None]
        chosen = size > least
        tied = size == least
        n_tied = s - chosen.sum(axis=1, keepdims=True)
        chosen |= tied & (np.cumsum(tied, axis=1) <= n_tied)
        chosen &= size > 0
        return chosen if self.start is None else np.repeat(chosen, np.diff(self.start), axis=1)


def hard_thresholding_pursuit(p: Any, best: Best, A: Array, C: Array) -> Array:
    """Fit by least squares on the support of ``H_s(a + D(x - a D))``: a step of HTP."""
    return np.asarray(p.fit(best.of(A + C), A))


def cosamp(p: Any, best: Best, A: Array, C: Array) -> Array:
    """Fit on the support and the 2s best atoms, then cut to s atoms: a step of CoSaMP."""
    # a square system fits everything, so its solution would not show which atoms to cut
    limit = p.n_observed
    if not p.positive:
        limit = np.maximum(1, limit - A.any(axis=1))
    merged = _wider(A != 0, best.of(C, 2), limit)
    fitted = p.fit(merged, A)
    return np.where(best.of(fitted), fitted, 0.0)


def subspace_pursuit(p: Any, best: Best, A: Array, C: Array) -> Array:
    """Like CoSaMP, but with s atoms and a final fit: a step of subspace pursuit."""
    merged = _wider(A != 0, best.of(C), p.n_observed)
    fitted = p.fit(merged, A)
    return np.asarray(p.fit(best.of(fitted), fitted))


def _wider(support: Array, more: Array, limit: Array) -> Array:
    """Add atoms to the supports, up to a total of `limit`."""
    more = more & ~support
    count = support.sum(axis=1, keepdims=True) + np.cumsum(more, axis=1)
    return np.asarray(support | (more & (count <= limit[:, None])))


STEP_RULES = {
    "htp": hard_thresholding_pursuit,
    "cosamp": cosamp,
    "subspace_pursuit": subspace_pursuit,
}


def pursue(method: str, p: Any, best: Best, tol_sq: Array, max_iter: int) -> Pursued:
    """Run a method by name; refit the best code by least squares on its support."""
    if method == "iht":
        codes = iterative_hard_thresholding(p, best, tol_sq, max_iter)
    else:
        rule = STEP_RULES[method]
        codes = _repeat(rule, p, best, tol_sq, max_iter, monotone=method != "htp")
    a, rho, stop, n_iter = codes

    # reject a refit that is worse by more than rounding errors, or exceeds a bound that was met
    refined = p.fit(a != 0, a)
    new = squares(p.residuals(refined))
    size = squares(p.X)
    verdict = (new <= tol_sq) | (rho > tol_sq)
    alike = new <= rho * (1 + RESULT_ROUNDING) + 100 * EPS * size
    better = (new <= rho) | (verdict & alike)
    a = np.where(better[:, None], refined, a)
    rho = np.where(better, new, rho)
    stop = np.where(rho <= tol_sq, TOL, stop)
    return Pursued(a, rho, stop, np.maximum(n_iter, 1))


def _repeat(
    step: Callable[[Any, Best, Array, Array], Array],
    p: Any,
    best: Best,
    tol_sq: Array,
    max_iter: int,
    *,
    monotone: bool,
) -> Pursued:
    """Take steps until supports are constant; if `monotone`, until residuals stop falling."""
    size = squares(p.X)
    A = np.zeros(p.shape)
    R = p.X.copy()
    rho = size.copy()
    m = len(A)
    out = Pursued(A.copy(), rho.copy(), np.full(m, MAX_ITER), np.zeros(m, np.int64))
    idle = np.zeros(m, np.int64)
    live = np.flatnonzero(size > tol_sq)

    while live.size and out.n_iter[live[0]] < max_iter:
        # take a step and compute its residual
        q = p.of(live)
        old = A[live]
        former = rho[live]
        A[live] = new = step(q, best, old, q.cross(R[live]))
        R[live] = r = q.residuals(new)
        rho[live] = squares(r)
        out.n_iter[live] += 1

        # keep the best code so far
        idle[live] += 1
        lower = live[rho[live] < out.residual_sq[live]]
        out.a[lower] = A[lower]
        out.residual_sq[lower] = rho[lower]
        idle[lower] = 0

        # stop if the support is constant, if there is no progress, or if the residual is within
        # the bound
        same = ((new != 0) == (old != 0)).all(axis=1)
        ended = same | (idle[live] >= STEPS_WITHOUT_GAIN)
        bound = np.maximum(tol_sq, 100 * EPS * size)
        ended |= out.residual_sq[live] <= bound[live]
        if monotone:
            ended |= rho[live] >= former

        out.stop[live[ended]] = STALL
        live = live[~ended]
    return out


def iterative_hard_thresholding(p: Any, best: Best, tol_sq: Array, max_iter: int) -> Pursued:
    """Run normalised IHT: ``a <- H_s(a + mu D(x - a D))`` with a step that lowers the residual.

    Steps that do not change the support converge to least squares on it: after `SETTLED` of them
    (or `WANDERING` on changing supports), this limit is computed, and steps continue from there
    until the support is constant.
    """
    size = squares(p.X)
    m = len(p.X)
    A = np.zeros(p.shape)
    R = p.X.copy()
    rho = size.copy()
    out = Pursued(A.copy(), rho.copy(), np.full(m, MAX_ITER), np.zeros(m, np.int64))
    # count the steps since the support changed, and since the last fit
    repeated = np.zeros(m, np.int64)
    since = np.zeros(m, np.int64)
    fitted = np.ones(m, np.bool_)
    fit_rho = np.full(m, np.inf)
    reach = np.zeros(m)
    live = np.flatnonzero(size > tol_sq)

    while live.size and out.n_iter[live[0]] < max_iter:
        out.n_iter[live] += 1
        ended = np.zeros(m, np.bool_)

        # 1. if the support is constant, or after many steps, solve a least squares problem on it
        jump = (repeated[live] >= SETTLED) | (since[live] >= WANDERING)
        rows = live[jump]
        A[rows] = p.of(rows).fit(A[rows] != 0, A[rows])
        fitted[rows] = True
        repeated[rows] = 0
        since[rows] = 0

        # 2. for the other signals, take a gradient step with the exact step size on their support
        rows = live[~jump]
        if rows.size:
            q = p.of(rows)
            a = A[rows]
            c = p.of(rows).cross(R[rows])
            base = np.where(fitted[rows, None], best.of(c), a != 0)
            mu, still = _exact_steps(q, np.where(base, c, 0.0), size[rows])

            # on a repeated support, or after least squares, step at least as far as in earlier
            # steps after least squares
            after_fit = fitted[rows] & a.any(axis=1)
            far = (repeated[rows] > 0) | after_fit
            mu = np.where(far, np.maximum(mu, reach[rows]), mu)
            reach[rows] = np.where(after_fit, reach[rows], mu)

            new = _shortened(q, best, a, c, mu)
            same = ((new != 0) == (a != 0)).all(axis=1)
            repeated[rows] = np.where(same, repeated[rows] + 1, 0)
            ended[rows] = still | (fitted[rows] & same)  # no step leads to a better support

            going = ~ended[rows]
            moves = rows[going]
            A[moves] = new[going]
            fitted[moves] = False
            since[moves] += 1

        # 3. compute the residuals, and keep the best code so far
        former = rho[live]
        R[live] = r = p.of(live).residuals(A[live])
        rho[live] = squares(r)
        lower = live[rho[live] < out.residual_sq[live]]
        out.a[lower] = A[lower]
        out.residual_sq[lower] = rho[lower]

        # 4. stop if the limit on a support has been reached, or if the bound is met
        rounding = 100 * EPS * size
        after_fit = fitted[live]
        former = np.where(after_fit, fit_rho[live], former)
        limit = former - rho[live] <= RTOL * np.maximum(rho, rounding)[live]
        met = out.residual_sq[live] <= np.maximum(tol_sq, rounding)[live]
        ended[live] |= (after_fit & limit) | met
        repeated[live[limit & ~after_fit]] = SETTLED  # compute the limit in the next step
        fit_rho[live] = np.where(after_fit, rho[live], fit_rho[live])

        out.stop[live[ended[live]]] = STALL
        live = live[~ended[live]]
    return out


def _exact_steps(p: Any, slopes: Array, size: Array) -> tuple[Array, Array]:
    """Return exact step sizes along slopes, and a mask of slopes that are rounding errors."""
    above = squares(slopes)
    below = p.images_sq(slopes)
    still = (above <= 100 * EPS**2 * size) | (below <= 0)
    return above / np.where(still, 1.0, below), still


def _shortened(p: Any, best: Best, A: Array, C: Array, mu: Array) -> Array:
    """Take thresholded gradient steps; shorten steps that change supports until they descend."""
    new = np.zeros_like(A)
    mu = mu.copy()
    pending = np.arange(len(A))
    for _ in range(BISECTIONS):
        q = p.of(pending)
        a = A[pending]
        Z = a + mu[pending, None] * C[pending]
        new[pending] = z = np.where(best.of(Z), Z, 0.0)

        # if the support changes, a step must not exceed 0.99 |change|^2 / |image|^2
        changed = ((z != 0) != (a != 0)).any(axis=1)
        doubt = np.flatnonzero(changed & a.any(axis=1))
        change = (z - a)[doubt]
        image_sq = q.of(doubt).images_sq(change)
        far = mu[pending[doubt]] * image_sq > 0.99 * squares(change)
        pending = pending[doubt[far]]
        if pending.size == 0:
            break

        mu[pending] /= 2 * 0.99
    return new
