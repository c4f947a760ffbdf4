"""Scores of new rows that carry gross errors."""

from typing import NamedTuple

import numpy as np
from numpy.linalg import norm

from benchmarks.peers import Case, Contender, at_most

RANK = 10
# Number of rows whose misfit is compared with a linear program.
JUDGED = 20


class Rows(NamedTuple):
    """Training matrix for a robust fit, new rows with gross errors, and the truth."""

    X: np.ndarray
    new: np.ndarray
    clean: np.ndarray
    corrupted: np.ndarray
    basis: np.ndarray
    least: float


def work(size, rng):
    """Rows in a planted space of rank 10, a fraction of the entries of new rows replaced."""
    n_new, n_features, share = size
    basis = np.linalg.qr(rng.normal(size=(n_features, RANK)))[0].T

    def rows(n, corrupted_share):
        clean = rng.normal(size=(n, RANK)) @ basis
        wrong = rng.random(clean.shape) < corrupted_share
        spread = 2 * np.abs(clean).max()
        errors = np.where(wrong, rng.uniform(-spread, spread, clean.shape), 0.0)
        return clean, clean + errors, wrong

    _, X, _ = rows(400, 0.05)
    clean, new, wrong = rows(n_new, share)
    least = sum(least_misfit(row, basis) for row in new[:JUDGED])
    return Rows(X, new, clean, wrong, basis, least)


def least_misfit(x, basis):
    """Smallest l1 norm of x - z B over z, by a linear program."""
    from scipy.optimize import linprog

    n = len(x)
    A = np.hstack([basis.T, np.eye(n), -np.eye(n)])
    costs = np.r_[np.zeros(RANK), np.ones(2 * n)]
    bounds = [(None, None)] * RANK + [(0, None)] * (2 * n)
    return linprog(costs, A_eq=A, b_eq=x, bounds=bounds, method="highs").fun


def quality(rows, projected):
    """Compare in the planted space, so that rotations of the components do not matter."""
    truth = rows.clean @ rows.basis.T
    misfit = np.abs(rows.new[:JUDGED] - projected[:JUDGED]).sum()
    return {
        "excess": misfit / rows.least - 1,
        "error": norm(projected @ rows.basis.T - truth) / norm(truth),
    }


class Fitted(NamedTuple):
    """New rows, and a model that was fitted before the clock starts."""

    rows: Rows
    model: object


def fit(rows):
    from skmoderndata.decomposition import RobustPCA

    return Fitted(rows, RobustPCA().fit(rows.X))


def ours(fitted):
    return fitted.model.inverse_transform(fitted.model.transform(fitted.rows.new))


def plain_projection(fitted):
    V = fitted.model.components_
    return fitted.rows.new @ V.T @ V


def sklearn_pca(rows):
    from sklearn.decomposition import PCA

    model = PCA(n_components=RANK).fit(rows.X)
    return model.inverse_transform(model.transform(rows.new))


def told_where(rows):
    """Least squares on the true basis without the wrong entries, an unattainable reference."""
    solved = [
        np.linalg.lstsq(rows.basis.T[~wrong], row[~wrong], rcond=None)[0]
        for row, wrong in zip(rows.new, rows.corrupted, strict=True)
    ]
    return np.asarray(solved) @ rows.basis


CASE = Case(
    title="Robust transform of new rows",
    question=(
        "How large is the error of the scores of new rows if 5 to 30 % of their entries are "
        "grossly wrong? RobustPCA projects in the l1 norm, whereas the usual projection uses "
        "least squares."
    ),
    remarks=(
        f"The data have rank {RANK}. The models are fitted before the timing starts, on 400 "
        "other rows in which 5 % of the entries are wrong (for PCA, the time includes the "
        "fit)."
    ),
    ours="RobustPCA.transform",
    sizes={
        "50 x 200, 10 % gross errors": (50, 200, 0.1),
        **{
            f"500 x 200, {share} % gross errors": (500, 200, share / 100)
            for share in (5, 10, 20, 30)
        },
        "50 x 2,000, 10 % gross errors": (50, 2000, 0.1),
        "5,000 x 200, 10 % gross errors": (5000, 200, 0.1),
    },
    quick_sizes={
        f"100 x 100, {share} % gross errors": (100, 100, share / 100) for share in (5, 30)
    },
    warmup=(20, 50, 0.1),
    repeat=3,
    work=work,
    contenders={
        "RobustPCA.transform": Contender(
            run=ours, prepare=fit, peer=False, note="the default parameters"
        ),
        "plain projection": Contender(
            run=plain_projection,
            prepare=fit,
            peer=False,
            note="least squares on the components of `RobustPCA`",
        ),
        "PCA": Contender(
            run=sklearn_pca,
            requires="scikit-learn>=1.9",
            note="`PCA` of scikit-learn, fitted to the rows that `RobustPCA` was fitted to",
        ),
        "known positions": Contender(
            run=told_where,
            peer=False,
            note=(
                "least squares on the true components that uses only the correct entries, a "
                "reference that no method can attain"
            ),
        ),
    },
    quality=quality,
    figures={
        "excess": f"l1 norm of the residuals of {JUDGED} rows, divided by the minimum found by "
        "linear programs on the planted space, minus 1",
        "error": "relative error of the scores, in the Frobenius norm",
    },
    targets=(
        at_most(
            "l1 norm at most 1e-6 above the optimum of linear programs",
            "RobustPCA.transform",
            "excess",
            1e-6,
        ),
    ),
)
