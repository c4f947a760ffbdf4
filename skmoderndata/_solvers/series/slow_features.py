"""Moments of a time series and of its steps, and the slowest directions that they define.

Differs from the paper (Wiskott and Sejnowski 2002): 1. the generalised eigenproblem is solved from
moments, which can be merged, instead of whitening the rows. 2. Directions at the level of rounding
errors are left out. 3. Steps may have a lag, times and gaps.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsyrk

from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.series.expansion import (
    BLOCK_ENTRIES,
    Expansion,
    PolynomialExpansion,
)

# Rounding error of the eigenvalues of a covariance of D features, in units of D eps times the
# largest eigenvalue.
SUM_ERRORS = 10


class SlowMoments:
    """Running moments of expanded rows and of their steps, independent of the chunks.

    With the expanded row `f_t`, `mean` m and `lag` L, the class accumulates

    ``covariance() = 1/n sum_t (f_t - m)(f_t - m)'`` over the n valid rows, and
    ``step_moment() = 1/w sum_t (f_{t+L} - f_t)(f_{t+L} - f_t)' / dt`` over the valid steps,

    where `dt` is 1 without `times`, and `w = sum_t dt` is `step_weight` (without `times`, the
    number of steps). A step is valid if both rows are valid and belong to one sequence. The mean
    step is not subtracted. The first row of a chunk is subtracted from its rows, and chunks are
    merged by the formula of Chan, Golub and LeVeque, so that no large sums cancel.

    Most of the work is in symmetric rank-k updates, 2 n D^2 operations.

    Parameters
    ----------
    expansion : Expansion
        Function of one row; `PolynomialExpansion(p, 1)` is the row itself.
    lag : int
        Distance between the two rows of a step.
    """

    def __init__(self, expansion: Expansion, lag: int = 1) -> None:
        D = expansion.n_outputs
        self.expansion = expansion
        self.lag = lag
        self.n_samples = self.n_steps = self.n_sequences = 0
        self.step_weight = 0.0
        # process half a chunk at a time, to save memory
        self._block = default_chunk_rows(D) // 2
        self.mean = np.zeros(D)
        # allocate two symmetric matrices in one: the lower triangle belongs to the rows, and the
        # upper triangle, shifted by one column, to the steps
        self._sums = np.zeros((D, D + 1), order="F")
        # keep the first and last `lag` rows, which are needed for the steps between two parts
        self._head = self._tail = _Rows.empty(expansion.n_inputs)
        self._first_id: Any = None
        self._last_id: Any = None
        # whether the first row was declared as the beginning of a new sequence
        self._starts_new = False
        self.times_increase = True  # whether times increase throughout all merged parts

    def copy(self) -> "SlowMoments":
        """Return a copy that can be updated independently."""
        twin = object.__new__(SlowMoments)
        vars(twin).update(vars(self), mean=self.mean.copy(), _sums=self._sums.copy(order="F"))
        return twin

    def about(self, origin: Array) -> "SlowMoments":
        """Return the moments of the monomials about another origin.

        The new monomials are ``T f + t`` for the monomials f, so the covariance is ``T C T'``.
        """
        expansion = self.expansion
        assert isinstance(expansion, PolynomialExpansion)
        T, t = expansion.translation(origin)
        twin = object.__new__(SlowMoments)
        mean = T @ self.mean + t
        vars(twin).update(vars(self), expansion=expansion.about(origin), mean=mean)

        squares = _symmetric(self._sums[:, :-1], 1.0, lower=True)
        steps = _symmetric(self._sums[:, 1:], 1.0, lower=False)
        twin._sums = np.zeros_like(self._sums, order="F")
        twin._sums[:, :-1] += np.tril(T @ (T @ squares).T)
        twin._sums[:, 1:] += np.triu(T @ (T @ steps).T)
        return twin

    def about_their_mean(self) -> "SlowMoments":
        """Return the moments of the monomials about the mean of all rows.

        Monomials without an origin, and other expansions, do not change.
        """
        expansion = self.expansion
        if not isinstance(expansion, PolynomialExpansion) or expansion.origin is None:
            return self
        # compute the distance of the mean from the origin, for the inputs
        linear = expansion.linear
        origin = expansion.origin
        shift = self.mean[linear]
        squares = self._sums.diagonal()[linear]
        variance = squares / max(self.n_samples, 1)
        spread = np.abs(variance) ** 0.5

        # keep an origin that equals the mean up to rounding errors
        magnitude = np.abs(origin) + spread
        rounding = np.finfo(np.float64).eps * magnitude
        is_near = np.abs(shift) <= 8 * rounding
        if is_near.all():
            return self
        return self.about(origin + shift)

    def update(
        self,
        X: Array,
        *,
        sequence_ids: Array | None = None,
        new_sequence: bool = False,
        valid: Array | None = None,
        times: Array | None = None,
        chunk_rows: int | None = None,
        progress: Progress | None = None,
        prepare: Callable[[Array], Array] | None = None,
    ) -> "SlowMoments":
        """Add rows that follow the previous rows; an interrupt leaves the moments undefined.

        Parameters
        ----------
        X : array of shape (n, n_inputs)
            Rows in temporal order; invalid rows may contain anything.
        sequence_ids : array of shape (n,), optional
            Ids of the sequences. A new sequence begins where the id changes, also between the last
            row seen and the first row here.
        new_sequence : bool
            Whether the first row begins a new sequence whatever its id.
        valid : boolean array of shape (n,), optional
            Mask that is False for rows to leave out, together with their steps.
        times : array of shape (n,), optional
            Times that increase within a sequence, so that steps become rates of change. They must
            be given in every update or in none.
        chunk_rows : int, optional
            Number of rows expanded at once.
        progress : Progress, optional
            Object that is notified of each chunk and may stop the pass.
        prepare : callable, optional
            Function that is applied to the rows of a chunk before the expansion.
        """
        n = X.shape[0]
        if n == 0:
            return self
        runs = self._number_runs(n, sequence_ids, new_sequence)
        rows = min(n, chunk_rows or default_chunk_rows(self.expansion.n_outputs))

        # add chunks of rows, with moments about the mean of each chunk
        for start in range(0, n, rows):
            span = slice(start, start + rows)
            if progress is not None:
                progress.begin()

            chunk = X[span]
            if prepare is not None:
                chunk = prepare(chunk)
            chunk = np.asarray(chunk, dtype=np.float64)
            chunk_times = None if times is None else times[span]
            if valid is None:
                chunk_valid = np.ones(len(chunk), dtype=bool)
            else:
                chunk_valid = valid[span]

            added = _Rows(chunk, runs[span], chunk_valid, chunk_times)
            self._add(added)
            if progress is not None and progress.end():
                break

        return self

    def merge(self, other: "SlowMoments", *, follows: bool = True) -> "SlowMoments":
        """Add the moments of rows that follow the rows seen here [Chan 1983].

        With the difference `d` of the means, the squares of rows add up to
        ``C_a + C_b + d d' n_a n_b / (n_a + n_b)``. The squares of steps add up to ``S_a + S_b``
        plus the squares of the steps from the last `lag` rows of the first part to the first `lag`
        rows of the second, if both belong to one sequence.

        Parameters
        ----------
        other : SlowMoments
            Moments with the same expansion and lag; they are not changed.
        follows : bool
            Whether the first row of `other` may continue the last sequence here.
        """
        if other.n_sequences == 0:
            return self
        other = self._align_origins(other)
        if self.n_sequences == 0:
            self._first_id = other._first_id
            self._starts_new = other._starts_new

        # check whether the first sequence of `other` continues the last sequence of this part
        linked = follows and self.is_continued_by(other)
        n_before = self.n_sequences - linked
        self.times_increase &= other.times_increase
        if linked and self.last_time is not None and other.first_time is not None:
            self.times_increase &= other.first_time > self.last_time
        # number the sequences of `other` from `n_before` on
        head = other._head.renumbered(n_before)
        tail = other._tail.renumbered(n_before)
        self._join(head, tail)

        # add the sums, and merge the means
        self._last_id = other._last_id
        self._sums += other._sums
        self.n_sequences = n_before + other.n_sequences
        self.n_steps += other.n_steps
        self.step_weight += other.step_weight
        if other.n_samples:
            self._move_mean(other.mean, other.n_samples)

        return self

    def __add__(self, other: "SlowMoments") -> "SlowMoments":
        """Return the moments of these rows followed by the rows of `other`."""
        # ignore warnings here, because `times_increase` reports at the end whether times failed to
        # increase
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return self.copy().merge(other)

    def covariance(self) -> Array:
        """Return the covariance of the valid rows, divided by their number."""
        return _symmetric(self._sums[:, :-1], self.n_samples, lower=True)

    def step_moment(self) -> Array:
        """Return the second moment of the valid steps, not centred."""
        return _symmetric(self._sums[:, 1:], self.step_weight, lower=False)

    def is_finite(self) -> bool:
        """Return whether all sums are finite."""
        if not np.isfinite(self.mean).all():
            return False
        return bool(np.isfinite(self._sums).all())

    def continues(self, sequence_ids: Array | None) -> bool:
        """Return whether rows with these ids continue the sequence of the last row seen."""
        if self.n_sequences == 0:
            return False
        if sequence_ids is None:
            return self._last_id is None
        if self._last_id is None:
            return False
        return bool(sequence_ids[0] == self._last_id)

    def is_continued_by(self, other: "SlowMoments") -> bool:
        """Return whether the first row of `other` continues the sequence of the last row seen."""
        if other.n_sequences == 0 or other._starts_new:
            return False
        if other._first_id is None:
            return self.continues(None)
        first_ids = np.array([other._first_id])
        return self.continues(first_ids)

    def sample(self) -> Array:
        """Return the first and last rows that are valid."""
        head = self._head
        tail = self._tail
        valid_head = head.X[head.valid]
        valid_tail = tail.X[tail.valid]
        return np.concatenate([valid_head, valid_tail])

    @property
    def first_time(self) -> float | None:
        """Time of the first row seen, if rows had times."""
        times = self._head.times
        if times is None or len(times) == 0:
            return None
        return float(times[0])

    @property
    def last_time(self) -> float | None:
        """Time of the last row seen, if rows had times."""
        times = self._tail.times
        if times is None or len(times) == 0:
            return None
        return float(times[-1])

    def _align_origins(self, other: "SlowMoments") -> "SlowMoments":
        """Return `other` about the origin used here; before the first row, adopt its origin."""
        mine: Any = getattr(self.expansion, "origin", None)
        theirs: Any = getattr(other.expansion, "origin", None)
        if theirs is None or np.array_equal(mine, theirs):
            return other
        if self.n_samples == 0:
            self.expansion = other.expansion
            return other
        return other.about(mine)

    def _number_runs(self, n: int, sequence_ids: Array | None, new_sequence: bool) -> Array:
        """Assign numbers to sequences; rows that continue the last sequence keep its number."""
        change = np.zeros(n, dtype=np.int64)
        if self.n_sequences == 0:
            self._first_id = None if sequence_ids is None else sequence_ids[0]
            self._starts_new = new_sequence
        if sequence_ids is not None:
            change[1:] = sequence_ids[1:] != sequence_ids[:-1]
        change[0] = new_sequence or not self.continues(sequence_ids)
        runs = self.n_sequences + np.cumsum(change)
        self.n_sequences = int(runs[-1])
        self._last_id = None if sequence_ids is None else sequence_ids[-1]
        return runs

    def _add(self, rows: "_Rows") -> None:
        """Add a chunk of rows, the steps within it and the steps that lead to it."""
        head = rows.between(0, self.lag)
        tail = rows.last(self.lag)
        self._join(head, tail)

        # expand only the valid rows, because invalid rows may contain anything
        valid_rows = rows.X
        if not rows.valid.all():
            valid_rows = valid_rows[rows.valid]
        features = self.expansion(valid_rows)
        F = features.T  # (D, rows)
        self._add_steps(rows, F)

        n = F.shape[1]
        squares = self._sums[:, :-1]
        if n == 0:
            return

        # compute the moments about the first row and then move them to the mean, so that the mean
        # of a constant is exact
        origin = F[:, :1]
        total = np.zeros(len(F))
        for start in range(0, n, self._block):
            stop = start + self._block
            U = F[:, start:stop] - origin
            ones = np.ones(U.shape[1])
            total += U @ ones
            _add_squares(U, squares, 1.0, lower=True)

        shift = total[:, None] / n
        _add_squares(shift, squares, -n, lower=True)
        mean = origin + shift
        self._move_mean(mean[:, 0], n)

    def _join(self, head: "_Rows", tail: "_Rows") -> None:
        """Add the steps that lead to the first `lag` rows of the next part; keep the new ends."""
        lag = self.lag
        seam = self._tail.followed_by(head)
        if seam.steps(lag).any():  # here all steps cross the seam
            valid_rows = seam.X[seam.valid]
            features = self.expansion(valid_rows)
            self._add_steps(seam, features.T)

        # update the first and the last `lag` rows
        starts = self._head.followed_by(head)
        self._head = starts.between(0, lag)
        ends = self._tail.followed_by(tail)
        self._tail = ends.last(lag)

    def _add_steps(self, rows: "_Rows", F: Array) -> None:
        """Add the steps between rows; F are the features of the valid rows, (D, n)."""
        lag = self.lag
        squares = self._sums[:, 1:]
        begin = np.flatnonzero(rows.steps(lag))
        end = begin + lag
        n_steps = len(begin)
        column = np.cumsum(rows.valid) - 1
        has_no_gap = rows.valid.all() and n_steps == len(rows.X) - lag

        # compute the duration of each step
        weight = np.ones(n_steps)
        if rows.times is not None:
            weight = rows.times[end] - rows.times[begin]

        # add blocks of steps; if there are no gaps, the steps are differences of slices
        for start in range(0, n_steps, self._block):
            stop = min(start + self._block, n_steps)
            if has_no_gap:
                before = F[:, start:stop]
                after = F[:, start + lag : stop + lag]
            else:
                before = F[:, column[begin[start:stop]]]
                after = F[:, column[end[start:stop]]]

            steps = after - before
            if rows.times is not None:
                steps /= np.sqrt(weight[start:stop])
            _add_squares(steps, squares, 1.0, lower=False)
        self.n_steps += n_steps
        self.step_weight += float(weight.sum())

    def _move_mean(self, mean: Array, n: int) -> None:
        """Merge the mean of n new rows; the distance between the means adds to the squares."""
        shift = mean - self.mean
        total = self.n_samples + n
        if self.n_samples:
            weight = self.n_samples * n / total
            _add_squares(shift[:, None], self._sums[:, :-1], weight, lower=True)
        self.mean = self.mean + shift * (n / total)
        self.n_samples = total


def default_chunk_rows(n_outputs: int) -> int:
    """Return the number of rows to expand at once: 2 MiB of features, but at least 1000 rows."""
    return max(BLOCK_ENTRIES // max(n_outputs, 1), 1000)


class SlowDirections(NamedTuple):
    """Solution of the generalised eigenproblem, slowest direction first."""

    components: Array  # rows w with w C w' = 1, (k, D)
    delta_values: Array  # delta values of the components, (k,), ascending
    eigenvalues: Array  # delta values of all directions, (rank,), ascending
    rank: int  # number of dimensions in which the rows vary
    # largest |w|^2 for features of unit variance, the factor by which rounding errors grow
    amplification: float
    solver: str  # solver that was used, "eigh" or "cholesky"
    # number of directions that were left out although their variances exceed the errors of C
    n_omitted: int = 0


def slow_directions(
    C: Array,
    A: Array,
    *,
    n_components: int | None = None,
    rank_tol: float | None = None,
    solver: str = "auto",
    floor: Array | float = 0.0,
    overwrite: bool = False,
) -> SlowDirections:
    """Minimise `w A w'` subject to `w C w' = 1`, one direction after the other.

    Solves ``A w = delta C w`` for the smallest `delta` [Wiskott2002]. C (D, D) is the covariance,
    and A (D, D) the second moment of the steps. `floor` contains the squared rounding errors of
    the features: a feature counts as constant if its variance is at most its floor, and a
    direction is used only if its variance exceeds the rounding errors in this direction.

    C is scaled to unit diagonal. "eigh" whitens it in the directions whose eigenvalue also exceeds
    `rank_tol` times the largest (by default ``10 D eps``, the errors of the eigenvalues).
    "cholesky" factorises it and raises LinAlgError if C does not have full rank. "auto" uses
    "cholesky" if few directions are requested and C is well conditioned. At most `rank` directions
    are returned; `n_omitted` is the number of directions above the errors of C that were left out.
    With `overwrite`, C and A must be in Fortran order and are used as workspace.
    """
    D = C.shape[0]
    if rank_tol is None:
        rank_tol = SUM_ERRORS * D * float(np.finfo(np.float64).eps)

    # select the features that vary, and scale them to unit variance
    variance = np.diag(C).copy()
    varies = variance > np.maximum(floor, 0.0)
    p = int(np.count_nonzero(varies))
    if p == 0:
        no_values = np.empty(0)
        return SlowDirections(np.empty((0, D)), no_values, no_values.copy(), 0, 0.0, "eigh")
    if p < D:
        C = C[np.ix_(varies, varies)]
        A = A[np.ix_(varies, varies)]
    if p < D or not overwrite:
        C = np.array(C, order="F")
        A = np.array(A, order="F")

    # divide the errors by the variances, because the variances become 1
    variance = variance[varies]
    errors = np.broadcast_to(floor, D)[varies]
    errors = errors / variance
    scale = np.sqrt(variance)
    for matrix in (C, A):
        matrix /= scale
        matrix /= scale[:, None]

    k = min(n_components or p, p)

    # use a Cholesky factor for few components; for many, or if C is singular, use its eigenvectors
    solved = None
    n_omitted = 0
    if solver == "cholesky" or (solver == "auto" and 4 * k <= p):
        largest_error = float(errors.max())
        solved = _by_cholesky(C, A, max(rank_tol, largest_error))
        if solved is None and solver == "cholesky":
            raise np.linalg.LinAlgError("the covariance is singular up to rank_tol")
    if solved is not None:
        (eigenvalues, W) = solved
        route = "cholesky"
    else:
        (eigenvalues, W, n_omitted) = _by_eigh(C, A, rank_tol, errors)
        route = "eigh"

    rows = W.T[:k].copy()
    rank = len(eigenvalues)
    squared_lengths = np.einsum("ij,ij->i", rows, rows)
    amplification = float(squared_lengths.max())

    # undo the scaling, and insert zeros for the constant features
    rows /= scale
    if p < D:
        components = np.zeros((len(rows), D))
        components[:, varies] = rows
        rows = components

    np.maximum(eigenvalues, 0.0, out=eigenvalues)
    rows = fix_signs(rows)
    return SlowDirections(
        rows,
        eigenvalues[: len(rows)].copy(),
        eigenvalues,
        rank,
        amplification,
        route,
        n_omitted,
    )


def polish_directions(C: Array, A: Array) -> tuple[Array, Array]:
    """Remove the rounding errors of computed slow outputs from their measured moments.

    C (k, k) is the covariance of the outputs, close to the identity, and A the second moment of
    their steps. Returns a rotation whose rows combine the outputs to uncorrelated outputs, and the
    delta values measured on these, so that small values keep their relative accuracy.
    """
    directions = slow_directions(C, A, rank_tol=0.0, solver="eigh")
    rotation = directions.components
    power = np.einsum("ij,jk,ik->i", rotation, C, rotation, optimize=True)
    delta = np.einsum("ij,jk,ik->i", rotation, A, rotation, optimize=True)
    return rotation, delta / power


def _by_eigh(C: Array, A: Array, rank_tol: float, errors: Array) -> tuple[Array, Array, int]:
    """Return eigenvalues and, in columns, eigenvectors after whitening; C becomes workspace.

    The last value is the number of directions above the errors of C that were left out because of
    rounding errors of the features (with variances `errors`) or because of `rank_tol`.
    """
    variances, V = linalg.eigh(C, overwrite_a=True, check_finite=False)
    largest = variances[-1]
    feature_errors = V.T**2 @ errors
    varies = variances > np.maximum(rank_tol * largest, feature_errors)

    # count directions whose variances exceed the errors of C and that are left out nevertheless
    eps = float(np.finfo(np.float64).eps)
    rounding = SUM_ERRORS * len(C) * eps
    omitted = variances > rounding * largest
    omitted &= ~varies
    n_omitted = int(np.count_nonzero(omitted))

    # whiten C, then diagonalise A
    deviations = np.sqrt(variances[varies])
    W = V[:, varies] / deviations
    whitened = W.T @ (A @ W)
    eigenvalues, E = linalg.eigh(whitened, overwrite_a=True, check_finite=False)
    return eigenvalues, W @ E, n_omitted


def _by_cholesky(C: Array, A: Array, rank_tol: float) -> tuple[Array, Array] | None:
    """Solve with `C = L L'`; return None, with C and A intact, if C may be nearly singular."""
    norm = float(np.abs(C).sum(axis=0).max())
    try:
        L = linalg.cholesky(C, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    rcond, _ = linalg.lapack.dpocon(L, norm, uplo="L")
    del L  # free L, which would be a sixth matrix in memory
    # 1 / cond in the 1-norm is a lower bound on the ratio of the eigenvalues, but LAPACK's
    # estimate of cond may be several times too small
    if not rcond > 10 * rank_tol:
        return None
    return linalg.eigh(A, C, overwrite_a=True, overwrite_b=True, check_finite=False)


class _Rows(NamedTuple):
    """Rows in temporal order, with the arrays that decide which steps are valid."""

    X: Array
    runs: Array
    valid: Array
    times: Array | None

    @classmethod
    def empty(cls, n_inputs: int) -> "_Rows":
        X = np.empty((0, n_inputs))
        runs = np.empty(0, np.int64)
        valid = np.empty(0, bool)
        return cls(X, runs, valid, None)

    def renumbered(self, n_before: int) -> "_Rows":
        """Return the rows with `n_before` added to the numbers of their sequences."""
        runs = self.runs + n_before
        return self._replace(runs=runs)

    def followed_by(self, new: "_Rows") -> "_Rows":
        if len(self.runs) == 0:
            return new
        fields: Any = [
            None if b is None else np.concatenate([a, b])
            for a, b in zip(self, new, strict=True)
        ]
        return _Rows(*fields)

    def between(self, start: int, stop: int | None) -> "_Rows":
        """Copy the rows from `start` to `stop`."""
        fields: Any = [None if field is None else field[start:stop].copy() for field in self]
        return _Rows(*fields)

    def last(self, n_rows: int) -> "_Rows":
        """Copy the last `n_rows` rows, or all rows if there are fewer."""
        start = len(self.X) - n_rows
        return self.between(max(0, start), None)

    def steps(self, lag: int) -> Array:
        """Return a mask of the rows that begin a valid step."""
        valid = self.valid
        runs = self.runs
        begins: Array = runs[lag:] == runs[:-lag]
        begins &= valid[lag:]
        begins &= valid[:-lag]
        return begins


def _add_squares(columns: Array, matrix: Array, weight: float, *, lower: bool) -> None:
    """Add `weight * columns @ columns.T` to one triangle of a matrix in Fortran order."""
    if columns.size == 0:
        return
    a, trans = (columns, 0) if columns.flags.f_contiguous else (columns.T, 1)
    dsyrk(weight, a, beta=1.0, c=matrix, trans=trans, lower=int(lower), overwrite_c=1)


def _symmetric(triangle: Array, divisor: float, *, lower: bool) -> Array:
    """Fill a symmetric matrix from one triangle, and divide it."""
    half = np.tril(triangle) if lower else np.triu(triangle).T
    half /= divisor
    full: Array = np.asfortranarray(half)
    full += np.tril(full, -1).T
    return full
