"""A random table of low rank with holes, as in the README of fancyimpute."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.impute import NuclearNormImputer


def load():
    """Return draws of a table with NaN in hidden cells, and the whole table."""
    draws = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 40))
        X = truth + 0.1 * rng.normal(size=truth.shape)
        draws.append((np.where(rng.random(X.shape) < 0.3, np.nan, X), truth))
    return draws


def error(draw, filled):
    X, truth = draw
    hidden = np.isnan(X)
    return np.mean((filled - truth)[hidden] ** 2)


def import_fancyimpute():
    """Import fancyimpute, which passes an argument that scikit-learn has renamed."""
    import fancyimpute
    from fancyimpute import knn, scaler, soft_impute, solver
    from sklearn.utils import check_array

    def check(X, force_all_finite=True, **params):
        return check_array(X, ensure_all_finite=force_all_finite, **params)

    for module in (knn, scaler, soft_impute, solver):
        module.check_array = check
    return fancyimpute


def theirs(draws):
    fancyimpute = import_fancyimpute()

    found = []
    for draw in draws:
        scaler = fancyimpute.BiScaler(verbose=False)
        scaled = scaler.fit_transform(draw[0].copy())
        filled = fancyimpute.SoftImpute(verbose=False).fit_transform(scaled)
        found.append(error(draw, scaler.inverse_transform(filled)))
    return found


def ours(draws):
    return [error(draw, NuclearNormImputer().fit_transform(draw[0])) for draw in draws]


TASK = Task(
    name="fancyimpute_softimpute",
    origin="fancyimpute, README",
    link="https://github.com/iskandr/fancyimpute",
    program="fancyimpute SoftImpute after BiScaler, as in the README",
    data="five products of Gaussian factors, 200 x 40, rank 5, 30 % hidden, noise .1",
    licence="Apache-2.0",
    measure="mean squared error of hidden cells of a low-rank matrix",
    better="lower",
    published=None,
    expected="ours",
    load=load,
    theirs=theirs,
    ours=ours,
)
