"""
What do two views share that linear methods miss?
=================================================

Two instruments watch a wheel. One measures the position of a mark on the rim; the other measures a
quantity that depends on twice the angle, with noise. No linear function of one view correlates
with a linear function of the other. Does kernel canonical correlation analysis find the relation,
and how much regularisation does it need?
"""

# %%
# Generate the views and fit both methods on half of the samples. All figures below are computed on
# the other half.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.model_selection import GridSearchCV

from skmoderndata.cross_decomposition import KernelCCA

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, size=600)
X = np.c_[np.cos(angle), np.sin(angle)] + 0.15 * rng.normal(size=(600, 2))
Y = np.c_[np.cos(2 * angle), rng.normal(size=(600, 2))]
Y[:, 0] += 0.15 * rng.normal(size=600)
train, new = slice(0, 300), slice(300, None)

linear = CCA(1).fit(X[train], Y[train])
u, v = linear.transform(X[new], Y[new])

alphas = np.logspace(-7, 0, 15)
search = GridSearchCV(KernelCCA(1), {"alpha": alphas}, cv=5, return_train_score=True)
search.fit(X[train], Y[train])
cca = search.best_estimator_
a, b = cca.transform(X[new], Y[new])


def correlation(one, other):
    return np.corrcoef(one.ravel(), other.ravel())[0, 1]


print(f"CCA        {correlation(u, v):.2f}")
print(f"KernelCCA  {correlation(a, b):.2f}   alpha = {search.best_params_['alpha']:.1g}")

# %%
# The panels show the scores of unseen samples, the function found for the first view, and the
# choice of `alpha`. On the training folds the correlation goes to 1 as `alpha` goes to 0, which is
# meaningless; on the held-out folds it has a maximum.

fig, axes = plt.subplots(1, 4, figsize=(14, 3.6), layout="constrained")
axes[0].scatter(u, v, s=8, color="C0")
axes[0].set(
    title=f"CCA, unseen: {correlation(u, v):.2f}",
    xlabel="score of view 1",
    ylabel="score of view 2",
)
axes[1].scatter(a, b, s=8, color="C3")
axes[1].set(
    title=f"KernelCCA, unseen: {correlation(a, b):.2f}",
    xlabel="score of view 1",
    ylabel="score of view 2",
)
side = np.linspace(-1.5, 1.5, 80)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
values = cca.transform(grid).reshape(80, 80)
top = np.abs(values).max()
axes[2].contourf(side, side, values, levels=15, cmap="RdBu_r", vmin=-top, vmax=top)
axes[2].scatter(*X[new].T, s=3, color="k")
axes[2].set(title="function of view 1", aspect="equal")
results = search.cv_results_
axes[3].semilogx(
    alphas, results["mean_train_score"], "--", color="0.5", label="training folds"
)
axes[3].semilogx(alphas, results["mean_test_score"], "o-", color="C3", label="held-out folds")
axes[3].axvline(search.best_params_["alpha"], color="C3", ls=":")
axes[3].set(title="choice of alpha", xlabel="alpha", ylabel="correlation")
axes[3].legend()
plt.show()
