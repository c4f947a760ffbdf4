"""Outlier detection by the distance from a principal subspace of feature space."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    Interval,
    RealNotInt,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.landmarks import (
    Fold,
    Peaks,
    features_at,
    landmark_table,
    rows_in_blocks,
    solver_of,
    survey_of,
)
from skmoderndata._kernelized.low_rank import (
    Projection,
    TrainingSet,
    as_double,
    is_low_rank,
    omitted_fraction,
    positive_weights,
    warn_of_rank,
)
from skmoderndata._kernelized.mixins import KernelOutlierMixin
from skmoderndata._samples.containers import take
from skmoderndata._solvers.common.quantities import N_FOLDS
from skmoderndata._solvers.common.tolerances import RANK_TOL, RESULT_ROUNDING, ROUNDING, TINY
from skmoderndata._solvers.kernel.feature_k_means import feature_moments
from skmoderndata._solvers.kernel.kernel_subspace import (
    count_for,
    feature_subspace,
    kernel_subspace,
    squared_distances,
    subspace_of_moments,
)
from skmoderndata._solvers.kernel.novelty import (
    HELD_OUT_SAMPLES,
    LARGEST_FOLD,
    folds,
    outlier_threshold,
)

BALL_AND_SLAB = "ball_and_slab"


class KernelPCAOutlierDetector(KernelOutlierMixin, Base):
    r"""Detect outliers by their distance from the leading kernel principal components.

    The score of a sample is the negative of its squared distance, in feature space, from the
    affine subspace of the leading principal components of the training samples [1]_, [2]_,

    .. math::
        r(x) = \lVert \phi(x) - \mu \rVert^2
        - \sum_{j \le k} \langle u_j, \phi(x) - \mu \rangle^2 ,

    the reconstruction error. Among all affine subspaces of dimension k, this one minimises the
    mean error of the training samples. The distance does not detect a sample that is far away
    along the subspace: with ``region="ball_and_slab"``, the region of normal samples is therefore
    the intersection of this slab with a ball around the mean [2]_.

    Parameters
    ----------
    n_components : int or float, default=0.5
        Dimension k of the subspace; a number in (0, 1) means the smallest fraction of the
        variance that the subspace must explain.
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the principal components, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" means `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    contamination : float or "auto", default=0.1
        Expected fraction of outliers among new samples from the distribution of the training
        samples, in (0, 0.5]. With "auto", outliers are samples that are farther from the subspace
        than any training sample, held out or not.
    region : {"slab", "ball_and_slab"}, default="slab"
        Region of normal samples: "slab" contains the samples near the subspace, "ball_and_slab"
        only samples that are also near the mean. For "ball_and_slab" the score is the negative of
        the larger of two squared distances, from the subspace and from the mean, each divided by
        its threshold for half of `contamination`.
    solver : {"auto", "exact", "low_rank", "nystroem"}, default="auto"
        Solver: "exact" uses the kernel matrix of all samples; "low_rank" restricts the subspace
        to the span of at most `max_rank` samples chosen by incomplete Cholesky factorisation;
        "nystroem" restricts it to the span of randomly drawn samples and makes passes over the
        rows, as Dask arrays require. "auto" means "exact" up to 1000 samples and for precomputed
        kernels, "nystroem" for tables in blocks, and "low_rank" otherwise.
    max_rank : int, default=300
        Largest number of samples whose span contains the subspace, for the solvers "low_rank" and
        "nystroem".
    random_state : int, RandomState instance or None, default=None
        Seed or generator that draws the samples of `solver="nystroem"`.

    Attributes
    ----------
    offset_ : float
        Score below which a sample is an outlier.
    region_thresholds_ : ndarray of shape (1,) or (2,)
        Divisors of the squared distances: 1 for "slab", the thresholds of slab and ball for
        "ball_and_slab".
    eigenvalues_ : ndarray of shape (n_components_,)
        Variances along the components, in descending order.
    n_components_ : int
        Dimension of the subspace.
    explained_variance_ratio_ : float
        Fraction of the variance explained by the subspace.
    mean_residual_ : float
        Residual variance: mean squared distance of the training samples from the subspace.
    landmarks_ : ndarray of shape (rank,)
        Indices of the training samples whose span contains the subspace. Not set if
        `solver="exact"`.
    solver_ : str
        Solver of the fit: "exact", "low_rank" or "nystroem".
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.KernelPCA : Computes the components.
    skmoderndata.neighbors.KernelCentroidOutlierDetector : Distance from the mean, the subspace of
        dimension 0.
    sklearn.svm.OneClassSVM : A sphere in the feature space.

    Notes
    -----
    The components minimise the residuals of the training samples, so the residuals of new samples
    are larger: with many components, all new samples would be farther from the subspace than any
    training sample. The threshold is therefore a quantile of held-out residuals. Folds of a fifth
    of the samples, with copies of a sample in the same fold, are held out in turn until 500
    samples have been held out. Each fold is compared with the subspace of the remaining samples,
    with the same number of components or fraction of the variance. With `solver="nystroem"` the
    fold of a row depends on its entries, and a fold is a fifth of the rows, or about 25,000 rows
    if there are more than 125,000. `fit_predict` detects a smaller fraction of outliers among the
    training samples than `contamination`.

    Fitting takes the kernel matrix and ``n^2 k`` operations for few components, ``n^3`` for many,
    and ``n r^2`` with the low-rank solver. The held-out residuals take up to four times as long
    as the rest of the fit for 600 samples, and less time than the rest from 2500 samples on. The
    certificate is `mean_residual_`: by the theorem of Schmidt and Mirsky, no subspace of the same
    dimension has a smaller one.

    The subspace must not contain all training samples: their distances would be 0, and every new
    sample would be an outlier. Such a subspace raises an error. Scores need the kernel value of a
    sample with itself, which a precomputed matrix of new samples does not contain. So for
    precomputed kernels `fit` and `fit_predict` work, but new samples raise an error.

    References
    ----------
    .. [1] Hoffmann, Kernel PCA for novelty detection, Pattern Recognition 40(3), 2007,
       pp. 863-874.
    .. [2] Shawe-Taylor and Cristianini, Kernel Methods for Pattern Analysis, Cambridge University
       Press, 2004, Theorem 6.14 and Remark 7.15.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import KernelPCAOutlierDetector
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> X = np.c_[np.cos(angle), np.sin(angle)]
    >>> detector = KernelPCAOutlierDetector(6, gamma=1.0, contamination="auto").fit(X)
    >>> detector.predict([[0.0, 0.0], [0.0, 1.0], [0.0, 1.5]])
    array([-1,  1, -1])
    """

    _card = MethodCard(
        family="kernel methods",
        cite=("hoffmann2007kernel", "shawetaylor2004kernel"),
        cost="n^2 k; low rank r: n r^2",
        fits_blocks=True,
        tier="textbook",
        instead="Use LocalOutlierFactor with `novelty=True`, or the `mahalanobis` distances of "
        "LedoitWolf: they rank outliers as well or better.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, Interval(RealNotInt, 0, 1, closed="neither")],
        **KERNEL_CONSTRAINTS,
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "region": [StrOptions({"slab", BALL_AND_SLAB})],
        "solver": [StrOptions({"auto", "exact", "low_rank", "nystroem"})],
        "max_rank": [AT_LEAST_ONE],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=0.5,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        contamination=0.1,
        region="slab",
        solver="auto",
        max_rank=300,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.contamination = contamination
        self.region = region
        self.solver = solver
        self.max_rank = max_rank
        self.random_state = random_state

    @fit_context()
    def fit(self, X, y=None, sample_weight=None):
        """Estimate the principal subspace, and the threshold from held-out residuals.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features), or list
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
            Tables in blocks take three passes, and three more for each fold.
        y : None
            Not used, present by convention.
        sample_weight : array-like or Dask array of shape (n_samples,), default=None
            Weights of the samples; None gives all samples weight 1.

        Returns
        -------
        self : KernelPCAOutlierDetector
            The fitted estimator.
        """
        if solver_of(self, X) == "nystroem":
            return self._fit_features(X, sample_weight)
        X = checked_samples(self, X, reset=True, ensure_min_samples=2)
        weighted, w = positive_weights(X, sample_weight)
        train = TrainingSet(self, X, weighted, w)
        diagonal = np.asarray(train.gram.diag(train.X), dtype=np.float64)

        # at low rank, use features in the span of the landmarks; `beyond` is the variance outside
        # this span
        low = is_low_rank(self.solver, train.gram, len(train))
        if low:
            features, result = train.low_rank(self.max_rank)
            warn_of_rank(self, len(result.pivots), omitted_fraction(result))
            self.landmarks_ = weighted[result.pivots]
            source = features
            second = None
            values = result.factor
            beyond = float(w @ np.maximum(result.residual, 0.0)) / w.sum()
        else:
            values = train.matrix()
            source = train.gram
            second = train.second()
            beyond = 0.0

        subspace = self._subspace(values, w, low)
        self.solver_ = "low_rank" if low else "exact"
        largest = np.abs(diagonal).max()
        coef = self._keep(subspace, subspace.total + beyond, largest, len(train))
        k = self.n_components_
        # compute the residuals: |phi|^2 minus the part within the subspace
        self._project = Projection(source, coef, second)
        fitted = values @ coef
        distances = self._distances(
            diagonal, fitted[:, :k] - self._shift, fitted[:, k], self._norm
        )

        # choose the threshold from the residuals of held-out rows, because training residuals are
        # too small
        held_out = self._held_out(X, weighted, w, train, diagonal, values, fitted[:, k], low)
        finite = np.isfinite(held_out[:, 0])
        self._set_threshold(held_out[finite], w[finite], distances.max(axis=0))
        return self

    def _fit_features(self, X, sample_weight):
        """Compute subspace and threshold from sums over the rows of features at landmarks."""
        # 1. collect rows and landmarks, and a sample from which the folds take their landmarks
        blocks, weighted = rows_in_blocks(
            self, X, sample_weight=sample_weight, ensure_min_samples=2
        )
        survey = survey_of(self, blocks, weighted)
        table, (sample, *_) = landmark_table(
            self, blocks, survey, weighted=weighted, n_more=2 * self.max_rank
        )

        # 2. find the subspace
        moments = feature_moments(table)
        subspace = self._subspace_of(moments)
        total = subspace.total + moments.beyond / moments.weight
        coef = self._keep(subspace, total, subspace.norm + total, table.n_used)
        self._project = Projection(table.features, coef)
        self.landmarks_ = table.landmarks
        self.solver_ = "nystroem"

        # 3. choose the threshold
        held_out, w = self._held_out_rows(table, sample)
        settings = (subspace, self.n_components_, self.region)
        if len(held_out) == 0:  # There are very few rows.
            held_out, w = table.sum(_distances_of_rows, *settings)
        largest = 0.0
        if self.contamination == "auto":
            (peaks,) = table.sum(_largest_distances, *settings)
            largest = peaks.values
        self._set_threshold(np.array(held_out), np.array(w), largest)
        return self

    def _held_out_rows(self, table, sample):
        """Return squared distances of held-out rows from subspaces, and weights, as lists."""
        n = table.n_used
        fraction = min(1 / N_FOLDS, LARGEST_FOLD / n)
        n_folds = min(N_FOLDS, -(-HELD_OUT_SAMPLES * N_FOLDS // n))
        distances = []
        weights = []
        for f in range(n_folds):
            fold = Fold(f * fraction, (f + 1) * fraction, outside=False)
            training = fold._replace(outside=True)
            landmarks = sample[np.flatnonzero(training.holds(sample))[: self.max_rank]]
            if landmarks.shape[0] == 0:
                continue
            features, _ = features_at(table.features.gram, landmarks)
            moments = feature_moments(table.part(features, training))
            subspace = self._subspace_of(moments)

            total = subspace.total + moments.beyond / moments.weight
            k = self._dimension_in_fold(subspace, total)
            held_out = table.part(features, fold)
            fold_distances, fold_weights = held_out.sum(
                _distances_of_rows, subspace, k, self.region
            )
            distances += fold_distances
            weights += fold_weights
        return distances, weights

    def _subspace_of(self, moments):
        covariance = moments.scatter / moments.weight
        return subspace_of_moments(moments.mean, covariance, self.n_components)

    def _dimension_in_fold(self, subspace, total):
        """Return the dimension of the subspace of a fold."""
        k = self.n_components
        if isinstance(k, Integral):
            return k
        return count_for(subspace.eigenvalues, total, k) if total > 0 else 0

    def _keep(self, subspace, total, scale, n):
        """Set the attributes of the subspace; return the coefficients of components and mean."""
        k = self._count(subspace.eigenvalues, total, scale, n)
        self.n_components_ = k
        self.eigenvalues_ = subspace.eigenvalues[:k]
        self.mean_residual_ = float(total - self.eigenvalues_.sum())
        self.explained_variance_ratio_ = float(self.eigenvalues_.sum() / total)
        self._shift = subspace.shift[:k]
        self._norm = subspace.norm
        return np.c_[subspace.coef[:, :k], subspace.mean]

    def _distances(self, diagonal, scores, means, norm):
        """Return squared distances (n, 1 or 2), as `region_distances` does."""
        return region_distances(diagonal, scores, means, norm, self.region)

    def _scores_of(self, distances):
        """Return the scores: the largest distance, each relative to its threshold, negated."""
        return -(distances / self.region_thresholds_).max(axis=1)

    def _set_threshold(self, held_out, w, largest):
        """Set the thresholds from held-out distances and the largest training distances."""
        largest = np.maximum(largest, held_out.max(axis=0))

        # 1. choose the thresholds of the distances so that each region excludes half of the
        # allowed fraction of outliers
        self.region_thresholds_ = np.ones(held_out.shape[1])
        if self.region == BALL_AND_SLAB:
            limits = largest
            if self.contamination != "auto":
                half = self.contamination / 2
                limits = [-outlier_threshold(-column, w, half) for column in held_out.T]
            self.region_thresholds_ = np.maximum(limits, np.finfo(float).tiny)

        # 2. choose the threshold of the scores
        if self.contamination != "auto":
            scores = self._scores_of(held_out)
            self.offset_ = outlier_threshold(scores, w, self.contamination)
        else:
            lowest = float(self._scores_of(largest[None])[0])
            # Rounding errors must not make a training sample an outlier.
            self.offset_ = lowest - RESULT_ROUNDING * abs(lowest)

    @in_memory
    def score(self, X, y=None):
        """Compute the mean score: for "slab", minus the mean squared distance from the subspace.

        It increases with `n_components` and depends on the scale of the kernel; to choose the
        number and the kernel, use labelled outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Mean score; higher is better.
        """
        check_is_fitted(self)
        return float(np.mean(self._score_samples(checked_samples(self, X, reset=False))))

    def _subspace(self, values, w, low):
        """Compute all components that may be needed, from coordinates or a kernel matrix."""
        solve = feature_subspace if low else kernel_subspace
        return solve(values, w, self.n_components)

    def _held_out(self, X, weighted, w, train, diagonal, values, key, low):
        """Return squared distances of held-out samples; NaN for samples that are not held out."""
        held_out = np.full((len(w), 2 if self.region == BALL_AND_SLAB else 1), np.nan)
        for inside, outside in folds(values, key):
            if low:
                # Choose landmarks outside the held-out samples, because landmarks have no
                # residual.
                fold = TrainingSet(self, X, weighted[inside], gram=train.gram)
                features, result = fold.low_rank(self.max_rank)
                fitted = result.factor
                rows = features(take(X, weighted[outside]))
                beyond = float(w[inside] @ np.maximum(result.residual, 0.0)) / w[inside].sum()
            else:
                fitted = values[np.ix_(inside, inside)]
                rows = values[np.ix_(outside, inside)]
                beyond = 0.0

            subspace = self._subspace(fitted, w[inside], low)
            total = subspace.total + beyond
            k = self._dimension_in_fold(subspace, total)
            scores = rows @ subspace.coef[:, :k] - subspace.shift[:k]
            held_out[outside] = self._distances(
                diagonal[outside], scores, rows @ subspace.mean, subspace.norm
            )

        return held_out

    def _count(self, eigenvalues, total, scale, n):
        """Return the dimension of the subspace, which must not explain all of the variance."""
        rank = int(np.sum(eigenvalues > RANK_TOL * max(total, TINY)))
        if rank == 0 or total <= ROUNDING * scale:
            raise ValueError(
                f"{type(self).__name__} needs samples that differ in feature space, but all {n} "
                "are equal."
            )

        if isinstance(self.n_components, Integral):
            k = self.n_components
        else:
            k = count_for(eigenvalues, total, self.n_components)

        # a subspace of full rank leaves no residuals: if the dimension was not set by the user,
        # reduce it; otherwise raise an error
        unexplained = total - eigenvalues[:k].sum()
        if k > len(eigenvalues) or unexplained <= RANK_TOL * total:
            if isinstance(self.n_components, Integral):
                raise ValueError(
                    f"n_components={k} explains the training samples completely, because they "
                    f"span {rank} dimensions in feature space around their mean: every new sample "
                    "would be an outlier. Lower n_components."
                )
            k = rank - 1
            if k == 0:
                raise ValueError(
                    "The samples lie on a line in feature space, so no proper subspace can be "
                    "fitted. Use KernelCentroidOutlierDetector."
                )

        return k

    def _score_samples(self, X):
        diagonal = np.asarray(self._project.source_gram.diag(as_double(X)), dtype=np.float64)
        values = self._project(X)
        distances = self._distances(
            diagonal, values[:, :-1] - self._shift, values[:, -1], self._norm
        )
        return self._scores_of(distances)


def region_distances(diagonal, scores, means, norm, region):
    """Return squared distances (n, 1 or 2) from the subspace and, with a ball, the mean."""
    distances = [squared_distances(diagonal, scores, means, norm)]
    # The distance from the mean is the distance from a subspace without components.
    if region == BALL_AND_SLAB:
        distances.append(squared_distances(diagonal, scores[:, :0], means, norm))
    return np.stack(distances, axis=1)


def _distances(rows, subspace, k, region):
    """Return squared distances from the subspace of k dimensions."""
    diagonal = rows.beyond + np.einsum("ij,ij->i", rows.Z, rows.Z)
    scores = rows.Z @ subspace.coef[:, :k] - subspace.shift[:k]
    return region_distances(diagonal, scores, rows.Z @ subspace.mean, subspace.norm, region)


def _distances_of_rows(rows, subspace, k, region):
    """Return squared distances and weights as lists."""
    return _distances(rows, subspace, k, region).tolist(), rows.weights.tolist()


def _largest_distances(rows, subspace, k, region):
    return (Peaks(_distances(rows, subspace, k, region).max(axis=0, initial=0.0)),)
