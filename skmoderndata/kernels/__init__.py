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
from skmoderndata.kernels._series_kernels import DTWKernel, GlobalAlignment
from skmoderndata.kernels._set_kernels import (
    Agreement,
    DerivedSubsets,
    Intersection,
    PowerSet,
    UnionComplement,
)
from skmoderndata.kernels._spectrum_kernels import BlendedSpectrum, Mismatch, PSpectrum
from skmoderndata.kernels._structure_kernels import Convolution, WeisfeilerLehman
from skmoderndata.kernels._subsequence_kernels import (
    AllSubsequences,
    FixedLengthSubsequences,
    GapWeighted,
)
from skmoderndata.kernels._text_kernels import (
    GeneralizedVectorSpace,
    LatentSemantic,
    SemanticDiffusion,
    SemanticSmoothing,
    TfIdf,
    VectorSpace,
)
from skmoderndata.kernels._tree_kernels import AllSubtree, CompleteSubtree, CoRootedSubtree
from skmoderndata.kernels._trees import from_brackets, sort_children

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
