"""Evidence that KSVD solves the problem it states."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skmoderndata import KSVD
from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.signal_blocks import prepare_atoms, to_csr, to_dense
from skmoderndata._solvers.dictionaries.atom_replacement import two_lines
from skmoderndata._solvers.dictionaries.atom_updates import (
    Ridges,
    least_squares_atoms,
    ridges_from,
    squared_residuals,
    sweep,
    update_all,
    users_of_atoms,
)
from skmoderndata._solvers.dictionaries.incomplete_signals import code_incomplete
from skmoderndata._solvers.dictionaries.ksvd import code_in_batches
from skmoderndata.sparse_coding import SparseCoder
from tests.oracles import ksvd as oracle


def planted(seed, n_signals=1500, n=20, k=50, s=3, snr=np.inf, positive=False):
    """Signals of the recovery experiment of Aharon, Elad and Bruckstein (2006), section V.A."""
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(k, n))
    D = np.abs(D) ** 3 if positive else D
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    A = np.zeros((n_signals, k))
    for row in A:
        row[rng.choice(k, s, replace=False)] = rng.uniform(0.1 if positive else -1, 1, s)
    X = A @ D
    if np.isfinite(snr):
        noise = rng.normal(size=X.shape)
        X = X + noise * (np.linalg.norm(X) / np.linalg.norm(noise) * 10 ** (-snr / 20))
    return X, D, A


def recovered(D, found):
    return np.mean(1 - np.abs(found @ D.T).max(axis=0) < 0.01)


def coded(seed, **kwargs):
    X, D, _ = planted(seed, 300, 12, 20, **kwargs)
    start = prepare_atoms(np.abs(D + 0.2) if kwargs.get("positive") else D + 0.2)
    codes = orthogonal_matching_pursuit(X, start, n_nonzero=3, tol_sq=np.full(300, -1.0))
    return X, start.rows, codes


@pytest.mark.oracle
def test_sweeps_match_full_residuals(seed):
    X, D, codes = coded(seed)
    order = np.random.default_rng(seed).permutation(len(D))
    for exact in (False, True):
        atoms = D.copy()
        values = codes.values.copy()
        users = users_of_atoms(codes, len(D))
        sparse = to_csr(codes._replace(values=values), len(D))
        sweep(X, None, atoms, sparse, users, order, exact=exact)
        expected, A = oracle.sweep(X, D, to_dense(codes, len(D)), order, exact)
        assert_allclose(atoms, expected, atol=1e-9)
        assert_allclose(to_dense(codes._replace(values=values), len(D)), A, atol=1e-9)


@pytest.mark.certificate
def test_fit_stops_at_the_first_pass_that_gains_at_most_tol(seed):
    X = planted(seed, 300, 12, 20, snr=20)[0]
    model = KSVD(
        20, n_nonzero_coefs=3, tol=0.01, max_iter=100, replace_until=0.0, random_state=seed
    ).fit(X)
    history = model.objective_history_
    falls = -np.diff(history) / history[:-1]
    assert model.n_iter_ == len(history) < 100
    assert falls[-1] <= 0.01
    assert (falls[:-1] > 0.01).all()


@pytest.mark.certificate
@pytest.mark.parametrize("kind", ["approximate", "exact", "masked", "positive"])
def test_every_update_of_an_atom_lowers_the_objective(kind, seed):
    X, D, codes = coded(seed, positive=kind == "positive")
    known = np.random.default_rng(seed).uniform(size=X.shape) < 0.7
    mask = known if kind == "masked" else None
    values = np.abs(codes.values) if kind == "positive" else codes.values.copy()
    users = users_of_atoms(codes, len(D))
    sparse = to_csr(codes._replace(values=values), len(D))

    def objective():
        out = squared_residuals(X, mask, D, sparse)
        A = to_dense(codes._replace(values=values), len(D))
        R = X - A @ D
        assert_allclose(out, np.sum((R if mask is None else R * mask) ** 2, axis=1), rtol=1e-9)
        return out.sum()

    last = objective()
    for j in range(len(D)):
        order = np.array([j])
        sweep(
            X,
            mask,
            D,
            sparse,
            users,
            order,
            exact=kind == "exact",
            positive=kind == "positive",
        )
        new = objective()
        assert new <= last * (1 + 1e-12)
        last = new
    assert_allclose(np.linalg.norm(D, axis=1), 1, rtol=1e-12)
    if kind == "positive":
        assert (D >= 0).all()
        assert (values >= 0).all()


@pytest.mark.certificate
@pytest.mark.parametrize("update", ["approximate", "exact"])
def test_monotone_option_never_raises_the_objective(update, seed):
    X = planted(seed, 400, snr=15)[0]
    model = KSVD(
        30, n_nonzero_coefs=3, update=update, monotone=True, max_iter=15, replace_until=0,
        random_state=seed,
    ).fit(X)  # fmt: skip
    assert (np.diff(model.objective_history_) <= 1e-12 * model.objective_history_[0]).all()
    assert not model.n_replaced_.any()
    assert model.objective_history_.shape == (15,) == (model.n_iter_,)


@pytest.mark.paper
def test_recovery_experiment_of_the_original_paper(seed):
    """Aharon et al. 2006, figure 3: at 20 dB some 45 to 48 of 50 atoms are found."""
    found = []
    for trial in range(4):
        X, D, _ = planted(100 * seed + trial, snr=20)
        model = KSVD(50, n_nonzero_coefs=3, max_iter=80, random_state=trial).fit(X)
        found.append(recovered(D, model.components_))
    assert np.mean(found) >= 0.97  # if atoms are not split, the fraction is about 0.95


@pytest.mark.oracle
def test_two_lines_are_the_best_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(6, 2)))[0].T
    # the two directions are not orthogonal
    directions[1] = 0.6 * directions[0] + 0.8 * directions[1]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    E = rng.normal(size=(80, 1)) * directions[rng.integers(2, size=80)]
    E += 0.01 * rng.normal(size=E.shape)
    lines, gain = two_lines(E)
    plane = np.linalg.svd(E, full_matrices=False)[2][:2]
    angles = np.linspace(0, np.pi, 180, endpoint=False)
    near = (E @ plane.T @ np.array([np.cos(angles), np.sin(angles)])) ** 2
    best = max(np.maximum(near[:, [i]], near).sum(axis=0).max() for i in range(180))
    # no other pair on the grid is better
    assert gain >= best - np.linalg.norm(E, 2) ** 2 - 1e-9
    cosines = np.abs(lines @ directions.T)
    assert min(cosines.max(axis=0)) > 0.99


@pytest.mark.recovery
@pytest.mark.parametrize("update", ["approximate", "exact"])
def test_lines_are_found_with_one_atom_a_signal(update, seed):
    X, D, _ = planted(seed, 400, n=8, k=10, s=1)
    model = KSVD(10, n_nonzero_coefs=1, update=update, random_state=seed).fit(X)
    assert recovered(D, model.components_) == 1
    assert model.objective_ < 1e-20 * np.sum(X**2)


@pytest.mark.recovery
def test_nonnegative_parts_are_found(seed):
    X, D, _ = planted(seed, 800, n=20, k=8, s=2, positive=True)
    given = {"n_components": 8, "n_nonzero_coefs": 2, "positive": True, "max_iter": 60}
    models = [KSVD(**given, random_state=start).fit(X) for start in range(3)]
    model = min(models, key=lambda model: model.objective_)
    assert (model.components_ >= 0).all()
    assert (model.transform(X) >= 0).all()
    assert recovered(D, model.components_) >= 0.75


@pytest.mark.recovery
def test_atoms_are_found_in_spite_of_missing_entries(seed):
    X, D, _ = planted(seed, 1500, n=20, k=24, s=2)
    hidden = np.random.default_rng(seed).uniform(size=X.shape) < 0.25
    model = KSVD(24, n_nonzero_coefs=2, max_iter=50, random_state=seed)
    model.fit(np.where(hidden, np.nan, X))
    assert recovered(D, model.components_) >= 0.75
    filled = model.inverse_transform(model.transform(np.where(hidden, np.nan, X)))
    assert np.sum((filled - X)[hidden] ** 2) < 0.3 * np.sum(X[hidden] ** 2)


@pytest.mark.oracle
def test_codes_of_incomplete_signals_solve_the_ridge_problem(seed):
    """With all atoms allowed; complete signals have least squares codes."""
    rng = np.random.default_rng(seed)
    X, D, _ = planted(seed, 60, n=12, k=6, snr=10)
    known = rng.uniform(size=X.shape) < 0.7
    known[::3] = True
    ridges = Ridges(0.0, rng.uniform(0.01, 1, 6), rng.uniform(0.01, 1, 12))
    shown = np.where(known, X, 0.0)

    def code(signals, mask, atoms):
        bounds = np.full(len(signals), -1.0)
        return orthogonal_matching_pursuit(
            signals, atoms, n_nonzero=6, tol_sq=bounds, mask=mask
        )

    codes = code_incomplete(code, shown, known, prepare_atoms(D), ridges)
    found = to_dense(codes, 6)
    for x, mask, a, residual_sq in zip(X, known, found, codes.residual_sq, strict=True):
        K = D[:, mask]
        hidden = D * np.sqrt(ridges.hidden) * ~mask
        ridge = (np.diag(ridges.codes) + hidden @ hidden.T) * (not mask.all())
        expected = np.linalg.solve(K @ K.T + ridge, K @ x[mask])
        assert_allclose(a, expected, atol=1e-9)
        assert_allclose(np.sum((x[mask] - a @ K) ** 2), residual_sq, rtol=1e-9)


@pytest.mark.oracle
def test_ridges_match_plain_sums(seed):
    X, D, codes = coded(seed)
    known = np.random.default_rng(seed).uniform(size=X.shape) < 0.7
    A = to_csr(codes, len(D))
    dense = A.toarray()
    ridges = ridges_from(known, D, A, 7.0)
    noise = 7.0 / (known.sum() - np.count_nonzero(dense))
    shown = (known @ (D**2).T) * (dense != 0)
    variances = (shown * dense**2).sum(axis=0) / shown.sum(axis=0)
    assert_allclose(ridges.atoms, D.shape[1] * noise, rtol=1e-12)
    assert_allclose(ridges.codes, noise / variances, rtol=1e-12)
    squares = (known * (dense @ D) ** 2).sum(axis=0) / known.sum(axis=0)
    assert_allclose(ridges.hidden, noise / (squares + noise), rtol=1e-12)

    # without gaps, the sums do not need the approximation of each signal
    complete = ridges_from(None, D, A, 7.0)
    same = ridges_from(np.ones_like(known), D, A, 7.0)
    assert_allclose(complete.hidden, same.hidden, rtol=1e-10)


@pytest.mark.certificate
def test_larger_ridges_shrink_predictions(seed):
    X, D, codes = coded(seed)
    known = np.random.default_rng(seed).uniform(size=X.shape) < 0.4
    values = codes.values.copy()
    A = to_csr(codes._replace(values=values), len(D))

    def error_and_size(ridge):
        """Error, and the squared norms of the products of codes and atoms where hidden."""
        atoms = D.copy()
        own = A.copy()
        users = users_of_atoms(codes, len(D))
        ridges = Ridges(ridge, np.full(len(D), ridge / 12), np.zeros(D.shape[1]))
        sweep(X, known, atoms, own, users, np.arange(len(D)), ridges=ridges)
        hidden = np.where(known, 0.0, own @ atoms)
        return squared_residuals(X, known, atoms, own).sum(), np.sum(hidden**2)

    errors, sizes = zip(*(error_and_size(ridge) for ridge in (0.0, 0.1, 1.0)), strict=True)
    assert (np.diff(errors) > 0).all()
    assert (np.diff(sizes) < 0).all()

    # all atoms move at once, and the step is kept only if error and penalty together decrease
    before = squared_residuals(X, known, D, A).sum() + 0.1 * len(D)
    least_squares_atoms(X, known, D, A, ridge=0.1)
    assert squared_residuals(X, known, D, A).sum() < before


@pytest.mark.recovery
def test_unobserved_entries_do_not_balance_an_atom():
    """Atoms beside the constant one have zero sum; an entry without data must not provide it."""
    rng = np.random.default_rng(0)
    D = np.vstack([np.full(8, 8**-0.5), rng.normal(size=8)])
    D[1] = np.abs(D[1])
    D[1, 0] = -D[1, 1:].sum()
    D[1] /= np.linalg.norm(D[1])
    A = np.column_stack([np.zeros(60), rng.normal(size=60)])
    X = A @ D + 0.05 * rng.normal(size=(60, 8))
    known = np.ones(X.shape, np.bool_)
    known[:, 0] = False
    codes = sparse.csr_array(A)  # omit the zeros of the constant atom
    ridges = ridges_from(known, D, codes, 0.05**2 * known.sum())
    atoms = D.copy()
    users = np.array([0, 0, 60]), np.arange(60), np.arange(60)
    sweep(X, known, atoms, codes, users, np.array([1]), ridges=ridges, center=True)
    assert abs(atoms[1].sum()) < 1e-12
    assert abs(D[1, 0]) > 0.8
    assert abs(atoms[1, 0]) < 0.5


@pytest.mark.invariance
def test_gaps_of_other_signals_do_not_change_a_code(seed):
    X = planted(seed, 200, n=12, k=20, snr=20)[0]
    gaps = X.copy()
    gaps[::2][np.random.default_rng(seed).uniform(size=(100, 12)) < 0.3] = np.nan
    model = KSVD(15, n_nonzero_coefs=3, max_iter=5, random_state=seed).fit(gaps)
    codes = model.transform(gaps)
    assert_allclose(codes[1::2], model.transform(X[1::2]), atol=1e-12)
    alone = np.vstack([model.transform(row[None]) for row in gaps[:20]])
    assert_allclose(codes[:20], alone, atol=1e-9)


@pytest.mark.recovery
def test_streams_find_the_atoms_by_default(seed):
    """With nothing forgotten a fifth to a half; `fit` finds all."""
    found = []
    cosines = []
    for trial in range(2):
        X, D, _ = planted(100 * seed + trial, 1500, k=40)
        model = KSVD(40, n_nonzero_coefs=3, random_state=trial)
        for _ in range(20):
            for first in range(0, 1500, 150):
                model.partial_fit(X[first : first + 150])
        found.append(recovered(D, model.components_))
        cosines.append(np.abs(np.triu(model.components_ @ model.components_.T, 1)).max())
    assert np.mean(found) >= 0.9
    assert max(cosines) < 0.9


@pytest.mark.edge
@pytest.mark.parametrize("positive", [False, True])
def test_streams_replace_duplicate_and_unused_atoms(positive, seed):
    rng = np.random.default_rng(seed)
    D = np.eye(12)
    lines = rng.uniform(0.5, 1, size=(400, 1)) * D[rng.integers(12, size=400)]
    lines += 0.01 * rng.normal(size=lines.shape)
    start = D.copy()
    start[1] = start[0] + 1e-3 * start[2]  # no atom remains for the signals of the second one
    given = {"positive": positive, "random_state": seed}
    model = KSVD(12, n_nonzero_coefs=1, **given).fit(lines)
    untouched = KSVD(12, n_nonzero_coefs=1, replace_until=0, **given).fit(lines)
    model.components_ = untouched.components_ = start
    model.partial_fit(lines[:200])
    assert model.n_replaced_[0] >= 1
    assert recovered(D, model.partial_fit(lines[200:]).components_) == 1
    untouched.partial_fit(lines[:200]).partial_fit(lines[200:])
    assert untouched.n_replaced_[0] == 0
    assert np.abs(np.triu(untouched.components_ @ untouched.components_.T, 1)).max() > 0.9

    X = planted(seed, 400, n=12, k=20, s=2, positive=positive)[0]
    given["n_nonzero_coefs"] = 2
    few = KSVD(20, **given).partial_fit(X[:3])  # 17 atoms are random directions
    for first in range(3, 23):
        few.partial_fit(X[first : first + 1])
    for first in range(23, 400, 29):
        few.partial_fit(X[first : first + 29])
    assert (few.transform(X) != 0).any(axis=0).all()
    assert few.score(X) > -0.2


@pytest.mark.invariance
def test_cuts_of_the_first_signals_do_not_matter(seed):
    """Eight signals for each atom are learned from together."""
    X = planted(seed, 120, n=12, k=10, s=2)[0]
    at_once = KSVD(10, n_nonzero_coefs=2, random_state=seed).partial_fit(X)
    cut = KSVD(10, n_nonzero_coefs=2, random_state=seed)
    for first, last in ((0, 1), (1, 3), (3, 50), (50, 120)):
        cut.partial_fit(X[first:last])
    assert_allclose(cut.components_, at_once.components_, atol=1e-10)

    # the estimator must not keep the caller's batch
    batch = X[:5].copy()
    model = KSVD(10, n_nonzero_coefs=2, random_state=seed).partial_fit(batch)
    batch[:] = 0.0
    assert_allclose(model.partial_fit(X[5:]).components_, at_once.components_, atol=1e-10)


@pytest.mark.invariance
def test_statistics_of_a_stream_belong_to_its_atoms(seed):
    """Signs are fixed, codes of an earlier fit are gone, and sizes of batches do not matter."""
    X = planted(seed, 600, snr=20)[0]
    given = {"n_components": 30, "n_nonzero_coefs": 3, "random_state": seed}
    model = KSVD(store_codes=True, max_iter=2, **given).fit(X[:300])
    for first in range(300, 600, 50):
        model.partial_fit(X[first : first + 50])
        peaks = np.abs(model.components_).argmax(axis=1)
        assert (model.components_[np.arange(30), peaks] > 0).all()
    assert not hasattr(model, "codes_")
    small = KSVD(**given).partial_fit(X[:100])
    grown = KSVD(**given).partial_fit(X[:100] * 2.0**-80)
    for first in range(100, 600, 100):
        part = X[first : first + 100]
        # the first batch is negligible compared with later ones
        grown.partial_fit(part * 2.0**80)
        small.partial_fit(part)
    assert np.isfinite(grown.components_).all()
    assert_allclose(np.linalg.norm(grown.components_, axis=1), 1)
    assert grown.score(X) > 1.5 * small.score(X) - 0.05


@pytest.mark.recovery
def test_mini_batches_come_near_to_all_at_once(seed):
    X = planted(seed, 3000, n=12, k=16, s=2)[0]
    model = KSVD(16, n_nonzero_coefs=2, forget_factor=0.9, random_state=seed)
    for _ in range(8):
        for first in range(0, 3000, 300):
            model.partial_fit(X[first : first + 300])
    start = KSVD(16, n_nonzero_coefs=2, max_iter=1, batch_size=None, random_state=seed)
    start.fit(X[:300])
    assert model.score(X) > start.score(X) / 3
    assert model.n_iter_ == 80


@pytest.mark.invariance
def test_threads_scale_and_dtype(seed):
    X = planted(seed, 600, snr=20)[0]
    given = {"n_components": 30, "n_nonzero_coefs": 3, "max_iter": 5, "random_state": seed}
    model = KSVD(**given).fit(X)
    parallel = KSVD(**given, n_jobs=2).fit(X)
    assert_array_equal(parallel.components_, model.components_)
    scaled = KSVD(**given).fit(1024 * X)
    assert_allclose(scaled.components_, model.components_, atol=1e-12)
    single = KSVD(**given).fit(X.astype(np.float32))
    assert single.components_.dtype == np.float32
    assert_allclose(
        single.objective_history_, model.objective_history_, rtol=0.02
    )  # choices that are nearly tied may differ
    peaks = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(30), peaks] > 0).all()


@pytest.mark.invariance
@pytest.mark.parametrize(
    "settings",
    [{}, {"positive": True}, {"update": "exact"}, {"update": "mod"}, {"residual_tol": 0.7}],
    ids=str,
)
@pytest.mark.parametrize("power", [-160, 160])
def test_units_within_the_limits_do_not_matter(settings, power, seed):
    X = planted(seed, 300, n=12, k=20, snr=20)[0]
    if seed % 2:
        X[np.random.default_rng(seed).uniform(size=X.shape) < 0.1] = np.nan
    given = {"n_components": 15, "max_iter": 4, "store_codes": True, "random_state": seed}
    given |= {"n_nonzero_coefs": 3} if "residual_tol" not in settings else {}
    model = KSVD(**given, **settings).fit(X)
    unit = 2.0**power
    bound = {"residual_tol": 0.7 * unit} if "residual_tol" in settings else {}
    other = KSVD(**given, **{**settings, **bound}).fit(X * unit)
    assert_allclose(other.components_, model.components_, atol=1e-9)
    assert_allclose(other.objective_history_, model.objective_history_ * unit**2, rtol=1e-9)
    assert_allclose(other.codes_.toarray() / unit, model.codes_.toarray(), atol=1e-9)
    assert_allclose(other.transform(X * unit) / unit, model.transform(X), atol=1e-9)
    assert_allclose(other.score(X * unit), model.score(X), rtol=1e-9)


@pytest.mark.edge
def test_fourth_powers_and_far_too_many_atoms_are_rejected(seed):
    X = planted(seed, 30, n=8, k=10, s=2)[0]
    with pytest.raises(ValueError, match=r"fourth powers over- or underflow: rescale it"):
        KSVD(max_iter=2).fit(1e60 * X)
    with pytest.raises(ValueError, match=r"n_components=20000.*use at most 100"):
        KSVD(20_000, max_iter=2).fit(X)


@pytest.mark.edge
def test_warm_starts_keep_to_the_number_of_atoms(seed):
    X = planted(seed, 200, n=8, k=10, s=2)[0]
    model = KSVD(6, n_nonzero_coefs=2, max_iter=2, warm_start=True, random_state=seed).fit(X)
    with pytest.raises(ValueError, match="6 atoms from the last call, but 9 are needed"):
        model.set_params(n_components=9).fit(X)
    with pytest.raises(ValueError, match="6 atoms from the last call, but 16 are needed"):
        model.set_params(n_components=None).fit(X)
    assert model.set_params(n_components=6).fit(X).components_.shape == (6, 8)


@pytest.mark.newest
@pytest.mark.edge
def test_callback_that_stops_the_fit_is_not_a_failure(seed):
    class Stop:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **kwargs):
            pass

        def on_fit_task_end(self, estimator, context, **kwargs):
            return True

    X = planted(seed, 200, n=8, k=10, s=2, snr=10)[0]
    model = KSVD(6, n_nonzero_coefs=2, tol=1e-9, random_state=seed).set_callbacks(Stop())
    assert model.fit(X).n_iter_ == 1


@pytest.mark.invariance
def test_warm_start_goes_on_and_codes_are_kept(seed):
    X = planted(seed, 500, snr=20)[0]
    model = KSVD(
        30, n_nonzero_coefs=3, max_iter=5, warm_start=True, store_codes=True, random_state=seed
    )
    first = model.fit(X).objective_history_
    second = model.fit(X).objective_history_
    assert model.objective_ == second[-1]
    assert second[0] < first[-1] * 1.05
    assert second[-1] < first[-1]
    rest = X - model.codes_ @ model.components_
    assert_allclose(np.sum(rest**2), second[-1], rtol=1e-10)
    assert_array_equal(model.usage_, (model.codes_.toarray() != 0).sum(axis=0))


@pytest.mark.oracle
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_optimal_directions_solve_the_least_squares_problem(positive, constant, seed):
    X, D, codes = coded(seed, positive=positive)
    if constant:
        D[0] = 12**-0.5
        if not positive:  # the initial atoms satisfy the constraints
            D[1:] -= D[1:].mean(axis=1, keepdims=True)
            D /= np.linalg.norm(D, axis=1, keepdims=True)

    values = np.abs(codes.values) if positive else codes.values.copy()
    A = to_dense(codes._replace(values=values), len(D))
    A[:, 5] = 0  # no signal uses this atom
    values[codes.indices == 5] = 0

    atoms = D.copy()
    sparse = to_csr(codes._replace(values=values), len(D))
    least_squares_atoms(X, None, atoms, sparse, positive=positive, constant=constant)

    P = cp.Variable(D.shape)
    bounds = [P >= 0] if positive else []
    if constant:
        bounds.append(P[0] == D[0])
        if not positive:
            bounds.append(cp.sum(P[1:], axis=1) == 0)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X - A @ P)), bounds)
    problem.solve(solver="CLARABEL")

    new = to_dense(codes._replace(values=values), len(D))
    # the interior point solver is accurate to about 1e-8
    assert_allclose(np.sum((X - new @ atoms) ** 2), problem.value, rtol=1e-6)
    assert_allclose(np.linalg.norm(atoms, axis=1), 1, rtol=1e-12)
    assert_array_equal(atoms[5], D[5])
    if constant:
        assert_array_equal(atoms[0], D[0])


@pytest.mark.certificate
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_optimal_directions_never_raise_the_objective(positive, hidden, seed):
    X, D, codes = coded(seed, positive=positive)
    known = np.random.default_rng(seed).uniform(size=X.shape) < 0.7 if hidden else None
    values = np.abs(codes.values) if positive else codes.values.copy()
    sparse = to_csr(codes._replace(values=values), len(D))
    last = None
    for _ in range(4):
        before = squared_residuals(X, known, D, sparse)
        least_squares_atoms(X, known, D, sparse, positive=positive)
        after = squared_residuals(X, known, D, sparse)
        assert after.sum() <= before.sum() * (1 + 1e-10)
        last = before.sum() if last is None else last
    assert after.sum() < 0.9 * last


@pytest.mark.certificate
def test_optimal_directions_keep_an_exact_fit(seed):
    """Coefficients at the level of rounding make for atoms of any length."""
    for table in (seed, 10):
        X = np.random.default_rng(table).normal(size=(12, 2))
        model = KSVD(
            20, n_nonzero_coefs=2, update="mod", monotone=True, max_iter=6, replace_until=0,
            random_state=0,
        ).fit(X)  # fmt: skip
        assert model.objective_history_.max() < 1e-25 * np.sum(X**2)


@pytest.mark.recovery
def test_optimal_directions_recover_atoms(seed):
    X, D, _ = planted(seed, snr=30)
    model = KSVD(50, n_nonzero_coefs=3, update="mod", max_iter=60, random_state=seed).fit(X)
    assert recovered(D, model.components_) >= 0.9


@pytest.mark.certificate
@pytest.mark.parametrize("update", ["approximate", "exact", "mod"])
@pytest.mark.parametrize("hidden", [False, True])
def test_the_constant_atom_stays_and_the_others_have_no_mean(update, hidden, seed):
    rng = np.random.default_rng(seed)
    X = planted(seed, 500, n=16, k=20, snr=20)[0] + rng.normal(3, 1, size=(500, 1))
    data = np.where(rng.uniform(size=X.shape) < 0.2, np.nan, X) if hidden else X
    model = KSVD(
        24, n_nonzero_coefs=4, update=update, dc_atom=True, monotone=True, replace_until=0,
        max_iter=8, random_state=seed,
    ).fit(data)  # fmt: skip
    assert_array_equal(model.components_[0], np.full(16, 0.25))
    assert_allclose(model.components_[1:].sum(axis=1), 0, atol=1e-12)
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-12)
    # filling entries ("mod") and rounding masked codes allow only small increases of the error
    assert (np.diff(model.objective_history_) <= 1e-9 * model.objective_history_[0]).all()
    replacing = KSVD(24, n_nonzero_coefs=4, update=update, dc_atom=True, random_state=seed)
    passes = replacing.fit(data).objective_history_
    assert passes[-1] < 0.8 * passes[0]
    replacing.partial_fit(X)
    assert_array_equal(replacing.components_[0], np.full(16, 0.25))
    assert_allclose(replacing.components_[1:].sum(axis=1), 0, atol=1e-12)


@pytest.mark.edge
@pytest.mark.parametrize("positive", [False, True])
def test_borders_of_the_constant_atom(positive, seed):
    rng = np.random.default_rng(seed)
    given = {"dc_atom": True, "positive": positive, "max_iter": 4, "random_state": seed}
    X = np.abs(rng.normal(size=(30, 4)))
    only = KSVD(1, **given).fit(X)
    assert_array_equal(only.components_, np.full((1, 4), 0.5))
    flat = KSVD(3, **given).fit(np.outer(np.arange(1, 7), np.ones(4)))
    assert np.isfinite(flat.components_).all()
    assert_allclose(flat.objective_, 0, atol=1e-20)
    assert np.isfinite(KSVD(3, **given).fit(X[:, :1]).components_).all()
    kept = KSVD(dc_atom=positive, init=np.abs(rng.normal(size=(3, 4))), warm_start=True)
    kept.fit(X).set_params(dc_atom=True).fit(X)
    assert_array_equal(kept.components_[0], np.full(4, 0.5))
    if not positive:
        with pytest.raises(ValueError, match="init has a constant atom besides the first"):
            KSVD(2, init=[[1, 2, 1, 1], [3, 3, 3, 3]], **given).fit(X)


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_between_batches_atoms_move_to_their_optima(positive, seed):
    """Each atom solves its own least squares problem, the others and all codes as they are."""
    X, D, codes = coded(seed, positive=positive)
    A = np.abs(to_dense(codes, len(D))) if positive else to_dense(codes, len(D))
    order = np.random.default_rng(seed).permutation(len(D))
    expected = D.copy()
    for j in order:
        rest = X - A @ expected + np.outer(A[:, j], expected[j])
        d = A[:, j] @ rest
        d = np.maximum(d, 0) if positive else d
        expected[j] = d / np.linalg.norm(d)
    found = D.copy()
    update_all(found, A.T @ A, A.T @ X, order, positive, False)
    assert_allclose(found, expected, atol=1e-9)


@pytest.mark.oracle
def test_batches_match_plain_loops(seed):
    """Codes of earlier batches count less and less: as much as half of the signals."""
    X, D, former = coded(seed)

    def code(atoms, rows):
        n = len(X[rows])
        return orthogonal_matching_pursuit(
            X[rows], atoms, n_nonzero=3, tol_sq=np.full(n, -1.0)
        )

    for old in (None, former):
        found = D.copy()
        codes = code_in_batches(
            X, found, code, old, 80, np.random.RandomState(seed), False, False
        )

        # collect all codes, with their signals and weights
        rng = np.random.RandomState(seed)
        expected = D.copy()
        A = np.zeros((0, 20)) if old is None else to_dense(old, 20)
        Y = X[: len(A)]
        weight = np.full(len(A), 0.5)
        latest = np.zeros((300, 20))
        order = rng.permutation(300)
        for first in range(0, 300, 80):
            rows = np.sort(order[first : first + 80])
            latest[rows] = to_dense(code(prepare_atoms(expected), rows), 20)
            A = np.concatenate([A, latest[rows]])
            Y = np.concatenate([Y, X[rows]])
            weight = np.append(weight * (1 - len(rows) / 150), np.ones(len(rows)))
            for j in rng.permutation(20):
                rest = Y - A @ expected + np.outer(A[:, j], expected[j])
                d = (weight * A[:, j]) @ rest
                if (A[:, j] != 0).any():
                    expected[j] = d / np.linalg.norm(d)
        assert_allclose(found, expected, atol=1e-8)
        assert_allclose(to_dense(codes, 20), latest, atol=1e-8)


@pytest.mark.recovery
@pytest.mark.parametrize("update", ["approximate", "mod"])
def test_batches_learn_faster_and_recover_as_much(update, seed):
    X, D, _ = planted(seed, snr=20)
    given = {"n_components": 50, "n_nonzero_coefs": 3, "update": update, "random_state": seed}
    early = KSVD(**given, max_iter=4, batch_size=200).fit(X).objective_
    assert early < KSVD(**given, max_iter=4, batch_size=None).fit(X).objective_
    model = KSVD(**given, max_iter=60, batch_size=300).fit(X)
    assert recovered(D, model.components_) >= 0.94


@pytest.mark.invariance
def test_default_sizes_of_batches(seed):
    """Eight signals for each atom, or a quarter of all if fewer, but not fewer than the atoms."""
    given = {"n_nonzero_coefs": 2, "max_iter": 3, "random_state": seed}
    for n_signals, k, size in ((900, 20, 160), (300, 20, 75), (60, 20, 20), (20, 20, None)):
        X = planted(seed, n_signals, n=12, k=20, s=2)[0]
        auto = KSVD(k, **given).fit(X)
        told = KSVD(k, **given, batch_size=size).fit(X)
        assert_array_equal(auto.components_, told.components_)
    other = KSVD(20, **given, batch_size=None).fit(planted(seed, 60, n=12, k=20, s=2)[0])
    assert not np.array_equal(other.components_, KSVD(20, **given).fit(X).components_)
    careful = KSVD(20, **given, monotone=True)
    assert_array_equal(
        careful.fit(X).components_, careful.set_params(batch_size=None).fit(X).components_
    )


@pytest.mark.invariance
def test_batches_keep_codes_in_the_order_of_the_signals(seed):
    X = planted(seed, 333, snr=20)[0]
    given = {"n_nonzero_coefs": 3, "max_iter": 4, "batch_size": 50, "random_state": seed}
    model = KSVD(30, store_codes=True, **given).fit(X)
    rest = X - model.codes_ @ model.components_
    assert_allclose(np.sum(rest**2), model.objective_, rtol=1e-10)
    assert_array_equal(KSVD(30, n_jobs=2, **given).fit(X).components_, model.components_)
    constant = KSVD(30, dc_atom=True, **given).fit(X)
    assert_array_equal(constant.components_[0], np.full(20, 20**-0.5))
    assert_allclose(constant.components_[1:].sum(axis=1), 0, atol=1e-12)
    parts = KSVD(30, positive=True, **given).fit(np.abs(X))
    assert (parts.components_ >= 0).all()
    hidden = np.where(np.random.default_rng(seed).uniform(size=X.shape) < 0.1, np.nan, X)
    at_once = KSVD(30, **{**given, "batch_size": None}).fit(hidden)
    assert_array_equal(KSVD(30, **given).fit(hidden).components_, at_once.components_)
    with pytest.raises(ValueError, match="set batch_size=None or monotone=False"):
        KSVD(30, monotone=True, **given).fit(X)


@pytest.mark.certificate
@pytest.mark.parametrize("algorithm", ["ormp", "omp"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_error_bound_holds_for_new_signals(seed, dtype, algorithm):
    """For the codes and atoms as they are returned, multiplied in double precision."""
    X = planted(seed, 800, snr=20)[0].astype(dtype)
    bound = np.sqrt(1.2 * np.mean(np.sum(X**2, axis=1, dtype=float))) / 10
    model = KSVD(40, residual_tol=bound, algorithm=algorithm, max_iter=10, random_state=seed)
    codes = model.fit(X[:600]).transform(X[600:])
    assert codes.dtype == model.components_.dtype == dtype
    residual = X[600:] - codes.astype(float) @ model.components_.astype(float)
    assert (np.linalg.norm(residual, axis=1) <= bound * (1 + 1e-9)).all()


@pytest.mark.certificate
def test_rounded_codes_keep_a_bound_that_is_just_met(seed):
    """Bounds equal to residuals of codes in double precision: rounding must not exceed them."""
    rng = np.random.default_rng(seed)
    X, D, _ = planted(seed, 60)
    X = (X + 3e-6 * rng.normal(size=X.shape)).astype(np.float32)
    model = KSVD(len(D), init=D, residual_tol=1.0, max_iter=1, random_state=seed).fit(X)
    model.components_ = D.astype(np.float32)
    atoms = model.components_.astype(float)
    double = SparseCoder(atoms, transform_algorithm="omp", transform_n_nonzero_coefs=3)
    reached = np.linalg.norm(X - double.fit(X).transform(X.astype(float)) @ atoms, axis=1)
    # the bound need not hold below twice the margin for rounding, which is 2^-20 of the norm of a
    # signal
    promised = reached > 2.0**-19 * np.linalg.norm(X, axis=1)
    assert promised.sum() >= 40
    for x, bound in zip(X[promised], reached[promised], strict=True):
        code = model.set_params(residual_tol=bound).transform(x[None])
        assert code.dtype == np.float32
        assert np.linalg.norm(x - code[0].astype(float) @ atoms) <= bound * (1 + 1e-9)


@pytest.mark.edge
def test_start_skips_duplicate_signals(seed):
    rng = np.random.default_rng(seed)
    X = np.ones((400, 5))  # the first signals span only a few directions
    X[rng.choice(400, 6, replace=False)] = rng.normal(size=(6, 5))
    X[rng.choice(400, 50, replace=False)] *= -3
    X[rng.choice(400, 50, replace=False)] = 0
    unit = X[X.any(axis=1)]
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    n_lines = len(np.unique(np.round(unit * np.sign(unit[:, :1]), 8), axis=0))
    start = KSVD(n_lines, max_iter=1)._start(X, np.random.RandomState(seed))
    cosines = np.abs(start @ start.T)
    assert (cosines[np.triu_indices(n_lines, 1)] < 1 - 1e-9).all()
    assert_allclose(np.abs(start @ unit.T).max(axis=1), 1)  # all initial atoms are signals


@pytest.mark.edge
def test_edge_cases(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 4))
    assert np.isfinite(
        KSVD(30, random_state=seed).fit(X).components_
    ).all()  # there are more atoms than signals

    zeros = KSVD(3, random_state=seed, max_iter=3).fit(np.zeros((5, 4)))
    assert_allclose(np.linalg.norm(zeros.components_, axis=1), 1)
    assert (zeros.transform(np.zeros((5, 4))) == 0).all()

    same = KSVD(2, random_state=seed, max_iter=3).fit(np.ones((6, 3)))
    assert_allclose(same.inverse_transform(same.transform(np.ones((6, 3)))), 1)

    hidden = np.where(rng.uniform(size=X.shape) < 0.5, np.nan, X)
    hidden[0] = np.nan
    hidden[:, 1] = np.nan
    assert np.isfinite(KSVD(4, random_state=seed).fit(hidden).components_).all()

    for init, message in (
        (np.zeros((2, 4)), "init has a zero atom"),
        (np.ones((2, 3)), r"init has shape \(2, 3\)"),
        (-np.ones((2, 4)), "init has negative entries"),
    ):
        with pytest.raises(ValueError, match=message):
            KSVD(2, init=init, positive=True).fit(X)

    with pytest.raises(ValueError, match="partial_fit accepts no missing entries"):
        KSVD(2).partial_fit(hidden)
    with pytest.raises(ValueError, match="5 codes a row"):
        zeros.inverse_transform(np.ones((1, 5)))
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        KSVD(3, tol=1e-12, max_iter=2, random_state=seed).fit(rng.normal(size=(50, 4)))


@pytest.mark.edge
def test_atoms_that_are_replaced_over_and_over_do_not_keep_the_fit_from_ending():
    """Splitting an atom of these tables changes nothing, in pass after pass."""
    for cycle in (86, 112, 235):
        X = np.random.RandomState(cycle).normal(size=(10, 3))
        model = KSVD(
            init="random", min_usage=0, residual_tol=np.sqrt(0.5), tol=0.9, random_state=0
        ).fit(X)
        assert model.n_iter_ < 10


@pytest.mark.recovery
def test_a_start_from_neural_gas_is_ahead_after_few_passes(seed):
    given = {"n_components": 50, "n_nonzero_coefs": 3, "max_iter": 4}
    found = {"data": [], "neural_gas": []}
    for trial in range(3):
        X, D, _ = planted(100 * seed + trial, snr=20)
        for init, shares in found.items():
            model = KSVD(**given, init=init, random_state=trial).fit(X)
            shares.append(recovered(D, model.components_))
    assert np.mean(found["neural_gas"]) > np.mean(found["data"])


@pytest.mark.edge
def test_starts_from_neural_gas_keep_their_guarantees(seed):
    X = planted(seed, 100, n=8, k=10)[0]
    for given in ({"positive": True}, {"dc_atom": True}, {"residual_tol": 0.3}):
        model = KSVD(10, init="neural_gas", max_iter=1, random_state=seed, **given).fit(X)
        assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
        if "positive" in given:
            assert (model.components_ >= 0).all()
        if "dc_atom" in given:
            assert_allclose(model.components_[0], 8**-0.5)
            assert_allclose(model.components_[1:].sum(axis=1), 0, atol=1e-9)
    zeros = KSVD(3, init="neural_gas", max_iter=1, random_state=seed).fit(np.zeros((5, 4)))
    assert np.isfinite(zeros.components_).all()


@pytest.mark.edge
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_more_non_zeros_than_a_code_can_have_warn(method):
    X = np.random.default_rng(0).normal(size=(60, 12))
    for settings, message in (
        ({"n_components": 8, "n_nonzero_coefs": 20}, "=20 exceeds n_components=8"),
        ({"n_components": 24, "n_nonzero_coefs": 13}, "=13 exceeds n_features=12"),
    ):
        with pytest.warns(UserWarning, match=message):
            getattr(KSVD(max_iter=1, random_state=0, **settings), method)(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for settings in ({"n_components": 8, "n_nonzero_coefs": 8}, {"n_components": 1}):
            getattr(KSVD(max_iter=1, random_state=0, **settings), method)(X)
