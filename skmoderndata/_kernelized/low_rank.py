"""Low-rank coordinates for kernel methods on many samples."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms
from sklearn.utils.multiclass import check_classification_targets

from skmoderndata._estimator.absent_classes import refuse_one_class
from skmoderndata._estimator.compat import check_sample_weight
from skmoderndata._kernelized.checks import checked_samples_and_target, resolved_gram
from skmoderndata._kernelized.gram import Columns, Gram, all_equal
from skmoderndata._samples.containers import count_samples, row_blocks, take
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES, working_memory
from skmoderndata._solvers.common.linalg import asymmetry
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import ROUNDING, SINGLE_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.kernel.incomplete_cholesky import (
    CholeskyResult,
    cholesky_rows,
    incomplete_cholesky,
)
from skmoderndata.exceptions import DoubtfulResultWarning

# Maximum number of samples for which solver="auto" factors the kernel matrix.
EXACT_LIMIT = 1000
# Maximum fraction of the variance in feature space that an automatic approximation may omit
# without a warning.
LARGEST_OMITTED = 0.5


class LowRankFeatures:
    """Coordinates `z(x)` of the projection of `phi(x)` onto the span of landmarks.

    `z(x)'z(y)` is the kernel of the projections (the Nystroem approximation), and
    `k(x, x) - |z(x)|^2` is the squared distance from the span.

    Attributes
    ----------
    gram : Gram
        Kernel.
    landmarks : array, list or Columns
        Training samples that span the subspace, in the form of the second argument of `gram`.
    root : ndarray of shape (n_landmarks, n_landmarks)
        Lower triangular root of the kernel matrix of the landmarks.
    """

    def __init__(self, gram: Gram, landmarks: Any, root: Array) -> None:
        self.gram = gram
        self.landmarks = landmarks
        self.root = root

    def __call__(self, X: Any) -> Array:
        """Return the coordinates, one row per sample."""
        Z = np.empty((count_samples(X), len(self.root)))
        for rows, block in self.blocks(X):
            Z[rows] = block
        return Z

    def blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield `rows, z(X[rows])` in blocks below scikit-learn's working memory."""
        row_bytes = 2 * FLOAT_BYTES * max(1, len(self.root))
        for rows in row_blocks(count_samples(X), row_bytes):
            if len(self.root) == 0:  # The kernel is zero on the training samples.
                yield rows, np.zeros((rows.stop - rows.start, 0))
                continue
            block = as_double(take(X, rows))
            yield rows, cholesky_rows(self.gram, block, self.landmarks, self.root)


def low_rank_features(
    gram: Gram, X: Any, *, rank: int, tol: float = 0.0
) -> tuple[LowRankFeatures, CholeskyResult]:
    """Choose landmarks by pivoted incomplete Cholesky factorisation.

    Return the feature map and the factorisation: `factor` contains the coordinates of the samples
    in `X`, `residual` their squared distances from the span.
    """
    check_definite(gram)
    X = as_double(X)
    order = gram.order(X)
    result = incomplete_cholesky(gram, X, rank=rank, tol=tol, order=order)
    if len(result.pivots) == 0 and result.residual_trace > 0:
        raise ValueError(
            f"kernel={gram.kernel!r}: the diagonal of the kernel matrix differs from the values "
            "of diag, which can be due to rounding of squared entries: rescale the samples."
        )
    landmarks = gram.subset(X, result.pivots)
    root = np.ascontiguousarray(result.factor[result.pivots])
    return LowRankFeatures(gram, landmarks, np.tril(root)), result


def check_definite(gram: Gram) -> None:
    """Raise an error if the matrices of a kernel have no Cholesky factor."""
    if gram.kernel == "additive_chi2":
        raise ValueError(
            "kernel='additive_chi2' is only conditionally positive definite and has no Cholesky "
            "factorisation: use kernel='chi2', or another solver if the estimator has one."
        )


def fits_in_memory(n_rows: int, n_columns: int, itemsize: int = 8) -> bool:
    """Whether a matrix fits into scikit-learn's working memory."""
    return len(list(row_blocks(n_rows, itemsize * n_columns))) <= 1


def as_double(X: Any) -> Any:
    """Convert samples to double precision; lists of structured samples are returned unchanged."""
    if bool(sparse.issparse(X)):
        return X if X.dtype == np.float64 else X.astype(np.float64)
    if isinstance(X, np.ndarray) and X.dtype == np.float32:
        return X.astype(np.float64)
    return X


