"""Sets of the UCR and UEA archives, of a folder or of installed peers, which are not imported."""

import importlib.util
import os
from pathlib import Path

import numpy as np

# Name of the environment variable that holds the folder of the unpacked archive.
ARCHIVE = "UCR_ARCHIVE"


def folder(package):
    """Folder of an installed package, or None."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def sets():
    """Names of the sets at hand -> their folder, the folder that the user names first."""
    root = folder("aeon")
    places = [] if root is None else [root / "datasets" / "data"]
    if ARCHIVE in os.environ:
        places.append(Path(os.environ[ARCHIVE]))
    return {path.name: path for place in places for path in place.iterdir() if path.is_dir()}


def read_ts(path):
    """Series of shape (length, n_channels), and labels, of a file `.ts`."""
    X = []
    y = []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    start = next(i for i, line in enumerate(lines) if line.lower().startswith("@data"))
    for line in lines[start + 1 :]:
        if line.strip():
            *channels, label = line.strip().split(":")
            X.append(np.array([[float(v) for v in c.split(",")] for c in channels]).T)
            y.append(label)
    return X, np.array(y)


def read_rows(path):
    """Series of shape (length, 1), and labels, of a file of the archive: label, then values."""
    lines = path.read_text(encoding="utf-8").replace(",", " ").splitlines()
    rows = [line.split() for line in lines if line.strip()]
    X = [np.array(row[1:], dtype=float)[:, None] for row in rows]
    return X, np.array([row[0] for row in rows])


def load(name):
    """Training and test part: X, y, X_test, y_test."""
    place = sets()[name]
    parts = []
    for part in ("TRAIN", "TEST"):
        path = place / f"{name}_{part}.ts"
        rows = place / f"{name}_{part}.tsv"
        parts += read_ts(path) if path.exists() else read_rows(rows)
    return tuple(parts)


def trace():
    """Return the set Trace of the wheel of tslearn as `load` does, or None."""
    root = folder("tslearn")
    path = None if root is None else root / ".cached_datasets" / "Trace.npz"
    if path is None or not path.exists():
        return None
    found = np.load(path)
    return tuple(found[name] for name in ("X_train", "y_train", "X_test", "y_test"))
