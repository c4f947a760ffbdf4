"""Evidence that folded weights of substrings are the machine, and its prediction."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from skmoderndata.datasets import load_peptides
from skmoderndata.feature_extraction import SequenceFeatures
from skmoderndata.kernels import (
    BlendedSpectrum,
    GapWeighted,
    Mismatch,
    Normalized,
    PSpectrum,
    RestrictedGapWeighted,
)
from skmoderndata.preprocessing import KernelTransformer
from skmoderndata.svm import fold_expansion

AMINO = "ACDEFGHIKLMNPQRSTVWY"
KERNELS = [
    PSpectrum(3),
    BlendedSpectrum(3, decay=0.7),
    BlendedSpectrum(3, weights=[0, 1, 2]),
    RestrictedGapWeighted(2, 1),
    Mismatch(2, 1, AMINO),
]


def peptides():
    X, y = load_peptides(return_X_y=True)
    return X[::4], y[::4], ["", "AC", "XYZ" * 4, *X[1::9]]


@pytest.mark.oracle
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_decision_function_matches_the_machine(kernel, normalize):
    X, y, Z = peptides()
    if isinstance(kernel, Mismatch):
        Z.remove("XYZ" * 4)
    kernel_of_machine = Normalized(kernel) if normalize else kernel
    for machine in (SVC(kernel=kernel_of_machine), NuSVC(kernel=kernel_of_machine, nu=0.3)):
        machine.fit(X, y)
        weights = fold_expansion(machine, SequenceFeatures(kernel, normalize=normalize))
        expected = machine.decision_function(Z)
        scale = max(1.0, np.abs(expected).max())
        assert_allclose(weights.decision_function(Z), expected, rtol=0, atol=1e-11 * scale)
        assert all(isinstance(word, str) for word in weights)
        again = pickle.loads(pickle.dumps(weights))
        assert again == weights
        assert_allclose(again.decision_function(Z), weights.decision_function(Z), rtol=0)


@pytest.mark.oracle
def test_weights_are_sums_over_the_support_vectors():
    """By the definition, with plain loops."""
    X, y, _ = peptides()
    machine = SVC(kernel=Normalized(PSpectrum(2)), C=3).fit(X, y)
    expected = {}
    for i, alpha in zip(machine.support_, machine.dual_coef_[0], strict=True):
        words = [X[i][j : j + 2] for j in range(len(X[i]) - 1)]
        counts = {word: words.count(word) for word in words}
        norm = sum(c * c for c in counts.values()) ** 0.5
        for word, count in counts.items():
            expected[word] = expected.get(word, 0.0) + alpha * count / norm
    found = fold_expansion(machine, SequenceFeatures(PSpectrum(2)))
    assert found.keys() == expected.keys()
    assert_allclose([found[w] for w in expected], list(expected.values()), atol=1e-12)
    assert found.intercept == machine.intercept_[0]


@pytest.mark.invariance
def test_other_machines_containers_and_pipelines():
    X, y, Z = peptides()
    kernel = Normalized(PSpectrum(2))
    for machine in (SVR(kernel=kernel), OneClassSVM(kernel=kernel)):
        for samples in (X, pd.Series(X, index=range(7, 7 + len(X))), np.array(X)):
            machine.fit(samples, y)
            weights = fold_expansion(machine, SequenceFeatures(PSpectrum(2)))
            value = machine.predict if isinstance(machine, SVR) else machine.decision_function
            assert_allclose(weights.decision_function(Z), value(Z), atol=1e-11)
    model = make_pipeline(
        KernelTransformer(Normalized(Mismatch(2))), SVC(kernel="precomputed")
    )
    search = GridSearchCV(model, {"svc__C": [1, 10]}, cv=2).fit(X, y)
    weights = fold_expansion(search.best_estimator_, SequenceFeatures(Mismatch(2)))
    Z.remove("XYZ" * 4)
    assert_allclose(weights.decision_function(Z), search.decision_function(Z), atol=1e-11)


@pytest.mark.edge
def test_raises_on_invalid_input():
    X, y, _ = peptides()
    machine = SVC(kernel=Normalized(PSpectrum(2))).fit(X, y)
    with pytest.raises(ValueError, match="they must be the same"):
        fold_expansion(machine, SequenceFeatures(PSpectrum(3)))
    with pytest.raises(ValueError, match="normalize=True for a kernel in Normalized"):
        fold_expansion(machine, SequenceFeatures(PSpectrum(2), normalize=False))
    with pytest.raises(ValueError, match="n_features=None"):
        fold_expansion(machine, SequenceFeatures(PSpectrum(2), n_features=64))
    three = SVC(kernel=PSpectrum(2)).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        fold_expansion(three, SequenceFeatures(PSpectrum(2), normalize=False))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: SVC(kernel=PSpectrum(2)), "not fitted"),
        (lambda X, y: SVC().fit([[len(x)] for x in X], y), "a kernel object on strings"),
        (lambda X, y: SVC(kernel=GapWeighted(2)).fit(X, y), "they must be the same"),
        (lambda X, y: make_pipeline(SequenceFeatures(), SVC()).fit(X, y), "end with a Kernel"),
    ],
)
def test_machines_that_cannot_be_folded(make, message):
    X, y, _ = peptides()
    with pytest.raises(ValueError, match=message):
        fold_expansion(make(X, y), SequenceFeatures(PSpectrum(2)))
