"""Kernels of real numbers and covariance functions that scikit-learn lacks."""

from math import comb, factorial
from typing import Any

import numpy as np

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import BaseKernel

FAMILY = "kernels on vectors"
PAGE = "number_kernels"


class _PerInput(BaseKernel):
    """Product or sum over the inputs of a kernel of real numbers."""

    _needs_vectors = True
    combine: str = "product"

    def _scalar(self, x: Array, z: Array) -> Array:
        """Kernel of numbers, entry by entry."""
        raise NotImplementedError

    def _validate(self) -> None:
        self._check_choice("combine", ("product", "sum"))

    def _gram(self, X: Any, Y: Any) -> Array:
        Z = X if Y is None else Y
        shape = (len(X), len(Z))
        K = np.zeros(shape) if self.combine == "sum" else np.ones(shape)
        for i in range(X.shape[1]):
            k = self._scalar(*_column_and_row(X[:, i], Z[:, i]))
            if self.combine == "sum":
                K += k
            else:
                K *= k
        return K

    def _diag(self, X: Any) -> Array:
        k = self._scalar(X, X)
        return k.sum(axis=1) if self.combine == "sum" else k.prod(axis=1)

    def _chain(self, X: Array, slope: Any) -> Array:
        """Differentiate the combination, given the derivative of the kernel of each input."""
        n, p = X.shape
        total = np.zeros((n, n))
        pairs = [_column_and_row(x, x) for x in X.T]
        for i in range(p):
            derivative = slope(*pairs[i])
            if self.combine == "product":
                for j in range(p):
                    if j != i:
                        derivative = derivative * self._scalar(*pairs[j])
            total += derivative
        return total


def _column_and_row(x: Array, z: Array) -> tuple[Array, Array]:
    """Reshape to `(n, 1)` and `(1, m)`, so that functions of both yield all pairs."""
    return x[:, None], z[None, :]


