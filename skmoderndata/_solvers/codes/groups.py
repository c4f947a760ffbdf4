"""Sparse codes of many signals by a penalty on the norms of groups of atoms, certified.

``min over a  1/2 |x - a D|^2 + alpha sum_g sqrt(|g|) |a_g|``, also with ``a >= 0``: a group lasso
for each signal, with the atoms as columns [Yuan and Lin 2006]. Inner products within groups are
computed once for all signals, and those of all atoms where the memory allows it.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.codes.group_lasso import Columns, WorkingSet, group_lasso
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    TOL,
    Atoms,
    Block,
    SparseCodes,
    by_pattern,
    code_in_blocks,
    dense_block,
    gram_pays,
)

Array = np.ndarray[Any, np.dtype[Any]]

WHOLE = 2000  # squared inner products kept, in atoms, up to which all groups are in the problem
ROUNDING = 8 * np.finfo(np.float64).eps  # of 1/2 |x|^2: a gap below this is rounding


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
        Number of the group of each atom, from 0 on.
    max_iter : int
        Most sweeps for a signal.
    mask : boolean array of shape (N, n) or None
        True where an entry counts.
    start : array or CSR array of shape (N, k) or None
        Codes to start from.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: group_lasso_codes(
                signals, masked, alpha=alpha[rows], groups=groups, positive=positive, tol=tol,
                max_iter=max_iter, start=None if start is None else start[rows], n_jobs=n_jobs,
            ),
            renormalize=False, gram=False,
        )  # fmt: skip
    members = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    weights = np.sqrt(np.maximum(sizes, 1))
    k = len(members)
    gram = None
    if k <= X.shape[1] and gram_pays(k, len(X)):  # else the solver works with residuals
        gram = atoms.rows[members] @ atoms.rows[members].T
    columns = Columns(atoms.rows[members].T, products=gram)
    everything = WorkingSet(columns, edges)
    small = everything.fits(np.arange(len(sizes)), WHOLE)
    if small:
        everything.add(np.arange(len(sizes)))

    def work(part: slice) -> Block:
        x = np.asarray(X[part], dtype=np.float64)
        starts: Any = [None] * len(x)
        if start is not None:
            given = start[part].toarray() if sparse.issparse(start) else start[part]
            starts = (given * atoms.norms)[:, members]
        found = []
        for signal, lam, begin in zip(x, alpha[part], starts, strict=True):
            # one of its own where groups join: the code of a signal does not depend on others
            work = everything if small else WorkingSet(columns, edges)
            found.append(_code(signal, work, float(lam), weights, positive, tol, max_iter, begin))
        codes = np.empty((len(x), len(members)))
        codes[:, members] = [code.coef for code in found]
        return dense_block(
            codes / atoms.norms,
            np.array([code.residual_sq for code in found]),
            np.array([code.stop for code in found], dtype=np.int8),
            np.array([code.gap for code in found]),
            np.array([code.n_iter for code in found], dtype=np.int32),
        )

    return code_in_blocks(len(X), work, n_jobs=n_jobs)


class Code(NamedTuple):
    """Coefficients of one signal, its squared residual, and how the solver ended."""

    coef: Array
    residual_sq: float
    stop: int
    gap: float  # relative to the objective
    n_iter: int


def _code(
    x: Array,
    work: WorkingSet,
    lam: float,
    weights: Array,
    positive: bool,
    tol: float,
    max_iter: int,
    start: Array | None,
) -> Code:
    """Solve the group lasso of one signal until its gap is at most `tol` of the objective.

    The solver measures gaps by ``1/2 |x|^2``, which the objective does not exceed: where it is
    much lower, the solver is called again from where it ended, for a smaller gap.
    """
    scale = 0.5 * float(x @ x)
    goal, n_iter = tol, 0
    while True:
        found = group_lasso(
            x,
            work,
            lam=lam,
            weights=weights,
            positive=positive,
            tol=goal,
            max_iter=max_iter - n_iter,
            start=start,
        )
        n_iter += found.n_iter
        r = x - work.X.times(found.coef)
        norms = np.sqrt(np.add.reduceat(found.coef**2, work.all_edges[:-1]))
        objective = 0.5 * float(r @ r) + lam * float(weights @ norms)
        gap = found.gap * scale
        met = gap <= max(tol * objective, ROUNDING * scale)
        lowest = 0.5 * tol * objective / scale if scale > 0 else 0.0
        if met or n_iter >= max_iter or goal <= lowest:
            relative = gap / objective if objective > 0 else 0.0
            return Code(found.coef, float(r @ r), TOL if met else MAX_ITER, relative, n_iter)
        goal, start = lowest, found.coef
