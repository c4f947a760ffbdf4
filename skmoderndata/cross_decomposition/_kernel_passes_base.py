"""Views of a table in blocks, by features at random landmarks, and their problem in passes."""

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
from skmoderndata._solvers.common.blocks import Block
from skmoderndata._solvers.common.certificates import relative_gap
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
    has_vectors,
    kernel_solution,
    nystroem_root,
)

STRETCH_BYTES = 2**25  # features of so many rows at once


class Stacked:
    """Values of rows; with `+` those of the next rows follow."""

    def __init__(self, values):
        self.values = values

    def __add__(self, other):
        return Stacked(np.concatenate([self.values, other.values]))


class Cut(NamedTuple):
    """How the arrays of a block become views, and weights."""

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
        """Weights of a block."""
        return weights_of_block(block, self.name, self.weighted)


class ViewFeatures(NamedTuple):
    """Features of one view, ``k(x, landmarks) R``."""

    kernel: Any  # ViewKernel
    landmarks: Any
    R: np.ndarray

    def __call__(self, X):
        """Features of prepared samples."""
        G = np.empty((X.shape[0], self.R.shape[1]))
        for rows, K in self.kernel.gram.blocks(X, self.landmarks):
            G[rows] = K @ self.R
        return G


class PassViews(NamedTuple):
    """Views of a table in blocks, and what a first pass tells of them."""

    blocks: Any
    cut: Cut
    surveys: list[Any]
    keys: list[np.ndarray]  # order of the rows of positive weight, for each view

    @classmethod
    def of(cls, estimator, X, y, sample_weight):
        """Check the rows of all views, in a pass."""
        several = estimator.view_slices is not None
        targets = () if several else (y,)
        blocks, weighted = rows_in_blocks(
            estimator, X, *targets, sample_weight=sample_weight, ensure_min_samples=2
        )
        cut = Cut(type(estimator).__name__, estimator.view_slices, weighted)
        n_views = len(estimator.view_slices) if several else 2
        kernels = [estimator._kernel_of(v) for v in range(n_views)]
        found = blocks.sum(_survey_views, cut, kernels)
        surveys = list(found[:n_views])
        if surveys[0].n_used < 2:
            raise ValueError(
                f"{cut.name} needs at least 2 samples of positive weight in each view: "
                f"n_samples={surveys[0].n_used}."
            )
        return cls(blocks, cut, surveys, [stacked.values for stacked in found[n_views:]])

    @property
    def widths(self):
        """Numbers of columns of the views."""
        return [len(survey.mean) for survey in self.surveys]

    @property
    def weight(self):
        """Sum of the weights, relative to the largest."""
        return self.surveys[0].weight / self.surveys[0].heaviest

    def samples(self):
        """Rows, as the solver wants to know them."""
        n = self.surveys[0].n_used
        everything = np.broadcast_to(np.intp(0), n)  # without memory
        return Samples(n, [everything] * len(self.widths), None)

    def sum(self, function, features, *shared):
        """Add up ``function(features of all views, raw views, diagonals, weights, *shared)``."""
        unit = self.surveys[0].heaviest
        return self.blocks.sum(_sum_views, self.cut, features, unit, function, shared)

    def features(self, estimator, v, settings):
        """Draw landmarks of one view, and return its features, with their kernel."""
        survey = self.surveys[v]
        order = np.argsort(self.keys[v], kind="stable")
        rank = min(estimator.max_rank, len(order))
        ranks = drawn_landmarks(order, rank, estimator.random_state)
        rows = rows_of_ranks(self.blocks, survey, ranks)
        sample = self.cut(Block(0, self.blocks.sample(rows)))[v]

        # the kernel, as `KernelViews` resolves it
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
        one = ViewKernel(gram, shift)

        samples = one.prepare(sample)
        landmarks = gram.subset(samples, np.arange(samples.shape[0]))
        root = nystroem_root(v, gram, samples, landmarks)
        return ViewFeatures(one, landmarks, root)


def _survey_views(block, cut, kernels):
    # moments of each view, and keys by which rows are ordered
    views = cut(block)
    w = cut.weights(block)
    surveys = []
    keys = []
    for X, kernel in zip(views, kernels, strict=True):
        surveys.append(survey_of_rows(X, w, block.first, cut.name, kernel))
        keys.append(Stacked(row_keys(X)[w > 0]))
    return (*surveys, *keys)


def _sum_views(block, cut, features, unit, function, shared):
    """Add up a function of stretches of the rows of positive weight."""
    views = cut(block)
    w = cut.weights(block) / unit
    used = np.flatnonzero(w > 0)

    # few rows at a time
    row_bytes = 16 * sum(one.R.shape[1] for one in features) + 8
    total = None
    for stretch in row_blocks(len(used), row_bytes, n_bytes=STRETCH_BYTES):
        rows = used[stretch]
        raw = [X[rows] for X in views]
        prepared = [one.kernel.prepare(X) for one, X in zip(features, raw, strict=True)]
        G = [one(X) for one, X in zip(features, prepared, strict=True)]
        own = [one.kernel.gram.diag(X) for one, X in zip(features, prepared, strict=True)]
        sums = function(G, raw, own, w[rows], *shared)
        if total is not None:
            sums = tuple(a + b for a, b in zip(total, sums, strict=True))
        total = sums
    if total is None:  # no row of positive weight
        none = [np.zeros((0, one.R.shape[1])) for one in features]
        empty = [X[:0] for X in views]
        total = function(none, empty, [np.zeros(0)] * len(none), np.zeros(0), *shared)
    return total


