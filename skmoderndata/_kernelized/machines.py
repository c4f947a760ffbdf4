"""Base of the machines that compute a function `sum_j coef_j k(x, z_j)` from kernel rows."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import RegressorMixin
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import warn_not_converged
from skmoderndata._estimator.compat import (
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    check_sample_weight,
)
from skmoderndata._estimator.doors import by_rows
from skmoderndata._estimator.export import linear_classifier, linear_machine
from skmoderndata._estimator.validation import check_magnitude
from skmoderndata._kernelized.checks import checked_samples, resolved_gram, scale_first
from skmoderndata._kernelized.expansion import Expansion, surely_psd
from skmoderndata._kernelized.export import (
    machine_functions,
    support_vector_classifier,
    support_vector_regressor,
)
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS, Gram
from skmoderndata._kernelized.low_rank import refuse_cancellation
from skmoderndata._kernelized.mixins import KernelClassifierMixin, KernelSamples
from skmoderndata._kernelized.row_store import RowStore
from skmoderndata._samples.containers import count_samples, take
from skmoderndata._solvers.common.tolerances import INDEFINITE
from skmoderndata._solvers.common.typing import Array

MACHINE_CONSTRAINTS = {
    **KERNEL_CONSTRAINTS,
    "tol": [NON_NEGATIVE],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "n_jobs": N_JOBS,
}
# Maximum number of samples whose kernel matrix is factored to check definiteness.
LOOKED_AT = 2000


class KernelMachine(KernelSamples, CallbackSupportMixin):  # type: ignore[misc]
    """Mixin of estimators that are fitted on kernel rows and store their support vectors.

    If the offset is free, the linear kernel is computed from centred samples. The coefficients of
    the function then sum to zero, so the function is `sum_j coef_j k(x, z_j)` minus its value at
    the mean.
    """

    # whether the prediction stays the same if a constant is added to the function
    _free_offset = False
    _at_mean: Any = 0.0  # value of the function at the origin of the kernel

    def _weights_of(self, X: Any, sample_weight: Any) -> Array:
        """Check sample weights, and return them; None means ones."""
        n = count_samples(X)
        if sample_weight is None:
            return np.ones(n)
        rows = np.zeros((n, 1))  # Check only the number of rows.
        weights: Array = check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.any():
            raise ValueError(f"{type(self).__name__}: all sample weights are zero.")
        return weights

    def _ridge(self, weights: Array) -> Array:
        """Return the ridge `1 / (2 C u)` for weights u; ValueError if C u is out of range."""
        with np.errstate(over="ignore"):
            costs = 2.0 * float(self.C) * weights
        check_magnitude(costs, owner=type(self).__name__, input_name="C times sample_weight")
        return 1.0 / costs

    def _row_store(
        self, X: Any, order: Array, weights: Array, *, plus: float = 0.0
    ) -> tuple[Gram, RowStore]:
        """Return the kernel, and a cache of kernel rows for the samples in this order."""
        gram = resolved_gram(self, X, weights / weights.max())
        ordered = X[np.ix_(order, order)] if gram.precomputed else take(X, order)
        if self._free_offset:
            gram = gram.seen_from_mean(ordered)
            refuse_cancellation(gram, ordered)
        cache: float = self.cache_size
        store = RowStore(gram, ordered, cache_size=cache, plus=plus)
        if not np.isfinite(store.diagonal).all():
            raise ValueError(
                f"kernel={gram.kernel!r} returned values that are not finite: rescale X."
            )
        return gram, store

    def _check_psd(self, gram: Gram, store: RowStore, support: Array, ridge: Array) -> None:
        """Raise an error if the kernel is not positive semidefinite on the support vectors."""
        if surely_psd(gram):
            return
        samples = support if len(support) else np.arange(store.n)
        checked = samples[:LOOKED_AT]
        K = store.compute(checked)[:, checked]
        size = float(np.abs(K).max()) or 1.0
        K = 0.5 * (K + K.T)
        K[np.diag_indices(len(K))] += ridge[checked] + INDEFINITE * size
        try:
            linalg.cholesky(K, check_finite=False)
        except linalg.LinAlgError:
            eigenvalues = linalg.eigvalsh(K, subset_by_index=[0, 0])
            lowest = float(eigenvalues[0]) - INDEFINITE * size
            raise ValueError(
                f"The kernel is not positive semi-definite: the matrix of {len(checked)} samples "
                f"has an eigenvalue of {lowest / size:.2g}, relative to its largest entry. Use "
                "another kernel, or correct the matrix with SpectrumCorrector."
            ) from None

    def _keep_support(self, gram: Gram, X: Any, support: Array, dual_coef: Array) -> None:
        """Store the function as an expansion over the samples `support`."""
        self.support_ = support
        self.dual_coef_ = dual_coef
        self._gram = gram
        self._basis = gram.subset(X, support)
        self.support_vectors_ = np.zeros((0, 0)) if gram.precomputed else self._basis
        self._at_mean = 0.0 if gram.origin is None else self._linear_weights() @ gram.origin

    def _linear_weights(self) -> Array:
        """Return the weights of the features, for the linear kernel."""
        return self._gram.weighted_sum(self.dual_coef_, self._basis)

    def _function_values(self, X: Any) -> Array:
        """Return the values of the function at validated samples."""
        coef = self.dual_coef_ if self.dual_coef_.ndim == 1 else self.dual_coef_.T
        expansion = Expansion(self._gram, self._basis, coef)
        return expansion.values(X, n_jobs=getattr(self, "n_jobs", None)) + self._at_mean

    def _keep_work(self, X: Any, gap: float, n_iter: int, converged: bool) -> None:
        """Store the duality gap; warn, with a remedy, if it is above `tol`."""
        self.dual_gap_ = float(gap)
        self.n_iter_ = max(1, int(n_iter))
        tol: float = self.tol
        if not converged:
            scale = "" if self._gram.precomputed else scale_first(X)
            general = "increase max_iter or tol, or scale X, for example with StandardScaler"
            warn_not_converged(  # type: ignore[no-untyped-call]
                self,
                reached=f"after {n_iter} steps the relative duality gap is {gap:.1e} "
                f"(tol={tol:g})",
                remedy=f"{scale}, or increase tol" if scale else general,
            )


class MachineClassifierMixin(KernelClassifierMixin):
    """Mixin of machines with one function for two classes, or one per class for more."""

    @by_rows
    def decision_function(self, X: Any) -> Array:
        """Compute the decision function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive values predict the second class; with more classes, the
            largest value determines the prediction.
        """
        check_is_fitted(self)
        machine: Any = self
        values: Array = machine._function_values(checked_samples(self, X, reset=False))
        values = values + machine.intercept_
        return self._with_absent(values[:, 0] if values.shape[1] == 1 else values)

    def to_sklearn(self) -> Any:
        """Return the model as a classifier of scikit-learn, with the same values and labels.

        Returns
        -------
        classifier : LinearSVC, SVC, OneVsRestClassifier or Pipeline
            `LinearSVC` for the linear kernel, otherwise `SVC`, and one `SVC` for each class in a
            `OneVsRestClassifier` if there are more than two. If the support vectors are far from
            the origin, a step that centres the samples comes first.

        Raises
        ------
        ValueError
            If a class has no samples of positive weight, or scikit-learn's machines do not have
            the kernel: they have "linear", "poly", "rbf" and "sigmoid".
        """
        check_is_fitted(self)
        machine: Any = self
        if machine._gram.kernel == "linear":
            weights = machine._linear_weights()
            return linear_classifier(self, LinearSVC(), weights, machine.intercept_)
        return support_vector_classifier(self, machine_functions(self))


class MachineRegressorMixin(RegressorMixin):  # type: ignore[misc]
    """Mixin of machines that predict the target by their function plus `intercept_`."""

    @by_rows
    def predict(self, X: Any) -> Array:
        """Predict the targets of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted targets.
        """
        check_is_fitted(self)
        machine: Any = self
        values: Array = machine._function_values(checked_samples(self, X, reset=False))
        return values + machine.intercept_

    def to_sklearn(self) -> Any:
        """Return the model as a regressor of scikit-learn, with the same predictions.

        Returns
        -------
        regressor : LinearSVR, SVR or Pipeline
            `LinearSVR` for the linear kernel, otherwise `SVR`. If the support vectors are far from
            the origin, a step that centres the samples comes first.

        Raises
        ------
        ValueError
            If scikit-learn's machines do not have the kernel: they have "linear", "poly", "rbf"
            and "sigmoid".
        """
        check_is_fitted(self)
        machine: Any = self
        if machine._gram.kernel == "linear":
            weights = np.ravel(machine._linear_weights())
            return linear_machine(self, weights, machine.intercept_)
        return support_vector_regressor(self, machine_functions(self))
