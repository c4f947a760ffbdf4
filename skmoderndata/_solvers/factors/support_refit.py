"""Least squares for both factors of a product, with their zeros fixed."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.typing import Array


class SupportRefit(NamedTuple):
    """Factors after the refit, the number of passes, and whether they reached the tolerance."""

    codes: Array
    components: Array
    n_iter: int
    converged: bool


def refit_on_support(
    X: Array,
    codes: Array,
    components: Array,
    *,
    positive_codes: bool,
    positive_components: bool,
    max_iter: int = 500,
    tol: float = 1e-5,
) -> SupportRefit:
    """Minimise ``|X - W H|^2`` over the entries of W and H that are not zero at the start.

    Block coordinate descent: a pass updates the columns of W and then the rows of H, each to its
    minimum given all others. It never increases the objective.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Table without missing entries.
    codes, components : ndarray of shape (n, k) and (k, p)
        Start W and H; neither is changed. Their zeros stay zero.
    positive_codes, positive_components : bool
        Whether W and H are non-negative.
    max_iter : int
        Maximum number of passes.
    tol : float
        Stop if a pass changes no entry of the components, at unit norm, by more than this.

    Returns
    -------
    result : SupportRefit
        W, H with rows of unit norm, the number of passes, and whether they reached `tol`.
    """
    used = codes != 0, components != 0
    W, H = _normalised(codes, components)
    change = np.inf
    n_iter = 0
    while change > tol and n_iter < max_iter:
        n_iter += 1
        before = H

        # 1. update the codes, then the components, which are the columns of the transposed product
        W = _updated_columns(W, X @ H.T, H @ H.T, used[0], positive_codes)
        columns = _updated_columns(H.T, X.T @ W, W.T @ W, used[1].T, positive_components)

        # 2. stop if the components at unit norm have hardly changed
        W, H = _normalised(W, columns.T)
        change = float(np.abs(H - before).max(initial=0.0))
    return SupportRefit(W, H, n_iter, change <= tol)


def _updated_columns(W: Array, XH: Array, gram: Array, used: Array, positive: bool) -> Array:
    """Minimise over the used entries of each column of W in turn."""
    W = W.copy()
    for j in np.flatnonzero(gram.diagonal() > 0):
        w = W[:, j] + (XH[:, j] - W @ gram[:, j]) / gram[j, j]
        W[:, j] = np.where(used[:, j], np.maximum(w, 0.0) if positive else w, 0.0)
    return W


def _normalised(W: Array, H: Array) -> tuple[Array, Array]:
    """Move the norms of the rows of H into the columns of W."""
    norms = np.linalg.norm(H, axis=1)
    norms[norms == 0] = 1.0
    return W * norms, H / norms[:, None]
