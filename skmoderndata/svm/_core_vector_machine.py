"""Core vector machine: kernel classification of large samples on a core set."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.blocks_input import in_blocks
from skmoderndata._estimator.compat import POSITIVE, StrOptions, fit_context
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.doubt import EVIDENCE, record_doubt
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples_and_target
from skmoderndata._kernelized.landmarks import rows_in_blocks
from skmoderndata._kernelized.machines import MachineClassifierMixin
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.margins.core_blocks import hinge_question
from skmoderndata._solvers.margins.core_problems import SignedRows
from skmoderndata.svm._base import CORE_CONSTRAINTS, CoreVectors
from skmoderndata.svm._blocks_base import (
    IN_MEMORY,
    SEARCHES,
    CoreTable,
    RowReader,
    SamplesInMemory,
    hinge_answer,
    refuse_in_blocks,
    survey_of_classes,
)


class CoreVectorMachine(CoreVectors, MachineClassifierMixin, Base):
    r"""Kernel classifier with squared hinge loss, trained on a small core set of the samples.

    The class minimises the squared hinge loss with a penalised offset, like
    `LinearSVC(loss="squared_hinge")`, but for any kernel:

    .. math::
        \min_{w, b}\ \tfrac12 \bigl(\|w\|^2 + b^2\bigr)
        + C \sum_i u_i \max\bigl(0,\ 1 - y_i (w^\top \phi(x_i) + a b)\bigr)^2,

    with the weights :math:`u_i` of samples and classes and the constant a, `intercept_scaling`.
    Its dual is a minimum enclosing ball problem in a feature space, with a constraint on the
    centre. The solver computes the ball of a core set of few samples, to which it repeatedly adds
    the samples farthest from the centre [1]_. Several classes are treated one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Cost of violations of the margin, above 0. Larger values allow fewer training errors.
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
    tol : float, default=0.05
        Target of the relative duality gap.
    radius_tol : float, default=None
        If given, `fit` uses the published stopping rule instead of `tol`: it stops when no sample
        among random draws is farther from the centre than ``1 + radius_tol`` radii, which then
        holds for about 99 % of all samples. See Notes.
    solver : {"core_set", "ball", "cvxpy"}, default="core_set"
        "core_set" computes exact weights on the core set by pairwise descent. "ball" shifts a ball
        of fixed radius [2]_, for kernels with constant ``k(x, x)`` and without weights. "cvxpy" is
        a cone solver, for core sets of up to 2000 samples.
    fit_intercept : bool, default=True
        Whether to fit an offset.
    intercept_scaling : float, default=1.0
        The constant a, above 0. Larger values penalise the offset less.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class.
    sample_size : int, default=59
        Number of samples in a random draw if `batch_size` is given; the worst sample of the draw
        is selected. With 59, it is among the worst five per cent of all samples with probability
        0.95.
    batch_size : int, default=None
        Number of samples added to the core set in each step, each the worst of `sample_size`; 1 is
        the published method. None searches growing blocks and re-evaluates only the samples near
        the margin.
    max_core : int, default=None
        Largest size of the core set; None means no limit.
    max_iter : int, default=10000
        Largest number of solutions on core sets.
    cache_size : float, default=500
        Memory for kernel values of the core set, in MB. A problem whose matrix is larger is
        decomposed into blocks; the result is equally accurate, but takes longer.
    warm_start : bool, default=False
        Whether to start from the core set of the last call of `fit`, which must have used the same
        samples.
    random_state : int, RandomState instance or None, default=None
        Controls the random samples. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads: for the classes if there are more than two, otherwise for kernel values.
        Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    core_indices_ : ndarray of shape (n_core,)
        Indices of the training samples in the core sets.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the training samples.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_classifiers, n_support)
        Coefficients of the support vectors: one row for two classes, otherwise one per class.
    intercept_ : ndarray of shape (n_classifiers,)
        Offsets of the decision functions.
    coef_ : ndarray of shape (n_classifiers, n_features)
        Weights of the features, for the linear kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    rho_ : ndarray of shape (n_classifiers,)
        Margin when the weights of a core set are scaled to sum to one.
    radius_ : ndarray of shape (n_classifiers,)
        Radius of the enclosing ball in feature space.
    margin_tolerance_ : ndarray of shape (n_classifiers,)
        Largest violation of the margin by a sample outside the core set, relative to the margin.
    dual_gap_ : float
        Relative duality gap, the maximum over classifiers: an upper bound on the relative
        suboptimality of the objective.
    objective_ : float
        Value of the dual problem, a lower bound of the minimum; the sum over classifiers.
    solver_ : str
        The solver that finished: `solver`, or "coordinate_descent" if, for any classifier, more
        than a fifth of the samples were support vectors (for a Dask array, a fifth of the rows
        fetched from it). See Notes.
    n_iter_ : int
        Number of solutions on core sets, and of sub-problems of coordinate descent; the maximum
        over classifiers.
    n_passes_ : int
        Number of passes over all samples for the certificates.
    n_kernel_evaluations_ : int
        Number of kernel values computed.
    doubt_ : str or None
        Reason to doubt the result, with a remedy: most of the objective is unproven
        (`dual_gap_`). None if there is none.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.SVC : Hinge loss, free offset; time at least quadratic in the samples.
    sklearn.svm.LinearSVC : The same problem for the linear kernel.
    skmoderndata.svm.MinimumEnclosingBall : The underlying geometric problem.

    Notes
    -----
    The search evaluates blocks of samples in single precision, and samples near the margin
    whenever the core set changes. The last pass, in double precision, gives the duality gap. For
    up to 2000 samples there is no search: all classifiers use one kernel matrix, and the gap is
    far below `tol`, or at rounding level for up to 100 samples. For more samples and a core set S,
    time is about ``n |S| cost(k)``, and memory is ``8 |S|^2`` bytes (limited by `cache_size`) plus
    three numbers per sample; the training data may be a memory map and are read in blocks.

    Every sample inside the margin is a support vector, so S grows with n if the classes overlap.
    If more than a fifth of the samples evaluated so far are support vectors, coordinate descent
    over all samples continues from their weights, with the rows of the kernel matrix stored in
    single precision in `cache_size` megabytes; time is then about ``n^2 cost(k)``. The core set is
    kept if you set `max_core`, `radius_tol`, `batch_size`, another `solver` or a `tol` below 1e-6.
    For a million samples of overlapping classes, set `max_core`.

    The published rule is relative to the radius, but the margin is a tiny fraction of the radius:
    ``radius_tol=1e-6`` means 5 % of a margin at ten thousand samples and more than one at a
    million [3]_. `dual_gap_` shows the effect, and `fit` warns if `radius_tol` exceeds one
    margin.

    A sample of weight two counts as two samples; a sample of weight zero is ignored. There is no
    `predict_proba`; use ``CalibratedClassifierCV(CoreVectorMachine(), ensemble=False)`` of
    `sklearn.calibration`.

    References
    ----------
    .. [1] Tsang, Kwok and Cheung, Core vector machines: fast SVM training on very large data
       sets, Journal of Machine Learning Research 6, 2005, pp. 363-392, Algorithm 1.
    .. [2] Tsang, Kocsor and Kwok, Simpler core vector machines with enclosing balls, ICML 2007.
    .. [3] Loosli and Canu, Comments on the core vector machines, Journal of Machine Learning
       Research 8, 2007, pp. 291-301.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.svm import CoreVectorMachine
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, size=(20_000, 2))
    >>> y = X.astype(int).sum(axis=1) % 2            # the fields of a checkerboard
    >>> model = CoreVectorMachine(C=50, gamma=4, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    1.0
    >>> round(len(model.support_), -2)              # of 20,000 samples
    800
    """

    _card = MethodCard(
        family="margins",
        cite=("tsang2005core", "tsang2007simpler", "loosli2007comments"),
        cost="n |S| + |S|^2",
        fits_blocks=True,
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        **CORE_CONSTRAINTS,
        "C": [POSITIVE],
        "radius_tol": [POSITIVE, None],
        "solver": [StrOptions({"core_set", "ball", "cvxpy"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [POSITIVE],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @parameters_are_named
    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        tol=0.05,
        radius_tol=None,
        solver="core_set",
        fit_intercept=True,
        intercept_scaling=1.0,
        class_weight=None,
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
        self.tol = tol
        self.radius_tol = radius_tol
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
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
        """Maximise the margin on core sets of the samples.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`. A
            memory map is read in blocks, a Dask array in passes that bring the worst rows.
        y : array-like or Dask array of shape (n_samples,)
            Labels.
        sample_weight : array-like or Dask array of shape (n_samples,), default=None
            Factor of `C` for each sample.

        Returns
        -------
        self : CoreVectorMachine
            The fitted estimator.
        """
        rng = check_random_state(self.random_state)
        read = self._rows_in_blocks if in_blocks(X, on_disk=False) else self._rows_in_memory
        table = read(X, y, sample_weight, rng)
        earlier = self._earlier(len(self._codes_of_functions()))
        with one_blas_thread():
            solution = table.search(
                self,
                self._problems,
                hinge_answer,
                self._question,
                rng,
                earlier,
                eps=self.radius_tol,
            )
        self._store(solution)
        record_doubt(self, self._doubt_of_gap())
        self._warn(solution.results, solution.rows.X)
        return self

    def _rows_in_memory(self, X, y, sample_weight, rng):
        X, y = checked_samples_and_target(self, X, y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        codes = codes.astype(np.int32 if len(classes) > 127 else np.int8)
        weights = self._weights(X, y, classes, codes, sample_weight)

        # require at least two classes of positive weight
        active = None if weights is None or weights.min() > 0 else np.flatnonzero(weights)
        counts = np.bincount(
            codes if active is None else codes[active], minlength=len(classes)
        )
        self._keep_classes(classes, counts > 0, weighted=active is not None)

        # the published algorithm with a ball needs the exact largest diagonal entry of the kernel
        sure = self.radius_tol is not None or self.solver == "ball"
        rows, diagonal = self._kernel_rows(X, weights, sure=sure)
        if weights is None:
            costs = self._costs(1.0)
        else:
            costs = self._costs(weights if active is None else weights[active])
        if self.solver == "ball":
            self._check_ball(rows, weights)
        return SamplesInMemory(rows, codes, costs, diagonal, active, (X, y))

    def _rows_in_blocks(self, X, y, sample_weight, rng):
        # check labels and weights
        refuse_in_blocks(self, radius_tol=(None, SEARCHES), **IN_MEMORY)
        blocks, weighted = rows_in_blocks(self, X, y, sample_weight=sample_weight)
        surveys = survey_of_classes(self, blocks, weighted)
        labels = np.array(sorted(surveys.of))
        masses = np.array([surveys.of[label][0].weight for label in labels])
        factors = self._factors(labels, masses)
        present = masses * factors > 0
        self._keep_classes(labels, present, weighted=not present.all())

        # fetch rows of each class for the start
        survey = surveys.total(self.classes_, factors)
        unit = float(self._costs(1.0))
        self._costs(survey.heaviest)
        reader = RowReader(
            type(self).__name__, weighted, classes=self.classes_, factors=factors, unit=unit
        )
        table = CoreTable(self, blocks, survey, reader, (X, y))
        firsts = [surveys.of[label][1] for label in self.classes_[present]]
        table.start(rng, firsts, self._earlier(len(self._codes_of_functions())))
        return table

    def _problems(self, rows, codes, costs, active, diagonal):
        """Return a problem for two classes, or one problem for each of more classes."""
        bias = self.intercept_scaling**2 if self.fit_intercept else 0.0
        classes = self._codes_of_functions()
        shared = len(classes) > 1
        signs = [np.where(codes == code, 1, -1).astype(np.int8) for code in classes]
        first = SignedRows(
            rows,
            signs[0],
            costs,
            bias=bias,
            diagonal=diagonal,
            ids=active,
            make_store=self._all_rows(rows, active, bias, shared=shared),
        )
        return [first.relabelled(class_signs) for class_signs in signs]

    def _question(self, problem, result, number):
        """Return the question about the function of a class that a pass answers."""
        return hinge_question(problem, result, self._codes_of_functions()[number])

    def _factors(self, classes, masses):
        """Return the cost factor of each class, given the total weight of each class."""
        if self.class_weight is None:
            return np.ones(len(classes))
        with np.errstate(divide="ignore"):  # the factor of a class without weight is infinite
            factors = compute_class_weight(
                self.class_weight, classes=classes, y=classes, sample_weight=masses
            )
        return np.where(np.isfinite(factors), factors, 1.0)

    def _codes_of_functions(self):
        """Return the codes of the classes with a function: the second of two, or all present."""
        present = np.arange(len(self.classes_)) if self._present is None else self._present
        return present[1:] if len(present) == 2 else present

    def _weights(self, X, y, classes, codes, sample_weight):
        """Return sample weights times class weights, or None if all are one."""
        weights = self._checked_weights(X, sample_weight)
        if self.class_weight is not None:
            with np.errstate(
                divide="ignore"
            ):  # the factor of a class without weight is infinite
                factors = compute_class_weight(
                    self.class_weight, classes=classes, y=y, sample_weight=weights
                )
            factors = np.where(np.isfinite(factors), factors, 1.0)
            weights = factors[codes] if weights is None else weights * factors[codes]
        return weights

    def _check_ball(self, rows, weights):
        if not rows.gram.constant_diagonal or weights is not None:
            obstacle = "weights" if rows.gram.constant_diagonal else f"kernel={self.kernel!r}"
            raise ValueError(
                f"{type(self).__name__}(solver='ball') needs points at equal distance from the "
                f"origin, as with kernel='rbf' and without weights; got {obstacle}: use "
                "solver='core_set'."
            )

    def _earlier(self, count):
        """Return the core sets of the last call, if they can be used."""
        last = getattr(self, "_cores", None) if self.warm_start else None
        return [None] * count if last is None or len(last) != count else last

    def _store(self, solution):
        rows = solution.rows
        results = solution.results
        problems = solution.problems
        pairs = list(zip(problems, results, strict=True))
        bias = problems[0].bias

        # collect the support vectors and the core sets of all pairs of classes
        support = [problem.row(r.core[r.weights > 0]) for problem, r in pairs]
        all_support = np.unique(np.concatenate(support))
        core = np.unique(np.concatenate([problem.row(r.core) for problem, r in pairs]))
        self.core_indices_ = rows.ids[core]
        self._cores = solution.cores

        # compute the dual coefficients and the intercepts
        dual_coef = np.zeros((len(results), len(all_support)))
        self.intercept_ = np.zeros(len(results))
        for k, (problem, result) in enumerate(pairs):
            used = result.weights > 0
            # the scaled kernel is 1 / scale times the kernel
            signed = result.weights[used] * problem.signs[result.core[used]]
            coef = solution.answers[k].parameter / problem.scale * signed
            dual_coef[k, np.searchsorted(all_support, support[k])] = coef
            self.intercept_[k] = bias * coef.sum()

        # store the support vectors and the margins
        gram = solution.kernel_rows.gram
        self._keep_support(gram, rows.X, all_support, dual_coef)
        self.support_ = rows.ids[all_support]
        scales = np.array([problem.scale for problem in problems])
        self.rho_ = np.array([r.rho for r in results]) * scales
        # a margin that is zero up to rounding errors certifies nothing
        self.objective_ = float(np.sum(0.5 / self.rho_[self.rho_ > 0]))
        largest = np.array([p.largest_diagonal for p in problems])
        self.radius_ = np.sqrt(np.maximum(0.0, largest * scales - self.rho_))
        self.margin_tolerance_ = np.array([r.violation for r in results])
        self.n_support_ = np.bincount(rows.target[all_support], minlength=len(self.classes_))

        # store the work that was done
        self._store_work(solution.kernel_rows, results)
        self.n_passes_ = solution.n_passes
        self.solver_ = self._finished_by(results)
        if gram.kernel == "linear":
            coef = self.dual_coef_ @ self._basis
            self.coef_ = coef.toarray() if sparse.issparse(coef) else np.asarray(coef)

    def _doubt_of_gap(self):
        """Return a doubt if the search ended far from the optimum."""
        if self.dual_gap_ <= EVIDENCE.unproven:
            return None
        return (
            f"The relative duality gap is {self.dual_gap_:.1g}, so the machine may be far from "
            "the optimum, and other core sets would predict other labels: increase max_core or "
            "max_iter, or set radius_tol=None."
        )

    def _warn(self, results, X):
        worst = max(results, key=lambda r: (not r.converged, r.gap))
        if not worst.converged:
            self._warn_above_tol(worst, X, violation=True)
        elif self.radius_tol is not None and self.solver != "ball":
            # half the excess of the squared radius that is tolerated, in units of the margin
            tolerated = self.radius_tol + 0.5 * self.radius_tol**2
            tolerated *= (self.radius_**2 / self.rho_).max()
            if tolerated > 1:
                warnings.warn(
                    f"{type(self).__name__}(radius_tol={self.radius_tol:g}) tolerates violations "
                    f"of the margin by {tolerated:.2g} margins here, and the relative duality gap "
                    f"is {self.dual_gap_:.2g}; lower radius_tol, or use tol instead.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
