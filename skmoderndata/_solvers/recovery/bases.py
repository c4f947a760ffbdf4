"""Bases given by name, array or operator, converted to operators from codes to signals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.measurements import Operator, basis_operator, from_matrix

# Maximum length of an axis for which a matrix is used if there is no fast transform.
AXIS = 4096


def resolve_basis(basis: Any, n: int, shape: Sequence[int] | None) -> Operator | None:
    """Return the operator from codes to `n` values; None for the identity.

    `basis` is None, a name, an array with atoms as rows, or a LinearOperator (n, n_codes).
    """
    # use one axis for each dimension of a signal
    axes = (n,) if shape is None else tuple(int(size) for size in shape)
    n_values = int(np.prod(axes))
    if n_values != n:
        raise ValueError(f"shape={axes} has {n_values} values, but signals have {n}.")

    # the basis is given by its name
    if basis is None:
        return None
    if isinstance(basis, str):
        if basis != "dct" and max(axes) > AXIS:
            raise ValueError(
                f"basis={basis!r} forms a matrix for each axis, and an axis has {max(axes)} "
                f"values; use 'dct', a LinearOperator, or a shape with axes of at most {AXIS} "
                "values."
            )
        return basis_operator(basis, axes)

    # the basis is given as an operator, or as a matrix whose rows are the atoms
    if isinstance(basis, LinearOperator):
        check_operator(basis, "basis")
        operator = wrap_operator(basis)
    else:
        if np.iscomplexobj(basis):
            raise ValueError(
                "basis has complex values; stack the real and the imaginary parts of its atoms, "
                "or use basis='fourier'."
            )
        atoms = np.asarray(basis, dtype=np.float64)
        if atoms.ndim != 2 or not np.isfinite(atoms).all():
            raise ValueError("basis must be a finite array with atoms as rows.")
        operator = from_matrix(atoms.T)

    if operator.shape[0] != n:
        raise ValueError(
            f"basis has atoms of {operator.shape[0]} values, but signals have {n}; atoms are rows "
            "of an array, or columns of a LinearOperator."
        )
    return operator


def check_operator(operator: LinearOperator, name: str) -> None:
    """Reject complex operators, and operators without a transpose or with non-finite results.

    It costs one product with the operator and one with its transpose.
    """
    m, n = operator.shape
    if operator.dtype is not None and np.issubdtype(operator.dtype, np.complexfloating):
        raise ValueError(
            f"Complex data not supported: {name} is a complex operator; stack its real and its "
            "imaginary parts, as sparse_coding.real_measurements does."
        )
    try:
        back = np.asarray(operator.rmatvec(np.ones(m)))
    except (TypeError, NotImplementedError, AttributeError) as error:
        raise ValueError(
            f"{name} cannot multiply by its transpose; give the LinearOperator an rmatvec."
        ) from error
    there = operator.matvec(np.ones(n))
    if not (np.isfinite(back).all() and np.isfinite(there).all()):
        raise ValueError(f"{name} returns NaN or infinity for a vector of ones.")


def wrap_operator(X: LinearOperator) -> Operator:
    """Return an operator on rows that acts like a LinearOperator on columns."""
    m, n = X.shape

    def forward(Z: Any) -> Array:
        columns = np.asarray(Z, dtype=float).T
        return np.asarray(X.matmat(columns)).T

    def adjoint(Z: Any) -> Array:
        columns = np.asarray(Z, dtype=float).T
        return np.asarray(X.rmatmat(columns)).T

    return Operator((int(m), int(n)), forward, adjoint)
