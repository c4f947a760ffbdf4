"""Dictionary learning by singular value decompositions of residuals, one atom after the other.

Signals X (N, n) and atoms D (k, n) are rows; ``X ~ A D`` with sparse codes A, kept as the three
arrays of a CSR matrix whose values the sweeps change in place.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.signal_blocks import (
    Atoms,
    SparseCodes,
    concatenate_codes,
    prepare_atoms,
    take_back,
    to_csr,
)
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.nnls import nnls

Array = np.ndarray[Any, np.dtype[Any]]
Coder = Callable[[Atoms, Array | slice], SparseCodes]  # of the given rows

ALIKE = 0.9  # cosine above which two atoms are taken for the same; 0.99 recovers fewer atoms
UPDATES = ("approximate", "exact", "mod")
# an atom gives way to the half of another one that saves at least this share of what it saves
# itself: the other atoms take over most of its work at the next coding
EXCHANGE = 0.1
RHO = 10.0  # power of the share of signals that came before
WAIT = 8  # signals for each atom before it is judged by its users
ROUNDING = 1e-14  # share below which a coefficient, or an atom, is what rounding left
PATIENCE = 5  # passes that show whether replacing atoms over and over leads anywhere
SETTLE = 0.6  # exchanges end after this share of the passes in which atoms may be replaced


class LearningResult(NamedTuple):
    """A dictionary, the last codes, and how it was reached.

    `objective` holds ``|X - A D|^2`` after each pass, `replaced` how many atoms were replaced at
    its end; between replacements the objective never rises.
    """

    atoms: Array
    codes: SparseCodes
    objective: Array
    replaced: Array
    n_iter: int
    converged: bool


def learn_dictionary(
    X: Array,
    atoms: Array,
    code: Coder,
    *,
    known: Array | None = None,
    update: str = "approximate",
    n_power: int = 1,
    positive: bool = False,
    constant: bool = False,
    monotone: bool = False,
    batch_size: int | None = None,
    min_usage: int = 3,
    replace_until: float = 1.0,
    max_iter: int = 30,
    tol: float = 0.0,
    rng: np.random.RandomState,
    progress: Progress | None = None,
) -> LearningResult:
    """K-SVD from the given unit atoms: code all signals, then update atom after atom.

    The update of an atom takes what the others leave of the signals that use it and replaces atom
    and coefficients by the best matrix of rank one ("exact"), or by `n_power` steps of the power
    method from the present ones ("approximate" [Rubinstein et al. 2008]); "mod" solves the least
    squares problem of all atoms at once, the codes as they are (`least_squares_atoms`). With
    `known`, a Boolean mask, hidden entries do not count; with `positive`, neither atoms nor codes
    are negative. With `constant` the first atom stays as it is, and the others (unless `positive`)
    are kept at right angles to the constant one: of zero mean.

    With `batch_size` (and no mask) the signals are coded so many at a time, and in between every
    atom moves to the least squares optimum given the other atoms and the last codes of all
    signals (`_code_in_batches`); the update of atoms and codes follows at the end of the pass.

    With `monotone` a signal keeps its old code where the new one fits it less well. After each
    pass but the last, and in the first share `replace_until` of them, atoms with fewer than
    `min_usage` users, and of two atoms that are alike the one less used, are replaced by the
    signals that are represented worst; and atoms that do the work of two are split (`_exchange`).

    Converged is a pass that lowers the objective by at most the share `tol`; while atoms are
    replaced or split in every pass, the best of the last `PATIENCE` passes is looked at instead.
    """
    D = np.array(atoms, dtype=np.float64, order="C")
    center = constant and not positive
    former: SparseCodes | None = None
    objective: list[float] = []
    replaced: list[int] = []
    it = Iterations(max_iter, tol, progress)
    for _ in it:
        if batch_size is None or known is not None:
            codes = code(prepare_atoms(D), slice(None))
        else:
            codes = _code_in_batches(X, D, code, former, batch_size, rng, positive, constant)
        if former is not None and monotone:
            codes = _better(former, codes)
        values = codes.values.copy()
        sparse = codes.indptr, codes.indices, values
        users = users_of_atoms(codes, len(D))
        order = rng.permutation(len(D))
        if constant:
            order = order[order != 0]
        if update == "mod":
            least_squares_atoms(X, known, D, *sparse, positive=positive, constant=constant)
        elif known is not None:
            _masked_sweep(X, known, D, *sparse, *users, order, positive, center)
        elif update == "exact" and not positive:
            _exact_sweep(X, D, *sparse, *users, order, center)
        else:
            _sweep(X, D, *sparse, *users, order, n_power, positive, center)
        residual_sq = np.empty(len(X))
        _residuals(X, known, D, *sparse, residual_sq)
        objective.append(float(residual_sq.sum()))
        former = codes._replace(values=values, residual_sq=residual_sq)
        count = 0
        if it.n_iter < max_iter and it.n_iter <= replace_until * max_iter:
            count = _replace(X, known, D, former, users, min_usage, positive, constant)
            if known is None and not positive and it.n_iter <= SETTLE * replace_until * max_iter:
                count += _exchange(X, D, former, users, constant)
        replaced.append(count)
        # replacements make the objective jump: while they go on, the best of some passes counts
        settled = count == 0 and len(replaced) > 1 and replaced[-2] == 0
        if settled or len(objective) > PATIENCE:
            before = objective[-2] if settled else min(objective[:-PATIENCE])
            after = objective[-1] if settled else min(objective[-PATIENCE:])
            it.residual = (before - after) / max(before, 1e-300)
            if tol == 0.0:
                it.residual = max(it.residual, 1e-300)
    assert former is not None
    return LearningResult(
        D, former, np.array(objective), np.array(replaced), it.n_iter, it.converged
    )


def _code_in_batches(
    X: Array,
    D: Array,
    code: Coder,
    former: SparseCodes | None,
    batch_size: int,
    rng: np.random.RandomState,
    positive: bool,
    constant: bool,
) -> SparseCodes:
    """Code all signals, batch after batch in random order, and update D in place in between.

    ``S = A^T A`` and ``T = A^T X`` are those of the last code of every signal: the new codes of a
    batch take the place of its old ones. Given them, each atom moves to its optimum in turn.
    """
    k = len(D)
    S, T = np.zeros((k, k)), np.zeros(D.shape)
    everyone = np.arange(len(X))
    if former is not None:
        _add_statistics(X, everyone, *former[:3], 1.0, S, T)
    shuffled = rng.permutation(len(X))
    parts = []
    for first in range(0, len(X), batch_size):
        rows = np.sort(shuffled[first : first + batch_size])
        shuffled[first : first + batch_size] = rows
        part = code(prepare_atoms(D), rows)
        signals = X[rows]
        if former is not None:
            _add_statistics(signals, rows, *former[:3], -1.0, S, T)
        _add_statistics(signals, everyone[: len(rows)], *part[:3], 1.0, S, T)
        order = rng.permutation(k)
        if constant:
            order = order[order != 0]
        _update_all(D, S, T, order, positive, constant and not positive)
        parts.append(part)
    return take_back(concatenate_codes(parts), shuffled)


@jit
def _add_statistics(X, at, indptr, indices, values, sign, S, T):  # type: ignore[no-untyped-def]
    """Add ``A^T A`` and ``A^T X``, times `sign`, for the codes in the rows `at` of A."""
    for i in range(X.shape[0]):
        first, last = indptr[at[i]], indptr[at[i] + 1]
        x = X[i]
        for q in range(first, last):
            v = sign * values[q]
            if v == 0.0:
                continue
            j = indices[q]
            for c in range(first, last):
                S[j, indices[c]] += v * values[c]
            for p in range(x.shape[0]):
                T[j, p] += v * x[p]


@jit
def _update_all(D, S, T, order, positive, center):  # type: ignore[no-untyped-def]
    """Move the atoms to their optima given the others, in `order`, at unit norm."""
    k, n = D.shape
    d = np.empty(n)
    for o in range(order.shape[0]):
        j = order[o]
        size = S[j, j]
        if size <= 0.0:
            continue
        for p in range(n):
            d[p] = T[j, p] + size * D[j, p]
        for c in range(k):
            w = S[j, c]
            if w != 0.0:
                for p in range(n):
                    d[p] -= w * D[c, p]
        mean = 0.0
        if center:
            for p in range(n):
                mean += d[p]
            mean /= n
        norm = 0.0
        for p in range(n):
            d[p] -= mean
            if positive:
                d[p] = max(d[p], 0.0)
            norm += d[p] * d[p]
        norm = np.sqrt(norm)
        if norm > 1e-10 * size:
            for p in range(n):
                D[j, p] = d[p] / norm


class Stream(NamedTuple):
    """What is kept of earlier batches: ``S = A^T A`` and ``T = A^T X``, forgotten gradually.

    `users` counts the signals that use each atom, forgotten likewise; `seen` is the number of
    signals since each atom was put in its place, and `total` that of all.
    """

    S: Array
    T: Array
    users: Array
    seen: Array
    total: int

    @classmethod
    def empty(cls, k: int, n: int) -> "Stream":
        """Statistics of no signals."""
        return cls(np.zeros((k, k)), np.zeros((k, n)), np.zeros(k), np.zeros(k), 0)

    def times(self, factor: float) -> "Stream":
        """Statistics of signals multiplied by a factor."""
        with np.errstate(under="ignore", over="ignore"):
            return self._replace(S=self.S * factor * factor, T=self.T * factor * factor)


def add_batch(
    D: Array,
    stream: Stream,
    X: Array,
    codes: SparseCodes,
    *,
    forget: float | None,
    min_usage: int = 3,
    replace: bool = True,
    positive: bool = False,
    constant: bool = False,
    n_sweeps: int = 2,
) -> tuple[Array, Stream, int]:
    """Add a batch to the statistics and move the atoms to their optima; D and X are left alone.

    Statistics of earlier batches are multiplied by `forget`; None takes
    ``(1 - m / N) ** RHO`` for a batch of m of N signals so far, so that what counts is a share of
    all signals that stays the same, as in on-line dictionary learning [Mairal et al. 2010]; but
    the last ``WAIT`` times k signals count in any case.

    With `replace`, atoms that had ``WAIT`` times k signals to find `min_usage` users and did not,
    and the less used of two atoms that are alike, become the signals of the batch that are
    represented worst. What they did for earlier signals is taken from these first: the statistics
    of the others are then those of what was left for them.

    Returns the atoms, the statistics, and how many atoms were replaced.
    """
    D, k, m = D.copy(), len(D), len(X)
    total = stream.total + m
    if forget is None:
        forget = max((stream.total / total) ** RHO, float(np.exp(-m / (WAIT * k))))
    S, T = forget * stream.S, forget * stream.T
    users, seen = forget * stream.users, stream.seen + m
    A = to_csr(codes, k)
    S, T = S + (A.T @ A).toarray(), T + A.T @ X
    users += np.bincount(codes.indices[codes.values != 0], minlength=k)
    for _ in range(n_sweeps):
        _update_all(D, S, T, np.arange(int(constant), k), positive, constant and not positive)
    count = 0
    if replace:
        bad = (seen >= WAIT * k) & (users < min_usage)
        bad |= seen == np.inf
        bad = _with_twins(D, bad, users, constant)
        scale = np.sum(np.square(X, dtype=np.float64), axis=1)
        for j, d in _candidates(X, None, D, bad, codes.residual_sq, scale, positive, constant):
            T -= np.outer(S[:, j], D[j])
            S[j], S[:, j], T[j], users[j], seen[j] = 0.0, 0.0, 0.0, 0.0, 0.0
            D[j] = d
            count += 1
    return D, Stream(S, T, users, seen, total), count


def least_squares_atoms(
    X: Array,
    known: Array | None,
    D: Array,
    indptr: Array,
    indices: Array,
    values: Array,
    *,
    positive: bool = False,
    constant: bool = False,
    n_rounds: int = 3,
) -> None:
    """Best atoms for the given codes, in place: the method of optimal directions.

    ``D = (A^T A)^+ A^T X``, then atoms to unit norm and their coefficients in proportion, which
    leaves ``A D`` as it is; by non-negative least squares with `positive`. Hidden entries are
    filled with ``A D`` in each of `n_rounds` rounds, none of which raises the sum over the known
    ones. Atoms that nobody uses, or that would become zero, stay; the latter's coefficients
    become zero, as do coefficients at the level of rounding. A step that raises the objective all
    the same, the statistics being singular, is taken back; so D has to satisfy the constraints.
    """
    k = len(D)
    before, after = np.empty(len(X)), np.empty(len(X))
    _residuals(X, known, D, indptr, indices, values, before)
    old = D.copy(), values.copy()
    largest = np.zeros(len(X))
    rows = np.repeat(np.arange(len(X)), np.diff(indptr))
    np.maximum.at(largest, rows, np.abs(values))
    values[np.abs(values) <= ROUNDING * largest[rows]] = 0.0
    A = sparse.csr_array((values, indices, indptr), shape=(len(X), k))
    S = np.asarray((A.T @ A).todense())
    free = np.flatnonzero(np.diag(S) > 0)
    if constant:
        free = free[free > 0]
    if free.size == 0:
        return
    new = D.copy()
    own = np.zeros(k)
    for _ in range(1 if known is None else n_rounds):
        full = X if known is None else np.where(known, X, A @ new)
        right = np.asarray(A.T @ full, dtype=np.float64)[free]
        if constant:
            right = right - np.outer(S[free, 0], new[0])
        if positive:
            scale = np.sqrt(np.diag(S)[free])
            scaled = S[np.ix_(free, free)] / np.outer(scale, scale)
            solved = nnls(scaled, (right / scale[:, None]).T).Z.T / scale[:, None]
        else:
            if constant:
                right = right - right.mean(axis=1, keepdims=True)
            solved = _symmetric_solve(S[np.ix_(free, free)], right)
        new[free] = solved
        own[free] = np.linalg.norm(right, axis=1) / np.diag(S)[free]
    norms = np.ones(k)
    norms[free] = np.linalg.norm(new[free], axis=1)
    kept = norms > ROUNDING * np.maximum(1.0, own)
    D[kept] = new[kept] / norms[kept, None]
    values *= np.where(kept, norms, 0.0)[indices]
    _residuals(X, known, D, indptr, indices, values, after)
    total = float(np.sum(np.square(X, dtype=np.float64)))
    if not after.sum() <= before.sum() * (1 + 1e-12) + ROUNDING**2 * total:
        D[:], values[:] = old


def binary_exponent(X: Array) -> int:
    """Exponent of two that is just above the largest modulus in X; 0 for zeros."""
    peak = float(np.max(np.abs(X), initial=0.0))
    return int(np.frexp(peak)[1]) if peak > 0 else 0


def _symmetric_solve(S: Array, T: Array) -> Array:
    """Solve ``S Z = T`` for positive semi-definite S; of least norm where S is singular."""
    scale = np.sqrt(np.diag(S))
    scaled = S / np.outer(scale, scale)
    try:
        factor = cho_factor(scaled)
        pivots = np.diag(factor[0])
        if pivots.min() > 1e-6:
            return np.asarray(cho_solve(factor, T / scale[:, None]) / scale[:, None])
    except np.linalg.LinAlgError:
        pass
    found = np.linalg.lstsq(scaled, T / scale[:, None], rcond=1e-10)[0]
    return np.asarray(found / scale[:, None])


def users_of_atoms(codes: SparseCodes, k: int) -> tuple[Array, Array, Array]:
    """Where the users of each atom begin, their rows, and the places of their coefficients."""
    start = np.zeros(k + 1, np.int64)
    np.cumsum(np.bincount(codes.indices, minlength=k), out=start[1:])
    rows, place = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
    _group(codes.indptr, codes.indices, start[:-1].copy(), rows, place)
    return start, rows, place


@jit
def _group(indptr, indices, at, rows, place):  # type: ignore[no-untyped-def]
    """Rows and places of the coefficients of each atom, from the places `at`, which move on."""
    for i in range(indptr.shape[0] - 1):
        for q in range(indptr[i], indptr[i + 1]):
            t = at[indices[q]]
            rows[t] = i
            place[t] = q
            at[indices[q]] = t + 1


def _better(former: SparseCodes, new: SparseCodes) -> SparseCodes:
    """Keep, signal by signal, the code that leaves the smaller residual."""
    old = former.residual_sq < new.residual_sq
    if not old.any():
        return new
    counts = np.where(old, np.diff(former.indptr), np.diff(new.indptr))
    indptr = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    _merge(
        old, former.indptr, former.indices, former.values, new.indptr, new.indices, new.values,
        indptr, indices, values,
    )  # fmt: skip
    residual_sq = np.where(old, former.residual_sq, new.residual_sq)
    return new._replace(indptr=indptr, indices=indices, values=values, residual_sq=residual_sq)


def _replace(
    X: Array,
    known: Array | None,
    D: Array,
    codes: SparseCodes,
    users: tuple[Array, Array, Array],
    min_usage: int,
    positive: bool,
    constant: bool = False,
) -> int:
    """Replace atoms hardly used or alike by the worst represented signals, in place."""
    start, _, place = users
    usage = np.array(
        [np.count_nonzero(codes.values[place[start[j] : start[j + 1]]]) for j in range(len(D))]
    )
    bad = usage < min_usage
    if constant:
        bad[0] = False
    bad = _with_twins(D, bad, usage, constant)
    scale = np.sum(np.square(X if known is None else X * known, dtype=np.float64), axis=1)
    count = 0
    for j, d in _candidates(X, known, D, bad, codes.residual_sq, scale, positive, constant):
        own = place[start[j] : start[j + 1]]
        codes.values[own] = 0.0
        # without it those signals are worse: their old codes are not kept
        codes.residual_sq[users[1][start[j] : start[j + 1]]] = np.inf
        D[j] = d
        count += 1
    return count


def _with_twins(D: Array, bad: Array, usage: Array, constant: bool) -> Array:
    """Mark, of each two atoms that are alike, the one less used as well."""
    gram, bad = np.abs(D @ D.T), bad.copy()
    if constant:
        gram[0] = gram[:, 0] = 0.0
    for j in np.argsort(usage, kind="stable"):
        twins = (gram[j] > ALIKE) & ~bad
        twins[j] = False
        if not bad[j] and twins.any():
            bad[j] = True
    return bad


def _candidates(
    X: Array,
    known: Array | None,
    D: Array,
    bad: Array,
    residual_sq: Array,
    scale: Array,
    positive: bool,
    constant: bool,
) -> Iterator[tuple[int, Array]]:
    """Yield bad atoms with the directions of the worst represented signals, each signal once.

    The caller puts them in their place; signals near an atom that stays are passed over.
    """
    if not bad.any():
        return
    bad = bad.copy()
    worst = np.argsort(-residual_sq, kind="stable")
    worst = worst[residual_sq[worst] > 1e-12 * scale[worst]]
    candidate = 0
    for j in np.flatnonzero(bad):
        good = np.flatnonzero(~bad)
        while candidate < len(worst):
            i = worst[candidate]
            candidate += 1
            x = X[i] if known is None else np.where(known[i], X[i], 0.0)
            d = np.maximum(x, 0.0) if positive else np.asarray(x)
            d = d.astype(np.float64)
            size = np.linalg.norm(d)
            if constant and not positive:
                d = d - d.mean()
            norm = np.linalg.norm(d)
            if norm <= 1e-10 * size:
                continue
            d = d / norm
            if good.size and np.abs(D[good] @ d).max() > ALIKE:
                continue
            bad[j] = False
            yield int(j), d
            break


def _exchange(
    X: Array,
    D: Array,
    codes: SparseCodes,
    users: tuple[Array, Array, Array],
    constant: bool = False,
) -> int:
    """Split atoms that do the work of two at the cost of atoms that do little, in place.

    The local minima of K-SVD have a pattern: one atom lies between two true ones and serves the
    signals of both, and another serves hardly any. What the others leave of the signals of the
    first then lies near two lines; these become its two halves, and the second atom gives way.
    At most one atom in 32 is exchanged at a time, those of the signals represented worst.
    """
    start, rows, place = users
    most = -(-len(D) // 32)
    error = np.where(np.isfinite(codes.residual_sq), codes.residual_sq, 0.0)
    share = _sums(error[rows], start)
    savings = _sums(codes.values[place] ** 2, start)
    if constant:  # is neither split nor given up
        share[0], savings[0] = -1.0, np.inf
    halves = []
    for j in np.argsort(-share, kind="stable")[:most]:
        part = slice(start[j], start[j + 1])
        if part.stop - part.start < 4 or (constant and j == 0):
            continue
        E = np.empty((part.stop - part.start, X.shape[1]))
        residual_without(
            X, D, codes.indptr, codes.indices, codes.values, rows[part], place[part], j, E
        )
        if constant:
            E -= E.mean(axis=1, keepdims=True)
        lines, gain = two_lines(E)
        halves.append((gain, int(j), lines))
    halves.sort(key=lambda half: -half[0])
    idle = [int(i) for i in np.argsort(savings, kind="stable")[:most]]
    taken: set[int] = set()
    for gain, j, lines in halves:
        i = next((i for i in idle if i not in taken and i != j), None)
        if i is None or j in taken or gain <= EXCHANGE * savings[i]:
            continue
        taken |= {i, j}
        D[j], D[i] = lines
        for atom in (i, j):  # the old codes of their signals are not kept
            codes.residual_sq[rows[start[atom] : start[atom + 1]]] = np.inf
            codes.values[place[start[atom] : start[atom + 1]]] = 0.0
    return len(taken) // 2


def _sums(values: Array, start: Array) -> Array:
    """Sum the stretches of `values` that begin at `start`."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(total[start[1:]] - total[start[:-1]])


