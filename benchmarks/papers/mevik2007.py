"""Octane numbers from infrared spectra by partial least squares, Mevik and Wehrens 2007."""

import numpy as np

from benchmarks.papers import PRINTED, Entry, value
from benchmarks.papers._sources import folder, read_r

# Name of the environment variable with the folder of the source of the R package.
SOURCE = "PLS_SOURCE"
# Errors with 1 to 10 components: leave-one-out on the first 50 samples, and on the last 10.
LEAVE_ONE_OUT = (1.357, 0.2966, 0.2524, 0.2476, 0.2398, 0.2319, 0.2386, 0.2316, 0.2449, 0.2673)
NEW_SAMPLES = (1.1696, 0.2445, 0.2341, 0.3287, 0.2780, 0.2703, 0.3301, 0.3571, 0.4090, 0.6116)
# Variance of the octane number of the first 50 samples that 1 to 10 components explain, in %.
EXPLAINED = (29.39, 96.85, 97.89, 98.26, 98.86, 98.96, 99.09, 99.16, 99.28, 99.39)
N_TRAIN = 50


def values(quick):
    source = folder(SOURCE)
    if source is None:
        return []

    gasoline = read_r(source / "data" / "gasoline.RData")["gasoline"]
    spectra = np.asarray(gasoline["NIR"])
    octane = np.asarray(gasoline["octane"]).ravel()
    numbers = range(1, 6 if quick else 11)
    measured = np.array([errors(spectra, octane, n) for n in numbers]).T

    quantities = (
        ("root mean squared error, leave-one-out", LEAVE_ONE_OUT, 4),
        ("root mean squared error, 10 new samples", NEW_SAMPLES, 4),
        ("variance of octane explained, %", EXPLAINED, 2),
    )
    return [
        compared(f"gasoline, 1 to {len(numbers)} components", quantity, printed, ours, digits)
        for (quantity, printed, digits), ours in zip(quantities, measured, strict=True)
    ]


def errors(spectra, octane, n_components):
    """Both errors, and the variance explained, with this number of components."""
    from sklearn.model_selection import LeaveOneOut, cross_val_predict

    from skmoderndata.cross_decomposition import KernelPLSRegression

    X, X_new = np.split(spectra, [N_TRAIN])
    y, y_new = np.split(octane, [N_TRAIN])
    model = KernelPLSRegression(n_components, kernel="linear")

    held_out = cross_val_predict(model, X, y, cv=LeaveOneOut()).ravel()
    predicted = model.fit(X, y).predict(X_new).ravel()
    return (
        np.sqrt(np.mean((held_out - y) ** 2)),
        np.sqrt(np.mean((predicted - y_new) ** 2)),
        100 * model.score(X, y),
    )


def compared(setting, quantity, printed, ours, digits):
    """One row for all numbers of components; values above 1 are printed with a digit less."""
    printed = printed[: len(ours)]
    agree = all(
        abs(a - b) <= (0.6 if a < 1 or digits < 4 else 6) * 10.0**-digits
        for a, b in zip(printed, ours, strict=True)
    )
    told = ", ".join(f"{number:.{digits}f}" for number in ours)
    expected = ", ".join(f"{number:.{digits}f}" for number in printed)
    return value(setting, quantity, expected, PRINTED, told, holds=agree)


ENTRY = Entry(
    title="Octane numbers from spectra by partial least squares",
    cites="Mevik and Wehrens: The pls package: principal component and partial least squares "
    "regression in R. Journal of Statistical Software 18(2), 2007.",
    source=(
        "outputs of `summary(gas1)` and of `RMSEP` for new data in sections 3 and 8 of the "
        "manual of the R package, which is the current edition of the article."
    ),
    values=values,
    remarks=(
        'The model is `KernelPLSRegression(kernel="linear")`. All values agree in every printed '
        "digit. The manual prints the first leave-one-out error with three decimals. The "
        f"spectra are in the source of the R package, which is not shipped here: set `{SOURCE}` "
        "to the folder of that source, and install `rdata`."
    ),
)