class CosineSeries(_PerInput):
    r"""Periodic kernel with given Fourier coefficients, ``sum_n coef[n] cos(2 pi n u / period)``.

    Here ``u = x - z``; for several inputs the kernel is the product over the inputs.

    Parameters
    ----------
    coef : sequence of float, default=(1.0, 1.0)
        Non-negative coefficients, starting with the constant term.
    period : float, default=6.283185307179586
        Period, above 0.
    period_bounds : pair of floats or "fixed", default="fixed"
        Range of `period` in hyperparameter search.

    See Also
    --------
    sklearn.gaussian_process.kernels.ExpSineSquared : Another periodic kernel, with all
        coefficients positive.

    Notes
    -----
    The kernel is positive semi-definite and stationary. With finitely many coefficients the rank
    in one input is at most twice their number.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Example 3.14.

    Examples
    --------
    >>> from skmoderndata.kernels import CosineSeries
    >>> CosineSeries(coef=(1, 0.5, 0.25))([[0.3]], [[1.0]]).round(6)
    array([[1.424913]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="n^2 p times the coefficients",
        domain="vector", method=PAGE,
    )  # fmt: skip
    _tunable = ("period",)

    def __init__(
        self, coef: Any = (1.0, 1.0), period: float = 6.283185307179586,
        period_bounds: Any = "fixed",
    ) -> None:  # fmt: skip
        self.coef = coef
        self.period = period
        self.period_bounds = period_bounds

    def _validate(self) -> None:
        self._check_real("coef", 0.0, low_included=True)
        self._check_real("period", 0.0)

    def is_stationary(self) -> bool:
        """Return whether the kernel depends only on differences of samples.

        Returns
        -------
        stationary : bool
            True.
        """
        return True

    def _scalar(self, x: Array, z: Array) -> Array:
        angle = 2 * np.pi / self.period * (x - z)
        values = np.zeros(angle.shape)
        for n, a in enumerate(np.atleast_1d(self.coef)):
            values += a * np.cos(n * angle)
        return values

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        def slope(x: Array, z: Array) -> Array:
            angle = 2 * np.pi / self.period * (x - z)
            values = np.zeros(angle.shape)
            for n, a in enumerate(np.atleast_1d(self.coef)):
                values += a * np.sin(n * angle) * n * angle
            return values

        return {"period": self._chain(X, slope)}


class Min(_PerInput):
    """Minimum of two non-negative numbers, ``min(x, z)``, combined over the inputs.

    Parameters
    ----------
    signed : bool, default=True
        Whether negative numbers are allowed: the value is ``min(|x|, |z|)`` for numbers of the
        same sign, otherwise 0. If False, negative numbers raise ValueError.
    combine : {"product", "sum"}, default="product"
        Operation that combines the inputs.

    See Also
    --------
    Spline : Smoother.
    skmoderndata.kernels.Intersection : For sets. On histograms, ``Min(combine="sum")`` is the
        histogram intersection kernel.

    Notes
    -----
    The kernel is positive semi-definite; in one dimension it is the covariance of Brownian motion.
    The unsigned ``min`` of negative numbers is not positive semi-definite. The definition is the
    standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.6.

    Examples
    --------
    >>> from skmoderndata.kernels import Min
    >>> Min()([[1.0], [2.0], [-3.0]])
    array([[1., 1., 0.],
           [1., 2., 0.],
           [0., 0., 3.]])
    """

    _card = KernelCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n^2 p",
        domain="vector",
        method=PAGE,
    )

    def __init__(self, signed: bool = True, combine: str = "product") -> None:
        self.signed = signed
        self.combine = combine

    def _check(self, X: Any) -> Array:
        X = super()._check(X)
        if not self.signed and (X < 0).any():
            raise ValueError(
                f"Min(signed=False) needs numbers of at least 0, but received {X.min():.3g}; use "
                "signed=True or shift the data."
            )
        return np.asarray(X)

    def _scalar(self, x: Array, z: Array) -> Array:
        same_sign = (x > 0) == (z > 0)
        return np.minimum(np.abs(x), np.abs(z)) * same_sign


class Triangular(_PerInput):
    """Triangular kernel of compact support, ``max(0, width - |x - z|)``.

    Parameters
    ----------
    width : float, default=1.0
        Half-width of the support, above 0: the kernel is 0 for larger differences.
    combine : {"product", "sum"}, default="product"
        Operation that combines the inputs.
    width_bounds : pair of floats or "fixed", default="fixed"
        Range of `width` in hyperparameter search.

    See Also
    --------
    sklearn.gaussian_process.kernels.RBF : Smooth, with unbounded support.

    Notes
    -----
    The kernel is positive semi-definite and stationary; the same function of the norm of vectors
    is not positive semi-definite. The gradient jumps at ``|x - z| = width``. The definition is the
    standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.6.

    Examples
    --------
    >>> from skmoderndata.kernels import Triangular
    >>> Triangular(width=2.0)([[1.0], [2.0], [4.0]])
    array([[2., 1., 0.],
           [1., 2., 0.],
           [0., 0., 2.]])
    """

    _card = KernelCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n^2 p",
        domain="vector",
        method=PAGE,
    )
    _tunable = ("width",)

    def __init__(
        self, width: float = 1.0, combine: str = "product", width_bounds: Any = "fixed"
    ) -> None:
        self.width = width
        self.combine = combine
        self.width_bounds = width_bounds

    def _validate(self) -> None:
        super()._validate()
        self._check_real("width", 0.0)

    def is_stationary(self) -> bool:
        """Return whether the kernel depends only on differences of samples.

        Returns
        -------
        stationary : bool
            True.
        """
        return True

    def _scalar(self, x: Array, z: Array) -> Array:
        return np.maximum(self.width - np.abs(x - z), 0.0)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        def slope(x: Array, z: Array) -> Array:
            return self.width * (np.abs(x - z) < self.width)

        return {"width": self._chain(X, slope)}


class Spline(_PerInput):
    r"""Kernel of splines of a given order, with a knot at every point or with given knots.

    .. math:: k(x, z) = \sum_{j=0}^{r} (x z)^j + \int_0^{\min(x, z)} (x - t)^r (z - t)^r\, dt

    Parameters
    ----------
    order : int, default=1
        The order r: smoothing with order 1 yields cubic splines, and with order 0 piecewise linear
        splines.
    knots : array-like of shape (n_knots,), default=None
        Knots; the integral becomes a sum over them. None places a knot at every point.
    sobolev : bool, default=False
        Whether to divide the monomials by ``j!^2`` and the integral by ``r!^2``, which gives the
        reproducing kernel of the Sobolev space.
    combine : {"product", "sum"}, default="product"
        Operation that combines the inputs.

    See Also
    --------
    sklearn.preprocessing.SplineTransformer : B-splines as features, with few knots.
    Min : The integral term for order 0.

    Notes
    -----
    Inputs must be at least 0: scale them to [0, 1], for example with `MinMaxScaler(clip=True)`.
    The kernel is positive semi-definite. The definition is the standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.6.

    Examples
    --------
    >>> from skmoderndata.kernels import Spline
    >>> [float(Spline(order=r)([[1.0]], [[2.0]])[0, 0].round(6)) for r in (0, 1, 2)]
    [2.0, 3.833333, 8.033333]
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="n^2 p times order or knots",
        domain="vector", method=PAGE,
    )  # fmt: skip

    def __init__(
        self,
        order: int = 1,
        knots: Any = None,
        sobolev: bool = False,
        combine: str = "product",
    ) -> None:
        self.order = order
        self.knots = knots
        self.sobolev = sobolev
        self.combine = combine

    def _validate(self) -> None:
        super()._validate()
        self._check_integer("order", 0)
        if self.knots is not None:
            self._check_real("knots", -np.inf)

    def _check(self, X: Any) -> Array:
        X = super()._check(X)
        if (X < 0).any():
            raise ValueError(
                f"Spline needs numbers of at least 0, but received {X.min():.3g}; scale the data "
                "with MinMaxScaler(clip=True)."
            )
        return np.asarray(X)

    def _scalar(self, x: Array, z: Array) -> Array:
        # evaluate polynomials of degree r by Horner's rule
        r = self.order
        xz = x * z
        polynomials = np.zeros(xz.shape)
        for j in range(r, -1, -1):
            coef = 1 / factorial(j) ** 2 if self.sobolev else 1.0
            polynomials = polynomials * xz + coef

        # add truncated powers, with a knot at every point
        powers = np.zeros(xz.shape)
        if self.knots is None:
            m = np.minimum(x, z)
            distance = np.abs(x - z)
            for s in range(r + 1):
                degree = 2 * r - s + 1
                powers += comb(r, s) * distance**s * m**degree / degree
            return polynomials + powers / self._divisor()

        # otherwise add truncated powers only for the given knots
        for t in np.atleast_1d(np.asarray(self.knots, dtype=np.float64)):
            if r == 0:
                powers += (x > t) & (z > t)
            else:
                powers += np.maximum(x - t, 0) ** r * np.maximum(z - t, 0) ** r
        return polynomials + powers / self._divisor()

    def _divisor(self) -> int:
        """Divisor of the products of truncated powers."""
        return factorial(self.order) ** 2 if self.sobolev else 1