def two_lines(E: Array, n_rounds: int = 10) -> tuple[Array, float]:
    """Two directions through zero near which the rows of E lie, sought in its leading plane.

    Returns the unit directions (2, n), and by how much the sum of squared distances is smaller
    than that to the best single line.
    """
    n = E.shape[1]
    if n < 2:
        return np.ones((2, n)), 0.0
    values, vectors = np.linalg.eigh(E.T @ E)
    plane = vectors[:, -2:]
    P = E @ plane
    lines = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    second = np.zeros(len(E), np.bool_)
    for _ in range(n_rounds):
        near = (P @ lines.T) ** 2
        last, second = second, near[:, 1] > near[:, 0]
        for side in (False, True):
            Q = P[second == side]
            if len(Q):
                lines[int(side)] = np.linalg.eigh(Q.T @ Q)[1][:, 1]
        if np.array_equal(last, second):
            break
    gain = float(((P @ lines.T) ** 2).max(axis=1).sum() - values[-1])
    return np.asarray(lines @ plane.T), gain


def _exact_sweep(
    X: Array,
    D: Array,
    indptr: Array,
    indices: Array,
    values: Array,
    start: Array,
    rows: Array,
    place: Array,
    order: Array,
    center: bool = False,
) -> None:
    """Best approximation of rank one to what the other atoms leave, for each atom."""
    n = X.shape[1]
    for j in order:
        users = rows[start[j] : start[j + 1]]
        if users.size == 0:
            continue
        own = place[start[j] : start[j + 1]]
        E = np.empty((users.size, n))
        residual_without(X, D, indptr, indices, values, users, own, j, E)
        if center:
            E -= E.mean(axis=1, keepdims=True)
        if users.size > n:
            d = np.linalg.eigh(E.T @ E)[1][:, -1]
        else:
            d = np.linalg.svd(E, full_matrices=False)[2][0]
        if d @ D[j] < 0:
            d = -d
        if not np.any(E):
            continue
        D[j] = d
        values[own] = E @ d


