"""Every estimator ends soon on degenerate tables."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from skmoderndata.svm import L2SVC
from tests.common.clock import processor_time
from tests.common.instances import INSTANCES, form, target

N = 150
P = 6
SECONDS = 5.0
FIRST = list({type(one): one for one in reversed(INSTANCES)}.values())


def degenerate():
    """Twelve tables of 150 rows, all non-negative."""
    rng = np.random.default_rng(0)
    few = rng.uniform(size=(3, P))
    column = rng.uniform(size=(N, 1))
    X = rng.uniform(size=(N, P))
    return {
        "one_row_repeated": np.tile(few[:1], (N, 1)),
        "two_distinct_rows": few[rng.integers(0, 2, N)],
        "three_distinct_rows": few[rng.integers(0, 3, N)],
        "zeros": np.zeros((N, P)),
        "one_cell": np.where(np.arange(N * P).reshape(N, P) == 7, 1.0, 0.0),
        "equal_columns": np.tile(column, (1, P)),
        "rank_one": column @ few[:1],
        "rank_two_with_rounding": X[:, :2] @ few[:2] * (1 + 1e-15 * rng.normal(size=(N, P))),
        "constant_but_one_row": np.where(np.arange(N)[:, None] == 0, 2.0, 1.0) * np.ones(P),
        "binary": rng.integers(0, 2, (N, P)).astype(float),
        "scales_far_apart": X * 10.0 ** np.arange(-6, 6, 2),
        "nearly_equal_rows": 1.0 + 1e-9 * X,
    }


TABLES = degenerate()
# Cases of the default tier, the three hardest ones.
QUICK = ("three_distinct_rows", "scales_far_apart", "nearly_equal_rows")


def labels_or_values(estimator, X):
    """Random labels and values: no method can fit them."""
    y = target(estimator, X)
    rng = np.random.default_rng(1)
    if y is None:
        return None
    return np.arange(N) % 2 if is_classifier(estimator) else rng.normal(size=N)


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one in QUICK else pytest.mark.full) for one in TABLES],
)
@pytest.mark.parametrize("estimator", FIRST, ids=repr)
def test_degenerate_tables_end_within_five_seconds(estimator, name):
    """Of processor time; errors are an end, too. A second fit, as the first may compile."""
    X = form(estimator, TABLES[name])
    y = labels_or_values(estimator, TABLES[name])

    def fit():
        with np.errstate(all="ignore"):
            try:
                clone(estimator).fit(X, y)
            except (ValueError, TypeError):
                pass

    if processor_time(fit) >= SECONDS:
        assert processor_time(fit) < SECONDS


@pytest.mark.edge
@pytest.mark.parametrize("kernel", [{"kernel": "poly", "degree": 7, "gamma": 4178.0}])
def test_kernels_of_huge_values_end_with_a_warning(kernel):
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        L2SVC(kernel="poly", max_iter=10).fit(X, y)  # compile the loops
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        assert processor_time(lambda: L2SVC(**kernel).fit(X, y)) < 2.0
