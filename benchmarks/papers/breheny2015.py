"""Risk factors of low birth weight by the group lasso, Breheny and Huang 2015."""

import numpy as np

from benchmarks.papers import PRINTED, Entry, value
from benchmarks.papers._sources import folder, read_r

# Name of the environment variable with the folder of the source of the R package.
SOURCE = "GRPREG_SOURCE"
# Intercept and coefficients that the vignette prints for lambda = 0.05.
PENALTY = 0.05
COEFFICIENTS = (
    3.02892181, 0.14045229, 0.62608119, 0.37683684, 0.74715315, -0.15825582, 0.58290856,
    0.18344777, -0.06107624, -0.18778377, -0.17422515, 0.05710668, -0.29776948, -0.38050822,
    0.0, 0.0, 0.0,
)  # fmt: skip
# Groups with coefficients for lambda = 0.1, and the number of these coefficients.
SPARSE_PENALTY = 0.1
SPARSE_GROUPS = "race, smoke, ptl, ht, ui"
SPARSE_COEFFICIENTS = 7
# The path of the R package: number of penalties, and ratio of the last to the first.
PATH_LENGTH = 100
PATH_RATIO = 1e-4
# Difference of a coefficient that still counts as agreement: ten times the tolerance of the R
# package, which is 1e-4 in units of standardised features.
LARGEST_DIFFERENCE = 1e-3


def values(quick):
    source = folder(SOURCE)
    if source is None:
        return []

    table = read_r(source / "data" / "Birthwt.RData")["Birthwt"]
    names = np.array([str(name) for name in table["group"]])
    path = Path(np.asarray(table["X"], float), np.asarray(table["bwt"], float).ravel(), names)

    ours = path.interpolated(PENALTY)
    difference = float(np.abs(ours - np.array(COEFFICIENTS)).max())
    found = [
        value(
            f"lambda = {PENALTY}",
            f"coefficients of {where}",
            ", ".join(f"{v:.4f}" for v in COEFFICIENTS[part]),
            PRINTED,
            ", ".join(f"{v:.4f}" for v in ours[part]),
            holds=difference <= LARGEST_DIFFERENCE,
        )
        for where, part in (
            ("intercept, age and weight", slice(0, 7)),
            ("race, smoking, labours, hypertension, irritability, visits", slice(7, 17)),
        )
    ]

    nonzero = path.interpolated(SPARSE_PENALTY)[1:] != 0
    groups = ", ".join(dict.fromkeys(names[nonzero]))
    setting = f"lambda = {SPARSE_PENALTY}"
    return [
        *found,
        value(setting, "groups selected", SPARSE_GROUPS, PRINTED, groups,
              holds=groups == SPARSE_GROUPS),
        value(setting, "coefficients that are not zero", str(SPARSE_COEFFICIENTS), PRINTED,
              int(nonzero.sum()), holds=nonzero.sum() == SPARSE_COEFFICIENTS),
    ]  # fmt: skip


class Path:
    """Group lasso in the units of the R package: groups are made orthonormal first."""

    def __init__(self, X, y, names):
        self.y = y
        self.names = names
        self.mean = X.mean(axis=0)
        self.deviation = X.std(axis=0)
        Z = (X - self.mean) / self.deviation

        # Z[:, group] @ basis[group, group] has orthogonal columns of mean square 1
        self.basis = np.zeros((X.shape[1], X.shape[1]))
        for name in np.unique(names):
            members = np.flatnonzero(names == name)
            _, s, Vt = np.linalg.svd(Z[:, members], full_matrices=False)
            self.basis[np.ix_(members, members)] = Vt.T * (np.sqrt(len(Z)) / s)
        self.Z = Z @ self.basis

    def coefficients(self, penalty):
        """Intercept and coefficients in the units of the table, and the largest penalty."""
        from skmoderndata.linear_model import GroupLasso

        model = GroupLasso(alpha=penalty, groups=self.names).fit(self.Z, self.y)
        w = self.basis @ model.coef_ / self.deviation
        return np.append(model.intercept_ - self.mean @ w, w), model.alpha_max_

    def interpolated(self, penalty):
        """Interpolate between neighbouring penalties of the path, as the R package does."""
        _, largest = self.coefficients(1.0)
        steps = np.linspace(0, np.log(PATH_RATIO), PATH_LENGTH)
        path = largest * np.exp(steps)
        right = int(np.searchsorted(-path, -penalty))
        share = (penalty - path[right - 1]) / (path[right] - path[right - 1])

        before, after = (self.coefficients(path[i])[0] for i in (right - 1, right))
        return (1 - share) * before + share * after


ENTRY = Entry(
    title="Groups of risk factors by the group lasso",
    cites="Breheny and Huang: Group descent algorithms for nonconvex penalized linear and "
    "logistic regression models with grouped predictors. Statistics and Computing 25(2), 2015.",
    source=(
        "the vignette of the authors' R package grpreg, which prints coefficients for "
        "lambda = 0.05, and the groups and the number of coefficients for lambda = 0.1."
    ),
    values=values,
    remarks=(
        "`GroupLasso` uses the features as they are. The R package makes the features of a "
        "group orthonormal first, and interpolates between the solutions for 100 penalties; the "
        "benchmark does both outside of the estimator. The coefficients differ by at most "
        "7e-5, which is within the tolerance of the R package. The data are in the source "
        f"of the package, which is not shipped here: set `{SOURCE}` to the folder of that "
        "source, and install `rdata`."
    ),
)