class GammaExponential(BaseKernel):
    r"""Stationary kernel between exponential and Gaussian, ``exp(-(r / length_scale)^gamma)``.

    Parameters
    ----------
    length_scale : float or array-like of shape (n_features,), default=1.0
        Length scale, common to all inputs or one for each.
    gamma : float, default=1.0
        Exponent, above 0 and at most 2: 1 is the exponential kernel, 2 the Gaussian kernel of
        length scale ``length_scale / sqrt(2)``.
    length_scale_bounds : pair of floats or "fixed", default="fixed"
        Range of `length_scale` in hyperparameter search.
    gamma_bounds : pair of floats or "fixed", default="fixed"
        Range of `gamma` in hyperparameter search.

    See Also
    --------
    sklearn.gaussian_process.kernels.Matern : Another family between the exponential and the
        Gaussian kernel, with differentiable sample paths.

    Notes
    -----
    The kernel is positive semi-definite only for ``gamma`` up to 2. Sample paths are not
    differentiable for ``gamma < 2``.

    References
    ----------
    .. [1] Rasmussen and Williams, Gaussian processes for machine learning, 2006, equation (4.18).

    Examples
    --------
    >>> from skmoderndata.kernels import GammaExponential
    >>> GammaExponential(gamma=1.5)([[0.0]], [[2.0]]).round(6)
    array([[0.059106]])
    """

    _card = KernelCard(
        family=FAMILY,
        cite=("rasmussen2006gaussian",),
        cost="n^2 p",
        domain="vector",
        method=PAGE,
        tier="textbook",
        instead="Use RationalQuadratic: on unseen rows of `load_diabetes`, Gaussian processes "
        "explain 45 percent of the variance with it, and 41 percent with this kernel.",
    )
    _needs_vectors = True
    _tunable = ("length_scale", "gamma")

    def __init__(
        self, length_scale: Any = 1.0, gamma: float = 1.0,
        length_scale_bounds: Any = "fixed", gamma_bounds: Any = "fixed",
    ) -> None:  # fmt: skip
        self.length_scale = length_scale
        self.gamma = gamma
        self.length_scale_bounds = length_scale_bounds
        self.gamma_bounds = gamma_bounds

    def _validate(self) -> None:
        self._check_real("length_scale", 0.0)
        self._check_real("gamma", 0.0, 2.0)

    def is_stationary(self) -> bool:
        """Return whether the kernel depends only on differences of samples.

        Returns
        -------
        stationary : bool
            True.
        """
        return True

    def _radius(self, X: Array, Y: Array | None) -> Array:
        from scipy.spatial.distance import cdist

        scale = self._per_feature("length_scale", X.shape[1])
        A = X / scale
        B = A if Y is None else Y / scale
        return cdist(A, B)

    def _gram(self, X: Any, Y: Any) -> Array:
        r = self._radius(X, Y)
        return np.exp(-(r**self.gamma))

    def _diag(self, X: Any) -> Array:
        self._per_feature("length_scale", X.shape[1])  # raise the same errors as `_gram`
        return np.ones(len(X))

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        r = self._radius(X, None)
        power = r**self.gamma
        logarithm = np.log(r, out=np.zeros_like(r), where=r > 0)
        gradients = {"gamma": -self.gamma * power * logarithm * K}
        if np.size(self.length_scale) == 1:
            gradients["length_scale"] = self.gamma * power * K
        else:
            scale = self._per_feature("length_scale", X.shape[1])
            differences = X[:, None, :] - X[None, :, :]
            squares = (differences / scale) ** 2
            shape = np.power(r, self.gamma - 2, out=np.zeros_like(r), where=r > 0)
            slope = self.gamma * shape * K
            gradients["length_scale"] = slope[:, :, None] * squares
        return gradients


