"""Core vector outlier detection: a one-class machine for large samples, on a core set."""

from numbers import Real

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.blocks_input import in_blocks
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.export import kernel_functions, one_class_machine
from skmoderndata._kernelized.landmarks import Fold, rows_in_blocks, survey_of
from skmoderndata._samples.containers import count_samples, take
from skmoderndata._solvers.common.quantities import N_FOLDS
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.kernel.novelty import (
    HELD_OUT_SAMPLES,
    LARGEST_FOLD,
    folds,
    outlier_threshold,
)
from skmoderndata._solvers.margins.core_blocks import RowSet, hinge_question
from skmoderndata._solvers.margins.core_problems import OneClassRows
from skmoderndata._solvers.margins.simplex_qp import cost_of_slack
from skmoderndata.svm._base import CORE_CONSTRAINTS, TOLD_APART, CoreVectors
from skmoderndata.svm._blocks_base import (
    IN_MEMORY,
    CoreTable,
    RowReader,
    Solution,
    hinge_answer,
    refuse_in_blocks,
    search_in_blocks,
)

# Maximum number of samples on which the cost that yields the requested slack is determined.
COST_SAMPLE = 1000


class CoreVectorOutlierDetector(CoreVectors, OutlierMixin, Base):
    r"""Detect outliers with a one-class kernel machine with squared slack, on a core set.

    The machine separates the samples from the origin of feature space, with squared slack:

    .. math::
        \min_{w, \rho}\ \tfrac12 \|w\|^2 - \rho
        + \tfrac{c}{2} \sum_i u_i \max\bigl(0,\ \rho - w^\top \phi(x_i)\bigr)^2,

    with the weights :math:`u_i` of samples. The dual is a minimum enclosing ball with a
    constrained centre, found on a core set [1]_. The cost c is set such that the mean slack is
    the fraction `slack` of the margin.

    Parameters
    ----------
    contamination : float or "auto", default=0.1
        Expected fraction of outliers among new samples from the distribution of the training
        samples, in (0, 0.5]. "auto" uses the textbook threshold rho, for which every support
        vector is an outlier.
    slack : float, default=0.05
        Mean of ``max(0, rho - w phi(x)) / rho`` over the training samples, above 0 and below 1.
        As it approaches 1, the score becomes the kernel density; near 0 the ball also contains the
        outliers, and the ranking is poor. At least this fraction of the samples are support
        vectors.
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the separating function, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    max_samples : int, default=None
        Number of random samples used for training; the remaining samples determine the threshold.
        None trains on all samples.
    tol : float, default=0.05
        Target of the relative duality gap.
    solver : {"core_set", "cvxpy"}, default="core_set"
        "core_set" is pairwise descent on the core set; "cvxpy" is a cone solver, for core sets of
        up to 2000 samples.
    sample_size : int, default=59
        Number of samples in a random draw if `batch_size` is given; the worst sample of the draw
        is selected.
    batch_size : int, default=None
        Number of samples added to the core set in each step, each the worst of `sample_size`. None
        searches growing blocks and re-evaluates only the samples near the margin.
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
    rho_ : float
        The textbook threshold :math:`\rho`.
    objective_ : float
        Value of the objective for `dual_coef_` and `rho_`, a negative number.
    slack_ : float
        Mean slack, relative to the margin.
    cost_ : float
        The cost c of one sample.
    offset_ : float
        Threshold of `score_samples`.
    dual_gap_ : float
        Relative duality gap: the difference between `objective_` and its lower bound (the value
        of the dual problem), relative to the magnitude of that bound.
    solver_ : str
        The solver that finished: `solver`, or "coordinate_descent" if more than a fifth of more
        than 2000 samples are support vectors.
    n_iter_ : int
        Number of solutions on the core set, and of sub-problems of coordinate descent.
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
    sklearn.svm.OneClassSVM : Linear slack; time at least quadratic in the number of samples.
    skmoderndata.svm.MinimumEnclosingBall : No slack, so all samples are inside.

    Notes
    -----
    On the training samples ``w phi(x_i) = rho - a_i / c``, so every support vector lies below rho.
    This does not impair the ranking, but the threshold must be determined differently. A machine
    assigns higher scores to its training samples than to new ones; the threshold is therefore a
    quantile of held-out scores. Folds of a fifth of the samples are held out, with all copies of a
    sample in one fold, and scored by a machine fitted to the remaining samples, until 500 samples
    have been held out. Among the training samples, `fit_predict` detects a smaller fraction of
    outliers than `contamination`.

    The cost is determined on 1000 samples, so `slack_` differs slightly from `slack` if there are
    more. The number of support vectors is at least ``slack n``; for many samples set
    `max_samples`, which changes the scores only by the sampling error. For up to 1000 samples the
    optimum is accurate to nine digits.

    References
    ----------
    .. [1] Tsang, Kwok and Cheung, Core vector machines: fast SVM training on very large data
       sets, Journal of Machine Learning Research 6, 2005, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.svm import CoreVectorOutlierDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(950, 2)), rng.uniform(-6, 6, size=(50, 2))])
    >>> detector = CoreVectorOutlierDetector(contamination=0.05, random_state=0).fit(X)
    >>> int((detector.predict(X) == -1).sum())
    48
    >>> detector.predict([[0.0, 0.0], [5.0, -5.0]])
    array([ 1, -1])
    """

    _card = MethodCard(
        family="margins",
        cite=("tsang2005core",),
        cost="n |S| + |S|^2",
        fits_blocks=True,
        tier="textbook",
        instead="Use LocalOutlierFactor with `novelty=True`, or LedoitWolf and its "
        "`mahalanobis`: they rank outliers better.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        **CORE_CONSTRAINTS,
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "slack": [Interval(Real, 0, 1, closed="neither")],
        "max_samples": [AT_LEAST_ONE, None],
        "solver": [StrOptions({"core_set", "cvxpy"})],
    }

    @parameters_are_named
    def __init__(
        self,
        contamination=0.1,
        *,
        slack=0.05,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        max_samples=None,
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
        self.contamination = contamination
        self.slack = slack
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_samples = max_samples
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
    def fit(self, X, y=None, sample_weight=None):
        """Fit the one-class machine, and set the threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`. A
            memory map is read in blocks, a Dask array in passes that bring the worst rows.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like or Dask array of shape (n_samples,), default=None
            Factor of the cost of each sample.

        Returns
        -------
        self : CoreVectorOutlierDetector
            The fitted estimator.
        """
        rng = check_random_state(self.random_state)
        read = RowsInBlocks if in_blocks(X, on_disk=False) else RowsInMemory
        rows = read(self, X, sample_weight, rng)

        progress = FitProgress(self, X, y, max_passes=None, task_name="core set")
        with one_blas_thread(), progress:
            # 1. solve the problem whose costs give the requested slack
            rows.choose_budget()
            solution = rows.solve(self._last_core(), progress)
            support, coef, threshold = _function_of(solution)
            gram = solution.kernel_rows.gram
            self._keep_support(gram, solution.rows.X, support, coef)
            self.support_ = solution.rows.ids[support]

            # 2. set the threshold to the margin, or by held-out scores
            self.rho_ = self.offset_ = threshold
            if self.contamination != "auto":
                scores, weights = rows.held_out(solution, progress)
                self.offset_ = outlier_threshold(scores, weights, self.contamination)

        self._store(solution, rows)
        (result,) = solution.results
        if not result.converged:
            self._warn_above_tol(result, solution.rows.X)
        return self

    def _store(self, solution, rows):
        (problem,) = solution.problems
        (result,) = solution.results
        self.core_indices_ = solution.rows.ids[np.sort(problem.row(result.core))]
        self.cost_ = float(rows.cost)
        # the value of the dual problem is -margin / 2, and the gap is relative to it
        margin = float(result.rho * problem.scale)
        self.objective_ = 0.5 * margin * (result.gap - 1.0)
        self.slack_ = min(1.0, 1.0 / (rows.budget * margin)) if margin > 0 else 1.0
        self._store_work(solution.kernel_rows, [result])
        self.n_passes_ = rows.n_passes
        self.solver_ = self._finished_by([result])
        (self._core,) = solution.cores

    def _budget(self, rows, ids, weights):
        """Return the total cost at which the mean slack on the samples `ids` is `slack`.

        Also return their kernel matrix, in units of its largest diagonal entry, and their weights
        in the solution.
        """
        K = rows.matrix(ids, ids)
        rows.gram.check_finite(K)
        unit = float(np.abs(K.diagonal()).max()) or 1.0
        if not rows.definite:
            K += K.T.copy()
            K *= 0.5
        if unit != 1.0:
            K /= unit
        budget, a = cost_of_slack(K, weights[ids] / weights[ids].sum(), self.slack)
        return budget / unit, (K, a)

    @by_rows
    def score_samples(self, X):
        """Compute scores that are small for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Weighted sums of the kernel values with the support vectors; small for outliers.
        """
        check_is_fitted(self)
        return self._function_values(checked_samples(self, X, reset=False))

    @by_rows
    def decision_function(self, X):
        """Compute scores minus the threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Negative for outliers.
        """
        return self.score_samples(X) - self.offset_

    @by_rows
    def predict(self, X):
        """Predict which samples are outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1, or -1 for outliers.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    @in_memory
    def score(self, X, y=None):
        """Compare the fraction of outliers among new samples with `contamination`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples not used in `fit`, from the same distribution.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Negative absolute difference of the two fractions, at most 0. To compare settings by
            their detection of outliers, use labelled outliers and `scoring="roc_auc"`.
        """
        expected = 0.0 if self.contamination == "auto" else self.contamination
        return -abs(float((self.predict(X) == -1).mean()) - expected)

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
            If scikit-learn's machines do not have the kernel: they have "linear", "poly", "rbf"
            and "sigmoid".
        """
        check_is_fitted(self)
        functions = kernel_functions(self, self._gram, self._basis, self.dual_coef_, 0.0)
        return one_class_machine(self, functions, self.offset_)


class RowsInMemory:
    """Samples in memory.

    Parameters
    ----------
    machine : CoreVectorOutlierDetector
        Estimator with the parameters of the fit.
    X : array-like, sparse matrix or list
        Samples.
    sample_weight : array-like or None
        Weights of the samples.
    rng : RandomState
        Source of random numbers.
    """

    def __init__(self, machine, X, sample_weight, rng):
        X = checked_samples(machine, X, reset=True)
        n = count_samples(X)

        # scale the weights to at most one, and draw max_samples of the samples if it is set
        weights = machine._checked_weights(X, sample_weight)
        weights = np.ones(n) if weights is None else weights
        peak = weights.max()
        weights = weights / peak
        kernel_rows, diagonal = machine._kernel_rows(X, weights)
        ids = np.flatnonzero(weights)
        if machine.max_samples is not None and machine.max_samples < len(ids):
            ids = np.sort(rng.choice(ids, machine.max_samples, replace=False))

        self.machine = machine
        self.X = X
        self.kernel_rows = kernel_rows
        self.diagonal = diagonal
        self.weights = weights
        self.ids = ids
        self.peak = peak
        self.rng = rng

    def choose_budget(self):
        """Choose the total cost; if all samples are used, their weights start the search."""
        ids = self.ids
        if len(ids) > COST_SAMPLE:
            ids = np.sort(self.rng.choice(ids, COST_SAMPLE, replace=False))
        self.budget, start = self.machine._budget(self.kernel_rows, ids, self.weights)
        self.start = start if len(ids) == len(self.ids) else None
        self.cost = self.budget / self.weights[self.ids].sum() / self.peak

    def solve(self, last, progress):
        """Solve the problem of the samples, starting from the state `last`."""
        problem, result = self._solve(self.ids, last, progress, self.start)
        self.n_passes = result.n_passes
        ids = np.arange(len(self.weights))
        samples = RowSet(ids, self.X, np.zeros(0), self.weights)
        core = problem.state(result.core, result.weights)
        answer = hinge_answer(problem, result)
        return Solution(
            samples, self.kernel_rows, [problem], [result], [answer], [core], result.n_passes
        )

    def _solve(self, ids, last, progress, given=None):
        """Solve the problem of some samples, with costs that sum to the budget."""
        weights = self.weights[ids]
        costs = self.budget * weights / weights.sum()
        subset = None if len(ids) == len(self.weights) else ids
        problem = OneClassRows(
            self.kernel_rows,
            costs,
            diagonal=self.diagonal,
            ids=subset,
            make_store=self.machine._all_rows(self.kernel_rows, subset, 0.0),
            given=given,
        )
        return problem, self.machine._search(problem, self.rng, progress, last=last)

    def held_out(self, solution, progress):
        """Score samples with machines that were not fitted to them; also return their weights.

        Samples outside the `max_samples` drawn are held out from the machine itself. If they are
        few, folds of the training samples are held out as well, one after another; their searches
        begin with the solution.
        """
        machine = self.machine
        rows = self.kernel_rows
        ids = self.ids
        unused = np.setdiff1d(np.flatnonzero(self.weights), ids)
        values_of_folds = [machine._function_values(take(self.X, unused))]
        held_out = [unused]
        if len(unused) < HELD_OUT_SAMPLES:
            spaced = np.linspace(0, len(ids) - 1, TOLD_APART).astype(int)
            similarities = rows.matrix(ids, ids[spaced])
            scores = rows.values(rows.expansion(machine.support_, machine.dual_coef_), ids)

            for inside, outside in folds(similarities, scores):
                problem, result = self._solve(ids[inside], solution.cores[0], progress)
                answer = hinge_answer(problem, result)
                support, coef, threshold = _function(problem, result, answer)
                # rescale, because fewer samples have a wider margin
                values = rows.values(rows.expansion(support, coef), ids[outside])
                values_of_folds.append(values * (machine.rho_ / threshold))
                held_out.append(ids[outside])

        scores = np.concatenate(values_of_folds)
        if not len(scores):  # all samples are equal
            return machine._function_values(self.X), self.weights
        return scores, self.weights[np.concatenate(held_out)]


class RowsInBlocks:
    """Rows of a Dask array; a few of them are fetched, and repeatedly the worst others.

    Parameters
    ----------
    machine : CoreVectorOutlierDetector
        Estimator with the parameters of the fit.
    X : Dask array or data frame
        Rows.
    sample_weight : array-like, Dask array or None
        Weights of the rows.
    rng : RandomState
        Source of random numbers.
    """

    def __init__(self, machine, X, sample_weight, rng):
        refuse_in_blocks(machine, **IN_MEMORY)
        blocks, weighted = rows_in_blocks(machine, X, sample_weight=sample_weight)
        survey = survey_of(machine, blocks, weighted)
        self.machine = machine
        self.reader = RowReader(type(machine).__name__, weighted)
        self.table = CoreTable(machine, blocks, survey, self.reader)
        self.rng = rng
        self.drawn = None
        if machine.max_samples is not None and machine.max_samples < survey.n_used:
            self.drawn = self.table.drawn(machine.max_samples, rng)

    def choose_budget(self):
        """Choose the total cost on a sample of the rows; fetch the rows for the start."""
        table = self.table
        drawn = self.drawn
        if drawn is None:
            ids = table.drawn(COST_SAMPLE, self.rng)
        else:
            too_many = len(drawn) > COST_SAMPLE
            ids = self.rng.choice(drawn, COST_SAMPLE, replace=False) if too_many else drawn
        rows = table.brought(ids)
        table.open(rows.X)
        kernel_rows = table.kernel_rows(rows.X)
        numbers = np.arange(len(rows.ids))
        self.budget, _ = self.machine._budget(kernel_rows, numbers, rows.costs)

        if drawn is None:
            self.rows = table.start_rows(self.rng, earlier=[self.machine._last_core()])
            self.mass = table.survey.weight
        else:
            self.rows = table.brought(drawn)
            self.mass = float(self.rows.costs.sum())
        self.cost = self.budget / self.mass

    @property
    def n_passes(self):
        """Number of passes over all rows."""
        return self.table.n_passes

    def solve(self, last, progress):
        """Solve the problem of the rows, starting from the state `last`."""
        return self._solve(self.mass, self.rows, last, progress)

    def _solve(self, mass, rows, last, progress):
        """Solve on rows of total weight `mass`, with costs that sum to the budget."""
        unit = self.budget / mass
        rows = rows._replace(costs=unit * rows.costs)
        table = self.table
        table.reader = table.reader._replace(unit=unit)

        def problem_on(kernel_rows, rows):
            make_store = self.machine._all_rows(kernel_rows, None, 0.0)
            problem = OneClassRows(
                kernel_rows, rows.costs, diagonal=table.diagonal, make_store=make_store
            )
            return [problem]

        def ask(problem, result, number):
            return hinge_question(problem, result, 0)

        return search_in_blocks(
            self.machine,
            table,
            rows,
            problem_on,
            ask,
            progress,
            self.rng,
            [last],
            all_rows=self.drawn is None,
        )

    def held_out(self, solution, progress):
        """Score rows with machines that were not fitted to them; also return their weights.

        If `max_samples` is set, rows outside the drawn sample are held out from the machine
        itself. Otherwise folds are held out; the entries of a row determine its fold.
        """
        table = self.table
        drawn = self.drawn
        n = table.survey.n_used
        function = table.expansion(self.machine._basis, self.machine.dual_coef_)
        reader = table.reader._replace(unit=1.0, fold=None)
        table.reader = reader
        known = solution.rows.ids if drawn is None else drawn
        scores = []
        weights = []
        if drawn is not None:
            fold = Fold(0.0, min(1.0, LARGEST_FOLD / n), outside=False)
            of_fold = reader._replace(fold=fold)
            scores, weights = table.blocks.sum(_scores, of_fold, function, known)

        # fit to the rows outside each fold in turn, until enough rows have been held out
        fraction = min(1 / N_FOLDS, LARGEST_FOLD / n)
        n_folds = min(N_FOLDS, -(-HELD_OUT_SAMPLES * N_FOLDS // n))
        for f in range(n_folds if drawn is None else 0):
            fold = Fold(f * fraction, (f + 1) * fraction, outside=False)
            table.reader = reader._replace(fold=fold._replace(outside=True))
            (mass,) = table.blocks.sum(_mass, table.reader)
            rows = table.brought(known)
            if len(rows.ids) == 0 or not mass > 0:
                continue
            part = self._solve(mass, rows, solution.cores[0], progress)
            support, coef, threshold = _function_of(part)
            # rescale, because fewer rows have a wider margin
            coef = coef * (self.machine.rho_ / threshold)
            of_others = table.expansion(table.gram.subset(part.rows.X, support), coef)
            more, w = table.blocks.sum(_scores, reader._replace(fold=fold), of_others, None)
            scores = scores + more
            weights = weights + w

        # with very few rows, no fold can be held out
        if not scores:
            scores, weights = table.blocks.sum(_scores, reader, function, None)
        return np.array(scores), np.array(weights)


def _function(problem, result, answer):
    """Return the sorted support, its coefficients, and the threshold of the best function."""
    used = np.flatnonzero(result.weights > 0)
    order = used[np.argsort(result.core[used])]
    threshold = 0.5 * problem.scale / answer.objective
    coef = threshold * answer.parameter / problem.scale * result.weights[order]
    return problem.row(result.core[order]), coef, threshold


def _function_of(solution):
    (parts,) = zip(solution.problems, solution.results, solution.answers, strict=True)
    return _function(*parts)


def _mass(block, reader):
    """Sum the weights of a block."""
    return (float(reader.read(block.arrays)[2].sum()),)


def _scores(block, reader, function, known):
    """List scores and weights of the rows of a block with positive weight, except `known`."""
    X, _, weights = reader.read(block.arrays)
    scored = np.flatnonzero(weights > 0)
    if known is not None:
        scored = scored[~np.isin(scored + block.first, known)]
    return function.values(X[scored]).tolist(), weights[scored].tolist()
