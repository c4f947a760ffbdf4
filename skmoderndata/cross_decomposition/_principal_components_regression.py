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
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, warn_fewer
from skmoderndata._estimator.blocks_input import in_blocks
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    Interval,
    RealNotInt,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.export import in_pipeline, linear_regressor, projection
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import float_type
from skmoderndata._kernelized.checks import is_structured
from skmoderndata._kernelized.expansion import surely_psd
from skmoderndata._kernelized.export import kernel_functions, support_vector_regressor
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS, Columns
from skmoderndata._kernelized.landmarks import (
    ColumnFeatures,
    LandmarkTable,
    Triangle,
    check_numbers,
    landmark_table,
    rows_in_blocks,
    solver_of,
    survey_of,
)
from skmoderndata._kernelized.low_rank import (
    is_low_rank,
    low_rank_features,
    omitted_fraction,
    warn_of_rank,
)
from skmoderndata._samples.encoded import Encoded
from skmoderndata._samples.keys import key_of_sample
from skmoderndata._solvers.common.linalg import (
    eigen_of_fraction,
    leading_eigen,
    leading_eigen_until,
    row_signs,
)
from skmoderndata._solvers.common.tolerances import RANK_TOL, RESULT_ROUNDING
from skmoderndata._solvers.kernel.canonical import (
    DENSE_UP_TO,
    INDEFINITE,
    CentredRows,
    centre_dual,
    centre_kernel,
)
from skmoderndata.cross_decomposition._base import unequal_weights, weighted_mean
from skmoderndata.cross_decomposition._kernel_base import (
    gram_of,
    is_precomputed,
    kernel_matrix,
    samples_and_targets,
    samples_of,
    take_samples,
)

_NO_APPROXIMATION = (
    "PrincipalComponentsRegression(solver={!r}) is for kernels other than 'linear', which needs "
    "no approximation; use solver='auto'."
)
# Minimum number of components that the search by leave-one-out computes at first.
START = 64


class Components(NamedTuple):
    """Principal components of centred samples, in descending order."""

    values: np.ndarray  # (k,), squared lengths of the training scores
    # (n, k), training scores of length one, multiplied by the roots of the weights
    units: np.ndarray
    total: float  # sum of squares of the centred samples
    # function of values and units that returns rotations R and shifts; the scores are `features @
    # R + shift`
    rotate: Callable
    # function of R that returns signs that follow the convention of the package
    signs: Callable
    # (r, k), directions in the space of the features; only for features that are read in passes
    directions: np.ndarray | None = None


# Rounding error of a kernel value, relative to the largest value: 16 times the machine epsilon.
# Without fused multiply-add, all samples can have the same error of eight times epsilon.
ERROR_OF_KERNEL = 16 * np.finfo(np.float64).eps


