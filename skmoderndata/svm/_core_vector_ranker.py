"""Core vector ranking: a kernel function that ranks samples, on a core set of pairs."""

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import POSITIVE, StrOptions, fit_context
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.export import linear_machine
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_target, order_of_labels, ordered_classes
from skmoderndata._kernelized.checks import checked_samples, checked_samples_and_target
from skmoderndata._kernelized.export import kernel_functions, support_vector_regressor
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.common.quantities import FLOAT_BYTES, MEBIBYTE
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.kernel.incomplete_cholesky import incomplete_cholesky
from skmoderndata._solvers.margins.core_problems import GivenPairs, GradedRows
from skmoderndata._solvers.margins.ranking import pair_order, rank_on_samples
from skmoderndata.svm._base import CORE_CONSTRAINTS, CoreVectors

# Maximum number of pairs in the core set; beyond it all pairs are used.
MOST_PAIRS = 2000
# Number of basis functions in the first attempt, and the factor by which it grows.
FIRST_RANK = 200
GROWTH = 3
# Smallest cost of a pair, multiplied by its kernel value, at which the weights of pairs are hard
# to determine.
STEEP = 1e4
# Maximum number of solutions on the core set before all pairs are used, if costs reach STEEP.
FEW_SOLUTIONS = 100
# Maximum number of pairs in the core set before all pairs are used, if costs reach STEEP.
FEW_PAIRS = 200


