"""Greedy pursuit and hard thresholding where columns are known by products with them only.

Orthogonal matching pursuit forms the columns that it chooses; the other methods stand in
`thresholding`, and `Columns` does least squares on supports for them by conjugate gradients. `s`
is the number of non-zeros, and each stops where the residual is within `bound`. They return codes
for columns of unit norm, the number of steps, and whether they came to an end.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.codes.signal_blocks import MAX_ITER
from skmoderndata._solvers.codes.supports import squares
from skmoderndata._solvers.codes.thresholding import Best, pursue
from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.recovery.conjugate_gradients import least_squares_steps, on_support
from skmoderndata._solvers.recovery.l1_problem import facts_of
from skmoderndata._solvers.recovery.measurements import Operator, columns_of
from skmoderndata._solvers.recovery.optimality import EPS

Array = np.ndarray[Any, np.dtype[Any]]
Pursued = tuple[Array, int, bool]

STEPS = 300  # of hard thresholding, at most
TINY = 100 * EPS
NORM_COLUMNS = 20_000  # with more, norms of columns are not computed


class Columns(NamedTuple):
    """Columns of an operator times `scale`, one over their norms, and measurements in rows.

    The twin of `supports.Problem`.
    """

    A: Operator
    scale: Array
    positive: bool
    X: Array

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.X), self.A.shape[1]

    @property
    def room(self) -> Array:
        return np.full(len(self.X), self.A.shape[0])

    def of(self, some: Array) -> "Columns":
        return self._replace(X=self.X[some])

    def residuals(self, Z: Array) -> Array:
        return np.asarray(self.X - self.A.forward(Z * self.scale))

    def images_sq(self, Z: Array) -> Array:
        return squares(self.A.forward(Z * self.scale))

    def cross(self, R: Array) -> Array:
        return np.asarray(self.A.adjoint(R) * self.scale)

    def fit(self, supports: Array, start: Array) -> Array:
        """Least squares on supports, non-negative with `positive`, from the values of `start`."""
        solve = _nonnegative_least_squares if self.positive else _least_squares
        rows = zip(self.X, supports, start, strict=True)
        fits = [solve(self, y, np.flatnonzero(used), a) for y, used, a in rows]
        return np.array(fits).reshape(start.shape)

    def column(self, j: int) -> Array:
        return np.asarray(columns_of(self.A, np.array([j]))[:, 0] * self.scale[j])


def prepare_columns(A: Operator, Y: Array, positive: bool) -> Columns:
    """Norms of the columns, 0 for columns of zeros; one for all where columns are very many."""
    k = A.shape[1]
    if k > NORM_COLUMNS:
        return Columns(A, np.full(k, 1.0 / np.sqrt(facts_of(A).mean_sq)), positive, Y)
    norms = np.empty(k)
    for first in range(0, k, 256):
        which = np.arange(first, min(first + 256, k))
        norms[which] = np.linalg.norm(columns_of(A, which), axis=0)
    used = norms > 1e-12 * norms.max(initial=0.0)
    return Columns(A, np.divide(1.0, norms, out=np.zeros(k), where=used), positive, Y)


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
        c = np.abs(D.cross(r[None])[0])
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
        c = D.cross(r[None])[0]
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


def _least_squares(D: Columns, y: Array, support: Array, start: Array) -> Array:
    """Least squares on a support, by conjugate gradients from the values of `start` there."""
    times, cross = on_support(
        lambda a: D.A.forward((a * D.scale)[None])[0], lambda r: D.cross(r[None])[0], support,
        len(start),
    )  # fmt: skip
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
        r = y - D.A.forward((a * D.scale)[None])[0]
        size = float(np.linalg.norm(r))
        if size >= best * (1 - 1e-12):
            break
        best_a, best = a, size
        slopes = D.cross(r[None])[0]
        outside = np.setdiff1d(support, passive)
        back = outside[slopes[outside] > 1e-10]
        if back.size == 0:
            break
        passive = np.union1d(passive, back)
    return best_a


def pursue_columns(method: str, D: Columns, s: int, bound: float) -> Pursued:
    """Run a method by name on the only measurements, of norm one."""
    if method == "omp":
        code = nonnegative_matching_pursuit if D.positive else orthogonal_matching_pursuit
        return code(D.X[0], D, s, bound)
    found = pursue(method, D, Best(s, None, D.positive), np.array([bound**2]), STEPS)
    return found.a[0], int(found.n_iter[0]), bool(found.stop[0] != MAX_ITER)