class PrincipalComponentsRegression(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiOutputMixin, RegressorMixin, Base
):
    r"""Least squares regression on the leading principal components, linear or with a kernel.

    With the centred kernel matrix :math:`K = \sum_j \lambda_j v_j v_j^\top` (for linear
    regression :math:`K = X X^\top`), `fit` solves [1]_

    .. math::
        \min_\alpha\ \| y - \bar y - K \alpha \|^2
        \quad\text{over}\quad \alpha \in \operatorname{span}(v_1, \dots, v_k),
        \qquad \alpha = \sum_{j \le k} \lambda_j^{-1} v_j\, v_j^\top y.

    Parameters
    ----------
    n_components : "loo", int, float or None, default="loo"
        Number of components. If it exceeds the rank, it is reduced to the rank, with a warning. A
        float below 1 is the fraction of the variance that the components must explain. "loo"
        chooses the number with the smallest leave-one-out error of the regression on the
        components. None uses all components, which gives the least squares solution of minimum
        norm.
    kernel : str, Kernel or callable, default="linear"
        Kernel of the regression function: a name from `sklearn.metrics.pairwise`, "precomputed", a
        kernel object that follows scikit-learn's protocol, or a function that returns a Gram
        matrix.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    solver : {"auto", "primal", "dual", "low_rank", "nystroem"}, default="auto"
        Method of computation. "primal" works with the columns (for the linear kernel), "dual" with
        the kernel matrix of the samples; both give the same result. "low_rank", for the other
        kernels, looks for the components in the span of at most `max_rank` samples chosen by
        incomplete Cholesky factorisation; "nystroem" in the span of samples drawn at random, with
        passes over the rows. For the linear kernel, "auto" uses the smaller matrix. For the other
        kernels, it is "dual" for up to 1000 samples, for more components than `max_rank` and for
        precomputed kernels, otherwise "low_rank". For a table in blocks, it is "primal" with the
        linear kernel and "nystroem" with the others.
    max_rank : int, default=300
        Maximum number of samples that span the components, for the solvers "low_rank" and
        "nystroem".
    copy_X : bool, default=True
        Whether the model stores a copy of the training samples, for kernels other than "linear".
        False may save memory, but then you must not modify the samples.
    random_state : int, RandomState instance or None, default=None
        Generator or seed that draws the samples of `solver="nystroem"`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients of the columns, for the linear kernel.
    dual_coef_ : ndarray of shape (n_fit,) or (n_fit, n_targets)
        Coefficients of the kernel values with `X_fit_`, for the other kernels.
    X_fit_ : array or list
        Training samples, for the other kernels; with the solvers "low_rank" and "nystroem", only
        the samples that span the components.
    intercept_ : float or ndarray of shape (n_targets,)
        Constant of the prediction.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the components (with divisor n).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Fractions of the total variance.
    loo_errors_ : ndarray of shape (n_candidates,)
        Leave-one-out mean squared error of the regression on 1, 2, ... components, relative to the
        variance of the target (averaged over targets), with ``n_components="loo"``. Infinite if a
        component depends on a single sample.
    n_components_ : int
        Number of components used, at most the rank.
    solver_ : str
        Solver used: "primal", "dual", "low_rank" or "nystroem".
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
    The cost is ``n p min(n, p)`` for the linear kernel; for the other kernels at most ``n^3``, and
    ``n r^2`` with the solver "low_rank" of rank r. Components are dropped if their variance is
    below ``1e-10`` of the largest variance in the dual, for a low rank and for sparse X, otherwise
    at rounding level.

    Leave-one-out examines all components of up to 400 samples or columns. For a larger kernel
    matrix, it examines the leading 64, 128, ... components, until the best number is in their
    first half. It costs ``n k`` for all numbers of components together: a sample i with residual e
    and leverage h has the error ``e / (1 - h)`` in the regression without this sample. The
    components are computed from all samples, without the target. Copies of a sample are left out
    together, so that weights and copies give the same result. With passes over the rows, that is
    for a table in blocks and the solver "nystroem", copies count as different samples.

    Sparse X is never converted to dense: a few components are computed by Lanczos iterations, many
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
        fits_blocks=True,
        tier="standard",
        instead="PCA or KernelPCA with LinearRegression in a pipeline gives the same "
        "predictions.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [
            AT_LEAST_ONE,
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"loo"}),
            None,
        ],
        **KERNEL_CONSTRAINTS,
        "solver": [StrOptions({"auto", "primal", "dual", "low_rank", "nystroem"})],
        "max_rank": [AT_LEAST_ONE],
        "copy_X": ["boolean"],
        "random_state": ["random_state"],
    }

    @parameters_are_named
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
        random_state=None,
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
        self.random_state = random_state

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Compute the principal components and regress the targets on them.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Training samples, or their kernel matrix. Tables in blocks need four passes, and one
            more for ``n_components="loo"``.
        y : array-like or Dask array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like or Dask array of shape (n_samples,), default=None
            Weights of the samples: 2 counts as two copies, 0 as none; a common factor has no
            effect.

        Returns
        -------
        self : PrincipalComponentsRegression
            The fitted estimator.
        """
        if self._in_passes(X):
            return self._fit_passes(X, y, sample_weight)
        # 1. Select the samples of positive weight and centre the targets.
        X, Y, one_target, rows, w = self._training_samples(X, y, sample_weight)
        roots = np.ones(len(Y)) if w is None else np.sqrt(w)
        target_means = weighted_mean(Y, w)
        residual = roots[:, None] * (Y - target_means)

        # 2. Compute as many principal components as are needed to choose their number.
        enough = self._enough(X, Y, roots, residual)
        if isinstance(self.kernel, str) and self.kernel == "linear":
            components = self._linear_components(X, w, roots, enough)
        else:
            components = self._kernel_components(X, rows, w, roots, enough)

        # 3. Choose the number of components and regress on them.
        errors = None
        if self.n_components == "loo":
            errors = leave_one_out(components.units, roots, residual, copies_of(X, Y))
        weight = float(roots @ roots)
        return self._regress(components, errors, residual, target_means, weight, one_target)

    def _regress(self, components, errors, residual, target_means, weight, one_target):
        """Choose the number of components and regress the centred targets on them."""
        # 1. Choose the number of components.
        if errors is not None:
            self.loo_errors_ = errors
            k = int(errors.argmin()) + 1 if errors.size else 0
        else:
            k = self._number(components.values, components.total)
        values = components.values[:k]
        units = components.units[:, :k]

        # 2. Compute the map from new samples to scores, and the regression on the scores.
        rotations, shift = components.rotate(values, units)
        fitted = units.T @ residual  # coefficients of the scores of length one
        on_scores = fitted / np.sqrt(values)[:, None]
        coef = rotations @ on_scores
        intercept = target_means + shift @ on_scores

        # 3. Fix the signs and set the attributes.
        signs = components.signs(rotations)
        self._rotations = rotations * signs
        self._score_shift = shift * signs
        if one_target:
            coef = coef[:, 0]
            intercept = float(intercept[0])
        if self._gram is not None:
            self.dual_coef_ = coef
        else:
            self.coef_ = coef.T
        self.intercept_ = intercept
        self.n_components_ = k
        total = components.total
        self.explained_variance_ = values / weight
        self.explained_variance_ratio_ = values / total if total > 0 else values

        # The unexplained part of the targets should be orthogonal to the components.
        unexplained = residual - units @ fitted
        largest = np.abs(units.T @ unexplained).max(initial=0.0)
        self.stationarity_ = float(largest / (linalg.norm(residual) or 1.0))
        return self

    def _in_passes(self, X):
        """Whether the rows are read in passes; reject solvers that do not fit the table."""
        linear = isinstance(self.kernel, str) and self.kernel == "linear"
        if not linear:
            return solver_of(self, X) == "nystroem"
        if self.solver == "nystroem" or (
            self.solver == "low_rank" and in_blocks(X, on_disk=False)
        ):
            raise ValueError(_NO_APPROXIMATION.format(self.solver))
        if in_blocks(X, on_disk=False) and self.solver == "dual":
            raise ValueError(
                "PrincipalComponentsRegression(solver='dual') needs a matrix of all pairs of "
                "rows, which a Dask array does not allow: use solver='primal' or 'auto'."
            )
        return in_blocks(X) and self.solver in ("auto", "primal")

    def _fit_passes(self, X, y, sample_weight):
        """Compute components and regression from sums over the rows."""
        # 1. Open the rows and their features: the columns, or the kernel values with landmarks.
        blocks, weighted = rows_in_blocks(self, X, y, sample_weight=sample_weight)
        survey = survey_of(self, blocks, weighted, at_least=2)
        check_numbers(self, blocks)
        one_target = len(blocks.arrays[-1].shape) == 1
        if isinstance(self.kernel, str) and self.kernel == "linear":
            columns = ColumnFeatures(blocks.shape[1])
            table = LandmarkTable(blocks, survey, columns, np.zeros(0, dtype=int), weighted)
            self._gram = None
            self.solver_ = "primal"
        else:
            table, _ = landmark_table(self, blocks, survey, weighted=weighted)
            self._gram = table.features.gram
            self.solver_ = "nystroem"
            self.X_fit_ = table.features.landmarks

        # 2. Compute a small table that has the inner products of the centred columns and targets.
        sums, target_sums, beyond = table.sum(_sums_of_rows)
        means = sums / table.weight, target_sums / table.weight
        (triangle,) = table.sum(_triangle_of_rows, *means)
        p = len(sums)
        residual = triangle.R[:, p:]

        # 3. Compute the components, the errors of left-out rows, and the regression.
        components = self._components_of(triangle.R[:, :p], means[0], table, beyond)
        errors = None
        if self.n_components == "loo":
            errors = _errors_of_rows(components, means, residual, table)
        weight = table.weight
        return self._regress(components, errors, residual, means[1], weight, one_target)

    def _components_of(self, G, means, table, beyond):
        """Compute components of centred features from a table G with their inner products."""
        U, s, Wt = linalg.svd(G, full_matrices=False, check_finite=False)
        largest = s.max(initial=0.0)
        floor = 1e-5 * largest
        if self._gram is None:
            size = max(table.n_used, G.shape[1])
            floor = size * np.finfo(np.float64).eps * largest
        positive = s > floor
        W = Wt[positive].T

        def rotate(values, units):
            columns = W[:, : len(values)]
            shift = -(means @ columns)
            if self._gram is None:
                return columns, shift
            root = table.features.root
            return linalg.solve_triangular(root, columns, lower=True, trans=1), shift

        values = s[positive] ** 2
        total = float(values.sum()) + beyond
        return Components(values, U[:, positive], total, rotate, lambda R: row_signs(R.T), W)

    @by_rows
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
        X = samples_of(self, X)
        coef = self.coef_.T if self._gram is None else self.dual_coef_
        return self._apply(X, coef) + self.intercept_

    @by_rows
    def transform(self, X):
        """Compute the principal components of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, or their kernel values with all training samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
            Scores, one column for each component; the largest coefficient of each component is
            positive.
        """
        check_is_fitted(self)
        X = samples_of(self, X)
        scores = self._apply(X, self._rotations) + self._score_shift
        return scores.astype(float_type(X), copy=False)

    def to_sklearn(self):
        """Return the model as an estimator of scikit-learn, with the same predictions.

        Returns
        -------
        regressor : Pipeline, LinearRegression, SVR or MultiOutputRegressor
            For the linear kernel a pipeline of `PCA` and `LinearRegression`, whose first step
            gives the result of `transform` (without components, a `LinearRegression`). For other
            kernels `SVR`, one for each target, without the scores.

        Raises
        ------
        ValueError
            If scikit-learn's machines do not have the kernel: they have "linear", "poly", "rbf"
            and "sigmoid".
        """
        check_is_fitted(self)
        if self._gram is not None:
            functions = kernel_functions(
                self, self._gram, self.X_fit_, self.dual_coef_.T, self.intercept_
            )
            return support_vector_regressor(
                self, functions, is_table=self.dual_coef_.ndim == 2
            )
        if self.n_components_ == 0:
            return linear_regressor(self, self.coef_, self.intercept_)

        # the rotations are orthonormal: find the regression on the scores, and a point whose
        # scores are zero
        rotations = self._rotations
        pca = projection(rotations.T, -rotations @ self._score_shift)
        on_scores = self.coef_ @ rotations
        intercept = self.intercept_ - on_scores @ self._score_shift
        regression = linear_regressor(None, on_scores, intercept)
        return in_pipeline(self, [("pca", pca), ("regression", regression)])

    def _training_samples(self, X, y, sample_weight):
        """Keep samples of positive weight; return X, Y, whether y is one target, rows, weights."""
        X, Y, one_target = samples_and_targets(self, X, y)

        # Reject combinations of kernel and solver that are not possible.
        if self.solver == "primal" and self.kernel != "linear":
            raise ValueError(
                "PrincipalComponentsRegression(solver='primal') is for kernel='linear', got "
                f"kernel={self.kernel!r}; use solver='dual'."
            )
        if self.solver == "low_rank" and self.kernel == "linear":
            raise ValueError(_NO_APPROXIMATION.format(self.solver))

        w = unequal_weights(
            sample_weight, Y, owner="PrincipalComponentsRegression", at_least=2
        )
        # Keep the samples of positive weight.
        rows = np.arange(len(Y))
        if w is not None:
            rows = np.flatnonzero(w)
            X = take_samples(X, rows, self.kernel)
            Y = Y[rows]
            w = w[rows]

        return X, Y, one_target, rows, w

    def _enough(self, X, Y, roots, residual):
        """Return a test of whether the leading components include the best number; or None."""
        if self.n_components != "loo":
            return None
        copies = copies_of(X, Y)

        def enough(values, V):
            errors = leave_one_out(V, roots, residual, copies)
            best = int(errors.argmin()) + 1
            return best <= len(errors) // 2

        return enough

    def _linear_components(self, X, w, roots, enough):
        """Compute components of the columns from the smaller of two matrices."""
        self._gram = None
        means, centred = _centred(X, w, roots)
        n, p = centred.shape
        dual = self.solver == "dual" or (self.solver == "auto" and p > n)

        self.solver_ = "dual" if dual else "primal"
        values, V, W, total = self._linear(centred, dual, enough)

        def rotate(values, units):
            columns = W[:, : len(values)]
            return columns, -(means @ columns)

        return Components(values, V, total, rotate, lambda R: row_signs(R.T))

    def _kernel_components(self, X, rows, w, roots, enough):
        """Compute components in feature space from the kernel matrix or in a span of samples."""
        gram = self._gram = gram_of(self, X, w)
        # An approximation has at most `max_rank` components, so more components need the dual
        # solver.
        many = False
        if not isinstance(self.n_components, str):
            many = (self.n_components or 0) > self.max_rank
        low = not many and is_low_rank(self.solver, gram, len(roots))
        low = low or self.solver == "low_rank"
        self.solver_ = "low_rank" if low else "dual"

        if low:
            return self._low_rank_components(X, rows, w, roots, gram)

        K = kernel_matrix(gram, X)
        K_means = centre_kernel(K, w)
        largest = np.abs(K_means).max(initial=0.0)
        floor = len(K) * ERROR_OF_KERNEL * largest
        values, V = self._leading(K, floor, surely_psd(gram), enough)

        self.X_fit_ = X
        if self.copy_X and hasattr(X, "copy"):
            self.X_fit_ = X.copy()
        if gram.precomputed:
            self.X_fit_ = Columns(rows)
        copies = 1.0 if w is None else w[:, None]

        def rotate(values, units):
            unit_scores = units / np.sqrt(values)
            alphas = centre_dual(unit_scores, w)
            return alphas, -(K_means @ alphas)

        # Choose the signs as if each copy of a sample were a separate row.
        total = float(K.trace())
        return Components(values, V, total, rotate, lambda R: row_signs((R / copies).T))

    def _low_rank_components(self, X, rows, w, roots, gram):
        """Compute components of the coordinates in the span of at most `max_rank` samples."""
        rank = min(self.max_rank, len(roots))
        features, low = low_rank_features(gram, X, rank=rank)
        warn_of_rank(self, len(low.pivots), omitted_fraction(low))
        means, centred = _centred(low.factor, w, roots)
        V, s, Wt = linalg.svd(centred, full_matrices=False, check_finite=False)

        values = s**2
        positive = values > RANK_TOL * values.max(initial=0.0)
        W = Wt[positive].T
        values = values[positive]
        self.X_fit_ = features.landmarks
        if gram.precomputed:
            self.X_fit_ = Columns(rows[low.pivots])

        def rotate(values, units):
            columns = W[:, : len(values)]
            shift = -(means @ columns)
            alphas = linalg.solve_triangular(features.root, columns, lower=True, trans=1)
            return alphas, shift

        beyond = float(roots**2 @ np.maximum(low.residual, 0.0))
        total = float(values.sum()) + beyond
        return Components(values, V[:, positive], total, rotate, lambda R: row_signs(R.T))

    def _linear(self, G, dual, enough):
        """Squared singular values, left and right vectors of centred rows; sum of squares."""
        n, p = G.shape
        k = self.n_components

        # For sparse rows G, compute a few vectors by Lanczos iterations, or many vectors from the
        # smaller of the products G' G and G G'.
        if isinstance(G, CentredRows):
            squares = float(G.X.data @ G.X.data)
            of_means = G.total * float(G.mean @ G.mean)
            total = max(squares - of_means, 0.0)
            smaller = min(n, p)
            counted = isinstance(k, int | np.integer)
            if counted and smaller > DENSE_UP_TO and k < smaller // 8:
                return *_few(G, k), total

            A = G.gram() if dual else G.inner(G)
            symmetric = (A + A.T) / 2
            values, U = self._leading(symmetric, 0.0, True, enough if dual else None)
            lengths = np.sqrt(values)
            if dual:
                return values, U, G.inner(U) / lengths, total
            return values, (G @ U) / lengths, U, total

        if dual:
            K = G @ G.T
            values, V = self._leading(K, 0.0, True, enough)
            W = G.T @ (V / np.sqrt(values))
            return values, V, W, float(K.trace())
        V, s, Vt = linalg.svd(G, full_matrices=False, check_finite=False)
        nonzero = s > 0
        if s[0] > 0:
            nonzero = s > max(n, p) * np.finfo(np.float64).eps * s[0]
        values = s[nonzero] ** 2
        total = float(values.sum())
        return values, V[:, nonzero], Vt[nonzero].T, total

    def _leading(self, K, floor, psd, enough):
        """Compute positive eigenvalues, descending, and eigenvectors; a few suffice if `psd`."""
        k = self.n_components
        if psd and enough is not None:
            values, V = leading_eigen_until(K, enough, START)
        elif not psd or k is None or k == "loo":
            values, V = leading_eigen(K, len(K))
        elif k < 1:
            values, V = eigen_of_fraction(K, k)
        else:
            values, V = leading_eigen(K, int(k))

        limit = max(INDEFINITE * np.abs(values).max(), floor)
        if values[-1] < -limit:
            raise ValueError(
                f"PrincipalComponentsRegression: the kernel matrix of kernel={self.kernel!r} "
                "is not positive semi-definite. Choose another kernel or other parameters, or "
                "correct its spectrum."
            )
        # The eigenvalues of a constant kernel are rounding errors.
        positive = values > max(RANK_TOL * values[0], floor)
        return values[positive], V[:, positive]

    def _apply(self, X, coef):
        if isinstance(X, np.ndarray) or sparse.issparse(X):
            X = X.astype(np.float64, copy=False)
        if self._gram is None:
            return X @ coef
        blocks = [K @ coef for _, K in self._gram.blocks(X, self.X_fit_)]
        return np.concatenate(blocks)

    def _number(self, values, total):
        if self.n_components is None:
            return len(values)

        # Choose the smallest number of components that explains the requested fraction.
        n_all = len(values)
        if isinstance(self.n_components, float) and self.n_components < 1:
            fractions = np.cumsum(values) / total if total > 0 else values
            k = int(np.searchsorted(fractions, self.n_components)) + 1
            return min(n_all, k)

        k = int(self.n_components)
        if k > n_all:
            reason = f"the rank {n_all} of the data"
            warn_fewer(self, asked=k, found=n_all, reason=reason)
        return min(n_all, k)

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = True
        tags.input_tags.two_d_array = not is_structured(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def leave_one_out(V, roots, residual, group):
    """Compute leave-one-out squared errors of the regression on 1, 2, ... components.

    Least squares on orthonormal columns ``V`` has the error ``e_i / (1 - h_i)`` for a left-out
    sample, with ``h_i = w_i / W + sum_j V_ij^2`` in the weights of the samples; copies (samples of
    the same `group`) are left out together. The components are computed from all samples
    throughout, because they do not depend on the targets.

    Parameters
    ----------
    V : ndarray of shape (n_samples, n_components)
        Components of unit norm, multiplied by the roots of the weights.
    roots : ndarray of shape (n_samples,)
        Roots of the weights.
    residual : ndarray of shape (n_samples, n_targets)
        Centred targets, multiplied by the roots of the weights.
    group : ndarray of int of shape (n_samples,)
        Number of the group of copies.

    Returns
    -------
    errors : ndarray of shape (n_components,)
        Weighted mean over the samples, and over the targets in units of their variance; infinite
        if a component belongs to a single sample.
    """
    leverage = roots**2 / float(roots @ roots)
    variance = np.einsum("ij,ij->j", residual, residual)
    squares, n_bound = left_out(V, leverage, residual, group)
    return _relative_errors(squares, n_bound, variance)


def left_out(V, leverage, residual, group=None, fitted=None):
    """Add up the squared errors of left-out samples for each number of components.

    Parameters
    ----------
    V, residual, group
        Same meaning as in `leave_one_out`; group=None means that there are no copies.
    leverage : ndarray of shape (n_samples,)
        Leverages of the samples in the regression on a constant.
    fitted : ndarray of shape (n_components, n_targets) or None
        Coefficients of the columns of V, if V holds only some rows of orthonormal columns.

    Returns
    -------
    squares : ndarray of shape (n_components, n_targets)
        Sums over the samples.
    n_bound : ndarray of shape (n_components,)
        Number of samples that have a component to themselves; if it is positive, the sums are 0.
    """
    squares = np.zeros((V.shape[1], residual.shape[1]))
    n_bound = np.zeros(V.shape[1], dtype=int)
    for j in range(V.shape[1]):
        # Update the residual and the leverage for one more component.
        v = V[:, j]
        residual = residual - np.outer(v, v @ residual if fitted is None else fitted[j])
        leverage = leverage + v * v

        # Divide the residual by 1 - leverage; all copies of a sample are left out together.
        free = 1 - (leverage if group is None else np.bincount(group, leverage)[group])
        n_bound[j] = np.count_nonzero(~(free > RESULT_ROUNDING))
        if n_bound[j] == 0:
            squares[j] = np.sum((residual / free[:, None]) ** 2, axis=0)
    return squares, n_bound


def _relative_errors(squares, n_bound, variance):
    """Average over targets in units of their variance; infinite if a sample is bound."""
    variance = np.where(variance == 0, 1.0, variance)
    errors = np.array([float(np.mean(row)) for row in squares / variance])
    return np.where(n_bound > 0, np.inf, errors)


def _targets(rows):
    Y = np.asarray(rows.others[0], dtype=np.float64)
    return Y[:, None] if Y.ndim == 1 else Y


def _sums_of_rows(rows):
    """Add up features, targets and squared distances from the span."""
    w = rows.weights
    return w @ rows.Z, w @ _targets(rows), float(w @ rows.beyond)


def _triangle_of_rows(rows, means, target_means):
    """Compute the triangular factor of the centred features and targets."""
    centred = np.hstack([rows.Z - means, _targets(rows) - target_means])
    return (Triangle(np.sqrt(rows.weights)[:, None] * centred),)


def _errors_of_rows(components, means, residual, table):
    """Compute leave-one-out errors in one pass over the rows."""
    to_units = components.directions / np.sqrt(components.values)
    fitted = components.units.T @ residual
    sums = table.sum(_left_out_rows, *means, to_units, fitted, table.weight)
    return _relative_errors(*sums, np.einsum("ij,ij->j", residual, residual))


def _left_out_rows(rows, means, target_means, to_units, fitted, weight):
    """Add up the errors of `left_out` over some rows."""
    roots = np.sqrt(rows.weights)[:, None]
    V = roots * ((rows.Z - means) @ to_units)
    residual = roots * (_targets(rows) - target_means)
    return left_out(V, rows.weights / weight, residual, fitted=fitted)


def copies_of(X, Y):
    """Assign the same number to all copies of a sample."""
    if isinstance(X, list | Encoded):  # the samples are not rows of numbers
        rows = [key_of_sample(x, "A sample", any_object=True) for x in X]
    elif sparse.issparse(X):
        X = sparse.csr_array(X)
        cuts = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = [X.indices[i:j].tobytes() + X.data[i:j].tobytes() for i, j in cuts]
    else:
        # adding 0.0 turns -0 into 0, so that equal rows have equal bytes
        rows = [row.tobytes() for row in X + 0.0]
    numbers = {}
    targets = (row.tobytes() for row in Y + 0.0)
    pairs = zip(rows, targets, strict=True)
    return np.array([numbers.setdefault(sample, len(numbers)) for sample in pairs])


def _centred(X, w, roots):
    """Compute means, and centred rows multiplied by the roots of the weights."""
    means = np.asarray(weighted_mean(X, w)).ravel()
    if sparse.issparse(X):
        units = np.ones(X.shape[1])
        return means, CentredRows(X, means, units, roots)
    return means, roots[:, None] * (X - means)


def _few(G, k):
    """Compute a few leading squared singular values and vectors of centred sparse rows."""

    def forward(b):
        return G @ b.ravel()

    def adjoint(b):
        column = b.ravel()[:, None]
        return G.inner(column)[:, 0]

    operator = LinearOperator(G.shape, matvec=forward, rmatvec=adjoint)
    rng = np.random.RandomState(0)
    start = rng.standard_normal(min(G.shape))
    V, s, Wt = svds(operator, k=k, v0=start, tol=0)

    smallest = max(G.shape) * np.finfo(np.float64).eps * s.max()
    order = np.argsort(s)[::-1]
    order = order[s[order] > smallest]
    return s[order] ** 2, V[:, order], Wt[order].T
