"""Codes of incomplete signals with a ridge on each coefficient, by any pursuit."""

from collections.abc import Callable

import numpy as np

from skmoderndata._solvers.codes.signal_blocks import (
    Atoms,
    SparseCodes,
    concatenate_codes,
    prepare_atoms,
    squared_residuals,
    take_back,
)
from skmoderndata._solvers.common.typing import Array


def code_incomplete(
    code: Callable[[Array, Array | None, Atoms], SparseCodes],
    X: Array,
    observed: Array,
    atoms: Atoms,
    ridges: Array,
) -> SparseCodes:
    """Code signals by ``code(X, observed, atoms)``, incomplete ones with ridges (k,).

    ``|x - a D|^2 + sum_j ridge_j a_j^2`` is the squared residual of a longer signal: each atom has
    one more entry of its own, ``sqrt(ridge_j)``, and the signal is 0 there. Complete signals are
    coded without ridges, so that their codes do not depend on the gaps of other signals.
    `residual_sq` is without the ridges.
    """
    complete = observed.all(axis=1)
    if complete.all():
        return code(X, None, atoms)

    # incomplete signals, with an entry for each atom that all of them show
    gaps = np.flatnonzero(~complete)
    k = len(ridges)
    D = np.column_stack([atoms.rows * atoms.norms[:, None], np.diag(np.sqrt(ridges))])
    zeros = np.zeros((len(gaps), k), X.dtype)
    longer = np.column_stack([X[gaps], zeros])
    shown = np.column_stack([observed[gaps], np.ones(zeros.shape, np.bool_)])
    codes = code(longer, shown, prepare_atoms(D, gram=False))
    residual_sq = squared_residuals(codes, X[gaps], atoms, observed[gaps])
    codes = codes._replace(residual_sq=residual_sq)
    if len(gaps) == len(X):
        return codes

    # complete signals
    others = np.flatnonzero(complete)
    both = concatenate_codes([codes, code(X[others], None, atoms)])
    return take_back(both, np.concatenate([gaps, others]))
