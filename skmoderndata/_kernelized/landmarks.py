"""Features at randomly drawn landmarks, for tables in memory, on disk and on Dask.

A fit needs only sums over blocks of rows, so one implementation serves all kinds of tables.
Landmarks are drawn as row numbers, then fetched.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import column_or_1d

from skmoderndata._estimator.blocks_input import (
    Labels,
    block_of,
    blocks_of,
    check_entries,
    in_blocks,
    rows_named,
)
from skmoderndata._estimator.validation import FLOATS, check_target, dense
from skmoderndata._kernelized.checks import checked_samples, is_structured
from skmoderndata._kernelized.gram import Gram, check_range, numeric_gamma, resolve_kernel
from skmoderndata._kernelized.low_rank import (
    LowRankFeatures,
    as_double,
    check_definite,
    fits_in_memory,
    refuse_cancelling,
)
from skmoderndata._samples.containers import is_sparse, row_blocks
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.blocks import ArrayBlocks, BadRow, Block, as_blocks, is_dask
from skmoderndata._solvers.common.quantities import FLOAT_BYTES, GOLDEN, WORD_BITS
from skmoderndata._solvers.common.tolerances import RANK_TOL
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.kernel.incomplete_cholesky import incomplete_cholesky


def solver_of(estimator: Any, X: Any, *, low_rank: str = "low_rank") -> str:
    """Return the solver for X; "auto" becomes "nystroem" for a table in blocks.

    Raises
    ------
    ValueError
        If X is a Dask array and the solver needs all its rows at once, or if the solver is
        "nystroem" and the samples are not rows of numbers.
    """
    solver: str = estimator.solver
    name = type(estimator).__name__
    blocks = in_blocks(X)
    if blocks and solver == "auto":
        solver = "nystroem"
    if is_dask(X) and solver != "nystroem":
        why = (
            "chooses its samples by the residuals of all rows"
            if solver == low_rank
            else "needs kernel values of all pairs of rows"
        )
        raise ValueError(
            f"{name}(solver={solver!r}) {why}, which a Dask array does not allow: use "
            "solver='nystroem' or 'auto', features at max_rank randomly drawn rows."
        )
    if solver == "nystroem":
        _refuse_other_samples(estimator, blocks)
    return solver


def _refuse_other_samples(estimator: Any, blocks: bool) -> None:
    kernel = estimator.kernel
    if isinstance(kernel, str) and kernel == "precomputed":
        _refuse(estimator, "a precomputed kernel", blocks)
    if is_structured(kernel):
        _refuse(estimator, "samples that are not rows of numbers", blocks)


def _refuse(estimator: Any, what: str, blocks: bool) -> None:
    remedy = "use solver='low_rank'"
    if blocks:
        remedy = "pass the rows, and a kernel that can be evaluated on them"
    raise ValueError(
        f"{type(estimator).__name__}(solver='nystroem') draws rows of a table and does not "
        f"support {what}: {remedy}."
    )


class Survey:
    """Statistics of the rows of positive weight from a first pass; `+` merges other blocks."""

    def __init__(
        self,
        counts: list[tuple[int, int]],
        weight: float,
        heaviest: float,
        mean: Array,
        scatter: float,
        largest_norm: float,
    ) -> None:
        self.counts = counts  # first row and number of rows of each block
        self.weight = weight  # sum of the weights of the rows
        self.heaviest = heaviest
        self.mean = mean  # (p,), weighted mean of the rows
        self.scatter = scatter  # weighted sum of squared distances from the mean
        self.largest_norm = largest_norm  # largest squared norm of a row

    def __add__(self, other: "Survey") -> "Survey":
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        shift = other.mean - self.mean
        between = self.weight * share * float(shift @ shift)
        return Survey(
            self.counts + other.counts,
            weight,
            max(self.heaviest, other.heaviest),
            self.mean + share * shift,
            self.scatter + other.scatter + between,
            max(self.largest_norm, other.largest_norm),
        )

    @property
    def n_used(self) -> int:
        """Number of rows of positive weight."""
        return sum(n for _, n in self.counts)

    @property
    def variance_of_entries(self) -> float:
        """Variance of all entries of the table, as used by `gamma="scale"`."""
        if not self.weight > 0:
            return 0.0
        centred = self.mean - self.mean.mean()
        within = self.scatter / self.weight
        return (within + float(centred @ centred)) / len(self.mean)


def _survey(block: Block, owner: str, weighted: bool, kernel: Any) -> tuple[Survey]:
    X = block_of(block.arrays[0])
    w = weights_of_block(block, owner, weighted)
    return (survey_of_rows(X, w, block.first, owner, kernel),)


def weights_of_block(block: Block, owner: str, weighted: bool) -> Array:
    """Check the weights of the rows, and return them."""
    w = np.ones(block.arrays[0].shape[0])
    if weighted:
        w = np.asarray(block.arrays[1], dtype=np.float64)
        bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
        if len(bad):
            raise BadRow(
                int(bad[0]),
                f"sample_weight of {owner} is negative or not finite in row {{row}}.",
            )

    return w


def survey_of_rows(X: Any, w: Array, first: int, owner: str, kernel: Any) -> Survey:
    """Check the entries of rows, and return their statistics."""
    check_entries(X, owner=owner)
    if isinstance(kernel, str):
        with rows_named():
            check_range(kernel, {"gamma": 1.0, "degree": 1.0}, X)

    # compute the moments of the rows of positive weight
    weight = float(w.sum())
    mean = np.zeros(X.shape[1])
    scatter = largest = 0.0
    if weight > 0:
        mean = np.asarray(w @ X).ravel() / weight
        scatter = _scatter(X, w, mean)
        largest = float(row_norms(X, squared=True)[w > 0].max())
    counts = [(first, int(np.count_nonzero(w)))]
    return Survey(counts, weight, float(w.max(initial=0.0)), mean, scatter, largest)


def _scatter(X: Any, w: Array, mean: Array) -> float:
    """Return the weighted sum of squared distances from the mean."""
    if not is_sparse(X):
        total = 0.0
        for rows in row_blocks(len(w), 8 * max(1, X.shape[1]), n_bytes=TEMPORARY_BYTES):
            deviations = X[rows] - mean
            total += float(w[rows] @ np.einsum("ij,ij->i", deviations, deviations))
        return total
    entry_weights = np.repeat(w, np.diff(X.indptr))
    stored = np.bincount(X.indices, entry_weights, minlength=X.shape[1])
    squares = float(entry_weights @ (X.data - mean[X.indices]) ** 2)
    return squares + float((w.sum() - stored) @ mean**2)


class FeatureRows(NamedTuple):
    """Features of rows of positive weight."""

    Z: Array  # (n, r), coordinates in the span of the landmarks
    beyond: Array  # (n,), squared distances from the span
    weights: Array  # (n,), weights relative to the largest weight
    others: tuple[Array, ...]  # targets and other arrays with an entry for each row


class ColumnFeatures:
    """Columns used as features, for the linear kernel."""

    gram = None

    def __init__(self, n_columns: int) -> None:
        self.root = np.empty((n_columns, 0))

    def __call__(self, X: Any) -> Array:
        """Return the rows as a dense array in double precision."""
        return np.asarray(dense(as_double(X)), dtype=np.float64)


class Fold(NamedTuple):
    """Rows selected by a number between 0 and 1, a hash of their entries: copies stay together."""

    low: float
    high: float
    outside: bool  # whether to select the rows outside the range from `low` to `high`

    def holds(self, X: Any) -> Array:
        """Return whether each row belongs to the fold."""
        numbers = numbers_of_rows(X)
        within = (numbers >= self.low) & (numbers < self.high)
        return ~within if self.outside else within


def numbers_of_rows(X: Any) -> Array:
    """Return a pseudo-random number between 0 and 1 per row that depends only on its entries."""
    # draw an odd factor for each column
    n, p = X.shape
    odd = np.random.RandomState(0).randint(2**62, size=p, dtype=np.int64) * 2 + 1
    odd = odd.astype(np.uint64)

    # hash each row: the sum of its mixed entries times the factors of their columns, modulo 2^64
    if is_sparse(X):
        rows = np.repeat(np.arange(n), np.diff(X.indptr))
        keys = np.zeros(n, dtype=np.uint64)
        np.add.at(keys, rows, _mixed(X.data) * odd[X.indices])
    else:
        keys = (_mixed(X) * odd).sum(axis=1, dtype=np.uint64)

    # spread the low bits to the high ones, then convert as many of the highest bits to a number as
    # a double can represent
    keys = _folded(keys) * GOLDEN
    digits = np.finfo(np.float64).nmant + 1
    return (keys >> np.uint64(WORD_BITS - digits)) / 2.0**digits


def _mixed(values: Any) -> Array:
    """Return the bits of double-precision numbers, high bits spread to low ones; 0 for zeros."""
    bits = np.ascontiguousarray(values, dtype=np.float64) + 0.0  # turn -0 into 0
    return _folded(_folded(bits.view(np.uint64)) * np.uint64(0xD6E8FEB86659FD93))


def _folded(keys: Array) -> Array:
    """Combine the low half of the bits with the high half."""
    return keys ^ (keys >> np.uint64(WORD_BITS // 2))


class Seen(NamedTuple):
    """Features, weights and selection of the rows in a pass."""

    features: LowRankFeatures | ColumnFeatures
    weight_unit: float | None  # weight that corresponds to 1; None without weights
    fold: Fold | None  # selected rows; None for all


class LandmarkTable:
    """Table represented by features at landmarks: passes over the features, and statistics.

    Attributes
    ----------
    features : LowRankFeatures or ColumnFeatures
        Feature map of the landmarks, or the columns themselves.
    landmarks : ndarray of int
        Row numbers of the landmarks.
    survey : Survey
        Number of rows, weights and moments.
    unit : float
        Weight that counts as 1.
    """

    def __init__(
        self,
        blocks: ArrayBlocks,
        survey: Survey,
        features: LowRankFeatures | ColumnFeatures,
        landmarks: Array,
        weighted: bool,
        fold: "Fold | None" = None,
    ) -> None:
        self.blocks = blocks
        self.survey = survey
        self.features = features
        self.landmarks = landmarks
        self.weighted = weighted
        self.fold = fold
        self.unit = survey.heaviest

    @property
    def n_used(self) -> int:
        """Number of rows of positive weight."""
        return self.survey.n_used

    @property
    def weight(self) -> float:
        """Sum of the weights, relative to the largest."""
        return self.survey.weight / self.unit

    def sum(self, function: Callable[..., tuple[Any, ...]], *shared: Any) -> Any:
        """Add up the tuples of ``function(rows, *shared)`` over stretches of `FeatureRows`."""
        weight_unit = self.unit if self.weighted else None
        seen = Seen(self.features, weight_unit, self.fold)
        return self.blocks.sum(_sum_of_block, seen, function, shared)

    def part(self, features: LowRankFeatures, fold: "Fold") -> "LandmarkTable":
        """Return the rows inside or outside a fold, represented by other features."""
        return LandmarkTable(
            self.blocks, self.survey, features, self.landmarks, self.weighted, fold
        )

    def signs(self, coef: Array) -> Array:
        """Return signs that make the largest score of each column of ``Z @ coef`` positive."""
        (peaks,) = self.sum(_peaks, coef)
        return np.where(peaks.values < 0, -1.0, 1.0)

    def stored(self) -> "LandmarkTable":
        """Store the features of a table in memory if they fit, for many passes."""
        single_block = type(self.blocks) is ArrayBlocks and len(self.blocks.states) == 1
        if not single_block or not fits_in_memory(
            self.blocks.shape[0], len(self.features.root)
        ):
            return self
        blocks, _ = self.blocks.step(_with_features, self.features)
        return LandmarkTable(blocks, self.survey, self.features, self.landmarks, self.weighted)


class Peaks:
    """Score of largest magnitude in each column; `+` merges other rows."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __add__(self, other: "Peaks") -> "Peaks":
        larger = np.abs(other.values) > np.abs(self.values)
        return Peaks(np.where(larger, other.values, self.values))


