"""Support vector data description: a small ball around most of the samples."""

from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.compat import (
    NON_NEGATIVE,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import in_memory, parameters_are_named
from skmoderndata._estimator.export import cannot_export
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.export import kernel_functions, one_class_machine
from skmoderndata._kernelized.machines import MACHINE_CONSTRAINTS, KernelMachine
from skmoderndata._kernelized.mixins import KernelOutlierMixin
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RESULT_ROUNDING
from skmoderndata._solvers.kernel.novelty import folds, outlier_threshold
from skmoderndata._solvers.margins.box_machines import soft_ball
from skmoderndata.svm._base import TOLD_APART, diagonal_by_blocks


class SVDD(KernelMachine, KernelOutlierMixin, Base):
    r"""Detect outliers by the smallest ball around most samples, in the feature space of a kernel.

    Support vector data description minimises, over the centre c and the radius r,

    .. math::
        \min_{c, r}\ r^2 + \frac{1}{\nu \sum_i u_i} \sum_i u_i
        \max\bigl(0,\ \|\phi(x_i) - c\|^2 - r^2\bigr),

    with the weights :math:`u_i` of samples [1]_ [2]_. The dual
    :math:`\max_a \sum_i a_i k_{ii} - a^\top K a` over :math:`0 \le a_i \le u_i / (\nu \sum u)`,
    :math:`\sum_i a_i = 1` is solved by pairwise steps. With `nu` of at most ``1 / n_samples`` no
    sample is outside: this is the minimum enclosing ball.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the feature space, or "precomputed"; see :ref:`kernel-parameters`.
    nu : float, default=0.1
        Upper bound on the fraction of training samples outside the ball, and lower bound on the
        fraction not strictly inside; weighted with `sample_weight`. 0 is the hard ball.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    margin : float, default=0.0
        Value added to the squared radius in `predict`, so that samples slightly outside the ball
        are not outliers.
    contamination : float or "auto", default="auto"
        Expected fraction of outliers among new samples from the distribution of the training
        samples, in (0, 0.5]. It determines `offset_` from the distances of held-out samples, and
        does not change the ball. "auto" sets the threshold at the surface of the ball.
    tol : float, default=0.001
        Target of the relative duality gap.
    cache_size : float, default=500
        Size of the kernel cache, in MB.
    max_iter : int, default=-1
        Largest number of steps; -1 means 1000 for each sample, but at least 1 000 000.
    solver : {"smo", "cvxpy"}, default="smo"
        "smo" makes pairwise steps with second-order selection; "cvxpy" is a cone solver, for up to
        2000 samples.
    n_jobs : int, default=None
        Number of threads for the scores of new samples; results do not depend on it.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with non-zero weight, the support vectors.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_support,)
        Weights of the support vectors in the centre; they sum to one.
    center_ : ndarray of shape (n_features,)
        The centre, for the linear kernel.
    radius_ : float
        The radius r.
    objective_ : float
        Value of the objective.
    offset_ : float
        Threshold of `score_samples`: the negative of the squared radius plus the margin. With a
        number as `contamination`, a quantile of held-out squared distances replaces the squared
        radius.
    dual_gap_ : float
        Relative duality gap: an upper bound on the relative suboptimality of the objective.
    n_iter_ : int
        Number of pairwise steps.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.OneClassSVM : Equivalent if ``k(x, x)`` is constant, as for "rbf".
    skmoderndata.svm.MinimumEnclosingBall : Contains all samples; suited to millions of samples.

    Notes
    -----
    For the Gaussian kernel, `OneClassSVM` finds the same outliers; its `decision_function` is
    ``nu n / 2`` times the `decision_function` of this class. With linear, polynomial, string and
    graph kernels, samples have different norms and the two machines differ: the one-class machine
    separates the samples from the origin of the feature space, which has no special meaning for
    these kernels.

    New samples are farther from the centre than the samples that determine it, so a fraction
    greater than `nu` of them is outside the ball. With `contamination`, folds of a fifth of the
    samples are held out, with all copies of a sample in one fold, and compared with the ball of
    the remaining samples, until 500 samples have been held out. This takes five more balls for
    fewer than 625 samples, and one more ball from 2500 samples on.

    Time is about ``nu n^2`` kernel values. With ``nu = 1`` all weights are equal and r is 0. With
    a precomputed kernel, new samples need ``k(x, x)``, which a matrix of new by training samples
    does not contain; the diagonal must therefore be constant.

    References
    ----------
    .. [1] Tax and Duin, Support vector data description, Machine Learning 54, 2004, pp. 45-66.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Algorithms
       7.2, 7.8 and 7.11.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.svm import SVDD
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> ball = SVDD("linear", nu=0.05).fit(X)
    >>> ball.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> round(float((ball.predict(X) == -1).mean()), 2)   # at most nu
    0.05
    """

    _card = MethodCard(
        family="margins",
        cite=("tax2004support", "shawetaylor2004kernel"),
        cost="nu n^2",
        tier="textbook",
        instead="Use OneClassSVM with its Gaussian kernel: the ball is the same there, and other "
        "kernels find fewer outliers.",
        scaler="StandardScaler",
    )
    _free_offset = True  # distances do not depend on the origin
    _parameter_constraints = {
        **MACHINE_CONSTRAINTS,
        "nu": [Interval(Real, 0, 1, closed="both")],
        "margin": [NON_NEGATIVE],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "solver": [StrOptions({"smo", "cvxpy"})],
    }

    @parameters_are_named
    def __init__(
        self,
        kernel="rbf",
        *,
        nu=0.1,
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        margin=0.0,
        contamination="auto",
        tol=1e-3,
        cache_size=500,
        max_iter=-1,
        solver="smo",
        n_jobs=None,
    ):
        self.kernel = kernel
        self.nu = nu
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.margin = margin
        self.contamination = contamination
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.solver = solver
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Compute the ball.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative weights of the samples; a sample of weight zero is ignored.

        Returns
        -------
        self : SVDD
            The fitted estimator.
        """
        X = checked_samples(self, X, reset=True)
        weights = self._weights_of(X, sample_weight)
        active = np.flatnonzero(weights)
        gram, store = self._row_store(X, active, weights)

        fractions = weights[active] / weights.max()
        fractions /= fractions.sum()
        hard = self.nu <= fractions.min() * (1 + ACCUMULATED_ROUNDING)
        # a bound above one is never active
        bounds = np.full(len(active), 2.0) if hard else fractions / self.nu

        # find the smallest ball and, if held-out samples set the threshold, their distances
        with FitProgress(self, X, y, max_passes=None, task_name="level") as progress:
            limits = {
                "solver": self.solver,
                "tol": self.tol,
                "max_iter": self.max_iter,
                "progress": progress,
            }
            ball = soft_ball(store, bounds, **limits)
            furthest = ball.offset
            if self.contamination != "auto":
                furthest = self._held_out(store, fractions, bounds, ball, limits)

        # keep the support vectors
        used = np.flatnonzero(ball.coef)
        self._check_psd(gram, store, used, np.zeros(len(active)))
        self._keep_support(gram, X, active[used], ball.coef[used])

        # compute the centre, the norms and the threshold
        if gram.kernel == "linear":
            center = np.ravel(self._linear_weights())
            self.center_ = center if gram.origin is None else gram.origin + center
        self._norm = ball.norm
        diagonal = store.diagonal
        constant = np.ptp(diagonal) <= ACCUMULATED_ROUNDING * diagonal.max()
        self._own = float(diagonal[0]) if constant else None

        self.radius_ = float(np.sqrt(ball.offset))
        self.objective_ = float(ball.objective)
        rounding = RESULT_ROUNDING * furthest + ACCUMULATED_ROUNDING * float(diagonal.max())
        self.offset_ = -(furthest + self.margin + rounding)
        self._keep_work(X, ball.gap, ball.n_iter, ball.converged)
        return self

    @in_memory
    def score(self, X, y=None):
        """Compute the negative mean squared distance from the centre.

        The score depends on the scale of the kernel; to compare kernels, use labelled outliers and
        `scoring="roc_auc"`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Higher is better.
        """
        check_is_fitted(self)
        return float(np.mean(self._score_samples(checked_samples(self, X, reset=False))))

    def to_sklearn(self):
        """Return the model as a `OneClassSVM`, with the same scores and labels.

        Returns
        -------
        detector : OneClassSVM or Pipeline
            The machine; if the support vectors are far from the origin, after a step that centres
            the samples.

        Raises
        ------
        ValueError
            Unless the kernel is "rbf": the squared distance from the centre contains ``k(x, x)``,
            which a `OneClassSVM` cannot add if it is not constant.
        """
        check_is_fitted(self)
        if self._gram.kernel != "rbf":
            raise cannot_export(
                self,
                "a OneClassSVM has the same function only for kernels with constant k(x, x), not "
                f"for kernel={self._gram.kernel!r}",
                "Use kernel='rbf'",
            )

        # -|phi(x) - c|^2 is twice the function minus the constants
        constants = self._own + self._norm
        functions = kernel_functions(
            self, self._gram, self._basis, 2.0 * self.dual_coef_, -constants
        )
        return one_class_machine(self, functions, self.offset_)

    def _held_out(self, store, fractions, bounds, full_ball, limits):
        """Return the squared distance that a fraction `contamination` of held-out samples exceeds.

        Bounds of zero hold out a fold, so that all balls share the kernel rows.
        """
        n = len(bounds)
        spaced = np.linspace(0, n - 1, TOLD_APART).astype(int)
        scores = squares(store.diagonal, full_ball)
        held_out = np.ones(n, bool)

        for turn, (inside, outside) in enumerate(folds(store.compute(spaced).T, scores)):
            if turn == 0:
                held_out[:] = False
            fold_bounds = np.zeros(n)
            fold_bounds[inside] = bounds[inside] * (bounds.sum() / bounds[inside].sum())
            ball = soft_ball(store, fold_bounds, **limits)
            scores[outside] = squares(store.diagonal, ball)[outside]
            held_out[outside] = True
        return -outlier_threshold(-scores[held_out], fractions[held_out], self.contamination)

    def _score_samples(self, X):
        """Compute the negative squared distances of validated samples from the centre."""
        inner = self._function_values(X) - self._at_mean
        squares = self._diagonal(X) - 2.0 * inner + self._norm
        return -np.maximum(squares, 0.0)

    def _diagonal(self, X):
        if self._gram.precomputed and self._own is not None:
            return np.full(count_samples(X), self._own)
        return diagonal_by_blocks(self._gram, X)


def squares(diagonal, ball):
    """Compute the squared distances of the samples from the centre of a ball."""
    return np.maximum(diagonal - 2.0 * ball.values + ball.norm, 0.0)
