"""Evidence that the display draws the atoms of the estimator, in the stated order."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import NMF, PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.decomposition import KSVD, AtomsDisplay, SparseNMF
from skmoderndata.decomposition._atoms_display import largest_features

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def signed_atoms(k=7, p=12, seed=0):
    return np.random.default_rng(seed).normal(size=(k, p))


@pytest.mark.oracle
def test_sheet_holds_the_most_used_atoms_row_by_row():
    atoms = signed_atoms(7, 12)
    usage = np.array([3, 9, 1, 9, 0, 5, 7])
    display = AtomsDisplay(atoms=atoms, image_shape=(3, 4), usage=usage).plot(max_atoms=6)
    assert_array_equal(display.order_, [1, 3, 6, 5, 0, 2])
    assert display.ax_.get_title() == "6 of 7 atoms, most used first"

    # three images of 3 x 4 pixels are side by side, with lines of one pixel around them
    sheet = np.asarray(display.image_.get_array().filled(np.nan))
    scaled = atoms / np.abs(atoms).max(axis=1, keepdims=True)
    assert sheet.shape == (2 * 4 + 1, 3 * 5 + 1)
    assert_allclose(sheet[1:4, 1:5], scaled[1].reshape(3, 4))
    assert_allclose(sheet[5:8, 11:15], scaled[2].reshape(3, 4))
    assert np.isnan(sheet[::4]).all()
    assert np.isnan(sheet[:, ::5]).all()


@pytest.mark.oracle
def test_signals_are_stacked_with_largest_magnitude_one():
    atoms = signed_atoms(3, 12)
    display = AtomsDisplay(atoms=atoms).plot()
    assert display.image_ is None
    for line, atom, level in zip(display.lines_, atoms, display.ax_.get_yticks(), strict=True):
        assert_allclose(line.get_ydata() - level, atom / np.abs(atom).max())
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["0", "1", "2"]


@pytest.mark.recovery
def test_features_of_a_table_are_the_largest_of_each_atom():
    # each of four atoms has five words of its own, and small entries for the other words
    atoms = np.full((4, 100), 0.01)
    homes = np.random.default_rng(0).permutation(100)[:20].reshape(4, 5)
    for j, home in enumerate(homes):
        atoms[j, home] = np.linspace(1, 0.5, 5)
    assert_array_equal(largest_features(atoms, 20), homes.ravel())
    assert_array_equal(largest_features(atoms, 8), homes[:, :2].ravel())
    assert_array_equal(largest_features(atoms, 100), np.arange(100))


@pytest.mark.invariance
def test_names_of_the_table_match_the_plot():
    X = pd.DataFrame(np.random.default_rng(0).random((30, 5)), columns=list("vwxyz"))
    display = AtomsDisplay.from_estimator(SparseNMF(2).fit(X))
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list("vwxyz")
    assert display.image_.get_array().shape == (5, 2)
    as_signals = AtomsDisplay.from_estimator(SparseNMF(2).fit(X), kind="signal")
    assert len(as_signals.lines_) == 2
    assert [label.get_text() for label in as_signals.ax_.get_xticklabels()] == list("vwxyz")


@pytest.mark.invariance
@pytest.mark.parametrize(
    "estimator",
    [
        KSVD(4, n_nonzero_coefs=2, max_iter=2, random_state=0),
        PCA(4),
        make_pipeline(StandardScaler(), PCA(4)),
    ],
)
def test_estimators_and_colours(estimator):
    X = np.random.default_rng(0).normal(size=(50, 6))
    display = AtomsDisplay.from_estimator(estimator.fit(X), image_shape=(2, 3))
    assert display.image_.get_clim() == (-1, 1)
    positive = AtomsDisplay.from_estimator(NMF(2, tol=0.01).fit(abs(X)), image_shape=(2, 3))
    assert positive.image_.get_clim() == (0, 1)
    grey = AtomsDisplay.from_estimator(estimator, image_shape=(2, 3), cmap="gray", vmin=-2)
    assert grey.image_.get_cmap().name == "gray"
    assert grey.image_.get_clim() == (-2, 1)
    assert grey.ax_.get_facecolor() == (1, 1, 1, 1)
    assert display.ax_.get_facecolor() != (1, 1, 1, 1)


@pytest.mark.edge
def test_an_atom_of_zeros_and_a_single_one():
    display = AtomsDisplay(
        atoms=np.full((1, 4), -1e-17) + np.eye(4)[:1], image_shape=(2, 2)
    ).plot()
    # entries that are negative only because of rounding are drawn without colour
    assert display.image_.get_clim() == (0, 1)
    display = AtomsDisplay(atoms=np.zeros((1, 4)), image_shape=(2, 2)).plot()
    assert_array_equal(display.image_.get_array()[1:3, 1:3], np.zeros((2, 2)))
    assert display.ax_.get_title() == "1 atom"


@pytest.mark.oracle
def test_colours_and_columns():
    atoms = signed_atoms(5, 12)
    display = AtomsDisplay(atoms=atoms, image_shape=(2, 2, 3)).plot(n_columns=4)
    sheet = np.asarray(display.image_.get_array())
    assert sheet.shape == (2 * 3 + 1, 4 * 3 + 1, 3)
    scaled = atoms / np.abs(atoms).max(axis=1, keepdims=True)
    assert_allclose(sheet[4:6, 1:3], (1 + scaled[4].reshape(2, 2, 3)) / 2)
    assert (sheet[::3] == 1).all()


@pytest.mark.invariance
def test_sparse_atoms_make_the_same_picture():
    dense = AtomsDisplay(atoms=np.eye(4)[::-1], image_shape=(2, 2)).plot()
    display = AtomsDisplay(atoms=sparse.csr_array(np.eye(4)[::-1]), image_shape=(2, 2)).plot()
    assert_array_equal(display.image_.get_array(), dense.image_.get_array())


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_shape": (3, 3)}, "product must be 12"),
        ({"image_shape": 12}, "product must be 12"),
        ({"kind": "image"}, "image_shape=None should be"),
        ({"kind": "bar"}, "kind='bar' should be 'image', 'signal', 'table' or None"),
        ({"feature_names": ["a"]}, "has 1 names, but the atoms have 12 entries"),
        ({"image_shape": (3, 2, 2)}, "product must be 12"),
        ({"image_shape": (3, 4), "n_columns": 0}, "n_columns=0 should be an integer"),
        ({"max_atoms": 0}, "max_atoms=0 should be an integer of at least 1"),
    ],
)
def test_raises_on_invalid_settings(settings, message):
    pca = PCA(3).fit(signed_atoms(20))
    with pytest.raises(ValueError, match=message):
        AtomsDisplay.from_estimator(pca, **settings)


@pytest.mark.edge
def test_raises_on_invalid_estimators():
    with pytest.raises(NotFittedError):
        AtomsDisplay.from_estimator(PCA())
    with pytest.raises(ValueError, match="but StandardScaler has none: pass"):
        AtomsDisplay.from_estimator(StandardScaler().fit(signed_atoms()))
    with pytest.raises(ValueError, match="one atom in each row"):
        AtomsDisplay(atoms=[1.0, 2.0]).plot()
    with pytest.raises(ValueError, match=r"pass their real part, atoms\.real"):
        AtomsDisplay(atoms=[[1j]]).plot()