@jit
def residual_without(  # type: ignore[no-untyped-def]
    X, D, indptr, indices, values, users, own, j, E
):
    """Rows of the signals that use atom j, less all their other atoms."""
    n = X.shape[1]
    for u in range(users.shape[0]):
        i = users[u]
        for p in range(n):
            E[u, p] = X[i, p]
        for q in range(indptr[i], indptr[i + 1]):
            if q != own[u]:
                v = values[q]
                d = D[indices[q]]
                for p in range(n):
                    E[u, p] -= v * d[p]


@jit
def _sweep(  # type: ignore[no-untyped-def]
    X, D, indptr, indices, values, start, rows, place, order, n_power, positive, center=False
):
    """Power steps for each atom, without forming what the other atoms leave.

    With g the coefficients of the users and E what is left, ``g E = g X - (g A) D + |g|^2 d`` and
    ``E d = X d - A (D d) + g``: two products with the users' signals and some lookups.
    """
    k, n = D.shape
    weight = np.zeros(k)
    d = np.empty(n)
    products = np.empty(k)
    for o in range(order.shape[0]):
        j = order[o]
        first, last = start[j], start[j + 1]
        if first == last:
            continue
        for _ in range(n_power):
            for p in range(n):
                d[p] = 0.0
            for c in range(k):
                weight[c] = 0.0
            size = 0.0
            for u in range(first, last):
                i = rows[u]
                g = values[place[u]]
                if g == 0.0:
                    continue
                size += g * g
                x = X[i]
                for p in range(n):
                    d[p] += g * x[p]
                for q in range(indptr[i], indptr[i + 1]):
                    weight[indices[q]] += g * values[q]
            if size == 0.0:
                break
            weight[j] -= size
            for c in range(k):
                w = weight[c]
                if w != 0.0:
                    atom = D[c]
                    for p in range(n):
                        d[p] -= w * atom[p]
            mean = 0.0
            if center:
                for p in range(n):
                    mean += d[p]
                mean /= n
            norm = 0.0
            for p in range(n):
                d[p] -= mean
                if positive:
                    d[p] = max(d[p], 0.0)
                norm += d[p] * d[p]
            norm = np.sqrt(norm)
            if norm <= 1e-14 * size:
                break
            # products with the atoms as they were: the code of this atom still counts the old one
            for c in range(k):
                products[c] = 0.0
            for p in range(n):
                d[p] /= norm
            for c in range(k):
                total = 0.0
                atom = D[c]
                for p in range(n):
                    total += atom[p] * d[p]
                products[c] = total
            for u in range(first, last):
                i = rows[u]
                own = place[u]
                total = 0.0
                x = X[i]
                for p in range(n):
                    total += x[p] * d[p]
                for q in range(indptr[i], indptr[i + 1]):
                    if q != own:
                        total -= values[q] * products[indices[q]]
                if positive:
                    total = max(total, 0.0)
                values[own] = total
            for p in range(n):
                D[j, p] = d[p]