def _peaks(rows: FeatureRows, coef: Array) -> tuple[Peaks]:
    scores = rows.Z @ coef
    if len(scores) == 0:
        return (Peaks(np.zeros(coef.shape[1])),)
    largest = np.abs(scores).argmax(axis=0)
    return (Peaks(scores[largest, np.arange(coef.shape[1])]),)


class Triangle:
    """Triangular factor R of rows Z, with ``R'R = Z'Z``; `+` merges other rows."""

    def __init__(self, rows: Array) -> None:
        self.R = rows[:0]
        if len(rows):
            self.R = linalg.qr(rows, mode="r", check_finite=False)[0][: rows.shape[1]]

    def __add__(self, other: "Triangle") -> "Triangle":
        return Triangle(np.vstack([self.R, other.R]))


def _with_features(block: Block, features: LowRankFeatures | ColumnFeatures) -> Any:
    return _features_of(features, block_of(block.arrays[0])), ()


def _features_of(features: LowRankFeatures | ColumnFeatures, X: Any) -> tuple[Array, Array]:
    """Return coordinates, and squared distances from the span."""
    X = as_double(X)
    Z = features(X)
    if isinstance(features, ColumnFeatures):
        return Z, np.zeros(len(Z))
    # subtract the part within the span of the landmarks from the diagonal of the kernel
    diagonal = np.asarray(features.gram.diag(X), dtype=np.float64)
    return Z, np.maximum(diagonal - np.einsum("ij,ij->i", Z, Z), 0.0)


