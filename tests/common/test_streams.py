"""Streams: a small first batch does not decide, and no component stays dead."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import skmoderndata
from skmoderndata.cluster import MultiAssignmentClustering, NeuralGas
from skmoderndata.decomposition import (
    CCIPCA,
    KSVD,
    FeatureSignDictionaryLearning,
    IncrementalSlowFeatureAnalysis,
    MinorComponentAnalysis,
    OnlineRobustPCA,
    ProbabilisticLSA,
    SemiNMF,
    SlowFeatureAnalysis,
    Sparsenet,
    SparseNMF,
)
from skmoderndata.gaussian_process import SparseGaussianProcessRegressor
from skmoderndata.linear_model import KernelPerceptron
from skmoderndata.neural_network import (
    ELMClassifier,
    ELMRegressor,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
)
from skmoderndata.ranking import KernelPRank

# Number of samples in each stream.
N = 1000
# Number of samples in each batch after the first.
BATCH = 50


class Stream(NamedTuple):
    """An estimator, its samples, and how large its error is."""

    make: Callable[[], Any]
    data: Callable[[], tuple]
    error: Callable[..., float]
    n_components: int
    attribute: str | None = "components_"
    fit_params: dict = {}


# data with a known structure


@cache
def parts():
    """Non-negative mixtures of six components in 20 columns, with noise."""
    rng = np.random.default_rng(0)
    codes = np.abs(rng.normal(size=(N, 6))) * (rng.uniform(size=(N, 6)) < 0.4)
    X = codes @ np.abs(rng.normal(size=(6, 20)))
    return (X + 0.02 * np.abs(rng.normal(size=X.shape)),)


@cache
def signals():
    """Signals of two of twelve atoms each."""
    rng = np.random.default_rng(1)
    codes = rng.normal(size=(N, 12))
    ranks = rng.uniform(size=codes.shape).argsort(axis=1)
    codes[ranks >= 2] = 0.0
    X = codes @ rng.normal(size=(12, 20)) / np.sqrt(20)
    return (X + 0.02 * rng.normal(size=X.shape),)


@cache
def word_probabilities():
    rng = np.random.default_rng(2)
    return rng.dirichlet(np.full(6, 0.3), N) @ rng.dirichlet(np.full(20, 0.3), 6)


@cache
def counts():
    rng = np.random.default_rng(3)
    return (rng.poisson(40 * word_probabilities()).astype(float),)


@cache
def roles():
    """Boolean rows, each a union of up to three of six sets, with 2 % flips."""
    rng = np.random.default_rng(4)
    sets = rng.uniform(size=(6, 30)) < 0.3
    members = rng.uniform(size=(N, 6)) < 0.3
    X = (members.astype(int) @ sets.astype(int)) > 0
    return (X ^ (rng.uniform(size=X.shape) < 0.02),)


@cache
def walk():
    """A slow sine mixed with faster noise."""
    rng = np.random.default_rng(5)
    t = np.arange(N)
    sources = np.c_[np.sin(2 * np.pi * t / 100), rng.normal(size=(N, 3))]
    return (sources @ rng.normal(size=(4, 4)),)


@cache
def blobs():
    rng = np.random.default_rng(6)
    centers = 4 * rng.normal(size=(12, 5))
    return (centers[rng.integers(12, size=N)] + 1.5 * rng.normal(size=(N, 5)),)


@cache
def curve():
    rng = np.random.default_rng(7)
    X = rng.uniform(-3, 3, size=(N, 1))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=N)


@cache
def two_classes():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=N) > 0).astype(int)


@cache
def grades():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(N, 3))
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=N), [0.0, 1.0])


# errors


def reconstruction(model, X):
    return np.linalg.norm(model.inverse_transform(model.transform(X)) - X) / np.linalg.norm(X)


def root_of_score(model, X):
    return np.sqrt(-model.score(X))


def energy(model, X):
    return -model.score(X)


def probabilities(model, X):
    truth = word_probabilities()
    found = model.inverse_transform(model.transform(X))
    return np.linalg.norm(found - truth) / np.linalg.norm(truth)


def wrong_bits(model, X):
    return np.mean((model.inverse_transform(model.transform(X)) > 0.5) != X)


def minor_deviation(model, X):
    return model.transform(X).std()


def slowness(model, X):
    Z = model.transform(X)
    return np.sqrt(np.mean(np.diff(Z[:, 0]) ** 2) / Z[:, 0].var())


def wrong_labels(model, X, y):
    return np.mean(model.predict(X) != y)


def residual(model, X, y):
    return np.sqrt(np.mean((model.predict(X) - y) ** 2))


NMF = {
    "": {},
    "-none": {"penalty": None},
    "-components": {"side": "components"},
    "-both": {"side": "both", "form": "plain"},
    "-hoyer": {"penalty": "hoyer", "sparseness_components": 0.3},
}
STREAMS = {
    **{
        f"SparseNMF{name}": Stream(
            lambda given=given: SparseNMF(6, random_state=0, **given), parts, reconstruction, 6
        )
        for name, given in NMF.items()
    },
    "SemiNMF": Stream(lambda: SemiNMF(6, random_state=0), parts, reconstruction, 6),
    "SemiNMF-signed": Stream(lambda: SemiNMF(12, random_state=0), signals, reconstruction, 12),
    "KSVD": Stream(
        lambda: KSVD(12, n_nonzero_coefs=2, random_state=0), signals, root_of_score, 12
    ),
    "KSVD-constant": Stream(
        lambda: KSVD(12, n_nonzero_coefs=3, dc_atom=True, random_state=0),
        signals,
        root_of_score,
        12,
    ),
    "KSVD-positive": Stream(
        lambda: KSVD(12, n_nonzero_coefs=2, positive=True, random_state=0),
        parts,
        root_of_score,
        12,
    ),
    "FeatureSignDictionaryLearning": Stream(
        lambda: FeatureSignDictionaryLearning(12, alpha=0.05, random_state=0),
        signals,
        root_of_score,
        12,
    ),
    "Sparsenet": Stream(lambda: Sparsenet(12, random_state=0), signals, energy, 12),
    "ProbabilisticLSA": Stream(
        lambda: ProbabilisticLSA(6, random_state=0), counts, probabilities, 6
    ),
    "CCIPCA": Stream(lambda: CCIPCA(6), signals, reconstruction, 6),
    "MinorComponentAnalysis": Stream(
        lambda: MinorComponentAnalysis(3, random_state=0), signals, minor_deviation, 3
    ),
    "OnlineRobustPCA": Stream(lambda: OnlineRobustPCA(6), parts, reconstruction, 6),
    "SlowFeatureAnalysis": Stream(lambda: SlowFeatureAnalysis(1), walk, slowness, 1),
    "IncrementalSlowFeatureAnalysis": Stream(
        lambda: IncrementalSlowFeatureAnalysis(1, random_state=0), walk, slowness, 1
    ),
    "NeuralGas": Stream(
        lambda: NeuralGas(12, online_steps=N, random_state=0),
        blobs,
        root_of_score,
        12,
        "cluster_centers_",
    ),
    "MultiAssignmentClustering": Stream(
        lambda: MultiAssignmentClustering(6, random_state=0), roles, wrong_bits, 6, None
    ),
    "KernelPerceptron": Stream(
        lambda: KernelPerceptron(random_state=0),
        two_classes,
        wrong_labels,
        2,
        None,
        {"classes": [0, 1]},
    ),
    "KernelPRank": Stream(
        lambda: KernelPRank(kernel="rbf", random_state=0),
        grades,
        wrong_labels,
        3,
        None,
        {"classes": [0, 1, 2]},
    ),
    "ELMClassifier": Stream(
        lambda: ELMClassifier(random_state=0),
        two_classes,
        wrong_labels,
        2,
        None,
        {"classes": [0, 1]},
    ),
    "RBFNetworkClassifier": Stream(
        lambda: RBFNetworkClassifier(
            centers=np.random.default_rng(0).normal(scale=2.0, size=(12, 3))
        ),
        two_classes,
        wrong_labels,
        2,
        None,
        {"classes": [0, 1]},
    ),
    "ELMRegressor": Stream(lambda: ELMRegressor(random_state=0), curve, residual, 3, None),
    "RBFNetworkRegressor": Stream(
        lambda: RBFNetworkRegressor(centers=np.linspace(-3, 3, 12)[:, None]),
        curve,
        residual,
        3,
        None,
    ),
    "SparseGaussianProcessRegressor": Stream(
        lambda: SparseGaussianProcessRegressor(
            ConstantKernel() * RBF(0.5), noise_level=0.01, random_state=0
        ),
        curve,
        residual,
        20,
        None,
    ),
    "SparseGaussianProcessRegressor-few": Stream(
        lambda: SparseGaussianProcessRegressor(RBF(10.0), n_inducing=20, random_state=0),
        curve,
        residual,
        20,
        None,
    ),
}
# Classes without a state: features of sequences.
STATELESS = {"SequenceFeatures"}


@cache
def error_of_fit(name):
    stream = STREAMS[name]
    data = stream.data()
    return stream.error(stream.make().fit(*data), *data)


def streamed(stream, first):
    """The estimator after one pass: a first batch of a given size, then equal ones."""
    data = stream.data()
    model = stream.make().partial_fit(*(rows[:first] for rows in data), **stream.fit_params)
    for start in range(first, N, BATCH):
        model = model.partial_fit(*(rows[start : start + BATCH] for rows in data))
    return model


def test_every_class_with_partial_fit_is_in_the_table():
    names = {
        cls.__name__ for cls in skmoderndata.all_estimators() if hasattr(cls, "partial_fit")
    }
    assert {name.partition("-")[0] for name in STREAMS} == names - STATELESS


CASES = [
    (name, first)
    for name, stream in STREAMS.items()
    for first in sorted({1, 2, stream.n_components - 1, BATCH} - {0})
]


@pytest.mark.recovery
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "first"), CASES)
def test_one_pass_comes_near_fit_whatever_the_first_batch(name, first):
    stream = STREAMS[name]
    model = streamed(stream, first)
    assert stream.error(model, *stream.data()) <= 2 * error_of_fit(name)

    if stream.attribute is not None:
        components = np.abs(getattr(model, stream.attribute))
        assert (components.max(axis=1) > 1e-6 * components.max()).all()
