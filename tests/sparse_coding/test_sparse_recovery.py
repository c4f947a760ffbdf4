"""Evidence that SparseRecovery solves the problem it states, and where it turns."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import OrthogonalMatchingPursuit
from sklearn.model_selection import GridSearchCV, KFold

from skmoderndata._solvers.recovery import l1_recovery
from skmoderndata._solvers.recovery.l1_problem import facts_of
from skmoderndata._solvers.recovery.l1_recovery import least_l1
from skmoderndata._solvers.recovery.measurements import (
    from_matrix,
    to_matrix,
    transform_measurements,
)
from skmoderndata._solvers.recovery.phase_transition import half_success
from skmoderndata._solvers.recovery.recovery import METHODS, recover
from skmoderndata.linear_model import BasisPursuit
from skmoderndata.sparse_coding import (
    PhaseTransitionDisplay,
    SparseRecovery,
    dct_dictionary,
    l1_phase_transition,
    phase_transition,
    real_measurements,
    wavelet_dictionary,
)
from tests.oracles import compressed_sensing as naive
from tests.oracles.basis_pursuit import least_l1 as least_l1_stated
from tests.oracles.basis_pursuit import transition

LIMITED = [method for method in METHODS if method != "basis_pursuit"]


def planted(seed, m=60, n=120, s=8, n_signals=3):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(m, n))
    codes = np.zeros((n_signals, n))
    for row in codes:
        row[rng.choice(n, s, replace=False)] = rng.choice([-1, 1], s) * rng.uniform(1, 2, s)
    return Phi, codes


@pytest.mark.recovery
@pytest.mark.parametrize("basis", [None, "dct", "db2"])
@pytest.mark.parametrize("method", METHODS)
def test_recovers_sparse_signals(method, basis, seed):
    Phi, codes = planted(seed, m=80, s=4)
    Psi = {"dct": dct_dictionary(120), "db2": wavelet_dictionary(120, "db2", level=3)}.get(
        basis
    )
    signals = codes if basis is None else codes @ Psi
    model = SparseRecovery(basis, method, n_nonzero_coefs=4).fit(Phi, Phi @ signals.T)
    assert_allclose(model.coef_, signals, atol=1e-9)
    assert_allclose(model.codes_, codes, atol=1e-9)
    assert_allclose(model.residual_norm_, 0, atol=1e-8)
    assert_allclose(model.predict(Phi), Phi @ signals.T, atol=1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("s", [1, 5, 12])
def test_textbook_algorithms(s, seed):
    Phi, codes = planted(seed, m=40, n=80, s=s, n_signals=1)
    y = Phi @ codes[0] + 0.3 * np.random.default_rng(seed).normal(size=40)
    for method, reference in (
        ("omp", naive.omp),
        ("subspace_pursuit", naive.subspace_pursuit),
    ):
        model = SparseRecovery(algorithm=method, n_nonzero_coefs=s).fit(Phi, y)
        assert_allclose(model.coef_, reference(Phi, y, s), atol=1e-9)


@pytest.mark.oracle
def test_scikit_learn_and_a_conic_solver(seed):
    Phi, codes = planted(seed, m=30, n=60, s=5, n_signals=1)
    y = Phi @ codes[0] + 0.1 * np.random.default_rng(seed).normal(size=30)
    unit = Phi / np.linalg.norm(Phi, axis=0)
    theirs = OrthogonalMatchingPursuit(n_nonzero_coefs=5, fit_intercept=False).fit(unit, y)
    ours = SparseRecovery(n_nonzero_coefs=5).fit(unit, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    for bound in (None, 0.5):
        model = SparseRecovery(algorithm="basis_pursuit", residual_tol=bound).fit(Phi, y)
        least = least_l1_stated(Phi, y, bound or 0.0)
        # the tolerance is the accuracy of the conic solver
        assert_allclose(np.abs(model.coef_).sum(), least, rtol=1e-6)
        assert model.residual_norm_ <= (bound or 0.0) + 1e-8
        pursued = BasisPursuit(bound or 0, fit_intercept=False).fit(Phi, y)
        assert_allclose(model.coef_, pursued.coef_, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("bound", [None, 0.4])
@pytest.mark.parametrize("method", METHODS)
def test_with_and_without_a_matrix(method, bound, seed):
    Phi, codes = planted(seed, n_signals=2)
    noise = np.random.default_rng(seed).normal(size=(60, 2))
    Y = Phi @ codes.T + (0 if bound is None else bound * noise / np.linalg.norm(noise, axis=0))

    settings = {
        "algorithm": method,
        "n_nonzero_coefs": 8,
        "residual_tol": bound,
        "basis": "dct",
    }
    Psi = dct_dictionary(120)
    Y = (Phi @ Psi.T) @ codes.T + (Y - Phi @ codes.T)

    compiled = SparseRecovery(**settings).fit(Phi @ Psi.T @ Psi, Y)
    with config_context(working_memory=1e-3):
        free = SparseRecovery(**settings).fit(aslinearoperator(Phi @ Psi.T @ Psi), Y)
    # the tolerance is the accuracy of conjugate gradients
    assert_allclose(free.coef_, compiled.coef_, atol=1e-6)

    if method == "basis_pursuit":
        assert max(free.dual_gap_, compiled.dual_gap_) <= 1e-8
    else:
        assert np.isnan(free.dual_gap_)
        if bound is not None and method == "omp":
            assert (free.residual_norm_ <= 0.4).all()


@pytest.mark.oracle
def test_step_lengths_without_a_matrix_where_columns_are_alike(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(60, 120)) + 2 * rng.normal(size=(60, 1))
    code = np.zeros(120)
    code[rng.choice(120, 6, replace=False)] = rng.choice([-1, 1], 6) * rng.uniform(1, 2, 6)
    Y = (A @ code)[None]
    compiled = recover(Y, from_matrix(A), method="iht", n_nonzero=6)
    free = recover(Y, from_matrix(A), method="iht", n_nonzero=6, memory=0)
    assert_allclose(free.codes, compiled.codes, atol=1e-9)


@pytest.mark.certificate
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_sparse_solutions_without_a_matrix_take_few_steps(noise, seed):
    rng = np.random.RandomState(seed)
    A = transform_measurements("scrambled_hadamard", 256, (1024,), rng=rng)
    codes = np.zeros((1, 1024))
    codes[0, rng.permutation(1024)[:15]] = rng.normal(size=15)
    error = rng.normal(size=(1, 256))
    Y = A.forward(codes)
    bound = noise * float(np.linalg.norm(Y))
    Y += bound * error / np.linalg.norm(error)
    found = recover(Y, A, method="basis_pursuit", residual_tol=bound, memory=0)
    assert found.n_iter[0] <= 130
    assert found.gap[0] <= 1e-9
    assert_allclose(found.residual[0], bound, atol=1e-9)
    A = to_matrix(A)
    assert gap_by_definition(A, Y[0], found.codes[0], bound) <= (1e-8 if noise else np.inf)


def gap_by_definition(A, y, a, bound, positive=False):
    """Relative gap with the residual as dual variable, which is right for a positive bound."""
    r = y - A @ a
    v = r / (A.T @ r if positive else np.abs(A.T @ r)).max()
    return 1 - (y @ v - bound * np.linalg.norm(v)) / np.abs(a).sum()


@pytest.mark.certificate
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("kind", ["hadamard", "gaussian"])
@pytest.mark.parametrize("s", [20, 45])
def test_newton_on_the_support_and_the_dual_of_the_signs(s, kind, positive, seed, monkeypatch):
    """Without the matrix; at 45 of 256 non-zeros columns beyond the support enter the dual."""
    monkeypatch.setattr(l1_recovery, "FORMED_ROWS", 0)
    rng = np.random.RandomState(seed)
    if kind == "hadamard":
        A = transform_measurements("scrambled_hadamard", 256, (1024,), rng=rng)
    else:
        A = from_matrix(rng.normal(size=(256, 1024)))
    A = A._replace(matrix=None)

    code = np.zeros(1024)
    code[rng.permutation(1024)[:s]] = rng.normal(size=s)
    code = np.abs(code) if positive else code
    y = A.forward(code[None])[0]
    y, code = y / np.linalg.norm(y), code / np.linalg.norm(y)

    found = least_l1(y, A, positive=positive)
    assert found.converged
    assert found.gap <= 1e-8
    assert_allclose(found.coef, code, atol=1e-10)

    # the noise is as large as the bound
    for bound in (0.02, 0.3):
        e = rng.normal(size=256)
        noisy = y + bound * e / np.linalg.norm(e)
        size = np.linalg.norm(noisy)

        found = least_l1(noisy / size, A, bound=bound / size, positive=positive)
        assert found.converged
        assert found.missed <= 1e-8

        dense = to_matrix(A)
        gap = gap_by_definition(dense, noisy / size, found.coef, bound / size, positive)
        assert abs(gap) <= 1e-8
        assert found.coef.min() >= 0 or not positive


@pytest.mark.certificate
@pytest.mark.parametrize("formed", [True, False])
@pytest.mark.parametrize("positive", [False, True])
def test_the_last_resorts_reach_the_optimum_alone(positive, formed, seed, monkeypatch):
    """As many non-zeros as measurements; norms of columns differ by up to a hundred."""
    if not formed:
        monkeypatch.setattr(l1_recovery, "FORMED_ROWS", 0)
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(40, 90)) * 10 ** rng.uniform(-1, 1, 90)
    y = A @ np.abs(rng.normal(size=90)) if positive else rng.normal(size=40)
    y /= np.linalg.norm(y)
    operator = from_matrix(A)._replace(matrix=None)
    for bound in (0.0, 0.2):
        found = least_l1(y, operator, bound=bound, positive=positive, tol=1e-7)
        assert found.converged
        assert found.gap <= 1e-7
        assert found.missed <= 1e-7
        least = least_l1_stated(A, y, bound, positive)
        # the tolerance is the accuracy of the conic solver
        assert_allclose(np.abs(found.coef).sum(), least, rtol=1e-6)


@pytest.mark.recovery
def test_columns_of_very_unlike_norms_without_a_matrix(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(100, 300)) * 10 ** rng.uniform(-1, 1, 300)
    Y = A[:, rng.choice(300, 5, replace=False)] @ rng.normal(size=(5, 2))
    model = SparseRecovery(algorithm="basis_pursuit").fit(A, Y)
    with config_context(working_memory=0):
        free = SparseRecovery(algorithm="basis_pursuit").fit(aslinearoperator(A), Y)
    assert max(model.dual_gap_, free.dual_gap_) <= 1e-8
    # the tolerance is the gap
    assert_allclose(free.coef_, model.coef_, atol=1e-6 * np.abs(model.coef_).max())


@pytest.mark.certificate
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("positive", [False, True])
def test_the_smallest_residual_where_equations_cannot_be_met(positive, seed):
    rng = np.random.default_rng(seed)
    tall = rng.normal(size=(6, 4))
    dependent = rng.normal(size=(24, 20)) @ rng.normal(size=(20, 60))
    aligned = np.vstack([np.eye(3), np.eye(3)])
    for A in (tall, dependent, aligned, np.zeros((4, 7)), -np.abs(rng.normal(size=(5, 3)))):
        m = len(A)
        for y in (rng.normal(size=m), A @ np.abs(rng.normal(size=A.shape[1])), np.ones(m)):
            with config_context(working_memory=0):
                model = SparseRecovery(algorithm="basis_pursuit", positive=positive).fit(A, y)
            solve = nnls if positive else np.linalg.lstsq
            fitted = A @ solve(A, y)[0]
            size = np.linalg.norm(y)
            assert_allclose(A @ model.coef_, fitted, atol=1e-7 * size)
            assert_allclose(model.residual_norm_, np.linalg.norm(y - fitted), atol=1e-7 * size)
            assert 0 <= model.dual_gap_ <= 1e-8
            formed = SparseRecovery(algorithm="basis_pursuit", positive=positive).fit(A, y)
            assert_allclose(
                np.abs(model.coef_).sum(), np.abs(formed.coef_).sum(), rtol=1e-6, atol=1e-9
            )  # the tolerance is the gap


@pytest.mark.edge
@pytest.mark.parametrize("max_iter", [1, 100, 1000])
def test_warning_names_gap_and_residual(max_iter, seed, monkeypatch):
    """Many equations without a non-negative solution, and too few products."""
    monkeypatch.setattr(l1_recovery, "FORMED_ROWS", 0)
    monkeypatch.setattr(l1_recovery, "LAST_ENTRIES", 0)
    rng = np.random.default_rng(seed)
    A = np.abs(rng.normal(size=(30, 50)))
    model = SparseRecovery(algorithm="basis_pursuit", positive=True, max_iter=max_iter)
    with (
        config_context(working_memory=0),
        pytest.warns(
            ConvergenceWarning,
            match="gap .*, residual .*; increase max_iter, tol or residual_tol",
        ),
    ):
        model.fit(A, rng.normal(size=30) + 0.1)
    assert np.isfinite(model.dual_gap_)
    assert np.isfinite(model.coef_).all()
    assert model.n_iter_ <= max_iter + 1000  # the current step is completed


@pytest.mark.certificate
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_gap_of_the_iteration_without_a_matrix(share, seed):
    rng = np.random.RandomState(seed)
    A = transform_measurements("dct", 100, (256,), rng=rng)
    # no sparse code explains the measurements, so there are as many non-zeros as measurements
    Y = rng.normal(size=(1, 100))
    bound = share * np.linalg.norm(Y)
    found = recover(
        Y, A, method="basis_pursuit", residual_tol=bound, memory=0, max_iter=30_000, tol=1e-6
    )
    assert found.converged.all()
    assert found.gap[0] <= 1e-6
    dense = recover(Y, A, method="basis_pursuit", residual_tol=bound)
    # the tolerance is the gap
    assert_allclose(np.abs(found.codes).sum(), np.abs(dense.codes).sum(), rtol=1e-5)
    assert found.residual[0] <= bound + 2e-6 * np.linalg.norm(Y)


@pytest.mark.certificate
@pytest.mark.parametrize("method", LIMITED)
def test_residual_of_least_squares_on_the_support(method, seed):
    Phi, codes = planted(seed, s=10, n_signals=1)
    y = Phi @ codes[0] + 0.5 * np.random.default_rng(seed).normal(size=60)
    for context in ({}, {"working_memory": 1e-3}):
        with config_context(**context):
            model = SparseRecovery(algorithm=method, n_nonzero_coefs=10).fit(Phi, y)
        used = np.flatnonzero(model.coef_)
        assert len(used) <= 10
        r = y - Phi @ model.coef_
        assert_allclose(Phi[:, used].T @ r, 0, atol=1e-7)
        assert_allclose(model.residual_norm_, np.linalg.norm(r), rtol=1e-9)


@pytest.mark.recovery
@pytest.mark.parametrize("bound", [None, 0.05])
@pytest.mark.parametrize("method", METHODS)
def test_non_negative_codes(method, bound, seed):
    Phi, codes = planted(seed, m=70, s=7)
    codes = np.abs(codes)
    noise = np.random.default_rng(seed).normal(size=(70, 3))
    Y = Phi @ codes.T + (0 if bound is None else bound * noise / np.linalg.norm(noise, axis=0))

    settings = {
        "algorithm": method,
        "n_nonzero_coefs": 7,
        "residual_tol": bound,
        "positive": True,
    }
    model = SparseRecovery(**settings).fit(Phi, Y)
    with config_context(working_memory=1e-3):
        free = SparseRecovery(**settings).fit(aslinearoperator(Phi), Y)

    for found in (model, free):
        assert found.coef_.min() >= 0
        assert_allclose(found.coef_, codes, atol=1e-8 if bound is None else 0.1)
    # the tolerance is the accuracy of conjugate gradients
    assert_allclose(free.coef_, model.coef_, atol=1e-6)

    if method == "basis_pursuit":
        assert max(model.dual_gap_, free.dual_gap_) <= 1e-8
        for i in range(3):
            wanted = least_l1_stated(Phi, Y[:, i], bound or 0.0, positive=True)
            # the tolerance is the accuracy of the conic solver
            assert_allclose(model.coef_[i].sum(), wanted, rtol=1e-6)


@pytest.mark.certificate
@pytest.mark.parametrize("method", LIMITED)
def test_non_negative_least_squares_on_the_support(method, seed):
    """Noise that asks for negative codes: slopes vanish where codes are positive."""
    rng = np.random.default_rng(seed)
    # all entries have one sign, so that the signs of codes matter
    Phi = np.abs(rng.normal(size=(30, 50)))
    y = rng.normal(size=30) + 0.5
    for form in (Phi, aslinearoperator(Phi)):
        with config_context(working_memory=1e-3 if form is not Phi else 1024):
            model = SparseRecovery(algorithm=method, n_nonzero_coefs=8, positive=True).fit(
                form, y
            )
        used = np.flatnonzero(model.coef_)
        assert model.coef_.min() >= 0
        assert 0 < len(used) <= 8
        assert_allclose(Phi[:, used].T @ (y - Phi @ model.coef_), 0, atol=1e-7)


@pytest.mark.edge
@pytest.mark.parametrize("method", METHODS)
def test_opposite_and_repeated_columns_and_signs(method):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 30))
    A = np.hstack([-A[:, :2], A, A[:, :2]])
    y = 2 * A[:, 2] + A[:, 3]
    model = SparseRecovery(algorithm=method, n_nonzero_coefs=2, positive=True).fit(A, y)
    assert_array_equal(np.flatnonzero(model.coef_), [2, 3])
    assert_allclose(model.coef_[[2, 3]], [2, 1])
    none = SparseRecovery(algorithm=method, n_nonzero_coefs=2, positive=True).fit(
        np.abs(A), -np.abs(y)
    )  # no non-negative code is better than zero
    assert_array_equal(none.coef_, 0)
    assert_allclose(none.residual_norm_, np.linalg.norm(y))


@pytest.mark.certificate
def test_what_is_known_of_an_operator(seed):
    rng = np.random.RandomState(seed)
    A = transform_measurements("dct", 90, (256,), rng=rng)
    dense = to_matrix(A)
    facts = facts_of(A)
    assert facts.orthogonal
    assert_allclose(facts.norm, np.linalg.norm(dense, 2), rtol=1e-12)
    assert_allclose(facts.mean_sq, np.square(dense).sum() / 256, rtol=1e-12)
    B = rng.normal(size=(90, 256))
    facts = facts_of(from_matrix(B))
    assert not facts.orthogonal
    assert np.linalg.norm(B, 2) * 0.999 <= facts.norm <= 1.05 * np.linalg.norm(B, 2)
    assert_allclose(facts.mean_sq, 90, rtol=0.5)  # a random vector provides only an estimate


@pytest.mark.paper
def test_curve_of_the_theory(seed):
    """Donoho and Tanner (2009): the same curve by minimising directly."""
    delta = np.random.default_rng(seed).uniform(0.01, 0.99, 5)
    for positive in (False, True):
        wanted = [transition(share, positive) for share in delta]
        assert_allclose(l1_phase_transition(delta, positive=positive), wanted, rtol=1e-4)
    assert_allclose(l1_phase_transition([1.0]), 1)
    printed = [0.189, 0.243, 0.291, 0.337, 0.386, 0.438, 0.499, 0.573, 0.678]
    # the table prints three digits
    assert_allclose(l1_phase_transition(np.arange(1, 10) / 10), printed, atol=6e-4)
    printed = [0.241, 0.326, 0.404, 0.480, 0.558, 0.639, 0.723, 0.810, 0.903]
    found = l1_phase_transition(np.arange(1, 10) / 10, positive=True)
    assert_allclose(found, printed, atol=6e-4)  # the table prints three digits


@pytest.mark.paper
@pytest.mark.parametrize("positive", [False, True])
def test_basis_pursuit_turns_near_the_theory(positive):
    curve = l1_phase_transition([0.5], positive=positive)[0]
    found = phase_transition(
        SparseRecovery(algorithm="basis_pursuit", positive=positive), n_features=120, delta=[0.5],
        rho=curve * np.array([0.6, 0.8, 1.0, 1.2, 1.5]), n_trials=12, random_state=0,
        coefficients="positive" if positive else "gaussian",
    )  # fmt: skip
    assert found.success[0, 0] >= 0.9
    assert found.success[0, -1] <= 0.1
    assert abs(found.border[0] / curve - 1) < 0.2  # the transition is that wide at this size


@pytest.mark.paper
@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_basis_pursuit_follows_the_theory(share):
    """n = 1024: the transition is a few percent wide."""
    curve = l1_phase_transition([share])[0]
    found = phase_transition(
        SparseRecovery(algorithm="basis_pursuit"), n_features=1024, delta=[share],
        rho=curve * np.array([0.85, 0.93, 1.0, 1.07, 1.15]), n_trials=6, random_state=0,
    )  # fmt: skip
    assert found.success[0, 0] >= 5 / 6
    assert found.success[0, -1] <= 1 / 6
    assert abs(found.border[0] / curve - 1) < 0.1


@pytest.mark.paper
def test_ten_samples_of_two_frequencies():
    """Two tones in a window that holds whole periods: more samples, more often right."""
    n = 128
    draws = 60
    t = np.arange(n) * 10 / n
    signal = np.sin(2.3 * 2 * np.pi * t) - 0.5 * np.sin(5.4 * 2 * np.pi * t)
    rates = {}
    for m in (8, 16):
        hits = dict.fromkeys(("omp", "basis_pursuit"), 0)
        for draw in range(draws):
            seen = np.sort(np.random.default_rng(draw).choice(n, m, replace=False))
            for method in hits:
                model = SparseRecovery("fourier", method, n_nonzero_coefs=2)
                found = model.fit(np.eye(n)[seen], signal[seen]).coef_
                hits[method] += np.linalg.norm(found - signal) < 1e-3 * np.linalg.norm(signal)
        rates[m] = {method: count / draws for method, count in hits.items()}
    # of 200 draws, 63 and 46 % are recovered with 8 samples, and 99 and 98 % with 16; the errors
    # are those of 60 draws
    assert_allclose(rates[8]["omp"], 0.63, atol=0.2)
    assert_allclose(rates[8]["basis_pursuit"], 0.46, atol=0.2)
    assert min(rates[16].values()) > 0.9


@pytest.mark.invariance
@pytest.mark.parametrize("method", METHODS)
def test_units_signs_and_order(method, seed):
    Phi, codes = planted(seed, n_signals=1)
    y = Phi @ codes[0]
    model = SparseRecovery(algorithm=method, n_nonzero_coefs=8).fit(Phi, y)
    for a, b in ((1e-9, 1e6), (1e90, 1e-90), (1e-90, 1e-90)):
        scaled = SparseRecovery(algorithm=method, n_nonzero_coefs=8).fit(a * Phi, b * y)
        assert_allclose(scaled.coef_ * a / b, model.coef_, atol=1e-9)
    order = np.random.default_rng(seed).permutation(120)
    turned = SparseRecovery(algorithm=method, n_nonzero_coefs=8).fit(-Phi[:, order], y)
    assert_allclose(turned.coef_, -model.coef_[order], atol=1e-9)


@pytest.mark.invariance
@pytest.mark.parametrize("method", METHODS)
def test_forms_of_input(method, seed):
    Phi, codes = planted(seed, n_signals=2)
    Phi = np.where(np.abs(Phi) > 0.5, Phi, 0.0)
    Y = Phi @ codes.T
    plain = SparseRecovery(algorithm=method, n_nonzero_coefs=8).fit(Phi, Y)
    for form in (sparse.csr_array(Phi), aslinearoperator(Phi)):
        other = SparseRecovery(algorithm=method, n_nonzero_coefs=8).fit(form, Y)
        assert_allclose(other.coef_, plain.coef_, atol=1e-9)
        assert_allclose(other.predict(form), plain.predict(Phi), atol=1e-7)

    # pass a basis as an array, by name and as an operator
    Psi = dct_dictionary(120)
    named = SparseRecovery("dct", method, n_nonzero_coefs=8).fit(Phi, Phi @ (codes @ Psi).T)
    for basis in (Psi, aslinearoperator(Psi.T)):
        other = SparseRecovery(basis, method, n_nonzero_coefs=8).fit(
            Phi, Phi @ (codes @ Psi).T
        )
        assert_allclose(other.codes_, named.codes_, atol=1e-9)

    # recover an image
    image = SparseRecovery("haar", method, n_nonzero_coefs=8, shape=(8, 16))
    Q = np.kron(wavelet_dictionary(8), wavelet_dictionary(16))

    rng = np.random.default_rng(seed)
    A = rng.normal(size=(64, 128))
    code = np.zeros(128)
    code[rng.choice(128, 6, replace=False)] = 1
    assert_allclose(
        image.set_params(n_nonzero_coefs=6).fit(A, A @ (code @ Q)).coef_, code @ Q, atol=1e-8
    )

    single = SparseRecovery(algorithm=method, n_nonzero_coefs=8).fit(
        Phi.astype(np.float32), Y.astype(np.float32)
    )
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, plain.coef_, atol=1e-3)  # the result is in single precision


@pytest.mark.invariance
def test_transition_does_not_depend_on_n_jobs():
    settings = {"n_features": 40, "delta": [0.3, 0.6], "rho": [0.2, 0.5], "n_trials": 5}
    estimator = SparseRecovery(algorithm="omp")
    one = phase_transition(estimator, **settings, random_state=1)
    two = phase_transition(estimator, **settings, random_state=1, n_jobs=2)
    assert_array_equal(one.success, two.success)
    signs = phase_transition(estimator, **settings, random_state=1, coefficients="signs")
    # greedy methods recover coefficients of equal size less often
    assert signs.success.sum() <= one.success.sum()


@pytest.mark.recovery
def test_border_of_a_logistic_curve(seed):
    rng = np.random.default_rng(seed)
    rho = np.linspace(0, 1, 15)
    place = rng.uniform(0.3, 0.7)
    hits = rng.binomial(2000, 1 / (1 + np.exp(25 * (rho - place))))
    assert abs(half_success(rho, hits, np.full(15, 2000.0)) - place) < 0.01
    assert np.isnan(half_success(rho, np.full(15, 3.0), np.full(15, 3.0)))


class Passes:
    """Callback that counts tasks, and asks to stop at one."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.ended = 0

    def setup(self, estimator, context):
        self.ended = 0

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ended += 1
        return self.ended == self.stop_at