def _sum_of_block(
    block: Block,
    seen: Seen,
    function: Callable[..., tuple[Any, ...]],
    shared: tuple[Any, ...],
) -> tuple[Any, ...]:
    total: tuple[Any, ...] | None = None
    for rows in _stretches(block, seen):
        sums = function(rows, *shared)
        if total is not None:
            sums = tuple(a + b for a, b in zip(total, sums, strict=True))
        total = sums
    assert total is not None
    return total


def _stretches(block: Block, seen: Seen) -> Iterator[FeatureRows]:
    """Yield the features of a block, a few rows at a time."""
    # select the rows of positive weight in the fold
    X, *aligned = block.arrays
    X = block_of(X)
    w = np.ones(X.shape[0])
    if seen.weight_unit is not None:
        w = np.asarray(aligned.pop(0), dtype=np.float64) / seen.weight_unit
    used = w > 0
    if seen.fold is not None:
        used &= seen.fold.holds(X)

    # use stored features, or compute them for a block of rows at a time
    row_bytes = 3 * FLOAT_BYTES * max(1, len(seen.features.root))
    for stretch in row_blocks(len(w), row_bytes, n_bytes=TEMPORARY_BYTES):
        if block.state is None:
            Z, beyond = _features_of(seen.features, X[stretch])
        else:
            Z, beyond = (values[stretch] for values in block.state)
        parts = (Z, beyond, w[stretch], *(np.asarray(values[stretch]) for values in aligned))
        selected = used[stretch]
        if not selected.all():
            parts = tuple(values[selected] for values in parts)
        yield FeatureRows(parts[0], parts[1], parts[2], tuple(parts[3:]))


