"""Evidence that DictionaryClassifier solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from skmoderndata._solvers.dictionaries.atom_updates import leading_direction
from skmoderndata._solvers.dictionaries.class_dictionaries import (
    _better_atoms,
    class_residuals,
    code_class,
    cost_slopes,
    discriminative_cost,
    discriminative_pass,
)
from skmoderndata.sparse_coding import DictionaryClassifier


def unit(X):
    return X / np.linalg.norm(X, axis=-1, keepdims=True)


def classes(seed, n_classes=3, n=120, p=12, k=4, s=2, noise=0.05):
    """Samples of s atoms out of k; all classes share one atom, and the others differ."""
    rng = np.random.default_rng(seed)
    D = unit(rng.normal(size=(n_classes, k, p)))
    D[:, 0] = D[0, 0]
    y = np.arange(2 * n) % n_classes
    X = np.empty((2 * n, p))
    for i, c in enumerate(y):
        X[i] = rng.uniform(0.5, 1.5, s) @ D[c, rng.choice(k, s, replace=False)]
    X += noise * rng.normal(size=X.shape)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.oracle
def test_slopes_match_the_cost(seed):
    rng = np.random.default_rng(seed)
    residuals = rng.uniform(size=(7, 4))
    target = rng.integers(4, size=7)
    slopes = cost_slopes(residuals, target, 3.0, 0.2)
    for i, j in np.ndindex(7, 4):
        step = np.zeros((7, 4))
        step[i, j] = 1e-5
        high = discriminative_cost(residuals + step, target, 3.0, 0.2)
        low = discriminative_cost(residuals - step, target, 3.0, 0.2)
        assert_allclose(slopes[i, j], 7 * (high - low) / 2e-5, atol=1e-6)
    # compute the cost in the form of the paper
    own = residuals[np.arange(7), target][:, None]
    plain = np.log(np.exp(-3 * (residuals - own)).sum(axis=1)) + 3 * 0.2 * own[:, 0]
    assert_allclose(discriminative_cost(residuals, target, 3.0, 0.2), plain.mean())


@pytest.mark.oracle
@pytest.mark.parametrize("m", [3, 40])
def test_the_best_atom_for_signed_weights(m, seed):
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(m, 6))
    weights = rng.normal(size=m) + 0.5
    weights[0] = 2.0
    d = leading_direction(E, weights)
    assert_allclose(np.linalg.norm(d), 1)
    M = sum(w * np.outer(e, e) for w, e in zip(weights, E, strict=True))
    assert_allclose(d @ M @ d, np.linalg.eigvalsh(M)[-1], rtol=1e-9)
    assert leading_direction(E, -np.abs(weights)) is None


@pytest.mark.oracle
def test_atoms_change_as_by_plain_loops(seed):
    X, y, _, _ = classes(seed)
    D = unit(np.random.default_rng(seed).normal(size=(5, 12)))
    codes = code_class(X, D, 2)
    weights = np.where(y == 0, 1.0, -0.1)
    found = _better_atoms(X, D, codes, weights, np.random.RandomState(seed))
    A = np.zeros((len(X), 5))
    for i in range(len(X)):
        part = slice(codes.indptr[i], codes.indptr[i + 1])
        A[i, codes.indices[part]] = codes.values[part]
    expected = D.copy()
    for j in np.random.RandomState(seed).permutation(5):
        users = np.flatnonzero(A[:, j])
        E = X[users] - A[users] @ expected + np.outer(A[users, j], expected[j])
        values, vectors = np.linalg.eigh(E.T @ np.diag(weights[users]) @ E)
        # the smallest eigenvalue is 0 if few samples leave directions free
        if values[-1] > 1e-9:
            expected[j] = vectors[:, -1] * np.sign(vectors[:, -1] @ expected[j])
            A[users, j] = E @ expected[j]
    assert_allclose(found, expected, atol=1e-7)


@pytest.mark.certificate
def test_a_pass_never_raises_the_cost(seed):
    X, y, _, _ = classes(seed)
    X = unit(X)
    rng = np.random.RandomState(seed)
    D = unit(rng.normal(size=(3, 5, 12)))
    given = {"n_nonzero": 2, "sharpness": 8.0, "weight": 0.1}

    last = None
    for _ in range(4):
        step = discriminative_pass(X, y, D, rng=rng, **given)
        residuals = class_residuals(X, step.dictionaries, 2)
        assert_allclose(step.residuals, residuals, atol=1e-12)
        assert_allclose(step.after, discriminative_cost(residuals, y, 8.0, 0.1))
        assert step.after <= step.before
        if last is not None:
            assert_allclose(step.before, last)
        D = step.dictionaries
        last = step.after

    assert (
        last
        < 0.9
        * discriminative_pass(X, y, unit(rng.normal(size=D.shape)), rng=rng, **given).before
    )

    model = DictionaryClassifier(4, n_nonzero_coefs=2, random_state=seed).fit(X, y)
    assert (model.objective_history_[:, 1] <= model.objective_history_[:, 0]).all()
    assert model.objective_ == model.objective_history_[-1, 1]
    assert_allclose(np.linalg.norm(model.components_, axis=2), 1)


@pytest.mark.recovery
def test_separates_classes_of_different_atoms(seed):
    X, y, new, truth = classes(seed)
    model = DictionaryClassifier(5, n_nonzero_coefs=2, random_state=seed).fit(X, y)
    assert model.score(new, truth) > 0.85


@pytest.mark.recovery
def test_discriminative_passes_help_small_dictionaries(seed):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))[:1200]
    train = order[:700]
    test = order[700:]
    given = {"n_components": 2, "n_nonzero_coefs": 1, "random_state": seed}
    plain = DictionaryClassifier(n_discriminative=0, **given).fit(X[train], y[train])
    model = DictionaryClassifier(**given).fit(X[train], y[train])
    assert model.score(X[train], y[train]) > plain.score(X[train], y[train]) + 0.02
    assert model.score(X[test], y[test]) > plain.score(X[test], y[test])


@pytest.mark.invariance
def test_lengths_labels_threads_and_precision(seed):
    X, y, new, _ = classes(seed)
    given = {"n_components": 4, "n_nonzero_coefs": 2, "max_iter": 5, "n_discriminative": 3}
    model = DictionaryClassifier(random_state=seed, **given).fit(X, y)
    decision = model.decision_function(new)
    powers = 2.0 ** np.random.default_rng(seed).integers(-5, 5, size=(len(X), 1))
    scaled = DictionaryClassifier(random_state=seed, **given).fit(powers * X, y)
    assert_allclose(scaled.decision_function(1e-80 * new), decision, atol=1e-9)
    names = np.array(["a", "b", "c"])
    named = DictionaryClassifier(random_state=seed, n_jobs=2, **given).fit(X, names[y])
    assert_array_equal(named.predict(new), names[model.predict(new)])
    assert_allclose(model.predict_proba(new).sum(axis=1), 1)
    assert_array_equal(model.predict_proba(new).argmax(axis=1), model.predict(new))
    single = DictionaryClassifier(random_state=seed, **given).fit(X.astype(np.float32), y)
    assert single.components_.dtype == np.float32
    assert np.mean(single.predict(new.astype(np.float32)) == model.predict(new)) > 0.9
    assert model.n_iter_ == 8


@pytest.mark.edge
def test_edge_cases(seed):
    X, y, new, _ = classes(seed, n_classes=2)
    model = DictionaryClassifier(50, n_nonzero_coefs=40, max_iter=2, random_state=seed)
    # there are more atoms than samples, and codes use more atoms than there are features
    model.fit(X, y)
    assert np.isfinite(model.decision_function(new)).all()
    few = DictionaryClassifier(3, n_nonzero_coefs=1, max_iter=3, random_state=seed)
    few.fit(X, y)
    assert_array_equal(few.decision_function(new) > 0, few.predict(new) == 1)
    assert_array_equal(few.predict(np.zeros((1, 12))), [0])
    zeros = np.where((y == 1)[:, None], 0.0, X)  # one class has no direction at all
    assert np.isfinite(few.fit(zeros, y).predict_proba(new)).all()
    same = few.fit(np.ones((6, 3)), [0, 0, 0, 1, 1, 1])
    assert np.isfinite(same.predict_proba(np.ones((2, 3)))).all()
    one = few.fit(X[:3], [0, 1, 0])
    assert one.predict(X[:1]).shape == (1,)
    with pytest.raises(ValueError, match="at least two classes, but y has 1 class"):
        few.fit(X, np.zeros(len(X)))


@pytest.mark.edge
def test_few_columns_warn():
    X = np.random.default_rng(0).normal(size=(40, 6))
    y = (X[:, 0] > 0).astype(int)
    settings = {"n_components": 4, "max_iter": 1, "n_discriminative": 0, "random_state": 0}
    for n_nonzero in (6, 9):
        message = (
            rf"X has 6 columns, and n_nonzero_coefs={n_nonzero} atoms .* at least 20 columns"
        )
        with pytest.warns(UserWarning, match=message):
            DictionaryClassifier(n_nonzero_coefs=n_nonzero, **settings).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DictionaryClassifier(n_nonzero_coefs=5, **settings).fit(X, y)


@pytest.mark.invariance
def test_scores_of_several_classes_are_centred():
    X, y = load_digits(n_class=3, return_X_y=True)
    model = DictionaryClassifier(5, max_iter=2, n_discriminative=0, random_state=0)
    model.fit(X[:100], y[:100])
    scores = model.decision_function(X[100:200])
    assert_allclose(scores.sum(axis=1), 0, atol=1e-12)
    assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X[100:200]))
    # compare the differences with the residuals; their softmax gives the probabilities
    log = np.log(model.predict_proba(X[100:200])) / model.sharpness_
    assert_allclose(scores - scores[:, :1], log - log[:, :1], atol=1e-9)
