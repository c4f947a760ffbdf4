"""Bases as users name them, turned into operators from codes to signals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.measurements import Operator, basis_operator, from_matrix

AXIS = 4096  # values of an axis for which a matrix is made, where there is no fast transform


def resolve_basis(basis: Any, n: int, shape: Sequence[int] | None) -> Operator | None:
    """Operator from codes to `n` values; None for the identity.

    `basis` is None, a name, an array with atoms in rows, or a LinearOperator (n, n_codes).
    """
    # one axis for each dimension of a signal
    axes = (n,) if shape is None else tuple(int(size) for size in shape)
    n_values = int(np.prod(axes))
    if n_values != n:
        raise ValueError(f"shape={axes} has {n_values} values, and signals have {n}.")

    # by name
    if basis is None:
        return None
    if isinstance(basis, str):
        if basis != "dct" and max(axes) > AXIS:
            raise ValueError(
                f"basis={basis!r} makes a matrix for an axis, and one has {max(axes)} values: use "
                f"'dct', a LinearOperator, or a shape with axes of at most {AXIS} values."
            )
        return basis_operator(basis, axes)

    # by an operator, or by atoms in rows
    if isinstance(basis, LinearOperator):
        check_operator(basis, "basis")
        made = wrap_operator(basis)
    else:
        if np.iscomplexobj(basis):
            raise ValueError(
                "basis has complex values: stack the real and the imaginary parts of its atoms, "
                "or use basis='fourier'."
            )
        atoms = np.asarray(basis, dtype=np.float64)
        if atoms.ndim != 2 or not np.isfinite(atoms).all():
            raise ValueError("basis must be a finite array of atoms in rows.")
        made = from_matrix(atoms.T)

    if made.shape[0] != n:
        raise ValueError(
            f"basis has atoms of {made.shape[0]} values, and signals have {n}: atoms are rows of "
            "an array, columns of a LinearOperator."
        )
    return made


def check_operator(operator: LinearOperator, name: str) -> None:
    """Refuse operators with complex values, without a transpose, or that give other than numbers.

    Costs a product with the operator and one with its transpose.
    """
    m, n = operator.shape
    if operator.dtype is not None and np.issubdtype(operator.dtype, np.complexfloating):
        raise ValueError(
            f"Complex data not supported: {name} is an operator of complex values: stack its real "
            "and its imaginary parts, as sparse_coding.real_measurements does."
        )
    try:
        back = np.asarray(operator.rmatvec(np.ones(m)))
    except (TypeError, NotImplementedError, AttributeError) as error:
        raise ValueError(
            f"{name} has no product with its transpose: give the LinearOperator an rmatvec."
        ) from error
    there = operator.matvec(np.ones(n))
    if not (np.isfinite(back).all() and np.isfinite(there).all()):
        raise ValueError(f"{name} gives NaN or infinity for a vector of ones.")


def wrap_operator(X: LinearOperator) -> Operator:
    """Operator on rows that does what a LinearOperator does to columns."""
    m, n = X.shape

    def forward(Z: Any) -> Array:
        columns = np.asarray(Z, dtype=float).T
        return np.asarray(X.matmat(columns)).T

    def adjoint(Z: Any) -> Array:
        columns = np.asarray(Z, dtype=float).T
        return np.asarray(X.rmatmat(columns)).T

    return Operator((int(m), int(n)), forward, adjoint)
