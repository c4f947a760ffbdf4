"""Generalisation bounds from quantities measured on the training samples.

Each bound holds with probability 1 - delta over the draw of n independent samples, for parameters
fixed in advance. Bounds are not clipped: a bound above 1 on a probability is vacuous. All are from
Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, with corrections.

>>> from skmoderndata.metrics import bounds
>>> round(bounds.margin_bound(0.0, 0.5, 1000.0, 1000), 2)
0.38
"""

import numpy as np
from sklearn.utils import check_random_state

from skmoderndata._estimator.validation import check_array

__all__ = [
    "cca_bound",
    "center_of_mass_bound",
    "compression_bound",
    "kernel_pca_residual_bound",
    "l2_margin_bound",
    "leave_one_out_bound",
    "margin_bound",
    "mistake_bound",
    "novelty_bound",
    "ranking_bound",
    "ridge_bound",
    "svr_bound",
]


def rademacher_complexity(K, norm=1.0, *, method="trace", n_draws=1000, random_state=None):
    r"""Compute the empirical Rademacher complexity of functions of bounded norm in kernel space.

    :math:`\hat R = \tfrac2n B\, \mathbb{E} \sqrt{\sigma^\top K \sigma}` over random signs, which
    is at most :math:`\tfrac2n B \sqrt{\operatorname{tr} K}`. It measures how well functions of
    norm at most B can fit noise on these samples.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix.
    norm : float, default=1.0
        Largest norm B of a function, above 0.
    method : {"trace", "monte_carlo"}, default="trace"
        "trace" computes the bound from the trace, "monte_carlo" the mean over `n_draws` random
        signs.
    n_draws : int, default=1000
        Number of random sign vectors for "monte_carlo".
    random_state : int, RandomState instance or None, default=None
        Controls the random signs. Pass an int for reproducible results.

    Returns
    -------
    complexity : float
        The complexity, or its bound by the trace.

    References
    ----------
    .. [1] Bartlett and Mendelson, Rademacher and Gaussian complexities, Journal of Machine
       Learning Research 3, 2002, Lemma 22.

    Examples
    --------
    >>> from skmoderndata.metrics import rademacher_complexity
    >>> rademacher_complexity([[1.0, 0.0], [0.0, 1.0]])
    1.4142135623730951
    """
    K = check_array(K, dtype=np.float64, input_name="K", kernel_values=True)
    n = len(K)
    if K.shape != (n, n):
        raise ValueError(f"rademacher_complexity: K must be square, got shape {K.shape}.")
    if not norm > 0:
        raise ValueError(f"norm={norm} must be positive.")

    # use Jensen's inequality to obtain a bound, or average over random signs
    if method == "trace":
        trace = max(float(np.trace(K)), 0.0)
        return 2.0 * norm * float(np.sqrt(trace)) / n
    if method != "monte_carlo":
        raise ValueError(f"method must be 'trace' or 'monte_carlo', got {method!r}.")

    rng = check_random_state(random_state)
    draws = rng.randint(0, 2, size=(int(n_draws), n))
    signs = 2.0 * draws - 1.0
    values = np.einsum("ij,ij->i", signs @ K, signs)
    norms = np.sqrt(np.maximum(values, 0.0))
    return 2.0 * norm * float(norms.mean()) / n


def center_of_mass_bound(n, radius, *, delta=0.05):
    """Bound the distance of the mean of n samples from its expectation (theorem 5.5).

    Parameters
    ----------
    n : int
        Number of samples.
    radius : float
        Largest norm of a sample in feature space.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest distance.
    """
    _check(n, delta)
    expected = np.sqrt(2.0 * radius**2 / n)
    deviation = np.sqrt(np.log(1.0 / delta))
    return float(expected * (np.sqrt(2.0) + deviation))


