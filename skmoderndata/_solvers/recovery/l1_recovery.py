"""Least l1 norm under linear equations that are known by products with their matrix only.

``min |a|_1  s.t.  |y - A a| <= bound``, ``a >= 0`` if so wanted, in three stages:

1. Approximate message passing looks for the support: thresholding of ``a + A'(y - A a)``, with a
   correction that keeps the error of that like noise. Some tens of products with matrices that
   mix well, where the solution is sparse; no promise otherwise.
2. From a support and signs, Newton's method on the optimality conditions: conjugate gradients on
   the support, columns enter and leave, until the duality gap closes. It starts from the first
   stage each time that has got nearer.
3. Without such luck, and with few measurements, the problem is solved with a part of the columns;
   those that the dual variable tells are missing come in, until none is.
4. With many a primal-dual iteration, which always converges, with steps for columns of unlike
   norms. It hands its supports to the second stage from time to time.

Equations that cannot be met are replaced by the nearest that can. What is returned has a gap
computed from the definition, whatever found it.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import ndtr

from skmoderndata._solvers.recovery.measurements import Operator, columns_of
from skmoderndata._solvers.recovery.phase_transition import l1_threshold

Array = np.ndarray[Any, np.dtype[Any]]

EPS = float(np.finfo(np.float64).eps)
LONG = 20_000  # values, beyond which vectors are looked at one by one
PROBES = 16  # random vectors that an operator is looked at through
BY_COLUMNS = 600  # measurements up to which columns are formed where they are needed
FACTORED = 2e9  # operations up to which columns of a support are factored


class L1Recovery(NamedTuple):
    """Coefficients, relative duality gap, violation of the bound, pairs of products, success.

    `reachable` is False where it is proved that no coefficients keep the bound.
    """

    coef: Array
    gap: float
    missed: float
    n_iter: int
    done: bool
    reachable: bool = True


class Facts(NamedTuple):
    """What is known of an operator: mean squared norm of columns, norm, orthogonality of rows.

    `sizes` are norms of the columns, estimated, where they are unlike; else None.
    """

    mean_sq: float
    norm: float
    orthogonal: bool
    sizes: Array | None = None


class Problem(NamedTuple):
    """Columns of squared norm one on average, `y` of norm one, and the slopes ``A' y``."""

    A: Operator
    y: Array
    bound: float
    positive: bool
    slopes: Array
    norm: float
    orthogonal: bool
    sizes: Array | None = None

    def forward(self, a: Array) -> Array:
        return np.asarray(self.A.forward(a[None])[0])

    def adjoint(self, r: Array) -> Array:
        return np.asarray(self.A.adjoint(r[None])[0])

    def soft(self, a: Array, by: Any) -> Array:
        shrunk = np.maximum(a - by, 0.0) if self.positive else a - np.clip(a, -by, by)
        return np.asarray(shrunk)

    def top(self, slopes: Array) -> float:
        """Largest slope that the dual constraint speaks of."""
        return float(slopes.max(initial=0.0) if self.positive else np.abs(slopes).max(initial=0.0))

    def beyond(self, slopes: Array, limit: float) -> Array:
        return slopes > limit if self.positive else np.abs(slopes) > limit


def facts_of(A: Operator) -> Facts:
    """Look at an operator through random vectors of equal lengths, orthogonal where not long."""
    m, n = A.shape
    squares, count, c, orthogonal = np.zeros(n), 0, 0.0, False
    for g in _probes(m, together=n <= LONG):
        t = A.adjoint(g)
        squares += np.square(t).sum(axis=0)  # the expected ones are the squared norms of columns
        if count == 0:
            w = A.forward(t[:1])[0]
            c = float(w @ g[0]) / m
            apart = float(np.linalg.norm(w - c * g[0]))
            orthogonal = apart <= 1e-11 * float(np.linalg.norm(w))
        count += len(g)
    squares /= count
    mean_sq = float(squares.mean())
    if mean_sq == 0:
        return Facts(1.0, 1.0, False)
    spread = 1.0 if orthogonal else 0.25  # steps of columns give up that rows are orthogonal
    unlike = float(squares.var()) > (2.0 / count + spread) * mean_sq**2
    sizes = np.sqrt(np.maximum(squares, 1e-8 * mean_sq)) if unlike else None
    if orthogonal:
        return Facts(c * m / n, float(np.sqrt(c)), True, sizes)
    return Facts(mean_sq, operator_norm(A), False, sizes)


