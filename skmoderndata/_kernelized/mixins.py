"""Sample checks and mixins of estimators with a `kernel` parameter."""

from typing import Any

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    OutlierMixin,
    TransformerMixin,
)
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skmoderndata._kernelized.expansion import scale_gamma
from skmoderndata._kernelized.gram import Gram, resolve_kernel
from skmoderndata._samples.containers import as_samples, count_samples, is_sparse
from skmoderndata._samples.encoded import Encoded
from skmoderndata._samples.nested import copied
from skmoderndata._typing import Array
from skmoderndata._validation import check_target, validate_data
from skmoderndata.kernels._base import BaseKernel


def is_structured(kernel: Any) -> bool:
    """Whether the samples of a kernel are no rows of numbers."""
    return isinstance(kernel, Kernel) and not kernel.requires_vector_input


def structured_samples(kernel: Any, X: Any, name: str, *, own: bool) -> Any:
    """Return samples that are not vectors, encoded once if the kernel supports encoding.

    Parameters
    ----------
    kernel : Kernel
        The kernel that will read them.
    X : collection of samples
        As the user gave them.
    name : str
        Name of the estimator, for error messages.
    own : bool
        Whether the estimator keeps them: then changes that the caller makes later have no effect.
    """
    if isinstance(X, Encoded):
        samples: Any = X
    elif is_numeric_table(X) and X.shape[0]:
        samples = X.copy() if own else X
    else:
        samples = list_of_samples(X, name, own=own, kernel=kernel)

    # once for all kernel calls of a fit or a prediction
    encodes = isinstance(kernel, BaseKernel) and kernel.encoding is not None
    return kernel.encode(samples) if encodes else samples


def list_of_samples(X: Any, name: str, *, own: bool, kernel: Any = None) -> list[Any]:
    """Return samples of any kind as a list of at least one; the parameters are as above."""
    collect = kernel._collection if isinstance(kernel, BaseKernel) else as_samples
    samples: list[Any] = collect(X, name)
    if not samples:
        raise ValueError(f"{name} received 0 samples; at least 1 sample is required.")
    return [copied(x) for x in samples] if own else samples


def refuse_texts(kernel: Any, X: Any, name: str) -> None:
    """Refuse strings where a kernel takes rows of numbers, and say what to change."""
    if len(getattr(X, "shape", (1,))) != 1 or not hasattr(X, "__len__") or not len(X):
        return
    if not isinstance(next(iter(X)), str | bytes):
        return
    if hasattr(kernel, "vectorizer"):
        remedy = (
            f"{type(kernel).__name__}(vectorizer=None) takes rows of counts; set "
            "vectorizer=CountVectorizer(), or put one before the kernel in a pipeline."
        )
    else:
        remedy = (
            f"kernel={kernel!r} takes rows of numbers; take a kernel on strings, "
            "kernels.PSpectrum for instance, or put a vectorizer before this step."
        )
    raise ValueError(f"{name}: samples are texts, and {remedy}")


def is_numeric_table(X: Any) -> bool:
    """Whether X is an array of numbers with two dimensions or more, or a sparse matrix."""
    return is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim > 1 and X.dtype != object)


def holds_rows(X: Any) -> bool:
    """Whether X is a table, or a list of its rows; False for strings, ragged arrays or sets."""
    if X is None or is_sparse(X) or hasattr(X, "columns"):
        return True
    try:
        table = np.asarray(X)
    except ValueError:  # arrays of unequal lengths
        return False
    return (
        table.ndim < 3
        if table.dtype.kind in "biufc"
        else table.dtype == object and table.ndim == 2
    )


