"""Steps on kernel matrices: normalise, correct the spectrum, centre distances, project, whiten."""

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base
from skmoderndata._compat import AT_LEAST_ONE, NON_NEGATIVE, StrOptions, fit_context
from skmoderndata._registry import MethodCard
from skmoderndata._solvers.common.linalg import Spectrum, fix_signs
from skmoderndata._solvers.kernel.incomplete_cholesky import incomplete_cholesky
from skmoderndata._validation import check_array, validate_data
from skmoderndata.kernels._resolve import Gram

FAMILY = "kernel matrices"
PAGE = "kernel_matrix_steps"


class _KernelMatrixStep(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    """A transformer fitted on the square matrix of the training samples."""

    def _square(self, K):
        K = validate_data(self, K, dtype=[np.float64, np.float32], ensure_min_samples=1)
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                f"{type(self).__name__} needs the square matrix of all training samples in fit, "
                f"and received one of shape {K.shape}."
            )
        self._n_features_out = K.shape[0]
        return K.astype(np.float64), K.dtype

    def _symmetric(self, K):
        K, dtype = self._square(K)
        gap, scale = np.abs(K - K.T).max(), np.abs(K).max()
        if gap > 1e-6 * scale:  # single precision and slightly asymmetric similarities pass
            raise ValueError(
                f"{type(self).__name__} needs a symmetric matrix, and entries differ from their "
                f"mirror images by up to {gap:.3g}; (K + K.T) / 2 is symmetric."
            )
        return (K + K.T) / 2, dtype

    def _rows(self, K):
        check_is_fitted(self)
        K = validate_data(self, K, dtype=[np.float64, np.float32], reset=False)
        return K.astype(np.float64, copy=False), K.dtype

    def score(self, X, y=None):
        """Share of a matrix that is left: its cosine with what `transform` makes of it.

        1 where the step changes nothing but the scale. For a search over the parameters of a step
        let the score of the estimator after it decide.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_train)
            Values of samples against the training samples.
        y : None
            Ignored.

        Returns
        -------
        score : float
            In [-1, 1]; 0 if either matrix is zero.
        """
        K, _ = self._rows(X)
        Z = self._compared(K)
        a, b = np.abs(K).max(initial=0.0), np.abs(Z).max(initial=0.0)
        if a == 0 or b == 0:
            return 0.0
        K, Z = K / a, Z / b
        return float(np.vdot(K, Z) / (linalg.norm(K) * linalg.norm(Z)))

    def _compared(self, K):
        return self._map(K)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class KernelNormalizer(_KernelMatrixStep):
    r"""Cosines from a kernel matrix, ``k(x, z) / sqrt(k(x, x) k(z, z))``.

    Attributes
    ----------
    diagonal_ : ndarray of shape (n_train,)
        Similarities of the training samples to themselves.
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the matrix had some.

    See Also
    --------
    skmoderndata.kernels.Normalized : The same for a kernel, which knows the similarity of new
        samples to themselves. Take it where you can.
    sklearn.preprocessing.KernelCenterer : Centres a kernel matrix.

    Notes
    -----
    A matrix of new samples against training samples does not hold the similarity of a new sample
    to itself. `transform` takes it as `diag`. Without it the smallest value that Cauchy and
    Schwarz allow is taken, ``max_j k(x, x_j)^2 / k(x_j, x_j)``: exact for training samples, and
    cosines never exceed 1, but too large.

    Where the similarity of a sample to itself is 0, its row is 0.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Algorithm 5.1.

    Examples
    --------
    >>> from skmoderndata.preprocessing import KernelNormalizer
    >>> KernelNormalizer().fit_transform([[4.0, 2.0], [2.0, 9.0]]).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n^2",
        known_failures={
            "check_positive_only_tag_during_fit": "a kernel matrix may have negative entries, "
            "but not on its diagonal, where the check puts some",
        },
        method=PAGE,
    )
    _parameter_constraints = {}

    @fit_context()
    def fit(self, X, y=None):
        """Keep the diagonal.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
            Kernel matrix of the training samples.
        y : None
            Ignored.

        Returns
        -------
        self : KernelNormalizer
            The fitted transformer.
        """
        K, _ = self._square(X)
        d = K.diagonal().copy()
        if (d < 0).any():
            raise ValueError(
                f"KernelNormalizer needs a diagonal of at least 0, and it has {d.min():.3g}; make "
                "the matrix positive semi-definite with SpectrumCorrector first."
            )
        self.diagonal_ = d
        return self

    def transform(self, X, diag=None):
        """Divide by the lengths of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_train)
            Values of samples against the training samples.
        diag : array-like of shape (n_samples,), default=None
            Similarities of the samples to themselves; None takes the smallest that are possible.

        Returns
        -------
        K : ndarray of shape (n_samples, n_train)
            Cosines.
        """
        K, dtype = self._rows(X)
        if diag is not None:
            diag = check_array(diag, ensure_2d=False, dtype=np.float64, input_name="diag")
            if diag.shape != (len(K),) or (diag < 0).any():
                raise ValueError(
                    f"KernelNormalizer.transform: diag needs {len(K)} values of at least 0, one "
                    f"per sample; received shape {diag.shape}."
                )
        return self._map(K, diag).astype(dtype, copy=False)

    def fit_transform(self, X, y=None):
        """Keep the diagonal and divide by its roots.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
            Kernel matrix of the training samples.
        y : None
            Ignored.

        Returns
        -------
        K : ndarray of shape (n_train, n_train)
            Cosines.
        """
        self.fit(X)
        K, dtype = self._rows(X)
        return self._map(K, self.diagonal_).astype(dtype, copy=False)

    def _map(self, K, diag=None):
        columns = _inverse_root(self.diagonal_)
        Z = K * columns
        if diag is None:
            lengths = np.abs(Z).max(axis=1, initial=0.0)
            return (
                Z * np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)[:, None]
            )
        return Z * _inverse_root(diag)[:, None]


class SpectrumCorrector(_KernelMatrixStep):
    r"""Positive semi-definite matrix from similarities that are not, for new samples too.

    With ``S = U diag(w) U'`` the training matrix becomes ``U diag(f(w)) U'`` and rows s of new
    samples ``s U diag(f(w) / w) U'``:

    ====== ======================= ==========================================================
    method f(w)
    ====== ======================= ==========================================================
    clip   ``max(w, 0)``           the nearest positive semi-definite matrix
    flip   ``|w|``                 keeps the size of negative directions
    square ``w^2``                 rows as features, ``S S'``
    shift  ``w - min(w, 0)``       changes the diagonal only
    ====== ======================= ==========================================================

    Parameters
    ----------
    method : {"clip", "flip", "square", "shift"}, default="clip"
        What to do with the eigenvalues, see above.
    tol : float, default=1e-12
        Eigenvalues of magnitude up to `tol` times the largest count as 0.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_train,)
        Eigenvalues of the similarities, largest first.
    n_negative_ : int
        Number of negative ones.
    negative_share_ : float
        Their share of the sum of magnitudes: 0 for a kernel matrix.
    projection_ : ndarray of shape (n_train, n_train)
        Matrix that multiplies new rows; the identity for "shift".
    shift_ : float
        What is added to similarities of samples to themselves, 0 but for "shift".
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the matrix had some.

    See Also
    --------
    DoubleCenterer : Similarities from distances.
    skmoderndata.kernels.DistanceKernel : A similarity that may need correction.

    Notes
    -----
    "clip", "flip" and "square" are linear maps of the rows, the same for training and new samples.
    "shift" adds to the diagonal of the training matrix, in `fit_transform` only: `transform`
    leaves rows as they are, since a training sample is not known from a new one there. Hence
    ``fit_transform(S)`` differs from ``fit(S).transform(S)`` for "shift", and not otherwise.

    The similarity between two new samples is not determined by the training matrix; `between`
    gives the one in which the rows' features are those used here. Cost ``n^3``. Eigenvalues are
    all computed; eigenvectors only of the negative or of the positive ones, whichever are fewer
    ("clip", "flip"), and in `between` those that it needs.

    References
    ----------
    .. [1] Chen, Garcia, Gupta, Rahimi and Cazzanti, Similarity-based classification: concepts and
       algorithms, Journal of Machine Learning Research 10, 2009, section 4.
    .. [2] Higham, Computing a nearest symmetric positive semidefinite matrix, Linear Algebra and
       its Applications 103, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.preprocessing import SpectrumCorrector
    >>> S = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
    >>> corrector = SpectrumCorrector().fit(S)
    >>> corrector.eigenvalues_.round(3)
    array([ 2.377,  0.8  , -0.177])
    >>> corrector.transform([[0.8, 0.5, 0.1]]).round(4)
    array([[0.7689, 0.5476, 0.0689]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("chen2009similarity", "higham1988computing"),
        cost="n^3",
        checks=({}, {"method": "flip"}, {"method": "square"}),
        method=PAGE,
    )
    _parameter_constraints = {
        "method": [StrOptions({"clip", "flip", "square", "shift"})],
        "tol": [NON_NEGATIVE],
    }

    def __init__(self, method="clip", *, tol=1e-12):
        self.method = method
        self.tol = tol

    @fit_context()
    def fit(self, X, y=None):
        """Decompose the similarities.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
            Symmetric similarities of the training samples.
        y : None
            Ignored.

        Returns
        -------
        self : SpectrumCorrector
            The fitted transformer.
        """
        S, _ = self._symmetric(X)
        if self.method == "square" and np.abs(S).max() > 1e150:
            raise ValueError(
                "SpectrumCorrector(method='square'): similarities above 1e150 have squares out of "
                "range; rescale them."
            )
        scale = _power_of_two(np.abs(S).max(initial=0.0))
        spectrum = Spectrum(S * scale)
        w = spectrum.values  # ascending
        w = np.where(np.abs(w) <= self.tol * np.abs(w).max(initial=0.0), 0.0, w)
        self._spectrum, self._scale = spectrum, scale
        self.projection_ = self._projection(S, w)
        self.eigenvalues_ = w[::-1] / scale
        self.n_negative_ = int((w < 0).sum())
        total = np.abs(w).sum()
        self.negative_share_ = float(-w[w < 0].sum() / total) if total > 0 else 0.0
        self.shift_ = float(max(0.0, -self.eigenvalues_[-1])) if self.method == "shift" else 0.0
        return self

    def transform(self, X):
        """Correct rows of similarities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_train)
            Similarities of samples to the training samples.

        Returns
        -------
        K : ndarray of shape (n_samples, n_train)
            Corrected similarities.
        """
        S, dtype = self._rows(X)
        return self._map(S).astype(dtype, copy=False)

    def fit_transform(self, X, y=None):
        """Correct the matrix of the training samples.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
            Symmetric similarities of the training samples.
        y : None
            Ignored.

        Returns
        -------
        K : ndarray of shape (n_train, n_train)
            Positive semi-definite matrix.
        """
        self.fit(X)
        S, dtype = self._rows(X)
        K = self._map(S)
        K = (K + K.T) / 2
        if self.shift_:
            K[np.diag_indices_from(K)] += self.shift_
        return K.astype(dtype, copy=False)

    def between(self, X, Y=None):
        """Corrected similarities between samples that need not be training samples.

        Parameters
        ----------
        X : array-like of shape (n_X, n_train)
            Similarities of samples to the training samples.
        Y : array-like of shape (n_Y, n_train), default=None
            Those of other samples; None takes `X`.

        Returns
        -------
        K : ndarray of shape (n_X, n_Y)
            Inner products of the features that the correction stands for: rows projected on the
            eigenvectors kept, over the roots of the eigenvalues ("clip", "flip"; also for "shift",
            whose private features new samples do not share), or the rows themselves ("square").
        """
        A, dtype = self._rows(X)
        B = A if Y is None else self._rows(Y)[0]
        if self.method != "square":
            half = self._half()
            A, B = A @ half, B @ half
        return (A @ B.T).astype(dtype, copy=False)

    def _projection(self, S, w):
        """Matrix ``U diag(f(w) / w) U'`` from the fewer of the eigenvectors."""
        n = len(w)
        below, above = int((w < 0).sum()), int((w <= 0).sum())  # zeros lie between
        if self.method == "shift":
            return np.eye(n)
        if self.method == "square":
            U = self._spectrum.vectors(below, above)
            return S - (U * (self._spectrum.values[below:above] / self._scale)) @ U.T
        if above <= n - below:  # what is not positive, taken from the identity
            U = self._spectrum.vectors(0, above)
            gain = np.ones(above)
            if self.method == "flip":
                gain[:below] = 2.0
            kept = np.eye(n) - (U * gain) @ U.T
        else:
            U = self._spectrum.vectors(below, n)
            gain = np.ones(n - below)
            if self.method == "flip":
                gain[above - below :] = 2.0
                kept = (U * gain) @ U.T - np.eye(n)
            else:
                gain[: above - below] = 0.0
                kept = (U * gain) @ U.T
        return kept

    def _half(self):
        """Eigenvectors over the roots of the eigenvalues, of those that `between` keeps."""
        w = self.eigenvalues_[::-1]
        n, below, above = len(w), int((w < 0).sum()), int((w <= 0).sum())
        U, roots = self._spectrum.vectors(above, n), np.sqrt(w[above:])
        if self.method == "flip" and below:
            U = np.hstack([self._spectrum.vectors(0, below), U])
            roots = np.concatenate([np.sqrt(-w[:below]), roots])
        return U / roots

    def _map(self, S):
        return S.copy() if self.method == "shift" else S @ self.projection_


class DoubleCenterer(_KernelMatrixStep):
    r"""Inner products from distances, ``-1/2 J D^2 J`` with ``J = I - 1 1' / n``.

    Parameters
    ----------
    squared : bool, default=False
        Whether entries are squared distances already.

    Attributes
    ----------
    means_ : ndarray of shape (n_train,)
        Means of the squared distances to each training sample.
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the matrix had some.

    See Also
    --------
    sklearn.manifold.MDS : Coordinates from distances by stress.
    SpectrumCorrector : For distances that are not Euclidean.

    Notes
    -----
    For Euclidean distances the result is the Gram matrix of the centred points, new ones included.
    The result is positive semi-definite exactly if the distances are Euclidean. Some texts forget
    that distances have to be squared.

    References
    ----------
    .. [1] Torgerson, Multidimensional scaling: I. Theory and method, Psychometrika 17, 1952.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from skmoderndata.preprocessing import DoubleCenterer
    >>> points = [[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]]
    >>> DoubleCenterer().fit_transform(pairwise_distances(points)).round(3)
    array([[ 2.778, -0.222, -2.556],
           [-0.222,  5.778, -5.556],
           [-2.556, -5.556,  8.111]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("torgerson1952multidimensional",),
        cost="n^2",
        checks=({}, {"squared": True}),
        method=PAGE,
    )
    _parameter_constraints = {"squared": ["boolean"]}

    def __init__(self, *, squared=False):
        self.squared = squared

    @fit_context()
    def fit(self, X, y=None):
        """Keep the means.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
            Symmetric distances of the training samples.
        y : None
            Ignored.

        Returns
        -------
        self : DoubleCenterer
            The fitted transformer.
        """
        D, _ = self._symmetric(X)
        S = D if self.squared else self._squares(D)
        self.means_ = S.mean(axis=0)
        return self

    def transform(self, X):
        """Inner products of samples with the training samples, both centred at the latter's mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_train)
            Distances of samples to the training samples.

        Returns
        -------
        G : ndarray of shape (n_samples, n_train)
            Inner products.
        """
        D, dtype = self._rows(X)
        return self._map(D).astype(dtype, copy=False)

    def _squares(self, D):
        if np.abs(D).max(initial=0.0) > 1e150:
            raise ValueError(
                "DoubleCenterer: distances above 1e150 have squares out of range; rescale them."
            )
        return D * D

    def _map(self, D):
        S = D if self.squared else self._squares(D)
        return -(S - S.mean(axis=1)[:, None] - self.means_ + self.means_.mean()) / 2


class KernelProjector(_KernelMatrixStep):
    """Kernel matrix of samples projected on a subspace of the feature space.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the subspace, capped at the numerical rank; None takes `tol` alone.
    method : {"eigen", "cholesky"}, default="eigen"
        Span of the leading principal directions, or of the images of samples chosen greedily
        (incomplete Cholesky, partial Gram-Schmidt).
    tol : float, default=1e-12
        "eigen" keeps eigenvalues above `tol` times the largest; "cholesky" stops when the trace of
        the residual is `tol` times the trace of the matrix.
    center : bool, default=False
        Centre the matrix first.

    Attributes
    ----------
    n_components_ : int
        Dimension of the subspace.
    residual_trace_ : float
        Trace of the matrix minus that of its projection.
    projection_ : ndarray of shape (n_train, n_train)
        Matrix that multiplies rows.
    pivots_ : ndarray of shape (n_components_,)
        Samples chosen, for "cholesky"; empty for "eigen".
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the matrix had some.

    See Also
    --------
    sklearn.decomposition.KernelPCA : Coordinates in the leading subspace.
    skmoderndata.kernel_approximation.IncompleteCholesky : Coordinates from samples, for large n.

    Notes
    -----
    Columns of the result are the training samples, as before. Of all projections of a rank,
    "eigen" leaves the largest trace; "cholesky" needs no eigenvectors. Cost ``n^3``, or ``n k^2``
    plus the ``n^2 k`` of the projection for "cholesky".

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 3.4
       and Algorithm 5.12.

    Examples
    --------
    >>> from skmoderndata.preprocessing import KernelProjector
    >>> K = [[1.0, 2.0, 3.0], [2.0, 5.0, 7.0], [3.0, 7.0, 10.0]]
    >>> KernelProjector(n_components=1).fit_transform(K).round(4)
    array([[0.8841, 2.0883, 2.9724],
           [2.0883, 4.9327, 7.021 ],
           [2.9724, 7.021 , 9.9934]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n^3",
        checks=({}, {"n_components": 2, "method": "cholesky"}, {"center": True}),
        method=PAGE,
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "method": [StrOptions({"eigen", "cholesky"})],
        "tol": [NON_NEGATIVE],
        "center": ["boolean"],
    }

    def __init__(self, n_components=None, *, method="eigen", tol=1e-12, center=False):
        self.n_components = n_components
        self.method = method
        self.tol = tol
        self.center = center

    @fit_context()
    def fit(self, X, y=None):
        """Find the subspace.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
            Kernel matrix of the training samples.
        y : None
            Ignored.

        Returns
        -------
        self : KernelProjector
            The fitted transformer.
        """
        K, _ = self._symmetric(X)
        self._mean, self._grand = (K.mean(axis=0), K.mean()) if self.center else (None, 0.0)
        K = self._centred(K)
        scale = _power_of_two(np.abs(K).max(initial=0.0))
        if self.method == "eigen":
            w, U = _leading(K * scale, self.n_components, self.tol)
            self.projection_ = U @ U.T
            self.pivots_ = np.zeros(0, dtype=np.intp)
            kept = w.sum() / scale
            self.n_components_ = len(w)
        else:
            rank = len(K) if self.n_components is None else self.n_components
            found = incomplete_cholesky(Gram("precomputed"), K * scale, rank=rank, tol=self.tol)
            F, p = found.factor, found.pivots
            L = F[p]
            # rows k become k[p] inv(L)' F'
            back = linalg.solve_triangular(L, F.T, lower=True, trans="T") if len(p) else F.T
            self.projection_ = np.zeros_like(K)
            self.projection_[p] = back
            self.pivots_ = p
            kept = np.einsum("ij,ij->", F, F) / scale
            self.n_components_ = len(p)
        self.residual_trace_ = float(K.trace() - kept)
        return self

    def transform(self, X):
        """Project samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_train)
            Kernel values of samples against the training samples.

        Returns
        -------
        K : ndarray of shape (n_samples, n_train)
            Kernel values of the projections.
        """
        K, dtype = self._rows(X)
        return self._map(K).astype(dtype, copy=False)

    def _centred(self, K):
        if self._mean is None:
            return K
        return K - K.mean(axis=1)[:, None] - self._mean + self._grand

    def _map(self, K):
        return self._centred(K) @ self.projection_


class KernelWhitener(_KernelMatrixStep):
    r"""Uncorrelated features of equal variance from a kernel matrix.

    Features of a sample are its coordinates on the principal directions of the feature space, each
    divided by its standard deviation over the training samples.

    Parameters
    ----------
    n_components : int, default=None
        Number of features, capped at the numerical rank of the centred matrix; None keeps all.
    scale : {"unit_covariance", "unit_eigenvalue"}, default="unit_covariance"
        Scale to variance one, or so that the kernel matrix of the training features has
        eigenvalues one; the two differ by the root of the number of training samples.
    eps : float, default=1e-12
        Directions with eigenvalues up to `eps` times the largest are left out.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        Eigenvalues of the centred matrix, largest first.
    n_components_ : int
        Number of features.
    coef_ : ndarray of shape (n_train, n_components_)
        Combinations of centred kernel values that give the features; the largest entry of each
        column is positive.
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the matrix had some.

    See Also
    --------
    sklearn.decomposition.KernelPCA : Coordinates that keep their variances.

    Notes
    -----
    The matrix is centred first, and rows of new samples with the means of the training samples.
    The book's fragment leaves that out, and its features have covariance ``I / n``. Directions of
    small variance are noise blown up: choose `n_components`. Cost ``n^3``.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Algorithm 6.16.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.preprocessing import KernelWhitener
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 5, 25]
    >>> Z = KernelWhitener().fit_transform(X @ X.T)
    >>> np.cov(Z.T, bias=True).round(6) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n^3",
        checks=({}, {"n_components": 2, "scale": "unit_eigenvalue"}),
        method=PAGE,
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "scale": [StrOptions({"unit_covariance", "unit_eigenvalue"})],
        "eps": [NON_NEGATIVE],
    }

    def __init__(self, n_components=None, *, scale="unit_covariance", eps=1e-12):
        self.n_components = n_components
        self.scale = scale
        self.eps = eps

    @fit_context()
    def fit(self, X, y=None):
        """Find the principal directions and their variances.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
            Kernel matrix of the training samples.
        y : None
            Ignored.

        Returns
        -------
        self : KernelWhitener
            The fitted transformer.
        """
        K, _ = self._symmetric(X)
        self._mean, self._grand = K.mean(axis=0), K.mean()
        centred = K - self._mean - K.mean(axis=1)[:, None] + self._grand
        unit = _power_of_two(np.abs(centred).max(initial=0.0))
        spread = np.abs(K).max(initial=0.0)
        w, U = _leading(centred * unit, self.n_components, self.eps)
        keep = w > 1e-13 * len(K) * spread * unit  # what centring leaves of equal samples
        w, U = w[keep], fix_signs(U[:, keep].T).T
        self.eigenvalues_, self.n_components_ = w / unit, len(w)
        factor = np.sqrt(len(K)) if self.scale == "unit_covariance" else 1.0
        self.coef_ = U * (factor * unit / w)
        self._n_features_out = len(w)
        return self

    def transform(self, X):
        """Features of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_train)
            Kernel values of samples against the training samples.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components_)
            Features; over the training samples uncorrelated, with mean 0 and equal variances.
        """
        K, dtype = self._rows(X)
        return self._map(K).astype(dtype, copy=False)

    def _map(self, K):
        centred = K - K.mean(axis=1)[:, None] - self._mean + self._grand
        return centred @ self.coef_

    def _compared(self, K):
        training = self.coef_ * self.eigenvalues_
        return self._map(K) @ training.T


def _leading(K, n_components, tol):
    """Largest eigenvalues above `tol` times the largest, and their vectors, in columns."""
    n = len(K)
    few = n_components is not None and n_components < n
    subset = [n - n_components, n - 1] if few else None
    w, U = linalg.eigh(K, subset_by_index=subset, check_finite=False)
    w, U = w[::-1], U[:, ::-1]
    keep = w > max(tol, n * np.finfo(float).eps) * max(w[0], 0.0)
    return w[keep], U[:, keep]


def _inverse_root(d):
    positive = d > 0
    return np.divide(
        1.0, np.sqrt(np.where(positive, d, 1.0)), where=positive, out=np.zeros_like(d)
    )


def _power_of_two(size):
    """Factor, without rounding, that brings numbers of this size to about one."""
    return 2.0 ** -np.clip(np.ceil(np.log2(size)), -1000, 1000) if size > 0 else 1.0