def kernel_pca_residual_bound(eigenvalues, diagonal, n_components, radius, *, delta=0.05):
    """Bound the mean squared residual of new samples after projection (theorem 6.14).

    Parameters
    ----------
    eigenvalues : array-like
        Eigenvalues of the kernel matrix.
    diagonal : array-like of shape (n_samples,)
        Diagonal of the kernel matrix.
    n_components : int
        Number of components of the projection.
    radius : float
        Largest norm of a sample in feature space.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest expected squared residual.
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    values = np.sort(values)[::-1]
    d = np.asarray(diagonal, dtype=np.float64)
    squares = float((d**2).sum())
    n = len(d)
    _check(n, delta)

    # minimise the bound over all dimensions up to the dimension of the projection
    largest = min(int(n_components), len(values))
    t = np.arange(largest + 1)
    explained = np.r_[0.0, np.cumsum(values)][t]
    left_out = values.sum() - explained
    spread = np.sqrt((t + 1) * squares)
    best = (left_out / n + 8.0 / n * spread).min()
    return float(best + 3.0 * radius**2 * _deviation(n, delta))


def novelty_bound(slack, gap, radius, n, *, delta=0.05):
    """Bound the probability that a new sample is outside an enlarged sphere (theorem 7.12).

    The contraction constant 2 R^2 / gap of the proof gives a factor of 12 instead of the printed
    6.

    Parameters
    ----------
    slack : float
        Sum of the slacks of the training samples, in squared distances.
    gap : float
        Amount by which the squared radius is enlarged for new samples.
    radius : float
        Largest norm of a sample in feature space.
    n : int
        Number of samples.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest probability.
    """
    _check(n, delta, gap=gap)
    complexity = 12.0 * radius**2 / (gap * np.sqrt(n))
    fit = slack / (gap * n) + complexity
    return float(fit + 3.0 * _deviation(n, delta))


def margin_bound(slack, margin, trace, n, *, delta=0.05):
    """Bound the error probability of a hard- or soft-margin classifier (theorems 7.22, 7.30).

    Parameters
    ----------
    slack : float
        Sum of the slacks for a function of norm one; 0 for a hard margin.
    margin : float
        Margin of that function.
    trace : float
        Trace of the kernel matrix.
    n : int
        Number of samples.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest probability.
    """
    _check(n, delta, margin=margin)
    fit = (slack + 4.0 * np.sqrt(trace)) / (n * margin)
    return float(fit + 3.0 * _deviation(n, delta))


def l2_margin_bound(dual_sq, ridge, margin, trace, n, *, delta=0.05):
    """Bound the error probability with squared slacks, by the better of two bounds (theorem 7.38).

    Parameters
    ----------
    dual_sq : float
        Sum of the squared dual weights; the weights sum to one.
    ridge : float
        Ridge added to the diagonal of the kernel matrix.
    margin : float
        Square root of the quadratic form with the ridge.
    trace : float
        Trace of the kernel matrix, without the ridge.
    n : int
        Number of samples.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest probability.
    """
    _check(n, delta, margin=margin)
    complexity = 8.0 * np.sqrt(trace) / margin
    squared = ridge**2 * dual_sq / margin**4 + complexity
    hard = 4.0 * np.sqrt(trace + n * ridge) / margin
    fit = min(squared, hard) / n
    return float(fit + 3.0 * _deviation(n, delta / 2.0))


def ridge_bound(mse, norm, trace, y_norm, radius, n, *, delta=0.05):
    """Bound the mean squared error of ridge regression on new samples (theorem 7.39).

    Parameters
    ----------
    mse : float
        Mean squared error on the training samples.
    norm : float
        Largest norm B of the function.
    trace : float
        Trace of the kernel matrix.
    y_norm : float
        Euclidean norm of the vector of targets; no target exceeds ``norm * radius``.
    radius : float
        Largest norm of a sample in feature space.
    n : int
        Number of samples.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest expected squared error.
    """
    _check(n, delta)
    largest = norm * np.sqrt(trace) + y_norm
    complexity = 16.0 * radius * norm / n * largest
    loss_range = 12.0 * (radius * norm) ** 2
    return float(mse + complexity + loss_range * _deviation(n, delta))


def svr_bound(slack, norm, trace, threshold, epsilon, n, *, delta=0.05):
    """Bound the probability of a large error in support vector regression (theorem 7.49).

    Parameters
    ----------
    slack : float
        Sum of the errors beyond the tube on the training samples.
    norm : float
        Norm of the function.
    trace : float
        Trace of the kernel matrix.
    threshold : float
        Absolute error that counts as large; above `epsilon`.
    epsilon : float
        Half the width of the tube.
    n : int
        Number of samples.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest probability.
    """
    _check(n, delta)
    if not threshold > epsilon:
        raise ValueError(f"threshold={threshold} must be larger than epsilon={epsilon}.")
    fit = (slack + 4.0 * norm * np.sqrt(trace)) / n
    probability = fit / (threshold - epsilon)
    return float(probability + 3.0 * _deviation(n, delta))


def mistake_bound(n_updates, n, *, delta=0.05):
    """Bound the error probability of an online machine that converged (theorem 7.54).

    Parameters
    ----------
    n_updates : int
        Number of updates until the last pass made no mistake, at most half of the samples.
    n : int
        Number of samples.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest probability.
    """
    _check(n, delta)
    if not 0 <= n_updates <= n / 2:
        raise ValueError(f"n_updates={n_updates} must be between 0 and n / 2 = {n / 2:g}.")
    confidence = np.log(n / (2.0 * delta))
    words = n_updates * np.log(n) + confidence
    return float(words / (n - n_updates))


def compression_bound(n_support, n, *, delta=0.05):
    """Bound the error probability of a hard margin with few support vectors (theorem 7.56).

    Parameters
    ----------
    n_support : int
        Number of support vectors, fewer than samples.
    n : int
        Number of samples.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest probability.
    """
    _check(n, delta)
    if not 1 <= n_support < n:
        raise ValueError(f"n_support={n_support} must be between 1 and n - 1 = {n - 1}.")
    subsets = n_support * np.log(np.e * n / n_support)
    words = subsets + np.log(n / delta)
    return float(words / (n - n_support))


def leave_one_out_bound(n_support, n):
    """Bound the leave-one-out error of a support vector machine (remark 7.57).

    Parameters
    ----------
    n_support : int
        Number of support vectors.
    n : int
        Number of samples.

    Returns
    -------
    bound : float
        Largest fraction of errors. It also bounds the expected error after training on n - 1
        samples.
    """
    if not 0 <= n_support <= n or n < 1:
        raise ValueError(f"n_support={n_support} must be between 0 and n={n}.")
    return n_support / n


def ranking_bound(slack, margin, trace, n, *, delta=0.05):
    """Bound the probability that `NuSVOR` ranks a new sample wrongly (equation 8.3).

    Parameters
    ----------
    slack, margin, trace : float
        As in `margin_bound`, with the slacks at all thresholds.
    n : int
        Number of samples.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest probability.
    """
    _check(n, delta, margin=margin)
    fit = (2.0 * slack + 8.0 * np.sqrt(trace)) / (n * margin)
    return float(fit + 6.0 * _deviation(n, delta))


def cca_bound(correlation, norm_a, norm_b, diagonal, radius, n, *, delta=0.05):
    """Bound the mean squared difference of two projected views of new samples (theorem 6.33).

    The views are projected by CCA. The printed norm ``2 |w_a|^2 |w_b|^2`` is corrected to
    ``|w_a|^2 + |w_b|^2``.

    Parameters
    ----------
    correlation : float
        Covariance of the two projections on the training samples, each of variance one.
    norm_a, norm_b : float
        Norms of the two directions in feature space.
    diagonal : array-like of shape (n_samples,)
        Sums of the diagonals of the two kernel matrices.
    radius : float
        Square root of the largest possible entry of `diagonal`.
    n : int
        Number of samples.
    delta : float, default=0.05
        Probability that the bound fails, above 0 and below 1.

    Returns
    -------
    bound : float
        Largest expected squared difference.
    """
    _check(n, delta)
    size = norm_a**2 + norm_b**2
    entries = np.asarray(diagonal, dtype=np.float64)
    spread = float(np.sqrt((entries**2).sum()))
    complexity = 2.0 * size / n * spread
    deviation = 3.0 * size * radius**2 * _deviation(n, delta)
    fit = 2.0 * (1.0 - correlation)
    return float(fit + (complexity + deviation))


def _deviation(n, delta):
    """Return the deviation of a mean of n numbers between 0 and 1 (McDiarmid)."""
    variance = np.log(2.0 / delta) / (2.0 * n)
    return np.sqrt(variance)


def _check(n, delta, **positive):
    if not n >= 1:
        raise ValueError(f"n={n} must be at least 1.")
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta} must be between 0 and 1.")
    for name, value in positive.items():
        if not value > 0:
            raise ValueError(f"{name}={value} must be positive.")
