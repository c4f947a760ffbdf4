"""Discriminant analysis of several classes in feature space."""

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    POSITIVE,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.landmarks import (
    classes_in,
    landmark_table,
    rows_in_blocks,
    solver_of,
    survey_of,
)
from skmoderndata._kernelized.low_rank import (
    Projection,
    is_low_rank,
    labelled_training,
    omitted_fraction,
    warn_of_rank,
)
from skmoderndata._kernelized.mixins import KernelClassifierMixin, KernelProjectionMixin
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.kernel.feature_k_means import cluster_sums
from skmoderndata._solvers.kernel.kernel_discriminant import (
    classes_of,
    directions_of_scatter,
    dual_directions,
    mean_differences,
    primal_directions,
)


class KernelDiscriminantAnalysis(KernelProjectionMixin, KernelClassifierMixin, Base):
    r"""Discriminant analysis of several classes in the feature space of a kernel.

    The columns of W, directions in the feature space of the kernel, maximise [1]_, [2]_

    .. math::
        \operatorname{tr} W' S_b W \quad \text{subject to} \quad W' (S_w + \lambda I) W = I,
        \qquad \lambda = \alpha \operatorname{tr} S_w,

    where :math:`S_w = \sum_c \pi_c C_c` is the covariance within the classes,
    :math:`S_b = \sum_c \pi_c (\mu_c - \mu)(\mu_c - \mu)'` the covariance of the class means, and
    :math:`\pi_c` the class priors. Each sample is assigned to the most probable class, assuming
    that each class is normal with covariance :math:`S_w + \lambda I`.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the discriminants, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    alpha : float, default=0.001
        Ridge, relative to the trace of the covariance within the classes, so that it does not
        depend on the scale of the kernel.
    n_components : int or None, default=None
        Number of directions, which the classifier also uses. None means all of them, one fewer
        than there are classes.
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; None uses their fractions in the training samples. For
        two classes, ``priors=[0.5, 0.5]`` gives the kernel Fisher discriminant: both classes have
        the same weight, whatever their size, and the threshold is halfway between their means.
    solver : {"auto", "exact", "low_rank", "nystroem"}, default="auto"
        "exact" uses the kernel matrix of all samples. "low_rank" uses directions in the span of
        at most `max_rank` samples, which incomplete Cholesky factorisation selects. "nystroem"
        uses directions in the span of random samples and passes over the rows, as Dask arrays
        require. "auto" is "exact" up to 1000 samples and for precomputed kernels, and "nystroem"
        for tables in chunks.
    max_rank : int, default=300
        Largest number of samples that span the directions of the solvers "low_rank" and
        "nystroem".
    random_state : int, RandomState instance or None, default=None
        Controls the random samples of `solver="nystroem"`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    dual_coef_ : ndarray of shape (n_samples, n_components)
        Directions as combinations of the samples; only with `solver="exact"`.
    landmarks_ : ndarray of shape (rank,)
        Indices of the training samples that span the directions; not with `solver="exact"`.
    solver_ : str
        "exact", "low_rank" or "nystroem".
    class_scores_ : ndarray of shape (n_classes, n_components)
        Means of the classes on the directions.
    eigenvalues_ : ndarray of shape (n_components,)
        Variance of the class means along each direction, in descending order.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Fractions of the sum of eigenvalues over all directions.
    priors_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    ridge_ : float
        The value of :math:`\lambda`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The same with a linear kernel.

    Notes
    -----
    Fitting takes ``n^3 / 3`` operations, or ``n r^2`` with the low-rank solver; the eigenproblem
    has as many dimensions as there are classes. The solution is in closed form, so there is no
    iteration and no duality gap.

    If `alpha` is near 0 and the kernel separates any samples, each class is mapped to one point.
    The covariance is estimated on the training samples and increased by the ridge, so
    probabilities of new samples are overconfident if `alpha` is small, and underconfident if it
    is large. For calibrated probabilities use
    ``CalibratedClassifierCV(KernelDiscriminantAnalysis(), method="temperature",
    ensemble=False)`` of scikit-learn.

    References
    ----------
    .. [1] Baudat and Anouar, Generalized discriminant analysis using a kernel approach, Neural
       Computation 12(10), 2000, pp. 2385-2404.
    .. [2] Mika, Rätsch, Weston, Schölkopf and Müller, Fisher discriminant analysis with kernels,
       Neural Networks for Signal Processing IX, 1999, pp. 41-48.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmoderndata.discriminant_analysis import KernelDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelDiscriminantAnalysis(gamma=0.1).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    >>> round(model.score(X, y), 2)
    0.99
    """

    _card = MethodCard(
        family="kernel methods",
        cite=("baudat2000generalized", "mika1999fisher"),
        cost="n^3 / 3; low rank r: n r^2",
        fits_blocks=True,
        tier="standard",
        instead="SVC is just as accurate, and LinearDiscriminantAnalysis on the features of "
        "KernelPCA separates the classes just as well.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "alpha": [POSITIVE],
        "n_components": [AT_LEAST_ONE, None],
        "priors": ["array-like", None],
        "solver": [StrOptions({"auto", "exact", "low_rank", "nystroem"})],
        "max_rank": [AT_LEAST_ONE],
        "random_state": ["random_state"],
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
        alpha=1e-3,
        n_components=None,
        priors=None,
        solver="auto",
        max_rank=300,
        random_state=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.n_components = n_components
        self.priors = priors
        self.solver = solver
        self.max_rank = max_rank
        self.random_state = random_state

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Estimate the discriminant directions and the means of the classes along them.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features), or list
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
            Tables in chunks take five passes.
        y : array-like or Dask array of shape (n_samples,)
            Labels.
        sample_weight : array-like or Dask array of shape (n_samples,), default=None
            Weights; None gives all samples weight 1.

        Returns
        -------
        self : KernelDiscriminantAnalysis
            The fitted estimator.
        """
        if solver_of(self, X) == "nystroem":
            return self._fit_features(X, y, sample_weight)
        labelled = labelled_training(self, X, y, sample_weight)
        X, train, w, classes, present, codes, mass = labelled
        self._keep_classes(classes, present)
        q = self._check_n_components()

        # Compute the directions as combinations of all samples, or in the span of a few samples
        self.priors_ = self._check_priors(mass / mass.sum())
        model = classes_of(codes, w, self.priors_)
        G = mean_differences(model, self.priors_)
        if is_low_rank(self.solver, train.gram, len(train)):
            features, result = train.low_rank(self.max_rank)
            warn_of_rank(self, len(result.pivots), omitted_fraction(result))
            solution = primal_directions(result.factor, model, G, alpha=self.alpha)
            self.landmarks_ = train.kept[result.pivots]
            self.solver_ = "low_rank"
            source = features
            second = None
        else:
            self.solver_ = "exact"
            solution = dual_directions(train.matrix(), model, G, alpha=self.alpha)
            source = train.gram
            second = train.second()

        coef = solution.coef[:, :q]
        scores = solution.scores[:, :q]
        self._project = Projection(source, coef, second)
        if second is not None:
            self.dual_coef_ = np.zeros((count_samples(X), q))
            self.dual_coef_[train.kept] = coef

        # Average the scores of each class
        sums = np.zeros((len(mass), q))
        np.add.at(sums, codes, w[:, None] * scores)
        self._keep(sums / mass[:, None], solution.values, solution.ridge)
        return self

    def _fit_features(self, X, y, sample_weight):
        """Compute directions on features at landmarks, from sums over the rows of each class."""
        # 1. Collect rows and classes, and choose landmarks
        blocks, weighted = rows_in_blocks(self, X, y, sample_weight=sample_weight)
        survey = survey_of(self, blocks, weighted)
        classes, present = classes_in(self, blocks, weighted)
        self._keep_classes(classes, present, weighted=weighted)
        classes = self._present_classes
        q = self._check_n_components()
        table, _ = landmark_table(self, blocks, survey, weighted=weighted)

        # 2. Compute the class means and the scatter within the classes
        sums, mass = table.sum(_class_sums, classes)
        self.priors_ = self._check_priors(mass / mass.sum())
        means = sums / mass[:, None]
        scales = self.priors_ / mass
        (scatter,) = table.sum(_class_scatter, classes, means, scales)

        # 3. Solve for the directions
        B = ((means - self.priors_ @ means) * np.sqrt(self.priors_)[:, None]).T
        coef, values, ridge = directions_of_scatter(scatter, B, alpha=self.alpha)
        coef = coef[:, :q] * table.signs(coef[:, :q])
        self._project = Projection(table.features, coef)
        self.landmarks_ = table.landmarks
        self.solver_ = "nystroem"
        vars(self).pop("dual_coef_", None)  # an earlier fit may have set this attribute
        self._keep(means @ coef, values, ridge)
        return self

    def _check_n_components(self):
        """Return the number of directions."""
        largest = len(self._present_classes) - 1
        if self.n_components is not None and self.n_components > largest:
            raise ValueError(
                f"n_components={self.n_components} exceeds {largest}, the number of classes "
                "minus one: the means span no further direction."
            )
        return self.n_components or largest

    def _keep(self, means, values, ridge):
        """Set the attributes from the means of the classes along the directions."""
        self._centre = self.priors_ @ means
        self.class_scores_ = means - self._centre

        self.eigenvalues_ = values[: means.shape[1]]
        total = values.sum()
        self.explained_variance_ratio_ = self.eigenvalues_ / (total if total > 0 else 1.0)
        self.ridge_ = ridge

    @by_rows
    def decision_function(self, X):
        """Compute the log-density plus log-prior of each class, up to a common term.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        values : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes, the value of the second class minus the value of the first.
        """
        values = self._log_joint(X)
        two = values.shape[1] == 2
        return self._with_absent(values[:, 1] - values[:, 0] if two else values)

    @by_rows
    def predict_proba(self, X):
        """Compute the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows add up to 1.
        """
        return self._with_impossible(softmax(self._log_joint(X), axis=1))

    @by_rows
    def predict_log_proba(self, X):
        """Compute the log-probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Log-probabilities, finite even if the probability rounds to 0; minus infinity for
            classes without weight.
        """
        return self._with_impossible(log_softmax(self._log_joint(X), axis=1), -np.inf)

    def _log_joint(self, X):
        check_is_fitted(self)
        Z = self._project(checked_samples(self, X, reset=False)) - self._centre
        means = self.class_scores_
        # Omit the term in |Z|^2, because it is the same for all classes
        return Z @ means.T - 0.5 * (means**2).sum(axis=1) + np.log(self.priors_)

    def _check_priors(self, fractions):
        if self.priors is None:
            return fractions
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != fractions.shape or not (priors > 0).all():
            raise ValueError(
                f"priors={self.priors!r} must contain one positive probability for each of the "
                f"{len(fractions)} classes."
            )
        return priors / priors.sum()


def _class_sums(rows, classes):
    """Return the sum of the features of each class, and its weight."""
    codes = np.searchsorted(classes, np.ravel(rows.others[0]))
    return cluster_sums(rows.Z, rows.weights, codes, len(classes))


def _class_scatter(rows, classes, means, scales):
    """Return the scatter about the class means, each class with its scale."""
    codes = np.searchsorted(classes, np.ravel(rows.others[0]))
    roots = np.sqrt(rows.weights * scales[codes])
    centred = roots[:, None] * (rows.Z - means[codes])
    return (centred.T @ centred,)
