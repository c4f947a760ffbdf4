"""numba, highspy and cvxpy may be missing: loops run interpreted, other routes take over."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmoderndata import _solvers
from skmoderndata._solvers.common import jit as jit_module
from skmoderndata._solvers.margins.linear_programs import highs_module
from skmoderndata._solvers.recovery import basis_pursuit
from skmoderndata.cluster import KMedoids
from skmoderndata.decomposition import KSVD, SparseNMF
from skmoderndata.linear_model import BasisPursuit, GroupLasso
from skmoderndata.ranking import NuSVOR, _nu_svor
from skmoderndata.svm import L2SVC, SupportFeatureMachine
from tests.common.instances import CLASSES, SETTINGS, form, outputs, sample, target


@pytest.fixture
def without(monkeypatch):
    """Block packages, and forget the functions that are compiled already."""

    def block(*names):
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setattr(jit_module, "_warned", set())
        for module in [m for m in list(sys.modules) if m.startswith(_solvers.__name__)]:
            for value in vars(sys.modules[module]).values():
                if isinstance(value, jit_module.jit):
                    for name in {"compiled", "inner"} & set(vars(value)):
                        monkeypatch.delitem(vars(value), name)

    return block


def table():
    X = sample(24, 5)
    return X, target(L2SVC(), X)


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore:numba is not installed")
@pytest.mark.parametrize(
    "estimator",
    [
        KSVD(3, max_iter=2, tol=0.0, random_state=0),
        SparseNMF(2, max_iter=5, tol=0.0),
        KMedoids(3, random_state=0),
        GroupLasso(0.1, groups=[0, 0, 1, 1, 2]),
        L2SVC(),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_interpreted_loops_equal_compiled_ones(estimator, without):
    X, y = table()
    expected = outputs(estimator.fit(X, y), X)
    without("numba")
    found = outputs(estimator.fit(X, y), X)
    assert expected.keys() == found.keys()
    for name, values in expected.items():
        assert_allclose(found[name], values, rtol=1e-7, atol=1e-9)


def test_missing_numba_is_reported_once(without):
    X, y = table()
    without("numba")
    model = L2SVC()
    with pytest.warns(RuntimeWarning, match=r"numba is not installed.*pip install"):
        model.fit(X, y)
    # a second warning would be an error
    KMedoids(2, random_state=0).fit(model.predict(X)[:, None])


def test_numba_that_fails_is_told_from_missing_numba(without, monkeypatch):
    class Refuses:
        def find_spec(self, name, path=None, target=None):
            if name == "numba":
                raise ImportError("Numba needs NumPy 2.4 or less")

    without()
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Refuses(), *sys.meta_path])
    reason = jit_module.why_interpreted()
    assert reason == "numba cannot be imported (ImportError: Numba needs NumPy 2.4 or less)"


@pytest.mark.invariance
@pytest.mark.parametrize("C", [1.0, None])
def test_support_feature_machine_equals_the_one_with_highspy(C, without):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 80))
    y = np.where(X[:, :3].sum(axis=1) > 0, "up", "down")
    expected = SupportFeatureMachine(C=C).fit(X, y)
    without("highspy")
    assert highs_module().__name__.startswith("scipy")
    found = SupportFeatureMachine(C=C).fit(X, y)
    assert np.flatnonzero(expected.coef_).size > 0
    assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.edge
def test_missing_cvxpy_is_named_with_the_remedy(without):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(10, 20))
    without("cvxpy")
    with pytest.raises(ImportError, match=r"requires cvxpy.*pip install cvxpy"):
        BasisPursuit(solver="cvxpy").fit(A, A @ rng.normal(size=20))


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_cvxpy_as_the_last_resort_may_be_missing(without, monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 40))
    y = A[:, :3].sum(axis=1) + 0.1 * rng.normal(size=20)
    expected = BasisPursuit(residual_rtol=0.1).fit(A, y).coef_
    without("cvxpy")
    monkeypatch.setattr(basis_pursuit.Pursuit, "accepts", lambda self, result, tol: False)
    assert_allclose(BasisPursuit(residual_rtol=0.1).fit(A, y).coef_, expected, atol=1e-6)

    # the classes overlap enough for the steps to reach their limit
    X = rng.normal(size=(60, 3))
    ranks = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [-0.5, 0.5])
    monkeypatch.setattr(_nu_svor, "CVXPY_LIMIT", 10)
    monkeypatch.setattr(_nu_svor, "STEPS_PER_SAMPLE", 0)
    monkeypatch.setattr(_nu_svor, "STEPS_PER_SAMPLE_FEW", 0)
    assert np.isfinite(NuSVOR(order="free").fit(X, ranks).predict(X)).all()


def first_of(cls):
    return next((one for one in SETTINGS if type(one) is cls), None)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_estimators_fit_without_highspy_and_cvxpy(cls, without):
    estimator = first_of(cls)
    if estimator is None:
        pytest.skip("works on samples other than rows")
    X = form(estimator, sample())
    without("highspy", "cvxpy")
    assert (
        outputs(estimator.fit(X, target(estimator, X)), X).keys()
        == outputs(estimator, X).keys()
    )


@pytest.mark.full
def test_compiling_ahead_says_that_numba_is_missing():
    code = "import sys; sys.modules['numba'] = None; from skmoderndata.compile import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "numba is not installed" in done.stderr
