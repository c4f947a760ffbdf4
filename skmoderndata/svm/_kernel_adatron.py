"""Kernel adatron: support vector machines without a free offset, trained by coordinate ascent."""

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples_and_target
from skmoderndata._kernelized.machines import (
    MACHINE_CONSTRAINTS,
    KernelMachine,
    MachineClassifierMixin,
    MachineRegressorMixin,
)
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.tolerances import ROUNDING, SMALLEST_DIVISOR
from skmoderndata._solvers.margins.box_machines import by_cvxpy
from skmoderndata._solvers.margins.box_qp import box_state
from skmoderndata._solvers.margins.coordinate_qp import coordinate_descent

ADATRON_CONSTRAINTS = {
    **MACHINE_CONSTRAINTS,
    "C": [Interval(Real, 0, None, closed="right")],
    "omega": [Interval(Real, 0, 2, closed="neither")],
    "fit_intercept": ["boolean"],
    "max_iter": [AT_LEAST_ONE],
    "shuffle": ["boolean"],
    "solver": [StrOptions({"descent", "cvxpy"})],
    "random_state": ["random_state"],
}


def weighted_median(y, weights):
    """Return the smallest value such that at least half of the weight does not exceed it."""
    order = np.argsort(y, kind="stable")
    total = np.cumsum(weights[order])
    return float(y[order][np.searchsorted(total, total[-1] / 2)])


class Adatron(KernelMachine):
    """Mixin for the adatron classifier and regressor."""

    def _descend(self, store, box, tube, gap, rng, progress):
        """Solve one dual problem."""
        if self.solver == "cvxpy":
            return by_cvxpy(store, box, tube, None, [], gap, self.tol)
        state = box_state(store, np.zeros(store.n), **box, tube=tube)
        curvature = max(float(store.diagonal.max()), SMALLEST_DIVISOR)
        return coordinate_descent(
            store,
            state,
            gap,
            rng,
            omega=self.omega,
            tol=self.tol,
            max_iter=self.max_iter,
            largest=1e6 / max(self.tol, 1e-6) / curvature,
            shuffle=self.shuffle,
            progress=progress,
        )

    def _finish(self, gram, store, X, active, coef, results):
        """Store the support vectors, the offset implied by the kernel, and the certificate."""
        used = np.flatnonzero(np.atleast_2d(coef).any(axis=0))
        self._check_psd(gram, store, used, np.zeros(store.n))
        self._keep_support(gram, X, active[used], coef[..., used])
        self.intercept_ = store.plus * coef.sum(axis=-1)

        if gram.kernel == "linear":
            weight = self.dual_coef_ @ self._basis
            self.coef_ = weight.toarray() if sparse.issparse(weight) else np.asarray(weight)

        # store the certificate of the worst problem
        worst = max(results, key=lambda result: (not result.converged, result.gap))
        self.dual_gap_ = float(worst.gap)
        self.n_iter_ = max(1, *(result.n_iter for result in results))
        if not worst.converged:
            hard = np.isinf(self.C) and worst.n_iter < self.max_iter
            warn_not_converged(
                self,
                reached="the classes are not separable through the origin"
                if hard
                else f"after {worst.n_iter} passes the relative duality gap is {worst.gap:.1e} "
                f"(tol={self.tol:g})",
                remedy="use a finite C"
                if np.isinf(self.C)
                else "increase max_iter or tol, or scale X, for example with StandardScaler",
            )


