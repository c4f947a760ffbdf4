"""Base of the ranking machines: predictions and probabilities from values and thresholds."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.absent_classes import AbsentClasses
from skmoderndata._estimator.doors import by_rows, in_memory
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.expansion import Expansion, KernelRows
from skmoderndata._kernelized.machines import KernelMachine
from skmoderndata._samples.containers import take
from skmoderndata._solvers.common.quantities import N_FOLDS
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RESULT_ROUNDING
from skmoderndata._solvers.margins.cumulative_link import (
    cumulative_link,
    link_log_probabilities,
)

# Fraction of a label that is replaced by the frequencies of the ranks.
LINK_SMOOTHING = 1e-3


def _has_link(machine):
    """Condition of `available_if`: whether `probability` is set."""
    if machine.probability:
        return True
    raise AttributeError(
        f"{type(machine).__name__} has probabilities only with probability=True, set before fit."
    )


class KernelRankingMachine(AbsentClasses, KernelMachine, ClassifierMixin):
    """Mixin of machines that compare the values of their function with `thresholds_`."""

    def _keep_grades(self, y, labels, present, *, weighted):
        """Set `classes_` to all grades; without `labels`, these are the labels in y."""
        grades = np.unique(y) if labels is None else np.asarray(labels)
        present_grades = set(np.asarray(present).tolist())
        is_present = [grade in present_grades for grade in grades.tolist()]
        self._keep_classes(grades, is_present, weighted=weighted)

    def _of_all_grades(self, thresholds):
        """Return thresholds between all grades; equal or infinite around absent grades."""
        if self._present is None:
            return thresholds
        below = np.searchsorted(self._present, np.arange(len(self.classes_) - 1), side="right")
        return np.r_[-np.inf, thresholds, np.inf][below]

    def _score_unit(self):
        """Return the difference of values that counts as one in `decision_function`."""
        return 1.0

    @in_memory
    def rank_score(self, X):
        """Compute the value of the function for each sample.

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

    @by_rows
    def decision_function(self, X):
        """Compute how far samples are inside the interval of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores of the classes. For more than two classes, the distance of `rank_score` from the
            nearer end of the interval between the thresholds of the class, negative outside; the
            predicted class has the largest score. For two classes, `rank_score` minus the
            threshold; positive values mean the second class. `NuSVOR` divides by `margin_`, unless
            it is zero.
        """
        return class_scores(self.rank_score(X), self.thresholds_) / self._score_unit()

    @by_rows
    def predict(self, X):
        """Predict the labels of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels.
        """
        values = self.rank_score(X)
        return self.classes_[ranks_above(values, self.thresholds_)]

    @available_if(_has_link)
    @by_rows
    def predict_proba(self, X):
        r"""Compute the probability of each class; only with ``probability=True``.

        The probability of rank k or a lower rank is
        :math:`\sigma(t_k - a f(x))` with the logistic function :math:`\sigma`, the slope
        :math:`a \ge 0` and ascending :math:`t_k`. They maximise the likelihood for values of the
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
    @by_rows
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
        with np.errstate(divide="ignore"):  # grades without samples have probability 0
            return link_log_probabilities(
                self.rank_score(X), self.link_slope_, self.link_thresholds_
            )

    def _keep_link(self, scores, ranks, weights, frequencies):
        """Fit and store the link of held-out scores, which are NaN if there is no score."""
        known = np.isfinite(scores)
        link = cumulative_link(
            scores[known], ranks[known], weights[known], frequencies, smoothing=LINK_SMOOTHING
        )
        self.link_slope_ = link.slope
        self.link_thresholds_ = self._of_all_grades(link.thresholds)
        self.link_gradient_ = link.gradient

    def _drop_link(self):
        """Remove the link of an earlier fit."""
        self.link_slope_ = self.link_thresholds_ = self.link_gradient_ = None


def class_scores(values, thresholds):
    """Compute `min(s - b_(k-1), b_k - s)` for each class k, or `s - b` for two classes."""
    if len(thresholds) == 1:
        return values - thresholds[0]
    # Thresholds that are out of order are treated as sorted, as in `ranks_above`.
    ends = np.concatenate([[-np.inf], np.sort(thresholds), [np.inf]])
    s = values[:, None]
    return np.minimum(s - ends[:-1], ends[1:] - s)


def ranks_above(values, thresholds):
    """Compute the rank of each value: the number of thresholds that it reaches."""
    return (values[:, None] >= thresholds).sum(axis=1)


def held_out_scores(gram, X, rows, ranks, weights, final_values, fit_fold):
    """Compute scores of samples by functions from the other folds; NaN if there is no function.

    Norm and offset of a function depend on the number of samples. Therefore, the scores of each
    fold are shifted and scaled such that its function has, at the samples that it was fitted to,
    the mean and variance of the final function at these samples. Without this, the log-loss of
    `NuSVOR` was up to 2 per cent higher, and the log-loss of `KernelPRank` up to 4 per cent.

    Parameters
    ----------
    gram : Gram
        Kernel of the functions.
    X : array, sparse matrix or list
        Samples, including samples that are not used.
    rows, ranks, weights, final_values : ndarray of shape (n_samples,)
        Indices of the samples used, with their ranks, weights and values of the final function.
    fit_fold : callable
        Function that is called with positions in `rows`; it returns the rows of X and the
        coefficients of the function that was fitted to them.
    """
    mean_values = Expansion(gram, gram.subset(X, rows), weights / weights.sum())
    near = 2.0 * mean_values.values(take(X, rows)) - KernelRows(gram, X).diag(rows)
    fold = folds_of_samples(near, ranks, N_FOLDS)
    mean, deviation = moments(final_values, weights)

    scores = np.full(len(rows), np.nan)
    for held_out in range(N_FOLDS):
        train = np.flatnonzero(fold != held_out)
        test = np.flatnonzero(fold == held_out)
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
    """Compute the weighted mean and standard deviation; 0 for values equal up to rounding."""
    mean = float(np.average(values, weights=weights))
    deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    rounding = ACCUMULATED_ROUNDING * float(np.abs(values).max())
    return mean, deviation if deviation > rounding else 0.0


def folds_of_samples(near, ranks, n_folds):
    """Assign samples to folds, regardless of their order and of copies in place of weights.

    Within each rank, samples are assigned to the folds in turn by their distance to the mean. Up
    to sign and a constant, this is `2 mean_j k(x, x_j) - k(x, x)`; it is equal for copies, which
    stay together.
    """
    apart = RESULT_ROUNDING * float(np.abs(near).max(initial=0.0))
    fold = np.empty(len(ranks), dtype=int)
    for rank in np.unique(ranks):
        members = np.flatnonzero(ranks == rank)
        members = members[np.argsort(near[members], kind="stable")]
        differs = np.diff(near[members]) > apart
        distinct = np.cumsum(np.r_[0, differs])
        fold[members] = (distinct + rank) % n_folds
    return fold
