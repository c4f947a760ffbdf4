"""
=========================================================
How does slack affect a one-class support vector machine?
=========================================================

The data are two rings of samples, with five per cent of outliers among them. With hardly any
slack the boundary also encloses the outliers; with much slack the score is a density. The best
ranking lies in between. The usual threshold, dotted, marks all support vectors as outliers,
whatever the slack; a quantile of the scores, the solid line, gives the fraction of outliers
that you request.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from skmoderndata.svm import CoreVectorOutlierDetector

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 5700)
radius = np.where(rng.random(5700) < 0.4, 1.0, 2.5) + 0.15 * rng.normal(size=5700)
usual = radius[:, None] * np.c_[np.cos(angle), np.sin(angle)]
strange = rng.uniform(-4, 4, size=(300, 2))
X, truth = np.vstack([usual, strange]), np.repeat([1, -1], [5700, 300])

# %%
# We rank the training samples themselves; the labels of the outliers are used only to compute
# the score.
grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 140)] * 2), axis=-1)
fig, axes = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
for ax, slack in zip(axes, [0.003, 0.05, 0.9], strict=True):
    model = CoreVectorOutlierDetector(
        slack=slack, gamma=2.0, contamination=0.05, random_state=0
    ).fit(X)
    score = model.score_samples(grid.reshape(-1, 2)).reshape(140, 140)
    auc = roc_auc_score(truth, model.score_samples(X))
    ax.contourf(grid[..., 0], grid[..., 1], score, 20, cmap="Greens")
    ax.scatter(*usual[::4].T, s=1, color="0.4")
    ax.scatter(*strange.T, s=5, color="tab:red")
    ax.contour(grid[..., 0], grid[..., 1], score, [model.offset_], colors="k")
    ax.contour(grid[..., 0], grid[..., 1], score, [model.rho_], colors="k", linestyles=":")
    ax.set(
        aspect="equal",
        title=f"slack={slack}: area under curve {auc:.3f},\n"
        f"{len(model.support_)} support vectors of {len(X)}",
    )
plt.show()