class KernelAdatronClassifier(Adatron, MachineClassifierMixin, Base):
    r"""Support vector classifier without a free offset, trained by coordinate ascent.

    The kernel adatron [1]_ [2]_ minimises, for each class against the rest,

    .. math::
        \min_w\ \tfrac12 \|w\|^2 + C \sum_i u_i\, \ell\bigl(y_i w^\top \phi(x_i)\bigr)

    with the hinge loss :math:`\ell(m) = \max(0, 1 - m)` or its square. A step updates one
    coefficient, :math:`a_i \leftarrow \min(\max(a_i + \omega (1 - y_i f(x_i)) / k_{ii}, 0),
    C u_i)`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss, above 0; ``np.inf`` is the hard margin.
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the decision function, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss function.
    omega : float, default=1.0
        Relaxation factor, between 0 and 2; 1 minimises exactly over each coefficient.
    fit_intercept : bool, default=False
        Whether to add 1 to the kernel, which gives a penalised offset.
    tol : float, default=0.001
        Target of the relative duality gap.
    max_iter : int, default=1000
        Largest number of passes.
    shuffle : bool, default=True
        Whether to shuffle the samples before each pass.
    cache_size : float, default=500
        Size of the kernel cache, in MB.
    solver : {"descent", "cvxpy"}, default="descent"
        "descent" is the adatron; "cvxpy" is a cone solver, for up to 2000 samples.
    random_state : int, RandomState instance or None, default=None
        Controls the order of the samples. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads for the values of new samples; results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a non-zero coefficient.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_classifiers, n_support)
        Coefficients of the support vectors: one row for two classes, otherwise one per class.
    intercept_ : ndarray of shape (n_classifiers,)
        Offsets.
    coef_ : ndarray of shape (n_classifiers, n_features)
        Weights of the features, for the linear kernel.
    dual_gap_ : float
        Relative duality gap; the maximum over classifiers.
    n_iter_ : int
        Number of passes; the maximum over classifiers.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.SVC : Free offset; updates pairs of coefficients and is faster.
    sklearn.svm.LinearSVC : The same problem for the linear kernel, with ``fit_intercept=False``.

    Notes
    -----
    The published step size 1 diverges for ``k(x, x) > 2``; division by ``k(x, x)`` gives the exact
    minimum. Without an offset, a hyperplane through the origin of feature space must separate the
    classes. With the Gaussian kernel this is possible; otherwise set ``fit_intercept=True``. If
    there is no hard margin, the coefficients diverge, and `fit` stops with a warning. Updates of
    single coefficients converge slowly if samples are similar, for example if features are not
    centred.

    References
    ----------
    .. [1] Friess, Cristianini and Campbell, The kernel adatron algorithm, ICML 1998.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Algorithm
       7.59.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmoderndata.svm import KernelAdatronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelAdatronClassifier(random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), round(float(model.dual_gap_), 2)
    (0.95, 0.0)
    """

    _card = MethodCard(
        family="margins",
        method="kernel_adatron",
        cite=("friess1998kernel", "shawetaylor2004kernel"),
        cost="T n |S|",
        tier="textbook",
        instead="Use SVC: it has a free offset, is faster and as accurate.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        **ADATRON_CONSTRAINTS,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
    }

    @parameters_are_named
    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        loss="hinge",
        omega=1.0,
        fit_intercept=False,
        tol=1e-3,
        max_iter=1000,
        shuffle=True,
        cache_size=500,
        solver="descent",
        random_state=None,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.loss = loss
        self.omega = omega
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.cache_size = cache_size
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Maximise the dual problem of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factor of `C` for each sample; a sample of weight zero is ignored.

        Returns
        -------
        self : KernelAdatronClassifier
            The fitted estimator.
        """
        X, y = checked_samples_and_target(self, X, y)
        check_classification_targets(y)
        weights = self._weights_of(X, sample_weight)
        active = np.flatnonzero(weights)
        classes = np.unique(y)
        present, codes = np.unique(y[active], return_inverse=True)
        self._keep_classes(classes, np.isin(classes, present), weighted=len(active) < len(y))

        hard = np.isinf(self.C)
        ridge = np.zeros(len(active)) if hard else self._ridge(weights[active])
        rng = check_random_state(self.random_state)
        gram, store = self._row_store(X, active, weights, plus=float(self.fit_intercept))

        # solve one problem for two classes, otherwise one for each class
        labels = [1] if len(present) == 2 else range(len(present))
        results = []
        with FitProgress(self, X, y, max_passes=None) as progress:
            for label in labels:
                signs = np.where(codes == label, 1.0, -1.0)
                results.append(self._separate(store, signs, ridge, rng, progress))
        coef = np.stack([result.w for result in results])
        self._finish(gram, store, X, active, coef, results)
        return self

    def _separate(self, store, signs, ridge, rng, progress):
        """Solve the problem of one class against the rest."""
        hard = np.isinf(self.C)
        squared = self.loss == "squared_hinge"
        top = np.full(len(signs), np.inf) if hard or squared else 0.5 / ridge
        penalty = ridge if squared else np.zeros(len(signs))
        low = np.where(signs > 0, 0.0, -top)
        high = np.where(signs > 0, top, 0.0)
        box = {"low": low, "high": high, "ridge": penalty, "linear": -signs}

        def gap(w, g):
            values = g - penalty * w + signs
            norm = max(float(w @ values), 0.0)
            margins = signs * values
            dual = float(np.abs(w).sum()) - 0.5 * float(w @ (values + penalty * w))
            if hard:
                least = float(margins.min())
                if not least > 0:
                    return 1.0
                primal = 0.5 * norm / least**2  # scaled to margin one
                return relative_gap(primal, dual, unit=primal)
            slack = np.maximum(0.0, 1.0 - margins)
            costs = 0.5 / ridge
            loss = costs @ slack**2 if squared else costs @ slack
            primal = 0.5 * norm + float(loss)
            return relative_gap(primal, dual, unit=primal)

        return self._descend(store, box, 0.0, gap, rng, progress)


class KernelAdatronRegressor(Adatron, MachineRegressorMixin, Base):
    r"""Support vector regression without a free offset, trained by coordinate ascent.

    The class minimises [1]_

    .. math::
        \min_w\ \tfrac12 \|w\|^2 + C \sum_i u_i
        \max\bigl(0,\ |y_i - m - w^\top \phi(x_i)| - \epsilon\bigr),

    where m is the median of the targets, or 0 with ``fit_intercept=False``. A step updates one
    coefficient: with :math:`z = a_i k_{ii} + y_i - m - f(x_i)`,
    :math:`a_i \leftarrow \operatorname{sign}(z) \max(|z| - \epsilon, 0) / k_{ii}`, clipped to
    :math:`\pm C u_i`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss, above 0 and finite.
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the regression function, or "precomputed"; see :ref:`kernel-parameters`.
    epsilon : float, default=0.1
        Half-width of the tube in which errors are not penalised.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    omega : float, default=1.0
        Relaxation factor, between 0 and 2; 1 minimises exactly over each coefficient.
    fit_intercept : bool, default=True
        Whether to subtract the median from the targets, and to add 1 to the kernel, which gives a
        penalised offset from the median.
    tol : float, default=0.001
        Target of the relative duality gap.
    max_iter : int, default=1000
        Largest number of passes.
    shuffle : bool, default=True
        Whether to shuffle the samples before each pass.
    cache_size : float, default=500
        Size of the kernel cache, in MB.
    solver : {"descent", "cvxpy"}, default="descent"
        "descent" is the adatron; "cvxpy" is a cone solver, for up to 2000 samples.
    random_state : int, RandomState instance or None, default=None
        Controls the order of the samples. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads for the values of new samples; results do not depend on it.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the training samples outside the tube or on its boundary.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients of the support vectors.
    intercept_ : float
        Offset.
    coef_ : ndarray of shape (n_features,)
        Weights of the features, for the linear kernel.
    dual_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Number of passes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.SVR : Free offset; updates pairs of coefficients and is faster.
    skmoderndata.svm.L2SVR : Squared loss and free offset.

    Notes
    -----
    The offset from the median of the targets is penalised. With this offset and the default
    parameters, r^2 on the diabetes data is .146, compared with .147 for the default parameters of
    :class:`sklearn.svm.SVR`.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Algorithm
       7.61; the published step requires ``k(x, x) < 2``.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.svm import KernelAdatronRegressor
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = KernelAdatronRegressor(C=1.0, epsilon=0.1, random_state=0).fit(X, y)
    >>> round(float(np.abs(model.predict(X) - y).max()), 1)   # the width of the tube
    0.1
    >>> len(model.support_)
    10
    """

    _card = MethodCard(
        family="margins",
        method="kernel_adatron",
        cite=("shawetaylor2004kernel",),
        cost="T n |S|",
        tier="textbook",
        instead="Use SVR: it has a free offset, is faster and as accurate.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        **ADATRON_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [NON_NEGATIVE],
    }

    @parameters_are_named
    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        *,
        epsilon=0.1,
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        omega=1.0,
        fit_intercept=True,
        tol=1e-3,
        max_iter=1000,
        shuffle=True,
        cache_size=500,
        solver="descent",
        random_state=None,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.epsilon = epsilon
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.omega = omega
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.cache_size = cache_size
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Maximise the dual problem of the regression, one coefficient at a time.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factor of `C` for each sample; a sample of weight zero is ignored.

        Returns
        -------
        self : KernelAdatronRegressor
            The fitted estimator.
        """
        X, y = checked_samples_and_target(self, X, y, y_numeric=True)
        weights = self._weights_of(X, sample_weight)
        active = np.flatnonzero(weights)
        target = np.asarray(y[active], dtype=np.float64)
        centre = weighted_median(target, weights[active]) if self.fit_intercept else 0.0
        target = target - centre
        top = 0.5 / self._ridge(weights[active])
        no_ridge = np.zeros(len(active))
        box = {"low": -top, "high": top, "ridge": no_ridge, "linear": -target}
        tube = float(self.epsilon)
        floor = ROUNDING * float(top @ np.abs(target))

        def gap(w, g):
            values = g + target
            norm = max(float(w @ values), 0.0)
            excess = np.maximum(0.0, np.abs(g) - tube)
            primal = 0.5 * norm + float(top @ excess)
            dual = float(w @ target) - tube * float(np.abs(w).sum()) - 0.5 * norm
            return relative_gap(primal, dual, unit=primal, floor=floor)

        rng = check_random_state(self.random_state)
        gram, store = self._row_store(X, active, weights, plus=float(self.fit_intercept))
        with FitProgress(self, X, y, max_passes=None) as progress:
            result = self._descend(store, box, tube, gap, rng, progress)
        self._finish(gram, store, X, active, result.w, [result])
        self.intercept_ += centre
        return self
