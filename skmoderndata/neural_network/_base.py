"""Base of the networks with a fixed hidden layer: statistics, ridge path, predictions."""

from copy import copy

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import (
    ClassifierMixin,
    MultiOutputMixin,
    RegressorMixin,
    is_classifier,
)
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skmoderndata._estimator.absent_classes import AbsentClasses, refuse_one_class
from skmoderndata._estimator.base import Base, LazySolution
from skmoderndata._estimator.blocks_input import fit_by_merge, in_blocks
from skmoderndata._estimator.compat import (
    all_or_nothing,
    check_sample_weight,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory
from skmoderndata._estimator.validation import check_array, validate_data
from skmoderndata._solvers.common.arrays import (
    as_numpy,
    check_array_namespace,
    get_array_namespace,
    move_array,
    namespace,
)
from skmoderndata._solvers.common.tolerances import ROUNDING
from skmoderndata._solvers.networks.ridge_path import (
    add,
    cross_validated_squares,
    held_out,
    n_parameters,
    optimality,
    ridge,
    ridge_from_spectrum,
    spectrum,
    statistics,
)

# Number of outputs of the first layer held at once, which stay in the cache (4 MB).
BLOCK_ENTRIES = 2**19
# Number of decades that the default penalties span.
WIDEST = 12
# Maximum number of samples on which first layers are compared.
COMPARED = 5000


def _takes_parts(network):
    return network._not_additive() is None


class RidgeNetwork(LazySolution, Base):
    """Network with a fixed hidden layer and ridge regression on its outputs.

    A subclass draws the first layer in `_open(X, Y, w, rng)` and returns its outputs for some rows
    in `_layer(X)`; regressors and classifiers define the targets in `_targets`.
    """

    _SPARSE = "csr"
    _SCALING = ""  # additional condition for first layers to be equal
    _SOLUTION = (
        "_coef",
        "output_coef_",
        "intercept_",
        "alpha_",
        "optimality_",
        "n_parameters_",
    )
    # Attributes that exist only if leave-one-out selected the penalty.
    _SEARCH = ("loo_score_", "loo_path_", "alphas_")

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Compute the coefficients, and the penalty if `alpha="loo"`.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Training data. A Dask array is fitted chunk by chunk, as by `partial_fit`, which also
            chooses the penalty if `alpha="loo"`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if in_blocks(X, on_disk=False):
            self._check_additive("fit to a Dask array")
            if getattr(self, "class_weight", None) == "balanced":
                raise ValueError(
                    f"{type(self).__name__}.fit to a Dask array cannot balance classes: pass "
                    "class_weight as a dictionary."
                )
            parameters = self._parameters_of_blocks(X, sample_weight)
            return fit_by_merge(self, X, parameters, y=y, sample_weight=sample_weight)
        X, Y, w = self._start(X, y, sample_weight, classes=None, reset=True)
        rng = check_random_state(self.random_state)
        self._open(X, Y, w, rng)

        self._total = None
        blocks = self._accumulate(X, Y, w)

        if isinstance(self.alpha, str):
            self._choose_alpha(blocks)
        else:
            self._solve()
        return self

    def _parameters_of_blocks(self, X, sample_weight):
        """Return parameters that are known after a pass over the table, for all blocks."""
        return {}

    def _partial_fit(self, X, y, sample_weight, classes):
        self._check_additive("partial_fit")
        first = "_total" not in vars(self)
        total = vars(self).get("_total")
        X, Y, w = self._start(X, y, sample_weight, classes=classes, reset=first)
        if first:
            rng = check_random_state(self.random_state)
            self._open(X, Y, w, rng)
        X, Y, w, total = self._settle(X, Y, w, total)

        self._total = total
        self._accumulate(X, Y, w)
        self._forget_solution(*self._SEARCH)
        return self

    @all_or_nothing
    def merge(self, other):
        """Add the samples of another fitted estimator; the result is exact, in any order.

        Parameters
        ----------
        other : estimator
            Fitted, of the same class, with the same first layer: the same integer `random_state`,
            or the same centres.

        Returns
        -------
        self : object
            The estimator, as if fitted to the samples of both.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if type(other) is not type(self):
            raise ValueError(
                f"{type(self).__name__} cannot merge with {type(other).__name__}: pass an "
                "estimator of the same class."
            )

        self._check_additive("merge")
        # Sums can be added only if the hidden features are equal
        layers = self._parameters_of_layer(), other._parameters_of_layer()
        same = all(np.array_equal(a, b) for a, b in zip(*layers, strict=True))
        mine = self.get_params()
        theirs = other.get_params()
        differ = [name for name in self._SAME if not np.array_equal(mine[name], theirs[name])]

        same_inputs = self.n_features_in_ == other.n_features_in_
        if not same or differ or not same_inputs:
            where = f" in {', '.join(differ)}" if differ else ""
            raise ValueError(
                f"{type(self).__name__} cannot merge: the first layers differ{where}. Fit both "
                f"with the same parameters, an integer random_state{self._SCALING}."
            )

        self._check_targets_of(other)
        self._total = add(self._total, other._total)
        self._forget_solution(*self._SEARCH)
        return self

    # ---- input ---------------------------------------------------------------------------

    def _start(self, X, y, sample_weight, *, classes, reset):
        if not reset:
            check_array_namespace(X, self._coef_like(), type(self).__name__)
        xp, _ = get_array_namespace(X)
        X, y = validate_data(
            self,
            X,
            y,
            dtype=[xp.float64, xp.float32],
            accept_sparse=self._SPARSE,
            reset=reset,
            **self._TARGETS,
        )

        # Check targets and weights with NumPy
        y = as_numpy(y)
        Y = self._targets(y, classes, reset)
        w = np.ones(len(y))
        w_given = as_numpy(sample_weight)
        if w_given is not None:
            rows = np.empty((len(w), 1))
            w = check_sample_weight(w_given, rows, dtype=np.float64, ensure_non_negative=True)
            if not w.any():
                raise ValueError(
                    f"{type(self).__name__} needs a sample of positive weight: all sample_weight "
                    "are zero."
                )
        w = w * self._class_factors(y, w)

        if reset and is_classifier(self):
            # The first sample of a class may come in a later call to partial_fit
            labels = self.classes_
            present = np.ones(len(labels))
            if classes is None:
                present = np.isin(labels, y[w > 0])
            weighted = bool((w == 0).any())
            self._keep_classes(labels, present, weighted=weighted)
        if reset and is_classifier(self) and self.classes_.dtype.kind in "iufb":
            self.classes_ = move_array(self.classes_, X)
        Y = move_array(Y, X)
        w = move_array(w, X)
        return X, Y, w

    def _check(self, X, method):
        check_is_fitted(self)
        owner = f"{type(self).__name__}.{method}"
        check_array_namespace(X, self._coef_like(), owner)
        xp, _ = get_array_namespace(X)
        dtypes = [xp.float64, xp.float32]
        return validate_data(self, X, dtype=dtypes, accept_sparse=self._SPARSE, reset=False)

    def _coef_like(self):
        return self._total.h_mean

    def _not_additive(self):
        """Return why the first layer needs all samples at once, or None if it does not."""
        return None

    def _check_additive(self, what):
        reason = self._not_additive()
        if reason is not None:
            raise ValueError(f"{type(self).__name__}.{what} {reason}")

    # ---- statistics and solution ---------------------------------------------------------

    def _blocks(self, X, Y, w):
        return [(X[a:b, :], Y[a:b, :], w[a:b]) for a, b in self._cuts(X.shape[0])]

    def _cuts(self, n):
        """Cut rows into blocks; the array API standard leaves stops beyond the last row open."""
        width = max(1, self._n_outputs())
        size = self.batch_size or max(width, BLOCK_ENTRIES // width)
        return [(a, min(a + size, n)) for a in range(0, n, size)]

    def _accumulate(self, X, Y, w):
        """Add the statistics of all blocks; return the blocks, or the outputs of a single one."""
        blocks = self._blocks(X, Y, w)
        # Keep the outputs of a single block; the outputs of several blocks are computed twice
        if len(blocks) == 1:
            H = self._outputs(X)
            blocks = [(H, Y, w)]
            totals = [self._statistics(H, Y, w)]
        else:
            totals = self._parallel(self._block_statistics, blocks)

        for total in totals:
            self._total = total if self._total is None else add(self._total, total)
        return blocks

    def _parallel(self, function, parts):
        jobs = Parallel(n_jobs=self.n_jobs, require="sharedmem", return_as="generator")
        return jobs(delayed(function)(*part) for part in parts)

    def _outputs(self, X):
        """Compute the outputs of the first layer, in double precision."""
        H = self._layer(X)
        xp = namespace(H)
        return xp.astype(H, xp.float64, copy=False)

    def _settle(self, X, Y, w, total):
        """Return the samples to add to `total`: more if the first layer had to change."""
        return X, Y, w, total

    def _statistics(self, H, Y, w):
        return statistics(H, Y, w, intercept=self.fit_intercept)

    def _block_statistics(self, X, Y, w):
        return self._statistics(self._outputs(X), Y, w)

    def _choose_alpha(self, blocks):
        """Choose the penalty by leave-one-out; return its score, and its r^2 for equal scores."""
        total = self._total
        xp = namespace(total.S)
        single = len(blocks) == 1
        L = total.S.shape[0]

        # With fewer samples than features, use the spectrum of the rows
        rows = None
        if single and 0 < total.n_samples < L:
            H, _, w = blocks[0]
            root = xp.sqrt(w)[:, None]
            rows = root * (H - total.h_mean)
        parts = spectrum(total, rows)

        # Compute the held-out residuals for all penalties, block by block
        grid = self._grid(L)
        self.alphas_ = alphas = move_array(grid, total.S)

        def judge(H, Y, w):
            if not single:
                H = self._outputs(H)
            predictions, determined = held_out(
                H, Y, w, total, parts, alphas, intercept=self.fit_intercept
            )
            residuals = Y[:, None, :] - predictions
            squares = xp.sum(w[:, None, None] * residuals**2, axis=0)
            hits = self._hits(Y, predictions, w)
            return squares, hits, determined

        squares = hits = 0.0
        good = np.ones(len(grid), dtype=bool)
        for more_squares, more_hits, determined in self._parallel(judge, blocks):
            squares = squares + as_numpy(more_squares)
            hits = hits + as_numpy(more_hits)
            good &= as_numpy(determined)

        # Choose the best score, and the best r^2 among equal scores
        r2 = self._held_out_r2(squares)
        score = self._loo_score(r2, hits / total.weight)
        path = np.where(good, score, -np.inf)
        # If, at each penalty, some sample determines its own prediction, keep the largest penalty
        if not good.any():
            good[np.argmax(grid)] = True
        first = np.where(good, score, -np.inf)
        second = np.where(good, r2, -np.inf)
        ranking = np.lexsort((second, first))
        best = int(ranking[-1])

        self.loo_path_ = move_array(path, total.S)
        self.loo_score_ = float(path[best])
        self.alpha_ = float(grid[best])
        self._store_spectral(parts)
        return self.loo_score_, float(r2[best])

    def _best_layer(self, layers, X, Y, w, rng):
        """Return the index of the first layer of best leave-one-out score, on some samples.

        Each item of `layers` has the fitted attributes of one layer; each network gets its own
        penalty.
        """
        rows = np.flatnonzero(as_numpy(w))
        if len(rows) > COMPARED:
            xp = namespace(w)
            rows = move_array(np.sort(rng.permutation(rows)[:COMPARED]), w)
            X = X[rows, :] if sparse.issparse(X) else xp.take(X, rows, axis=0)
            Y = xp.take(Y, rows, axis=0)
            w = xp.take(w, rows, axis=0)

        trial = copy(self)
        scores = []
        for layer in layers:
            vars(trial).update(layer, _total=None)
            blocks = trial._accumulate(X, Y, w)
            scores.append(trial._choose_alpha(blocks))
        return scores.index(max(scores))

    def _grid(self, L):
        if self.alphas is None:
            # Space penalties logarithmically about the mean variance of the hidden features
            S = self._total.S
            xp = namespace(S)
            trace = float(xp.linalg.trace(S))
            variance = trace / max(L, 1)
            scale = variance if variance > 0 else 1.0
            return np.logspace(-WIDEST / 2, WIDEST / 2, 2 * WIDEST + 1) * scale

        alphas = check_array(
            np.asarray(self.alphas),
            dtype=np.float64,
            ensure_2d=False,
            input_name="alphas",
            estimator=self,
        )

        if alphas.ndim != 1 or not (alphas > 0).all():
            raise ValueError(
                f"alphas of {type(self).__name__} must be a list of positive numbers, but the "
                f"smallest is {alphas.min():g}: for no penalty set `alpha=0` instead."
            )
        return alphas.copy()

    def _solve(self):
        """Compute the coefficients, and the penalty unless it is a number, from the sums alone."""
        total = self._total
        if not isinstance(self.alpha, str):
            self.alpha_ = float(self.alpha)
            self._store(ridge(total, self.alpha_))
            return

        # The samples are no longer available, so their mean leverage replaces the leverage of each
        # sample
        parts = spectrum(total)
        grid = self._grid(total.S.shape[0])
        alphas = move_array(grid, total.S)
        squares = cross_validated_squares(total, parts, alphas, intercept=self.fit_intercept)
        r2 = self._held_out_r2(as_numpy(squares))
        self.alphas_ = alphas
        best = np.argmax(r2) if np.isfinite(r2).any() else np.argmax(grid)
        self.alpha_ = float(grid[best])
        self._store_spectral(parts)

    def _held_out_r2(self, squares):
        """Return the mean r^2 over targets, from held-out squared residuals (n_alphas, t)."""
        total = self._total
        variation = as_numpy(total.y_sq)
        mean = as_numpy(total.y_mean)
        rounding = total.weight * (ROUNDING * mean) ** 2
        constant = variation <= rounding

        # A constant target is predicted exactly
        unit = np.where(constant, 1, variation)
        r2 = 1 - squares / unit
        exact = constant & np.isfinite(squares)
        r2 = np.where(exact, 1.0, r2)
        return r2.mean(axis=1)

    def _store_spectral(self, parts):
        """Store the coefficients at `alpha_` from the eigenvalues."""
        coef = ridge_from_spectrum(parts, self.alpha_)
        fractions = parts.values / (parts.values + self.alpha_)
        xp = namespace(fractions)
        n_par = float(xp.sum(fractions))
        self._store(coef, n_par=n_par)

    def _store(self, coef, n_par=None):
        total = self._total
        self._coef = coef
        self.optimality_ = optimality(total, coef, self.alpha_)
        if n_par is None:
            n_par = n_parameters(total, self.alpha_)
        self.n_parameters_ = n_par

        intercept = total.y_mean - total.h_mean @ coef
        flat = self._one_column()
        self.output_coef_ = coef[:, 0] if flat else coef.T
        self.intercept_ = self._intercept(intercept)

    def _intercept(self, intercept):
        return float(intercept[0]) if self._one_column() else intercept

    def _lazy_names(self):
        is_search = vars(self).get("alpha") == "loo"
        return (*self._SOLUTION, "alphas_") if is_search else self._SOLUTION

    def __getattr__(self, name):
        if name == "partial_fit":  # hide the method if it would always raise an error
            raise AttributeError(f"{type(self).__name__}.partial_fit {self._not_additive()}")
        return super().__getattr__(name)

    @property
    def n_samples_seen_(self):
        """Number of samples that determine the coefficients."""
        if vars(self).get("_total") is None:
            raise AttributeError("n_samples_seen_ is not known before fit")
        return self._total.n_samples

    def __sklearn_is_fitted__(self):
        return vars(self).get("_total") is not None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _values(self, X, method):
        """Compute ``coef' h(x) + intercept``, one column for each target, in double precision."""
        X = self._check(X, method)
        total = self._total
        coef = self._coef
        shift = total.y_mean - total.h_mean @ coef
        xp = namespace(shift)
        cuts = self._cuts(X.shape[0])
        blocks = [self._outputs(X[a:b, :]) @ coef + shift for a, b in cuts]
        values = blocks[0] if len(blocks) == 1 else xp.concat(blocks, axis=0)
        return values, X.dtype


class NetworkRegressor(MultiOutputMixin, RegressorMixin):
    """Targets and predictions of a regressor."""

    _TARGETS = {"multi_output": True, "y_numeric": True}

    @available_if(_takes_parts)
    @in_memory
    def partial_fit(self, X, y, sample_weight=None):
        """Add samples; the result is exact, in any order.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self : object
            The estimator, fitted to all samples so far.
        """
        return self._add(X, y, sample_weight)

    @fit_context()
    def _add(self, X, y, sample_weight):
        return self._partial_fit(X, y, sample_weight, None)

    @by_rows
    def predict(self, X):
        """Predict targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        values, dtype = self._values(X, "predict")
        values = namespace(values).astype(values, dtype, copy=False)
        return values[:, 0] if self._flat else values

    def _targets(self, y, classes, reset):
        Y = np.asarray(y, dtype=np.float64)
        if reset:
            self._flat = Y.ndim == 1
        Y = Y[:, None] if Y.ndim == 1 else Y
        if reset:
            return Y

        n_targets = Y.shape[1]
        begun_with = self._total.B.shape[1]
        if n_targets != begun_with:
            raise ValueError(
                f"y has {n_targets} targets, but {type(self).__name__} was started with "
                f"{begun_with}."
            )
        return Y

    def _class_factors(self, y, w):
        return 1.0

    def _check_targets_of(self, other):
        mine = self._total.B.shape[1]
        theirs = other._total.B.shape[1]
        if mine != theirs:
            raise ValueError(
                f"{type(self).__name__} cannot merge: the numbers of targets differ."
            )

    def _one_column(self):
        return self._flat

    def _hits(self, Y, predictions, w):
        return namespace(Y).zeros_like(predictions[0, :, 0])

    def _loo_score(self, r2, accuracy):
        return r2


class NetworkClassifier(AbsentClasses, ClassifierMixin):
    """Target codes and decisions of a classifier."""

    _TARGETS = {}

    @available_if(_takes_parts)
    @in_memory
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Add samples; the result is exact, in any order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All class labels; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals.

        Returns
        -------
        self : object
            The estimator, fitted to all samples so far.
        """
        return self._add(X, y, sample_weight, classes)

    @fit_context()
    def _add(self, X, y, sample_weight, classes):
        if self.class_weight == "balanced":
            raise ValueError(
                f"{type(self).__name__}.partial_fit cannot balance classes: "
                'class_weight="balanced" needs all samples at once. Pass a dictionary of weights.'
            )
        if "_total" not in vars(self) and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return self._partial_fit(X, y, sample_weight, classes)

    @by_rows
    def decision_function(self, X):
        """Compute the least squares values of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Values near 1 for the class and near -1 for other classes; for two classes one column,
            for the second class.
        """
        values, dtype = self._values_of_classes(X, "decision_function")
        values = namespace(values).astype(values, dtype, copy=False)
        return values[:, 0] if values.shape[1] == 1 else values

    @by_rows
    def predict(self, X):
        """Predict the class with the largest value.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        values, _ = self._values_of_classes(X, "predict")
        xp = namespace(values)
        codes = values[:, 0] > 0 if values.shape[1] == 1 else xp.argmax(values, axis=1)
        if isinstance(self.classes_, np.ndarray):
            return self.classes_[as_numpy(codes).astype(int)]
        return xp.take(self.classes_, xp.astype(codes, xp.int64), axis=0)

    def _values_of_classes(self, X, method):
        """Return values and their type; classes without weight score one less than all others."""
        values, dtype = self._values(X, method)
        if self._present is None:
            return values, dtype
        xp = namespace(values)
        absent = np.ones(values.shape[1], dtype=bool)
        absent[self._present] = False
        absent = move_array(absent, values)[None, :]
        of_present = xp.where(absent, xp.max(values), values)
        lowest = xp.min(of_present, axis=1, keepdims=True)
        values = xp.where(absent, lowest - 1.0, values)
        return values, dtype

    def _targets(self, y, classes, reset):
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if reset:
            values = y if classes is None else np.asarray(classes)
            self.classes_ = np.unique(values)
            refuse_one_class(type(self).__name__, self.classes_)

        labels = as_numpy(self.classes_)
        strange = np.setdiff1d(y, labels)
        if strange.size:
            raise ValueError(
                f"y has the label {strange[0]!r}, which is not among the classes of the first "
                "call of partial_fit."
            )

        # Use one column of +-1 for two classes, otherwise one for each class
        codes = np.searchsorted(labels, y)
        K = len(labels)
        columns = np.arange(1 if K == 2 else 0, K)
        belongs = codes[:, None] == columns
        return np.where(belongs, 1.0, -1.0)

    def _class_factors(self, y, w):
        """Return the weight of each sample's class; "balanced" counts weighted samples."""
        y = column_or_1d(y)
        labels = as_numpy(self.classes_)
        with np.errstate(divide="ignore"):  # the factor of a class without weight is infinite
            factors = compute_class_weight(
                self.class_weight, classes=labels, y=y, sample_weight=w
            )
        factors = np.where(np.isfinite(factors), factors, 1.0)
        codes = np.searchsorted(labels, y)
        return factors[codes]

    def _check_targets_of(self, other):
        mine = as_numpy(self.classes_)
        theirs = as_numpy(other.classes_)
        if not np.array_equal(mine, theirs):
            raise ValueError(
                f"{type(self).__name__} cannot merge: classes differ. Pass the same `classes` to "
                "the first partial_fit of both."
            )

    def _one_column(self):
        return False

    def _hits(self, Y, predictions, w):
        """Return the weight of the samples whose held-out class is right, for each alpha."""
        xp = namespace(Y)
        if Y.shape[1] == 1:
            right = (predictions[:, :, 0] > 0) == (Y > 0)
        else:
            labels = xp.argmax(Y, axis=1)
            right = xp.argmax(predictions, axis=2) == labels[:, None]
        zeros = xp.zeros_like(w)
        weights = xp.where(right, w[:, None], zeros[:, None])
        return xp.sum(weights, axis=0)

    def _loo_score(self, r2, accuracy):
        return accuracy
