"""Messages suggest the probable names of parameters and options, and encoders of text."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skmoderndata._estimator.advice import (
    CLASSES,
    OPTIONS,
    PARAMETERS,
    meant_option,
    meant_parameter,
)
from skmoderndata._estimator.registry import all_estimators
from skmoderndata.cluster import KernelKMeans, MultiAssignmentClustering
from skmoderndata.decomposition import RobustPCA, SparseNMF
from skmoderndata.svm import CoreVectorMachine

TEXT = [["anna", "read"], ["anna", "write"], ["bo", "read"]]


@pytest.mark.parametrize(
    ("estimator", "given", "meant"),
    [
        (RobustPCA, "lam", "alpha"),
        (RobustPCA, "rank", "n_components"),
        (SparseNMF, "alpha_W", "sparseness_codes"),
        (SparseNMF, "n_component", "n_components"),
        (CoreVectorMachine, "sigma", "gamma"),
        (KernelKMeans, "k", "n_clusters"),
    ],
)
def test_suggests_the_name_of_a_foreign_parameter(estimator, given, meant):
    with pytest.raises(TypeError, match=rf"no parameter '{given}': did you mean '{meant}'"):
        estimator(**{given: 1})


def test_names_the_class_for_a_parameter_that_no_class_has():
    with pytest.raises(
        TypeError, match="no parameter 'beta_loss': ProbabilisticLSA minimises"
    ):
        SparseNMF(beta_loss="kullback-leibler")
    classes = {estimator.__name__ for estimator in all_estimators()}
    parameters = {name for cls in all_estimators() for name in cls._get_param_names()}
    for name, hint in CLASSES.items():
        assert name not in parameters
        assert hint.split()[0] in classes


def test_unknown_parameter_lists_all():
    with pytest.raises(
        TypeError, match=r"no parameter 'xyzzy': there are .'algorithm', 'alpha'"
    ):
        RobustPCA(xyzzy=1)


@pytest.mark.parametrize(
    "cls",
    [cls for cls in all_estimators() if cls._get_param_names()],
    ids=lambda cls: cls.__name__,
)
def test_each_constructor_names_unknown_parameters(cls):
    with pytest.raises(TypeError, match=f"{cls.__name__} has no parameter 'xyzzy'"):
        cls(xyzzy=1)


def test_construction_clone_and_pickle_of_every_class_work():
    for estimator in all_estimators():
        required = getattr(estimator, "_required_parameters", ())
        if required:
            continue
        model = estimator()
        again = pickle.loads(pickle.dumps(clone(model)))
        assert again.get_params().keys() == estimator(**model.get_params()).get_params().keys()


def test_every_translation_leads_to_a_parameter_of_some_class():
    available = {
        name for estimator in all_estimators() for name in estimator._get_param_names()
    }
    for name, candidates in PARAMETERS.items():
        assert meant_parameter(name, sorted(available)) in available
        assert set(candidates) & available


@pytest.mark.parametrize("value", ["gaussian", "Gauss", "RBF", "squared_exponential", "rbff"])
def test_suggests_the_name_of_a_foreign_option(value):
    with pytest.raises(ValueError, match=rf"Got '{value}' instead. Did you mean 'rbf'?"):
        KernelKMeans(kernel=value).fit(np.eye(3))


def test_unknown_option_has_no_suggestion():
    with pytest.raises(ValueError, match=r"Got 'wavelet' instead.$"):
        KernelKMeans(kernel="wavelet").fit(np.eye(3))
    with pytest.raises(ValueError, match=r"Got -1 instead.$"):
        KernelKMeans(n_clusters=-1).fit(np.eye(3))


def test_valid_options_are_not_suggested_for_themselves():
    message = "The 'kernel' parameter must be a str among {'rbf', 'chi2'}. Got 'rbff' instead."
    assert meant_option("rbff", message) == "rbf"
    assert all(
        meant_option(name, f"among {{{meant!r}}}. Got x") for name, meant in OPTIONS.items()
    )


def test_columns_of_text_are_named():
    pandas = pytest.importorskip("pandas")
    numbers = np.arange(12.0).reshape(4, 3)
    frame = pandas.DataFrame(numbers, columns=["age", "city", "12"]).astype({"city": object})
    frame["city"] = ["Rome", "Oslo", "7", "Rome"]

    with pytest.raises(
        ValueError, match=r"float: 'Rome'. Text is in 'city' of the columns of X"
    ):
        SparseNMF().fit(frame)
    with pytest.raises(ValueError, match=r"Text is in 1 of the columns of X: drop or encode"):
        RobustPCA().fit(frame.to_numpy())
    with pytest.raises(ValueError, match=r"Text is in 0, 1, 2, 3, 4 and 3 more"):
        SparseNMF().fit(np.full((3, 8), "x", dtype=object))


@pytest.mark.parametrize("estimator", [MultiAssignmentClustering(2), SparseNMF(2)])
def test_list_of_pairs_raises_with_conversion_to_a_table(estimator):
    with pytest.raises(ValueError, match=r"list of pairs becomes a table by pandas.crosstab"):
        estimator.fit(np.array(TEXT, dtype=object))
    with pytest.raises(ValueError, match=r"pandas.crosstab"):
        estimator.fit(np.array([[*row, 1.0] for row in TEXT], dtype=object))
    with pytest.raises(ValueError, match=r"\(OneHotEncoder\)\.$"):
        estimator.fit(np.array([[*row, 1.0, 2.0] for row in TEXT], dtype=object))


def test_warnings_reach_lines_without_a_module():
    """Code that `exec` runs in an empty namespace has no name of a module."""
    lines = "from skmoderndata._estimator.compat import warn_user\nwarn_user('look here')"
    with pytest.warns(UserWarning, match="look here"):
        exec(lines, {})
