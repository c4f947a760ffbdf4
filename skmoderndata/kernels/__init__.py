"""Kernels as objects of the kernel protocol of scikit-learn."""

from skmoderndata.kernels._anova_kernels import ANOVA, AllSubsets
from skmoderndata.kernels._function_kernels import (
    Bilinear,
    Covariance,
    DistanceKernel,
    MonteCarlo,
)
from skmoderndata.kernels._gram_cache import GramCache
from skmoderndata.kernels._graph_kernels import (
    DAGPath,
    ExponentialDiffusion,
    GraphPath,
    VonNeumann,
)
from skmoderndata.kernels._kernel_algebra import (
    Conformal,
    ExponentialOf,
    GaussianOf,
    Normalized,
    PolynomialOf,
    Pullback,
)
from skmoderndata.kernels._number_kernels import (
    ArcSine,
    ARDLinear,
    CosineSeries,
    GammaExponential,
    Min,
    Spline,
    Triangular,
)
from skmoderndata.kernels._part_kernels import DirectSum, TensorProduct
from skmoderndata.kernels._set_kernels import (
    Agreement,
    DerivedSubsets,
    Intersection,
    PowerSet,
    UnionComplement,
)

__all__ = [
    "ANOVA",
    "ARDLinear",
    "Agreement",
    "AllSubsets",
    "ArcSine",
    "Bilinear",
    "Conformal",
    "CosineSeries",
    "Covariance",
    "DAGPath",
    "DerivedSubsets",
    "DirectSum",
    "DistanceKernel",
    "ExponentialDiffusion",
    "ExponentialOf",
    "GammaExponential",
    "GaussianOf",
    "GramCache",
    "GraphPath",
    "Intersection",
    "Min",
    "MonteCarlo",
    "Normalized",
    "PolynomialOf",
    "PowerSet",
    "Pullback",
    "Spline",
    "TensorProduct",
    "Triangular",
    "UnionComplement",
    "VonNeumann",
]
