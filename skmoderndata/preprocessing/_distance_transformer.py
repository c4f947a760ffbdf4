"""Distances between samples of any type, as a pipeline step."""

from functools import partial

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_even_slices
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import N_JOBS, NamedOptions, fit_context
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import list_of_samples
from skmoderndata._samples.edits import edit_matrix
from skmoderndata._samples.elastic import PARAMETERS, elastic_matrix
from skmoderndata._samples.sequences import pack
from skmoderndata._samples.series import is_frame, pack_series, rows_of_frame

# Metrics whose functions accept n_jobs themselves.
METRICS = {"edit": edit_matrix} | {
    metric: partial(elastic_matrix, metric=metric, name="DistanceTransformer")
    for metric in PARAMETERS
}


class DistanceTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    """Transform samples to their distances from the training samples.

    Use it before any estimator with ``metric="precomputed"``: nearest neighbours, DBSCAN,
    hierarchical clustering, Isomap, multidimensional scaling, t-SNE. Samples may be strings,
    sequences of tokens, or any objects that the metric accepts.

    Parameters
    ----------
    metric : {"edit", "dtw", "weighted_dtw", "erp", "msm", "twe", "lcss"} or callable, \
            default="edit"
        Distance between samples. "edit" is the edit distance of strings and sequences of tokens,
        see `skmoderndata.metrics.edit_distance`; the other names are distances of time series, see
        `skmoderndata.metrics.pairwise_elastic`. A callable accepts two lists of samples and
        returns the matrix of distances.
    metric_params : dict, default=None
        Further keyword arguments of the metric.
    n_jobs : int, default=None
        Number of threads. Each thread calls the metric with a subset of the rows.

    Attributes
    ----------
    X_fit_ : list
        Training samples.

    See Also
    --------
    KernelTransformer : Computes similarities instead of distances.
    skmoderndata.metrics.kernel_distances : Computes distances from kernel values.
    skmoderndata.neighbors.DTWNeighborsClassifier : Finds nearest time series without a matrix.

    Notes
    -----
    A collection of samples is a list, a tuple, an array of objects or of strings, a column of a
    data frame, or an array with at least two dimensions; a table in place of single samples raises
    an error. Distances must be finite and at least 0. The triangle inequality is not required
    here, but some estimators need it. In contrast to ``NearestNeighbors(metric=callable)``,
    samples need not have equal length.

    scikit-learn's own checks do not run, because samples are not vectors.

    References
    ----------
    .. [1] Wagner and Fischer, The string-to-string correction problem, Journal of the ACM 21(1),
       1974, pp. 168-173.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from skmoderndata.preprocessing import DistanceTransformer
    >>> words = ["colour", "color", "colours", "flavour", "flavor", "flavors"]
    >>> model = make_pipeline(DistanceTransformer(), KNeighborsClassifier(1, metric="precomputed"))
    >>> model.fit(words, [0, 0, 0, 1, 1, 1]).predict(["colors", "flavours"])
    array([0, 1])

    Time series of any lengths, with a band of two steps:

    >>> series = [[0, 0, 1, 0], [0, 1, 0], [3, 3, 2], [3, 2, 2, 2]]
    >>> transformer = DistanceTransformer("dtw", metric_params={"radius": 2})
    >>> transformer.fit_transform(series).round(1)
    array([[0. , 0. , 4.8, 4.2],
           [0. , 0. , 4.1, 3.9],
           [4.8, 4.1, 0. , 0. ],
           [4.2, 3.9, 0. , 0. ]])
    """

    _card = MethodCard(
        family="distances",
        cite=("wagner1974string", "hyyro2003bit"),
        cost="n^2 distances",
        samples="strings",
    )
    _parameter_constraints = {
        "metric": [
            NamedOptions(
                set(METRICS),
                elsewhere="for soft_dtw, which other libraries call 'softdtw', pass a "
                "function that calls it for each pair",
            ),
            callable,
        ],
        "metric_params": [dict, None],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(self, metric="edit", *, metric_params=None, n_jobs=None):
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @fit_context()
    def fit(self, X, y=None):
        """Store the training samples.

        Parameters
        ----------
        X : collection of n_samples samples
            Training samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : DistanceTransformer
            The fitted transformer.
        """
        self.X_fit_ = self._samples(X, reset=True)
        self._n_features_out = len(self.X_fit_)
        return self

    def fit_transform(self, X, y=None):
        """Compute the distances among the training samples.

        Parameters
        ----------
        X : collection of n_samples samples
            Training samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        D : ndarray of shape (n_samples, n_samples)
            Distances.
        """
        self.fit(X, y)
        return self._distances(self.X_fit_, None)

    @by_rows
    def transform(self, X):
        """Compute the distances of samples from the training samples.

        Parameters
        ----------
        X : collection of n_samples samples
            Samples.

        Returns
        -------
        D : ndarray of shape (n_samples, n_train)
            Distances.
        """
        check_is_fitted(self)
        return self._distances(self._samples(X, reset=False), self.X_fit_)

    def _samples(self, X, *, reset):
        name = type(self).__name__
        if is_frame(X) and self.metric != "edit":
            X = rows_of_frame(X, name)
        samples = list_of_samples(X, name, own=reset)
        # Check that samples are sequences or series.
        if self.metric == "edit":
            pack(samples, name)
        elif self.metric in PARAMETERS:
            pack_series(samples, name)
        return samples

    def _distances(self, X, Z):
        params = self.metric_params or {}
        n = len(X)
        m = len(X if Z is None else Z)

        if isinstance(self.metric, str):
            D = METRICS[self.metric](X, Z, **params, n_jobs=self.n_jobs)
        else:
            # Use threads for slices of rows, because a callable need not be picklable.
            targets = X if Z is None else Z
            jobs = min(effective_n_jobs(self.n_jobs), n)
            pool = Parallel(n_jobs=jobs, prefer="threads")
            metric = delayed(self.metric)
            slices = gen_even_slices(n, jobs)
            samples = [X] if jobs == 1 else [X[rows] for rows in slices]
            blocks = pool(metric(block, targets, **params) for block in samples)
            D = np.concatenate([np.atleast_1d(block).astype(np.float64) for block in blocks])

        if D.shape != (n, m):
            raise ValueError(
                f"{type(self).__name__}: metric={self.metric!r} returned an array of shape "
                f"{D.shape} for {n} and {m} samples; it must return the matrix of all "
                f"distances, of shape ({n}, {m})."
            )

        if D.size and not (D.min() >= 0 and D.max() < np.inf):  # this test also fails for NaN
            raise ValueError(
                f"{type(self).__name__}: metric={self.metric!r} gives distances that are NaN, "
                "infinite or negative on these samples."
            )

        return D

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
