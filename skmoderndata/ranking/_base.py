"""What the ranking machines share: the order of the classes, and predictions by thresholds."""

import numpy as np
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
            The higher, the higher the rank; to be compared with `thresholds_`.
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


def ordered_classes(y, classes, *, owner):
    """Return the classes that y holds, lowest first, and the rank of each sample from 0.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels.
    classes : array-like or None
        All labels, lowest first; None sorts those of y.
    owner : str
        Named in messages.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    ranks : ndarray of int of shape (n_samples,)
    """
    present, codes = np.unique(y, return_inverse=True)
    if classes is None:
        return present, codes
    order = np.asarray(classes)
    known = order.tolist()
    if order.ndim != 1 or len(set(known)) < len(known):
        raise ValueError(f"{owner}: classes has to list every label once, got {classes!r}.")
    place = {label: rank for rank, label in enumerate(known)}
    unknown = [label for label in present.tolist() if label not in place]
    if unknown:
        raise ValueError(f"{owner}: y holds {unknown[0]!r}, which is not in classes={known}.")
    places = np.array([place[label] for label in present.tolist()])
    by_rank = np.argsort(places)
    rank = np.empty(len(present), dtype=int)
    rank[by_rank] = np.arange(len(present))
    return present[by_rank], rank[codes]


def ranks_above(values, thresholds):
    """Rank of each value: how many thresholds it reaches."""
    return (values[:, None] >= thresholds).sum(axis=1)
