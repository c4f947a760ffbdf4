"""Number of components of a table with noise, from its singular values."""

from numbers import Real

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from skmoderndata._estimator.compat import NON_NEGATIVE, validate_params
from skmoderndata._estimator.validation import check_array

EPS = float(np.finfo(np.float64).eps)


@validate_params(
    {
        "singular_values": ["array-like"],
        "shape": [tuple, list],
        "noise_std": [NON_NEGATIVE, None],
    },
    prefer_skip_nested_validation=True,
)
def optimal_rank(singular_values, shape, noise_std=None):
    r"""Count the singular values that are worth keeping in a table of low rank and noise.

    For an (n, p) table ``X = L + noise`` with independent noise of standard deviation
    :math:`\sigma`, keeping the singular values above :math:`\lambda(\beta) \sqrt{m}\, \sigma`,
    with m the larger and :math:`\beta m` the smaller side, has the least mean squared error among
    all thresholds, for large tables and the least favourable L [1]_:

    .. math::
        \lambda(\beta)^2 = 2 (\beta + 1)
        + \frac{8 \beta}{\beta + 1 + \sqrt{\beta^2 + 14 \beta + 1}}.

    For unknown noise the threshold is :math:`\omega(\beta)` times the median singular value, with
    :math:`\omega(\beta) = \lambda(\beta) / \sqrt{\mu_\beta}` and :math:`\mu_\beta` the median of
    the Marchenko-Pastur law [1]_, here integrated and not approximated.

    Parameters
    ----------
    singular_values : array-like of shape (k,)
        Singular values of X, in any order; all ``min(n, p)`` of them unless `noise_std` is given.
    shape : tuple of int
        Shape of X.
    noise_std : float, default=None
        Standard deviation of the noise; None estimates it from the median singular value.

    Returns
    -------
    rank : int
        Number of singular values above the threshold.

    See Also
    --------
    sklearn.decomposition.PCA : Uses the likelihood of a linear model with ``n_components="mle"``.
    skmoderndata.decomposition.RobustPCA : For tables in which some entries are wrong or missing.

    Notes
    -----
    Noise that differs between columns, outliers or entries that depend on each other break the
    rule: scale the columns to equal noise first. The median needs a rank below half of the
    smaller side. No method can distinguish a component from noise if its singular value in L is
    below about :math:`\sqrt[4]{n p}\, \sigma`; the threshold is somewhat higher, because
    components near that limit are estimated so badly that it is better to omit them. Centred
    columns have one dimension less: pass ``(n - 1, p)``.

    References
    ----------
    .. [1] Gavish and Donoho, The optimal hard threshold for singular values is 4 / sqrt(3), IEEE
       Transactions on Information Theory 60(8), 2014, pp. 5040-5053.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.metrics import optimal_rank
    >>> rng = np.random.default_rng(0)
    >>> L = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 50))
    >>> X = L + rng.normal(size=(200, 50))
    >>> optimal_rank(np.linalg.svd(X, compute_uv=False), X.shape)
    4
    """
    s = check_array(singular_values, ensure_2d=False, dtype=np.float64)
    if s.ndim != 1:
        raise ValueError(f"singular_values must have one dimension, got shape {s.shape}.")
    if s.min() < 0:
        raise ValueError(f"singular_values must not be negative, got {s.min():.3g}.")
    if len(shape) != 2 or not all(isinstance(side, Real) and side >= 1 for side in shape):
        raise ValueError(
            f"shape must be two positive numbers of rows and columns, got {shape}."
        )
    small, large = sorted(shape)
    if len(s) > small or (noise_std is None and len(s) < small):
        raise ValueError(
            f"a table of shape {tuple(shape)} has {small} singular values, got {len(s)}: pass all "
            "of them, or the leading ones with noise_std."
        )

    # set singular values that are rounding errors to zero
    s = np.where(s > EPS * large * s.max(), s, 0.0)
    if noise_std is None:
        ratio = small / large
        threshold = optimal_threshold(ratio) / np.sqrt(noise_median(ratio)) * np.median(s)
    else:
        threshold = optimal_threshold(small / large) * np.sqrt(large) * noise_std
    return int(np.count_nonzero(s > threshold))


def optimal_threshold(ratio):
    """Return the best threshold on singular values, for noise 1 / sqrt(larger side)."""
    root = np.sqrt(ratio**2 + 14 * ratio + 1)
    return float(np.sqrt(2 * (ratio + 1) + 8 * ratio / (ratio + 1 + root)))


def noise_median(ratio):
    """Return the median of the Marchenko-Pastur law, of squared singular values of noise."""
    low = (1 - np.sqrt(ratio)) ** 2
    high = (1 + np.sqrt(ratio)) ** 2

    def probability(t):
        """Return the probability from `low` to t, with both square roots substituted away."""
        end = 2 * np.arcsin(np.sqrt((t - low) / (high - low)))

        def density(angle):
            x = low + (high - low) * np.sin(angle / 2) ** 2
            return ((high - low) * np.sin(angle) / 2) ** 2 / (2 * np.pi * ratio * x)

        return quad(density, 0.0, end)[0]

    return float(brentq(lambda t: probability(t) - 0.5, low, high))
