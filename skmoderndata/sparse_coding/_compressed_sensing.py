"""Compressed sensing: random measurements of signals, and their sparse recovery."""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    Interval,
    RealNotInt,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, check_array, dense, validate_data
from skmoderndata._samples.containers import row_blocks
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.recovery.bases import resolve_basis
from skmoderndata._solvers.recovery.measurements import (
    BASES,
    FAST,
    RANDOM,
    compose,
    from_matrix,
    random_matrix,
    single_pixel_differences,
    single_pixel_patterns,
    transform_measurements,
)
from skmoderndata._solvers.recovery.recovery import METHODS, recover


class RecoveredSignals(NamedTuple):
    """Recovered signals with their certificates, from `CompressedSensing.recover`."""

    signals: np.ndarray
    codes: np.ndarray
    residual_norm: np.ndarray
    dual_gap: np.ndarray
    n_iter: np.ndarray


class CompressedSensing(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    r"""Measure signals by random linear functionals, and recover them by sparse codes.

    `transform` computes the measurements :math:`y = \Phi x` of each row x with m fixed random
    vectors, and `inverse_transform` recovers the rows from them [1]_, [2]_. The codes are

    .. math::
        \min_a \|a\|_1 \text{ with } \|y - \Phi (a \Psi)\|_2 \le \varepsilon
        \qquad\text{or}\qquad
        \min_a \|y - \Phi (a \Psi)\|_2 \text{ with } \|a\|_0 \le s

    where the rows of :math:`\Psi` are the atoms of the basis and the signals are :math:`a \Psi`.
    If the signals are sparse in the basis and m is above a threshold that depends on the sparsity,
    they are recovered exactly.

    Parameters
    ----------
    n_measurements : int or float, default=0.5
        Number of measurements m, or a fraction of the number of features.
    basis : str, array-like of shape (n_atoms, n_features) or LinearOperator, default="dct"
        Basis in which signals are sparse: "dct", "fourier" (real), "haar", or "db2" to "db10"
        (wavelets); an array with any number of atoms in rows; or an operator from codes to
        signals, of shape (n_features, n_atoms). None means that the signals themselves are sparse.
    kind : str, default="gaussian"
        Kind of measurements. These kinds suit every basis and store a matrix in memory:

        - "gaussian": entries are normal with variance ``1 / m``.
        - "bernoulli": entries are plus or minus ``1 / sqrt(m)``.
        - "sparse": entries are plus or minus ``1 / sqrt(density m)`` with probability `density`,
          otherwise zero [3]_.

        These kinds are random rows of an orthonormal transform times ``sqrt(n / m)``, applied
        without a matrix:

        - "dct": cosines along each axis of `shape`.
        - "fourier": real and imaginary parts of coefficients of the discrete Fourier transform.
        - "hadamard": Walsh functions; the number of values must be a power of two.
        - "scrambled_hadamard": the same after a random permutation of the values and random signs,
          which suits every basis.
        - "single_pixel": the readings of a single-pixel camera [4]_. The patterns are 0 and 1:
          the first is 1 everywhere, the others are rows of a Hadamard matrix with permuted
          columns and 0 in place of -1. The number of values must be a power of two.
    algorithm : str, default="basis_pursuit"
        Recovery algorithm: "basis_pursuit" for the first problem; "omp", "iht", "htp", "cosamp" or
        "subspace_pursuit" for the second, see `SparseRecovery`.
    n_nonzero_coefs : int, default=None
        Sparsity s, for all algorithms except "basis_pursuit". None uses a quarter of the number of
        measurements; "omp" with a `residual_tol` selects as many atoms as it needs.
    residual_tol : float, default=None
        Maximum Euclidean norm :math:`\varepsilon` of the residual of the measurements of a signal,
        an upper bound on the norm of the noise (for "single_pixel", of the differences described
        in the Notes). None means no noise.
    positive : bool, default=False
        Whether codes are non-negative.
    shape : tuple of int, default=None
        Shape of a signal, for example of an image, for transforms and named bases. None means one
        axis.
    density : float, default=None
        Fraction of non-zero entries for "sparse"; None means a third.
    decay : float, default=0.0
        Exponent for "dct", "fourier" and "hadamard": rows of frequency f are drawn with
        probability proportional to ``(1 + f) ** -decay``. A value of about 2 suits images, which
        have most of their energy at low frequencies.
    tol : float, default=1e-8
        Maximum relative duality gap, and maximum violation of the bound, for "basis_pursuit".
    max_iter : int, default=10_000
        Maximum number of pairs of products with the measurements and their transpose, for
        "basis_pursuit" without a matrix.
    n_jobs : int, default=None
        Number of threads for the recovery of signals. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the measurements.

    Attributes
    ----------
    n_measurements_ : int
        Number of measurements.
    components_ : ndarray or csr_array of shape (n_measurements, n_features), or None
        Measurement vectors of "gaussian", "bernoulli" and "sparse"; None if there is no matrix.
    operator_ : LinearOperator of shape (n_measurements, n_features)
        Measurements as a SciPy operator, created on access.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.random_projection.GaussianRandomProjection : Computes the same measurements, but
        derives their number from the distortion of distances, and inverts them by least squares of
        minimum norm.
    skmoderndata.sparse_coding.SparseRecovery : Recovers signals from given measurement vectors.
    skmoderndata.sparse_coding.PhaseTransitionDisplay : Shows how many measurements are needed.

    Notes
    -----
    `fit` reads only the number of features. The mean squared norm of the measurements equals the
    squared norm of the signal, except for "single_pixel", whose readings are sums of pixels. From
    these readings, recovery first computes ``(2 y - y_0) / sqrt(m)`` with the reading `y_0` of the
    pattern of ones: the reading of a pattern minus the reading of its complement. This removes the
    common constant of all readings and gives orthogonal rows; independent noise grows by slightly
    more than two before the division. Transforms cost ``n log n`` per signal. Recovery forms the
    product of measurements and basis if it fits in `working_memory` and there are few columns
    (2048) or many signals (16); otherwise it uses only transforms. Convex recovery is certified:
    `recover` returns the duality gap of every signal. `fit` solves no optimisation problem and has
    no certificate.

    Rows of a transform suit only bases that are incoherent with them: cosines measure sums of few
    spikes well, but sums of few cosines not at all.

    References
    ----------
    .. [1] Candes, Romberg and Tao, Stable signal recovery from incomplete and inaccurate
       measurements, Communications on Pure and Applied Mathematics 59(8), 2006.
    .. [2] Donoho, Compressed sensing, IEEE Transactions on Information Theory 52(4), 2006.
    .. [3] Achlioptas, Database-friendly random projections: Johnson-Lindenstrauss with binary
       coins, Journal of Computer and System Sciences 66(4), 2003.
    .. [4] Duarte, Davenport, Takhar, Laska, Sun, Kelly and Baraniuk, Single-pixel imaging via
       compressive sampling, IEEE Signal Processing Magazine 25(2), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import CompressedSensing, dct_dictionary
    >>> X = 3 * dct_dictionary(64)[[5, 9]] - dct_dictionary(64)[[20, 30]]
    >>> camera = CompressedSensing(24, random_state=0).fit(X)
    >>> Y = camera.transform(X)
    >>> Y.shape
    (2, 24)
    >>> round(float(np.abs(camera.inverse_transform(Y) - X).max()), 6)   # largest error
    0.0
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=(
            "candes2006stable",
            "donoho2006compressed",
            "achlioptas2003database",
            "duarte2008single",
        ),
        cost="n p m",
    )
    _parameter_constraints = {
        "n_measurements": [AT_LEAST_ONE, Interval(RealNotInt, 0, 1, closed="right")],
        "basis": [StrOptions(set(BASES)), "array-like", LinearOperator, None],
        "kind": [StrOptions({*RANDOM, *FAST})],
        "algorithm": [StrOptions(set(METHODS))],
        "n_nonzero_coefs": [AT_LEAST_ONE, None],
        "residual_tol": [NON_NEGATIVE, None],
        "positive": ["boolean"],
        "shape": [tuple, list, None],
        "density": [Interval(Real, 0, 1, closed="right"), None],
        "decay": [NON_NEGATIVE],
        "tol": [POSITIVE],
        "max_iter": [AT_LEAST_ONE],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_measurements=0.5,
        basis="dct",
        *,
        kind="gaussian",
        algorithm="basis_pursuit",
        n_nonzero_coefs=None,
        residual_tol=None,
        positive=False,
        shape=None,
        density=None,
        decay=0.0,
        tol=1e-8,
        max_iter=10_000,
        n_jobs=None,
        random_state=None,
    ):
        self.n_measurements = n_measurements
        self.basis = basis
        self.kind = kind
        self.algorithm = algorithm
        self.n_nonzero_coefs = n_nonzero_coefs
        self.residual_tol = residual_tol
        self.positive = positive
        self.shape = shape
        self.density = density
        self.decay = decay
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Draw the measurements.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals; only their number of features is used.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : CompressedSensing
            The fitted estimator.
        """
        X = self._validate(X, reset=True)
        n = X.shape[1]
        if isinstance(self.n_measurements, Integral):
            m = int(self.n_measurements)
        else:
            m = max(1, round(self.n_measurements * n))
        if self.kind in FAST and m > n:
            raise ValueError(
                f"n_measurements={m} exceeds the {n} rows of a transform of {n} features. Use "
                "kind='gaussian' for more measurements."
            )

        # Fast transforms exist only for powers of two.
        if "hadamard" in self.kind or self.kind == "single_pixel":
            separable = self.kind == "hadamard" and self.shape is not None
            sizes = self.shape if separable else (n,)
            if any(int(size) & (int(size) - 1) for size in sizes):
                raise ValueError(
                    f"kind={self.kind!r} needs a power of two features, got {n}: crop or pad the "
                    "signals, or use kind='dct'."
                )

        resolve_basis(self.basis, n, self.shape)
        self.n_measurements_ = m
        # Draw a seed, from which the operator can be recreated.
        rng = check_random_state(self.random_state)
        self._seed = rng.randint(np.iinfo(np.int32).max)

        self.components_ = None
        # Store random matrices as they are drawn; the other measurements are operators.
        if self.kind in RANDOM:
            density = float(self.density or 1 / 3)
            rng = check_random_state(self._seed)
            matrix = random_matrix(self.kind, m, n, density=density, rng=rng)
            self.components_ = matrix.astype(X.dtype)

        return self

    @by_rows
    def transform(self, X):
        """Measure signals.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_measurements)
            Measurements.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return self._measure(X)

    def _measure(self, X):
        if self.components_ is not None:
            Y = dense(X @ self.components_.T)
            return np.asarray(Y, dtype=X.dtype)

        operator = self._operator()
        n = X.shape[0]
        measured = np.empty((n, self.n_measurements_), dtype=X.dtype)
        for rows in row_blocks(n, 8 * 6 * self.n_features_in_):
            signals = dense(X[rows]).astype(np.float64)
            measured[rows] = operator.forward(signals)
        return measured

    @by_rows
    def inverse_transform(self, X):
        """Recover signals from measurements.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_measurements)
            Measurements.

        Returns
        -------
        signals : ndarray of shape (n_samples, n_features)
            Recovered signals, which are sparse in the basis.
        """
        return self.recover(X).signals

    @in_memory
    def recover(self, X):
        """Recover signals from measurements, with certificates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_measurements)
            Measurements.

        Returns
        -------
        recovered : RecoveredSignals
            Named tuple `(signals, codes, residual_norm, dual_gap, n_iter)` with one entry for each
            signal: the norm of the residual of the measurements, and the relative duality gap, NaN
            for algorithms that solve no convex problem.
        """
        check_is_fitted(self)
        Y = check_array(X, dtype=FLOATS, estimator=self)
        dtype = Y.dtype
        if Y.shape[1] != self.n_measurements_:
            raise ValueError(
                f"X has {Y.shape[1]} measurements per row, but {type(self).__name__} makes "
                f"{self.n_measurements_}."
            )

        Y = Y.astype(np.float64)
        operator = self._operator()
        # Convert readings of patterns to measurements of signs.
        if self.kind == "single_pixel":
            operator, decode = single_pixel_differences(operator)
            Y = decode(Y)

        basis = resolve_basis(self.basis, self.n_features_in_, self.shape)
        effective = compose(operator, basis)
        result = recover(
            Y,
            effective,
            method=self.algorithm,
            n_nonzero=self.n_nonzero_coefs,
            residual_tol=self.residual_tol,
            positive=self.positive,
            tol=self.tol,
            max_iter=self.max_iter,
            memory=working_memory(),
            n_jobs=self.n_jobs,
        )

        unfinished = np.count_nonzero(~result.converged)
        if unfinished:
            reached = f"{unfinished} of {len(Y)} signals have not converged"
            if self.algorithm == "basis_pursuit":
                largest = np.nanmax(result.gap)
                reached += f", relative duality gap {largest:.1e} (tol={self.tol:g})"
            remedy = "increase max_iter or tol, or n_measurements"
            warn_not_converged(self, reached=reached, remedy=remedy)

        codes = result.codes
        signals = codes if basis is None else basis.forward(codes)
        certificates = (result.residual, result.gap, result.n_iter)
        return RecoveredSignals(signals.astype(dtype), codes.astype(dtype), *certificates)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative squared recovery error, relative to the squared norms of signals.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals to measure and recover.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Score, 0 for exact recovery. It increases with the number of measurements.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        signals = np.asarray(dense(X), dtype=np.float64)
        recovered = self.inverse_transform(self._measure(X)).astype(np.float64)

        total = float(np.square(signals).sum())
        error = float(np.square(recovered - signals).sum())
        return -error / total if total > 0 else 0.0

    @property
    def operator_(self):
        """The measurements as a LinearOperator of shape (n_measurements, n_features)."""
        check_is_fitted(self)
        operator = self._operator()

        def forward(X):
            return operator.forward(np.asarray(X, dtype=float).T).T

        def adjoint(Y):
            return operator.adjoint(np.asarray(Y, dtype=float).T).T

        def forward_one(x):
            row = np.asarray(x, dtype=float).reshape(1, -1)
            return operator.forward(row)[0]

        def adjoint_one(y):
            row = np.asarray(y, dtype=float).reshape(1, -1)
            return operator.adjoint(row)[0]

        return LinearOperator(
            operator.shape,
            matvec=forward_one,
            rmatvec=adjoint_one,
            matmat=forward,
            rmatmat=adjoint,
            dtype=np.float64,
        )

    def _operator(self):
        """Recreate the measurements from the matrix or the seed, whichever is stored."""
        m = self.n_measurements_
        n = self.n_features_in_
        if self.components_ is not None:
            return from_matrix(self.components_.astype(np.float64))
        rng = check_random_state(self._seed)
        if self.kind == "single_pixel":
            return single_pixel_patterns(m, n, rng=rng)
        shape = (n,)
        if self.shape is not None:
            shape = tuple(int(size) for size in self.shape)
        decay = float(self.decay)
        return transform_measurements(self.kind, m, shape, decay=decay, rng=rng)

    def _validate(self, X, reset):
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=FLOATS)

    @property
    def _n_features_out(self):
        return self.n_measurements_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
