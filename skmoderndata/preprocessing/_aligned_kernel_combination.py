"""Combination of kernels by alignment with the target."""

import warnings

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skmoderndata._estimator.compat import StrOptions, fit_context
from skmoderndata._estimator.doors import in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import validate_data
from skmoderndata._kernelized.checks import list_of_samples, refuse_texts
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS, resolve_kernel
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.kernel.alignment import aligned_weights, centred
from skmoderndata.preprocessing._base import AgainstTraining, ideal_columns


class AlignedKernelCombination(AgainstTraining):
    r"""Combine kernels with the weights that maximise the alignment with the target.

    `transform` computes the values of the kernel :math:`k = \sum_j w_j k_j` between samples and
    the training samples. The weights :math:`w_j \ge 0` maximise the centred alignment [1]_

    .. math::
        \frac{\langle K_c, K_y \rangle_F}{\|K_c\|_F \|K_y\|_F}

    of the matrix :math:`K_c = H K H`, :math:`H = I - 11'/n`, with the ideal matrix :math:`K_y` of
    the target.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Kernels to combine: objects, names from `sklearn.metrics.pairwise`, or functions of two
        collections of samples that return a matrix.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    algorithm : {"joint", "independent"}, default="joint"
        Rule for the weights. "joint" maximises the alignment of the sum; "independent" weights
        each kernel, divided by the Frobenius norm of its centred matrix, by its alignment, or by 0
        if the alignment is negative.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,)
        Weights :math:`w_j`, scaled so that the centred matrix has a mean diagonal of 1.
    alignments_ : ndarray of shape (n_kernels,)
        Centred alignment of each individual kernel.
    alignment_ : float
        Centred alignment of the sum.
    kkt_residual_ : float
        Certificate of "joint": the violation of the optimality conditions, relative to the largest
        alignment.
    kernels_ : list
        Kernels with resolved parameters.
    X_fit_ : ndarray or list
        Training samples.
    n_features_in_ : int
        Number of features seen during `fit`, if samples are rows of a table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    KernelTransformer : Uses a single kernel.
    skmoderndata.metrics.kernel_alignment : Computes the alignment.
    sklearn.model_selection.GridSearchCV : Chooses one kernel by cross-validation.

    Notes
    -----
    The ideal matrix is :math:`y y'` for numbers and :math:`[y_i = y_j]` for classes, centred.
    scikit-learn's `type_of_target` decides which of the two applies.

    The weights solve a non-negative least squares problem with one unknown for each kernel. The
    cost is the cost of the kernel matrices, which are all in memory at once, and of their inner
    products. A kernel that is constant on the training samples gets the weight 0. If no kernel is
    aligned with the target, all kernels get equal weights, with a warning.

    The book measures alignment and adjusts eigenvalues [2]_. The weights here follow [1]_, because
    alignment without centring favours kernels with large means.

    References
    ----------
    .. [1] Cortes, Mohri and Rostamizadeh, Algorithms for learning kernels based on centered
       alignment, Journal of Machine Learning Research 13, 2012, propositions 2 and 3.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 3.3.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from skmoderndata.preprocessing import AlignedKernelCombination
    >>> X, y = make_circles(200, noise=0.05, factor=0.6, random_state=0)
    >>> model = make_pipeline(AlignedKernelCombination(), SVC(kernel="precomputed")).fit(X, y)
    >>> model[0].alignments_.round(2)     # a linear kernel does not separate circles
    array([0.  , 0.1 , 0.14])
    >>> model.score(X, y)
    1.0
    """

    _card = MethodCard(
        family="kernel matrices",
        cite=("cortes2012algorithms", "shawetaylor2004kernel"),
        cost="n^2 q^2, q kernels",
        tier="standard",
        instead="The sum of rbf_kernel of all parts, each weighted by the square of its cross-"
        "validated accuracy, is as accurate in SVC(kernel='precomputed') on digits in "
        "four parts beside seven of noise (95 percent from 150 images).",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "kernels": ["array-like", str],
        "gamma": KERNEL_CONSTRAINTS["gamma"],
        "degree": KERNEL_CONSTRAINTS["degree"],
        "coef0": KERNEL_CONSTRAINTS["coef0"],
        "algorithm": [StrOptions({"joint", "independent"})],
    }

    @parameters_are_named
    def __init__(
        self,
        kernels=("linear", "poly", "rbf"),
        *,
        gamma="scale",
        degree=3,
        coef0=1,
        algorithm="joint",
    ):
        self.kernels = kernels
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.algorithm = algorithm

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Estimate the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or collection of n_samples samples
            Training samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels, or continuous targets.

        Returns
        -------
        self : AlignedKernelCombination
            The fitted transformer.
        """
        self._fit(X, y)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X, y):
        """Estimate the weights and return the kernel matrix of the training samples.

        Parameters
        ----------
        X, y
            Same meaning as in `fit`.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples)
            Kernel matrix.
        """
        return self._fit(X, y)

    @in_memory
    def score(self, X, y):
        """Compute the centred alignment of the kernel matrix of X with the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or collection of n_samples samples
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets of the samples.

        Returns
        -------
        score : float
            Centred alignment in [-1, 1].
        """
        check_is_fitted(self)
        X, T = self._target(self._samples(X, reset=False), y)
        K = centred(self._values(X, X))
        size = np.linalg.norm(K) * np.linalg.norm(T.T @ T)
        return float(np.vdot(T, K @ T) / size) if size > 0 else 0.0

    def _values(self, X, Y):
        total = np.zeros((len(X), len(Y)))
        for weight, kernel in zip(self.weights_, self.kernels_, strict=True):
            if weight:
                total += weight * kernel(X, Y)
        return total

    def _fit(self, X, y):
        if not len(self.kernels) or isinstance(self.kernels, str):
            raise ValueError(
                f"kernels must be a list of at least one kernel: got {self.kernels!r}."
            )

        X, T = self._target(self._samples(X, reset=True), y)
        self.X_fit_ = X.copy()
        self.kernels_ = [
            resolve_kernel(k, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
            for k in self.kernels
        ]

        sizes, matrices = self._matrices(X)
        # Scale the kernels to unit norm in feature space after centring.
        about_mean = [centred(K) for K in matrices]
        norms = np.array([np.linalg.norm(K) for K in about_mean])
        # For constant kernels, only rounding errors remain after centring.
        varies = norms > ACCUMULATED_ROUNDING * len(X)

        if not varies.any():
            raise ValueError(
                "AlignedKernelCombination needs a kernel that varies: all kernels are constant on "
                "the training samples."
            )

        # Compute non-negative weights that maximise the alignment with the target.
        normalised = [about_mean[i] / norms[i] for i in np.flatnonzero(varies)]
        aligned = aligned_weights(normalised, T, self.algorithm)
        weights = np.zeros(len(matrices))
        weights[varies] = aligned.weights / norms[varies]

        self.alignments_ = np.zeros(len(matrices))
        self.alignments_[varies] = aligned.alignments
        self.alignment_ = aligned.alignment
        self.kkt_residual_ = aligned.kkt_residual

        if not weights.any():
            self._warn_of_alignment()
            weights[varies] = 1 / norms[varies]

        # Scale the combination to a mean variance of one.
        traces = [np.trace(K) for K in about_mean]
        total = sum(w * trace for w, trace in zip(weights, traces, strict=True))
        mean = total / len(X)
        weights /= mean if mean > 0 else 1.0
        self.weights_ = weights / sizes
        self._n_features_out = len(X)

        return sum(w * K for w, K in zip(weights, matrices, strict=True))

    def _matrices(self, X):
        """Compute the largest magnitude of each kernel matrix, and the matrices divided by it."""
        sizes = []
        matrices = []
        for original, kernel in zip(self.kernels, self.kernels_, strict=True):
            with np.errstate(over="ignore"):
                K = np.asarray(kernel(X), dtype=np.float64)
            largest = np.abs(K).max()
            if not np.isfinite(largest):
                raise ValueError(
                    f"AlignedKernelCombination: {original!r} has values that are not finite; "
                    "rescale "
                    "the samples, or normalise the kernel."
                )
            size = largest if largest > 0 else 1.0
            sizes.append(size)
            matrices.append(K / size)
        return np.array(sizes), matrices

    def _warn_of_alignment(self):
        warnings.warn(
            "AlignedKernelCombination: no kernel is aligned with the target, so all kernels get "
            "equal weights. Check the target, or use other kernels.",
            stacklevel=4,
        )

    def _samples(self, X, *, reset):
        name = type(self).__name__
        kernel = self.kernels[0]
        if not self._takes_vectors():
            return list_of_samples(X, name, own=reset, kernel=kernel)
        refuse_texts(kernel, X, name)
        fewest = 2 if reset else 1
        return validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_samples=fewest)

    def _target(self, X, y):
        """Return the samples, and columns whose products are the ideal matrix of the target."""
        if y is not None:
            check_consistent_length(X, y)
        return X, ideal_columns(y, len(X), type(self).__name__)

    def _takes_vectors(self):
        kernels = [] if isinstance(self.kernels, str) else self.kernels
        return any(
            k.requires_vector_input if isinstance(k, Kernel) else isinstance(k, str)
            for k in kernels
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        vectors = self._takes_vectors()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = vectors
        tags.input_tags.string = not vectors
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
