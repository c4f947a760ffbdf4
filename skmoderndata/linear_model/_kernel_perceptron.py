"""Kernel perceptron: batch or online, averaged, or with a budget."""

from dataclasses import replace
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import (
    checked_samples,
    checked_samples_and_target,
    resolved_gram,
)
from skmoderndata._kernelized.expansion import Expansion
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.machines import MACHINE_CONSTRAINTS, KernelMachine
from skmoderndata._kernelized.mixins import KernelClassifierMixin
from skmoderndata._kernelized.online import BLOCK_SAMPLES, Stream
from skmoderndata._samples.containers import take
from skmoderndata._solvers.common.iterate import Iterations
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.margins.online import Expanded, perceptron_block, projectron_block


class State(NamedTuple):
    """Model after the samples seen so far; each pass makes a new state."""

    stream: Stream
    # if True, weights define the functions, and the stream only counts the samples
    primal: bool
    weights: np.ndarray  # weights of features and offset, (n_functions, n_features + 1)
    # sum of the changes of the weights, each multiplied by the time of the change
    late: np.ndarray
    sizes: np.ndarray  # sum of the step sizes of each function
    squares: np.ndarray  # sum of the squared step sizes of each function
    radius_sq: float  # largest k(x, x)

    def after(self, stream, sizes, squares):
        """Return the state after a pass that made steps of these sizes."""
        sizes = self.sizes + sizes
        squares = self.squares + squares
        return self._replace(stream=stream, sizes=sizes, squares=squares)

    def margin_bound(self):
        """Bound the margin of any function of norm one from above, by Novikoff's theorem."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.sqrt(self.radius_sq * self.squares) / self.sizes
        return np.where(self.sizes > 0, bound, np.inf)


class KernelPerceptron(KernelMachine, KernelClassifierMixin, Base):
    r"""Kernel perceptron: a classifier that is updated only on mistakes.

    The perceptron [1]_ [2]_ processes the samples in turn. If the value
    :math:`f(x_i) = \sum_j a_j k(x_j, x_i)` of a sample is zero or has the wrong sign, then
    :math:`a_i \leftarrow a_i + c_i y_i`, with the weight :math:`c_i` of the sample, 1 by default.
    If a function of norm one separates the classes with margin :math:`\gamma`, there are at most
    :math:`R^2 / \gamma^2` mistakes without weights, for samples of norm at most R. More than two
    classes are treated one against the rest.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel: a name from `sklearn.metrics.pairwise`, a kernel object, a callable that returns
        the Gram matrix of two sets of samples, or "precomputed". "linear" without a budget stores
        the weights of the features and no samples.
    gamma : float, "scale" or "auto", default="scale"
        Kernel coefficient of the named kernels; "scale" is ``1 / (n_features * X.var())``,
        computed from the first batch in `partial_fit`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further parameters of a named kernel or a callable.
    fit_intercept : bool, default=True
        Whether to add 1 to the kernel, which gives an intercept.
    max_iter : int, default=100
        Maximum number of passes of `fit` over the samples; it stops after a pass without mistakes.
    average : bool, default=False
        Whether to predict with the average of all functions during training, which has a smaller
        variance than the last function. It stores every sample that was ever misclassified.
    budget : int, default=None
        Maximum number of samples that each function stores; None means no limit. Not allowed with
        `average`.
    budget_policy : {"project", "oldest", "smallest"}, default="project"
        Treatment of a mistake when the budget is exhausted. "project" projects the sample onto the
        span of the stored samples [3]_; "oldest" and "smallest" add the sample and remove the
        oldest sample or the sample with the smallest norm. "project" also projects samples whose
        distance from the span is at most a thousandth of their norm.
    shuffle : bool, default=True
        Whether `fit` shuffles the samples before each pass.
    early_stopping : bool, default=False
        Whether `fit` holds out a fraction of each class and stops when the accuracy on it has not
        increased for `n_iter_no_change` passes. The final function is used, as in scikit-learn's
        `Perceptron`. Not allowed in `partial_fit`.
    validation_fraction : float, default=0.1
        Fraction of the samples that `early_stopping` holds out.
    n_iter_no_change : int, default=5
        Number of passes without a higher accuracy after which `early_stopping` stops.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights; "balanced" means
        ``n_samples / (n_classes * np.bincount(y))``. `partial_fit` requires a dict or None.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the held-out fraction and the order of the samples. Pass an int for
        reproducible results.
    n_jobs : int, default=None
        Number of threads that evaluate the functions at new samples; results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a non-zero coefficient; only after `fit`, and not if
        only `coef_` is stored.
    support_vectors_ : array, sparse matrix or list of n_support samples
        Support vectors; empty if the kernel is precomputed or only weights of features are stored.
    dual_coef_ : ndarray of shape (n_functions, n_support)
        Coefficients of the support vectors: one row for two classes, otherwise one per class.
    coef_ : ndarray of shape (n_functions, n_features)
        Weights of the features; only for the linear kernel without a budget.
    intercept_ : ndarray of shape (n_functions,)
        Offsets of the functions.
    margin_bound_ : ndarray of shape (n_functions,)
        Upper bound on the margin that any function of norm one, including its offset, has on the
        samples seen: ``R / sqrt(mistakes)``, or ``R * sqrt(sum of c^2) / sum of c`` over the
        mistakes with weights c. Infinite before the first mistake, and with a budget, for which no
        bound holds.
    mistakes_ : list of int
        Number of mistakes of all functions in each pass.
    n_updates_ : int
        Total number of mistakes.
    n_iter_ : int
        Number of passes.
    validation_scores_ : list of float
        Accuracy on the held-out fraction after each pass; empty without `early_stopping`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.linear_model.Perceptron : Runs the same algorithm for the linear kernel.
    skmoderndata.ranking.KernelPRank : Is the counterpart for ordered classes.
    sklearn.svm.SVC : Maximises the margin in a batch optimisation.

    Notes
    -----
    The method solves no optimisation problem. The certificate is `margin_bound_`, which inverts
    Novikoff's theorem and holds whether or not the passes have converged. Each pass needs one
    kernel value for each sample and support vector. `fit` warns if the last pass had mistakes,
    unless `average`, `budget` or `early_stopping` is set, which do not need a pass without
    mistakes.

    References
    ----------
    .. [1] Freund and Schapire, Large margin classification using the perceptron algorithm,
       Machine Learning 37(3), 1999, pp. 277-296.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Algorithm
       7.52.
    .. [3] Orabona, Keshet and Caputo, Bounded kernel-based online learning, Journal of Machine
       Learning Research 10, 2009, pp. 2643-2666.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmoderndata.linear_model import KernelPerceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelPerceptron(average=True, max_iter=3, random_state=0).fit(X[:900], y[:900])
    >>> round(model.score(X[900:], y[900:]), 2)
    0.94
    """

    _card = MethodCard(
        family="margins",
        cite=("freund1999large", "orabona2009bounded", "shawetaylor2004kernel"),
        cost="T n |S|",
        tier="textbook",
        instead="Use SVC, or Nystroem with SGDClassifier for streams: both end at a margin "
        "instead of the last mistake.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "fit_intercept": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "average": ["boolean"],
        "budget": [AT_LEAST_ONE, None],
        "budget_policy": [StrOptions({"project", "oldest", "smallest"})],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [AT_LEAST_ONE],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "n_jobs": MACHINE_CONSTRAINTS["n_jobs"],
    }

    @parameters_are_named
    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        fit_intercept=True,
        max_iter=100,
        average=False,
        budget=None,
        budget_policy="project",
        shuffle=True,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.average = average
        self.budget = budget
        self.budget_policy = budget_policy
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Update the functions on each mistake, in up to `max_iter` passes over the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, which multiply the steps; a sample of weight zero is ignored.

        Returns
        -------
        self : KernelPerceptron
            The fitted estimator.
        """
        X, y = checked_samples_and_target(self, X, y)
        check_classification_targets(y)
        classes = np.unique(y)
        weights = self._weights_of(X, sample_weight)
        costs = self._class_weighted(y, weights, classes)
        active = np.flatnonzero(costs)
        self._keep_classes(classes, np.isin(classes, y[active]), weighted=len(active) < len(y))

        rng = check_random_state(self.random_state)
        state = self._begin(X, costs)
        steps = self._signed_steps(y, costs, self._present_classes)
        train, held_out = self._split(y, active, rng)

        # Make passes until there are no mistakes, or no gain on held-out samples.
        mistakes = []
        scores = []
        waited = 0
        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            it = Iterations(self.max_iter, 0.0, progress)
            for _ in it:
                order = rng.permutation(train) if self.shuffle else train
                state, n_wrong = self._one_pass(state, X, steps, order)
                state = state._replace(stream=state.stream.gathered())

                mistakes.append(n_wrong)
                it.residual = n_wrong

                if self.early_stopping:
                    self._keep(state, mistakes)
                    values = self._values(take(X, held_out))
                    labels = self._decided(values)
                    weight = weights[held_out]
                    score = accuracy_score(y[held_out], labels, sample_weight=weight)
                    improved = score > max(scores, default=-1.0)
                    waited = 0 if improved else waited + 1
                    scores.append(float(score))
                    it.ended = waited >= self.n_iter_no_change

        self._keep(state, mistakes)
        self.validation_scores_ = scores
        if not self._primal:
            self.support_ = state.stream.index[self._used]

        # With averages or a budget, there may still be mistakes in the last pass.
        steady = self.early_stopping or self.average or self.budget is not None
        if mistakes[-1] and not steady:
            warn_not_converged(
                self,
                reached=f"the last of {self.n_iter_} passes made {mistakes[-1]} mistakes",
                remedy="increase max_iter, set average=True, or use a kernel that separates the "
                "classes",
            )
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Update the functions with one pass over further samples, in the order of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All class labels; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, which multiply the steps; a sample of weight zero is ignored.

        Returns
        -------
        self : KernelPerceptron
            The updated estimator.
        """
        name = type(self).__name__
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                f"{name}.partial_fit needs a kernel that can be evaluated for samples of "
                "different calls, got kernel='precomputed'."
            )

        if self.early_stopping:
            raise ValueError(
                f"{name}.partial_fit holds out no samples: set early_stopping=False."
            )

        if isinstance(self.class_weight, str):
            raise ValueError(
                f"{name}.partial_fit does not support class_weight='balanced', because the class "
                "frequencies are unknown: pass a dict, for example from "
                "sklearn.utils.compute_class_weight on a sample of the labels."
            )

        # The first call sets the classes; later calls continue from the last state.
        first = not hasattr(self, "_state")
        if first and classes is None:
            raise ValueError(f"{name}.partial_fit: pass all classes in the first call.")
        X, y = checked_samples_and_target(self, X, y, reset=first)
        labels = np.unique(classes) if first else self._present_classes
        check_classification_targets(y)

        unknown = np.setdiff1d(y, labels)
        if len(unknown):
            raise ValueError(
                f"y contains {unknown[0]!r}, which is not among the classes {labels.tolist()}."
            )
        weights = self._class_weighted(y, self._weights_of(X, sample_weight), labels)
        steps = self._signed_steps(y, weights, labels)

        if first:
            self._keep_classes(labels, np.ones(len(labels)), weighted=False)
            self.validation_scores_ = []
        state = self._begin(X, weights) if first else self._state
        mistakes = [] if first else self.mistakes_
        state, n_wrong = self._one_pass(state, X, steps, np.flatnonzero(weights))

        self._keep(state, [*mistakes, n_wrong])
        vars(self).pop("support_", None)
        return self

    @by_rows
    def decision_function(self, X):
        """Compute the decision functions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Values of the decision functions. With two classes, positive values mean the second
            class; with more classes, the class with the largest value is predicted.
        """
        check_is_fitted(self)
        return self._values(checked_samples(self, X, reset=False))

    def _values(self, X):
        """Evaluate the functions at validated samples."""
        if self._primal:
            values = safe_sparse_dot(X, self.coef_.T, dense_output=True)
        else:
            values = self._function_values(X)
        values = values + self.intercept_
        return self._with_absent(values[:, 0] if values.shape[1] == 1 else values)

    def _class_weighted(self, y, weights, classes):
        """Multiply the weights of the samples by the weights of their classes."""
        present = y[weights > 0]
        if isinstance(self.class_weight, str):  # "balanced" uses the numbers of samples
            classes = np.unique(present)
        by_class = compute_class_weight(self.class_weight, classes=classes, y=present)
        finite = np.isfinite(by_class).all()
        if not finite or (by_class < 0).any():
            raise ValueError(
                f"{type(self).__name__}: class_weight must contain finite numbers of at least 0, "
                f"got {self.class_weight!r}."
            )
        return weights * (by_class @ (y == classes[:, None]))

    def _signed_steps(self, y, weights, classes):
        """Return what a mistake adds to each function, of shape (n_functions, n_samples)."""
        members = y == classes[:, None]
        # Two classes share one function, which is positive for the second class.
        positive = members[1:] if len(classes) == 2 else members
        return np.where(positive, weights, -weights)

    def _split(self, y, active, rng):
        """Split the samples of positive weight into training and held-out samples."""
        if not self.early_stopping:
            return active, active[:0]
        seed = rng.randint(np.iinfo(np.int32).max)
        split = StratifiedShuffleSplit(
            1, test_size=self.validation_fraction, random_state=seed
        )
        train, held_out = next(split.split(active[:, None], y[active]))
        train = np.sort(train)
        held_out = np.sort(held_out)
        return active[train], active[held_out]

    def _begin(self, X, weights):
        """Return the state before the first sample."""
        name = type(self).__name__
        if self.average and self.budget is not None:
            raise ValueError(f"{name}: average=True stores all samples: set budget=None.")

        # gamma="scale" uses the variance of the samples that have positive weight.
        gram = resolved_gram(self, X, (weights > 0).astype(np.float64))
        n_functions = len(self._present_classes)
        n_functions = 1 if n_functions == 2 else n_functions
        primal = gram.kernel == "linear" and self.budget is None

        n_weights = X.shape[1] + 1 if primal else 0
        weights = np.zeros((n_functions, n_weights))
        none = np.zeros(n_functions)
        stream = Stream.empty(gram, X, (n_functions,))
        return State(stream, primal, weights, weights, none, none, 0.0)

    def _one_pass(self, state, X, steps, order):
        """Pass over samples in the given order; return new state and number of mistakes."""
        gram = state.stream.gram
        norms_sq = X.diagonal() if gram.precomputed else gram.diag(X)
        largest = float(np.max(norms_sq[order])) + self.fit_intercept
        state = state._replace(radius_sq=max(state.radius_sq, largest))

        if state.primal:
            n_wrong = 0
            for start in range(0, len(order), BLOCK_SAMPLES):
                rows = order[start : start + BLOCK_SAMPLES]
                state, count = self._primal_block(state, X, steps, rows)
                n_wrong += count
            return state, n_wrong

        def step(stream, K, function, rows):
            return self._block(stream, X, K, function, steps[:, rows])

        stream, (counts, sizes, squares) = state.stream.pass_over(X, order, step)
        return state.after(stream, sizes, squares), int(counts.sum())

    def _block(self, stream, X, K, function, steps):
        """Pass over a block; return mistakes, step sizes and their squares for each function."""
        K = K + float(self.fit_intercept)
        budget = -1 if self.budget is None else int(self.budget)
        pairs = list(zip(each_function(function), steps, strict=True))

        # The projectron needs the kernel matrix of its basis [Orabona 2009].
        if budget > 0 and self.budget_policy == "project":
            basis_kernel = np.zeros((0, 0))
            if len(stream.index):
                rows = take(X, stream.index) if stream.gram.precomputed else stream.samples
                basis_kernel = Expansion(stream.gram, stream.samples).kernel(rows)
                basis_kernel = basis_kernel + float(self.fit_intercept)
            none = np.zeros(len(steps))
            counts = [
                projectron_block(K, basis_kernel, expanded, step, budget)
                for expanded, step in pairs
            ]
            return np.stack([counts, none, none])

        # The other budget policies start from the values K coef of the block.
        smallest = self.budget_policy == "smallest" and budget > 0
        limits = {"time": stream.time, "budget": budget, "smallest": smallest}
        counts = [
            perceptron_block(K, K @ expanded.coef, expanded, step, **limits)
            for expanded, step in pairs
        ]
        sizes, squares = sizes_of(function.coef[:, -len(K) :])
        return np.stack([counts, sizes, squares])

    def _primal_block(self, state, X, steps, rows):
        """Pass over a block with weights of the features instead of samples."""
        stream = state.stream
        block = take(X, rows)
        plus = float(self.fit_intercept)
        with one_blas_thread():
            K = safe_sparse_dot(block, block.T, dense_output=True)
            K = np.asarray(K, np.float64) + plus
            before = safe_sparse_dot(block, state.weights[:, :-1].T, dense_output=True)
        before = np.asarray(before, np.float64)
        values = before + state.weights[:, -1]

        # Use coefficients for the samples of this block only.
        none = np.zeros((len(steps), len(rows)))
        function = Expanded(none, none.copy(), none - 1)
        limits = {"time": stream.time, "budget": -1, "smallest": False}
        n_wrong = 0
        for c, expanded in enumerate(each_function(function)):
            start = values[:, c].copy()
            n_wrong += perceptron_block(K, start, expanded, steps[c, rows], **limits)

        # Convert the coefficients to weights of the features.
        def as_weights(coef):
            feature_weights = safe_sparse_dot(coef, block, dense_output=True)
            return np.column_stack([feature_weights, plus * coef.sum(axis=1)])

        after = replace(stream, time=stream.time + len(rows))
        state = state.after(after, *sizes_of(function.coef))
        weights = state.weights + as_weights(function.coef)
        late = state.late + as_weights(function.late)
        return state._replace(weights=weights, late=late), n_wrong

    def _keep(self, state, mistakes):
        """Store the state, and for prediction its last functions or their averages."""
        stream = state.stream
        self._state = state
        self._gram = stream.gram
        self._primal = state.primal
        self.mistakes_ = mistakes
        self.n_iter_ = len(mistakes)
        self.n_updates_ = int(sum(mistakes))
        self.margin_bound_ = np.full(len(state.sizes), np.inf)
        if self.budget is None:
            self.margin_bound_ = state.margin_bound()

        # The averages are the last weights minus the weighted sum of late changes.
        if state.primal:
            weights = state.weights
            if self.average:
                weights = weights - state.late / max(1, stream.time)
            self.coef_ = weights[:, :-1].copy()
            self.intercept_ = weights[:, -1].copy()
            n_features = self.coef_.shape[1]
            self.support_vectors_ = np.zeros((0, n_features))
            return

        coef = stream.mean() if self.average else stream.function.coef
        self._used = np.flatnonzero(coef.any(axis=0))
        self._basis = stream.take(self._used)
        self.dual_coef_ = coef[:, self._used]
        self.intercept_ = float(self.fit_intercept) * self.dual_coef_.sum(axis=1)
        self.support_vectors_ = self._basis
        if self._gram.precomputed:
            self.support_vectors_ = np.zeros((0, 0))


def each_function(functions):
    """Return views of the functions, one by one."""
    return [Expanded(*arrays) for arrays in zip(*functions, strict=True)]


def sizes_of(steps):
    """Sum the sizes of the steps of each function, and the squares of these sizes."""
    sizes = np.abs(steps).sum(axis=1)
    return sizes, (steps**2).sum(axis=1)
