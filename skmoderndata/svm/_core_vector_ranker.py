"""Core vector ranking: a kernel function that puts samples into order, on a core set of pairs."""

from numbers import Integral

import numpy as np
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
    fit_context,
)
from skmoderndata._registry import MethodCard
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.margins.core_problems import GivenPairs, GradedRows, pair_order
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


class CoreVectorRanker(KernelSamples, CallbackSupportMixin, Base):
    r"""Kernel function that orders samples, learned from graded samples or from pairs.

    Minimises, over functions :math:`f(x) = w^\top \phi(x)`,

    .. math::
        \min_w\ \tfrac12 \|w\|^2 + C \sum_{i \succ j}
        \max\bigl(0,\ 1 - f(x_i) + f(x_j)\bigr)^2

    over all pairs of samples of the same query with different grades, or over given pairs. The
    pairs are never listed: the worst partner of each sample is found by one sorted scan, and the
    sum is computed in ``n log n`` steps. The dual is a minimum enclosing ball with a constrained
    centre, found on a core set of pairs [1]_.

    Parameters
    ----------
    C : float, default=0.01
        Cost of a pair that is not in order by a margin of one.
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
    tol : float, default=0.05
        Relative duality gap to reach.
    solver : {"core_set", "cvxpy"}, default="core_set"
        Pairwise descent on the core set, or a cone solver, for core sets up to 2000 samples.
    sample_size : int, default=59
        Samples in a draw, in whole queries where they are short.
    batch_size : int, default=None
        How many join the core set at a time, each the worst of `sample_size`; None searches
        growing blocks and re-scores those near the margin only.
    max_core : int, default=None
        Largest core set; its square is the memory needed. None sets no limit.
    max_iter : int, default=10000
        Largest number of times the problem is solved on a core set.
    warm_start : bool, default=False
        Begin with the core set of the last call of `fit`, which had the same pairs.
    random_state : int, RandomState instance or None, default=None
        Draws the samples.
    n_jobs : int, default=None
        Threads for kernel values. Results do not depend on it.

    Attributes
    ----------
    core_pairs_ : ndarray of shape (n_core, 2)
        Pairs of training samples in the core set, the upper one first.
    support_ : ndarray of shape (n_support,)
        Training samples in a pair with weight.
    support_vectors_ : array, sparse matrix or list of n_support samples
        The samples themselves; empty when the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients of the kernels.
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
    sklearn.svm.LinearSVC : On differences of pairs, the same problem for the linear kernel.
    skmoderndata.svm.CoreVectorMachine : Labels instead of an order.

    Notes
    -----
    The number of pairs is quadratic in the samples of a query; every pair closer than the margin
    has a weight, so that C is to be chosen smaller than for a classifier. Scores are defined up
    to a constant, and comparable within a query only. Small problems, up to 2000 pairs, are
    solved to rounding.

    References
    ----------
    .. [1] Tsang, Kwok and Zurada, Generalized core vector machines, IEEE Transactions on Neural
       Networks 17(5), 2006, section III.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.svm import CoreVectorRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(400, 2))
    >>> grade = np.digitize(np.sin(X[:, 0]) + 0.3 * X[:, 1], [-0.7, 0, 0.7])
    >>> ranker = CoreVectorRanker(gamma=0.5, random_state=0).fit(X[:300], grade[:300])
    >>> bool(ranker.score(X[300:], grade[300:]) > 0.95)
    True
    """

    _card = MethodCard(
        family="margins",
        cite=("tsang2006generalized",),
        cost="n |S| + |S|^2",
        checks=(
            {},
            {"kernel": "linear", "C": 0.1, "tol": 1e-3},
        ),
    )
    _parameter_constraints = {
        "C": [POSITIVE],
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
        C=0.01,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        tol=0.05,
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
    def fit(self, X, y=None, *, query_ids=None, pairs=None):
        """Learn the order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples (a list for kernels on other objects; all similarities when the
            kernel is precomputed).
        y : array-like of shape (n_samples,), default=None
            Grades, higher is better. Not needed with `pairs`.
        query_ids : array-like of shape (n_samples,), default=None
            Samples are compared within a query only; None is one query.
        pairs : array-like of shape (n_pairs, 2), default=None
            Rows (i, j): sample i is to be above sample j. Grades are ignored then.

        Returns
        -------
        self : CoreVectorRanker
            The fitted estimator.
        """
        if y is None and pairs is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give "
                "the grades of the samples, or pairs."
            )
        if y is None:
            X = self._samples(X, reset=True)
        else:
            X = self._samples(X, y, reset=True, y_numeric=True)
            X, y = X if isinstance(X, tuple) else (X, column_or_1d(y, warn=True))
        n = count_samples(X)
        gram = self._resolve(X)
        rows = KernelRows(gram, X, n_jobs=self.n_jobs)
        rng = check_random_state(self.random_state)
        with (
            one_blas_thread(),
            FitProgress(self, X, y, max_passes=self.max_iter, task_name="core set") as progress,
        ):
            diagonal = largest_diagonal(rows)
            if not np.isfinite(diagonal):
                raise ValueError(
                    f"kernel={self.kernel!r} gives values that are not finite: rescale X."
                )
            if pairs is not None:
                pairs = _checked_pairs(pairs, n)
                problem = GivenPairs(rows, pairs, 2.0 * self.C, diagonal=diagonal)
            else:
                grades, queries = _graded(y, query_ids, n)
                problem = GradedRows(rows, grades, queries, 2.0 * self.C, diagonal=diagonal)
            found = self._solve(problem, rng, progress)
        self.core_pairs_ = np.stack(problem.ends(found.core), axis=1)
        active = found.weights > 0
        support, coef = problem.coefficients(found.core[active], found.weights[active])
        used = coef != 0
        self.support_ = support[used]
        # the scaled kernel is 1 / scale of it: margin 1 in the kernel itself
        self.dual_coef_ = coef[used] / found.rho if found.rho > 0 else 0.0 * coef[used]
        self._gram, self._basis = gram, gram.subset(X, self.support_)
        self.support_vectors_ = np.zeros((0, 0)) if gram.precomputed else self._basis
        self.dual_gap_ = float(found.gap)
        self.n_iter_, self.n_passes_ = found.n_iter, found.n_passes
        self.n_kernel_evaluations_ = int(rows.n_evaluations)
        self._core = self.core_pairs_, found.weights
        if not found.converged:
            warn_not_converged(
                self,
                reached=f"with {len(found.core)} core pairs after {found.n_iter} solutions the "
                f"relative duality gap is {found.gap:.1e} (tol={self.tol:g})",
                remedy="raise max_core" if found.full else "raise max_iter or tol",
            )
        return self

    def predict(self, X):
        """Scores by which samples are ordered.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The higher, the better; a difference of one is a margin.
        """
        check_is_fitted(self)
        X = self._samples(X, reset=False)
        expansion = Expansion(self._gram, self._basis, self.dual_coef_)
        return expansion.values(X, n_jobs=self.n_jobs)

    def score(self, X, y, query_ids=None):
        """Share of the pairs with different grades that are in order, ties counting half.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Grades.
        query_ids : array-like of shape (n_samples,), default=None
            Samples are compared within a query only.

        Returns
        -------
        score : float
            Between 0 and 1; one half is chance. Kendall's tau (without ties) is twice this less
            one. One half where no two grades differ.
        """
        scores = self.predict(X)
        y = column_or_1d(y)
        queries = np.zeros(len(y)) if query_ids is None else column_or_1d(query_ids)
        queries = np.unique(queries, return_inverse=True)[1]
        right, tied, every = pair_order(queries, np.asarray(y, dtype=np.float64), scores)
        return (right + 0.5 * tied) / every if every else 0.5

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _graded(y, query_ids, n):
    """Grades, and queries numbered from zero; ValueError when no two grades differ in any."""
    queries = np.zeros(n, int)
    if query_ids is not None:
        ids = column_or_1d(query_ids)
        if len(ids) != n:
            raise ValueError(
                f"query_ids has to name the query of each of {n} samples, got {len(ids)}."
            )
        queries = np.unique(ids, return_inverse=True)[1]
    grades = np.asarray(y, dtype=np.float64)
    order = np.lexsort((grades, queries))
    q, g = queries[order], grades[order]
    if not ((q[1:] == q[:-1]) & (g[1:] > g[:-1])).any():
        raise ValueError(
            f"CoreVectorRanker needs a query with two different grades, got {n} sample(s) of "
            "equal grades within their queries."
        )
    return grades, queries


def _checked_pairs(pairs, n):
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0 or pairs.dtype.kind not in "iu":
        raise ValueError(
            "pairs has to be an array of integers of shape (n_pairs, 2), got shape "
            f"{pairs.shape} of {pairs.dtype}."
        )
    if pairs.min() < 0 or pairs.max() >= n or (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError(f"pairs has to name two different samples out of {n} in each row.")
    return pairs.astype(np.int64)
