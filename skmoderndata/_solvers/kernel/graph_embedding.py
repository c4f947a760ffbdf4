"""Graphs on samples, and the functions in feature space that fit them.

Differs from the paper (Yan 2007): 1. the intrinsic form has a ridge relative to its trace. 2. A
few directions of a large problem are found by Lanczos iterations.
"""

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, splu

from skmoderndata._solvers.common.linalg import DENSE_UP_TO, EPS, leading_eigen, row_signs
from skmoderndata._solvers.common.tolerances import RESULT_ROUNDING
from skmoderndata._solvers.common.typing import Array


class GraphDirections(NamedTuple):
    """Solution of `max tr W'BW  s.t.  W'(L + ridge I)W = I`."""

    coef: Array  # directions W, (r, k)
    values: Array  # (k,), ratios w'Bw / w'(L + ridge I)w, descending
    ridge: float  # ridge in absolute units


def graph_directions(inner: Array, outer: Array, k: int, *, alpha: float) -> GraphDirections:
    """Find directions of large penalty scatter relative to intrinsic scatter [Yan 2007, eq. 4].

    Parameters
    ----------
    inner, outer : ndarray of shape (r, r)
        Forms `Z'LZ` and `Z'BZ`, for coordinates Z of the samples.
    k : int
        Number of directions.
    alpha : float
        Ridge in units of the trace of `inner`.
    """
    scale = float(inner.trace())
    if not scale > 100 * EPS * float(outer.trace()):
        scale = float(outer.trace())
    ridge = alpha * (scale if scale > 0 else 1.0)
    A = (inner + inner.T) / 2
    A[np.diag_indices_from(A)] += ridge
    root = _root(A)
    if root is None:
        raise ValueError(
            f"The intrinsic form plus a ridge of {ridge:.1e} is not positive definite in double "
            "precision: increase alpha, or lower max_rank."
        )

    # solve the symmetric eigenproblem of inv(root) B inv(root)'; for a few vectors, do not form
    # the matrix
    B = (outer + outer.T) / 2
    solve = functools.partial(linalg.solve_triangular, root, lower=True, check_finite=False)
    few = len(B) > DENSE_UP_TO and k < len(B) // 8
    whitened: Any
    if few:

        def apply(x: Array) -> Array:
            return solve(B @ solve(x, trans=1))

        whitened = LinearOperator(B.shape, matvec=apply, dtype=np.float64)
    else:
        whitened = solve(solve(B).T)
    values, V = leading_eigen(whitened, k)
    values = np.maximum(values, 0.0)
    coef = linalg.solve_triangular(root, V, lower=True, trans=1)
    return GraphDirections(coef, values, ridge)