@pytest.mark.newest
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("memory", [0, 1024])
def test_callbacks_see_signals_and_can_stop(memory, n_jobs):
    Phi, codes = planted(0, n_signals=4)
    Y = Phi @ codes.T
    with config_context(working_memory=memory):
        for method in METHODS:
            model = SparseRecovery(algorithm=method, n_nonzero_coefs=8, n_jobs=n_jobs)
            plain = model.fit(Phi, Y).coef_
            counter = Passes()
            heard = clone(model).set_callbacks(counter).fit(Phi, Y)
            one_by_one = memory == 0 or method == "basis_pursuit"
            assert counter.ended == (5 if one_by_one else 2)  # the fit also counts as a task
            assert_array_equal(heard.coef_, plain)
        model = SparseRecovery(algorithm="basis_pursuit", n_jobs=n_jobs).set_callbacks(
            Passes(2)
        )
        with pytest.warns(ConvergenceWarning, match="relative duality gap 1.0e"):
            model.fit(Phi, Y)
    assert_allclose(model.coef_[:2], codes[:2], atol=1e-7)
    assert_array_equal(model.coef_[2:], 0)
    assert_allclose(model.residual_norm_[2:], np.linalg.norm(Y[:, 2:], axis=0))


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("memory", [0, 1024], ids=["operator", "matrix"])
@pytest.mark.parametrize("method", METHODS)
def test_any_backend_matches_the_serial_result_for_several_signals(method, memory, backend):
    Phi, codes = planted(0, n_signals=4)
    model = SparseRecovery(algorithm=method, n_nonzero_coefs=8)
    with config_context(working_memory=memory):
        serial = clone(model).fit(Phi, Phi @ codes.T)
        with joblib.parallel_config(backend):
            parallel = clone(model).set_params(n_jobs=2).fit(Phi, Phi @ codes.T)
    assert_array_equal(parallel.coef_, serial.coef_)
    assert parallel.n_iter_ == serial.n_iter_


