"""First layers of networks that are drawn at random."""

from typing import Any

import numpy as np

from skmoderndata._compat import namespace

Array = Any


def draw_weights(
    rng: np.random.RandomState, p: int, L: int, *, law: str, scale: float
) -> tuple[Array, Array]:
    """Weights (p x L) and intercepts (L) of a random layer.

    Columns of the weights have the norm `scale`, in the mean for "uniform" and "normal", so that
    standardised inputs give pre-activations of order `scale`; intercepts are uniform within
    `scale`. "orthogonal" draws blocks of p orthogonal columns.
    """
    if law == "uniform":
        W = rng.uniform(-1.0, 1.0, size=(p, L))
        W = W * np.sqrt(3.0 / p)
    elif law == "normal":
        W = rng.normal(size=(p, L)) / np.sqrt(p)
    else:
        blocks = [np.empty((p, 0))]
        for _ in range(-(-L // p)):
            Q, _ = np.linalg.qr(rng.normal(size=(p, p)))
            blocks.append(Q)
        W = np.concatenate(blocks, axis=1)[:, :L]

    intercepts = scale * rng.uniform(-1.0, 1.0, size=L)
    return scale * W, intercepts


def _sigmoid(z: Array) -> Array:
    return (1 + namespace(z).tanh(z / 2)) / 2  # no overflow


ACTIVATIONS = {
    "tanh": lambda z: namespace(z).tanh(z),
    "sigmoid": _sigmoid,
    "relu": lambda z: (z + namespace(z).abs(z)) / 2,
    "sin": lambda z: namespace(z).sin(z),
    "gaussian": lambda z: namespace(z).exp(-z * z),
    "identity": lambda z: z,
}