def kernel_matrix(gram: Gram, X: Any) -> Array:
    """Return the kernel matrix of the training samples, checked and in double precision.

    Raises
    ------
    ValueError
        If a value is not finite, or if the matrix is not symmetric up to rounding.
    """
    K = np.asarray(gram(as_double(X)), dtype=np.float64)
    check_symmetric(gram, K)
    return K


def refuse_cancellation(gram: Gram, X: Any) -> None:
    """Raise an error if the linear or polynomial kernel cancels, far from the origin.

    Methods that centre in feature space subtract kernel values. The differences have no correct
    digits if the squared distances between the samples are below the rounding error of their
    squared norms.
    """
    if gram.kernel not in ("linear", "poly", "polynomial") or not isinstance(X, np.ndarray):
        return
    norms = row_norms(gram.seen(X), squared=True)
    largest = float(norms.max(initial=0.0))
    variance = float(X.var(axis=0).sum())
    refuse_cancelling(gram, largest, variance, equal=lambda: all_equal(X))


def refuse_cancelling(
    gram: Gram, largest_norm: float, variance: float, *, equal: Callable[[], bool]
) -> None:
    """Raise an error if the variance is too small for the largest squared norm.

    Samples that are all equal are accepted.
    """
    if gram.kernel not in ("linear", "poly", "polynomial"):
        return
    if variance < ROUNDING * largest_norm and not equal():
        raise ValueError(
            f"kernel={gram.kernel!r} cannot resolve these samples: their distances are too small "
            "compared with their norms. Centre them first, for example with StandardScaler."
        )


def check_symmetric(gram: Gram, K: Array) -> None:
    """Raise an error if a kernel matrix is not symmetric."""
    if isinstance(gram.kernel, str) and not gram.precomputed:
        return  # The matrix of a named kernel is symmetric.
    largest = float(K.max(initial=0.0))
    least = float(K.min(initial=0.0))
    scale = max(largest, -least)

    worst = asymmetry(K)
    if worst > SINGLE_ROUNDING * scale:
        raise ValueError(
            f"kernel={gram.kernel!r} returned a matrix that is not symmetric: entries (i, j) and "
            f"(j, i) differ by up to {worst:.3g}. A kernel must be symmetric: pass "
            "(K + K.T) / 2 instead."
        )


class Projection:
    """Linear functions in feature space, `x -> phi(x)'W`, where `W` has few columns.

    Attributes
    ----------
    source : Gram or LowRankFeatures
        Kernel if `W` is stored as dual coefficients, low-rank map if it is stored as coordinates.
    coef : ndarray of shape (n_samples or rank, n_columns)
        Coefficients or coordinates.
    samples : array, list or Columns
        Samples of the dual coefficients; None with coordinates.
    """

    def __init__(
        self, source: Gram | LowRankFeatures, coef: Array, samples: Any = None
    ) -> None:
        self.source = source
        self.coef = coef
        self.samples = samples

    @property
    def source_gram(self) -> Gram:
        """Kernel of the source."""
        return self.source.gram if isinstance(self.source, LowRankFeatures) else self.source

    def __call__(self, X: Any) -> Array:
        """Return the values of the functions, one row per sample."""
        values = np.empty((count_samples(X), self.coef.shape[1]))
        if isinstance(self.source, LowRankFeatures):
            for rows, Z in self.source.blocks(X):
                values[rows] = Z @ self.coef
            return values

        n_bytes = min(TEMPORARY_BYTES, working_memory())
        row_bytes = 8 * max(1, len(self.coef))
        for rows in row_blocks(len(values), row_bytes, n_bytes=n_bytes):
            block = as_double(take(X, rows))
            values[rows] = self.source(block, self.samples) @ self.coef
        return values


def is_low_rank(solver: str, gram: Gram, n: int, limit: int = EXACT_LIMIT) -> bool:
    """Return whether the solver is low-rank; "auto" is low-rank above `limit` samples.

    At `EXACT_LIMIT` samples the exact route takes 1.6 to 2.5 times as long as a low-rank route of
    rank 300, which no user notices; at 3000 samples it would take 10 to 35 times as long.
    """
    if solver == "auto":
        return not gram.precomputed and n > limit
    return solver == "low_rank"


def omitted_fraction(result: CholeskyResult) -> float:
    """Return the fraction of the variance in feature space outside the span of the pivots."""
    means = result.factor.mean(axis=0)
    within = float(np.einsum("ij,ij->", result.factor, result.factor))
    within = max(within - len(result.factor) * float(means @ means), 0.0)
    return result.residual_trace / max(within + result.residual_trace, np.finfo(float).tiny)