def test_search_over_held_out_measurements():
    Phi, codes = planted(0, m=60, s=6, n_signals=1)
    y = Phi @ codes[0] + 0.5 * np.random.default_rng(1).normal(size=60)
    search = GridSearchCV(
        SparseRecovery(), {"n_nonzero_coefs": [1, 2, 4, 6, 10, 20]}, cv=KFold(5, shuffle=True,
        random_state=0),
    ).fit(Phi, y)  # fmt: skip
    assert search.best_params_["n_nonzero_coefs"] in (
        6,
        10,
    )  # one atom too few raises the error much, a few too many raise it little
    assert search.best_score_ > 0.9


def test_display():
    import matplotlib.pyplot as plt

    display = PhaseTransitionDisplay.from_estimator(
        SparseRecovery(algorithm="htp"), n_features=40, delta=[0.3, 0.5, 0.7], rho=[0.1, 0.3, 0.8],
        n_trials=4, random_state=0,
    )  # fmt: skip
    assert display.ax_.get_title() == "SparseRecovery, htp"
    assert_array_equal(display.mesh_.get_array().reshape(3, 3), display.success.T)
    x, y = display.theory_line_.get_data()
    assert_allclose(y, l1_phase_transition(x))
    assert display.border_line_ is not None

    back = PhaseTransitionDisplay(
        delta=display.delta[::-1], rho=display.rho[::-1], success=display.success[::-1, ::-1],
        border=display.border[::-1],
    ).plot()  # fmt: skip
    assert_array_equal(back.mesh_.get_array(), display.mesh_.get_array())
    assert_array_equal(back.border_line_.get_data(), display.border_line_.get_data())
    assert back.ax_.get_xlim() == display.ax_.get_xlim()

    signless = PhaseTransitionDisplay.from_estimator(
        SparseRecovery(algorithm="htp", positive=True), n_features=20, delta=[0.5], rho=[0.1, 0.9],
        n_trials=1, coefficients="positive", random_state=0,
    )  # fmt: skip
    x, y = signless.theory_line_.get_data()
    assert_allclose(y, l1_phase_transition(x, positive=True))

    plain = PhaseTransitionDisplay(delta=[0.5], rho=[0.2], success=[[1.0]]).plot(theory=False)
    assert plain.border_line_ is None
    assert plain.theory_line_ is None
    plt.close("all")


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:SparseRecovery stopped before it converged")
@pytest.mark.parametrize("method", METHODS)
def test_degenerate_input(method):
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(12, 30))
    Phi[:, 4] = 0.0
    Phi[:, 9] = Phi[:, 2]
    for context in ({}, {"working_memory": 1e-5}):
        with config_context(**context):
            zero = SparseRecovery(algorithm=method).fit(Phi, np.zeros(12))
            assert_array_equal(zero.coef_, 0)
            model = SparseRecovery(algorithm=method, n_nonzero_coefs=2).fit(Phi, 3 * Phi[:, 2])
            assert_allclose(Phi @ model.coef_, 3 * Phi[:, 2], atol=1e-8)
            assert model.coef_[4] == 0
            much = SparseRecovery(algorithm=method, n_nonzero_coefs=500).fit(Phi, Phi[:, 5])
            assert_allclose(Phi @ much.coef_, Phi[:, 5], atol=1e-6)
            none = SparseRecovery(algorithm=method, residual_tol=1e9).fit(Phi, Phi[:, 5])
            assert_array_equal(none.coef_, 0)
    one = SparseRecovery(algorithm=method).fit([[2.0]], [4.0])
    assert_allclose(one.coef_, [2.0])


