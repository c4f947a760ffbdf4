"""Twins of the kernel algebra and of the kernels on vectors, sets and graphs."""

from itertools import combinations, product
from math import asin, cos, exp, factorial, pi, prod, sqrt

import numpy as np
from scipy import integrate, linalg
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.metrics.pairwise import manhattan_distances

from skmoderndata import kernels as sk
from tests.oracles.kernel_twins import Twin

BOUNDS = (1e-3, 1e3)


# samples


def vectors(rng, n):
    return rng.normal(size=(n, 3))


def positive(rng, n):
    return rng.uniform(0, 1.5, size=(n, 2))


def sets(rng, n):
    return [{int(e) for e in np.flatnonzero(rng.random(6) < 0.5)} for _ in range(n)]


def bags(rng, n):
    return [rng.normal(size=(int(k), 2)) for k in rng.integers(0, 5, size=n)]


def pairs(rng, n):
    return [(rng.normal(size=2), s) for s in sets(rng, n)]


def gaps(rng, n):
    found = pairs(rng, n)
    return [(v if rng.random() < 0.7 else None, s) for v, s in found]


def nodes(rng, n):
    return [int(v) for v in rng.integers(0, 6, size=n)]


def similarity(definite=False):
    A = np.random.default_rng(5).normal(size=(6, 6))
    return A @ A.T if definite else A + A.T


def value(kernel, x, z):
    """Value of an inner kernel for two samples."""
    return float(kernel([x], [z])[0, 0])


def dot(x, z):
    return sum(float(a) * float(b) for a, b in zip(x, z, strict=True))


# functions of samples, importable for pickling


def length(X):
    return np.array([1 + sqrt(dot(x, x)) for x in X])


def first(X):
    return np.array([float(x[0]) for x in X])


def sign_of_second(X):
    return np.array([1.0 if x[1] > 0 else -1.0 for x in X])


def squares(X):
    return np.asarray(X) ** 2


class HalfSpace:
    def __init__(self, w):
        self.w = w

    def __call__(self, X):
        return np.sign(np.asarray(X) @ self.w)


def half_space(rng, n_features):
    return HalfSpace(rng.normal(size=n_features))


def euclid(X, Y):
    return np.array([[sqrt(dot(x - y, x - y)) for y in np.asarray(Y)] for x in np.asarray(X)])


# algebra


def conformal(k, x, z):
    return length([x])[0] * value(k.kernel, x, z) * length([z])[0]


def pullback(k, x, z):
    return value(k.kernel, squares([x])[0], squares([z])[0])


def bilinear(k, x, z):
    B = np.asarray(k.B)
    return sum(x[i] * B[i, j] * z[j] for i in range(len(x)) for j in range(len(z)))


def polynomial_of(k, x, z):
    return sum(c * value(k.kernel, x, z) ** i for i, c in enumerate(k.coef))


def exponential_of(k, x, z):
    return exp(value(k.kernel, x, z) / k.scale)


def gaussian_of(k, x, z):
    inner = k.kernel
    square = value(inner, x, x) - 2 * value(inner, x, z) + value(inner, z, z)
    return exp(-max(square, 0.0) / (2 * k.length_scale**2))


def normalized(k, x, z):
    root = sqrt(value(k.kernel, x, x) * value(k.kernel, z, z))
    return value(k.kernel, x, z) / root if root > 0 else 0.0


def parts(k, x, z):
    found = []
    for kernel, a, b in zip(k.kernels, x, z, strict=True):
        if a is None or b is None:
            found.append(float(k.missing == "match" and a is None and b is None))
        else:
            found.append(value(kernel, a, b))
    return found


def direct_sum(k, x, z):
    weights = [1] * len(k.kernels) if k.weights is None else k.weights
    return sum(w * v for w, v in zip(weights, parts(k, x, z), strict=True))


def tensor_product(k, x, z):
    return prod(parts(k, x, z))


def covariance(k, x, z):
    m = len(k.functions)
    q = [1 / m] * m if k.weights is None else k.weights
    return sum(w * f([x])[0] * f([z])[0] for w, f in zip(q, k.functions, strict=True))