def warn_of_rank(estimator: Any, rank: int, omitted: float, *, what: str = "kernel") -> None:
    """Warn if an automatic approximation reaches `max_rank` and omits most of the variance.

    Only this much is doubtful. On 17 tables with 3 to 200 columns, rank 300 omits more than a
    thousandth in 16 cases, mostly without harm, and more than half in 3 cases, with at least 50
    columns without common factors.
    """
    name = "algorithm" if hasattr(estimator, "algorithm") else "solver"
    automatic = getattr(estimator, name) == "auto"
    if not automatic or rank < estimator.max_rank or omitted <= LARGEST_OMITTED:
        return
    warnings.warn(
        f"{type(estimator).__name__}: max_rank={estimator.max_rank} omits {omitted:.0%} of the "
        f"variance of the {what}. Increase max_rank, or set {name}='exact' if the kernel matrix "
        "fits into memory; a smaller gamma also needs a lower rank.",
        DoubtfulResultWarning,
        stacklevel=3,
    )


class Labelled(NamedTuple):
    """Samples of positive weight with their classes."""

    X: Any  # all samples, including samples of weight 0
    train: "TrainingSet"
    weights: Array  # (n,), positive weights
    classes: Array  # labels of all classes, including absent ones
    present: Array  # (n_all,), True for classes with samples of positive weight
    codes: Array  # (n,), class numbers among the classes that are present
    mass: Array  # (n_present,), sums of weights per class


def labelled_training(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Labelled:
    """Check samples, labels and weights; at least two classes must have positive weight."""
    X, classes, codes = labelled_samples(estimator, X, y)
    used, w = positive_weights(X, sample_weight)
    present = np.zeros(len(classes), dtype=bool)
    present[codes[used]] = True
    codes = np.unique(codes[used], return_inverse=True)[1]
    weighted = len(used) < count_samples(X)
    refuse_one_class(type(estimator).__name__, classes[present], weighted=weighted)
    train = TrainingSet(estimator, X, used, w)
    mass = np.bincount(codes, weights=w)
    return Labelled(X, train, w, classes, present, codes, mass)


def labelled_samples(estimator: Any, X: Any, y: Any) -> tuple[Any, Array, Array]:
    """Check samples and class labels; return samples, classes, and class numbers."""
    X, y = checked_samples_and_target(estimator, X, y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return X, classes, codes


def positive_weights(X: Any, sample_weight: Any) -> tuple[Array, Array]:
    """Return the positions of the samples of positive weight, and their weights."""
    n = count_samples(X)
    if sample_weight is None:
        return np.arange(n), np.ones(n)
    w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    used = np.flatnonzero(w > 0)
    return used, w[used]


class TrainingSet:
    """Samples of positive weight, to which a model is fitted.

    Attributes
    ----------
    gram : Gram
        Kernel.
    kept : ndarray of int
        Positions of the samples of positive weight.
    X : array, sparse matrix or list
        These samples in double precision; for a precomputed kernel, their square matrix.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        kept: Array,
        weights: Array | None = None,
        gram: Gram | None = None,
    ) -> None:
        everything = len(kept) == count_samples(X)
        self.kept = kept
        samples = X if everything else take(X, kept)
        precomputed = isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"
        if gram is None:
            gram = resolved_gram(estimator, X if precomputed else samples, weights)
        self.gram: Gram = gram
        if precomputed and not everything:
            samples = samples[:, kept]
        self.X = as_double(samples)
        refuse_cancellation(gram, self.X)

    def __len__(self) -> int:
        return len(self.kept)

    def matrix(self) -> Array:
        """Compute the kernel matrix, and check it."""
        return kernel_matrix(self.gram, self.X)

    def times(self, coef: Array) -> Array:
        """Multiply the kernel matrix by coefficients, in blocks of bounded memory."""
        n = len(self)
        second = Columns(np.arange(n)) if self.gram.precomputed else self.X
        product = Projection(self.gram, coef.reshape(n, -1), second)
        values = np.asarray(product(self.X))
        return values.reshape(coef.shape)

    def second(self, indices: Any = slice(None)) -> Any:
        """Return samples in the form of the second argument of the kernel."""
        if self.gram.precomputed:
            return Columns(self.kept[indices])
        return self.gram.subset(self.X, indices)

    def low_rank(self, rank: int) -> tuple[LowRankFeatures, CholeskyResult]:
        """Compute coordinates in the span of a few samples."""
        rank = min(rank, len(self))
        features, result = low_rank_features(self.gram, self.X, rank=rank)
        features.landmarks = self.second(result.pivots)
        return features, result
