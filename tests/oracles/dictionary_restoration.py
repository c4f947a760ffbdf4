"""Images restored patch by patch, in the plainest form."""

import numpy as np


def pursuit(x, D, known, most, bound):
    """Orthogonal matching pursuit of what is known of one signal, with least squares each time."""
    x, D = x[known], D[:, known]
    norms = np.linalg.norm(D, axis=1)
    chosen, code = [], np.zeros(0)
    rest = x.copy()
    while rest @ rest > bound and len(chosen) < min(most, len(x)):
        gain = np.where(norms**2 > 1e-3, np.abs(D @ rest) / np.maximum(norms, 1e-12), 0)
        gain[chosen] = 0
        best = int(np.argmax(gain))
        if gain[best] <= 1e-10 * np.linalg.norm(x):
            break
        chosen.append(best)
        code = np.linalg.lstsq(D[chosen].T, x, rcond=None)[0]
        rest = x - code @ D[chosen]
    return chosen, code


def average(image, known, D, p, q, most, bound_each):
    """Sums of the approximations of all patches, and of weights, pixel by pixel."""
    height, width, channels = image.shape
    total, weight = np.zeros(image.shape), np.zeros(image.shape)
    for y in range(height - p + 1):
        for x in range(width - q + 1):
            patch = image[y : y + p, x : x + q]
            seen = known[y : y + p, x : x + q]
            means = np.array(
                [
                    patch[:, :, c][seen[:, :, c]].mean() if seen[:, :, c].any() else 0.0
                    for c in range(channels)
                ]
            )
            rest = np.where(seen, patch - means, 0.0).ravel()
            chosen, code = pursuit(rest, D, seen.ravel(), most, bound_each * seen.sum())
            back = (code @ D[chosen]).reshape(p, q, channels) + means
            share = seen.reshape(-1, channels).mean(axis=0)
            total[y : y + p, x : x + q] += share * back
            weight[y : y + p, x : x + q] += share
    return total, weight
