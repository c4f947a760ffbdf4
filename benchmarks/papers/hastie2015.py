"""Soft-thresholded completion of a small matrix, Hastie, Mazumder, Lee and Zadeh 2015."""

import numpy as np

from benchmarks.papers import PRINTED, Entry, value

# The matrix of the vignette, and the matrix after double centring.
GAP = np.nan
MATRIX = np.array([
    [0.8654889, 0.01565179, GAP, GAP, 0.7868103],
    [-0.6004172, -0.39411039, GAP, 0.11949527, GAP],
    [GAP, GAP, -1.0545575, GAP, GAP],
    [0.6965558, -0.50331812, GAP, 1.54375663, 0.4265161],
    [1.2311610, -0.34232368, -0.8102688, GAP, -0.1325694],
    [0.2664415, 0.14486388, 0.6051380, 0.03406604, -2.2408786],
])  # fmt: skip
CENTRED = np.array([
    [-0.2404891, -0.3826329, GAP, GAP, 0.6231220],
    [-0.4506120, 0.4633881, GAP, -0.01277613, GAP],
    [GAP, GAP, 0.0, GAP, GAP],
    [-0.1862984, -0.6784790, GAP, 0.37882582, 0.4859516],
    [0.7289970, -0.1367944, -0.8997589, GAP, 0.3075563],
    [0.1483993, 0.7345150, 0.8997696, -0.36605279, -1.4166311],
])  # fmt: skip

# Values that the vignette prints: singular values, the objective for each known entry, and
# completed entries (row by row).
PENALTY = 1.9
SINGULAR = (0.7058351, 0.1224937)
OBJECTIVE = 0.34085
COMPLETED = (
    -0.09395368, 0.06964884, 0.01072968, -0.009833786, 0.04108268, -0.02061187, 0.03611551,
    0.109137401, -0.10903638, 0.06793878,
)  # fmt: skip
CENTRED_PENALTY = 1.0
CENTRED_SINGULAR = (1.32863296, 0.09314895)
# Difference that still counts as agreement. The R package stops when its objective changes by
# less than 1e-5, which leaves an error of about 1e-3 in the singular values.
LARGEST_DIFFERENCE = 1e-3


def values(quick):
    filled, model = completed(MATRIX, PENALTY)
    entries = filled[np.isnan(MATRIX)]
    objective = model.objective_ / np.isfinite(MATRIX).sum()
    setting = f"6 x 5, 20 entries known, penalty {PENALTY}"
    found = [
        compared(setting, "singular values", SINGULAR, model.singular_values_),
        compared(setting, "completed entries", COMPLETED, entries),
        value(setting, "objective for each known entry", f"{OBJECTIVE:.5f}", PRINTED,
              f"{objective:.5f}", holds=round(objective, 5) == OBJECTIVE),
    ]  # fmt: skip

    _, model = completed(CENTRED, CENTRED_PENALTY)
    setting = f"6 x 5, double centred, penalty {CENTRED_PENALTY:g}"
    return [
        *found,
        compared(setting, "singular values", CENTRED_SINGULAR, model.singular_values_),
    ]


def completed(matrix, penalty):
    """Complete the matrix with the penalty in its own units; return the model as well."""
    from skmoderndata.impute import NuclearNormImputer

    model = NuclearNormImputer(
        alpha=penalty,
        alpha_scale="absolute",
        center=False,
        scale=False,
        debias=False,
        tol=1e-9,
        max_iter=5000,
    )
    return model.fit_transform(matrix), model


def compared(setting, quantity, printed, ours):
    """One row for several numbers."""
    agree = len(ours) == len(printed) and np.abs(ours - printed).max() <= LARGEST_DIFFERENCE
    return value(
        setting,
        quantity,
        ", ".join(f"{number:.4f}" for number in printed),
        PRINTED,
        ", ".join(f"{number:.4f}" for number in ours),
        holds=agree,
    )


ENTRY = Entry(
    title="Completion of a small matrix by soft-thresholding",
    cites="Hastie, Mazumder, Lee, Zadeh: Matrix completion and low-rank SVD via fast alternating "
    "least squares. Journal of Machine Learning Research 16, 2015.",
    source="the vignette of the authors' R package softImpute, which prints the matrix, the "
    "objective, singular values and completed entries.",
    values=values,
    remarks=(
        "`NuclearNormImputer` solves the problem to a relative duality gap of 1e-9. The R package "
        "stops when its objective changes by less than 1e-5, which leaves an error of about 1e-3 "
        "in its singular values: the values agree to this accuracy, and the objectives agree "
        "in every printed digit."
    ),
)
