"""Kernel matrices of samples of any type, as a pipeline step."""

import numpy as np
from scipy import linalg
from sklearn.base import (
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import fit_context
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import validate_data
from skmoderndata._kernelized.checks import list_of_samples, refuse_texts
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS, Gram, resolve_kernel
from skmoderndata._samples.containers import Sample, count_samples
from skmoderndata._solvers.common.tolerances import RANK_TOL
from skmoderndata.kernels import GramCache
from skmoderndata.kernels._base import BaseKernel, kernel_from_data
from skmoderndata.preprocessing._base import AgainstTraining

FAMILY = "kernel matrices"
PAGE = "kernel_transformer"


class KernelTransformer(AgainstTraining):
    """Transform samples to their kernel values with the training samples.

    Before an estimator with ``kernel="precomputed"``, it allows kernels on strings, sets, graphs
    and series of unequal lengths.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel of samples of any kind, except "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    cache : GramCache, default=None
        Cache of kernel values for the folds of a search, for samples that are not vectors.

    Attributes
    ----------
    kernel_ : Kernel or Gram
        Kernel with resolved parameters; a kernel object is cloned.
    X_fit_ : ndarray or list
        Training samples.
    n_features_in_ : int
        Number of features seen during `fit`, if samples are rows of a table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    skmoderndata.kernel_approximation.IncompleteCholesky : Computes a few features instead of n.
    SampleColumn : Wraps samples that are not vectors for Gaussian processes.

    Notes
    -----
    A collection of samples is a list, a tuple, an array of objects or of strings, a column of a
    data frame, or an array with at least two dimensions; a table in place of single samples raises
    an error. Centring and correction of the spectrum are later steps; to normalise, use
    `skmoderndata.kernels.Normalized` on the kernel.

    scikit-learn's own checks test vectors; a separate conformance test covers other samples.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, chapter 2.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from skmoderndata.kernels import Intersection
    >>> from skmoderndata.preprocessing import KernelTransformer
    >>> baskets = [{"tea", "milk"}, {"tea", "sugar"}, {"beer"}, {"beer", "crisps"}]
    >>> model = make_pipeline(KernelTransformer(Intersection()), SVC(kernel="precomputed"))
    >>> model.fit(baskets, [0, 0, 1, 1]).predict([{"tea"}, {"crisps", "beer", "nuts"}])
    array([0, 1])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n^2 kernel values",
        method=PAGE,
        scaler="StandardScaler",
    )
    _parameter_constraints = {**KERNEL_CONSTRAINTS, "cache": [GramCache, None]}

    @parameters_are_named
    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        cache=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.cache = cache

    @fit_context()
    def fit(self, X, y=None):
        """Store the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or collection of n_samples samples
            Training samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : KernelTransformer
            The fitted transformer.
        """
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                'KernelTransformer(kernel="precomputed") has no effect: omit this step.'
            )

        X = self._samples(X, reset=True)
        if isinstance(self.kernel, Kernel):
            self.kernel_ = kernel_from_data(self.kernel, X)
            if self.kernel_params:
                # This call raises an error, because `kernel_params` do not apply to kernel
                # objects.
                resolve_kernel(self.kernel, X, kernel_params=self.kernel_params)
        else:
            self.kernel_ = resolve_kernel(
                self.kernel,
                X,
                gamma=self.gamma,
                degree=self.degree,
                coef0=self.coef0,
                kernel_params=self.kernel_params,
            )

        if self._takes_vectors():
            with np.errstate(over="ignore"):
                self._finite(self.kernel_.diag(X))

        # Store a copy: the caller may change X, and `transform` must treat X like any other rows.
        self.X_fit_ = X.copy()
        # Encode the samples for the kernel once.
        structured = isinstance(self.kernel_, BaseKernel) and not self._takes_vectors()
        self._encoded = self.kernel_.encode(self.X_fit_) if structured else self.X_fit_
        self._n_features_out = count_samples(X)
        return self

    def fit_transform(self, X, y=None):
        """Compute the kernel matrix of the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or collection of n_samples samples
            Training samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples)
            Kernel matrix.
        """
        self.fit(X, y)
        return self._values(self.X_fit_, None)

    @in_memory
    def score(self, X, y=None):
        """Compute the fraction of the squared norm in feature space that `X_fit_` spans.

        To choose parameters in a search, use the score of the estimator that follows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or collection of n_samples samples
            Samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Squared norms of the projections divided by squared norms, 1 for the training samples;
            needs an eigendecomposition of their kernel matrix.
        """
        check_is_fitted(self)
        X = self._samples(X, reset=False)
        total = float(np.sum(self.kernel_.diag(X), dtype=np.float64))
        if not total > 0:
            return 1.0

        # Compute coordinates in the span of the training samples.
        K = np.asarray(self._values(self.X_fit_, None), dtype=np.float64)
        w, U = linalg.eigh((K + K.T) / 2, check_finite=False)
        positive = w > RANK_TOL * max(w[-1], 0.0)
        root = U[:, positive] / np.sqrt(w[positive])
        K_X = np.asarray(self._values(X, self.X_fit_), dtype=np.float64)
        Z = K_X @ root
        return float(np.vdot(Z, Z) / total)

    def _values(self, X, Y):
        cached = self.cache is not None and not isinstance(self.kernel_, Gram)
        if cached and isinstance(X, list):
            return self.cache.values(self.kernel_, X, Y)
        X, Y = (self._encoded if Z is self.X_fit_ else Z for Z in (X, Y))
        with np.errstate(over="ignore"):
            K = self.kernel_(X) if Y is None else self.kernel_(X, Y)
        return self._finite(K)

    def _finite(self, K):
        if not np.isfinite(K).all():
            raise ValueError(
                f"{type(self).__name__}: {self.kernel!r} has values that are not finite; rescale "
                "the samples, or normalise the kernel."
            )
        return K

    def _samples(self, X, *, reset):
        name = type(self).__name__
        if not self._takes_vectors():
            return list_of_samples(X, name, own=reset, kernel=self.kernel)
        refuse_texts(self.kernel, X, name)
        sparse = "csr" if isinstance(self.kernel, str | BaseKernel) else False
        dtypes = [np.float64, np.float32]
        return validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=dtypes)

    def _takes_vectors(self):
        if isinstance(self.kernel, Kernel):
            return bool(self.kernel.requires_vector_input)
        return isinstance(self.kernel, str)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        vectors = self._takes_vectors()
        tags.input_tags.two_d_array = vectors
        tags.input_tags.string = not vectors
        dense_only = ("chi2", "additive_chi2")
        tags.input_tags.sparse = isinstance(self.kernel, str) and self.kernel not in dense_only
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


class SampleColumn(OneToOneFeatureMixin, TransformerMixin, Base):
    """Wrap samples that are not vectors, so that estimators pass them unchanged to a kernel.

    Gaussian processes of scikit-learn accept any collection of samples if the kernel does, but
    conversion of the collection to an array splits arrays of unequal length, tuples or graphs.
    This wrapper keeps each sample intact; the kernels of this package unwrap it.

    See Also
    --------
    KernelTransformer : Serves estimators that accept a kernel matrix.

    Notes
    -----
    `fit` learns nothing. The output is a one-dimensional array of objects; indexing, splitting and
    pickling work as with any array.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, chapter 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from sklearn.pipeline import make_pipeline
    >>> from skmoderndata.kernels import DerivedSubsets
    >>> from skmoderndata.preprocessing import SampleColumn
    >>> bags = [np.array([0.0, 0.1]), np.array([1.0]), np.array([2.0, 2.1, 1.9])]
    >>> kernel = DerivedSubsets(RBF(1.0, "fixed"), average=True)
    >>> model = make_pipeline(SampleColumn(), GaussianProcessRegressor(kernel, alpha=1e-6))
    >>> model.fit(bags, [0.0, 1.0, 2.0]).predict([np.array([1.0, 1.0])]).round(2)
    array([1.])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n",
        samples="strings",
        method=PAGE,
    )
    _parameter_constraints = {}

    @in_memory
    def fit(self, X, y=None):
        """Check the collection; nothing is learned.

        Parameters
        ----------
        X : collection of samples
            Samples to check.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : SampleColumn
            The transformer.
        """
        list_of_samples(X, type(self).__name__, own=False)
        return self

    @by_rows
    def transform(self, X):
        """Wrap every sample.

        Parameters
        ----------
        X : collection of samples
            Samples to wrap.

        Returns
        -------
        wrapped : ndarray of objects of shape (n_samples,)
            Wrapped samples, one object for each.
        """
        samples = list_of_samples(X, type(self).__name__, own=False)
        wrapped = np.empty(len(samples), dtype=object)
        for i, sample in enumerate(samples):
            wrapped[i] = Sample(sample)
        return wrapped

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.requires_fit = False
        return tags
