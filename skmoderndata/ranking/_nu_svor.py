"""Support vector ordinal regression."""

import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.compat import Interval, StrOptions, fit_context
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import order_of_labels, ordered_classes
from skmoderndata._kernelized.checks import checked_samples_and_target
from skmoderndata._kernelized.gram import Gram
from skmoderndata._kernelized.machines import MACHINE_CONSTRAINTS
from skmoderndata._kernelized.row_store import RowStore
from skmoderndata._samples.containers import take
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RESULT_ROUNDING
from skmoderndata._solvers.margins.cumulative_link import cumulative_link
from skmoderndata._solvers.margins.nu_ranking import (
    all_rows,
    factor_for_cvxpy,
    factor_of_few,
    nu_ranking,
    nu_ranking_by_cvxpy,
)
from skmoderndata._solvers.margins.simplex_qp import CVXPY_LIMIT
from skmoderndata.ranking._base import (
    LINK_SMOOTHING,
    KernelRankingMachine,
    folds_of_samples,
    held_out_scores,
    moments,
)

# Maximum number of steps per sample before the cone solver takes over or `fit` warns.
STEPS_PER_SAMPLE = 1000
# Maximum number of steps per sample if the kernel has few directions, so that the cone solver
# needs only a second.
STEPS_PER_SAMPLE_FEW = 30

# Fractions of the largest feasible value that nu="auto" compares, beginning with the smoothest.
NU_FRACTIONS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
# Number of folds that nu="auto" uses.
NU_FOLDS = 3
# Maximum number of samples that nu="auto" uses.
NU_SAMPLES = 1000
# Tolerance of the relative gap; smaller tolerances do not change the error of held-out ranks.
NU_TOL = 1e-2
# Fraction of the largest feasible nu that is used if there are too few samples to compare
# several fractions.
FEW_FRACTION = 0.5


class HeldOut(NamedTuple):
    """Scores of samples by functions from other folds, in units of each function."""

    rows: np.ndarray  # (n_samples,)
    ranks: np.ndarray  # (n_samples,)
    weights: np.ndarray  # (n_samples,)
    scores: np.ndarray  # (n_fractions, n_samples), NaN if there is no score