class ArcSine(BaseKernel):
    r"""Covariance of a neural network with one hidden layer of infinitely many erf units.

    .. math:: k(x, z) = s \arcsin \frac{2 \tilde x' \Sigma \tilde z}
        {\sqrt{(1 + 2 \tilde x' \Sigma \tilde x) (1 + 2 \tilde z' \Sigma \tilde z)}},
        \qquad \tilde x = (1, x)

    Parameters
    ----------
    bias_var : float, default=1.0
        Prior variance of the biases of the hidden units, at least 0.
    weight_var : float or array-like of shape (n_features,), default=1.0
        Prior variance of the weights of the hidden units, common to all inputs or one for each.
    scale : float, default=0.6366197723675814
        The factor s. 2 / pi gives the covariance of the network; some texts use 1.
    bias_var_bounds : pair of floats or "fixed", default="fixed"
        Range of `bias_var` in hyperparameter search.
    weight_var_bounds : pair of floats or "fixed", default="fixed"
        Range of `weight_var` in hyperparameter search.
    scale_bounds : pair of floats or "fixed", default="fixed"
        Range of `scale` in hyperparameter search.

    See Also
    --------
    sklearn.gaussian_process.kernels.RBF : The limit for infinitely many Gaussian units.

    Notes
    -----
    The kernel is positive semi-definite, but not stationary.

    References
    ----------
    .. [1] Rasmussen and Williams, Gaussian processes for machine learning, 2006, equation (4.29).

    Examples
    --------
    >>> from skmoderndata.kernels import ArcSine
    >>> ArcSine()([[1.0]], [[2.0]]).round(6)
    array([[0.600025]])
    """

    _card = KernelCard(
        family=FAMILY,
        cite=("rasmussen2006gaussian",),
        cost="n^2 p",
        domain="vector",
        method=PAGE,
    )
    _needs_vectors = True
    _tunable = ("bias_var", "weight_var", "scale")

    def __init__(
        self, bias_var: float = 1.0, weight_var: Any = 1.0, scale: float = 0.6366197723675814,
        bias_var_bounds: Any = "fixed", weight_var_bounds: Any = "fixed",
        scale_bounds: Any = "fixed",
    ) -> None:  # fmt: skip
        self.bias_var = bias_var
        self.weight_var = weight_var
        self.scale = scale
        self.bias_var_bounds = bias_var_bounds
        self.weight_var_bounds = weight_var_bounds
        self.scale_bounds = scale_bounds

    def _validate(self) -> None:
        self._check_real("bias_var", 0.0, low_included=True)
        self._check_real("weight_var", 0.0, low_included=True)
        self._check_real("scale", 0.0)

    def _forms(self, X: Array, Y: Array | None) -> tuple[Array, Array, Array]:
        w = self._per_feature("weight_var", X.shape[1])
        Z = X if Y is None else Y
        a = 2 * (self.bias_var + (X * X) @ w)
        b = 2 * (self.bias_var + (Z * Z) @ w)
        c = 2 * (self.bias_var + (X * w) @ Z.T)
        return c, a, b

    def _gram(self, X: Any, Y: Any) -> Array:
        c, a, b = self._forms(X, Y)
        root = np.sqrt(np.multiply.outer(1 + a, 1 + b))
        sine = np.clip(c / root, -1, 1)
        return self.scale * np.arcsin(sine)

    def _diag(self, X: Any) -> Array:
        w = self._per_feature("weight_var", X.shape[1])
        a = 2 * (self.bias_var + (X * X) @ w)
        return self.scale * np.arcsin(a / (1 + a))

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        # k_ij = scale arcsin(c_ij / sqrt((1 + a_i)(1 + a_j)))
        c, a, _ = self._forms(X, None)
        root = np.sqrt(np.multiply.outer(1 + a, 1 + a))
        sine = c / root
        outer = self.scale / np.sqrt(1 - np.clip(sine, -1, 1) ** 2)

        def along(dc: Array, da: Array) -> Array:
            relative = da / (1 + a)
            sums = relative[:, None] + relative
            return outer * (dc / root - sine * sums / 2)

        # differentiate with respect to the weight of each feature
        w = self._per_feature("weight_var", X.shape[1])
        bias = 2.0 * self.bias_var
        by_weight = [
            along(2 * wi * np.multiply.outer(x, x), 2 * wi * x * x)
            for wi, x in zip(w, X.T, strict=True)
        ]
        weight = np.stack(by_weight, axis=2)
        if np.size(self.weight_var) == 1:
            weight = weight.sum(axis=2)

        of_bias = along(np.full(c.shape, bias), np.full(a.shape, bias))
        return {"bias_var": of_bias, "weight_var": weight, "scale": K}


