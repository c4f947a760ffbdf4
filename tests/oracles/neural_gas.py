"""Plain loops for neural gas and sparse coding neural gas."""

import numpy as np


def ranks(x, centers):
    """Rank of each unit by its distance from x, ties by index."""
    distance = [float(np.sum((x - c) ** 2)) for c in centers]
    order = sorted(range(len(centers)), key=lambda j: (distance[j], j))
    out = np.empty(len(centers), int)
    for rank, j in enumerate(order):
        out[j] = rank
    return out


def objective(X, w, centers, width):
    """``sum_i w_i sum_j exp(-rank / width) |x_i - c_j|^2``."""
    total = 0.0
    for x, weight in zip(X, w, strict=True):
        for rank, c in zip(ranks(x, centers), centers, strict=True):
            total += weight * np.exp(-rank / width) * np.sum((x - c) ** 2)
    return total


def batch_pass(X, w, centers, width):
    """Batch neural gas [Cottrell et al. 2006]: means of the samples, weighted by the rank."""
    above = np.zeros_like(centers)
    below = np.zeros(len(centers))
    for x, weight in zip(X, w, strict=True):
        for j, rank in enumerate(ranks(x, centers)):
            strength = weight * np.exp(-rank / width)
            above[j] += strength * x
            below[j] += strength
    return above / below[:, None]


def online(X, order, centers, n_steps, widths, rates):
    """Neural gas [Martinetz, Berkovich and Schulten 1993], a step for each sample.

    Row i of X is the sample of step t; width and rate fall geometrically from first to last.
    """
    C = centers.copy()
    for t, i in enumerate(order):
        width = widths[0] * (widths[1] / widths[0]) ** (t / n_steps)
        rate = rates[0] * (rates[1] / rates[0]) ** (t / n_steps)
        for j, rank in enumerate(ranks(X[i], C)):
            C[j] = C[j] + rate * np.exp(-rank / width) * (X[i] - C[j])
    return C


def sparse_coding_gas(X, order, atoms, n_nonzero, scale, widths, rates):
    """Sparse coding neural gas with the orthogonalised atoms written out."""
    D = atoms.copy()
    for t, i in enumerate(order):
        width = widths[0] * (widths[1] / widths[0]) ** (t / len(order))
        rate = rates[0] * (rates[1] / rates[0]) ** (t / len(order))

        residual = X[i] * scale
        chosen = []
        for _ in range(n_nonzero):
            # compute the residuals of signal and atoms after projection on the chosen atoms
            P = np.eye(X.shape[1])
            if chosen:
                Q = np.linalg.qr(D[chosen].T)[0]
                P = P - Q @ Q.T
                residual = P @ (X[i] * scale)
            R = D @ P
            lengths = np.linalg.norm(R, axis=1)

            free = [j for j in range(len(D)) if j not in chosen and lengths[j] ** 2 > 1e-6]
            if not free:
                break
            R[free] /= lengths[free, None]

            # move all free atoms by the rank of their match, with Oja's rule
            y = R @ residual
            order_of = sorted(free, key=lambda j: (-(y[j] ** 2), j))
            for rank, j in enumerate(order_of):
                strength = np.exp(-rank / width)
                D[j] = D[j] + rate * strength * y[j] * (residual - y[j] * R[j])
                D[j] /= np.linalg.norm(D[j])

            chosen.append(order_of[0])
    return D