@jit
def _masked_sweep(  # type: ignore[no-untyped-def]
    X, known, D, indptr, indices, values, start, rows, place, order, positive, center=False
):
    """Weighted approximations of rank one by alternating least squares on the known entries."""
    n = D.shape[1]
    above = np.empty(n)
    below = np.empty(n)
    e = np.empty(n)
    d = np.empty(n)
    for o in range(order.shape[0]):
        j = order[o]
        first, last = start[j], start[j + 1]
        if first == last:
            continue
        for _ in range(2):
            for p in range(n):
                above[p] = 0.0
                below[p] = 0.0
            for u in range(first, last):
                i = rows[u]
                own = place[u]
                g = values[own]
                if g == 0.0:
                    continue
                for p in range(n):
                    e[p] = X[i, p] if known[i, p] else 0.0
                for q in range(indptr[i], indptr[i + 1]):
                    if q != own:
                        v = values[q]
                        atom = D[indices[q]]
                        for p in range(n):
                            e[p] -= v * atom[p]
                for p in range(n):
                    if known[i, p]:
                        above[p] += g * e[p]
                        below[p] += g * g
            total, give = 0.0, 0.0
            for p in range(n):
                d[p] = above[p] / below[p] if below[p] > 0.0 else D[j, p]
                if positive:
                    d[p] = max(d[p], 0.0)
                total += d[p]
                if below[p] > 0.0:
                    give += 1.0 / below[p]
            norm = 0.0
            for p in range(n):
                if center and below[p] > 0.0:  # the best of zero sum: the weaker gives way more
                    d[p] -= total / (give * below[p])
                norm += d[p] * d[p]
            norm = np.sqrt(norm)
            if norm <= 1e-14:
                break
            for p in range(n):
                D[j, p] = d[p] / norm
            for u in range(first, last):
                i = rows[u]
                own = place[u]
                for p in range(n):
                    e[p] = X[i, p] if known[i, p] else 0.0
                for q in range(indptr[i], indptr[i + 1]):
                    if q != own:
                        v = values[q]
                        atom = D[indices[q]]
                        for p in range(n):
                            e[p] -= v * atom[p]
                top, bottom = 0.0, 0.0
                for p in range(n):
                    if known[i, p]:
                        top += D[j, p] * e[p]
                        bottom += D[j, p] * D[j, p]
                value = top / bottom if bottom > 1e-6 else values[own] * norm
                values[own] = max(value, 0.0) if positive else value


