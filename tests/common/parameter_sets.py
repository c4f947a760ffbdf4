"""Parameter sets with which the common tests run each class.

A class without an entry is tested with its defaults.
"""

from sklearn.cluster import KMeans
from sklearn.neighbors import NearestCentroid

PARAMETER_SETS = {
    "AlignedKernelCombination": (
        {},
        {"kernels": ["linear", "rbf"], "algorithm": "independent"},
    ),
    "BasisPursuit": (
        {},
        {"residual_rtol": None, "fit_intercept": False},
        {"positive": True},
    ),
    "BayesianCommitteeMachine": (
        {"max_expert_size": 20, "random_state": 0},
        {
            "max_expert_size": 20,
            "combine": "grbcm",
            "partition": "random",
            "random_state": 0,
        },
    ),
    "BooleanKMeans": (
        {"random_state": 0},
        {"n_clusters": 2, "init": "random", "n_init": 3, "random_state": 0},
    ),
    "BridgeRegression": ({"alpha": 0.01}, {"exponent": 1.5, "alpha": 0.1}),
    "CCIPCA": (
        {},
        {"n_components": 2, "whiten": True, "random_state": 0},
        {"n_components": 1, "refine": False, "tol": None, "max_iter": 2, "shuffle": False},
    ),
    "ClusteringStability": (
        {"param_range": (2, 3), "n_splits": 4, "n_random": 5, "random_state": 0},
        {
            "estimator": KMeans(n_init=1),
            "classifier": NearestCentroid(),
            "param_range": (2, 3),
            "n_splits": 3,
            "random_state": 0,
        },
    ),
    "CompressedSensing": (
        {"random_state": 0},
        {"random_state": 0, "kind": "dct", "basis": None, "algorithm": "omp"},
        {"random_state": 0, "kind": "fourier", "basis": "haar", "algorithm": "iht"},
        {"random_state": 0, "kind": "sparse", "n_measurements": 3, "algorithm": "cosamp"},
    ),
    "ConvexNMF": (
        {"random_state": 0},
        {"kernel": "rbf", "n_components": 3, "init": "random", "random_state": 0},
    ),
    "CoreVectorMachine": (
        {},
        {"kernel": "linear", "C": 0.1, "class_weight": "balanced"},
        {"kernel": "poly", "degree": 2, "batch_size": 8},
        {"radius_tol": 1e-9, "fit_intercept": False, "random_state": 0},
    ),
    "CoreVectorOutlierDetector": (
        # with the default slack, the fraction of outliers among the training samples equals
        # contamination only by chance
        {"slack": 0.1},
        {"slack": 0.3, "contamination": 0.2, "kernel": "laplacian"},
        {"max_samples": 50, "random_state": 0, "tol": 1e-3},
    ),
    "CoreVectorRanker": (
        {},
        {"kernel": "linear", "C": 0.1, "tol": 1e-3},
    ),
    "CoreVectorRegressor": (
        {},
        {"kernel": "linear", "C": 1.0, "tube_distance": 0.1},
        {"kernel": "laplacian", "batch_size": 8, "random_state": 0},
    ),
    "DTWNeighborsClassifier": (
        {},
        {"n_neighbors": 3, "weights": "distance"},
        {"metric": "msm"},
    ),
    "DTWNeighborsRegressor": ({}, {"n_neighbors": 3, "weights": "distance"}),
    "DictionaryClassifier": (
        {"n_components": 3, "n_nonzero_coefs": 1, "random_state": 0},
        {
            "n_components": 4,
            "n_nonzero_coefs": 1,
            "n_discriminative": 0,
            "max_iter": 5,
            "random_state": 0,
        },
    ),
    "DiscreteBasis": (
        {},
        {"n_clusters": 2, "association_threshold": 0.6, "refit": False},
        {"n_clusters": 15, "association_threshold": (0.5, 0.9), "penalty": 2.0},
    ),
    "DoubleCenterer": ({}, {"squared": True}),
    "ELMClassifier": (
        {"n_hidden": 50, "random_state": 0},
        {"n_hidden": 20, "activation": "relu", "fit_intercept": False, "random_state": 0},
        {"n_hidden": 20, "direct_links": True, "random_state": 0},
    ),
    "ELMRegressor": (
        {"n_hidden": 50, "random_state": 0},
        {"n_hidden": 20, "activation": "relu", "fit_intercept": False, "random_state": 0},
        {"n_hidden": 20, "direct_links": True, "random_state": 0},
    ),
    "FeatureSignDictionaryLearning": (
        {"max_iter": 5, "tol": 0.0, "random_state": 0},
        {
            "n_components": 3,
            "alpha": 0.1,
            "algorithm": "homotopy",
            "momentum": False,
            "tol": 0.01,
            "random_state": 0,
        },
        {
            "alpha": 1.0,
            "positive_code": True,
            "positive_dict": True,
            "init": "random",
            "max_iter": 4,
            "tol": 0.0,
            "store_codes": True,
            "random_state": 0,
        },
    ),
    "FormalConceptFactorization": ({}, {"n_clusters": None, "cover": "best"}),
    "GroupLasso": (
        {},
        {"alpha": 0.01, "groups": 2},
        {"alpha": 0.05, "groups": 3, "l1_ratio": 0.5, "fit_intercept": False},
        {"alpha": 0.01, "groups": 2, "positive": True},
        {"alpha": 0.01, "groups": 2, "ridge": 0.1},
    ),
    "GroupLassoCV": ({"alphas": 10}, {"alphas": 5, "groups": 2, "cv": 3}),
    "GroupLassoClassifier": (
        {},
        {"alpha": 0.02, "groups": 2, "l1_ratio": 0.3},
        {"alpha": 0.02, "groups": 2, "ridge": 0.1},
    ),
    "HierarchicalSlowFeatureAnalysis": (
        {"n_components": 1},
        {
            "n_components": 2,
            "degree": 1,
            "n_pre": None,
            "noise_std": 0.01,
            "random_state": 0,
        },
        {"n_components": 2, "weight_sharing": False, "clip": None, "batch_size": 7},
    ),
    "IncompleteCholesky": (
        {"n_components": 20, "random_state": 0},
        {"kernel": "poly", "tol": 0.05, "random_state": 0},
        {"algorithm": "greedy"},
    ),
    "IncrementalSlowFeatureAnalysis": (
        {"random_state": 0},
        {"n_components": 1, "degree": 2, "n_whitened": 2, "random_state": 0},
        {
            "n_components": 1,
            "refine": False,
            "tol": None,
            "max_iter": 2,
            "random_state": 0,
        },
    ),
    "JamesStein": ({}, {"target": "zero", "noise_variance": 1.0}, {"positive_part": False}),
    "KMedoids": (
        {"n_clusters": 3},
        {"n_clusters": 3, "metric": "manhattan"},
    ),
    "KSVD": (
        {"max_iter": 5, "random_state": 0},
        {
            "n_components": 3,
            "n_nonzero_coefs": 2,
            "update": "exact",
            "monotone": True,
            "random_state": 0,
        },
        {
            "residual_tol": 0.7,
            "init": "random",
            "tol": 0.9,
            "min_usage": 0,
            "random_state": 0,
        },
        {"positive": True, "max_iter": 4, "store_codes": True, "random_state": 0},
        {"update": "mod", "dc_atom": True, "max_iter": 4, "random_state": 0},
    ),
    "KernelAdatronClassifier": (
        {"random_state": 0},
        {"loss": "squared_hinge", "C": 0.1, "fit_intercept": True, "random_state": 0},
        {"kernel": "linear", "C": 0.01, "omega": 1.3, "shuffle": False, "tol": 0.3},
    ),
    "KernelAdatronRegressor": (
        {"random_state": 0},
        {"kernel": "linear", "C": 0.01, "epsilon": 0.0, "shuffle": False, "tol": 0.3},
    ),
    "KernelCCA": (
        {"n_components": 1},
        {
            "kernel": "linear",
            "regularization": "ridge",
            "solver": "low_rank",
            "n_components": 1,
        },
        {
            "n_components": 1,
            "solver": "nystroem",
            "max_rank": 20,
            "regularization": "bach-jordan",
            "random_state": 0,
        },
        {"criterion": "gcca", "kernel": "poly", "degree": 2},
    ),
    "KernelCentroidOutlierDetector": ({}, {"kernel": "linear", "contamination": 0.2}),
    "KernelDiscriminantAnalysis": (
        {},
        {"kernel": "linear", "n_components": None},
        {"solver": "low_rank"},
        {"solver": "nystroem", "random_state": 0},
    ),
    "KernelGraphEmbedding": (
        {},
        {"n_components": 1, "kernel": "linear"},
        {"solver": "low_rank"},
    ),
    "KernelKMeans": (
        {"n_clusters": 3, "n_init": 2, "random_state": 0},
        {"n_clusters": 3, "n_init": 1, "local_search": False, "random_state": 0},
        {"n_clusters": 3, "kernel": "linear", "init": "spectral", "random_state": 0},
        {
            "n_clusters": 3,
            "n_init": 2,
            "solver": "low_rank",
            "max_rank": 10,
            "random_state": 1,
        },
        {"n_clusters": 3, "n_init": 2, "solver": "nystroem", "random_state": 0},
    ),
    "KernelNearestCentroid": (
        {},
        {"kernel": "linear"},
        {"offset": "density", "priors": "empirical"},
    ),
    "KernelPCAOutlierDetector": (
        {},
        {"n_components": 2, "kernel": "poly", "degree": 2},
        {"solver": "low_rank"},
    ),
    "KernelPLSRegression": (
        {},
        {"kernel": "linear"},
        {"solver": "low_rank", "n_components": 1},
    ),
    "KernelPRank": (
        {"random_state": 0},
        # The three clouds of a check have no order along a line, even with only twenty samples.
        {"kernel": "poly", "average": True, "random_state": 0},
        {"budget": 100, "shuffle": False},
    ),
    "KernelPerceptron": (
        {"random_state": 0},
        {"average": True, "random_state": 0},
        {"kernel": "linear", "average": True, "random_state": 0},
        {"budget": 30, "max_iter": 10, "shuffle": False},
        {"budget": 60, "budget_policy": "oldest", "max_iter": 10, "random_state": 0},
    ),
    "KernelProjector": ({}, {"n_components": 1, "algorithm": "cholesky"}, {"center": True}),
    "KernelTransformer": ({}, {"kernel": "poly", "degree": 2}),
    "KernelWhitener": ({}, {"n_components": 2, "scale": "unit_eigenvalue"}),
    "L2SVC": (
        {},
        {"kernel": "linear", "C": 0.1, "class_weight": "balanced"},
        {"kernel": "poly", "degree": 2, "break_ties": True},
    ),
    "L2SVR": ({}, {"kernel": "linear", "epsilon": 0.0}, {"kernel": "poly", "degree": 2}),
    "LaplacianEmbedding": (
        {},
        {"n_neighbors": None},
        {"n_components": 1, "kernel": "laplacian", "gamma": 0.1},
    ),
    "MaximumVarianceUnfolding": (
        {"n_neighbors": 60, "solver": "low_rank", "random_state": 0},
        {
            "n_neighbors": 60,
            "constraints": "at_most",
            "solver": "low_rank",
            "tol": 0.1,
            "random_state": 0,
        },
    ),
    "MinimumEnclosingBall": (
        {},
        {"kernel": "rbf", "algorithm": "sampling", "random_state": 0},
        {"solver": "away_steps", "tol": 1e-3},
    ),
    "MinorComponentAnalysis": (
        {"random_state": 0},
        {"n_components": 2, "random_state": 0, "learning_rate_hold": 50},
        {"refine": False, "tol": None, "max_iter": 2, "shuffle": False, "random_state": 0},
    ),
    "MultiAssignmentClustering": (
        {"n_clusters": 2, "n_init": 1, "random_state": 0},
        {"n_clusters": 3, "max_assignments": 1, "noise": "flip", "random_state": 0},
        {"n_clusters": 3, "noise": None, "refit": False, "algorithm": "pruned"},
    ),
    # "online" is not checked: its steps depend on the order of the rows, so a weight of 2 is
    # not equivalent to repeating the row
    "NeuralGas": (
        {"n_clusters": 3, "max_iter": 20, "random_state": 0},
        {
            "n_clusters": 3,
            "n_init": 2,
            "neighborhood": 1.0,
            "max_iter": 10,
            "polish": False,
            "random_state": 0,
        },
    ),
    "NuSVOR": (
        {},
        {"nu": 0.55, "kernel": "laplacian", "order": "enforced"},
    ),
    "NuclearNormImputer": (
        {},
        {"alpha": 0.1, "debias": False},
        {"alpha": 0.0},
        {"n_components": 2, "alpha": 0.05},
    ),
    "OnlineRobustPCA": (
        {},
        {"n_components": 2, "noise_std": 0.5, "batch_size": 7},
        {"forget_factor": 0.99, "shuffle": False, "tol": 0.01},
    ),
    "PrincipalComponentsRegression": (
        {},
        {"n_components": None},
        {"n_components": 0.9, "solver": "dual"},
        {"kernel": "rbf", "n_components": 0.95},
        {"kernel": "rbf", "solver": "low_rank", "max_rank": 20},
        {"kernel": "rbf", "solver": "nystroem", "n_components": 0.9, "random_state": 0},
    ),
    "ProbabilisticLSA": (
        {"random_state": 0},
        {"n_components": 3, "smoothing": 0.1, "n_init": 2, "random_state": 0},
        {"posterior_exponent": 0.8, "random_state": 0},
    ),
    "RBFNetworkClassifier": (
        {"n_centers": 8, "random_state": 0},
        {"n_centers": 5, "centers": "ols", "basis": "linear", "random_state": 0},
        {"n_centers": 5, "centers": "neural_gas", "direct_links": True, "random_state": 0},
    ),
    "RBFNetworkRegressor": (
        {"n_centers": 8, "random_state": 0},
        {"n_centers": 5, "centers": "ols", "basis": "linear", "random_state": 0},
        {"n_centers": 5, "centers": "neural_gas", "direct_links": True, "random_state": 0},
    ),
    "RegularizedCCA": (
        {"n_components": 1},
        {"alpha": 0.5, "scale": False, "n_components": 1},
        {"scale": False, "n_components": 1},
        {"criterion": "sumcor", "alpha": 0.5, "n_components": 1},
        {"criterion": "gcca", "alpha": 0.1, "scale": False},
    ),
    "RobustPCA": (
        {},
        {"algorithm": "stable"},
        {"n_components": 2, "center": "median", "polish": True, "store_matrices": False},
        {
            "algorithm": "stable",
            "noise_std": 0.5,
            "solver": "subspace",
            "schedule": "constant",
        },
    ),
    "RoleMiner": (
        {},
        {"n_clusters": 2, "algorithm": "complete", "selection": "area", "cover": "best"},
    ),
    "RoundedSVD": ({}, {"n_clusters": 2, "fractions": (0.3, 0.6)}),
    "SVDD": ({}, {"kernel": "linear", "nu": 0.3}, {"kernel": "poly", "degree": 2}),
    "SammonMapping": (
        {"random_state": 0},
        {"init": "random", "n_components": 1, "random_state": 0},
    ),
    "SemiNMF": (
        {},
        {"init": "random", "n_init": 2, "random_state": 0, "max_iter": 9000},
    ),
    "SlowFeatureAnalysis": (
        {},
        {"degree": 2, "n_components": 2},
        {"pre_pca": 0.99, "degree": 2, "n_components": 1},
        {"lag": 2, "solver": "eigh", "batch_size": 7},
    ),
    "SparseCCA": (
        {"n_components": 1, "l1_bound": 0.3},
        {"l1_bound": 0.7, "scale": False, "n_components": 1},
    ),
    "SparseCoder": (
        {},
        {"transform_algorithm": "lasso", "transform_alpha": 0.1},
        {"transform_algorithm": "omp", "residual_rtol": 0.3, "positive_code": True},
        {
            "transform_algorithm": "cosamp",
            "transform_n_nonzero_coefs": 2,
            "normalize": False,
        },
        {"transform_algorithm": "fista", "transform_alpha": 0.1, "tol": 1e-3},
    ),
    "SparseGaussianProcessClassifier": (
        {"n_inducing": 10, "tol": 0.1, "random_state": 0},
        {"n_inducing": 8, "inducing": "greedy", "tol": 0.1, "random_state": 0},
    ),
    "SparseGaussianProcessRegressor": (
        {"n_inducing": 10, "random_state": 0},
        {"n_inducing": 8, "algorithm": "fitc", "inducing": "greedy", "tol": 0.1},
    ),
    "SparseNMF": (
        {},
        {"penalty": None, "solver": "bpp", "max_iter": 3000},
        {"side": "components", "n_init": 2, "init": "random", "random_state": 0},
        {"side": "both", "form": "plain", "alpha": 0.1},
        {"penalty": "hoyer", "sparseness_components": 0.4, "max_iter": 5000},
        {
            "penalty": "hoyer",
            "sparseness_codes": 0.3,
            "codes_axis": "sample",
            "max_iter": 5000,
            "tol": 1e-3,
        },
    ),
    "SparseRecovery": (
        {},
        {"algorithm": "basis_pursuit", "basis": "dct"},
        {"algorithm": "subspace_pursuit", "n_nonzero_coefs": 2},
        {"algorithm": "htp", "basis": "fourier"},
        {"algorithm": "omp", "positive": True},
    ),
    "SparseRepresentationClassifier": (
        {},
        {"algorithm": "group_lasso", "alpha": 0.3, "kernel": "rbf"},
        {"algorithm": "omp", "kernel": "rbf"},
        {"kernel": "precomputed", "rule": "energy"},
        {"residual_rtol": 0.3},
    ),
    "Sparsenet": (
        {"max_iter": 2, "random_state": 0},
        {"n_components": 3, "prior": "abs", "max_iter": 2, "random_state": 0},
        {
            "prior": "gauss",
            "norm": "gain",
            "batch_size": 10,
            "max_iter": 2,
            "random_state": 0,
        },
    ),
    "SpectrumCorrector": ({}, {"algorithm": "flip"}, {"algorithm": "square"}),
    "SupportFeatureMachine": (
        {},
        {"C": 10.0, "formulation": "centers", "class_weight": "balanced", "n_rounds": 2},
        {
            "algorithm": "rescaled",
            "penalize_intercept": True,
            "n_init": 2,
            "random_state": 0,
        },
        {"algorithm": "rescaled_l2", "n_features_to_select": 2},
        {"algorithm": "splicing", "class_weight": "balanced"},
        {"C": 0.5, "alpha": 0.1, "refit": False, "standardize": False, "solver": "cvxpy"},
    ),
    "TimeDelayEmbedding": (
        {},
        {"lag": "auto", "n_lags": 2},
    ),
    "TimeSeriesKMeans": ({"n_clusters": 3, "random_state": 0},),
}


def parameter_sets(cls):
    """Return the parameter sets of a class; the first one is used by tests that need only one."""
    return PARAMETER_SETS.get(cls.__name__, ({},))
