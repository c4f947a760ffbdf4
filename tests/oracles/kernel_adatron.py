"""The kernel adatron, coefficient by coefficient."""

import numpy as np


def adatron(K, y, C, n_passes, omega=1.0, ridge=0.0):
    """Coefficients of the signed samples [Friess, Cristianini and Campbell 1998].

    Each sample in turn moves its coefficient by `omega (1 - y f) / k`, clipped to [0, C]: with
    `omega = 1` the minimum of the dual in that coefficient. The squared hinge has a ridge.
    """
    a = np.zeros(len(K))
    for _ in range(n_passes):
        for i in range(len(K)):
            f = K[i] @ (a * y)
            step = omega * (1 - y[i] * f - ridge * a[i]) / (K[i, i] + ridge)
            a[i] = np.clip(a[i] + step, 0.0, C)
    return a * y


def adatron_regression(K, y, C, tube, n_passes):
    """Coefficients of support vector regression without offset, by the same steps."""
    a = np.zeros(len(K))
    for _ in range(n_passes):
        for i in range(len(K)):
            z = a[i] * K[i, i] + y[i] - K[i] @ a
            a[i] = np.clip(np.sign(z) * max(abs(z) - tube, 0.0) / K[i, i], -C, C)
    return a
