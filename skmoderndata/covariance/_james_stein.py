"""Shrinkage of many means towards a common target."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.blocks_input import blocks_of, check_entries, in_blocks
from skmoderndata._estimator.compat import (
    NON_NEGATIVE,
    StrOptions,
    all_or_nothing,
    fit_context,
)
from skmoderndata._estimator.doors import in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_array, validate_data


class JamesStein(Base):
    r"""Estimate many means by shrinkage towards a common target.

    The m columns of X are quantities and its n rows are repeated observations of them, with
    Gaussian noise. If :math:`y` holds the means of the columns, :math:`s^2` is the variance of
    each of these means and :math:`t` is the target, then the James-Stein estimate [1]_ is

    .. math::
        \hat\theta = t + \Bigl(1 - \frac{c\, s^2}{\|y - t\|^2}\Bigr)_+ (y - t),
        \qquad c = m - 2 \text{ (fixed target)}, \quad m - 3 \text{ (the mean of the } y_j).

    Its expected squared error :math:`\operatorname{E} \|\hat\theta - \theta\|^2` is smaller than
    the error :math:`m s^2` of the raw means y, whatever the true means are.

    Parameters
    ----------
    target : {"mean", "zero"} or array-like of shape (n_features,), default="mean"
        Target of the shrinkage: the mean of the means, zero, or fixed numbers, which must not
        depend on X.
    noise_variance : float or array-like of shape (n_features,), default=None
        Variance of one row, one for all columns or one for each. None estimates a common
        variance within the columns, which requires at least two rows.
    positive_part : bool, default=True
        Whether to truncate the factor at 0, so that no mean is moved beyond the target.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The shrunk means.
    raw_location_ : ndarray of shape (n_features,)
        Means of the columns.
    target_ : ndarray of shape (n_features,)
        Target of each mean.
    shrinkage_ : float
        Factor of the distance to the target: 1 keeps the raw means, 0 returns the target.
    noise_variance_ : float or ndarray of shape (n_features,)
        Variance of one row.
    risk_estimate_ : float
        Stein's unbiased estimate of the expected squared error, divided by the error of the raw
        means: below 1 if shrinkage helps. It may be negative, because it is an unbiased estimate.
    n_samples_seen_ : int
        Number of rows seen by `fit`, including the rows of merged estimators.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.covariance.EmpiricalCovariance : Its `location_` holds the raw means.
    sklearn.covariance.LedoitWolf : Shrinks the covariance matrix, not the means.
    sklearn.covariance.OAS : Shrinks the covariance matrix, not the means.

    Notes
    -----
    The estimate costs one pass over X. No covariance matrix is estimated, so there is no
    `covariance_`, `precision_` or `mahalanobis`. The certificate is `risk_estimate_`.

    Estimating the target by the mean costs one degree of freedom, hence m - 3; some texts print
    m - 2 for this case, which shrinks too much. If the variance is estimated with
    d = (n - 1) m degrees of freedom, c is multiplied by d / (d + 2) [1]_, and `risk_estimate_`
    treats the estimate as the true variance. If m is at most 2 (3 for the mean), shrinkage cannot
    help: `fit` keeps the raw means and warns.

    If each column has its own variance, the means are divided by their standard deviations,
    shrunk, and multiplied back; the mean is then weighted by the inverse variances, and
    `risk_estimate_` measures squared errors relative to the variances. This is not the minimax
    estimate for plain squared errors [3]_.

    The total error decreases, but the error of a single mean may not: a true outlier among the
    means is moved too far.

    References
    ----------
    .. [1] James and Stein, Estimation with quadratic loss, Proceedings of the Fourth Berkeley
       Symposium 1, 1961, pp. 361-379, equations 7 and 24.
    .. [2] Efron and Morris, Data analysis using Stein's estimator and its generalizations, Journal
       of the American Statistical Association 70(350), 1975, section 2: the mean as target.
    .. [3] Bock, Minimax estimators of the mean of a multivariate normal distribution, Annals of
       Statistics 3(1), 1975.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.covariance import JamesStein
    >>> truth = np.linspace(-1, 1, 50)
    >>> X = truth + np.random.default_rng(0).normal(scale=2, size=(4, 50))
    >>> model = JamesStein().fit(X)
    >>> raw = np.sum((model.raw_location_ - truth) ** 2)
    >>> round(float(raw), 1), round(float(np.sum((model.location_ - truth) ** 2)), 1)   # errors
    (57.0, 17.5)
    """

    _card = MethodCard(
        family="many means",
        cite=("james1961estimation", "efron1975data", "bock1975minimax"),
        cost="n p",
        tier="standard",
        instead="RidgeCV on indicators of the columns also shrinks means, and can use covariates.",
        fits_blocks=True,
    )
    _parameter_constraints = {
        "target": [StrOptions({"mean", "zero"}), "array-like"],
        "noise_variance": [NON_NEGATIVE, "array-like", None],
        "positive_part": ["boolean"],
    }

    @parameters_are_named
    def __init__(self, target="mean", *, noise_variance=None, positive_part=True):
        self.target = target
        self.noise_variance = noise_variance
        self.positive_part = positive_part

    @fit_context()
    def fit(self, X, y=None):
        """Estimate the means.

        Parameters
        ----------
        X : array-like or Dask array of shape (n_samples, n_features)
            One repeated observation of all quantities in each row.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : JamesStein
            The fitted estimator.
        """
        if in_blocks(X):
            (spread,) = blocks_of(self, X, dtype=np.float64).sum(_spread_of_block)
            self._shrink(*spread)
            return self
        X = validate_data(self, X, dtype=np.float64)
        raw = X.mean(axis=0)
        self._shrink(len(X), raw, float(np.sum((X - raw) ** 2)))
        return self

    @all_or_nothing
    def merge(self, other):
        """Add the rows of another fitted estimator; exact, in any order.

        Parameters
        ----------
        other : JamesStein
            Fitted, with the same parameters and number of columns.

        Returns
        -------
        self : JamesStein
            The estimator, as if fitted to the rows of both.
        """
        if type(other) is not type(self):
            raise ValueError(f"JamesStein cannot merge with {type(other).__name__}.")
        check_is_fitted(self)
        check_is_fitted(other)

        mine = {**self.get_params(), "n_features_in_": self.n_features_in_}
        theirs = {**other.get_params(), "n_features_in_": other.n_features_in_}
        differ = [name for name in mine if not np.array_equal(mine[name], theirs[name])]
        names = [vars(model).get("feature_names_in_") for model in (self, other)]
        if all(name is not None for name in names) and not np.array_equal(*names):
            differ.append("feature_names_in_")
        if differ:
            raise ValueError(
                f"JamesStein cannot merge: {', '.join(differ)} differ. Fit both with the same "
                "parameters."
            )

        # Combine the counts, means and sums of squares of both estimators
        mine = _Spread(self.n_samples_seen_, self.raw_location_, self._squares)
        theirs = _Spread(other.n_samples_seen_, other.raw_location_, other._squares)
        self._shrink(*(mine + theirs))
        return self

    def _shrink(self, n, raw, squares):
        """Set the estimate from the number of rows, their mean, and the squares about it."""
        m = len(raw)
        variance, correction = self._variance(n, m, squares)
        scale = np.sqrt(np.broadcast_to(variance, m) / n)  # standard deviation of each mean
        fixed = not (isinstance(self.target, str) and self.target == "mean")
        target = self._target(raw, scale)
        degrees = m if fixed else m - 1

        # Stein's theorem needs at least three degrees of freedom; with fewer degrees, keep the raw
        # means
        factor = 1.0
        risk = 1.0
        if degrees <= 2:
            warnings.warn(
                f"JamesStein does not shrink {m} means: it needs at least 3, or 4 with "
                'target="mean". The raw means are returned.',
                stacklevel=3,
            )
        else:
            factor, risk = shrink(
                raw - target,
                scale,
                degrees,
                c=(degrees - 2) * correction,
                positive_part=self.positive_part,
            )

        self.n_samples_seen_ = n
        self._squares = squares
        self.raw_location_ = raw
        self.target_ = target
        self.location_ = target + factor * (raw - target)
        self.shrinkage_ = factor
        self.noise_variance_ = variance
        self.risk_estimate_ = risk

    @in_memory
    def score(self, X, y=None):
        """Compute the negative mean squared error of the means as predictions of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New observations.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            At most 0; higher is better.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return -float(np.mean((X - self.location_) ** 2))

    def _variance(self, n, m, squares):
        """Return the variance of a row, and the factor of c that corrects for estimating it."""
        if self.noise_variance is None:
            degrees = (n - 1) * m
            if degrees == 0:
                raise ValueError(
                    "JamesStein cannot estimate the noise from n_samples = 1 row: set "
                    "`noise_variance` to the variance of a row, or pass at least two rows."
                )
            return squares / degrees, degrees / (degrees + 2)

        if np.ndim(self.noise_variance) == 0:
            return float(self.noise_variance), 1.0

        variance = _vector(self.noise_variance, m, "noise_variance")
        if not (variance > 0).all():
            raise ValueError(
                f"noise_variance contains {variance.min():g}, but all variances must be positive: "
                "drop the columns that are known exactly."
            )
        return variance, 1.0

    def _target(self, raw, scale):
        if isinstance(self.target, str):
            if self.target == "zero":
                return np.zeros_like(raw)
            weights = None if scale[0] == 0 else (scale[0] / scale) ** 2
            return np.full_like(raw, np.average(raw, weights=weights))
        return _vector(self.target, len(raw), "target")


