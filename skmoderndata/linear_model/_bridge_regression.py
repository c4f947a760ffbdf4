"""Bridge regression: least squares with an lq penalty."""

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    check_sample_weight,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.export import linear_regressor
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.codes.bridge import Moments, bridge
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, ROUNDING


class BridgeRegression(RegressorMixin, CallbackSupportMixin, Base):
    r"""Linear regression with an lq penalty on the coefficients.

    Minimises [1]_

    .. math::
        \frac{1}{2 n} \sum_{i=1}^n \bigl(y_i - x_i'\beta - b\bigr)^2
        + \alpha \sum_{j=1}^p |\beta_j|^q .

    The exponent q = 1 gives the lasso, and q = 2 gives ridge regression. Below 1 the penalty is
    not convex: fewer coefficients are non-zero, and they are shrunk less.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty; 0 gives least squares.
    exponent : float, default=0.5
        Exponent q of the penalty, positive.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    positive : bool, default=False
        Whether coefficients must be non-negative.
    max_iter : int, default=10000
        Maximum number of sweeps over the coefficients.
    tol : float, default=1e-6
        Tolerance: sweeps stop when the relative duality gap, or for exponents below 1 the residual
        of the optimality conditions, is at most this value.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the features.
    intercept_ : float
        Intercept, 0 if `fit_intercept` is False.
    dual_gap_ : float
        Duality gap relative to the objective of zero coefficients; NaN for exponents below 1.
    kkt_residual_ : float
        Largest violation of the optimality conditions, relative to the largest inner product of a
        feature with the target.
    n_iter_ : int
        Number of sweeps.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.linear_model.Lasso : Uses exponent 1, with the same scaling of `alpha`.
    sklearn.linear_model.Ridge : Uses exponent 2; its `alpha` is ``2 n`` times the `alpha` of this
        class.
    skmoderndata.svm.SupportFeatureMachine : Applies iterated reweighting to classifiers.

    Notes
    -----
    The Gram matrix of the features is formed once, in ``n p^2`` operations and ``p^2`` memory; a
    sweep costs ``p^2``. With exponents up to 1 and more than 1000 features, the matrix is formed
    only for a working set of k features: it costs ``n p`` operations to check the other features,
    ``n k^2`` to form the matrix, and ``k^2`` for a sweep.

    For exponents of at least 1, a sweep minimises exactly over each coefficient in turn [2]_. For
    exponents below 1, the penalty is replaced by its tangent at the current coefficients, which
    gives a weighted lasso, while a smoothing constant decreases. The result is a stationary point,
    usually a good one, but not always the global minimum.

    Only the ratios of sample weights matter: the objective is divided by their sum.

    References
    ----------
    .. [1] Frank and Friedman, A statistical view of some chemometrics regression tools,
       Technometrics 35(2), 1993, equation 5.4.
    .. [2] Fu, Penalized regressions: the bridge versus the lasso, Journal of Computational and
       Graphical Statistics 7(3), 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.linear_model import BridgeRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=60)
    >>> model = BridgeRegression(alpha=0.1).fit(X, y)
    >>> np.flatnonzero(model.coef_), model.coef_[:2].round(2)
    (array([0, 1]), array([ 2.97, -1.98]))
    """

    _card = MethodCard(
        family="sparse regression",
        cite=("frank1993statistical", "fu1998penalized"),
        cost="n p^2 + p^2 T",
        tier="textbook",
        instead="Use `OrthogonalMatchingPursuitCV`, or `LassoCV` twice, weighted: as exact in a "
        "tenth of the time.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "alpha": [NON_NEGATIVE],
        "exponent": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "positive": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
    }

    @parameters_are_named
    def __init__(
        self,
        alpha=1.0,
        *,
        exponent=0.5,
        fit_intercept=True,
        positive=False,
        max_iter=10_000,
        tol=1e-6,
    ):
        self.alpha = alpha
        self.exponent = exponent
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.max_iter = max_iter
        self.tol = tol

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Estimate the coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals.

        Returns
        -------
        self : BridgeRegression
            The fitted estimator.
        """
        formats = ["csr", "csc"]
        X, y = validate_data(self, X, y, dtype=FLOATS, accept_sparse=formats, y_numeric=True)
        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        w = w / w.max()
        w /= w.sum()

        # Use units in which the largest entries are 1, so that products of entries remain finite.
        y = y.astype(np.float64)
        size = _largest(X)
        unit = _largest(y)
        moments, x_mean, y_mean = self._moments(X, y / unit, w, size)

        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            alpha = self.alpha / unit / unit * (unit / size) ** self.exponent
            result = bridge(
                moments,
                alpha=alpha,
                q=float(self.exponent),
                positive=self.positive,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )

        # Return to the units of the data.
        coef = result.coef * (unit / size)
        self.coef_ = coef.astype(X.dtype)
        self.intercept_ = float(y_mean * unit - x_mean @ coef)
        self.dual_gap_ = result.gap
        self.kkt_residual_ = result.kkt_residual
        self.n_iter_ = result.n_iter

        # For exponents below 1 there are local minima, so report the optimality conditions instead
        # of a gap.
        reached = result.gap
        what = "duality gap"
        if self.exponent < 1:
            reached = result.kkt_residual
            what = "residual of the optimality conditions"
        if reached > max(self.tol, ACCUMULATED_ROUNDING) and not progress.stopped:
            warn_not_converged(
                self,
                reached=f"relative {what} {reached:.1e} (tol={self.tol:g}) after "
                f"{self.n_iter_} sweeps",
                remedy="increase max_iter, tol or alpha, or scale the features alike",
            )
        return self

    def _moments(self, X, y, w, size):
        """Compute moments of centred columns in units of `size`, and the means."""
        x_mean = np.zeros(X.shape[1])
        y_mean = 0.0
        if self.fit_intercept:
            y_mean = w @ y
        y = y - y_mean
        yy = float(w @ y**2)

        # Do not centre sparse columns: G - m m' is the centred Gram matrix.
        if sparse.issparse(X):
            A = sparse.csc_array(X, dtype=np.float64) / size
            weighted = A.multiply(w[:, None]).tocsc()
            mean = np.zeros(A.shape[1])
            if self.fit_intercept:
                mean = np.asarray(weighted.sum(axis=0)).ravel()
                x_mean = mean * size
            norms_sq = np.asarray(A.multiply(weighted).sum(axis=0)).ravel() - mean**2
            # a variance below 1e-13 times the squared mean is a rounding error
            flat = norms_sq <= 1e-13 * mean**2
            c = weighted.T @ y

            def gram(rows, columns):
                G = (weighted[:, rows].T @ A[:, columns]).toarray()
                G -= np.outer(mean[rows], mean[columns])
                G[flat[rows]] = 0.0
                G[:, flat[columns]] = 0.0
                return G

            def products(coef):
                centred = weighted.T @ (A @ coef) - mean * float(mean @ coef)
                return np.where(flat, 0.0, centred)

            c[flat] = 0.0
            norms_sq[flat] = 0.0
            return Moments(gram, products, c, np.sqrt(norms_sq), yy), x_mean, y_mean

        A = X.astype(np.float64) / size
        if self.fit_intercept:
            mean = w @ A
            A -= mean
            constant = np.abs(A).max(axis=0) <= ROUNDING * np.abs(mean)
            A[:, constant] = 0.0  # remove rounding errors
            x_mean = mean * size

        root = np.sqrt(w)
        A *= root[:, None]
        c = A.T @ (root * y)
        norms = np.linalg.norm(A, axis=0)

        def gram(rows, columns):
            if rows is columns and len(rows) == A.shape[1]:
                return A.T @ A
            return A[:, rows].T @ A[:, columns]

        def products(coef):
            used = np.flatnonzero(coef)
            return A.T @ (A[:, used] @ coef[used])

        return Moments(gram, products, c, norms, yy), x_mean, y_mean

    @by_rows
    def predict(self, X):
        """Predict values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions ``X @ coef_ + intercept_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, accept_sparse=["csr", "csc"], reset=False)
        products = safe_sparse_dot(X, self.coef_, dense_output=True)
        return products + X.dtype.type(self.intercept_)

    def to_sklearn(self):
        """Return the model as a `LinearRegression`, with the same predictions.

        Returns
        -------
        regressor : LinearRegression
            The coefficients and the intercept.
        """
        check_is_fitted(self)
        return linear_regressor(self, self.coef_, self.intercept_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _largest(X):
    values = X.data if sparse.issparse(X) else X
    largest = float(np.abs(values).max(initial=0.0))
    return largest or 1.0
