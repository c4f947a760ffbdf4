"""Evidence that FeatureSignDictionaryLearning solves the problem it states."""

import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import DictionaryLearning
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skmoderndata._solvers.codes.lasso import lasso_codes
from skmoderndata._solvers.codes.signal_blocks import prepare_atoms, to_dense
from skmoderndata._solvers.dictionaries.coded_signals import code_statistics
from skmoderndata._solvers.dictionaries.lagrange_dictionary import (
    _feasible_atoms,
    dual_point,
    primal_value,
    update_atoms,
    update_positive_atoms,
)
from skmoderndata.decomposition import FeatureSignDictionaryLearning
from tests.oracles import feature_sign_dictionary_learning as oracle


def planted(seed, n_signals=600, n=12, k=18, density=0.12, noise=0.0):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(k, n))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    A = rng.normal(size=(n_signals, k)) * (rng.uniform(size=(n_signals, k)) < density)
    X = A @ D
    return X + noise * rng.normal(size=X.shape), D, A


def statistics(seed, n_signals=60, n=6, k=8, unused=False):
    """Signals, sparse codes, ``A' A`` and ``A' X``; some bounds of the atoms are slack."""
    X, _, A = planted(seed, n_signals, n, k, density=0.3, noise=0.3)
    A = A * np.linspace(0.5, 3, k)  # large codes make the optimal atoms short
    if unused:
        A[:, 2] = 0
    return X, A, A.T @ A, A.T @ X


@pytest.mark.oracle
@pytest.mark.parametrize("unused", [False, True])
def test_atoms_match_a_conic_solver(unused, seed):
    X, A, S, T = statistics(seed, unused=unused)
    rng = np.random.default_rng(seed)
    start = rng.normal(size=T.shape)
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    update = update_atoms(S, T, start, size=0.5 * np.sum(X**2))
    D, multipliers, value = oracle.best_atoms(X, A)
    assert update.converged
    assert_allclose(0.5 * np.sum((X - A @ update.atoms) ** 2), value, rtol=1e-7)
    used = np.diag(S) > 0
    # the conic solver is accurate to about 1e-5 of the variables
    assert_allclose(update.atoms[used], D[used], atol=2e-4)
    assert_allclose(update.multipliers[used], multipliers[used], atol=1e-3 * multipliers.max())
    assert_array_equal(update.atoms[~used], start[~used])
    assert (np.linalg.norm(update.atoms, axis=1) <= 1 + 1e-12).all()


@pytest.mark.oracle
@pytest.mark.parametrize("unused", [False, True])
def test_non_negative_atoms_match_a_conic_solver(unused, seed):
    X, A, S, T = statistics(seed, unused=unused)
    start = np.abs(np.random.default_rng(seed).normal(size=T.shape))
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    size = 0.5 * np.sum(X**2)
    update = update_positive_atoms(S, T, start, size=size, tol=1e-9, max_iter=5000)
    _, multipliers, value = oracle.best_atoms(X, A, positive=True)
    used = np.diag(S) > 0
    assert update.converged
    assert (update.atoms >= 0).all()
    assert (np.linalg.norm(update.atoms, axis=1) <= 1 + 1e-12).all()
    reached = 0.5 * np.sum((X - A @ update.atoms) ** 2)
    assert_allclose(reached, value, rtol=1e-7)
    assert_allclose(update.multipliers[used], multipliers[used], atol=1e-3 * np.diag(S).max())
    assert_array_equal(update.atoms[~used], start[~used])
    # at any point, the gap bounds the distance from the optimum
    early = update_positive_atoms(S, T, start, size=size, max_iter=1)
    ahead = 0.5 * np.sum((X - A @ early.atoms) ** 2) - value
    assert -1e-7 * size <= ahead <= early.gap + 1e-7 * size
    assert early.gap > 0


@pytest.mark.certificate
def test_derivatives_of_the_dual_are_its_differences(seed):
    _, _, S, T = statistics(seed)
    rng = np.random.default_rng(seed)
    lam = rng.uniform(0.5, 2, size=len(S)) * np.diag(S).mean()
    point = dual_point(S, T, lam)
    step = 1e-5 * lam.mean()
    for j in range(len(S)):
        e = step * np.eye(len(S))[j]
        up = dual_point(S, T, lam + e)
        down = dual_point(S, T, lam - e)
        slope = (up.value - down.value) / (2 * step)
        # the slope is computed by differences
        assert_allclose(point.gradient[j], slope, rtol=1e-5, atol=1e-7)
        curve = (up.gradient - down.gradient) / (2 * step)
        scale = np.abs(point.hessian).max()
        assert_allclose(point.hessian[j], curve, rtol=1e-5, atol=1e-7 * scale)
    assert np.linalg.eigvalsh(point.hessian)[-1] <= 1e-12 * scale


