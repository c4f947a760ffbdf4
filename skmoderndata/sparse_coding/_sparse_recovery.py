"""Recovery of signals that are sparse in a basis from linear measurements."""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.export import linear_regressor
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, check_array, check_target, validate_data
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.recovery.bases import check_operator, resolve_basis, wrap_operator
from skmoderndata._solvers.recovery.measurements import BASES, compose, from_matrix
from skmoderndata._solvers.recovery.recovery import METHODS, recover


class SparseRecovery(CallbackSupportMixin, MultiOutputMixin, RegressorMixin, Base):
    r"""Recover signals that are sparse in a basis from few linear measurements.

    From the measurements :math:`y = \Phi x` of a signal :math:`x = a \Psi`, with the atoms in the
    rows of :math:`\Psi` and a sparse code a, `fit` computes the code by solving one of

    .. math::
        \min_a \|a\|_1 \text{ with } \|y - \Phi (a \Psi)\|_2 \le \varepsilon
        \qquad\text{or}\qquad
        \min_a \|y - \Phi (a \Psi)\|_2 \text{ with } \|a\|_0 \le s .

    The class is a regressor: the rows of `X` are the measurement vectors, `coef_` is the signal.
    Unknown parameters such as the sparsity can therefore be chosen by cross-validation over
    measurements. There is no intercept, because a zero signal has zero measurements: to predict a
    column of a table from the other columns, use `BasisPursuit`.

    Parameters
    ----------
    basis : str, array-like of shape (n_atoms, n_features) or LinearOperator, default=None
        Basis in which the signal is sparse: "dct", "fourier" (real), "haar", or "db2" to "db10"
        (wavelets); an array with any number of atoms in rows; or an operator from codes to
        signals, of shape (n_features, n_atoms). None means that the signal itself is sparse.
    algorithm : str, default="omp"
        Recovery algorithm:

        - "basis_pursuit": the first problem, with a proof of optimality [1]_.
        - "omp": orthogonal matching pursuit.
        - "iht": iterative hard thresholding, normalised [2]_.
        - "htp": hard thresholding pursuit [3]_.
        - "cosamp", "subspace_pursuit": pursuit with pruning [4]_, [5]_.
    n_nonzero_coefs : int, default=None
        Sparsity s, for all algorithms except "basis_pursuit". None uses a quarter of the number of
        measurements; "omp" with a `residual_tol` selects as many atoms as it needs.
    residual_tol : float, default=None
        Maximum Euclidean norm :math:`\varepsilon` of the residual, an upper bound on the norm of
        the noise; algorithms other than "basis_pursuit" stop when the residual meets it. For
        "basis_pursuit", None means equality, or the smallest possible residual if equality is
        impossible.
    residual_rtol : float, default=None
        The same bound relative to the norm of the measurements of each signal. If both are set,
        the larger bound applies.
    positive : bool, default=False
        Whether codes are non-negative: only positive entries are selected, least squares is
        non-negative, and the dual of "basis_pursuit" is bounded on one side.
    shape : tuple of int, default=None
        Shape of the signal, for example of an image, for named bases; None means one axis.
    tol : float, default=1e-8
        Maximum relative duality gap, and maximum violation of the bound, for "basis_pursuit".
    max_iter : int, default=10_000
        Maximum number of pairs of products with the measurements and their transpose, for
        "basis_pursuit" without a matrix.
    n_jobs : int, default=None
        Number of threads over the columns of `y`. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_signals, n_features)
        Recovered signals.
    codes_ : ndarray of shape (n_atoms,) or (n_signals, n_atoms)
        Codes of the signals in the basis.
    residual_norm_ : float or ndarray of shape (n_signals,)
        Norms of the residuals of the measurements.
    dual_gap_ : float
        Relative duality gap of "basis_pursuit", the maximum over signals; NaN for the algorithms
        that solve no convex problem, for which only `residual_norm_` and the number of non-zeros
        can be checked.
    n_iter_ : int
        Maximum number of steps for a signal; for "basis_pursuit" without a matrix, pairs of
        products.
    n_features_in_ : int
        Number of values of a signal.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.linear_model.OrthogonalMatchingPursuit : Runs "omp" without a basis; has an intercept.
    skmoderndata.sparse_coding.CompressedSensing : Also computes the measurements.
    skmoderndata.linear_model.BasisPursuit : Runs basis pursuit with weights and intercept, for
        tables.
    skmoderndata.sparse_coding.real_measurements : Converts complex measurements to real ones.

    Notes
    -----
    If the product of measurements and basis and the inner products of its columns fit in
    scikit-learn's `working_memory`, and there are few columns (2048) or many signals (16), the
    algorithms run on this product. Otherwise they form no matrix and use only products with X and
    the basis: `X` can be a :class:`scipy.sparse.linalg.LinearOperator`. Conjugate gradients then
    solve least squares problems. For basis pursuit with up to 600 measurements (and 8 million
    entries), the matrix is formed. With more measurements, a primal-dual iteration [6]_ finds the
    support, and Newton's method on the optimality conditions closes the duality gap; if that
    fails, the matrix is formed if it has up to 33 million entries. Callbacks are called after
    every signal, or once if signals are coded together.

    Greedy and pruning algorithms normalise the columns; the l1 norm applies to the codes without
    scaling. To weight measurements, scale the rows of `X` and `y`.

    References
    ----------
    .. [1] Chen, Donoho and Saunders, Atomic decomposition by basis pursuit, SIAM Journal on
       Scientific Computing 20(1), 1998.
    .. [2] Blumensath and Davies, Normalized iterative hard thresholding: guaranteed stability and
       performance, IEEE Journal of Selected Topics in Signal Processing 4(2), 2010.
    .. [3] Foucart, Hard thresholding pursuit: an algorithm for compressive sensing, SIAM Journal
       on Numerical Analysis 49(6), 2011.
    .. [4] Needell and Tropp, CoSaMP: iterative signal recovery from incomplete and inaccurate
       samples, Applied and Computational Harmonic Analysis 26(3), 2009.
    .. [5] Dai and Milenkovic, Subspace pursuit for compressive sensing signal reconstruction, IEEE
       Transactions on Information Theory 55(5), 2009.
    .. [6] Chambolle and Pock, A first-order primal-dual algorithm for convex problems with
       applications to imaging, Journal of Mathematical Imaging and Vision 40, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import SparseRecovery, dct_dictionary
    >>> rng = np.random.default_rng(0)
    >>> signal = 3 * dct_dictionary(64)[5] - dct_dictionary(64)[20]
    >>> Phi = rng.normal(size=(24, 64))
    >>> model = SparseRecovery("dct", algorithm="basis_pursuit").fit(Phi, Phi @ signal)
    >>> round(float(np.abs(model.coef_ - signal).max()), 6)   # largest error
    0.0
    >>> np.flatnonzero(model.codes_)
    array([ 5, 20])
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=(
            "chen1998atomic",
            "blumensath2010normalized",
            "foucart2011hard",
            "needell2009cosamp",
            "dai2009subspace",
            "chambolle2011first",
        ),
        cost="T n k",
    )
    _parameter_constraints = {
        "basis": [StrOptions(set(BASES)), "array-like", LinearOperator, None],
        "algorithm": [StrOptions(set(METHODS))],
        "n_nonzero_coefs": [AT_LEAST_ONE, None],
        "residual_tol": [NON_NEGATIVE, None],
        "residual_rtol": [NON_NEGATIVE, None],
        "positive": ["boolean"],
        "shape": [tuple, list, None],
        "tol": [POSITIVE],
        "max_iter": [AT_LEAST_ONE],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        basis=None,
        algorithm="omp",
        *,
        n_nonzero_coefs=None,
        residual_tol=None,
        residual_rtol=None,
        positive=False,
        shape=None,
        tol=1e-8,
        max_iter=10_000,
        n_jobs=None,
    ):
        self.basis = basis
        self.algorithm = algorithm
        self.n_nonzero_coefs = n_nonzero_coefs
        self.residual_tol = residual_tol
        self.residual_rtol = residual_rtol
        self.positive = positive
        self.shape = shape
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Recover signals.

        Parameters
        ----------
        X : array-like, sparse matrix or LinearOperator of shape (n_measurements, n_features)
            Measurement vectors in rows.
        y : array-like of shape (n_measurements,) or (n_measurements, n_signals)
            Measurements of one or more signals.

        Returns
        -------
        self : SparseRecovery
            The fitted estimator.
        """
        measure, y, dtype = self._measurements(X, y)
        basis = resolve_basis(self.basis, measure.shape[1], self.shape)
        effective = compose(measure, basis)
        # Store one signal in each row.
        Y = y.reshape(len(y), -1).T.astype(np.float64)

        with FitProgress(self, X, y, max_passes=None, task_name="signal") as progress:
            result = recover(
                Y,
                effective,
                method=self.algorithm,
                n_nonzero=self.n_nonzero_coefs,
                residual_tol=self.residual_tol,
                residual_rtol=self.residual_rtol,
                positive=self.positive,
                tol=self.tol,
                max_iter=self.max_iter,
                memory=working_memory(),
                n_jobs=self.n_jobs,
                progress=progress,
            )

        # Compute the signals from their codes in the basis.
        codes = result.codes
        signals = codes if basis is None else basis.forward(codes)
        self.codes_ = codes.astype(dtype)
        self.coef_ = signals.astype(dtype)
        self.residual_norm_ = result.residual
        if y.ndim == 1:
            self.codes_ = self.codes_[0]
            self.coef_ = self.coef_[0]
            self.residual_norm_ = float(result.residual[0])

        # Store the certificate and the number of steps.
        self.dual_gap_ = float(result.gap.max())
        most_passes = int(result.n_iter.max(initial=1))
        self.n_iter_ = max(1, most_passes)

        unfinished = np.count_nonzero(~result.converged)
        if unfinished and self.algorithm == "basis_pursuit":
            residual = np.max(self.residual_norm_)
            warn_not_converged(
                self,
                reached=f"relative duality gap {self.dual_gap_:.1e}, residual {residual:.1e} "
                f"(tol={self.tol:g})",
                remedy="increase max_iter, tol or residual_tol",
            )
        elif unfinished:
            warn_not_converged(
                self,
                reached=f"the supports of {unfinished} of {len(Y)} signals have not converged",
                remedy="lower n_nonzero_coefs, use more measurements, or use another algorithm",
            )
        return self

    @by_rows
    def predict(self, X):
        """Predict measurements.

        Parameters
        ----------
        X : array-like, sparse matrix or LinearOperator of shape (n_measurements, n_features)
            Measurement vectors in rows.

        Returns
        -------
        y : ndarray of shape (n_measurements,) or (n_measurements, n_signals)
            Predicted measurements ``X @ coef_.T``.
        """
        check_is_fitted(self)
        if isinstance(X, LinearOperator):
            self._check_operator(X, reset=False)
            return X @ self.coef_.T
        X = validate_data(self, X, dtype=FLOATS, accept_sparse="csr", reset=False)
        return safe_sparse_dot(X, self.coef_.T, dense_output=True)

    def to_sklearn(self):
        """Return the model as a `LinearRegression`, with the same predictions.

        Returns
        -------
        regressor : LinearRegression
            The coefficients and the intercept.
        """
        check_is_fitted(self)
        return linear_regressor(self, self.coef_, 0.0)

    def _check_operator(self, X, reset):
        if reset:
            self.n_features_in_ = X.shape[1]
            vars(self).pop("feature_names_in_", None)
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _measurements(self, X, y):
        """Return the operator of the measurements, the measurements and the output dtype."""
        is_complex = any(
            np.iscomplexobj(Z)
            for Z in (X, y)
            if isinstance(Z, np.ndarray | list) or sparse.issparse(Z)
        )
        if is_complex:
            raise ValueError(
                "Complex data not supported: the unknowns are real. Use "
                "sparse_coding.real_measurements(Phi, y), which stacks the real and the imaginary "
                "parts of the measurements and gives an equivalent problem."
            )

        # Check operators without converting them.
        if isinstance(X, LinearOperator):
            check_operator(X, "X")
            self._check_operator(X, reset=True)
            check_target(y, owner=type(self).__name__, numbers=True)
            y = check_array(y, ensure_2d=False, dtype=FLOATS, input_name="y", estimator=self)
            if len(y) != X.shape[0]:
                raise ValueError(f"X gives {X.shape[0]} measurements, but y has {len(y)}.")
            single = X.dtype == y.dtype == np.float32
            dtype = np.dtype(np.float32 if single else np.float64)
            return wrap_operator(X), y, dtype

        targets = {"multi_output": True, "y_numeric": True}
        X, y = validate_data(self, X, y, dtype=FLOATS, accept_sparse="csr", **targets)
        measure = from_matrix(X.astype(np.float64))
        return measure, y, X.dtype

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
