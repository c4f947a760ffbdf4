"""Evidence that the bundled strings are those that the descriptions promise."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmoderndata import datasets
from skmoderndata.datasets import load_blosum62, load_language_names, load_peptides

DATA = Path(datasets.__file__).parent / "data"


@pytest.mark.certificate
def test_peptides():
    data = load_peptides()
    assert (len(data.data), len(set(data.data))) == (412, 412)
    assert_array_equal(np.bincount(data.target), [206, 206])
    assert {*"".join(data.data)} == {*"ACDEFGHIKLMNPQRSTVWY"}
    lengths = [len(x) for x in data.data]
    assert (min(lengths), max(lengths)) == (8, 56)
    assert list(data.target_names) == ["transmembrane", "antimicrobial"]
    # transmembrane regions are hydrophobic, antimicrobial peptides are charged
    charged = np.array([sum(c in "KR" for c in x) / len(x) for x in data.data])
    assert charged[data.target == 1].mean() > 2 * charged[data.target == 0].mean()


@pytest.mark.certificate
def test_language_names():
    data = load_language_names()
    assert len(data.data) == len(set(data.data)) == 1600
    assert_array_equal(np.bincount(data.target), 100)
    assert len(data.target_names) == 16
    assert all(len(x) >= 6 and x.isalpha() and x == x.lower() for x in data.data)
    assert any(not x.isascii() for x in data.data)


@pytest.mark.edge
@pytest.mark.parametrize("load", [load_peptides, load_language_names])
def test_pairs_and_notices(load):
    data = load()
    X, y = load(return_X_y=True)
    assert X == data.data
    assert_array_equal(y, data.target)
    stem = load.__name__.removeprefix("load_")
    assert f"{stem}_license.txt" in data.DESCR
    notice = (DATA / f"{stem}_license.txt").read_text(encoding="utf-8")
    assert "notice" in notice
    assert "copyright" in notice.lower()
    X.clear()
    assert len(load().data) == len(y)  # each call reads the file again
    with pytest.raises(ValueError, match="'return_X_y' parameter"):
        load(return_X_y="yes")


@pytest.mark.paper
def test_scores_of_amino_acids():
    """Entries of Henikoff and Henikoff 1992, Figure 2, and the symmetry of the matrix."""
    scores = load_blosum62()
    assert len(scores) == 24**2
    assert all(scores[a, b] == scores[b, a] for a, b in scores)
    letters = "ARNDCQEGHILKMFPSTWYV"
    diagonal = [4, 5, 6, 6, 9, 5, 5, 6, 8, 4, 4, 5, 5, 6, 7, 4, 5, 11, 7, 4]
    assert [scores[a, a] for a in letters] == diagonal
    assert (scores["F", "Y"], scores["W", "C"], scores["E", "D"]) == (3, -2, 2)
