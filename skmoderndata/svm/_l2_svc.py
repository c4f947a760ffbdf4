"""Support vector classifier with squared hinge loss and free offset."""

from contextlib import nullcontext
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.absent_classes import AbsentClasses
from skmoderndata._estimator.base import Base, run_parts
from skmoderndata._estimator.compat import POSITIVE, StrOptions, fit_context
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.export import linear_classifier
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples, checked_samples_and_target
from skmoderndata._kernelized.export import machine_functions, one_against_one
from skmoderndata._kernelized.machines import MACHINE_CONSTRAINTS, KernelMachine
from skmoderndata._samples.containers import is_sparse
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.margins.box_machines import Machine, nearest_hulls

# Maximum number of samples whose kernel matrix is computed at once for all pairs of classes.
SHARED_UP_TO = 6000
# Maximum number of features for Newton's method, which factors a matrix of this size in each step.
NEWTON_UP_TO = 1000


class _Work(NamedTuple):
    """Data shared by all pairs of classes."""

    solver: str
    gram: Any
    # Kernel rows of all samples, in the order of the classes.
    store: Any
    ridge: Any
    # For each class, index of its first sample, and index after its last sample.
    segments: Any


class L2SVC(AbsentClasses, KernelMachine, ClassifierMixin, Base):
    r"""Support vector classifier with squared hinge loss and free offset.

    The class minimises

    .. math::
        \min_{w, b}\ \tfrac12 \|w\|^2
        + C \sum_i u_i \max\bigl(0,\ 1 - y_i (w^\top \phi(x_i) + b)\bigr)^2,

    with the weights :math:`u_i` of samples and classes: the 2-norm soft margin [1]_. Its dual is a
    hard-margin problem for the kernel matrix with :math:`1 / (2 C u_i)` added to the diagonal:
    it finds the nearest points of two convex hulls [2]_, without upper bounds on the coefficients.
    Several classes are treated one against one, as in `SVC`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squared loss, above 0, as in `LinearSVC(loss="squared_hinge")`.
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
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class.
    tol : float, default=0.001
        Target of the relative duality gap.
    cache_size : float, default=500
        Size of the kernel cache, in MB. With several classes and more than 6000 samples, each
        thread has a cache of this size for the pair that it is solving.
    max_iter : int, default=-1
        Largest number of steps for each pair of classes; -1 means 1000 for each sample, but at
        least 1 000 000.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` has one column for each class or for each pair of classes.
    break_ties : bool, default=False
        Whether `predict` breaks ties of the votes by the decision values; requires "ovr".
    solver : {"auto", "newton", "smo", "cvxpy"}, default="auto"
        "newton" solves the primal problem of the linear kernel, for dense tables; "smo" makes
        pairwise steps with second-order selection; "cvxpy" is a cone solver, for up to 2000
        samples. "auto" uses "newton" if it is applicable and there are at most 1000 features and
        no more features than samples, otherwise "smo".
    n_jobs : int, default=None
        Number of threads, for pairs of classes and for the values of new samples; results do not
        depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the training samples.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_pairs, n_support)
        Coefficients of the support vectors for each pair of classes: (0, 1), (0, 2), ..., (1, 2),
        .... With two classes, positive values mean the second class; with more, the first class of
        the pair.
    intercept_ : ndarray of shape (n_pairs,)
        Offsets.
    coef_ : ndarray of shape (n_pairs, n_features)
        Weights of the features, for the linear kernel.
    margin_ : ndarray of shape (n_pairs,)
        Geometric margins, ``1 / |w|``; 0 if w is zero.
    objective_ : float
        Value of the objective; the sum over pairs of classes.
    dual_gap_ : float
        Relative duality gap, the maximum over pairs: an upper bound on the relative suboptimality
        of the objective.
    n_iter_ : int
        Number of Newton steps or pairwise steps; the maximum over pairs of classes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.SVC : Hinge loss; fewer support vectors and faster predictions.
    sklearn.svm.LinearSVC : The same loss for the linear kernel, with a penalised offset.
    skmoderndata.svm.CoreVectorMachine : The same loss with a penalised offset, for large data.

    Notes
    -----
    Every sample inside the margin is a support vector. There are 1.3 to 1.8 times as many support
    vectors as with the hinge loss, and predictions take longer by the same factor. Rows of the
    kernel matrix are computed on demand, 64 at a time, or all at once for several classes and up
    to 6000 samples; for more than 2000 samples they are stored in single precision, which changes
    the optimum by about 1e-6 of its value. For 100 000 samples or more use `CoreVectorMachine`, or
    `Nystroem` features and `LinearSVC`.

    The linear kernel on a dense table needs no rows of a kernel matrix: Newton steps on the primal
    problem [3]_ reach its optimum to rounding accuracy in about the same time as `LinearSVC`,
    which remains the faster choice for sparse tables and for wide tables.

    There is no `predict_proba`; use ``CalibratedClassifierCV(L2SVC(), ensemble=False)`` of
    `sklearn.calibration`. For many classes calibrate a `CoreVectorMachine` instead: the scores of
    `L2SVC`, like the scores of `SVC`, are votes of pairs.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Algorithm
       7.37.
    .. [2] Keerthi, Shevade, Bhattacharyya and Murthy, A fast iterative nearest point algorithm
       for support vector machine classifier design, IEEE Transactions on Neural Networks 11(1),
       2000, pp. 124-136.
    .. [3] Keerthi and DeCoste, A modified finite Newton method for fast solution of large scale
       linear SVMs, Journal of Machine Learning Research 6, 2005, pp. 341-361.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmoderndata.svm import L2SVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = L2SVC(C=10.0).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 2), round(float(model.dual_gap_), 2)
    (0.97, 0.0)
    """

    _card = MethodCard(
        family="margins",
        cite=(
            "shawetaylor2004kernel",
            "keerthi2000fast",
            "fan2005working",
            "keerthi2005modified",
        ),
        cost="n |S|",
        tier="standard",
        instead="SVC is as accurate, with fewer support vectors.",
        scaler="StandardScaler",
    )
    _free_offset = True
    _parameter_constraints = {
        **MACHINE_CONSTRAINTS,
        "C": [POSITIVE],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "solver": [StrOptions({"auto", "newton", "smo", "cvxpy"})],
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
        class_weight=None,
        tol=1e-3,
        cache_size=500,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        solver="auto",
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.solver = solver
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Maximise the soft margin for each pair of classes.

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
        self : L2SVC
            The fitted estimator.
        """
        X, y = checked_samples_and_target(self, X, y)
        check_classification_targets(y)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties=True needs decision_function_shape='ovr', got 'ovo'.")

        # find the weights of the samples, and the classes with positive weight
        weights = self._weights_of(X, sample_weight)
        classes, codes = np.unique(y, return_inverse=True)
        weights = weights * self._class_factors(y, classes, codes, weights)
        active = np.flatnonzero(weights)
        counts = np.bincount(codes[active], minlength=len(classes))
        self._keep_classes(classes, counts > 0, weighted=len(active) < len(y))

        # sort the rows by class, so that a pair consists of two segments
        order = active[np.argsort(codes[active], kind="stable")]
        ridge = self._ridge(weights[order])
        gram, store = self._row_store(X, order, weights)
        stops = np.cumsum(counts)
        segments = np.stack([stops - counts, stops], axis=1)

        # find the nearest points of the two hulls for each pair of classes
        solver = self._route(gram, store.rows.X)
        work = _Work(solver, gram, store, ridge, segments)
        machines = self._solve_pairs(X, y, work)

        # keep the support vectors of all pairs
        coef = np.stack([machine.coef for machine in machines])
        used = np.flatnonzero(coef.any(axis=0))
        self._keep_support(gram, X, order[used], coef[:, used])

        offsets = np.array([machine.offset for machine in machines])
        self.intercept_ = offsets - self._at_mean
        self.objective_ = float(sum(machine.objective for machine in machines))
        norms = np.array([machine.norm for machine in machines])
        zeros = np.zeros(len(norms))
        self.margin_ = np.divide(1.0, np.sqrt(norms), out=zeros, where=norms > 0)
        support_codes = codes[self.support_]
        self.n_support_ = np.bincount(support_codes, minlength=len(self.classes_))
        if gram.kernel == "linear":
            self.coef_ = self._linear_weights()

        worst = max(machines, key=lambda machine: (not machine.converged, machine.gap))
        n_iter = max(machine.n_iter for machine in machines)
        self._keep_work(X, worst.gap, n_iter, worst.converged)
        return self

    @by_rows
    def decision_function(self, X):
        """Compute the decision function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        values : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            With two classes, positive values mean the second class. Otherwise, depending on
            `decision_function_shape`, the votes of the pairs for each class, including their
            confidence, or one value for each pair, positive for its first class.
        """
        check_is_fitted(self)
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self.decision_function_shape == "ovo":
            return values
        return self._confident_votes(values)

    @by_rows
    def predict(self, X):
        """Predict the labels of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The predicted labels.
        """
        check_is_fitted(self)
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            second = values[:, 0] > 0
            return self.classes_[second.astype(int)]
        votes = self._confident_votes(values) if self.break_ties else self._votes(values)
        codes = votes.argmax(axis=1)
        return self.classes_[codes]

    def to_sklearn(self):
        """Return the model as a classifier of scikit-learn, with the same values and labels.

        Returns
        -------
        classifier : LinearSVC, SVC or Pipeline
            `LinearSVC` for two classes and the linear kernel, otherwise `SVC`. If the support
            vectors are far from the origin, a step that centres the samples comes first.

        Raises
        ------
        ValueError
            If scikit-learn's machines do not have the kernel: they have "linear", "poly", "rbf"
            and "sigmoid".
        """
        check_is_fitted(self)
        if self._gram.kernel == "linear" and len(self.classes_) == 2:
            return linear_classifier(self, LinearSVC(), self.coef_, self.intercept_)
        return one_against_one(self, machine_functions(self))

    def _route(self, gram, X):
        """Return the solver for the samples X, which have positive weight."""
        primal = gram.kernel == "linear" and not is_sparse(X)
        if self.solver == "newton" and not primal:
            raise ValueError(
                "solver='newton' needs kernel='linear' and a dense table: use solver='auto'."
            )
        if self.solver != "auto":
            return self.solver
        if primal and X.shape[1] <= min(NEWTON_UP_TO, len(X)):
            return "newton"
        return "smo"

    def _solve_pairs(self, X, y, work):
        """Solve all pairs of classes with a shared kernel matrix or with the rows of each pair.

        A matrix serves all pairs. With many samples and few support vectors, most of its rows
        would be computed in vain; rows are then computed on demand.
        """
        n_classes = len(work.segments)
        n_held = len(work.store.values)
        shared = n_classes > 2 and n_held == work.store.n <= SHARED_UP_TO
        if shared and work.solver != "newton":
            work.store.bring_all(self.n_jobs)
        table = work.gram.seen(work.store.rows.X) if work.solver == "newton" else None
        limits = {"solver": work.solver, "tol": self.tol, "max_iter": self.max_iter}

        def one_pair(pair, progress=None):
            # a class without samples loses to every other class
            segments = work.segments[list(pair)]
            sizes = np.ptp(segments, axis=1)
            if not sizes.all():
                offset = float(np.sign(sizes[0] - sizes[1]))
                nothing = np.zeros(work.store.n)
                return Machine(nothing, nothing[:0], offset, 0.0, 0.0, 0.0, 0, True)

            # select the samples of the pair, beginning with its first class
            if n_classes == 2 or shared:
                rows = slice(None)
                store = work.store if n_classes == 2 else work.store.reader()
            else:
                rows = np.concatenate([np.arange(*segment) for segment in segments])
                store = work.store.subset(rows)
                first = sizes[0]
                segments = np.array([[0, first], [first, len(rows)]])

            ridge = work.ridge[rows]
            pair_table = None if table is None else table[rows]
            machine = nearest_hulls(
                store, ridge, segments, table=pair_table, progress=progress, **limits
            )
            support = np.flatnonzero(machine.coef)
            self._check_psd(work.gram, store, support, ridge)

            coef = np.zeros(work.store.n)
            coef[rows] = machine.coef
            return machine._replace(coef=coef, values=coef[:0])

        if n_classes == 2:
            pairs = [(1, 0)]
            threads = nullcontext()
        else:
            pairs = list(combinations(range(n_classes), 2))
            # use one BLAS thread, because the number of threads affects the rounding
            threads = one_blas_thread()
        with threads:
            return run_parts(
                self, X, y, one_pair, pairs,
                max_passes=None, task_name="level", n_jobs=self.n_jobs,
            )  # fmt: skip

    def _class_factors(self, y, classes, codes, weights):
        if self.class_weight is None:
            return 1.0
        with np.errstate(divide="ignore"):  # the factor of a class without weight is infinite
            factors = compute_class_weight(
                self.class_weight, classes=classes, y=y, sample_weight=weights
            )
        factors = np.where(np.isfinite(factors), factors, 1.0)
        return factors[codes]

    def _pair_values(self, X):
        X = checked_samples(self, X, reset=False)
        return self._function_values(X) + self.intercept_

    def _votes(self, values):
        n_classes = len(self.classes_)
        votes = np.zeros((len(values), n_classes))
        pairs = combinations(range(n_classes), 2)
        for column, (i, j) in enumerate(pairs):
            first = values[:, column] > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return votes

    def _confident_votes(self, values):
        """Return votes plus the sum of values of each class, scaled below a third of a vote."""
        n_classes = len(self.classes_)
        sums = np.zeros((len(values), n_classes))
        pairs = combinations(range(n_classes), 2)
        for column, (i, j) in enumerate(pairs):
            sums[:, i] += values[:, column]
            sums[:, j] -= values[:, column]
        scale = 3.0 * (np.abs(sums) + 1.0)
        return self._votes(values) + sums / scale
