"""Weights of several kernels by centred alignment with a target (Cortes and others 2012).

Differs from the paper: the quadratic program is solved as a nonnegative least squares problem, and
the violation of its optimality conditions is returned.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING

Array = NDArray[np.float64]


class AlignedWeights(NamedTuple):
    """Weights of kernels with centred norm 1, the alignments, and the violation of optimality."""

    weights: Array
    alignments: Array
    alignment: float
    kkt_residual: float


def centred(K: Array) -> Array:
    """Return ``H K H`` with ``H = I - 1 1'/n``, the inner products about the mean."""
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1, keepdims=True)


def target_features(y: NDArray[Any], continuous: bool) -> Array:
    """Return centred columns T such that ``T T'`` is proportional to the ideal kernel matrix."""
    if continuous:
        T = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    else:
        members = y[:, None] == np.unique(y)
        T = members.astype(np.float64)
    T = T - T.mean(axis=0)
    return T / (float(np.abs(T).max()) or 1.0)


def aligned_weights(kernels: list[Array], T: Array, algorithm: str) -> AlignedWeights:
    """Return weights ``v >= 0`` of centred kernel matrices K_k of Frobenius norm 1.

    Let ``M_kl = <K_k, K_l>`` and ``a_k = <K_k, T T'> / |T T'|``. "joint" maximises the alignment
    ``v'a / sqrt(v'M v)`` of the combination; its solutions are multiples of the solution of
    ``min v'M v - 2 v'a, v >= 0`` (proposition 3). "independent" uses ``v = max(a, 0)``.
    """
    # compute inner products M of the matrices, and their alignments a with the target
    M = np.array([[np.vdot(K, L) for L in kernels] for K in kernels])
    products = np.array([np.vdot(T, K @ T) for K in kernels])
    a = products / np.linalg.norm(T.T @ T)
    v = np.maximum(a, 0)
    residual = 0.0

    # joint weights: minimise v'Mv / 2 - a'v over v >= 0 [Cortes, Mohri and Rostamizadeh 2012]
    if algorithm == "joint" and v.any():
        values, V = np.linalg.eigh(M)
        # drop eigenvalues that are zero up to rounding errors, because the kernels are linearly
        # dependent
        above = values > ACCUMULATED_ROUNDING * values[-1]
        s = np.sqrt(values[above])
        V = V[:, above]
        root = s[:, None] * V.T  # here M = root' root
        v = nnls(root, (V / s).T @ a)[0]

        # measure the violation of optimality by complementarity and by the signs of the gradient
        gradient = M @ v - a
        complementarity = np.abs(v * gradient).max()
        violation = max(complementarity, -gradient.min())
        residual = float(violation / np.abs(a).max())

    norm = float(np.sqrt(v @ M @ v))
    alignment = float(v @ a) / norm if norm > 0 else 0.0
    return AlignedWeights(v, a, alignment, residual)
