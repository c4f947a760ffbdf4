"""Regression on principal components, primal, dual and with kernels."""

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base
from skmoderndata._compat import (
    AT_LEAST_ONE,
    Interval,
    RealNotInt,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.kernel.canonical import (
    INDEFINITE,
    SMALL,
    CentredRows,
    centre_dual,
    centre_kernel,
)
from skmoderndata._validation import check_array, validate_data
from skmoderndata.kernels._expansion import scale_gamma
from skmoderndata.kernels._resolve import KERNEL_CONSTRAINTS, Columns, resolve_kernel

FLOATS = [np.float64, np.float32]


class PrincipalComponentsRegression(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiOutputMixin, RegressorMixin, Base
):
    r"""Least squares on the leading principal components, of the columns or of a kernel.

    With the centred kernel matrix :math:`K = \sum_j \lambda_j v_j v_j^\top`, for linear
    regression :math:`K = X X^\top`, `fit` solves [1]_

    .. math::
        \min_\alpha\ \| y - \bar y - K \alpha \|^2
        \quad\text{over}\quad \alpha \in \operatorname{span}(v_1, \dots, v_k),
        \qquad \alpha = \sum_{j \le k} \lambda_j^{-1} v_j\, v_j^\top y.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; or, below 1, the share of the variance that they have to explain;
        None takes all, which is least squares of minimum norm.
    kernel : str, Kernel or callable, default="linear"
        A name of `sklearn.metrics.pairwise`, "precomputed", a kernel object of scikit-learn's
        protocol, or a function that returns a Gram matrix.
    gamma : {"scale", "auto"}, float or None, default="scale"
        Parameter of the kernels that have it; "scale" is ``1 / (n_features * X.var())``.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    solver : {"auto", "primal", "dual"}, default="auto"
        "primal" works with the columns (for the linear kernel), "dual" with the kernel matrix of
        the samples; both give the same answer. "auto" takes what is smaller.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients of the columns, for the linear kernel.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Coefficients of the kernel values with `X_fit_`, for the other kernels.
    X_fit_ : array or list
        Training samples, for the other kernels.
    intercept_ : float or ndarray of shape (n_targets,)
        Constant of the prediction.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the components (with ``n - 1``).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Their shares of the whole.
    n_components_ : int
        Number of components used, at most the rank.
    solver_ : str
        "primal" or "dual".
    stationarity_ : float
        Certificate: the largest correlation of a residual with a component, 0 at the minimum.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where `X` had some.

    See Also
    --------
    sklearn.decomposition.PCA : In a pipeline with `LinearRegression` the same for the linear
        kernel.
    skmoderndata.cross_decomposition.KernelPLSRegression : Components that look at the target.

    Notes
    -----
    Cost ``n p min(n, p)`` for the linear kernel and ``n^3`` for others. Components are cut at
    ``1e-10`` of the largest variance in the dual and for sparse X, else at rounding level.

    Sparse X is never filled: few components come from Lanczos iterations, others from the
    covariance of the columns or the inner products of the rows, whichever is smaller.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, Cambridge University
       Press, 2004, algorithm 6.39.
    .. [2] Massy, Principal components regression in exploratory statistical research, Journal of
       the American Statistical Association 60(309), 1965.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cross_decomposition import PrincipalComponentsRegression
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.normal(size=(80, 2))
    >>> X = factors @ rng.normal(size=(2, 100)) + 0.3 * rng.normal(size=(80, 100))
    >>> y = factors[:, 0]
    >>> pcr = PrincipalComponentsRegression(2).fit(X[:40], y[:40])
    >>> pcr.score(X[40:], y[40:]) > 0.95
    True
    """

    _card = MethodCard(
        family="regression on components",
        cite=("shawetaylor2004kernel", "massy1965principal"),
        cost="n p min(n, p), or n^3",
        checks=(
            {},
            {"n_components": 0.9, "solver": "dual"},
            {"kernel": "rbf", "n_components": 0.95},
        ),
        comparison=Comparison(
            baseline="sklearn.cross_decomposition.PLSRegression",
            problem="diabetes",
            grid={"n_components": (1, 2, 3, 4, 6, 8)},
            baseline_grid={"n_components": (1, 2, 3, 4, 6, 8)},
        ),
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, Interval(RealNotInt, 0, 1, closed="neither"), None],
        **KERNEL_CONSTRAINTS,
        "solver": [StrOptions({"auto", "primal", "dual"})],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        solver="auto",
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Find the components and regress the targets on them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples, or their kernel matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: 2 counts as two copies, 0 as none.

        Returns
        -------
        self : PrincipalComponentsRegression
            The fitted estimator.
        """
        X, y = validate_data(
            self,
            X,
            y,
            dtype=FLOATS,
            accept_sparse="csr",
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=2,
        )
        X = X.astype(np.float64, copy=False)
        Y = check_array(y, ensure_2d=False, dtype=np.float64).reshape(len(y), -1)
        linear = isinstance(self.kernel, str) and self.kernel == "linear"
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        if self.solver == "primal" and not linear:
            raise ValueError(
                "PrincipalComponentsRegression(solver='primal') is for kernel='linear', got "
                f"kernel={self.kernel!r}; use solver='dual'."
            )
        w, kept = None, np.arange(len(Y))
        if sample_weight is not None:
            w = check_sample_weight(sample_weight, Y, dtype=np.float64, ensure_non_negative=True)
            kept = np.flatnonzero(w > 0)
            if len(kept) < 2:
                raise ValueError(
                    "PrincipalComponentsRegression needs at least 2 samples of positive weight: "
                    f"n_samples={len(kept)}."
                )
            square = precomputed and X.shape[0] == X.shape[1]
            X, Y, w = X[np.ix_(kept, kept)] if square else X[kept], Y[kept], w[kept]
        n, p = X.shape
        dual = not linear or self.solver == "dual" or (self.solver == "auto" and p > n)
        self.solver_ = "dual" if dual else "primal"
        roots = np.ones(n) if w is None else np.sqrt(w)
        total_weight = float(n) if w is None else float(w.sum())
        target_means = Y.mean(axis=0) if w is None else w @ Y / total_weight
        residual = Y - target_means
        size = np.abs(residual).max() or 1.0
        residual = roots[:, None] * (residual / size)
        self._gram = None
        if linear:
            means, centred, scale = _centred(X, w, roots)
            values, V, W, total = self._linear(centred, dual)
        else:
            self._gram = resolve_kernel(
                self.kernel,
                X,
                gamma=scale_gamma(self.gamma, self.kernel, X, w),
                degree=self.degree,
                coef0=self.coef0,
                kernel_params=self.kernel_params,
            )
            K = np.array(self._gram(X), dtype=np.float64)
            K_means = centre_kernel(K, w)
            floor = n * 1e-15 * np.abs(K_means).max(initial=0.0)
            values, V = self._leading(K, floor)
            total = float(K.trace())
        k = self._number(values, total)
        values, V = values[:k], V[:, :k]
        fitted = V.T @ residual  # coefficients of unit scores
        unit = scale**2 if linear else 1.0
        if linear:
            W = fix_signs(W[:, :k].T).T
            signs = np.sign(((centred @ W) * V).sum(axis=0))
            self._rotations, self._score_shift = W, -(means @ W)
            coef = (W * signs) @ (fitted / np.sqrt(values)[:, None]) / scale * size
            shift = -(means @ coef)
            self.coef_ = coef[:, 0] if y.ndim == 1 else coef.T
        else:
            # scores are K alphas; signs as for so many copies of the samples
            alphas = centre_dual(V / np.sqrt(values), w)
            copies = np.ones((n, 1)) if w is None else w[:, None]
            alphas = fix_signs((alphas / copies).T).T * copies
            signs = np.sign((alphas / copies * (V / roots[:, None])).sum(axis=0))
            self.X_fit_ = Columns(kept) if precomputed else self._gram.subset(X, np.arange(n))
            self._rotations, self._score_shift = alphas, -(K_means @ alphas)
            coef = (alphas * signs) @ (fitted / np.sqrt(values)[:, None]) * size
            shift = -(K_means @ coef)
            self.dual_coef_ = coef[:, 0] if y.ndim == 1 else coef
        intercept = target_means + shift
        self.intercept_ = float(intercept[0]) if y.ndim == 1 else intercept
        left = residual - V @ fitted
        self.stationarity_ = float(
            np.abs(V.T @ left).max(initial=0.0) / (linalg.norm(residual) or 1.0)
        )
        self.n_components_ = k
        self.explained_variance_ = values * unit / (total_weight - 1)
        self.explained_variance_ratio_ = values / total if total > 0 else values
        return self

    def predict(self, X):
        """Targets of new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, or their kernel values with all training samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, accept_sparse="csr", reset=False)
        X = X.astype(np.float64, copy=False)
        coef = self.coef_.T if self._gram is None else self.dual_coef_
        return self._apply(X, coef) + self.intercept_

    def transform(self, X):
        """Principal components of new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, or their kernel values with all training samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
            One column for each component; the largest coefficient of each is positive.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, accept_sparse="csr", reset=False)
        scores = self._apply(X.astype(np.float64, copy=False), self._rotations)
        return (scores + self._score_shift).astype(X.dtype, copy=False)

    def _linear(self, G, dual):
        """Squared singular values, left and right vectors of centred rows; sum of squares."""
        n, p = G.shape
        k = self.n_components
        if isinstance(G, CentredRows):
            total = max(float(G.X.data @ G.X.data) - G.total * float(G.mean @ G.mean), 0.0)
            if isinstance(k, int | np.integer) and min(n, p) > SMALL and k < min(n, p) // 8:
                return *_few(G, k), total
            A = G.gram() if dual else G.inner(G)
            values, U = self._leading((A + A.T) / 2, 0.0)
            other = (G.inner(U) if dual else G @ U) / np.sqrt(values)
            return (values, U, other, total) if dual else (values, other, U, total)
        if dual:
            K = G @ G.T
            values, V = self._leading(K, 0.0)
            return values, V, G.T @ (V / np.sqrt(values)), float(K.trace())
        V, s, Vt = linalg.svd(G, full_matrices=False, check_finite=False)
        keep = s > max(n, p) * np.finfo(np.float64).eps * s[0] if s[0] > 0 else s > 0
        values = s[keep] ** 2
        return values, V[:, keep], Vt[keep].T, float(values.sum())

    def _leading(self, K, floor):
        """Positive eigenvalues, descending, and eigenvectors."""
        values, V = linalg.eigh(K, driver="evd", check_finite=False)
        if values[0] < -INDEFINITE * max(abs(values[-1]), abs(values[0])):
            raise ValueError(
                f"PrincipalComponentsRegression: the kernel matrix of kernel={self.kernel!r} "
                "is not positive semi-definite. Choose another kernel or other parameters, or "
                "correct its spectrum."
            )
        values, V = values[::-1], V[:, ::-1]
        # of a constant kernel rounding is left over
        keep = values > max(1e-10 * values[0], floor)
        return values[keep], V[:, keep]

    def _apply(self, X, coef):
        if self._gram is None:
            return X @ coef
        return np.concatenate([K @ coef for _, K in self._gram.blocks(X, self.X_fit_)])

    def _number(self, values, total):
        if self.n_components is None:
            return len(values)
        if isinstance(self.n_components, float) and self.n_components < 1:
            shares = np.cumsum(values) / total if total > 0 else values
            return min(len(values), int(np.searchsorted(shares, self.n_components)) + 1)
        return min(len(values), int(self.n_components))

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _centred(X, w, roots):
    """Means, and centred rows over their largest entry, times the roots of the weights."""
    share = np.full(len(roots), 1 / len(roots)) if w is None else w / w.sum()
    if sparse.issparse(X):
        means = np.asarray(share @ X).ravel()
        scale = float(max(np.abs(X.data).max(initial=0.0), np.abs(means).max(initial=0.0))) or 1.0
        return means, CentredRows(X, means, np.full(X.shape[1], scale), roots), scale
    means = X.mean(axis=0) if w is None else share @ X
    G = X - means
    scale = float(np.abs(G).max(initial=0.0)) or 1.0
    G /= scale
    return means, (G if w is None else roots[:, None] * G), scale


def _few(G, k):
    """Few leading squared singular values and vectors of centred sparse rows."""
    operator = LinearOperator(
        G.shape,
        matvec=lambda b: G @ b.ravel(),
        rmatvec=lambda b: G.inner(b.ravel()[:, None])[:, 0],
    )
    start = np.random.RandomState(0).standard_normal(min(G.shape))
    V, s, Wt = svds(operator, k=k, v0=start, tol=0)
    order = np.argsort(s)[::-1]
    order = order[s[order] > max(G.shape) * np.finfo(np.float64).eps * s.max()]
    return s[order] ** 2, V[:, order], Wt[order].T
