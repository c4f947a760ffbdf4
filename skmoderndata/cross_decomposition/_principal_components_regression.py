"""Principal components regression, primal, dual and with kernels."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skmoderndata._base import Base, warn_fewer
from skmoderndata._compat import (
    AT_LEAST_ONE,
    Interval,
    RealNotInt,
    StrOptions,
    fit_context,
)
from skmoderndata._kernelized.checks import is_structured, refuse_texts, structured_samples
from skmoderndata._kernelized.expansion import scale_gamma, surely_psd
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS, Columns, resolve_kernel
from skmoderndata._kernelized.low_rank import is_low_rank, low_rank_features
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._samples.encoded import Encoded
from skmoderndata._samples.keys import key_of_sample
from skmoderndata._solvers.common.linalg import (
    eigen_of_fraction,
    leading_eigen,
    leading_eigen_until,
    row_signs,
)
from skmoderndata._solvers.kernel.canonical import (
    DENSE_UP_TO,
    INDEFINITE,
    CentredRows,
    centre_dual,
    centre_kernel,
)
from skmoderndata._validation import FLOATS, check_array, validate_data
from skmoderndata.cross_decomposition._base import unequal_weights
from skmoderndata.cross_decomposition._kernel_base import kernel_matrix, take_samples

START = 64  # components from which on leave-one-out looks for the best number


class Components(NamedTuple):
    """Principal components of centred samples, in descending order."""

    values: np.ndarray  # (k,), squared lengths of the training scores
    units: np.ndarray  # (n, k), training scores of length one, roots of the weights included
    total: float  # sum of squares of the centred samples
    rotate: (
        Callable  # values, units -> rotations R and shifts: scores are `features @ R + shift`
    )
    signs: Callable  # R -> the signs that the convention asks for


class PrincipalComponentsRegression(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiOutputMixin, RegressorMixin, Base
):
    r"""Least squares regression on the leading principal components, linear or with a kernel.

    With the centred kernel matrix :math:`K = \sum_j \lambda_j v_j v_j^\top`, for linear
    regression :math:`K = X X^\top`, `fit` solves [1]_

    .. math::
        \min_\alpha\ \| y - \bar y - K \alpha \|^2
        \quad\text{over}\quad \alpha \in \operatorname{span}(v_1, \dots, v_k),
        \qquad \alpha = \sum_{j \le k} \lambda_j^{-1} v_j\, v_j^\top y.

    Parameters
    ----------
    n_components : "loo", int, float or None, default="loo"
        Number of components, reduced to the rank with a warning if it is larger; or, below 1, the
        fraction of the variance that they must explain. "loo" chooses the number with the smallest
        leave-one-out error of the regression on the components. None uses all components, which
        gives the least squares solution of minimum norm.
    kernel : str, Kernel or callable, default="linear"
        A name of `sklearn.metrics.pairwise`, "precomputed", a kernel object of scikit-learn's
        protocol, or a function that returns a Gram matrix.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    solver : {"auto", "primal", "dual", "low_rank"}, default="auto"
        "primal" works with the columns (for the linear kernel), "dual" with the kernel matrix of
        the samples; both give the same result. "low_rank", for the other kernels, looks for the
        components in the span of at most `max_rank` samples chosen by incomplete Cholesky
        factorisation. "auto" takes the smaller matrix for the linear kernel; for others it is
        "dual" up to 1000 samples, for more components than `max_rank` and for precomputed kernels,
        otherwise "low_rank".
    max_rank : int, default=300
        Largest number of samples that span the components, for `solver="low_rank"`.
    copy_X : bool, default=True
        Whether the model stores a copy of the training samples, for kernels other than "linear".
        False may save memory, but then the samples must not be modified.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients of the columns, for the linear kernel.
    dual_coef_ : ndarray of shape (n_fit,) or (n_fit, n_targets)
        Coefficients of the kernel values with `X_fit_`, for the other kernels.
    X_fit_ : array or list
        Training samples, for the other kernels; with the solver "low_rank" those that span the
        components.
    intercept_ : float or ndarray of shape (n_targets,)
        Constant of the prediction.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the components (with divisor n).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Fractions of the total variance.
    loo_errors_ : ndarray of shape (n_candidates,)
        With ``n_components="loo"``: leave-one-out mean squared error of the regression on 1, 2,
        ... components, relative to the variance of the target (averaged over targets). Infinite if
        a component depends on a single sample.
    n_components_ : int
        Number of components used, at most the rank.
    solver_ : str
        "primal", "dual" or "low_rank".
    stationarity_ : float
        Certificate: the largest correlation of a residual with a component, 0 at the minimum.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.PCA : In a pipeline with `LinearRegression`, equivalent for the linear
        kernel.
    skmoderndata.cross_decomposition.KernelPLSRegression : Components that depend on the target.

    Notes
    -----
    Cost ``n p min(n, p)`` for the linear kernel; for others ``n^3`` at most, and ``n r^2`` with
    the solver "low_rank" of rank r. Components are cut at ``1e-10`` of the largest variance in the
    dual, for a low rank and for sparse X, otherwise at rounding level.

    Leave-one-out looks at all components of up to 400 samples or columns; of a larger kernel
    matrix at 64, 128, ... leading ones, until the best number is in their first half. It costs
    ``n k`` for all numbers of components together: a sample i with residual e
    and leverage h has the error ``e / (1 - h)`` in the regression without it. The components do
    not depend on the target and are those of all samples. Copies of a sample are left out
    together, so that weights and copies give the same result.

    Sparse X is never converted to dense: few components are computed by Lanczos iterations, many
    from the covariance of the columns or the Gram matrix of the rows, whichever is smaller.

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
    >>> round(pcr.score(X[40:], y[40:]), 2)
    1.0
    """

    _card = MethodCard(
        family="regression on components",
        cite=("shawetaylor2004kernel", "massy1965principal"),
        cost="n p min(n, p); kernels n^3, or n r^2 with rank r",
        checks=(
            {},
            {"n_components": None},
            {"n_components": 0.9, "solver": "dual"},
            {"kernel": "rbf", "n_components": 0.95},
            {"kernel": "rbf", "solver": "low_rank", "max_rank": 20},
        ),
        comparison=Comparison(
            baseline="sklearn.cross_decomposition.PLSRegression",
            problem="diabetes",
            grid={"n_components": (2, 4, 6, 8, 10)},
            baseline_grid={"n_components": (1, 2, 3, 4, 6)},
        ),
    )
    _parameter_constraints = {
        "n_components": [
            AT_LEAST_ONE,
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"loo"}),
            None,
        ],
        **KERNEL_CONSTRAINTS,
        "solver": [StrOptions({"auto", "primal", "dual", "low_rank"})],
        "max_rank": [AT_LEAST_ONE],
        "copy_X": ["boolean"],
    }

    def __init__(
        self,
        n_components="loo",
        *,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        solver="auto",
        max_rank=300,
        copy_X=True,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver
        self.max_rank = max_rank
        self.copy_X = copy_X

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Compute the principal components and regress the targets on them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples, or their kernel matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: 2 counts as two copies, 0 as none; a common factor has no
            effect.

        Returns
        -------
        self : PrincipalComponentsRegression
            The fitted estimator.
        """
        # 1. samples of positive weight, and centred targets
        X, Y, one_target, rows, w = self._training_samples(X, y, sample_weight)
        roots = np.ones(len(Y)) if w is None else np.sqrt(w)
        target_means = Y.mean(axis=0) if w is None else w @ Y / w.sum()
        residual = roots[:, None] * (Y - target_means)

        # 2. principal components, as many as the choice among them needs
        enough = self._enough(X, Y, roots, residual)
        if isinstance(self.kernel, str) and self.kernel == "linear":
            found = self._linear_components(X, w, roots, enough)
        else:
            found = self._kernel_components(X, rows, w, roots, enough)

        # 3. their number
        if self.n_components == "loo":
            self.loo_errors_ = leave_one_out(found.units, roots, residual, copies_of(X, Y))
            k = int(self.loo_errors_.argmin()) + 1 if self.loo_errors_.size else 0
        else:
            k = self._number(found.values, found.total)
        values = found.values[:k]
        units = found.units[:, :k]

        # 4. scores from new samples, and the regression on them
        rotations, shift = found.rotate(values, units)
        fitted = units.T @ residual  # coefficients of unit scores
        on_scores = fitted / np.sqrt(values)[:, None]
        coef = rotations @ on_scores
        intercept = target_means + shift @ on_scores

        # 5. signs, attributes
        signs = found.signs(rotations)
        self._rotations = rotations * signs
        self._score_shift = shift * signs
        if self._gram is None:
            self.coef_ = coef[:, 0] if one_target else coef.T
        else:
            self.dual_coef_ = coef[:, 0] if one_target else coef
        self.intercept_ = float(intercept[0]) if one_target else intercept
        unexplained = residual - units @ fitted
        self.stationarity_ = float(
            np.abs(units.T @ unexplained).max(initial=0.0) / (linalg.norm(residual) or 1.0)
        )
        self.n_components_ = k
        self.explained_variance_ = values / float(roots @ roots)
        self.explained_variance_ratio_ = values / found.total if found.total > 0 else values
        return self

    def predict(self, X):
        """Predict the targets of samples.

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
        X = self._rows(X)
        coef = self.coef_.T if self._gram is None else self.dual_coef_
        return self._apply(X, coef) + self.intercept_

    def transform(self, X):
        """Compute the principal components of samples.

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
        X = self._rows(X)
        scores = self._apply(X, self._rotations) + self._score_shift
        single = getattr(X, "dtype", None) == np.float32
        return scores.astype(np.float32 if single else np.float64, copy=False)

    def _rows(self, X):
        if is_structured(self.kernel):
            return structured_samples(self.kernel, X, type(self).__name__, own=False)
        return validate_data(self, X, dtype=FLOATS, accept_sparse="csr", reset=False)

    def _training_samples(self, X, y, sample_weight):
        """Return samples and targets of positive weight, if y is one target, rows, weights."""
        if is_structured(self.kernel):
            X = structured_samples(self.kernel, X, type(self).__name__, own=True)
            check_consistent_length(X, y)
        else:
            refuse_texts(self.kernel, X, type(self).__name__)
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

        if self.solver == "primal" and self.kernel != "linear":
            raise ValueError(
                "PrincipalComponentsRegression(solver='primal') is for kernel='linear', got "
                f"kernel={self.kernel!r}; use solver='dual'."
            )
        if self.solver == "low_rank" and self.kernel == "linear":
            raise ValueError(
                "PrincipalComponentsRegression(solver='low_rank') is for kernels other than "
                "'linear', which needs no approximation; use solver='auto'."
            )

        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        Y = y.reshape(len(y), -1)

        w = unequal_weights(
            sample_weight, Y, owner="PrincipalComponentsRegression", at_least=2
        )
        # samples of positive weight
        rows = np.arange(len(Y))
        if w is not None:
            rows = np.flatnonzero(w)
            X = take_samples(X, rows, self.kernel)
            Y = Y[rows]
            w = w[rows]

        return X, Y, y.ndim == 1, rows, w

    def _enough(self, X, Y, roots, residual):
        """Return the function that tells whether the leading components hold the best number."""
        if self.n_components != "loo":
            return None
        copies = copies_of(X, Y)

        def enough(values, V):
            errors = leave_one_out(V, roots, residual, copies)
            return int(errors.argmin()) + 1 <= len(errors) // 2

        return enough

    def _linear_components(self, X, w, roots, enough):
        """Components of the columns, by the smaller of two matrices."""
        self._gram = None
        means, centred = _centred(X, w, roots)
        n, p = centred.shape
        dual = self.solver == "dual" or (self.solver == "auto" and p > n)

        self.solver_ = "dual" if dual else "primal"
        values, V, W, total = self._linear(centred, dual, enough)

        def rotate(values, units):
            kept = W[:, : len(values)]
            return kept, -(means @ kept)

        return Components(values, V, total, rotate, lambda R: row_signs(R.T))

    def _kernel_components(self, X, rows, w, roots, enough):
        """Components in feature space, by the kernel matrix or in the span of few samples."""
        gram = self._gram = resolve_kernel(
            self.kernel,
            X,
            gamma=scale_gamma(self.gamma, self.kernel, X, w),
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )

        many = (
            not isinstance(self.n_components, str) and (self.n_components or 0) > self.max_rank
        )
        low = self.solver == "low_rank" or (
            not many and is_low_rank(self.solver, gram, len(roots))
        )
        self.solver_ = "low_rank" if low else "dual"

        if low:
            return self._low_rank_components(X, rows, w, roots, gram)

        K = kernel_matrix(gram, X)
        K_means = centre_kernel(K, w)
        floor = len(K) * 1e-15 * np.abs(K_means).max(initial=0.0)
        values, V = self._leading(K, floor, surely_psd(gram), enough)

        self.X_fit_ = X.copy() if self.copy_X and hasattr(X, "copy") else X
        if gram.precomputed:
            self.X_fit_ = Columns(rows)
        copies = np.ones((len(K), 1)) if w is None else w[:, None]

        def rotate(values, units):
            alphas = centre_dual(units / np.sqrt(values), w)
            return alphas, -(K_means @ alphas)

        # signs as for so many copies of the samples
        return Components(
            values, V, float(K.trace()), rotate, lambda R: row_signs((R / copies).T)
        )

    def _low_rank_components(self, X, rows, w, roots, gram):
        """Components of the coordinates in the span of at most `max_rank` samples."""
        features, low = low_rank_features(gram, X, rank=min(self.max_rank, len(roots)))
        means, centred = _centred(low.factor, w, roots)
        V, s, Wt = linalg.svd(centred, full_matrices=False, check_finite=False)

        values = s**2
        keep = values > 1e-10 * values.max(initial=0.0)
        W = Wt[keep].T
        values = values[keep]
        beyond = float(roots**2 @ np.maximum(low.residual, 0.0))
        self.X_fit_ = Columns(rows[low.pivots]) if gram.precomputed else features.landmarks

        def rotate(values, units):
            kept = W[:, : len(values)]
            shift = -(means @ kept)
            return linalg.solve_triangular(features.root, kept, lower=True, trans=1), shift

        total = float(values.sum()) + beyond
        return Components(values, V[:, keep], total, rotate, lambda R: row_signs(R.T))

    def _linear(self, G, dual, enough):
        """Squared singular values, left and right vectors of centred rows; sum of squares."""
        n, p = G.shape
        k = self.n_components

        # sparse rows: few vectors by Lanczos iterations, many by the smaller product
        if isinstance(G, CentredRows):
            total = max(float(G.X.data @ G.X.data) - G.total * float(G.mean @ G.mean), 0.0)
            if (
                isinstance(k, int | np.integer)
                and min(n, p) > DENSE_UP_TO
                and k < min(n, p) // 8
            ):
                return *_few(G, k), total
            A = G.gram() if dual else G.inner(G)
            values, U = self._leading((A + A.T) / 2, 0.0, True, enough if dual else None)
            other = (G.inner(U) if dual else G @ U) / np.sqrt(values)
            return (values, U, other, total) if dual else (values, other, U, total)

        if dual:
            K = G @ G.T
            values, V = self._leading(K, 0.0, True, enough)
            return values, V, G.T @ (V / np.sqrt(values)), float(K.trace())
        V, s, Vt = linalg.svd(G, full_matrices=False, check_finite=False)
        keep = s > max(n, p) * np.finfo(np.float64).eps * s[0] if s[0] > 0 else s > 0
        values = s[keep] ** 2
        return values, V[:, keep], Vt[keep].T, float(values.sum())

    def _leading(self, K, floor, psd, enough):
        """Positive eigenvalues, descending, and eigenvectors; few of a matrix known as `psd`."""
        k = self.n_components
        if psd and enough is not None:
            values, V = leading_eigen_until(K, enough, START)
        elif not psd or k is None or k == "loo":
            values, V = leading_eigen(K, len(K))
        elif k < 1:
            values, V = eigen_of_fraction(K, k)
        else:
            values, V = leading_eigen(K, int(k))

        if values[-1] < -max(INDEFINITE * np.abs(values).max(), floor):
            raise ValueError(
                f"PrincipalComponentsRegression: the kernel matrix of kernel={self.kernel!r} "
                "is not positive semi-definite. Choose another kernel or other parameters, or "
                "correct its spectrum."
            )
        # of a constant kernel rounding remains
        keep = values > max(1e-10 * values[0], floor)
        return values[keep], V[:, keep]

    def _apply(self, X, coef):
        if isinstance(X, np.ndarray) or sparse.issparse(X):
            X = X.astype(np.float64, copy=False)
        if self._gram is None:
            return X @ coef
        return np.concatenate([K @ coef for _, K in self._gram.blocks(X, self.X_fit_)])

    def _number(self, values, total):
        if self.n_components is None:
            return len(values)

        # the fewest that explain the fraction
        if isinstance(self.n_components, float) and self.n_components < 1:
            fractions = np.cumsum(values) / total if total > 0 else values
            return min(len(values), int(np.searchsorted(fractions, self.n_components)) + 1)

        k = int(self.n_components)
        if k > len(values):
            reason = f"the rank {len(values)} of the data"
            warn_fewer(self, asked=k, found=len(values), reason=reason)
        return min(len(values), k)

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )
        tags.input_tags.sparse = True
        tags.input_tags.two_d_array = not is_structured(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def leave_one_out(V, roots, residual, group):
    """Leave-one-out squared errors of the regression on 1, 2, ... components.

    Least squares on orthonormal columns ``V`` leaves ``e_i / (1 - h_i)`` for a sample that was
    left out, with ``h_i = w_i / W + sum_j V_ij^2`` in the weights of the samples; copies (of the
    same `group`) are left out together. Components of all samples are used throughout: they do
    not look at the targets.

    Parameters
    ----------
    V : ndarray of shape (n_samples, n_components)
        Components times the roots of the weights, of unit norm.
    roots : ndarray of shape (n_samples,)
        Roots of the weights.
    residual : ndarray of shape (n_samples, n_targets)
        Centred targets times the roots.
    group : ndarray of int of shape (n_samples,)
        Number of the group of copies.

    Returns
    -------
    errors : ndarray of shape (n_components,)
        Weighted mean over the samples, and over the targets in units of their variance; infinite
        where a component belongs to one sample alone.
    """
    leverage = roots**2 / float(roots @ roots)
    variance = np.einsum("ij,ij->j", residual, residual)
    variance[variance == 0] = 1.0
    errors = np.full(V.shape[1], np.inf)
    for j in range(V.shape[1]):
        # residual and leverage of one component more
        v = V[:, j]
        residual = residual - np.outer(v, v @ residual)
        leverage = leverage + v * v

        # residual / (1 - leverage), of all copies of a sample together
        free = 1 - np.bincount(group, leverage)[group]
        if free.min() > 1e-9:
            errors[j] = float(
                np.mean(np.sum((residual / free[:, None]) ** 2, axis=0) / variance)
            )
    return errors


def copies_of(X, Y):
    """Assign the same number to all copies of a sample."""
    if isinstance(X, list | Encoded):  # samples that are no rows of numbers
        rows = [key_of_sample(x, "A sample", any_object=True) for x in X]
    elif sparse.issparse(X):
        X = sparse.csr_array(X)
        cuts = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = [X.indices[i:j].tobytes() + X.data[i:j].tobytes() for i, j in cuts]
    else:
        rows = [row.tobytes() for row in X + 0.0]  # -0 is 0
    numbers = {}
    both = zip(rows, (row.tobytes() for row in Y + 0.0), strict=True)
    return np.array([numbers.setdefault(sample, len(numbers)) for sample in both])


def _centred(X, w, roots):
    """Means, and centred rows times the roots of the weights."""
    means = np.asarray(X.mean(axis=0)).ravel() if w is None else w @ X / w.sum()
    if sparse.issparse(X):
        return means, CentredRows(X, means, np.ones(X.shape[1]), roots)
    return means, roots[:, None] * (X - means)


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
