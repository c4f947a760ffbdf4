"""Base of the ranking machines: predictions from values and thresholds."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.machines import KernelMachine


class KernelRankingMachine(KernelMachine, ClassifierMixin):
    """Mixin of machines that set `thresholds_` for the values of their function."""

    def _score_unit(self):
        """Difference of values that counts as one in `decision_function`."""
        return 1.0

    def rank_score(self, X):
        """Compute the values of the function, one for each sample.

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
        return self._function_values(checked_samples(self, X, reset=False))

    def decision_function(self, X):
        """Compute how far samples are inside the interval of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For more than two classes, the distance of `rank_score` from the nearer end of the
            interval between the thresholds of the class, negative outside: the largest is that of
            the predicted class. For two classes `rank_score` less the threshold: positive values
            mean the second. Of `NuSVOR` in units of `margin_`, unless that is zero.
        """
        return class_scores(self.rank_score(X), self.thresholds_) / self._score_unit()

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
        values = self.rank_score(X)
        return self.classes_[ranks_above(values, self.thresholds_)]


def class_scores(values, thresholds):
    """Scores `min(s - b_(k-1), b_k - s)` of the classes k, or `s - b` for two of them."""
    if len(thresholds) == 1:
        return values - thresholds[0]
    # without an order of their own, thresholds count as sorted, as in `ranks_above`
    ends = np.concatenate([[-np.inf], np.sort(thresholds), [np.inf]])
    s = values[:, None]
    return np.minimum(s - ends[:-1], ends[1:] - s)


def ranks_above(values, thresholds):
    """Rank of each value: how many thresholds it reaches."""
    return (values[:, None] >= thresholds).sum(axis=1)
