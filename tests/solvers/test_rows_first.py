"""Evidence that machines solve the sub-problem of stored kernel rows before they drop any."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification, make_friedman1

from skmoderndata._kernelized import machines
from skmoderndata.ranking import NuSVOR
from skmoderndata.svm import (
    L2SVC,
    L2SVR,
    SVDD,
    KernelAdatronClassifier,
    KernelAdatronRegressor,
)

N = 2100  # Number of samples; their rows are in single precision.
MACHINES = [
    SVDD(nu=0.3),
    L2SVC(),
    L2SVR(C=10.0),
    NuSVOR(0.5),
    KernelAdatronClassifier(tol=0.01, random_state=0),
    KernelAdatronRegressor(C=10.0, tol=0.01, random_state=0),
]


def problem(machine):
    X, t = make_friedman1(N, 5, noise=1.0, random_state=0)
    if isinstance(machine, L2SVR | KernelAdatronRegressor):
        return X, t
    if isinstance(machine, NuSVOR):
        return X, np.digitize(t, np.quantile(t, [0.3, 0.6, 0.8]))
    return make_classification(
        N, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=0
    )


@pytest.fixture
def stores(monkeypatch):
    """Stores of kernel rows in the order in which fits make them."""
    made = []

    class Watched(machines.RowStore):
        def __init__(self, *args, **settings):
            super().__init__(*args, **settings)
            made.append(self)

    monkeypatch.setattr(machines, "RowStore", Watched)
    return made


@pytest.mark.certificate
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_a_small_cache_costs_few_rows_twice(machine, stores):
    """More support vectors than rows fit; rows brought when a step needs them cost 300 n^2."""
    X, y = problem(machine)
    for _ in range(2):
        machine.set_params(cache_size=2).fit(X, y)
    small, again = stores
    assert len(small.values) < N / 8
    assert len(machine.support_) > 1.5 * len(small.values)
    assert small.n_evaluations < 8 * N * N
    assert machine.dual_gap_ <= machine.tol
    assert_array_equal(small.slot, again.slot)  # ties are broken in the same way
    coef = np.zeros(N)
    coef[machine.support_] = np.ravel(machine.dual_coef_)
    machine.set_params(cache_size=500).fit(X, y)
    full = np.zeros(N)
    full[machine.support_] = np.ravel(machine.dual_coef_)
    K = machine._gram(X)
    values = K @ coef, K @ full
    # the tolerance is the root of the tolerances
    assert_allclose(*values, atol=0.1 * np.ptp(values[1]))


@pytest.mark.edge
def test_a_row_that_was_just_brought_stays(stores):
    """The least recently used leave, and of rows brought at one time none leaves before others."""
    X, y = problem(MACHINES[0])
    MACHINES[0].set_params(cache_size=0.001).fit(X, y)
    store = stores[0]
    assert len(store.values) == 128
    rng = np.random.default_rng(0)
    missing = np.flatnonzero(store.slot < 0)
    first, second = np.split(rng.permutation(missing)[:128], 2)
    for wanted in (first, second):
        store.bring(wanted)
    assert (store.slot[first] >= 0).all()
    assert (store.slot[second] >= 0).all()
    rows = store.compute(second[:5])
    # rows are in single precision
    assert_allclose(store.values[store.slot[second[:5]]], rows, rtol=1e-5)