@pytest.mark.edge
@pytest.mark.parametrize("missing", [None, np.nan], ids=["None", "NaN"])
def test_missing_measurements_of_an_operator_are_named(missing):
    """An operator is not a table, so that `y` is checked separately."""
    Phi, codes = planted(0)
    Y = (Phi @ codes.T).astype(object)
    Y[5, 2] = missing
    with pytest.raises(ValueError, match="row 5"):
        SparseRecovery().fit(aslinearoperator(Phi), Y)
    with pytest.raises(ValueError, match="position 5"):
        SparseRecovery().fit(aslinearoperator(Phi), Y[:, 2])
    with pytest.raises(
        ValueError, match=r"got y with an entry of magnitude .* between 1e-100"
    ):
        SparseRecovery().fit(aslinearoperator(Phi), 1e120 * (Phi @ codes.T))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("X", lambda operator, y: SparseRecovery().fit(operator, y)),
        (
            "basis",
            lambda operator, y: SparseRecovery(operator).fit(np.ones((3, 60)), np.ones(3)),
        ),
    ],
)
def test_operators_of_the_wrong_kind_are_rejected(name, fit):
    Phi, codes = planted(0)
    y = Phi @ codes[0]
    with pytest.raises(ValueError, match=f"{name} is a complex operator; stack"):
        fit(aslinearoperator(1j * Phi), y)
    one_way = LinearOperator((60, 120), matvec=lambda x: Phi @ x, dtype=float)
    with pytest.raises(ValueError, match=f"{name} cannot multiply by its transpose"):
        fit(one_way, y)
    with pytest.raises(ValueError, match=f"{name} returns NaN or infinity"):
        fit(aslinearoperator(np.where(Phi > 1, np.nan, Phi)), y)


