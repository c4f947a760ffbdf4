"""Kernels as objects of the kernel protocol of scikit-learn."""

from skmoderndata.kernels._anova_kernels import ANOVA, AllSubsets
from skmoderndata.kernels._fisher_kernels import Fisher, HMMFisher, MarkovFisher
from skmoderndata.kernels._function_kernels import (
    Bilinear,
    Covariance,
    DistanceKernel,
    MonteCarlo,
)
from skmoderndata.kernels._gap_kernels import GapNumberWeighted, RestrictedGapWeighted
from skmoderndata.kernels._generative_kernels import (
    FixedLengthHMM,
    HiddenTree,
    MixtureP,
    PairHMM,
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
from skmoderndata.kernels._spectrum_kernels import BlendedSpectrum, Mismatch, PSpectrum
from skmoderndata.kernels._subsequence_kernels import (
    AllSubsequences,
    FixedLengthSubsequences,
    GapWeighted,
)

__all__ = [
    "ANOVA",
    "ARDLinear",
    "Agreement",
    "AllSubsequences",
    "AllSubsets",
    "ArcSine",
    "Bilinear",
    "BlendedSpectrum",
    "Conformal",
    "CosineSeries",
    "Covariance",
    "DAGPath",
    "DerivedSubsets",
    "DirectSum",
    "DistanceKernel",
    "ExponentialDiffusion",
    "ExponentialOf",
    "Fisher",
    "FixedLengthHMM",
    "FixedLengthSubsequences",
    "GammaExponential",
    "GapNumberWeighted",
    "GapWeighted",
    "GaussianOf",
    "GramCache",
    "GraphPath",
    "HMMFisher",
    "HiddenTree",
    "Intersection",
    "MarkovFisher",
    "Min",
    "Mismatch",
    "MixtureP",
    "MonteCarlo",
    "Normalized",
    "PSpectrum",
    "PairHMM",
    "PolynomialOf",
    "PowerSet",
    "Pullback",
    "RestrictedGapWeighted",
    "Spline",
    "TensorProduct",
    "Triangular",
    "UnionComplement",
    "VonNeumann",
]
