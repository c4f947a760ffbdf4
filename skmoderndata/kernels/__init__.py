"""Kernel objects that follow scikit-learn's kernel protocol."""

from skmoderndata._samples.trees import from_brackets, sort_children
from skmoderndata.kernels._algebra.functions import (
    Bilinear,
    Covariance,
    DistanceKernel,
    MonteCarlo,
)
from skmoderndata.kernels._algebra.operations import (
    Conformal,
    ExponentialOf,
    GaussianOf,
    Normalized,
    PolynomialOf,
    Pullback,
)
from skmoderndata.kernels._algebra.parts import DirectSum, TensorProduct
from skmoderndata.kernels._generative.fisher import Fisher, HMMFisher, MarkovFisher
from skmoderndata.kernels._generative.probability import (
    FixedLengthHMM,
    HiddenTree,
    MixtureP,
    PairHMM,
)
from skmoderndata.kernels._gram_cache import GramCache
from skmoderndata.kernels._graphs.paths_and_diffusion import (
    DAGPath,
    ExponentialDiffusion,
    GraphPath,
    VonNeumann,
)
from skmoderndata.kernels._graphs.structures import Convolution, WeisfeilerLehman
from skmoderndata.kernels._graphs.trees import AllSubtree, CompleteSubtree, CoRootedSubtree
from skmoderndata.kernels._series.alignment import DTWKernel, GlobalAlignment
from skmoderndata.kernels._sets.sets import (
    Agreement,
    DerivedSubsets,
    Intersection,
    PowerSet,
    UnionComplement,
)
from skmoderndata.kernels._strings.gaps import GapNumberWeighted, RestrictedGapWeighted
from skmoderndata.kernels._strings.spectrum import BlendedSpectrum, Mismatch, PSpectrum
from skmoderndata.kernels._strings.subsequences import (
    AllSubsequences,
    FixedLengthSubsequences,
    GapWeighted,
)
from skmoderndata.kernels._strings.text import (
    GeneralizedVectorSpace,
    LatentSemantic,
    SemanticDiffusion,
    SemanticSmoothing,
    TfIdf,
    VectorSpace,
)
from skmoderndata.kernels._vectors.anova import ANOVA, AllSubsets
from skmoderndata.kernels._vectors.real_numbers import (
    ArcSine,
    ARDLinear,
    CosineSeries,
    GammaExponential,
    Min,
    Spline,
    Triangular,
)

__all__ = [
    "ANOVA",
    "ARDLinear",
    "Agreement",
    "AllSubsequences",
    "AllSubsets",
    "AllSubtree",
    "ArcSine",
    "Bilinear",
    "BlendedSpectrum",
    "CoRootedSubtree",
    "CompleteSubtree",
    "Conformal",
    "Convolution",
    "CosineSeries",
    "Covariance",
    "DAGPath",
    "DTWKernel",
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
    "GeneralizedVectorSpace",
    "GlobalAlignment",
    "GramCache",
    "GraphPath",
    "HMMFisher",
    "HiddenTree",
    "Intersection",
    "LatentSemantic",
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
    "SemanticDiffusion",
    "SemanticSmoothing",
    "Spline",
    "TensorProduct",
    "TfIdf",
    "Triangular",
    "UnionComplement",
    "VectorSpace",
    "VonNeumann",
    "WeisfeilerLehman",
    "from_brackets",
    "sort_children",
]
