"""Ranking with thresholds, stated plainly: the primal problem, and steps by loops."""

import numpy as np

from tests.oracles.box_qp import factor, solved


def ranking_steps(K, ranks, bounds, tol):
    """Weights `u - l` of the least `a'Ka` whose sums agree threshold by threshold.

    The step of the largest gain in slope: two upper weights u of a threshold, two lower l, or
    a rise of both sums of one threshold and a fall of the sums of another. It starts from even
    weights.
    """
    n = len(K)
    top = ranks.max()
    upper = [np.flatnonzero(ranks == y + 1) for y in range(top)]
    lower = [np.flatnonzero(ranks == y) for y in range(top)]

    # start with equal fractions of the bounds, and with sums as large as both ranks allow
    part = np.array(
        [min(bounds[i].sum(), bounds[j].sum()) for i, j in zip(upper, lower, strict=True)]
    )
    part = part / (2 * part.sum())
    u = np.zeros(n)
    lo = np.zeros(n)
    for y in range(top):
        u[upper[y]] = part[y] * bounds[upper[y]] / bounds[upper[y]].sum()
        lo[lower[y]] = part[y] * bounds[lower[y]] / bounds[lower[y]].sum()

    while True:
        # 1. exchange two weights of one threshold
        f = K @ (u - lo)
        gains = []
        up = []
        down = []
        for y in range(top):
            more = min(
                (i for i in upper[y] if u[i] < bounds[i]), key=lambda i: f[i], default=-1
            )
            less = max((i for i in upper[y] if u[i] > 0), key=lambda i: f[i])
            rise = max(
                (j for j in lower[y] if lo[j] < bounds[j]), key=lambda j: f[j], default=-1
            )
            fall = min((j for j in lower[y] if lo[j] > 0), key=lambda j: f[j])
            down.append((f[less] - f[fall], less, fall))
            if more >= 0:
                gains.append((f[less] - f[more], [(u, more, 1), (u, less, -1)]))
            if rise >= 0:
                gains.append((f[rise] - f[fall], [(lo, rise, 1), (lo, fall, -1)]))
            if more >= 0 and rise >= 0:
                up.append((f[more] - f[rise], more, rise))

        # 2. exchange four weights of two thresholds
        if up:
            (a, i, j) = min(up)
            (b, k, m) = max(down)
            gains.append(((b - a) / 2, [(u, i, 1), (lo, j, 1), (u, k, -1), (lo, m, -1)]))

        gain, moves = max(gains, key=lambda item: item[0])
        if gain <= tol:
            return u - lo

        # 3. make the exact step, limited by the bounds
        d = np.zeros(n)
        for weights, q, sign in moves:
            d[q] += sign if weights is u else -sign
        room = min(bounds[q] - w[q] if sign > 0 else w[q] for w, q, sign in moves)
        step = min(room, -(d @ f) / (d @ K @ d)) if d @ K @ d > 0 else room
        for weights, q, sign in moves:
            weights[q] = np.clip(weights[q] + sign * step, 0, bounds[q])


def ranking_primal(K, ranks, bounds, enforced=False, scale=10.0):
    """``min -margin + sum bounds (xi + zeta)`` over ``|w| <= 1``: value, f, thresholds, margin.

    The objective h grows in proportion to w, thresholds and margin. So its least value v in the
    ball gives ``-(S v)^2 / 2`` as the least of ``|w|^2 / 2 + S h``, at -S v times the solution:
    a quadratic program, which the cone solver brings further than the ball. `scale` is S.
    """
    import cvxpy as cp

    F = factor(K)
    top = ranks.max()
    w = cp.Variable(F.shape[1])
    b = cp.Variable(top)
    margin = cp.Variable()
    f = F @ w
    loss = 0
    for y in range(top):
        low = np.flatnonzero(ranks == y)
        high = np.flatnonzero(ranks == y + 1)
        loss += bounds[low] @ cp.pos(f[low] - b[y] + margin)
        loss += bounds[high] @ cp.pos(b[y] + margin - f[high])
    rules = [b[y] <= b[y + 1] for y in range(top - 1) if enforced]
    least = solved(cp.sum_squares(w) / 2 + scale * (loss - margin), rules, tol=1e-8)
    norm = np.sqrt(-2 * least)
    return (
        -norm / scale,
        F @ w.value / norm,
        np.atleast_1d(b.value) / norm,
        float(margin.value) / norm,
    )