def shrink(difference, scale, degrees, *, c, positive_part):
    """Return the shrinkage factor, and Stein's estimate of the relative risk.

    With z the differences in units of their standard deviations, D = |z|^2 and q degrees of
    freedom, the factor is 1 - c/D, and the unbiased estimate of its risk in these units is
    m - c (2 (q - 2) - c) / D. If the factor is truncated at 0, the estimate is m - 2 q + D.
    """
    m = len(difference)
    if not scale.all():  # a mean has no noise, so nothing is shrunk
        return 1.0, 1.0
    D = float(np.sum((difference / scale) ** 2))
    if D <= c and positive_part:
        return 0.0, (m - 2 * degrees + D) / m
    if D == 0:
        return 0.0, (m - 2 * degrees) / m
    return 1 - c / D, 1 - c * (2 * (degrees - 2) - c) / (D * m)


def _vector(values, m, name):
    values = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    if values.shape != (m,):
        raise ValueError(
            f"{name} has shape {values.shape}, but there are {m} means: pass one number for each."
        )
    return values.copy()


class _Spread(NamedTuple):
    """Number of rows, their mean, and the sum of their squared distances from it."""

    n: int
    mean: np.ndarray
    squares: float

    def __add__(self, other):
        """Combine both sets of rows [Chan 1983]."""
        n = self.n + other.n
        step = other.mean - self.mean
        squares = self.squares + other.squares + float(step @ step) * self.n * other.n / n
        return _Spread(n, self.mean + step * (other.n / n), squares)


def _spread_of_block(block):
    X = np.asarray(block.arrays[0], dtype=np.float64)
    check_entries(X, owner="JamesStein")
    mean = X.mean(axis=0)
    return (_Spread(len(X), mean, float(np.sum((X - mean) ** 2))),)