@pytest.mark.edge
@pytest.mark.parametrize("memory", [0, 1024])
def test_equations_without_solution_are_rejected(memory):
    Phi, codes = planted(0)
    y = Phi @ codes[0]
    signs = np.where(np.arange(60) < 40, -1.0, 1.0)
    bounded = SparseRecovery(algorithm="basis_pursuit", positive=True, residual_tol=1e-3)
    free = SparseRecovery(algorithm="basis_pursuit", residual_tol=0.1)
    with config_context(working_memory=memory):
        with pytest.raises(
            ValueError, match=r"no non-negative coefficients .* residual_rtol: increase it"
        ):
            bounded.fit(np.abs(Phi), signs)
        with pytest.raises(
            ValueError, match=r"no coefficients reproduce .* residual_rtol: increase it"
        ):
            free.fit(Phi[:, :4], y)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"theory": "foo"}, r"theory=.* must be True, False or 'positive'"),
        ({"theory": 1.5}, r"theory=.* must be True, False or 'positive'"),
        ({"theory": None}, r"theory=.* must be True, False or 'positive'"),
        ({"delta": [0.5, 0.5]}, "delta must contain different numbers"),
        ({"rho": [0.0, 0.5]}, "rho must contain numbers above 0"),
        ({"rho": [0.2, 0.4, 0.6]}, r"success has the shape \(2, 2\), but .* \(2, 3\)"),
    ],
)
def test_displays_of_wrong_grids_are_rejected(changed, message):
    full = {"delta": [0.3, 0.6], "rho": [0.2, 0.5], "success": np.eye(2)} | changed
    with pytest.raises(ValueError, match=message):
        PhaseTransitionDisplay(**full).plot()


