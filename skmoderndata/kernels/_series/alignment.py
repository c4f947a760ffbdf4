"""Kernels on series of any lengths: warping distances and global alignments."""

from typing import Any

import numpy as np

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.containers import as_samples
from skmoderndata._samples.series import (
    Series,
    is_frame,
    pack_series,
    rooted_local,
    rows_of_frame,
    same_channels,
    warping_band,
)
from skmoderndata._solvers.alignment.corridors import Band
from skmoderndata._solvers.alignment.global_alignment import (
    LocalKernel,
    alignment_slopes,
    log_alignment_sums,
    own_log_alignment_sums,
)
from skmoderndata._solvers.alignment.paths import aligned_by_scales
from skmoderndata._solvers.alignment.warping import alignment_costs
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import BaseKernel

FAMILY = "kernels on series"
PAGE = "series_kernels"

# Maximum logarithm whose exponential is finite in double precision.
LARGEST_LOG = 709.0


class SeriesKernel(BaseKernel):
    """A kernel on series: `_gram` and `_diag` accept `Series` collections."""

    @property
    def encoding(self) -> str | None:
        """Name of the form that `encode` stores, common to all kernels on series."""
        return "series"

    def _check(self, X: Any) -> Series:
        return pack_series(X, type(self).__name__)

    def _collection(self, X: Any, name: str) -> list[Any]:
        samples = rows_of_frame(X, name) if is_frame(X) else X
        return as_samples(samples, name)


