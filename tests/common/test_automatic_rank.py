"""An approximation of low rank that a default has chosen says if it omits most of the kernel."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_swiss_roll

from skmoderndata import all_estimators
from skmoderndata.exceptions import DoubtfulResultWarning

# Number of samples above which no class uses its exact solver.
N_SAMPLES = 3010


def route(cls):
    """Name of the parameter that chooses the route."""
    return "algorithm" if "algorithm" in cls._parameter_constraints else "solver"


def is_automatic(cls):
    """Whether the class has kernels, and chooses between the matrix and a low rank."""
    constraints = cls._parameter_constraints
    allowed = "".join(str(one) for one in constraints.get(route(cls), ()))
    return "kernel" in constraints and "max_rank" in constraints and "'auto'" in allowed


CLASSES = [cls for cls in all_estimators() if is_automatic(cls)]


def fit(cls, X, **settings):
    """Fit to two classes of equal size, or to two views."""
    if cls.__name__ == "PrincipalComponentsRegression":
        settings.setdefault("kernel", "rbf")
    if "n_components" in cls._parameter_constraints:
        settings["n_components"] = 1
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    if "n_neighbors" in cls._parameter_constraints:
        settings["n_neighbors"] = 5
    second = X[:, ::-1] ** 2 if cls.__name__ == "KernelCCA" else y
    # the matrix of N_SAMPLES rows is too large for solvers that are chosen by memory
    with sklearn.config_context(working_memory=16):
        return cls(**settings).fit(X, second)


def test_classes_are_found():
    assert len(CLASSES) >= 7


@pytest.mark.edge
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_warns_if_the_rank_omits_most_of_the_variance(cls):
    X = np.random.default_rng(0).normal(size=(N_SAMPLES, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", DoubtfulResultWarning)
        with pytest.raises(
            DoubtfulResultWarning, match=r"max_rank=20 omits .* Increase max_rank"
        ):
            fit(cls, X, max_rank=20)


@pytest.mark.edge
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_does_not_warn_for_a_small_rest_or_a_requested_rank(cls):
    X = make_swiss_roll(N_SAMPLES, random_state=0)[0]
    approximate = {"solver": "low_rank", "algorithm": "nystroem"}[route(cls)]
    noise = np.random.default_rng(0).normal(size=(N_SAMPLES, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", DoubtfulResultWarning)
        fit(cls, X, max_rank=20)
        fit(cls, noise, max_rank=20, **{route(cls): approximate})