@pytest.mark.certificate
def test_weak_and_strong_duality(seed):
    X, _, S, T = statistics(seed)
    rng = np.random.default_rng(seed)
    size = 0.5 * np.sum(X**2)
    start = np.eye(*T.shape) + 0.1
    update = update_atoms(S, T, start / np.linalg.norm(start, axis=1)[:, None], size=size)
    best = primal_value(S, T, update.atoms)
    for _ in range(20):
        lam = rng.exponential(size=len(S)) * np.diag(S).mean()
        D = rng.normal(size=T.shape)
        D *= rng.uniform(size=(len(S), 1)) / np.linalg.norm(D, axis=1, keepdims=True)
        assert (
            dual_point(S, T, lam).value <= best + 1e-9 * size <= primal_value(S, T, D) + size
        )
        assert best <= primal_value(S, T, D) + 1e-9 * size
    assert 0 <= update.gap <= 1e-9 * size
    # by complementary slackness, the multiplier of an atom inside the ball is zero
    slack = 1 - np.linalg.norm(update.atoms, axis=1)
    assert (update.multipliers * slack <= 1e-6 * np.diag(S).max()).all()


@pytest.mark.certificate
def test_singular_statistics_have_an_optimum(seed):
    X, A, *_ = statistics(seed)
    A[:, 1] = 2 * A[:, 0]  # the signals use these two atoms only together
    A = A[:5]  # there are fewer signals than atoms
    S = A.T @ A
    T = A.T @ X[:5]
    start = np.eye(*T.shape) + 0.1
    start /= np.linalg.norm(start, axis=1)[:, None]
    update = update_atoms(S, T, start, size=0.5 * np.sum(X[:5] ** 2))
    value = oracle.best_atoms(X[:5], A)[2]
    assert_allclose(
        0.5 * np.sum((X[:5] - A @ update.atoms) ** 2), value, atol=1e-7 * np.sum(X**2)
    )
    assert update.gap <= 1e-8 * np.sum(X**2)


@pytest.mark.certificate
def test_rounding_does_not_stall_newton_steps():
    # the dual gains less than its last digit although the gap exceeds this small tolerance
    for draw in range(3):
        X, _, A = planted(draw, 1500, 16, 40, density=0.1, noise=0.1)
        S = A.T @ A
        T = A.T @ X
        rng = np.random.default_rng(draw)
        size = 0.5 * np.sum(X**2)
        best = update_atoms(S, T, rng.normal(size=T.shape), size=size).atoms
        for distance in np.geomspace(1e-6, 1e-9, 20):
            start = best + distance * rng.normal(size=T.shape)
            start /= np.linalg.norm(start, axis=1, keepdims=True)
            update = update_atoms(S, T, start, size=1e-6 * size)
            assert update.n_iter <= 16  # if steps stall, they continue up to the limit of 100


@pytest.mark.oracle
def test_gap_of_the_atoms_has_correct_digits(seed):
    # compute the objective minus the Lagrangian, which is flat at its minimum D, in extended
    # precision
    X, _, A = planted(seed, 300, 16, 40, density=0.1, noise=0.1)
    S = A.T @ A / np.sum(A**2)
    T = A.T @ X / np.sum(A**2)
    rng = np.random.default_rng(seed)
    best = update_atoms(S, T, rng.normal(size=T.shape), size=1.0)

    def objective(D):
        return np.sum(D * (S.astype(np.longdouble) @ D)) / 2 - np.sum(T * D)

    for distance in (1e-1, 1e-3, 1e-5, 1e-7):
        multipliers = best.multipliers * (1 + distance * rng.uniform(-1, 1, size=len(S)))
        point = dual_point(S, T, multipliers)
        atoms, gap = _feasible_atoms(S, multipliers, point)
        assert np.linalg.norm(atoms, axis=1).max() <= 1 + 1e-15

        D = point.atoms.astype(np.longdouble)
        lagrangian = objective(D) + np.sum(multipliers * (np.sum(D**2, axis=1) - 1)) / 2
        expected = objective(atoms.astype(np.longdouble)) - lagrangian
        assert_allclose(gap, float(expected), rtol=1e-2, atol=1e-18)


