"""Replacement of atoms: those hardly used or alike by signals, and those that do two's work."""

from collections.abc import Iterator

import numpy as np

from skmoderndata._solvers.codes.signal_blocks import SparseCodes, to_csr
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.atom_updates import residual_without

ALIKE = 0.9  # cosine above which two atoms are taken for the same; 0.99 recovers fewer atoms
# an atom gives way to the half of another one that saves at least this fraction of what it saves
# itself: the other atoms take over most of its work at the next coding
EXCHANGE = 0.1
LINE_ROUNDS = 10  # in which rows go to the nearer of two lines, at most


def replace_atoms(
    X: Array,
    observed: Array | None,
    D: Array,
    codes: SparseCodes,
    users: tuple[Array, Array, Array],
    min_usage: int,
    positive: bool,
    constant: bool = False,
) -> int:
    """Replace atoms hardly used or alike by the worst represented signals, in place."""
    # atoms that too few signals use, or that are like another one
    start, signals, entries = users
    usage = np.bincount(codes.indices[codes.values != 0], minlength=len(D))
    bad = usage < min_usage
    if constant:
        bad[0] = False
    bad = with_twins(D, bad, usage, constant)

    # each takes the direction of a signal, whose users lose their codes
    seen = X if observed is None else X * observed
    scale = np.sum(np.square(seen, dtype=np.float64), axis=1)
    error = codes.residual_sq
    count = 0
    for j, d in worst_signals(X, observed, D, bad, error, scale, positive, constant):
        own = slice(start[j], start[j + 1])
        codes.values[entries[own]] = 0.0
        # without it those signals are worse: their old codes are not kept
        error[signals[own]] = np.inf
        D[j] = d
        count += 1
    return count


def with_twins(D: Array, bad: Array, usage: Array, constant: bool) -> Array:
    """Mark, of each two atoms that are alike, the one less used as well."""
    gram = np.abs(D @ D.T)
    bad = bad.copy()
    if constant:
        gram[0] = gram[:, 0] = 0.0
    for j in np.argsort(usage, kind="stable"):
        twins = (gram[j] > ALIKE) & ~bad
        twins[j] = False
        if not bad[j] and twins.any():
            bad[j] = True
    return bad


def worst_signals(
    X: Array,
    observed: Array | None,
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

    # candidates by their error, without those represented to rounding
    candidate = 0
    for j in np.flatnonzero(bad):
        while candidate < len(worst):
            i = worst[candidate]
            candidate += 1

            x = X[i] if observed is None else np.where(observed[i], X[i], 0.0)
            d = np.maximum(x, 0.0) if positive else np.asarray(x)
            d = d.astype(np.float64)
            size = np.linalg.norm(d)
            if constant and not positive:
                d = d - d.mean()
            norm = np.linalg.norm(d)
            if norm <= 1e-10 * size:
                # neither nothing nor a copy of an atom that stays
                continue
            d = d / norm
            cosines = np.abs(D @ d)[~bad]
            if cosines.max(initial=0.0) > ALIKE:
                continue
            bad[j] = False
            yield int(j), d
            break


def exchange_atoms(
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
    # error of the signals that use an atom, and what it saves
    start, rows, entries = users
    k = len(D)
    A = to_csr(codes, k)
    largest = -(-k // 32)
    error = np.where(np.isfinite(codes.residual_sq), codes.residual_sq, 0.0)
    signal = np.repeat(np.arange(len(error)), np.diff(codes.indptr))
    misfit = np.bincount(codes.indices, weights=error[signal], minlength=k)
    savings = np.bincount(codes.indices, weights=codes.values**2, minlength=k)
    savings = savings.astype(float)
    if constant:  # is neither split nor given up
        misfit[0] = -1.0
        savings[0] = np.inf

    # candidates for a split: two lines through what the other atoms leave
    halves = []
    for j in np.argsort(-misfit, kind="stable")[:largest]:
        own = slice(start[j], start[j + 1])
        if own.stop - own.start < 4 or (constant and j == 0):
            continue
        E = residual_without(X, D, A, rows[own], entries[own], j)
        if constant:
            E -= E.mean(axis=1, keepdims=True)
        lines, gain = two_lines(E)
        halves.append((gain, int(j), lines))

    halves.sort(key=lambda half: -half[0])
    by_savings = np.argsort(savings, kind="stable")
    idle = [int(i) for i in by_savings[:largest]]
    taken: set[int] = set()

    # exchange where the split gains more than the idle atom saves
    for gain, j, lines in halves:
        i = next((i for i in idle if i not in taken and i != j), None)
        if i is None or j in taken or gain <= EXCHANGE * savings[i]:
            continue
        taken |= {i, j}
        D[j], D[i] = lines
        for atom in (i, j):  # the old codes of their signals are not kept
            own = slice(start[atom], start[atom + 1])
            codes.residual_sq[rows[own]] = np.inf
            codes.values[entries[own]] = 0.0
    return len(taken) // 2


def two_lines(E: Array) -> tuple[Array, float]:
    """Two directions through zero near which the rows of E lie, sought in its leading plane.

    Returns the unit directions (2, n), and by how much the sum of squared distances is smaller
    than that to the best single line.
    """
    n = E.shape[1]
    if n < 2:
        return np.ones((2, n)), 0.0

    # the leading plane of the rows
    values, vectors = np.linalg.eigh(E.T @ E)
    plane = vectors[:, -2:]
    P = E @ plane
    lines = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    second = np.zeros(len(E), np.bool_)

    # each row goes to the nearer line, each line to the leading direction of its rows
    for _ in range(LINE_ROUNDS):
        near = (P @ lines.T) ** 2
        last = second
        second = near[:, 1] > near[:, 0]
        for side in (False, True):
            Q = P[second == side]
            if len(Q):
                _, directions = np.linalg.eigh(Q.T @ Q)
                lines[int(side)] = directions[:, 1]
        if np.array_equal(last, second):
            break

    along = ((P @ lines.T) ** 2).max(axis=1)
    gain = float(along.sum() - values[-1])
    return np.asarray(lines @ plane.T), gain
