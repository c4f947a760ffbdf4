"""Evidence that the files of the archive are read as they are written."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmoderndata.datasets import load_japanese_vowels
from tests.oracles import archive

FILE = """#comment with a : colon
@problemName JapaneseVowels
@data
1,2,3:4,5,6:2
-1.5,0:7,8e-1:1
"""


def written(folder):
    (folder / "JapaneseVowels_TRAIN.ts").write_text(FILE, encoding="utf-8")
    return folder


@pytest.mark.recovery
def test_files_of_a_folder(tmp_path):
    X, y = load_japanese_vowels(folder=written(tmp_path), return_X_y=True)
    assert_array_equal(X[0], [[1, 4], [2, 5], [3, 6]])
    assert_array_equal(X[1], [[-1.5, 7], [0, 0.8]])
    assert_array_equal(y, [2, 1])
    bunch = load_japanese_vowels(folder=tmp_path)
    assert_array_equal(bunch.target, y)
    assert "2 utterances" in bunch.DESCR


@pytest.mark.paper
@pytest.mark.parametrize("subset", [s for s in ("train", "test") if archive.sets()])
def test_sizes_of_the_archive(subset):
    """Kudo, Toyama and Shimbo, 1999: 270 and 370 series of 7 to 29 points, 12 coefficients."""
    X, y = load_japanese_vowels(subset=subset, return_X_y=True)
    assert len(X) == len(y) == {"train": 270, "test": 370}[subset]
    assert {x.shape[1] for x in X} == {12}
    assert min(map(len, X)) == 7
    assert max(map(len, X)) == {"train": 26, "test": 29}[subset]
    assert_array_equal(np.unique(y), np.arange(1, 10))


@pytest.mark.edge
def test_absent_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"TEST.ts is not in .*pip install aeon"):
        load_japanese_vowels(folder=written(tmp_path), subset="test")
    with pytest.raises(ValueError, match="subset='all'"):
        load_japanese_vowels(folder=tmp_path, subset="all")
