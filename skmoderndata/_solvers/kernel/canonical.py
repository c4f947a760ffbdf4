"""Regularised canonical correlation of two and more views, each given by a matrix or a kernel.

All problems are stated in one way. A view has a centred matrix of scores ``K`` (a kernel) or ``G``
(features), with eigenvalues ``omega`` of ``K`` or ``G G'`` and eigenvectors ``U``. Regularisation
is diagonal there: the *whitened* view is ``B = U diag(b)``, and ``c`` of unit norm stands for
scores ``sqrt(n) B c`` whose regularised variance is one:

==============  ==================================  ==================================
rule            regularised variance of the scores  b
==============  ==================================  ==================================
``shrinkage``   (1 - t) variance + t |w|^2          sqrt(omega / ((1 - t) omega + n t))
``ridge``       variance + t |w|^2                  sqrt(omega / (omega + n t))
``bach-jordan`` |(K + n t / 2) alpha|^2 / n         omega / (omega + n t / 2)
==============  ==================================  ==================================

Variances have the divisor n. Regularised correlations of two views are the singular values of
``B_a' B_b``.

With weights of the samples, means are weighted, the rows of ``G`` (and rows and columns of ``K``)
are multiplied by the roots of the weights, and n above is their sum, `total`: a common factor of
the weights cancels, and a weight of 2 counts as two copies. Rows of scores come multiplied by the
roots as well. LAPACK may not return from NaN, so its check of finite input stays on.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, svds

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import leading_eigen

Array = np.ndarray[Any, np.dtype[Any]]

SMALL = 400  # decompositions up to this size are computed in full
EXTRA = 4  # columns of a block beyond the number of pairs wanted
RULES = ("shrinkage", "ridge", "bach-jordan")
INDEFINITE = 1e-8  # eigenvalues below minus this fraction of the largest are not rounding errors


class Samples(NamedTuple):
    """Rows of the views: which are there, and what they weigh."""

    n: int
    rows: list[Array]  # for each view the numbers of the rows that are not missing
    weights: Array | None  # (n,), None where all weigh 1

    def weights_of(self, v: int) -> Array | None:
        """Weights of the rows of one view."""
        return None if self.weights is None else self.weights[self.rows[v]]

    def spread(self, values: Array, v: int) -> Array:
        """Scores of all samples from those of one view, NaN where the view is missing."""
        if self.rows[v].size == self.n:
            return values
        full = np.full((self.n, values.shape[1]), np.nan)
        full[self.rows[v]] = values
        return full


class Whitened(NamedTuple):
    """A view as ``B = basis @ whiten``."""

    basis: Any  # (n, r): eigenvectors of a kernel, or centred features, also as `CentredRows`
    whiten: Array  # (r, q), or (r,) when it is diagonal
    coef: Array  # as `whiten`: coef @ c are weights, with the basis before it dual coefficients
    rank: int


class Pairs(NamedTuple):
    """Directions of two or more views: column j belongs to the j-th set of scores."""

    directions: list[Array]  # one (q_v, k) per view: `c`, or dual coefficients
    values: Array  # (k,), descending
    residual: float  # largest violation of stationarity, relative to the largest value
    n_iter: int
    gap: float  # bound on the relative distance to the optimum, for the sum of correlations
    consensus: Array | None = None  # (n, k), mean square 1 over all views that are there


class Penalty(NamedTuple):
    """Regularisation of one view: ``keep`` of its variance, ``t`` of the squared norm."""

    keep: float
    t: float
    square: bool  # the rule "bach-jordan"


def penalty(alpha: float, rule: str, scale: float = 1.0) -> Penalty:
    """Penalty for a kernel that was divided by `scale`."""
    keep = 1.0 - alpha if rule == "shrinkage" else 1.0
    return Penalty(keep, alpha / scale, rule == "bach-jordan")


def gain(omega: Array, n: float, pen: Penalty) -> Array:
    """Diagonal ``b`` of a whitened view, for positive eigenvalues."""
    if pen.square:
        return np.asarray(omega / (omega + n * pen.t / 2))
    return np.sqrt(omega / (pen.keep * omega + n * pen.t))


class CentredRows:
    """Rows of a sparse matrix, centred and scaled, as a matrix that is only multiplied.

    It stands for ``diag(root) (X - 1 mean') diag(1 / scale)``, where `root` are the roots of the
    weights of the samples, whose sum is `total`, and `mean` the weighted mean.
    """

    def __init__(self, X: Any, mean: Array, scale: Array, root: Array) -> None:
        self.X = X.multiply(root[:, None]).multiply(1 / scale).tocsr()
        self.mean, self.root, self.total = mean / scale, root, float(root @ root)
        self.shape = self.X.shape

    def __matmul__(self, B: Array) -> Array:
        product: Array = self.X @ B - np.multiply.outer(self.root, self.mean @ B)
        return product

    def inner(self, other: Any) -> Array:
        """Product of the transpose with another centred matrix, sparse or dense."""
        if isinstance(other, CentredRows):
            product = (self.X.T @ other.X).toarray()
            return np.asarray(product - self.total * np.outer(self.mean, other.mean))
        return np.asarray(self.X.T @ other - np.outer(self.mean, self.root @ other))

    def gram(self) -> Array:
        """Inner products of the rows."""
        K = (self.X @ self.X.T).toarray()
        side = np.outer(self.X @ self.mean, self.root)
        K -= side
        K -= side.T
        K += float(self.mean @ self.mean) * np.outer(self.root, self.root)
        return np.asarray(K)


def inner(A: Any, B: Any) -> Array:
    """Product ``A' B`` of two bases."""
    if isinstance(A, CentredRows):
        return A.inner(B)
    if isinstance(B, CentredRows):
        return B.inner(A).T
    return np.asarray(A.T @ B)


def whiten_sparse(G: CentredRows, pen: Penalty) -> Whitened:
    """Whitened view of sparse rows, by their covariance or their kernel, whichever is smaller.

    Directions with less than about 1e-7 of the largest standard deviation are dropped.
    """
    n, p = G.shape
    if p > n:
        return whiten_kernel(G.gram(), pen, G.total)
    return _by_covariance(G, G.inner(G), max(n, p), pen, G.total)


def _by_covariance(G: Any, C: Array, size: int, pen: Penalty, total: float) -> Whitened:
    """Whitened view by the eigenvectors of ``C = G'G``; `size` scales what counts as rounding."""
    omega, V = linalg.eigh((C + C.T) / 2, driver="evd")
    omega, V = omega[::-1], V[:, ::-1]
    keep = omega > size * np.finfo(np.float64).eps * max(float(omega[0]), 0.0)
    omega, V = omega[keep], V[:, keep]
    W = V * (gain(omega, total, pen) / np.sqrt(omega))
    return Whitened(G, W, np.sqrt(total) * W, omega.size)


def whiten_kernel(K: Array, pen: Penalty, total: float | None = None) -> Whitened:
    """Whitened view of a centred kernel matrix, by its eigendecomposition.

    Eigenvalues at rounding level are dropped; a clearly negative one shows in `rank` -1.
    """
    n = K.shape[0]
    omega, U = linalg.eigh(K, driver="evd")
    size = float(np.abs(omega).max(initial=0.0))
    if omega[0] < -INDEFINITE * size:
        return Whitened(U[:, :0], omega[:0], omega[:0], -1)
    keep = omega > n * np.finfo(np.float64).eps * size
    omega, U = omega[keep][::-1], np.ascontiguousarray(U[:, keep][:, ::-1])
    total = float(n) if total is None else total
    b = gain(omega, total, pen)
    return Whitened(U, b, np.sqrt(total) * b / omega, omega.size)


def whiten_features(G: Array, pen: Penalty, total: float | None = None) -> Whitened:
    """Whitened view of centred features ``G`` (n, m).

    The eigenvectors of ``G'G`` serve where small singular values do not matter: with a
    regularisation above rounding. Otherwise the singular value decomposition of ``G``.
    """
    n, m = G.shape
    total = float(n) if total is None else total
    if n > m and total * pen.t > 1e-6 * float(np.einsum("ij,ij->", G, G)):
        return _by_covariance(G, G.T @ G, m, pen, total)
    _, s, Vt = linalg.svd(G, full_matrices=False)
    keep = s > max(n, m) * np.finfo(np.float64).eps * (s[0] if s.size else 0.0)
    omega, V = s[keep] ** 2, Vt[keep].T
    W = V * (gain(omega, total, pen) / np.sqrt(omega))
    return Whitened(G, W, np.sqrt(total) * W, omega.size)


def coefficients(view: Whitened, c: Array) -> Array:
    """Dual coefficients or weights of features that belong to the directions ``c``."""
    if view.coef.ndim == 1:
        return np.asarray(view.basis @ (view.coef[:, None] * c))
    return np.asarray(view.coef @ c)


def training_scores(view: Whitened, c: Array, weights: Array | None) -> Array:
    """Centred scores of the training samples, without the roots of the weights."""
    n = view.basis.shape[0] if weights is None else weights.sum()
    scores = _rows_of_scores(view, np.sqrt(n) * c)
    return scores if weights is None else scores / np.sqrt(weights)[:, None]


def _rows_of_scores(view: Whitened, scaled: Array) -> Array:
    if view.whiten.ndim == 1:
        return np.asarray(view.basis @ (view.whiten[:, None] * scaled))
    return np.asarray(view.basis @ (view.whiten @ scaled))


def cross(a: Whitened, b: Whitened) -> Array:
    """Products ``B_a' B_b`` of two whitened views."""
    T = inner(a.basis, b.basis)
    T = a.whiten[:, None] * T if a.whiten.ndim == 1 else a.whiten.T @ T
    return np.asarray(T * b.whiten if b.whiten.ndim == 1 else T @ b.whiten)


def canonical_pairs(
    views: Sequence[Whitened],
    k: int,
    samples: Samples,
    *,
    criterion: str = "maxvar",
    max_iter: int = 1,
    tol: float = 0.0,
    progress: Progress | None = None,
) -> Pairs:
    """Directions of two or more whitened views by one of three criteria.

    ``"maxvar"``: ``max sum_{u != v} c_u' B_u' B_v c_v / (V - 1)`` with ``sum_v |c_v|^2 = V``, an
    eigenproblem; ``"sumcor"``: the same with ``|c_v| = 1`` for each view, by ascent from the
    former, which is also its upper bound; ``"gcca"``: the consensus ``Z`` with orthonormal
    columns (in the weights of the samples and the number of views that are there) that maximises
    ``sum_v |B_v' Z|^2``. For two views the first two are a singular value decomposition.
    """
    if criterion == "gcca":
        return _consensus(views, k, samples)
    if len(views) == 2:
        return _two_views(views[0], views[1], k)
    blocks = {
        (u, v): cross(views[u], views[v])
        for u in range(len(views))
        for v in range(u + 1, len(views))
    }
    # covariances in place of correlations may be huge: their squares stay finite
    largest = max(float(np.abs(block).max(initial=0.0)) for block in blocks.values()) or 1.0
    blocks = {pair: block / largest for pair, block in blocks.items()}
    sizes = [view.whiten.shape[-1] for view in views]
    result = _stacked(blocks, sizes, k)
    if criterion != "maxvar":
        result = _sumcor(blocks, sizes, result, max_iter, tol, progress)
    return result._replace(values=result.values * largest)


def _two_views(a: Whitened, b: Whitened, k: int) -> Pairs:
    """Largest singular values and vectors of ``B_a' B_b``."""
    T = cross(a, b)
    k = min(k, *T.shape)
    P, values, Q = largest_singular(T, k)
    size = values[0] if values.size and values[0] > 0 else 1.0
    off = max(
        np.abs(T @ Q - P * values).max(initial=0.0), np.abs(T.T @ P - Q * values).max(initial=0.0)
    )
    return Pairs([P, Q], values, float(off / size), 1, 0.0)


def kernel_pairs(
    Ka: Array,
    Kb: Array,
    k: int,
    *,
    pens: tuple[Penalty, Penalty],
    tol: float = 1e-10,
    max_dim: int = 400,
    rng: np.random.RandomState,
    roots: Array | None = None,
    progress: Progress | None = None,
) -> Pairs | None:
    """Dual coefficients of two centred kernels, by block Golub-Kahan bidiagonalisation.

    With ``M = (1 - t) K / n + t`` (or without the ``1 - t``) the regularised variance of
    ``K alpha`` is ``alpha' K M alpha``, and stationarity reads ``M_a alpha_a s = K_b alpha_b /
    n``. So a step is one solve with the Cholesky factor of ``M`` and one product with the
    kernel, and no eigendecomposition of size n is needed. Returns None when `max_dim` directions
    do not suffice, or a kernel is seen to be indefinite. Not for the rule "bach-jordan". With
    `roots`, the roots of the weights of the samples, kernels are those of weighted rows.
    """
    n = Ka.shape[0]
    roots = np.ones(n) if roots is None else roots
    total = float(roots @ roots)
    sides = [_Side(K, pen, total) for K, pen in zip((Ka, Kb), pens, strict=True)]
    if not all(side.definite for side in sides):
        return None
    a, b = sides
    p = k + EXTRA
    start = rng.standard_normal((n, p))
    b.extend(start - np.outer(roots, roots @ start) / total)
    it = Iterations(1 + max_dim // p, tol, progress)
    for n_iter in it:
        if not b.last.shape[1] or max(a.dim, b.dim) + p > max_dim:
            return None
        # the part of the images of all b outside of the span of a lies in the new block of a
        a.extend(a.solve(b.last_scores / total))
        if a.dim == 0:
            return None
        T = a.scores.T @ b.scores / total
        P, values, Qt = linalg.svd(T, full_matrices=False)
        if a.last.shape[1] == 0:  # an invariant space is found
            it.residual = 0.0
            continue
        beta = b.extend(b.solve(a.last_scores / total))
        wanted = slice(0, min(k, values.size))
        off = linalg.norm(beta @ P[-a.last.shape[1] :, wanted], axis=0)
        residual = float(off.max() / values[0])
        it.residual = residual if n_iter > 1 else np.inf
    if not it.converged:
        return None
    n_iter, residual = it.n_iter, it.residual
    kept = min(k, values.size)
    duals = [a.basis @ P[:, :kept], b.basis[:, : Qt.shape[1]] @ Qt[:kept].T]
    scores = [Ka @ duals[0], Kb @ duals[1]]
    for x, y, other in ((a, duals[0], scores[1]), (b, duals[1], scores[0])):
        # the stationarity conditions afresh: K (other scores) / n = value K M alpha
        left = x.K @ (other / total)
        right = x.K @ (x.c * (x.K @ y) + x.t * y) * values[:kept]
        size = float(linalg.norm(right, axis=0).max(initial=1e-300))
        residual = max(residual, float(linalg.norm(left - right, axis=0).max() / size))
    if residual > 100 * tol:
        return None
    return Pairs(duals, values[:kept], residual, n_iter, 0.0)


class _Side:
    """One view of the bidiagonalisation: directions orthonormal under ``K M``."""

    def __init__(self, K: Array, pen: Penalty, total: float) -> None:
        n = K.shape[0]
        self.K, self.t = K, pen.t
        self.c = pen.keep / total
        M = self.c * K
        M[np.diag_indices(n)] += pen.t
        self.rounding = 100 * np.finfo(np.float64).eps * float(linalg.norm(K)) * self.t
        self.definite = True
        try:
            self.factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            self.definite = False
        self.basis = self.scores = self.last = self.last_scores = np.empty((n, 0))

    @property
    def dim(self) -> int:
        return int(self.basis.shape[1])

    def solve(self, right: Array) -> Array:
        return np.asarray(linalg.cho_solve(self.factor, right, check_finite=False))

    def extend(self, W: Array) -> Array:
        """Add the part of `W` outside of the span; return its coordinates in the new block."""
        S = self.K @ W
        n, p = W.shape
        old = self.dim
        Q, SQ = np.empty((n, old + p)), np.empty((n, old + p))
        Q[:, :old], SQ[:, :old] = self.basis, self.scores
        R = np.zeros((p, p))
        at = old
        for j in range(p):  # column by column: small parts count as much as large ones
            w, s = W[:, j], S[:, j]
            size = length = self._norm(w, s)
            if size == 0:
                continue
            for _ in range(3):
                before = length
                h = SQ[:, :at].T @ (self.c * s + self.t * w)
                w, s = w - Q[:, :at] @ h, s - SQ[:, :at] @ h
                R[: at - old, j] += h[old:]
                length = self._norm(w, s)
                if length > 0.5 * before:
                    break
            if length <= 1e-13 * size:
                continue
            Q[:, at], SQ[:, at] = w / length, s / length
            R[at - old, j] = length
            at += 1
        self.last = Q[:, old:at]
        self.last_scores = SQ[:, old:at] = self.K @ self.last  # afresh: differences lose digits
        self.basis, self.scores = Q[:, :at], SQ[:, :at]
        return R[: at - old]

    def _norm(self, w: Array, s: Array) -> float:
        """Norm, 0 where `w` is in the null space of K as far as rounding can tell."""
        squared = float(s @ (self.c * s + self.t * w))
        return float(np.sqrt(squared)) if squared > self.rounding * float(w @ w) else 0.0


def is_semidefinite(K: Array) -> bool:
    """Whether no eigenvalue is clearly negative, by a Cholesky factorisation."""
    shifted = K.copy()
    shifted[np.diag_indices(K.shape[0])] += INDEFINITE * linalg.norm(K)
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def centre_kernel(K: Array, weights: Array | None = None) -> Array:
    """Centre a symmetric matrix in place; return what its column means were.

    With weights the means are weighted, and rows and columns are multiplied by their roots.
    """
    if weights is None:
        means = np.asarray(K.mean(axis=0))
        K -= means
        K -= (means - means.mean())[:, None]
        return means
    share = weights / weights.sum()
    means = np.asarray(share @ K)
    K -= means
    K -= (means - share @ means)[:, None]
    roots = np.sqrt(weights)
    K *= roots
    K *= roots[:, None]
    return means


def centre_dual(dual: Array, weights: Array | None = None) -> Array:
    """Coefficients of a kernel that is not centred, from those of the centred one.

    With weights the latter belong to the matrix that `centre_kernel` leaves.
    """
    if weights is None:
        return np.asarray(dual - dual.mean(axis=0))
    dual = np.sqrt(weights)[:, None] * dual
    return np.asarray(dual - np.outer(weights / weights.sum(), dual.sum(axis=0)))


def largest_singular(T: Array, k: int) -> tuple[Array, Array, Array]:
    """Columns ``P``, values, columns ``Q`` of the k largest singular values, descending."""
    q = min(T.shape)
    if q <= SMALL or k > q // 8:
        P, values, Qt = linalg.svd(T, full_matrices=False)
    else:
        v0 = np.random.RandomState(0).standard_normal(q)
        P, some, Qt = svds(T, k=min(k + EXTRA, q - 1), v0=v0, tol=0)
        order = np.argsort(some)[::-1]
        P, values, Qt = P[:, order], np.asarray(some[order], dtype=np.float64), Qt[order]
    return P[:, :k], values[:k], Qt[:k].T


def _neighbours(blocks: dict[tuple[int, int], Array], v: int, parts: Sequence[Array]) -> Array:
    """``sum_{u != v} B_v' B_u c_u``."""
    total: Any = 0.0
    for u, part in enumerate(parts):
        if u < v:
            total = total + blocks[u, v].T @ part
        elif u > v:
            total = total + blocks[v, u] @ part
    return np.asarray(total)


def _stacked(blocks: dict[tuple[int, int], Array], sizes: Sequence[int], k: int) -> Pairs:
    """Eigenvectors of the matrix of all cross products between different views."""
    n_views, cuts = len(sizes), np.cumsum(sizes)[:-1]
    operator = _products(blocks, sizes, lambda v, c: c)
    values, C = leading_eigen(operator, k)
    keep = values > 1e-12 * max(values[0], np.finfo(np.float64).tiny)
    values, C = values[keep], C[:, keep]
    off = np.abs(operator @ C - C * values).max(initial=0.0)
    parts = np.split(C * np.sqrt(n_views), cuts)
    residual = float(off / values[0]) if values.size else 0.0
    return Pairs(parts, values / (n_views - 1), residual, 1, 0.0)


def _sumcor(
    blocks: dict[tuple[int, int], Array],
    sizes: Sequence[int],
    start: Pairs,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> Pairs:
    """Sum of correlations with unit variance in every view [Kettenring 1971; Horst 1961].

    One pass maximises over one view after the other, so the sum never falls. Later pairs are
    orthogonal to earlier ones in every view. The stacked eigenproblem relaxes the constraints:
    its largest eigenvalue, deflated likewise, bounds the sum from above.
    """
    n_views, k = len(sizes), start.values.size
    pairs = n_views * (n_views - 1)
    found = [np.zeros((size, 0)) for size in sizes]
    values: list[float] = []
    gaps, residual, total_iter = [0.0], 0.0, 0

    def project(v: int, c: Array) -> Array:
        return np.asarray(c - found[v] @ (found[v].T @ c))

    for _ in range(min(k, *sizes)):
        bounds, C = leading_eigen(_products(blocks, sizes, project), 1)
        bound = float(bounds[0])
        parts = []
        for v, c in enumerate(np.split(C[:, 0], np.cumsum(sizes)[:-1])):
            size = linalg.norm(c)
            parts.append(c / size if size > 1e-8 else _any_unit(project, v, sizes[v]))
        it = Iterations(max_iter, tol, progress)
        for _ in it:
            moved = 0.0
            for v in range(n_views):
                new = project(v, _neighbours(blocks, v, parts))
                length = linalg.norm(new)
                if length > 0:
                    moved = max(moved, float(linalg.norm(new / length - parts[v])))
                    parts[v] = new / length
            it.residual = moved
        moved = it.residual
        total_iter += it.n_iter
        value = sum(float(parts[v] @ _neighbours(blocks, v, parts)) for v in range(n_views))
        if value <= 1e-12 * max([1e-300, *values]):
            break
        values.append(value)
        residual = max(residual, moved)
        gaps.append(max(0.0, n_views * bound - value) / value)
        found = [np.c_[done, part] for done, part in zip(found, parts, strict=True)]
        if not it.converged and it.n_iter < max_iter:
            break  # a callback asked to stop
    return Pairs(found, np.array(values) / pairs, residual, total_iter, max(gaps))


def _products(
    blocks: dict[tuple[int, int], Array],
    sizes: Sequence[int],
    project: Callable[[int, Array], Array],
) -> LinearOperator:
    """Matrix of all cross products between different views, projected on both sides."""
    cuts, m = np.cumsum(sizes)[:-1], int(sum(sizes))

    def apply(stacked: Array) -> Array:
        parts = [project(v, c) for v, c in enumerate(np.split(stacked.reshape(m, -1), cuts))]
        done = [project(v, _neighbours(blocks, v, parts)) for v in range(len(sizes))]
        return np.concatenate(done).reshape(stacked.shape)

    return LinearOperator((m, m), matvec=apply, matmat=apply, dtype=np.float64)


def _any_unit(project: Callable[[int, Array], Array], v: int, size: int) -> Array:
    for i in range(size):
        c = project(v, np.eye(size)[:, i])
        length = linalg.norm(c)
        if length > 1e-8:
            return np.asarray(c / length)
    return np.zeros(size)


def _consensus(
    views: Sequence[Whitened],
    k: int,
    samples: Samples,
) -> Pairs:
    """Top eigenvectors of ``sum_v B_v B_v'``, rows weighted by the number of views present."""
    n, present, weights = samples
    n_views = len(views)
    counts = np.zeros(n)
    for index in present:
        counts[index] += 1
    root = np.sqrt(np.maximum(counts, 1.0))
    cuts = np.cumsum([view.whiten.shape[-1] for view in views])
    Y = np.zeros((n, cuts[-1]))
    for view, index, B in zip(views, present, np.split(Y, cuts[:-1], axis=1), strict=True):
        rows = view.basis * view.whiten if view.whiten.ndim == 1 else view.basis @ view.whiten
        B[index] = rows / root[index, None]
    wide = Y.shape[1] > n
    values, V = leading_eigen(Y @ Y.T if wide else Y.T @ Y, k)
    keep = values > 1e-12 * max(float(values[0]), np.finfo(np.float64).tiny)
    values, V = values[keep], V[:, keep]
    Z = V if wide else Y @ (V / np.sqrt(values))
    scores = Y.T @ Z
    directions = np.split(scores, cuts[:-1])
    residual = float(np.abs(Y @ scores - Z * values).max(initial=0.0) / max(values[0], 1e-300))
    # as a mean correlation: exact without regularisation and without missing views
    correlations = (n_views * values - 1) / (n_views - 1)
    if weights is not None:  # the rows of B, and so of Z, are those of the roots of the weights
        root = root * np.sqrt(np.where(weights > 0, weights, 1.0))
        counts = counts * weights
    Z *= np.sqrt(counts.sum()) / root[:, None]
    return Pairs(directions, correlations, residual, 1, 0.0, Z)
