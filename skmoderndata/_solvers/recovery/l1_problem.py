"""The problem of least l1 norm for an operator, and what is known of an operator beforehand."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.recovery.conjugate_gradients import Product, on_support
from skmoderndata._solvers.recovery.measurements import Operator
from skmoderndata._solvers.recovery.optimality import largest_slope, relative_gap

Array = np.ndarray[Any, np.dtype[Any]]

LONG = 20_000  # values, beyond which vectors are looked at one by one
PROBES = 16  # random vectors that an operator is looked at through


class Facts(NamedTuple):
    """What is known of an operator: mean squared norm of columns, norm, orthogonality of rows.

    `sizes` are norms of the columns, estimated, where they are unlike; else None.
    """

    mean_sq: float
    norm: float
    orthogonal: bool
    sizes: Array | None = None


class Candidate(NamedTuple):
    """Coefficients and dual variable, relative duality gap, and violation of the bound."""

    coef: Array
    dual: Array
    gap: float
    missed: float

    @property
    def badness(self) -> float:
        return self.gap + self.missed


class Problem(NamedTuple):
    """``min |a|_1  s.t.  |y - A a| <= bound``, ``a >= 0`` with `positive`.

    Columns are of squared norm one on average, y is of norm one, and `slopes` are ``A'y``.
    """

    A: Operator
    y: Array
    bound: float
    positive: bool
    slopes: Array
    norm: float
    sizes: Array | None = None

    def forward(self, a: Array) -> Array:
        return np.asarray(self.A.forward(a[None])[0])

    def adjoint(self, r: Array) -> Array:
        return np.asarray(self.A.adjoint(r[None])[0])

    def columns(self, support: Array) -> tuple[Product, Product]:
        """Products with the columns of a support and their transpose."""
        return on_support(self.forward, self.adjoint, support, self.A.shape[1])

    def soft(self, a: Array, by: Any) -> Array:
        """Soft thresholding."""
        shrunk = np.maximum(a - by, 0.0) if self.positive else a - np.clip(a, -by, by)
        return np.asarray(shrunk)

    def top(self, slopes: Array) -> float:
        return largest_slope(slopes, self.positive)

    def beyond(self, slopes: Array, limit: float) -> Array:
        return slopes > limit if self.positive else np.abs(slopes) > limit

    def failure(self) -> Candidate:
        return Candidate(np.zeros(self.A.shape[1]), np.zeros(len(self.y)), np.inf, np.inf)

    def judge(
        self,
        coef: Array,
        dual: Array,
        *,
        residual: Array | None = None,
        slopes: Array | None = None,
    ) -> Candidate:
        """Gap and violation of the bound; the dual variable is scaled to be feasible.

        `residual` and the slopes ``A'dual`` are computed unless they are known.
        """
        top = self.top(self.adjoint(dual) if slopes is None else slopes)
        dual = dual / top if top > 1 else dual
        residual = self.y - self.forward(coef) if residual is None else residual
        missed = max(0.0, float(np.linalg.norm(residual)) - self.bound)
        gap = relative_gap(self.y, coef, dual, self.bound) if coef.any() else 1.0
        return Candidate(coef, dual, gap, missed)


def facts_of(A: Operator) -> Facts:
    """Look at an operator through random vectors of equal norms, orthogonal where not long."""
    m, n = A.shape
    squares, count, c, orthogonal = np.zeros(n), 0, 0.0, False
    for g in _probes(m, together=n <= LONG):
        t = A.adjoint(g)
        squares += np.square(t).sum(axis=0)  # the expected ones are the squared norms of columns
        if count == 0:
            w = A.forward(t[:1])[0]
            c = float(w @ g[0]) / m
            apart = float(np.linalg.norm(w - c * g[0]))
            orthogonal = apart <= 1e-11 * float(np.linalg.norm(w))
        count += len(g)
    squares /= count
    mean_sq = float(squares.mean())
    if mean_sq == 0:
        return Facts(1.0, 1.0, False)
    spread = 1.0 if orthogonal else 0.25  # steps of columns give up that rows are orthogonal
    unlike = float((squares / mean_sq).var()) > 2.0 / count + spread
    sizes = np.sqrt(np.maximum(squares, 1e-8 * mean_sq)) if unlike else None
    if orthogonal:
        return Facts(c * m / n, float(np.sqrt(c)), True, sizes)
    return Facts(mean_sq, operator_norm(A), False, sizes)


def _probes(m: int, together: bool) -> Iterator[Array]:
    rng = np.random.RandomState(0)
    if m > LONG:
        for _ in range(PROBES):
            g = rng.normal(size=(1, m))
            yield g * (np.sqrt(m) / np.linalg.norm(g))
        return
    G = rng.normal(size=(m, min(m, PROBES)))
    G = np.ascontiguousarray(np.sqrt(m) * linalg.qr(G, mode="economic")[0].T)
    if together:
        yield G
    else:
        yield from G[:, None]


def operator_norm(A: Operator, accuracy: float = 0.01) -> float:
    """Upper bound of the spectral norm, nearly always, by Lanczos, to half of `accuracy`."""
    v = np.random.RandomState(0).normal(size=A.shape[1])
    v /= np.linalg.norm(v)
    former, beta = np.zeros_like(v), 0.0
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    value = error = 0.0
    for _ in range(60):
        w = A.adjoint(A.forward(v[None]))[0] - beta * former
        diagonal.append(float(w @ v))
        w = w - diagonal[-1] * v
        beta = float(np.linalg.norm(w))
        theta, s = linalg.eigh_tridiagonal(diagonal, off_diagonal)
        value, error = float(theta[-1]), beta * abs(float(s[-1, -1]))
        if error <= accuracy * value or beta == 0:
            break
        former, v = v, w / beta
        off_diagonal.append(beta)
    return float(np.sqrt(value + error)) if value > 0 else 1.0
