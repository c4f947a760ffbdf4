"""Eigenvectors of the smaller of ``D'D`` and ``DD'``, for a corpus D of documents by terms.

Differs from the papers: 1. the smaller Gram matrix is decomposed, whichever side it belongs to.
2. Diffusion is computed as extra features, so that kernels of sparse rows stay products.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.linalg import DENSE_UP_TO, EPS, fix_signs
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, TINY
from skmoderndata._solvers.common.typing import Array


class Spectrum(NamedTuple):
    """Squared singular values of a corpus, ascending, with the vectors of its smaller side.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Eigenvalues of ``D'D`` or ``DD'``, all nonnegative.
    vectors : ndarray of shape (m, m)
        Eigenvectors in columns.
    of_terms : bool
        Whether the terms are the smaller side.
    """

    values: Array
    vectors: Array
    of_terms: bool


def spectrum(D: sparse.csr_array) -> Spectrum:
    """Decompose the smaller of ``D'D`` and ``DD'``."""
    n, p = D.shape
    of_terms = p <= n
    G = D.T @ D if of_terms else D @ D.T
    values, vectors = linalg.eigh(G.toarray(), check_finite=False)
    return Spectrum(np.maximum(values, 0.0), vectors, of_terms)


def diffused(
    X: sparse.csr_array, D: sparse.csr_array, s: Spectrum, lam: float, kind: str
) -> Array:
    r"""Return the features that diffusion adds to the rows of X.

    With ``G = D'D = V S^2 V'`` the von Neumann kernel is

        x (I - lam G)^-1 z' = x z' + x V (lam S^2 / (1 - lam S^2)) V' z',

    and the exponential kernel has ``exp(lam S^2) - 1`` in the middle. If there are fewer documents
    than terms, ``V = D'U / S`` and the middle is ``lam h(lam S^2)`` between ``x D'U`` and
    ``z D'U``, where ``h(t) = 1 / (1 - t)`` or ``(exp(t) - 1) / t``, which avoids the division by
    a small S.
    """
    t = lam * s.values
    if kind == "von_neumann":
        h = 1.0 / (1.0 - t)
    else:
        h = np.divide(np.expm1(t), t, out=np.ones_like(t), where=t > 0)
    if s.of_terms:
        weighted = s.vectors * np.sqrt(t * h)
        return np.asarray(X @ weighted)

    weighted = s.vectors * np.sqrt(lam * h)
    products = X @ D.T
    return np.asarray(products @ weighted)


def leading_terms(D: sparse.csr_array, n_components: int, rng: Any) -> Array:
    """Return the leading right singular vectors in columns; fewer if the rank is lower."""
    n, p = D.shape
    m = min(n, p)
    # use Lanczos iterations (ARPACK) for a few vectors of a large matrix
    if m > DENSE_UP_TO and n_components < m // 4:
        v0 = rng.normal(size=m)
        _, values, V = sparse.linalg.svds(D, k=n_components, v0=v0)
        order = np.argsort(values)[::-1]
        values = values[order]
        V = V[order]
        above = values > ACCUMULATED_ROUNDING * max(values[0], TINY)
        return fix_signs(V[above]).T

    # otherwise, compute all eigenvectors of the smaller Gram matrix
    s = spectrum(D)
    rank = 0
    if m:
        rounding = m * EPS * s.values[-1]
        rank = int((s.values > rounding).sum())
    rank = min(rank, n_components)
    vectors = s.vectors[:, ::-1][:, :rank]

    # compute V = D'U / S
    if not s.of_terms:
        roots = np.sqrt(s.values[::-1][:rank])
        vectors = D.T @ vectors / roots
    return fix_signs(np.asarray(vectors.T)).T