def _probes(m: int, together: bool) -> Iterator[Array]:
    rng = np.random.RandomState(0)
    if m > LONG:
        for _ in range(PROBES):
            g = rng.normal(size=(1, m))
            yield g * (np.sqrt(m) / np.linalg.norm(g))
        return
    G = rng.normal(size=(m, min(m, PROBES)))
    G = np.ascontiguousarray(np.sqrt(m) * linalg.qr(G, mode="economic")[0].T)
    if together:
        yield G
    else:
        yield from G[:, None]


def operator_norm(A: Operator, share: float = 0.01) -> float:
    """Upper bound of the spectral norm, nearly always, tight to about half of `share`; Lanczos."""
    v = np.random.RandomState(0).normal(size=A.shape[1])
    v /= np.linalg.norm(v)
    former, beta = np.zeros_like(v), 0.0
    diagonal: list[float] = []
    beside: list[float] = []
    value = 0.0
    for _ in range(60):
        w = A.adjoint(A.forward(v[None]))[0] - beta * former
        diagonal.append(float(w @ v))
        w = w - diagonal[-1] * v
        beta = float(np.linalg.norm(w))
        theta, s = linalg.eigh_tridiagonal(diagonal, beside)
        value, missing = float(theta[-1]), beta * abs(float(s[-1, -1]))
        if missing <= share * value or beta == 0:
            break
        former, v = v, w / beta
        beside.append(beta)
    return float(np.sqrt(value + missing)) if value > 0 else 1.0


