"""Orthogonal matching pursuit that takes whole groups of atoms."""

from typing import Any

import numpy as np

from skmoderndata._solvers.codes.cholesky import SPAN
from skmoderndata._solvers.codes.products import EPS
from skmoderndata._solvers.codes.signal_blocks import (
    ATOMS,
    MEMORY,
    STALL,
    TOL,
    Atoms,
    SparseCodes,
    block_size,
    by_pattern,
    code_in_blocks,
    from_dense,
    from_group_order,
    gram_pays,
    in_group_order,
)
from skmoderndata._solvers.codes.supports import BARRED, block_problem, squares
from skmoderndata._solvers.codes.thresholding import Best

Array = np.ndarray[Any, np.dtype[Any]]


def group_matching_pursuit(
    X: Array,
    atoms: Atoms,
    groups: Array,
    *,
    n_nonzero: int,
    tol_sq: Array,
    mask: Array | None = None,
    n_jobs: int | None = None,
    memory: float = MEMORY,
) -> SparseCodes:
    """Orthogonal matching pursuit that takes whole groups of atoms.

    The group g whose span holds the largest part of the residual enters: the largest
    ``|Q_g r|^2``, with `Q_g` an orthonormal basis of the group. Signals are fitted by the bases of
    the chosen groups, and what that gives each group is written with its atoms: among the codes
    of a group for the same signal that of least norm. `n_nonzero` counts groups. `groups` (k,)
    holds the number of the group of each atom, 0, 1, ... Other parameters as in `code_by_rows`.
    """
    atoms, order, start = in_group_order(atoms._replace(gram=None), groups)
    best, k, n = Best(1, start, False), len(order), X.shape[1]

    def solve(signals: Array, some: Atoms, which: Any) -> SparseCodes:
        Q, ways = _bases(some.rows, start)
        bases = Atoms(Q, np.ones(k), None)
        gram = Q @ Q.T if gram_pays(k, len(signals) * n_nonzero, memory) else None
        bounds = tol_sq[which]

        def work(part: slice) -> SparseCodes:
            p, bound = block_problem(signals[part], bases, gram, None, False), bounds[part]
            size = squares(p.X)
            Z, R, rho, steps = np.zeros(p.shape), p.X, size, np.zeros(len(size), np.int64)
            support, stop = np.zeros(p.shape, np.bool_), np.full(len(size), ATOMS)
            live = np.flatnonzero(rho > bound)
            for _ in range(n_nonzero):
                C = np.where(support[live], 0.0, p.of(live).cross(R[live]))
                group = best.of(C)
                enters = squares(np.where(group, C, 0.0)) > (10 * EPS) ** 2 * size[live]
                stop[live[~enters]] = STALL
                live = live[enters]
                support[live] |= group[enters]
                steps[live] += 1
                Z[live] = p.of(live).fit(support[live], Z[live])
                R = p.residuals(Z)
                rho = squares(R)
                live = live[rho[live] > bound[live]]
            stop = np.where(rho <= bound, TOL, stop)
            a = _with_atoms(Z, ways) / some.norms
            return from_dense(a, rho, stop, np.full(len(rho), np.nan), steps)

        return code_in_blocks(len(signals), work, n_jobs=n_jobs, block=block_size(n, k, memory))

    if mask is None:
        codes = solve(X, atoms, slice(None))
    else:
        codes = by_pattern(X, mask, atoms, solve, renormalize=False, barred=BARRED, gram=False)
    return from_group_order(codes, order)


def _bases(rows: Array, start: Array) -> tuple[Array, list[tuple[Array, Array]]]:
    """Orthonormal bases Q of groups of rows, and the way back from ``z Q`` for each size of group.

    Basis and atoms of a group have the same places, with zeros where its rank is lower. The
    coefficients of least norm are ``a = z B`` in the places of each group.
    """
    Q, sizes, ways = np.zeros_like(rows), np.diff(start), []
    for size in np.unique(sizes):
        places = start[:-1][sizes == size][:, None] + np.arange(size)
        U, s, V = np.linalg.svd(rows[places], full_matrices=False)
        used = s > np.sqrt(SPAN) * s[:, :1]
        Q[places[:, : s.shape[1]]] = np.where(used[:, :, None], V, 0.0)
        inverse = np.divide(1.0, s, out=np.zeros_like(s), where=used)
        B = np.zeros((len(places), size, size))
        B[:, : s.shape[1]] = inverse[:, :, None] * U.transpose(0, 2, 1)
        ways.append((places, B))
    return Q, ways


def _with_atoms(Z: Array, ways: list[tuple[Array, Array]]) -> Array:
    """Codes for atoms from codes for the bases."""
    out = np.zeros_like(Z)
    for places, B in ways:
        out[:, places] = np.einsum("mgi,gij->mgj", Z[:, places], B)
    return out
