"""Least squares over the cone of non-negative rows with a given sparseness.

Each row z of Z solves ``min 1/2 z G z' - f z'`` over ``z >= 0`` with Hoyer's sparseness `level`,
that is ``sum z = ratio |z|_2``: a ray of any norm in a set of directions that is not convex.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.common.blocks import copy_row
from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.common.projections import project_row, project_sparseness

Array = np.ndarray[Any, np.dtype[Any]]

SINGLES = 2  # starts at the best single entries
SHORT = 8  # rounds from each start, at most
STEPS = 100  # rounds from the best of them, at most
NEWTON = 12  # Newton steps of a round, at most
FLAT = 1e-12  # fraction of the largest diagonal entry that a smaller one is taken for in a metric
DUST = 1e-14  # fraction of the largest entry of a row that is rounding
GAIN = 1e-13  # fraction of the value below which a step gains nothing


class Cone(NamedTuple):
    """One row's problem: ``min 1/2 z G z' - f z'`` with ``sum z = ratio |z|_2``, and a metric."""

    G: Array
    f: Array
    metric: Array  # the diagonal of G, of which no entry is near zero
    ratio: float


class Scratch(NamedTuple):
    """Memory for the steps of one row."""

    support: Array  # (k + 1,) entries above zero
    system: Array  # (k + 1, k + 1) of a Newton step
    work: Array  # (5, k + 1)


def cone_codes(G: Array, F: Array, level: float, *, start: Array | None = None) -> Array:
    """Solutions for each row f of F: exact for levels 0 and 1, else the best of several starts.

    The starts are the projections of the non-negative solution, of ``f / diag(G)``, of the best
    single entries, and of `start`, if given, so that no row gets worse. Each descends for some
    rounds, and the best one of them on, to a stationary point, see `descend_cone`. A code of given
    sparseness without any loss is known where an entry costs nothing: a row of zeros in G takes
    what is lacking. G is positive semi-definite, one matrix (k, k) for all rows or one for each.
    """
    G = np.ascontiguousarray(G, dtype=np.float64)
    F = np.ascontiguousarray(F, dtype=np.float64)
    m, k = F.shape
    diagonal = np.einsum("...jj->...j", G)
    if level >= 1:  # a single entry: what it gains is known
        alive = (F > 0) & (diagonal > 0)
        entries = np.where(alive, F / np.where(diagonal > 0, diagonal, 1.0), 0.0)
        best = (entries * F).argmax(axis=1)
        Z = np.zeros((m, k))
        Z[np.arange(m), best] = entries[np.arange(m), best]
        return Z
    if level <= 0:  # equal entries
        total = np.maximum(F.sum(axis=1), 0.0)
        size = G.sum(axis=(-2, -1))
        return np.repeat((total / np.where(size > 0, size, 1.0))[:, None], k, axis=1)
    each, steep = _matrices(G)
    metric = np.maximum(diagonal, FLAT * diagonal.max(axis=-1, keepdims=True))
    metric = np.broadcast_to(np.where(metric > 0, metric, 1.0), F.shape)
    starts = [_with_slack(diagonal, nnls(G, F).Z, _ratio(k, level)), F / metric]
    gains = np.where(F > 0, F * F / metric, 0.0)
    for _ in range(min(SINGLES, k)):
        rows, first = np.arange(m), gains.argmax(axis=1)
        single = np.zeros((m, k))
        single[rows, first] = np.where(gains[rows, first] > 0, F[rows, first], 0.0)
        starts.append(single / metric)
        gains[rows, first] = 0.0
    if start is not None:
        starts.insert(0, np.array(start, dtype=np.float64, order="C"))
    best, lowest = np.zeros((m, k)), np.full(m, np.inf)
    for Z in starts:
        Z = project_sparseness(Z, level)
        value = _descend_rows(each, F, Z, metric, _ratio(k, level), steep, SHORT, NEWTON)
        better = value < lowest
        best[better], lowest[better] = Z[better], value[better]
    _descend_rows(each, F, best, metric, _ratio(k, level), steep, STEPS, NEWTON)
    return best


def descend_cone(G: Array, F: Array, Z: Array, level: float, *, steps: int, newton: int) -> None:
    """Improve rows of Z (m, k) that have the sparseness, in place.

    A round is a projected gradient step, which brings entries into the support, then at most
    `newton` Newton steps on the support (of the Lagrange function, back onto the cone in the
    metric of the diagonal of G). Every step lowers the value; at most `steps` rounds are made.
    """
    G = np.ascontiguousarray(G, dtype=np.float64)
    each, steep = _matrices(G)
    diagonal = np.einsum("...jj->...j", G)
    metric = np.maximum(diagonal, FLAT * diagonal.max(axis=-1, keepdims=True))
    metric = np.broadcast_to(np.where(metric > 0, metric, 1.0), F.shape)
    _descend_rows(each, F, Z, metric, _ratio(Z.shape[1], level), steep, steps, newton)


def _ratio(k: int, level: float) -> float:
    return float(np.sqrt(k) - level * (np.sqrt(k) - 1))


