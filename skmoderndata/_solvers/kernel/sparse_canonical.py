"""Sparse canonical correlation: penalised matrix decomposition of a cross-product.

Differs from the paper (Witten 2009): 1. many starts run side by side, and the best end is kept.
2. Views are deflated by the scores of each pair, instead of subtracting a rank-one matrix. 3. The
half step is solved exactly instead of by bisection. 4. Bounds are chosen by the maxima u'Kv
instead of correlations.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, WatchedProgress
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.projections import project_row
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RANK_TOL
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.kernel.canonical import inner

# Number of rounds of the subspace iteration that computes the starts.
POWER_ROUNDS = 6
# Tolerance of the relative gain when starts are compared, and when rows are permuted.
ROUGH_TOL = 1e-4
# Maximum number of passes in searches on permuted rows; the search for the pairs of the data,
# which are not permuted, may make ten times as many.
ROUGH_ITERATIONS = 30
# Number of passes in each round, and number of starts that remain after it.
ROUNDS = ((2, 20), (4, 6), (20, 2))
# Smallest cosine at which two starts count as equal.
SAME_WEIGHTS = 1 - 1e-3
# Maximum number of starts that are singular vectors.
N_SINGULAR = 10


class SparsePairs(NamedTuple):
    """Weights of two standardised views, one column for each pair."""

    U: Array  # weights of the first view, (p, k)
    V: Array  # weights of the second view, (q, k)
    values: Array  # u' K v of the deflated problem of each pair, (k,)
    residuals: Array  # relative violation of stationarity, (k,)
    n_iter: int  # largest number of passes for one pair
    converged: bool  # whether all pairs are stationary


class Ascent(NamedTuple):
    """Weights in rows, one for each start or permutation, and the values reached."""

    U: Array
    V: Array
    values: Array
    n_iter: int
    converged: bool


class CrossProduct:
    """Operator ``K = A' (I - T T') P (I - S S') B / total``.

    A (n, p) and B (n, q) are centred views, dense or `CentredRows`. T and S are orthonormal bases
    of the scores found so far (deflation). P permutes rows, with one permutation in `orders` for
    each row that is multiplied; None means no permutation. The p x q matrix is formed only if it
    is smaller than the views and one of its sides is at most the number of samples.
    """

    def __init__(self, A: Any, B: Any, total: float, *, orders: Array | None = None) -> None:
        self.A = A
        self.B = B
        self.total = total
        self.orders = orders
        self.inverses = None if orders is None else np.argsort(orders, axis=1)
        self.T = np.zeros((A.shape[0], 0))
        self.S = np.zeros((B.shape[0], 0))
        self.matrix: Array | None = None
        self._form()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of columns of the two views."""
        return self.A.shape[1], self.B.shape[1]

    def deflate(self, u: Array, v: Array) -> None:
        """Remove the scores of a pair from both views."""
        self.T = _extended(self.T, self.A @ u)
        self.S = _extended(self.S, self.B @ v)
        self._form()

    def _form(self) -> None:
        """Form the matrix if this saves time and costs no memory."""
        n = self.A.shape[0]
        p, q = self.shape
        if self.orders is not None or min(p, q) > n or p * q > n * (p + q):
            return
        AT = inner(self.A, self.T)
        AS = inner(self.A, self.S)
        BT = inner(self.B, self.T)
        BS = inner(self.B, self.S)

        # add the four terms of A' (I - T T') (I - S S') B
        K = inner(self.A, self.B)
        K = K - AT @ BT.T
        K = K - AS @ BS.T
        overlap = self.T.T @ self.S
        K = K + AT @ overlap @ BS.T
        self.matrix = K / self.total

    def times(self, V: Array, rows: Array) -> Array:
        """Return rows ``K v`` for rows v; `rows` are the numbers of their permutations."""
        if self.matrix is not None:
            return V @ self.matrix.T
        scores = _without(self.S, self.B @ V.T)
        if self.orders is not None:
            scores = np.take_along_axis(scores, self.orders[rows].T, axis=0)
        scores = _without(self.T, scores)
        product = inner(self.A, scores)
        return np.ascontiguousarray(product.T / self.total)

    def transposed_times(self, U: Array, rows: Array) -> Array:
        """Return rows ``K' u`` for rows u; `rows` are the numbers of their permutations."""
        if self.matrix is not None:
            return U @ self.matrix
        scores = _without(self.T, self.A @ U.T)
        if self.inverses is not None:
            scores = np.take_along_axis(scores, self.inverses[rows].T, axis=0)
        scores = _without(self.S, scores)
        product = inner(self.B, scores)
        return np.ascontiguousarray(product.T / self.total)


def _without(basis: Array, scores: Array) -> Array:
    """Subtract from scores their projection onto an orthonormal basis."""
    if basis.shape[1] == 0:
        return scores
    return np.asarray(scores - basis @ (basis.T @ scores))


def _extended(basis: Array, t: Array) -> Array:
    """Extend an orthonormal basis by a score unless it lies in the span."""
    size = linalg.norm(t)
    for _ in range(2):
        t = _without(basis, t)
    length = linalg.norm(t)
    if length <= ACCUMULATED_ROUNDING * size or size == 0:
        return basis
    return np.column_stack([basis, t / length])


# ---- the half step -----------------------------------------------------------------------------


def best_weights(G: Array, bounds: Array) -> Array:
    """Return rows u that solve ``max u'g`` subject to ``|u|_2 <= 1`` and ``|u|_1 <= c``.

    The solution is ``S(g, delta) / |S(g, delta)|_2`` with the soft threshold S. Here delta is 0 if
    this satisfies the bound, and otherwise such that ``|u|_1 = c`` [Witten 2009, Lemma 2.2]. It is
    found exactly: passes that drop entries find the support, and the rest is in closed form.

    Parameters
    ----------
    G : array of shape (b, p)
        Gradients in rows; a row of zeros gives zeros.
    bounds : array of shape (b,)
        Bounds c >= 1 on the sum of absolute values.
    """
    G = np.ascontiguousarray(G, dtype=np.float64)
    out = np.empty_like(G)
    _best_rows(G, np.asarray(bounds, dtype=np.float64), out)
    return out


@jit
def _best_rows(G: Array, bounds: Array, out: Array) -> None:
    b, p = G.shape
    work = np.empty(p)
    size = np.empty(p)
    for i in range(b):
        peak = np.abs(G[i]).max()
        if peak == 0.0 or not np.isfinite(peak):
            out[i] = 0.0
            continue

        # divide by the largest entry, which avoids overflow and underflow
        absolute = 0.0
        squares = 0.0
        for j in range(p):
            size[j] = abs(G[i, j]) / peak
            absolute += size[j]
            squares += size[j] * size[j]

        # the threshold delta is 0 if the bound is not active
        length = np.sqrt(squares)
        if absolute <= bounds[i] * length:
            for j in range(p):
                out[i, j] = G[i, j] / peak / length
            continue
        project_row(size, bounds[i], 1.0, out[i], work)
        for j in range(p):
            if G[i, j] < 0.0:
                out[i, j] = -out[i, j]


# ---- one pair ----------------------------------------------------------------------------------


def alternate(
    K: CrossProduct,
    V: Array,
    bounds: tuple[float, float],
    *,
    max_iter: int,
    tol: float,
    progress: WatchedProgress | None = None,
) -> Ascent:
    """Maximise ``u' K v`` over u and v in turn [Witten 2009, Algorithm 3].

    Each row of V is a start. A row is finished when its relative gain in a pass is at most `tol`;
    finished rows are no longer multiplied.
    """
    n_starts = len(V)
    V = V.copy()
    U = np.zeros((n_starts, K.shape[0]))
    values = np.zeros(n_starts)
    active = np.arange(n_starts)

    iterations = Iterations(max_iter, tol, progress)
    for _ in iterations:
        # 1. update u for given v; the gain shows how far v and the last u are from stationarity
        gradient = K.times(V[active], active)
        bound = np.full(active.size, bounds[0])
        rows = best_weights(gradient, bound)
        reached = np.einsum("ij,ij->i", rows, gradient)
        gain = reached - values[active]
        U[active] = rows

        # 2. update v for given u
        gradient = K.transposed_times(rows, active)
        bound = np.full(active.size, bounds[1])
        rows = best_weights(gradient, bound)
        V[active] = rows
        values[active] = np.einsum("ij,ij->i", rows, gradient)

        # 3. drop the rows that gained nothing in either half step
        gain += values[active] - reached
        moving = gain > tol * values[active]
        unit = np.where(reached > 0, reached, 1.0)
        iterations.residual = float(np.max(gain / unit))
        iterations.converged = not moving.any()
        active = active[moving]

    return Ascent(U, V, values, iterations.n_iter, iterations.converged)


def stationarity(K: CrossProduct, u: Array, v: Array, bounds: tuple[float, float]) -> float:
    """Return the relative gain of the better of two half steps, as a certificate.

    0 means that u is a global maximum for given v, and v for given u, which are the KKT conditions
    of the biconvex problem.
    """
    first = np.zeros(1, dtype=np.intp)
    of_u = K.times(v[None], first)
    of_v = K.transposed_times(u[None], first)
    gap_u = _half_step_gap(u, of_u, bounds[0])
    gap_v = _half_step_gap(v, of_v, bounds[1])
    return max(gap_u, gap_v)


def _half_step_gap(weights: Array, gradient: Array, bound: float) -> float:
    """Return the relative gain of the best weights for a gradient (1, p)."""
    bounds = np.array([bound])
    best = best_weights(gradient, bounds)
    largest = float(best[0] @ gradient[0])
    reached = float(weights @ gradient[0])
    return relative_gap(largest, reached, unit=abs(largest))


def singular_starts(K: CrossProduct, n_starts: int, rng: np.random.RandomState) -> Array:
    """Approximate the leading right singular vectors of K, in rows, by subspace iteration."""
    k = min(n_starts, *K.shape)
    index = np.zeros(k, dtype=np.intp)
    V = _orthonormal_rows(rng.normal(size=(k, K.shape[1])))
    for _ in range(POWER_ROUNDS):
        U = _orthonormal_rows(K.times(V, index))
        V = _orthonormal_rows(K.transposed_times(U, index))

    # Rayleigh-Ritz: compute the singular vectors within the subspace, the leading ones first
    rotation = linalg.svd(K.times(V, index), full_matrices=False)[0]
    return np.asarray(rotation.T @ V)


def _orthonormal_rows(rows: Array) -> Array:
    """Return an orthonormal basis of the span of rows."""
    Q, _ = linalg.qr(rows.T, mode="economic")
    return np.asarray(Q.T)


# ---- several pairs -----------------------------------------------------------------------------


def sparse_pairs(
    K: CrossProduct,
    k: int,
    bounds: tuple[float, float],
    *,
    n_init: int,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    progress: WatchedProgress | None = None,
) -> SparsePairs:
    """Find pairs of sparse weights one by one, deflating K by the scores of each pair.

    Starts are leading singular vectors, single columns and random combinations of samples. After
    a few passes together, only the starts with the largest values continue, and the best of the
    last starts is kept.
    """
    pairs: list[tuple[Array, Array]] = []
    values: list[float] = []
    residuals = []
    n_iter = 0
    converged = True

    for _ in range(k):
        # 1. make the starts; run a few passes for all of them, and more passes for the best
        V = _starts(K, n_init, rng)
        for n_passes, n_ahead in ROUNDS:
            rough = alternate(
                K, V, bounds, max_iter=min(n_passes, max_iter), tol=max(tol, ROUGH_TOL)
            )
            V = _ahead(rough, n_ahead)

        # 2. run the remaining starts until they converge, and choose the best
        ascent = alternate(K, V, bounds, max_iter=max_iter, tol=tol, progress=progress)
        best = int(ascent.values.argmax())
        u = ascent.U[best]
        v = ascent.V[best]
        value = float(ascent.values[best])
        n_iter = max(n_iter, ascent.n_iter)
        if not value > RANK_TOL * max(values, default=0.0):
            break

        # 3. compute the certificate, and deflate
        residuals.append(stationarity(K, u, v, bounds))
        converged = converged and residuals[-1] <= max(tol, 64 * EPS)
        pairs.append((u, v))
        values.append(value)
        K.deflate(u, v)
        if progress is not None and progress.stopped:
            break

    p, q = K.shape
    U = np.array([u for u, _ in pairs]).reshape(-1, p).T
    V = np.array([v for _, v in pairs]).reshape(-1, q).T
    return SparsePairs(U, V, np.array(values), np.array(residuals), n_iter, converged)


def _ahead(ascent: Ascent, n_ahead: int) -> Array:
    """Select the starts with the largest values, leaving out starts that equal a better one."""
    # begin with the best start, and skip starts that are close to one already selected
    selected: list[int] = []
    norms = np.asarray(linalg.norm(ascent.V, axis=1))
    norms[norms == 0] = 1.0
    for i in np.argsort(-ascent.values, kind="stable"):
        products = ascent.V[selected] @ ascent.V[i]
        cosines = np.abs(products) / norms[selected] / norms[i]
        if len(selected) < n_ahead and not (cosines > SAME_WEIGHTS).any():
            selected.append(int(i))
    return ascent.V[selected]


def _starts(K: CrossProduct, n_init: int, rng: np.random.RandomState) -> Array:
    """Return singular vectors, single columns and combinations of samples as starts, in rows."""
    q = K.shape[1]
    starts = [singular_starts(K, min(n_init, N_SINGULAR), rng)]
    n_columns = min(max(n_init - N_SINGULAR, 0) // 2, q)
    starts.append(np.zeros((n_columns, q)))
    starts[1][np.arange(n_columns), rng.permutation(q)[:n_columns]] = 1.0
    n_random = n_init - N_SINGULAR - n_columns
    if n_random > 0:
        starts.append(_random_starts(K, n_random, rng))
    return np.concatenate(starts)


def _random_starts(K: CrossProduct, n_starts: int, rng: np.random.RandomState) -> Array:
    """Return random combinations of the samples of the second view, in rows."""
    scores = rng.normal(size=(K.B.shape[0], n_starts))
    return np.asarray(inner(K.B, _without(K.S, scores)).T)


# ---- bounds by permutation ---------------------------------------------------------------------


# Number of bounds in the grid.
N_BOUNDS = 10


class BoundSearch(NamedTuple):
    """Fractions tried, their z-scores, and the best fractions."""

    # (10, 2), bounds for both views, as fractions of the roots of their numbers of columns
    grid: Array
    z_scores: Array  # z-score of each row of the grid, (10,)
    best: tuple[float, float]  # fractions with the largest z-score


def bounds_by_permutation(
    A: Any, B: Any, total: float, *, n_permutations: int, rng: np.random.RandomState
) -> BoundSearch:
    """Choose the bounds whose first pair is furthest above permuted rows [Witten 2009b].

    The distance is ``z = (d - mean d*) / std d*``, where d = u'Kv is the maximum for the data and
    d* for the permutations. The paper uses correlations of the scores; these are lower for columns
    that fit less well, even if more of them belong to the pair.
    """
    n = A.shape[0]
    orders = np.array([np.arange(n), *(rng.permutation(n) for _ in range(n_permutations))])
    K = CrossProduct(A, B, total, orders=orders)
    grid = bound_grid(K.shape)

    # start without bounds and tighten them until they allow only a single column; each solution is
    # the start for the next bounds
    V = leading_directions(K)
    values = np.zeros((N_BOUNDS, n_permutations + 1))
    for g in reversed(range(N_BOUNDS)):
        bounds = sums_of_weights(grid[g], K.shape)
        ascent = alternate(K, V, bounds, max_iter=ROUGH_ITERATIONS, tol=ROUGH_TOL)
        V = ascent.V
        values[g] = ascent.values

    null = values[:, 1:]
    spread = null.std(axis=1)
    safe = np.where(spread > ACCUMULATED_ROUNDING * values[:, 0], spread, np.inf)
    z = (values[:, 0] - null.mean(axis=1)) / safe
    best = grid[int(z.argmax())]
    return BoundSearch(grid, z, (float(best[0]), float(best[1])))


def bound_grid(columns: tuple[int, int]) -> Array:
    """Return fractions (10, 2) from a single column to no bound, in equal ratios."""
    return np.column_stack([np.geomspace(p**-0.5, 1.0, N_BOUNDS) for p in columns])


def sums_of_weights(fractions: Any, columns: tuple[int, int]) -> tuple[float, float]:
    """Return bounds c on the sums of absolute weights, as fractions of roots of column numbers."""
    f_x, f_y = fractions
    p, q = columns
    c_x = float(f_x) * p**0.5
    c_y = float(f_y) * q**0.5
    return max(1.0, c_x), max(1.0, c_y)


def leading_directions(K: CrossProduct) -> Array:
    """Approximate the leading right singular vector of each permuted matrix by power iteration."""
    assert K.orders is not None
    rows = np.arange(len(K.orders))
    start = _random_starts(K, 1, np.random.RandomState(0))
    V = np.repeat(start, len(rows), axis=0)
    for _ in range(2 * POWER_ROUNDS):
        V = K.transposed_times(K.times(V, rows), rows)
        size = linalg.norm(V, axis=1, keepdims=True)
        V /= np.where(size > 0, size, 1.0)
    return V


# ---- permutation test --------------------------------------------------------------------------


class SparseCoordinates(NamedTuple):
    """Two standardised views, bounds, and the scores of the pairs found in the data."""

    A: Array  # first view
    B: Array  # second view
    bounds: tuple[float, float]  # bounds on the sums of absolute weights
    values: Array  # value of each pair, (k,)
    x_scores: Array  # orthonormal scores of the first view, (n, k)
    y_scores: Array  # orthonormal scores of the second view, (n, k)


def sparse_coordinates(
    A: Array, B: Array, fractions: Any, k: int, *, rng: np.random.RandomState
) -> SparseCoordinates:
    """Find the pairs of the data, by which views are deflated before rows are permuted."""
    K = CrossProduct(A, B, float(len(A)))
    bounds = sums_of_weights(fractions, K.shape)
    pairs = sparse_pairs(
        K, k, bounds, n_init=20, max_iter=10 * ROUGH_ITERATIONS, tol=ROUGH_TOL, rng=rng
    )
    return SparseCoordinates(A, B, bounds, pairs.values, K.T, K.S)


def permuted_maxima(coordinates: SparseCoordinates, orders: Array, k: int) -> Array:
    """Return the maxima (n_orders, k) of u'Kv after removing j pairs and permuting the rows."""
    c = coordinates
    maxima = np.zeros((len(orders), k))
    for j in range(k):
        K = CrossProduct(c.A, c.B, float(len(c.A)), orders=orders)
        K.T = c.x_scores[:, :j]
        K.S = c.y_scores[:, :j]
        V = leading_directions(K)
        ascent = alternate(K, V, c.bounds, max_iter=ROUGH_ITERATIONS, tol=ROUGH_TOL)
        maxima[:, j] = ascent.values
    return maxima