@pytest.mark.oracle
def test_statistics_are_products(seed):
    X, D, _ = planted(seed, 50)
    w = np.random.default_rng(seed).uniform(size=50)
    codes = lasso_codes(X, prepare_atoms(D, normalize=False), alpha=np.full(50, 0.2))
    S, T, l1 = code_statistics(codes, X, w, len(D))
    A = to_dense(codes, len(D))
    assert_allclose(S, A.T @ (w[:, None] * A), atol=1e-12)
    assert_allclose(T, A.T @ (w[:, None] * X), atol=1e-12)
    assert_allclose(l1, w @ np.abs(A), atol=1e-12)


@pytest.mark.certificate
@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        "masked",
        "weighted",
        "positive",
        "no momentum",
        "positive atoms",
        "all positive",
        "sparse",
    ],
)
def test_objective_matches_its_definition_and_never_rises(kind, seed):
    X, _, _ = planted(seed, 300, noise=0.1)
    rng = np.random.default_rng(seed)
    known = rng.uniform(size=X.shape) < 0.8 if kind == "masked" else np.ones(X.shape, bool)
    w = rng.uniform(size=len(X)) if kind == "weighted" else np.ones(len(X))

    model = FeatureSignDictionaryLearning(
        15,
        alpha=0.2,
        max_iter=12,
        tol=0,
        momentum=kind != "no momentum",
        positive_code=kind in ("positive", "all positive"),
        positive_dict=kind in ("positive atoms", "all positive"),
        store_codes=True,
        random_state=seed,
    )

    given = sparse.csr_array(X) if kind == "sparse" else np.where(known, X, np.nan)
    model.fit(given, sample_weight=w)

    assert (np.diff(model.objective_history_) <= 1e-12 * model.objective_history_[0]).all()
    assert model.objective_history_.shape == (12,) == (model.n_iter_,)
    stated = oracle.objective(X, model.components_, model.codes_.toarray(), 0.2, w, known)
    assert_allclose(model.objective_, stated, rtol=1e-9)

    assert model.dual_gap_.max() <= 1e-6
    assert model.dictionary_gap_ <= 1e-8
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-9)

    if model.positive_code:
        assert (model.codes_.data >= 0).all()
    if model.positive_dict:
        assert (model.components_ >= 0).all()


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_codes_match_a_conic_solver(positive, seed):
    X, D, _ = planted(seed, 60, noise=0.1)
    model = FeatureSignDictionaryLearning(
        18, alpha=0.2, init=D, max_iter=1, tol=0, positive_code=positive
    ).fit(X)
    codes = model.transform(X)
    for x, a in zip(X[:8], codes[:8], strict=True):
        value = oracle.objective(x[None], model.components_, a[None], 0.2)
        best = oracle.best_code(x, model.components_, 0.2, positive)
        assert_allclose(value, best, rtol=1e-6, atol=1e-9)


@pytest.mark.oracle
def test_codes_match_the_textbook_search(seed):
    X, D, _ = planted(seed, 60, noise=0.1)
    model = FeatureSignDictionaryLearning(18, alpha=0.2, init=D, max_iter=1, tol=0).fit(X)
    for x, a in zip(X[:20], model.transform(X[:20]), strict=True):
        assert_allclose(a, oracle.feature_sign_search(x, model.components_, 0.2), atol=1e-8)


@pytest.mark.oracle
def test_lower_objective_than_scikit_learn_after_as_many_passes(seed):
    X, D, _ = planted(seed, 400, noise=0.1)
    start = D + 0.3 * np.random.default_rng(seed).normal(size=D.shape)
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    given = {"n_components": 18, "alpha": 0.2, "max_iter": 15}

    model = FeatureSignDictionaryLearning(**given, init=start, tol=0).fit(X)
    theirs = DictionaryLearning(
        **given,
        dict_init=start,
        code_init=np.zeros((400, 18)),
        fit_algorithm="cd",
        transform_algorithm="lasso_cd",
        transform_max_iter=10_000,
        tol=0,
    ).fit(X)
    # compute optimal codes for both dictionaries by the same solver
    values = []
    for components in (model.components_, theirs.components_):
        assert (np.linalg.norm(components, axis=1) <= 1 + 1e-9).all()
        atoms = prepare_atoms(components, normalize=False)
        A = to_dense(lasso_codes(X, atoms, alpha=np.full(400, 0.2)), 18)
        values.append(oracle.objective(X, components, A, 0.2))

    assert values[0] <= values[1] * (1 + 2e-3)  # local optima differ slightly


