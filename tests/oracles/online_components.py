"""Online component rules written out in plain Python, with vectors as in the papers."""

import numpy as np


def rate(t, amnesic=2.0, ramp=(20, 200), growth=None, floor=0.0):
    """Learning rate of row t, ``(1 + l) / t`` with the amnesic l [Weng et al. 2003]."""
    if t == 1:
        return 1.0
    start, end = ramp
    if t < start:
        loss = 0.0
    elif t < end:
        loss = amnesic * (t - start) / (end - start)
    else:
        loss = amnesic + (0 if growth is None else (t - end) / growth)
    return min(0.5, max(floor, (1 + loss) / t))


def unit(v):
    return v / np.sqrt(v @ v)


def follow_residual(vectors, r, eta):
    """One step of CCIPCA [Weng, Zhang and Hwang 2003], for the centred row r.

    Each vector turns towards the residual, and the residual loses its projection on the vector;
    `vectors` holds None where a component has not begun.
    """
    r = r.copy()
    size = r @ r
    for j, v in enumerate(vectors):
        empty = r @ r <= 1e-24 * size
        if v is None:
            if empty:
                continue
            vectors[j] = v = eta * np.sqrt(r @ r) * r
        else:
            v = (1 - eta) * v
            if not empty:
                v = v + eta * (r @ unit(vectors[j])) * r
            vectors[j] = v
        r = r - (r @ unit(v)) * unit(v)


def ccipca(X, k, n_passes=1, fixed_mean=False, **schedule):
    """Vectors (or None) and mean after the rows of X; norms of vectors are the variances."""
    mean = X.mean(axis=0) if fixed_mean else np.zeros(X.shape[1])
    vectors = [None] * k
    t = 0
    for _ in range(n_passes):
        for x in X:
            t += 1
            eta = rate(t, **schedule)
            u = x - mean
            if not fixed_mean:
                mean = mean + eta * u
                u = np.sqrt(1 - eta) * u
            follow_residual(vectors, u, eta)
    return vectors, mean


def step_rate(t, learning_rate=0.08, hold=1000, floor=0.0):
    return max(floor, learning_rate if t <= hold else learning_rate * hold / t)


class Minor:
    """Minor components from a stream [Kompella et al. 2012; Peng, Yi and Luo 2007].

    W are the directions, `top` is the running first principal component of CCIPCA.
    """

    def __init__(self, W):
        self.W = [w.copy() for w in W]
        self.eigenvalues = [0.0] * len(self.W)
        self.top = [None]

    def follow(self, u, eta, e):
        if u @ u == 0:
            self.eigenvalues = [(1 - eta) * value for value in self.eigenvalues]
            if self.top[0] is not None:
                self.top[0] = (1 - eta) * self.top[0]
            return
        follow_residual(self.top, u, eta)
        gamma = np.sqrt(self.top[0] @ self.top[0])
        for j, w in enumerate(self.W):
            self.eigenvalues[j] = (1 - eta) * self.eigenvalues[j] + eta * (u @ w) ** 2
            # minimise |w_new - w|^2 / 2 + s (u . w_new)^2 / 2 by a linear system
            s = e / (1 - e) / gamma
            w = np.linalg.solve(np.eye(len(u)) + s * np.outer(u, u), w)
            length = np.sqrt(w @ w)
            for w_i in self.W[:j]:
                w = w - (w_i @ w) * w_i
            self.W[j] = unit(w) if w @ w > 1e-16 * length**2 else unit(u)


def minor_components(X, W, n_passes=1, fixed_mean=False, hold=1000, learning_rate=0.08):
    """State and mean of the minor component rule after the rows of X."""
    mean = X.mean(axis=0) if fixed_mean else np.zeros(X.shape[1])
    state = Minor(W)
    t = 0
    for _ in range(n_passes):
        for x in X:
            t += 1
            eta = rate(t)
            u = x - mean
            if not fixed_mean:
                mean = mean + eta * u
                u = np.sqrt(1 - eta) * u
            state.follow(u, eta, step_rate(t, learning_rate, hold))
    return state, mean


def residual_coordinates(vectors, u):
    """Products with the residuals, divided by the standard deviations."""
    z = []
    for v in vectors:
        c = u @ unit(v)
        z.append(c / (v @ v) ** 0.25)  # |v| is the variance
        u = u - c * unit(v)
    return np.array(z)


def slow_features(X, W, starts=(0,), hold=1000):
    """Incremental slow feature analysis [Kompella, Luciw and Schmidhuber 2012], one pass.

    CCIPCA follows the variance; the steps, whitened by it, feed the minor component rule. Returns
    the vectors of CCIPCA, the state of the rule, and the mean.
    """
    K = W.shape[1]
    mean = np.zeros(X.shape[1])
    vectors = [None] * K
    minor = Minor(W)

    n_steps = 0
    for t, x in enumerate(X):
        # 1. update principal components of the samples by the residual (CCIPCA)
        eta = rate(t + 1)
        u = x - mean
        mean = mean + eta * u
        follow_residual(vectors, np.sqrt(1 - eta) * u, eta)

        if t in starts:
            continue
        n_steps += 1

        # 2. whiten the difference of samples; omit directions without variance
        largest = max(np.sqrt(v @ v) for v in vectors if v is not None)
        d = x - X[t - 1]
        z = np.zeros(K)
        for j, v in enumerate(vectors):
            if v is not None and np.sqrt(v @ v) > 1e-3 * largest:
                c = d @ unit(v)
                z[j] = c / (v @ v) ** 0.25
                d = d - c * unit(v)
            else:
                for w in minor.W:
                    w[j] = 0.0

        # 3. update the minor component of the whitened differences
        minor.follow(z, rate(n_steps), step_rate(n_steps, hold=hold))
    return vectors, minor, mean