class ARDLinear(BaseKernel):
    """Inner product with one scale for each input, ``sum_i sigma_i^2 x_i z_i``.

    Parameters
    ----------
    sigma : float or array-like of shape (n_features,), default=1.0
        Scale, common to all inputs or one for each, at least 0.
    sigma_bounds : pair of floats or "fixed", default="fixed"
        Range of `sigma` in hyperparameter search.

    See Also
    --------
    sklearn.gaussian_process.kernels.DotProduct : All scales equal to one, plus a constant.
    Bilinear : With a full matrix.

    Notes
    -----
    The kernel is positive semi-definite. A Gaussian process with this kernel is linear regression
    with a normal prior of standard deviation `sigma` for each coefficient. When the marginal
    likelihood is maximised, the scales of irrelevant inputs tend to 0 (automatic relevance
    determination).

    References
    ----------
    .. [1] Rasmussen and Williams, Gaussian processes for machine learning, 2006, table 4.1.

    Examples
    --------
    >>> from skmoderndata.kernels import ARDLinear
    >>> ARDLinear(sigma=[1.0, 2.0])([[1.0, 2.0]], [[3.0, 0.5]])
    array([[7.]])
    """

    _card = KernelCard(
        family=FAMILY,
        cite=("rasmussen2006gaussian",),
        cost="n^2 p",
        domain="vector",
        method=PAGE,
    )
    _needs_vectors = True
    _tunable = ("sigma",)

    def __init__(self, sigma: Any = 1.0, sigma_bounds: Any = "fixed") -> None:
        self.sigma = sigma
        self.sigma_bounds = sigma_bounds

    def _validate(self) -> None:
        self._check_real("sigma", 0.0, low_included=True)

    def _gram(self, X: Any, Y: Any) -> Array:
        s = self._per_feature("sigma", X.shape[1])
        A = X * s
        B = A if Y is None else Y * s
        return A @ B.T

    def _diag(self, X: Any) -> Array:
        A = X * self._per_feature("sigma", X.shape[1])
        return (A**2).sum(axis=1)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        if np.size(self.sigma) == 1:
            return {"sigma": 2 * K}
        A = X * self._per_feature("sigma", X.shape[1])
        return {"sigma": 2 * A[:, None, :] * A[None, :, :]}
