"""Store a set of fitted models, with inputs and answers, in tests/stored_models/VERSION.

python3 tools/dev.py store-models 0.1.0
"""

import argparse
import json
import pickle
import platform
import shutil
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from zipfile import ZIP_DEFLATED

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from skmoderndata import __version__, trusted_types
from skmoderndata.cluster import KMedoids, MultiAssignmentClustering, TimeSeriesKMeans
from skmoderndata.cross_decomposition import KernelCCA, RegularizedCCA
from skmoderndata.decomposition import (
    KSVD,
    IncrementalSlowFeatureAnalysis,
    ProbabilisticLSA,
    RobustPCA,
    SlowFeatureAnalysis,
    SparseNMF,
)
from skmoderndata.discriminant_analysis import KernelDiscriminantAnalysis
from skmoderndata.feature_extraction import SequenceFeatures
from skmoderndata.gaussian_process import SparseGaussianProcessRegressor
from skmoderndata.impute import NuclearNormImputer
from skmoderndata.kernel_approximation import IncompleteCholesky
from skmoderndata.kernels import DTWKernel, PSpectrum
from skmoderndata.linear_model import GroupLassoCV
from skmoderndata.manifold import SammonMapping
from skmoderndata.neighbors import DTWNeighborsClassifier
from skmoderndata.neural_network import ELMClassifier, RBFNetworkRegressor
from skmoderndata.preprocessing import KernelTransformer
from skmoderndata.ranking import NuSVOR
from skmoderndata.sparse_coding import SparseCoder
from skmoderndata.svm import L2SVC, CoreVectorMachine, SupportFeatureMachine

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "stored_models"
# Maximum size of a file, in bytes.
LARGEST_FILE = 20_000
# Maximum size of all files of one version, in bytes.
LARGEST_SET = 300_000
# Packages whose classes and arrays are in the files.
PACKAGES = ("numpy", "scipy", "scikit-learn", "skops")
PICKLE_PROTOCOL = 4


