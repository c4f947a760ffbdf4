"""Codes of incomplete signals with a ridge on each coefficient, for any pursuit."""

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
from skmoderndata._solvers.dictionaries.atom_updates import Ridges


def code_incomplete(
    code: Callable[[Array, Array | None, Atoms], SparseCodes],
    X: Array,
    observed: Array,
    atoms: Atoms,
    ridges: Ridges,
) -> SparseCodes:
    """Code signals by ``code(X, observed, atoms)``, incomplete ones with ridges.

    ``|x - a D|^2 + sum_j ridge_j a_j^2 + sum_c hidden_c (a D)_c^2``, with the last sum over the
    hidden entries, is the squared residual of a longer signal: atom j gets an additional entry
    ``sqrt(ridge_j)`` and scaled copies of the hidden entries, where the signal is 0. Complete
    signals are coded without ridges, so that their codes do not depend on the gaps of other
    signals. `residual_sq` excludes the ridges.
    """
    complete = observed.all(axis=1)
    if complete.all():
        return code(X, None, atoms)

    # An incomplete signal gets one more entry for each atom, which is always observed, and one for
    # each feature, which is observed if the feature is hidden.
    gaps = np.flatnonzero(~complete)
    scaled = atoms.rows * atoms.norms[:, None]
    on_codes = np.diag(np.sqrt(ridges.codes))
    D = np.column_stack([scaled, on_codes, scaled * np.sqrt(ridges.hidden)])
    zeros = np.zeros((len(gaps), D.shape[1] - X.shape[1]), X.dtype)
    longer = np.column_stack([X[gaps], zeros])
    each = np.ones((len(gaps), len(D)), np.bool_)
    shown = np.column_stack([observed[gaps], each, ~observed[gaps]])
    codes = code(longer, shown, prepare_atoms(D, gram=False))
    residual_sq = squared_residuals(codes, X[gaps], atoms, observed[gaps])
    codes = codes._replace(residual_sq=residual_sq)
    if len(gaps) == len(X):
        return codes

    # code complete signals without ridges
    complete_rows = np.flatnonzero(complete)
    joined = concatenate_codes([codes, code(X[complete_rows], None, atoms)])
    return take_back(joined, np.concatenate([gaps, complete_rows]))
