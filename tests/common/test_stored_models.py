"""Models that earlier versions stored are loaded, and give the stored answers.

`tools/store_models.py` writes the files.
"""

import json
import pickle
import re
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import InconsistentVersionWarning

from skmoderndata import __version__, trusted_types
from skmoderndata.cluster import MultiAssignmentClustering
from skmoderndata.cross_decomposition import KernelCCA
from skmoderndata.decomposition import KSVD, RobustPCA, SlowFeatureAnalysis, SparseNMF
from skmoderndata.svm import CoreVectorMachine, SupportFeatureMachine

pytestmark = pytest.mark.certificate

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests" / "stored_models"
SETS = sorted(STORED.iterdir())
FILES = [path for folder in SETS for path in sorted(folder.glob("*.pickle"))]
SKOPS_FILES = [path for folder in SETS for path in sorted(folder.glob("*.skops"))]

# Tolerance, relative to the largest value of a result, for rounding on other processors and in
# other versions of BLAS.
ANSWER_TOL = 1e-9
# Maximum size of a file, in bytes.
LARGEST_FILE = 20_000
# Maximum size of all files of one version, in bytes.
LARGEST_SET = 300_000


def file_id(path):
    return f"{path.parent.name}/{path.name}"


def numbers(text):
    return tuple(map(int, re.findall(r"\d+", text)[:3]))


def newer_packages(stored, packages, installed=version):
    """Return the packages whose stored version is newer than the installed one."""
    newer = []
    for name in packages:
        try:
            present = installed(name)
        except PackageNotFoundError:
            present = "0"
        if numbers(stored[name]) > numbers(present):
            newer.append(f"{name} {stored[name]} (installed: {present})")
    return newer


def skip_if_newer(path, packages):
    """Skip if a newer version of a package wrote the file: an older one may not read it."""
    stored = json.loads((path.parent / "versions.json").read_text(encoding="utf-8"))
    if newer := newer_packages(stored, packages):
        pytest.skip(f"stored with {', '.join(newer)}")


def loaded(path, load):
    """Load a model; another version of this package must be named by one warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load(path)
    ours = [str(w.message) for w in caught if "of skmoderndata" in str(w.message)]
    assert bool(ours) == (path.parent.name != __version__)
    # scikit-learn warns if its own version differs; nothing else may warn
    assert all(issubclass(w.category, InconsistentVersionWarning) for w in caught)
    return model


def load_pickle(path):
    return pickle.loads(path.read_bytes())


def assert_stored_answer(model, path):
    with np.load(path.with_suffix(".npz")) as stored:
        names = [name for name in stored.files if name.startswith("sample_")]
        samples = stored["X"] if "X" in stored else [stored[name] for name in names]
        method = str(stored["method"])
        expected = stored["answer"]
    if names and samples[0].ndim == 0:
        samples = [str(text) for text in samples]

    answer = getattr(model, method)(samples)
    answer = answer.toarray() if hasattr(answer, "toarray") else answer
    if expected.dtype.kind == "f":
        scale = np.abs(expected).max()
        assert_allclose(answer, expected, rtol=0, atol=ANSWER_TOL * scale)
    else:
        assert_array_equal(answer, expected)


@pytest.mark.parametrize("path", FILES, ids=file_id)
def test_pickle_gives_the_stored_answer(path):
    skip_if_newer(path, ("numpy", "scipy", "scikit-learn"))
    assert_stored_answer(loaded(path, load_pickle), path)


@pytest.mark.parametrize("path", SKOPS_FILES, ids=file_id)
def test_skops_file_gives_the_stored_answer(path):
    sio = pytest.importorskip("skops.io", reason="needs skops")
    skip_if_newer(path, ("numpy", "scipy", "scikit-learn", "skops"))
    types = sio.get_untrusted_types(file=path)
    assert trusted_types(types) == types
    assert_stored_answer(loaded(path, lambda file: sio.load(file, trusted=types)), path)


def test_each_release_has_a_set():
    """Released versions are the sections of the changelog that have a date."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = set(re.findall(r"^## (\d+\.\d+\.\d+) \(\d{4}-", text, re.MULTILINE))
    present = set() if released and ".dev" in __version__ else {__version__}
    assert {folder.name for folder in SETS} >= released | present


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_each_set_is_complete(folder):
    flagships = (
        RobustPCA,
        MultiAssignmentClustering,
        SupportFeatureMachine,
        SparseNMF,
        KSVD,
        KernelCCA,
        SlowFeatureAnalysis,
        CoreVectorMachine,
    )
    pickles = [path.read_bytes() for path in folder.glob("*.pickle")]
    for cls in flagships:
        assert any(cls.__name__.encode() in content for content in pickles), cls
    assert len(pickles) >= 20
    assert len(list(folder.glob("*.skops"))) >= 20
    assert len(list(folder.glob("*.npz"))) == len(pickles)


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_each_set_is_small(folder):
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert max(sizes) <= LARGEST_FILE
    assert sum(sizes) <= LARGEST_SET


def test_files_of_newer_packages_are_skipped():
    stored = {"numpy": "2.2.6", "scipy": "1.15.3", "skops": "0.16.0"}
    present = {"numpy": "2.2.0", "scipy": "1.16.0rc1"}

    def installed(name):
        if name not in present:
            raise PackageNotFoundError(name)
        return present[name]

    newer = newer_packages(stored, stored, installed)
    assert newer == ["numpy 2.2.6 (installed: 2.2.0)", "skops 0.16.0 (installed: 0)"]
