"""Moments of a time series and of its steps, and the slowest directions they define."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsyrk

from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.series.expansion import Expansion, PolynomialExpansion

BLOCK_ENTRIES = 2**17  # features of the rows or steps whose squares are added at once, about

# Size of the rounding errors in the eigenvalues of a covariance of D features, in units of D eps
# times the largest one.
SUM_ERRORS = 10


class SlowMoments:
    """Running moments of expanded rows and of their steps, exact whatever the chunking.

    With `f_t` the expanded row t, `mean` m and `lag` L the class accumulates

    ``covariance() = 1/n sum_t (f_t - m)(f_t - m)'`` over the n valid rows, and
    ``step_moment() = 1/w sum_t (f_{t+L} - f_t)(f_{t+L} - f_t)' / dt`` over the valid steps,

    where `dt` is 1 without `times` and `w = sum_t dt` (`step_weight`; the number of steps
    without `times`). A step is valid if both rows are valid and belong to one sequence. The mean
    step is not subtracted. Rows are taken relative to the first of their chunk and chunks are
    merged by the formula of Chan, Golub and LeVeque, so that no large sums cancel.

    The work is in symmetric rank-k updates, 2 n D^2 operations.

    Parameters
    ----------
    expansion : Expansion
        Function of one row; `PolynomialExpansion(p, 1)` for the row itself.
    lag : int
        Distance of the two rows of a step.
    """

    def __init__(self, expansion: Expansion, lag: int = 1) -> None:
        D = expansion.n_outputs
        self.expansion = expansion
        self.lag = lag
        self.n_samples = self.n_steps = self.n_sequences = 0
        self.step_weight = 0.0
        self._block = max(512, BLOCK_ENTRIES // max(D, 1))
        self.mean = np.zeros(D)
        # two symmetric matrices: rows in the lower triangle, steps in the upper one, a column on
        self._sums = np.zeros((D, D + 1), order="F")
        # first and last `lag` rows: ends of the steps that cross a seam
        self._head = self._tail = _Rows.empty(expansion.n_inputs)
        self._first_id: Any = None
        self._last_id: Any = None
        self._starts_new = False  # whether the first row was said to begin a new sequence
        self.times_increase = True  # as far as parts have been merged

    def copy(self) -> "SlowMoments":
        """Return moments that can be updated without touching these."""
        twin = object.__new__(SlowMoments)
        vars(twin).update(vars(self), mean=self.mean.copy(), _sums=self._sums.copy(order="F"))
        return twin

    def about(self, origin: Array) -> "SlowMoments":
        """Return the moments of the monomials about another origin.

        These are ``T f + t`` for the monomials f, so that the covariance becomes ``T C T'``.
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

        Monomials without an origin, and other expansions, stay as they are.
        """
        expansion = self.expansion
        if not isinstance(expansion, PolynomialExpansion) or expansion.origin is None:
            return self
        # distance of the mean from the origin, in the inputs themselves
        linear = expansion.linear
        origin = expansion.origin
        shift = self.mean[linear]
        squares = self._sums.diagonal()[linear]
        variance = squares / max(self.n_samples, 1)
        spread = np.abs(variance) ** 0.5

        # an origin within rounding errors of the mean stays
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
        """Add rows that follow those seen before; an interrupt leaves the moments undefined.

        Parameters
        ----------
        X : array of shape (n, n_inputs)
            Rows in the order of time; rows that are not valid may hold anything.
        sequence_ids : array of shape (n,), optional
            A new sequence begins where the id changes, also against the row seen last.
        new_sequence : bool
            The first row begins a new sequence whatever its id.
        valid : boolean array of shape (n,), optional
            False for rows to leave out, with their steps.
        times : array of shape (n,), optional
            Increasing within a sequence; steps become rates of change. In every update or none.
        chunk_rows : int, optional
            Rows expanded at once.
        progress : Progress, optional
            Told about each chunk; may stop the pass.
        prepare : callable, optional
            Applied to the rows of a chunk before the expansion.
        """
        n = X.shape[0]
        if n == 0:
            return self
        runs = self._number_runs(n, sequence_ids, new_sequence)
        rows = min(n, chunk_rows or default_chunk_rows(self.expansion.n_outputs))

        # chunks of rows, the moments of each about its own mean
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
        """Add the moments of rows that come after those seen here [Chan 1983].

        With `d` the difference of the means the squares of rows add up to
        ``C_a + C_b + d d' n_a n_b / (n_a + n_b)``, those of steps to ``S_a + S_b`` and the squares
        of the steps from the last `lag` rows of the first part to the first `lag` rows of the
        second, where both belong to one sequence.

        Parameters
        ----------
        other : SlowMoments
            Of the same expansion and lag; it is not changed.
        follows : bool
            Whether the first row of `other` may continue the last sequence here.
        """
        if other.n_sequences == 0:
            return self
        other = self._align_origins(other)
        if self.n_sequences == 0:
            self._first_id = other._first_id
            self._starts_new = other._starts_new

        # does the first sequence of `other` go on from the last one here?
        linked = follows and self.is_continued_by(other)
        n_before = self.n_sequences - linked
        self.times_increase &= other.times_increase
        if linked and self.last_time is not None and other.first_time is not None:
            self.times_increase &= other.first_time > self.last_time
        # the sequences of `other` are numbered as those after `n_before` others
        head = other._head.renumbered(n_before)
        tail = other._tail.renumbered(n_before)
        self._join(head, tail)

        # sums add up; the mean moves as by so many rows
        self._last_id = other._last_id
        self._sums += other._sums
        self.n_sequences = n_before + other.n_sequences
        self.n_steps += other.n_steps
        self.step_weight += other.step_weight
        if other.n_samples:
            self._move_mean(other.mean, other.n_samples)

        return self

    def __add__(self, other: "SlowMoments") -> "SlowMoments":
        """Return the moments of these rows and of those that come after them."""
        # times that do not increase are reported in the end, by `times_increase`
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return self.copy().merge(other)

    def covariance(self) -> Array:
        """Covariance of the valid rows, divided by their number."""
        return _symmetric(self._sums[:, :-1], self.n_samples, lower=True)

    def step_moment(self) -> Array:
        """Second moment of the valid steps, not centred."""
        return _symmetric(self._sums[:, 1:], self.step_weight, lower=False)

    def is_finite(self) -> bool:
        """Whether no sum has overflowed."""
        if not np.isfinite(self.mean).all():
            return False
        return bool(np.isfinite(self._sums).all())

    def continues(self, sequence_ids: Array | None) -> bool:
        """Whether rows with these ids go on with the sequence of the row seen last."""
        if self.n_sequences == 0:
            return False
        if sequence_ids is None:
            return self._last_id is None
        if self._last_id is None:
            return False
        return bool(sequence_ids[0] == self._last_id)

    def is_continued_by(self, other: "SlowMoments") -> bool:
        """Whether the first row of `other` goes on with the sequence of the row seen last."""
        if other.n_sequences == 0 or other._starts_new:
            return False
        if other._first_id is None:
            return self.continues(None)
        first_ids = np.array([other._first_id])
        return self.continues(first_ids)

    def sample(self) -> Array:
        """First and last rows, as far as they are valid."""
        head = self._head
        tail = self._tail
        valid_head = head.X[head.valid]
        valid_tail = tail.X[tail.valid]
        return np.concatenate([valid_head, valid_tail])

    @property
    def first_time(self) -> float | None:
        """Time of the row seen first, if rows had times."""
        times = self._head.times
        if times is None or len(times) == 0:
            return None
        return float(times[0])

    @property
    def last_time(self) -> float | None:
        """Time of the row seen last, if rows had times."""
        times = self._tail.times
        if times is None or len(times) == 0:
            return None
        return float(times[-1])

    def _align_origins(self, other: "SlowMoments") -> "SlowMoments":
        """Return `other` about the origin used here, which is its own one before the first row."""
        mine: Any = getattr(self.expansion, "origin", None)
        theirs: Any = getattr(other.expansion, "origin", None)
        if theirs is None or np.array_equal(mine, theirs):
            return other
        if self.n_samples == 0:
            self.expansion = other.expansion
            return other
        return other.about(mine)

    def _number_runs(self, n: int, sequence_ids: Array | None, new_sequence: bool) -> Array:
        """Give each sequence a number; the number used last continues the last sequence."""
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
        """Add a chunk of rows, the steps in it and those that lead to it."""
        head = rows.between(0, self.lag)
        tail = rows.last(self.lag)
        self._join(head, tail)

        # features of the valid rows alone: the others may hold anything
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

        # moments about the first row, then moved to the mean
        # so that the mean of a constant is exact
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
        """Add the steps to the first `lag` rows of what follows, and keep the new ends."""
        lag = self.lag
        seam = self._tail.followed_by(head)
        if seam.steps(lag).any():  # each of them crosses the seam
            valid_rows = seam.X[seam.valid]
            features = self.expansion(valid_rows)
            self._add_steps(seam, features.T)

        # the first and the last `lag` rows of all
        starts = self._head.followed_by(head)
        self._head = starts.between(0, lag)
        ends = self._tail.followed_by(tail)
        self._tail = ends.last(lag)

    def _add_steps(self, rows: "_Rows", F: Array) -> None:
        """Add the steps between rows; F are the features of the valid ones, (D, n)."""
        lag = self.lag
        squares = self._sums[:, 1:]
        begin = np.flatnonzero(rows.steps(lag))
        end = begin + lag
        n_steps = len(begin)
        column = np.cumsum(rows.valid) - 1
        has_no_gap = rows.valid.all() and n_steps == len(rows.X) - lag

        # time that each step takes
        weight = np.ones(n_steps)
        if rows.times is not None:
            weight = rows.times[end] - rows.times[begin]

        # blocks of steps; without gaps they are differences of slices
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
        """Merge the mean of n new rows; the distance of the means adds to the squares."""
        shift = mean - self.mean
        total = self.n_samples + n
        if self.n_samples:
            weight = self.n_samples * n / total
            _add_squares(shift[:, None], self._sums[:, :-1], weight, lower=True)
        self.mean = self.mean + shift * (n / total)
        self.n_samples = total


def default_chunk_rows(n_outputs: int) -> int:
    """Rows to expand at once: 2 MiB of features, between 1024 and 65536 rows."""
    fitting = (1 << 18) // n_outputs
    return int(min(max(fitting, 1024), 65536))


class SlowDirections(NamedTuple):
    """Solution of the generalised eigenproblem, slowest direction first."""

    components: Array  # (k, D): rows w with w C w' = 1
    delta_values: Array  # (k,), ascending
    eigenvalues: Array  # (rank,), ascending: the delta values of all directions
    rank: int  # dimensions in which the rows vary
    amplification: float  # largest |w|^2 for features of unit variance: of rounding errors
    solver: str  # "eigh" or "cholesky": the route taken
    n_omitted: int = 0  # directions above the errors of C that were left out


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

    Solves ``A w = delta C w`` for the smallest `delta` [Wiskott2002], C being the covariance and A
    the second moment of the steps (D, D). `floor` are the squared rounding errors of the features:
    a feature counts as constant if its variance is not above its floor, and a direction only if
    its variance is above that of the rounding errors in this direction.

    C is scaled to unit diagonal, then whitened in the directions where its eigenvalue also exceeds
    `rank_tol` times the largest (by default ``10 D eps``, the errors of the eigenvalues), "eigh";
    or factorised, "cholesky", which raises LinAlgError if C does not have full rank. "auto" uses
    "cholesky" if few directions are requested and C is well conditioned. At most `rank` directions
    are returned; `n_omitted` counts those above the errors of C that were left out. With
    `overwrite` C and A, in Fortran order, are work space.
    """
    D = C.shape[0]
    if rank_tol is None:
        rank_tol = SUM_ERRORS * D * float(np.finfo(np.float64).eps)

    # features that vary, scaled to variance one
    variance = np.diag(C).copy()
    varies = variance > np.maximum(floor, 0.0)
    p = int(np.count_nonzero(varies))
    if p == 0:
        nothing = np.empty(0)
        return SlowDirections(np.empty((0, D)), nothing, nothing.copy(), 0, 0.0, "eigh")
    if p < D:
        C = C[np.ix_(varies, varies)]
        A = A[np.ix_(varies, varies)]
    if p < D or not overwrite:
        C = np.array(C, order="F")
        A = np.array(A, order="F")

    # errors in units of the variances, which become 1
    variance = variance[varies]
    errors = np.broadcast_to(floor, D)[varies]
    errors = errors / variance
    scale = np.sqrt(variance)
    for matrix in (C, A):
        matrix /= scale
        matrix /= scale[:, None]

    k = min(n_components or p, p)

    # few components: a Cholesky factor; else, or where C is singular, its eigenvectors
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

    # back to the units of all features
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

    C (k, k) is their covariance, near the identity, A the second moment of their steps. Returns a
    rotation whose rows combine the outputs to uncorrelated ones, and the delta values measured on
    these, so that small ones keep their relative accuracy.
    """
    directions = slow_directions(C, A, rank_tol=0.0, solver="eigh")
    rotation = directions.components
    power = np.einsum("ij,jk,ik->i", rotation, C, rotation, optimize=True)
    delta = np.einsum("ij,jk,ik->i", rotation, A, rotation, optimize=True)
    return rotation, delta / power


def _by_eigh(C: Array, A: Array, rank_tol: float, errors: Array) -> tuple[Array, Array, int]:
    """Eigenvalues and, in columns, eigenvectors after whitening; C becomes work space.

    The last value counts the directions above the errors of C that were left out, because of
    rounding errors of the features (variances `errors`) or of `rank_tol`.
    """
    variances, V = linalg.eigh(C, overwrite_a=True, check_finite=False)
    largest = variances[-1]
    feature_errors = V.T**2 @ errors
    varies = variances > np.maximum(rank_tol * largest, feature_errors)

    # directions that are more than the errors of C, and yet left out
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
    """Solve with `C = L L'`; None, with C and A intact, if C may be singular up to `rank_tol`."""
    norm = float(np.abs(C).sum(axis=0).max())
    try:
        L = linalg.cholesky(C, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    rcond, _ = linalg.lapack.dpocon(L, norm, uplo="L")
    del L  # which would be a sixth matrix below
    # 1 / cond in the 1-norm bounds the ratio of the eigenvalues from below; LAPACK's estimate
    # may be a few times too large
    if not rcond > 10 * rank_tol:
        return None
    return linalg.eigh(A, C, overwrite_a=True, overwrite_b=True, check_finite=False)


class _Rows(NamedTuple):
    """Rows in the order of time, with what decides which of their steps are valid."""

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
        """Return the rows with sequences numbered as those after so many others."""
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
        """Copy some of the rows."""
        fields: Any = [None if field is None else field[start:stop].copy() for field in self]
        return _Rows(*fields)

    def last(self, n_rows: int) -> "_Rows":
        """Copy the last rows, all if there are no more."""
        start = len(self.X) - n_rows
        return self.between(max(0, start), None)

    def steps(self, lag: int) -> Array:
        """Tell which rows begin a valid step."""
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
    """Both triangles from one, divided."""
    half = np.tril(triangle) if lower else np.triu(triangle).T
    half /= divisor
    full: Array = np.asfortranarray(half)
    full += np.tril(full, -1).T
    return full