@pytest.mark.edge
def test_single_precision_and_impossible_equations():
    Phi, codes = planted(0)
    y = Phi @ codes[0]
    single = SparseRecovery().fit(
        aslinearoperator(Phi.astype(np.float32)), y.astype(np.float32)
    )
    assert single.coef_.dtype == np.float32
    tall = np.vstack([np.eye(3), np.eye(3)])
    apart = np.array([1.0, 2, 3, 3, 2, 1])
    least = SparseRecovery(algorithm="basis_pursuit").fit(tall, apart)
    assert_allclose(least.coef_, 2)  # the smallest residual where no equality is
    found = recover(apart[None], from_matrix(tall), method="basis_pursuit")
    assert_allclose(found.residual, 2)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            r"shape=\(7, 7\) has 49 values, but signals have 120",
            lambda Phi, y, model, long: SparseRecovery("dct", shape=(7, 7)).fit(Phi, y),
        ),
        (
            "basis has atoms of 60 values, but signals have 120",
            lambda Phi, y, model, long: SparseRecovery(dct_dictionary(60)).fit(Phi, y),
        ),
        (
            "basis must be a finite array",
            lambda Phi, y, model, long: SparseRecovery(np.full((2, 120), np.nan)).fit(Phi, y),
        ),
        (
            "X gives 60 measurements, but y has 59",
            lambda Phi, y, model, long: SparseRecovery().fit(aslinearoperator(Phi), y[:-1]),
        ),
        (
            "basis has complex values; stack",
            lambda Phi, y, model, long: SparseRecovery(1j * dct_dictionary(120)).fit(Phi, y),
        ),
        (
            "Input y contains NaN",
            lambda Phi, y, model, long: SparseRecovery().fit(
                aslinearoperator(Phi), np.where(y > 1, np.nan, y)
            ),
        ),
        (
            "Expected 2D array, got 1D array instead",
            lambda Phi, y, model, long: SparseRecovery().fit(Phi[0], y),
        ),
        (
            "'n_nonzero_coefs' parameter of SparseRecovery must be an int",
            lambda Phi, y, model, long: SparseRecovery(n_nonzero_coefs=0).fit(Phi, y),
        ),
        (
            "X has 119 features, but SparseRecovery is expecting",
            lambda Phi, y, model, long: model.predict(aslinearoperator(Phi[:, :-1])),
        ),
        (
            "basis='haar' forms a matrix for each axis",
            lambda Phi, y, model, long: SparseRecovery("haar").fit(long, np.ones(3)),
        ),
        (
            "delta must contain numbers above 0",
            lambda Phi, y, model, long: phase_transition(SparseRecovery(), delta=[0.0]),
        ),
        (
            "coefficients='cauchy' must be one of",
            lambda Phi, y, model, long: phase_transition(
                SparseRecovery(), coefficients="cauchy"
            ),
        ),
        (
            "theory='foo' must be",
            lambda Phi, y, model, long: PhaseTransitionDisplay.from_estimator(
                SparseRecovery(), n_trials=10**9, theory="foo"
            ),
        ),
        (
            "n_trials=0",
            lambda Phi, y, model, long: phase_transition(SparseRecovery(), n_trials=0),
        ),
        ("delta must contain", lambda Phi, y, model, long: l1_phase_transition([1.5])),
    ],
)
def test_errors_name_the_remedy(message, call):
    Phi, codes = planted(0)
    y = Phi @ codes[0]
    model = SparseRecovery().fit(aslinearoperator(Phi), y)
    long = LinearOperator((3, 5000), matvec=lambda x: x[:3], rmatvec=lambda y: np.zeros(5000))
    with pytest.raises(ValueError, match=message):
        call(Phi, y, model, long)


