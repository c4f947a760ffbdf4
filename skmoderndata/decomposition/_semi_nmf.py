"""Semi-non-negative matrix factorisation: non-negative codes, components of any sign."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from skmoderndata._estimator.compat import AT_LEAST_ONE, NON_NEGATIVE, StrOptions
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import weigh_entries
from skmoderndata._solvers.factors.coded_rows import first_codes
from skmoderndata._solvers.factors.factor_updates import Side, lengths_of
from skmoderndata._solvers.factors.factorization import factorize, nndsvd_components
from skmoderndata.decomposition._nmf_base import (
    AlternatingFactorization,
    ridge_for_gaps,
    validate_rows,
    warn_of_rank,
)


class SemiNMF(AlternatingFactorization):
    r"""Factorise data of any sign with non-negative codes, as in a soft k-means.

    Minimises

    .. math::
        \tfrac12 \|X - W H\|_F^2 \quad\text{over}\quad W \ge 0,

    with components H of any sign [1]_, plus :math:`\tfrac{\rho}{2} (\|W\|_F^2 + \|H\|_F^2)`, where
    :math:`\rho` is `ridge`: 0 unless entries are missing or have weights. If each row of W had a
    single non-zero entry, equal to 1, the components would be the centres of k-means. Missing
    entries (NaN) are ignored. With weights :math:`c_{ij}` of the entries (`entry_weight` of
    `fit`), the squared norm is :math:`\sum_{ij} c_{ij} (X - W H)_{ij}^2`.

    Parameters
    ----------
    n_components : int, default=2
        Number of components. If it exceeds the number of rows or columns, a UserWarning is
        issued, because the data do not determine the components.
    ridge : "auto" or float, default="auto"
        Weight of the squared norms of both factors. Rows and columns with few observed entries do
        not determine their factors, which would grow without bound without a ridge. "auto" is 0
        for complete data, and otherwise a hundredth of the root mean square of the norms of the
        columns, with missing entries as 0: this is little compared with noise of a tenth of the
        data.
    init : {"svd", "kmeans", "random"} or array-like, default="svd"
        Initial components: "svd" computes them from the positive and negative parts of singular
        vectors, "kmeans" as centres of k-means (with a random start), "random" draws them; or an
        array of shape (n_components, n_features).
    n_init : int, default=1
        Number of starts; the best result is kept. Starts after the first are random.
    max_iter : int, default=1000
        Largest number of passes per start.
    tol : float, default=1e-4
        Tolerance: passes stop when `kkt_residual_` is at most this.
    warm_start : bool, default=False
        If True, `fit` starts from the components of the last call.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the starts. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Components H. The rows are in descending order of the sum of squares they explain, or in
        the order of `init` if it is an array. They have unit norm unless there is a ridge, which
        determines their norms.
    objective_ : float
        Value of the objective at the solution. After `partial_fit`, an estimate for all rows so
        far, computed from the rows that still have weight.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each pass; it never increases.
    kkt_residual_ : float
        Norm of the projected gradient relative to the norm of the linear terms; the maximum over
        both factors. After `partial_fit`, the value for the components.
    reconstruction_err_ : float
        Frobenius norm of ``X - codes @ components_`` over observed entries, with weighted
        squares.
    ridge_ : float
        Weight of the squared norms used in the fit.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of passes of the best start.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    skmoderndata.decomposition.SparseNMF : Non-negative codes and components.
    skmoderndata.decomposition.ConvexNMF : Components that are averages of rows.
    sklearn.cluster.KMeans : Codes with a single non-zero entry.
    sklearn.decomposition.TruncatedSVD : Codes of any sign; its error is a lower bound.

    Notes
    -----
    `fit` accepts Dask arrays and tables on disk; the codes stay where the rows are read. For such
    tables, the starts "svd" and "kmeans" are computed from a sample of up to 10,000 rows.

    A pass takes ``4 n p k`` operations (for sparse X, n p is the number of stored entries). The
    codes need not be orthogonal. Even with this constraint the problem would be a relaxation of
    k-means, because the non-zero entries may differ. `transform` solves non-negative least
    squares exactly.

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
    >>> round(float(model.reconstruction_err_), 3)
    0.0
    """

    _card = MethodCard(
        family="non-negative factors",
        cite=("ding2010convex",),
        cost="T n p k",
        fits_blocks=True,
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "ridge": [StrOptions({"auto"}), NON_NEGATIVE],
        "init": [StrOptions({"svd", "kmeans", "random"}), "array-like"],
        "n_init": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        ridge="auto",
        init="svd",
        n_init=1,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.ridge = ridge
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state

    def _scale_is_free(self):
        return self.ridge_ == 0

    def _validate(self, X, entry_weight, *, reset):
        X = validate_rows(self, X, reset=reset)
        return weigh_entries(X, entry_weight, owner=type(self).__name__)

    def _warn_of_rank(self, shape):
        warn_of_rank(self, shape)

    def _check(self, rows):
        """Set `ridge_`."""
        if self.ridge != "auto":
            self.ridge_ = float(self.ridge)
        else:
            self.ridge_ = ridge_for_gaps(rows)

    def _sides(self, ridge):
        return Side(l2=ridge), Side("free", l2=ridge)

    def _start(self, rows, init, rng):
        """Return initial components, one per column."""
        p = rows.shape[1]
        k = self.n_components
        if init == "svd":
            # The non-negative part of a left singular vector is the initial code.
            V = nndsvd_components(rows.some(rng), k, rng, codes=True)
        elif init == "kmeans":
            data = rows.some(rng)
            n = data.shape[0]
            # replace missing entries with the mean of their feature
            filled = data.X
            if data.observed is not None:
                weights = np.ones(n) if data.weights is None else data.weights
                counts = data.observed if data.cells is None else data.cells
                observed = weights @ counts
                means = (weights @ (counts * filled)) / np.where(observed > 0, observed, 1.0)
                filled = np.where(data.observed, filled, means)

            distinct = min(k, n)
            clusters = KMeans(distinct, n_init=1, random_state=rng)
            V = rng.uniform(-1, 1, size=(p, k))
            with warnings.catch_warnings():
                # It is harmless here if there are fewer distinct rows than components.
                warnings.simplefilter("ignore", ConvergenceWarning)
                clusters.fit(filled, sample_weight=data.weights)
            V[:, :distinct] = clusters.cluster_centers_.T
        else:
            V = rng.uniform(-1, 1, size=(p, k))

        return V / lengths_of(V)

    def _solve(self, rows, V, sides, progress, *, has_start):
        rows, _ = rows.step(first_codes, V, sides[0], False)
        return factorize(
            rows,
            V,
            codes_side=sides[0],
            components_side=sides[1],
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