@pytest.mark.recovery
def test_planted_atoms_are_found(seed):
    X, D, _ = planted(seed, 1500, n=16, k=24, noise=0.02)
    model = FeatureSignDictionaryLearning(24, alpha=0.1, random_state=seed).fit(X)
    found = np.abs(model.components_ @ D.T).max(axis=0) > 0.98
    assert found.mean() >= 0.85


@pytest.mark.recovery
def test_planted_parts_are_found(seed):
    rng = np.random.default_rng(seed)
    D = rng.exponential(size=(12, 16)) * (rng.uniform(size=(12, 16)) < 0.4)
    D[np.arange(12), np.arange(12)] += 1.0
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    A = rng.exponential(size=(1500, 12)) * (rng.uniform(size=(1500, 12)) < 0.15)
    model = FeatureSignDictionaryLearning(
        12, alpha=0.05, positive_code=True, positive_dict=True, random_state=seed
    ).fit(A @ D + 0.01 * rng.normal(size=(1500, 16)))
    found = (model.components_ @ D.T).max(axis=0) > 0.98
    assert found.mean() >= 0.75


@pytest.mark.recovery
def test_missing_entries_are_filled(seed):
    X, _, _ = planted(seed, 600, n=16, k=16, density=0.08)
    hidden = np.random.default_rng(seed).uniform(size=X.shape) < 0.2
    model = FeatureSignDictionaryLearning(
        16, alpha=0.05, max_iter=40, tol=0, random_state=seed
    )
    model.fit(np.where(hidden, np.nan, X))
    filled = model.inverse_transform(model.transform(np.where(hidden, np.nan, X)))
    assert np.sum((filled - X)[hidden] ** 2) < 0.5 * np.sum(X[hidden] ** 2)


@pytest.mark.recovery
def test_mini_batches_come_near_to_all_at_once(seed):
    X, _, _ = planted(seed, 2000, noise=0.1)
    stream = FeatureSignDictionaryLearning(18, alpha=0.2, forget_factor=0.9, random_state=seed)
    for _ in range(4):
        for first in range(0, 2000, 200):
            stream.partial_fit(X[first : first + 200])
    assert stream.n_iter_ == 40
    assert_array_equal(stream.objective_history_, [stream.objective_])
    assert stream.dictionary_gap_ < 1e-8
    given = {"n_components": 18, "alpha": 0.2, "tol": 0, "random_state": seed}
    start = FeatureSignDictionaryLearning(**given, max_iter=1).fit(X[:200])
    batch = FeatureSignDictionaryLearning(**given, max_iter=60).fit(X)

    def value(model):
        return oracle.objective(X, model.components_, model.transform(X), 0.2)

    assert value(stream) < value(batch) + 0.5 * (value(start) - value(batch))


@pytest.mark.invariance
def test_coders_threads_scale_and_dtype_agree(seed):
    X, _, _ = planted(seed, 600, noise=0.1)
    given = {"n_components": 15, "alpha": 0.2, "max_iter": 6, "tol": 0, "random_state": seed}
    model = FeatureSignDictionaryLearning(**given).fit(X)

    for other in (
        FeatureSignDictionaryLearning(**given, algorithm="homotopy").fit(X),
        FeatureSignDictionaryLearning(**given, algorithm="coordinate_descent").fit(X),
        FeatureSignDictionaryLearning(**given).fit(X, sample_weight=np.full(600, 3.0)),
    ):
        assert_allclose(
            other.components_, model.components_, atol=1e-4
        )  # the codes have gaps of 1e-6

    threads = FeatureSignDictionaryLearning(**given, n_jobs=2).fit(X)
    assert_array_equal(threads.components_, model.components_)

    scaled = FeatureSignDictionaryLearning(**{**given, "alpha": 0.2 * 1024}).fit(1024 * X)
    assert_allclose(scaled.components_, model.components_, atol=1e-8)

    single = FeatureSignDictionaryLearning(**given).fit(X.astype(np.float32))
    assert (
        single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    )
    assert_allclose(
        single.objective_history_, model.objective_history_, rtol=1e-4
    )  # results are in single precision