def k_space(seed, n=48, m=10):
    """Distinct frequencies of a real signal with few spikes."""
    rng = np.random.default_rng(seed)
    signal = np.zeros(n)
    signal[rng.choice(n, 3, replace=False)] = 1, -2, 3
    frequencies = 1 + rng.permutation(n // 2 - 1)[:m]
    return np.exp(-2j * np.pi * np.outer(frequencies, np.arange(n)) / n), signal


@pytest.mark.oracle
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])
def test_real_measurements_are_equivalent(form, seed):
    Phi, signal = k_space(seed)
    y = Phi @ np.column_stack([signal, np.roll(signal, 5)])
    real, stacked = real_measurements(form(Phi), y)
    assert real.shape == (20, 48)
    assert stacked.shape == (20, 2)
    x = np.random.default_rng(seed).normal(size=48)
    r = np.arange(20.0)
    assert_allclose(
        np.linalg.norm(real @ x - stacked[:, 0]), np.linalg.norm(Phi @ x - y[:, 0])
    )
    assert_allclose(r @ (real @ x), (real.T @ r) @ x)  # compare with the transpose
    model = SparseRecovery(algorithm="basis_pursuit").fit(real, stacked)
    assert_allclose(model.coef_[0], signal, atol=1e-7)
    assert_allclose(model.coef_[1], np.roll(signal, 5), atol=1e-7)


