"""Views of a table in blocks: features at random landmarks, and the problem solved in passes."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._estimator.base import FitProgress
from skmoderndata._estimator.blocks_input import block_of, in_blocks
from skmoderndata._estimator.validation import dense
from skmoderndata._kernelized.gram import row_keys
from skmoderndata._kernelized.landmarks import (
    Peaks,
    Triangle,
    gram_of_rows,
    rows_in_blocks,
    rows_of_ranks,
    solver_of,
    survey_of_rows,
    weights_of_block,
)
from skmoderndata._samples.containers import row_blocks
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.blocks import Block
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.kernel.canonical import (
    Samples,
    canonical_pairs,
    coefficients,
    penalty,
    whiten_features,
)
from skmoderndata.cross_decomposition._base import (
    cut_columns,
    is_one_dimensional,
    least_squares_of,
    mean_correlations,
    refuse_interpolation,
)
from skmoderndata.cross_decomposition._kernel_base import (
    KernelViews,
    MatrixLift,
    ReducedView,
    ViewKernel,
    constant_view,
    drawn_landmarks,
    gains_of,
    has_vectors,
    kernel_solution,
    nystroem_root,
)


class Stacked:
    """Values of some rows; `+` appends the values of the next rows."""

    def __init__(self, values):
        self.values = values

    def __add__(self, other):
        return Stacked(np.concatenate([self.values, other.values]))


class Cut(NamedTuple):
    """Rule by which the arrays of a block are cut into views and weights."""

    name: str
    view_slices: Any
    weighted: bool

    def __call__(self, block):
        """Cut a block into views."""
        X = block_of(block.arrays[0])
        if self.view_slices is not None:
            return cut_columns(X, self.view_slices, self.name)
        Y = block_of(block.arrays[-1])
        return [X, Y[:, None] if Y.ndim == 1 else Y]

    def weights(self, block):
        """Return the weights of the rows of a block."""
        return weights_of_block(block, self.name, self.weighted)


class ViewFeatures(NamedTuple):
    """Function that computes the features of one view, ``k(x, landmarks) R``."""

    kernel: Any  # ViewKernel, for each view
    landmarks: Any
    R: np.ndarray

    def __call__(self, X):
        """Compute the features of prepared samples."""
        G = np.empty((X.shape[0], self.R.shape[1]))
        for rows, K in self.kernel.gram.blocks(X, self.landmarks):
            G[rows] = K @ self.R
        return G


class PassViews(NamedTuple):
    """Views of a table in blocks, with the results of a first pass over them."""

    blocks: Any
    cut: Cut
    surveys: list[Any]
    keys: list[np.ndarray]  # keys that sort the rows of positive weight, for each view

    @classmethod
    def of(cls, estimator, X, y, sample_weight):
        """Check the rows of all views in one pass."""
        several = estimator.view_slices is not None
        targets = () if several else (y,)
        blocks, weighted = rows_in_blocks(
            estimator, X, *targets, sample_weight=sample_weight, ensure_min_samples=2
        )
        cut = Cut(type(estimator).__name__, estimator.view_slices, weighted)
        n_views = len(estimator.view_slices) if several else 2
        kernels = [estimator._kernel_of(v) for v in range(n_views)]
        sums = blocks.sum(_survey_views, cut, kernels)
        surveys = list(sums[:n_views])
        if surveys[0].n_used < 2:
            raise ValueError(
                f"{cut.name} needs at least 2 samples of positive weight in each view: "
                f"n_samples={surveys[0].n_used}."
            )
        return cls(blocks, cut, surveys, [stacked.values for stacked in sums[n_views:]])

    @property
    def widths(self):
        """Number of columns of each view."""
        return [len(survey.mean) for survey in self.surveys]

    @property
    def weight(self):
        """Sum of the weights, relative to the largest weight."""
        return self.surveys[0].weight / self.surveys[0].heaviest

    def samples(self):
        """Describe the rows in the form that the solver expects."""
        n = self.surveys[0].n_used
        everything = np.broadcast_to(np.intp(0), n)  # a view that is broadcast takes no memory
        return Samples(n, [everything] * len(self.widths), None)

    def sum(self, function, features, *shared):
        """Add up ``function(features of all views, raw views, diagonals, weights, *shared)``."""
        unit = self.surveys[0].heaviest
        return self.blocks.sum(_sum_views, self.cut, features, unit, function, shared)

    def features(self, estimator, v, settings):
        """Draw landmarks of one view and return its features, with their kernel."""
        survey = self.surveys[v]
        order = np.argsort(self.keys[v], kind="stable")
        rank = min(estimator.max_rank, len(order))
        ranks = drawn_landmarks(order, rank, estimator.random_state)
        rows = rows_of_ranks(self.blocks, survey, ranks)
        sample = self.cut(Block(0, self.blocks.sample(rows)))[v]

        # Resolve the kernel in the same way as `KernelViews`.
        kernel, *parameters = settings
        names = ("gamma", "degree", "coef0", "kernel_params")
        gram = gram_of_rows(
            kernel, survey, sample, **dict(zip(names, parameters, strict=True))
        )
        sparse_rows = sparse.issparse(sample)
        shift = None
        if kernel in ("linear", "rbf") and not sparse_rows:
            shift = survey.mean
        if kernel == "linear" and sparse_rows and not self.cut.weighted:
            gram = replace(gram, origin=survey.mean)
        view_kernel = ViewKernel(gram, shift)

        samples = view_kernel.prepare(sample)
        landmarks = gram.subset(samples, np.arange(samples.shape[0]))
        root = nystroem_root(v, gram, samples, landmarks)
        return ViewFeatures(view_kernel, landmarks, root)


def _survey_views(block, cut, kernels):
    # Compute the moments of each view, and the keys that sort its rows.
    views = cut(block)
    w = cut.weights(block)
    surveys = []
    keys = []
    for X, kernel in zip(views, kernels, strict=True):
        surveys.append(survey_of_rows(X, w, block.first, cut.name, kernel))
        keys.append(Stacked(row_keys(X)[w > 0]))
    return (*surveys, *keys)


def _sum_views(block, cut, features, unit, function, shared):
    """Add up a function over stretches of the rows of positive weight."""
    views = cut(block)
    w = cut.weights(block) / unit
    used = np.flatnonzero(w > 0)

    # Process only a few rows at a time.
    row_bytes = 2 * FLOAT_BYTES * sum(feature_map.R.shape[1] for feature_map in features) + 8
    total = None
    for stretch in row_blocks(len(used), row_bytes, n_bytes=TEMPORARY_BYTES):
        rows = used[stretch]
        raw = [X[rows] for X in views]
        prepared = [
            feature_map.kernel.prepare(X) for feature_map, X in zip(features, raw, strict=True)
        ]
        G = [feature_map(X) for feature_map, X in zip(features, prepared, strict=True)]
        diagonals = [
            feature_map.kernel.gram.diag(X)
            for feature_map, X in zip(features, prepared, strict=True)
        ]
        sums = function(G, raw, diagonals, w[rows], *shared)
        if total is not None:
            sums = tuple(a + b for a, b in zip(total, sums, strict=True))
        total = sums
    if total is None:  # no row has a positive weight
        none = [np.zeros((0, feature_map.R.shape[1])) for feature_map in features]
        empty = [X[:0] for X in views]
        total = function(none, empty, [np.zeros(0)] * len(none), np.zeros(0), *shared)
    return total


def _sums_of_views(G, raw, diagonals, w):
    """Add up weighted features and raw columns, and traces with and without weights."""
    # Sum the features and the columns.
    sums = [w @ view for view in G]
    raw_sums = np.asarray(w @ raw[-1]).ravel()

    # Sum the traces of the kernels, and the part that the features explain.
    traces = np.array([[values.sum(), w @ values] for values in diagonals])
    explained = np.array([np.einsum("ij,ij->", view, view) for view in G])
    return (*sums, raw_sums, traces, explained)


def _triangle_of_views(G, raw, diagonals, w, means, mean_of_raw):
    centred = [view - mean for view, mean in zip(G, means, strict=True)]
    if mean_of_raw is not None:
        centred.append(np.asarray(dense(raw[-1]), dtype=np.float64) - mean_of_raw)
    return (Triangle(np.sqrt(w)[:, None] * np.hstack(centred)),)


def _peaks_of_view(G, raw, diagonals, w, mean, coef):
    scores = (G[0] - mean) @ coef
    if len(scores) == 0:
        return (Peaks(np.zeros(coef.shape[1])),)
    largest = np.abs(scores).argmax(axis=0)
    return (Peaks(scores[largest, np.arange(coef.shape[1])]),)


class PassSolution(NamedTuple):
    """Solution of the problem for views that are read in passes."""

    kernels: list[Any]
    solution: Any  # KernelSolution, without scores
    correlations: np.ndarray  # correlations of the scores
    # slopes of the second view on the scores of the first, and mean of the second view
    slopes: Any


def solve_passes(estimator, views, progress, *, alphas, rule, predicts, **problem):
    """Solve the problem on a small table that has the same inner products as the features."""
    # 1. Compute the features of each view, and the triangular factor of all features side by side.
    features = _features_of_views(estimator, views)
    *sums, raw_sums, traces, explained = views.sum(_sums_of_views, features)
    means = [total / views.weight for total in sums]
    mean_of_raw = raw_sums / views.weight if predicts else None
    (triangle,) = views.sum(_triangle_of_views, features, means, mean_of_raw)
    cuts = np.cumsum([len(mean) for mean in means])
    *matrices, raw = np.split(triangle.R, cuts, axis=1)

    # 2. Split the factor into views, whiten the views and compute their pairs.
    reduced = [
        _reduced(v, G, means[v], features[v], traces[v], explained[v], penalty(alpha, rule))
        for v, (G, alpha) in enumerate(zip(matrices, alphas, strict=True))
    ]
    whitened = [whiten_features(view.matrix, view.pen, views.weight) for view in reduced]
    samples = views.samples()
    settings = estimator._settings("nystroem", alphas, rule)
    refuse_interpolation(
        whitened, alphas, samples, name=settings.name, remedy="alpha, or lower max_rank"
    )
    pairs = canonical_pairs(whitened, settings.k, samples, progress=progress, **problem)

    # 3. Compute the coefficients, with signs that depend on the rows of the first view.
    coefs = [coefficients(view, c) for view, c in zip(whitened, pairs.directions, strict=True)]
    (peaks,) = views.sum(_peaks_of_view, features, means[0], coefs[0])
    peak = peaks.values[None, :]
    gains = gains_of(reduced, whitened, [views.weight] * len(reduced))
    solution = kernel_solution(pairs, coefs, [peak], reduced, samples, settings, gains)

    # 4. Compute the correlations, and the regression of the second view.
    signs = np.where(peak < 0, -1.0, 1.0)
    turned = [_mirrored((G @ coef) * signs) for G, coef in zip(matrices, coefs, strict=True)]
    slopes = None
    if predicts:
        slopes = _slopes(_mirrored(raw), turned[0]), mean_of_raw
    kernels = [feature_map.kernel for feature_map in features]
    return PassSolution(kernels, solution, mean_correlations(turned), slopes)


def _features_of_views(estimator, views):
    """Compute the features of each view, whose kernels may have different parameters."""
    parameters = ("kernel", "gamma", "degree", "coef0", "kernel_params")
    columns = [estimator._each(name, len(views.widths)) for name in parameters]
    settings = zip(*columns, strict=True)
    return [views.features(estimator, v, setting) for v, setting in enumerate(settings)]


def _reduced(v, G, mean, features, traces, explained, pen):
    """Replace a view by a few rows that have the same inner products as its centred features."""
    # A view without scatter is constant.
    trace, weighted_trace = traces
    scatter = float(np.einsum("ij,ij->", G, G))
    if not scatter > ACCUMULATED_ROUNDING * weighted_trace:
        raise ValueError(constant_view(v))
    residual = float(relative_gap(trace, explained, unit=trace))
    lift = MatrixLift(features.R)
    return ReducedView(G, mean, 1.0, pen, features.landmarks, residual, lift, None)


def _slopes(Y, scores):
    """Compute the slopes of centred columns on centred scores."""
    everything = np.arange(len(scores))
    samples = Samples(len(scores), [everything, everything], None)
    return least_squares_of(Y, scores, samples)[0]


def _mirrored(R):
    """Stack rows and their mirror images, to restore the zero mean of the rows that R replaces."""
    return np.vstack([R, -R])


class KernelPasses(KernelViews):
    """Base of kernel methods for views that can be fitted in blocks, with random landmarks.

    A subclass implements ``_solve_passes(views, progress)``.
    """

    def _in_passes(self, X):
        return in_blocks(X) and solver_of(self, X) == "nystroem"

    def _fit_passes(self, X, y, sample_weight):
        """Solve the problem from sums over the rows of a table in blocks."""
        # Only kernels of rows of numbers are supported.
        for v in range(len(self.view_slices or (X, y))):
            if not has_vectors(self._kernel_of(v)):
                raise ValueError(
                    f"{type(self).__name__}(solver='nystroem') draws rows of tables, but "
                    f"kernel={self._kernel_of(v)!r} accepts other samples: use another kernel."
                )

        # Read the views in passes.
        self._side_by_side = self.view_slices is not None
        self._predict_1d = self.view_slices is None and is_one_dimensional(y)
        views = PassViews.of(self, X, y, sample_weight)
        self.n_views_ = len(views.widths)
        self._n_features_per_view = [None, *views.widths[1:]]
        with FitProgress(self, X, y, max_passes=None, task_name="pass") as progress:
            self._solve_passes(views, progress)
        return self
