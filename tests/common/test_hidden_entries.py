"""Hidden entries: no class predicts them worse than the mean of the table would."""

import numpy as np
import pytest

from skmoderndata.cluster import DiscreteBasis, MultiAssignmentClustering
from skmoderndata.decomposition import (
    KSVD,
    FeatureSignDictionaryLearning,
    ProbabilisticLSA,
    RobustPCA,
    SemiNMF,
    SparseNMF,
)
from skmoderndata.impute import NuclearNormImputer
from skmoderndata.model_selection import EntrySearchCV

# Fraction of the entries that are hidden
HIDDEN = 0.2


def table(seed, count):
    """Counts of three planted components, with a fifth of the entries hidden."""
    rng = np.random.default_rng(seed)
    codes = rng.dirichlet(np.full(3, 0.3), 120)
    X = rng.poisson(count * codes @ rng.dirichlet(np.full(25, 0.2), 3)).astype(float)
    return X, rng.uniform(size=X.shape) < HIDDEN


def counts_of_topics(model, X, hidden):
    """Expected counts: word probabilities times tokens over the observed probability."""
    shares = model.inverse_transform(model.fit_transform(X))
    seen = np.where(hidden, 0.0, shares).sum(axis=1, keepdims=True)
    return shares * np.nansum(X, axis=1, keepdims=True) / np.maximum(seen, 1e-12)


def decoded(model, X, hidden):
    return model.inverse_transform(model.fit_transform(X))


def filled(model, X, hidden):
    return model.fit_transform(X)


PREDICTORS = {
    "SparseNMF": (lambda k: SparseNMF(k), decoded),
    "SparseNMF-none": (lambda k: SparseNMF(k, penalty=None), decoded),
    "SparseNMF-zero": (lambda k: SparseNMF(k, alpha=0), decoded),
    "SparseNMF-components": (lambda k: SparseNMF(k, side="components"), decoded),
    "SparseNMF-hoyer": (
        lambda k: SparseNMF(k, penalty="hoyer", sparseness_components=0.4),
        decoded,
    ),
    "SparseNMF-bpp": (lambda k: SparseNMF(k, penalty=None, solver="bpp"), decoded),
    "SemiNMF": (lambda k: SemiNMF(k), decoded),
    "ProbabilisticLSA": (lambda k: ProbabilisticLSA(k, random_state=0), counts_of_topics),
    "RobustPCA": (lambda k: RobustPCA(k), decoded),
    "NuclearNormImputer": (lambda k: NuclearNormImputer(), filled),
    "KSVD": (lambda k: KSVD(k + 3, random_state=0), decoded),
    "KSVD-mod": (lambda k: KSVD(k + 3, update="mod", random_state=0), decoded),
    "KSVD-positive": (lambda k: KSVD(k + 3, positive=True, random_state=0), decoded),
    "KSVD-constant": (lambda k: KSVD(k + 3, dc_atom=True, random_state=0), decoded),
    "KSVD-constant-mod": (
        lambda k: KSVD(k + 3, dc_atom=True, update="mod", random_state=0),
        decoded,
    ),
    "KSVD-monotone": (lambda k: KSVD(k + 3, monotone=True, random_state=0), decoded),
    "KSVD-dense": (lambda k: KSVD(k + 3, n_nonzero_coefs=4, random_state=0), decoded),
    "FeatureSignDictionaryLearning": (
        lambda k: FeatureSignDictionaryLearning(k + 3, random_state=0),
        decoded,
    ),
}
BOOLEAN = {
    "MultiAssignmentClustering": lambda k: MultiAssignmentClustering(k, random_state=0),
    "DiscreteBasis": lambda k: DiscreteBasis(k),
}


@pytest.mark.recovery
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_components", [3, 6])
@pytest.mark.parametrize(("table_seed", "count"), [(50, 40), (51, 400), (61, 400)])
@pytest.mark.parametrize("name", PREDICTORS)
def test_hidden_entries_are_predicted_within_the_variance(
    name, table_seed, count, n_components
):
    make, predict = PREDICTORS[name]
    X, hidden = table(table_seed, count)
    predicted = predict(make(n_components), np.where(hidden, np.nan, X), hidden)
    assert np.mean((predicted - X)[hidden] ** 2) <= X.var()


@pytest.mark.recovery
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", BOOLEAN)
def test_hidden_bits_are_predicted_within_the_variance(name):
    rng = np.random.default_rng(52)
    members = rng.uniform(size=(120, 3)) < 0.4
    X = ((members.astype(int) @ (rng.uniform(size=(3, 25)) < 0.3)) > 0).astype(float)
    hidden = rng.uniform(size=X.shape) < HIDDEN
    predicted = decoded(BOOLEAN[name](6), np.where(hidden, np.nan, X), hidden)
    assert np.mean((predicted - X)[hidden] ** 2) <= X.var()


@pytest.mark.recovery
@pytest.mark.parametrize(("table_seed", "count"), [(50, 40), (51, 400)])
def test_search_without_penalty_finds_the_planted_components(table_seed, count):
    X, _ = table(table_seed, count)
    grid = {"n_components": [1, 2, 3, 4, 5, 6]}
    search = EntrySearchCV(SparseNMF(alpha=0), grid, random_state=0).fit(X)
    assert search.best_params_ == {"n_components": 3}