@pytest.mark.edge
def test_complex_measurements_name_the_remedy():
    Phi, signal = k_space(0)
    y = Phi @ signal
    for form in (np.asarray, sparse.csr_array, aslinearoperator):
        with pytest.raises(
            ValueError, match=r"^Complex data not supported.*real_measurements"
        ):
            SparseRecovery().fit(form(Phi), y)
    with pytest.raises(ValueError, match=r"^Complex data not supported"):
        SparseRecovery().fit(Phi.real, y)
    with pytest.raises(ValueError, match="Phi gives 10 measurements, but y has 9"):
        real_measurements(Phi, y[1:])


@pytest.mark.invariance
@pytest.mark.parametrize("form", [np.asarray, aslinearoperator])
@pytest.mark.parametrize("algorithm", ["basis_pursuit", "omp", "subspace_pursuit"])
def test_relative_bound_is_the_bound_of_each_signal(algorithm, form, seed):
    Phi, codes = planted(seed)
    noise = np.random.default_rng(seed).normal(size=(60, len(codes)))
    Y = Phi @ codes.T + 0.02 * np.linalg.norm(Phi @ codes.T, axis=0) * noise / 7
    Y = Y * 10.0 ** np.arange(Y.shape[1])
    model = SparseRecovery(algorithm=algorithm, residual_rtol=0.05).fit(form(Phi), Y)
    for y, coef, residual in zip(Y.T, model.coef_, model.residual_norm_, strict=True):
        bound = 0.05 * np.linalg.norm(y)
        assert residual <= bound * (1 + 1e-7)
        alone = SparseRecovery(algorithm=algorithm, residual_tol=bound).fit(form(Phi), y)
        assert_allclose(coef, alone.coef_, atol=1e-6 * np.abs(coef).max())