def _root(A: Array) -> Array | None:
    """Return the lower Cholesky root, or None if a pivot is zero up to rounding."""
    largest = float(A.diagonal().max(initial=0.0))
    rounding = len(A) * EPS * largest
    try:
        root: Array = linalg.cholesky(A, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    pivots = root.diagonal() ** 2
    return root if float(pivots.min(initial=np.inf)) > rounding else None


def laplacian_form(S: Any, Z: Array) -> Array:
    """Return `Z'(D - S)Z` for symmetric weights S, dense or sparse, with row sums D."""
    sums = S.sum(axis=1)
    degrees = np.asarray(sums, dtype=np.float64).ravel()
    return Z.T @ (degrees[:, None] * Z - S @ Z)


def centred_form(weights: Array, Z: Array) -> Array:
    """Return the weighted scatter of the rows of Z around their weighted mean."""
    mean = (weights @ Z) / weights.sum()
    centred = np.sqrt(weights)[:, None] * (Z - mean)
    return centred.T @ centred


def class_forms(codes: Array, Z: Array) -> tuple[Array, Array]:
    """Return the scatter within classes and between classes."""
    sizes = np.bincount(codes).astype(np.float64)
    means = np.zeros((len(sizes), Z.shape[1]))
    np.add.at(means, codes, Z)
    means /= sizes[:, None]
    deviations = Z - means[codes]
    return deviations.T @ deviations, centred_form(sizes, means)


def neighbour_graph(
    distances: Iterable[tuple[slice, Array]],
    n: int,
    n_neighbors: int,
    codes: Array | None = None,
    same: bool = True,
) -> sparse.csr_array:
    """Connect each sample with its nearest neighbours, symmetrically, with all weights 1.

    Parameters
    ----------
    distances : iterable of (slice, ndarray of shape (m, n))
        Blocks of rows of the matrix of distances; they are overwritten.
    n, n_neighbors : int
        Number of samples, and number of neighbours of each sample.
    codes : ndarray of shape (n,) or None
        Classes; neighbours have the same class if `same`, and different classes otherwise.
    """
    rows_of = []
    columns_of = []

    # find the neighbours among the samples of the allowed classes
    for rows, D in distances:
        samples = np.arange(rows.start, rows.stop)
        D[np.arange(len(D)), samples] = np.inf
        if codes is not None:
            D[(codes[samples, None] == codes) != same] = np.inf
        order = np.argsort(D, axis=1, kind="stable")
        near = order[:, : min(n_neighbors, n - 1)]
        allowed = np.isfinite(np.take_along_axis(D, near, axis=1))
        rows_of.append(samples[np.nonzero(allowed)[0]])
        columns_of.append(near[allowed])

    # connect two samples if one is a neighbour of the other
    edges = np.concatenate(rows_of), np.concatenate(columns_of)
    ones = np.ones(len(edges[0]))
    graph = sparse.csr_array((ones, edges), shape=(n, n))
    return graph.maximum(graph.T)


def kth_largest(K: Array, k: int, weights: Array) -> Array:
    """Find the k-th largest entry of each row, or 0 if there are fewer; columns count by weight.

    Entries are nonnegative. The returned value is slightly smaller, so that the entry itself
    exceeds it however it is rounded.
    """
    n = K.shape[1]
    slack = 1 - RESULT_ROUNDING
    if (weights == 1).all():
        if k > n:
            return np.zeros(len(K))
        partitioned = np.partition(K, n - k, axis=1)
        return slack * partitioned[:, n - k]

    # sort the entries of each row in descending order, and add up the weights of their columns
    order = np.argsort(-K, axis=1, kind="stable")
    counts = np.cumsum(weights[order], axis=1)
    before = np.sum(counts < k, axis=1)
    rank = np.minimum(before, n - 1)[:, None]
    last = np.take_along_axis(order, rank, axis=1)
    entry = np.take_along_axis(K, last, axis=1)[:, 0]
    return np.where(before < n, slack * entry, 0.0)


def smallest_laplacian(K: Any, k: int, weights: Array | None = None) -> tuple[Array, Array]:
    """Return the k smallest eigenpairs of `D - K` that are orthogonal to the constant vector.

    K is dense or sparse. The constant vector is moved to the upper end of the spectrum, so that
    the zero eigenvalues of additional components of the graph are kept. With weights W the vectors
    solve ``W L W v = value W v``, where the Laplacian L has weighted row sums; a weight acts like
    that number of copies of the sample.
    """
    n = K.shape[0]
    w = np.ones(n) if weights is None else weights
    roots = np.sqrt(w)
    degrees = K @ w
    top = 2 * float(degrees.max(initial=0.0))
    top = top if top > 0 else 1.0
    shift = 1e-7 * top

    # compute all eigenvectors, or a few by Lanczos iterations on the inverse
    few = n > DENSE_UP_TO and k <= n // 8
    if few and sparse.issparse(K):
        values, V = _few_of_sparse(K, k, roots, degrees, shift)
    else:
        if sparse.issparse(K):
            graph: Any = K
            K = graph.toarray()
        L = (K + K.T) / -2
        L += top / float(w.sum())
        if weights is not None:
            L *= roots
            L *= roots[:, None]
        L[np.diag_indices(n)] += degrees
        values, V = _few_of_dense(L, k, shift) if few else linalg.eigh(L)
        values = values[:k]
        V = V[:, :k]

    # make the vectors orthogonal to the constant, and scale them to unit norm
    V -= np.outer(roots, roots @ V) / float(w.sum())
    V /= np.linalg.norm(V, axis=0) * roots[:, None]
    return np.maximum(values, 0.0), V * row_signs(V.T)


def _few_of_dense(L: Array, k: int, shift: float) -> tuple[Array, Array]:
    """Return smallest eigenpairs of L by Lanczos on the inverse of ``L + shift I``, in place."""
    n = len(L)
    L[np.diag_indices(n)] += shift
    factor = linalg.cho_factor(L, overwrite_a=True, check_finite=False)
    solve = functools.partial(linalg.cho_solve, factor, check_finite=False)
    inverse = LinearOperator((n, n), matvec=solve, dtype=np.float64)
    inverted, V = leading_eigen(inverse, k)
    return 1 / inverted - shift, V


def _few_of_sparse(
    K: Any, k: int, roots: Array, degrees: Array, shift: float
) -> tuple[Array, Array]:
    """Do the same for a sparse graph; the constant vector is projected out of the inverse."""
    n = len(roots)
    half = sparse.diags_array(roots)
    L = sparse.diags_array(degrees + shift) - half @ K @ half
    factor = splu(
        L.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    constant = roots / np.linalg.norm(roots)

    def solve(x: Array) -> Array:
        y = factor.solve(x - constant * (constant @ x))
        return np.asarray(y - constant * (constant @ y))

    inverse = LinearOperator((n, n), matvec=solve, dtype=np.float64)
    inverted, V = leading_eigen(inverse, k)
    return 1 / inverted - shift, V
