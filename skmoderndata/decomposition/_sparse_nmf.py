"""Non-negative matrix factorisation with sparse codes, sparse components, or both."""

import warnings
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base, FitProgress, warn_not_converged
from skmoderndata._compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.factors.factorization import (
    Side,
    SummedData,
    canonical,
    check_scale,
    codes_for,
    factorize,
    largest,
    narrowed,
    nndsvd_components,
    penalty_value,
    power_of_two,
    ratio,
    revive,
    scaled_data,
    squared_error,
    start_from,
    update,
)
from skmoderndata._validation import check_array, validate_data

SHARE = Interval(Real, 0, 1, closed="both")
HUGE = 1e100  # of a penalty, for data of about 1: nothing else counts


class SparseNMF(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    r"""Non-negative factors with sparseness that is asked for: ``X ~ codes @ components``.

    With ``penalty="l1"`` and ``side="codes"`` (SNMF/R [1]_) `fit` minimises

    .. math::
        \tfrac12 \|X - W H\|_F^2 + \tfrac{\beta}{2} \sum_i \|w_i\|_1^2
        + \tfrac{\eta}{2} \|H\|_F^2 \quad\text{over}\quad W \ge 0,\ H \ge 0,

    where :math:`w_i` is the code of row i; ``side="components"`` (SNMF/L) changes the roles of
    codes and of the columns of H, and ``side="both"`` penalises both with :math:`\beta`. With
    ``form="plain"`` the penalty is :math:`\beta \|w_i\|_1`. With ``penalty="hoyer"`` [2]_ it
    minimises :math:`\frac12 \|X - W H\|_F^2` over non-negative factors of which one or both have
    exactly the given sparseness

    .. math::
        \mathrm{sparseness}(x) = \frac{\sqrt n - \|x\|_1 / \|x\|_2}{\sqrt n - 1},

    0 for equal entries and 1 for a single one. With ``penalty=None`` it is non-negative matrix
    factorisation by alternating non-negative least squares. Missing entries (NaN) count in none
    of the sums.

    Parameters
    ----------
    n_components : int, default=2
        Number of components. More than rows or columns are allowed, but the data do not determine
        them where no penalty does, which a UserWarning says.
    penalty : {"l1", "hoyer"} or None, default="l1"
        How sparseness is brought about.
    side : {"codes", "components", "both"}, default="codes"
        With ``penalty="l1"``: which factor is sparse.
    beta : float, default=0.01
        Weight of the l1 penalty: a pure number for ``form="squared"``, in units of X for "plain".
    eta : "max2" or float, default="max2"
        Weight of the squared norm of the other factor, which keeps it from growing while the
        sparse one shrinks. "max2" is the squared maximum of X.
    form : {"squared", "plain"}, default="squared"
        Whether the l1 norm of each code is squared.
    sparseness_components : float, default=None
        With ``penalty="hoyer"``: sparseness of each component; None leaves them free.
    sparseness_codes : float, default=None
        With ``penalty="hoyer"``: sparseness of the codes; None leaves them free.
    codes_axis : {"component", "sample"}, default="component"
        Whether the codes of each component, over all rows, have the given sparseness as in [2]_,
        or the code of each row (which is no constraint for a single component).
    init : {"nndsvd", "random"} or array-like, default="nndsvd"
        First components: from the singular vectors of X, random, or an array of shape
        (n_components, n_features). Codes follow from them, so that they need no start.
    n_init : int, default=1
        Number of starts, of which the best is kept; those after the first are random. 1 if
        `init` is an array.
    solver : {"hals", "bpp"}, default="hals"
        "hals": sweeps of coordinate descent over both factors, extrapolated. "bpp": alternating
        non-negative least squares, each solved exactly by block principal pivoting.
    max_iter : int, default=1000
        Largest number of passes of a start.
    tol : float, default=1e-4
        Largest `kkt_residual_`.
    warm_start : bool, default=False
        Whether `fit` starts with the components of the last one.
    random_state : int, RandomState instance or None, default=None
        Draws the random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        H: one component per row, in descending order of their share in the training data (in the
        order of the start where that was given). Their length is 1 where nothing else fixes it.
    codes_ : ndarray of shape (n_samples, n_components) or None
        Codes of the training rows where they are constrained over rows (`sparseness_codes` with
        ``codes_axis="component"``), as `transform` cannot know them; None otherwise.
    objective_ : float
        What is minimised, at the solution.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each pass; it never rises.
    kkt_residual_ : float
        Norm of the projected gradient relative to that of the linear terms, the larger one of
        the two factors; 0 at stationary points, and independent of units. After `partial_fit`
        that of the components.
    reconstruction_err_ : float
        Frobenius norm of ``X - codes @ components_``, over observed entries.
    eta_ : float
        Weight of the squared norm that was used; 0 where there is none.
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
    sklearn.decomposition.NMF : Plain l1 and l2 penalties and other divergences; neither exact
        sparseness nor missing entries, and no measure of optimality.
    skmoderndata.decomposition.SemiNMF : Components of any sign.
    skmoderndata.decomposition.ConvexNMF : Components that are averages of rows.

    Notes
    -----
    A pass takes two products of X with a thin matrix, ``4 n p k`` operations (the number of stored
    entries in place of n p for sparse X, which is never made dense), and sweeps of ``n k k``. With
    missing entries each row and column has its own Gram matrix, ``n p k k`` operations. The
    problem is not convex: starts differ in the second or third digit of the objective. Before the
    l1 penalty is switched on, a few passes without it let the components part ways; fewer of them
    are then switched off, and lower objectives are found.

    `transform` solves the problem of the codes for given components exactly (block principal
    pivoting), row by row; for codes of given sparseness of each row it keeps the best of several
    stationary points (the best code, where the sparseness is 0 or 1). `fit_transform` does the
    same with the training rows. float32 input is multiplied in float32, everything else is done in
    float64.

    References
    ----------
    .. [1] Kim and Park, Sparse non-negative matrix factorizations via alternating
       non-negativity-constrained least squares, Bioinformatics 23(12), 2007, equations (3), (6).
    .. [2] Hoyer, Non-negative matrix factorization with sparseness constraints, Journal of
       Machine Learning Research 5, 2004, pp. 1457-1469.
    .. [3] Kim and Park, Fast nonnegative matrix factorization: an active-set-like method and
       comparisons, SIAM Journal on Scientific Computing 33(6), 2011, Algorithm 2.
    .. [4] Ang and Gillis, Accelerating nonnegative matrix factorization algorithms using
       extrapolation, Neural Computation 31(2), 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import SparseNMF
    >>> X = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [2, 2, 1, 1], [0, 0, 3, 3.0]])
    >>> nmf = SparseNMF(2, penalty="hoyer", sparseness_components=0.58578644).fit(X)
    >>> (nmf.components_ ** 2).round(3)  # of four entries two are equal, the others 0
    array([[0. , 0. , 0.5, 0.5],
           [0.5, 0.5, 0. , 0. ]])
    >>> nmf.inverse_transform(nmf.transform(X)).round(2)
    array([[1., 1., 0., 0.],
           [0., 0., 1., 1.],
           [2., 2., 1., 1.],
           [0., 0., 3., 3.]])
    """

    _card = MethodCard(
        family="non-negative factors",
        cite=("hoyer2004non", "kim2007sparse", "kim2011fast", "ang2019accelerating"),
        cost="T n p k",
        checks=(
            {},
            {"penalty": None, "solver": "bpp", "max_iter": 3000},
            {"side": "components", "n_init": 2, "init": "random", "random_state": 0},
            {"side": "both", "form": "plain", "beta": 0.1},
            {"penalty": "hoyer", "sparseness_components": 0.4, "max_iter": 5000},
            {
                "penalty": "hoyer",
                "sparseness_codes": 0.3,
                "codes_axis": "sample",
                "max_iter": 5000,
                "tol": 1e-3,
            },
        ),
        comparison=Comparison(
            baseline="sklearn.decomposition.NMF",
            problem="digits",
            params={"random_state": 0},
            grid={"n_components": (8, 16, 32)},
            baseline_params={"random_state": 0, "max_iter": 1000},
            baseline_grid={"n_components": (8, 16, 32)},
        ),
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "penalty": [StrOptions({"l1", "hoyer"}), None],
        "side": [StrOptions({"codes", "components", "both"})],
        "beta": [NON_NEGATIVE],
        "eta": [StrOptions({"max2"}), NON_NEGATIVE],
        "form": [StrOptions({"squared", "plain"})],
        "sparseness_components": [SHARE, None],
        "sparseness_codes": [SHARE, None],
        "codes_axis": [StrOptions({"component", "sample"})],
        "init": [StrOptions({"nndsvd", "random"}), "array-like"],
        "n_init": [AT_LEAST_ONE],
        "solver": [StrOptions({"hals", "bpp"})],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        penalty="l1",
        side="codes",
        beta=0.01,
        eta="max2",
        form="squared",
        sparseness_components=None,
        sparseness_codes=None,
        codes_axis="component",
        init="nndsvd",
        n_init=1,
        solver="hals",
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.penalty = penalty
        self.side = side
        self.beta = beta
        self.eta = eta
        self.form = form
        self.sparseness_components = sparseness_components
        self.sparseness_codes = sparseness_codes
        self.codes_axis = codes_axis
        self.init = init
        self.n_init = n_init
        self.solver = solver
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
            Non-negative data; NaN marks missing entries of a dense array.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective; a row of weight 2 counts as two rows.

        Returns
        -------
        self : SparseNMF
            The fitted estimator.
        """
        X = self._validate(X, reset=True)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if self._codes_over_rows:
                raise ValueError(
                    f"{type(self).__name__}(sparseness_codes={self.sparseness_codes}, "
                    "codes_axis='component') takes no sample_weight: the sparseness over rows "
                    "counts them equally; set codes_axis='sample' or repeat the rows."
                )
        start = self._given_start(X.shape[1])
        self._fit(X, y, weights, start)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Improve the components with new rows.

        The first call is `fit`. Later calls find the codes of the new rows, add their products to
        the sums that were kept (``codes' codes`` and ``codes' X``, which are all that the problem
        of the components needs), and lower the objective over the components. Rows seen before
        keep their codes, so that the result depends on the order.

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
        self : SparseNMF
            The updated estimator.
        """
        if not hasattr(self, "components_"):
            return self.fit(X, y, sample_weight)
        X = self._validate(X, reset=False)
        if self._codes_over_rows:
            raise ValueError(
                f"{type(self).__name__}(codes_axis='component') cannot add rows to codes of given "
                "sparseness over rows; set codes_axis='sample' or sparseness_codes=None."
            )
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
        codes = self._codes(X)
        self._add_rows(X, codes, weights)
        return self

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit and return the codes of the training rows, as ``fit(X).transform(X)``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Non-negative data; NaN marks missing entries of a dense array.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components_)
            Codes.
        """
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X):
        """Codes of rows: the solution of the problem of the codes for these components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Non-negative rows; NaN marks missing entries of a dense array.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components_)
            Code of each row, which depends on that row alone. Rows without any observed entry
            get zeros.
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

        It grows with `n_components` as well as with less sparseness; to choose them hide entries
        (NaN) and compare what `inverse_transform` says about them.

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
        error = squared_error(data, self._codes(X) * scale, self._dictionary())
        return -float(np.sqrt(error / data.sum_sq))

    @property
    def _codes_over_rows(self):
        return (
            self.penalty == "hoyer"
            and self.sparseness_codes is not None
            and self.codes_axis == "component"
        )

    def _check_settings(self, shape):
        name = type(self).__name__
        if self.penalty != "hoyer":
            for parameter in ("sparseness_components", "sparseness_codes"):
                if getattr(self, parameter) is not None:
                    raise ValueError(
                        f"{name}({parameter}={getattr(self, parameter)}) needs penalty='hoyer', "
                        f"got penalty={self.penalty!r}: set that, or {parameter}=None."
                    )
        if self.penalty != "hoyer":
            return
        if self.sparseness_components is None and self.sparseness_codes is None:
            raise ValueError(
                f"{name}(penalty='hoyer') needs sparseness_components, sparseness_codes or both, "
                "between 0 and 1, and both are None; penalty=None is the factorisation without."
            )
        sizes = {}
        if self.sparseness_components is not None:
            sizes["sparseness_components"] = ("n_features", shape[1])
        if self.sparseness_codes is not None and self.codes_axis == "component":
            sizes["sparseness_codes"] = ("n_samples", shape[0])
        for parameter, (what, size) in sizes.items():
            if size < 2:
                raise ValueError(
                    f"{name}({parameter}={getattr(self, parameter)}) needs at least 2 entries "
                    f"to be sparse, got {what}={size} (n_samples={shape[0]}, "
                    f"n_features={shape[1]}); use {parameter}=None."
                )

    def _warn_of_rank(self, n, p):
        """Warn of components that the data do not determine, nor a penalty."""
        # codes of given sparseness may need more components than there are columns
        free = self.sparseness_codes is None
        if self.penalty != "l1" and self.n_components > (min(n, p) if free else n):
            columns = f" or n_features={p}" if free else ""
            warnings.warn(
                f"{type(self).__name__}(n_components={self.n_components}, "
                f"penalty={self.penalty!r}) has more components than n_samples={n}{columns}: the "
                "data do not determine them. Use fewer, or penalty='l1'.",
                UserWarning,
                stacklevel=5,
            )

    def _given_start(self, n_features):
        """Components to start with, as an array, or None."""
        if self.warm_start and hasattr(self, "components_"):
            start, name = self.components_, "the components of the last fit (warm_start=True)"
        elif isinstance(self.init, str):
            return None
        else:
            start, name = self.init, "init"
        start = check_array(start, dtype=np.float64, input_name="init")
        if start.shape != (self.n_components, n_features) or (start < 0).any():
            raise ValueError(
                f"{name} must be a non-negative array of shape (n_components={self.n_components}, "
                f"n_features={n_features}), got shape {start.shape} with minimum "
                f"{start.min():.3g}."
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
        values = X.data if sparse.issparse(X) else X
        if sparse.issparse(X) and np.isnan(values).any():
            raise ValueError(
                f"{type(self).__name__} does not take NaN in sparse input: give a dense array, "
                "where NaN marks a missing entry."
            )
        if values.size and np.nanmin(values, initial=0.0) < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: least is "
                f"{np.nanmin(values):.3g}; shift or clip X, or use SemiNMF."
            )
        return X

    def _split(self, scale):
        """Powers of two a, b by which codes and components are multiplied, X being by a b."""
        if self._codes_over_rows or (self.penalty == "l1" and self.side == "components"):
            return 1.0, scale
        if self.penalty == "l1" and self.side == "both":
            a = float(np.ldexp(1.0, int(np.log2(scale) // 2)))
            return a, scale / a
        return scale, 1.0

    def _sides(self, scale, a, b):
        """Constraints and penalties of both factors multiplied by a and b, and X by `scale`.

        The objective is multiplied by ``scale**2``.
        """
        codes, components = Side(), Side()
        if self.penalty == "hoyer":
            if self.sparseness_codes is not None:
                over_rows = self.codes_axis == "component"
                kind = "columns_unit" if over_rows else "rows"
                if over_rows or self.n_components > 1:
                    codes = Side(kind, level=float(self.sparseness_codes))
            if self.sparseness_components is not None:
                kind = "columns" if self.sparseness_codes is not None else "columns_unit"
                components = Side(kind, level=float(self.sparseness_components))
        elif self.penalty == "l1":
            codes = self._penalised("codes", scale, b)
            components = self._penalised("components", scale, a)
        return codes, components

    def _penalised(self, factor, scale, other):
        if self.side not in (factor, "both"):
            return Side(l2=min(self.eta_ * other * other, HUGE))
        if self.form == "plain":
            return Side(l1=min(self.beta * scale * other, HUGE))
        return Side(l1_sq=min(self.beta * other * other, HUGE))

    def _fit(self, X, y, weights, start):
        counted = X
        if weights is not None and not weights.all():
            counted, weights = X[weights > 0], weights[weights > 0]
        self._check_settings(counted.shape)
        self._warn_of_rank(*counted.shape)
        size = largest(counted)
        scale = power_of_two(size)
        data = scaled_data(counted, scale, weights)
        check_scale(type(self).__name__, size, data.sum_sq / scale / scale)
        self.eta_ = 0.0
        if self.penalty == "l1" and self.side != "both":
            self.eta_ = size * size if self.eta == "max2" else float(self.eta)
        a, b = self._split(scale)
        codes_side, components_side = self._sides(scale, a, b)
        rng = check_random_state(self.random_state)
        n_init = 1 if start is not None else self.n_init
        best = None
        with FitProgress(self, X, y, max_passes=n_init * self.max_iter) as progress:
            for number in range(n_init):
                if start is not None:
                    V = start.T * b
                elif number == 0 and self.init == "nndsvd":
                    V = nndsvd_components(data, self.n_components, rng)
                else:
                    V = rng.uniform(size=(X.shape[1], self.n_components))
                    V /= np.linalg.norm(V, axis=0)
                W, V = start_from(data, V, codes_side, components_side, given=start is not None)
                result, left = None, self.max_iter
                while True:
                    result = factorize(
                        data,
                        W,
                        V,
                        codes_side=codes_side,
                        components_side=components_side,
                        exact=self.solver == "bpp",
                        max_iter=left,
                        tol=self.tol,
                        progress=progress,
                        history=None if result is None else result.history,
                    )
                    left = self.max_iter - result.n_iter
                    W, V = result.codes, result.components
                    if self.penalty is not None or progress.stopped or left == 0:
                        break
                    if not revive(data, W, V):
                        break
                if best is None or result.objective < best.objective:
                    best = result
                if progress.stopped:
                    break
        self._store(data, best, a, b, scale, keep_order=start is not None, dtype=X.dtype)
        if not best.converged and not progress.stopped:
            warn_not_converged(
                self,
                reached=f"after {best.n_iter} passes the KKT residual is {best.residual:.1e} "
                f"(tol={self.tol:g})",
                remedy="raise max_iter or tol",
            )

    def _store(self, data, result, a, b, scale, *, keep_order, dtype):
        W, V = result.codes, result.components
        if self.penalty is None:
            size = np.sqrt((V * V).sum(axis=0))
            size[size == 0] = 1.0
            W, V = W * size, V / size
        if not keep_order:
            weights = np.ones(len(W)) if data.weights is None else data.weights
            share = (weights @ (W * W)) * (V * V).sum(axis=0)
            order = np.argsort(-share, kind="stable")
            W, V = W[:, order], V[:, order]
        components = narrowed(V.T / b, dtype, type(self).__name__, "components")
        self.components_ = np.ascontiguousarray(components)
        self.n_components_ = len(self.components_)
        self.objective_ = float(result.objective / scale / scale)
        self.objective_history_ = np.asarray(result.history) / scale / scale
        self.kkt_residual_ = float(result.residual)
        self.reconstruction_err_ = float(np.sqrt(squared_error(data, W, V)) / scale)
        self.n_iter_ = result.n_iter
        self.codes_ = (W / a).astype(dtype) if self._codes_over_rows else None
        self._sums = None
        if data.observed is None:
            _, S, T = next(data.terms(W, False))
            fixed = penalty_value(self._sides(scale, a, b)[0], W, data.weights)
            # in the units of the scaled data, in which nothing overflows
            self._sums = (S, T, data.sum_sq, fixed, scale, a)

    def _dictionary(self):
        return np.ascontiguousarray(self.components_.T, dtype=np.float64)

    def _codes(self, X):
        """Codes of validated rows, in float64."""
        scale = power_of_two(largest(X))
        b = power_of_two(largest(self.components_))
        a = scale / b
        side = self._sides(scale, a, b)[0]
        if side.kind == "columns_unit":  # over rows: new rows do not know each other
            side = Side()
        return codes_for(scaled_data(X, scale), self._dictionary() * b, side) / a

    def _add_rows(self, X, codes, weights):
        S, T, sum_sq, fixed, old_scale, old_a = self._sums
        size = max(np.sqrt(sum_sq) / old_scale, largest(X))
        scale = power_of_two(size)
        a, b = self._split(scale)
        codes_side, components_side = self._sides(scale, a, b)
        new = scaled_data(X, scale, weights)
        by, by_codes = scale / old_scale, a / old_a
        total_sq = sum_sq * by * by + new.sum_sq
        check_scale(type(self).__name__, size, total_sq / scale / scale)
        codes = codes * a
        _, S_new, T_new = next(new.terms(codes, False))
        S = S * by_codes * by_codes + S_new
        T = T * by_codes * by + T_new
        fixed = fixed * by * by + penalty_value(codes_side, codes, weights)
        total = SummedData(S, T, total_sq)
        V = self._dictionary() * b
        ones = np.ones(V.shape[1])
        for _ in range(self.max_iter):
            moved = update(total, components_side, codes, V, codes=False, sweeps=10, scales=ones)
            if moved.residual_sq <= (self.tol / 10) ** 2 * moved.size_sq:
                break
        # the rows are gone, so that what is left of the sums may be rounding
        least = fixed + penalty_value(components_side, V)
        objective = max(total.sum_sq / 2 + moved.value + fixed, least)
        if self.penalty is None:
            size = np.sqrt((V * V).sum(axis=0))
            size[size == 0] = 1.0
            V, S, T = V / size, S * size * size[:, None], T * size
        components = narrowed(V.T / b, self.components_.dtype, type(self).__name__, "components")
        self.components_ = np.ascontiguousarray(components)
        error = total.sum_sq - 2 * (T * V).sum() + ((V @ S) * V).sum()
        self.reconstruction_err_ = float(np.sqrt(max(error, 0.0)) / scale)
        self.objective_ = float(objective / scale / scale)
        self.objective_history_ = np.append(self.objective_history_, self.objective_)
        self.kkt_residual_ = ratio(moved)
        self.n_iter_ += 1
        self._sums = (S, T, total_sq, fixed, scale, a)

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
