"""
=============================================
How many passes does the kernel adatron need?
=============================================

Updating one coefficient at a time reaches the optimum of a support vector machine without offset.
The duality gap after each number of passes shows how far away the optimum still is. On digits, the
accuracy stops changing long before that.
"""

# %%
import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from skmoderndata.svm import KernelAdatronClassifier

images, digit = load_digits(return_X_y=True)
images, odd = images / 16, digit % 2
passes = [1, 2, 4, 8, 16, 32, 64, 128]

# %%
# Classify odd and even digits; 900 digits are used for training.
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for omega in (0.5, 1.0, 1.5, 1.9):
    gaps, errors = [], []
    for max_iter in passes:
        model = KernelAdatronClassifier(
            10.0, gamma=0.03, omega=omega, max_iter=max_iter, tol=1e-9, random_state=0
        )
        with warnings.catch_warnings():
            # the fits are stopped early on purpose
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(images[:900], odd[:900])
        gaps.append(model.dual_gap_)
        errors.append(100 * (1 - model.score(images[900:], odd[900:])))
    axes[0].loglog(passes, gaps, "o-", label=f"omega={omega}")
    axes[1].semilogx(passes, errors, "o-", label=f"omega={omega}")
axes[0].set(xlabel="passes", ylabel="relative duality gap")
axes[1].set(xlabel="passes", ylabel="errors on 897 other digits, %")
axes[0].legend()
plt.show()