class CoreVectorRanker(CoreVectors, Base):
    r"""Learn a kernel function that ranks samples, from graded samples or from pairs.

    The class minimises, over functions :math:`f(x) = w^\top \phi(x)`,

    .. math::
        \min_w\ \tfrac12 \|w\|^2 + C \sum_{i \succ j}
        \max\bigl(0,\ 1 - f(x_i) + f(x_j)\bigr)^2

    over all pairs of samples of the same query with different grades, or over given pairs. The
    pairs are never listed: one sorted scan finds the worst partner of each sample, and the sum
    takes ``n log n`` operations. The dual is a minimum enclosing ball with a constrained centre,
    found on a core set of pairs [1]_.

    Parameters
    ----------
    C : float, default=0.01
        Cost of a pair that is not ordered with a margin of one.
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the scoring function, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    classes : array-like of shape (n_labels,), default=None
        Labels in ascending order, if grades are words such as "low", "mid" and "high". None uses
        the order of an ordered pandas categorical or a polars Enum, and otherwise requires
        numbers. Labels that do not occur in y are ignored.
    tol : float, default=0.05
        Target of the relative duality gap.
    solver : {"core_set", "cvxpy"}, default="core_set"
        "core_set" is pairwise descent on the core set; "cvxpy" is a cone solver, for core sets of
        up to 2000 samples.
    sample_size : int, default=59
        Number of samples in a random draw, if `batch_size` is given; draws contain whole queries
        if these are small.
    batch_size : int, default=None
        Number of pairs added to the core set in each step, each the worst of `sample_size`. None
        searches growing blocks and re-evaluates only the samples near the margin.
    max_core : int, default=None
        Largest size of the core set, in pairs; None uses all pairs if the core set would exceed
        2000.
    max_iter : int, default=10000
        Largest number of solutions on the core set.
    cache_size : float, default=500
        Memory in MB for kernel values of the core set, or for the factor of the kernel matrix if
        all pairs are used.
    warm_start : bool, default=False
        Whether to start from the core set of the last call of `fit`, which must have used the same
        pairs.
    random_state : int, RandomState instance or None, default=None
        Controls the random samples. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads for kernel values; results do not depend on it.

    Attributes
    ----------
    core_pairs_ : ndarray of shape (n_core, 2)
        Pairs of training samples in the core set, the higher-ranked sample first. If there are
        more than 2000 pairs, the initial core set of the search.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples in pairs with non-zero weight; if all pairs are used,
        indices of the basis samples of the function.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients of the support vectors.
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
    sklearn.svm.LinearSVC : The same problem for the linear kernel, if fitted to the differences
        between the samples of each pair.
    skmoderndata.svm.CoreVectorMachine : Learns labels instead of an order.

    Notes
    -----
    The number of pairs is quadratic in the number of samples of a query, and every pair closer
    than the margin has a weight: choose a smaller C than for a classifier. Scores are determined
    up to a constant, and you can compare them only within a query. Small problems, with up to 2000
    pairs of graded samples or 100 given pairs, are solved to rounding accuracy.

    If the core set would exceed 2000 pairs and `max_core` is None, all pairs contribute without
    being listed, and the unknowns are coefficients of samples: Newton's method then uses a factor
    of the kernel matrix that occupies at most `cache_size` [2]_. `dual_gap_` is still the gap over
    all pairs, with the complete kernel matrix.

    References
    ----------
    .. [1] Tsang, Kwok and Zurada, Generalized core vector machines, IEEE Transactions on Neural
       Networks 17(5), 2006, section III.
    .. [2] Kuo, Lee and Lin, Large-scale kernel RankSVM, SIAM International Conference on Data
       Mining 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.svm import CoreVectorRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(400, 2))
    >>> grade = np.digitize(np.sin(X[:, 0]) + 0.3 * X[:, 1], [-0.7, 0, 0.7])
    >>> ranker = CoreVectorRanker(gamma=0.5, random_state=0).fit(X[:300], grade[:300])
    >>> round(ranker.score(X[300:], grade[300:]), 2)
    1.0
    """

    _card = MethodCard(
        family="margins",
        cite=("tsang2006generalized", "kuo2014large"),
        cost="n |S| + |S|^2, n r^2 with many pairs",
        tier="standard",
        instead="LogisticRegression on Nystroem features with an indicator for each query and "
        "grade limit orders new samples as well in half the time, also where queries "
        "have scales of their own.",
        scaler="StandardScaler",
    )
    _free_offset = True
    _parameter_constraints = {
        **CORE_CONSTRAINTS,
        "C": [POSITIVE],
        "classes": ["array-like", None],
        "solver": [StrOptions({"core_set", "cvxpy"})],
    }

    @parameters_are_named
    def __init__(
        self,
        C=0.01,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        classes=None,
        tol=0.05,
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
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.classes = classes
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
    def fit(self, X, y=None, *, query_ids=None, pairs=None):
        """Learn the ranking function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : array-like of shape (n_samples,), default=None
            Grades, higher is better, or labels in `classes`. Not required with `pairs`.
        query_ids : array-like of shape (n_samples,), default=None
            Query of each sample; samples are compared only within a query. None means one query.
        pairs : array-like of shape (n_pairs, 2), default=None
            Pairs (i, j) such that sample i ranks above sample j; if given, grades are ignored.

        Returns
        -------
        self : CoreVectorRanker
            The fitted estimator.
        """
        if y is None and pairs is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
                "the grades of the samples, or pairs."
            )

        labels = order_of_labels(y, self.classes)
        if y is None:
            X = checked_samples(self, X, reset=True)
        else:
            graded = labels is None
            remedy = "set classes to all labels, lowest first"
            check_target(y, owner=type(self).__name__, numbers=graded, remedy=remedy)
            X, y = checked_samples_and_target(self, X, y, y_numeric=graded)

        n = count_samples(X)
        rows, diagonal = self._kernel_rows(X)

        rng = check_random_state(self.random_state)
        with (
            one_blas_thread(),
            FitProgress(
                self, X, y, max_passes=self.max_iter, task_name="core set"
            ) as progress,
        ):
            if pairs is not None:
                pairs = _checked_pairs(pairs, n)
                problem = GivenPairs(rows, pairs, 2.0 * self.C, diagonal=diagonal)
            else:
                grades, queries = _graded(self._grades(y, labels), query_ids, n)
                problem = GradedRows(rows, grades, queries, 2.0 * self.C, diagonal=diagonal)
            result, support, dual_coef, all_pairs = self._solve(rows, problem, rng, progress)

        self.core_pairs_ = np.stack(problem.ends(result.core), axis=1)
        used = dual_coef != 0
        self._keep_support(rows.gram, rows.X, support[used], dual_coef[used])
        self._store_work(rows, [result])
        self._core = problem.state(result.core, result.weights)

        if all_pairs and result.full:
            warn_not_converged(
                self,
                reached=f"with {len(support)} basis functions, the limit of cache_size="
                f"{self.cache_size:g}, the relative duality gap is {result.gap:.1e} "
                f"(tol={self.tol:g})",
                remedy="increase cache_size, tol or the width of the kernel",
            )
        elif not result.converged:
            self._warn_above_tol(result, X)
        return self

    @by_rows
    def predict(self, X):
        """Compute scores that rank the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Scores; a higher score ranks higher, and a difference of one is one margin.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        return self._function_values(X)

    def to_sklearn(self):
        """Return the model as a regressor of scikit-learn that predicts the same scores.

        Returns
        -------
        regressor : LinearSVR, SVR or Pipeline
            `LinearSVR` for the linear kernel, otherwise `SVR`. If the support vectors are far from
            the origin, a step that centres the samples comes first.

        Raises
        ------
        ValueError
            If scikit-learn's machines do not have the kernel: they have "linear", "poly", "rbf"
            and "sigmoid".
        """
        check_is_fitted(self)
        if self._gram.kernel == "linear":
            return linear_machine(self, np.ravel(self._linear_weights()), 0.0)
        functions = kernel_functions(self, self._gram, self._basis, self.dual_coef_, 0.0)
        return support_vector_regressor(self, functions)

    @in_memory
    def score(self, X, y, query_ids=None):
        """Compute the fraction of pairs with different grades that are ordered correctly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Grades, or labels among `classes`.
        query_ids : array-like of shape (n_samples,), default=None
            Query of each sample; samples are compared only within a query.

        Returns
        -------
        score : float
            Fraction between 0 and 1. A tie counts one half; chance level is also one half, and so
            is the score if no two grades differ. Kendall's tau (without ties) is twice the score
            minus one.
        """
        scores = self.predict(X)
        labels = order_of_labels(y, self.classes)
        y = column_or_1d(y)
        queries = np.zeros(len(y)) if query_ids is None else column_or_1d(query_ids)
        queries = np.unique(queries, return_inverse=True)[1]
        correct, tied, n_pairs = pair_order(queries, self._grades(y, labels), scores)
        return (correct + 0.5 * tied) / n_pairs if n_pairs else 0.5

    def _grades(self, y, labels):
        """Return grades as numbers; `labels` are all labels, lowest first, or None."""
        if labels is not None:
            check_classification_targets(y)
            y = ordered_classes(y, labels, owner=type(self).__name__)[1]
        return np.asarray(y, dtype=np.float64)

    def _solve(self, rows, problem, rng, progress):
        """Search for a core set of pairs, and use all pairs if it becomes too large.

        At steep costs, the weights of pairs suffer from rounding: all pairs are then tried early,
        and the core set again if that fails. Return the result, the samples and their
        coefficients, and whether all pairs were used.
        """
        last = self._last_core()
        core_set = self.solver == "core_set"

        if core_set and self.max_core is None and problem.cost > STEEP:
            attempt = self._search(
                problem, rng, progress, last=last, max_core=FEW_PAIRS, max_iter=FEW_SOLUTIONS
            )
            if attempt.converged or progress.stopped:
                return attempt, *_from_pairs(problem, attempt), False
            result, support, dual_coef = self._on_samples(rows, problem, attempt, progress)
            if result.converged or progress.stopped:
                return result, support, dual_coef, True

        limit = MOST_PAIRS if core_set else None
        result = self._search(problem, rng, progress, last=last, max_core=limit)
        if not (result.full and core_set and self.max_core is None):
            return result, *_from_pairs(problem, result), False
        return *self._on_samples(rows, problem, result, progress), True

    def _on_samples(self, rows, problem, few_pairs, progress):
        """Solve with all pairs; the function is a sum over an increasing set of samples."""
        n = rows.n_rows
        largest = min(n, max(2, int(self.cache_size * MEBIBYTE / (FLOAT_BYTES * n))))
        rank = min(FIRST_RANK, largest)
        theta = None
        n_iter = few_pairs.n_iter
        order = rows.gram.order(rows.X)

        while True:
            cholesky = incomplete_cholesky(rows.gram, rows.X, rank=rank, order=order)
            rows.n_evaluations += cholesky.n_evaluations
            result = rank_on_samples(
                problem,
                cholesky.factor,
                rows.squared_norm,
                cost=2.0 * self.C,
                tol=self.tol,
                max_iter=max(1, self.max_iter - n_iter),
                start=theta,  # the new pivots begin with the previous ones
                progress=progress,
            )
            theta = result.theta
            n_iter = n_iter + result.n_iter
            if (
                not result.exhausted
                or len(theta) < rank
                or rank == largest
                or progress.stopped
            ):
                break
            del cholesky
            rank = GROWTH * rank if 2 * GROWTH * rank <= largest else largest

        # convert the coefficients of the factor to coefficients of samples
        triangle = cholesky.factor[cholesky.pivots]
        coef = linalg.solve_triangular(triangle, theta, lower=True, trans="T")

        order = np.argsort(cholesky.pivots)
        few_pairs = few_pairs._replace(
            gap=result.gap, converged=result.converged, full=result.exhausted, n_iter=n_iter
        )
        return few_pairs, cholesky.pivots[order], coef[order]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _from_pairs(problem, result):
    """Return the samples in the function of a core set, and their coefficients."""
    active = result.weights > 0
    core = result.core[active]
    a = result.weights[active]
    support, coef = problem.coefficients(core, a)
    return support, problem.best_multiple(result.values, core, a, result.rho)[1] * coef


def _graded(grades, query_ids, n):
    """Return the grades, and the queries numbered from zero.

    Raises ValueError if no query has two different grades.
    """
    queries = np.zeros(n, int)
    if query_ids is not None:
        ids = column_or_1d(query_ids)
        if len(ids) != n:
            raise ValueError(
                f"query_ids must contain the query of each of {n} samples, got {len(ids)}."
            )
        queries = np.unique(ids, return_inverse=True)[1]
    order = np.lexsort((grades, queries))
    q = queries[order]
    g = grades[order]
    of_one_query = q[1:] == q[:-1]
    if not (of_one_query & (g[1:] > g[:-1])).any():
        raise ValueError(
            f"CoreVectorRanker needs a query with two different grades, got {n} sample(s) with "
            "equal grades within each query."
        )
    return grades, queries


def _checked_pairs(pairs, n):
    pairs = np.asarray(pairs)
    two_columns = pairs.ndim == 2 and pairs.shape[1] == 2
    if not two_columns or len(pairs) == 0 or pairs.dtype.kind not in "iu":
        raise ValueError(
            "pairs must be an array of integers of shape (n_pairs, 2), got shape "
            f"{pairs.shape} of {pairs.dtype}."
        )
    inside = pairs.min() >= 0 and pairs.max() < n
    if not inside or (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError(
            f"pairs must contain the indices of two different samples out of {n} in each row."
        )
    return pairs.astype(np.int64)
