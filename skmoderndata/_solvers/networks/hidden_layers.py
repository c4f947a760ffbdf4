"""Randomly drawn first layers of networks."""

from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.arrays import namespace

Array = Any

# Largest spread at which a column counts as constant, in multiples of the rounding error of its
# mean.
CONSTANT_BELOW = 8


def draw_weights(
    rng: np.random.RandomState, p: int, L: int, *, law: str, scale: float
) -> tuple[Array, Array]:
    """Draw weights (p x L) and intercepts (L) of a random layer.

    Columns of the weights have the norm `scale` (for "uniform" and "normal" only on average), so
    that standardised inputs give pre-activations of order `scale`. Intercepts are uniform within
    `scale`. "orthogonal" draws blocks of p orthogonal columns, uniform on the orthogonal group.
    """
    if law == "uniform":
        W = rng.uniform(-1.0, 1.0, size=(p, L))
        W = W * np.sqrt(3.0 / p)
    elif law == "normal":
        W = rng.normal(size=(p, L)) / np.sqrt(p)
    else:
        blocks = [np.empty((p, 0))]
        for _ in range(-(-L // p)):
            Q, R = np.linalg.qr(rng.normal(size=(p, p)))
            # remove the signs that LAPACK fixes in Q; otherwise, for p = 1, all weights would be
            # positive [Mezzadri 2007]
            blocks.append(Q * np.sign(np.diag(R)))
        W = np.concatenate(blocks, axis=1)[:, :L]

    intercepts = scale * rng.uniform(-1.0, 1.0, size=L)
    return scale * W, intercepts


def column_moments(X: Array, w: Array) -> tuple[Array, Array, Array]:
    """Return weight, mean and squares of the columns, summed about the first row.

    Returns
    -------
    weight, mean, squares : arrays of shape (), (p,) and (p,)
        Total weight, mean, and sum of ``w (x - mean)^2``. Sparse rows are not made dense.
    """
    xp = namespace(w)
    weight = xp.sum(w)
    if sparse.issparse(X):
        mean = (w @ X) / weight
        squares = w @ X.multiply(X) - weight * mean**2  # type: ignore[attr-defined]
        return weight, mean, np.maximum(squares, 0.0)
    X = xp.astype(X, xp.float64, copy=False)
    first = X[0, :]
    distance = X - first
    shift = (w @ distance) / weight
    distance = distance - shift
    squares = w @ (distance * distance)
    return weight, first + shift, squares


def join_moments(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, Array, Array]:
    """Combine the moments of two sets of rows."""
    weight = a[0] + b[0]
    step = b[1] - a[1]
    squares = a[2] + b[2] + step**2 * (a[0] * b[0] / weight)
    return weight, a[1] + step * (b[0] / weight), squares


def standard_deviations(moments: tuple[Array, ...], eps: float) -> Array:
    """Return the standard deviations of the columns, or 1 if they are rounding errors."""
    weight, mean, squares = moments
    xp = namespace(mean)
    std = xp.sqrt(squares / weight)
    return xp.where(std > CONSTANT_BELOW * eps * xp.abs(mean), std, xp.ones_like(std))


def standardised_layer(W: Array, b: Array, mean: Array, std: Array) -> tuple[Array, Array]:
    """Return weights and intercepts that map rows X to ``((X - mean) / std) W + b``."""
    W = W / std[:, None]
    return W, b - mean @ W


def _sigmoid(z: Array) -> Array:
    return (1 + namespace(z).tanh(z / 2)) / 2  # this form cannot overflow


ACTIVATIONS = {
    "tanh": lambda z: namespace(z).tanh(z),
    "sigmoid": _sigmoid,
    "relu": lambda z: (z + namespace(z).abs(z)) / 2,
    "sin": lambda z: namespace(z).sin(z),
    "gaussian": lambda z: namespace(z).exp(-z * z),
    "identity": lambda z: z,
}
