"""K-SVD: dictionary learning by decompositions of residuals, one atom after the other.

Signals X (N, n) and atoms D (k, n) are rows; ``X ~ A D`` with sparse codes A. `atom_updates` has
the updates of the atoms, `atom_replacement` their replacement.

Differs from the paper (Aharon, Elad and Bruckstein 2006): 1. By default, atoms are updated by one
step of the power method (Rubinstein et al. 2008). 2. Signals may be coded in batches, with updates
of the atoms in between. 3. A signal may keep its old code if the new one is worse. 4. Atoms that
do the work of two are split.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.codes.signal_blocks import (
    SparseCodes,
    concatenate_codes,
    prepare_atoms,
    take_back,
    to_csr,
)
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.atom_replacement import (
    exchange_atoms,
    replace_atoms,
    with_twins,
    worst_signals,
)
from skmoderndata._solvers.dictionaries.atom_updates import (
    Ridges,
    least_squares_atoms,
    ridges_from,
    squared_residuals,
    sweep,
    update_all,
    users_of_atoms,
)

# Function that computes codes of the given rows; if entries are missing, it also receives ridges.
Coder = Callable[..., SparseCodes]

# Default exponent of the forgetting factor; its base is the fraction of the signals that came
# before the batch.
RHO = 10.0
# Fraction of the signals that the sums over batches represent; older codes are given less weight.
MEMORY = 0.5
# Number of sweeps over the atoms after each batch.
BATCH_SWEEPS = 2
# Number of signals per atom that must be seen before an atom with too few users is replaced; also
# the minimum number of signals per atom that the statistics of a stream represent.
WAIT = 8
# Number of passes whose best objective is compared with earlier passes while atoms are replaced;
# learning stops if it is no better.
PASSES_WITHOUT_GAIN = 5
# Fraction of the passes that replace atoms, counted from the first, in which atoms are also split.
SETTLE = 0.6


class Rules(NamedTuple):
    """Rules for updating and replacing atoms, see `learn_dictionary`."""

    update: str = "approximate"
    positive: bool = False
    constant: bool = False
    monotone: bool = False
    batch_size: int | None = None
    min_usage: int = 3
    replace_until: float = 1.0
    ridges: bool = False


RULES = Rules()


class LearningResult(NamedTuple):
    """A dictionary, the last codes, and the course of learning.

    `objective` holds ``|X - A D|^2`` after each pass, and `replaced` the number of atoms replaced
    at its end; between replacements, the objective never rises. `ridges` are for codes of
    incomplete signals, see `ridges_from`.
    """

    atoms: Array
    codes: SparseCodes
    objective: Array
    replaced: Array
    n_iter: int
    converged: bool
    ridges: Ridges


def learn_dictionary(
    X: Array,
    atoms: Array,
    code: Coder,
    *,
    observed: Array | None = None,
    rules: Rules = RULES,
    max_iter: int = 30,
    tol: float = 0.0,
    rng: np.random.RandomState,
    progress: Progress | None = None,
) -> LearningResult:
    """Run K-SVD from the given unit atoms: code all signals, then update atom after atom.

    The update of an atom takes the residual of the signals that use it, without its contribution,
    and replaces atom and coefficients by the best matrix of rank one ("exact"), or by a step of
    the power method from the current ones ("approximate" [Rubinstein et al. 2008]); "mod" solves
    the least squares problem of all atoms at once, for fixed codes (`least_squares_atoms`). With
    `observed`, a Boolean mask, hidden entries do not count; with `ridges`, atoms and codes are
    regularised by `ridges_from`, and `code` receives the ridges as its third argument. With
    `positive`, neither atoms nor codes are negative. With `constant`, the first atom is fixed, and
    the others (unless `positive`) are orthogonal to constants: they have zero mean.

    With `batch_size` (and no mask), the signals are coded in batches of this size, and in between,
    every atom moves to the least squares optimum for the other atoms and the latest codes
    (`code_in_batches`); the update of atoms and codes follows at the end of the pass.

    With `monotone`, a signal keeps its old code if the new one fits it less well. After each pass
    but the last, and only in the first fraction `replace_until` of them, atoms with fewer than
    `min_usage` users, and the less used of two similar atoms, are replaced by the worst
    represented signals; and atoms that do the work of two are split (`exchange_atoms`).

    Learning has converged when a pass lowers the objective by at most the fraction `tol`; while
    atoms are replaced or split in every pass, the best of the last `PASSES_WITHOUT_GAIN` passes
    counts.
    """
    _, positive, constant, monotone, batch_size, min_usage, replace_until, regularised = rules
    D = np.array(atoms, dtype=np.float64, order="C")
    former: SparseCodes | None = None
    objective: list[float] = []
    replaced: list[int] = []
    regularised = regularised and observed is not None
    ridges = None
    it = Iterations(max_iter, tol, progress)

    for _ in it:
        # 1. compute sparse codes; if `monotone`, keep earlier codes that fit better
        if ridges is not None:
            codes = code(prepare_atoms(D), slice(None), ridges)
        elif batch_size is None or observed is not None:
            codes = code(prepare_atoms(D), slice(None))
        else:
            codes = code_in_batches(X, D, code, former, batch_size, rng, positive, constant)
        if former is not None and monotone:
            codes = _better(former, codes)

        # 2. update the atoms, in random order [Aharon, Elad and Bruckstein 2006]
        values = codes.values.copy()
        A = to_csr(codes._replace(values=values), len(D))
        users = users_of_atoms(codes, len(D))
        order = rng.permutation(len(D))
        if constant:
            order = order[order != 0]
        if regularised:
            ridges = ridges_from(observed, D, A, codes.residual_sq.sum())
        _update_atoms(X, observed, D, A, users, order, rules, ridges)
        residual_sq = squared_residuals(X, observed, D, A)
        objective.append(float(residual_sq.sum()))
        former = codes._replace(values=values, residual_sq=residual_sq)

        # 3. replace atoms that few signals use, in the first part of the passes
        count = 0
        if it.n_iter < max_iter and it.n_iter <= replace_until * max_iter:
            count = replace_atoms(X, observed, D, former, users, min_usage, positive, constant)
            early = it.n_iter <= SETTLE * replace_until * max_iter
            if early and observed is None and not positive:
                count += exchange_atoms(X, D, former, users, constant)
        replaced.append(count)
        if regularised:
            ridges = ridges_from(observed, D, A, objective[-1])

        # 4. stop when the objective no longer falls; while replacements make it jump, compare it
        # with the best objective of earlier passes
        settled = count == 0 and len(replaced) > 1 and replaced[-2] == 0
        if tol > 0 and (settled or len(objective) > PASSES_WITHOUT_GAIN):
            before = objective[-2] if settled else min(objective[:-PASSES_WITHOUT_GAIN])
            after = objective[-1] if settled else min(objective[-PASSES_WITHOUT_GAIN:])
            it.residual = (before - after) / max(before, SMALLEST_DIVISOR)

    assert former is not None
    history = np.array(objective)
    ridges = ridges_from(observed, D, to_csr(former, len(D)), history[-1])
    return LearningResult(
        D, former, history, np.array(replaced), it.n_iter, it.converged, ridges
    )


def _update_atoms(
    X: Array,
    observed: Array | None,
    D: Array,
    A: sparse.csr_array,
    users: tuple[Array, Array, Array],
    order: Array,
    rules: Rules,
    ridges: Ridges | None,
) -> None:
    """Update atoms and coefficients in place, all at once or one after the other."""
    positive = rules.positive
    constant = rules.constant
    if rules.update == "mod":
        ridge = 0.0 if ridges is None else ridges.atoms
        least_squares_atoms(
            X, observed, D, A, ridge=ridge, positive=positive, constant=constant
        )
        return

    exact = rules.update == "exact"
    center = constant and not positive
    sweep(
        X,
        observed,
        D,
        A,
        users,
        order,
        ridges=ridges,
        exact=exact,
        positive=positive,
        center=center,
    )


def code_in_batches(
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

    The sums ``S = A^T A`` and ``T = A^T X`` forget old codes, which belong to old atoms, as in
    online dictionary learning [Mairal et al. 2010]: they count as much as the fraction `MEMORY` of
    the signals. Given these sums, each atom moves to its optimum in turn.
    """
    # compute S = A'A and T = A'X of the existing codes
    k = len(D)
    S = np.zeros((k, k))
    T = np.zeros(D.shape)
    if former is not None:
        S, T = _statistics(to_csr(former, k), X)
        S *= MEMORY
        T *= MEMORY

    shuffled = rng.permutation(len(X))
    batches = []
    for first in range(0, len(X), batch_size):
        batch = slice(first, first + batch_size)
        rows = np.sort(shuffled[batch])
        shuffled[batch] = rows

        # code a batch with the current atoms
        codes = code(prepare_atoms(D), rows)
        batches.append(codes)

        # forget as many signals as are added
        S_new, T_new = _statistics(to_csr(codes, k), X[rows])
        memory = MEMORY * len(X)
        forget = max(1 - len(rows) / memory, 0.0)
        S = forget * S + S_new
        T = forget * T + T_new

        # move the atoms to their optimum for these sums
        order = rng.permutation(k)
        if constant:
            order = order[order != 0]
        update_all(D, S, T, order, positive, constant and not positive)

    return take_back(concatenate_codes(batches), shuffled)


