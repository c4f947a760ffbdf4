"""Spectra of glass before and after the detector was cleaned."""

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.away.tables import estimator_of_robpy
from benchmarks.away.task import Task
from skmoderndata.decomposition import RobustPCA


def load():
    """Return the wavelengths 13 to 750, which vary, of the 180 spectra."""
    from robpy.datasets import load_glass

    return np.asarray(load_glass().data, dtype=float)[:, 13:]


def auc(scores):
    """Return the area under the ROC curve for the last 38 spectra."""
    return roc_auc_score(np.arange(180) >= 142, scores)


def theirs(X):
    """Score rows by their distance from the subspace of ROBPCA."""
    model = estimator_of_robpy("ROBPCA", n_components=3, random_seed=0).fit(X)
    return auc(np.linalg.norm(X - model.location_ - model.project(X), axis=1))


def ours(X, **settings):
    return auc(RobustPCA(**settings).fit(X).outlier_scores(X))


TASK = Task(
    name="robpy_glass_rows",
    origin="robpy / cellWise, Glass",
    link="https://doi.org/10.1198/004017004000000563",
    program="ROBPCA of robpy",
    data="shipped by robpy (Lemberge et al. 2000)",
    licence="GPL-2.0 or later",
    measure=(
        "area under the ROC curve for the 38 rows measured after the detector was cleaned"
    ),
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=lambda X: ours(X, n_components=3, center=True),
    reason=(
        "By default, RobustPCA chooses the number of components itself and does not centre "
        "the spectra. Use `RobustPCA(n_components=3, center=True)`, which has as many "
        "components as ROBPCA and separates the 38 spectra just as well."
    ),
)
