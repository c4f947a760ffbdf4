"""Fold kernel expansions on strings into one weight for each substring."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.compat import svm_training_samples
from skmoderndata._samples.containers import as_samples
from skmoderndata.kernels import Normalized, PSpectrum
from skmoderndata.kernels._base import BaseKernel


class FoldedExpansion(dict[str, float]):
    """Weights of substrings, the result of `fold_expansion`.

    Attributes
    ----------
    intercept : float
        Constant of the decision function.
    kernel : Kernel
        Kernel whose features are weighted, without normalisation.
    normalize : bool
        Whether the features of a sample are divided by their norm.
    """

    def __init__(
        self, features: Any, coef: np.ndarray, intercept: float, kernel: Any, normalize: bool
    ) -> None:
        super().__init__(zip(features.get_feature_names_out(), coef.tolist(), strict=True))
        self.intercept = intercept
        self.kernel = kernel
        self.normalize = normalize
        self._features = features
        self._coef = coef

    def decision_function(self, X):
        """Compute the decision function, in time proportional to the length of the samples.

        Parameters
        ----------
        X : collection of sequences
            Samples.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Values of the decision function of the machine, up to rounding.
        """
        values = self._features.transform(X) @ self._coef
        if self.normalize:
            values *= reciprocal_roots(self.kernel.diag(X))
        return values + self.intercept

    def __reduce__(self):
        return _rebuilt, (
            self._features, self._coef, self.intercept, self.kernel, self.normalize
        )  # fmt: skip


def _rebuilt(*state):
    return FoldedExpansion(*state)


def fold_expansion(machine, features):
    r"""Fold the expansion of a kernel machine into one weight for each substring.

    The decision function of a machine whose kernel has the features :math:`\phi` is

    .. math:: f(s) = \sum_i \alpha_i k(s_i, s) + b = w^\top \phi(s) + b, \qquad
        w = \sum_i \alpha_i \phi(s_i).

    With `w`, the time of a prediction is proportional to the length of the string, whatever the
    number of support vectors. For a normalised kernel, `w` includes the norms of the support
    vectors, and the value is divided by the norm of the new sample.

    Parameters
    ----------
    machine : SVC, NuSVC, SVR, NuSVR, OneClassSVM, or Pipeline
        Fitted machine with one decision function. Its `kernel` is `PSpectrum`, `BlendedSpectrum`,
        `RestrictedGapWeighted` or `Mismatch`, or one of these in `Normalized`. A pipeline must end
        with a `KernelTransformer` and a machine with ``kernel="precomputed"``.
    features : SequenceFeatures
        Features of the same kernel, with ``normalize=True`` if the machine uses `Normalized`; a
        copy is fitted to the support vectors. Hashed features raise ValueError, because they do
        not store the substrings.

    Returns
    -------
    weights : dict of str to float
        Weight of each substring of a support vector. The method `decision_function(X)` of the
        dictionary returns the values of the machine; the attribute `intercept` is its constant.

    See Also
    --------
    skmoderndata.feature_extraction.SequenceFeatures : Features for training a linear model
        directly.

    References
    ----------
    .. [1] Leslie, Eskin and Noble, The spectrum kernel, PSB 2002, pp. 564-575, section 3.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.6.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from skmoderndata.feature_extraction import SequenceFeatures
    >>> from skmoderndata.kernels import Normalized, PSpectrum
    >>> from skmoderndata.svm import fold_expansion
    >>> X, y = ["abab", "babab", "aabb", "bbaab"], [0, 0, 1, 1]
    >>> machine = SVC(kernel=Normalized(PSpectrum(2))).fit(X, y)
    >>> weights = fold_expansion(machine, SequenceFeatures(PSpectrum(2)))
    >>> {word: round(weight, 2) for word, weight in weights.items()}
    {'aa': 1.08, 'ab': -0.52, 'ba': -0.65, 'bb': 1.08}
    >>> weights.decision_function(X).round(2), machine.decision_function(X).round(2)
    (array([-0.82, -0.89,  0.89,  0.43]), array([-0.82, -0.89,  0.89,  0.43]))
    """
    svm, kernel, X = _parts(machine)
    normalize = isinstance(kernel, Normalized)
    inner = kernel.kernel if normalize else kernel
    of_features = PSpectrum() if features.kernel is None else features.kernel
    if (
        inner not in (of_features, of_features.from_data(X))
        or bool(features.normalize) != normalize
    ):
        raise ValueError(
            f"fold_expansion: the machine has the kernel {kernel!r}, but features has "
            f"kernel={of_features!r} and normalize={features.normalize}; they must be the same, "
            "with normalize=True for a kernel in Normalized."
        )
    if features.n_features is not None:
        raise ValueError(
            f"fold_expansion: features has n_features={features.n_features}, but hashed features "
            "do not store the substrings; set n_features=None."
        )
    if svm.dual_coef_.shape[0] != 1:
        raise ValueError(
            "fold_expansion: the machine has several decision functions, one for each pair of "
            "classes; fit one machine for each class with OneVsRestClassifier, and fold each."
        )

    coef = svm.dual_coef_.toarray() if sparse.issparse(svm.dual_coef_) else svm.dual_coef_
    support = [X[i] for i in svm.support_]
    dual = np.ravel(coef).astype(np.float64)
    if normalize:
        dual *= reciprocal_roots(inner.diag(support))
    # The mismatch kernel needs the alphabet of the machine, which may have letters that the
    # support vectors lack
    columns = clone(features).set_params(kernel=inner, normalize=False).fit(support)
    weights = columns.transform(support).T @ dual
    return FoldedExpansion(columns, weights, float(svm.intercept_[0]), inner, normalize)


def _parts(machine):
    """Return the machine, its kernel, and the training samples."""
    if hasattr(machine, "steps"):
        check_is_fitted(machine)
        if len(machine.steps) < 2 or not hasattr(machine[-2], "X_fit_"):
            raise ValueError(
                "fold_expansion: a pipeline must end with a KernelTransformer and a machine."
            )
        return machine[-1], machine[-2].kernel_, machine[-2].X_fit_
    check_is_fitted(machine)
    X = svm_training_samples(machine)
    if X is None or not isinstance(machine.kernel, BaseKernel):
        raise ValueError(
            "fold_expansion: the machine must be a class of sklearn.svm whose kernel is a kernel "
            f"object on strings, got {machine!r}."
        )
    return machine, machine.kernel, as_samples(X)


def reciprocal_roots(d):
    """Compute the reciprocals of the square roots of d; the result for 0 is 0."""
    zeros = np.zeros(len(d))
    return np.divide(1.0, np.sqrt(d), out=zeros, where=d > 0)
