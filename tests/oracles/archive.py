"""Sets of the UCR and UEA archives that installed peers carry, read without importing them."""

import importlib.util
from pathlib import Path

import numpy as np


def folder(package):
    """Folder of an installed package, or None."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def sets():
    """Names of the sets in files `.ts` at hand -> their folder."""
    root = folder("aeon")
    if root is None:
        return {}
    return {
        path.name: path for path in (root / "datasets" / "data").iterdir() if path.is_dir()
    }


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


def load(name):
    """Training and test part: X, y, X_test, y_test."""
    place = sets()[name]
    train, test = (read_ts(place / f"{name}_{part}.ts") for part in ("TRAIN", "TEST"))
    return *train, *test


def trace():
    """Return the set Trace of the wheel of tslearn as `load` does, or None."""
    root = folder("tslearn")
    path = None if root is None else root / ".cached_datasets" / "Trace.npz"
    if path is None or not path.exists():
        return None
    found = np.load(path)
    return tuple(found[name] for name in ("X_train", "y_train", "X_test", "y_test"))
