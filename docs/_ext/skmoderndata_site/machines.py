"""One kernel, every machine: the table of the page on samples of any kind, made by running it."""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from sklearn.base import clone, is_classifier, is_clusterer, is_regressor
from sklearn.cluster import AgglomerativeClustering, SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

from skmoderndata._estimator.registry import all_estimators
from skmoderndata.datasets import load_peptides
from skmoderndata.feature_extraction import SequenceFeatures
from skmoderndata.kernels import BlendedSpectrum, Normalized
from skmoderndata.metrics import kernel_distances
from skmoderndata.preprocessing import DistanceTransformer, KernelTransformer, SampleColumn

KERNEL = Normalized(BlendedSpectrum(3))
SETTINGS = {  # where the defaults do not suit 83 strings of two kinds
    "ConvexNMF": {"n_components": 2},
    "KernelCCA": {"n_components": 1, "kernel": [KERNEL, KERNEL]},
    "KernelGraphEmbedding": {"n_components": 2},
    "KernelKMeans": {"n_clusters": 2},
    "PrincipalComponentsRegression": {"n_components": 10},
}
OTHERS = {
    "KernelTransformer", "SequenceFeatures",  # steps, which have rows below
    "BayesianCommitteeMachine",  # inputs need means: vectors
    "SparseGaussianProcessClassifier", "SparseGaussianProcessRegressor",
}  # fmt: skip


class Machine(NamedTuple):
    """A row of the table."""

    name: str
    route: str
    model: object


def containers(X):
    """The same samples in every container that users have."""
    objects = np.empty(len(X), dtype=object)
    objects[:] = X
    return {
        "list": X,
        "tuple": tuple(X),
        "object array": objects,
        "string array": np.array(X),
        "pandas": pd.Series(X, index=range(5, 5 + len(X))),
        "polars": pl.Series(X),
        "SampleColumn": SampleColumn().fit_transform(X),
    }


def feature_distances(X, Z):
    """Distance in the feature space of the kernel."""
    return kernel_distances(KERNEL(X, Z), KERNEL.diag(X), KERNEL.diag(Z))


def machines():
    """Every estimator with `kernel=`, and those of scikit-learn by each route."""
    rows = []
    # our estimators take the kernel itself
    for cls in all_estimators():
        if (
            "kernel" in getattr(cls, "_parameter_constraints", {})
            and cls.__name__ not in OTHERS
        ):
            model = cls(**{"kernel": KERNEL} | SETTINGS.get(cls.__name__, {}))
            if "random_state" in model.get_params():
                model.set_params(random_state=0)
            rows.append(Machine(cls.__name__, "`kernel=kernel`", model))

    # scikit-learn's machines that call a kernel on what they are given
    for model in (SVC(kernel=KERNEL), NuSVC(kernel=KERNEL, nu=0.3), SVR(kernel=KERNEL)):
        rows.append(Machine(type(model).__name__, "`kernel=kernel`", model))
    for model in (NuSVR(kernel=KERNEL), OneClassSVM(kernel=KERNEL)):
        rows.append(Machine(type(model).__name__, "`kernel=kernel`", model))

    # those that check for numbers get a column that stands for the samples
    for model in (
        GaussianProcessClassifier(KERNEL),
        GaussianProcessRegressor(KERNEL, alpha=0.1),
    ):
        steps = make_pipeline(SampleColumn(), model)
        rows.append(Machine(type(model).__name__, "`SampleColumn`, `kernel`", steps))

    # precomputed Gram matrices
    for model in (
        KernelRidge(kernel="precomputed"),
        KernelPCA(2, kernel="precomputed"),
        SpectralClustering(2, affinity="precomputed", random_state=0),
    ):
        steps = make_pipeline(KernelTransformer(KERNEL), model)
        rows.append(Machine(type(model).__name__, "`KernelTransformer`", steps))

    # precomputed distances
    for model in (
        KNeighborsClassifier(metric="precomputed"),
        AgglomerativeClustering(2, metric="precomputed", linkage="complete"),
    ):
        steps = make_pipeline(DistanceTransformer(feature_distances), model)
        rows.append(Machine(type(model).__name__, "`DistanceTransformer`", steps))

    # explicit features
    linear = make_pipeline(SequenceFeatures(KERNEL.kernel), LinearSVC(random_state=0))
    return [*rows, Machine("LinearSVC", "`SequenceFeatures`", linear)]


def run(machine, X, y, X_new):
    """Fit the machine, and return what it says of new samples (or of those it was fitted on)."""
    model = clone(machine.model)
    if isinstance(getattr(model, "kernel", None), list):  # of two views, both the strings
        model.fit([X, X])
        return model.transform([X_new, X_new])[0]
    if hasattr(model, "fit_predict") and not hasattr(model, "predict"):
        return model.fit_predict(X)
    model.fit(X, y)
    for name in ("decision_function", "predict", "transform"):
        if hasattr(model, name):
            return getattr(model, name)(X_new)
    return model.fit_transform(X)


def samples():
    """83 peptides to fit, as many others, and the kinds of both."""
    X, y = load_peptides(return_X_y=True)
    return X[::5], y[::5], X[1::5], y[1::5]


def check(machine):
    """Containers with which the machine gives, in every bit, what it gives with a list."""
    X, y, X_new, _ = samples()
    expected = None
    equal = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (name, A), B in zip(
            containers(X).items(), containers(X_new).values(), strict=True
        ):
            found = run(machine, A, y, B)
            expected = found if expected is None else expected
            if np.array_equal(found, expected):
                equal.append(name)
    return equal


def result(machine):
    """What the machine reaches, in a word."""
    X, y, X_new, y_new = samples()
    model = clone(machine.model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(getattr(model, "kernel", None), list):
            found = run(machine, X, y, X_new)
            return f"{found.shape[1]} column of scores"
        if is_classifier(model):
            return f"accuracy {model.fit(X, y).score(X_new, y_new):.2f}"
        if is_regressor(model):
            found = np.ravel(model.fit(X, y).predict(X_new))
            return f"correlation {np.corrcoef(found, y_new)[0, 1]:.2f}"
        if is_clusterer(model):
            return f"adjusted Rand index {adjusted_rand_score(y, model.fit_predict(X)):.2f}"
        found = run(machine, X, y, X_new)
    return "one value a sample" if found.ndim == 1 else f"{found.shape[1]} columns"


def render():
    """Return the table as a page."""
    n_containers = len(containers(["a"]))
    lines = ["| machine | route | 83 other peptides | containers |", "|---|---|---|---|"]
    for machine in machines():
        equal = check(machine)
        same = "all equal" if len(equal) == n_containers else ", ".join(equal)
        lines.append(f"| `{machine.name}` | {machine.route} | {result(machine)} | {same} |")
    return "\n".join(lines) + "\n"
