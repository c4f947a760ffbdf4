"""Sparse codes of many signals by a penalty on the norms of groups of atoms, certified.

``min over a  1/2 |x - a D|^2 + alpha sum_g sqrt(|g|) |a_g|``, optionally with ``a >= 0``: a group
lasso for each signal, with the atoms as columns [Yuan and Lin 2006].
"""

from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._solvers.codes.group_lasso import (
    FLOOR,
    Columns,
    Penalty,
    WorkingSet,
    group_lasso,
)
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    TOL,
    Atoms,
    SparseCodes,
    by_pattern,
    code_in_blocks,
    from_dense,
    from_group_order,
    in_group_order,
)
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.typing import Array

# Maximum number of atoms for which all groups are in the working set from the start.
ALL_GROUPS_UP_TO = 500


def group_lasso_codes(
    X: Array,
    atoms: Atoms,
    *,
    alpha: Array,
    groups: Array,
    positive: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    start: "Array | sparse.csr_array | None" = None,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha sum_g sqrt(|g|) |a_g|`` for every signal.

    A signal is done when its duality gap is at most `tol` of its objective.

    Parameters
    ----------
    X : array of shape (N, n)
    atoms : Atoms
    alpha : array of shape (N,)
        Weight of the penalty for each signal, positive.
    groups : integer array of shape (k,)
        Group of each atom, numbered from 0.
    max_iter : int
        Maximum number of sweeps for a signal.
    mask : boolean array of shape (N, n) or None
        True if an entry counts.
    start : array or CSR array of shape (N, k) or None
        Initial codes.
    """

    def solve(signals: Array, atoms: Atoms, which: Any) -> SparseCodes:
        atoms, order, edges = in_group_order(atoms, groups)
        rows = atoms.rows
        weights = np.sqrt(np.diff(edges))
        levels = alpha[which]
        starts = None if start is None else start[which]
        columns = Columns(rows.T)
        everything = WorkingSet(columns, edges)
        if len(rows) <= ALL_GROUPS_UP_TO:
            everything.add(np.arange(len(weights)))

        def work(block: slice) -> SparseCodes:
            x = np.array(signals[block], dtype=np.float64)
            first = np.zeros((len(x), len(rows)))
            if starts is not None:
                initial = starts[block]
                first += initial if isinstance(initial, np.ndarray) else initial.toarray()
                first = first[:, order] * atoms.norms
            a = np.empty_like(first)
            gap = np.empty(len(x))
            rr = np.empty(len(x))
            stop, n_iter = np.empty((2, len(x)), np.int64)

            for i, (signal, lam) in enumerate(zip(x, levels[block], strict=True)):
                # if the working set can grow, use a new one for each signal, so that codes do not
                # depend on other signals
                working_set = everything
                if len(rows) > ALL_GROUPS_UP_TO:
                    working_set = WorkingSet(columns, edges)
                penalty = Penalty(edges, weights, float(lam), positive=positive)
                result = group_lasso(
                    signal,
                    working_set,
                    penalty,
                    tol=tol,
                    max_iter=max_iter,
                    start=first[i],
                    of_objective=True,
                )

                half = 0.5 * float(signal @ signal)
                absolute_gap = result.gap * half
                met = absolute_gap <= max(tol * result.objective, FLOOR * half)
                r = signal - result.coef @ rows
                a[i] = result.coef
                rr[i] = float(r @ r)
                n_iter[i] = result.n_iter
                gap[i] = relative_gap(absolute_gap, 0.0, unit=result.objective)
                stop[i] = TOL if met else MAX_ITER

            return from_dense(a / atoms.norms, rr, stop, gap, n_iter)

        return from_group_order(code_in_blocks(len(signals), work, n_jobs=n_jobs), order)

    return by_pattern(X, mask, atoms, solve)