# Compute the features of a table


def rows_in_blocks(
    estimator: Any, X: Any, *aligned: Any, sample_weight: Any = None, **checks: Any
) -> tuple[ArrayBlocks, bool]:
    """Return blocks of X, weights and aligned arrays, and whether there are weights.

    A table in memory is checked and becomes a single block.
    """
    weighted = sample_weight is not None
    if any(values is None for values in aligned):
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    rows = [values if is_dask(values) else np.asarray(values) for values in aligned]
    if weighted:
        if not is_dask(sample_weight):
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
        if sample_weight.ndim != 1:
            raise ValueError("sample_weight must be a 1D array with one weight for each row.")
        rows.insert(0, sample_weight)

    # open a table in blocks, or treat a table in memory as a single block
    if in_blocks(X):
        checks = {"dtype": FLOATS, "accept_sparse": "csr", **checks}
        return blocks_of(estimator, X, *rows, **checks), weighted
    X = checked_samples(estimator, X, reset=True, **checks)
    if len(getattr(X, "shape", ())) != 2:
        _refuse(estimator, "a collection of samples", False)
    return as_blocks(X, *rows), weighted


def survey_of(
    estimator: Any, blocks: ArrayBlocks, weighted: bool, at_least: int = 1
) -> Survey:
    """Check the entries and weights of all rows in one pass, and return their statistics."""
    name = type(estimator).__name__
    survey: Survey
    (survey,) = blocks.sum(_survey, name, weighted, estimator.kernel)
    if survey.n_used == 0:
        raise ValueError("Sample weights must contain at least one non-zero number.")
    if survey.n_used < at_least:
        condition = " of positive weight" if weighted else ""
        raise ValueError(
            f"{name} needs at least {at_least} samples{condition}, got "
            f"n_samples={survey.n_used}."
        )
    return survey


