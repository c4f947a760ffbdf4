"""Sparse codes of many signals by an l1 penalty, each with the certificate of its optimality.

``min over a  1/2 |x - a D|^2 + alpha sum_j |a_j|``, also with ``a >= 0``. Everything follows from
``b = D x``, the Gram matrix G, and ``c = b - G a``, the correlations of the residual.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._jit import jit
from skmoderndata._solvers.pursuit import (
    EPS,
    MAGNITUDE,
    _block_size,
    _largest,
    _low_bits,
    append_row,
    solve_chosen,
)
from skmoderndata._solvers.signal_blocks import (
    MAX_ITER,
    TOL,
    Atoms,
    Block,
    SparseCodes,
    by_pattern,
    code_in_blocks,
    dense_block,
    with_gram,
)

Array = np.ndarray[Any, np.dtype[Any]]

METHODS = ("feature_sign", "homotopy", "coordinate_descent")
SLACK = 1e-10  # relative excess of a correlation over alpha that counts as none


def lasso_codes(
    X: Array,
    atoms: Atoms,
    *,
    alpha: Array,
    method: str = "homotopy",
    positive: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    start: "Array | sparse.csr_array | None" = None,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha |a|_1`` for every signal, to a certified gap.

    - "feature_sign": guess the signs of the active coefficients, solve, search along the line to
      the solution; admit one atom at a time [Lee, Battle, Raina, Ng 2007].
    - "homotopy": follow the minimiser from large penalties down to `alpha`, atom by atom
      [Osborne, Presnell, Turlach 2000].
    - "coordinate_descent": one coefficient at a time over the active atoms and then over all; when
      the signs have settled the equations are solved exactly.

    A signal whose gap is above `tol` (in proportion to the objective) after the first two goes on
    with the third, where `max_iter` bounds the sweeps; one that is still above after that goes
    back to the first.

    Parameters
    ----------
    X : array of shape (N, n)
    atoms : Atoms
        Without repeated atoms (``prepare_atoms(distinct=True)``), or the split between them is
        arbitrary.
    alpha : array of shape (N,)
        Weight of the penalty for each signal, positive.
    start : array or CSR array of shape (N, k) or None
        Codes to start from ("feature_sign" and "coordinate_descent").
    mask : boolean array of shape (N, n) or None
        True where an entry counts.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: lasso_codes(
                signals, masked, alpha=alpha[rows], method=method, positive=positive, tol=tol,
                max_iter=max_iter, start=None if start is None else start[rows], n_jobs=n_jobs,
            ),
            renormalize=False,
        )  # fmt: skip
    atoms = with_gram(atoms)
    k = len(atoms.rows)
    transposed = np.ascontiguousarray(atoms.rows.T)
    kind = METHODS.index(method)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        m = len(x)
        codes = np.zeros((m, k)) if start is None else _dense(start[part])
        if start is not None:
            codes *= atoms.norms
        gap, residual_sq = np.zeros(m), np.zeros(m)
        stop, steps = np.zeros(m, np.int8), np.zeros(m, np.int32)
        _lasso(
            x @ transposed, atoms.gram, np.einsum("ij,ij->i", x, x), alpha[part], kind,
            start is not None, positive, tol, max_iter, codes, residual_sq, stop, gap, steps,
        )  # fmt: skip
        return dense_block(codes / atoms.norms, residual_sq, stop, gap, steps)

    return code_in_blocks(len(X), work, n_jobs=n_jobs, block=_block_size(X.shape[1]))


def proximal_codes(
    X: Array,
    atoms: Atoms,
    *,
    alpha: Array,
    groups: Array | None = None,
    positive: bool = False,
    accelerate: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    n_jobs: int | None = None,
    block: int = 256,
) -> SparseCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha sum_g sqrt(|g|) |a_g|`` by proximal gradient steps.

    Without `groups` (the number of the group of each atom) every atom is a group of its own: the
    lasso. All signals of a block take their steps together, each with its own momentum, which
    starts afresh when it points uphill [Beck, Teboulle 2009; O'Donoghue, Candes 2015]; with
    ``accelerate=False`` there is none (ISTA). A signal is done when its duality gap is at most
    `tol` of its objective. Other parameters as in `lasso_codes`.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: proximal_codes(
                signals, masked, alpha=alpha[rows], groups=groups, positive=positive,
                accelerate=accelerate, tol=tol, max_iter=max_iter, n_jobs=n_jobs,
            ),
            renormalize=False,
        )  # fmt: skip
    atoms = with_gram(atoms)
    k = len(atoms.rows)
    labels = np.arange(k) if groups is None else groups
    order = np.argsort(labels, kind="stable")
    inverse = np.argsort(order)
    start = np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))
    sizes = np.diff(np.append(start, k))
    gram = atoms.gram[np.ix_(order, order)]  # type: ignore[index]
    transposed = np.ascontiguousarray(atoms.rows[order].T)
    largest = _largest_eigenvalue(gram)
    grouped = _Groups(start, sizes, np.sqrt(sizes), positive)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        size = np.einsum("ij,ij->i", x, x)
        codes, gap, rest, steps, done = _proximal_gradient(
            x @ transposed, gram, size, alpha[part], largest, grouped, accelerate, tol, max_iter
        )
        stop = np.where(done, TOL, MAX_ITER).astype(np.int8)
        return dense_block(codes[:, inverse] / atoms.norms, rest, stop, gap, steps)

    return code_in_blocks(len(X), work, n_jobs=n_jobs, block=block)


def _dense(codes: "Array | sparse.csr_array") -> Array:
    """Copy as an array in double precision."""
    out: Array = codes.toarray() if sparse.issparse(codes) else codes
    return np.array(out, dtype=np.float64)


class _Groups(NamedTuple):
    """Atoms in groups, one after the other: where each begins, its size and its weight."""

    start: Array
    sizes: Array
    weights: Array
    positive: bool

    def norms(self, Z: Array) -> Array:
        """Norms of the groups of each row."""
        if len(self.start) == Z.shape[1]:
            return np.abs(Z)
        return np.sqrt(np.add.reduceat(Z * Z, self.start, axis=1))

    def shrink(self, Z: Array, threshold: Array) -> Array:
        """Proximal operator of the penalty, with one threshold for each row."""
        if self.positive:
            Z = np.maximum(Z, 0.0)
        norms = self.norms(Z)
        left = np.maximum(norms - threshold[:, None] * self.weights, 0.0)
        factor = np.divide(left, norms, out=np.zeros_like(norms), where=norms > 0)
        if len(self.start) != Z.shape[1]:
            factor = np.repeat(factor, self.sizes, axis=1)
        out: Array = Z * factor
        return out

    def dual_norm(self, C: Array) -> Array:
        """Largest ratio of the norm of a group to its weight, for each row."""
        if self.positive:
            C = np.maximum(C, 0.0)
        out: Array = (self.norms(C) / self.weights).max(axis=1)
        return out


def _largest_eigenvalue(gram: Array) -> float:
    """Upper bound on the largest eigenvalue, tight up to one part in a hundred."""
    k = len(gram)
    if k <= 2000:
        return float(np.linalg.eigvalsh(gram)[-1]) * (1 + 1e-12)
    v = np.abs(gram).sum(axis=1)
    for _ in range(100):
        v = gram @ (v / np.linalg.norm(v))
    return float(np.linalg.norm(v)) * 1.01


def _proximal_gradient(
    B: Array,
    gram: Array,
    size: Array,
    alpha: Array,
    largest: float,
    groups: _Groups,
    accelerate: bool,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, Array, Array, Array]:
    """Codes, relative gaps, squared residuals, steps and who is done; rows leave when done."""
    m, k = B.shape
    codes, gap, rest = np.zeros((m, k)), np.zeros(m), np.array(size)
    steps, done = np.zeros(m, np.int32), np.ones(m, np.bool_)
    # without an atom, or with a large penalty, zero is the answer
    active = np.flatnonzero(groups.dual_norm(B) > alpha)
    if largest <= 0:
        active = active[:0]
    A = np.zeros((active.size, k))
    Y, t = A, np.ones(active.size)
    done[active] = False
    b, lam = B[active], alpha[active]
    for step in range(1, max_iter + 1):
        if active.size == 0:
            break
        new = groups.shrink(Y - (Y @ gram - b) / largest, lam / largest)
        if accelerate:
            change = new - A
            uphill = np.einsum("ij,ij->i", Y - new, change) > 0
            t = np.where(uphill, 1.0, t)
            t_new = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
            momentum = np.where(uphill, 0.0, (t - 1) / t_new)
            Y, t = new + momentum[:, None] * change, t_new
        else:
            Y = new
        A = new
        if step % 10 == 0 or step == max_iter:
            C = b - A @ gram
            reached, primal, rr = _dual_gaps(A, b, C, size[active], lam, groups)
            ready = reached <= np.maximum(tol * primal, 4 * EPS * size[active])
            ready |= np.bool_(step == max_iter)
            rows = active[ready]
            codes[rows], rest[rows], steps[rows] = A[ready], rr[ready], step
            gap[rows] = np.maximum(reached[ready], 0.0) / primal[ready]
            done[rows] = reached[ready] <= np.maximum(tol * primal[ready], 4 * EPS * size[rows])
            stay = ~ready
            active, A, Y, t, b, lam = (
                active[stay], A[stay], Y[stay], t[stay], b[stay], lam[stay],
            )  # fmt: skip
    return codes, gap, rest, steps, done


def _dual_gaps(
    A: Array, b: Array, C: Array, size: Array, lam: Array, groups: _Groups
) -> tuple[Array, Array, Array]:
    """Duality gaps, objectives and squared residuals of the rows of A."""
    xr = size - np.einsum("ij,ij->i", A, b)
    rr = np.maximum(size - np.einsum("ij,ij->i", A, b + C), 0.0)
    primal = 0.5 * rr + lam * (groups.norms(A) * groups.weights).sum(axis=1)
    q = groups.dual_norm(C)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(rr > 0, xr / rr, 0.0)
        factor = np.where(q > 0, np.minimum(factor, lam / q), factor)
    factor = np.maximum(factor, 0.0)
    dual = factor * xr - 0.5 * factor**2 * rr
    return primal - dual, primal, rr


@jit
def _lasso(  # type: ignore[no-untyped-def]
    B, G, size, alpha, kind, warm, positive, tol, max_iter,
    out_codes, out_residual, out_stop, out_gap, out_steps,
):  # fmt: skip
    """Code one signal after the other; `out_codes` holds the start and receives the code."""
    m, k = B.shape
    L = np.empty((k, k))
    index = np.empty(k, np.int64)
    a, theta, z, right = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    c, v, score = np.empty(k), np.empty(k), np.empty(k)
    banned = np.zeros(k, np.bool_)
    for i in range(m):
        b = B[i]
        lam = alpha[i]
        code = out_codes[i]
        steps = 0
        t = 0
        if warm:
            for j in range(k):
                if code[j] != 0.0 and (code[j] > 0.0 or not positive):
                    index[t] = j
                    a[t] = code[j]
                    t += 1
                code[j] = 0.0
        stage = kind
        gap, primal, rest = 0.0, 0.0, 0.0
        for _ in range(3):
            if stage == 0:
                kept = t
                t = 0
                for s in range(kept):  # the independent ones of the atoms so far
                    j, value = index[s], a[s]
                    if append_row(G, L, index, t, j):
                        index[t] = j
                        a[t] = value
                        t += 1
                t, passes = _feature_sign(
                    G, b, lam, positive, L, index, a, theta, z, right, c, score, banned, t
                )
            elif stage == 1:
                t, passes = _homotopy(
                    G, b, lam, positive, L, index, a, theta, z, c, v, score, banned
                )
            else:
                t, passes = _coordinate_descent(
                    G, b, size[i], lam, positive, tol, max_iter, L, index, a, theta, z, right, c,
                    code, t,
                )  # fmt: skip
            steps += passes
            _correlations(G, b, index, a, t, c)
            gap, primal, rest = _gap(b, c, index, a, t, size[i], lam, positive)
            if gap <= max(tol * primal, 4 * EPS * size[i]):
                break
            # descent can be slow where atoms are alike, and is finished by solving for the signs
            stage = 0 if stage == 2 else 2
        for s in range(t):
            code[index[s]] = a[s]
        out_residual[i] = max(0.0, rest)
        out_gap[i] = max(0.0, gap) / primal if primal > 0.0 else 0.0
        out_stop[i] = TOL if gap <= max(tol * primal, 4 * EPS * size[i]) else MAX_ITER
        out_steps[i] = steps


@jit
def _correlations(G, b, index, a, t, c):  # type: ignore[no-untyped-def]
    """``c = b - G a``, four rows at a time."""
    k = b.shape[0]
    for j in range(k):
        c[j] = b[j]
    s = 0
    while s + 4 <= t:
        g0, g1, g2, g3 = G[index[s]], G[index[s + 1]], G[index[s + 2]], G[index[s + 3]]
        a0, a1, a2, a3 = a[s], a[s + 1], a[s + 2], a[s + 3]
        for j in range(k):
            c[j] -= (a0 * g0[j] + a1 * g1[j]) + (a2 * g2[j] + a3 * g3[j])
        s += 4
    while s < t:
        g0 = G[index[s]]
        a0 = a[s]
        for j in range(k):
            c[j] -= a0 * g0[j]
        s += 1


@jit
def _gap(b, c, index, a, t, size, lam, positive):  # type: ignore[no-untyped-def]
    """Duality gap, objective and squared residual of a code, from ``c = b - G a``.

    The dual point is the best multiple of the residual that is feasible.
    """
    xr, rr, penalty = size, size, 0.0
    for s in range(t):
        j = index[s]
        xr -= a[s] * b[j]
        rr -= a[s] * (b[j] + c[j])
        penalty += abs(a[s])
    rr = max(rr, 0.0)
    largest = 0.0
    if positive:
        for j in range(c.shape[0]):
            largest = max(largest, c[j])
    else:
        for j in range(c.shape[0]):
            largest = max(largest, abs(c[j]))
    primal = 0.5 * rr + lam * penalty
    if rr == 0.0:
        return primal, primal, rr
    factor = xr / rr
    if largest > 0.0:
        factor = min(factor, lam / largest)
    factor = max(factor, 0.0)
    dual = factor * xr - 0.5 * factor * factor * rr
    return primal - dual, primal, rr


@jit
def _solve_signs(L, index, t, b, lam, theta, right, z):  # type: ignore[no-untyped-def]
    """Solve ``G_II z = b_I - lam theta`` with the Cholesky factor."""
    for s in range(t):
        total = b[index[s]] - lam * theta[s]
        for q in range(s):
            total -= L[s, q] * z[q]
        z[s] = total / L[s, s]
    for s in range(t - 1, -1, -1):
        total = z[s]
        for q in range(s + 1, t):
            total -= L[q, s] * z[q]
        z[s] = total / L[s, s]


@jit
def _drop(G, L, index, t, place):  # type: ignore[no-untyped-def]
    """Remove the atom at `place` from index and factor; returns how many are left.

    The rows of the factor below are rebuilt. The caller moves what belongs to the atoms.
    """
    for s in range(place, t - 1):
        j = index[s + 1]
        append_row(G, L, index, s, j)
        index[s] = j
    return t - 1


@jit
def _feature_sign(  # type: ignore[no-untyped-def]
    G, b, lam, positive, L, index, a, theta, z, right, c, score, banned, t
):
    """Feature-sign search from the `t` atoms given; returns their new number and the passes."""
    k = b.shape[0]
    low = _low_bits(k)
    bits = score.view(np.int64)
    scale = 0.0
    for j in range(k):
        scale = max(scale, abs(b[j]))
    enough = lam * (1 + SLACK) + 8 * EPS * scale
    fresh = -1
    solved = t == 0
    n_banned = 0
    for s in range(t):
        theta[s] = 1.0 if a[s] > 0.0 else -1.0
    limit = 20 * k + 50
    passes = 0
    for _ in range(limit):
        passes += 1
        if solved:
            _correlations(G, b, index, a, t, c)
            if positive:
                for j in range(k):
                    score[j] = max(c[j], 0.0)
            else:
                for j in range(k):
                    score[j] = c[j]
            for s in range(t):
                score[index[s]] = 0.0
            if n_banned > 0:
                for j in range(k):
                    if banned[j]:
                        score[j] = 0.0
            new = _largest(bits, k, low)
            if abs(score[new]) <= enough:
                break
            sign = 1.0 if c[new] > 0.0 else -1.0
            if append_row(G, L, index, t, new):
                index[t] = new
                a[t] = 0.0
                theta[t] = sign
                fresh = new
                t += 1
            else:
                # in the span: move along the direction that leaves the signal as it is
                column = G[new]
                solve_chosen(L, index, t, column, z)
                length, place = np.inf, -1
                for s in range(t):
                    direction = -z[s] * sign
                    if a[s] * direction < 0.0 and -a[s] / direction < length:
                        length, place = -a[s] / direction, s
                if place < 0:
                    banned[new] = True
                    n_banned += 1
                    continue
                for s in range(t):
                    a[s] -= length * sign * z[s]
                t = _drop(G, L, index, t, place)
                for s in range(place, t):
                    a[s] = a[s + 1]
                    theta[s] = theta[s + 1]
                if append_row(G, L, index, t, new):
                    index[t] = new
                    a[t] = length * sign
                    theta[t] = sign
                    t += 1
                fresh = -1
            solved = False
        _solve_signs(L, index, t, b, lam, theta, right, z)
        crossing = False
        for s in range(t):
            crossing = crossing or z[s] * theta[s] <= 0.0
        if not crossing:
            for s in range(t):
                a[s] = z[s]
            solved = True
            if n_banned > 0:
                for j in range(k):
                    banned[j] = False
                n_banned = 0
            continue
        if fresh >= 0 and t > 0 and index[t - 1] == fresh and z[t - 1] * theta[t - 1] <= 0.0:
            # against theory, hence rounding
            t -= 1
            banned[fresh] = True
            n_banned += 1
            fresh = -1
            solved = True
            continue
        fresh = -1
        # the lowest of the solution and of the points where a coefficient changes sign
        slope, curve = 0.0, 0.0
        for s in range(t):
            right[s] = z[s] - a[s]
        for s in range(t):
            j = index[s]
            total = b[j]
            for q in range(t):
                total -= G[j, index[q]] * a[q]
            slope += right[s] * total
            curve += right[s] * (total - lam * theta[s])
        best, best_value = 0.0, 0.0
        for s in range(t):
            best_value += lam * abs(a[s])
        start_value = best_value
        for candidate in range(t + 1):
            if candidate == t:
                length = 1.0
            else:
                if a[candidate] == 0.0 or a[candidate] * z[candidate] > 0.0:
                    continue
                length = a[candidate] / (a[candidate] - z[candidate])
            value = length * (0.5 * length * curve - slope)
            for s in range(t):
                value += lam * abs(a[s] + length * right[s])
            if value < best_value:
                best, best_value = length, value
        if best == 0.0 or best_value >= start_value - 1e-15 * abs(start_value):
            # no descent left but for rounding
            break
        for s in range(t):
            moved = a[s] + best * right[s]
            if abs(moved) <= 1e-14 * (abs(a[s]) + abs(z[s])):
                moved = 0.0
            a[s] = moved
        s = 0
        while s < t:
            if a[s] == 0.0 or (positive and a[s] < 0.0):
                t = _drop(G, L, index, t, s)
                for q in range(s, t):
                    a[q] = a[q + 1]
            else:
                s += 1
        for s in range(t):
            theta[s] = 1.0 if a[s] > 0.0 else -1.0
        if n_banned > 0:
            for j in range(k):
                banned[j] = False
            n_banned = 0
        solved = t == 0
    if n_banned > 0:
        for j in range(k):
            banned[j] = False
    return t, passes


@jit
def _homotopy(  # type: ignore[no-untyped-def]
    G, b, lam, positive, L, index, a, theta, z, c, v, score, banned
):
    """Follow the minimiser from the largest penalty down to `lam`; returns (atoms, events)."""
    k = b.shape[0]
    low = _low_bits(k)
    bits = score.view(np.int64)
    keep = MAGNITUDE & ~low
    for j in range(k):
        c[j] = b[j]
        score[j] = max(b[j], 0.0) if positive else b[j]
    new = _largest(bits, k, low)
    level = abs(score[new])
    if level <= lam:
        return 0, 1
    t = 0
    n_banned = 0
    limit = 8 * k + 50
    last = -1
    joining = True
    events = 0
    for _ in range(limit):
        events += 1
        if joining:
            if append_row(G, L, index, t, new):
                index[t] = new
                a[t] = 0.0
                theta[t] = 1.0 if c[new] > 0.0 else -1.0
                t += 1
            else:
                banned[new] = True
                n_banned += 1
        if t == 0:
            break
        # direction of the coefficients and of the correlations as the penalty falls
        for s in range(t):
            total = theta[s]
            for q in range(s):
                total -= L[s, q] * z[q]
            z[s] = total / L[s, s]
        for s in range(t - 1, -1, -1):
            total = z[s]
            for q in range(s + 1, t):
                total -= L[q, s] * z[q]
            z[s] = total / L[s, s]
        for j in range(k):
            v[j] = 0.0
        s = 0
        while s + 4 <= t:
            g0, g1, g2, g3 = G[index[s]], G[index[s + 1]], G[index[s + 2]], G[index[s + 3]]
            a0, a1, a2, a3 = z[s], z[s + 1], z[s + 2], z[s + 3]
            for j in range(k):
                v[j] += (a0 * g0[j] + a1 * g1[j]) + (a2 * g2[j] + a3 * g3[j])
            s += 4
        while s < t:
            g0 = G[index[s]]
            a0 = z[s]
            for j in range(k):
                v[j] += a0 * g0[j]
            s += 1
        # an inactive correlation meets the level
        if positive:
            for j in range(k):
                below = 1.0 - v[j]
                score[j] = max(level - c[j], 0.0) / below if below > 1e-14 else np.inf
        else:
            for j in range(k):
                up, down = max(level - c[j], 0.0), max(level + c[j], 0.0)
                rise, fall = 1.0 - v[j], 1.0 + v[j]
                # which of up/rise and down/fall comes first, without a second division
                first = up * fall < down * rise
                over = up if first else down
                under = rise if first else fall
                score[j] = over / under if under > 1e-14 else np.inf
        for s in range(t):
            score[index[s]] = np.inf
        if last >= 0:
            score[last] = np.inf
        if n_banned > 0:
            for j in range(k):
                if banned[j]:
                    score[j] = np.inf
        lowest = MAGNITUDE
        for j in range(k):
            key = (bits[j] & keep) | j
            lowest = min(lowest, key)
        new = lowest & low
        length = score[new] if new < k else np.inf
        # an active coefficient meets zero
        leaving = -1
        for s in range(t):
            if z[s] * theta[s] < 0.0:
                zero = -a[s] / z[s]
                if zero < length:
                    length, leaving = max(zero, 0.0), s
        done = length >= level - lam
        if done:
            length = level - lam
        for s in range(t):
            a[s] += length * z[s]
        level -= length
        if done:
            break
        for j in range(k):
            c[j] -= length * v[j]
        last = -1
        joining = leaving < 0
        if leaving >= 0:
            last = index[leaving]
            t = _drop(G, L, index, t, leaving)
            for s in range(leaving, t):
                a[s] = a[s + 1]
                theta[s] = theta[s + 1]
            if n_banned > 0:
                for j in range(k):
                    banned[j] = False
                n_banned = 0
    if n_banned > 0:
        for j in range(k):
            banned[j] = False
    # at the end the equations are solved afresh
    _solve_signs(L, index, t, b, lam, theta, v, z)
    agree = True
    for s in range(t):
        agree = agree and z[s] * theta[s] > 0.0
    if agree:
        for s in range(t):
            a[s] = z[s]
    return t, events


@jit
def _coordinate_descent(  # type: ignore[no-untyped-def]
    G, b, size, lam, positive, tol, max_iter, L, index, a, theta, z, right, c, code, t
):
    """Coordinate descent from the `t` atoms given; `code` is work space, zero before and after.

    Returns the number of atoms and the sweeps.
    """
    k = b.shape[0]
    for s in range(t):
        code[index[s]] = a[s]
    _correlations(G, b, index, a, t, c)
    gap, primal, _ = _gap(b, c, index, a, t, size, lam, positive)
    sweeps = 0
    inner = 0
    former = np.empty(k)
    every = True
    n_active = 0
    active = np.empty(k, np.int64)
    while sweeps < max_iter:
        sweeps += 1
        moved = 0.0
        changed = False
        n_visit = k if every else n_active
        for visit in range(n_visit):
            j = visit if every else active[visit]
            norm = G[j, j]
            if norm <= 0.0:
                continue
            old = code[j]
            u = c[j] + norm * old
            value = 0.0
            if u > lam:
                value = (u - lam) / norm
            elif u < -lam and not positive:
                value = (u + lam) / norm
            if value != old:
                change = value - old
                if (value > 0.0) != (old > 0.0) or (value < 0.0) != (old < 0.0):
                    changed = True
                g = G[j]
                code[j] = value
                moved = max(moved, change * change * norm)
                for q in range(k):
                    c[q] -= change * g[q]
        if every or changed:
            n_active = 0
            for j in range(k):
                if code[j] != 0.0:
                    active[n_active] = j
                    n_active += 1
        inner += 1
        settled = moved <= 1e-3 * tol * primal / max(1, n_active)
        if not every and not settled and (changed or inner % 10 != 0):
            continue
        # signs at rest: solve for them, and look at the gap after a full sweep
        t = 0
        for s in range(n_active):
            index[s] = active[s]
            a[s] = code[active[s]]
        _correlations(G, b, index, a, n_active, c)
        t = n_active
        gap, primal, _ = _gap(b, c, index, a, t, size, lam, positive)
        if gap <= max(tol * primal, 4 * EPS * size):
            break
        if not changed:
            independent = True
            for s in range(t):
                theta[s] = 1.0 if a[s] > 0.0 else -1.0
                if independent:
                    independent = append_row(G, L, index, s, index[s])
            if independent:
                _solve_signs(L, index, t, b, lam, theta, right, z)
                agree = True
                for s in range(t):
                    agree = agree and z[s] * theta[s] > 0.0
                if agree:
                    for s in range(t):
                        former[s] = a[s]
                        a[s] = z[s]
                    _correlations(G, b, index, a, t, c)
                    new_gap, new_primal, _ = _gap(b, c, index, a, t, size, lam, positive)
                    if new_primal <= primal:
                        gap, primal = new_gap, new_primal
                        for s in range(t):
                            code[index[s]] = a[s]
                        if gap <= max(tol * primal, 4 * EPS * size):
                            break
                    else:
                        for s in range(t):
                            a[s] = former[s]
                        _correlations(G, b, index, a, t, c)
        every = not every or settled
    t = 0
    for j in range(k):
        if code[j] != 0.0:
            index[t] = j
            a[t] = code[j]
            t += 1
            code[j] = 0.0
    return t, sweeps
