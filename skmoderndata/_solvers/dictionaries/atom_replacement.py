"""Replacement of atoms that few signals use, that are similar, or that do the work of two.

Differs from the paper (Aharon, Elad and Bruckstein 2006): atoms that do the work of two are split.
"""

from collections.abc import Iterator

import numpy as np

from skmoderndata._solvers.codes.signal_blocks import SparseCodes, to_csr
from skmoderndata._solvers.common.tolerances import RANK_TOL
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.atom_updates import residual_without

# Largest cosine of two atoms that count as different; a limit of 0.99 recovers fewer atoms.
ALIKE = 0.9
# Minimum saving of a split, as a fraction of the saving of the atom that is given up. The fraction
# is small because in the next coding the other atoms make up for most of the lost saving.
EXCHANGE = 0.1
# Maximum number of rounds in which rows are assigned to the nearer of two lines.
LINE_ROUNDS = 10


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
    """Replace rarely used or similar atoms by the worst represented signals, in place."""
    # find atoms that too few signals use, or that resemble another atom
    start, signals, entries = users
    usage = np.bincount(codes.indices[codes.values != 0], minlength=len(D))
    bad = usage < min_usage
    if constant:
        bad[0] = False
    bad = with_twins(D, bad, usage, constant)

    # replace each of these atoms by the direction of a signal, and delete the codes of the signals
    # that use it
    seen = X if observed is None else X * observed
    scale = np.sum(np.square(seen, dtype=np.float64), axis=1)
    error = codes.residual_sq
    count = 0
    for j, d in worst_signals(X, observed, D, bad, error, scale, positive, constant):
        users_of_j = slice(start[j], start[j + 1])
        codes.values[entries[users_of_j]] = 0.0
        # these signals are now represented less well, so their old codes must not be kept
        error[signals[users_of_j]] = np.inf
        D[j] = d
        count += 1
    return count


def with_twins(D: Array, bad: Array, usage: Array, constant: bool) -> Array:
    """Also mark the less used one of two atoms that are alike as bad."""
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

    The caller replaces the atoms; signals near an atom that stays are skipped.
    """
    if not bad.any():
        return
    bad = bad.copy()
    worst = np.argsort(-residual_sq, kind="stable")
    worst = worst[residual_sq[worst] > 1e-12 * scale[worst]]

    # try candidates in descending order of error; skip signals that are represented up to rounding
    # errors
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
            if norm <= RANK_TOL * size:
                # skip directions that are zero up to rounding errors
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
    """Split atoms that do the work of two and give up atoms that do little, in place.

    The local minima of K-SVD have a pattern: one atom lies between two true ones and serves the
    signals of both, while another serves hardly any. The part of the first atom's signals that the
    other atoms do not explain then lies near two lines. These become the two atoms. At most one
    atom in 32 is exchanged at a time, starting with the worst represented signals.
    """
    # compute the error of the signals that use each atom, and the saving by the atom
    start, rows, entries = users
    k = len(D)
    A = to_csr(codes, k)
    largest = -(-k // 32)
    error = np.where(np.isfinite(codes.residual_sq), codes.residual_sq, 0.0)
    signal = np.repeat(np.arange(len(error)), np.diff(codes.indptr))
    misfit = np.bincount(codes.indices, weights=error[signal], minlength=k)
    savings = np.bincount(codes.indices, weights=codes.values**2, minlength=k)
    savings = savings.astype(float)
    if constant:  # the constant atom is never split or given up
        misfit[0] = -1.0
        savings[0] = np.inf

    # find candidates for a split: fit two lines to the residuals that the other atoms leave
    halves = []
    for j in np.argsort(-misfit, kind="stable")[:largest]:
        users_of = slice(start[j], start[j + 1])
        if users_of.stop - users_of.start < 4 or (constant and j == 0):
            continue
        E = residual_without(X, D, A, rows[users_of], entries[users_of], j)
        if constant:
            E -= E.mean(axis=1, keepdims=True)
        lines, gain = two_lines(E)
        halves.append((gain, int(j), lines))

    halves.sort(key=lambda half: -half[0])
    by_savings = np.argsort(savings, kind="stable")
    idle = [int(i) for i in by_savings[:largest]]
    taken: set[int] = set()

    # exchange if the split saves more than the fraction EXCHANGE of what the idle atom saves
    for gain, j, lines in halves:
        i = next((i for i in idle if i not in taken and i != j), None)
        if i is None or j in taken or gain <= EXCHANGE * savings[i]:
            continue
        taken |= {i, j}
        D[j], D[i] = lines
        for atom in (i, j):  # the old codes of their signals must not be kept
            users_of = slice(start[atom], start[atom + 1])
            codes.residual_sq[rows[users_of]] = np.inf
            codes.values[entries[users_of]] = 0.0
    return len(taken) // 2


def two_lines(E: Array) -> tuple[Array, float]:
    """Find two directions through zero near which the rows of E lie, in its leading plane.

    Returns the unit directions (2, n), and the decrease of the sum of squared distances compared
    to the best single line.
    """
    n = E.shape[1]
    if n < 2:
        return np.ones((2, n)), 0.0

    # find the leading plane of the rows
    values, vectors = np.linalg.eigh(E.T @ E)
    plane = vectors[:, -2:]
    P = E @ plane
    lines = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    second = np.zeros(len(E), np.bool_)

    # assign each row to the nearer line, and each line to the leading direction of its rows
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
