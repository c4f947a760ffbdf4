"""Base of the ranking machines: predictions from values and thresholds."""

from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata.kernels._machines import KernelMachine


class KernelRankingMachine(KernelMachine, ClassifierMixin):
    """Mixin of machines that set `thresholds_` for the values of their function."""

    def decision_function(self, X):
        """Compute the values of the function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Values that are compared with `thresholds_`; higher values mean higher ranks.
        """
        check_is_fitted(self)
        return self._function_values(self._samples(X, reset=False))

    def predict(self, X):
        """Predict the labels of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The predicted labels.
        """
        values = self.decision_function(X)
        return self.classes_[ranks_above(values, self.thresholds_)]


def ranks_above(values, thresholds):
    """Rank of each value: how many thresholds it reaches."""
    return (values[:, None] >= thresholds).sum(axis=1)