class NuSVOR(KernelRankingMachine, Base):
    r"""Ordinal regression by a kernel function and thresholds of maximum margin.

    Support vector ordinal regression [1]_ [2]_ minimises over a function
    :math:`f(x) = w^\top \phi(x)` of norm one, thresholds b and the margin,

    .. math::
        \min\ -\gamma + \frac{1}{\nu N} \sum_i u_i (\xi_i + \zeta_i) \quad \text{where} \quad
        f(x_i) \le b_{y_i} - \gamma + \zeta_i, \quad f(x_i) \ge b_{y_i - 1} + \gamma - \xi_i,

    the first constraint for all ranks below the last, the second for all ranks above the first,
    with non-negative slacks and the sample weights :math:`u_i`. N is the total weight of these
    constraints. The dual problem is solved by steps that change two or four weights and preserve
    their sums; if many weights are between their bounds, there are also steps to the minimum over
    all of these. For up to 2000 samples, a primal-dual interior point method [3]_ takes over if
    the steps need long.

    Parameters
    ----------
    nu : float or "auto", default="auto"
        Upper bound on the fraction of constraints with slack, and lower bound on the fraction of
        active constraints, by weight. For two ranks, it is the `nu` of `NuSVC`. Values above
        ``2 sum_j min(n_j, n_(j+1)) / N`` are infeasible; this limit is 1 for ranks of equal size.
        "auto" chooses one of six fractions of the limit, .9 to .4, and the thresholds from
        probabilities of ranks for samples of three held-out folds, with at most 1000 samples in
        total. Copies of a sample are in the same fold.
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the ranking function, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    classes : array-like of shape (n_labels,), default=None
        Labels in ascending order. None uses the order of an ordered categorical of pandas or an
        Enum of polars, and sorts other labels; a warning then shows the order of words. Labels
        without samples of positive weight stay in `classes_` and are never predicted.
    order : {"free", "enforced"}, default="free"
        Order of the thresholds: "free" thresholds may be out of order, which can happen for rare
        ranks; with "enforced", they must be ascending.
    probability : bool, default=False
        Whether `fit` also prepares `predict_proba` from values of functions at samples that they
        were not fitted to. This needs five more fits, each with four fifths of the samples;
        nothing else changes.
    tol : float, default=0.001
        Target of the duality gap, relative to the margin.
    cache_size : float, default=500
        Size of the kernel cache, in MB. The factor of the weights between their bounds needs up to
        512 MB in addition, for 8000 such weights; if there are more, only steps of two and four
        weights are used.
    max_iter : int, default=-1
        Maximum number of steps of two and four weights. -1 means 100 per sample for up to 2000
        samples, followed by an interior point method if these do not suffice. For more samples, it
        means 1000 per sample, followed by a cone solver if the rank of the kernel is at most 100.
    solver : {"smo", "cvxpy"}, default="smo"
        Method of computation. "smo" changes two or four weights in each step, and sometimes all
        free weights; "cvxpy" is a cone solver, for up to 2000 samples or kernels of low rank.
    n_jobs : int, default=None
        Number of threads for the values of new samples; results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in ascending order.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with non-zero weight, the support vectors.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients of the support vectors.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Values of the function from which the next rank is predicted. With a number as `nu`, they
        are the thresholds of the problem above. With "auto", they are the values at which a higher
        rank is as probable as not, by the cumulative link of held-out samples; these are in order.
    nu_ : float
        Value of `nu` that was used.
    margin_ : float
        Margin between a threshold and the neighbouring ranks, for a function of norm one. 0 if
        ranks overlap too much for `nu`; all predictions are then the same.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Difference between the objective and its lower bound, the value of the dual, in units of
        the larger of the margin and the magnitude of that bound; if the margin is zero, in units
        of the largest norm of a sample in feature space.
    n_iter_ : int
        Number of steps.
    link_slope_ : float or None
        Slope `a >= 0` of ``P(rank <= k) = sigma(t_k - a f(x))``. None if `probability` is False,
        like the next two attributes.
    link_thresholds_ : ndarray of shape (n_classes - 1,) or None
        Ascending thresholds `t_k` of the link.
    link_gradient_ : float or None
        Largest derivative of the mean log-likelihood at the link, for values of variance one; 0
        at the maximum.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.NuSVC : Is the same machine for two classes; more classes have no order there.
    skmoderndata.ranking.KernelPRank : Learns the same model from one sample at a time.
    skmoderndata.svm.CoreVectorRanker : Orders samples by pairs, without thresholds.

    Notes
    -----
    `score` is the accuracy. To select a model by the mean absolute error of ranks, use numbers as
    labels and ``scoring="neg_mean_absolute_error"``.

    Thresholds of maximum margin for a large `nu` favour some ranks, whereas the median of a
    cumulative link does not. With "auto", it lowers the mean absolute error on `diabetes` in five
    ranks from .88 to .83. `margin_`, `objective_` and `dual_gap_` always refer to the problem
    above.

    The free thresholds are in order unless a rank is rare; if they are, both values of `order`
    have the same optimum. Otherwise "enforced" passes the problem to a cone solver, for up to 2000
    samples, or for any number of samples with a kernel of rank up to 100, such as a linear kernel
    on few columns.

    A smaller `nu` needs more time, because more weights are between their bounds. Ranks that
    overlap nearly as much as `nu` allows would need millions of steps along pairs. The interior
    point method, whose number of steps does not depend on `nu` or the overlap, solves any problem
    with 150 samples in about a hundredth of a second. With more than 2000 samples and a kernel of
    rank above 100, `fit` ends after 1000 steps per sample with a `ConvergenceWarning`.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Computation
       8.8 and Algorithm 8.9; the superscripts of its constraints are exchanged, and its nu is
       relative to the samples instead of the constraints.
    .. [2] Chu and Keerthi, Support vector ordinal regression, Neural Computation 19(3), 2007,
       pp. 792-815.
    .. [3] Nocedal and Wright, Numerical optimization, 2nd edition, 2006, Algorithm 16.4.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.ranking import NuSVOR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(300, 2))
    >>> radius = np.linalg.norm(X, axis=1)
    >>> size = np.select([radius < 0.8, radius < 1.5], ["low", "mid"], "high")
    >>> model = NuSVOR(nu=0.3, classes=["low", "mid", "high"]).fit(X, size)
    >>> model.predict([[0.0, 0.0], [1.2, 0.0], [2.0, 2.0]])
    array(['low', 'mid', 'high'], dtype='<U4')
    >>> model.thresholds_.round(2)
    array([-0.64, -0.22])
    """

    _card = MethodCard(
        family="ranking",
        cite=("shawetaylor2004kernel", "chu2007support"),
        cost="n |S|",
        tier="standard",
        instead="GaussianProcessRegressor with a width for each column, on normal scores of the "
        "ranks, has three quarters of the error from 100 samples with ranks of unequal "
        "width.",
        scaler="StandardScaler",
    )
    _free_offset = True
    _parameter_constraints = {
        **MACHINE_CONSTRAINTS,
        "nu": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "classes": ["array-like", None],
        "order": [StrOptions({"free", "enforced"})],
        "probability": ["boolean"],
        "solver": [StrOptions({"smo", "cvxpy"})],
    }

    @parameters_are_named
    def __init__(
        self,
        nu="auto",
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        classes=None,
        order="free",
        probability=False,
        tol=1e-3,
        cache_size=500,
        max_iter=-1,
        solver="smo",
        n_jobs=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.classes = classes
        self.order = order
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.solver = solver
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find the function and the thresholds with the largest margin between neighbouring ranks.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : array-like of shape (n_samples,)
            Labels of the samples.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative weights of the samples; a sample of weight zero is ignored.

        Returns
        -------
        self : NuSVOR
            The fitted estimator.
        """
        labels = order_of_labels(y, self.classes)
        X, y = checked_samples_and_target(self, X, y)
        check_classification_targets(y)
        weights = self._weights_of(X, sample_weight)
        weights = weights / weights.max()

        active = np.flatnonzero(weights)
        present, ranks = ordered_classes(y[active], labels, owner=type(self).__name__)
        self._keep_grades(y, labels, present, weighted=len(active) < len(y))

        # Sort the samples by rank.
        by_rank = np.argsort(ranks, kind="stable")
        order = active[by_rank]
        segments = segments_of(ranks)
        if self.nu != "auto":  # reject an infeasible value before any work
            self._bounds(self.nu, weights[order], segments)
        gram, store = self._row_store(X, order, weights)

        # If the margin vanishes, "auto" continues with larger values.
        limit, _ = largest_nu(weights[order], segments)
        candidates = [self.nu / limit] if self.nu != "auto" else []
        if self.nu == "auto":
            held_out = self._held_out(gram, X, order, segments, weights[order])
            candidates = best_and_larger(held_out)
        with FitProgress(self, X, y, max_passes=None, task_name="level") as progress:
            for fraction in candidates:
                nu = self.nu if self.nu != "auto" else fraction * limit
                bounds = self._bounds(nu, weights[order], segments)
                machine = self._solve(store, segments, bounds, progress)
                if machine.margin > 0 or progress.stopped:
                    break

        used = np.flatnonzero(machine.coef)
        self._check_psd(gram, store, used, np.zeros(len(order)))
        if not machine.margin > 0:
            warnings.warn(
                f"{type(self).__name__}: the ranks overlap so much that the margin is zero for "
                f"nu={nu:g}, and all predictions are the same: increase nu, or use a kernel "
                "that separates them.",
                stacklevel=2,
            )

        used = used[np.argsort(order[used])]  # restore the order of the samples
        self._keep_support(gram, X, order[used], machine.coef[used])
        thresholds = machine.thresholds
        self.thresholds_ = self._of_all_grades(thresholds + self._at_mean)
        if self.nu == "auto" and machine.margin > 0:
            solved = thresholds + self._at_mean
            thresholds = self._median_thresholds(X, held_out, fraction, solved)
            self.thresholds_ = self._of_all_grades(thresholds)
        self.margin_ = float(machine.margin)
        self.nu_ = float(nu)
        self.objective_ = float(machine.objective)

        self._warn_of_order(thresholds)
        self._keep_work(X, machine.gap, machine.n_iter, machine.converged)

        self._drop_link()
        if self.probability:
            self._find_link(gram, X, order, ranks[by_rank], weights[order], fraction)
        return self

    def _find_link(self, gram, X, order, ranks, weights, fraction):
        """Find the link of samples sorted by rank, from folds with a fraction of maximum nu."""

        def fit_fold(train):
            _, codes = np.unique(ranks[train], return_inverse=True)
            segments = segments_of(codes)
            limit, total = largest_nu(weights[train], segments)
            bounds = weights[train] / (min(1.0, fraction) * limit * total)
            rows = order[train]
            samples = X[np.ix_(rows, rows)] if gram.precomputed else take(X, rows)
            store = RowStore(gram, samples, cache_size=self.cache_size)
            machine = self._solve(store, segments, bounds, None)
            support = np.flatnonzero(machine.coef)
            return rows[support], machine.coef[support]

        final = self._function_values(take(X, order))
        scores = held_out_scores(gram, X, order, ranks, weights, final, fit_fold)
        frequencies = np.bincount(ranks, weights) / weights.sum()
        self._keep_link(scores, ranks, weights, frequencies)

    def _warn_of_order(self, thresholds):
        """Warn if `thresholds`, from the solver and without an offset, are not in order."""
        rounding = RESULT_ROUNDING * np.abs(thresholds).max()
        if (np.diff(thresholds) < -rounding).any():
            shown = np.array2string(self.thresholds_, precision=3)
            warnings.warn(
                f"{type(self).__name__}: the thresholds are not in order, "
                f"{shown}; a rank between them may never "
                "be predicted: use order='enforced', or merge rare ranks.",
                stacklevel=3,
            )

    def _score_unit(self):
        # As in `NuSVC`, a function of norm one has small values, which penalties would treat as
        # noise.
        return self.margin_ if self.margin_ > 0 else 1.0

    def _bounds(self, nu, weights, segments):
        """Compute upper bounds of the weights, `u / (nu N)`; ValueError if nu is infeasible."""
        largest, total = largest_nu(weights, segments)
        if nu > largest * (1 + ACCUMULATED_ROUNDING):
            sums = [float(weights[first:last].sum()) for first, last in segments]
            raise ValueError(
                f"nu={nu:g} is infeasible for ranks of weight {np.round(sums, 6).tolist()}: "
                f"the largest feasible value is {largest:.6g}."
            )
        return weights / (nu * total)

    def _held_out(self, gram, X, order, segments, weights):
        """Compute held-out scores for each of `NU_FRACTIONS`; samples are sorted by rank."""
        # 1. Select up to NU_SAMPLES samples, spread over the ranks in proportion.
        n = len(order)
        spread = np.linspace(0, n - 1, min(n, NU_SAMPLES))
        positions = np.unique(spread.astype(int))
        rows = order[positions]
        samples = X[np.ix_(rows, rows)] if gram.precomputed else take(X, rows)
        store = RowStore(gram, samples, cache_size=self.cache_size)
        K = all_rows(store)
        ranks = np.searchsorted(segments[:, 1], positions, side="right")
        w = weights[positions]

        # 2. Compute the scores in the folds for which the other folds have at least two ranks.
        near = 2.0 * (K @ w) / w.sum() - K.diagonal()
        fold = folds_of_samples(near, ranks, NU_FOLDS)
        scores = np.full((len(NU_FRACTIONS), len(positions)), np.nan)
        for left_out in range(NU_FOLDS):
            train = np.flatnonzero(fold != left_out)
            test = np.flatnonzero(fold == left_out)
            if len(test) and len(np.unique(ranks[train])) > 1:
                scores[:, test] = scores_of_fold(K, ranks, w, train, test)
        return HeldOut(rows, ranks, w, scores)

    def _median_thresholds(self, X, held_out, fraction, default):
        """Find the values above which a higher rank is more probable, from held-out scores."""
        if fraction not in NU_FRACTIONS:  # there were too few samples to form folds
            return default
        link = link_of_fraction(held_out, NU_FRACTIONS.index(fraction))
        if not link.slope > 0:
            return default
        values = self._function_values(take(X, held_out.rows))
        mean, deviation = moments(values, held_out.weights)
        return mean + deviation / link.slope * link.thresholds

    def _solve(self, store, segments, bounds, progress):
        """Solve by steps; use a cone solver if they are slow or thresholds must be in order."""
        enforced = self.order == "enforced"
        if self.solver == "smo":
            free = self.max_iter < 0
            max_iter = self.max_iter
            if free and store.n > CVXPY_LIMIT:
                few = factor_of_few(store) is not None
                max_iter = store.n * (STEPS_PER_SAMPLE_FEW if few else STEPS_PER_SAMPLE)
            machine = nu_ranking(
                store, segments, bounds, tol=self.tol, max_iter=max_iter, progress=progress
            )
            in_order = not enforced or (np.diff(machine.thresholds) >= 0).all()
            finished = machine.converged or not free or getattr(progress, "stopped", False)
            # Adding constraints that the free optimum satisfies changes nothing.
            if in_order and finished:
                return machine

        try:
            factor = factor_for_cvxpy(store)
            return nu_ranking_by_cvxpy(
                factor, segments, bounds, enforced=enforced, tol=self.tol
            )
        except (ValueError, ImportError):  # Clarabel fails, or cvxpy is missing
            if self.solver == "cvxpy" or not in_order:
                raise
            return machine  # `fit` then warns of the remaining gap


def segments_of(ranks):
    """Return first position and last position plus one of each rank in sorted samples."""
    stops = np.cumsum(np.bincount(ranks))
    starts = np.r_[0, stops[:-1]]
    return np.stack([starts, stops], axis=1)


def largest_nu(weights, segments):
    """Return the largest feasible `nu` and the total weight of the constraints."""
    sums = np.array([weights[first:last].sum() for first, last in segments])
    lower = sums[:-1]
    upper = sums[1:]
    total = float((upper + lower).sum())
    return 2.0 * float(np.minimum(upper, lower).sum()) / total, total


def scores_of_fold(K, ranks, weights, train, test):
    """Compute scores of held-out samples for each of `NU_FRACTIONS`, in units of the function."""
    # The codes are sorted, because `train` is sorted by rank.
    _, codes = np.unique(ranks[train], return_inverse=True)
    segments = segments_of(codes)
    w = weights[train]
    limit, total = largest_nu(w, segments)
    K_train = K[np.ix_(train, train)]
    K_test = K[np.ix_(test, train)]
    store = RowStore(Gram("precomputed"), K_train)

    scores = np.zeros((len(NU_FRACTIONS), len(test)))
    for row, fraction in zip(scores, NU_FRACTIONS, strict=True):
        bounds = w / (fraction * limit * total)
        machine = nu_ranking(store, segments, bounds, tol=NU_TOL)
        mean, deviation = moments(K_train @ machine.coef, w)
        if deviation > 0:  # a constant function does not separate ranks
            row[:] = (K_test @ machine.coef - mean) / deviation
    return scores


def best_and_larger(held_out):
    """Return the fraction of the largest nu with the smallest log-loss, then larger fractions."""
    fraction = FEW_FRACTION
    if np.isfinite(held_out.scores).any():
        losses = [link_of_fraction(held_out, i).loss for i in range(len(NU_FRACTIONS))]
        fraction = NU_FRACTIONS[int(np.argmin(losses))]
    larger = [other for other in sorted(NU_FRACTIONS) if other > fraction]
    return [fraction, *larger]


def link_of_fraction(held_out, index):
    """Fit the probabilities of ranks to held-out scores for one of `NU_FRACTIONS`."""
    scores = held_out.scores[index]
    known = np.isfinite(scores)
    return cumulative_link(
        scores[known],
        held_out.ranks[known],
        held_out.weights[known],
        np.bincount(held_out.ranks, held_out.weights) / held_out.weights.sum(),
        smoothing=LINK_SMOOTHING,
    )