def monte_carlo(k, x, z):
    rng = np.random.RandomState(k.random_state)
    total = 0.0
    for _ in range(k.n_components):
        w = rng.normal(size=len(x))
        total += np.sign(dot(w, x)) * np.sign(dot(w, z))
    return total / k.n_components


def distance_kernel(k, x, z):
    if k.distance is manhattan_distances:
        d = sum(abs(a - b) for a, b in zip(x, z, strict=True))
    else:
        d = sqrt(sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))
    return exp(-k.gamma * d**k.power)


# numbers


def terms(k, x, z):
    w = np.broadcast_to(1.0 if k.weights is None else k.weights, len(x))
    if k.base_kernels is None:
        return [w[i] * x[i] * z[i] for i in range(len(x))]
    inner = k.base_kernels
    each = inner if isinstance(inner, list) else [inner] * len(x)
    return [w[i] * value(each[i], [x[i]], [z[i]]) for i in range(len(x))]


def all_subsets(k, x, z):
    a = terms(k, x, z)
    return sum(prod(s) for d in range(len(a) + 1) for s in combinations(a, d))


def anova(k, x, z):
    a = terms(k, x, z)
    degrees = range(k.degree + 1) if k.cumulative else [k.degree]
    return sum(prod(s) for d in degrees for s in combinations(a, d))


def combine(k, values):
    return sum(values) if k.combine == "sum" else prod(values)


def cosine_series(k, x, z):
    return prod(
        sum(a * cos(2 * pi * n * (u - v) / k.period) for n, a in enumerate(k.coef))
        for u, v in zip(x, z, strict=True)
    )


def minimum(k, x, z):
    def common(u, v):
        return min(abs(u), abs(v)) if u * v > 0 else 0.0

    return combine(k, [common(u, v) for u, v in zip(x, z, strict=True)])


def triangular(k, x, z):
    """Length of the common part of two intervals."""

    def common(u, v):
        low = max(u, v) - k.width / 2
        high = min(u, v) + k.width / 2
        return max(0.0, high - low)

    return combine(k, [common(u, v) for u, v in zip(x, z, strict=True)])


def spline(k, x, z):
    def one(u, v):
        r = k.order
        scale = [1 / factorial(j) ** 2 if k.sobolev else 1 for j in range(r + 1)]
        total = sum(scale[j] * (u * v) ** j for j in range(r + 1))
        if k.knots is None:
            rest = integrate.quad(lambda t: (u - t) ** r * (v - t) ** r, 0, min(u, v))[0]
        else:
            rest = sum((u - t) ** r * (v - t) ** r for t in k.knots if u > t and v > t)
        return total + rest * scale[r]

    return combine(k, [one(u, v) for u, v in zip(x, z, strict=True)])


def gamma_exponential(k, x, z):
    scale = np.broadcast_to(k.length_scale, len(x))
    r = sqrt(sum(((u - v) / s) ** 2 for u, v, s in zip(x, z, scale, strict=True)))
    return exp(-(r**k.gamma))


def arcsine(k, x, z):
    w = np.broadcast_to(k.weight_var, len(x))

    def form(u, v):
        return 2 * (k.bias_var + sum(a * b * c for a, b, c in zip(u, v, w, strict=True)))

    return k.scale * asin(form(x, z) / sqrt((1 + form(x, x)) * (1 + form(z, z))))


def ard_linear(k, x, z):
    s = np.broadcast_to(k.sigma, len(x))
    return sum(s[i] ** 2 * x[i] * z[i] for i in range(len(x)))


# sets


def weight(k, e):
    if k.weights is None:
        return 1.0
    return k.weights.get(e, 1.0) if isinstance(k.weights, dict) else k.weights[e]


def power_set(k, a, b):
    common = sorted(a & b)
    subsets = (s for d in range(len(common) + 1) for s in combinations(common, d))
    return sum(prod(weight(k, e) for e in s) for s in subsets)


def intersection(k, a, b):
    return sum(weight(k, e) for e in a if e in b)


def universe(k):
    return range(k.universe) if isinstance(k.universe, int) else k.universe