def classes_in(estimator: Any, blocks: ArrayBlocks, weighted: bool) -> tuple[Array, Array]:
    """Return the sorted labels of the rows, and whether each has a row of positive weight."""
    name = type(estimator).__name__
    every, used = blocks.sum(_labels_of_block, name, weighted)
    classes = np.asarray(every.classes)
    return classes, np.isin(classes, np.asarray(used.classes))


def _labels_of_block(block: Block, name: str, weighted: bool) -> tuple[Labels, Labels]:
    y = checked_labels(block.arrays[-1], name)
    used = y[np.asarray(block.arrays[1]) > 0] if weighted else y
    return Labels(np.unique(y)), Labels(np.unique(used))


def checked_labels(y: Any, name: str) -> Array:
    """Check the labels of the rows of a block, and return them; `name` is for messages."""
    with rows_named():
        y = np.asarray(y)
        check_target(y, owner=name)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            row = int(np.flatnonzero(~np.isfinite(y))[0])
            raise BadRow(row, f"Input y of {name} contains NaN or infinity in row {{row}}.")
        check_classification_targets(y)
    return np.asarray(y)


def check_numbers(estimator: Any, blocks: ArrayBlocks) -> None:
    """Raise an error if a target is not a finite number; needs one pass."""
    blocks.sum(_check_numbers, type(estimator).__name__)


def _check_numbers(block: Block, name: str) -> tuple[int]:
    with rows_named():
        y = np.asarray(block.arrays[-1])
        check_target(y, owner=name, numbers=True)
        y = y.astype(np.float64)
        y = y[:, None] if y.ndim == 1 else y
    bad = np.flatnonzero(~np.isfinite(y).all(axis=1))
    if len(bad):
        raise BadRow(
            int(bad[0]), f"Input y of {name} contains NaN or infinity in row {{row}}."
        )
    return (len(y),)


def draw_rows(
    blocks: ArrayBlocks, survey: Survey, size: int, rng: Any, *, weighted: bool
) -> Array:
    """Draw different rows of positive weight, in random order, and return their numbers."""
    n = survey.n_used
    ranks = sample_without_replacement(n, min(size, n), random_state=rng)
    ranks = ranks[rng.permutation(len(ranks))]
    return rows_of_ranks(blocks, survey, ranks)


