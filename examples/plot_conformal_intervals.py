"""
How far can a prediction be off?
================================

Kernel partial least squares predicts the progress of diabetes after a year from ten measurements,
as a single number for each patient. Which interval contains the true value of 90 % of new
patients? Conformal prediction answers this for any regressor. The package MAPIE implements it
(``pip install mapie``).
"""

# %%
# A third of the patients trains the model, a third measures its errors, and the last third is new.
# The interval is the prediction plus and minus a quantile of the absolute errors of the second
# third. If the patients are exchangeable, it contains the true value with the stated probability,
# whether the model is right or not.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from skmoderndata.cross_decomposition import KernelPLSRegression

try:
    from mapie.regression import SplitConformalRegressor
except ImportError:
    SplitConformalRegressor = None
    print("This example needs MAPIE: pip install mapie")

X, y = load_diabetes(return_X_y=True)
X_train, X_other, y_train, y_other = train_test_split(X, y, train_size=1 / 3, random_state=0)
X_errors, X_new, y_errors, y_new = train_test_split(
    X_other, y_other, test_size=0.5, random_state=0
)
model = KernelPLSRegression(2, kernel="rbf", gamma=3.0).fit(X_train, y_train)

# %%
# MAPIE accepts the fitted model as it is.

if SplitConformalRegressor is not None:
    conformal = SplitConformalRegressor(model, confidence_level=0.9, prefit=True)
    conformal.conformalize(X_errors, y_errors)
    prediction, intervals = conformal.predict_interval(X_new)
    low, high = intervals[:, :, 0].T
    inside = (low <= y_new) & (y_new <= high)
    print(
        f"{inside.mean():.0%} of the new patients are inside; width {np.ptp(intervals[0]):.0f}"
    )

    order = np.argsort(prediction)
    fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
    position = np.arange(len(order))
    ax.fill_between(position, low[order], high[order], color="0.85", label="90 % interval")
    ax.plot(position, prediction[order], label="prediction")
    ax.plot(position[inside[order]], y_new[order][inside[order]], "k.", label="inside")
    ax.plot(position[~inside[order]], y_new[order][~inside[order]], "rx", label="outside")
    ax.set(xlabel="new patient, by prediction", ylabel="progress of the disease")
    ax.legend(loc="upper left", ncols=4, fontsize="small")
    plt.show()

# %%
# The interval has the same width for all patients: conformal prediction with this score bounds
# how often an interval misses, not how wide it is for each patient.
