"""Fisher's discriminant of two classes in feature space."""

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    POSITIVE,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.registry import Comparison, MethodCard
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import (
    Projection,
    is_low_rank,
    labelled_training,
    omitted_fraction,
    warn_of_rank,
)
from skmoderndata._kernelized.mixins import KernelClassifierMixin, KernelProjectionMixin
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.kernel.kernel_discriminant import (
    classes_of,
    dual_directions,
    mean_differences,
    primal_directions,
)


class KernelFisherDiscriminant(KernelProjectionMixin, KernelClassifierMixin, Base):
    r"""Fisher's linear discriminant of two classes in the feature space of a kernel.

    Maximises, over directions :math:`w` in the feature space of the kernel [1]_, [2]_,

    .. math::
        \frac{(\mu_+ - \mu_-)^2}{\sigma_+^2 + \sigma_-^2 + \lambda \lVert w \rVert^2}, \qquad
        \lambda = \alpha \, (\operatorname{tr} C_+ + \operatorname{tr} C_-),

    where :math:`\mu_\pm` and :math:`\sigma_\pm^2` are means and variances of the projections of
    the two classes, which have equal weight, and :math:`C_\pm` are their covariances.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the direction in feature space, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    alpha : float, default=0.001
        Ridge, relative to the scatter within the classes, so that it does not depend on the scale
        of the kernel.
    threshold : {"midpoint", "prior"}, default="midpoint"
        Threshold between the classes: halfway between the projected means, or shifted towards
        the rarer class as for normal distributions of equal variance.
    solver : {"auto", "exact", "low_rank"}, default="auto"
        "exact" uses the kernel matrix of all samples, "low_rank" directions in the span of at most
        `max_rank` samples chosen by incomplete Cholesky factorisation. "auto" is "exact" up to
        1000 samples and for precomputed kernels.
    max_rank : int, default=300
        Largest number of samples that span the direction of `solver="low_rank"`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels; positive values of `decision_function` mean the second.
    dual_coef_ : ndarray of shape (n_samples,)
        Direction as combination of the samples. Only `solver="exact"`.
    landmarks_ : ndarray of shape (rank,)
        Indices of the training samples that span the direction. Only `solver="low_rank"`.
    intercept_ : float
        Constant added to the projection, so that the threshold is 0.
    criterion_ : float
        Value of the criterion. The denominator is scaled to one, so that this is also the squared
        distance of the projected means.
    ridge_ : float
        The :math:`\lambda` used.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    KernelDiscriminantAnalysis : Several classes, with probabilities; pools the scatter by size.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Linear, pools the scatter by size.
    sklearn.kernel_ridge.KernelRidge : Gives the same direction for classes of equal size.

    Notes
    -----
    Fitting takes ``n^3 / 3`` operations, with the low-rank solver ``n r^2``. The solution is in
    closed form: there is no iteration and no gap. A class of a single sample is allowed; it has
    no scatter. With `alpha` near 0 and a kernel that separates any samples, each class is
    projected to one point, and the direction fits the noise.

    References
    ----------
    .. [1] Mika, Rätsch, Weston, Schölkopf and Müller, Fisher discriminant analysis with kernels,
       Neural Networks for Signal Processing IX, 1999, pp. 41-48.
    .. [2] Shawe-Taylor and Cristianini, Kernel Methods for Pattern Analysis, Cambridge University
       Press, 2004, Computation 5.15 and Algorithm 5.16.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.discriminant_analysis import KernelFisherDiscriminant
    >>> X = np.array([[-2.0], [-1.5], [-0.1], [0.2], [1.6], [2.1]])
    >>> y = np.array(["out", "out", "in", "in", "out", "out"])
    >>> fisher = KernelFisherDiscriminant(gamma=0.5).fit(X, y)
    >>> fisher.predict([[0.0], [1.9]])
    array(['in', 'out'], dtype='<U3')
    """

    _card = MethodCard(
        family="kernel methods",
        cite=("mika1999fisher", "shawetaylor2004kernel"),
        cost="n^3 / 3; low rank r: n r^2",
        checks=({}, {"kernel": "linear", "threshold": "prior"}, {"solver": "low_rank"}),
        tier="textbook",
        instead="Use SVC: its scores order the tumours of `load_breast_cancer` as well (area "
        "under the curve .99 for both).",
        comparison=Comparison(
            baseline="sklearn.svm.SVC",
            problem="odd_digits",
            # descending: of equal scores the search takes the first
            grid={"alpha": (1e-2, 1e-4, 1e-6), "gamma": (0.0005, 0.001, 0.002)},
            baseline_grid={"C": (1.0, 10.0, 100.0), "gamma": (0.001, 0.002, 0.005)},
        ),
    )
    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "alpha": [POSITIVE],
        "threshold": [StrOptions({"midpoint", "prior"})],
        "solver": [StrOptions({"auto", "exact", "low_rank"})],
        "max_rank": [AT_LEAST_ONE],
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1e-3,
        threshold="midpoint",
        solver="auto",
        max_rank=300,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.threshold = threshold
        self.solver = solver
        self.max_rank = max_rank

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Maximise the Fisher criterion, and set the threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights within the classes; None gives all samples weight 1.

        Returns
        -------
        self : KernelFisherDiscriminant
            The fitted estimator.
        """
        X, train, w, classes, present, codes, _ = labelled_training(self, X, y, sample_weight)
        if present.sum() > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}, with {present.sum()} classes: use "
                "KernelDiscriminantAnalysis."
            )

        model = classes_of(codes, w, np.ones(2))
        G = mean_differences(model, np.full(2, 0.5))

        # directions by features of low rank, or by coefficients of samples
        if is_low_rank(self.solver, train.gram, len(train)):
            features, result = train.low_rank(self.max_rank)
            warn_of_rank(self, len(result.pivots), omitted_fraction(result))
            solution = primal_directions(result.factor, model, G, alpha=self.alpha)
            self._project = Projection(features, solution.coef)
            self.landmarks_ = train.kept[result.pivots]
        else:
            solution = dual_directions(train.matrix(), model, G, alpha=self.alpha)
            self._project = Projection(train.gram, solution.coef, train.second())

        self._place_threshold(solution, model, n=count_samples(X), kept=train.kept)
        self._keep_classes(classes, present)
        return self

    def decision_function(self, X):
        """Compute the signed distance from the threshold, relative to the spread.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Positive for the second class.
        """
        check_is_fitted(self)
        values = self._project(checked_samples(self, X, reset=False))[:, 0] + self.intercept_
        return self._with_absent(values)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _place_threshold(self, solution, model, *, n, kept):
        """Turn the direction towards the second class, and place the threshold."""
        scores = solution.scores[:, 0]
        means = np.bincount(model.codes, model.weights * scores) / model.mass
        if means[1] < means[0]:
            self._project.coef = -self._project.coef
            means = -means

        # each mean is half the gap from their middle: the squared gap is four times the value
        self.criterion_ = 4 * float(solution.values[0])
        self.ridge_ = solution.ridge

        # threshold in the middle; for unequal classes that of normal distributions, whose
        # variance is one half, as the denominator of the criterion is one
        centre = means.mean()
        gap = means[1] - means[0]
        if self.threshold == "prior" and gap > 0:
            centre -= 0.5 * np.log(model.mass[1] / model.mass[0]) / gap
        self.intercept_ = -float(centre)

        if self._project.samples is not None:
            self.dual_coef_ = np.zeros(n)
            self.dual_coef_[kept] = self._project.coef[:, 0]