class DTWKernel(SeriesKernel):
    r"""Exponential of the dynamic time warping distance.

    .. math:: k(x, z) = e^{-\gamma \, d(x, z)^q}

    Parameters
    ----------
    gamma : float or "median", default=1.0
        Decay rate, above 0; "median" means the inverse of the median of :math:`d^q` over the
        training pairs.
    local : {"sqeuclidean", "euclidean"}, default="sqeuclidean"
        Cost of aligning two points.
    root : bool, default=True
        Whether d is the square root of the sum of costs, for `local="sqeuclidean"`.
    band : {None, "sakoe_chiba", "itakura"}, default=None
        Restriction of the alignments; `radius` alone means "sakoe_chiba".
    radius : int or float, default=None
        Radius of the band in steps; a float below 1 is a fraction of the longer series.
    max_slope : float, default=2.0
        Largest slope, for `band="itakura"`.
    slanted : bool, default=True
        Whether the band follows the diagonal if series have unequal lengths, as in `metrics.dtw`.
    multiscale_radius : int, default=None
        If given, `metrics.multiscale_dtw` with this radius computes the distances: upper bounds,
        in linear time.
    power : float, default=2.0
        The exponent q.
    gamma_bounds : tuple of two floats or "fixed", default="fixed"
        Range in hyperparameter search of `gamma`.

    See Also
    --------
    GlobalAlignment : Sums over all alignments, and is positive semi-definite.
    skmoderndata.preprocessing.SpectrumCorrector : Makes the matrix positive semi-definite.
    skmoderndata.metrics.pairwise_dtw : The distances.

    Notes
    -----
    A sample is an array of shape ``(length,)`` or ``(length, n_channels)``. The kernel is not
    positive semi-definite. The value is 0 if the band admits no alignment.

    References
    ----------
    .. [1] Sakoe and Chiba, Dynamic programming algorithm optimization for spoken word
       recognition, IEEE Transactions on Acoustics, Speech, and Signal Processing 26(1), 1978.

    Examples
    --------
    >>> from skmoderndata.kernels import DTWKernel
    >>> DTWKernel(gamma=0.5)([[0, 1, 2], [0, 0, 1, 2], [1, 2]]).round(3)
    array([[1.   , 1.   , 0.607],
           [1.   , 1.   , 0.368],
           [0.607, 0.368, 1.   ]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("sakoe1978dynamic",), cost="product of two lengths for each pair",
        domain="series", psd=False, method=PAGE,
    )  # fmt: skip
    _tunable = ("gamma",)

    def __init__(
        self,
        gamma: Any = 1.0,
        local: str = "sqeuclidean",
        root: bool = True,
        band: str | None = None,
        radius: Any = None,
        max_slope: float = 2.0,
        slanted: bool = True,
        multiscale_radius: int | None = None,
        power: float = 2.0,
        gamma_bounds: Any = "fixed",
    ) -> None:
        self.gamma = gamma
        self.local = local
        self.root = root
        self.band = band
        self.radius = radius
        self.max_slope = max_slope
        self.slanted = slanted
        self.multiscale_radius = multiscale_radius
        self.power = power
        self.gamma_bounds = gamma_bounds

    def _validate(self) -> None:
        if isinstance(self.gamma, str) and self.gamma == "median":
            raise ValueError(
                'DTWKernel: gamma="median" needs training samples; call '
                "kernel.from_data(X_train), or use KernelTransformer."
            )
        self._check_real("gamma", 0.0)
        self._check_rest()

    def _check_rest(self) -> None:
        """Check all parameters except the data-dependent one."""
        self._check_real("power", 0.0)
        if self.multiscale_radius is not None:
            self._check_integer("multiscale_radius", 0)
        rooted_local("DTWKernel", self.local)
        self._rule()

    def _rule(self) -> Band:
        slanted = bool(self.slanted)
        return warping_band("DTWKernel", self.band, self.radius, self.max_slope, slanted)

    def _powers(self, X: Series, Y: Series | None) -> Array:
        """Compute the distances to the power q."""
        rooted = rooted_local("DTWKernel", self.local)
        if Y is not None:
            same_channels(X, Y, "DTWKernel")
        if self.multiscale_radius is None:
            others = None if Y is None else Y.arrays
            costs = alignment_costs(X.arrays, others, band=self._rule(), rooted=rooted)
        else:
            second = X if Y is None else Y
            costs = self._by_scales(X, second, int(self.multiscale_radius), rooted)

        # take the root of the costs, unless the costs between points are already roots
        root = 2.0 if self.root and not rooted else 1.0
        exponent = float(self.power) / root
        return costs if exponent == 1.0 else np.asarray(costs**exponent)

    def _by_scales(self, X: Series, Y: Series, radius: int, rooted: bool) -> Array:
        costs = np.empty((len(X), len(Y)))
        rule = self._rule()
        for i in range(len(X)):
            x = X.one(i)
            for j in range(len(Y)):
                # align in both orders, because ties on the coarse scale may be resolved
                # differently
                z = Y.one(j)
                _, forward = aligned_by_scales(x, z, radius=radius, band=rule, rooted=rooted)
                _, back = aligned_by_scales(z, x, radius=radius, band=rule, rooted=rooted)
                costs[i, j] = min(forward, back)
        return costs

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy with `gamma` computed from the training samples.

        Parameters
        ----------
        X : collection of arrays
            Training samples.

        Returns
        -------
        kernel : DTWKernel
            A copy, equal to this kernel if gamma is given.
        """
        copy = super().from_data(X)
        if isinstance(self.gamma, str) and self.gamma == "median":
            self._check_rest()
            powers = self._powers(self._real(X), None)
            distances = powers[np.triu_indices(len(powers), 1)]
            distances = distances[np.isfinite(distances)]
            middle = np.median(distances) if len(distances) else 0.0
            if middle <= 0:
                raise ValueError(
                    'DTWKernel: gamma="median" needs a positive median of the distances between '
                    "training samples, but it is 0; set gamma to a number."
                )
            copy.set_params(gamma=float(1 / middle))
        return copy

    def _gram(self, X: Series, Y: Series | None) -> Array:
        return np.asarray(np.exp(-float(self.gamma) * self._powers(X, Y)))

    def _diag(self, X: Series) -> Array:
        return np.ones(len(X))

    def _gradients(self, X: Series, K: Array) -> dict[str, Array]:
        positive = K > 0  # if the distance is infinite, K is 0, and 0 * inf would be NaN
        exponent = float(self.gamma) * self._powers(X, None)
        exponent = np.where(positive, exponent, 0.0)
        return {"gamma": np.where(positive, -K * exponent, 0.0)}


