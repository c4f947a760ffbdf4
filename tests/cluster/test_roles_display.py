"""Evidence that the cells drawn say what the roles explain, and where names and people stand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer

from skmoderndata.cluster import (
    BooleanKMeans,
    DiscreteBasis,
    FormalConceptFactorization,
    MultiAssignmentClustering,
    RoleMiner,
    RolesDisplay,
    RoundedSVD,
)
from skmoderndata.datasets import make_boolean_sources

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def access(seed=0, n=60, p=20):
    return make_boolean_sources(
        n, p, 3, max_assignments=2, overlap=0.0, noise=0.1, random_state=seed
    )[0]


def texts(labels):
    return [label.get_text() for label in labels]


@pytest.mark.oracle
def test_cells_by_hand():
    roles = [[0, 1, 1, 0], [1, 0, 0, 0]]
    has_role = [[False, True], [True, False], [False, False], [True, True]]
    table = [[1, 0, 0, 0], [0, 1, 0, 1], [np.nan, 0, 0, 0], [1, 1, 1, 0]]
    display = RolesDisplay(
        components=roles,
        assignments=has_role,
        table=table,
        row_names=["Ann", "Bob", "Cem", "Dana"],
        column_names=["pay", "mail", "wiki", "door"],
    ).plot()
    assert texts(display.axes_[1].get_yticklabels()) == ["Dana", "Bob", "Ann", "Cem"]
    assert texts(display.axes_[1].get_xticklabels()) == ["mail", "wiki", "pay", "door"]
    assert texts(display.axes_[0].get_yticklabels()) == [
        "role 0: 2 people",
        "role 1: 2 people",
    ]
    assert_array_equal(display.images_[0].get_array(), [[1, 1, 0, 0], [0, 0, 1, 0]])
    expected = [[1, 1, 1, 0], [1, 3, 0, 2], [0, 0, 1, 0], [0, 0, 4, 0]]
    assert_array_equal(display.images_[1].get_array(), expected)
    assert texts(display.axes_[1].get_legend().get_texts()) == [
        "granted by a role: 31.2%",
        "granted without a role: 6.2%",
        "granted by a role only: 6.2%",
        "unknown: 6.2%",
    ]


@pytest.mark.oracle
@pytest.mark.parametrize(
    "estimator",
    [
        MultiAssignmentClustering(3, n_init=1, random_state=0),
        RoleMiner(3),
        DiscreteBasis(3),
        BooleanKMeans(3, random_state=0),
        FormalConceptFactorization(3),
        RoundedSVD(3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_cells_are_the_table_and_its_reconstruction(estimator):
    X = access()
    model = estimator.fit(X)
    display = RolesDisplay.from_estimator(model, X)
    cells = np.asarray(display.images_[1].get_array())
    order = np.ix_(display.row_order_, display.column_order_)
    assert_array_equal(np.isin(cells, [1, 2]), X[order])
    granted = model.inverse_transform(model.transform(X))
    assert_array_equal(np.isin(cells, [1, 3]), granted[order])


@pytest.mark.invariance
def test_people_with_equal_roles_are_adjacent():
    X = access()
    model = RoleMiner(3).fit(X)
    display = RolesDisplay.from_estimator(model, X)
    sorted_sets = model.transform(X)[display.row_order_].astype(int) @ [4, 2, 1]
    assert (np.diff(sorted_sets) <= 0).all()
    assert sorted(display.row_order_) == list(range(60))


@pytest.mark.invariance
def test_sparse_tables_names_and_pipelines_make_the_same_picture():
    X = access()
    model = MultiAssignmentClustering(3, n_init=1, random_state=0).fit(X)
    cells = RolesDisplay.from_estimator(model, X).images_[1].get_array()
    frame = pd.DataFrame(X).rename(index="person {}".format, columns="right {}".format)
    for table in (X.astype(float), sparse.csr_array(X.astype(int)), frame):
        display = RolesDisplay.from_estimator(model.fit(table), table)
        assert_array_equal(display.images_[1].get_array(), cells)
    assert texts(display.axes_[1].get_yticklabels())[0] == f"person {display.row_order_[0]}"
    assert texts(display.axes_[1].get_xticklabels())[0] == f"right {display.column_order_[0]}"

    piped = make_pipeline(Binarizer(), RoleMiner(3)).fit(X)
    assert_array_equal(RolesDisplay.from_estimator(piped, X).components, piped[-1].components_)


@pytest.mark.edge
def test_large_tables_are_thinned():
    rng = np.random.default_rng(0)
    roles = rng.random((3, 90)) < 0.2
    has_role = rng.random((500, 3)) < 0.5
    display = RolesDisplay(components=roles, assignments=has_role).plot(
        max_rows=50, max_columns=30, cmap="gray"
    )
    assert display.images_[1].get_array().shape == (50, 30)
    assert roles[:, display.column_order_].any(axis=0).all()
    assert len(np.unique(display.row_order_)) == 50
    assert display.axes_[1].get_ylabel() == "50 of 500 people"
    assert display.axes_[1].get_xlabel() == "30 of 90 rights"
    assert display.images_[1].get_cmap().name == "gray"


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_rows": 0}, "max_rows=0 should be an integer"),
        ({"max_columns": None}, "max_columns=None should be an integer"),
        ({"row_names": ["Ann"]}, "row_names has 1 names, but must have 60"),
        ({"column_names": ["pay"]}, "column_names has 1 names, but must have 20"),
    ],
)
def test_raises_on_invalid_settings(settings, message):
    X = access()
    with pytest.raises(ValueError, match=message):
        RolesDisplay.from_estimator(RoleMiner(3).fit(X), X, **settings)


@pytest.mark.edge
def test_raises_on_invalid_input():
    X = access()
    with pytest.raises(NotFittedError):
        RolesDisplay.from_estimator(RoleMiner(), X)
    with pytest.raises(ValueError, match=r"see RoleMiner\), but NMF has none: pass"):
        RolesDisplay.from_estimator(NMF(2, tol=0.1, init="nndsvd").fit(X), X)
    with pytest.raises(ValueError, match=r"pass shapes \(n_roles, n_features\) and"):
        RolesDisplay(components=[[1, 0]], assignments=[[1, 0]]).plot()
    with pytest.raises(
        ValueError, match=r"table has the shape \(2, 1\), but .* require \(1, 2\)"
    ):
        RolesDisplay(components=[[1, 0]], assignments=[[1]], table=[[1], [1]]).plot()
    _, axes = plt.subplots(3)
    with pytest.raises(ValueError, match="two axes, got 3"):
        RolesDisplay(components=[[1, 0]], assignments=[[1]]).plot(axes)
