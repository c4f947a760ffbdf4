"""Noise is removed from patches of a photograph through their sparse codes."""

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.pictures import image_rows
from benchmarks.compare.problem import STEP, Data, Problem, by_plan

SIDE = 6
SIGMA = 20.0
# Number of cosines along each side.
N_COSINES = 9


def load(quick, full=False):
    grey = load_sample_image("china.jpg").mean(axis=2)
    n = by_plan(quick, full, 600, 1200, 4000)
    clean = extract_patches_2d(grey, (SIDE, SIDE), max_patches=n, random_state=0).reshape(
        n, -1
    )
    noisy = clean + SIGMA * np.random.default_rng(0).normal(size=clean.shape)
    means = noisy.mean(axis=1, keepdims=True)
    about = (
        f"{n} patches of {SIDE} x {SIDE} pixels of a photograph, with noise of standard "
        f"deviation {SIGMA:g} (of 255), less the mean of each"
    )
    return Data(X=noisy - means, y=clean - means, about=about)


def pipeline(step):
    if getattr(step, "dictionary", "") is None:
        step.set_params(dictionary=cosines())
    # fit the best linear map from codes to noise-free patches
    return Pipeline([(STEP, step), ("back", Ridge(alpha=1.0, fit_intercept=False))])


def cosines():
    """Products of cosines, more than there are pixels."""
    waves = np.cos(np.pi * np.outer(np.arange(N_COSINES), np.arange(SIDE)) / N_COSINES)
    waves[1:] -= waves[1:].mean(axis=1, keepdims=True)
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    return np.kron(waves, waves)


def folds(n_splits, random_state):
    return KFold(n_splits, shuffle=True, random_state=random_state)


def plot(fig, methods, data, test):
    # show the patches of highest contrast
    shown = test[np.argsort(-np.var(data.y[test], axis=1))[:60:4]]
    rows = {"with noise": data.X[shown]}
    for name, fitted in methods.items():
        rows[name] = fitted.predict(data.X[shown])
    rows["without noise"] = data.y[shown]
    rows = {label: images.reshape(-1, SIDE, SIDE) for label, images in rows.items()}
    image_rows(fig, rows, cmap="gray", limits=(-100, 100))


PROBLEM = Problem(
    title="patches with noise",
    description="Noisy patches of a photograph are coded with few atoms, and a linear map from "
    "the codes predicts the patches without noise. The grid chooses the number of atoms, at most "
    "16, or the penalty. The same map, straight from the noisy pixels, reaches 0.65.",
    score_name="R2",
    scoring="r2",
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
    n_outer=5,
    splitter=folds,
)
