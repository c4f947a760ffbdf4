"""Convex non-negative matrix factorisation: components are averages of rows."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.doubt import record_doubt
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_magnitude, check_n_components
from skmoderndata._kernelized.checks import is_structured, refuse_texts, structured_samples
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS, resolve_kernel
from skmoderndata._kernelized.low_rank import kernel_matrix
from skmoderndata._samples.containers import count_samples
from skmoderndata._samples.encoded import Encoded
from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.factors.convex_factorization import (
    IndefiniteError,
    against,
    convex_factorize,
    rows_of_kernel,
)
from skmoderndata.decomposition._nmf_base import (
    AlternatingFactorization,
    narrowed,
    validate_rows,
    warn_of_passes,
    warn_of_rank,
)

# Maximum norm of the mean row, in units of the spread of the rows, at which more passes are
# advised if a fit has not converged.
MOST_OFFSET = 10.0


def _is_linear(estimator):
    """Return whether components are vectors of the input space."""
    if isinstance(estimator.kernel, str) and estimator.kernel == "linear":
        return True
    raise AttributeError(
        f"{type(estimator).__name__}(kernel={estimator.kernel!r}) has components only in the "
        "space of the kernel; inverse_transform needs kernel='linear'."
    )


class ConvexNMF(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    r"""Factorisation whose components are weighted averages of rows, with non-negative codes.

    Minimises

    .. math::
        \tfrac12 \|X - W B^\top X\|_F^2 \quad\text{over}\quad W \ge 0,\ B \ge 0,\
        \textstyle\sum_i B_{ij} = 1,

    so that the components :math:`B^\top X` lie in the convex hull of the rows [1]_. Rows may have
    any sign. The problem depends only on their inner products, which can come from a kernel.

    Parameters
    ----------
    n_components : int, default=2
        Number of components. If it exceeds the number of rows, a UserWarning is issued, because
        the data do not determine the components.
    kernel : str, Kernel or callable, default="linear"
        Inner products: "linear", which never forms a Gram matrix; another name of
        `sklearn.metrics.pairwise`, "precomputed", a kernel object, or a function that returns Gram
        matrices. All kernels except "linear" need the Gram matrix of the training rows in memory;
        it must be positive semi-definite.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" means `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    init : {"kmeans", "random"}, default="kmeans"
        Initial weights: clusters of k-means (clusters around random rows for kernels), or random
        weights.
    n_init : int, default=1
        Number of starts; the best result is kept. Starts after the first are random.
    max_iter : int, default=1000
        Largest number of passes per start.
    tol : float, default=1e-3
        Tolerance: passes stop when `kkt_residual_` is at most this.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the starts. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features) or None
        Averages of rows, in descending order of the sum of squares they explain; None for kernels
        other than "linear", whose components have no coordinates.
    weights_ : ndarray of shape (n_samples, n_components)
        Matrix B: weight of each training row in each component. Most weights are zero.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features) or None
        Training rows, stored for kernels other than "linear" and "precomputed".
    objective_ : float
        Value of the objective at the solution.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each pass; it never increases.
    doubt_ : str or None
        Reason to doubt the result, with a remedy: the passes have not converged, and the rows have
        an offset that is large compared with their spread. None if there is none.
    kkt_residual_ : float
        Norm of the projected gradient relative to the norm of its linear terms for centred rows;
        the maximum over codes and weights.
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
    skmoderndata.decomposition.SemiNMF : Unconstrained components, with a smaller error.
    sklearn.cluster.KMeans : Each component is the mean of a cluster.

    Notes
    -----
    A pass takes six products of X with a thin matrix, ``12 n p k`` operations (for sparse X, n p
    is the number of stored entries). A kernel matrix is factorised first, in at most ``n^3``
    operations; its rank then takes the place of p. The problem is not convex; the name refers to
    the convex hull. The weights are sparse without a penalty. Missing entries raise an error,
    because an average of rows with missing entries is undefined.

    References
    ----------
    .. [1] Ding, Li and Jordan, Convex and semi-nonnegative matrix factorizations, IEEE
       Transactions on Pattern Analysis and Machine Intelligence 32(1), 2010, sections 2.2 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import ConvexNMF
    >>> X = np.array([[1.0, 0], [0, 1], [0.5, 0.5], [0.3, 0.7], [0.9, 0.1]])
    >>> model = ConvexNMF(2, random_state=0).fit(X)
    >>> round(model.objective_, 2)  # all rows lie between two of them
    0.0
    >>> model.transform(X)[:3].round(1)
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5]])
    """

    _card = MethodCard(
        family="non-negative factors",
        cite=("ding2010convex",),
        cost="T n p k",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        **KERNEL_CONSTRAINTS,
        "init": [StrOptions({"kmeans", "random"})],
        "n_init": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        init="kmeans",
        n_init=1,
        max_iter=1000,
        tol=1e-3,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Estimate components that are averages of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data of any sign, or the Gram matrix if ``kernel="precomputed"``.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : ConvexNMF
            The fitted estimator.
        """
        # read the rows, or their kernel matrix
        X = self._validate(X, reset=True)
        n = count_samples(X)
        shape = X.shape if hasattr(X, "dtype") else (n, n)
        dtype = getattr(X, "dtype", np.dtype(np.float64))
        check_n_components(self, shape)
        warn_of_rank(self, shape, rows_only=True)

        data, rows = self._rows(X, dtype)
        with FitProgress(self, X, y, max_passes=self.n_init * self.max_iter) as progress:
            best = self._best_start(data, rows, progress)
        B = self._store(best, rows, dtype)

        # store the components if the samples have features, otherwise the samples for the kernel
        self.components_ = None
        self.X_fit_ = None
        if self._linear:
            self.components_ = np.ascontiguousarray((X.T @ B).T, dtype=dtype)
        elif not self._gram.precomputed:
            self.X_fit_ = X.copy()  # The caller may change X.

        # too large an offset is a property of the data; more passes would not help
        unfinished = not best.converged and not progress.stopped
        has_offset = unfinished and best.offset > MOST_OFFSET
        record_doubt(
            self,
            f"the norm of the mean row is {best.offset:.3g} times the spread of the rows, and "
            f"after {best.n_iter} passes the KKT residual is {best.residual:.1e} "
            f"(tol={self.tol:g}). Subtract this offset from the rows before fit."
            if has_offset
            else None,
        )
        if unfinished and not has_offset:
            warn_of_passes(self, best)
        return self

    def _rows(self, X, dtype):
        """Return the data of the starts, and rows with the inner products of the samples."""
        self._gram = None
        if self._linear:
            data = _double(X)
            return data, data
        self._gram = resolve_kernel(
            self.kernel,
            _double(X),
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )
        K = kernel_matrix(self._gram, X)
        check_magnitude(K, owner=type(self).__name__, kernel_values=True)
        rounding = np.finfo(dtype if self._gram.precomputed else np.float64).eps
        return K, self._rows_of_kernel(K, float(rounding))

    def _best_start(self, data, rows, progress):
        """Factorise from `init`, then from random starts; return the best result."""
        rng = check_random_state(self.random_state)
        best = None
        for number in range(self.n_init):
            W, B = self._start(data, rows, self.init if number == 0 else "random", rng)
            result = convex_factorize(
                rows,
                W,
                B,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )
            if best is None or result.objective < best.objective:
                best = result
            if progress.stopped:
                break
        return best

    def _store(self, best, rows, dtype):
        """Store the weights, scaled to a sum of one, with the largest component first."""
        total = best.weights.sum(axis=0)
        total[total == 0] = 1.0
        W = best.codes * total
        B = best.weights / total

        inner = B.T @ against(rows, B)
        order = np.argsort(-(W * W).sum(axis=0) * np.diagonal(inner), kind="stable")
        B = B[:, order]
        self.weights_ = np.ascontiguousarray(B, dtype=dtype)
        self._inner = np.ascontiguousarray(inner[np.ix_(order, order)])

        self.n_components_ = B.shape[1]

        self.objective_ = float(best.objective)
        self.objective_history_ = np.asarray(best.history)
        self.kkt_residual_ = float(best.residual)
        self.n_iter_ = best.n_iter
        return B

    @by_rows
    def transform(self, X):
        """Compute the codes of rows by non-negative least squares.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or inner products with the training rows if ``kernel="precomputed"``.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components_)
            Codes; each depends only on its row.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        dtype = getattr(X, "dtype", np.dtype(np.float64))
        return narrowed(self._codes(X)[0], dtype, self, "codes")

    inverse_transform = available_if(_is_linear)(AlternatingFactorization.inverse_transform)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative relative reconstruction error.

        It increases with `n_components`, so it cannot be used to choose that number.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Score ``-|X - codes @ components|_F / |X|_F``, in the space of the kernel. If
            ``kernel="precomputed"``, the norms of new rows are unknown, and the score is half the
            mean squared norm of the reconstructions, which ranks models in the same order.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        codes, linear = self._codes(X)

        # |X - W H|^2 = |X|^2 - explained
        explained = 2 * (codes * linear).sum() - (codes * (codes @ self._inner)).sum()

        if self._linear:
            rows = _double(X)
            values = rows.data if sparse.issparse(rows) else rows
            total = float((values * values).sum())
        elif self._gram.precomputed:
            return float(explained / 2 / X.shape[0])
        else:
            total = float(self._gram.diag(_double(X)).sum())
        return -float(np.sqrt(max(total - explained, 0.0) / total)) if total > 0 else 0.0

    @property
    def _linear(self):
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _validate(self, X, *, reset):
        if is_structured(self.kernel):
            return structured_samples(self.kernel, X, type(self).__name__, own=reset)
        refuse_texts(self.kernel, X, type(self).__name__)
        missing = (
            "its components are averages of rows, which are undefined if entries are missing. "
            "Impute them, or use SparseNMF or SemiNMF, which accept NaN as missing entries."
        )
        return validate_rows(self, X, reset=reset, missing=missing)

    def _rows_of_kernel(self, K, rounding):
        try:
            return rows_of_kernel(K, rounding)
        except IndefiniteError as error:
            raise ValueError(
                f"{type(self).__name__}(kernel={self.kernel!r}) needs a positive semi-definite "
                f"kernel matrix, but found an {error}, so there is no minimum. Use another "
                "kernel, or correct the spectrum of the matrix with skmoderndata.preprocessing."
                "SpectrumCorrector and set kernel='precomputed'."
            ) from error

    def _start(self, data, rows, init, rng):
        """Return initial codes and weights: cluster memberships, with 0.2 added everywhere."""
        n = rows.shape[0]
        k = self.n_components
        if init == "random":
            # The fourth power lets a few rows dominate each component.
            B = rng.uniform(size=(n, k)) ** 4
            B /= B.sum(axis=0)
            return nnls(B.T @ against(rows, B), against(rows, B)).Z + 0.01, B

        # cluster rows, or samples in feature space
        if self._linear:
            with warnings.catch_warnings():
                # Having fewer distinct rows than components is harmless here.
                warnings.simplefilter("ignore", ConvergenceWarning)
                labels = KMeans(min(k, n), n_init=1, random_state=rng).fit(data).labels_
        else:
            centres = rng.permutation(n)[:k]
            labels = np.argmin(np.diagonal(data)[centres] - 2 * data[:, centres], axis=1)

        W = np.zeros((n, k))
        W[np.arange(n), labels] = 1.0
        W += 0.2
        return W, W / W.sum(axis=0)

    def _codes(self, X):
        """Return codes of validated rows in float64, and inner products with the components."""
        if self._linear:
            components = self.components_.astype(np.float64)
            linear = np.asarray(_double(X) @ components.T)
            return nnls(components @ components.T, linear).Z, linear

        # compute codes from inner products with the components, which are averages of phi(x)
        if self._gram.precomputed:
            K = self._gram(X)
        else:
            K = self._gram(_double(X), _double(self.X_fit_))
        linear = np.asarray(K, dtype=np.float64) @ self.weights_.astype(np.float64)
        return nnls(self._inner, linear).Z, linear

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.two_d_array = not is_structured(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _double(X):
    if isinstance(X, list | Encoded):  # The samples are not vectors.
        return X
    if sparse.issparse(X):
        return sparse.csr_array(X, dtype=np.float64)
    return np.ascontiguousarray(X, dtype=np.float64)
