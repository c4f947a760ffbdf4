"""Semi-non-negative matrix factorisation: non-negative codes, components of any sign."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base, FitProgress, warn_not_converged
from skmoderndata._compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    CallbackSupportMixin,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.factors.convex_factorization import semi_multiplicative
from skmoderndata._solvers.factors.factorization import (
    Side,
    SummedData,
    canonical,
    check_scale,
    codes_for,
    factorize,
    largest,
    least_squares,
    narrowed,
    nndsvd_components,
    power_of_two,
    ratio,
    scaled_data,
    squared_error,
    update,
)
from skmoderndata._validation import check_array, validate_data

FREE = Side("free")


class SemiNMF(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    r"""Sums of few components of any sign with non-negative codes: a soft k-means.

    Minimises

    .. math::
        \tfrac12 \|X - W H\|_F^2 \quad\text{over}\quad W \ge 0,

    with components H of any sign [1]_. If each row of W had a single entry, equal to 1, the
    components would be the centres of k-means. Missing entries (NaN) do not count.

    Parameters
    ----------
    n_components : int, default=2
        Number of components. The data do not determine more than rows or columns: a UserWarning.
    solver : {"als", "multiplicative"}, default="als"
        "als": least squares for the components and non-negative least squares for the codes in
        turn, extrapolated. "multiplicative": the rule of [1]_, which is slower and stops far from
        the stationary point, and takes no missing entries.
    init : {"svd", "kmeans", "random"} or array-like, default="svd"
        First components: from singular vectors, whose parts of one sign make the first codes;
        centres of k-means (whose start is random); random; or an array of shape
        (n_components, n_features).
    n_init : int, default=1
        Number of starts, of which the best is kept; those after the first are random.
    max_iter : int, default=1000
        Largest number of passes of a start.
    tol : float, default=1e-4
        Largest `kkt_residual_`.
    warm_start : bool, default=False
        Whether `fit` starts with the components of the last one.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        H, of unit length, in descending order of their share in the training data (in the order
        of the start where that was given).
    objective_ : float
        What is minimised, at the solution.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each pass; it never rises.
    kkt_residual_ : float
        Norm of the projected gradient relative to that of the linear terms, the larger one of
        the two factors. After `partial_fit` that of the components.
    reconstruction_err_ : float
        Frobenius norm of ``X - codes @ components_``, over observed entries.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of passes of the best start.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where `X` had some.

    See Also
    --------
    skmoderndata.decomposition.SparseNMF : Non-negative components as well.
    skmoderndata.decomposition.ConvexNMF : Components that are averages of rows.
    sklearn.cluster.KMeans : One component for each row.
    sklearn.decomposition.TruncatedSVD : Codes of any sign; its error is a lower bound.

    Notes
    -----
    A pass takes ``4 n p k`` operations (stored entries for sparse X). No orthogonality of the
    codes is asked for: with it the problem is a relaxation of k-means, not k-means itself, as
    entries in a row may differ. `transform` solves non-negative least squares exactly.

    References
    ----------
    .. [1] Ding, Li and Jordan, Convex and semi-nonnegative matrix factorizations, IEEE
       Transactions on Pattern Analysis and Machine Intelligence 32(1), 2010, section 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import SemiNMF
    >>> X = np.array([[1.0, -1, 0], [2, -2, 0], [0, 1, 1], [0, 3, 3]])
    >>> model = SemiNMF(2).fit(X)
    >>> model.components_.round(3) + 0.0
    array([[ 0.   ,  0.707,  0.707],
           [ 0.707, -0.707,  0.   ]])
    >>> model.reconstruction_err_ < 1e-3
    True
    """

    _card = MethodCard(
        family="non-negative factors",
        cite=("ding2010convex",),
        cost="T n p k",
        checks=(
            {},
            {"init": "random", "n_init": 2, "random_state": 0, "max_iter": 9000},
            {"solver": "multiplicative", "tol": 0.1, "max_iter": 5000},
        ),
        comparison=Comparison(
            baseline="sklearn.decomposition.TruncatedSVD",
            problem="digits",
            grid={"n_components": (8, 16, 32)},
            baseline_params={"random_state": 0},
            baseline_grid={"n_components": (8, 16, 32)},
        ),
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "solver": [StrOptions({"als", "multiplicative"})],
        "init": [StrOptions({"svd", "kmeans", "random"}), "array-like"],
        "n_init": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        solver="als",
        init="svd",
        n_init=1,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Factorise `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; NaN marks missing entries of a dense array.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective; a row of weight 2 counts as two rows.

        Returns
        -------
        self : SemiNMF
            The fitted estimator.
        """
        X = self._validate(X, reset=True)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        given = self._given_start(X.shape[1])
        counted = X
        if weights is not None and not weights.all():
            counted, weights = X[weights > 0], weights[weights > 0]
        if self.n_components > min(counted.shape):
            warnings.warn(
                f"{type(self).__name__}(n_components={self.n_components}) has more components "
                f"than n_samples={counted.shape[0]} or n_features={counted.shape[1]}: the data do "
                "not determine them. Use fewer.",
                UserWarning,
                stacklevel=3,
            )
        size = largest(counted)
        scale = power_of_two(size)
        data = scaled_data(counted, scale, weights)
        check_scale(type(self).__name__, size, data.sum_sq / scale / scale)
        rng = check_random_state(self.random_state)
        n_init = 1 if given is not None else self.n_init
        best = None
        with FitProgress(self, X, y, max_passes=n_init * self.max_iter) as progress:
            for number in range(n_init):
                if given is not None:
                    V = given.T.copy()
                else:
                    V = self._start(data, self.init if number == 0 else "random", rng)
                result = self._solve(data, V, progress)
                if best is None or result.objective < best.objective:
                    best = result
                if progress.stopped:
                    break
        self._store(data, best, scale, keep_order=given is not None, dtype=X.dtype)
        if not best.converged and not progress.stopped:
            warn_not_converged(
                self,
                reached=f"after {best.n_iter} passes the KKT residual is {best.residual:.1e} "
                f"(tol={self.tol:g})",
                remedy="raise max_iter or tol",
            )
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Improve the components with new rows.

        The first call is `fit`. Later calls find the codes of the new rows, add their products to
        the sums that were kept, and solve for the components. Rows seen before keep their codes,
        so that the result depends on the order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows, without missing entries.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : SemiNMF
            The updated estimator.
        """
        if not hasattr(self, "components_"):
            return self.fit(X, y, sample_weight)
        X = self._validate(X, reset=False)
        if self._sums is None or (not sparse.issparse(X) and np.isnan(X).any()):
            raise ValueError(
                f"{type(self).__name__}.partial_fit takes no missing entries, as they would need "
                "sums for every column; use fit."
            )
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        S, T, sum_sq = self._sums
        codes = self._codes(X)
        size = max(np.sqrt(sum_sq), largest(X))
        scale = power_of_two(size)
        new = scaled_data(X, scale, weights)
        check_scale(type(self).__name__, size, sum_sq + new.sum_sq / scale / scale)
        codes = codes * scale
        _, S_new, T_new = next(new.terms(codes, False))
        S, T = S * scale * scale + S_new, T * scale * scale + T_new
        sum_sq = sum_sq * scale * scale + new.sum_sq
        V = least_squares(S, T)
        length = np.sqrt((V * V).sum(axis=0))
        length[length == 0] = 1.0
        V, S, T = V / length, S * length * length[:, None], T * length
        total = SummedData(S, T, sum_sq)
        ones = np.ones(V.shape[1])
        looked = update(total, FREE, codes, V, codes=False, sweeps=0, scales=ones)
        self.components_ = np.ascontiguousarray(V.T, dtype=self.components_.dtype)
        objective = max(sum_sq / 2 + looked.value, 0.0)
        self.objective_ = float(objective / scale / scale)
        self.objective_history_ = np.append(self.objective_history_, self.objective_)
        self.reconstruction_err_ = float(np.sqrt(2 * objective) / scale)
        self.kkt_residual_ = ratio(looked)
        self.n_iter_ += 1
        self._sums = (S / scale / scale, T / scale / scale, sum_sq / scale / scale)
        return self

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit and return the codes of the training rows, as ``fit(X).transform(X)``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; NaN marks missing entries of a dense array.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components_)
            Non-negative codes.
        """
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X):
        """Non-negative codes of rows, by non-negative least squares.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN marks missing entries of a dense array.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components_)
            Code of each row, which depends on that row alone.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return narrowed(self._codes(X), X.dtype, type(self).__name__, "codes")

    def inverse_transform(self, X):
        """Rows with given codes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_components_)
            Codes.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            ``X @ components_``.
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
        if X.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {X.shape[1]} codes a row, but {type(self).__name__} has "
                f"{self.n_components_} components."
            )
        return (X @ self.components_).astype(X.dtype, copy=False)

    def score(self, X, y=None, sample_weight=None):
        """Minus the relative error with which rows are reconstructed.

        It grows with `n_components`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            ``-|X - codes @ components_|_F / |X|_F`` over observed entries; 0 for zeros.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        scale = power_of_two(largest(X))
        data = scaled_data(X, scale, weights)
        if data.sum_sq == 0:
            return 0.0
        V = self.components_.T.astype(np.float64)
        return -float(np.sqrt(squared_error(data, self._codes(X) * scale, V) / data.sum_sq))

    def _given_start(self, n_features):
        """Components to start with, as an array, or None."""
        if self.warm_start and hasattr(self, "components_"):
            start, name = self.components_, "the components of the last fit (warm_start=True)"
        elif isinstance(self.init, str):
            return None
        else:
            start, name = self.init, "init"
        start = check_array(start, dtype=np.float64, input_name="init")
        if start.shape != (self.n_components, n_features):
            raise ValueError(
                f"{name} must be an array of shape (n_components={self.n_components}, "
                f"n_features={n_features}), got shape {start.shape}."
            )
        return start

    def _validate(self, X, *, reset):
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            reset=reset,
        )
        X = canonical(X)
        if self.solver != "als" and np.isnan(X.data if sparse.issparse(X) else X).any():
            raise ValueError(
                f"Input X contains NaN. {type(self).__name__}(solver='multiplicative') takes no "
                "missing entries, for which the rule is not made: use solver='als'."
            )
        if sparse.issparse(X) and np.isnan(X.data).any():
            raise ValueError(
                f"{type(self).__name__} does not take NaN in sparse input: give a dense array, "
                "where NaN marks a missing entry."
            )
        return X

    def _start(self, data, init, rng):
        """Return first components, one per column."""
        n, p = data.shape
        k = self.n_components
        if init == "svd":
            # the non-negative part of a left singular vector is the first code
            V = nndsvd_components(data, k, rng, codes=True)
        elif init == "kmeans":
            filled = data.X
            if data.observed is not None:
                weights = np.ones(n) if data.weights is None else data.weights
                known = weights @ data.observed
                means = (weights @ filled) / np.where(known > 0, known, 1.0)
                filled = np.where(data.observed, filled, means)
            distinct = min(k, n)
            clusters = KMeans(distinct, n_init=1, random_state=rng)
            V = rng.uniform(-1, 1, size=(p, k))
            with warnings.catch_warnings():  # fewer distinct rows than components will do
                warnings.simplefilter("ignore", ConvergenceWarning)
                clusters.fit(filled, sample_weight=data.weights)
            V[:, :distinct] = clusters.cluster_centers_.T
        else:
            V = rng.uniform(-1, 1, size=(p, k))
        return V

    def _solve(self, data, V, progress):
        W = codes_for(data, V, Side())
        settings = {"max_iter": self.max_iter, "tol": self.tol, "progress": progress}
        if self.solver == "multiplicative":
            # zeros would stay
            W = W + 0.2 * max(np.average(W, axis=0, weights=data.weights).mean(), 1e-3)
            return semi_multiplicative(data, W, **settings)
        return factorize(data, W, V, codes_side=Side(), components_side=FREE, **settings)

    def _store(self, data, result, scale, *, keep_order, dtype):
        W, V = result.codes, result.components
        length = np.sqrt((V * V).sum(axis=0))
        length[length == 0] = 1.0
        W, V = W * length, V / length
        if not keep_order:
            weights = np.ones(len(W)) if data.weights is None else data.weights
            order = np.argsort(-(weights @ (W * W)), kind="stable")
            W, V = W[:, order], V[:, order]
        self.components_ = np.ascontiguousarray(V.T, dtype=dtype)
        self.n_components_ = len(self.components_)
        self.objective_ = float(result.objective / scale / scale)
        self.objective_history_ = np.asarray(result.history) / scale / scale
        self.kkt_residual_ = float(result.residual)
        self.reconstruction_err_ = float(np.sqrt(squared_error(data, W, V)) / scale)
        self.n_iter_ = result.n_iter
        self._sums = None
        if data.observed is None:
            _, S, T = next(data.terms(W, False))
            self._sums = (S / scale / scale, T / scale / scale, data.sum_sq / scale / scale)

    def _codes(self, X):
        """Codes of validated rows, in float64."""
        scale = power_of_two(largest(X))
        V = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        return codes_for(scaled_data(X, scale), V, Side()) / scale

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.solver == "als"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