@jit
def _residuals(X, known, D, indptr, indices, values, out):  # type: ignore[no-untyped-def]
    """Squared norms of the residuals of the rows, over the known entries."""
    n = D.shape[1]
    r = np.empty(n)
    for i in range(X.shape[0]):
        for p in range(n):
            r[p] = X[i, p]
        for q in range(indptr[i], indptr[i + 1]):
            v = values[q]
            d = D[indices[q]]
            for p in range(n):
                r[p] -= v * d[p]
        total = 0.0
        if known is None:
            for p in range(n):
                total += r[p] * r[p]
        else:
            for p in range(n):
                if known[i, p]:
                    total += r[p] * r[p]
        out[i] = total


@jit
def _merge(  # type: ignore[no-untyped-def]
    old, indptr_a, indices_a, values_a, indptr_b, indices_b, values_b, indptr, indices, values
):
    """Rows of the first matrix where `old`, else of the second."""
    for i in range(old.shape[0]):
        place = indptr[i]
        if old[i]:
            for q in range(indptr_a[i], indptr_a[i + 1]):
                indices[place] = indices_a[q]
                values[place] = values_a[q]
                place += 1
        else:
            for q in range(indptr_b[i], indptr_b[i + 1]):
                indices[place] = indices_b[q]
                values[place] = values_b[q]
                place += 1
