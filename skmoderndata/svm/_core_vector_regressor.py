"""Core vector regression: support vector regression for large samples, on a core set."""

from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.blocks_input import in_blocks
from skmoderndata._estimator.compat import POSITIVE, StrOptions, fit_context
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples_and_target
from skmoderndata._kernelized.landmarks import check_numbers, rows_in_blocks, survey_of
from skmoderndata._kernelized.machines import MachineRegressorMixin
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.margins.core_blocks import Answer, tube_question
from skmoderndata._solvers.margins.core_problems import TubeRows
from skmoderndata.svm._base import CORE_CONSTRAINTS, CoreVectors
from skmoderndata.svm._blocks_base import (
    IN_MEMORY,
    CoreTable,
    RowReader,
    SamplesInMemory,
    refuse_in_blocks,
)

# Maximum k(x, x) for which the computation is accurate.
LARGEST = 1e30


class CoreVectorRegressor(CoreVectors, MachineRegressorMixin, Base):
    r"""Sparse kernel regression with a tube that adapts to the noise, trained on a core set.

    With the targets scaled to mean zero and standard deviation one, the class minimises

    .. math::
        \min_{w, b, \varepsilon \ge 0}\ \tfrac12 \bigl(\|w\|^2 + b^2\bigr)
        + C \sum_i u_i \max\bigl(0,\ |y_i - f(x_i)| - \varepsilon\bigr)^2 + D \varepsilon,
        \qquad D = 2 \mu C \sum_i u_i,

    over functions :math:`f(x) = w^\top \phi(x) + b`, with the weights :math:`u_i` of samples.
    At the optimum the mean distance of the samples from the tube is :math:`\mu`, the parameter
    `tube_distance` (unless the tube has width zero), so the width adapts to the noise. The dual is
    a minimum enclosing ball with a constrained centre, found on a core set [1]_.

    Parameters
    ----------
    C : float, default=2.0
        Cost of a squared distance from the tube, in units of the standard deviation of y.
    tube_distance : float, default=0.2
        Mean distance from the tube, in units of the standard deviation of y. Small values, .01 to
        .03, need few support vectors but reduce the accuracy if the noise is strong; the limit of
        large values is kernel ridge regression.
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the regression function, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    tol : float, default=0.02
        Target of the relative duality gap.
    solver : {"core_set", "cvxpy"}, default="core_set"
        "core_set" is pairwise descent on the core set; "cvxpy" is a cone solver, for core sets of
        up to 2000 samples.
    sample_size : int, default=59
        Number of samples in a random draw if `batch_size` is given; the worst sample of the draw
        is selected.
    batch_size : int, default=None
        Number of samples added to the core set in each step, each the worst of `sample_size`. None
        searches growing blocks and re-evaluates only the samples near the tube.
    max_core : int, default=None
        Largest size of the core set; None means no limit.
    max_iter : int, default=10000
        Largest number of solutions on the core set.
    cache_size : float, default=500
        Memory for kernel values of the core set, in MB. A problem whose matrix is larger is
        decomposed into blocks; the result is equally accurate, but takes longer.
    warm_start : bool, default=False
        Whether to start from the core set of the last call of `fit`, which must have used the same
        samples.
    random_state : int, RandomState instance or None, default=None
        Controls the random samples. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads for kernel values; results do not depend on it.

    Attributes
    ----------
    core_indices_ : ndarray of shape (n_core,)
        Indices of the training samples in the core set.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with non-zero weight, the support vectors.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients of the support vectors.
    intercept_ : float
        Offset of the function.
    epsilon_ : float
        Half the width of the tube, in units of y.
    dual_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Number of solutions on the core set.
    n_passes_ : int
        Number of passes over all samples for the certificate.
    n_kernel_evaluations_ : int
        Number of kernel values computed.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.SVR : Linear loss outside a tube of fixed width; at least quadratic time.
    sklearn.kernel_ridge.KernelRidge : The limit of large `tube_distance`; not sparse.

    Notes
    -----
    The support vectors are the samples outside the tube; their fraction depends on `tube_distance`
    and the noise. The method is intended for sparse models of many samples with small
    `tube_distance`; with strong noise `sklearn.kernel_approximation.Nystroem` and ridge regression
    are faster and more accurate. In the published problem the width may become negative; an
    additional variable without a sample prevents this here. For fewer than 1000 samples there is
    no search, and for up to 100 the optimum is accurate up to rounding.

    References
    ----------
    .. [1] Tsang, Kwok and Lai, Core vector regression for very large regression problems, ICML
       2005, equations (5) to (9).

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.svm import CoreVectorRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-10, 10, size=(5000, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.05 * rng.normal(size=5000)
    >>> model = CoreVectorRegressor(C=10, tube_distance=0.03, gamma=0.3, random_state=0).fit(X, y)
    >>> error = model.predict(X) - np.sinc(X[:, 0] / np.pi)
    >>> round(float(np.abs(error).max()), 2)
    0.01
    >>> round(len(model.support_), -3)                 # of 5000 samples
    2000
    """

    _card = MethodCard(
        family="margins",
        cite=("tsang2005regression", "tsang2006generalized"),
        cost="n |S| + |S|^2",
        fits_blocks=True,
        tier="standard",
        instead="Nystroem with a thousand components and Ridge reach an error of .38 from 10,000 "
        "noisy rows of five columns in a third of the time in which this class reaches "
        ".43.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        **CORE_CONSTRAINTS,
        "C": [POSITIVE],
        "tube_distance": [POSITIVE],
        "solver": [StrOptions({"core_set", "cvxpy"})],
    }

    @parameters_are_named
    def __init__(
        self,
        C=2.0,
        *,
        tube_distance=0.2,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        tol=0.02,
        solver="core_set",
        sample_size=59,
        batch_size=None,
        max_core=None,
        max_iter=10_000,
        cache_size=500,
        warm_start=False,
        random_state=None,
        n_jobs=None,
    ):
        self.C = C
        self.tube_distance = tube_distance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.tol = tol
        self.solver = solver
        self.sample_size = sample_size
        self.batch_size = batch_size
        self.max_core = max_core
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the function and the width of its tube on a core set.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`. A
            memory map is read in blocks, a Dask array in passes that bring the worst rows.
        y : array-like or Dask array of shape (n_samples,)
            Targets.
        sample_weight : array-like or Dask array of shape (n_samples,), default=None
            Factor of `C` for each sample.

        Returns
        -------
        self : CoreVectorRegressor
            The fitted estimator.
        """
        rng = check_random_state(self.random_state)
        read = self._rows_in_blocks if in_blocks(X, on_disk=False) else self._rows_in_memory
        table, scale = read(X, y, sample_weight, rng)
        self._check_diagonal(table.diagonal)
        with one_blas_thread():
            problems_on = partial(_problems, scale.level)
            solution = table.search(
                self, problems_on, _answer, _question, rng, [self._last_core()]
            )
        self._store(solution, scale)
        (result,) = solution.results
        if not result.converged:
            self._warn_above_tol(result, solution.rows.X)
        return self

    def _rows_in_memory(self, X, y, sample_weight, rng):
        X, y = checked_samples_and_target(self, X, y, y_numeric=True, ensure_min_samples=2)
        weights = self._checked_weights(X, sample_weight)
        weights = np.ones(count_samples(X)) if weights is None else weights
        active = None if weights.min() > 0 else np.flatnonzero(weights)
        rows, diagonal = self._kernel_rows(X, weights)
        target, center, spread = _standardised(y, weights / weights.max())
        costs = self._costs(weights if active is None else weights[active])
        level = self.tube_distance * float(costs.sum())
        table = SamplesInMemory(rows, target, costs, diagonal, active, (X, y))
        return table, TargetScale(center, spread, level)

    def _rows_in_blocks(self, X, y, sample_weight, rng):
        # check the rows, and compute moments of the targets
        refuse_in_blocks(self, **IN_MEMORY)
        blocks, weighted = rows_in_blocks(
            self, X, y, sample_weight=sample_weight, ensure_min_samples=2
        )
        check_numbers(self, blocks)
        survey = survey_of(self, blocks, weighted)
        (moments,) = blocks.sum(_moments, weighted)
        center, spread = _scale_of(moments)
        unit = float(self._costs(1.0))
        self._costs(survey.heaviest)

        # fetch rows for the start
        reader = RowReader(
            type(self).__name__, weighted, unit=unit, center=center, spread=spread
        )
        table = CoreTable(self, blocks, survey, reader, (X, y))
        table.start(rng, earlier=[self._last_core()])
        level = self.tube_distance * unit * survey.weight
        return table, TargetScale(center, spread, level)

    def _store(self, solution, scale):
        """Store the function in units of the targets."""
        rows = solution.rows
        (problem,) = solution.problems
        (result,) = solution.results
        units, coef = problem.coefficients(result.core, result.weights)
        used = coef != 0
        coef = (problem.scale * coef[used]) * problem.level * scale.spread
        core = np.unique(result.core[result.core < 2 * problem.n_units] // 2)
        support = problem.row(units[used])
        gram = solution.kernel_rows.gram
        self._keep_support(gram, rows.X, support, coef)
        self.support_ = rows.ids[support]
        self.core_indices_ = rows.ids[problem.row(core)]
        self.intercept_ = float(coef.sum()) + scale.center
        self.epsilon_ = solution.answers[0].parameter * scale.spread
        self._store_work(solution.kernel_rows, solution.results)
        self.n_passes_ = solution.n_passes
        (self._core,) = solution.cores

    def _check_diagonal(self, diagonal):
        if not diagonal < LARGEST:
            raise ValueError(
                f"kernel={self.kernel!r} has values of up to {diagonal:.1e}, so rounding errors "
                "exceed the targets: rescale X."
            )


class TargetScale(NamedTuple):
    """Mean and scale of the targets, and the factor of the width of the tube."""

    center: float
    spread: float
    # Factor D of the width, for standardised targets.
    level: float


def _problems(level, rows, target, costs, active, diagonal):
    """Return the problem on some rows, in a list."""
    return [TubeRows(rows, target, costs, level, bias=1.0, diagonal=diagonal, ids=active)]


def _question(problem, result, number):
    return tube_question(problem, result)


def _answer(problem, result):
    """Return the best width of the tube, computed from the values at all samples."""
    used = result.weights > 0
    gap, width = problem.solution(
        result.values, result.core[used], result.weights[used], result.rho
    )
    return Answer(gap, width, np.nan)


def _moments(block, weighted):
    """Compute the moments of the targets of a block."""
    y = np.asarray(block.arrays[-1], dtype=np.float64).ravel()
    w = np.asarray(block.arrays[1], dtype=np.float64) if weighted else np.ones(len(y))
    weight = float(w.sum())
    mean = float(w @ y) / weight if weight > 0 else 0.0
    largest = float(np.abs(y).max())
    return (Moments(weight, mean, float(w @ (y - mean) ** 2), largest),)


class Moments:
    """Moments of targets: weight, mean, sum of squared deviations, and largest magnitude.

    The sum of two objects has the moments of both sets of targets.
    """

    def __init__(self, weight, mean, squares, largest):
        self.weight = weight
        self.mean = mean
        self.squares = squares
        self.largest = largest

    def __add__(self, other):
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        shift = other.mean - self.mean
        between = self.weight * share * shift**2
        return Moments(
            weight,
            self.mean + share * shift,
            self.squares + other.squares + between,
            max(self.largest, other.largest),
        )


def _scale_of(moments):
    """Return the mean and scale of targets from their moments, as in `_standardised`."""
    spread = float(np.sqrt(moments.squares / moments.weight))
    size = moments.largest or 1.0
    if spread <= ACCUMULATED_ROUNDING * max(size, abs(moments.mean)):
        return moments.mean, size
    return moments.mean, spread


def _standardised(y, weights):
    """Standardise targets; return them with their mean and scale. Constant targets become 0."""
    y = np.asarray(y, dtype=np.float64)
    size = float(np.abs(y).max()) or 1.0
    scaled = y / size
    share = weights / weights.sum()
    center = float(share @ scaled)
    spread = float(np.sqrt(share @ (scaled - center) ** 2))
    if spread <= ACCUMULATED_ROUNDING * max(1.0, abs(center)):
        return np.zeros(len(y)), center * size, size
    return (scaled - center) / spread, center * size, spread * size
