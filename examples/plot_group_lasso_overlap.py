"""
Which stretch of a spectrum decides the class?
==============================================

A spectrum of 100 channels decides between two classes through one stretch of 14 neighbouring
channels, at an unknown place. Windows of eight channels, one starting at every second channel,
cover every stretch: as overlapping groups of the group lasso they select unions of windows. The
lasso selects single channels, and adjacent windows leave the edges to chance.
"""

# %%
# Draw spectra with correlated channels; the labels depend on channels 44 to 57.
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.model_selection import GridSearchCV

from skmoderndata.linear_model import GroupLassoClassifier

rng = np.random.default_rng(2)
n = 150
p = 100
X = gaussian_filter1d(rng.normal(size=(n, p)), 1.0, axis=1)
X /= X.std(axis=0)
w = np.zeros(p)
w[44:58] = 1.0
y = X @ w / np.sqrt(w.sum()) + 0.5 * rng.normal(size=n) > 0

# %%
# Fit three sets of groups; choose the penalty by cross-validation with the log-likelihood.
windows = [list(range(first, min(first + 8, p))) for first in range(0, p - 4, 2)]
families = {
    "single channels (lasso)": None,
    "adjacent windows": 8,
    "overlapping windows": windows,
}
models = {}
for title, groups in families.items():
    top = GroupLassoClassifier(1e9, groups).fit(X, y).alpha_max_
    grid = {"alpha": top * np.geomspace(0.8, 0.03, 12)}
    search = GridSearchCV(
        GroupLassoClassifier(groups=groups), grid, scoring="neg_log_loss", cv=5
    )
    models[title] = search.fit(X, y)
    print(f"{title}: log-likelihood {search.best_score_:.3f}")

# %%
fig, axes = plt.subplots(3, 1, figsize=(8, 6), sharex=True, layout="constrained")
for ax, (title, search) in zip(axes, models.items(), strict=True):
    coef = search.best_estimator_.coef_[0]
    ax.axvspan(43.5, 57.5, color="0.9", label="decides")
    ax.stem(np.arange(p), coef, markerfmt=" ", basefmt="k-", label="coefficient")
    right = np.count_nonzero(coef[44:58])
    wrong = np.count_nonzero(coef) - right
    ax.set_title(
        f"{title}: {right} of 14 channels, {wrong} other channels, "
        f"log-likelihood {search.best_score_:.3f}",
        fontsize=10,
    )
axes[0].legend(loc="upper left")
axes[-1].set_xlabel("channel")
plt.show()
