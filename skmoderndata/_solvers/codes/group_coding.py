"""Sparse codes of many signals by a penalty on the norms of groups of atoms, certified.

``min over a  1/2 |x - a D|^2 + alpha sum_g w_g |a_g|`` with ``w_g = sqrt(|g|)``, also with
``a >= 0``. The penalty does not change when the coefficients of a group are rotated: each group of
atoms is replaced by its principal axes, of which there are no more than the signals have entries,
and which are orthogonal. For a given remainder the coefficients of a group then solve one equation
in one unknown, their norm.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.products import EPS
from skmoderndata._solvers.codes.products import inner as inner_product
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    TOL,
    Atoms,
    Block,
    SparseCodes,
    by_pattern,
    code_in_blocks,
    dense_block,
)

Array = np.ndarray[Any, np.dtype[Any]]

PRICE = 0.5  # work of descent between Newton steps, in proportion to that of a step
DUAL_STEPS, POSITIVE_STEPS = 5, 20
RIDGE, LONGEST = 1e-11, 8.0  # on the diagonal, in proportion; largest relative change
WIDE = 16  # axes a group, on average, from which on signals descend together
FEW, LEAST = 8, 12  # signals from which on sweeps together pay, and sweeps made anyway
SHARE = 8  # one sweep together for so many dimensions: what a Newton step would cost
ENOUGH = 2**22  # entries of the second moments of all groups up to which they are kept


class Axes(NamedTuple):
    """Groups of atoms made ready: group g is the rows ``edges[g]:edges[g + 1]`` of `rows`.

    Without `positive` the rows of a group are orthogonal, and ``turn`` leads back to its atoms:
    ``a_g = sum_q u_q turn[q]``, where the rows of `turn` of a group, of the length of the group,
    lie one after the other from ``turn_at[g]`` on. `members` are the atoms, group after group,
    from ``first[g]`` on. `basis` (n, n') spans the atoms, if that is less than all of the space:
    rows are coordinates in it. `moments[g]` is ``D_g' D_g``; it has no entries where all of them
    would be too many.
    """

    rows: Array
    columns: Array
    edges: Array
    sizes_sq: Array
    weights: Array
    largest: Array
    inner: Array
    inner_at: Array
    turn: Array
    turn_at: Array
    members: Array
    first: Array
    basis: Array | None
    moments: Array


class Found(NamedTuple):
    """What is known of the codes of a block: see `SparseCodes`."""

    residual_sq: Array
    stop: Array
    gap: Array
    n_iter: Array


def group_lasso_codes(
    X: Array,
    atoms: Atoms,
    *,
    alpha: Array,
    groups: Array,
    positive: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    start: "Array | sparse.csr_array | None" = None,
    axes: "Axes | None" = None,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha sum_g sqrt(|g|) |a_g|`` for every signal.

    Block coordinate descent over the groups that the residual asks for, each solved exactly, and
    Newton steps on those that are not zero where descent is slow. With `positive` a group takes
    proximal gradient steps in place of the exact solution. A signal is done when its duality gap
    is at most `tol` of its objective; no inner products of all atoms are needed.

    Parameters
    ----------
    X : array of shape (N, n)
    atoms : Atoms
    alpha : array of shape (N,)
        Weight of the penalty for each signal, positive.
    groups : integer array of shape (k,)
        Number of the group of each atom, from 0 on.
    max_iter : int
        Most sweeps and Newton steps for a signal.
    mask : boolean array of shape (N, n) or None
        True where an entry counts.
    start : array or CSR array of shape (N, k) or None
        Codes to start from.
    axes : Axes or None
        What `principal_axes` makes of the atoms, for signals without missing entries.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: group_lasso_codes(
                signals, masked, alpha=alpha[rows], groups=groups, positive=positive, tol=tol,
                max_iter=max_iter, start=None if start is None else start[rows], n_jobs=n_jobs,
            ),
            renormalize=False, gram=False,
        )  # fmt: skip
    if axes is None:
        axes = principal_axes(atoms.rows, groups, positive=positive)
    ready = axes
    k = len(atoms.rows)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        m = len(x)
        outside = np.zeros(m)
        if ready.basis is not None:
            inside = x @ ready.basis
            outside = np.square(x - inside @ ready.basis.T).sum(axis=1)
            x = inside
        A = np.zeros((m, len(ready.rows)))
        if start is not None:
            given: Array = start[part].toarray() if sparse.issparse(start) else start[part]
            _turn(given * atoms.norms, ready, positive, A)
        found = Found(np.zeros(m), np.zeros(m, np.int8), np.zeros(m), np.zeros(m, np.int32))
        left = np.arange(m)
        wide = len(ready.rows) >= WIDE * len(ready.weights) and x.shape[1] >= LEAST * SHARE
        if wide and not positive:
            left = _descend_together(x, outside, alpha[part], ready, tol, max_iter, A, found)
        if left.size:
            _group_lasso(x, outside, alpha[part], left, *ready[:8], ready.moments, positive, tol,
                         max_iter, A, *found)  # fmt: skip
        codes = np.zeros((m, k))
        _turn_back(A, ready.edges, ready.turn, ready.turn_at, ready.members, ready.first, codes)
        return dense_block(codes / atoms.norms, *found)

    return code_in_blocks(len(X), work, n_jobs=n_jobs)


def principal_axes(rows: Array, groups: Array, *, positive: bool = False) -> Axes:
    """Replace the atoms of each group by their principal axes, or with `positive` keep them."""
    members = np.argsort(groups, kind="stable")
    n_groups = int(groups.max()) + 1
    first = np.searchsorted(groups[members], np.arange(n_groups + 1))
    parts, turns, inner, largest = [], [], [], np.zeros(n_groups)
    for g in range(n_groups):
        part = rows[members[first[g] : first[g + 1]]]
        if positive:
            gram = part @ part.T
            inner.append(gram.ravel())
            largest[g] = np.linalg.eigvalsh(gram)[-1] if part.any() else 0.0
            parts.append(part)
            continue
        if len(part) == 1:
            turn, lengths, axis = np.ones((1, 1)), np.linalg.norm(part, axis=1), part
            kept = lengths > 0
            axis = part[kept]
        else:
            turn, lengths, axis = np.linalg.svd(part, full_matrices=False)
            kept = lengths > max(part.shape) * EPS * lengths[0]
            axis = axis[kept] * lengths[kept, None]
        largest[g] = lengths[0] ** 2
        parts.append(axis)
        turns.append(turn.T[kept].ravel())
    edges = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    D = np.concatenate(parts)
    basis = None
    if 0 < len(D) < D.shape[1]:
        basis, D = np.linalg.qr(D.T)
        D = D.T
    D = np.ascontiguousarray(D)
    n = D.shape[1]
    moments = np.zeros((0, n, n))
    if not positive and n_groups * n * n <= ENOUGH and len(D) > n:
        moments = np.stack([D[a:b].T @ D[a:b] for a, b in pairwise(edges)])
    none = np.zeros(0)
    return Axes(
        rows=D,
        columns=np.ascontiguousarray(D.T),
        edges=edges,
        sizes_sq=np.einsum("ij,ij->i", D, D),
        weights=np.sqrt(np.maximum(np.diff(first), 1)),
        largest=largest,
        inner=np.concatenate(inner) if inner else none,
        inner_at=np.concatenate([[0], np.cumsum([part.size for part in inner])]).astype(np.int64),
        turn=np.concatenate(turns) if turns else none,
        turn_at=np.concatenate([[0], np.cumsum([part.size for part in turns])]).astype(np.int64),
        members=members,
        first=first,
        basis=basis,
        moments=moments,
    )


def _turn(codes: Array, axes: Axes, positive: bool, out: Array) -> None:
    """Coefficients of the axes that codes have, in place."""
    for g in range(len(axes.weights)):
        part = codes[:, axes.members[axes.first[g] : axes.first[g + 1]]]
        if positive:
            out[:, axes.edges[g] : axes.edges[g + 1]] = np.maximum(part, 0.0)
        else:
            turn = axes.turn[axes.turn_at[g] : axes.turn_at[g + 1]].reshape(-1, part.shape[1])
            out[:, axes.edges[g] : axes.edges[g + 1]] = part @ turn.T


def _descend_together(
    X: Array,
    outside: Array,
    alpha: Array,
    axes: Axes,
    tol: float,
    max_iter: int,
    A: Array,
    found: Found,
) -> Array:
    """Sweeps over the groups for all signals at once, in place; returns which are not done.

    Wide groups are matrix products here, which pass over the atoms once for all signals.
    """
    left = np.arange(len(X))
    a, lam, x = A, alpha, X
    R = x - a @ axes.rows
    size = np.einsum("ij,ij->i", X, X) + outside
    most = min(X.shape[1] // SHARE, max_iter)
    for sweep in range(most + 1):
        if sweep % 3 == 0 or sweep == most:
            # products with all groups, which the first sweep would begin with
            C = R @ axes.columns
            gap, primal, rest = _group_gaps(
                x, R, outside[left], a, C, axes.edges, axes.weights, lam
            )
            enough = np.maximum(tol * primal, 4 * EPS * size[left])
            done = (gap <= enough) | (sweep == max_iter)
            rows = left[done]
            A[rows], found.residual_sq[rows], found.n_iter[rows] = a[done], rest[done], sweep
            found.gap[rows] = np.maximum(gap[done], 0.0) / np.maximum(primal[done], 1e-300)
            found.stop[rows] = np.where(gap[done] <= enough[done], TOL, MAX_ITER)
            keep = ~done
            left, a, R, lam, x = left[keep], a[keep], R[keep], lam[keep], x[keep]
            if left.size == 0 or sweep == most or (left.size < FEW and sweep >= LEAST):
                break
        for g in range(len(axes.weights)):
            span = slice(axes.edges[g], axes.edges[g + 1])
            if span.start == span.stop:
                continue
            old = a[:, span]
            Z = R @ axes.columns[:, span]
            Z += axes.sizes_sq[span] * old
            new = np.ascontiguousarray(old)
            _shrink_rows(Z, axes.sizes_sq[span], lam * axes.weights[g], new)
            change = new - old
            moved = np.flatnonzero(change.any(axis=1))
            if moved.size:
                R[moved] -= change[moved] @ axes.rows[span]
                a[:, span] = new
    A[left], found.n_iter[left] = a, sweep
    return left


@jit
def _shrink_rows(Z, sizes_sq, level, A):  # type: ignore[no-untyped-def]
    """Minimiser of ``1/2 sum size^2 a^2 - z a + level |a|`` for each row; A holds a start."""
    size = sizes_sq.shape[0]
    for i in range(Z.shape[0]):
        z, a = Z[i], A[i]
        old, total = 0.0, 0.0
        for j in range(size):
            old += a[j] * a[j]
            total += z[j] * z[j]
        if np.sqrt(total) <= level[i]:
            for j in range(size):
                a[j] = 0.0
        else:
            norm = _norm_of_group(z, sizes_sq, 0, size, level[i], np.sqrt(old))
            for j in range(size):
                a[j] = z[j] * norm / (sizes_sq[j] * norm + level[i])


@jit
def _group_gaps(X, R, outside, A, C, edges, weights, lam):  # type: ignore[no-untyped-def]
    """Duality gaps, objectives and squared residuals of rows."""
    m = X.shape[0]
    gap, primal, rest = np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        gap[i], primal[i], rest[i] = _group_gap(
            X[i], R[i], outside[i], A[i], C[i], edges, weights, lam[i], False
        )
    return gap, primal, rest


@jit
def _turn_back(A, edges, turn, turn_at, members, first, codes):  # type: ignore[no-untyped-def]
    """Codes of the atoms from the coefficients of the axes; without `turn` these are the same."""
    for i in range(A.shape[0]):
        code, a = codes[i], A[i]
        for g in range(edges.shape[0] - 1):
            owned = members[first[g] : first[g + 1]]
            length = owned.shape[0]
            for j in range(edges[g], edges[g + 1]):
                v = a[j]
                if v == 0.0:
                    continue
                if turn.shape[0] == 0:
                    code[owned[j - edges[g]]] = v
                    continue
                at = turn_at[g] + (j - edges[g]) * length
                for q in range(length):
                    code[owned[q]] += v * turn[at + q]


@jit
def _products(columns, r, c):  # type: ignore[no-untyped-def]
    """Inner products of all rows with a vector, four entries of it at a time."""
    k = c.shape[0]
    n = r.shape[0]
    for j in range(k):
        c[j] = 0.0
    q = 0
    while q + 4 <= n:
        d0, d1, d2, d3 = columns[q], columns[q + 1], columns[q + 2], columns[q + 3]
        r0, r1, r2, r3 = r[q], r[q + 1], r[q + 2], r[q + 3]
        for j in range(k):
            c[j] += (r0 * d0[j] + r1 * d1[j]) + (r2 * d2[j] + r3 * d3[j])
        q += 4
    while q < n:
        d0 = columns[q]
        r0 = r[q]
        for j in range(k):
            c[j] += r0 * d0[j]
        q += 1


@jit
def _rest(x, rows, edges, a, r):  # type: ignore[no-untyped-def]
    """``r = x - a rows``."""
    n = x.shape[0]
    for q in range(n):
        r[q] = x[q]
    for j in range(a.shape[0]):
        v = a[j]
        if v != 0.0:
            d = rows[j]
            for q in range(n):
                r[q] -= v * d[q]


@jit
def _group_gap(x, r, outside, a, c, edges, weights, lam, positive):  # type: ignore[no-untyped-def]
    """Duality gap, objective and squared residual, from ``c = rows r``.

    The dual point is the best multiple of the residual that is feasible.
    """
    xr, rr = outside, outside
    for q in range(x.shape[0]):
        xr += x[q] * r[q]
        rr += r[q] * r[q]
    penalty, largest = 0.0, 0.0
    for g in range(weights.shape[0]):
        total, norm = 0.0, 0.0
        for j in range(edges[g], edges[g + 1]):
            norm += a[j] * a[j]
            if c[j] > 0.0 or not positive:
                total += c[j] * c[j]
        penalty += weights[g] * np.sqrt(norm)
        largest = max(largest, np.sqrt(total) / weights[g])
    primal = 0.5 * rr + lam * penalty
    if rr == 0.0:
        return primal, primal, rr
    factor = xr / rr
    if largest > 0.0:
        factor = min(factor, lam / largest)
    factor = max(factor, 0.0)
    return primal - factor * (xr - 0.5 * factor * rr), primal, rr


@jit
def _norm_of_group(z, sizes_sq, first, last, level, start):  # type: ignore[no-untyped-def]
    """Norm v of the minimiser: the root of ``sum z^2 / (size^2 v + level)^2 = 1``.

    Newton's method on the power -1/2 of the sum, a concave function that rises: from below it goes
    up to the root.
    """
    v = start
    for attempt in range(2):
        for _ in range(50):
            total, slope = 0.0, 0.0
            for j in range(first, last):
                below = sizes_sq[j] * v + level
                share = (z[j - first] / below) ** 2
                total += share
                slope += share * sizes_sq[j] / below
            if total <= 1.0:
                break
            root = np.sqrt(total)
            move = (root - 1.0) * total / slope
            v += move
            if move <= 1e-15 * v:
                break
        if attempt == 1 or total >= 1.0 - 1e-12:
            break
        v = 0.0  # the start was too large
    return v


@jit
def _update_group(  # type: ignore[no-untyped-def]
    g,
    rows,
    columns,
    edges,
    sizes_sq,
    largest,
    inner,
    inner_at,
    level,
    positive,
    a,
    r,
    z,
    new,
    step,
):
    """Minimise over the coefficients of one group, in place; returns ``|change|^2 largest``."""
    first, last = edges[g], edges[g + 1]
    size = last - first
    n = r.shape[0]
    if size == 0 or largest[g] == 0.0:
        return 0.0
    # products of the axes with the residual
    if size >= 8:
        for j in range(size):
            z[j] = 0.0
        for q in range(n):
            v = r[q]
            d = columns[q, first:last]
            for j in range(size):
                z[j] += v * d[j]
    else:
        for j in range(size):
            z[j] = inner_product(rows[first + j], r, n)
    if positive:
        L = largest[g]
        block = inner[inner_at[g] : inner_at[g + 1]]
        for j in range(size):
            new[j] = a[first + j]
        for _ in range(100):
            total = 0.0
            for j in range(size):
                v = max(new[j] + z[j] / L, 0.0)
                total += v * v
            norm = np.sqrt(total)
            factor = 1.0 - level / (L * norm) if norm > level / L else 0.0
            moved, length = 0.0, 0.0
            for j in range(size):
                v = factor * max(new[j] + z[j] / L, 0.0)
                step[j] = v - new[j]
                moved += step[j] * step[j]
                length += v * v
                new[j] = v
            for j in range(size):
                if step[j] != 0.0:
                    for q in range(size):
                        z[q] -= step[j] * block[j * size + q]
            if size == 1 or moved <= 1e-12 * length:
                break
    else:
        old, total = 0.0, 0.0
        for j in range(size):
            v = a[first + j]
            old += v * v
            z[j] += sizes_sq[first + j] * v
            total += z[j] * z[j]
        if np.sqrt(total) <= level:
            for j in range(size):
                new[j] = 0.0
        else:
            norm = _norm_of_group(z, sizes_sq, first, last, level, np.sqrt(old))
            for j in range(size):
                new[j] = z[j] * norm / (sizes_sq[first + j] * norm + level)
    moved = 0.0
    for j in range(size):
        change = new[j] - a[first + j]
        if change != 0.0:
            moved += change * change
            a[first + j] = new[j]
            d = rows[first + j]
            for q in range(n):
                r[q] -= change * d[q]
    return moved * largest[g]


@jit
def _newton_point(  # type: ignore[no-untyped-def]
    x, rows, weights, lam, moments, S, owner, used, norms, a, r, target
):
    """Newton step on the coefficients `S` that are not zero: writes where it leads to `target`.

    With m = norm / (lam weight) of a group the Hessian is ``D D' + diag(1/m)`` less one direction
    for each group. It is solved in the space of the signals, ``C = I + sum_g m_g D_g' D_g``, where
    that is the smaller one: the new residual is that of the reweighted least squares problem,
    changed so that ``u_g' D_g r = lam weight`` for the direction u_g of each group.
    """
    t, n, n_used = S.shape[0], x.shape[0], used.shape[0]
    if t <= n:
        D = np.empty((t, n))
        for s in range(t):
            D[s] = rows[S[s]]
        H = np.dot(D, D.T)
        slope = np.dot(D, r)
        top = 0.0
        for s in range(t):
            top = max(top, H[s, s])
        for s in range(t):
            kappa = lam * weights[used[owner[s]]] / norms[owner[s]]
            slope[s] -= kappa * a[S[s]]
            H[s, s] += kappa + 1e-13 * top
            q = s
            while q >= 0 and owner[q] == owner[s]:
                change = kappa * (a[S[s]] / norms[owner[s]]) * (a[S[q]] / norms[owner[s]])
                H[s, q] -= change
                if q != s:
                    H[q, s] -= change
                q -= 1
        d = np.linalg.solve(H, slope)
        for s in range(t):
            target[s] = a[S[s]] + d[s]
        return
    C = np.zeros((n, n))
    right = np.zeros((n, 1 + n_used))
    Y = np.zeros((n_used, n))
    for s in range(t):
        v = a[S[s]] / norms[owner[s]]
        d = rows[S[s]]
        y = Y[owner[s]]
        for q in range(n):
            y[q] += v * d[q]
    if moments.shape[0] > 0:
        for g in range(n_used):
            m = norms[g] / (lam * weights[used[g]])
            M = moments[used[g]]
            for p in range(n):
                for q in range(n):
                    C[p, q] += m * M[p, q]
    else:
        D = np.empty((t, n))
        for s in range(t):
            root = np.sqrt(norms[owner[s]] / (lam * weights[used[owner[s]]]))
            d = rows[S[s]]
            for q in range(n):
                D[s, q] = root * d[q]
        C += np.dot(D.T, D)
    for q in range(n):
        C[q, q] += 1.0
        right[q, 0] = x[q]
        for g in range(n_used):
            right[q, 1 + g] = Y[g, q]
    solved = np.linalg.solve(C, right)
    rho = solved[:, 0].copy()
    Z = np.ascontiguousarray(solved[:, 1:])
    W = np.dot(Y, Z)
    excess = np.dot(Y, rho)
    top = 0.0
    for g in range(n_used):
        excess[g] -= lam * weights[used[g]]
        top = max(top, W[g, g])
    for g in range(n_used):
        W[g, g] += 1e-13 * top + 1e-300
    psi = np.linalg.solve(W, excess)
    rho -= np.dot(Z, psi)
    for s in range(t):
        g = owner[s]
        d = rows[S[s]]
        total = 0.0
        for q in range(n):
            total += d[q] * rho[q]
        target[s] = total * norms[g] / (lam * weights[used[g]]) + psi[g] * a[S[s]] / norms[g]


@jit
def _newton_step(  # type: ignore[no-untyped-def]
    x, rows, edges, weights, lam, moments, positive, a, r, target
):
    """Go towards the Newton point as far as the objective falls, in place; returns how far.

    The step ends where a coefficient that stands alone, or with `positive` any, would change its
    sign, and leaves it at zero.
    """
    n = x.shape[0]
    n_used, t = 0, 0
    used, norms = np.empty(weights.shape[0], np.int64), np.empty(weights.shape[0])
    S, owner = np.empty(a.shape[0], np.int64), np.empty(a.shape[0], np.int64)
    for g in range(weights.shape[0]):
        total, before = 0.0, t
        for j in range(edges[g], edges[g + 1]):
            if a[j] != 0.0:
                total += a[j] * a[j]
                S[t] = j
                owner[t] = n_used
                t += 1
        if t > before:
            used[n_used] = g
            norms[n_used] = np.sqrt(total)
            n_used += 1
    if t == 0:
        return 0.0
    S, owner, used, norms = S[:t], owner[:t], used[:n_used], norms[:n_used]
    _newton_point(x, rows, weights, lam, moments, S, owner, used, norms, a, r, target)
    length, zeroed = 1.0, -1
    toward = np.zeros(n)
    descent = 0.0
    for s in range(t):
        j, g = S[s], owner[s]
        d = target[s] - a[j]
        if not np.isfinite(d):
            return 0.0
        alone = edges[used[g] + 1] - edges[used[g]] == 1
        if (positive or alone) and a[j] * target[s] < 0.0:
            crossing = a[j] / (a[j] - target[s])
            if crossing < length:
                length, zeroed = crossing, s
        descent += lam * weights[used[g]] * d * a[j] / norms[g]
        row = rows[j]
        for q in range(n):
            toward[q] += d * row[q]
    linear, curve = 0.0, 0.0
    for q in range(n):
        linear -= r[q] * toward[q]
        curve += toward[q] * toward[q]
    descent += linear
    if descent >= 0.0:
        return 0.0
    penalty = 0.0
    for g in range(n_used):
        penalty += lam * weights[used[g]] * norms[g]
    for _ in range(20):
        change = length * (linear + 0.5 * length * curve) - penalty
        s = 0
        for g in range(n_used):
            total = 0.0
            while s < t and owner[s] == g:
                v = a[S[s]] + length * (target[s] - a[S[s]])
                total += v * v
                s += 1
            change += lam * weights[used[g]] * np.sqrt(total)
        if change <= 1e-4 * length * descent + 4 * EPS * penalty:
            break
        length *= 0.5
        zeroed = -1
    else:
        return 0.0
    for s in range(t):
        a[S[s]] += length * (target[s] - a[S[s]])
    if zeroed >= 0:
        a[S[zeroed]] = 0.0
    _rest(x, rows, edges, a, r)
    return length


@jit
def _dual_steps(  # type: ignore[no-untyped-def]
    x, rows, edges, weights, lam, moments, a, r
):
    """Newton steps on ``h(m) = 1/2 x' C^-1 x + lam^2/2 sum w_g^2 m_g``, ``m >= 0``, in place.

    ``C = I + sum_g m_g D_g' D_g`` as in `_newton_point`, of the coefficients that are not zero.
    The codes ``a_g = m_g D_g C^-1 x`` have an objective of at most ``h(m)``, and
    ``m_g = |a_g| / (lam w_g)`` starts at no more than that of `a`. Unlike the objective, h is
    smooth where a group is small.
    """
    n, n_groups = x.shape[0], weights.shape[0]
    S, start = np.empty(a.shape[0], np.int64), np.zeros(n_groups + 1, np.int64)
    level, m, used = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups, np.int64)
    n_used, t = 0, 0
    for g in range(n_groups):
        total = 0.0
        for j in range(edges[g], edges[g + 1]):
            if a[j] != 0.0:
                total += a[j] * a[j]
                S[t] = j
                t += 1
        if total > 0.0:
            used[n_used] = g
            level[n_used] = lam * weights[g]
            m[n_used] = np.sqrt(total) / level[n_used]
            n_used += 1
            start[n_used] = t
    D = np.empty((t, n))
    for s in range(t):
        D[s] = rows[S[s]]
    m = m[:n_used].copy()
    trial = m.copy()
    rest, value = r.copy(), np.inf
    move, plain, descent = np.zeros(n_used), np.zeros(n_used), 0.0
    Y = np.zeros((n_used, n))
    for step in range(DUAL_STEPS):
        length = 1.0
        accepted = False
        for _ in range(12):
            C = np.zeros((n, n))
            new_value = 0.0
            for g in range(n_used):
                trial[g] = max(m[g] * (1.0 + length * move[g]), 0.0)
                new_value += 0.5 * level[g] ** 2 * trial[g]
                if trial[g] == 0.0:
                    continue
                if moments.shape[0] > 0:
                    M = moments[used[g]]
                    for p in range(n):
                        for q in range(n):
                            C[p, q] += trial[g] * M[p, q]
                else:
                    part = D[start[g] : start[g + 1]]
                    C += trial[g] * np.dot(part.T, part)
            for q in range(n):
                C[q, q] += 1.0
            new_rest = np.linalg.solve(C, x)
            new_value += 0.5 * np.dot(x, new_rest)
            if new_value <= value - 1e-4 * length * descent:
                accepted = True
                break
            length *= 0.5
        if not accepted:
            break
        m[:] = trial
        rest[:] = new_rest
        value = new_value
        if step == DUAL_STEPS - 1:
            break
        # relative changes of m, by a scaled Newton system
        for g in range(n_used):
            v = np.dot(D[start[g] : start[g + 1]], rest)
            norm_sq = np.dot(v, v)
            Y[g] = m[g] * np.dot(v, D[start[g] : start[g + 1]])
            plain[g] = 0.5 * m[g] * (norm_sq - level[g] ** 2)
            # the equation of a single group, 1 / |D_g r| = 1 / level, is nearly linear in m
            move[g] = m[g] * norm_sq * (np.sqrt(norm_sq) / level[g] - 1.0)
        descent = _dual_move(Y, C, m, plain, move)
        if not descent > max(0.0, 1e-14 * value):
            break
    for g in range(n_used):
        v = m[g] * np.dot(D[start[g] : start[g + 1]], rest)
        for s in range(start[g], start[g + 1]):
            a[S[s]] = v[s - start[g]]
    _rest(x, rows, edges, a, r)


@jit
def _dual_move(Y, C, m, plain, move):  # type: ignore[no-untyped-def]
    """Turn right-hand sides in `move` into the scaled Newton step; returns what it gains, or 0.

    The matrix is ``Y C^-1 Y'``; where the step does not descend, that of the slopes `plain` does.
    """
    H = np.dot(Y, np.linalg.solve(C, Y.T.copy()))
    top = 0.0
    for g in range(m.shape[0]):
        top = max(top, H[g, g])
    if top == 0.0:
        return 0.0
    for g in range(m.shape[0]):
        H[g, g] += RIDGE * top if m[g] > 0.0 else top
    move[:] = np.linalg.solve(H, move)
    descent = np.dot(move, plain)
    if not descent > 0.0:
        move[:] = np.linalg.solve(H, plain)
        descent = np.dot(move, plain)
    longest = np.abs(move).max()
    if longest > LONGEST:  # where groups depend on each other
        move *= LONGEST / longest
        descent *= LONGEST / longest
    return descent


@jit
def _positive_rest(x, D, owner, m, r, C):  # type: ignore[no-untyped-def]
    """Solve ``r + sum_g m_g D_g' max(D_g r, 0) = x`` for r, from the start in `r`, in place.

    It is the gradient of a convex, piecewise quadratic function: Newton's method with a line
    search ends after finitely many steps. C is left as the matrix of its last one.
    """
    n, t = x.shape[0], D.shape[0]
    products = np.dot(D, r)
    for _ in range(100):
        B = np.empty((t, n))
        n_active = 0
        for s in range(t):
            v = m[owner[s]]
            if products[s] > 0.0 and v > 0.0:
                B[n_active] = np.sqrt(v) * D[s]
                n_active += 1
        B = B[:n_active]
        C[:] = np.dot(B.T, B)
        for q in range(n):
            C[q, q] += 1.0
        move = np.linalg.solve(C, x) - r
        along = np.dot(D, move)
        # the slope along the move, linear between the places where a product changes its sign
        changes, first, curve = False, 0.0, 0.0
        for q in range(n):
            first += (r[q] - x[q]) * move[q]
            curve += move[q] * move[q]
        length = 1.0
        for s in range(t):
            if (products[s] > 0.0) != (products[s] + along[s] > 0.0) and m[owner[s]] > 0.0:
                changes = True
        if changes:
            low, high = 0.0, 1.0
            for _ in range(40):
                slope = first + length * curve
                for s in range(t):
                    v = products[s] + length * along[s]
                    if v > 0.0:
                        slope += m[owner[s]] * v * along[s]
                if slope <= 0.0:
                    low = length
                    if length == 1.0:
                        break
                else:
                    high = length
                length = 0.5 * (low + high)
        largest, size = 0.0, 0.0
        for q in range(n):
            r[q] += length * move[q]
            largest = max(largest, abs(length * move[q]))
            size = max(size, abs(x[q]))
        products = np.dot(D, r)
        if not changes or largest <= 1e-15 * size:
            break


@jit
def _positive_dual_steps(x, rows, edges, weights, lam, a, r):  # type: ignore[no-untyped-def]
    """Newton steps as those of `_dual_steps` for coefficients of at least zero, in place.

    ``a_g = m_g max(D_g r, 0)`` with the r of `_positive_rest`, of all atoms of the groups in use;
    h is smooth here, too, and piecewise so its slope. Returns the number of steps.
    """
    n, n_groups = x.shape[0], weights.shape[0]
    S, owner = np.empty(a.shape[0], np.int64), np.empty(a.shape[0], np.int64)
    level, m = np.empty(n_groups), np.empty(n_groups)
    n_used, t = 0, 0
    for g in range(n_groups):
        total = 0.0
        for j in range(edges[g], edges[g + 1]):
            total += a[j] * a[j]
        if total > 0.0:
            for j in range(edges[g], edges[g + 1]):
                S[t], owner[t] = j, n_used
                t += 1
            level[n_used] = lam * weights[g]
            m[n_used] = np.sqrt(total) / level[n_used]
            n_used += 1
    D = np.empty((t, n))
    for s in range(t):
        D[s] = rows[S[s]]
    m, level = m[:n_used].copy(), level[:n_used]
    trial, rest, value = m.copy(), r.copy(), np.inf
    move, plain, descent = np.zeros(n_used), np.zeros(n_used), 0.0
    C = np.empty((n, n))
    steps = 0
    while steps < POSITIVE_STEPS:
        steps += 1
        length = 1.0
        accepted = False
        for _ in range(12):
            new_value = 0.0
            for g in range(n_used):
                trial[g] = max(m[g] * (1.0 + length * move[g]), 0.0)
                new_value += 0.5 * level[g] ** 2 * trial[g]
            new_rest = rest.copy()
            _positive_rest(x, D, owner, trial, new_rest, C)
            new_value += 0.5 * np.dot(x, new_rest)
            if new_value <= value - 1e-4 * length * descent:
                accepted = True
                break
            length *= 0.5
        if not accepted:
            break
        m[:] = trial
        rest[:] = new_rest
        value = new_value
        norm_sq, Y = np.zeros(n_used), np.zeros((n_used, n))
        products = np.dot(D, rest)
        for s in range(t):
            v = products[s]
            if v > 0.0:
                norm_sq[owner[s]] += v * v
                Y[owner[s]] += m[owner[s]] * v * D[s]
        for g in range(n_used):
            plain[g] = 0.5 * m[g] * (norm_sq[g] - level[g] ** 2)
            move[g] = m[g] * norm_sq[g] * (np.sqrt(norm_sq[g]) / level[g] - 1.0)
        descent = _dual_move(Y, C, m, plain, move)
        if not descent > max(0.0, 1e-14 * value):
            break
    products = np.dot(D, rest)
    for s in range(t):
        a[S[s]] = m[owner[s]] * max(products[s], 0.0)
    _rest(x, rows, edges, a, r)
    return steps


@jit
def _newton(  # type: ignore[no-untyped-def]
    x, rows, edges, weights, lam, moments, positive, a, r, target
):
    """Newton step, and on the dual where small groups make that a short one; returns the work."""
    try:
        length = _newton_step(x, rows, edges, weights, lam, moments, positive, a, r, target)
        if length >= 0.3:
            return 1
        if positive:
            return 1 + _positive_dual_steps(x, rows, edges, weights, lam, a, r)
        _dual_steps(x, rows, edges, weights, lam, moments, a, r)
    except Exception:  # a matrix is singular to rounding: no step, descent goes on
        return 1
    return 1 + DUAL_STEPS


@jit
def _group_lasso(  # type: ignore[no-untyped-def]
    X, outside, alpha, left, rows, columns, edges, sizes_sq, weights, largest, inner, inner_at,
    moments, positive, tol, max_iter, A, out_residual, out_stop, out_gap, out_steps,
):  # fmt: skip
    """Code the signals `left`, one after the other; A holds the start, `out_steps` the steps."""
    n = X.shape[1]
    k, n_groups = rows.shape[0], weights.shape[0]
    r, c, target = np.empty(n), np.empty(k), np.empty(k)
    widest = 0
    for g in range(n_groups):
        widest = max(widest, edges[g + 1] - edges[g])
    z, new, step = np.empty(widest), np.empty(widest), np.empty(widest)
    work, excess = np.empty(n_groups, np.int64), np.empty(n_groups)
    for i in left:
        x, a, lam = X[i], A[i], alpha[i]
        size = outside[i]
        for q in range(n):
            size += x[q] * x[q]
        steps = out_steps[i]
        best, idle = np.inf, 0
        while True:
            _rest(x, rows, edges, a, r)
            _products(columns, r, c)
            gap, primal, rest = _group_gap(x, r, outside[i], a, c, edges, weights, lam, positive)
            enough = max(tol * primal, 4 * EPS * size)
            if gap <= enough or steps >= max_iter:
                break
            idle = 0 if gap < 0.9 * best else idle + 1
            best = min(best, gap)
            if idle >= 20 and gap <= 1e3 * EPS * size:  # rounding
                break
            # groups in use, and those that the residual asks for, the most wanted first
            n_work = 0
            for g in range(n_groups):
                total, used = 0.0, False
                for j in range(edges[g], edges[g + 1]):
                    used = used or a[j] != 0.0
                    if c[j] > 0.0 or not positive:
                        total += c[j] * c[j]
                ratio = np.sqrt(total) / weights[g]
                if used or ratio > lam:
                    work[n_work] = g
                    excess[n_work] = -ratio
                    n_work += 1
            order = np.argsort(excess[:n_work])
            spent, sweeps = 0.0, 0
            target_move = 0.1 * enough
            while steps < max_iter:
                moved, coefs = 0.0, 0
                for place in range(n_work):
                    g = work[order[place]]
                    moved += _update_group(
                        g, rows, columns, edges, sizes_sq, largest, inner, inner_at,
                        lam * weights[g], positive, a, r, z, new, step,
                    )  # fmt: skip
                    for j in range(edges[g], edges[g + 1]):
                        if a[j] != 0.0:
                            coefs += edges[g + 1] - edges[g]
                            break
                steps += 1
                if moved <= target_move:
                    if sweeps == 0 and steps < max_iter:  # slow descent, not the optimum
                        steps += _newton(
                            x, rows, edges, weights, lam, moments, positive, a, r, target
                        )
                    break
                # a Newton step whenever descent has cost as much as one would
                spent += 2.0 * coefs * n
                sweeps += 1
                few = float(min(coefs, n))
                price = 0.3 * few * few * few + 6.0 * coefs * n
                if coefs <= n:
                    price += 0.5 * coefs * coefs * n
                elif moments.shape[0] == 0:
                    price += 0.5 * coefs * n * n
                if sweeps >= 2 and spent > PRICE * price and steps < max_iter:
                    steps += _newton(x, rows, edges, weights, lam, moments, positive, a, r, target)
                    spent, sweeps = 0.0, 0
        out_residual[i] = rest
        out_gap[i] = max(0.0, gap) / primal if primal > 0.0 else 0.0
        out_stop[i] = TOL if gap <= enough else MAX_ITER
        out_steps[i] = steps