def union_complement(k, a, b):
    return sum(weight(k, e) for e in universe(k) if e not in a and e not in b)


def agreement(k, a, b):
    return sum(weight(k, e) for e in universe(k) if (e in a) == (e in b))


def derived_subsets(k, a, b):
    total = sum(value(k.base_kernel, x, z) for x, z in product(a, b))
    return total / (len(a) * len(b)) if k.average and len(a) and len(b) else total


# graphs


def walks(k, x, z, longest):
    """Sum over all walks up to a length, step by step."""

    def weight_of(kernel):
        return value(kernel, x, z) if hasattr(kernel, "theta") else float(kernel)

    steps = [(u, v, weight_of(kernel)) for u, v, kernel in k.edges]
    at = {k.source: 1.0}
    total = 0.0
    for _ in range(longest + 1):
        total += at.get(k.sink, 0.0)
        after = {}
        for u, v, w in steps:
            after[v] = after.get(v, 0.0) + at.get(u, 0.0) * w
        at = after
    return total


def dag_path(k, x, z):
    return walks(k, x, z, len(k.edges))


def graph_path(k, x, z):
    return walks(k, x, z, 200)


def exponential_diffusion(k, u, v):
    B = np.asarray(k.similarity)
    if k.laplacian:
        B = B - np.diag(B.sum(axis=1))
    return linalg.expm(k.decay * B)[u, v]


def von_neumann(k, u, v):
    B = np.asarray(k.similarity)
    lam = k.relative_decay / max(abs(np.linalg.eigvals(B))) if k.decay is None else k.decay
    K = np.linalg.inv(np.eye(len(B)) - lam * B)
    return (K if k.include_identity else B @ K)[u, v]


def edges(cycle=False):
    found = [
        ("s", "a", RBF(0.7)),
        ("s", "b", 0.5),
        ("a", "b", DotProduct(0.3)),
        ("a", "t", 1.5),
        ("b", "t", RBF(2.0)),
        ("s", "a", 0.25),
    ]
    return (
        [*found, ("b", "b", 0.5), ("t", "a", ConstantKernel(0.02) * RBF())] if cycle else found
    )


