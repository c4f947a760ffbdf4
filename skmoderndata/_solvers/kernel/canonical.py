"""Regularised canonical correlation of two and more views, each given by a matrix or a kernel.

All problems have the same form. A view has a centred matrix of scores ``K`` (a kernel) or ``G``
(features); ``omega`` and ``U`` are the eigenvalues and eigenvectors of ``K`` or ``G G'``. In this
basis regularisation is diagonal: the *whitened* view is ``B = U diag(b)``, and ``c`` of unit norm
represents scores ``sqrt(n) B c`` whose regularised variance is one:

==============  ==================================  ==================================
rule            regularised variance of the scores  b
==============  ==================================  ==================================
``shrinkage``   (1 - t) variance + t |w|^2          sqrt(omega / ((1 - t) omega + n t))
``ridge``       variance + t |w|^2                  sqrt(omega / (omega + n t))
``bach-jordan`` |(K + n t / 2) alpha|^2 / n         omega / (omega + n t / 2)
==============  ==================================  ==================================

Variances have the divisor n. Regularised correlations of two views are the singular values of
``B_a' B_b``.

With weights of the samples, means are weighted, the rows of ``G`` (and the rows and columns of
``K``) are multiplied by the square roots of the weights, and n above is the sum of the weights,
`total`. A common factor of the weights cancels, and a weight of 2 counts as two copies. Rows of
scores are multiplied by the roots as well. LAPACK may never return if it is given NaN, so its
check for finite input stays on.

Differs from the papers: 1. directions at rounding level are dropped, so kernels may be singular.
2. Large problems with few pairs use Lanczos iterations.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, svds

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import DENSE_UP_TO, EPS, leading_eigen
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, INDEFINITE, TINY
from skmoderndata._solvers.common.typing import Array

# Number of products with each kernel matrix that take about as long as the eigendecompositions.
PRODUCTS = 400
RULES = ("shrinkage", "ridge", "bach-jordan")
# Tolerance of the Lanczos iterations that replace eigendecompositions.
PAIRS_TOL = 1e-10
# Values of ``alpha`` that ``alpha="auto"`` compares.
ALPHAS = np.r_[1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 0.9, 0.99]


class Samples(NamedTuple):
    """Samples of the views: rows that are present, and weights."""

    n: int  # number of samples
    rows: list[Array]  # numbers of the rows that are present in each view
    weights: Array | None  # weights of the samples, (n,); None if all are 1
    n_confounders: int = 0  # number of independent variables that were removed from the views

    def weights_of(self, v: int) -> Array | None:
        """Return the weights of the rows of one view."""
        return None if self.weights is None else self.weights[self.rows[v]]

    def spread(self, values: Array, v: int) -> Array:
        """Spread the scores of one view over all samples, with NaN where the view is missing."""
        if self.rows[v].size == self.n:
            return values
        full = np.full((self.n, values.shape[1]), np.nan)
        full[self.rows[v]] = values
        return full


class Whitened(NamedTuple):
    """A view in the form ``B = basis @ whiten``."""

    basis: Any  # (n, r), eigenvectors of a kernel or centred features (or `CentredRows`)
    whiten: Any  # (r, q), sparse if diagonal
    # like `whiten`; coef @ c are the weights, and basis @ coef @ c the dual coefficients
    coef: Any
    rank: int  # number of directions; -1 if the kernel is indefinite
    omega: Any = None  # (q,), eigenvalues that belong to the columns of `whiten`


class Pairs(NamedTuple):
    """Directions of two or more views; column j belongs to the j-th set of scores."""

    directions: list[Array]  # `c`, or the dual coefficients, (q_v, k) for each view
    values: Array  # (k,), descending
    residual: float  # largest violation of stationarity, relative to the largest value
    n_iter: int  # number of passes
    gap: float  # bound on the relative distance of the sum of correlations from its optimum
    # (n, k), with mean square 1 over the views that are present
    consensus: Array | None = None


class Penalty(NamedTuple):
    """Regularised variance of one view: ``keep`` times variance plus ``t`` times squared norm."""

    keep: float  # factor by which the variance is multiplied
    t: float  # factor of the squared norm
    square: bool  # whether the "bach-jordan" rule applies


def penalty(alpha: float, rule: str, scale: float = 1.0) -> Penalty:
    """Return the penalty for a kernel that was divided by `scale`."""
    keep = 1.0 - alpha if rule == "shrinkage" else 1.0
    return Penalty(keep, alpha / scale, rule == "bach-jordan")


def gain(omega: Array, n: float, pen: Penalty) -> Array:
    """Return the diagonal ``b`` of a whitened view, for positive eigenvalues."""
    if pen.square:
        return np.asarray(omega / (omega + n * pen.t / 2))
    return np.sqrt(omega / (pen.keep * omega + n * pen.t))


class CentredRows:
    """Centred and scaled rows of a sparse matrix, as an operator that stays sparse.

    It represents ``diag(root) (X - 1 mean') diag(1 / scale)``. `root` holds the square roots of
    the weights of the samples, `total` is the sum of these weights, and `mean` the weighted mean.
    """

    def __init__(self, X: Any, mean: Array, scale: Array, root: Array) -> None:
        weighted = X.multiply(root[:, None])
        self.X = weighted.multiply(1 / scale).tocsr()
        self.mean = mean / scale
        self.root = root
        self.total = float(root @ root)
        self.shape = self.X.shape

    def __matmul__(self, B: Array) -> Array:
        of_mean = np.multiply.outer(self.root, self.mean @ B)
        return self.X @ B - of_mean

    def inner(self, other: Any) -> Array:
        """Multiply the transpose by another centred matrix, sparse or dense."""
        if isinstance(other, CentredRows):
            product = (self.X.T @ other.X).toarray()
            of_means = np.outer(self.mean, other.mean)
            return np.asarray(product - self.total * of_means)
        of_means = np.outer(self.mean, self.root @ other)
        return np.asarray(self.X.T @ other - of_means)

    def gram(self) -> Array:
        """Return the inner products of the rows."""
        K = (self.X @ self.X.T).toarray()
        side = np.outer(self.X @ self.mean, self.root)
        norm_of_mean = float(self.mean @ self.mean)
        K -= side
        K -= side.T
        K += norm_of_mean * np.outer(self.root, self.root)
        return np.asarray(K)


def inner(A: Any, B: Any) -> Array:
    """Return the product ``A' B`` of two bases."""
    if isinstance(A, CentredRows):
        return A.inner(B)
    if isinstance(B, CentredRows):
        return B.inner(A).T
    return np.asarray(A.T @ B)


def whiten_sparse(G: CentredRows, pen: Penalty) -> Whitened:
    """Whiten a view of sparse rows by its covariance or its kernel, whichever is smaller.

    Directions with a standard deviation below about 1e-7 of the largest are dropped.
    """
    n, p = G.shape
    if p > n:
        return whiten_kernel(G.gram(), pen, G.total)
    C = G.inner(G)
    return _by_covariance(G, C, max(n, p), pen, G.total)


def _by_covariance(G: Any, C: Array, size: int, pen: Penalty, total: float) -> Whitened:
    """Whiten by the eigenvectors of ``C = G'G``; `size` scales the threshold for rounding."""
    omega, V = linalg.eigh((C + C.T) / 2, driver="evd")
    omega = omega[::-1]
    V = V[:, ::-1]
    keep = omega > size * EPS * max(float(omega[0]), 0.0)
    omega = omega[keep]
    V = V[:, keep]
    b = gain(omega, total, pen)
    W = V * (b / np.sqrt(omega))
    return Whitened(G, W, np.sqrt(total) * W, omega.size, omega)


def whiten_kernel(K: Array, pen: Penalty, total: float | None = None) -> Whitened:
    """Whiten a centred kernel matrix by its eigendecomposition.

    Eigenvalues at rounding level are dropped. If one is clearly negative, `rank` is -1.
    """
    n = K.shape[0]
    omega, U = linalg.eigh(K, driver="evd")
    size = float(np.abs(omega).max(initial=0.0))
    if omega[0] < -INDEFINITE * size:
        return Whitened(U[:, :0], None, None, -1)
    keep = omega > n * EPS * size
    omega = omega[keep][::-1]
    U = np.ascontiguousarray(U[:, keep][:, ::-1])

    # both matrices are diagonal in the basis of eigenvectors
    total = float(n) if total is None else total
    b = gain(omega, total, pen)
    whiten = _diagonal_matrix(b)
    coef = _diagonal_matrix(np.sqrt(total) * b / omega)
    return Whitened(U, whiten, coef, omega.size, omega)


def _diagonal_matrix(diagonal: Array) -> Any:
    """Return a sparse diagonal matrix; `sparse.diags` would convert it from another format."""
    size = len(diagonal)
    return sparse.csr_matrix((diagonal, np.arange(size), np.arange(size + 1)), (size, size))


def whiten_features(G: Array, pen: Penalty, total: float | None = None) -> Whitened:
    """Whiten a view of centred features ``G`` (n, m).

    The eigenvectors of ``G'G`` are accurate enough if small singular values do not matter, that
    is, if the regularisation is above rounding. Otherwise ``G`` is decomposed itself.
    """
    n, m = G.shape
    total = float(n) if total is None else total
    trace = float(np.einsum("ij,ij->", G, G))
    if n > m and total * pen.t > 1e-6 * trace:
        return _by_covariance(G, G.T @ G, m, pen, total)

    _, s, Vt = linalg.svd(G, full_matrices=False)
    largest = s[0] if s.size else 0.0
    keep = s > max(n, m) * EPS * largest
    omega = s[keep] ** 2
    V = Vt[keep].T
    b = gain(omega, total, pen)
    W = V * (b / np.sqrt(omega))
    return Whitened(G, W, np.sqrt(total) * W, omega.size, omega)


def with_penalty(view: Whitened, old: Penalty, new: Penalty, total: float) -> Whitened:
    """Whiten a view with another penalty, using the same eigenvectors."""
    b = gain(view.omega, total, new)
    b_old = gain(view.omega, total, old)
    ratio = sparse.diags_array(b / b_old)
    return view._replace(whiten=view.whiten @ ratio, coef=view.coef @ ratio)


def coefficients(view: Whitened, c: Array) -> Array:
    """Return the dual coefficients, or the weights of features, of the directions ``c``."""
    weights: Array = view.coef @ c
    return np.asarray(view.basis @ weights if sparse.issparse(view.coef) else weights)


def training_scores(view: Whitened, c: Array, weights: Array | None) -> Array:
    """Return the centred scores of the training samples, without the roots of the weights."""
    n = view.basis.shape[0] if weights is None else weights.sum()
    coordinates = view.whiten @ (np.sqrt(n) * c)
    scores: Array = view.basis @ coordinates
    return scores if weights is None else scores / np.sqrt(weights)[:, None]


def cross(a: Whitened, b: Whitened) -> Array:
    """Return the product ``B_a' B_b`` of two whitened views."""
    products = inner(a.basis, b.basis)
    return np.asarray(a.whiten.T @ products @ b.whiten)


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
    """Find directions of two or more whitened views by one of three criteria.

    ``"maxvar"`` is the eigenproblem ``max sum_{u != v} c_u' B_u' B_v c_v / (V - 1)`` subject to
    ``sum_v |c_v|^2 = V``. ``"sumcor"`` has the constraint ``|c_v| = 1`` for each view instead; it
    is solved by ascent from the solution of "maxvar", whose value is an upper bound. ``"gcca"``
    finds the consensus ``Z`` that maximises ``sum_v |B_v' Z|^2``, with columns that are
    orthonormal in the weights of the samples and the number of views present. For two views, the
    first two criteria are a singular value decomposition.
    """
    # use closed forms: an eigenproblem for "gcca", or a singular value decomposition for two views
    if criterion == "gcca":
        return _consensus(views, k, samples)
    if len(views) == 2:
        return _two_views(cross(*views), k)

    # compute the products of all pairs of whitened views
    stops = np.cumsum([view.whiten.shape[-1] for view in views])
    rows = [slice(*ends) for ends in itertools.pairwise([0, *stops])]
    C = np.zeros((stops[-1], stops[-1]))
    numbered = zip(views, rows, strict=True)
    for (view, block), (other_view, other_block) in itertools.combinations(numbered, 2):
        C[block, other_block] = cross(view, other_view)
    C += C.T

    # rescale, because covariances may be so large that their squares overflow
    largest = float(np.abs(C).max(initial=0.0)) or 1.0
    C /= largest
    result = _stacked(C, rows, k)
    if criterion != "maxvar":
        result = _sumcor(C, rows, result.values.size, max_iter, tol, progress)
    return result._replace(values=result.values * largest)


def _two_views(T: Array, k: int) -> Pairs:
    """Return the largest singular values and vectors of ``T = B_a' B_b``."""
    # use Lanczos iterations for a few pairs of a large matrix
    q = min(T.shape)
    k = min(k, q)
    if q <= DENSE_UP_TO or k > q // 8:
        triplet: Any = linalg.svd(T, full_matrices=False)
    else:
        start = np.random.RandomState(0).standard_normal(q)
        triplet = svds(T, k, v0=start, tol=0)

    P, values, Qt = (np.asarray(array, dtype=np.float64) for array in triplet)
    order = np.argsort(-values, kind="stable")[:k]
    P = P[:, order]
    values = values[order]
    Q = Qt[order].T

    # compute the certificate: the residual of the singular vectors
    size = values[0] if values.size and values[0] > 0 else 1.0
    off = np.abs(T @ Q - P * values).max(initial=0.0)
    off_transposed = np.abs(T.T @ P - Q * values).max(initial=0.0)
    residual = float(max(off, off_transposed) / size)
    return Pairs([P, Q], values, residual, 1, 0.0)


def kernel_pairs(
    Ka: Array,
    Kb: Array,
    k: int,
    *,
    pens: tuple[Penalty, Penalty],
    total: float | None = None,
) -> Pairs | None:
    """Find the dual coefficients of two centred kernels without their eigenvectors.

    With ``M = (1 - t) K / n + t`` (or without the ``1 - t``) the regularised variance of
    ``K alpha`` is ``alpha' K M alpha``, and stationarity reads ``M_a alpha_a s = K_b alpha_b /
    n``. The squared correlations s^2 are the eigenvalues of ``R_a R_b`` with ``R = M^-1 K / n``,
    which is symmetric in the inner product of ``R_b``. A Lanczos iteration needs one product with
    each kernel and one solve with each Cholesky factor [Lehoucq, Sorensen and Yang 1998, section
    3.2]. Returns None if a kernel turns out to be indefinite, or if correlations are so small that
    their squares are inaccurate. The rule "bach-jordan" is not supported.
    """
    n = Ka.shape[0]
    total = float(n) if total is None else total
    count = itertools.count()
    roots = []
    operators = []

    # define products with R = M^-1 K / n by a Cholesky factor of M for each kernel
    for K, pen in zip((Ka, Kb), pens, strict=True):
        M = pen.keep / total * K
        M[np.diag_indices(n)] += pen.t
        try:
            L = linalg.cholesky(M.T, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None

        def apply(x: Array, K: Array = K, L: Array = L) -> Array:
            next(count)
            # this is five times as fast as `cho_solve`, which is designed for many columns
            half = linalg.blas.dtrsv(L, K @ x, lower=1)
            return np.asarray(linalg.blas.dtrsv(L, half, lower=1, trans=1)) / total

        roots.append(L)
        operators.append(LinearOperator((n, n), matvec=apply, dtype=np.float64))

    Ra, Rb = operators
    start = np.random.RandomState(0).standard_normal(n)

    # 1 / s^2 are the eigenvalues of A x = lambda M x with A = R_a^-1 and M = R_b; ARPACK never
    # applies A itself, so R_b stands in for it
    problem: Any = {"A": Rb, "M": Rb, "OPinv": Ra, "sigma": 0.0, "which": "LA", "v0": start}
    budget: Any = {
        "ncv": 2 * k + 10,
        "maxiter": 1 + PRODUCTS // (k + 10),
        "tol": PAIRS_TOL / 10,
    }
    try:
        inverse_squares, U = eigsh(k=k, **budget, **problem)
    except ArpackError:
        return None

    squares = 1 / inverse_squares
    order = np.argsort(-squares)
    if not squares.min() > 1e-6 * squares.max():
        return None

    # compute the dual coefficients and the certificate
    values = np.sqrt(squares[order])
    vectors = U[:, order] / np.sqrt(total)
    dual_b = linalg.cho_solve((roots[1], True), vectors)
    scores_b = Kb @ dual_b
    dual_a = linalg.cho_solve((roots[0], True), scores_b / (total * values))
    residual = 0.0
    duals = [dual_a, dual_b]
    scores = [Ka @ dual_a, scores_b]
    for v, (K, pen) in enumerate(zip((Ka, Kb), pens, strict=True)):
        # evaluate the stationarity conditions: K (scores of the other view) / n = value K M alpha
        covariance = K @ (scores[1 - v] / total)
        M_alpha = pen.keep / total * scores[v] + pen.t * duals[v]
        regularised = K @ M_alpha * values
        size = float(linalg.norm(regularised, axis=0).max(initial=TINY))
        off = linalg.norm(covariance - regularised, axis=0).max()
        residual = max(residual, float(off / size))
    if residual > 100 * PAIRS_TOL:
        return None
    return Pairs(duals, values, residual, next(count), 0.0)


def is_semidefinite(K: Array) -> bool:
    """Test by a Cholesky factorisation whether all eigenvalues are nonnegative up to rounding."""
    shifted = K.copy()
    shift = INDEFINITE * linalg.norm(K)
    shifted[np.diag_indices(K.shape[0])] += shift
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def centre_kernel(K: Array, weights: Array | None = None) -> Array:
    """Centre a symmetric matrix in place and return its former column means.

    With weights, the means are weighted, and rows and columns are multiplied by the square roots
    of the weights.
    """
    w = np.ones(len(K)) if weights is None else weights
    fraction = w / w.sum()
    means = np.asarray(fraction @ K)
    mean = fraction @ means
    K -= means
    K -= (means - mean)[:, None]
    if weights is not None:
        roots = np.sqrt(weights)
        K *= roots
        K *= roots[:, None]
    return means


def centre_dual(dual: Array, weights: Array | None = None) -> Array:
    """Convert coefficients of a centred kernel into coefficients of the original kernel.

    With weights, `dual` belongs to the matrix returned by `centre_kernel`.
    """
    w = np.ones(len(dual)) if weights is None else weights
    dual = np.sqrt(w)[:, None] * dual
    sums = dual.sum(axis=0)
    return np.asarray(dual - np.outer(w / w.sum(), sums))


def _stacked(C: Array, rows: list[slice], k: int) -> Pairs:
    """Return the eigenvectors of the matrix of all cross products between different views."""
    values, V = leading_eigen(C, k)
    keep = values > ACCUMULATED_ROUNDING * max(values[0], TINY)
    values = values[keep]
    V = V[:, keep]
    off = np.abs(C @ V - V * values).max(initial=0.0)
    residual = float(off / values[0]) if values.size else 0.0
    directions = [V[block] * np.sqrt(len(rows)) for block in rows]
    return Pairs(directions, values / (len(rows) - 1), residual, 1, 0.0)


def _sumcor(
    C: Array, rows: list[slice], k: int, max_iter: int, tol: float, progress: Progress | None
) -> Pairs:
    """Maximise the sum of correlations with unit variance in each view [Kettenring; Horst 1961].

    A pass maximises over one view at a time, so the sum never falls. Later pairs are
    orthogonal to earlier pairs in every view, because earlier directions are projected out of C,
    in place. The eigenproblem of C relaxes the constraints, so its largest eigenvalue is an upper
    bound on the sum [Kettenring 1971].
    """
    n_views = len(rows)
    pairs = n_views * (n_views - 1)
    directions = [np.zeros((block.stop - block.start, 0)) for block in rows]
    values: list[float] = []
    gaps = [0.0]
    residual = 0.0
    total_iter = 0

    for _ in range(min(k, *map(len, directions))):
        # start from the solution of the relaxed problem, scaled to unit norm in every view
        bound, V = leading_eigen(C, 1)
        c = V[:, 0]
        for block, F in zip(rows, directions, strict=True):
            size = linalg.norm(c[block])
            c[block] = c[block] / size if size > 1e-8 else _any_unit(F)

        # maximise over one view after the other
        it = Iterations(max_iter, tol, progress)
        for _ in it:
            it.residual = 0.0
            for block, F in zip(rows, directions, strict=True):
                new = C[block] @ c
                new -= F @ (F.T @ new)
                norm = linalg.norm(new)
                if norm > 0:
                    new /= norm
                    change = float(linalg.norm(new - c[block]))
                    it.residual = max(it.residual, change)
                    c[block] = new

        total_iter += it.n_iter
        value = float(c @ C @ c)
        if value <= ACCUMULATED_ROUNDING * max([TINY, *values]):
            break

        values.append(value)
        residual = max(residual, it.residual)
        gaps.append(relative_gap(n_views * bound[0], value, unit=value))
        directions = [np.c_[F, c[block]] for block, F in zip(rows, directions, strict=True)]
        if not it.converged and it.n_iter < max_iter:
            break  # a callback requested a stop

        # make later pairs orthogonal to this pair in every view
        for block in rows:
            direction = c[block]
            C[block] -= np.outer(direction, direction @ C[block])
            C[:, block] = C[block].T

    correlations = np.array(values) / pairs
    return Pairs(directions, correlations, residual, total_iter, max(gaps))


def _any_unit(F: Array) -> Array:
    """Find a unit vector orthogonal to the orthonormal columns of F."""
    P = np.eye(len(F)) - F @ F.T
    c = P[:, P.diagonal().argmax()]
    return np.asarray(c / linalg.norm(c))


def _consensus(views: Sequence[Whitened], k: int, samples: Samples) -> Pairs:
    """Return leading eigenvectors of ``sum_v B_v B_v'``, rows weighted by their views present."""
    n, present, weights, _ = samples
    n_views = len(views)
    rows = np.concatenate(present)
    counts = np.bincount(rows, minlength=n).astype(np.float64)
    root = np.sqrt(np.maximum(counts, 1.0))

    # put the features of all views side by side, with rows divided by the roots of their counts
    cuts = np.cumsum([view.whiten.shape[-1] for view in views])
    Y = np.zeros((n, cuts[-1]))
    sides = np.split(Y, cuts[:-1], axis=1)
    for view, index, B in zip(views, present, sides, strict=True):
        B[index] = view.basis @ view.whiten / root[index, None]

    # decompose the smaller of the products Y Y' and Y' Y
    wide = Y.shape[1] > n
    products = Y @ Y.T if wide else Y.T @ Y
    values, V = leading_eigen(products, k)
    keep = values > ACCUMULATED_ROUNDING * max(float(values[0]), TINY)
    values = values[keep]
    V = V[:, keep]
    Z = V if wide else Y @ (V / np.sqrt(values))

    scores = Y.T @ Z
    directions = np.split(scores, cuts[:-1])
    off = np.abs(Y @ scores - Z * values).max(initial=0.0)
    residual = float(off / max(values[0], TINY))

    # express the values as mean correlations; without regularisation and missing views this is
    # exact
    correlations = (n_views * values - 1) / (n_views - 1)
    # the rows of B, and therefore the rows of Z, contain the square roots of the weights
    if weights is not None:
        root = root * np.sqrt(np.where(weights > 0, weights, 1.0))
        counts = counts * weights

    Z *= np.sqrt(counts.sum()) / root[:, None]
    return Pairs(directions, correlations, residual, 1, 0.0, Z)
