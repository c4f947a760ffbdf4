"""Smallest ball that encloses all samples, in input space or under a kernel."""

from typing import NamedTuple

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.blocks_input import block_of, in_blocks, rows_named
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples, resolved_gram, scale_first
from skmoderndata._kernelized.expansion import Expansion, KernelRows
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS, Gram
from skmoderndata._kernelized.landmarks import rows_in_blocks, survey_of_rows
from skmoderndata._kernelized.mixins import KernelSamples
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.common.tolerances import RESULT_ROUNDING
from skmoderndata._solvers.margins.core_blocks import RowSet, WorstRows, stacked
from skmoderndata._solvers.margins.enclosing_ball import (
    InputPoints,
    Look,
    ball_of_core_set,
    enclosing_ball,
)
from skmoderndata.svm._base import diagonal_by_blocks
from skmoderndata.svm._blocks_base import CoreTable, Largest, RowReader, refuse_in_blocks

# Maximum number of rows from which the parameters of a kernel are determined.
JUDGED = 1000


class MinimumEnclosingBall(KernelSamples, CallbackSupportMixin, OutlierMixin, Base):
    r"""Compute the smallest ball that contains all samples.

    The class solves, in input space (`kernel="linear"`) or in the feature space of a kernel,

    .. math::
        \min_{c, r}\ r^2 \quad\text{subject to}\quad
        \|\phi(x_i) - c\|^2 + z_i^2 \le r^2 ,

    where the heights :math:`z_i` are zero, or coordinates of the samples on an additional axis on
    which the centre is 0 (the centre-constrained ball). The centre is a convex combination of the
    samples on the surface, and the dual problem bounds the radius from below.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="linear"
        "linear" means input space; otherwise a name of `sklearn.metrics.pairwise`, a kernel
        object, a callable that returns the Gram matrix of two sets of samples, or "precomputed".
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    solver : {"core_set", "away_steps", "badoiu_clarkson", "cvxpy"}, default="core_set"
        "core_set" computes the exact ball of a few samples, and repeatedly adds the farthest
        samples to them. "away_steps" moves towards the farthest sample or away from the nearest
        sample of the support, with one pass per step [2]_. "badoiu_clarkson" makes about
        ``1 / tol**2`` decreasing steps towards the farthest sample [1]_. "cvxpy" is a cone solver.
    algorithm : {"exact", "sampling"}, default="exact"
        With "core_set": "exact" searches all samples for the farthest one; "sampling" first
        searches random draws, until twenty of them contain no sample outside the ball.
    sample_size : int, default=59
        Number of samples in a random draw: the farthest sample of 59 is among the farthest five
        per cent of all samples with probability 0.95.
    batch_size : int, default=None
        Number of samples added to the core set after a pass; None means half the number of
        features, but at least 10.
    tol : float, default=1e-6
        Largest relative gap between `radius_` and the lower bound.
    max_iter : int, default=1000
        Largest number of steps.
    random_state : int, RandomState instance or None, default=None
        Controls the draws of `algorithm="sampling"`. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads for kernel values.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Centre, for the linear kernel.
    radius_ : float
        Radius of the ball around the centre that contains all samples.
    radius_lower_ : float
        Lower bound on the radius of any ball that contains all samples.
    dual_gap_ : float
        ``radius_ / radius_lower_ - 1``.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples whose convex combination is the centre; they lie on the
        surface.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_support,)
        Weights of the convex combination.
    core_indices_ : ndarray of shape (n_core,)
        Indices of the training samples that were in the core set.
    offset_ : float
        Threshold in ``decision_function = score_samples - offset_``: the negative radius, up to
        rounding.
    n_iter_ : int
        Number of steps.
    n_passes_ : int
        Number of passes over all samples.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.OneClassSVM : Leaves outliers outside.
    sklearn.covariance.EllipticEnvelope : Ellipsoid that is robust to outliers.

    Notes
    -----
    A step of "core_set" solves the problem on a few samples exactly and makes one pass over the
    data, ``n p`` operations. Three to ten passes suffice, even in hundreds of dimensions; samples
    near a sphere need a few more passes. For a radius within a factor of ``1 + eps``, a core set
    of ``ceil(2 / eps)`` samples always suffices, whatever the dimension [1]_.

    The ball contains every sample, so a single outlier changes it. Adding a constant to the kernel
    or repeating samples does not change the ball. A single sample, or samples that are all equal,
    have a ball of radius zero. Distances are computed relative to the mean of the data, so an
    offset does not reduce the accuracy. With kernel "precomputed", `predict` raises ValueError for
    new samples, because the matrix does not contain their kernel values with themselves.

    References
    ----------
    .. [1] Badoiu and Clarkson, Smaller core-sets for balls, SODA 2003, pp. 801-802.
    .. [2] Yildirim, Two algorithms for the minimum enclosing ball problem, SIAM Journal on
       Optimization 19(3), 2008, Algorithm 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.svm import MinimumEnclosingBall
    >>> ball = MinimumEnclosingBall().fit([[0, 0], [0, 2], [1, 1], [0.5, 0.5]])
    >>> ball.center_, round(ball.radius_, 6)
    (array([0., 1.]), 1.0)
    >>> ball.predict([[0.5, 1.0], [2.0, 1.0]])
    array([ 1, -1])
    """

    _card = MethodCard(
        family="margins",
        cite=("badoiu2003smaller", "yildirim2008two"),
        cost="T n p",
        fits_blocks=True,
    )
    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "solver": [StrOptions({"core_set", "away_steps", "badoiu_clarkson", "cvxpy"})],
        "algorithm": [StrOptions({"exact", "sampling"})],
        "sample_size": [AT_LEAST_ONE],
        "batch_size": [AT_LEAST_ONE, None],
        "tol": [NON_NEGATIVE],
        "max_iter": [AT_LEAST_ONE],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        kernel="linear",
        *,
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        solver="core_set",
        algorithm="exact",
        sample_size=59,
        batch_size=None,
        tol=1e-6,
        max_iter=1000,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver
        self.algorithm = algorithm
        self.sample_size = sample_size
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, heights=None):
        """Compute the smallest enclosing ball.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Samples; a list for kernels on other objects, the kernel matrix if the kernel is
            precomputed.
        y : Ignored
            Not used, present by convention.
        heights : array-like or Dask array of shape (n_samples,), default=None
            Coordinates on the additional axis; None means zero.

        Returns
        -------
        self : MinimumEnclosingBall
            The fitted estimator.
        """
        read = (
            self._points_in_blocks if in_blocks(X, on_disk=False) else self._points_in_memory
        )
        points = read(X, heights)
        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            ball = points.enclose(self, progress)
        self._store(ball, points)
        return self

    def _points_in_memory(self, X, heights):
        X = checked_samples(self, X, reset=True)
        heights_sq = None if heights is None else _heights(heights, count_samples(X)) ** 2
        return PointsInMemory(X, resolved_gram(self, X), heights_sq, self.n_jobs)

    def _points_in_blocks(self, X, heights):
        # check rows and heights
        refuse_in_blocks(
            self,
            solver=("core_set", "needs all samples in memory for its steps"),
            algorithm=("exact", "draws samples repeatedly"),
        )
        rows = [] if heights is None else [heights]
        blocks, _ = rows_in_blocks(self, X, *rows)
        if rows:
            blocks.sum(_check_heights)
        (survey,) = blocks.sum(_survey, type(self).__name__, self.kernel)

        # resolve the kernel
        table = CoreTable(self, blocks, survey, RowReader(type(self).__name__, False))
        linear = isinstance(self.kernel, str) and self.kernel == "linear"
        n_drawn = 1 if linear else JUDGED
        rng = check_random_state(self.random_state)
        gram = table.resolve(table.brought(table.drawn(n_drawn, rng)).X)
        squares = Squares(gram, survey.mean if linear else None, heights is not None)
        return PointsInBlocks(table, squares, self._batch_size(blocks.shape[1], linear))

    def _batch_size(self, n_features, linear):
        """Return the maximum number of points that are added at a time."""
        return self.batch_size or max(10, n_features // 2 if linear else 0)

    def _store(self, ball, points):
        # restore the order of the samples
        gram = points.gram
        ids = points.ids
        order = np.argsort(ball.support if ids is None else ids[ball.support])
        support = ball.support[order]
        self._gram = gram
        self.support_ = support if ids is None else ids[support]
        self.core_indices_ = ball.core if ids is None else np.sort(ids[ball.core])
        self.dual_coef_ = ball.weights[order]
        self._basis = gram.subset(points.X, support)
        self.support_vectors_ = np.zeros((0, 0)) if gram.precomputed else self._basis

        self.radius_ = ball.radius
        self.radius_lower_ = ball.lower
        self.dual_gap_ = ball.gap
        self._norm = ball.norm

        # in input space, increase the radius to the distance of the farthest sample, which is
        # exact up to rounding errors
        if gram.kernel == "linear":
            self.center_ = points.center(ball)
            largest = points.largest_square(self.center_)
            self.radius_ = max(self.radius_, float(np.sqrt(largest)))
        self.offset_ = -self.radius_ * (1.0 + RESULT_ROUNDING)

        self.n_iter_ = ball.n_iter
        self.n_passes_ = ball.n_passes
        if not ball.converged:
            warn_not_converged(
                self,
                reached=f"after {ball.n_iter} steps of solver={self.solver!r} the relative gap "
                f"of the radius is {ball.gap:.1e} (tol={self.tol:g})",
                remedy=scale_first(points.X)
                or "increase max_iter or tol, or use solver='core_set'",
            )

    @by_rows
    def score_samples(self, X, heights=None):
        """Compute the negative distances to the centre.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        heights : array-like of shape (n_samples,), default=None
            Coordinates on the additional axis.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Negative distances; larger values mean closer to the centre.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        heights_sq = None if heights is None else _heights(heights, count_samples(X)) ** 2
        return -np.sqrt(self._squares(X, heights_sq))

    @by_rows
    def decision_function(self, X, heights=None):
        """Compute the distances from the surface, positive inside.

        Parameters
        ----------
        X, heights
            As in `score_samples`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            ``score_samples(X) - offset_``.
        """
        return self.score_samples(X, heights) - self.offset_

    @by_rows
    def predict(self, X, heights=None):
        """Predict which samples are inside the ball.

        Parameters
        ----------
        X, heights
            As in `score_samples`.

        Returns
        -------
        inside : ndarray of shape (n_samples,)
            1 for samples inside the ball or on its surface, -1 for samples outside.
        """
        return np.where(self.decision_function(X, heights) >= 0, 1, -1)

    @in_memory
    def score(self, X, y=None):
        """Compute the fraction of samples inside the ball.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples that were not used in `fit`.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Fraction between 0 and 1. The score favours large balls; to choose a kernel, use
            labelled outliers.
        """
        return float((self.predict(X) == 1).mean())

    def _squares(self, X, heights_sq=None):
        """Compute the squared distances of validated samples from the centre."""
        if self._gram.kernel == "linear":
            distances_sq = _input_squares(X, self.center_)
        else:
            expansion = Expansion(self._gram, self._basis, self.dual_coef_)
            values = expansion.values(X, n_jobs=self.n_jobs)
            diagonal = diagonal_by_blocks(self._gram, X)
            distances_sq = diagonal - 2.0 * values + self._norm
            np.maximum(distances_sq, 0.0, out=distances_sq)
        return _with_heights(distances_sq, heights_sq)


class Squares(NamedTuple):
    """Squared distances of the rows of blocks from a point, in input space or under a kernel."""

    gram: Gram
    # Origin of the coordinates; None under a kernel.
    mean: np.ndarray | None
    with_heights: bool

    def lengths(self, block, X):
        """Compute the squared lengths of rows, including their heights."""
        if self.mean is None:
            base = diagonal_by_blocks(self.gram, X)
        else:
            base = InputPoints(X, self.mean).diag(slice(0, X.shape[0]))
        if not self.with_heights:
            return base
        return base + np.asarray(block.arrays[1], dtype=np.float64) ** 2

    def products(self, X, function):
        """Compute the inner products of rows with a centre."""
        if self.mean is None:
            return function.values(X)
        return InputPoints(X, self.mean).values(function, slice(0, X.shape[0]))


class PointsInMemory:
    """Points of a table in memory.

    Parameters
    ----------
    X : array, sparse matrix or list
        Checked samples.
    gram : Gram
        Kernel.
    heights_sq : ndarray or None
        Squares of the heights of the points.
    n_jobs : int or None
        Number of jobs for kernel values.
    """

    ids = None

    def __init__(self, X, gram, heights_sq, n_jobs):
        self.X = X
        self.gram = gram
        self.heights_sq = heights_sq
        self.linear = gram.kernel == "linear"
        self.points = InputPoints(X) if self.linear else KernelRows(gram, X, n_jobs=n_jobs)

    def enclose(self, model, progress):
        """Compute the smallest ball by the solver of the model."""
        n_features = self.X.shape[1] if self.linear else 0
        return enclosing_ball(
            self.points,
            heights_sq=self.heights_sq,
            tol=model.tol,
            max_iter=model.max_iter,
            solver=model.solver,
            search=model.algorithm,
            sample_size=model.sample_size,
            batch_size=model._batch_size(n_features, self.linear),
            rng=check_random_state(model.random_state),
            progress=progress,
        )

    def center(self, ball):
        """Return the centre in input space."""
        return self.points.expansion(ball.support, ball.weights) + self.points.mean

    def largest_square(self, center):
        """Return the largest squared distance of a point from a centre in input space."""
        return float(_with_heights(_input_squares(self.X, center), self.heights_sq).max())


class PointsInBlocks:
    """Points fetched from a table in blocks, and passes over all points of the table.

    Parameters
    ----------
    table : CoreTable
        The table in blocks.
    squares : Squares
        Squared distances of its rows.
    batch_size : int
        Maximum number of points that a pass brings.
    """

    def __init__(self, table, squares, batch_size):
        self.table = table
        self.squares = squares
        self.batch_size = batch_size
        self.gram = squares.gram
        self.n_passes = 0
        # Row numbers, heights and coordinates of the points fetched so far.
        self.ids = np.zeros(0, dtype=np.intp)
        self.v = np.zeros(0)
        self.X = self.points = None

    def enclose(self, model, progress):
        """Compute exact balls of the fetched points, and fetch the furthest of all others."""
        return ball_of_core_set(
            self,
            tol=model.tol,
            max_iter=model.max_iter,
            batch_size=self.batch_size,
            progress=progress,
        )

    def center(self, ball):
        """Return the centre in input space."""
        return self.points.expansion(ball.support, ball.weights) + self.points.mean

    def largest_square(self, center):
        """Return the largest squared distance of a point from a centre in input space."""
        (largest,) = self.table.blocks.sum(_largest_square, self.squares._replace(mean=center))
        return largest.value

    def far_pair(self):
        """Fetch the point furthest from the origin, and the point furthest from that point."""
        self._bring(self._farthest(None, 0.0, 1).rows)
        if len(self.ids) == 0:  # all points equal their mean
            self._bring(self.table.brought([0]))
            return np.zeros(1, dtype=np.intp)
        first = np.zeros(1, dtype=np.intp)
        second = self._look(first, np.ones(1), 1)[1]
        self.n_passes += 1
        if len(second.ids) == 0 or second.ids[0] == self.ids[0]:
            return first
        self._bring(second)
        return np.argsort(self.ids)

    def look(self, support, weights):
        """Pass over all points; return bounds of the radius, and a function for the furthest."""
        self.n_passes += 1
        bounds, rows = self._look(support, weights, self.batch_size)

        def far(count):
            self._bring(rows)
            return np.flatnonzero(np.isin(self.ids, rows.ids))

        return Look(*bounds, far)

    def _look(self, support, weights, count):
        function = self.points.expansion(support, weights)
        values = self.points.values(function, support)
        norm = float(weights @ values)
        lower = max(float(weights @ self.v[support]) - norm, 0.0)
        worst = self._farthest(function, norm, count)
        beyond = np.flatnonzero(worst.excess[:, 0] > lower)
        return (float(worst.largest[0]), lower, norm), worst.rows.part(beyond)

    def _farthest(self, function, norm, count):
        reader = self.table.reader
        (worst,) = self.table.blocks.sum(
            _farthest, reader, self.squares, function, norm, count
        )
        return worst

    def _bring(self, rows):
        """Append the points that are not yet present."""
        new = rows.part(np.flatnonzero(~np.isin(rows.ids, self.ids)))
        self.ids = np.concatenate([self.ids, new.ids])
        self.v = np.concatenate([self.v, new.target])
        self.X = new.X if self.X is None else stacked(self.X, new.X)
        mean = self.squares.mean
        if mean is None:
            self.points = self.table.kernel_rows(self.X)
        else:
            self.points = InputPoints(self.X, mean)


def _farthest(block, reader, squares, function, norm, count):
    """Return the rows of a block that are furthest from a centre; None means the origin."""
    X, _, costs = reader.read(block.arrays)
    with rows_named():
        lengths = squares.lengths(block, X)
        distances = lengths
        if function is not None:
            distances = lengths - 2.0 * squares.products(X, function) + norm
    ids = np.arange(block.first, block.first + X.shape[0])
    rows = RowSet(ids, X, lengths, costs)
    return (WorstRows(rows, distances[:, None], count),)


def _largest_square(block, squares):
    X = block_of(block.arrays[0])
    return (Largest(float(squares.lengths(block, X).max())),)


def _survey(block, name, kernel):
    X = block_of(block.arrays[0])
    return (survey_of_rows(X, np.ones(X.shape[0]), block.first, name, kernel),)


def _check_heights(block):
    with rows_named():
        _heights(block.arrays[1], block.arrays[0].shape[0])
    return (0,)


def _with_heights(distances_sq, heights_sq):
    return distances_sq if heights_sq is None else distances_sq + heights_sq


def _input_squares(X, center):
    """Compute the squared distances of rows from a point, in blocks, without cancellation."""
    return InputPoints(X, center).diag(slice(0, X.shape[0]))


def _heights(heights, n):
    heights = column_or_1d(heights, dtype=np.float64)
    if len(heights) != n or not np.isfinite(heights).all():
        raise ValueError(
            f"heights must contain one finite number for each of {n} samples, got {len(heights)}."
        )
    return heights