TWINS = {
    "Conformal": Twin(
        lambda: [sk.Conformal(RBF(0.8), length)], conformal, vectors,
        lambda: [sk.Conformal(RBF(0.8, BOUNDS), length)],
    ),
    "Pullback": Twin(
        lambda: [sk.Pullback(RBF(0.8), squares)], pullback, vectors,
        lambda: [sk.Pullback(RBF(0.8, BOUNDS), squares)],
    ),
    "Bilinear": Twin(
        lambda: [
            sk.Bilinear(np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 0]])),
            sk.Bilinear(np.eye(3)),
        ],
        bilinear, vectors,
    ),
    "PolynomialOf": Twin(
        lambda: [
            sk.PolynomialOf(DotProduct(0.5), (1, 2, 1)),
            sk.PolynomialOf(RBF(), (0, 0.5)),
            sk.PolynomialOf(RBF(), (3.0,)),
        ],
        polynomial_of, vectors,
        lambda: [sk.PolynomialOf(DotProduct(0.5, BOUNDS) * RBF(1.5, BOUNDS), (1, 2, 1))],
    ),
    "ExponentialOf": Twin(
        lambda: [sk.ExponentialOf(DotProduct(0.5), 3.0), sk.ExponentialOf(RBF())],
        exponential_of, vectors,
        lambda: [sk.ExponentialOf(DotProduct(0.5, BOUNDS), 3.0, BOUNDS)],
    ),
    "GaussianOf": Twin(
        lambda: [sk.GaussianOf(DotProduct(1.0) ** 2, 2.0), sk.GaussianOf(RBF(), 0.5)],
        gaussian_of, vectors,
        lambda: [sk.GaussianOf(DotProduct(1.0, BOUNDS) ** 2, 4.0, BOUNDS)],
    ),
    "Normalized": Twin(
        lambda: [
            sk.Normalized(DotProduct(0.0, "fixed")), sk.Normalized(DotProduct(1.0) ** 2),
            sk.Normalized(sk.ExponentialOf(DotProduct(0.2), 2.0)),
        ],
        normalized, vectors,
        lambda: [
            sk.Normalized(DotProduct(0.7, BOUNDS) ** 2),
            sk.Normalized(sk.ExponentialOf(DotProduct(0.2, BOUNDS), 2.0, BOUNDS)),
        ],
    ),
    "DirectSum": Twin(
        lambda: [
            sk.DirectSum([RBF(), sk.Intersection()], missing="zero"),
            sk.DirectSum([RBF(0.5), sk.PowerSet()], weights=[0.5, 2], missing="match"),
        ],
        direct_sum, gaps,
        lambda: [sk.DirectSum([RBF(0.5, BOUNDS), sk.PowerSet()], [0.5, 2], missing="match")],
    ),
    "TensorProduct": Twin(
        lambda: [
            sk.TensorProduct([RBF(), sk.Intersection()], missing="zero"),
            sk.TensorProduct([RBF(0.5), sk.PowerSet()], missing="match"),
        ],
        tensor_product, gaps,
        lambda: [sk.TensorProduct([RBF(0.5, BOUNDS), sk.PowerSet()], missing="match")],
    ),
    "Covariance": Twin(
        lambda: [
            sk.Covariance([first, sign_of_second]),
            sk.Covariance([first, sign_of_second, length], weights=[0.2, 0.0, 1]),
        ],
        covariance, vectors,
    ),
    "MonteCarlo": Twin(
        lambda: [sk.MonteCarlo(half_space, 20), sk.MonteCarlo(half_space, 7, 3)],
        monte_carlo, vectors,
    ),
    "DistanceKernel": Twin(
        lambda: [
            sk.DistanceKernel(manhattan_distances, 0.5, 1.0), sk.DistanceKernel(euclid),
            sk.DistanceKernel(manhattan_distances),
        ],
        distance_kernel, vectors,
        lambda: [sk.DistanceKernel(manhattan_distances, 0.5, 1.0, BOUNDS)],
    ),
    "AllSubsets": Twin(
        lambda: [
            sk.AllSubsets(), sk.AllSubsets(weights=[0.5, 0, 2.0]), sk.AllSubsets(0.5),
            sk.AllSubsets(base_kernels=RBF(0.5)),
        ],
        all_subsets, vectors,
        lambda: [
            sk.AllSubsets([0.5, 1, 2.0], weights_bounds=BOUNDS),
            sk.AllSubsets(0.5, [RBF(0.5, BOUNDS), RBF(), DotProduct(1, BOUNDS)], BOUNDS),
        ],
    ),
    "ANOVA": Twin(
        lambda: [
            sk.ANOVA(), sk.ANOVA(0), sk.ANOVA(3), sk.ANOVA(4), sk.ANOVA(2, cumulative=True),
            sk.ANOVA(2, weights=[0.5, 0, 2.0]), sk.ANOVA(2, True, 0.5, RBF(0.5)),
            sk.ANOVA(2, base_kernels=[RBF(), DotProduct(), RBF(2.0)]),
            sk.ANOVA(2, method="newton"), sk.ANOVA(3, True, method="newton"),
            sk.ANOVA(2, base_kernels=RBF(0.5), method="newton"),
        ],
        anova, vectors,
        lambda: [
            sk.ANOVA(2, True, [0.5, 1, 2.0], RBF(0.5, BOUNDS), weights_bounds=BOUNDS),
            sk.ANOVA(2, False, 0.5, [RBF(1, BOUNDS), DotProduct(1, BOUNDS), RBF()], "dp", BOUNDS),
            sk.ANOVA(0, weights=[0.5, 1, 2.0], weights_bounds=BOUNDS),
        ],
    ),
    "CosineSeries": Twin(
        lambda: [sk.CosineSeries(), sk.CosineSeries((1, 0.5, 0.25), 3.0)], cosine_series, vectors,
        lambda: [sk.CosineSeries((1, 0.5, 0.25), 3.0, BOUNDS)],
    ),
    "Min": Twin(lambda: [sk.Min(), sk.Min(combine="sum")], minimum, vectors),
    "Triangular": Twin(
        lambda: [sk.Triangular(), sk.Triangular(2.5, "sum")], triangular, vectors,
        lambda: [sk.Triangular(2.5, "sum", BOUNDS), sk.Triangular(4.0, width_bounds=BOUNDS)],
    ),
    "Spline": Twin(
        lambda: [
            sk.Spline(0), sk.Spline(), sk.Spline(2, sobolev=True), sk.Spline(3, combine="sum"),
            sk.Spline(3, knots=[0.5, 1.0]), sk.Spline(0, knots=[0.5]),
        ],
        spline, positive,
    ),
    "GammaExponential": Twin(
        lambda: [
            sk.GammaExponential(), sk.GammaExponential(0.5, 2.0),
            sk.GammaExponential([0.5, 1, 3], 1.5),
        ],
        gamma_exponential, vectors,
        lambda: [
            sk.GammaExponential(0.8, 1.5, BOUNDS, (0.1, 2.0)),
            sk.GammaExponential([0.5, 1, 3], 1.2, BOUNDS, (0.1, 2.0)),
        ],
    ),
    "ArcSine": Twin(
        lambda: [sk.ArcSine(), sk.ArcSine(0.0, [1, 0.5, 2], 1.0)], arcsine, vectors,
        lambda: [
            sk.ArcSine(0.5, [1, 0.5, 2], 1.0, BOUNDS, BOUNDS, BOUNDS),
            sk.ArcSine(0.5, 0.7, 1.0, BOUNDS, BOUNDS, BOUNDS),
        ],
    ),
    "ARDLinear": Twin(
        lambda: [sk.ARDLinear(), sk.ARDLinear([1, 0.0, 2])], ard_linear, vectors,
        lambda: [sk.ARDLinear(0.6, BOUNDS), sk.ARDLinear([1, 0.5, 2], BOUNDS)],
    ),
    "PowerSet": Twin(
        lambda: [sk.PowerSet(), sk.PowerSet({1: 3.0, 2: 0}), sk.PowerSet([1, 2, 3, 0.5, 0, 1])],
        power_set, sets,
    ),
    "Intersection": Twin(
        lambda: [sk.Intersection(), sk.Intersection({1: 3.0, 2: 0})], intersection, sets
    ),
    "UnionComplement": Twin(
        lambda: [sk.UnionComplement(6), sk.UnionComplement(set(range(8)), {1: 3.0})],
        union_complement, sets,
    ),
    "Agreement": Twin(
        lambda: [sk.Agreement(6), sk.Agreement(range(8), {1: 3.0}), sk.Agreement(6, [1.0] * 6)],
        agreement, sets,
    ),
    "DerivedSubsets": Twin(
        lambda: [sk.DerivedSubsets(RBF()), sk.DerivedSubsets(DotProduct(0.5), True)],
        derived_subsets, bags,
        lambda: [sk.DerivedSubsets(RBF(0.7, BOUNDS), True)],
    ),
    "DAGPath": Twin(lambda: [sk.DAGPath(edges(), "s", "t")], dag_path, vectors),
    "GraphPath": Twin(
        lambda: [sk.GraphPath(edges(True), "s", "t"), sk.GraphPath(edges(), "s", "b")],
        graph_path, vectors,
    ),
    "ExponentialDiffusion": Twin(
        lambda: [
            sk.ExponentialDiffusion(similarity(), 0.3), sk.ExponentialDiffusion(similarity(), -1),
            sk.ExponentialDiffusion(abs(similarity()), 0.1, True),
        ],
        exponential_diffusion, nodes,
        lambda: [sk.ExponentialDiffusion(similarity(), 0.3, decay_bounds=BOUNDS)],
    ),
    "VonNeumann": Twin(
        lambda: [
            sk.VonNeumann(similarity()), sk.VonNeumann(similarity(), 0.1),
            sk.VonNeumann(similarity(True), relative_decay=0.9, include_identity=False),
        ],
        von_neumann, nodes,
        lambda: [sk.VonNeumann(similarity(), relative_decay_bounds=(0.01, 0.99))],
    ),
}  # fmt: skip