class GlobalAlignment(SeriesKernel):
    r"""Sum over all alignments of two series of the products of the similarities of paired points.

    .. math::
        k(x, z) = \sum_\pi \prod_{(i, j) \in \pi} \kappa(x_i, z_j), \qquad
        \kappa = \frac{e}{2 - e}, \quad e = w_{ij} \exp\Big({-\frac{\lVert x_i - z_j \rVert^2}
        {2 \sigma^2}}\Big)

    with :math:`w = 1`, or :math:`\max(0, 1 - |i - j| / T)` in the triangular form [1]_. Values
    overflow for series of about four hundred points: wrap the kernel in `Normalized`, which works
    with logarithms.

    Parameters
    ----------
    sigma : float or "median", default=1.0
        Width of the similarity of points, above 0. "median" means the median distance of points of
        the training series times the square root of the median length of the series; 10,000 pairs
        of points are drawn with a fixed seed.
    triangular : int, default=None
        Half-width T of the triangle, at least 1: only positions less than T apart are paired, and
        series whose lengths differ by T or more have similarity 0. None means the full kernel.
    local : {"infinitely_divisible", "gaussian"}, default="infinitely_divisible"
        Similarity of points; "gaussian" is e itself, which is not positive semi-definite.
    sigma_bounds : tuple of two floats or "fixed", default="fixed"
        Range in hyperparameter search of `sigma`.

    See Also
    --------
    DTWKernel : Uses only the best alignment.
    Normalized : Works with logarithms, so that long series do not overflow.

    Notes
    -----
    A sample is an array of shape ``(length,)`` or ``(length, n_channels)``. The kernel is positive
    semi-definite for ``local="infinitely_divisible"``. Sums are stored as numbers with
    power-of-two scales. The number of remaining alignments bounds the terms that underflow; if the
    bound is not far below the sum, the pair is computed in logarithms.

    References
    ----------
    .. [1] Cuturi, Fast global alignment kernels, ICML 2011.
    .. [2] Cuturi, Vert, Birkenes and Matsui, A kernel for time series based on global alignments,
       ICASSP 2007.

    Examples
    --------
    >>> from skmoderndata.kernels import GlobalAlignment, Normalized
    >>> GlobalAlignment(sigma=0.5**0.5)([[0, 1]], [[0, 1, 1]]).round(4)
    array([[1.727]])
    >>> Normalized(GlobalAlignment(sigma=0.5**0.5))([[0, 1], [0, 1, 1]]).round(4)
    array([[1.    , 0.6474],
           [0.6474, 1.    ]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("cuturi2011fast",), cost="product of two lengths for each pair",
        domain="series", psd=True, method=PAGE,
        tier="standard",
        instead="RidgeClassifierCV on maxima of 500 random convolutions, trained on ten outlines "
        "of each digit, classifies 76 percent of new outlines correctly. SVC with this "
        "kernel classifies 70 percent correctly.",
    )  # fmt: skip
    _tunable = ("sigma",)

    def __init__(
        self,
        sigma: Any = 1.0,
        triangular: int | None = None,
        local: str = "infinitely_divisible",
        sigma_bounds: Any = "fixed",
    ) -> None:
        self.sigma = sigma
        self.triangular = triangular
        self.local = local
        self.sigma_bounds = sigma_bounds

    def _validate(self) -> None:
        if isinstance(self.sigma, str) and self.sigma == "median":
            raise ValueError(
                'GlobalAlignment: sigma="median" needs training samples; call '
                "kernel.from_data(X_train), or use KernelTransformer."
            )
        self._check_real("sigma", 0.0)
        if self.triangular is not None:
            self._check_integer("triangular", 1)
        self._check_choice("local", ("infinitely_divisible", "gaussian"))

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy with `sigma` computed from the training samples.

        Parameters
        ----------
        X : collection of arrays
            Training samples.

        Returns
        -------
        kernel : GlobalAlignment
            A copy, equal to this kernel if sigma is given.
        """
        copy = super().from_data(X)
        if isinstance(self.sigma, str) and self.sigma == "median":
            series = self._real(X)
            rng = np.random.default_rng(0)
            points = series.values
            a, b = rng.integers(len(points), size=(2, 10_000))
            distances = np.linalg.norm(points[a] - points[b], axis=1)
            length = np.median(series.lengths)
            sigma = float(np.median(distances) * np.sqrt(length))
            if sigma <= 0:
                raise ValueError(
                    'GlobalAlignment: sigma="median" needs a positive median distance of points, '
                    "but most points of the training series are equal; set sigma to a number."
                )
            copy.set_params(sigma=sigma)
        return copy

    def _settings(self) -> LocalKernel:
        rate = 1 / (2 * float(self.sigma) ** 2)
        reach = float(self.triangular or 0)
        divisible = self.local == "infinitely_divisible"
        return LocalKernel(rate, reach, divisible)

    def _exponential(self, logarithms: Array) -> Array:
        largest = logarithms.max(initial=-np.inf)
        if largest > LARGEST_LOG:
            raise ValueError(
                f"GlobalAlignment: a value of exp({largest:.4g}) exceeds double "
                "precision; use Normalized(GlobalAlignment(...)), which works with logarithms."
            )
        return np.asarray(np.exp(logarithms))

    def _log_gram(self, X: Series, Y: Series | None) -> Array:
        if Y is not None:
            same_channels(X, Y, "GlobalAlignment")
        others = None if Y is None else Y.arrays
        return log_alignment_sums(X.arrays, others, local=self._settings())

    def _log_diag(self, X: Series) -> Array:
        return own_log_alignment_sums(X.arrays, local=self._settings())

    def _log_gradients(self, X: Series) -> dict[str, Array]:
        """Return derivatives of the logarithms of the matrix."""
        return {"sigma": alignment_slopes(X.arrays, local=self._settings())}

    def _gram(self, X: Series, Y: Series | None) -> Array:
        return self._exponential(self._log_gram(X, Y))

    def _diag(self, X: Series) -> Array:
        return self._exponential(self._log_diag(X))

    def _gradients(self, X: Series, K: Array) -> dict[str, Array]:
        return {name: K * slope for name, slope in self._log_gradients(X).items()}