def _statistics(A: sparse.csr_array, X: Array) -> tuple[Array, Array]:
    """Return ``A^T A`` and ``A^T X``."""
    S = (A.T @ A).toarray(order="C")
    T = np.ascontiguousarray(A.T @ X, dtype=np.float64)
    return S, T


class Stream(NamedTuple):
    """Statistics of earlier batches: ``S = A^T A`` and ``T = A^T X``, forgotten gradually.

    `users` counts the signals that use each atom, forgotten likewise; `seen` is the number of
    signals since each atom was last replaced, and `total` the number of all signals.
    """

    S: Array
    T: Array
    users: Array
    seen: Array
    total: int

    @classmethod
    def empty(cls, k: int, n: int) -> "Stream":
        """Return the statistics of no signals."""
        S = np.zeros((k, k))
        T = np.zeros((k, n))
        return cls(S, T, users=np.zeros(k), seen=np.zeros(k), total=0)


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
) -> tuple[Array, Stream, int]:
    """Add a batch to the statistics and move the atoms to their optima; D and X are not changed.

    Statistics of earlier batches are multiplied by `forget`. None uses ``(1 - m / N) ** RHO`` for
    a batch of m signals out of N so far, so that a fixed fraction of all signals counts, as in
    online dictionary learning [Mairal et al. 2010]; but the last ``WAIT`` times k signals always
    count.

    With `replace`, atoms that found fewer than `min_usage` users in ``WAIT`` times k signals, and
    the less used of two similar atoms, are replaced by the worst represented signals of the batch.
    Their contributions to earlier signals are subtracted first, so that the statistics of the
    other atoms refer to the residuals.

    Returns the atoms, the statistics, and the number of replaced atoms.
    """
    # reduce the weight of earlier signals
    D = D.copy()
    k = len(D)
    m = len(X)
    total = stream.total + m
    if forget is None:
        fraction = stream.total / total
        forget = max(fraction**RHO, float(np.exp(-m / (WAIT * k))))
    S = forget * stream.S
    T = forget * stream.T
    users = forget * stream.users
    seen = stream.seen + m

    # add the batch
    S_new, T_new = _statistics(to_csr(codes, k), X)
    S = S + S_new
    T = T + T_new
    users += np.bincount(codes.indices[codes.values != 0], minlength=k)

    # move the atoms one after another to their optimum for the sums
    order = np.arange(int(constant), k)
    for _ in range(BATCH_SWEEPS):
        update_all(D, S, T, order, positive, constant and not positive)

    # give each atom that has too few users, or resembles another atom, the direction of a signal
    # that is represented badly
    count = 0
    if replace:
        bad = (seen >= WAIT * k) & (users < min_usage)
        bad = with_twins(D, bad, users, constant)
        scale = np.sum(np.square(X, dtype=np.float64), axis=1)
        error = codes.residual_sq
        for j, d in worst_signals(X, None, D, bad, error, scale, positive, constant):
            T -= np.outer(S[:, j], D[j])
            S[j] = 0.0
            S[:, j] = 0.0
            T[j] = 0.0
            users[j] = 0.0
            seen[j] = 0.0
            D[j] = d
            count += 1

    return D, Stream(S, T, users, seen, total), count


def _better(former: SparseCodes, new: SparseCodes) -> SparseCodes:
    """Keep for each signal the code with the smaller residual."""
    old = former.residual_sq < new.residual_sq
    if not old.any():
        return new
    largest = max(former.indices.max(initial=0), new.indices.max(initial=0))
    k = 1 + int(largest)
    source = np.arange(len(old)) + np.where(old, 0, len(old))
    stacked = sparse.vstack([to_csr(former, k), to_csr(new, k)]).tocsr()
    matrix = stacked[source]
    indptr = matrix.indptr.astype(np.int64)
    residual_sq = np.where(old, former.residual_sq, new.residual_sq)
    new = new._replace(indptr=indptr, indices=matrix.indices, values=matrix.data)
    return new._replace(residual_sq=residual_sq)