@pytest.mark.invariance
def test_weights_count_repetitions(seed):
    X, _, _ = planted(seed, 150, noise=0.1)
    w = np.random.default_rng(seed).integers(0, 3, size=150)
    init = X[:10]
    given = {"alpha": 0.2, "init": init, "max_iter": 5, "tol": 0}
    model = FeatureSignDictionaryLearning(**given).fit(X, sample_weight=w)
    repeated = FeatureSignDictionaryLearning(**given).fit(np.repeat(X, w, axis=0))
    assert_allclose(model.components_, repeated.components_, atol=1e-6)
    assert_allclose(model.objective_history_, repeated.objective_history_, rtol=1e-9)


@pytest.mark.invariance
@pytest.mark.parametrize("positive", [False, True])
def test_sparse_signals_as_dense_ones(positive, seed):
    X, _, _ = planted(seed, 400)
    X[np.abs(X) < 0.3] = 0
    given = {"alpha": 0.2, "max_iter": 6, "tol": 0, "random_state": seed}
    given |= {"n_components": 14, "positive_dict": positive, "positive_code": positive}

    dense = FeatureSignDictionaryLearning(**given).fit(X)
    # only a few rows at a time are made dense
    S = sparse.csr_array(X)
    with sklearn.config_context(working_memory=0.05):
        few = FeatureSignDictionaryLearning(**given).fit(S)
        # the codes have gaps of 1e-6
        assert_allclose(few.transform(S), dense.transform(X), atol=1e-5)
    assert_allclose(few.components_, dense.components_, atol=1e-5)
    assert_allclose(few.objective_history_, dense.objective_history_, rtol=1e-9)
    assert_allclose(few.score(S), dense.score(X), rtol=1e-6)

    # compare streams of batches
    streams = [FeatureSignDictionaryLearning(**given) for _ in range(2)]
    for first in range(0, 400, 100):
        streams[0].partial_fit(X[first : first + 100])
        streams[1].partial_fit(S[first : first + 100])
    assert_allclose(streams[1].components_, streams[0].components_, atol=1e-5)
    assert not positive or (streams[1].components_ >= 0).all()

    single = FeatureSignDictionaryLearning(**given).fit(S.astype(np.float32))
    assert (
        single.components_.dtype == single.transform(S.astype(np.float32)).dtype == np.float32
    )


@pytest.mark.edge
def test_opposite_atoms_differ_for_non_negative_codes():
    atoms = np.array([[1.0, 0.0], [-1.0, 0.0]])
    X = np.array([[2.0, 0.0], [-3.0, 0.0]])
    model = FeatureSignDictionaryLearning(
        init=atoms, alpha=0.5, positive_code=True, max_iter=1, tol=0
    ).fit(X)
    assert_allclose(model.transform(X), [[1.5, 0], [0, 2.5]])


@pytest.mark.edge
def test_scale_of_values(seed):
    X, _, _ = planted(seed, 60)
    given = {"n_components": 5, "max_iter": 3, "tol": 0, "random_state": seed}
    model = FeatureSignDictionaryLearning(**given, alpha=0.2).fit(X)
    # these scales are close to the limits of input validation
    for scale in (2.0**-290, 2.0**290):
        scaled = FeatureSignDictionaryLearning(**given, alpha=0.2 * scale).fit(scale * X)
        assert_allclose(scaled.components_, model.components_, atol=1e-6)
        assert_allclose(scaled.transform(scale * X), scale * model.transform(X), rtol=1e-5)
    with pytest.raises(ValueError, match=r"use X\.toarray"):
        model.fit(sparse.csr_array(np.where(X > 1, np.nan, X)))
    with pytest.raises(ValueError, match="contains infinity"):
        model.fit(np.where(X > 1, np.inf, X))
    with pytest.raises(ValueError, match="positive_dict=True: clip them"):
        FeatureSignDictionaryLearning(init=-np.ones((2, 12)), positive_dict=True).fit(X)


