"""Sparse codes by hard thresholding and by pursuit with pruning: IHT, HTP, CoSaMP, SP.

All look for ``min |x - a D|^2`` over codes `a` with at most s atoms (or groups of atoms), keep the
best code they meet, and end with least squares on its support. The steps take many signals at a
time, and know the atoms by what `supports.Problem` does with them, or its twin for operators.
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
from skmoderndata._solvers.common.typing import Array

METHODS = ("iht", "htp", "cosamp", "subspace_pursuit")
# steps without a better code, after which supports are taken to go in circles
STEPS_WITHOUT_GAIN = 30
SETTLED = 10  # gradient steps on one support, after which the limit of such steps is computed
WANDERING = 40  # gradient steps, after which it is computed whatever the support
RTOL = 1e-8  # a gradient step that lowers the squared residual by less has come to its limit


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
    number of the group of each atom, the s groups of largest norm. With ``positive=True`` only
    positive entries count, and least squares is non-negative. An iteration ends when
    ``|r|^2 <= tol_sq``, when the support or the residual does not change any more, or after
    `max_iter` steps. A signal with ``|x|^2 <= tol_sq`` has the code zero.

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
    """Choice of the `s` largest entries of a row, or groups ``start[g]:start[g + 1]``."""

    s: int
    start: Array | None
    positive: bool

    def of(self, Z: Array, times: int = 1) -> Array:
        """Support of the ``times * s`` largest, the first of ties; zeros are never chosen."""
        size = np.maximum(Z, 0.0) if self.positive else np.abs(Z)
        if self.start is not None:
            size = np.add.reduceat(size * size, self.start[:-1], axis=1)
        # without the last bits: ties up to rounding are ties
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
    """Least squares on the support of ``H_s(a + D(x - a D))``: a step of HTP."""
    return np.asarray(p.fit(best.of(A + C), A))


def cosamp(p: Any, best: Best, A: Array, C: Array) -> Array:
    """Least squares on the support and the 2s best atoms, cut to s: a step of CoSaMP."""
    # a square system fits everything, and would tell nothing of what to cut
    limit = p.n_observed
    if not p.positive:
        limit = np.maximum(1, limit - A.any(axis=1))
    merged = _wider(A != 0, best.of(C, 2), limit)
    fitted = p.fit(merged, A)
    return np.where(best.of(fitted), fitted, 0.0)


def subspace_pursuit(p: Any, best: Best, A: Array, C: Array) -> Array:
    """Like CoSaMP with s atoms, and least squares once more: a step of subspace pursuit."""
    merged = _wider(A != 0, best.of(C), p.n_observed)
    fitted = p.fit(merged, A)
    return np.asarray(p.fit(best.of(fitted), fitted))


def _wider(support: Array, more: Array, limit: Array) -> Array:
    """Supports with more atoms, `limit` in all."""
    more = more & ~support
    count = support.sum(axis=1, keepdims=True) + np.cumsum(more, axis=1)
    return np.asarray(support | (more & (count <= limit[:, None])))


STEP_RULES = {
    "htp": hard_thresholding_pursuit,
    "cosamp": cosamp,
    "subspace_pursuit": subspace_pursuit,
}


def pursue(method: str, p: Any, best: Best, tol_sq: Array, max_iter: int) -> Pursued:
    """Run a method by name; of the codes met, the best has least squares on its support."""
    if method == "iht":
        codes = iterative_hard_thresholding(p, best, tol_sq, max_iter)
    else:
        rule = STEP_RULES[method]
        codes = _repeat(rule, p, best, tol_sq, max_iter, monotone=method != "htp")
    a, rho, stop, n_iter = codes

    # least squares, unless it is worse by more than rounding, or misses a bound that was met
    refined = p.fit(a != 0, a)
    new = squares(p.residuals(refined))
    size = squares(p.X)
    verdict = (new <= tol_sq) | (rho > tol_sq)
    alike = new <= rho * (1 + 1e-9) + 100 * EPS * size
    better = (new <= rho) | (verdict & alike)
    a = np.where(better[:, None], refined, a)
    rho = np.where(better, new, rho)
    stop = np.where(rho <= tol_sq, TOL, stop)
    return Pursued(a, rho, stop, np.maximum(n_iter, 1))


def _repeat(
    step: Callable[[Any, Best, Array, Array], Array], p: Any, best: Best, tol_sq: Array,
    max_iter: int, *, monotone: bool,
) -> Pursued:  # fmt: skip
    """Take steps until supports stay, with `monotone` also until residuals do not fall."""
    size = squares(p.X)
    A = np.zeros(p.shape)
    R = p.X.copy()
    rho = size.copy()
    m = len(A)
    out = Pursued(A.copy(), rho.copy(), np.full(m, MAX_ITER), np.zeros(m, np.int64))
    idle = np.zeros(m, np.int64)
    live = np.flatnonzero(size > tol_sq)

    while live.size and out.n_iter[live[0]] < max_iter:
        # a step, and its residual
        q = p.of(live)
        old = A[live]
        former = rho[live]
        A[live] = new = step(q, best, old, q.cross(R[live]))
        R[live] = r = q.residuals(new)
        rho[live] = squares(r)
        out.n_iter[live] += 1

        # the best code so far
        idle[live] += 1
        lower = live[rho[live] < out.residual_sq[live]]
        out.a[lower] = A[lower]
        out.residual_sq[lower] = rho[lower]
        idle[lower] = 0

        # supports that stay, no progress, or a residual within the bound
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
    """Normalised IHT: ``a <- H_s(a + mu D(x - a D))`` with a step that lowers the residual.

    Steps that leave the support as it is go to least squares on it: after `SETTLED` of them (or
    `WANDERING` on changing supports) this limit is computed, and steps go on from there until the
    support does not change any more.
    """
    size = squares(p.X)
    m = len(p.X)
    A = np.zeros(p.shape)
    R = p.X.copy()
    rho = size.copy()
    out = Pursued(A.copy(), rho.copy(), np.full(m, MAX_ITER), np.zeros(m, np.int64))
    # since the support changed, and since the last fit
    repeated = np.zeros(m, np.int64)
    since = np.zeros(m, np.int64)
    fitted = np.ones(m, np.bool_)
    fit_rho = np.full(m, np.inf)
    reach = np.zeros(m)
    live = np.flatnonzero(size > tol_sq)

    while live.size and out.n_iter[live[0]] < max_iter:
        out.n_iter[live] += 1
        ended = np.zeros(m, np.bool_)

        # 1. least squares on a support that has settled, or after many steps
        jump = (repeated[live] >= SETTLED) | (since[live] >= WANDERING)
        some = live[jump]
        A[some] = p.of(some).fit(A[some] != 0, A[some])
        fitted[some] = True
        repeated[some] = 0
        since[some] = 0

        # 2. others take a gradient step with the exact step size on their support
        some = live[~jump]
        if some.size:
            q = p.of(some)
            a = A[some]
            c = p.of(some).cross(R[some])
            base = np.where(fitted[some, None], best.of(c), a != 0)
            mu, still = _exact_steps(q, np.where(base, c, 0.0), size[some])

            # after least squares as far as steps on the support reached
            after_fit = fitted[some] & a.any(axis=1)
            far = (repeated[some] > 0) | after_fit
            mu = np.where(far, np.maximum(mu, reach[some]), mu)
            reach[some] = np.where(after_fit, reach[some], mu)

            new = _shortened(q, best, a, c, mu)
            same = ((new != 0) == (a != 0)).all(axis=1)
            repeated[some] = np.where(same, repeated[some] + 1, 0)
            ended[some] = still | (fitted[some] & same)  # no support within reach is better

            on = ~ended[some]
            moves = some[on]
            A[moves] = new[on]
            fitted[moves] = False
            since[moves] += 1

        # 3. residuals, and the best code so far
        former = rho[live]
        R[live] = r = p.of(live).residuals(A[live])
        rho[live] = squares(r)
        lower = live[rho[live] < out.residual_sq[live]]
        out.a[lower] = A[lower]
        out.residual_sq[lower] = rho[lower]

        # 4. stop: the limit on a support is reached, or the bound is met
        rounding = 100 * EPS * size
        after_fit = fitted[live]
        former = np.where(after_fit, fit_rho[live], former)
        limit = former - rho[live] <= RTOL * np.maximum(rho, rounding)[live]
        met = out.residual_sq[live] <= np.maximum(tol_sq, rounding)[live]
        ended[live] |= (after_fit & limit) | met
        repeated[live[limit & ~after_fit]] = SETTLED  # to the limit at once
        fit_rho[live] = np.where(after_fit, rho[live], fit_rho[live])

        out.stop[live[ended[live]]] = STALL
        live = live[~ended[live]]
    return out


def _exact_steps(p: Any, slopes: Array, size: Array) -> tuple[Array, Array]:
    """Step sizes of least residual along slopes, and where these are none but for rounding."""
    above = squares(slopes)
    below = p.images_sq(slopes)
    still = (above <= 100 * EPS**2 * size) | (below <= 0)
    return above / np.where(still, 1.0, below), still


def _shortened(p: Any, best: Best, A: Array, C: Array, mu: Array) -> Array:
    """Thresholded gradient steps, shortened where supports change until they are sure to help."""
    new = np.zeros_like(A)
    mu = mu.copy()
    pending = np.arange(len(A))
    for _ in range(61):
        q = p.of(pending)
        a = A[pending]
        Z = a + mu[pending, None] * C[pending]
        new[pending] = z = np.where(best.of(Z), Z, 0.0)

        # where the support changes, a step must not exceed 0.99 |change|^2 / |image|^2
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
