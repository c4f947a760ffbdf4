"""Nearest class means in feature space."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import StrOptions, fit_context
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import Projection, TrainingSet, labelled_training
from skmoderndata._kernelized.mixins import KernelClassifierMixin
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING

# Approximate number of samples, over all classes, used to estimate the typical margin of a class.
MARGIN_SAMPLES = 500


class KernelNearestCentroid(KernelClassifierMixin, Base):
    r"""Classify by the nearest class mean in feature space, or by the largest Parzen density.

    It chooses the class with the largest

    .. math::
        s_c(x) = \frac{1}{n_c} \sum_{i \in c} \kappa(x_i, x)
        - \frac{1}{2 n_c^2} \sum_{i, j \in c} \kappa(x_i, x_j)
        = \tfrac{1}{2} \kappa(x, x) - \tfrac{1}{2} \lVert \phi(x) - \mu_c \rVert^2 ,

    which is the class whose mean :math:`\mu_c` in the feature space is nearest [1]_; without the
    second term, it is the class with the largest kernel density estimate at the sample.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    offset : {"distance", "density"}, default="distance"
        "distance" chooses the nearest mean; "density" omits the second term and multiplies the
        first term by the prior.
    priors : {"uniform", "empirical"} or array-like of shape (n_classes,), default="uniform"
        Probabilities of the classes, for `offset="density"`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        Means as combinations of the training samples.
    centroid_norms_ : ndarray of shape (n_classes,)
        Squared norms of the means in feature space.
    priors_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    margin_ : float
        Unit of `decision_function`: the average margin by which the score of a class leads at the
        mean of the class in feature space, estimated from at most 500 samples.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.neighbors.NearestCentroid : The same with a linear kernel.
    skmoderndata.discriminant_analysis.KernelDiscriminantAnalysis : Uses the covariance within the
        classes, too.

    Notes
    -----
    Fitting computes the kernel values within each class, in blocks; there is no optimisation
    problem, hence no certificate. A prediction takes one kernel value per training sample. Ties
    go to the class that comes first in `classes_`.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel Methods for Pattern Analysis, Cambridge University
       Press, 2004, Algorithm 5.6.

    Examples
    --------
    >>> from skmoderndata.neighbors import KernelNearestCentroid
    >>> X, y = [[-2], [-1.8], [-0.1], [0.1], [1.9], [2]], [1, 1, 0, 0, 1, 1]
    >>> KernelNearestCentroid(gamma=1.0).fit(X, y).predict([[0.0], [2.2], [-2.2]])
    array([0, 1, 1])
    """

    _card = MethodCard(
        family="kernel methods",
        cite=("shawetaylor2004kernel",),
        cost="sum over classes of n_c^2",
        tier="textbook",
        instead="Use SVC: with the same kernel it is more accurate, because it weights samples.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "offset": [StrOptions({"distance", "density"})],
        "priors": [StrOptions({"uniform", "empirical"}), "array-like"],
    }

    @parameters_are_named
    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        offset="distance",
        priors="uniform",
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.offset = offset
        self.priors = priors

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Estimate the means of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in the means; None gives all samples weight 1.

        Returns
        -------
        self : KernelNearestCentroid
            The fitted estimator.
        """
        labelled = labelled_training(self, X, y, sample_weight)
        X, train, w, classes, present, codes, mass = labelled
        priors = self._choose_priors(mass)

        # compute weighted means in feature space, and their squared norms
        n = len(train)
        k = len(mass)
        coef = np.zeros((n, k))
        coef[np.arange(n), codes] = w / mass[codes]
        norms = np.empty(k)
        typical = []
        for c in range(k):
            members = np.flatnonzero(codes == c)
            of_class = TrainingSet(self, X, train.kept[members], gram=train.gram)
            a = coef[members, c]
            values = of_class.times(a)
            norms[c] = a @ values
            # choose samples between the middle and the border of the class, whatever the order of
            # rows
            n_members = len(members)
            n_drawn = min(n_members, max(1, MARGIN_SAMPLES * n_members // n))
            by_value = members[np.argsort(values, kind="stable")]
            spread = np.linspace(0, n_members - 1, n_drawn).astype(int)
            typical.append(by_value[spread])
        train.gram.check_finite(norms)

        self._keep_classes(classes, present)
        self.priors_ = priors
        self.centroid_norms_ = norms
        self.margin_ = self._typical_lead(X, train, coef, np.sort(np.concatenate(typical)))
        self.dual_coef_ = np.zeros((count_samples(X), k))
        self.dual_coef_[train.kept] = coef
        self._project = Projection(train.gram, coef, train.second())
        return self

    @by_rows
    def decision_function(self, X):
        """Compute the scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores minus their mean over the classes, in units of `margin_`; for two classes the
            score of the second minus the score of the first, about 1 and -1 at their means.
        """
        check_is_fitted(self)
        means = self._project(checked_samples(self, X, reset=False))
        scores = self._scores(means, self.priors_, self.centroid_norms_) / self.margin_
        if scores.shape[1] == 2:
            return self._with_absent(scores[:, 1] - scores[:, 0])
        # remove the offset common to all classes
        return self._with_absent(scores - scores.mean(axis=1, keepdims=True))

    def _scores(self, means, priors, norms):
        """Scores of the classes, from inner products with their means."""
        return means * priors if self.offset == "density" else means - norms / 2

    def _typical_lead(self, X, train, coef, subset):
        """Mean margin of the score of each class over the other classes, at the class mean."""
        samples = TrainingSet(self, X, train.kept[subset], gram=train.gram)
        coef = coef[subset] / coef[subset].sum(axis=0)
        between = coef.T @ samples.times(coef)  # inner products of the means
        scores = self._scores(between, self.priors_, between.diagonal())
        k = len(scores)
        leads = np.abs(scores.diagonal()[:, None] - scores)
        lead = leads.sum() / (k**2 - k)
        same = ACCUMULATED_ROUNDING * np.abs(between).max()
        return float(lead) if lead > same else 1.0

    def _choose_priors(self, mass):
        if isinstance(self.priors, str):
            if self.priors == "empirical":
                if self.offset != "density":
                    raise ValueError('priors="empirical" needs offset="density".')
                return mass / mass.sum()
            return np.full(len(mass), 1 / len(mass))

        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != mass.shape or not (priors > 0).all():
            raise ValueError(
                f"priors={self.priors!r} must contain one positive probability for each of the "
                f"{len(mass)} classes."
            )

        if self.offset != "density":
            raise ValueError('priors other than "uniform" need offset="density".')
        return priors / priors.sum()