def _matrices(G: Array) -> tuple[Array, Array]:
    """Gram matrices as a stack, and for each a bound on its largest eigenvalue."""
    if G.ndim == 3:
        return G, np.sqrt(np.einsum("ijk,ijk->i", G, G))
    return G[None], np.linalg.eigvalsh(G)[-1:] * (1 + 1e-8)


def _with_slack(diagonal: Array, Z: Array, ratio: float) -> Array:
    """Bring rows to the sparseness by an entry that the value does not depend on, if any."""
    Z, diagonal = Z.copy(), np.broadcast_to(diagonal, Z.shape)
    rows = np.flatnonzero((diagonal == 0).any(axis=1))
    entry = (diagonal[rows] == 0).argmax(axis=1)
    Z[rows, entry] = 0.0
    total, square = Z[rows].sum(axis=1), (Z[rows] ** 2).sum(axis=1)
    # (total + x)^2 = ratio^2 (square + x^2)
    curve = ratio * ratio - 1
    root = total**2 + curve * (total**2 - ratio**2 * square)
    Z[rows, entry] = np.where(root >= 0, (total + np.sqrt(np.maximum(root, 0))) / curve, 0.0)
    return np.maximum(Z, 0.0)


@jit
def _descend_rows(
    G: Array,
    F: Array,
    Z: Array,
    metric: Array,
    ratio: float,
    steep: Array,
    steps: int,
    newton: int,
) -> Array:
    """Lower the value of each row of Z, in place, and return the values."""
    m, k = F.shape
    values, y = np.zeros(m), np.empty(k)
    scratch = Scratch(
        np.empty(k + 1, dtype=np.int64), np.empty((k + 1, k + 1)), np.empty((5, k + 1))
    )
    for i in range(m):
        g = i if len(G) > 1 else 0
        if steep[g] > 0.0:
            cone = Cone(G[g], F[i], metric[i], ratio)
            values[i] = _descend(cone, Z[i], y, steep[g], steps, newton, scratch)
        else:
            for j in range(k):
                Z[i, j] = 0.0
    return values


@jit
def _project_cone(x: Array, ratio: float, out: Array, work: Array) -> None:
    """Nearest point of the cone; x is overwritten."""
    size = 0.0
    for j in range(len(x)):
        size = max(size, abs(x[j]))
    if size == 0.0:
        for j in range(len(x)):
            out[j] = 0.0
        return
    for j in range(len(x)):
        x[j] /= size
    project_row(x, ratio, 1.0, out, work)
    length = 0.0
    for j in range(len(x)):
        length += x[j] * out[j]
    length = max(length, 0.0) * size
    for j in range(len(x)):
        out[j] *= length


@jit
def _best_length(G: Array, f: Array, z: Array, y: Array) -> float:
    """Bring z to its best norm, put ``G z - f`` into y, and return the value."""
    k = len(f)
    for j in range(k):
        y[j] = 0.0
    for c in range(k):
        if z[c] != 0.0:
            for j in range(k):
                y[j] += z[c] * G[c, j]
    met, size = 0.0, 0.0
    for j in range(k):
        met += z[j] * f[j]
        size += z[j] * y[j]
    length = 0.0
    if met > 0.0:
        length = met / size if size > 0.0 else 1.0
    value = 0.0
    for j in range(k):
        z[j] *= length
        y[j] = y[j] * length - f[j]
        value += 0.5 * z[j] * (y[j] - f[j])
    return value


@jit
def _descend(
    cone: Cone, w: Array, y: Array, steep: float, steps: int, newton: int, scratch: Scratch
) -> float:
    """Lower the value from w, in place, and return it; y becomes the gradient."""
    G, f, ratio = cone.G, cone.f, cone.ratio
    support, work = scratch.support, scratch.work
    k = len(f)
    z, slope, x = work[0, :k], work[1, :k], work[2, :k]
    value: float = _best_length(G, f, w, y)
    for _ in range(steps):
        before = value
        for j in range(k):
            x[j] = w[j] - y[j] / steep
        _project_cone(x, ratio, z, work[3, :k])
        new = _best_length(G, f, z, slope)
        if new < value:
            value = new
            copy_row(z, w)
            copy_row(slope, y)
        for _ in range(newton):
            n = _support_of(w, support)
            if n < 3:  # no direction is tangent
                break
            new = _newton_step(cone, w, y, value, n, z, slope, scratch)
            if not new < value:
                break
            gain = value - new
            value = new
            copy_row(z, w)
            copy_row(slope, y)
            if gain <= GAIN * abs(value):
                break
        if before - value <= GAIN * abs(value):
            break
    top = 0.0
    for j in range(k):
        top = max(top, w[j])
    for j in range(k):  # of rounding: what is hardly there, and what is hardly off the cone
        if w[j] <= DUST * top:
            w[j] = 0.0
    copy_row(w, x)
    _project_cone(x, ratio, z, work[3, :k])
    for j in range(k):
        w[j] = z[j] if w[j] > 0.0 else 0.0
    value = _best_length(G, f, w, y)
    return value