def least_l1(
    y: Array,
    A: Operator,
    *,
    bound: float = 0.0,
    positive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    facts: Facts | None = None,
    last_resort: bool = True,
) -> L1Recovery:
    """Solve ``min |a|_1  s.t.  |y - A a| <= bound``; ``a >= 0`` with `positive`.

    Parameters
    ----------
    y : array of shape (m,)
        Of norm one, and beyond the bound.
    tol : float
        Relative duality gap, and violation, that end the search.
    max_iter : int
        Pairs of products, one with A and one with its transpose, after which the best so far is
        returned. A step that is under way is finished.
    last_resort : bool
        Whether the other stages follow where the first two do not succeed.
    """
    facts = facts_of(A) if facts is None else facts
    unit = 1.0 / np.sqrt(facts.mean_sq)
    used = 0

    def forward(X: Array) -> Array:
        nonlocal used
        used += len(X)
        return np.asarray(unit * A.forward(X))

    def adjoint(Y: Array) -> Array:
        nonlocal used
        used += len(Y)
        return np.asarray(unit * A.adjoint(Y))

    def spent() -> bool:
        return used >= 2 * max_iter

    matrix = None if A.matrix is None else A.matrix * unit
    scaled = Operator(A.shape, forward, adjoint, matrix)
    sizes = None if facts.sizes is None else unit * facts.sizes
    slopes = adjoint(y[None])[0]
    p = Problem(scaled, y, bound, positive, slopes, facts.norm * unit, facts.orthogonal, sizes)
    best = judge(p, np.zeros(A.shape[1]), y, y)
    if p.top(slopes) <= 1e-13 * p.norm:  # nothing is nearer than zero
        return L1Recovery(best.coef, 0.0, 0.0, 1, bound == 0, bound == 0)
    for a, lam in _message_passing(p):
        best = min(best, _sharpen(p, a, lam, tol), key=_badness)
        if _badness(best) <= tol or spent():
            break
    reachable = True
    if _badness(best) > tol and last_resort and not spent():
        near = _nearest(p)
        if near is not None and bound == 0:
            p = p._replace(y=near)
        elif near is not None:
            reachable = float(np.linalg.norm(y - near)) <= bound * (1 + 1e-9)
        if reachable and A.shape[0] <= BY_COLUMNS:
            found, p, reachable = _by_columns(p, best, tol, spent)
            best = min(best, found, key=_badness)
        if reachable and _badness(best) > tol:
            best = min(best, _primal_dual(p, tol, spent), key=_badness)
    done = reachable and _badness(best) <= tol
    return L1Recovery(unit * best.coef, best.gap, best.missed, used // 2, done, reachable)


class Found(NamedTuple):
    """Coefficients and dual variable, relative duality gap, and violation of the bound."""

    coef: Array
    dual: Array
    gap: float
    missed: float


def _badness(found: Found) -> float:
    return found.gap + found.missed


def judge(p: Problem, coef: Array, dual: Array, rest: Array | None = None) -> Found:
    """Relative duality gap, and violation of the bound.

    The dual is ``max y'v - bound |v|  s.t.  |A'v|_inf <= 1``, ``A'v <= 1`` for non-negative
    coefficients; `dual` is scaled to be feasible.
    """
    top = p.top(p.adjoint(dual))
    v = dual / top if top > 1 else dual
    primal = float(np.abs(coef).sum())
    value = float(p.y @ v) - p.bound * float(np.linalg.norm(v))
    rest = p.y - p.forward(coef) if rest is None else rest
    missed = max(0.0, float(np.linalg.norm(rest)) - p.bound)
    return Found(coef, v, abs(primal - value) / primal if primal > 0 else 1.0, missed)


# --- the first stage ---


def _message_passing(p: Problem, limit: int = 120) -> Iterator[tuple[Array, float]]:
    """Yield coefficients that get nearer, and the penalties that they are for.

    Orthogonal approximate message passing where rows are orthogonal [Ma and Ping 2017], else the
    first form [Donoho, Maleki and Montanari 2009]. The threshold is the noise times what is
    minimax for the sparsity seen; with a bound it is raised to where the residual meets it.
    """
    m, n = p.A.shape
    share = m / n
    x, rest = np.zeros(n), p.y  # rest = y - A x, or with the correction
    slopes = p.slopes
    # beyond this sparsity the least l1 norm is another one anyway
    most = 0.9 * share * float(l1_threshold(np.array([min(share, 1.0)]), positive=p.positive)[0])
    sparsity, factor = most, 1.0
    first, last, calm, nearest, idle = 0.0, np.inf, 0, np.inf, 0
    for step in range(limit):
        q = x + slopes
        size = float(np.linalg.norm(rest)) / np.sqrt(m)
        level = size
        if p.orthogonal:  # the noise of y comes back whole, the error of x without its own part
            level = float(np.sqrt((1.0 - share) * size**2 + share * p.bound**2 / m))
        tau = factor * minimax_threshold(sparsity, p.positive)
        lam = tau * level
        a = p.soft(q, lam)
        count = int(np.count_nonzero(a))
        by_chance = float(ndtr(-tau)) * (1 if p.positive else 2)
        sparsity = min(max((count / n - by_chance) / (1 - by_chance), 1 / n), most)
        if p.orthogonal:
            part = min(count / n, 0.9)
            x_new = (a - part * q) / (1 - part)
            Ax = p.forward(x_new)
            # A q = A x + (n / m) rest
            residual = p.y - ((1 - part) * Ax + part * (p.y - rest + rest / share))
            x, rest = x_new, p.y - Ax
        else:
            residual = p.y - p.forward(a)
            x, rest = a, residual + rest * min(count / m, 0.95)
        slopes = p.adjoint(rest)
        r = float(np.linalg.norm(residual))
        if step == 0:
            first = level
        if p.bound > 0:
            near = r / p.bound
            if near < 1.0 or factor > 1.0:
                factor = min(max(factor * near**-0.7, 1.0), 20.0)
            calm = calm + 1 if abs(near - 1) < 0.1 else 0
            if (calm >= 3 and (calm - 3) % 8 == 0) or (step + 1) % 30 == 0:
                yield a, lam * (1 - min(count / m, 0.9))
        elif level <= min(0.1 * first, last / 4):
            last = level
            yield a, lam
        if r < 0.98 * nearest:
            nearest, idle = r, 0
        idle += 1
        if not np.isfinite(r) or r > 3 * float(np.linalg.norm(p.y)) or idle > 25:
            break
        if r <= 1e-14:
            break


def minimax_threshold(sparsity: float, positive: bool) -> float:
    """Threshold, in units of the noise, of least worst-case risk for a share of non-zeros."""
    t = np.linspace(0.2, 4.5, 87)
    density = np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)
    sides = 1 if positive else 2
    tail = (1 + t * t) * ndtr(-t) - t * density
    risk = sparsity * (1 + t * t) + (1 - sparsity) * sides * tail
    return float(t[np.argmin(risk)])


# --- the second stage ---


