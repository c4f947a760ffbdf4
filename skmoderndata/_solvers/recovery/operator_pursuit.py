"""Greedy pursuit and hard thresholding for columns that are only accessible by products.

Orthogonal matching pursuit forms the columns that it chooses; the other methods are in
`thresholding`, for which `Columns` computes least squares on supports by conjugate gradients. `s`
is the number of non-zeros, and all methods stop when the residual is within `bound`. They return
codes for columns of unit norm, the number of steps, and whether they finished.

Differs from the paper (Pati, Rezaiifar and Krishnaprasad 1993): columns in the span of chosen ones
are barred, and the pursuit ends when the residual no longer falls.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from skmoderndata._solvers.codes.signal_blocks import MAX_ITER
from skmoderndata._solvers.codes.supports import squares
from skmoderndata._solvers.codes.thresholding import Best, pursue
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RANK_TOL, ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.conjugate_gradients import least_squares_steps, on_support
from skmoderndata._solvers.recovery.l1_problem import facts_of
from skmoderndata._solvers.recovery.measurements import BLOCK_ROWS, Operator, columns_of

Pursued = tuple[Array, int, bool]

# Maximum number of steps of hard thresholding.
MAX_STEPS = 300
# Largest correlation between a unit column and the residual that counts as a rounding error.
TINY = 100 * EPS
# Maximum number of columns whose norms are computed.
NORM_COLUMNS = 20_000


class Columns(NamedTuple):
    """Columns of an operator times `scale`, the reciprocal of their norms; measurements as rows.

    It has the same methods as `supports.Problem`.
    """

    A: Operator
    scale: Array
    positive: bool
    X: Array

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.X), self.A.shape[1]

    @property
    def n_observed(self) -> Array:
        return np.full(len(self.X), self.A.shape[0])

    def of(self, which: Array) -> "Columns":
        return self._replace(X=self.X[which])

    def residuals(self, Z: Array) -> Array:
        return np.asarray(self.X - self.A.forward(Z * self.scale))

    def images_sq(self, Z: Array) -> Array:
        return squares(self.A.forward(Z * self.scale))

    def cross(self, R: Array) -> Array:
        return np.asarray(self.A.adjoint(R) * self.scale)

    def fit(self, supports: Array, start: Array) -> Array:
        """Fit by least squares on supports, non-negatively with `positive`, from `start`."""
        solve = _nonnegative_least_squares if self.positive else _least_squares
        rows = zip(self.X, supports, start, strict=True)
        fits = [solve(self, y, np.flatnonzero(used), a) for y, used, a in rows]
        return np.array(fits).reshape(start.shape)

    def column(self, j: int) -> Array:
        return np.asarray(columns_of(self.A, np.array([j]))[:, 0] * self.scale[j])


def prepare_columns(A: Operator, Y: Array, positive: bool) -> Columns:
    """Compute the norms of the columns, or one mean norm if there are very many columns."""
    k = A.shape[1]
    if k > NORM_COLUMNS:
        mean_norm = np.sqrt(facts_of(A).mean_sq)
        return Columns(A, np.full(k, 1.0 / mean_norm), positive, Y)
    norms = np.empty(k)
    for first in range(0, k, BLOCK_ROWS):
        which = np.arange(first, min(first + BLOCK_ROWS, k))
        norms[which] = np.linalg.norm(columns_of(A, which), axis=0)
    used = norms > ACCUMULATED_ROUNDING * norms.max(initial=0.0)
    scale = np.divide(1.0, norms, out=np.zeros(k), where=used)
    return Columns(A, scale, positive, Y)


def matching_pursuit(y: Array, D: Columns, s: int, bound: float) -> Pursued:
    """Run OMP [Pati, Rezaiifar and Krishnaprasad 1993]: the most correlated column enters.

    Least squares runs on the chosen columns, which are formed. With `positive` [Bruckstein, Elad
    and Zibulevsky 2008], it is non-negative; columns with coefficient zero leave, and may return.
    """
    # C: chosen columns; G: their inner products; a: their coefficients
    m, k = D.A.shape
    C = np.zeros((m, s))
    G = np.zeros((s, s))
    chosen = np.zeros(0, np.int64)
    a = np.zeros(0)
    barred = D.scale == 0
    r = y
    best = float(np.linalg.norm(y))
    steps = 0

    while best > bound and len(chosen) < s and steps < 3 * s:
        steps += 1

        # 1. choose the column of largest correlation with the residual
        c = D.cross(r[None])[0]
        c = c if D.positive else np.abs(c)
        c[chosen] = c[barred] = 0.0
        new = int(np.argmax(c))
        t = len(chosen)
        if c[new] <= TINY:
            break

        # 2. extend the system and solve it
        C[:, t] = D.column(new)
        active = C[:, : t + 1]
        G[t, : t + 1] = G[: t + 1, t] = C[:, t] @ active
        values = _fit(G[: t + 1, : t + 1], active.T @ y, a, D.positive)
        if values is None:  # the new column lies in the span of the chosen ones
            barred[new] = True
            continue

        # 3. update the residual; stop when it no longer falls
        r = y - active @ values
        size = float(np.linalg.norm(r))
        if size >= best * (1 - ACCUMULATED_ROUNDING):
            break

        # 4. drop columns whose coefficient has become zero
        stays = np.flatnonzero(values) if D.positive else np.arange(t + 1)
        u = len(stays)
        best = size
        chosen = np.append(chosen, new)[stays]
        a = values[stays]
        if u <= t:
            C[:, :u] = C[:, stays]
            G[:u, :u] = G[np.ix_(stays, stays)]

    out = np.zeros(k)
    out[chosen] = a
    return out, max(1, steps), steps < 3 * s or best <= bound


def _fit(G: Array, f: Array, a: Array, positive: bool) -> Array | None:
    """Solve the normal equations, starting from `a`; return None if they are singular."""
    if positive:
        start = np.append(a, 1.0)
        return np.asarray(nnls(G, f[None], start=start[None]).Z[0])
    factor, info = dpotrf(G, lower=1)
    if info or factor[-1, -1] ** 2 <= RANK_TOL * G[-1, -1]:
        return None
    solution, _ = dpotrs(factor, f, lower=1)
    return np.asarray(solution)


def _least_squares(D: Columns, y: Array, support: Array, start: Array) -> Array:
    """Fit on a support by conjugate gradients, starting from the values of `start` there."""

    def forward(a: Array) -> Array:
        return np.asarray(D.A.forward((a * D.scale)[None])[0])

    def adjoint(r: Array) -> Array:
        return np.asarray(D.cross(r[None])[0])

    times, cross = on_support(forward, adjoint, support, len(start))
    a = np.zeros_like(start)
    largest = float(np.square(cross(y)).sum())

    # run conjugate gradients until the gradient is a rounding error
    steps = least_squares_steps(times, cross, y, start[support])
    n_steps = 2 * len(support) + 11
    for _, (v, _, squared_gradient) in zip(range(n_steps), steps, strict=False):
        a[support] = v
        largest = max(largest, squared_gradient)
        if squared_gradient <= ROUNDING**2 * largest:
            break
    return a


def _nonnegative_least_squares(D: Columns, y: Array, support: Array, start: Array) -> Array:
    """Fit non-negatively on a support: exchange columns until the signs are right."""
    passive = support
    a = np.maximum(start, 0.0)
    best_a = np.zeros_like(a)
    best = float(np.linalg.norm(y))
    for _ in range(20):
        # drop negative coefficients until the least squares solution has none
        while passive.size:
            a = _least_squares(D, y, passive, a)
            wrong = a[passive] < 0
            if not wrong.any():
                break
            passive = passive[~wrong]
        a = a if passive.size else np.zeros_like(a)

        # stop when the residual no longer falls
        r = y - D.A.forward((a * D.scale)[None])[0]
        size = float(np.linalg.norm(r))
        if size >= best * (1 - ACCUMULATED_ROUNDING):
            break
        best_a = a
        best = size

        # add columns that would still reduce the residual
        slopes = D.cross(r[None])[0]
        outside = np.setdiff1d(support, passive)
        back = outside[slopes[outside] > 1e-10]
        if back.size == 0:
            break
        passive = np.union1d(passive, back)
    return best_a


def pursue_columns(method: str, D: Columns, s: int, bound: float) -> Pursued:
    """Run a method by name on a single row of measurements, of norm 1."""
    if method == "omp":
        return matching_pursuit(D.X[0], D, s, bound)
    best = Best(s, None, D.positive)
    codes = pursue(method, D, best, np.array([bound**2]), MAX_STEPS)
    return codes.a[0], int(codes.n_iter[0]), bool(codes.stop[0] != MAX_ITER)
