"""Intrinsic dimension of samples from the concentration of their distances."""

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRED_DISTANCES, paired_distances
from sklearn.utils import check_random_state, gen_batches

from skmoderndata._estimator.compat import AT_LEAST_ONE, validate_params
from skmoderndata._estimator.validation import check_array
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import ROUNDING

# Maximum number of samples for which all pairs are used.
ALL_PAIRS = 2000


@validate_params(
    {
        "X": ["array-like"],
        "metric": [str, callable],
        "n_pairs": [AT_LEAST_ONE, None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def intrinsic_dimension(X, *, metric="euclidean", n_pairs=None, random_state=None):
    r"""Estimate the dimension of Gaussian data with the same concentration of distances as X.

    The squared distance of two standard normal vectors of dimension D is :math:`2 \chi^2_D`, with
    mean 2 D and variance 8 D, so that the relative spread of distances decreases with the
    dimension [1]_. For squared Euclidean distances the estimate is therefore

    .. math::
        \hat D = 2\, \frac{(\operatorname{mean} d^2)^2}{\operatorname{var} d^2},

    which is :math:`(\operatorname{tr} C)^2 / \operatorname{tr} C^2` for Gaussian data of
    covariance C; for other metrics it is :math:`(\operatorname{mean} d)^2 / (2
    \operatorname{var} d)` [2]_, which has the same limit for large D.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
        Samples, or their distances if `metric="precomputed"`.
    metric : str or callable, default="euclidean"
        Distance: a name or function that `sklearn.metrics.pairwise_distances` accepts.
    n_pairs : int, default=None
        Number of pairs drawn at random. None means all pairs for up to 2,000 samples, otherwise
        2,000,000 pairs.
    random_state : int, RandomState instance or None, default=None
        Controls the random pairs. Pass an int for reproducible results.

    Returns
    -------
    dimension : float
        Estimated dimension; infinite if all distances are equal.

    See Also
    --------
    sklearn.decomposition.PCA : Estimates the dimension of a linear model with
        `n_components="mle"`.

    Notes
    -----
    The estimate is global: it depends on the spread of the whole sample, so that a curve that
    fills a plane counts as two-dimensional, and clusters decrease it. The package scikit-dimension
    has local estimators, based on distances to neighbours.

    References
    ----------
    .. [1] Spoerri, Computational intelligence lab: course summary, 2013, section 1.
    .. [2] Chavez, Navarro, Baeza-Yates and Marroquin, Searching in metric spaces, ACM Computing
       Surveys 33(3), 2001, section 7.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.metrics import intrinsic_dimension
    >>> rng = np.random.default_rng(0)
    >>> flat = rng.normal(size=(1000, 3)) @ rng.normal(size=(3, 50))
    >>> round(intrinsic_dimension(flat), 1)
    3.0
    """
    euclidean = isinstance(metric, str) and metric == "euclidean"
    X = check_array(X, dtype=np.float64, ensure_min_samples=3)
    n = len(X)

    # use precomputed distances, or compute them for all pairs or for random pairs
    if isinstance(metric, str) and metric == "precomputed":
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f'metric="precomputed" needs a square matrix of distances: X has shape {X.shape}.'
            )
        d = _of_pairs(X)
    elif n_pairs is None and n <= ALL_PAIRS:
        d = pdist(X) if euclidean else _of_pairs(pairwise_distances(X, metric=metric))
    else:
        rng = check_random_state(random_state)
        n_all = n * (n - 1) // 2
        m = min(n_pairs or ALL_PAIRS**2 // 2, n_all)
        d = _distances_of_pairs(X, m, metric, rng)

    scale = d.max()
    if not scale > 0:
        raise ValueError(
            "intrinsic_dimension needs samples that differ: all distances are zero."
        )
    d = d / scale

    # find the dimension with the same relative spread of distances as the samples
    if euclidean:
        d = d**2

    variance = d.var()
    if variance <= ROUNDING**2:
        return float("inf")
    factor = 2.0 if euclidean else 0.5
    return float(factor * d.mean() ** 2 / variance)


def _of_pairs(D):
    """Return the entries of a square matrix above its diagonal."""
    return D[np.triu_indices(len(D), 1)]


def _distances_of_pairs(X, m, metric, rng):
    """Compute the distances of m random pairs of different samples."""
    n = len(X)
    # draw a second sample that differs from the first one
    i = rng.randint(n, size=m)
    j = (i + rng.randint(1, n, size=m)) % n

    if not isinstance(metric, str):
        pairs = zip(i, j, strict=True)
        distances = [metric(X[a], X[b]) for a, b in pairs]
        return np.array(distances, dtype=np.float64)
    d = np.empty(m)
    if metric in PAIRED_DISTANCES:
        for block in gen_batches(m, max(1, TEMPORARY_BYTES // (FLOAT_BYTES * X.shape[1]))):
            first = X[i[block]]
            second = X[j[block]]
            d[block] = paired_distances(first, second, metric=metric)
        return d

    settled = {}  # compute parameters of the metric from all samples
    if metric == "seuclidean":
        settled["V"] = X.var(axis=0, ddof=1)
    elif metric == "mahalanobis":
        covariance = np.cov(X.T)
        settled["VI"] = np.linalg.inv(covariance).T

    # the metric has no paired form: compute all pairs of a sample together
    order = np.argsort(i, kind="stable")
    stops = np.searchsorted(i[order], np.arange(n + 1))
    for a in range(n):
        pairs = order[stops[a] : stops[a + 1]]
        if len(pairs):
            others = X[j[pairs]]
            D = pairwise_distances(X[a : a + 1], others, metric=metric, **settled)
            d[pairs] = D[0]
    return d
