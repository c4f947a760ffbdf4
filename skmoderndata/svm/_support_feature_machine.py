"""Support feature machine: linear classification with as few features as possible."""

import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.absent_classes import AbsentClasses
from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    unmasked,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.doubt import record_doubt
from skmoderndata._estimator.export import linear_classifier
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import validate_data
from skmoderndata._solvers.margins.feature_rounds import (
    MAX_ROUNDS,
    Form,
    NoDirection,
    Search,
    Task,
    feature_rounds,
)
from skmoderndata._solvers.margins.linear_programs import Infeasible, SolverFailure
from skmoderndata._solvers.margins.splicing import expected_by_chance, largest_size
from skmoderndata._solvers.margins.zero_norm import squared_hinge_svm

# Cost of a feature with C="scale", in units of slack and of ln(n).
SCALE_FACTOR = 0.7
# Minimum size of a table, in entries, for which algorithm="auto" selects splicing.
LARGE_TABLE = 1_000_000
# Maximum number of columns per row for which algorithm="auto" selects splicing. With few rows,
# splicing misses features: at 100 x 10,000 its mean F1 score is .63, compared with .77 for
# exchanges.
MOST_COLUMNS_PER_ROW = 20


class SupportFeatureMachine(
    CallbackSupportMixin, SelectorMixin, AbsentClasses, ClassifierMixin, Base
):
    r"""Linear classifier that minimises the number of features and the slack of the samples.

    For labels :math:`y_i = \pm 1` the problem is

    .. math::
        \min_{w, b, \xi \ge 0}\ \|w\|_0 + \alpha \|w\|_1 + C \sum_i u_i \xi_i
        \quad\text{subject to}\quad y_i (w^\top x_i + b) \ge 1 - \xi_i,

    where the zero-norm counts the non-zero weights [1]_ and the columns are in standard units, or,
    with ``formulation="centers"`` [2]_,

    .. math::
        y_i (w^\top x_i + b) \ge -\xi_i, \qquad w^\top (\mu^+ - \mu^-) = 1,

    which fixes the norm of w by the centres :math:`\mu^\pm` of the classes instead of by the
    nearest points, so large margins have no advantage. The cost :math:`u_i` is the entry of
    `sample_weight`, divided by the mean weight, times the factor in `class_weight`.

    A sequence of linear programs decreases an approximation, in which the zero-norm is

    .. math::
        \sum_j \ln\Bigl(1 + \frac{|w_j|}{\epsilon\,\omega}\Bigr) \Big/
        \ln\Bigl(1 + \frac{1}{\epsilon}\Bigr)

    with the largest weight :math:`\omega` of the first program; then features are dropped, added
    and exchanged as long as the objective itself decreases. With ``C="scale"``, the last step
    drops the features that are not worth their price in an information criterion [5]_,

    .. math::
        2 L(S) + |S| \ln p\, \ln \ln n,

    where :math:`L(S)` is the least logistic loss with the features S, with a small ridge penalty.
    For large tables, sets of each size are searched by this criterion alone.

    Parameters
    ----------
    C : float, "scale", "auto" or None, default="scale"
        Cost of slack, relative to the cost of one feature, above 0. "scale" is
        :math:`1 / (0.7 \ln n)` for n samples: a feature has to save a total slack that grows with
        the logarithm of the number of samples, as in an information criterion [4]_. None allows no
        slack (hard margin); "auto" allows no slack if the classes are separable, and otherwise
        means "scale". With "scale", the information criterion drops features at the end; with a
        number, this price alone decides.
    alpha : float, default=1.0
        Cost of the magnitude of the weights, at least 0. It prevents the selection of features
        that separate the training samples with a tiny margin, that is, with large weights. With 0,
        the machine solves the problem of the papers [1]_, [2]_: the fewest features.
    formulation : {"margin", "centers"}, default="margin"
        Normalisation of w: by the margin, or by the class centres.
    algorithm : str, default="auto"
        One of:

        - "auto": "splicing" for tables with at least 1,000,000 entries and at most 20 columns for
          each row if ``C="scale"`` and ``formulation="margin"``, otherwise "exchange".
        - "exchange": after the programs of "reweighted", drops, adds and exchanges features one by
          one, starting from the result of the programs and from features found while the cost of
          slack increases; the weights minimise the sum of :math:`\alpha \|w\|_1` and the slack for
          the selected features.
        - "splicing": adds to the best set of each size the feature along which the logistic loss
          falls most steeply, and exchanges up to three features at a time as long as the loss
          falls [5]_; the set with the smallest criterion is selected. It requires ``C="scale"``
          and ``formulation="margin"``, has one start, and takes a fraction of the time if there
          are many samples. If there are few samples, "exchange" finds more of the features.
        - "reweighted": in the next program, the cost of each feature is :math:`\alpha` plus a
          number proportional to :math:`1 / (\epsilon\,\omega + |w_j|)`, so that discarded features
          can return.
        - "rescaled": multiplies the columns by the weights instead [1]_; a weight that is zero
          remains zero.
        - "rescaled_l2": like "rescaled" with the Euclidean norm (a support vector machine with
          squared slack instead of the linear program); it has no certificate, does not use
          `alpha`, and requires ``formulation="margin"``.
    fit_intercept : bool, default=True
        Whether to fit an intercept b.
    penalize_intercept : bool, default=False
        Whether to treat b as the weight of an additional constant feature. The intercept then
        counts as a feature, and results depend on the origin of the data.
    class_weight : dict, "balanced" or None, default=None
        Costs of slack for each class; "balanced" gives both classes of a two-class problem the
        same total cost. A class of cost 0 is treated like samples of weight 0.
    standardize : bool, default=True
        Whether to scale columns to unit variance first. Otherwise columns of large magnitude are
        preferred.
    epsilon : float, default=1e-3
        Width of the logarithm, relative to the largest weight of the first program, above 0.
    n_init : int, default=1
        Number of starts: the first one with equal costs, the others with random costs. The result
        with the smallest objective is used.
    n_rounds : int or "auto", default=1
        Number of rounds: each round excludes the features selected in earlier rounds [3]_. "auto"
        stops when the objective of a round is no better than with permuted labels.
    n_features_to_select : int, default=None
        Largest number of features in each round and for each class: a start ends when a step has
        at most this many features, and keeps the features with the largest weights. With
        ``algorithm="splicing"``, the largest size of the sets, by default n / ln n.
    refit : bool, default=True
        Whether to fit a linear support vector machine with squared slack and ridge penalty on the
        selected features. Otherwise `coef_` contains the weights of the linear program in the
        first round.
    refit_C : float, default=1.0
        Cost of slack in the refit.
    solver : {"highs", "cvxpy"}, default="highs"
        "highs" generates columns for a warm-started simplex method; "cvxpy" solves each complete
        linear program. Both compute the same optimum.
    max_iter : int, default=50
        Largest number of linear programs per start, of passes of exchanges, and of splices for
        each size.
    tol : float, default=1e-6
        Tolerance of the weights, relative to the largest weight; the linear programs end when no
        weight changes by more.
    n_jobs : int, default=None
        Number of starts and classes that run in parallel, through joblib.
    random_state : int, RandomState instance or None, default=None
        Controls the costs of the starts after the first, and the permutations of
        `n_rounds="auto"`. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels. A class whose samples all have weight 0 is included, and never predicted.
    coef_ : ndarray of shape (n_problems, n_features)
        Weights of the features, in the units of the data. One row for two classes of positive
        weight, otherwise one for each of them against the rest.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    sfm_coef_ : ndarray of shape (n_problems, n_features)
        Weights of the linear programs, before the refit; they minimise the sum of
        :math:`\alpha \|w\|_1` and the slack for the selected features. A selected feature may have
        the weight 0 if the information criterion selected it.
    sfm_intercept_ : ndarray of shape (n_problems,)
        Intercepts of the linear programs, the midpoints of the optimal intervals.
    ranking_ : ndarray of shape (n_features,)
        Round in which a feature was selected; ``n_rounds_ + 1`` for unselected features.
    n_rounds_ : int
        Number of rounds.
    algorithm_ : str
        The algorithm that "auto" stands for, otherwise `algorithm`.
    C_ : ndarray of shape (n_problems,)
        Cost of slack; infinite for problems without slack.
    hard_margin_ : ndarray of shape (n_problems,)
        Whether slack was forbidden.
    objective_ : float
        ``|w|_0 + alpha |w|_1 + C sum u xi`` of `sfm_coef_`, in standard units; the sum over
        problems.
    objective_history_ : list of tuple of ndarray
        Objective of each problem, with one array for each stage: after each linear program; after
        each pass of exchanges, which may begin with other features; and once after the criterion
        has dropped features. The programs lower the approximation of the objective, the exchanges
        lower the objective itself, and dropping lowers the criterion and may raise the objective.
        For "splicing", the first array contains the criterion of the best set of each size,
        beginning with the empty set, and the second array the objective of the selected set.
    n_features_history_ : list of tuple of ndarray
        Number of features at each entry of `objective_history_`.
    dual_gap_ : float
        Upper bound on the relative difference between the objective and the smallest objective
        that the selected features permit; the maximum over problems. It is computed for the final
        set, also after dropping and splicing, and does not measure the choice of the set. For
        ``algorithm="reweighted"`` and "rescaled", it is the relative duality gap of the linear
        program with the costs of the last weights: if it is zero, the weights are a stationary
        point of the approximation. NaN for "rescaled_l2".
    n_iter_ : int
        Number of linear programs and passes of exchanges of the best start, or number of sizes
        that splicing tried; the maximum over problems.
    doubt_ : str or None
        Reason to doubt the selection, with a remedy: features that explain no more than chance
        would, given the number of candidates. None if there is none. The certificate `dual_gap_`
        is about the weights of the selected features.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.LinearSVC : With ``penalty="l1"``, similar to the first linear program; selects
        more features.
    sklearn.feature_selection.RFE : Removes features one by one, down to a fixed number.

    Notes
    -----
    A linear program with n rows and p columns is solved by pricing all columns, ``n p`` operations
    at a time, and by simplex steps on the few columns that matter; 3 to 8 programs are usual. All
    costs are positive, hence no program is unbounded. The hard-margin problem has no solution if
    the classes are not separable: `fit` then raises a ValueError. The problem is not convex: at
    the end, the objective does not decrease if a feature is removed, added, or replaced by one of
    the five most promising features for its place, but the result need not be the global minimum.

    If no feature reduces the slack by its cost (small C, labels without a pattern), none is
    selected: `predict` returns the larger class for all samples, and `transform` warns.

    `sample_weight` multiplies the costs of slack, and weights the class centres and variances.
    Only the ratios of the weights matter: they are divided by the mean of the positive weights, so
    weights with sum one, as in boosting, have the same effect as weights with mean one.

    References
    ----------
    .. [1] Weston, Elisseeff, Schoelkopf and Tipping, Use of the zero-norm with linear models and
       kernel methods, Journal of Machine Learning Research 3, 2003, pp. 1439-1461.
    .. [2] Klement and Martinetz, The support feature machine for classifying with the least number
       of features, ICANN 2010, pp. 88-93.
    .. [3] Klement, Anders and Martinetz, The support feature machine: classification with the
       least number of features and application to neuroimaging data, Neural Computation 25, 2013,
       pp. 1548-1584.
    .. [4] Zhang, Wu, Wang and Li, A consistent information criterion for support vector machines
       in diverging model spaces, Journal of Machine Learning Research 17, 2016.
    .. [5] Zhu, Wen, Zhu, Zhang and Wang, A polynomial algorithm for best-subset selection problem,
       Proceedings of the National Academy of Sciences 117, 2020, pp. 33117-33123.

    Examples
    --------
    >>> from skmoderndata.datasets import make_sparse_classes
    >>> from skmoderndata.svm import SupportFeatureMachine
    >>> X, y, coef = make_sparse_classes(100, 1000, n_informative=5, random_state=0)
    >>> machine = SupportFeatureMachine().fit(X, y)
    >>> machine.get_support(indices=True), coef.nonzero()[0]   # selected, informative
    (array([298, 553, 672, 859, 993]), array([298, 553, 672, 859, 993]))
    >>> machine.transform(X).shape
    (100, 5)
    """

    _card = MethodCard(
        family="margins",
        cite=("weston2003use", "klement2010support", "klement2013support"),
        cost="T n p, for T rounds of pricing",
    )
    _parameter_constraints = {
        "C": [POSITIVE, StrOptions({"scale", "auto"}), None],
        "alpha": [NON_NEGATIVE],
        "formulation": [StrOptions({"margin", "centers"})],
        "algorithm": [
            StrOptions(
                {"auto", "exchange", "splicing", "reweighted", "rescaled", "rescaled_l2"}
            )
        ],
        "fit_intercept": ["boolean"],
        "penalize_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "standardize": ["boolean"],
        "epsilon": [Interval(Real, 0, 1, closed="neither")],
        "n_init": [AT_LEAST_ONE],
        "n_rounds": [AT_LEAST_ONE, StrOptions({"auto"})],
        "n_features_to_select": [AT_LEAST_ONE, None],
        "refit": ["boolean"],
        "refit_C": [POSITIVE],
        "solver": [StrOptions({"highs", "cvxpy"})],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        C="scale",
        *,
        alpha=1.0,
        formulation="margin",
        algorithm="auto",
        fit_intercept=True,
        penalize_intercept=False,
        class_weight=None,
        standardize=True,
        epsilon=1e-3,
        n_init=1,
        n_rounds=1,
        n_features_to_select=None,
        refit=True,
        refit_C=1.0,
        solver="highs",
        max_iter=50,
        tol=1e-6,
        n_jobs=None,
        random_state=None,
    ):
        self.C = C
        self.alpha = alpha
        self.formulation = formulation
        self.algorithm = algorithm
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.class_weight = class_weight
        self.standardize = standardize
        self.epsilon = epsilon
        self.n_init = n_init
        self.n_rounds = n_rounds
        self.n_features_to_select = n_features_to_select
        self.refit = refit
        self.refit_C = refit_C
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Select features and estimate their weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Costs of slack, up to a common factor; a weight of 0 removes the sample, but not its
            class from `classes_`.

        Returns
        -------
        self : SupportFeatureMachine
            The fitted classifier.
        """
        self._check_settings()
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32]
        )
        check_classification_targets(y)
        weight = check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )

        # drop samples of weight zero, but keep their classes
        all_samples = (X, y)
        classes, labels = np.unique(y, return_inverse=True)
        weight = np.where(self._class_factors(classes) > 0, 1.0, 0.0)[labels] * weight
        present = np.isin(np.arange(classes.size), labels[weight > 0])
        self._keep_classes(classes, present, weighted=not weight.all())
        if not weight.all():
            X = X[weight > 0]
            y = y[weight > 0]
            weight = weight[weight > 0]

        # scale the costs to mean one
        if weight.size:
            weight = weight / weight.max()  # the mean of tiny weights may underflow
            weight /= weight.mean()

        labels = np.searchsorted(self._present_classes, y)

        # solve one problem for two classes, otherwise one for each class
        scaled = self._scale(X, weight)
        algorithm = self._resolved_algorithm(X)
        n_present = self._present_classes.size
        positives = [1] if n_present == 2 else range(n_present)
        sides = [np.where(labels == k, 1.0, -1.0) for k in positives]
        tasks = [
            Task(side, weight, weight * self._class_costs(labels, side, weight))
            for side in sides
        ]

        max_passes = self._max_passes(len(tasks), algorithm, y.size)
        with FitProgress(
            self, *all_samples, max_passes=max_passes, task_name="pass"
        ) as progress:
            try:
                rounds = feature_rounds(
                    scaled.X,
                    scaled.usable,
                    tasks,
                    self._form(y.size),
                    self._search(algorithm, y.size),
                    n_rounds=self.n_rounds,
                    rng=check_random_state(self.random_state),
                    progress=progress,
                )
            except (Infeasible, NoDirection, SolverFailure) as error:
                raise ValueError(self._explained(error, positives)) from error

        # store the selected features, and fit the final classifier on them
        self.algorithm_ = algorithm
        self._store_programs(rounds, scaled)
        self._store_costs(rounds, y.size)
        self._store_classifier(tasks, scaled)
        record_doubt(self, self._doubt_of_chance(rounds, tasks, scaled))
        self._warn(rounds)
        return self

    @by_rows
    def decision_function(self, X):
        """Compute signed scores: positive for ``classes_[1]``, or one score for each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            ``X @ coef_.T + intercept_``; classes of weight 0 have the lowest score.
        """
        return self._with_absent(self._scores(X))

    def _scores(self, X):
        """Scores of the classes of positive weight."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32], reset=False
        )
        used = np.flatnonzero(self.coef_.any(axis=0))
        scores = np.asarray(X[:, used] @ self.coef_[:, used].T) + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @by_rows
    def predict(self, X):
        """Predict the labels of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The label with the largest score.
        """
        scores = self._scores(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self._present_classes[best]

    @by_rows
    def transform(self, X):
        """Select the features that the machine uses.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        X_selected : ndarray or sparse matrix of shape (n_samples, n_selected)
            The columns of the selected features.
        """
        return super().transform(unmasked(X, owner=type(self).__name__))

    @by_rows
    def inverse_transform(self, X):
        """Put selected features back in their columns, and fill the other columns with zeros.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_selected)
            Columns of the selected features.

        Returns
        -------
        X_original : ndarray or sparse matrix of shape (n_samples, n_features)
            Table with all features.
        """
        return super().inverse_transform(X)

    def to_sklearn(self):
        """Return the classifier as a `LinearSVC`, with the same values and labels.

        Returns
        -------
        classifier : LinearSVC
            The weights of all features. It has no `transform`; use `get_support` of this model.

        Raises
        ------
        ValueError
            If a class has no samples of positive weight.
        """
        check_is_fitted(self)
        return linear_classifier(self, LinearSVC(), self.coef_, self.intercept_)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.ranking_ <= self.n_rounds_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_settings(self):
        if self.penalize_intercept and not self.fit_intercept:
            raise ValueError(
                "penalize_intercept=True needs an intercept to penalise: set fit_intercept=True."
            )
        if self.algorithm == "rescaled_l2" and self.formulation != "margin":
            raise ValueError(
                f"algorithm='rescaled_l2' needs formulation='margin', got {self.formulation!r}."
            )
        if self.algorithm == "splicing" and not self._may_splice():
            raise ValueError(
                "algorithm='splicing' selects by an information criterion, and requires "
                f"C='scale' and formulation='margin'; got C={self.C!r} and "
                f"formulation={self.formulation!r}. Use algorithm='exchange' for these settings."
            )

    def _may_splice(self):
        return self.C == "scale" and self.formulation == "margin"

    def _resolved_algorithm(self, X):
        if self.algorithm != "auto":
            return self.algorithm
        n, p = X.shape
        large = n * p >= LARGE_TABLE and p <= MOST_COLUMNS_PER_ROW * n
        return "splicing" if large and self._may_splice() else "exchange"

    def _class_factors(self, classes):
        """Return the costs of slack of the classes: from the dictionary, or ones."""
        if not isinstance(self.class_weight, dict):
            return np.ones(len(classes))
        unknown = sorted(set(self.class_weight) - set(classes.tolist()), key=repr)
        if unknown:
            raise ValueError(
                f"class_weight has the labels {unknown}, which are not in y; "
                f"the classes of y are {classes.tolist()}."
            )
        wrong = {key: value for key, value in self.class_weight.items() if not value >= 0}
        if wrong:
            raise ValueError(f"class_weight must not be negative, got {wrong}.")
        factors = [self.class_weight.get(label, 1.0) for label in classes.tolist()]
        return np.asarray(factors, dtype=np.float64)

    def _class_costs(self, labels, side, weight):
        if self.class_weight == "balanced":
            total = {s: weight[side == s].sum() for s in (-1.0, 1.0)}
            return np.where(side > 0, 1 / total[1.0], 1 / total[-1.0]) * weight.sum() / 2
        factors = self._class_factors(self.classes_)
        return factors[np.isin(self.classes_, self._present_classes)][labels]

    def _max_passes(self, n_tasks, algorithm, n_samples):
        rounds = MAX_ROUNDS if self.n_rounds == "auto" else self.n_rounds
        if algorithm == "splicing":
            largest = self.n_features_to_select or largest_size(n_samples)
            return n_tasks * rounds * largest
        # count the linear programs, and the exchanges that start from three sets of features
        return n_tasks * self.n_init * (rounds * 4 * self.max_iter + 1)

    def _scale(self, X, weight):
        """Scale the columns; also centre them if the data are dense and the intercept is free."""
        free = self.fit_intercept and not self.penalize_intercept

        # scale the columns to a largest entry of one, and centre dense columns
        share = weight / weight.sum()
        n, p = X.shape
        if sparse.issparse(X):
            X = sparse.csc_array(X, dtype=np.float64)
            largest = np.asarray(np.abs(X).max(axis=0).todense()).ravel()
            largest[largest == 0] = 1.0
            X = sparse.csc_array(X.multiply(1 / largest))
            mean, variance = mean_variance_axis(X, axis=0, weights=share)
            deviation = np.sqrt(variance)
            shift = np.zeros(p)
        else:
            X = np.array(X, dtype=np.float64, order="F")
            largest = np.abs(X).max(axis=0)
            largest[largest == 0] = 1.0
            X /= largest
            mean = share @ X
            X -= mean
            deviation = np.sqrt(share @ X**2)
            shift = mean if free else np.zeros(p)
            if not free:
                X += mean

        # then scale the columns to variance one if `standardize` is set; exclude constant columns
        usable = deviation > 10 * n * np.finfo(np.float64).eps
        divide = np.where(usable, deviation if self.standardize else 1 / largest, 1.0)
        if sparse.issparse(X):
            X = sparse.csc_array(X.multiply(1 / divide))
        else:
            X /= divide

        # append a constant column for an intercept that counts as a feature
        if self.penalize_intercept:
            constant = np.ones((n, 1))
            if sparse.issparse(X):
                X = sparse.csc_array(sparse.hstack([X, constant]))
            else:
                X = np.asfortranarray(np.hstack([X, constant]))
            usable = np.append(usable, True)
        return _Scaled(X, usable, shift / divide, divide * largest)

    def _form(self, n_samples):
        soft = float(self.C) if isinstance(self.C, Real) else None
        if self.C == "scale":
            soft = _scale_C(n_samples)
        return Form(
            centers=self.formulation == "centers",
            C=soft,
            soft_C=_scale_C(n_samples) if self.C == "auto" else None,
            alpha=float(self.alpha),
            intercept=self.fit_intercept and not self.penalize_intercept,
            penalized=self.penalize_intercept,
        )

    def _search(self, algorithm, n_samples):
        prune = algorithm == "exchange" and self.C in ("scale", "auto")
        return Search(
            algorithm,
            self.solver,
            self.epsilon,
            self.n_features_to_select or 0,
            self.max_iter,
            self.tol,
            self.n_init,
            self.n_jobs,
            _scale_C(n_samples),
            prune,
        )

    def _explained(self, error, positives):
        """Return the message that explains why a fit has no solution."""
        if isinstance(error, SolverFailure):
            return (
                f"the linear program could not be solved ({error}): centre and rescale X, set "
                "standardize=True, or lower C."
            )
        label = self._present_classes.tolist()[positives[error.args[0]]]
        if isinstance(error, NoDirection):
            return (
                f"The centre of class {label!r} and the centre of the other classes coincide: "
                "formulation='centers' has no solution; use formulation='margin'."
            )
        return (
            f"{type(self).__name__}(C={self.C!r}) allows no slack, but no hyperplane separates "
            f"class {label!r} from the others: the classes are not separable. Use the soft "
            "version, C='scale' or a number, or C='auto'."
        )

    def _store_programs(self, rounds, scaled):
        """Store the selection of the rounds, the weights in units of the data, and the work."""
        separations = [results for results, _ in rounds]

        # convert the weights of the first round
        n_features = scaled.unit.size
        first = [results[0] for results in separations]
        bias = np.array([result.bias for result in first])
        w = np.array([result.w for result in first])
        if self.penalize_intercept:
            w, bias = w[:, :n_features], w[:, n_features]
        self.sfm_coef_ = w / scaled.unit
        self.sfm_intercept_ = bias - w @ scaled.shift

        # rank each feature by the first round that selects it
        self.n_rounds_ = max(len(results) for results in separations)
        self.ranking_ = np.full(n_features, self.n_rounds_ + 1)
        for results in separations:
            for number, result in enumerate(results, start=1):
                selected = result.features[result.features < n_features]
                self.ranking_[selected] = np.minimum(self.ranking_[selected], number)

        # store the work and the certificate
        self.objective_ = float(sum(result.objective for result in first))
        self.objective_history_ = [result.values for result in first]
        self.n_features_history_ = [result.sizes for result in first]
        self.dual_gap_ = float(np.max([result.gap for result in first]))
        self.n_iter_ = max(result.n_iter for result in first)

    def _store_costs(self, rounds, n_samples):
        """Store the cost of slack, infinite for problems without slack."""
        self.hard_margin_ = np.array([hard for _, hard in rounds])
        self.C_ = np.where(self.hard_margin_, np.inf, self._soft_C(n_samples))

    def _store_classifier(self, tasks, scaled):
        """Fit and store the final classifier: squared hinge loss on the selected features."""
        if not self.refit:
            self.coef_ = self.sfm_coef_.copy()
            self.intercept_ = self.sfm_intercept_.copy()
            return

        selected = np.flatnonzero(self._get_support_mask())
        columns = scaled.X[:, selected]
        columns = columns.toarray() if sparse.issparse(columns) else columns

        self.coef_ = np.zeros((len(tasks), scaled.unit.size))
        self.intercept_ = np.zeros(len(tasks))
        for k, task in enumerate(tasks):
            w, bias = squared_hinge_svm(
                columns, task.side, self.refit_C * task.cost, intercept=self.fit_intercept
            )
            self.coef_[k, selected] = w / scaled.unit[selected]
            self.intercept_[k] = bias - w @ scaled.shift[selected]

    def _doubt_of_chance(self, rounds, tasks, scaled):
        """Return a doubt if a selected feature explains no more than the best feature of noise."""
        n_usable = int(scaled.usable.sum())
        expected = 0.0
        for (results, _), task in zip(rounds, tasks, strict=True):
            columns = scaled.X[:, results[0].features]
            columns = columns.toarray() if sparse.issparse(columns) else columns
            expected += expected_by_chance(
                columns, task.side, task.weight, n_usable, intercept=self.fit_intercept
            )
        if expected < 1:
            return None
        return (
            f"About {expected:.0f} of the selected features explain no more than the best of "
            f"{n_usable} features without any relation to the labels, so other features may be "
            "as good: use more samples, or test the selection with KnockoffSelector."
        )

    def _warn(self, rounds):
        """Warn if no feature was selected, or if a solver ended too early."""
        if not self.coef_.any():
            soft = float(np.min(self.C_))
            warnings.warn(
                f"{type(self).__name__} selects no feature and predicts the same class for all "
                f"samples: no feature saves the slack that it costs at C={soft:.3g}; increase C.",
                UserWarning,
                stacklevel=3,
            )
        if not all(results[0].converged for results, _ in rounds):
            warn_not_converged(
                self,
                reached=f"after {self.n_iter_} linear programs and exchanges the weights still "
                f"change by more than tol={self.tol:g} (relative gap {self.dual_gap_:.1e})",
                remedy="increase max_iter or tol",
            )

    def _soft_C(self, n_samples):
        return float(self.C) if isinstance(self.C, Real) else _scale_C(n_samples)


def _scale_C(n_samples):
    """Return the value of ``C="scale"``; n is at least 2, as there are two classes."""
    return 1.0 / (SCALE_FACTOR * np.log(n_samples))


class _Scaled(NamedTuple):
    """Columns in standard units: ``x / unit - shift``."""

    X: np.ndarray
    usable: np.ndarray
    shift: np.ndarray
    unit: np.ndarray