@pytest.mark.invariance
def test_warm_start_and_grid_search(seed):
    X, _, _ = planted(seed, 300, noise=0.1)
    model = FeatureSignDictionaryLearning(
        15, alpha=0.2, max_iter=5, tol=0, warm_start=True, random_state=seed
    )
    first = model.fit(X).objective_history_
    second = model.fit(X).objective_history_
    assert second[0] < first[-1] * (1 + 1e-9)
    search = GridSearchCV(model, {"alpha": [0.1, 2.0]}, cv=3).fit(X)
    assert search.best_params_ == {"alpha": 0.1}
    assert -1 <= search.best_score_ <= 0


@pytest.mark.edge
def test_edge_cases(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 4))
    many = FeatureSignDictionaryLearning(30, alpha=0.1, random_state=seed).fit(X)
    assert np.isfinite(many.components_).all()
    assert_allclose(np.linalg.norm(many.components_, axis=1), 1)

    zeros = FeatureSignDictionaryLearning(3, random_state=seed).fit(np.zeros((5, 4)))
    assert_allclose(np.linalg.norm(zeros.components_, axis=1), 1)
    assert (zeros.transform(np.zeros((5, 4))) == 0).all()
    assert zeros.score(np.zeros((5, 4))) == 0
    # if the penalty exceeds every signal, the codes and the score are zero, and the fit ends at
    # once
    none = FeatureSignDictionaryLearning(3, alpha=100.0, random_state=seed).fit(X)
    assert (none.transform(X) == 0).all()
    assert_allclose(none.score(X), -1)
    assert none.n_iter_ == 2
    assert (none.usage_ == 0).all()

    same = FeatureSignDictionaryLearning(init=np.ones((4, 3)), alpha=0.1).fit(np.ones((6, 3)))
    assert_allclose(same.inverse_transform(same.transform(np.ones((6, 3)))), 1, atol=0.1)

    hidden = np.where(rng.uniform(size=X.shape) < 0.5, np.nan, X)
    hidden[0] = np.nan
    hidden[:, 1] = np.nan
    model = FeatureSignDictionaryLearning(4, alpha=0.1, random_state=seed).fit(hidden)
    assert np.isfinite(model.components_).all()
    assert (model.transform(hidden)[0] == 0).all()

    for changed, data in (({}, np.ones((5, 3))), ({"n_components": 2}, X)):
        warm = FeatureSignDictionaryLearning(3, warm_start=True, random_state=seed).fit(X)
        with pytest.raises(ValueError, match=r"last fit \(warm_start=True\) must be .* shape"):
            warm.set_params(**changed).fit(data)
        assert warm.components_.shape == (3, 4)

    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        FeatureSignDictionaryLearning(3, alpha=0.1, max_iter=2, random_state=seed).fit(
            rng.normal(size=(50, 4))
        )


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "init has a zero atom",
            lambda X, zeros, hidden: FeatureSignDictionaryLearning(
                2, init=np.zeros((2, 4))
            ).fit(X),
        ),
        (
            r"init has shape \(2, 3\)",
            lambda X, zeros, hidden: FeatureSignDictionaryLearning(
                2, init=np.ones((2, 3))
            ).fit(X),
        ),
        (
            "partial_fit accepts no missing entries",
            lambda X, zeros, hidden: FeatureSignDictionaryLearning(2).partial_fit(hidden),
        ),
        ("5 codes a row", lambda X, zeros, hidden: zeros.inverse_transform(np.ones((1, 5)))),
    ],
)
def test_bad_input_is_rejected(seed, message, call):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 4))
    zeros = FeatureSignDictionaryLearning(3, random_state=seed).fit(np.zeros((5, 4)))
    hidden = np.where(rng.uniform(size=X.shape) < 0.5, np.nan, X)
    hidden[0] = np.nan
    hidden[:, 1] = np.nan
    with pytest.raises(ValueError, match=message):
        call(X, zeros, hidden)


@pytest.mark.edge
def test_unused_atoms_are_revived(seed):
    X, D, _ = planted(seed, 400, k=12, density=0.2)
    start = D.copy()
    start[5:] = D[0]  # the remaining atoms are all equal
    model = FeatureSignDictionaryLearning(init=start, alpha=0.1, max_iter=60, tol=0).fit(X)
    assert model.n_replaced_[0] > 0
    assert (model.usage_ > 0).all()
    assert (np.diff(model.objective_history_) <= 1e-12 * model.objective_history_[0]).all()


