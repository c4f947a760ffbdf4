"""Base of the ranking machines: predictions and probabilities from values and thresholds."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.absent_classes import AbsentClasses
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.expansion import Expansion, KernelRows
from skmoderndata._kernelized.machines import KernelMachine
from skmoderndata._samples.containers import take
from skmoderndata._solvers.margins.cumulative_link import (
    cumulative_link,
    link_log_probabilities,
)

LINK_FOLDS = 5
LINK_SMOOTHING = 1e-3  # fraction of a label that counts as drawn by the frequencies of ranks
EQUAL_VALUES = 1e-12  # deviation of values, relative to the largest, that counts as zero
SAME_SAMPLE = 1e-9  # relative difference of distances below which samples are copies


def _has_link(machine):
    """Whether probabilities were asked for: for `available_if`."""
    if machine.probability:
        return True
    raise AttributeError(
        f"{type(machine).__name__} has probabilities only with probability=True, set before fit."
    )


class KernelRankingMachine(AbsentClasses, KernelMachine, ClassifierMixin):
    """Mixin of machines that set `thresholds_` for the values of their function."""

    def _keep_grades(self, y, labels, present, *, weighted):
        """Set `classes_` to all grades, which are the labels of y unless they are given."""
        grades = np.unique(y) if labels is None else np.asarray(labels)
        found = set(np.asarray(present).tolist())
        is_present = [grade in found for grade in grades.tolist()]
        self._keep_classes(grades, is_present, weighted=weighted)

    def _of_all_grades(self, thresholds):
        """Thresholds between all grades: those around an absent one are equal, or infinite."""
        if self._present is None:
            return thresholds
        below = np.searchsorted(self._present, np.arange(len(self.classes_) - 1), side="right")
        return np.r_[-np.inf, thresholds, np.inf][below]

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

    @available_if(_has_link)
    def predict_proba(self, X):
        r"""Compute the probability of each class; only with ``probability=True``.

        The probability of rank k or a lower one is
        :math:`\sigma(t_k - a f(x))` with the logistic function :math:`\sigma`, the slope
        :math:`a \ge 0` and ascending :math:`t_k`, of maximum likelihood for values of the
        function at samples that it was not fitted to. The most probable class can differ from
        `predict`, which compares the value with `thresholds_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities of the classes in the order of `classes_`; rows add up to 1.
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(_has_link)
    def predict_log_proba(self, X):
        """Compute the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Logarithms of `predict_proba`.
        """
        check_is_fitted(self)
        if self.link_slope_ is None:
            raise NotFittedError(
                f"{type(self).__name__} was fitted with probability=False: fit it again."
            )
        with np.errstate(divide="ignore"):  # of grades without samples
            return link_log_probabilities(
                self.rank_score(X), self.link_slope_, self.link_thresholds_
            )

    def _keep_link(self, scores, ranks, weights, frequencies):
        """Store the link of held-out scores, NaN where there is none."""
        known = np.isfinite(scores)
        link = cumulative_link(
            scores[known], ranks[known], weights[known], frequencies, smoothing=LINK_SMOOTHING
        )
        self.link_slope_ = link.slope
        self.link_thresholds_ = self._of_all_grades(link.thresholds)
        self.link_gradient_ = link.gradient

    def _drop_link(self):
        """Forget the link of an earlier fit."""
        self.link_slope_ = self.link_thresholds_ = self.link_gradient_ = None


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


def held_out_scores(gram, X, rows, ranks, weights, final_values, fit_fold):
    """Scores of samples by functions of the other folds; NaN if there is none.

    Norm and offset of a function depend on the number of samples. So the scores of each fold are
    shifted and scaled such that its function has, at the samples that it was fitted to, mean and
    variance of the final function there. Without that, the log-loss of `NuSVOR` was up to 2 per
    cent higher, and that of `KernelPRank` up to 4.

    Parameters
    ----------
    gram : Gram
        Kernel.
    X : array, sparse matrix or list
        Samples.
    rows, ranks, weights, final_values : ndarray of shape (n_samples,)
        Which of them, with their ranks, weights and values of the final function.
    fit_fold : callable
        Takes positions in `rows`; returns the rows of X and the coefficients of the function that
        was fitted to them.
    """
    mean_values = Expansion(gram, gram.subset(X, rows), weights / weights.sum())
    near = 2.0 * mean_values.values(take(X, rows)) - KernelRows(gram, X).diag(rows)
    fold = folds_of_samples(near, ranks, LINK_FOLDS)
    mean, deviation = moments(final_values, weights)

    scores = np.full(len(rows), np.nan)
    for one in range(LINK_FOLDS):
        train = np.flatnonzero(fold != one)
        test = np.flatnonzero(fold == one)
        if not len(test) or len(np.unique(ranks[train])) < 2:
            continue
        support, coef = fit_fold(train)
        function = Expansion(gram, gram.subset(X, support), coef)
        fold_mean, fold_deviation = moments(
            function.values(take(X, rows[train])), weights[train]
        )
        if fold_deviation > 0 and deviation > 0:
            values = function.values(take(X, rows[test]))
            scores[test] = mean + deviation / fold_deviation * (values - fold_mean)
    return scores


def moments(values, weights):
    """Weighted mean and standard deviation, which is 0 for values that are equal to rounding."""
    mean = float(np.average(values, weights=weights))
    deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    rounding = EQUAL_VALUES * float(np.abs(values).max())
    return mean, deviation if deviation > rounding else 0.0


def folds_of_samples(near, ranks, n_folds):
    """Fold of each sample, the same for any order of them and for copies instead of weights.

    Within each rank, samples go to the folds in turn by how near they are to the mean, which is
    `2 mean_j k(x, x_j) - k(x, x)` but for the sign and a constant; copies, of which this is
    equal, stay together.
    """
    apart = SAME_SAMPLE * float(np.abs(near).max(initial=0.0))
    fold = np.empty(len(ranks), dtype=int)
    for rank in np.unique(ranks):
        members = np.flatnonzero(ranks == rank)
        members = members[np.argsort(near[members], kind="stable")]
        differs = np.diff(near[members]) > apart
        distinct = np.cumsum(np.r_[0, differs])
        fold[members] = (distinct + rank) % n_folds
    return fold
