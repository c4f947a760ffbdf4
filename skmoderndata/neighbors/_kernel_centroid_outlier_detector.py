"""Outlier detection by the distance from the mean in feature space."""

from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import POSITIVE, Interval, StrOptions, fit_context
from skmoderndata._estimator.doors import in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import (
    Projection,
    TrainingSet,
    as_double,
    positive_weights,
)
from skmoderndata._kernelized.mixins import KernelOutlierMixin
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.kernel.novelty import centre_of_mass_slack, outlier_threshold


class KernelCentroidOutlierDetector(KernelOutlierMixin, Base):
    r"""Detect outliers by their distance from the mean in feature space.

    A sample is an outlier if its distance from the mean :math:`\mu` of the n training samples
    exceeds a threshold. By default the threshold is exceeded by a given fraction of samples from
    the same distribution; with `contamination="auto"` it is [1]_

    .. math::
        \theta = \max_i \lVert \phi(x_i) - \mu \rVert
        + 2 \sqrt{\frac{2 R^2}{n}} \left( \sqrt{2} + \sqrt{\ln \frac{1}{\delta}} \right).

    With probability :math:`1 - \delta`, where :math:`\delta` is `failure_probability`, over the
    draw of the training samples, a new sample from the same distribution is classified as an
    outlier with probability at most :math:`1 / (n + 1)`, if all samples have norm at most R in the
    feature space.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the feature space, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    contamination : float or "auto", default=0.1
        Expected fraction of outliers among new samples from the distribution of the training
        samples, in (0, 0.5]; or "auto" for the threshold above, for training samples without
        outliers.
    failure_probability : float, default=0.01
        Probability that the bound fails, above 0 and below 1.
    radius : float or None, default=None
        Norm bound R; None uses the largest norm of a training sample, which is exact for kernels
        with constant diagonal, such as the Gaussian kernel, and otherwise an estimate.

    Attributes
    ----------
    threshold_ : float
        Distance above which a sample is an outlier.
    offset_ : float
        `-threshold_`, so that `decision_function` is `score_samples - offset_`.
    max_distance_ : float
        Largest distance of a training sample from the mean.
    false_alarm_bound_ : float
        Upper bound `1 / (n + 1)` on the probability of a false alarm; NaN if `contamination` is a
        number.
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients of the mean as a combination of the training samples.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    skmoderndata.decomposition.KernelPCAOutlierDetector : Distance from a subspace instead of a
        point.
    sklearn.svm.OneClassSVM : Sparse; determined by samples far from the centre.

    Notes
    -----
    Fitting computes all kernel values once, in blocks; the solution is in closed form. The second
    term of the threshold decreases slowly: with R = 1 and `failure_probability=0.01` it is 1.0 for
    100 samples, 0.3 for 1000 and 0.1 for 10000. With a Gaussian kernel no distance exceeds the
    square root of 2, so that with few samples the bound detects no outliers; therefore it is not
    the default.

    If `contamination` is a number, the threshold is a quantile of leave-one-out distances: each
    training sample is compared with the mean of the other samples, which is ``n / (n - 1)`` times
    as far away as the mean of all. `fit_predict` may therefore detect fewer outliers among the
    training samples.

    The distance needs the kernel value of a sample with itself, which a precomputed matrix of new
    samples does not contain: `fit` and `fit_predict` work, but new samples raise an error.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel Methods for Pattern Analysis, Cambridge University
       Press, 2004, Theorem 5.5 and Algorithm 5.4.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.neighbors import KernelCentroidOutlierDetector
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> detector = KernelCentroidOutlierDetector("linear", contamination=0.05).fit(X)
    >>> detector.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    """

    _card = MethodCard(
        family="kernel methods",
        cite=("shawetaylor2004kernel",),
        cost="n^2",
        tier="textbook",
        instead="Use KernelDensity: with a Gaussian kernel of the same width it ranks samples in "
        "the same order.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
        "radius": [POSITIVE, None],
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
        contamination=0.1,
        failure_probability=0.01,
        radius=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.contamination = contamination
        self.failure_probability = failure_probability
        self.radius = radius

    @fit_context()
    def fit(self, X, y=None, sample_weight=None):
        """Estimate the mean in feature space and the threshold of the distances from it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; None gives all samples weight 1. The bound counts their sum as n.

        Returns
        -------
        self : KernelCentroidOutlierDetector
            The fitted estimator.
        """
        X = checked_samples(self, X, reset=True)
        used, w = positive_weights(X, sample_weight)
        train = TrainingSet(self, X, used, w)

        # |phi - m|^2 = k(x, x) - 2 (K a)_x + a' K a, with the relative weights a
        n = float(w.sum())
        a = w / n
        means = train.times(a)
        diagonal = np.asarray(train.gram.diag(train.X), dtype=np.float64)
        self._norm = float(a @ means)
        squared = train.gram.check_finite(diagonal - 2 * means + self._norm)
        distances = np.sqrt(np.maximum(squared, 0.0))

        self._project = Projection(train.gram, a[:, None], train.second())
        self.dual_coef_ = np.zeros(count_samples(X))
        self.dual_coef_[used] = a
        self.max_distance_ = float(distances.max())

        if self.contamination == "auto":
            # use the concentration bound of the centre of mass
            radius = self.radius
            if radius is None:
                radius = float(np.sqrt(max(diagonal.max(), 0.0)))
            slack = centre_of_mass_slack(n, radius, self.failure_probability)
            self.threshold_ = self.max_distance_ + slack
            self.false_alarm_bound_ = 1 / (n + 1)
        else:
            # the distance of a sample from the mean of the other samples is n / (n - 1) times its
            # distance from the mean of all samples
            factor = n / (n - 1) if n > 1 else 1.0
            held_out = distances * factor
            self.threshold_ = -outlier_threshold(-held_out, w, self.contamination)
            self.false_alarm_bound_ = float("nan")

        self.offset_ = -self.threshold_
        return self

    @in_memory
    def score(self, X, y=None):
        """Compute the negative mean squared distance from the mean.

        The score depends on the scale of the kernel; to compare kernels, use labelled outliers.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        score : float
            Higher is better.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        distances = self._score_samples(X)
        return -float(np.mean(distances**2))

    def _score_samples(self, X):
        diagonal = np.asarray(self._project.source.diag(as_double(X)), dtype=np.float64)
        squared = diagonal - 2 * self._project(X)[:, 0] + self._norm
        return -np.sqrt(np.maximum(squared, 0.0))