def _sharpen(p: Problem, a: Array, lam: float, tol: float) -> Found:
    """Return the solution that a support and signs near the right ones lead to."""
    if p.bound > 0:
        return _within_bound(p, a, lam, tol)
    return _equality(p, a, tol)


def _nothing(p: Problem) -> Found:
    return Found(np.zeros(p.A.shape[1]), np.zeros(len(p.y)), np.inf, np.inf)


def _equality(p: Problem, a: Array, tol: float) -> Found:
    """Coefficients on a support that holds the right one, and a dual variable for their signs.

    Least squares on the support; what it leaves over tells columns that were missed.
    """
    m = len(p.y)
    coef, left = a, np.inf
    for _ in range(8):
        support = _largest(coef, m // 2)
        coef, rest = _fit(p, support, coef)
        size = float(np.linalg.norm(rest))
        if size <= 1e-12:
            break
        if size > 0.5 * left or support.size == 0:
            return _nothing(p)
        left = size
        coef = p.soft(coef + p.adjoint(rest), 2.0 * size / float(np.sqrt(m)))
    else:
        return _nothing(p)
    kept = np.flatnonzero(np.abs(coef) > 1e-9 * np.abs(coef).max())
    if p.positive and coef[kept].min(initial=0.0) < 0:
        return _nothing(p)
    if kept.size < support.size:
        coef, rest = _fit(p, kept, coef)
    dual = _dual_of_signs(p, kept, np.sign(coef[kept]), tol)
    return judge(p, coef, dual, rest)


def _largest(a: Array, most: int) -> Array:
    """Places of the largest magnitudes that are not zero."""
    places = np.flatnonzero(a)
    if places.size > most:
        size = np.abs(a[places])
        places = places[size >= np.partition(size, -most)[-most]]
    return places


def _fit(p: Problem, support: Array, start: Array) -> tuple[Array, Array]:
    """Least squares on a support by conjugate gradients, and the residual.

    It ends early where what is left is outside of the span.
    """
    full = np.zeros(p.A.shape[1])
    full[support] = start[support]
    r = p.y - p.forward(full)
    g = p.adjoint(r)[support]
    d, v, gg = g.copy(), full[support], float(g @ g)
    least, idle = np.inf, 0
    for _ in range(300):
        rr = float(r @ r)
        least, idle = (rr, 0) if rr < 0.5 * least else (least, idle + 1)
        # the share of a residual in the span of well-conditioned columns is not that small
        if rr <= 1e-30 or gg == 0 or (idle >= 3 if rr <= 1e-26 else gg <= 0.03 * rr):
            break
        full[support] = d
        t = p.forward(full)
        curve = float(t @ t)
        if curve <= EPS * float(d @ d):
            break
        length = gg / curve
        v += length * d
        r -= length * t
        g = p.adjoint(r)[support]
        former, gg = gg, float(g @ g)
        d = g + (gg / former) * d
    full[support] = v
    return full, r


def _dual_of_signs(p: Problem, support: Array, signs: Array, tol: float) -> Array:
    """Least ``|v|`` with ``A_j'v = sign_j`` on the support and ``|A_j'v| <= 1`` elsewhere.

    Its dual is ``min 1/2 |A h|^2 + sign'h_I + |h|_1 elsewhere`` with ``v = -A h``. Newton: columns
    beyond one enter, those whose h has got the wrong sign leave.
    """
    n = p.A.shape[1]
    h = np.zeros(n)
    inside = np.zeros(n, bool)
    inside[support] = True
    active, wanted = support, signs
    accuracy, dual = 1e-3, np.zeros(len(p.y))
    for _ in range(40):
        if active.size > 0.9 * len(p.y):
            break
        goal = accuracy * float(np.sqrt(active.size))
        values = _normal_equations(p, active, -wanted, h[active], goal)
        h[:] = 0.0
        h[active] = values
        dual = -p.forward(h)
        slopes = p.adjoint(dual)
        sign = np.zeros(n)
        sign[active] = wanted
        beyond = p.beyond(slopes, 1 + 0.1 * tol) & (sign == 0)
        wrong = (h * sign < 0) & ~inside
        change = np.count_nonzero(beyond) + np.count_nonzero(wrong)
        if change == 0 and accuracy <= 1e-12:
            break
        few = change < 0.01 * active.size
        accuracy = 1e-12 if change < 3 else 1e-6 if few else 1e-3
        sign[wrong] = 0.0
        sign[beyond] = np.sign(slopes[beyond])
        active = np.flatnonzero(sign)
        wanted = sign[active]
    return dual


def _within_bound(p: Problem, a: Array, lam: float, tol: float) -> Found:
    """Newton's method on the support of the lasso whose residual meets the bound.

    On a support I with signs s the lasso is ``fitted - lam inner`` with least squares `fitted` and
    ``inner = inv(A_I'A_I) s``, so that the penalty follows from the bound. Coefficients that
    change sign leave, columns whose slope is beyond the penalty enter.
    """
    m, n = p.A.shape
    sign, coef, inner = np.sign(a), a.copy(), np.zeros(n)
    best, accuracy, idle, least, change = _nothing(p), 3e-2, 0, n + 1, n
    for _ in range(40):
        active = np.flatnonzero(sign)
        if not 0 < active.size <= 0.9 * m:
            break
        signs, length = sign[active], float(np.sqrt(active.size))
        wanted = p.slopes[active] - lam * signs
        goal = accuracy * lam * length
        coef[active] = _normal_equations(p, active, wanted, coef[active], goal)
        # the penalty is found again and again: its direction need not be exact
        goal = max(accuracy, 0.01 if change else 1e-4) * length
        inner[active] = _normal_equations(p, active, signs, inner[active], goal)
        # along the piece to where the residual meets the bound
        residual, direction = p.y - p.forward(coef), p.forward(inner)
        move = _meeting(residual, direction, p.bound, -0.9 * lam)
        met = move is not None
        move = -0.5 * lam if move is None else move
        lam += move
        coef -= move * inner
        residual += move * direction
        slopes = p.adjoint(residual)
        wrong = coef * sign < 0
        beyond = p.beyond(slopes, lam * (1 + 1e-10)) & (sign == 0)
        change = int(np.count_nonzero(wrong) + np.count_nonzero(beyond))
        if met:
            best = min(best, _judged(p, coef.copy(), residual, slopes), key=_badness)
            if _badness(best) <= 0.05 * tol or (change == 0 and abs(move) <= 1e-13 * lam):
                break
        idle = idle + 1 if change >= least else 0
        least = min(least, change)
        if idle >= 5:
            break
        accuracy = max(min(0.3 * accuracy, 0.1 * change / active.size), 0.003 * tol)
        sign[wrong] = 0.0
        sign[beyond] = np.sign(slopes[beyond])
        coef[sign == 0], inner[sign == 0] = 0.0, 0.0
    return best


def _meeting(rest: Array, direction: Array, bound: float, least: float) -> float | None:
    """Largest t with ``|rest + t direction| = bound``; None where that is not above `least`."""
    a, b = float(direction @ direction), float(rest @ direction)
    inside = b * b - a * (float(rest @ rest) - bound**2)
    if inside < 0 or a == 0:
        return None
    t = (-b + float(np.sqrt(inside))) / a
    return t if t > least else None


def _judged(p: Problem, coef: Array, residual: Array, slopes: Array) -> Found:
    """Gap with the residual as dual variable, of which the slopes are known."""
    top = p.top(slopes)
    size = float(np.linalg.norm(residual))
    primal = float(np.abs(coef).sum())
    if top <= 0 or primal == 0:
        return _nothing(p)
    value = (float(p.y @ residual) - p.bound * size) / top
    return Found(coef, residual / top, abs(primal - value) / primal, max(0.0, size - p.bound))


def _normal_equations(
    p: Problem, support: Array, wanted: Array, start: Array, goal: float
) -> Array:
    """Solve ``A_I' A_I v = wanted`` by conjugate gradients, up to an error of norm `goal`."""
    full = np.zeros(p.A.shape[1])

    def times(v: Array) -> Array:
        full[support] = v
        return p.adjoint(p.forward(full))[support]

    v = start.copy()
    r = wanted - times(v) if v.any() else wanted.copy()
    d, rr = r.copy(), float(r @ r)
    for _ in range(250):
        if rr <= goal**2:
            break
        t = times(d)
        curve = float(d @ t)
        if curve <= EPS * float(d @ d):  # columns that depend on each other
            break
        length = rr / curve
        v += length * d
        r -= length * t
        former, rr = rr, float(r @ r)
        d = r + (rr / former) * d
    return v


# --- the last stages ---


def _nearest(p: Problem) -> Array | None:
    """Nearest measurements that coefficients of any sign give; None where these are, about.

    Conjugate gradients on the normal equations. None also where they do not settle.
    """
    r, fitted = p.y, np.zeros_like(p.y)
    g = p.slopes
    d, gg = g.copy(), float(g @ g)
    for _ in range(min(2 * min(p.A.shape) + 50, 1000)):
        t = p.forward(d)
        curve = float(t @ t)
        if curve <= 0:
            break
        fitted = fitted + (gg / curve) * t
        r = p.y - fitted
        g = p.adjoint(r)
        size = float(np.linalg.norm(r))
        former, gg = gg, float(g @ g)
        if size <= 1e-11:
            return None
        if np.sqrt(gg) <= 1e-11 * p.norm * size:
            return fitted
        d = g + (gg / former) * d
    return fitted if np.sqrt(gg) <= 1e-8 * p.norm * float(np.linalg.norm(r)) else None


def _by_columns(
    p: Problem, start: Found, tol: float, spent: Callable[[], bool]
) -> tuple[Found, Problem, bool]:
    """Solve the problem with some columns; those that violate the dual constraint come in.

    Where equations have no non-negative solution the problem becomes the nearest that has. Also
    tells whether the bound can be kept.
    """
    from skmoderndata._solvers.recovery.basis_pursuit import (  # it calls `least_l1`
        basis_pursuit,
        nearest,
    )

    m, n = p.A.shape
    ranked = np.argsort(-p.slopes if p.positive else -np.abs(p.slopes), kind="stable")
    chosen = np.union1d(ranked[: 2 * m], np.flatnonzero(start.coef)[: 2 * m])
    columns, best, moved = columns_of(p.A, chosen), _nothing(p), False
    for _ in range(40):
        result = basis_pursuit(
            columns, p.y, bound=p.bound, positive=p.positive, tol=0.1 * tol
        )  # fmt: skip
        if result is not None and result.residual > p.bound + tol:
            result = None
        if result is None:
            near = nearest(columns, p.y[:, None], positive=p.positive)[:, 0]
            rest = p.y - near
            slopes, limit = p.adjoint(rest), 1e-9 * float(np.linalg.norm(rest))
        else:
            coef = np.zeros(n)
            coef[chosen] = result.coef
            best = min(best, judge(p, coef, result.dual), key=_badness)
            if _badness(best) <= tol or spent():
                break
            slopes, limit = p.adjoint(result.dual), 1 + 0.1 * tol
        beyond = p.beyond(slopes, limit)
        beyond[chosen] = False
        new = np.flatnonzero(beyond)
        if new.size == 0:
            if result is not None:
                break
            if p.bound > 0:
                return best, p, float(np.linalg.norm(rest)) <= p.bound * (1 + 1e-9)
            if moved:
                break
            p, moved = p._replace(y=near), True
            if not np.any(near):
                return Found(np.zeros(n), near, 0.0, 0.0), p, True
            continue
        new = new[np.argsort(-np.abs(slopes[new]), kind="stable")[:m]]
        columns = np.hstack([columns, columns_of(p.A, new)])
        chosen = np.append(chosen, new)
        if len(chosen) > 8 * m:
            break
    return best, p, True


def _primal_dual(p: Problem, tol: float, spent: Callable[[], bool]) -> Found:
    """Primal-dual iteration [Chambolle and Pock 2011], over-relaxed, step lengths balanced.

    Where columns are of unlike norms each has its own step, as if they had been brought to one.
    Its supports go to Newton's method now and then, and where columns are few to factors.
    """
    m, n = p.A.shape
    a, q = np.zeros(n), np.zeros(m)
    unit: Any = 1.0
    norm = p.norm
    if p.sizes is not None:
        unit = 1.0 / p.sizes
        norm = operator_norm(
            Operator(
                p.A.shape, lambda X: p.A.forward(X * unit), lambda Y: p.A.adjoint(Y) * unit
            )
        )  # fmt: skip
    # the lengths of the solution and of its dual are about as one to the root of the non-zeros
    ratio = 0.3 * float(np.linalg.norm(p.slopes * unit)) / norm / np.sqrt(m)
    adapt, best = 0.5, _nothing(p)
    former = np.zeros(0, np.int64)
    step, following = 0, 200
    while not spent():
        step += 1
        tau, sigma = ratio / norm, 0.99 / (ratio * norm)
        each = tau * unit * unit
        new_a = p.soft(a - each * p.adjoint(q), each)
        w = q + sigma * (p.forward(2 * new_a - a) - p.y)
        new_q = w
        if p.bound > 0:
            size = float(np.linalg.norm(w))
            new_q = w * max(0.0, 1 - sigma * p.bound / size) if size > 0 else w
        moved = float(np.linalg.norm((new_a - a) / unit)) / tau
        turned = float(np.linalg.norm(new_q - q)) / sigma
        a, q = a + 1.8 * (new_a - a), q + 1.8 * (new_q - q)
        if step % 10 == 0 and adapt > 0.01:
            if moved > 20 * norm * turned:
                ratio, adapt = ratio / (1 - adapt), 0.95 * adapt
            elif norm * turned > 20 * moved:
                ratio, adapt = ratio * (1 - adapt), 0.95 * adapt
        if step % 50 and not spent():
            continue
        active = np.flatnonzero(new_a)
        settled = np.array_equal(active, former) or spent()
        former = active
        if 0 < active.size <= m and float(m) * active.size**2 <= FACTORED:
            if settled or 2 * active.size <= m:
                best = min(best, _completed(p, active, np.sign(new_a[active])), key=_badness)
        if step >= following or spent():
            following = 2 * step
            best = min(best, _sharpen(p, new_a, _penalty(p, new_a), tol), key=_badness)
        best = min(best, judge(p, new_a, -q), key=_badness)
        if _badness(best) <= tol:
            break
    if _badness(best) <= tol:  # without the rest of the iteration, where that is not worse
        active = np.flatnonzero(np.abs(best.coef) > 1e-6 * np.abs(best.coef).max())
        if active.size <= m and float(m) * active.size**2 <= FACTORED:
            best = min(best, _factored(p, active, np.sign(best.coef[active])), key=_badness)
    return best


def _penalty(p: Problem, a: Array) -> float:
    """Penalty of the lasso that coefficients are a solution of, about."""
    return max(p.top(p.adjoint(p.y - p.forward(a))), EPS)


def _completed(p: Problem, active: Array, signs: Array) -> Found:
    """Solution with a given support and signs, and what the support is short of.

    For equations that it does not meet the dual variable moves along the rest, which its columns
    do not feel, to where the next column meets the dual constraint; that comes in.
    """
    found = _factored(p, active, signs)
    for _ in range(20):
        if p.bound > 0 or found.gap > 1e-6 or found.missed <= 1e-12 or active.size >= len(p.y):
            break
        slopes = p.adjoint(found.dual)
        toward = p.adjoint(p.y - p.forward(found.coef))
        way = toward if p.positive else np.abs(toward)
        open_ = way > 1e-9 * float(np.abs(toward).max())
        open_[active] = False
        if not open_.any():
            break
        room = np.full(len(way), np.inf)
        room[open_] = (1 - np.sign(toward[open_]) * slopes[open_]) / way[open_]
        new = int(np.argmin(room))
        active, signs = np.append(active, new), np.append(signs, np.sign(toward[new]))
        further = _factored(p, active, signs)
        if _badness(further) > _badness(found):
            break
        found = further
    return found


def _factored(p: Problem, active: Array, signs: Array) -> Found:
    """Solution with a given support and signs, from a factor of its columns."""
    Q, R = linalg.qr(columns_of(p.A, active), mode="economic", check_finite=False)
    diagonal = np.abs(np.diagonal(R))
    if not diagonal.min() > 1e-11 * diagonal.max():
        return _nothing(p)
    fitted = linalg.solve_triangular(R, Q.T @ p.y, check_finite=False)
    half = linalg.solve_triangular(R, signs, trans="T", check_finite=False)
    dual, rest, end = Q @ half, p.y - Q @ (Q.T @ p.y), 0.0
    if p.bound > 0:
        room = p.bound**2 - float(rest @ rest)
        if room < 0:
            return _nothing(p)
        end = float(np.sqrt(room) / np.linalg.norm(dual))
        dual = dual + rest / end if end > 0 else dual
    coef = np.zeros(p.A.shape[1])
    inner = linalg.solve_triangular(R, half, check_finite=False)
    coef[active] = fitted - end * inner
    if p.positive and coef.min() < -1e-9 * np.abs(coef).max():
        return _nothing(p)
    return judge(p, np.maximum(coef, 0.0) if p.positive else coef, dual)
