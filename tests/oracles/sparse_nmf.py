"""Plain references of sparse factorisation: supports tried one by one, conic solvers, sums."""

import itertools

import numpy as np


def sparseness(X):
    """Hoyer's sparseness of each row: 0 for equal magnitudes, 1 for a single entry."""
    n = X.shape[-1]
    with np.errstate(invalid="ignore"):  # rows of zeros have no sparseness
        ratio = np.abs(X).sum(axis=-1) / np.linalg.norm(X, axis=-1)
    return (np.sqrt(n) - ratio) / (np.sqrt(n) - 1)


def nearest_of_sparseness(x, level, norm):
    """Try every support: on each the nearest point with both norms is known in closed form."""
    n = len(x)
    mass = (np.sqrt(n) - level * (np.sqrt(n) - 1)) * norm
    best = np.inf
    nearest = None
    for size in range(1, n + 1):
        for support in itertools.combinations(range(n), size):
            support = list(support)
            # on a support, the sum and the norm determine a circle about the mean
            mean = mass / size
            # the remaining norm is for deviations from the mean
            rest = norm**2 - size * mean**2
            if rest < -1e-12:
                continue

            d = x[support] - x[support].mean()
            spread = d @ d
            if spread == 0 and rest > 1e-12:
                continue

            s = np.zeros(n)
            s[support] = mean + (d * np.sqrt(max(rest, 0) / spread) if spread > 0 else 0)
            if (s < -1e-12).any():
                continue

            distance = np.linalg.norm(s - x)
            if distance < best:
                best = distance
                nearest = s

    return best, nearest


def hoyer_alternating(x, level, norm):
    """Nearest point of given sparseness and Euclidean norm [Hoyer 2004, projection operator].

    Onto the plane of the l1 norm `mass`, from its centre out to the sphere; negative entries
    become zero for good, and the remaining ones start again.
    """
    n = len(x)
    mass = (np.sqrt(n) - level * (np.sqrt(n) - 1)) * norm
    s = x + (mass - x.sum()) / n
    zero = np.zeros(n, bool)
    while True:
        middle = np.where(zero, 0.0, mass / (n - zero.sum()))
        direction = s - middle
        a = direction @ direction
        b = 2 * middle @ direction
        c = middle @ middle - norm**2
        alpha = (-b + np.sqrt(max(b * b - 4 * a * c, 0))) / (2 * a)
        s = middle + alpha * direction
        if (s >= -1e-14).all():
            return np.maximum(s, 0)
        zero |= s < 0
        s[zero] = 0
        s = np.where(zero, 0.0, s + (mass - s.sum()) / (n - zero.sum()))


def nnls_by_cvxpy(C, x, l1=0.0, l1_sq=0.0, l2=0.0):
    """Non-negative least squares with penalties as stated, by a conic solver."""
    import cvxpy as cp

    z = cp.Variable(len(C), nonneg=True)
    cost = cp.sum_squares(x - z @ C) / 2 + l1 * cp.sum(z)
    cost += l1_sq / 2 * cp.square(cp.sum(z)) + l2 / 2 * cp.sum_squares(z)
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return problem.value, z.value


def kim_park_objective(X, W, H, beta, eta):
    """Objective of SNMF/R, sum by sum; NaN is missing."""
    total = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if not np.isnan(X[i, j]):
                total += (X[i, j] - W[i] @ H[:, j]) ** 2 / 2
        total += beta / 2 * np.abs(W[i]).sum() ** 2
    return total + eta / 2 * (H**2).sum()


def alternate_exactly(X, H, passes):
    """Alternating non-negative least squares [Kim and Park 2007], ``X ~ W H``, without penalties.

    Each row and column by the active-set method of Lawson and Hanson.
    """
    from scipy.optimize import nnls

    for _ in range(passes):
        W = np.array([nnls(H.T, x)[0] for x in X])
        H = np.array([nnls(W, column)[0] for column in X.T]).T
    return W, H


def codes_of_sparseness_from_many_starts(X, H, level, seed, n_starts=20, steps=200):
    """Squared error of each row, the best of plain projected gradients from random codes."""
    from skmoderndata._solvers.common.projections import project_sparseness

    rng = np.random.default_rng(seed)
    G = H @ H.T
    F = X @ H.T
    steep = np.linalg.eigvalsh(G)[-1]
    best = np.full(len(X), np.inf)
    for _ in range(n_starts):
        Z = project_sparseness(2 * rng.uniform(size=F.shape) ** 3, level)
        for _ in range(steps):
            Z = project_sparseness(Z - (Z @ G - F) / steep, level)
        best = np.minimum(best, ((X - Z @ H) ** 2).sum(axis=1))
    return best


def codes_of_three_by_grid(G, f, level, n_angles=200_001):
    """Least value over three codes of given sparseness: their directions are on a circle."""
    ratio = np.sqrt(3) - level * (np.sqrt(3) - 1)
    angle = np.linspace(0, 2 * np.pi, n_angles)
    across = np.sqrt(1 - ratio**2 / 3)
    first = np.array([1, -1, 0]) / np.sqrt(2)
    second = np.array([1, 1, -2]) / np.sqrt(6)
    S = ratio / 3 + across * (np.outer(np.cos(angle), first) + np.outer(np.sin(angle), second))
    S = S[(S >= 0).all(axis=1)]
    # at the points where the circle leaves the positive entries, one entry is 0
    apart = 1 - ratio**2 / 2
    if apart >= 0:
        pair = np.array([ratio / 2 + np.sqrt(apart / 2), ratio / 2 - np.sqrt(apart / 2), 0])
        S = np.vstack([S, [pair[list(order)] for order in itertools.permutations(range(3))]])
    met = np.maximum(S @ f, 0)
    return -(met**2 / np.einsum("ij,jk,ik->i", S, G, S)).max() / 2


def descend(G, z, f, max_sweeps, enough):
    """Coordinate descent on ``1/2 z G z' - f z'`` over z of at least 0, from z; return z."""
    z = z.copy()
    first = 0.0
    for sweep in range(max_sweeps):
        moved = 0.0
        for j in range(len(z)):
            slope = z @ G[j] - f[j]
            new = max(z[j] - slope / G[j, j], 0.0) if G[j, j] > 0 else z[j] * (slope <= 0)
            moved += (new - z[j]) ** 2 * G[j, j]
            z[j] = new

        first = moved if sweep == 0 else first
        if moved <= enough * first:
            break
    return z