def main(arguments):
    """Fit and store all models, unless VERSION is not the version of the package."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", help="the version of the package, as a check")
    asked = parser.parse_args(arguments).version
    if asked != __version__:
        return (
            f"This is version {__version__}, not {asked}: set it in skmoderndata/_version.py."
        )
    folder = FOLDER / asked
    if folder.exists() and ".dev" not in asked:
        return f"The models of {asked} are stored: the files of a release never change."

    # the files of development versions are out of date
    for old in FOLDER.glob("*.dev*"):
        shutil.rmtree(old)
    folder.mkdir(parents=True, exist_ok=True)
    versions = {name: version(name) for name in PACKAGES}
    versions = {"python": platform.python_version(), **versions}
    (folder / "versions.json").write_text(json.dumps(versions, indent=2) + "\n")

    for name, (model, samples, method) in models().items():
        store(folder, name, model, samples, method)
    sizes = [path.stat().st_size for path in folder.iterdir()]
    print(f"{len(models())} models, {len(sizes)} files, {sum(sizes):,} bytes")
    if max(sizes) > LARGEST_FILE or sum(sizes) > LARGEST_SET:
        return (
            f"At most {LARGEST_FILE:,} bytes a file and {LARGEST_SET:,} together are allowed."
        )
    return None


def store(folder, name, model, samples, method):
    """Write the files of one model: pickle, input and answer; skops if it can store the model."""
    import skops.io as sio

    answer = getattr(model, method)(samples)
    answer = answer.toarray() if sparse.issparse(answer) else answer
    with open(folder / f"{name}.pickle", "wb") as file:
        pickle.dump(model, file, protocol=PICKLE_PROTOCOL)
    is_list = isinstance(samples, list)
    inputs = (
        {f"sample_{i}": one for i, one in enumerate(samples)} if is_list else {"X": samples}
    )
    with open(folder / f"{name}.npz", "wb") as file:
        np.savez_compressed(file, method=method, answer=answer, **inputs, allow_pickle=False)

    stored = sio.dumps(model, compression=ZIP_DEFLATED, compresslevel=9)
    types = sio.get_untrusted_types(data=stored)
    if trusted_types(types) == types and len(stored) <= LARGEST_FILE:
        (folder / f"{name}.skops").write_bytes(stored)


def models():
    """Return name -> (fitted model, input of the method, method)."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 2)).cumsum(axis=0) @ rng.normal(size=(2, 5))
    rows += 0.3 * rng.normal(size=rows.shape)
    new = rows[:6] + 0.1 * rng.normal(size=(6, 5))
    labels = (rows[:, 0] > np.median(rows[:, 0])).astype(int)
    names = np.array(["low", "high"])[labels]
    bits = rng.random((30, 2, 1)) < 0.5
    bits = (bits & (rng.random((1, 2, 8)) < 0.5)).any(axis=1)
    gaps = np.where(rng.random(rows.shape) < 0.1, np.nan, rows)
    series = [np.sin(np.arange(8 + i % 3) * (0.5 + i % 2))[:, None] for i in range(12)]
    words = ["abab", "baba", "abba", "bbaa", "cdcd", "dcdc", "ccdd", "dccd"]
    word_labels = np.repeat([0, 1], 4)
    shown = ["abaa", "cddc", "badc"]
    positive = np.abs(rows)

    X, y, Z = rows, rows[:, 0], rows[:, :2] ** 2
    return {
        # the flagships
        "robust_pca": (RobustPCA().fit(X), new, "transform"),
        "multi_assignment_clustering": (
            MultiAssignmentClustering(2, random_state=0).fit(bits),
            bits[:6],
            "transform",
        ),
        "support_feature_machine": (
            SupportFeatureMachine().fit(X, labels),
            new,
            "decision_function",
        ),
        "sparse_nmf": (SparseNMF(2, random_state=0).fit(positive), np.abs(new), "transform"),
        "ksvd": (KSVD(4, n_nonzero_coefs=2, random_state=0).fit(X), new, "transform"),
        "kernel_cca": (KernelCCA(2, kernel="rbf").fit(X[:20], Z[:20]), new, "transform"),
        "slow_feature_analysis": (
            SlowFeatureAnalysis(2, degree=2).fit(X[:, :3]),
            new[:, :3],
            "transform",
        ),
        "core_vector_machine": (CoreVectorMachine().fit(X, names), new, "decision_function"),
        # tables
        "nuclear_norm_imputer": (NuclearNormImputer().fit(gaps), gaps[:6], "transform"),
        "regularized_cca": (RegularizedCCA(2).fit(X, Z), new, "transform"),
        "incremental_slow_feature_analysis": (
            IncrementalSlowFeatureAnalysis(2).partial_fit(X),
            new,
            "transform",
        ),
        "probabilistic_lsa": (
            ProbabilisticLSA(2, random_state=0).fit(np.round(positive)),
            np.round(np.abs(new)),
            "transform",
        ),
        "sparse_coder": (
            SparseCoder(np.eye(5), transform_n_nonzero_coefs=2).fit(X),
            new,
            "transform",
        ),
        "group_lasso_cv": (GroupLassoCV(cv=3).fit(X[:, 1:], y), new[:, 1:], "predict"),
        "elm_classifier": (
            ELMClassifier(8, random_state=0).fit(X, names),
            new,
            "decision_function",
        ),
        "rbf_network_regressor": (
            RBFNetworkRegressor(4, random_state=0).fit(X[:, 1:], y),
            new[:, 1:],
            "predict",
        ),
        "nusvor": (
            NuSVOR().fit(X, np.digitize(y, np.quantile(y, [0.3, 0.6]))),
            new,
            "decision_function",
        ),
        "kmedoids": (KMedoids(3, random_state=0).fit(X), new, "predict"),
        "sammon_mapping": (SammonMapping(2).fit(X[:20]), new, "transform"),
        # kernel objects
        "sparse_gaussian_process_regressor": (
            SparseGaussianProcessRegressor(
                kernel=1.0 * RBF(2.0), n_inducing=5, optimizer=None, random_state=0
            ).fit(X[:, 1:], y),
            new[:, 1:],
            "predict",
        ),
        "incomplete_cholesky": (
            IncompleteCholesky(5, kernel=RBF(3.0), random_state=0).fit(X),
            new,
            "transform",
        ),
        "kernel_discriminant_analysis": (
            KernelDiscriminantAnalysis(kernel="poly").fit(X, names),
            new,
            "predict",
        ),
        # strings
        "l2_svc_of_strings": (
            L2SVC(kernel=PSpectrum(2)).fit(words, word_labels),
            shown,
            "predict",
        ),
        "sequence_features": (SequenceFeatures().fit(words), shown, "transform"),
        # series of unequal lengths
        "dtw_neighbors_classifier": (
            DTWNeighborsClassifier().fit(series, np.arange(12) % 2),
            series[:3],
            "predict",
        ),
        "time_series_k_means": (
            TimeSeriesKMeans(2, random_state=0).fit(series),
            series[:3],
            "predict",
        ),
        "kernel_transformer_of_series": (
            KernelTransformer(kernel=DTWKernel()).fit(series),
            series[:3],
            "transform",
        ),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    sys.exit(main(sys.argv[1:]))
