"""Windows of delayed rows, with the choice of the delay."""

import warnings

import numpy as np
from scipy import fft
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import AT_LEAST_ONE, StrOptions, fit_context
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_array, sequence_starts, validate_data
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.series import embedding_dimension as dimension
from skmoderndata._solvers.series.embedding_dimension import standardized

# Maximum autocorrelation at the selected lag, for each rule.
_THRESHOLD = {"1/e": np.exp(-1.0), "zero": 0.0}


class TimeDelayEmbedding(OneToOneFeatureMixin, TransformerMixin, Base):
    r"""Windows ``[x(t), x(t - lag), ..., x(t - (n_lags - 1) lag)]`` of the rows of a time series.

    Rows are in the order of time. By Takens' theorem [2]_, windows of :math:`2 d + 1` delayed
    values describe the state of a system that moves on a manifold of dimension :math:`d`. A delay
    at which the entries of a window are no longer correlated unfolds the orbit [1]_. The delay is
    either set by the user or chosen from the mean autocorrelation of the features,

    .. math::
        r(k) = \frac{1}{p} \sum_{j=1}^{p} \frac
            {\frac{1}{N_k} \sum_t (x_j(t) - m_j) (x_j(t - k) - m_j)}
            {\frac{1}{N_0} \sum_t (x_j(t) - m_j)^2},

    where the sums run over the :math:`N_k` pairs of rows in the same sequence.

    Parameters
    ----------
    n_lags : int, "fnn" or "cao", default=3
        Number of delayed copies in a window, including the row itself. "fnn" chooses the smallest
        number with at most one percent of false nearest neighbours [4]_, "cao" the number from
        which distances of neighbours no longer grow [5]_; see
        :func:`~skmoderndata.metrics.false_nearest_neighbors` and
        :func:`~skmoderndata.metrics.cao_dimension`.

    lag : int or "auto", default=1
        Number of rows between neighbouring entries of a window; "auto" chooses it in `fit` by
        `lag_rule`.

    lag_rule : {"1/e", "zero", "mutual_information"}, default="1/e"
        Rule for ``lag="auto"``: the first lag at which the mean autocorrelation is at most
        1/e, or at most zero, or the first local minimum of the mean mutual information of a row
        and its delayed copy (histogram estimate with bins of equal frequency), which detects
        nonlinear dependence, too.

    max_lag : int, default=None
        Maximum lag that ``lag="auto"`` considers. None uses the length of the longest sequence
        divided by `n_lags`, or by `max_n_lags`. If necessary, it is lowered until the longest
        sequence contains one complete window.

    max_n_lags : int, default=10
        Maximum number that ``n_lags="fnn"`` and "cao" consider. If necessary, it is lowered until
        there are ten windows that each have a next row.

    padding : {"edge", "nan"}, default="edge"
        Replacement for rows before the start of a sequence: the first row of the sequence, or NaN,
        by which estimators that skip rows with NaN recognise incomplete windows.

    Attributes
    ----------
    lag_ : int
        Delay that is used.

    lag_curve_ : ndarray of shape (n_lags_examined,) or None
        Mean autocorrelation or mutual information at lags 0, 1, ... as far as it was computed;
        None if `lag` is a number.

    n_lags_ : int
        Number of delayed copies that is used.

    n_lags_curve_ : ndarray of shape (n_examined,) or None
        Fraction of false neighbours, or Cao's E1, for 1, 2, ... copies; None if `n_lags` is a
        number.

    n_features_in_ : int
        Number of features of one row.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    skmoderndata.decomposition.SlowFeatureAnalysis : Finds the slowest functions of the windows.
    sklearn.model_selection.TimeSeriesSplit : Makes folds that keep the order of rows.
    numpy.lib.stride_tricks.sliding_window_view : Makes windows at lag 1, only complete ones.

    Notes
    -----
    Windows look back, so a row never depends on later rows. The window written in [1]_ with
    forward delays, ``[x(t), x(t + lag), ...]``, is the row ``t + (n_lags - 1) lag`` here, with its
    entries in reverse order. There is one output row for each input row. Rows whose window begins
    before their sequence are padded, and `complete_rows` marks all other rows.

    A sequence is a run of neighbouring rows with the same entry of `sequence_ids`. `transform`
    uses only the rows of its input, so the first rows of a test set are padded.

    NaN is allowed and copied; pairs with NaN are ignored when the lag is chosen. Constant
    features do not enter the mean. If no lag up to `max_lag` satisfies the rule, `fit` uses the
    lag with the smallest value and warns. It does the same with `n_lags`, because noise in the
    series leaves false neighbours in every dimension.

    With a fixed lag, the cost is a copy. The autocorrelation costs
    ``n_samples * n_features * log(n_samples)`` with Fourier transforms, the mutual information
    ``n_samples * n_features`` for each lag up to the selected lag, and a choice of `n_lags` costs
    a tree search of nearest neighbours for each number up to `max_n_lags`.

    References
    ----------
    .. [1] G. Simon, J. A. Lee and M. Verleysen, "Unfolding preprocessing for meaningful time
       series clustering", Neural Networks 19(6-7), 2006, pp. 877-888.
    .. [2] F. Takens, "Detecting strange attractors in turbulence", Lecture Notes in Mathematics
       898, Springer, 1981, pp. 366-381.
    .. [3] A. M. Fraser and H. L. Swinney, "Independent coordinates for strange attractors from
       mutual information", Physical Review A 33(2), 1986, pp. 1134-1140.
    .. [4] M. B. Kennel, R. Brown and H. D. I. Abarbanel, "Determining embedding dimension for
       phase-space reconstruction using a geometrical construction", Physical Review A 45(6), 1992,
       pp. 3403-3411.
    .. [5] L. Cao, "Practical method for determining the minimum embedding dimension of a scalar
       time series", Physica D 110(1-2), 1997, pp. 43-50.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.preprocessing import TimeDelayEmbedding
    >>> X = np.arange(1.0, 8.0)[:, None]
    >>> embedding = TimeDelayEmbedding(n_lags=3, lag=2).fit(X)
    >>> embedding.get_feature_names_out()
    array(['x0_lag0', 'x0_lag2', 'x0_lag4'], dtype=object)
    >>> embedding.transform(X)[embedding.complete_rows(X)]
    array([[5., 3., 1.],
           [6., 4., 2.],
           [7., 5., 3.]])

    Two delayed values describe the state of Henon's map:

    >>> from skmoderndata.datasets import make_chaotic_series
    >>> X = make_chaotic_series("henon", 1000, random_state=0)[:, :1]
    >>> TimeDelayEmbedding(n_lags="fnn").fit(X).n_lags_
    2
    """

    _card = MethodCard(
        family="time series",
        cite=(
            "simon2006unfolding",
            "takens1981detecting",
            "fraser1986independent",
            "kennel1992determining",
            "cao1997practical",
        ),
        cost="n p n_lags; lag='auto' and n_lags='fnn': n p log n",
        rows="rows are time and a window holds earlier ones",
    )
    _parameter_constraints = {
        "n_lags": [AT_LEAST_ONE, StrOptions({"fnn", "cao"})],
        "lag": [AT_LEAST_ONE, StrOptions({"auto"})],
        "lag_rule": [StrOptions({"1/e", "zero", "mutual_information"})],
        "max_lag": [AT_LEAST_ONE, None],
        "max_n_lags": [AT_LEAST_ONE],
        "padding": [StrOptions({"edge", "nan"})],
    }
    __metadata_request__fit = {"sequence_ids": True}
    __metadata_request__transform = {"sequence_ids": True}
    __metadata_request__inverse_transform = {"sequence_ids": True}
    # sample_weight is not used, but Pipeline.score always routes it, so it must be a known name.
    __metadata_request__score = {"sequence_ids": True, "sample_weight": None}

    @parameters_are_named
    def __init__(
        self,
        n_lags=3,
        *,
        lag=1,
        lag_rule="1/e",
        max_lag=None,
        max_n_lags=10,
        padding="edge",
    ):
        self.n_lags = n_lags
        self.lag = lag
        self.lag_rule = lag_rule
        self.max_lag = max_lag
        self.max_n_lags = max_n_lags
        self.padding = padding

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, sequence_ids=None):
        """Choose the lag and the number of delayed copies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time.
        y : None
            Not used, present by convention.
        sequence_ids : array-like of shape (n_samples,), default=None
            Sequence of each row; windows do not cross from one sequence to the next.

        Returns
        -------
        self : TimeDelayEmbedding
            The fitted transformer.
        """
        X, start = self._check(X, sequence_ids, reset=True)
        longest = np.bincount(start).max()
        # An automatic choice of n_lags is at least 2.
        n_lags = 2 if isinstance(self.n_lags, str) else self.n_lags
        # At least one complete window must remain.
        largest_lag = (longest - 1) // max(n_lags - 1, 1)
        needed = 1 if self.lag == "auto" else self.lag

        if n_lags > 1 and largest_lag < needed:
            n_rows = (n_lags - 1) * needed + 1
            raise ValueError(
                f"A window of n_lags={n_lags} rows at lag={self.lag} covers "
                f"{n_rows} rows, but the longest sequence has "
                f"{longest} (n_samples={len(X)}): lower n_lags or lag, or use longer sequences."
            )

        if self.lag == "auto":
            most_lags = self.max_n_lags if isinstance(self.n_lags, str) else self.n_lags
            limit = max(longest // most_lags, 1) if self.max_lag is None else self.max_lag
            max_lag = max(min(limit, largest_lag), 1)
            lag, lag_curve = self._choose_lag(X, start, max_lag)
        else:
            lag = int(self.lag)
            lag_curve = None

        if isinstance(self.n_lags, str):
            n_lags, n_lags_curve = self._choose_n_lags(X, start, lag)
        else:
            n_lags_curve = None

        self.lag_ = lag
        self.lag_curve_ = lag_curve
        self.n_lags_ = n_lags
        self.n_lags_curve_ = n_lags_curve
        return self

    def _choose_lag(self, X, start, max_lag):
        if self.lag_rule == "mutual_information":
            lag, curve = _first_minimum_of_information(X, start, max_lag)
        else:
            curve = _autocorrelation(X, start, max_lag)
            below = np.flatnonzero(curve[1:] <= _THRESHOLD[self.lag_rule])
            lag = int(below[0]) + 1 if below.size else None

        if lag is None:
            lag = int(np.argmin(curve[1:])) + 1 if len(curve) > 1 else 1
            warnings.warn(
                f"TimeDelayEmbedding(lag='auto', lag_rule={self.lag_rule!r}): no lag up to "
                f"{max_lag} satisfies the rule; lag {lag} has the smallest value. Increase "
                "max_lag, use a longer series, or set lag.",
                stacklevel=4,
            )
        return lag, curve

    def _choose_n_lags(self, X, start, lag):
        owner = f"TimeDelayEmbedding(n_lags={self.n_lags!r})"
        X = standardized(X)
        if not X.shape[1]:
            warnings.warn(f"{owner}: all features are constant; 1 is enough.", stacklevel=4)
            return 1, np.ones(1)

        # Examine only dimensions for which there are enough rows.
        cao = self.n_lags == "cao"
        max_dim = dimension.largest_dimension(X, start, lag, self.max_n_lags + cao)
        if max_dim < 1 + cao:
            raise ValueError(
                f"{owner} needs {dimension.MIN_WINDOWS} windows of {1 + cao} rows at lag={lag} "
                "that have a next row in their sequence: use longer sequences, lower lag, or set "
                "n_lags to a number."
            )

        # Compute the curve and the first dimension at which windows describe states.
        if cao:
            curve, e2 = dimension.distance_growth(X, start, lag=lag, max_dim=max_dim)
            n_lags = dimension.first_at_rest(curve, dimension.GROWTH_TOL)
            if dimension.is_like_noise(e2, dimension.GROWTH_TOL):
                warnings.warn(
                    f"{owner}: windows of no length predict the next row, as in noise, for which "
                    "n_lags has no meaning; choose it by the score of the next step.",
                    stacklevel=4,
                )
            best = int(np.nanargmax(curve)) + 1
        else:
            curve = dimension.false_neighbors(X, start, lag=lag, max_dim=max_dim)
            n_lags = dimension.first_without_false(curve, dimension.FALSE_TOL)
            best = int(np.argmin(curve)) + 1

        if n_lags is None:
            n_lags = best
            warnings.warn(
                f"{owner}: no number of rows up to {len(curve)} describes a state; {n_lags} comes "
                "closest. The series may be noisy or too short; otherwise increase max_n_lags.",
                stacklevel=4,
            )
        return n_lags, curve

    def fit_transform(self, X, y=None, *, sequence_ids=None):
        """Choose the lag and return the windows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time.
        y : None
            Not used, present by convention.
        sequence_ids : array-like of shape (n_samples,), default=None
            Sequence of each row.

        Returns
        -------
        X_embedded : ndarray of shape (n_samples, n_lags * n_features)
            Window of each row.
        """
        fitted = self.fit(X, y, sequence_ids=sequence_ids)
        return fitted.transform(X, sequence_ids=sequence_ids)

    @by_rows
    def transform(self, X, *, sequence_ids=None):
        """Return the window of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time.
        sequence_ids : array-like of shape (n_samples,), default=None
            Sequence of each row; None treats all rows as one sequence.

        Returns
        -------
        X_embedded : ndarray of shape (n_samples, n_lags * n_features)
            Window of each row: all features of the row, then all features one lag earlier, and so
            on.
        """
        check_is_fitted(self)
        X, start = self._check(X, sequence_ids, reset=False)
        n, p = X.shape
        row = np.arange(n)
        out = np.empty((n, self.n_lags_, p), dtype=X.dtype)
        for j in range(self.n_lags_):
            earlier = row - self._shift(j, n)
            np.take(X, np.maximum(earlier, start), axis=0, out=out[:, j])
            if self.padding == "nan":
                out[earlier < start, j] = np.nan
        return out.reshape(n, self.n_lags_ * p)

    @by_rows
    def inverse_transform(self, X, *, sequence_ids=None):
        """Return the series whose windows are nearest to the windows in X.

        Each value is the mean of its copies in all windows of its sequence, which is the least
        squares solution; padded entries do not count. After a projection of the windows (as in
        singular spectrum analysis), this gives the smoothed series.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_lags * n_features)
            Windows, one per row, in the order of time.
        sequence_ids : array-like of shape (n_samples,), default=None
            Sequence of each row; None treats all rows as one sequence.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Reconstructed series.
        """
        check_is_fitted(self)
        Z = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        n, n_columns = Z.shape
        needed = self.n_lags_ * self.n_features_in_
        if n_columns != needed:
            raise ValueError(
                f"TimeDelayEmbedding.inverse_transform needs X with n_lags * n_features = "
                f"{needed} columns, got {n_columns}."
            )

        start = sequence_starts(sequence_ids, Z)
        Z = Z.reshape(n, self.n_lags_, self.n_features_in_)

        # Average over the windows that contain a row.
        total = Z[:, 0].copy()
        copies = np.ones(n, dtype=Z.dtype)
        for j in range(1, self.n_lags_):
            shift = self._shift(j, n)
            inside = np.flatnonzero(np.arange(n) - shift >= start)
            rows = inside - shift
            total[rows] += Z[inside, j]
            copies[rows] += 1

        return total / copies[:, None]

    @in_memory
    def complete_rows(self, X, *, sequence_ids=None):
        """Mark the windows that lie entirely within their sequence.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time; only their number is used.
        sequence_ids : array-like of shape (n_samples,), default=None
            Sequence of each row; None treats all rows as one sequence.

        Returns
        -------
        mask : ndarray of bool of shape (n_samples,)
            Mask of the complete windows; False for rows that `transform` pads.
        """
        check_is_fitted(self)
        start = sequence_starts(sequence_ids, X)
        n = len(start)
        oldest = np.arange(n) - self._shift(self.n_lags_ - 1, n)
        return oldest >= start

    @in_memory
    def score(self, X, y=None, *, sequence_ids=None):
        """Compute the negative magnitude of the mean autocorrelation at `lag_`.

        Zero is best: neighbouring entries of the window are then uncorrelated. The score compares
        only lags, not `n_lags` or the usefulness of the windows to a later estimator; in a
        pipeline, use the score of that estimator. A series without pairs of rows at this lag, or a
        constant series, scores -1; ``n_lags=1`` scores 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time.
        y : None
            Not used, present by convention.
        sequence_ids : array-like of shape (n_samples,), default=None
            Sequence of each row; None treats all rows as one sequence.

        Returns
        -------
        score : float
            Minus the absolute value of the mean autocorrelation.
        """
        check_is_fitted(self)
        X, start = self._check(X, sequence_ids, reset=False)
        if self.n_lags_ == 1:
            return 0.0
        if self.lag_ >= len(X):
            return -1.0
        curve = _autocorrelation(X, start, self.lag_)
        return -float(abs(curve[self.lag_]))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the output columns: ``<feature>_lag<number of rows back>``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the input features; None uses `feature_names_in_`, or x0, x1, ...

        Returns
        -------
        feature_names_out : ndarray of str objects
            Names of the output columns.
        """
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        shifts = [j * self.lag_ for j in range(self.n_lags_)]
        delayed = [f"{name}_lag{shift}" for shift in shifts for name in names]
        return np.array(delayed, dtype=object)

    def _check(self, X, sequence_ids, *, reset):
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", reset=reset
        )
        return X, sequence_starts(sequence_ids, X)

    def _shift(self, j, n):
        # compute with Python integers, because j * lag may exceed 64 bits
        return min(j * self.lag_, n)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _autocorrelation(X, start, max_lag):
    """Average the autocorrelation at lags 0..max_lag over features; 1 if it is undefined."""
    X = standardized(X)
    n, p = X.shape
    first = np.flatnonzero(start == np.arange(n))
    sizes = np.diff(np.append(first, n))
    widths = 1 << np.ceil(np.log2(sizes)).astype(int)  # group sequences of similar length
    total = np.zeros((max_lag + 1, p))
    count = np.zeros((max_lag + 1, p))
    has_nan = bool(np.isnan(X).any())

    # Sequences of similar length share a transform.
    for width in np.unique(widths):
        here = widths == width
        offset = np.arange(width)
        inside = offset < sizes[here, None]
        row = np.where(inside, first[here, None] + offset, 0)
        lags = min(int(width), max_lag + 1)

        n_fft = fft.next_fast_len(int(width) + lags, real=True)
        block = max(int(TEMPORARY_BYTES // (4 * FLOAT_BYTES * len(row) * n_fft)), 1)
        for j in range(0, p, block):
            columns = slice(j, min(j + block, p))
            values = X[row, columns] * inside[:, :, None]  # (sequences, width, features)
            observed = ~np.isnan(values) & inside[:, :, None]
            products = _lagged_products(np.where(observed, values, 0), n_fft)
            total[:lags, columns] += products[:lags]
            if has_nan:
                pairs = _lagged_products(observed.astype(float), n_fft)
                count[:lags, columns] += pairs[:lags]

    if has_nan:
        count = np.round(count)
    else:
        pairs = np.maximum(sizes - np.arange(max_lag + 1)[:, None], 0)
        count += pairs.sum(axis=1)[:, None]

    # Normalise by lag zero and average over the features with a defined value.
    r = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    r /= r[0]
    defined = ~np.isnan(r)
    n_defined = defined.sum(axis=1)
    sums = np.where(defined, r, 0).sum(axis=1)
    mean = sums / np.maximum(n_defined, 1)
    return np.where(n_defined > 0, mean, 1.0)


def _lagged_products(values, n_fft):
    """Sum ``v(t) v(t - k)`` over sequences and rows, by the Wiener-Khinchin theorem."""
    spectrum = fft.rfft(values, n_fft, axis=1)
    power = np.sum(spectrum.real**2 + spectrum.imag**2, axis=0)
    return fft.irfft(power, n_fft, axis=0)


def _first_minimum_of_information(X, start, max_lag):
    """Find the first local minimum of the mutual information of rows up to `max_lag` apart."""
    X = standardized(X)
    n, p = X.shape

    # Assign the values to cells of equal frequency, with about five pairs per cell if the values
    # are independent.
    n_bins = int(np.clip(np.sqrt(n / 5), 2, 32))
    bins = np.full((p, n), n_bins)  # the last bin is for NaN
    for j in range(p):
        observed = np.flatnonzero(~np.isnan(X[:, j]))
        values = X[observed, j]
        edges = np.quantile(values, np.arange(1, n_bins) / n_bins)
        bins[j, observed] = np.searchsorted(edges, values, side="right")

    # Compute the mutual information of X[t] and X[t + lag], without pairs across sequences.
    curve = []
    # compute one more lag, to see whether the curve rises again
    for lag in range(min(max_lag + 1, n - 1) + 1):
        crossing = np.flatnonzero(start[lag:] > np.arange(n - lag))
        cells = bins[:, lag:] * (n_bins + 1) + bins[:, : n - lag]
        cells[:, crossing] = (n_bins + 1) ** 2 - 1
        curve.append(np.mean([_information(c, n_bins) for c in cells]) if p else 0.0)

        if lag >= 2 and curve[-1] > curve[-2]:
            return lag - 1, np.array(curve)
    return None, np.array(curve[: max_lag + 1])


def _information(cells, n_bins):
    """Compute the mutual information in nats from the cells of pairs; ignore the NaN cells."""
    n_cells = n_bins + 1
    counts = np.bincount(cells, minlength=n_cells**2).reshape(n_cells, n_cells)
    counts = counts[:n_bins, :n_bins]
    joint = counts / max(counts.sum(), 1)
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    occupied = joint > 0
    p = joint[occupied]
    return np.sum(p * np.log(p / independent[occupied]))