class KernelSamples:
    """Mixin of estimators with `kernel`, `gamma`, `degree`, `coef0` and `kernel_params`."""

    def _samples(
        self,
        X: Any,
        y: Any = "no_validation",
        *,
        reset: bool,
        own: bool | None = None,
        **checks: Any,
    ) -> Any:
        """Check samples: rows of numbers, a kernel matrix, or a list for structured kernels.

        `own` is as in `structured_samples`; None means in `fit`.
        """
        kernel: Any = self.kernel  # type: ignore[attr-defined]
        if is_structured(kernel) or self._is_collection(X, reset):
            own = reset if own is None else own
            return structured_samples(kernel, X, type(self).__name__, own=own)
        refuse_texts(kernel, X, type(self).__name__)
        precomputed = isinstance(kernel, str) and kernel == "precomputed"
        return validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse=False if precomputed else "csr",
            dtype=[np.float64, np.float32],
            **checks,
        )

    def _is_collection(self, X: Any, reset: bool) -> bool:
        """Whether a function as kernel gets samples that are no rows of numbers, as in `fit`."""
        kernel: Any = self.kernel  # type: ignore[attr-defined]
        if not callable(kernel) or isinstance(kernel, Kernel):
            return False
        if not reset:
            return not hasattr(self, "n_features_in_")
        found = not holds_rows(X)
        if found:  # of an earlier fit on rows
            for name in ("n_features_in_", "feature_names_in_"):
                vars(self).pop(name, None)
        return found

    def _samples_and_target(
        self, X: Any, y: Any, *, reset: bool = True, **checks: Any
    ) -> tuple[Any, Array]:
        """Check samples, which the estimator keeps, and one number or label for each."""
        checked = self._samples(X, y, reset=reset, own=True, **checks)
        if isinstance(checked, tuple):
            X, y = checked
        else:  # samples that are not rows of numbers
            name = type(self).__name__
            if y is None:
                raise ValueError(f"{name} requires y to be passed, but the target y is None.")
            check_target(y, owner=name, numbers=bool(checks.get("y_numeric")))
            X = checked
            y = column_or_1d(y, warn=True)
        if len(y) != count_samples(X):
            raise ValueError(f"X has {count_samples(X)} samples and y {len(y)} entries.")
        return X, y

    def _resolve(self, X: Any, weights: Array | None = None) -> Gram:
        """Return the kernel with resolved parameters."""
        settings: Any = self
        return resolve_kernel(
            settings.kernel,
            X,
            gamma=scale_gamma(settings.gamma, settings.kernel, X, weights),
            degree=settings.degree,
            coef0=settings.coef0,
            kernel_params=settings.kernel_params,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        kernel: Any = self.kernel  # type: ignore[attr-defined]
        precomputed = isinstance(kernel, str) and kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed and (
            isinstance(kernel, str) and kernel not in ("chi2", "additive_chi2")
        )
        if isinstance(kernel, Kernel):
            tags.input_tags.two_d_array = bool(kernel.requires_vector_input)
        return tags


class KernelOutlierMixin(KernelSamples, OutlierMixin):  # type: ignore[misc]
    """Mixin of outlier detectors that set `offset_` and have `_score_samples` for checked rows."""

    def score_samples(self, X: Any) -> Array:
        """Compute scores that are low for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; the training matrix if `kernel="precomputed"`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Negative of the distance that defines the detector, so at most 0.
        """
        check_is_fitted(self)
        return self._score_samples(self._samples(X, reset=False))

    def decision_function(self, X: Any) -> Array:
        """Compute scores relative to the threshold, `score_samples(X) - offset_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; the training matrix if `kernel="precomputed"`.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Negative for outliers.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Array:
        """Predict which samples are outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; the training matrix if `kernel="precomputed"`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            -1 for outliers, 1 for others.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)


class KernelClassifierMixin(KernelSamples, ClassifierMixin):  # type: ignore[misc]
    """Mixin of classifiers that decide by the sign or largest column of `decision_function`."""

    def predict(self, X: Any) -> Array:
        """Predict the classes of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The predicted labels.
        """
        return self._decided(self.decision_function(X))

    def _decided(self, values: Array) -> Array:
        best = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[best]


class KernelProjectionMixin(
    KernelSamples,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
):
    """Mixin of estimators that project samples on directions and centre the scores."""

    _project: Any
    _centre: Any = 0.0

    def transform(self, X: Any) -> Array:
        """Project samples onto the fitted directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Scores, one row per sample; no intercept is added.
        """
        check_is_fitted(self)
        X = self._samples(X, reset=False)
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return (self._project(X) - self._centre).astype(dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return int(self._project.coef.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
