"""Core vector regression: support vector regression of large samples on a core set."""

from numbers import Integral

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skmoderndata._base import Base, FitProgress, warn_not_converged
from skmoderndata._compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.margins.core_problems import TubeRows
from skmoderndata._solvers.margins.core_set import core_set
from skmoderndata._solvers.margins.simplex_qp import CVXPY_LIMIT, check_convex
from skmoderndata.kernels._expansion import (
    Expansion,
    KernelRows,
    largest_diagonal,
    surely_psd,
)
from skmoderndata.kernels._resolve import KERNEL_CONSTRAINTS, count_samples
from skmoderndata.kernels._samples import KernelSamples

LARGEST = 1e30  # similarity of a sample to itself that is still computed with


class CoreVectorRegressor(KernelSamples, CallbackSupportMixin, RegressorMixin, Base):
    r"""Sparse kernel regression with a tube of free width, on a core set.

    With the targets scaled to mean zero and deviation one, minimises

    .. math::
        \min_{w, b, \varepsilon \ge 0}\ \tfrac12 \bigl(\|w\|^2 + b^2\bigr)
        + C \sum_i u_i \max\bigl(0,\ |y_i - f(x_i)| - \varepsilon\bigr)^2 + D \varepsilon,
        \qquad D = 2 \mu C \sum_i u_i,

    over functions :math:`f(x) = w^\top \phi(x) + b`, with the weights :math:`u_i` of samples.
    At the optimum the mean distance of the samples to the tube is :math:`\mu` (if the tube is
    not of width zero): the width follows the noise. The dual is a minimum enclosing ball with a
    constrained centre, found on a core set [1]_.

    Parameters
    ----------
    C : float, default=10.0
        Cost of a squared distance to the tube, in deviations of y.
    mu : float, default=0.03
        Mean distance to the tube, in deviations of y. Small values need few support vectors;
        large ones end in kernel ridge regression.
    kernel : str, Kernel or callable, default="rbf"
        A name of `sklearn.metrics.pairwise`, a kernel object, a callable that gives the Gram
        matrix of two sets of samples, or "precomputed".
    gamma : float, "scale" or "auto", default="scale"
        Parameter of the named kernels; "scale" is ``1 / (n_features * X.var())``, with weighted
        samples.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further parameters of a named kernel or a callable.
    tol : float, default=0.02
        Relative duality gap to reach.
    solver : {"core_set", "cvxpy"}, default="core_set"
        Pairwise descent on the core set, or a cone solver, for core sets up to 2000 samples.
    sample_size : int, default=59
        Samples in a draw of which the worst is taken.
    batch_size : int, default=None
        How many join the core set at a time, each the worst of `sample_size`; None searches
        growing blocks and re-scores those near the margin only.
    max_core : int, default=None
        Largest core set; its square is the memory needed. None sets no limit.
    max_iter : int, default=10000
        Largest number of times the problem is solved on a core set.
    warm_start : bool, default=False
        Begin with the core set of the last call of `fit`, which had the same samples.
    random_state : int, RandomState instance or None, default=None
        Draws the samples.
    n_jobs : int, default=None
        Threads for kernel values. Results do not depend on it.

    Attributes
    ----------
    core_indices_ : ndarray of shape (n_core,)
        Training samples in the core set.
    support_ : ndarray of shape (n_support,)
        Training samples with weight.
    support_vectors_ : array, sparse matrix or list of n_support samples
        The samples themselves; empty when the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients of the kernels.
    intercept_ : float
        Constant part of the function.
    epsilon_ : float
        Half the width of the tube, in units of y.
    dual_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Solutions on the core set.
    n_passes_ : int
        Passes over all samples for the certificate.
    n_kernel_evaluations_ : int
        Kernel values computed.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when they are all strings.

    See Also
    --------
    sklearn.svm.SVR : Linear loss outside of a tube of given width; at least quadratic time.
    sklearn.kernel_ridge.KernelRidge : The limit of large `mu`, without sparseness.

    Notes
    -----
    The support vectors are the samples outside of the tube, whose number is a share of all
    samples that depends on `mu` and the noise. The method is for sparse models of many samples
    with small `mu`; with much noise `sklearn.kernel_approximation.Nystroem` and ridge regression
    are faster at the same error. In the published problem the width may become negative; here
    it is kept from it by one more variable without a sample. Up to 1000 samples the optimum is
    found to rounding.

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
    >>> model = CoreVectorRegressor(C=10, gamma=0.3, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sinc(X[:, 0] / np.pi)).max() < 0.05)
    True
    >>> len(model.support_) < 2500
    True
    """

    _card = MethodCard(
        family="margins",
        cite=("tsang2005regression", "tsang2006generalized"),
        cost="n |S| + |S|^2",
        checks=(
            {},
            {"kernel": "linear", "C": 1.0, "mu": 0.1},
            {"kernel": "laplacian", "batch_size": 8, "random_state": 0},
        ),
        comparison=Comparison(
            baseline="sklearn.svm.SVR",
            problem="diabetes",
            params={"random_state": 0},
            grid={"C": (0.01, 0.1, 1.0), "mu": (0.1, 0.5), "gamma": (0.01, 0.03, 0.1)},
            baseline_grid={"C": (10, 100, 1000), "epsilon": (1, 10), "gamma": (0.01, 0.03, 0.1)},
        ),
    )
    _parameter_constraints = {
        "C": [POSITIVE],
        "mu": [POSITIVE],
        **KERNEL_CONSTRAINTS,
        "tol": [NON_NEGATIVE],
        "solver": [StrOptions({"core_set", "cvxpy"})],
        "sample_size": [AT_LEAST_ONE],
        "batch_size": [AT_LEAST_ONE, None],
        "max_core": [Interval(Integral, 2, None, closed="left"), None],
        "max_iter": [AT_LEAST_ONE],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        C=10.0,
        *,
        mu=0.03,
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
        warm_start=False,
        random_state=None,
        n_jobs=None,
    ):
        self.C = C
        self.mu = mu
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
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn the function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples (a list for kernels on other objects; all similarities when the
            kernel is precomputed). A memory map is read by blocks.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factor of `C` for each sample.

        Returns
        -------
        self : CoreVectorRegressor
            The fitted estimator.
        """
        X = self._samples(X, y, reset=True, y_numeric=True, ensure_min_samples=2)
        X, y = X if isinstance(X, tuple) else (X, column_or_1d(y, warn=True))
        n = count_samples(X)
        if len(y) != n:
            raise ValueError(f"X has {n} samples and y {len(y)} targets.")
        weights = np.ones(n)
        if sample_weight is not None:
            reference = X if hasattr(X, "dtype") else np.zeros((n, 1))
            weights = check_sample_weight(
                sample_weight, reference, dtype=np.float64, ensure_non_negative=True
            )
        ids = None if weights.min() > 0 else np.flatnonzero(weights)
        rng = check_random_state(self.random_state)
        gram = self._resolve(X, weights)
        rows = KernelRows(gram, X, n_jobs=self.n_jobs)
        target, center, spread = _standardised(y, weights)
        costs = 2.0 * self.C * (weights if ids is None else weights[ids])
        level = self.mu * float(costs.sum())
        with (
            one_blas_thread(),
            FitProgress(self, X, y, max_passes=self.max_iter, task_name="core set") as progress,
        ):
            diagonal = largest_diagonal(rows)
            if not diagonal < LARGEST:
                raise ValueError(
                    f"kernel={self.kernel!r} gives similarities of {diagonal:.1e}, beside which "
                    "rounding hides the targets: rescale X."
                )
            problem = TubeRows(
                rows,
                target if ids is None else target[ids],
                costs,
                level,
                bias=1.0,
                diagonal=diagonal,
                ids=ids,
            )
            found = self._solve(problem, rng, progress)
        units, coef = problem.coefficients(found.core, found.weights)
        used = coef != 0
        coef = (problem.scale * coef[used]) * level * spread
        self.support_ = units[used] if ids is None else ids[units[used]]
        core = np.unique(found.core[found.core < 2 * problem.n_units] // 2)
        self.core_indices_ = core if ids is None else ids[core]
        self.dual_coef_ = coef
        self.intercept_ = float(coef.sum()) + center
        active = found.weights > 0
        _, width = problem.solution(
            found.values, found.core[active], found.weights[active], found.rho
        )
        self.epsilon_ = width * spread
        self._gram, self._basis = gram, gram.subset(X, self.support_)
        self.support_vectors_ = np.zeros((0, 0)) if gram.precomputed else self._basis
        self.dual_gap_ = float(found.gap)
        self.n_iter_, self.n_passes_ = found.n_iter, found.n_passes
        self.n_kernel_evaluations_ = int(rows.n_evaluations)
        self._core = problem.state(found.core, found.weights)
        if not found.converged:
            warn_not_converged(
                self,
                reached=f"with {len(found.core)} core samples after {found.n_iter} solutions the "
                f"relative duality gap is {found.gap:.1e} (tol={self.tol:g})",
                remedy="raise max_core" if found.full else "raise max_iter or tol",
            )
        return self

    def predict(self, X):
        """Values of the function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted targets.
        """
        check_is_fitted(self)
        X = self._samples(X, reset=False)
        expansion = Expansion(self._gram, self._basis, self.dual_coef_)
        return expansion.values(X, n_jobs=self.n_jobs) + self.intercept_

    def _solve(self, problem, rng, progress):
        max_core = self.max_core
        if self.solver == "cvxpy":
            max_core = min(max_core or CVXPY_LIMIT, CVXPY_LIMIT)
        last = getattr(self, "_core", None) if self.warm_start else None
        start = None if last is None else problem.begin(*last)
        result = core_set(
            problem,
            tol=self.tol,
            solver=self.solver,
            sample_size=self.sample_size,
            batch_size=self.batch_size,
            max_core=max_core,
            max_iter=self.max_iter,
            start=start,
            rng=rng,
            progress=progress,
        )
        if not surely_psd(problem.rows.gram):
            check_convex(problem.gram, problem.slack, result.core[result.weights > 0])
        return result


def _standardised(y, weights):
    """Targets of mean zero and deviation one, and the two figures; constant ones become zero."""
    y = np.asarray(y, dtype=np.float64)
    size = float(np.abs(y).max()) or 1.0
    scaled = y / size
    share = weights / weights.sum()
    center = float(share @ scaled)
    spread = float(np.sqrt(share @ (scaled - center) ** 2))
    if spread <= 1e-12 * max(1.0, abs(center)):
        return np.zeros(len(y)), center * size, size
    return (scaled - center) / spread, center * size, spread * size