def rows_of_ranks(blocks: ArrayBlocks, survey: Survey, ranks: Array) -> Array:
    """Convert ranks among the rows of positive weight to row numbers."""
    if survey.n_used == blocks.shape[0]:
        return np.asarray(ranks)

    order = np.argsort(ranks)
    before = np.cumsum([0, *(count for _, count in survey.counts)])
    firsts = [first for first, _ in survey.counts]
    (found,) = blocks.sum(_numbers_of, dict(zip(firsts, before, strict=False)), ranks[order])
    rows = np.empty(len(ranks), dtype=np.intp)
    rows[order] = found
    return rows


def _numbers_of(block: Block, before: dict[int, int], ranks: Array) -> tuple[list[int]]:
    used = np.flatnonzero(np.asarray(block.arrays[1]) > 0)
    ranks = ranks - before[block.first]
    ranks = ranks[(ranks >= 0) & (ranks < len(used))]
    return ((block.first + used[ranks]).tolist(),)


def gram_of_survey(estimator: Any, survey: Survey, sample: Any) -> Gram:
    """Return the kernel of an estimator, with its parameters resolved on all rows."""
    gram = gram_of_rows(
        estimator.kernel,
        survey,
        sample,
        gamma=estimator.gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
        kernel_params=estimator.kernel_params,
    )
    variance = survey.scatter / survey.weight
    equal = survey.scatter == 0
    refuse_cancelling(gram, survey.largest_norm, variance, equal=lambda: equal)
    return gram


def gram_of_rows(
    kernel: Any, survey: Survey, sample: Any, *, gamma: Any, **parameters: Any
) -> Gram:
    """Resolve the parameters of a kernel on all rows; `sample` contains some of them."""
    named = isinstance(kernel, str) and kernel != "linear"
    if named and gamma == "scale":
        variance = survey.variance_of_entries
        gamma = 1.0 / (len(survey.mean) * variance) if variance > 0 else 1.0
    elif named and not (kernel == "chi2" and gamma is None):
        gamma = numeric_gamma(gamma, sample, kernel)
    return resolve_kernel(kernel, sample, gamma=gamma, **parameters)


def features_at(gram: Gram, samples: Any) -> tuple[LowRankFeatures, Array]:
    """Return features in the span of samples, and the positions of the samples in its basis."""
    check_definite(gram)
    samples = as_double(samples)
    result = incomplete_cholesky(
        gram, samples, rank=samples.shape[0], tol=RANK_TOL, greedy=True
    )
    root = np.tril(np.ascontiguousarray(result.factor[result.pivots]))
    return LowRankFeatures(gram, gram.subset(samples, result.pivots), root), result.pivots


def landmark_table(
    estimator: Any,
    blocks: ArrayBlocks,
    survey: Survey,
    *,
    weighted: bool,
    rng: Any = None,
    n_more: int = 0,
) -> tuple[LandmarkTable, Any]:
    """Draw landmarks; return the table of features and a sample of the rows.

    Parameters
    ----------
    estimator : estimator instance
        Estimator with the parameters of a kernel, `max_rank` and `random_state`.
    blocks, survey, weighted
        Results of `rows_in_blocks` and `survey_of`.
    rng : RandomState or None
        Generator that draws the rows; None means the one of the estimator.
    n_more : int
        Size of the sample if larger than `max_rank`; the landmarks are its first rows.

    Returns
    -------
    table : LandmarkTable
        Features of all rows.
    sample : tuple
        Drawn rows, and the arrays aligned with them.
    """
    if rng is None:
        rng = check_random_state(estimator.random_state)
    size = max(estimator.max_rank, n_more)
    rows = draw_rows(blocks, survey, size, rng, weighted=weighted)
    sample = blocks.sample(rows)
    sampled = block_of(sample[0])
    gram = gram_of_survey(estimator, survey, sampled)
    m = min(estimator.max_rank, len(rows))
    features, pivots = features_at(gram, sampled[:m])
    table = LandmarkTable(blocks, survey, features, rows[pivots], weighted)
    return table, (sampled, *sample[1:])