def _sums_of_views(G, raw, own, w):
    """Add up features and raw columns with weights, and traces with and without them."""
    # features and columns
    sums = [w @ view for view in G]
    raw_sums = np.asarray(w @ raw[-1]).ravel()

    # what the kernels have, and what the features explain of it
    traces = np.array([[values.sum(), w @ values] for values in own])
    explained = np.array([np.einsum("ij,ij->", view, view) for view in G])
    return (*sums, raw_sums, traces, explained)


def _triangle_of_views(G, raw, own, w, means, mean_of_raw):
    centred = [view - mean for view, mean in zip(G, means, strict=True)]
    if mean_of_raw is not None:
        centred.append(np.asarray(dense(raw[-1]), dtype=np.float64) - mean_of_raw)
    return (Triangle(np.sqrt(w)[:, None] * np.hstack(centred)),)


def _peaks_of_view(G, raw, own, w, mean, coef):
    scores = (G[0] - mean) @ coef
    if len(scores) == 0:
        return (Peaks(np.zeros(coef.shape[1])),)
    largest = np.abs(scores).argmax(axis=0)
    return (Peaks(scores[largest, np.arange(coef.shape[1])]),)


class PassSolution(NamedTuple):
    """Solution of the problem of views that are seen in passes."""

    kernels: list[Any]
    solution: Any  # KernelSolution, without scores
    correlations: np.ndarray  # of the scores
    slopes: Any  # of the second view on the scores of the first, and the mean of that view


def solve_passes(estimator, views, progress, *, alphas, rule, predicts, **problem):
    """Solve the problem on a small table that has the inner products of the features."""
    # 1. features of each view, and the triangular factor of all side by side
    features = _features_of_views(estimator, views)
    *sums, raw_sums, traces, explained = views.sum(_sums_of_views, features)
    means = [total / views.weight for total in sums]
    mean_of_raw = raw_sums / views.weight if predicts else None
    (triangle,) = views.sum(_triangle_of_views, features, means, mean_of_raw)
    cuts = np.cumsum([len(mean) for mean in means])
    *matrices, raw = np.split(triangle.R, cuts, axis=1)

    # 2. views of these, whitened, and their pairs
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

    # 3. coefficients, with the signs of the rows of the first view
    coefs = [coefficients(view, c) for view, c in zip(whitened, pairs.directions, strict=True)]
    (peaks,) = views.sum(_peaks_of_view, features, means[0], coefs[0])
    peak = peaks.values[None, :]
    solution = kernel_solution(pairs, coefs, [peak], reduced, samples, settings)

    # 4. correlations, and the regression of the second view
    signs = np.where(peak < 0, -1.0, 1.0)
    turned = [_mirrored((G @ coef) * signs) for G, coef in zip(matrices, coefs, strict=True)]
    slopes = None
    if predicts:
        slopes = _slopes(_mirrored(raw), turned[0]), mean_of_raw
    kernels = [one.kernel for one in features]
    return PassSolution(kernels, solution, mean_correlations(turned), slopes)


def _features_of_views(estimator, views):
    """Features of each view, whose kernels may have parameters of their own."""
    parameters = ("kernel", "gamma", "degree", "coef0", "kernel_params")
    columns = [estimator._each(one, len(views.widths)) for one in parameters]
    settings = zip(*columns, strict=True)
    return [views.features(estimator, v, one) for v, one in enumerate(settings)]


def _reduced(v, G, mean, features, traces, explained, pen):
    """Return a view by rows with the inner products of its centred features."""
    # a view without scatter is constant
    trace, weighted_trace = traces
    scatter = float(np.einsum("ij,ij->", G, G))
    if not scatter > 1e-12 * weighted_trace:
        raise ValueError(constant_view(v))
    residual = float(relative_gap(trace, explained, unit=trace))
    lift = MatrixLift(features.R)
    return ReducedView(G, mean, 1.0, pen, features.landmarks, residual, lift, None)


def _slopes(Y, scores):
    """Slopes of centred columns on centred scores."""
    everything = np.arange(len(scores))
    samples = Samples(len(scores), [everything, everything], None)
    return least_squares_of(Y, scores, samples)[0]


def _mirrored(R):
    """Rows and their mirror images, whose mean is zero as that of the rows R stands for."""
    return np.vstack([R, -R])


class KernelPasses(KernelViews):
    """Kernel methods for views that fit to tables in blocks, by features at random landmarks.

    A subclass has ``_solve_passes(views, progress)``.
    """

    def _in_passes(self, X):
        return in_blocks(X) and solver_of(self, X) == "nystroem"

    def _fit_passes(self, X, y, sample_weight):
        """Solve the problem by sums over the rows of a table in blocks."""
        # kernels of rows of numbers only
        for v in range(len(self.view_slices or (X, y))):
            if not has_vectors(self._kernel_of(v)):
                raise ValueError(
                    f"{type(self).__name__}(solver='nystroem') draws rows of tables, and "
                    f"kernel={self._kernel_of(v)!r} takes other samples: take another kernel."
                )

        # the views, seen in passes
        self._side_by_side = self.view_slices is not None
        self._predict_1d = self.view_slices is None and is_one_dimensional(y)
        views = PassViews.of(self, X, y, sample_weight)
        self.n_views_ = len(views.widths)
        self._n_features_per_view = [None, *views.widths[1:]]
        with FitProgress(self, X, y, max_passes=None, task_name="pass") as progress:
            self._solve_passes(views, progress)
        return self
