"""The problem of minimal l1 norm with an operator, and facts about the operator."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.conjugate_gradients import Product, on_support
from skmoderndata._solvers.recovery.measurements import Operator, to_matrix
from skmoderndata._solvers.recovery.optimality import l1_gap, largest_slope

# Maximum length of random vectors that are made orthogonal; longer ones are nearly orthogonal
# anyway.
ORTHOGONAL_FROM_VALUES = 20_000
# Number of random vectors that probe an operator.
PROBES = 16
# Relative tolerance for the largest eigenvalue of ``A'A``.
NORM_ACCURACY = 0.01


class Facts(NamedTuple):
    """Facts about an operator: mean squared norm of columns, norm, orthogonality of rows.

    `sizes` holds estimated norms of the columns if they differ clearly; else it is None.
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
    """The problem ``min |a|_1  s.t.  |y - A a| <= bound``, ``a >= 0`` with `positive`.

    Columns have mean squared norm 1, y has norm 1, and `slopes` is ``A'y``.
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
        """Return products with the columns of a support, and with their transpose."""
        return on_support(self.forward, self.adjoint, support, self.A.shape[1])

    def soft(self, a: Array, by: Any) -> Array:
        """Apply soft thresholding."""
        if self.positive:
            return np.asarray(np.maximum(a - by, 0.0))
        return np.asarray(a - np.clip(a, -by, by))

    def top(self, slopes: Array) -> float:
        return largest_slope(slopes, self.positive)

    def beyond(self, slopes: Array, limit: float) -> Array:
        return slopes > limit if self.positive else np.abs(slopes) > limit

    def failure(self) -> Candidate:
        m, n = self.A.shape
        return Candidate(np.zeros(n), np.zeros(m), np.inf, np.inf)

    def judge(
        self,
        coef: Array,
        dual: Array,
        *,
        residual: Array | None = None,
        slopes: Array | None = None,
    ) -> Candidate:
        """Compute gap and violation of the bound, after scaling the dual variable to be feasible.

        `residual` and the slopes ``A'dual`` are computed unless given.
        """
        top = self.top(self.adjoint(dual) if slopes is None else slopes)
        dual = dual / top if top > 1 else dual
        residual = self.y - self.forward(coef) if residual is None else residual
        size = float(np.linalg.norm(residual))
        missed = relative_gap(size, self.bound, unit=1.0)
        gap = l1_gap(self.y, coef, dual, self.bound) if coef.any() else 1.0
        return Candidate(coef, dual, gap, missed)


def facts_of(A: Operator) -> Facts:
    """Probe an operator with random vectors of equal norms, orthogonal unless they are long."""
    m, n = A.shape
    rng = np.random.RandomState(0)
    count = PROBES if m > ORTHOGONAL_FROM_VALUES else min(m, PROBES)
    G: Array = rng.normal(size=(m, count))
    if m <= ORTHOGONAL_FROM_VALUES:
        G, _ = linalg.qr(G, mode="economic")
    else:
        G = G / np.linalg.norm(G, axis=0)
    squares = np.zeros(n)
    c = 0.0
    orthogonal = False

    # estimate the squared norms of columns; test whether A A' is a multiple of the identity
    for i, g in enumerate(np.sqrt(m) * G.T):
        t = A.adjoint(g[None])
        squares += t[0] ** 2 / count  # the sum estimates the squared norms of the columns
        if i == 0:
            w = A.forward(t)[0]
            c = float(w @ g) / m
            difference = np.linalg.norm(w - c * g)
            orthogonal = bool(difference <= ACCUMULATED_ROUNDING * np.linalg.norm(w))

    # scale the columns if their norms differ by more than chance explains
    mean_sq = float(squares.mean())
    if mean_sq == 0:
        return Facts(1.0, 1.0, False)
    # if the rows are orthogonal, require a larger spread, because scaling the columns destroys the
    # orthogonality
    spread = 1.0 if orthogonal else 0.25
    variance = float((squares / mean_sq).var())
    sizes = None
    if variance > 2.0 / count + spread:
        sizes = np.sqrt(np.maximum(squares, 1e-8 * mean_sq))

    if orthogonal:
        return Facts(c * m / n, float(np.sqrt(c)), True, sizes)
    return Facts(mean_sq, operator_norm(A), False, sizes)


def operator_norm(A: Operator) -> float:
    """Return an upper bound of the spectral norm, accurate to half of `NORM_ACCURACY`.

    It comes from Lanczos iterations, and is almost always a bound.
    """
    n = A.shape[1]
    if n < 3:
        return float(np.linalg.norm(to_matrix(A), 2)) or 1.0

    def normal_product(v: Array) -> Array:
        row = v.reshape(1, n)
        return np.asarray(A.adjoint(A.forward(row))[0])

    squared = LinearOperator((n, n), normal_product, dtype=float)
    start = np.random.RandomState(0).normal(size=n)
    (top,) = eigsh(squared, 1, v0=start, tol=NORM_ACCURACY, return_eigenvectors=False)
    return float(np.sqrt(top * (1 + NORM_ACCURACY))) if top > 0 else 1.0