@pytest.mark.edge
def test_atoms_that_become_short_are_lengthened_and_their_codes_shortened(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 8))  # with fewer signals than atoms, some bounds are inactive
    start = rng.normal(size=(24, 8))
    model = FeatureSignDictionaryLearning(
        init=start, alpha=0.02, max_iter=3, tol=0, store_codes=True
    ).fit(X)
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    stated = oracle.objective(X, model.components_, model.codes_.toarray(), 0.02)
    assert_allclose(model.objective_, stated, rtol=1e-9)
    assert (np.diff(model.objective_history_) <= 1e-12 * model.objective_history_[0]).all()


@pytest.mark.invariance
def test_repeated_entries_of_a_sparse_array_are_summed(seed):
    X, _, _ = planted(seed, 80)
    S = sparse.csr_array(np.where(np.abs(X) > 0.3, X, 0))
    parts = np.stack([0.25 * S.data, 0.75 * S.data], axis=1).ravel()
    repeated = sparse.csr_array((parts, np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)
    given = {"n_components": 5, "alpha": 0.2, "max_iter": 4, "tol": 0, "random_state": seed}
    model = FeatureSignDictionaryLearning(**given).fit(S)
    other = FeatureSignDictionaryLearning(**given).fit(repeated)
    assert repeated.nnz == 2 * S.nnz  # the input is unchanged
    assert_allclose(other.objective_history_, model.objective_history_, rtol=1e-9)
    assert_allclose(other.score(repeated), model.score(S), rtol=1e-9)


class StopAtOnce:
    """Callback that stops the fit after its first pass."""

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing is held."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_end(self, estimator, context):
        """Stop."""
        return True


@pytest.mark.newest
@pytest.mark.edge
@pytest.mark.filterwarnings("error")
def test_does_not_warn_if_a_callback_stops_the_fit(seed):
    X, _, _ = planted(seed, 60)
    model = FeatureSignDictionaryLearning(5, alpha=0.1, random_state=seed)
    assert model.set_callbacks(StopAtOnce()).fit(X).n_iter_ == 1


@pytest.mark.invariance
def test_first_batch_without_rows_of_weight_zero(seed):
    X, _, _ = planted(seed, 150, noise=0.1)
    w = np.repeat([0.0, 1.0], 75)
    model = FeatureSignDictionaryLearning(10, alpha=0.2, random_state=seed)
    expected = model.partial_fit(X[75:]).components_
    model = FeatureSignDictionaryLearning(10, alpha=0.2, random_state=seed)
    # sums over 150 and over 75 rows are rounded differently
    assert_allclose(model.partial_fit(X, sample_weight=w).components_, expected, atol=1e-9)


@pytest.mark.edge
def test_partial_fit_leaves_no_codes_of_earlier_atoms():
    X, _, _ = planted(0, 150, noise=0.1)
    model = FeatureSignDictionaryLearning(10, alpha=0.2, max_iter=2, tol=0, store_codes=True)
    assert hasattr(model.fit(X), "codes_")
    assert not hasattr(model.partial_fit(X), "codes_")


@pytest.mark.invariance
@pytest.mark.parametrize("unit", [1e-6, 1e-4, 1e4, 1e6])
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_default_penalty_has_the_units_of_the_signals(unit, fit, seed):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(150, 3)) @ rng.normal(size=(3, 10)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        want = getattr(FeatureSignDictionaryLearning(5, random_state=0), fit)(X)
        model = getattr(FeatureSignDictionaryLearning(5, random_state=0), fit)(X * unit)
    assert_allclose(model.alpha_, 0.1 * np.median(np.linalg.norm(X, axis=1)) * unit, rtol=0.05)
    codes = want.transform(X)
    assert 0.05 < np.mean(codes != 0) < 0.95
    scale = np.abs(codes).max()
    assert_allclose(model.transform(X * unit) / unit, codes, rtol=0, atol=1e-3 * scale)


@pytest.mark.invariance
def test_default_penalty_of_a_stream_is_the_mean_over_batches(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 6))
    X[0] *= 1e9
    stream = FeatureSignDictionaryLearning(4, random_state=0)
    for rows in np.split(np.arange(300), [10, 100]):
        stream.partial_fit(X[rows])
    assert_allclose(stream.alpha_, 0.1 * np.median(np.linalg.norm(X, axis=1)), rtol=0.1)
