"""Partial least squares with a kernel that is only applied, never deflated.

Differs from the paper (Rosipal and Trejo 2001): 1. the direction is an exact eigenvector instead
of the limit of inner iterations. 2. Only the targets are deflated. 3. Scores are orthogonalised
twice.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array


class KernelPLSResult(NamedTuple):
    """Coefficients of all components found."""

    dual: Array  # coefficients of the predictions, K @ dual + mean of Y, (n, m)
    rotations: Array  # coefficients of the scores, which are K @ rotations, (n, k)
    scores: Array  # orthogonal scores, (n, k)
    loadings: Array  # coefficients in Y ~ scores loadings' + mean, (m, k)
    orthogonality: float  # largest cosine between two scores
    residual: Array  # Y - mean - scores loadings', (n, m)


def kernel_pls(
    apply: Callable[[Array], Array], Y: Array, k: int, progress: Progress | None = None
) -> KernelPLSResult:
    """Compute kernel partial least squares [Rosipal 2001; Shawe-Taylor 2004, Alg. 6.48].

    With centred ``K`` and ``Y``, component j is ``t = Q K b``. Here ``Q`` projects out the
    previous scores, ``Y_j = Q Y`` is the residual of the previous components, and ``b = Y_j v``
    with the leading eigenvector ``v`` of ``Y_j' K Y_j``. The algorithm's deflated kernel is
    ``Q K Q``, and ``Q b = b``, so K is only applied to m columns for each component and never
    changes. Scores are scaled as in the linear method, ``b' K b = 1``; the largest entry of ``v``
    is positive. With weights of the samples, the rows of Y, the rows and columns of K and the
    scores are multiplied by the square roots of the weights.
    """
    n, m = Y.shape
    T = np.empty((n, k))
    B = np.empty((n, k))
    KB = np.empty((n, k))
    sizes = np.empty(k)
    E = Y.copy()
    total = float(linalg.norm(Y))
    n_scores = 0
    it = Iterations(k, -1.0, progress)

    for n_iter in it:
        # 1. compute the direction, from the leading eigenvector of Y_j' K Y_j
        j = n_iter - 1
        KE = apply(E)
        if m == 1:
            b = E[:, 0]
            Kb = KE[:, 0]
        else:
            inner = E.T @ KE
            _, V = linalg.eigh((inner + inner.T) / 2, check_finite=False)
            v = V[:, -1]
            largest = v[np.abs(v).argmax()]
            v = v * (1.0 if largest > 0 else -1.0)
            b = E @ v
            Kb = KE @ v

        # 2. stop if nothing is left to explain
        norm2 = float(b @ Kb)
        if linalg.norm(E) <= ACCUMULATED_ROUNDING * total or not norm2 > 0:
            it.ended = True
            continue

        # 3. compute the score t = Q K b, which is orthogonal to the previous scores
        norm = np.sqrt(norm2)
        b = b / norm
        Kb = Kb / norm
        t = Kb
        earlier = T[:, :j]
        for _ in range(2):  # orthogonalising twice reduces rounding errors
            t = t - earlier @ (earlier.T @ t)
        size = float(linalg.norm(t))
        if not size > ACCUMULATED_ROUNDING * linalg.norm(Kb):
            it.ended = True
            continue

        # 4. deflate the targets
        T[:, j] = t / size
        B[:, j] = b
        KB[:, j] = Kb
        sizes[j] = size
        t = T[:, j]
        E = E - np.outer(t, t @ E)
        n_scores = j + 1

    T = T[:, :n_scores]
    B = B[:, :n_scores]
    KB = KB[:, :n_scores]
    sizes = sizes[:n_scores]

    # T' K B is upper triangular: K b_j is a combination of the first j scores
    triangle = np.triu(T.T @ KB)
    rotations = linalg.solve_triangular(triangle.T, B.T, lower=True).T

    dual = rotations @ (T.T @ Y)
    loadings = (Y.T @ T) / sizes
    off = T.T @ T - np.eye(n_scores)
    overlap = float(np.abs(off).max(initial=0.0))
    return KernelPLSResult(dual, rotations * sizes, T * sizes, loadings, overlap, E)