@jit
def _support_of(w: Array, support: Array) -> int:
    n = 0
    for j in range(len(w)):
        if w[j] > 0.0:
            support[n] = j
            n += 1
    return n


@jit
def _newton_step(
    cone: Cone, w: Array, y: Array, value: float, n: int, z: Array, slope: Array, scratch: Scratch
) -> float:
    """Put a point with a lower value into z, its gradient into `slope`; else return `value`.

    First with the second derivatives of the Lagrange function, then with those of the objective.
    The constraint is ``((sum w)^2 - ratio^2 |w|^2) / 2 = 0``, whose gradient is `normal`.
    """
    G, f, metric, ratio = cone
    support, system, work = scratch
    normal, step = work[3, :n], work[4, : n + 1]
    total, met, size, largest = 0.0, 0.0, 0.0, 0.0
    for a in range(n):
        total += w[support[a]]
    for a in range(n):
        j = support[a]
        normal[a] = total - ratio * ratio * w[j]
        met -= normal[a] * y[j] / metric[j]
        size += normal[a] * normal[a] / metric[j]
        largest = max(largest, abs(normal[a]) / np.sqrt(metric[j]))
    if size == 0.0:
        return value
    for curved in range(2):
        bend = met / size if curved == 0 else 0.0
        for a in range(n):  # scaled, so that the metric is the identity
            i = support[a]
            p = 1.0 / np.sqrt(metric[i])
            for c in range(n):
                j = support[c]
                system[a, c] = (G[i, j] + bend) * p / np.sqrt(metric[j])
            system[a, a] -= bend * ratio * ratio * p * p
            system[a, n] = system[n, a] = normal[a] * p / largest
            step[a] = -y[i] * p
        system[n, n] = 0.0
        step[n] = 0.0
        if not _eliminate(system, step, n + 1):
            continue
        down = 0.0
        for a in range(n):
            step[a] /= np.sqrt(metric[support[a]])
            down += step[a] * y[support[a]]
        if not down < 0.0:
            continue
        length = 1.0
        for a in range(n):
            j = support[a]
            if step[a] < 0.0 and w[j] + length * step[a] < 0.0:
                length = -w[j] / step[a]
        if length <= 0.0:
            continue
        for _ in range(6):
            for j in range(len(z)):
                z[j] = 0.0
            for a in range(n):
                j = support[a]
                z[j] = w[j] + length * step[a]
                if z[j] <= 1e-15 * w[j]:
                    z[j] = 0.0
            if _back_to_cone(z, metric, ratio, support, n):
                new: float = _best_length(G, f, z, slope)
                if new < value:
                    return new
            length *= 0.3
    return value


@jit
def _back_to_cone(z: Array, metric: Array, ratio: float, support: Array, n: int) -> bool:
    """Move the positive entries of z along the normal of the cone, in the metric, onto it."""
    rr = ratio * ratio
    total, square = 0.0, 0.0
    for a in range(n):
        total += z[support[a]]
        square += z[support[a]] ** 2
    v1, v2, zv = 0.0, 0.0, 0.0
    for a in range(n):
        j = support[a]
        if z[j] > 0.0:
            v = (total - rr * z[j]) / metric[j]
            v1 += v
            v2 += v * v
            zv += v * z[j]
    # of z + t v: a t^2 + 2 b t + c = 0
    a2, b1, c0 = v1 * v1 - rr * v2, total * v1 - rr * zv, total * total - rr * square
    root = b1 * b1 - a2 * c0
    if root < 0.0:
        return False
    root = b1 + np.sqrt(root) if b1 >= 0.0 else b1 - np.sqrt(root)
    if root == 0.0:
        return c0 == 0.0
    t = -c0 / root
    for a in range(n):
        j = support[a]
        if z[j] > 0.0:
            z[j] += t * (total - rr * z[j]) / metric[j]
            if z[j] < 0.0:
                return False
    total, square = 0.0, 0.0
    for a in range(n):
        total += z[support[a]]
        square += z[support[a]] ** 2
    return abs(total * total - rr * square) <= 1e-12 * total * total  # else it was rounding


@jit
def _eliminate(A: Array, b: Array, n: int) -> bool:
    """Put the solution of ``A x = b`` into b by elimination; False where A is singular."""
    for c in range(n):
        pivot, size = c, abs(A[c, c])
        for r in range(c + 1, n):
            if abs(A[r, c]) > size:
                pivot, size = r, abs(A[r, c])
        if not size > 1e-14:
            return False
        if pivot != c:
            for q in range(c, n):
                A[c, q], A[pivot, q] = A[pivot, q], A[c, q]
            b[c], b[pivot] = b[pivot], b[c]
        for r in range(c + 1, n):
            factor = A[r, c] / A[c, c]
            if factor != 0.0:
                for q in range(c + 1, n):
                    A[r, q] -= factor * A[c, q]
                b[r] -= factor * b[c]
    for c in range(n - 1, -1, -1):
        value = b[c]
        for q in range(c + 1, n):
            value -= A[c, q] * b[q]
        b[c] = value / A[c, c]
    return True
